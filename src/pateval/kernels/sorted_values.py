"""Look-ups in sorted values: how many lie above a threshold, which are distinct, how many runs a threshold makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import FloatArray, IntArray


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
    is_first = np.ones(ascending.size, dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first][::-1]


def run_counts(
    scores: FloatArray, ascending: FloatArray, thresholds: FloatArray, starts: IntArray | None = None
) -> IntArray:
    """How many runs of flagged steps each threshold makes; none goes on across the start of a series.

    A run has one step more than it has pairs of neighbours, and a pair is flagged where its lower score is.

    Examples
    --------
    >>> scores = np.array([3.0, 1.0, 2.0, 2.0, 0.0])
    >>> run_counts(scores, np.sort(scores), np.array([3.0, 2.0, 1.0])).tolist()
    [1, 2, 1]
    """
    lower = np.minimum(scores[1:], scores[:-1])
    pairs = np.sort(lower if starts is None else np.delete(lower, starts[1:] - 1))
    return at_least(ascending, thresholds) - at_least(pairs, thresholds)
