"""Whether there is evidence of a difference between detectors under one metric: all tests, and every pair by itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.leaderboards import statistics
from pateval.leaderboards.statistics import FloatArray, IntArray, complete_rows
from pateval.output.results import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA = 0.05
MOST_IN_PAIRS = 1_000
"""Detectors up to which every pair is kept: time, memory and files grow with the square of their number."""
_OF_PAIRS = ["nemenyi_p", "wilcoxon_p", "wilcoxon_holm_p", "rank_biserial", "cliffs_delta", "wins", "ties", "losses"]


@dataclass(frozen=True)
class Significance(Result):
    """Whether there is evidence of a difference under one metric.

    Attributes
    ----------
    metric : str
        Metric id.
    detectors : tuple of str
        Those compared, best mean rank first; rows and columns of the matrices are in this order.
    left_out : tuple of str
        Detectors without any value of this metric.
    series_used, series_dropped : int
        Series where all compared detectors have a value, and the others.
    mean_ranks : list of float
        1 is best; ties share the mean of their places.
    friedman : dict
        ``chi_square``, ``p_value``, and Iman and Davenport's ``f_statistic``, ``f_p_value``.
    nemenyi_difference : float
        Critical difference of mean ranks at ``alpha``.
    nemenyi_p, wilcoxon_p, wilcoxon_holm_p : list of lists
        p-values of all pairs; these and the following are empty where there are more than 1,000 detectors.
    rank_biserial, cliffs_delta : list of lists
        Effect sizes, positive where the row is better.
    wins, ties, losses : list of lists
        Series on which the row beats, equals and is beaten by the column.
    nemenyi_groups, wilcoxon_groups : list of lists of str
        Largest sets of detectors that do not differ significantly; of more than 100 detectors the longest runs of
        neighbours in mean rank.
    alpha : float
        Significance level.
    """

    metric: str
    detectors: tuple[str, ...]
    left_out: tuple[str, ...]
    series_used: int
    series_dropped: int
    mean_ranks: list[float]
    friedman: dict[str, float]
    nemenyi_difference: float
    nemenyi_p: list[list[float]]
    wilcoxon_p: list[list[float]]
    wilcoxon_holm_p: list[list[float]]
    rank_biserial: list[list[float]]
    cliffs_delta: list[list[float]]
    wins: list[list[int]]
    ties: list[list[int]]
    losses: list[list[int]]
    nemenyi_groups: list[list[str]]
    wilcoxon_groups: list[list[str]]
    alpha: float = ALPHA

    @property
    def has_few(self) -> bool:
        """Whether groups can be read as letters or bars; those of many detectors are many more."""
        return len(self.detectors) <= _MOST_IN_GROUPS

    def alike(self, test: str = "wilcoxon") -> npt.NDArray[np.bool_]:
        """Return a matrix of who is not told apart from whom, each with itself.

        By the tests of every pair where they are kept, else by the groups.
        """
        p_values = self.nemenyi_p if test == "nemenyi" else self.wilcoxon_holm_p
        if p_values:
            return ~(np.array(p_values, dtype=np.float64) < self.alpha)
        places = {name: place for place, name in enumerate(self.detectors)}
        found = np.eye(len(places), dtype=np.bool_)
        for group in self.nemenyi_groups if test == "nemenyi" else self.wilcoxon_groups:
            members = [places[name] for name in group]
            found[np.ix_(members, members)] = True
        return found

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with a row per pair of detectors, the better mean rank first."""
        size = len(self.nemenyi_p)
        pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
        columns: dict[str, list[Any]] = {
            "metric": [self.metric] * len(pairs),
            "detector": [self.detectors[i] for i, _ in pairs],
            "other": [self.detectors[j] for _, j in pairs],
        }
        for name in _OF_PAIRS:
            matrix = getattr(self, name)
            columns[name] = [matrix[i][j] for i, j in pairs]
        return columns


def compare_detectors(
    metric: str,
    detectors: Sequence[str],
    table: npt.NDArray[np.float64],
    *,
    higher_is_better: bool,
    left_out: Sequence[str] = (),
    alpha: float = ALPHA,
) -> Significance:
    """Run all tests on the values of one metric, a table of series by detectors, best mean rank first.

    Rows with a NaN are left out; ``left_out`` names the detectors without any value.
    """
    ranks = statistics.rank_table(table, higher_is_better=higher_is_better)
    difference = statistics.nemenyi_difference(len(detectors), ranks.used, alpha=alpha)
    pairs: dict[str, Any] = dict.fromkeys(_OF_PAIRS, np.empty((0, 0)))
    if len(detectors) <= MOST_IN_PAIRS:
        pairs = {"nemenyi_p": statistics.nemenyi(ranks), **pairwise(table, higher_is_better=higher_is_better)}
        nemenyi = statistics.groups_alike(pairs["nemenyi_p"], ranks.mean, alpha=alpha)
        wilcoxon = statistics.groups_alike(pairs["wilcoxon_holm_p"], ranks.mean, alpha=alpha)
    else:
        nemenyi = statistics.groups_within(ranks.mean, difference)
        wilcoxon = statistics.groups_within(ranks.mean, np.inf)  # all of them
        if smallest_p_value(len(detectors), ranks.used) < alpha:
            _, corrected, _ = _signed_rank_tests(complete_rows(table)[0])
            wilcoxon = statistics.groups_alike(np.minimum(corrected, corrected.T), ranks.mean, alpha=alpha)

    def named(groups: list[tuple[int, ...]]) -> list[list[str]]:
        return [[detectors[i] for i in group] for group in groups]

    return Significance(
        metric,
        tuple(detectors),
        tuple(left_out),
        ranks.used,
        ranks.dropped,
        ranks.mean.tolist(),
        asdict(statistics.friedman(ranks)),
        difference,
        nemenyi_groups=named(nemenyi),
        wilcoxon_groups=named(wilcoxon),
        alpha=alpha,
        **{name: matrix.tolist() for name, matrix in pairs.items()},
    )


