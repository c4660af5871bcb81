"""Scores in order, and how many of them lie at or above each threshold, without sorting where that can be avoided.

Thresholds are looked up among sorted scores. Scores in any order are looked up among the thresholds instead: a table
over equal buckets of their range gives the lowest threshold that a score of the bucket may reach, and a few comparisons
do the rest. Buckets are equal in the value or, for heavy tails, in its binary form, which grows like the logarithm.
Where both leave buckets crowded, the scores are sorted.

Random look-ups in a large table miss the cache. With many thresholds the scores are therefore first divided into
ranges of values, and each range is counted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import FloatArray, IntArray

_CHUNK = 2**16  # scores looked up at once, small enough to stay in cache
_MAX_BUCKETS = 2**24
_MAX_COMPARISONS = 3  # per score, before a binary search takes over
_MAX_CROWDING = 8.0  # thresholds that share a bucket, on average; above it sorting the scores is faster
_MIN_THRESHOLDS_FOR_RANGES = 2**18  # from here on their table does not fit the cache
_RANGES = 64
_SAMPLED_THRESHOLDS = 2**12  # enough to see how all of them are spread


def count_at_thresholds(scores: FloatArray, thresholds: FloatArray) -> tuple[IntArray, IntArray]:
    """Count the scores at or above, and strictly above, each threshold.

    The scores are finite and come in any order, the thresholds are distinct and fall.
    """
    if thresholds.size <= _MIN_THRESHOLDS_FOR_RANGES:
        return _count(scores, thresholds)
    spread = _Buckets.over(thresholds[:: -(thresholds.size // _SAMPLED_THRESHOLDS)])
    if spread is None:
        return _count(scores, thresholds)
    at_or_above, strictly_above = np.empty((2, thresholds.size), dtype=np.intp)
    start = higher = 0
    for stop, range_scores in zip(_range_stops(spread, thresholds), _scores_by_range(scores, spread), strict=True):
        if stop > start:
            at_or_above[start:stop], strictly_above[start:stop] = _count(range_scores, thresholds[start:stop])
            at_or_above[start:stop] += higher
            strictly_above[start:stop] += higher
        start, higher = stop, higher + range_scores.size
    return at_or_above, strictly_above


def sort_descending(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sort from the highest to the lowest value; equal values come in any order.

    NumPy sorts 16-bit integers by radix. Two such passes order the values by their place in 2**32 equal buckets of
    their range; values that share a bucket are then put right by a sort that is fast on nearly sorted input. That takes
    about half the time of ``np.argsort`` where its vectorised version is slow, and no more elsewhere. Returns the
    indices of the values, and the values themselves.
    """
    lowest, highest = float(values.min()), float(values.max())
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = np.float64(2**32 - 1) / (np.float64(highest) - lowest)
    if not 0 < scale < np.inf:  # All values are equal, one is infinite, or their range is too wide or too narrow.
        # Equal values keep the order that they have below, whatever else is sorted with them.
        order = np.argsort(values, kind="stable" if lowest == highest else None)[::-1]
        return order, values[order]
    place = np.subtract(values, lowest, dtype=np.float64)
    place *= scale
    bucket = place.astype(np.uint32)
    order = np.argsort((bucket & 0xFFFF).astype(np.uint16), kind="stable")
    order = order[np.argsort((bucket >> 16).astype(np.uint16)[order], kind="stable")]
    ordered = values[order]
    if (ordered[1:] < ordered[:-1]).any():
        within_buckets = np.argsort(ordered, kind="stable")
        order, ordered = order[within_buckets], ordered[within_buckets]
    return order[::-1], ordered[::-1]


def at_least(ascending: npt.NDArray[Any], thresholds: npt.NDArray[Any]) -> IntArray:
    """How many of the sorted values are >= each threshold."""
    return ascending.size - np.searchsorted(ascending, thresholds, side="left")


def above(ascending: npt.NDArray[Any], thresholds: npt.NDArray[Any]) -> IntArray:
    """How many of the sorted values are > each threshold."""
    return ascending.size - np.searchsorted(ascending, thresholds, side="right")


