"""Integers that floats cannot tell apart: beyond 2**53 some of them share a float, and with it their order.

Metrics work on floats. Such integers are therefore replaced by floats in the same order, and compared with a threshold
as the integers they are.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
import numpy.typing as npt

EXACT_LIMIT = 2**53
"""Every integer up to this size is a float."""


def needs_exactness(array: npt.NDArray[Any]) -> bool:
    """Whether an array of integers, or of objects that are numbers, holds a value that is no float64.

    Examples
    --------
    >>> needs_exactness(np.array([2**62, 2**62 + 1])), needs_exactness(np.array([2**62, 2**61]))
    (True, False)
    """
    if array.dtype.kind == "O":
        return any(_is_lost(item) for item in array.flat)
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    if int(array.max()) <= EXACT_LIMIT and int(array.min()) >= -EXACT_LIMIT:
        return False
    with np.errstate(invalid="ignore"):  # 2**63 as a float is no int64; it then counts as lost, which is right
        return bool((array.astype(np.float64).astype(array.dtype) != array).any())


def ordered_floats(array: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return floats in the same order: the distances from the lowest value, or ranks where these are no floats either.

    Examples
    --------
    >>> ordered_floats(np.array([2**62 + 5, 2**62, 2**62 + 1])).tolist()
    [5.0, 0.0, 1.0]
    >>> ordered_floats(np.array([0, 10**400, 1], dtype=object)).tolist()
    [0.0, 2.0, 1.0]
    """
    lowest, highest = array.min(), array.max()
    if array.dtype.kind in "iu" and int(highest) - int(lowest) <= EXACT_LIMIT:
        return (array - lowest).astype(np.float64)
    if array.dtype.kind == "O" and highest - lowest <= EXACT_LIMIT:
        distances = array - lowest
        if all(_is_float(item) for item in distances.flat):
            return distances.astype(np.float64)
    if array.dtype.kind == "O":
        place = {value: rank for rank, value in enumerate(sorted(set(array.flat)))}
        ranks = np.array([place[value] for value in array.flat], dtype=np.float64)
    else:
        ranks = np.unique(array, return_inverse=True)[1].astype(np.float64)
    return ranks.reshape(array.shape)


def at_least(array: npt.NDArray[Any], threshold: Any, *, strict: bool) -> npt.NDArray[np.bool_]:
    """Compare numbers of any kind with a finite threshold exactly.

    Examples
    --------
    >>> at_least(np.array([2**62, 2**62 + 1]), 2**62 + 1, strict=False).tolist()
    [False, True]
    """
    if array.dtype.kind == "f":
        return _floats_at_least(array, threshold, strict=strict)
    if array.dtype.kind == "O":
        exact = threshold if isinstance(threshold, Rational) else Fraction(float(threshold))
        return (array > exact if strict else array >= exact).astype(np.bool_)
    # For integers, at least 1.5 is at least 2, and more than 1.5 is more than 1.
    whole = math.floor(threshold) if strict else math.ceil(threshold)
    limits = np.iinfo(array.dtype)
    if whole > limits.max or whole < limits.min:
        return np.full(array.shape, whole < limits.min)
    level = array.dtype.type(whole)
    return array > level if strict else array >= level


def _floats_at_least(array: npt.NDArray[Any], threshold: Any, *, strict: bool) -> npt.NDArray[np.bool_]:
    try:
        nearest = float(threshold)
    except OverflowError:
        return np.full(array.shape, threshold < 0)
    # No float lies between the threshold and the float nearest to it.
    above_it = strict if nearest == threshold else bool(nearest < threshold)
    level = np.float64(nearest)  # A plain float would be rounded to float32 beside such scores.
    return array > level if above_it else array >= level


def plain_number(value: Rational | float) -> float:
    """Return an exact number as a float where that loses nothing, else as an integer or a fraction.

    Examples
    --------
    >>> plain_number(Fraction(1, 2)), plain_number(Fraction(2**62 + 1)), plain_number(Fraction(2**63 + 1, 2))
    (0.5, 4611686018427387905, Fraction(9223372036854775809, 2))
    """
    if isinstance(value, float) or _is_float(value):
        return float(value)
    exact: Any = value  # An int or a Fraction compares and adds as a float does.
    return int(exact) if exact == int(exact) else exact


def _is_float(value: Any) -> bool:
    try:
        return bool(float(value) == value)
    except OverflowError:
        return False


def _is_lost(value: Any) -> bool:
    """Whether a number is too large to be a float, or an integer between two of them; fractions are rounded."""
    if not isinstance(value, Rational):
        return False
    try:
        return float(value) != value and isinstance(value, Integral)
    except OverflowError:
        return True
