"""Shares and rates of alarms, with their limits."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

_LEVEL = 0.95
LimitPair = tuple[float, float]


def share(part: float, whole: float) -> float:
    """A share, or a rate; NaN of nothing."""
    return part / whole if whole else math.nan


def percent_limits(limits: LimitPair) -> str:
    """Limits of a share, for a table."""
    return "-" if math.isnan(limits[0]) else f"{100 * limits[0]:.0f}–{100 * limits[1]:.0f}%"


def wilson_limits(successes: int, trials: int) -> LimitPair:
    """Wilson's limits of a share at 95 %; NaN without trials.

    By hand, since SciPy computes the p-value of a test with them, for each threshold of a frontier.

    Examples
    --------
    >>> [round(limit, 3) for limit in wilson_limits(8, 10)]
    [0.49, 0.943]
    """
    if not trials:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


def poisson_limits(events: int, length: float) -> LimitPair:
    """Garwood's exact limits of a rate at 95 %: events in a length of time; NaN where the length is 0.

    Examples
    --------
    >>> [round(limit, 3) for limit in poisson_limits(0, 2.0)]
    [0.0, 1.844]
    """
    if not length:
        return math.nan, math.nan
    from scipy.special import gammaincinv  # half a quantile of chi-squared; scipy.stats takes longer to import

    tail = (1 - _LEVEL) / 2
    low = float(gammaincinv(events, tail)) if events else 0.0
    return low / length, float(gammaincinv(events + 1, 1 - tail)) / length


class Figures:
    """Shares and rates with their limits at 95 %, of a judgement and of each threshold of a frontier.

    Whatever inherits this has the counts ``incidents``, ``found``, ``alarms`` and ``false``, and ``days``, the observed
    time that rates go over: in days wherever a unit of time is known, otherwise in units. What is undefined is NaN.
    """

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