def distinct_descending(ascending: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct ones of sorted values, highest first."""
    is_first = np.ones(ascending.size, dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first][::-1]


def run_counts(
    scores: FloatArray, ascending: FloatArray, thresholds: FloatArray, starts: IntArray | None = None
) -> IntArray:
    """How many runs of flagged steps each threshold makes; none goes on across the start of a series.

    A run has one step more than it has pairs of neighbours, and a pair is flagged where its lower score is.
    """
    lower = np.minimum(scores[1:], scores[:-1])
    pairs = np.sort(lower if starts is None else np.delete(lower, starts[1:] - 1))
    return at_least(ascending, thresholds) - at_least(pairs, thresholds)


def _scores_by_range(scores: FloatArray, buckets: _Buckets) -> Iterator[FloatArray]:
    """Divide scores into ranges, highest first.

    They are moved in chunks that stay in cache: first within each chunk, then the pieces of each range are joined.
    """
    moved = np.empty_like(scores)
    numbers = np.arange(_RANGES, dtype=np.uint8)
    chunk_starts = range(0, scores.size, _CHUNK)
    range_stops = []
    for start in chunk_starts:
        chunk = slice(start, start + _CHUNK)
        range_of = buckets.range_of(scores[chunk])
        order = np.argsort(range_of, kind="stable")  # NumPy sorts small integers by radix, in linear time.
        scores[chunk].take(order, out=moved[chunk], mode="clip")
        range_stops.append(start + np.searchsorted(range_of.take(order), numbers, side="right"))
    starts = np.array(chunk_starts)
    for stops in np.stack(range_stops, axis=1):
        yield np.concatenate([moved[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)])
        starts = stops


def _range_stops(buckets: _Buckets, thresholds: FloatArray) -> list[int]:
    """Where the thresholds of each range stop, found for all ranges at once by bisection."""
    low, high = np.zeros(_RANGES, dtype=np.intp), np.full(_RANGES, thresholds.size)
    for _ in range(thresholds.size.bit_length()):
        middle = (low + high) // 2
        beyond = buckets.range_of(thresholds.take(middle, mode="clip")) > np.arange(_RANGES)
        beyond |= low == high
        low, high = np.where(beyond, low, middle + 1), np.where(beyond, middle, high)
    return low.tolist()


def _count(scores: FloatArray, thresholds: FloatArray) -> tuple[IntArray, IntArray]:
    buckets = _Buckets.over(thresholds[::-1])
    if buckets is None:
        ascending = np.sort(scores)
        return at_least(ascending, thresholds), above(ascending, thresholds)
    return _count_by_bucket(scores, buckets)


def _count_by_bucket(scores: FloatArray, buckets: _Buckets) -> tuple[IntArray, IntArray]:
    """Count scores by their bucket and, among the thresholds of that bucket, by those that they reach."""
    thresholds = buckets.thresholds
    lowest = thresholds[buckets.below]  # the lowest threshold that a score of the bucket may reach
    one = np.ones(1, dtype=np.int32 if scores.size < 2**31 else np.intp)  # NumPy is slow at adding another type.
    in_bucket = np.zeros(buckets.below.size, dtype=one.dtype)
    reached, equal = np.zeros((2, thresholds.size), dtype=one.dtype)
    for start in range(0, scores.size, _CHUNK):
        chunk = scores[start : start + _CHUNK]
        bucket = buckets.bucket_of(chunk)
        np.add.at(in_bucket, bucket, one)
        reaching = np.flatnonzero(chunk >= lowest.take(bucket))
        chunk = chunk.take(reaching)
        first = buckets.below.take(bucket.take(reaching)).astype(np.intp)
        stop = first + 1
        moving = np.flatnonzero(chunk >= thresholds.take(stop))
        for _ in range(_MAX_COMPARISONS):
            stop[moving] += 1
            moving = moving[chunk[moving] >= thresholds[stop[moving]]]
        if moving.size:
            stop[moving] = np.searchsorted(thresholds, chunk[moving], side="right")
        # The thresholds from `first` to before `stop` are reached; only the changes from one to the next are stored.
        np.add.at(reached, first, one)
        np.subtract.at(reached, stop, one)
        stop -= 1
        np.add.at(equal, stop[chunk == thresholds.take(stop)], one)
    up_to_bucket = np.cumsum(in_bucket, dtype=one.dtype)
    at_or_above = np.cumsum(reached[:-1], dtype=np.intp)
    at_or_above += up_to_bucket[-1]
    at_or_above -= up_to_bucket[buckets.of_thresholds]
    return at_or_above[::-1], (at_or_above - equal[:-1])[::-1]


class _Buckets:
    """Equal buckets over the range of ascending thresholds, to which an infinite one is added at the end.

    ``of_thresholds`` is the bucket of each, ``below`` how many thresholds lie in lower buckets than each, ``crowding``
    how many thresholds share the bucket of a threshold, on average.
    """

    def __init__(self, ascending: FloatArray, measure: Callable[[FloatArray], FloatArray]) -> None:
        self._measure = measure
        self._number = min(_MAX_BUCKETS, 1 << (3 * ascending.size // 2).bit_length())
        ends = measure(ascending[[0, -1]])
        self._lowest = ends[0]
        with np.errstate(over="ignore", divide="ignore"):
            self._scale = (self._number - 3) / (ends[1] - ends[0])
        self.thresholds = np.append(ascending, np.array(np.inf, dtype=ascending.dtype))
        self.crowding = np.inf
        if 0 < self._scale < np.inf:
            self.of_thresholds = self.bucket_of(ascending)
            sizes = np.bincount(self.of_thresholds, minlength=self._number)
            self.crowding = float(np.einsum("i,i", sizes, sizes) / ascending.size)
            self.below = np.zeros(self._number, dtype=np.int32)
            self.below[1:] = np.cumsum(sizes[:-1], out=sizes[:-1])

    @classmethod
    def over(cls, ascending: FloatArray) -> _Buckets | None:
        """Choose the measure that spreads the thresholds best; None where none does."""
        best = cls(ascending, np.asarray)
        if best.crowding > _MAX_CROWDING / 2:
            best = min(best, cls(ascending, _binary_form), key=lambda buckets: buckets.crowding)
        return best if best.crowding <= _MAX_CROWDING else None

    def bucket_of(self, values: FloatArray) -> IntArray:
        """Bucket of each value: 0 for values below all thresholds, the last for values far above."""
        return self._place(values).astype(np.intp)

    def range_of(self, values: FloatArray) -> npt.NDArray[np.uint8]:
        """Range of each value, from high to low."""
        place = self._place(values)
        place *= _RANGES / self._number
        return (_RANGES - 1) - place.astype(np.uint8)

    def _place(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            place = self._measure(values) - self._lowest
            place *= self._scale
        np.clip(place, -1, self._number - 2, out=place)
        place += 1
        return place


def _binary_form(values: FloatArray) -> npt.NDArray[np.float64]:
    """Order-preserving integer form of floats, as float64: roughly their logarithm, with sign."""
    kind: Any = np.int64 if values.dtype == np.float64 else np.int32
    bits = (values + 0.0).view(kind)  # Both zeros get one form.
    ordered = bits ^ ((bits >> (8 * values.itemsize - 1)) & np.iinfo(kind).max)
    return ordered.astype(np.float64)
