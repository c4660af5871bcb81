"""The shared ground of all metrics on scores: counts over thresholds, and the areas under what they give.

A step is flagged where its score is at least the threshold. Nothing here needs the order of the steps by score, only
sorted values, and sorting values is several times cheaper than sorting indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pateval._validation import BoolArray, FloatArray, IntArray


class Standing(NamedTuple):
    """Where the anomalous steps stand among all steps: one entry per anomalous step, highest score first.

    Between two scores of anomalous steps only false alarms come in, so these entries, and the counts just above them,
    hold every corner of the ROC and precision-recall curves.
    """

    thresholds: FloatArray
    true_positive: IntArray
    flagged: IntArray
    true_positive_above: IntArray
    flagged_above: IntArray


def standing(labels: BoolArray, scores: FloatArray) -> Standing:
    """Count, for the score of each anomalous step, the steps at or above it and those strictly above it.

    Examples
    --------
    >>> labels = np.array([0, 1, 0, 1], dtype=bool)
    >>> result = standing(labels, np.array([0.1, 0.4, 0.4, 0.8]))
    >>> result.thresholds.tolist(), result.true_positive.tolist(), result.flagged.tolist()
    ([0.8, 0.4], [1, 2], [1, 3])
    """
    ascending, anomalous = np.sort(scores), np.sort(scores[labels])
    thresholds = anomalous[::-1]
    return Standing(
        thresholds,
        at_least(anomalous, thresholds),
        at_least(ascending, thresholds),
        above(anomalous, thresholds),
        above(ascending, thresholds),
    )


def at_least(ascending: npt.NDArray[Any], thresholds: npt.NDArray[Any]) -> IntArray:
    """How many of the sorted values are >= each threshold.

    Examples
    --------
    >>> at_least(np.array([1, 2, 2, 5]), np.array([2, 3])).tolist()
    [3, 1]
    """
    return ascending.size - np.searchsorted(ascending, thresholds, side="left")


def above(ascending: npt.NDArray[Any], thresholds: npt.NDArray[Any]) -> IntArray:
    """How many of the sorted values are > each threshold.

    Examples
    --------
    >>> above(np.array([1, 2, 2, 5]), np.array([2, 3])).tolist()
    [1, 1]
    """
    return ascending.size - np.searchsorted(ascending, thresholds, side="right")


def distinct_descending(ascending: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct ones of sorted values, highest first.

    Examples
    --------
    >>> distinct_descending(np.array([1, 2, 2, 5])).tolist()
    [5, 2, 1]
    """
    first = np.ones(ascending.size, dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first][::-1]


def run_counts(scores: FloatArray, ascending: FloatArray, thresholds: FloatArray) -> IntArray:
    """How many runs of flagged steps each threshold makes.

    A run has one step more than it has pairs of neighbours, and a pair is flagged where its lower score is.

    Examples
    --------
    >>> scores = np.array([3.0, 1.0, 2.0, 2.0, 0.0])
    >>> run_counts(scores, np.sort(scores), np.array([3.0, 2.0, 1.0])).tolist()
    [1, 2, 1]
    """
    pairs = np.sort(np.minimum(scores[1:], scores[:-1]))
    return at_least(ascending, thresholds) - at_least(pairs, thresholds)


def trapezoids(x: FloatArray, y: FloatArray) -> FloatArray:
    """Area under straight lines between the points, along the last axis.

    Examples
    --------
    >>> float(trapezoids(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.0])))
    2.5
    """
    areas: FloatArray = np.sum(np.diff(x) * (y[..., 1:] + y[..., :-1]), axis=-1) / 2
    return areas


def steps(x: FloatArray, y: FloatArray) -> FloatArray:
    """Area under steps that have, up to each point, the height of that point, along the last axis.

    Examples
    --------
    >>> float(steps(np.array([0.0, 1.0, 3.0]), np.array([9.0, 0.0, 1.0])))
    2.0
    """
    areas: FloatArray = np.sum(np.diff(x) * y[..., 1:], axis=-1)
    return areas
