"""Scores of one column that need no training and nothing but NumPy: what any detector should beat.

Detectors, the demo and the one-liners that boards are checked with all take them from here. A rule maps the values of a
series, one per step, to scores, one per step, higher where more anomalous. Windows that are *centred* are cut off at
both ends of the series; windows that *end* at a step are filled up at the beginning with the first value.

Examples
--------
>>> import numpy as np
>>> values = np.sin(np.arange(60.0))
>>> values[40] = 5
>>> [int(rule(values, 20).argmax()) for rule in (distance_to_moving_median, distance_to_moving_mean)]
[40, 40]
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = [
    "absolute_difference",
    "distance_to_moving_mean",
    "distance_to_moving_median",
    "moving_deviation",
    "moving_mean",
    "moving_variance",
    "moving_z_score",
    "nearest_window",
    "past_z_score",
    "seasonal_difference",
    "squared_difference",
    "window_pca",
]

FloatArray = npt.NDArray[np.float64]

# Share of the spread of a series below which a moving deviation is rounding, and counts as zero.
_ROUNDING = 1e-9


def absolute_difference(values: FloatArray) -> FloatArray:
    """Distance of each value from the one before; 0 at the first step."""
    return np.abs(np.diff(values, prepend=values[:1]))


def squared_difference(values: FloatArray) -> FloatArray:
    """Squared distance of each value from the one before; 0 at the first step.

    Examples
    --------
    >>> squared_difference(np.array([1.0, 3.0, 0.0])).tolist()
    [0.0, 4.0, 9.0]
    """
    return np.square(np.diff(values, prepend=values[:1]))


def seasonal_difference(values: FloatArray, period: int) -> FloatArray:
    """Distance of each value from the one a period before; 0 in the first period.

    Examples
    --------
    >>> seasonal_difference(np.array([1.0, 2.0, 1.0, 5.0]), 2).tolist()
    [0.0, 0.0, 0.0, 3.0]
    """
    before = np.concatenate([values[:period], values[:-period]])
    return np.abs(values - before)


def moving_mean(values: FloatArray, window: int) -> FloatArray:
    """Mean over a centred window.

    Examples
    --------
    >>> moving_mean(np.array([0.0, 3.0, 6.0, 9.0]), 3)
    array([1.5, 3. , 6. , 7.5])
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    steps = np.arange(values.size)
    low = np.maximum(steps - window // 2, 0)
    high = np.minimum(steps - window // 2 + window, values.size)
    return np.asarray((sums[high] - sums[low]) / (high - low))


def distance_to_moving_mean(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the mean of the centred window around it."""
    return np.abs(values - moving_mean(values, window))


def moving_variance(values: FloatArray, window: int) -> FloatArray:
    """Variance over a centred window; never negative.

    Examples
    --------
    >>> moving_variance(np.array([0.0, 0.0, 3.0, 0.0, 0.0]), 3).round(9).tolist()
    [0.0, 2.0, 2.0, 2.0, 0.0]
    """
    centred = values - values.mean()
    return np.maximum(moving_mean(centred**2, window) - moving_mean(centred, window) ** 2, 0.0)


def moving_deviation(values: FloatArray, window: int) -> FloatArray:
    """Standard deviation over a centred window; 0 where it is no more than rounding."""
    deviation = np.sqrt(moving_variance(values, window))
    return np.asarray(np.where(deviation > np.sqrt(_ROUNDING) * np.ptp(values), deviation, 0.0))


def distance_to_moving_median(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the median of the centred window around it.

    Examples
    --------
    >>> distance_to_moving_median(np.array([1.0, 1.0, 9.0, 1.0, 2.0]), 3).tolist()
    [0.0, 0.0, 8.0, 1.0, 0.5]
    """
    before = window // 2
    edges = np.full(window, np.nan)
    padded = np.concatenate([edges[:before], values, edges[: window - 1 - before]])
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    return np.abs(values - np.nanmedian(windows, axis=1))


def moving_z_score(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the mean of the window that ends at it, in that window's standard deviations."""
    windows = _windows_that_end(values, window)
    return np.asarray(np.abs(values - windows.mean(axis=1)) / (windows.std(axis=1) + 1e-9))


def past_z_score(values: FloatArray, window: int, floor: float) -> FloatArray:
    """Distance of each value from the mean of the ``window`` values before it, in their standard deviations.

    Parameters
    ----------
    values : ndarray
        Shape (steps,) or (steps, features); z-scored, so that the first ``window`` steps, which have too short a past,
        can be compared with mean 0 and deviation 1.
    window : int
        Steps of the past.
    floor : float
        Smallest deviation: keeps quiet stretches from blowing up.

    Returns
    -------
    ndarray
        Of the same shape.

    Examples
    --------
    >>> past_z_score(np.array([0.5, 1.0, -1.0, 4.0]), 2, 0.05).tolist()
    [0.5, 1.0, 7.0, 4.0]
    """
    scores = np.abs(values)
    if len(values) > window:
        mean = _past_mean(values, window)
        variance = np.maximum(_past_mean(np.square(values), window) - np.square(mean), 0)
        deviation = np.maximum(np.sqrt(variance), floor)
        scores[window:] = np.abs(values[window:] - mean[:-1]) / deviation[:-1]
    return scores


def window_pca(values: FloatArray, window: int, components: int = 4) -> FloatArray:
    """Error of the window around each value when it is put together from the main components of some windows.

    Every fourth part of a window one is taken to find the components; windows are centred by themselves first.
    """
    windows = _windows_that_end(values, window)
    centred = windows - windows.mean(axis=1, keepdims=True)
    mean = centred.mean(axis=0)
    _, _, axes = np.linalg.svd(centred[:: window // 4] - mean, full_matrices=False)
    rest = centred - mean
    rest = rest - (rest @ axes[:components].T) @ axes[:components]
    return _moved_to_the_middle(np.sqrt((rest**2).mean(axis=1)), window)


def nearest_window(values: FloatArray, window: int) -> FloatArray:
    """Distance of the window around each value to the closest one elsewhere in the series.

    Every second value of a window is looked at, and every fourth part of a window one is compared with; *elsewhere* is
    two windows away or more.
    """
    windows = _windows_that_end(values, window)[:, ::2]
    centred = windows - windows.mean(axis=1, keepdims=True)
    places = np.arange(values.size)[:: window // 4]
    reference = centred[:: window // 4]
    squares = (centred**2).sum(axis=1)[:, None] + (reference**2).sum(axis=1) - 2 * centred @ reference.T
    squares[np.abs(np.arange(values.size)[:, None] - places) < 2 * window] = np.inf
    return _moved_to_the_middle(np.sqrt(np.maximum(squares.min(axis=1), 0)), window)


def _windows_that_end(values: FloatArray, window: int) -> FloatArray:
    """Return the window that ends at each step, shape (steps, window)."""
    padded = np.concatenate([np.full(window - 1, values[0]), values])
    return np.lib.stride_tricks.sliding_window_view(padded, window)


def _past_mean(values: FloatArray, window: int) -> FloatArray:
    total = np.cumsum(np.concatenate([np.zeros((1, *values.shape[1:])), values]), axis=0)
    return np.asarray((total[window:] - total[:-window]) / window)


def _moved_to_the_middle(scores: FloatArray, window: int) -> FloatArray:
    """Move a window's score from its last step to its middle."""
    half = window // 2
    return np.concatenate([scores[half:], np.full(half, scores[-1])])
