"""Area under the precision-recall curve of a sweep, by the trapezoid or the average-precision rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import IntArray
from pateval.pate.sweep import Counts

Array = npt.NDArray[np.float64]

# Recall that falls by less than this is rounding; the definition keeps equal recall.
_ROUNDING = 1e-13

_BLOCK = 2**14  # points worked on at once: small enough to stay in cache


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


def not_below(recall: Array, highest: Array) -> npt.NDArray[np.bool_]:
    """Mark where recall is not below the highest so far."""
    kept: npt.NDArray[np.bool_] = recall >= (1 - _ROUNDING) * highest
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
    total = highest = reached = 0.0
    before = rule.start if detected_before[0] == 0 else 0.0
    for begin in range(0, true_positive.size, _BLOCK):
        some, behind = slice(begin, begin + _BLOCK), slice(begin + 1, begin + 1 + _BLOCK)
        found = true_positive[some]
        recall = np.append(highest, found / (found + missed[some]))
        kept = not_below(recall, np.maximum.accumulate(recall))[1:]
        highest = float(recall.max())
        if not kept.any():
            continue
        recall, found = recall[1:][kept], found[kept]
        gained = np.diff(recall, prepend=reached)
        after = found / np.maximum(detected[some][kept], 1)
        left = np.append(before, found / np.maximum(detected_before[behind][kept], 1))
        # Not `@`: the threads of the linear algebra library would go on spinning for longer than all of this takes.
        total += rule.after * float((gained * after).sum()) + rule.before * float((gained * left[:-1]).sum())
        reached, before = float(recall[-1]), float(left[-1])
    return min(total, 1.0)  # rounding may reach beyond
