"""Two detectors on the same series: Wilcoxon's signed-rank test, its effect, and how many series it takes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from pateval.output.results import Result
from pateval.validation.arrays import (
    FloatArray,
    IntArray,
    count,
    finite_array,
    fraction,
    number_array,
    positive_integer,
)
from pateval.validation.containers import missing_mask

ALPHA = 0.05
GOAL = 0.8
"""How often a lead is to be found, in the usual sense of a study that is large enough."""
_MOST_SERIES = 1_000_000
_USUAL_SERIES = 10_000  # fewer are looked through first
_MOST_SERIES_EXACT, _MOST_SERIES_EXACT_WITH_TIES = 50, 13  # as scipy has it
_NO_RANK: FloatArray = np.ones(1)  # the share of the one sign pattern of no ranks


def signed_ranks(differences: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilcoxon's signed-rank test and its effect size for each row of paired differences.

    Differences of zero are left out. Exact or normal by the rule of scipy's "auto", and by scipy, except for the exact
    distribution with ties or zeros (up to 13 series): scipy runs through all sign patterns there, which took 6.2 s for
    15 pairs on 12 series, and counting them takes 0.5 ms. The p-values are two-sided, and 1 where nothing differs,
    since then nothing speaks against equality. The effect is the matched-pairs rank-biserial correlation: favourable
    minus unfavourable rank sum, as a share of both; 0 where nothing differs.

    References
    ----------
    D. S. Kerby, "The simple difference formula", Comprehensive Psychology 3 (2014).
    """
    from scipy.stats import rankdata, wilcoxon

    pairs, series = differences.shape
    zeros = differences == 0
    # Zeros come first in the ranking: without them everything moves up.
    ranks = np.where(zeros, 0, rankdata(np.abs(differences), axis=1) - zeros.sum(axis=1, keepdims=True))
    size = (~zeros).sum(axis=1)
    favourable, total = (ranks * (differences > 0)).sum(axis=1), size * (size + 1) / 2
    effects = np.divide(2 * favourable - total, total, out=np.zeros(pairs), where=total > 0)
    p_values = np.ones(pairs)
    if series <= _MOST_SERIES_EXACT_WITH_TIES:
        # Ranks are doubled, so that shared ones are whole; rows with the same ranks have the same distribution.
        doubled = np.rint(2 * ranks).astype(np.intp)
        observed = (doubled * (differences > 0)).sum(axis=1)
        distinct, of_row = np.unique(np.sort(doubled, axis=1), axis=0, return_inverse=True)
        for number, row in enumerate(distinct):
            chosen = of_row.reshape(-1) == number
            p_values[chosen] = _exact_signed_rank(row[row > 0], observed[chosen])
    else:
        # scipy chooses one distribution for all rows it is given, so rows with ties or zeros go apart.
        untied = (np.sort(ranks, axis=1) == np.arange(1, series + 1)).all(axis=1)
        for rows in (untied, ~untied & (size > 0)):
            if rows.any():
                p_values[rows] = wilcoxon(differences[rows], axis=1).pvalue
    return p_values, effects


def _exact_signed_rank(doubled: IntArray, observed: IntArray) -> FloatArray:
    """Share of the sign patterns of some ranks whose sum is at least as extreme as each that was observed."""
    shares = reduce(_with_rank, doubled.tolist(), _NO_RANK)
    below, above = np.cumsum(shares)[observed], np.cumsum(shares[::-1])[::-1][observed]
    return np.minimum(1.0, 2 * np.minimum(below, above))


def _with_rank(shares: FloatArray, rank: int) -> FloatArray:
    """Shares of all sign patterns by the sum of their positive ranks, with one rank more."""
    nothing = np.zeros(rank)
    return (np.append(shares, nothing) + np.append(nothing, shares)) / 2


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

    def sentence(self, first: str = "the first", second: str = "the second") -> str:
        """Say it in a sentence.

        Examples
        --------
        >>> print(power([0.5, 0.6, 0.9, 0.7], [0.4, 0.5, 0.5, 0.8]).sentence("lstm", "usad"))
        With 4 series the test finds no lead, however large; for lstm against usad as they stand it finds one in 0 % of
        all cases, and in 80 % with 71 series.
        """
        clause = self.clause(first, second)
        return f"{clause[0].upper()}{clause[1:]}."

    def clause(self, first: str, second: str) -> str:
        """Say it as a part of a sentence."""
        lead = "no lead, however large"
        if self.share_found <= 1:
            lead = f"a lead on {100 * self.share_found:.0f} % of them in half of all cases"
        what = f"with {self.series} series the test finds {lead}"
        pair = f"for {first} against {second} as they stand"
        if self.series_needed is None:
            return f"{what}; {pair}, no number of series would show a difference"
        found = f"it finds one in {100 * self.power:.0f} % of all cases"
        return f"{what}; {pair} {found}, and in {100 * self.goal:.0f} % with {self.series_needed:,} series"


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
    number = None if series is None else count(positive_integer(series, "series"), "series", most=_MOST_SERIES)
    return power_of(differences, series=number, alpha=alpha, goal=goal)


