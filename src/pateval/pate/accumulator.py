"""PATE of series that never fit in memory together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval._validation import Buffers, UndefinedMetricError, buffer_lengths, finite_array, scored_pair, series_starts
from pateval.events import find_events
from pateval.pate.area import AVERAGE_PRECISION, TRAPEZOID
from pateval.pate.sampled import ThresholdCounts, counts_at
from pateval.pate.sweep import Scored


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
        self._counts = ThresholdCounts.none(self.thresholds.size, len(self.early), len(self.delay))

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
        self._counts += counts_at(Scored(scores, events), self.thresholds, self.early, self.delay)
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
        self._counts += other._counts
        self.steps += other.steps
        self.series += other.series
        self.anomalies += other.anomalies
        return self

    def compute(self) -> float:
        """PATE of everything seen (trapezoid rule)."""
        self._require_anomaly()
        return self._counts.mean_area(TRAPEZOID)

    def compute_ap(self) -> float:
        """PATE-AP of everything seen (average-precision rule)."""
        self._require_anomaly()
        return self._counts.mean_area(AVERAGE_PRECISION)

    def _require_anomaly(self) -> None:
        if not self.anomalies:
            raise UndefinedMetricError("the metric is undefined: no anomaly has been seen yet")

    def __repr__(self) -> str:
        pairs = len(self.early) * len(self.delay)
        return (
            f"PateAccumulator({self.steps} steps, {self.series} series, {self.thresholds.size} thresholds, "
            f"{pairs} buffer pair{'s' if pairs > 1 else ''})"
        )
