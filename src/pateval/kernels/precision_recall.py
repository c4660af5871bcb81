"""Areas under curves, that of precision and recall from counts at thresholds, and scores that trapezoids flatter."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import FloatArray, IntArray

Array = npt.NDArray[np.float64]
Counts = IntArray | Array

_ROUNDING = 1e-13  # Recall that falls by less than this share is rounding; the definition keeps equal recall.
_CHUNK = 2**14  # points worked on at once, small enough to stay in cache


def trapezoids(x: FloatArray, y: FloatArray) -> FloatArray:
    """Area under straight lines between the points, along the last axis."""
    return np.sum(np.diff(x) * (y[..., 1:] + y[..., :-1]), axis=-1) / 2


def steps(x: FloatArray, y: FloatArray) -> FloatArray:
    """Area under steps, from x = 0 on, that have up to each point the height of that point, along the last axis."""
    gained = x.copy()
    gained[..., 1:] -= x[..., :-1]
    gained *= y
    # With the points first in memory NumPy adds one after the other: the sum is the same to the last digit in a wider
    # table that ends in zeros.
    return np.ascontiguousarray(np.moveaxis(gained, -1, 0)).sum(axis=0)


@dataclass(frozen=True)
class AreaRule:
    """How a gain in recall is rewarded: by a weighted mean of the precision on both sides of it."""

    after: float  # weight of the precision after the gain, and of that before it
    before: float

    def area(self, true_positive: Array, false_negative: Array, detected: Counts, detected_before: Counts) -> float:
        """Area under the precision-recall curve, from counts as `precision_recall_sums` takes them."""
        return self.of_sums(*precision_recall_sums(true_positive, false_negative, detected, detected_before))

    def of_sums(self, after: float, before: float) -> float:
        """Area, from the sums of gains times the precision after and before them; rounding may pass 1."""
        return min(self.after * after + self.before * before, 1.0)


TRAPEZOID = AreaRule(after=0.5, before=0.5)
AVERAGE_PRECISION = AreaRule(after=1.0, before=0.0)


def is_kept(recall: Array, highest: Array) -> npt.NDArray[np.bool_]:
    """Mark the points whose recall is not below the highest so far."""
    return recall >= (1 - _ROUNDING) * highest


def precision_recall_sums(
    true_positive: Array, false_negative: Array, detected: Counts, detected_before: Counts
) -> tuple[float, float]:
    """Gains in recall times the precision after, and times that before them, of which every rule makes its area.

    The counts, possibly weighted, are those at each threshold from high to low; points whose recall is below an earlier
    one are left out. Recall stands still between two thresholds while precision falls, so a gain starts from the
    precision just above its threshold: ``detected_before`` is how many scores are detected then, with one entry more
    for the detections after the last threshold. Before the first detection precision is 1.
    """
    total_after = total_before = highest = recall_before = 0.0
    precision_before = 1.0 if detected_before[0] == 0 else 0.0
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


class CoarseScoresWarning(UserWarning):
    """The scores are so coarse that the trapezoid rule pays for a line nobody walked."""


def coarseness(scores: FloatArray) -> str | None:
    """Say in a few words why scores are coarse, or return None.

    Coarse are scores of at most two distinct values, and scores of which one value holds more than half of all steps.
    """
    if scores.min() == -np.inf:  # a missing score that counts as normal is no value
        scores = scores[scores > -np.inf]
    if not scores.size:
        return None
    few = np.unique(scores[:64])
    if few.size <= 2:
        few = np.unique([scores.min(), scores.max()])
        if np.isin(scores, few).all():
            return "the scores have at most 2 distinct values"
    common = _majority(scores)
    if common is None:
        return None
    share = np.count_nonzero(scores == common) / scores.size
    return f"one score ({common:g}) is shared by {100 * share:.0f} % of all steps"


def warn_if_coarse(scores: FloatArray, metric: str, instead: str) -> None:
    """Warn the caller of a public function that its trapezoid rule flatters these scores."""
    if reason := coarseness(scores):
        level, frame = 1, sys._getframe()
        while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "pateval":
            level, frame = level + 1, frame.f_back
        text = f"{reason}, which the trapezoid rule of {metric} flatters; compare {instead}"
        warnings.warn(text, CoarseScoresWarning, stacklevel=level)


def _majority(values: FloatArray) -> float | None:
    """Value of more than half of the steps, found by pairing off unequal neighbours (Boyer and Moore)."""
    rest = values
    while rest.size:
        if rest.size % 2:
            if 2 * np.count_nonzero(rest == rest[-1]) > rest.size:
                candidate = float(rest[-1])
                return candidate if 2 * np.count_nonzero(values == rest[-1]) > values.size else None
            rest = rest[:-1]
        rest = rest[0::2][rest[0::2] == rest[1::2]]
    return None
