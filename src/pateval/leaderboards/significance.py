"""Who is better, by how much, and is that evidence? Tests on arrays, and what they say of detectors under one metric.

A *table* is a two-dimensional array, one row per series (the block) and one column per detector. Detectors are compared
only on the rows where all of them have a value; how many rows that leaves is part of every answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation.bootstrap import FloatArray
from pateval.evaluation.paired import ALPHA, signed_ranks
from pateval.output.results import Result
from pateval.validation.wording import counted, in_words, listed

MOST_IN_PAIRS = 1_000
"""Detectors up to which every pair is kept: time, memory and files grow with the square of their number."""
_OF_PAIRS = ["nemenyi_p", "wilcoxon_p", "wilcoxon_holm_p", "rank_biserial", "cliffs_delta", "wins", "ties", "losses"]
_MOST_QUANTILES_ONE_BY_ONE = 500
_MOST_IN_CLIQUES = 100  # detectors whose groups are listed as cliques; made ones had 192 of them
_MOST_IN_GROUPS = 15  # detectors: 24 had 12 groups, 40 had 21, 120 had 144 on made scores
_NUMBERS_AT_ONCE = 200_000  # differences in memory at once; the tests need about ten times as much beside them
_LONGEST_RANGE = 20.0  # which normal numbers, however many, exceed with a probability below 1e-40


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
    control : str
        The detector that the others are compared with, each by a Wilcoxon test of its own, corrected by Holm for as
        many as there are; empty where every two are compared. Then ``wilcoxon_holm_p`` is NaN between two others, and
        ``wilcoxon_groups`` has one group: the control and those not told apart from it.
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
    control: str = ""

    @property
    def test_text(self) -> str:
        """Who is not told apart, and by which test: "not told apart (Wilcoxon-Holm, 5 %)"."""
        if not self.control:
            return f"not told apart (Wilcoxon-Holm, {100 * self.alpha:g} %)"
        comparisons = len(self.detectors) - 1 if self.control in self.detectors else 0
        test = f"Wilcoxon-Holm over {counted(comparisons, 'comparison')}, {100 * self.alpha:g} %"
        return f"not told apart from {self.control} ({test})"

    @property
    def has_few(self) -> bool:
        """Whether groups can be read as letters or bars; those of many detectors are many more."""
        return len(self.detectors) <= _MOST_IN_GROUPS

    def alike(self, test: str = "wilcoxon") -> npt.NDArray[np.bool_]:
        """Return a matrix of who is not told apart from whom, each with itself.

        By the tests of every pair where they are kept, else by the groups. With a control, others are told apart from
        it or not, and nothing is said of two others.
        """
        by_control = self.control and test == "wilcoxon"
        p_values = self.nemenyi_p if test == "nemenyi" else self.wilcoxon_holm_p
        if p_values and not by_control:
            return ~(np.array(p_values, dtype=np.float64) < self.alpha)
        places = {name: place for place, name in enumerate(self.detectors)}
        is_alike = np.eye(len(places), dtype=np.bool_)
        for group in self.nemenyi_groups if test == "nemenyi" else self.wilcoxon_groups:
            members = [places[name] for name in group]
            if by_control:
                is_alike[places[self.control], members] = is_alike[members, places[self.control]] = True
            else:
                is_alike[np.ix_(members, members)] = True
        return is_alike

    def against_control(self) -> dict[str, float]:
        """Return the corrected p-value of each other detector against the control, where pairs are kept."""
        if self.control not in self.detectors or not self.wilcoxon_holm_p:
            return {}
        p_values = self.wilcoxon_holm_p[self.detectors.index(self.control)]
        return {name: p for name, p in zip(self.detectors, p_values, strict=True) if name != self.control}

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with a row per pair that was compared, the better mean rank first."""
        size = len(self.nemenyi_p)
        pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
        if self.control:
            pairs = [pair for pair in pairs if self.control in (self.detectors[pair[0]], self.detectors[pair[1]])]
        return {
            "metric": [self.metric] * len(pairs),
            "detector": [self.detectors[i] for i, _ in pairs],
            "other": [self.detectors[j] for _, j in pairs],
            **{name: [getattr(self, name)[i][j] for i, j in pairs] for name in _OF_PAIRS},
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data that JSON can carry; without a control there is none in it."""
        fields = super().to_dict()
        return fields if self.control else {name: value for name, value in fields.items() if name != "control"}


def known_detector(name: str, detectors: Sequence[str]) -> str:
    """Return the name of a control, or refuse one that is not there."""
    if not isinstance(name, str) or name not in detectors:
        raise ValueError(f"control names {in_words(name)}; the detectors are {listed(detectors, 12)}")
    return name


def compare_detectors(
    metric: str,
    detectors: Sequence[str],
    table: npt.NDArray[np.float64],
    *,
    higher_is_better: bool,
    left_out: Sequence[str] = (),
    alpha: float = ALPHA,
    control: str = "",
) -> Significance:
    """Run all tests on the values of one metric, a table of series by detectors, best mean rank first.

    Rows with a NaN are left out; ``left_out`` names the detectors without any value. With a ``control`` Wilcoxon's
    test compares the others with it alone; nobody is where it has no value.
    """
    ranks = rank_table(table, higher_is_better=higher_is_better)
    of_control = np.array([name == control for name in detectors], dtype=np.bool_)
    compared = np.logical_xor.outer(of_control, of_control) if control else None
    difference = nemenyi_difference(len(detectors), ranks.used, alpha=alpha)
    pairs: dict[str, Any] = dict.fromkeys(_OF_PAIRS, np.empty((0, 0)))
    if len(detectors) <= MOST_IN_PAIRS:
        pairs = {"nemenyi_p": nemenyi(ranks)}
        pairs |= pairwise(table, higher_is_better=higher_is_better, compared=compared)
        by_ranks, corrected = pairs["nemenyi_p"], pairs["wilcoxon_holm_p"]
    else:
        apart = np.greater.outer(ranks.mean, ranks.mean + difference)
        by_ranks, corrected = 1.0 - (apart | apart.T), np.ones(apart.shape)
        if control or smallest_p_value(len(detectors), ranks.used) < alpha:
            _, corrected, _ = _signed_rank_tests(complete_rows(table)[0], compared)
    if control:
        # One row says it all: who is not told apart from the control, itself with them.
        wilcoxon = [tuple(np.flatnonzero(row >= alpha).tolist()) for row in corrected[of_control]]
    else:
        wilcoxon = groups_alike(corrected, ranks.mean, alpha=alpha)

    def named(groups: list[tuple[int, ...]]) -> list[list[str]]:
        return [[detectors[i] for i in group] for group in groups]

    return Significance(
        metric,
        tuple(detectors),
        tuple(left_out),
        ranks.used,
        ranks.dropped,
        ranks.mean.tolist(),
        asdict(friedman(ranks)),
        difference,
        nemenyi_groups=named(groups_alike(by_ranks, ranks.mean, alpha=alpha)),
        wilcoxon_groups=named(wilcoxon),
        alpha=alpha,
        control=control,
        **{name: matrix.tolist() for name, matrix in pairs.items()},
    )


def smallest_p_value(detectors: int, series: int) -> float:
    """The smallest p-value any pair can have: 2 / 2**n by the signed-rank test, times the number of pairs by Holm."""
    return min(1.0, 2.0 ** (1 - series) * (detectors * (detectors - 1) // 2))


@dataclass(frozen=True)
class Ranks:
    """Ranks of the detectors: 1 is best, ties share the mean of their places."""

    per_series: FloatArray  # within each series used, one row per series
    mean: FloatArray  # of each detector; NaN where no series could be used
    used: int  # series where every detector has a value
    dropped: int  # the others, which are left out


@dataclass(frozen=True)
class Friedman:
    """Do the detectors differ at all? Friedman's chi-square, corrected for ties, and the F of Iman and Davenport."""

    chi_square: float
    p_value: float
    f_statistic: float
    f_p_value: float


def complete_rows(table: npt.ArrayLike) -> tuple[FloatArray, int]:
    """Return the rows without NaN, and how many rows had one."""
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"a table of series by detectors has two dimensions; got an array of shape {values.shape}")
    complete = ~np.isnan(values).any(axis=1)
    return values[complete], int(np.count_nonzero(~complete))


