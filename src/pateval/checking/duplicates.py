"""Series that occur twice, or nearly: compared at their beginning and at their end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pateval.checking.faults import DataFault
from pateval.datasets import Series
from pateval.validation.arrays import FloatArray

SAME = 0.99
"""Correlation of values from which on two series are nearly the same."""
_BLOCKS = 64  # means of so many blocks are compared first


def check_duplicates(series: Sequence[Series]) -> Iterator[DataFault]:
    """Yield a fault for each series that an earlier one repeats, column by column, in the same order.

    Two series are compared over the length of the shorter one, from the beginning of both and from the end of both.
    Columns that do not vary say nothing; where fewer than half do, the pair is not compared.
    """
    for place, one in enumerate(series):
        for other in series[:place]:
            if one.test.shape[1] != other.test.shape[1]:
                continue
            likeness = _likeness(one.test, other.test)
            if likeness >= SAME:
                same = "the same values as" if likeness == 1 else f"values that correlate by {likeness:.4f} with"
                text = f"has {same} {other.name}" + ("" if one.steps == other.steps else " where the shorter one lies")
                yield DataFault("duplicate", one.name, text, likeness)
                break


def _likeness(one: FloatArray, other: FloatArray) -> float:
    """Smallest correlation of two columns, in the better of two alignments; exactly 1 for equal values."""
    length = min(len(one), len(other))
    best = -1.0
    for first, second in {(0, 0), (len(one) - length, len(other) - length)}:
        left, right = one[first : first + length], other[second : second + length]
        if np.array_equal(left, right):
            return 1.0 if np.ptp(left, axis=0).any() else -1.0
        if length >= 2 * _BLOCKS and _correlation(_blocks(left), _blocks(right)) < SAME:
            continue
        best = max(best, _correlation(left, right))
    return min(best, 1 - 1e-12)


def _blocks(values: FloatArray) -> FloatArray:
    size = len(values) // _BLOCKS
    return np.asarray(values[: size * _BLOCKS].reshape(_BLOCKS, size, -1).mean(axis=1))


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """Smallest correlation over the columns that vary in both; -1 where fewer than half do."""
    first, second = (np.asarray(values - values.mean(axis=0), dtype=np.float64) for values in (one, other))
    norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
    varies = norms > 0
    if 2 * np.count_nonzero(varies) < varies.size:
        return -1.0
    return float(((first * second).sum(axis=0)[varies] / norms[varies]).min())
