"""PATE over many buffers: the values behind two figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.pate.score import pate
from pateval.pate.sizes import pate_at_sizes
from pateval.time.clocks import Duration

Array = npt.NDArray[np.float64]


def pate_by_buffers(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    early: Sequence[int | Duration],
    delay: Sequence[int | Duration],
    series: npt.ArrayLike | None = None,
    **on_clock: Any,
) -> Array:
    """PATE of every pair of an early buffer and a delay.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float
        Higher is more anomalous.
    early, delay : sequence of int or of durations
        Buffer lengths in steps or in time.
    series : array-like, optional
        Which series each step belongs to.
    **on_clock
        ``times``, ``time_unit``, ``max_gap``, ``ignore`` and ``missing`` as `pate` takes them.

    Returns
    -------
    ndarray
        One row per early buffer, one column per delay.

    Examples
    --------
    >>> pate_by_buffers([0, 0, 1, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.2], early=[0, 2], delay=[0]).round(3).tolist()
    [[0.792], [0.883]]
    """
    return np.array([[pate(labels, scores, early=e, delay=d, series=series, **on_clock) for d in delay] for e in early])


def pate_by_sizes(
    labels: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    sizes: Sequence[int | Duration],
    series: npt.ArrayLike | None = None,
    **on_clock: Any,
) -> dict[str, Array]:
    """PATE of each detector with buffers of each size, early and delay alike.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : mapping of str to array-like
        Scores by detector.
    sizes : sequence of int or of durations
        Buffer lengths in steps or in time.
    series : array-like, optional
        Which series each step belongs to.
    **on_clock
        ``times``, ``time_unit``, ``max_gap``, ``ignore`` and ``missing`` as `pate` takes them.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> found = pate_by_sizes([0, 0, 1, 1, 0], {"a": [0.1, 0.7, 0.9, 0.4, 0.2]}, sizes=[0, 2])
    >>> found["a"].round(3).tolist()
    [0.792, 0.883]
    """
    return {name: pate_at_sizes(labels, values, sizes, series=series, **on_clock) for name, values in scores.items()}
