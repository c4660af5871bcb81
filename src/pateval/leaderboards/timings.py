"""How long each job of a leaderboard took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Timings:
    """How long each job took, in the order of the plan.

    Attributes
    ----------
    detector_code, series_code : ndarray of int32
        Numbers of its detector and its series.
    steps : ndarray of int64
        Length of the series.
    seconds : ndarray of float64
        Time its metrics took, now or when they were first computed.
    cached : ndarray of bool
        Whether all came from the cache.
    runs : tuple of str or None
        Name of the run, where there are several.
    """

    detector_code: npt.NDArray[np.int32]
    series_code: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    cached: npt.NDArray[np.bool_]
    runs: tuple[str, ...] | None = None
