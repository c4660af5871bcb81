"""How many scores lie at or above each threshold, without sorting the scores where that can be avoided.

Each score is located among the sorted thresholds: a table over equal cells of their range gives the lowest threshold
that a score of the cell may reach, and a few comparisons do the rest. Cells are equal in the value or, for heavy tails,
in its binary form, which grows with the logarithm. Where cells are crowded either way, the scores are sorted.

Look-ups all over a large table miss the cache. With many thresholds the scores are therefore put on shelves first,
equal ranges of values, and each shelf is counted by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._validation import FloatArray, IntArray
from pateval.kernels.sorting import in_parts

_BLOCK = 2**16  # scores located at once: small enough to stay in cache
_MOST_CELLS = 2**24
_COMPARISONS = 3
_CROWDED = 8.0
_MANY = 2**18  # thresholds from which on their tables do not fit the cache
_SHELVES = 64
_SAMPLE = 2**12  # thresholds that show how all are spread


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
    spread = _Cells.over(thresholds[:: -(thresholds.size // _SAMPLE)]) if thresholds.size > _MANY else None
    if spread is None:
        return _count(scores, thresholds)
    detected, above = np.empty((2, thresholds.size), dtype=np.intp)
    begin = higher = 0
    for stop, (some,) in zip(_shelf_stops(spread, thresholds), in_parts(spread.shelf, _SHELVES, scores), strict=True):
        if stop > begin:
            detected[begin:stop], above[begin:stop] = _count(some, thresholds[begin:stop])
            detected[begin:stop] += higher
            above[begin:stop] += higher
        begin, higher = stop, higher + some.size
    return detected, above


def _shelf_stops(cells: _Cells, thresholds: FloatArray) -> list[int]:
    """Where the thresholds of each shelf stop: they are in order, so halving finds it."""
    low, high = np.zeros(_SHELVES, dtype=np.intp), np.full(_SHELVES, thresholds.size)
    for _ in range(thresholds.size.bit_length()):
        middle = (low + high) // 2
        beyond = cells.shelf(thresholds.take(middle, mode="clip")) > np.arange(_SHELVES)
        beyond |= low == high
        low, high = np.where(beyond, low, middle + 1), np.where(beyond, middle, high)
    stops: list[int] = low.tolist()
    return stops


def _count(scores: FloatArray, thresholds: FloatArray) -> tuple[IntArray, IntArray]:
    """Count by look-up in one table."""
    cells = _Cells.over(thresholds[::-1])
    if cells is None:
        ascending = np.sort(scores)
        sides = (np.searchsorted(ascending, thresholds, side=side) for side in ("left", "right"))
        detected, above = (scores.size - below for below in sides)
        return detected, above
    counter = _Counter(cells, scores.size)
    for begin in range(0, scores.size, _BLOCK):
        counter.add(scores[begin : begin + _BLOCK])
    detected, equal = counter.counts()
    return detected[::-1], (detected - equal)[::-1]


class _Counter:
    """Counts scores: by their cell and, among the thresholds of that cell, by those that they reach."""

    def __init__(self, cells: _Cells, scores: int) -> None:
        self._cells = cells
        self._first = cells.thresholds[cells.before]  # the lowest threshold that a score of the cell may reach
        self._one = np.ones(1, dtype=np.int32 if scores < 2**31 else np.intp)  # NumPy is slow at adding another type
        self._held = np.zeros(cells.before.size, dtype=self._one.dtype)
        self._reached = np.zeros(cells.thresholds.size, dtype=self._one.dtype)
        self._equal = np.zeros(cells.thresholds.size, dtype=self._one.dtype)

    def add(self, scores: FloatArray) -> None:
        """Count some scores."""
        thresholds = self._cells.thresholds
        cell = self._cells.of(scores)
        np.add.at(self._held, cell, self._one)
        reaching = np.flatnonzero(scores >= self._first.take(cell))
        scores = scores.take(reaching)
        begin = self._cells.before.take(cell.take(reaching)).astype(np.intp)
        end = begin + 1
        moving = np.flatnonzero(scores >= thresholds.take(end))
        for _ in range(_COMPARISONS):
            end[moving] += 1
            moving = moving[scores[moving] >= thresholds[end[moving]]]
        if moving.size:
            end[moving] = np.searchsorted(thresholds, scores[moving], side="right")
        # The thresholds from `begin` to before `end` are reached; what is kept are the changes from each to the next.
        np.add.at(self._reached, begin, self._one)
        np.subtract.at(self._reached, end, self._one)
        end -= 1
        np.add.at(self._equal, end[scores == thresholds.take(end)], self._one)

    def counts(self) -> tuple[IntArray, npt.NDArray[np.signedinteger[Any]]]:
        """Number of scores at or above each threshold, and equal to it."""
        upto = np.cumsum(self._held, dtype=self._held.dtype)
        detected = np.cumsum(self._reached[:-1], dtype=np.intp)
        detected += upto[-1]
        detected -= upto[self._cells.of_thresholds]
        return detected, self._equal[:-1]


class _Cells:
    """Equal cells over the range of sorted thresholds.

    Attributes
    ----------
    thresholds : ndarray
        The thresholds, and an infinite one behind them.
    of_thresholds : ndarray of int
        The cell of each.
    before : ndarray of int
        For each cell, how many thresholds lie in lower ones.
    crowding : float
        How many thresholds share the cell of a threshold, on average.
    """

    def __init__(self, ascending: FloatArray, measure: Callable[[FloatArray], FloatArray]) -> None:
        self._measure = measure
        self._number = min(_MOST_CELLS, 1 << (3 * ascending.size // 2).bit_length())
        ends = measure(ascending[[0, -1]])
        self._low = ends[0]
        with np.errstate(over="ignore", divide="ignore"):
            self._scale = (self._number - 3) / (ends[1] - ends[0])
        self.thresholds = np.append(ascending, np.array(np.inf, dtype=ascending.dtype))
        self.crowding = np.inf
        if 0 < self._scale < np.inf:
            self.of_thresholds = self.of(ascending)
            each = np.bincount(self.of_thresholds, minlength=self._number)
            self.crowding = float(np.einsum("i,i", each, each) / ascending.size)
            self.before = np.zeros(self._number, dtype=np.int32)
            self.before[1:] = np.cumsum(each[:-1], out=each[:-1])

    @classmethod
    def over(cls, ascending: FloatArray) -> _Cells | None:
        """Choose the measure that spreads the thresholds best; None where none does."""
        best = cls(ascending, np.asarray)
        if best.crowding > _CROWDED / 2:
            best = min(best, cls(ascending, _binary_form), key=lambda cells: cells.crowding)
        return best if best.crowding <= _CROWDED else None

    def of(self, values: FloatArray) -> IntArray:
        """Cell of each value: 0 for what lies below all, the last for what lies far above."""
        return self._place(values).astype(np.intp)

    def shelf(self, values: FloatArray) -> npt.NDArray[np.uint8]:
        """Shelf of each value, from high to low."""
        place = self._place(values)
        place *= _SHELVES / self._number
        return (_SHELVES - 1) - place.astype(np.uint8)

    def _place(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            place = self._measure(values) - self._low
            place *= self._scale
        np.clip(place, -1, self._number - 2, out=place)
        place += 1
        return place


def _binary_form(values: FloatArray) -> npt.NDArray[np.float64]:
    """Order-preserving integer form of floats, as float64: roughly their logarithm, with sign."""
    kind: Any = np.int64 if values.dtype == np.float64 else np.int32
    bits = (values + 0.0).view(kind)  # one form for both zeros
    ordered = bits ^ ((bits >> (8 * values.itemsize - 1)) & np.iinfo(kind).max)
    return ordered.astype(np.float64)
