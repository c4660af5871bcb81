"""Scores of one column that need no training and nothing but NumPy: what any detector should beat.

Detectors, the demo and the one-liners that boards are checked with all take them from here. A rule maps the values of a
series, one per step, to scores, one per step, higher where more anomalous. Windows that are *centred* are cut off at
both ends of the series; windows that *end* at a step, or lie in the *past*, are filled up at the beginning with the
first value, and the score of a step never depends on a later one. The rules of the past take several columns, too.

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

FloatArray = npt.NDArray[np.float64]

ONE_LINERS = ("constant", "moving_variance", "squared_difference", "moving_zscore", "moving_median")
"""What boards set beside detectors, called as in `pateval detect`: nothing is trained, and no label is looked at."""

# Share of the spread of a series below which a moving deviation is rounding, and counts as zero.
_ROUNDING = 1e-9
# Values of windows whose medians are taken at a time: bounds the memory.
_VALUES_AT_A_TIME = 4_000_000
# Periods that are looked for, in steps, and the window of a series that has none.
_PERIODS, _WINDOW_WITHOUT_PERIOD = (4, 300), 100
# Smallest deviation of the past that a z-score divides by, in deviations of the series.
_FLOOR = 0.05
# Steps of a series that a period is looked for in.
_STEPS_FOR_A_PERIOD = 20_000


def absolute_difference(values: FloatArray) -> FloatArray:
    """Distance of each value from the one before; 0 at the first step."""
    return np.abs(np.diff(values, prepend=values[:1]))


def squared_difference(values: FloatArray) -> FloatArray:
    """Squared distance of each value from the one before; 0 at the first step."""
    return np.square(np.diff(values, axis=0, prepend=values[:1]))


def seasonal_difference(values: FloatArray, period: int) -> FloatArray:
    """Distance of each value from the one a period before; 0 in the first period."""
    before = np.concatenate([values[:period], values[:-period]])
    return np.abs(values - before)


def moving_mean(values: FloatArray, window: int) -> FloatArray:
    """Mean over a centred window."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    steps = np.arange(values.size)
    low = np.maximum(steps - window // 2, 0)
    high = np.minimum(steps - window // 2 + window, values.size)
    return np.asarray((sums[high] - sums[low]) / (high - low))


def distance_to_moving_mean(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the mean of the centred window around it."""
    return np.abs(values - moving_mean(values, window))


def moving_variance(values: FloatArray, window: int) -> FloatArray:
    """Variance over a centred window; never negative."""
    centred = values - values.mean()
    return np.maximum(moving_mean(centred**2, window) - moving_mean(centred, window) ** 2, 0.0)


def moving_deviation(values: FloatArray, window: int) -> FloatArray:
    """Standard deviation over a centred window; 0 where it is no more than rounding."""
    deviation = np.sqrt(moving_variance(values, window))
    return np.asarray(np.where(deviation > np.sqrt(_ROUNDING) * np.ptp(values), deviation, 0.0))


def distance_to_moving_median(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the median of the centred window around it."""
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

    The values are z-scored, so that the first ``window`` steps, which have too short a past, can be compared with mean
    0 and deviation 1; ``floor`` is the smallest deviation, which keeps quiet stretches from blowing up.
    """
    scores = np.abs(values)
    if len(values) > window:
        mean = _past_mean(values, window)
        variance = np.maximum(_past_mean(np.square(values), window) - np.square(mean), 0)
        deviation = np.maximum(np.sqrt(variance), floor)
        scores[window:] = np.abs(values[window:] - mean[:-1]) / deviation[:-1]
    return scores


def past_variance(values: FloatArray, window: int) -> FloatArray:
    """Variance of the window that ends at each step; never negative."""
    # Counted from the first value: it is known at once, and large values far from zero lose fewer digits.
    shifted = values - values[0]
    filled = np.concatenate([np.zeros((window - 1, *values.shape[1:])), shifted])
    variance = _past_mean(np.square(filled), window) - np.square(_past_mean(filled, window))
    return np.maximum(variance, 0.0)


def distance_to_past_median(values: FloatArray, window: int) -> FloatArray:
    """Distance of each value from the median of the window that ends at it."""
    windows = _windows_that_end(values, window)
    rows = max(1, _VALUES_AT_A_TIME // windows[0].size)
    medians = [np.median(windows[first : first + rows], axis=-1) for first in range(0, len(windows), rows)]
    return np.abs(values - np.concatenate(medians))


def usual_window(values: FloatArray) -> int:
    """Return a window for a series, from its values alone: its period, or 100 steps where it has none.

    The period is the lag, of 4 to 300 steps, at which the autocorrelation (averaged over columns) has its highest peak;
    the first 20,000 steps are looked at.

    Examples
    --------
    >>> usual_window(np.sin(np.arange(1000.0) * 2 * np.pi / 48)), usual_window(np.arange(1000.0))
    (48, 100)
    """
    columns = values[:_STEPS_FOR_A_PERIOD].reshape(min(len(values), _STEPS_FOR_A_PERIOD), -1)
    centred = columns - columns.mean(axis=0)
    power = np.square(np.abs(np.fft.rfft(centred, 2 * len(centred), axis=0)))
    correlation = np.fft.irfft(power, axis=0)[: len(centred)]
    varies = correlation[0] > 0
    if not varies.any():
        return _WINDOW_WITHOUT_PERIOD
    mean = (correlation[:, varies] / correlation[0, varies]).mean(axis=1)[: _PERIODS[1] + 2]
    is_peak = (mean[1:-1] > mean[:-2]) & (mean[1:-1] >= mean[2:]) & (mean[1:-1] > 0)
    lags = np.flatnonzero(is_peak) + 1
    lags = lags[lags >= _PERIODS[0]]
    return int(lags[np.argmax(mean[lags])]) if lags.size else _WINDOW_WITHOUT_PERIOD


def one_liner(name: str, values: FloatArray) -> FloatArray:
    """Score a series by one of `ONE_LINERS`; of several columns, shape (steps, columns), the largest score counts.

    Each column is z-scored, and the window is `usual_window`. A value that is missing is the one before it.
    """
    columns = values.reshape(len(values), -1).astype(np.float64)
    if name == "constant":
        return np.zeros(len(columns))
    is_known = np.isfinite(columns)
    last = np.maximum.accumulate(np.where(is_known, np.arange(len(columns))[:, None], 0), axis=0)
    columns = np.take_along_axis(np.where(is_known, columns, 0.0), last, axis=0)
    spread = columns.std(axis=0)
    scaled = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    window = usual_window(scaled)
    if name == "moving_variance":
        scores = past_variance(scaled, window)
    elif name == "squared_difference":
        scores = squared_difference(scaled)
    elif name == "moving_zscore":
        scores = past_z_score(scaled, window, _FLOOR)
    else:
        scores = distance_to_past_median(scaled, window)
    return np.asarray(scores.max(axis=1))


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
    """Return the window that ends at each step, shape (steps, window), or (steps, columns, window)."""
    padded = np.concatenate([np.repeat(values[:1], window - 1, axis=0), values])
    return np.lib.stride_tricks.sliding_window_view(padded, window, axis=0)


def _past_mean(values: FloatArray, window: int) -> FloatArray:
    total = np.cumsum(np.concatenate([np.zeros((1, *values.shape[1:])), values]), axis=0)
    return np.asarray((total[window:] - total[:-window]) / window)


def _moved_to_the_middle(scores: FloatArray, window: int) -> FloatArray:
    """Move a window's score from its last step to its middle."""
    half = window // 2
    return np.concatenate([scores[half:], np.full(half, scores[-1])])
