"""The clock that alarms and incidents are on: its unit, lengths in it, and times and durations in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pateval.alarms.matching import Number, Policy
from pateval.time.clocks import Times, is_duration, nanoseconds
from pateval.validation.wording import in_words

DAY = 86_400 * 10**9
_LONGEST = 10**18  # units; what is longer could not be added to times of 64 bits
_UNITS: tuple[tuple[str, int], ...] = (
    *(("d", DAY), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9)),
    *(("ms", 10**6), ("us", 10**3), ("ns", 1)),
)


@dataclass(frozen=True)
class AlarmClock:
    """What one unit of the times is.

    Attributes
    ----------
    nanoseconds : int or None
        Length of a unit; None where numbers are steps, or have no unit.
    has_dates : bool
        Whether times are dates, in nanoseconds since 1970.
    """

    nanoseconds: int | None = None
    has_dates: bool = False

    @property
    def rate_unit(self) -> str:
        """What rates are per: "day" wherever a unit of time is known, otherwise "unit"."""
        return "unit" if self.nanoseconds is None else "day"

    @property
    def rate_words(self) -> str:
        """What rates are per in tables: a day, or a thousand steps."""
        return "1,000 steps" if self.nanoseconds is None else "day"

    def rate_in_words(self, rate: float) -> str:
        """A rate as tables show it."""
        shown = rate * (1000 if self.nanoseconds is None else 1)
        return "-" if math.isnan(shown) else f"{shown:,.0f}" if shown >= 100 else f"{shown:.3g}"

    def in_rate_units(self, length: Number) -> Fraction:
        """A length of time in days, or in units where no unit is known; exact."""
        exact = Fraction(length)
        return exact if self.nanoseconds is None else exact * self.nanoseconds / DAY

    def length(self, value: object, name: str) -> Number:
        """Read a length: a duration, or a number of units where times are numbers.

        Examples
        --------
        >>> AlarmClock(10**9).length("2min", "early"), AlarmClock().length(5, "early")
        (120, 5)
        """
        if is_duration(value):
            if self.nanoseconds is None:
                raise ValueError(
                    f"{name}={in_words(value)} is a duration, and the times are numbers without a unit: say what one "
                    "unit is with time_unit"
                )
            exact = nanoseconds(value, name) / self.nanoseconds
        elif isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            if not 0 <= value <= _LONGEST:
                raise ValueError(f"{name} must be a duration of 0 to 10**18 units; got {in_words(value)}")
            if self.has_dates and value:
                raise ValueError(f"{name} needs a unit where times are dates, as in '10min'; got {in_words(value)}")
            exact = Fraction(value if isinstance(value, float) else int(value))
        else:
            raise TypeError(f"{name} must be a duration such as '10min' or a number; got {in_words(value)}")
        return int(exact) if exact.denominator == 1 else exact

    def policy(
        self, early: object, delay: object, merge: object | None = None, cooldown: object | None = None
    ) -> Policy:
        """Read the lengths that say how alarms are counted."""
        return Policy(
            self.length(early, "early"),
            self.length(delay, "delay"),
            None if merge is None else self.length(merge, "merge"),
            None if cooldown is None else self.length(cooldown, "cooldown"),
        )

    def duration(self, length: float | Fraction) -> str:
        """A length in the largest sensible unit.

        Examples
        --------
        >>> clock = AlarmClock(10**9)
        >>> [clock.duration(each) for each in (7800, 35 * 60, 45, 0, 200_000)], AlarmClock().duration(3)
        (['2 h 10 min', '35 min', '45 s', '0 s', '2 d 8 h'], '3 steps')
        """
        if self.nanoseconds is None:
            return f"{float(length):.6g} step{'' if length == 1 else 's'}"
        left = round(abs(Fraction(length)) * self.nanoseconds)
        place = next((place for place, (_, size) in enumerate(_UNITS) if left >= size), None)
        if place is None:
            return "0 s"
        unit, size = _UNITS[place]
        if place >= 3:
            return f"{left / size:.3g} {unit}"
        smaller, smaller_size = _UNITS[place + 1]
        if unit == "min" and left >= 10 * size:
            return f"{round(left / size)} {unit}"
        whole, rest = divmod(round(left / smaller_size), size // smaller_size)
        return f"{whole} {unit}" + (f" {rest} {smaller}" if rest else "")

    def lead(self, length: float) -> str:
        """A time to detect: how early or late.

        Examples
        --------
        >>> AlarmClock(10**9).lead(-7800), AlarmClock(10**9).lead(2100), AlarmClock().lead(0)
        ('2 h 10 min early', '35 min late', 'at once')
        """
        if math.isnan(length):
            return "-"
        return "at once" if length == 0 else f"{self.duration(abs(length))} {'early' if length < 0 else 'late'}"

    def moment(self, time: Any) -> str:
        """A time, as short as it can be written: seconds and fractions only where there are some."""
        if not self.has_dates:
            return f"{time:.10g}" if isinstance(time, (float, np.floating)) else str(int(time))
        date = np.datetime64(int(time), "ns")
        for unit in ("m", "s", "ms", "us"):
            if date.astype(f"datetime64[{unit}]") == date:
                return str(date.astype(f"datetime64[{unit}]")).replace("T", " ")
        return str(date).replace("T", " ")

    def interval(self, start: Any, stop: Any) -> str:
        """An interval; the day is said once where it is the same.

        Examples
        --------
        >>> hour = 3600 * 10**9
        >>> AlarmClock(1, True).interval(4 * hour, 5 * hour), AlarmClock().interval(3, 3)
        ('1970-01-01 04:00 to 05:00', '3')
        """
        first, last = self.moment(start), self.moment(stop)
        if first == last:
            return first
        same_day = self.has_dates and first[:10] == last[:10]
        return f"{first} to {last[11:] if same_day else last}"

    def times(self, numbers: Times) -> Times:
        """Times as users have them: dates where they are dates."""
        return numbers.astype(np.int64).view("datetime64[ns]") if self.has_dates else numbers

    def length_given(self, length: Number) -> Any:
        """A length as users have it: a time difference where times are dates."""
        if self.has_dates:
            return np.timedelta64(round(length), "ns")
        return length if isinstance(length, int) else float(length)

    def written(self, time: Any) -> Any:
        """A time for JSON: dates as ISO 8601 has them."""
        return self.moment(time).replace(" ", "T") if self.has_dates else time

    def lengths(self, numbers: Times) -> Times:
        """Lengths as users have them: time differences where times are dates."""
        return np.round(numbers).astype(np.int64).view("timedelta64[ns]") if self.has_dates else numbers
