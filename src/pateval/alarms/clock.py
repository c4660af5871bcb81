"""The clock that alarms and incidents are on: its unit, lengths in it, and times and durations in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.matching import Number, Policy
from pateval.time.clocks import duration_words, interval_words, is_duration, moment_words, nanoseconds
from pateval.validation.wording import in_words

_DAY = 86_400 * 10**9
_LONGEST = 10**18  # units; what is longer could not be added to times of 64 bits


@dataclass(frozen=True)
class AlarmClock:
    """What one unit of the times is."""

    nanoseconds: int | None = None  # length of a unit; None where numbers are steps, or have no unit
    has_dates: bool = False  # whether times are dates, in nanoseconds since 1970
    date: str = ""  # one of them, where other dates are still to be held against them, and whether it has a time zone
    has_zone: bool = False

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

    def in_rate_units(self, length: Number) -> float:
        """A length of time in days, or in units where no unit is known."""
        return float(length if self.nanoseconds is None else Fraction(length) * self.nanoseconds / _DAY)

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
                    "unit is with --time-unit (time_unit=...)"
                )
            exact = nanoseconds(value, name, endless=True) / self.nanoseconds
        elif isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            if not 0 <= value <= _LONGEST:
                raise ValueError(f"{name} must be a duration of 0 to 10**18 units; got {in_words(value)}")
            if self.has_dates and value:
                raise ValueError(f"{name} needs a unit where times are dates, as in '10min'; got {in_words(value)}")
            exact = Fraction(value if isinstance(value, float) else int(value))
        else:
            raise TypeError(f"{name} must be a duration such as '10min' or a number; got {in_words(value)}")
        return int(exact) if exact.denominator == 1 else exact

    def policy(self, given: Policy) -> Policy:
        """Read the lengths that say how alarms are counted."""
        lengths = {name: None if value is None else self.length(value, name) for name, value in vars(given).items()}
        return Policy(**lengths)

    def duration(self, length: Number) -> str:
        """A length in the largest sensible unit.

        Examples
        --------
        >>> AlarmClock(10**9).duration(7800), AlarmClock().duration(3)
        ('2 h 10 min', '3 steps')
        """
        if self.nanoseconds is None:
            return f"{float(length):.6g} step{'' if length == 1 else 's'}"
        return duration_words(Fraction(length) * self.nanoseconds)

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

    def interval(self, start: Any, stop: Any) -> str:
        """An interval in words; an instant is one time.

        Examples
        --------
        >>> hour = 3600 * 10**9
        >>> AlarmClock(1, True).interval(4 * hour, 5 * hour), AlarmClock().interval(3, 3)
        ('1970-01-01 04:00 to 05:00', '3')
        """
        if self.has_dates:
            return interval_words(start, stop)
        first, last = (f"{time:.10g}" if isinstance(time, float) else str(int(time)) for time in (start, stop))
        return first if first == last else f"{first} to {last}"

    def written(self, time: Any) -> Any:
        """A time for JSON: dates as ISO 8601 has them."""
        return moment_words(time).replace(" ", "T") if self.has_dates else time

    def times(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Times as users have them: dates where they are dates."""
        return numbers.astype(np.int64).view("datetime64[ns]") if self.has_dates else numbers

    def lengths(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Lengths as users have them: time differences where times are dates."""
        return np.round(numbers).astype(np.int64).view("timedelta64[ns]") if self.has_dates else numbers

    def length_given(self, length: Number) -> Any:
        """One length as users have it."""
        if self.has_dates:
            return np.timedelta64(round(length), "ns")
        return length if isinstance(length, int) else float(length)
