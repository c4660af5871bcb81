"""What a number of series can show: how often the signed-rank test finds a lead, and how many series it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.leaderboards.significance import ALPHA
from pateval.output.results import Result
from pateval.validation.arrays import count, finite_array, fraction, number_array, positive_integer
from pateval.validation.containers import missing_mask

if TYPE_CHECKING:
    import numpy.typing as npt

    from pateval.leaderboards.statistics import FloatArray

GOAL = 0.8
"""How often a lead is to be found, in the usual sense of a study that is large enough."""
_MOST_SERIES = 1_000_000


@dataclass(frozen=True)
class Power(Result):
    """How often the signed-rank test finds the difference of two detectors, by the differences on hand.

    Attributes
    ----------
    series : int
        How many series are assumed.
    power : float
        In how many of all such samples of series the test finds a difference, as a share.
    series_needed : int or None
        How many series it takes to find it in a share ``goal`` of them; None where a million are not enough.
    share_found : float
        On which share of the series a detector must lead for the test to find it in half of all samples.
    alpha, goal : float
        Significance level, and the share aimed at.
    """

    series: int
    power: float
    series_needed: int | None
    share_found: float
    alpha: float = ALPHA
    goal: float = GOAL

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with one row."""
        names = ("series", "power", "series_needed", "share_found", "alpha", "goal")
        return {name: [getattr(self, name)] for name in names}

    def sentence(self, first: str = "the first", second: str = "the second") -> str:
        """Say it in words.

        Examples
        --------
        >>> print(power([0.5, 0.6, 0.9, 0.7], [0.4, 0.5, 0.5, 0.8]).sentence("lstm", "usad"))
        With 4 series the test finds no lead, however large; for lstm against usad as they stand, 71 series would find
        it in 80 % of all cases.
        """
        lead = "no lead, however large"
        if self.share_found <= 1:
            lead = f"a lead on {100 * self.share_found:.0f} % of them in half of all cases"
        what = f"With {self.series} series the test finds {lead}"
        pair = f"for {first} against {second} as they stand"
        if self.series_needed is None:
            return f"{what}; {pair}, no number of series would show a difference."
        return f"{what}; {pair}, {self.series_needed:,} series would find it in {100 * self.goal:.0f} % of all cases."


def power(
    first: npt.ArrayLike, second: npt.ArrayLike, *, series: int | None = None, alpha: float = ALPHA, goal: float = GOAL
) -> Power:
    """How often a comparison of two detectors over series would find their difference, and how many series it takes.

    Series are imagined as drawn from those on hand. The number of pairs of series whose mean difference favours the
    first detector (the signed-rank statistic) is then about normal, with a mean and a variance that follow from the
    differences in closed form [1]_; level series count for nothing, as in the test.

    Parameters
    ----------
    first, second : array-like of float
        Values of two detectors under one metric, one for each series; series where one has none (NaN) are left out.
    series : int, optional
        The number of series to assume; by default those on hand.
    alpha : float
        Significance level of the test; divide it by the number of comparisons where there are several.
    goal : float
        How often the difference is to be found, for the number of series needed.

    Returns
    -------
    Power

    Raises
    ------
    ValueError
        If the two have different lengths, or no series in common.

    References
    ----------
    .. [1] E. L. Lehmann, "Nonparametrics: Statistical Methods Based on Ranks", 1975, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> first = rng.random(58)
    >>> found = power(first, first - rng.normal(0.02, 0.1, 58))
    >>> round(found.power, 2), found.series_needed
    (0.21, 313)
    """
    one, other = _values(first, "first"), _values(second, "second")
    if one.shape != other.shape:
        raise ValueError(
            f"first and second must have one value each for the same series; got {one.size} and {other.size} of them"
        )
    differences = one / 2 - other / 2  # Halves of finite values have a finite difference, and only its order counts.
    differences = differences[~np.isnan(differences)]
    if not differences.size:
        raise ValueError("first and second have no series in common on which both have a value")
    alpha, goal = fraction(alpha, "alpha"), fraction(goal, "goal")
    number = (
        differences.size if series is None else count(positive_integer(series, "series"), "series", most=_MOST_SERIES)
    )
    return Power(
        number,
        float(_share_found(differences, number, alpha)),
        _series_needed(differences, alpha, goal),
        _half_found_lead(number, alpha),
        alpha,
        goal,
    )


def _values(values: npt.ArrayLike, name: str) -> FloatArray:
    """Values of a detector, NaN where it has none."""
    array = number_array(values, name, allow_missing=True)
    is_there = ~missing_mask(array)
    found = np.full(array.size, np.nan)
    if is_there.any():
        found[is_there] = finite_array(array[is_there], name)
    return found


def _share_found(differences: FloatArray, series: FloatArray | float, alpha: float) -> FloatArray:
    """Share of samples of so many series in which the two-sided test finds a difference."""
    from scipy.stats import norm

    parted = differences[differences != 0]
    number = np.asarray(series, dtype=np.float64) * (parted.size / differences.size)
    if not parted.size:
        return np.zeros_like(number)
    lead, variance = moments(parted, number)
    bar = norm.isf(alpha / 2) * np.sqrt(number * (number + 1) * (2 * number + 1) / 24)
    deviation = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    found = norm.cdf((lead - bar) / deviation) + norm.cdf((-lead - bar) / deviation)
    return np.where(_can_find(number, alpha), found, 0.0)


def moments(differences: FloatArray, number: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the signed-rank statistic of so many differences, drawn with replacement, less its middle.

    The statistic counts the differences above 0, and the pairs of them whose sum is; a sum of 0 counts for a half.
    """
    ordered = np.sort(differences)
    below, not_above = (np.searchsorted(ordered, -differences, side=side) for side in ("left", "right"))
    favoured, positive = 1 - (below + not_above) / (2 * differences.size), differences > 0
    single, pair = positive.mean(), favoured.mean()
    # A half in place of 0 or 1 takes a quarter from the variance.
    pair_variance = pair * (1 - pair) - (not_above - below).mean() / differences.size / 4
    pairs = number * (number - 1) / 2
    mean = number * single + pairs * pair - number * (number + 1) / 4
    variance = number * single * (1 - single) + pairs * pair_variance
    variance = variance + 4 * pairs * ((positive * favoured).mean() - single * pair)
    return mean, variance + 2 * pairs * (number - 2) * np.var(favoured)


def _can_find(series: FloatArray, alpha: float) -> npt.NDArray[np.bool_]:
    """Whether so many series can be told apart at all: n wins of n have a p-value of 2 / 2**n."""
    return np.asarray(2.0 ** (1 - np.floor(series)) <= alpha)


def _series_needed(differences: FloatArray, alpha: float, goal: float) -> int | None:
    sizes = np.arange(1, _MOST_SERIES + 1, dtype=np.float64)
    is_enough = _share_found(differences, sizes, alpha) >= goal
    return int(sizes[is_enough.argmax()]) if is_enough.any() else None


def _half_found_lead(series: int, alpha: float) -> float:
    """Share of series a detector must lead on, by differences of any size, to be found in half of all samples."""
    from scipy.stats import norm

    if not _can_find(np.asarray(series, dtype=np.float64), alpha):
        return 2.0
    ranks = series * (series + 1) / 2
    bar = norm.isf(alpha / 2) * np.sqrt(ranks * (2 * series + 1) / 12)
    return float(min(1.0, 0.5 + bar / ranks))