def rank_table(table: npt.ArrayLike, *, higher_is_better: bool = True) -> Ranks:
    """Rank the detectors within each series, and average; rows of the table with a NaN are left out and counted."""
    values, dropped = complete_rows(table)
    detectors = values.shape[1]
    if not values.shape[0]:
        return Ranks(np.empty((0, detectors)), np.full(detectors, np.nan), 0, dropped)
    from scipy.stats import rankdata

    ranks = rankdata(-values if higher_is_better else values, axis=1)
    return Ranks(ranks, ranks.mean(axis=0), values.shape[0], dropped)


def friedman(ranks: Ranks) -> Friedman:
    r"""Test whether any detector differs from the others.

    Friedman's statistic is corrected for ties. The F statistic of Iman and Davenport,
    :math:`F = (n - 1)\chi^2 / (n(k - 1) - \chi^2)`, is less conservative. Where all series rank the detectors alike, F
    is infinite and its p-value would be 0, whatever the number of series; the exact probability of that agreement is
    given instead, ``m ** (1 - n)`` for ``m`` distinct orders of one row. All are NaN with fewer than two series or
    detectors, or where every detector is level on every series.

    References
    ----------
    M. Friedman, JASA 32 (1937); R. L. Iman, J. M. Davenport, Communications in Statistics 9 (1980);
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
    """
    rows = ranks.per_series
    series, detectors = rows.shape
    if series < 2 or detectors < 2:
        return Friedman(math.nan, math.nan, math.nan, math.nan)
    from scipy.special import chdtrc, fdtrc

    # Not scipy.stats.friedmanchisquare: it refuses two detectors, and ranks again what is ranked already, which makes
    # it 40 times slower (0.9 against 0.02 ms for 20 detectors on 52 series). A test holds the two equal.
    # Sum of squares about the mean rank: within rows it falls with ties, so the quotient corrects for them.
    between = series * float(np.sum((ranks.mean - (detectors + 1) / 2) ** 2))
    within = float(np.sum((rows - (detectors + 1) / 2) ** 2))
    if within == 0:
        return Friedman(math.nan, math.nan, math.nan, math.nan)
    chi_square = series * (detectors - 1) * between / within
    p_value = float(chdtrc(detectors - 1, chi_square))
    if bool(np.all(rows == rows[0])):
        _, sizes = np.unique(rows[0], return_counts=True)
        orders = math.factorial(detectors) // math.prod(math.factorial(int(size)) for size in sizes)
        return Friedman(chi_square, p_value, math.inf, math.exp((1 - series) * math.log(orders)))
    statistic = (series - 1) * chi_square / (series * (detectors - 1) - chi_square)
    f_p_value = float(fdtrc(detectors - 1, (detectors - 1) * (series - 1), statistic))
    return Friedman(chi_square, p_value, statistic, f_p_value)


