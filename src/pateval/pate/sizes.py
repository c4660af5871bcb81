"""PATE with buffers of many sizes, early and delay alike: the scores are sorted once for all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pateval.kernels.coarse import warn_if_coarse
from pateval.kernels.precision_recall import TRAPEZOID
from pateval.pate._counts import mean_area, rank_steps
from pateval.time.clocks import Duration, read_buffers
from pateval.time.timelines import read_scores
from pateval.validation.arrays import require_anomaly


def pate_at_sizes(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    sizes: Iterable[int | Duration],
    *,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> npt.NDArray[np.float64]:
    """PATE with ``early = delay = size``, for each size.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float
        Higher is more anomalous.
    sizes : iterable of int or of durations
        Buffer lengths in steps or on ``times``.
    series : array-like, optional
        Which series each step belongs to.
    times, time_unit, max_gap, ignore, missing
        As in `pate`.

    Returns
    -------
    ndarray
        One value per size, each that of `pate`.

    Examples
    --------
    >>> pate_at_sizes([0, 0, 1, 1, 0], [0.1, 0.7, 0.9, 0.4, 0.2], [0, 2]).round(3).tolist()
    [0.792, 0.883]
    """
    truth, values, timeline = read_scores(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    require_anomaly(truth)
    lengths, in_time = read_buffers(list(sizes), "sizes", timeline.clock, timeline.size)
    clock = timeline.zone_clock(in_time=in_time)
    reaches = (min(lengths), max(lengths))
    steps = rank_steps(values, timeline.events(truth), reaches, reaches, clock=clock)
    warn_if_coarse(values, "pate", "pate_ap")
    return np.array([mean_area(steps, (length,), (length,), TRAPEZOID) for length in lengths])
