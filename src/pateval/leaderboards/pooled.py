"""Micro beside macro: PATE over all series of a detector together, without holding them together.

A first look at every series gives quantiles of its scores; from those of a detector come the thresholds at which all
its series are counted, and the counts are added up in the order of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pateval._validation import FloatArray
    from pateval.pate.accumulator import PateAccumulator

THRESHOLDS = 512
SAMPLED_SERIES = 256  # series per detector whose scores decide the thresholds
MOST_CELLS = 100_000  # thresholds x pairs of buffers of one accumulator
METRICS = ("pate", "pate_ap")
# Anomalies are rare, so the curve is made at the high end: half of the levels lie there.
_LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 33), 1 - np.geomspace(1e-4, 0.5, 48)]))


def score_sample(ordered: FloatArray, distinct: FloatArray) -> npt.NDArray[np.float64]:
    """Describe the scores of a series by a few of them: all distinct ones, or quantiles.

    Parameters
    ----------
    ordered : ndarray
        The scores, ascending.
    distinct : ndarray
        The distinct scores.
    """
    chosen = distinct if distinct.size <= _LEVELS.size else ordered[np.ceil(_LEVELS * (ordered.size - 1)).astype(int)]
    return np.asarray(chosen, dtype=np.float64)


def common_thresholds(samples: Iterable[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Choose the thresholds of a detector: all sampled scores, or as many spread evenly over them.

    Examples
    --------
    >>> common_thresholds([np.array([0.1, 0.5]), np.array([0.5, 0.9])])
    array([0.1, 0.5, 0.9])
    """
    pool = np.unique(np.concatenate(list(samples)))
    if pool.size <= THRESHOLDS:
        return pool
    chosen = np.round(np.linspace(0, pool.size - 1, THRESHOLDS)).astype(np.intp)
    return np.asarray(pool[chosen], dtype=np.float64)


def can_pool(early: Sequence[int], delay: Sequence[int]) -> bool:
    """Tell whether the counts of all pairs of buffers are small enough to be sent around."""
    return len(early) * len(delay) * THRESHOLDS <= MOST_CELLS


class OrderedMerge:
    """Adds up the counts of each detector in a fixed order, whatever order they come in.

    Parameters
    ----------
    order : sequence of (detector, series)
        The order within each detector; counts that come early wait for their turn.
    """

    def __init__(self, order: Sequence[tuple[str, str]]) -> None:
        self._turns: dict[str, list[str]] = {}
        for detector, series in reversed(order):
            self._turns.setdefault(detector, []).append(series)
        self._waiting: dict[tuple[str, str], PateAccumulator | None] = {}
        self._sums: dict[str, PateAccumulator] = {}

    def add(self, detector: str, series: str, counts: PateAccumulator | None) -> None:
        """Take in the counts of one series; None where it could not be counted."""
        self._waiting[detector, series] = counts
        turns = self._turns[detector]
        while turns and (detector, turns[-1]) in self._waiting:
            turn = self._waiting.pop((detector, turns.pop()))
            if turn is not None:
                self._sums[detector] = self._sums[detector].merge(turn) if detector in self._sums else turn

    def values(self) -> Mapping[tuple[str, str], float]:
        """Return `pate` and `pate_ap` of each detector over all its series; nothing where no anomaly was seen."""
        found = {}
        for detector, total in self._sums.items():
            if total.anomalies:
                found[detector, "pate"] = total.compute()
                found[detector, "pate_ap"] = total.compute_ap()
        return found