def power_of(differences: FloatArray, *, series: int | None = None, alpha: float = ALPHA, goal: float = GOAL) -> Power:
    """Return the power from the paired differences, at least one; see `power`."""
    number = differences.size if series is None else series
    share = float(_share_found(differences, number, alpha))
    needed = _series_needed(differences, alpha, goal)
    return Power(number, share, needed, _half_found_lead(number, alpha), alpha, goal)


def _values(values: npt.ArrayLike, name: str) -> FloatArray:
    """Values of a detector, NaN where it has none."""
    array = number_array(values, name, allow_missing=True)
    is_there = ~missing_mask(array)
    numbers = np.full(array.size, np.nan)
    if is_there.any():
        numbers[is_there] = finite_array(array[is_there], name)
    return numbers


def _share_found(differences: FloatArray, series: FloatArray | float, alpha: float) -> FloatArray:
    """Share of samples of so many series in which the two-sided test finds a difference."""
    from scipy.stats import norm

    parted = differences[differences != 0]
    number = np.asarray(series, dtype=np.float64) * (parted.size / differences.size)
    if not parted.size:
        return np.zeros_like(number)
    lead, variance = moments(parted, number)
    bar = _bar(number, alpha)
    deviation = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    return norm.cdf((lead - bar) / deviation) + norm.cdf((-lead - bar) / deviation)


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


def _bar(series: FloatArray | float, alpha: float) -> FloatArray:
    """How far the statistic must lie from its middle for the test to find a difference; infinite where none is enough.

    Exact where the test is exact, half a step below the first value that it finds; between two numbers of series, which
    level series make, on the line between their bars.
    """
    from scipy.stats import norm

    number = np.asarray(series, dtype=np.float64)
    normal = norm.isf(alpha / 2) * np.sqrt(number * (number + 1) * (2 * number + 1) / 24)
    whole = np.minimum(np.floor(number), _MOST_SERIES_EXACT - 1).astype(np.intp)
    exact = _exact_bars(alpha)
    below, above = exact[whole], exact[whole + 1]
    step = np.subtract(above, below, out=np.zeros_like(above), where=np.isfinite(below))
    return np.where(number <= _MOST_SERIES_EXACT, below + (number - whole) * step, normal)


@lru_cache
def _exact_bars(alpha: float) -> FloatArray:
    """The bars of 0, 1, 2 and more series, by counting the sign patterns of ranks without ties."""
    bars = []
    for series, shares in enumerate(accumulate(range(1, _MOST_SERIES_EXACT + 1), _with_rank, initial=_NO_RANK)):
        is_found = 2 * np.cumsum(shares[::-1])[::-1] <= alpha
        bars.append(is_found.argmax() - 0.5 - series * (series + 1) / 4 if is_found.any() else np.inf)
    return np.array(bars)


def _series_needed(differences: FloatArray, alpha: float, goal: float) -> int | None:
    for first, last in ((1, _USUAL_SERIES), (_USUAL_SERIES + 1, _MOST_SERIES)):
        sizes = np.arange(first, last + 1, dtype=np.float64)
        # Of many series more are better: the most there can be say whether a smaller number is enough.
        if last == _USUAL_SERIES or _share_found(differences, sizes[-1], alpha) >= goal:
            is_enough = _share_found(differences, sizes, alpha) >= goal
            if is_enough.any():
                return int(sizes[is_enough.argmax()])
    return None


def _half_found_lead(series: int, alpha: float) -> float:
    """Share of series a detector must lead on, by differences of any size, to be found in half of all samples."""
    bar = float(_bar(series, alpha))
    return min(1.0, 0.5 + 2 * bar / (series * (series + 1))) if np.isfinite(bar) else 2.0
