"""The area under a precision-recall curve, from counts at thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import IntArray

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-13  # Recall that falls by less than this share is rounding; the definition keeps equal recall.
_CHUNK = 2**14  # points worked on at once, small enough to stay in cache


@dataclass(frozen=True)
class AreaRule:
    """How a gain in recall is rewarded: by a weighted mean of the precision on both sides of it.

    Attributes
    ----------
    name : str
        As in signatures.
    after, before : float
        Weight of the precision after and before the gain.
    start : float
        Precision before the first detection.
    """

    name: str
    after: float
    before: float
    start: float

    def area(self, after: float, before: float) -> float:
        """Area, from the sums of gains times the precision after and before them; rounding may pass 1."""
        return min(self.after * after + self.before * before, 1.0)


TRAPEZOID = AreaRule("trapezoid", after=0.5, before=0.5, start=1.0)
AVERAGE_PRECISION = AreaRule("average-precision", after=1.0, before=0.0, start=0.0)


def is_kept(recall: Array, highest: Array) -> npt.NDArray[np.bool_]:
    """Mark the points whose recall is not below the highest so far."""
    kept: npt.NDArray[np.bool_] = recall >= (1 - _ROUNDING) * highest
    return kept


def precision_recall_area(
    true_positive: Array,
    false_negative: Array,
    detected: IntArray | Array,
    detected_before: IntArray | Array,
    rule: AreaRule,
) -> float:
    """Area under the precision-recall curve, leaving out points whose recall is below an earlier one.

    Parameters
    ----------
    true_positive, false_negative : ndarray
        Counts, possibly weighted, at each threshold from high to low.
    detected : ndarray of int
        How many scores lie at or above each threshold.
    detected_before : ndarray of int
        How many scores are detected just before each threshold is reached. Recall stands still between two thresholds
        while precision falls, so a gain starts from the precision just above its threshold. One entry more than
        there are thresholds: the detections after the last.
    rule : AreaRule
        How gains in recall are rewarded.

    Examples
    --------
    >>> counts = np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.array([1, 4]), np.array([0, 3, 4])
    >>> precision_recall_area(*counts, AVERAGE_PRECISION), round(precision_recall_area(*counts, TRAPEZOID), 4)
    (0.75, 0.7083)
    """
    sums = precision_recall_sums(true_positive, false_negative, detected, detected_before, rule.start)
    return rule.area(*sums)


def precision_recall_sums(
    true_positive: Array,
    false_negative: Array,
    detected: IntArray | Array,
    detected_before: IntArray | Array,
    start: float = 1.0,
) -> tuple[float, float]:
    """Gains in recall times the precision after, and times that before them, of which every rule makes its area."""
    total_after = total_before = highest = recall_before = 0.0
    precision_before = start if detected_before[0] == 0 else 0.0
    for start in range(0, true_positive.size, _CHUNK):
        chunk, next_chunk = slice(start, start + _CHUNK), slice(start + 1, start + 1 + _CHUNK)
        counted = true_positive[chunk]
        recall = np.append(highest, counted / (counted + false_negative[chunk]))
        kept = is_kept(recall, np.maximum.accumulate(recall))[1:]
        highest = float(recall.max())
        if not kept.any():
            continue
        recall, counted = recall[1:][kept], counted[kept]
        gained = np.diff(recall, prepend=recall_before)
        after = counted / np.maximum(detected[chunk][kept], 1)
        before = np.append(precision_before, counted / np.maximum(detected_before[next_chunk][kept], 1))
        # Not `@`: the threads of the linear algebra library would keep spinning for longer than all of this takes.
        total_after += float((gained * after).sum())
        total_before += float((gained * before[:-1]).sum())
        recall_before, precision_before = float(recall[-1]), float(before[-1])
    return total_after, total_before
