"""Area under the precision-recall curve of a sweep, by the trapezoid or the average-precision rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._inputs import IntArray
from pateval.pate.sweep import Counts

Array = npt.NDArray[np.float64]

# Recall that falls by less than this is rounding; the definition keeps equal recall.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class Rule:
    """Area under a curve: each gain in recall times a mean of the precision on both sides of it.

    Attributes
    ----------
    after, before : float
        Weight of the precision after and before the gain.
    start : float
        Precision before the first detection.
    """

    after: float
    before: float
    start: float


TRAPEZOID = Rule(after=0.5, before=0.5, start=1.0)
AVERAGE_PRECISION = Rule(after=1.0, before=0.0, start=0.0)


def rising(recall: Array) -> npt.NDArray[np.bool_]:
    """Mark the points whose recall is not below the highest recall so far."""
    highest = np.maximum.accumulate(recall, axis=-1)
    highest *= 1 - _ROUNDING
    kept: npt.NDArray[np.bool_] = recall >= highest
    return kept


def area(counts: Counts, rule: Rule) -> float:
    """Area under the cleaned curve through the points of a sweep.

    Between two relevant thresholds recall stands still while precision falls, so a gain starts from the precision just
    above its threshold: true positives so far over the detections before.
    """
    return sampled_area(
        counts.true_positive,
        counts.missed,
        counts.detected,
        np.append(counts.detected_before, counts.detected[-1]),
        rule,
    )


def sampled_area(
    true_positive: Array, missed: Array, detected: IntArray, detected_before: IntArray, rule: Rule
) -> float:
    """Area under the cleaned curve; ``detected_before[j]`` counts the detections just before point ``j``.

    It has one entry more than there are points: the detections behind the last.
    """
    recall = true_positive / (true_positive + missed)
    kept = rising(recall)
    if not kept.all():
        recall, true_positive, detected = recall[kept], true_positive[kept], detected[kept]
        behind = detected_before[1:][kept]
    else:
        behind = detected_before[1:]
    gained = np.diff(recall, prepend=0.0)
    after = true_positive / np.maximum(detected, 1)
    total = rule.after * float(gained @ after)
    if rule.before:
        before = np.empty_like(after)
        np.divide(true_positive[:-1], np.maximum(behind[:-1], 1), out=before[1:])
        before[0] = rule.start if detected_before[0] == 0 else 0.0
        total += rule.before * float(gained @ before)
    return min(total, 1.0)  # rounding may reach beyond
