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
    """Area under steps that have, up to each point, the height of that point, along the last axis.

    Examples
    --------
    >>> float(steps(np.array([0.0, 1.0, 3.0]), np.array([9.0, 0.0, 1.0])))
    2.0
    """
    areas: FloatArray = np.sum(np.diff(x) * y[..., 1:], axis=-1)
    return areas
