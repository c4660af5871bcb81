"""What the values of all series come to under one metric: means with limits, chance, skill, ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.evaluation.bootstrap import MeanBootstrap
from pateval.leaderboards import statistics

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MetricFacts:
    """Which way a metric points, what a perfect detector gets (None where nothing is best), and what it takes."""

    higher_is_better: bool = True
    best: float | None = 1.0
    needs_threshold: bool = False


@dataclass(frozen=True)
class ChanceLevels:
    """What random scores reach, once for each distinct labels.

    Attributes
    ----------
    levels : ndarray
        Distinct labels by metrics.
    rows : ndarray of int32
        Detectors by series: the row of ``levels`` that belongs to their labels, -1 where there is none.
    """

    levels: Values
    rows: npt.NDArray[np.int32]

    def of_metric(self, metric: int) -> Values:
        """Return the levels of one metric, detectors by series."""
        return np.asarray(np.where(self.rows >= 0, self.levels[self.rows, metric], np.nan))


@dataclass(frozen=True)
class MetricRanks:
    """Ranks of the detectors that have any value of a metric.

    Attributes
    ----------
    ranked : list of int
        Their numbers, in the order of the leaderboard; one without any value would leave no series to compare on.
    means : ndarray
        Their mean ranks.
    used, dropped : int
        Series where all of them have a value, and the others.
    """

    ranked: list[int]
    means: Values
    used: int
    dropped: int

    def mean_rank(self, detector: int) -> float | None:
        """Return the mean rank of a detector, None where it has none."""
        return number(float(self.means[self.ranked.index(detector)])) if detector in self.ranked else None

    def best_first(self) -> list[int]:
        """Return the detectors in the order of their mean ranks, then of the leaderboard."""
        by_rank = sorted(range(len(self.ranked)), key=lambda place: (float(self.means[place]), place))
        return [self.ranked[place] for place in by_rank]


def rank_detectors(table: Values, facts: MetricFacts) -> MetricRanks:
    """Rank the detectors by the values of one metric, given as series by detectors."""
    ranked = np.flatnonzero(~np.isnan(table).all(axis=0)).tolist()
    ranks = statistics.rank_table(table[:, ranked], higher_is_better=facts.higher_is_better)
    return MetricRanks(ranked, ranks.mean, ranks.used, ranks.dropped)


def mean_limits(values: Values) -> Values:
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


def skills(values: Values, chance: Values | None, facts: MetricFacts) -> Values | None:
    """Return the share of the way from chance to perfection, where both are known."""
    if chance is None:
        return None
    if facts.best is None:
        return np.full(values.shape, np.nan)
    return np.asarray(statistics.skill(values, chance, best=facts.best))


def mean(values: Values) -> float | None:
    """Return the mean of the defined values, None where there are none.

    Examples
    --------
    >>> mean(np.array([0.5, np.nan])), mean(np.array([np.nan]))
    (0.5, None)
    """
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def number(value: float) -> float | None:
    """Return a number, or None for NaN."""
    return None if math.isnan(value) else float(value)
