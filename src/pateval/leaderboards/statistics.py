"""Who is better, by how much, and is that evidence? Pure functions on arrays.

A *table* is a two-dimensional array, one row per series (the block) and one column per detector. Detectors are compared
only on the rows where all of them have a value; how many rows that leaves is part of every answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import Metric
from pateval.evaluation.bootstrap import FloatArray, MeanBootstrap
from pateval.validation.arrays import IntArray

_MOST_QUANTILES_ONE_BY_ONE = 500
_MOST_IN_CLIQUES = 100  # detectors whose groups are listed as cliques; made ones had 192 of them
_LONGEST_RANGE = 20.0  # which normal numbers, however many, exceed with a probability below 1e-40


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
    """Rank the detectors within each series, and average; rows of the table with a NaN are left out and counted.

    Notes
    -----
    The PATE paper's mean ranks under PA-F1 follow from its printed table with shared ties, and only so. Those under
    PATE do not quite: the table gives 1.25 and 2.25 where the paper prints 1.38 and 2.12, which would take one tie
    between Transformer and LSTM that the two printed decimals do not show.
    """
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


def _maximal_cliques(joined: npt.NDArray[np.bool_]) -> Iterator[list[int]]:
    """Bron and Kerbosch's search, with the pivot that has most neighbours among the candidates."""
    apart = joined & ~np.eye(len(joined), dtype=np.bool_)
    # Sets are the bits of integers.
    neighbours = [int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in apart]
    waiting = [(0, (1 << len(joined)) - 1, 0)] if len(joined) else []
    while waiting:
        clique, candidates, seen = waiting.pop()
        if not candidates:
            if not seen:
                yield list(_members(clique))
            continue
        pivot = max(_members(candidates | seen), key=lambda member: (neighbours[member] & candidates).bit_count())
        for member in _members(candidates & ~neighbours[pivot]):
            own = neighbours[member]
            waiting.append((clique | 1 << member, candidates & own, seen & own))
            candidates ^= 1 << member
            seen |= 1 << member


def _members(clique: int) -> Iterator[int]:
    """The numbers of the bits that are set, lowest first."""
    while clique:
        lowest = clique & -clique
        yield lowest.bit_length() - 1
        clique ^= lowest


def kendall(rankings: npt.ArrayLike) -> FloatArray:
    """Kendall's tau-b between every two rankings (rows): how far do two metrics agree on the order of detectors.

    NaN where a ranking is constant or fewer than two detectors are ranked by both.
    """
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


def skill(value: npt.ArrayLike, chance: npt.ArrayLike, *, best: float | None = 1.0) -> Any:
    r"""Share of the way from chance to perfection, :math:`(value - chance) / (best - chance)`.

    0 is what random scores reach, 1 is perfect, below 0 is worse than chance. NaN where chance is already perfect, or
    nothing is best.
    """
    values, level = np.asarray(value, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    room = (math.nan if best is None else best) - level
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(room) > 1e-12, (values - level) / room, np.nan)


@dataclass(frozen=True)
class MetricFacts:
    """Which way a metric points, what a perfect detector gets (None where nothing is best), and what it takes."""

    higher_is_better: bool = True
    best: float | None = 1.0
    needs_threshold: bool = False

    @classmethod
    def of(cls, metric: Metric) -> MetricFacts:
        """Take them from the catalogue."""
        return cls(metric.higher_is_better, metric.best, metric.needs_threshold)


@dataclass(frozen=True)
class ChanceLevels:
    """What random scores reach, once for each distinct labels."""

    levels: FloatArray  # distinct labels by metrics
    rows: npt.NDArray[np.int32]  # detectors by series: the row of levels of their labels, -1 where there is none

    def at(self, detectors: Any, series: Any, metrics: Any) -> FloatArray:
        """Return the levels at some places."""
        rows = self.rows[detectors, series]
        return np.asarray(np.where(rows >= 0, self.levels[rows, metrics], np.nan))

    def of_metric(self, metric: int) -> FloatArray:
        """Return the levels of one metric, detectors by series."""
        return self.at(slice(None), slice(None), metric)


@dataclass(frozen=True)
class MetricRanks:
    """Mean ranks of the detectors that have any value of a metric; others would leave no series to compare on."""

    ranked: IntArray  # their numbers, in the order of the leaderboard
    means: FloatArray  # of all detectors, NaN for the others
    used: int  # series where all of them have a value
    dropped: int

    def mean_rank(self, detector: int) -> float | None:
        """Return the mean rank of a detector, None where it has none."""
        return number(float(self.means[detector]))

    def best_first(self) -> list[int]:
        """Return the detectors in the order of their mean ranks, then of the leaderboard."""
        order: list[int] = self.ranked[np.argsort(self.means[self.ranked], kind="stable")].tolist()
        return order


def rank_detectors(table: FloatArray, facts: MetricFacts) -> MetricRanks:
    """Rank the detectors by the values of one metric, given as series by detectors."""
    ranked = np.flatnonzero(~np.isnan(table).all(axis=0))
    ranks = rank_table(table[:, ranked], higher_is_better=facts.higher_is_better)
    means = np.full(table.shape[1], np.nan)
    means[ranked] = ranks.mean
    return MetricRanks(ranked, means, ranks.used, ranks.dropped)


def mean_limits(values: FloatArray) -> FloatArray:
    """Return bootstrap limits of the means over series: detectors by metrics by (low, high).

    Columns defined on the same series share their resamples, and few columns are copied at a time.
    """
    detectors, series, metrics = values.shape
    limits = np.full((detectors, metrics, 2), np.nan)
    defined_alike: dict[bytes, list[tuple[int, int]]] = {}
    for d in range(detectors):
        packed = np.packbits(~np.isnan(values[d]), axis=0)
        for m in range(metrics):
            defined_alike.setdefault(packed[:, m].tobytes(), []).append((d, m))
    for pattern, columns in defined_alike.items():
        defined = np.unpackbits(np.frombuffer(pattern, dtype=np.uint8), count=series).astype(np.bool_)
        bootstrap = MeanBootstrap(int(defined.sum()))
        for first in range(0, len(columns), 128):
            d, m = np.array(columns[first : first + 128]).T
            limits[d, m] = bootstrap.intervals(values[d[None, :], np.flatnonzero(defined)[:, None], m[None, :]])
    return limits


def mean(values: FloatArray) -> float | None:
    """Return the mean of the defined values, None where there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def number(value: float) -> float | None:
    """Return a number, or None for NaN."""
    return None if math.isnan(value) else float(value)
