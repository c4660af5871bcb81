"""Areas under lines and steps through points."""

from __future__ import annotations

import numpy as np

from pateval.validation.arrays import FloatArray


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
    """Area under steps, from x = 0 on, that have up to each point the height of that point, along the last axis.

    Examples
    --------
    >>> float(steps(np.array([1.0, 3.0]), np.array([0.0, 1.0])))
    2.0
    """
    gained = x.copy()
    gained[..., 1:] -= x[..., :-1]
    gained *= y
    # With the points first in memory NumPy adds one after the other: the sum is the same to the last digit in a wider
    # table that ends in zeros.
    areas: FloatArray = np.ascontiguousarray(np.moveaxis(gained, -1, 0)).sum(axis=0)
    return areas
