"""Sorting floats in nearly linear time."""

from __future__ import annotations

import numpy as np

from pateval.validation.arrays import FloatArray, IntArray


def sort_descending(values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sort from the highest to the lowest value; equal values come in any order.

    NumPy sorts 16-bit integers by radix. Two such passes order the values by their place in 2**32 equal buckets of
    their range; values that share a bucket are then put right by a sort that is fast on nearly sorted input. That takes
    about half the time of ``np.argsort`` where its vectorised version is slow, and no more elsewhere.

    Returns
    -------
    order : ndarray of int
        Indices of the values, highest first.
    ordered : ndarray
        The values themselves.

    Examples
    --------
    >>> order, ordered = sort_descending(np.array([0.2, 0.9, 0.5]))
    >>> order.tolist(), ordered.tolist()
    ([1, 2, 0], [0.9, 0.5, 0.2])
    """
    lowest, highest = float(values.min()), float(values.max())
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = np.float64(2**32 - 1) / (np.float64(highest) - lowest)
    if not 0 < scale < np.inf:  # All values are equal, one is infinite, or their range is too wide or too narrow.
        order = np.argsort(values)[::-1]
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
