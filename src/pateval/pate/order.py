"""Putting scores in order, in nearly linear time."""

from __future__ import annotations

import numpy as np

from pateval._inputs import FloatArray, IntArray


def descending_order(values: FloatArray) -> IntArray:
    """Indices that put ``values`` in order, from the highest to the lowest; equal ones come in any order.

    NumPy sorts 16-bit integers by radix: two such passes order the values by their place in 2**32 equal cells of their
    range, and what then still stands wrong, values of one cell, is put right by a sort that is fast on nearly sorted
    input. That takes about half the time of ``np.argsort`` where its vectorised version is slow, and no more elsewhere.

    Examples
    --------
    >>> descending_order(np.array([0.2, 0.9, 0.5])).tolist()
    [1, 2, 0]
    """
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore", divide="ignore"):
        scale = np.float64(2**32 - 1) / (np.float64(high) - low)
    if not 0 < scale < np.inf:
        return np.argsort(values)[::-1]
    place = np.subtract(values, low, dtype=np.float64)
    place *= scale
    cell = place.astype(np.uint32)
    order = np.argsort((cell & 0xFFFF).astype(np.uint16), kind="stable")
    order = order[np.argsort((cell >> 16).astype(np.uint16)[order], kind="stable")]
    ordered = values[order]
    if (ordered[1:] < ordered[:-1]).any():
        order = order[np.argsort(ordered, kind="stable")]
    return order[::-1]
