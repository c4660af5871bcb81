"""The clock that alarms and incidents are on, times and lengths in words; and shares and rates with their limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.matching import Number, Policy
from pateval.time.clocks import duration_words, interval_words, is_duration, moment_words, nanoseconds
from pateval.validation.wording import in_words

_DAY = 86_400 * 10**9
_LONGEST = 10**18  # units; what is longer could not be added to times of 64 bits
_LEVEL = 0.95
LimitPair = tuple[float, float]


@dataclass(frozen=True)
class AlarmClock:
    """What one unit of the times is."""

    nanoseconds: int | None = None  # length of a unit; None where numbers are steps, or have no unit
    has_dates: bool = False  # whether times are dates, in nanoseconds since 1970

    @property
    def rate_unit(self) -> str:
        """What rates are per: "day" wherever a unit of time is known, otherwise "unit"."""
        return "unit" if self.nanoseconds is None else "day"

    @property
    def rate_words(self) -> str:
        """What rates are per in tables: a day, or a thousand steps."""
        return "1,000 steps" if self.nanoseconds is None else "day"

    @property
    def rate_scale(self) -> int:
        """How much larger rates are in tables."""
        return 1000 if self.nanoseconds is None else 1

    def rate_in_words(self, rate: float) -> str:
        """A rate as tables show it."""
        shown = rate * self.rate_scale
        return "-" if math.isnan(shown) else f"{shown:,.0f}" if shown >= 100 else f"{shown:.3g}"

    def in_rate_units(self, length: Number) -> float:
        """A length of time in days, or in units where no unit is known."""
        return float(length if self.nanoseconds is None else Fraction(length) * self.nanoseconds / _DAY)

    def length(self, value: object, name: str) -> Number:
        """Read a length: a duration, or a number of units where times are numbers."""
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
        asked = {name: value for name, value in vars(given).items() if value is not None or name in ("early", "delay")}
        return Policy(**{name: self.length(value, name) for name, value in asked.items()})

    def duration(self, length: Number) -> str:
        """A length in the largest sensible unit."""
        if self.nanoseconds is None:
            return f"{float(length):.6g} step{'' if length == 1 else 's'}"
        return duration_words(Fraction(length) * self.nanoseconds)

    def lead(self, length: float) -> str:
        """A time to detect: how early or late."""
        if math.isnan(length):
            return "-"
        return "at once" if length == 0 else f"{self.duration(abs(length))} {'early' if length < 0 else 'late'}"

    def interval(self, start: Any, stop: Any) -> str:
        """An interval in words; an instant is one time."""
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


def share(part: float, whole: float) -> float:
    """A share, or a rate; NaN of nothing."""
    return part / whole if whole else math.nan


def percent_limits(limits: LimitPair) -> str:
    """Limits of a share, for a table."""
    return "-" if math.isnan(limits[0]) else f"{100 * limits[0]:.0f}–{100 * limits[1]:.0f}%"


def wilson_limits(successes: int, trials: int) -> LimitPair:
    """Wilson's limits of a share at 95 %; NaN without trials."""
    if not trials:
        return math.nan, math.nan
    # By hand, since SciPy computes the p-value of a test with them, for each threshold of a frontier.
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def poisson_limits(events: int, length: float) -> LimitPair:
    """Garwood's exact limits of a rate at 95 %: events in a length of time; NaN where the length is 0."""
    if not length:
        return math.nan, math.nan
    from scipy.special import gammaincinv  # half a quantile of chi-squared; scipy.stats takes longer to import

    tail = (1 - _LEVEL) / 2
    low = float(gammaincinv(events, tail)) if events else 0.0
    return low / length, float(gammaincinv(events + 1, 1 - tail)) / length


class Figures:
    """Shares and rates with their limits at 95 %, from counts and ``days`` that a class has; NaN where undefined."""

    @property
    def recall(self: Any) -> float:
        """Share of the incidents that are found."""
        return share(self.found, self.incidents)

    @property
    def recall_limits(self: Any) -> LimitPair:
        """Wilson's limits of the recall."""
        return wilson_limits(self.found, self.incidents)

    @property
    def precision(self: Any) -> float:
        """Share of the alarms that are not false."""
        return share(self.alarms - self.false, self.alarms)

    @property
    def precision_limits(self: Any) -> LimitPair:
        """Wilson's limits of the precision."""
        return wilson_limits(self.alarms - self.false, self.alarms)

    @property
    def false_rate(self: Any) -> float:
        """False alarms per day, or per unit."""
        return share(self.false, self.days)

    @property
    def false_rate_limits(self: Any) -> LimitPair:
        """Garwood's exact limits of the rate of false alarms."""
        return poisson_limits(self.false, self.days)

    @property
    def alarm_rate(self: Any) -> float:
        """All alarms per day, or per unit."""
        return share(self.alarms, self.days)

    @property
    def alarm_rate_limits(self: Any) -> LimitPair:
        """Garwood's exact limits of the rate of alarms."""
        return poisson_limits(self.alarms, self.days)
