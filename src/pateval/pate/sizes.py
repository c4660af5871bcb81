"""PATE with buffers of many sizes, early and delay alike: the scores are sorted once for all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pateval._validation import non_negative_integer, require_anomaly
from pateval.coarse import warn_if_coarse
from pateval.kernels.precision_recall import TRAPEZOID
from pateval.pate._counts import mean_area, rank_steps
from pateval.timelines import read_scores


def pate_at_sizes(
    labels: npt.ArrayLike, scores: npt.ArrayLike, sizes: Iterable[int], *, series: npt.ArrayLike | None = None
) -> npt.NDArray[np.float64]:
    """PATE with ``early = delay = size``, for each size.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float
        Higher is more anomalous.
    sizes : iterable of int
        Buffer lengths in steps.
    series : array-like, optional
        Which series each step belongs to.

    Returns
    -------
    ndarray
        One value per size, each that of `pate`.

    Examples
    --------
    >>> pate_at_sizes([0, 0, 1, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.2], [0, 2]).round(3).tolist()
    [0.792, 0.883]
    """
    truth, values, timeline = read_scores(labels, scores, series=series)
    require_anomaly(truth)
    lengths = [min(non_negative_integer(size, "sizes"), truth.size) for size in sizes]
    if not lengths:
        raise ValueError("sizes must hold at least one buffer length")
    reaches = (min(lengths), max(lengths))
    steps = rank_steps(values, timeline.events(truth), reaches, reaches)
    warn_if_coarse(values, "pate", "pate_ap")
    return np.array([mean_area(steps, (length,), (length,), TRAPEZOID) for length in lengths])