def nemenyi_difference(detectors: int, series: int, *, alpha: float = 0.05) -> float:
    r"""Return the critical difference of mean ranks, :math:`q_\alpha \sqrt{k(k+1) / 6n}`."""
    if detectors < 2 or series < 1:
        return math.nan
    return _range_quantile(detectors, alpha) / math.sqrt(2) * math.sqrt(detectors * (detectors + 1) / (6 * series))


@cache
def _range_quantile(size: int, alpha: float) -> float:
    """Where the range of ``size`` standard normal numbers is exceeded with probability ``alpha``, by bisection."""
    low, high = 0.0, 100.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if studentized_range(np.array([middle]), size)[0] > alpha else (low, middle)
    return high


def studentized_range(quantiles: FloatArray, size: int) -> FloatArray:
    r"""Probability that the range of ``size`` standard normal numbers exceeds each of the ``quantiles``.

    .. math:: 1 - k \int \varphi(z) \, (\Phi(z) - \Phi(z - q))^{k-1} \, dz

    The integrand is smooth and vanishes at both ends, so that plain sums are exact to rounding. For infinite degrees of
    freedom this takes a third of the time of ``scipy.stats.studentized_range``, and all pairs at once.
    """
    from scipy.special import ndtr

    given = np.asarray(quantiles, dtype=np.float64)
    if given.size > _MOST_QUANTILES_ONE_BY_ONE:
        # The probability is an analytic function: a polynomial through 257 nodes is exact to rounding (2e-12 in tests).
        curve = np.polynomial.Chebyshev.interpolate(
            lambda nodes: studentized_range(nodes, size), 256, [0, _LONGEST_RANGE]
        )
        return np.where(given > _LONGEST_RANGE, 0.0, np.clip(curve(np.minimum(given, _LONGEST_RANGE)), 0.0, 1.0))
    nodes, step = np.linspace(-10, 10, 401, retstep=True)
    density = np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    inside = ndtr(nodes) - ndtr(nodes - given[:, None])
    return np.clip(1 - size * float(step) * (inside ** (size - 1) @ density), 0.0, 1.0)