def smallest_p_value(detectors: int, series: int) -> float:
    """The smallest p-value that any pair can have: 2 / 2**n by the signed-rank test, times the number of pairs by Holm.

    Examples
    --------
    >>> smallest_p_value(3, 7)
    0.046875
    """
    return min(1.0, 2.0 ** (1 - series) * (detectors * (detectors - 1) // 2))


_MOST_IN_GROUPS = 15  # detectors: 24 had 12 groups, 40 had 21, 120 had 144 on made scores
_MOST_SERIES_EXACT_WITH_TIES = 13  # as scipy has it
_NUMBERS_AT_ONCE = 200_000  # differences in memory at once; the tests need about ten times as much beside them


def pairwise(table: npt.ArrayLike, *, higher_is_better: bool = True) -> dict[str, npt.NDArray[Any]]:
    """Compare every two detectors over the series where all have a value: matrices by their names in `Significance`.

    The Wilcoxon signed-rank test leaves level series out; its p-values are corrected by Holm for all pairs. Effects are
    positive where the row is *better*.

    Examples
    --------
    >>> result = pairwise([[0.9, 0.5], [0.8, 0.7], [0.7, 0.4], [0.6, 0.6], [0.9, 0.2]])
    >>> result["wins"].tolist(), result["ties"].tolist()
    ([[0, 4], [0, 0]], [[5, 1], [1, 5]])
    >>> result["rank_biserial"][0, 1]
    np.float64(1.0)
    """
    values, _ = complete_rows(table)
    values = values if higher_is_better else -values
    detectors = values.shape[1]
    raw, corrected, biserial = _signed_rank_tests(values)
    delta = np.zeros((detectors, detectors))
    if values.size:
        delta = np.array([cliffs_delta(values, values[:, j]) for j in range(detectors)]).T
        delta[np.tril_indices(detectors)] = 0
    wins = np.array([(values[:, [i]] > values).sum(axis=0) for i in range(detectors)], dtype=np.intp)
    ties = np.array([(values[:, [i]] == values).sum(axis=0) for i in range(detectors)], dtype=np.intp)
    wins, ties = wins.reshape(detectors, detectors), ties.reshape(detectors, detectors)
    # A difference rather than a sign turned around: no negative zeros in printed tables.
    return {
        "wilcoxon_p": np.minimum(raw, raw.T),
        "wilcoxon_holm_p": np.minimum(corrected, corrected.T),
        "rank_biserial": biserial - biserial.T,
        "cliffs_delta": delta - delta.T,
        "wins": wins,
        "ties": ties,
        "losses": wins.T,
    }


def _signed_rank_tests(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P-values of all pairs, the same corrected by Holm, and effects, above the diagonal of a matrix each."""
    detectors = values.shape[1]
    one, other = np.triu_indices(detectors, 1)
    raw, corrected, biserial = np.ones((3, detectors, detectors))
    biserial[:] = 0
    step = max(1, _NUMBERS_AT_ONCE // max(len(values), 1))
    for first in range(0, one.size if len(values) else 0, step):
        i, j = one[first : first + step], other[first : first + step]
        raw[i, j], biserial[i, j] = signed_ranks((values[:, i] - values[:, j]).T)
    corrected[one, other] = holm(raw[one, other])
    return raw, corrected, biserial


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

    Examples
    --------
    Differences 1, 2 and -3 have ranks 1, 2 and 3: (1 + 2 - 3) / 6. Three wins of three are one of eight patterns.

    >>> signed_ranks(np.array([[1.0, 2.0, -3.0], [1.0, 2.0, 3.0]]))
    (array([1.  , 0.25]), array([0., 1.]))
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
    """Count the sign patterns of some ranks whose sum is at least as extreme as each that was observed."""
    total = int(doubled.sum())
    patterns = np.zeros(total + 1)
    patterns[0] = 1.0
    for rank in doubled:
        patterns[rank:] += patterns[: total + 1 - rank].copy()
    below, above = np.cumsum(patterns)[observed], np.cumsum(patterns[::-1])[::-1][observed]
    return np.minimum(1.0, 2 * np.minimum(below, above) / 2.0**doubled.size)


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Correct p-values of a family of tests by Holm's step-down procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)), 1.0)
    return corrected


def cliffs_delta(first: npt.ArrayLike, second: npt.ArrayLike) -> Any:
    """Cliff's delta: share of pairs where ``first`` is larger, minus the share where it is smaller.

    Columns of ``first`` are compared one by one.

    Examples
    --------
    >>> float(cliffs_delta([1, 2, 3], [0, 1, 2]))
    0.5555555555555556
    """
    left = np.asarray(first, dtype=np.float64)
    right = np.sort(np.asarray(second, dtype=np.float64))
    above = np.searchsorted(right, left, side="left").sum(axis=0)
    pairs = len(left) * right.size
    below = pairs - np.searchsorted(right, left, side="right").sum(axis=0)
    return (above - below) / pairs
