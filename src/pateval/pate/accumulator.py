"""PATE of series that never fit in memory together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, AreaRule
from pateval.labels.events import find_events
from pateval.pate._counts import rank_steps
from pateval.validation.arrays import (
    Buffers,
    UndefinedMetricError,
    buffer_lengths,
    finite_array,
    scored_pair,
    series_starts,
)


class PateAccumulator:
    """Adds up weighted counts at fixed thresholds, series by series, on one machine or many.

    Its memory depends on the numbers of thresholds and buffers alone, not on how much was seen. It can be pickled, and
    merging in any grouping gives the same number up to rounding.

    Parameters
    ----------
    early, delay : int or iterable of int
        Buffer lengths in steps before and after an event; several are averaged over.
    thresholds : array-like of float
        The thresholds at which to count, in any order. Quantiles of the scores of a sample of series are a good choice.

    See Also
    --------
    pate : the same number where everything fits in memory, with ``thresholds`` and ``series``.

    Examples
    --------
    >>> import pateval as pv
    >>> first = ([0, 0, 1, 1, 0], [0.1, 0.3, 0.9, 0.6, 0.2])
    >>> second = ([0, 1, 0, 0], [0.4, 0.5, 0.7, 0.1])
    >>> one, other = (pv.PateAccumulator(2, 2, [0.2, 0.4, 0.6, 0.8]) for _ in range(2))
    >>> one.update(*first).merge(other.update(*second))
    PateAccumulator(9 steps, 2 series, 4 thresholds, 1 buffer pair)
    >>> round(one.compute(), 4)
    0.9016
    """

    def __init__(self, early: Buffers, delay: Buffers, thresholds: npt.ArrayLike) -> None:
        self.early = buffer_lengths(early, "early")
        self.delay = buffer_lengths(delay, "delay")
        self.thresholds = np.unique(finite_array(thresholds, "thresholds").astype(np.float64))[::-1]
        self.steps = 0
        self.series = 0
        self.anomalies = 0
        size = self.thresholds.size
        self._detected = np.zeros(size, dtype=np.intp)
        self._missed = np.zeros(size)
        self._true_positive = np.zeros((len(self.early), len(self.delay), size))

    def update(
        self, labels: npt.ArrayLike, scores: npt.ArrayLike, *, series: npt.ArrayLike | None = None
    ) -> PateAccumulator:
        """Add one series (or several, told apart by ``series``), each whole.

        Parameters
        ----------
        labels : array-like of 0/1
            Truth for each time step; a series without anomaly is welcome, its false alarms count.
        scores : array-like of float
            Higher is more anomalous.
        series : array-like, optional
            Which series each step belongs to.

        Returns
        -------
        PateAccumulator
            Itself.
        """
        labels, scores = scored_pair(labels, scores)
        starts = series_starts(series, labels.size)
        events = find_events(labels, starts)
        early, delay = (tuple(min(length, labels.size) for length in lengths) for lengths in (self.early, self.delay))
        steps = rank_steps(scores, events, early, delay, self.thresholds)
        self._detected += steps.detected
        self._missed += steps.missed
        for row, column, true_positive in steps.true_positives(early, delay):
            self._true_positive[row, column] += true_positive
        self.steps += labels.size
        self.series += starts.size
        self.anomalies += int(np.count_nonzero(labels))
        return self

    def merge(self, other: PateAccumulator) -> PateAccumulator:
        """Add what another accumulator of the same buffers and thresholds has seen; returns itself."""
        if not isinstance(other, PateAccumulator):
            raise TypeError(f"only a PateAccumulator can be merged; got {type(other).__name__}")
        for name in ("early", "delay"):
            if getattr(self, name) != getattr(other, name):
                raise ValueError(f"accumulators to merge must have the same {name} buffers")
        if not np.array_equal(self.thresholds, other.thresholds):
            raise ValueError("accumulators to merge must have the same thresholds")
        return self.add_counts(other.counts)

    @property
    def counts(self) -> dict[str, npt.NDArray[np.float64]]:
        """What was added up, as arrays by name: all that another accumulator needs to go on (see `add_counts`)."""
        seen = np.array([self.steps, self.series, self.anomalies])
        arrays = {"detected": self._detected, "missed": self._missed, "found": self._true_positive, "seen": seen}
        return {name: array.astype(np.float64) for name, array in arrays.items()}

    def add_counts(self, counts: Mapping[str, npt.ArrayLike]) -> PateAccumulator:
        """Add the `counts` of an accumulator of the same buffers and thresholds; returns itself."""
        given = {name: np.asarray(counts[name]) for name in self.counts}
        if any(given[name].shape != mine.shape for name, mine in self.counts.items()):
            raise ValueError("counts to add must come from an accumulator of the same buffers and thresholds")
        self._detected += given["detected"].astype(np.intp)
        self._missed += given["missed"]
        self._true_positive += given["found"]
        steps, series, anomalies = given["seen"].astype(np.intp).tolist()
        self.steps, self.series, self.anomalies = self.steps + steps, self.series + series, self.anomalies + anomalies
        return self

    def compute(self) -> float:
        """PATE of everything seen (trapezoid rule)."""
        return self._mean_area(TRAPEZOID)

    def compute_ap(self) -> float:
        """PATE-AP of everything seen (average-precision rule)."""
        return self._mean_area(AVERAGE_PRECISION)

    def _mean_area(self, rule: AreaRule) -> float:
        if not self.anomalies:
            raise UndefinedMetricError("the metric is undefined: no anomaly has been seen yet")
        before = np.append(0, self._detected)
        pairs = self._true_positive.reshape(-1, self.thresholds.size)
        areas = [rule.area(counts, self._missed, self._detected, before) for counts in pairs]
        return float(np.mean(areas))

    def __repr__(self) -> str:
        pairs = len(self.early) * len(self.delay)
        return (
            f"PateAccumulator({self.steps} steps, {self.series} series, {self.thresholds.size} thresholds, "
            f"{pairs} buffer pair{'s' if pairs > 1 else ''})"
        )