def nemenyi(ranks: Ranks) -> FloatArray:
    """Return the p-values of all pairs under Nemenyi's test (studentized range); 1 on the diagonal."""
    detectors = ranks.mean.size
    if ranks.used < 1 or detectors < 2:
        return np.full((detectors, detectors), np.nan)
    differences = np.abs(ranks.mean[:, None] - ranks.mean[None, :])
    scaled = differences * math.sqrt(2) / math.sqrt(detectors * (detectors + 1) / (6 * ranks.used))
    result = np.ones((detectors, detectors))
    upper = np.triu_indices(detectors, 1)
    result[upper] = studentized_range(scaled[upper], detectors)
    return np.minimum(result, result.T)


def groups_alike(p_values: npt.ArrayLike, order: npt.ArrayLike, *, alpha: float = 0.05) -> list[tuple[int, ...]]:
    """Return the critical-difference groups: the largest sets in which no two detectors differ significantly.

    They are the maximal cliques of the graph that joins detectors with ``p >= alpha``, by their column numbers in the
    symmetric matrix of (corrected) p-values, where NaN counts as not significant. A detector that differs from all
    others is a group of its own. Members and groups are listed by ``order``, the mean ranks, best first.

    Cliques can be more than anybody can list (400 detectors on 40 series had 632,704 of them, 300 had 59,480): of more
    than 100 detectors groups are the longest runs of neighbours in rank in which no two differ.
    """
    matrix = np.asarray(p_values, dtype=np.float64)
    by_rank = np.lexsort((np.arange(len(matrix)), np.asarray(order, dtype=np.float64)))
    alike = ~(matrix[np.ix_(by_rank, by_rank)] < alpha)
    np.fill_diagonal(alike, True)
    if len(matrix) > _MOST_IN_CLIQUES:
        return [tuple(by_rank[start:stop].tolist()) for start, stop in _longest_runs(alike)]
    # Detectors that are like the same others are in the same groups, and one of them stands for all.
    twins: dict[bytes, list[int]] = {}
    for number, row in enumerate(np.packbits(alike, axis=1)):
        twins.setdefault(row.tobytes(), []).append(number)
    members = list(twins.values())
    first = [several[0] for several in members]
    groups = sorted(
        sorted(number for place in clique for number in members[place])
        for clique in _maximal_cliques(alike[np.ix_(first, first)])
    )
    return [tuple(by_rank[group].tolist()) for group in groups]


