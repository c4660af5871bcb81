"""How many scores lie at or above each threshold, without sorting the scores where that can be avoided.

Each score is located among the sorted thresholds: a table over equal cells of their range says how many thresholds lie
in lower cells, and a few comparisons do the rest. Cells are equal in the value or, for heavy tails, in its binary form,
which grows with the logarithm. Where cells are crowded either way, the scores are sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._inputs import FloatArray, IntArray

_BLOCK = 2**16  # scores located at once: small enough to stay in cache
_MOST_CELLS = 2**24
_COMPARISONS = 3
_CROWDED = 8.0


def count_detections(scores: FloatArray, thresholds: FloatArray) -> tuple[IntArray, IntArray]:
    """Count the scores at or above, and strictly above, each threshold.

    Parameters
    ----------
    scores : ndarray
        Finite scores in any order.
    thresholds : ndarray
        Distinct thresholds, from high to low.

    Returns
    -------
    detected, detected_before : ndarray of int
        Number of scores at or above, and above, each threshold.

    Examples
    --------
    >>> at, above = count_detections(np.array([0.5, 0.1, 0.9, 0.5]), np.array([0.9, 0.5]))
    >>> at.tolist(), above.tolist()
    ([1, 3], [0, 1])
    """
    cells = _Cells.over(thresholds[::-1])
    if cells is None:
        ascending = np.sort(scores)
        sides = (np.searchsorted(ascending, thresholds, side=side) for side in ("left", "right"))
        detected, above = (scores.size - below for below in sides)
        return detected, above
    passed = np.empty(scores.size, dtype=np.intp)
    equal: list[IntArray] = []
    for begin in range(0, scores.size, _BLOCK):
        passed[begin : begin + _BLOCK], *found = cells.locate(scores[begin : begin + _BLOCK])
        equal += found
    below = np.cumsum(np.bincount(passed, minlength=thresholds.size + 1))[:-1]
    shared = np.bincount(np.concatenate(equal), minlength=thresholds.size)
    detected = (scores.size - below)[::-1]
    return detected, detected - shared[::-1]


class _Cells:
    """Equal cells over the range of sorted values, and how many of them lie in lower cells than each."""

    def __init__(self, ascending: FloatArray, measure: Callable[[FloatArray], FloatArray]) -> None:
        self._measure = measure
        self._number = min(_MOST_CELLS, 1 << (2 * ascending.size).bit_length())
        ends = measure(ascending[[0, -1]])
        self._low = ends[0]
        with np.errstate(over="ignore", divide="ignore"):
            self._scale = (self._number - 3) / (ends[1] - ends[0])
        self.crowding = np.inf
        if 0 < self._scale < np.inf:
            each = np.bincount(self._of(ascending), minlength=self._number)
            # how many values share the cell of a value, on average
            self.crowding = float(np.square(each, dtype=np.float64).sum() / ascending.size)
            self._before = (np.cumsum(each) - each).astype(np.int32)
        self.guarded = np.append(ascending, np.array(np.inf, dtype=ascending.dtype))

    @classmethod
    def over(cls, ascending: FloatArray) -> _Cells | None:
        """Choose the measure that spreads the values best; None where none does."""
        best = cls(ascending, np.copy)
        if best.crowding > _CROWDED / 2:
            best = min(best, cls(ascending, _binary_form), key=lambda cells: cells.crowding)
        return best if best.crowding <= _CROWDED else None

    def locate(self, values: FloatArray) -> tuple[IntArray, ...]:
        """Count for each value how many are not above it; and list those some value equals, once each."""
        position = self._before[self._of(values)].astype(np.intp)
        bound = self.guarded[position]
        equal = [position[values == bound]]
        passes = values >= bound
        position += passes
        moving = np.flatnonzero(passes)
        for _ in range(_COMPARISONS):
            here = position[moving]
            bound = self.guarded[here]
            equal.append(here[values[moving] == bound])
            moving = moving[values[moving] >= bound]
            position[moving] += 1
        if moving.size:
            equal.pop()  # those of the last comparison are still moving, and found again
            position[moving] = upto = np.searchsorted(self.guarded, values[moving], side="right")
            equal.append(upto[self.guarded[upto - 1] == values[moving]] - 1)
        return position, *equal

    def _of(self, values: FloatArray) -> npt.NDArray[np.int32]:
        """Cell of each value: 0 for what lies below all, the last for what lies far above."""
        place = self._measure(values)
        with np.errstate(over="ignore"):
            place -= self._low
            place *= self._scale
        np.clip(place, -1, self._number - 2, out=place)
        np.floor(place, out=place)
        place += 1
        return place.astype(np.int32)


def _binary_form(values: FloatArray) -> npt.NDArray[np.float64]:
    """Order-preserving integer form of floats, as float64: roughly their logarithm, with sign."""
    kind: Any = np.int64 if values.dtype == np.float64 else np.int32
    bits = values.view(kind)
    ordered = bits ^ ((bits >> (8 * values.itemsize - 1)) & np.iinfo(kind).max)
    return ordered.astype(np.float64)