def _longest_runs(joined: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where the longest runs begin and end in which every two are joined."""
    size = len(joined)
    later_apart = np.triu(~joined, 1)
    stops = np.where(later_apart.any(axis=1), later_apart.argmax(axis=1), size)
    stops = np.minimum.accumulate(stops[::-1])[::-1]  # those that follow must not differ either
    is_new = np.diff(stops, prepend=0) > 0  # the others end where one that began before them ends
    yield from ((start, int(stops[start])) for start in np.flatnonzero(is_new).tolist())


def _maximal_cliques(joined: npt.NDArray[np.bool_]) -> Iterator[set[int]]:
    """Bron and Kerbosch's search, with the pivot that has most neighbours among the candidates."""
    neighbours = [{*np.flatnonzero(row).tolist()} - {number} for number, row in enumerate(joined)]
    waiting: list[tuple[set[int], ...]] = [(set(), {*range(len(joined))}, set())] if neighbours else []
    while waiting:
        clique, candidates, seen = waiting.pop()
        if not candidates:
            if not seen:
                yield clique
            continue
        pivot = max(candidates | seen, key=lambda member: len(neighbours[member] & candidates))
        for member in candidates - neighbours[pivot]:
            own = neighbours[member]
            waiting.append((clique | {member}, candidates & own, seen & own))
            candidates, seen = candidates - {member}, seen | {member}


def kendall(rankings: npt.ArrayLike) -> FloatArray:
    """Kendall's tau-b between every two rankings (rows); NaN where one is constant, or both rank less than two."""
    rows = np.asarray(rankings, dtype=np.float64)
    agreeing, apart = np.zeros((2, len(rows), len(rows)))
    # Not scipy.stats.kendalltau: it takes one pair at a time, and the 2,556 pairs of 72 metrics take 0.8 s instead of
    # 0.3 ms. A test holds the two equal. A detector at a time with all after it: all pairs of 5,000 take 3 GB.
    for detector in range(rows.shape[1]):
        signs = np.sign(rows[:, [detector]] - rows[:, detector + 1 :])
        both = (~np.isnan(signs)).astype(np.float64)
        signs = np.nan_to_num(signs)
        agreeing += signs @ signs.T
        # Pairs of detectors that a ranking tells apart, among those that the other ranking ranks at all.
        apart += signs**2 @ both.T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(agreeing / np.sqrt(apart * apart.T), dtype=np.float64)


def pairwise(
    table: npt.ArrayLike, *, higher_is_better: bool = True, compared: npt.NDArray[np.bool_] | None = None
) -> dict[str, npt.NDArray[Any]]:
    """Compare every two detectors over the series where all have a value: matrices by their names in `Significance`.

    The Wilcoxon signed-rank test leaves level series out; its p-values are corrected by Holm for all pairs, or for
    those marked in the symmetric matrix ``compared``. Effects are positive where the row is *better*.
    """
    values, _ = complete_rows(table)
    values = values if higher_is_better else -values
    detectors = values.shape[1]
    raw, corrected, biserial = _signed_rank_tests(values, compared)
    delta = np.zeros((detectors, detectors))
    if values.size:
        delta = np.triu(np.array([cliffs_delta(values, values[:, j]) for j in range(detectors)]).T, 1)
    wins, ties = np.zeros((2, detectors, detectors), dtype=np.intp)
    for i in range(detectors):
        wins[i], ties[i] = (values[:, [i]] > values).sum(axis=0), (values[:, [i]] == values).sum(axis=0)
    return {
        "wilcoxon_p": raw,
        "wilcoxon_holm_p": corrected,
        "rank_biserial": biserial,
        "cliffs_delta": delta - delta.T,
        "wins": wins,
        "ties": ties,
        "losses": wins.T,
    }


def _signed_rank_tests(
    values: FloatArray, compared: npt.NDArray[np.bool_] | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """P-values of all pairs, the same corrected by Holm for those compared (NaN for the others), and effects."""
    detectors = values.shape[1]
    one, other = np.triu_indices(detectors, 1)
    raw, corrected, biserial = np.ones((3, detectors, detectors))
    biserial[:] = 0
    step = max(1, _NUMBERS_AT_ONCE // max(len(values), 1))
    for first in range(0, one.size if len(values) else 0, step):
        i, j = one[first : first + step], other[first : first + step]
        raw[i, j], biserial[i, j] = signed_ranks((values[:, i] - values[:, j]).T)
    family = slice(None) if compared is None else compared[one, other]
    corrected[one, other] = np.nan
    corrected[one[family], other[family]] = holm(raw[one[family], other[family]])
    # A difference rather than a sign turned around: no negative zeros in printed tables.
    return np.minimum(raw, raw.T), np.minimum(corrected, corrected.T), biserial - biserial.T


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Correct p-values of a family of tests by Holm's step-down procedure."""
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)), 1.0)
    return corrected


def cliffs_delta(first: npt.ArrayLike, second: npt.ArrayLike) -> Any:
    """Share of pairs where a column of ``first`` is larger than ``second``, less the share where it is smaller."""
    left = np.asarray(first, dtype=np.float64)
    right = np.sort(np.asarray(second, dtype=np.float64))
    above = np.searchsorted(right, left, side="left").sum(axis=0)
    pairs = len(left) * right.size
    below = pairs - np.searchsorted(right, left, side="right").sum(axis=0)
    return (above - below) / pairs
