"""Scores of windows to scores of steps."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import BoolArray, FloatArray, choice, count, finite_array, positive_integer
from pateval.validation.containers import to_numpy
from pateval.validation.wording import counted

_MOST_STEPS = 10**10  # more than any memory holds
_HOW = ("mean", "max", "last", "first", "centre")


def scores_from_windows(
    window_scores: npt.ArrayLike,
    *,
    size: int,
    window: int,
    stride: int = 1,
    how: Literal["mean", "max", "last", "first", "centre"] = "mean",
    missing: Literal["nan", "repeat"] = "nan",
) -> FloatArray:
    """Give every step of a series one score, from those of the windows that it was cut into.

    Window i holds the steps i * stride to i * stride + window - 1, and there are as many as fit into the series. Laid
    one after another, as many a training script leaves them, overlapping windows are *no* series: steps occur many
    times, and so do the events of their labels.

    Parameters
    ----------
    window_scores : array-like
        One score per window, or one row per window with the scores of its steps.
    size : int
        Steps of the series.
    window, stride : int
        Steps of a window, and from the start of one to the next.
    how : {"mean", "max", "last", "first", "centre"}
        Of a step that lies in several windows, the mean or the largest of its scores (of those of its windows, where a
        window has one score). Or the score of a window belongs to its last step, which is all an alarm at that time
        could know, to its first, or to the one in its middle; of rows, that column is taken.
    missing : {"nan", "repeat"}
        What a step gets that no window gives a score: NaN, which the metrics leave out with ``missing="ignore"``, or
        the score of the nearest step that has one, the earlier of two.

    Returns
    -------
    ndarray of float
        One score per step.

    Raises
    ------
    ValueError, TypeError
        If the number of windows or of their steps is not what a series of this size has.

    Examples
    --------
    >>> import pateval as pv
    >>> pv.scores_from_windows([1, 5, 3], size=5, window=3)
    array([1., 3., 3., 4., 3.])
    >>> pv.scores_from_windows([1, 5, 3], size=5, window=3, how="last")
    array([nan, nan,  1.,  5.,  3.])
    >>> pv.scores_from_windows([[1, 2], [4, 3], [5, 5]], size=4, window=2, how="max")
    array([1., 4., 5., 5.])
    """
    size, window, stride = (
        count(positive_integer(value, name), name, most=_MOST_STEPS)
        for value, name in ((size, "size"), (window, "window"), (stride, "stride"))
    )
    choice(how, "how", _HOW)
    choice(missing, "missing", ("nan", "repeat"))
    if window > size:
        raise ValueError(f"window must not be longer than the series; got window={window} and size={size}")
    by_window = _checked(window_scores, size, window, stride)
    laid = lay_windows(by_window, size, stride, how)
    return repeat_nearest(laid) if missing == "repeat" else laid


def lay_windows(by_window: npt.NDArray[Any], size: int, stride: int, how: str) -> npt.NDArray[np.float64]:
    """Lay scores of shape (windows, window) on the steps of a series; NaN where none lies."""
    number, window = by_window.shape
    stop = (number - 1) * stride + 1
    result = np.full(size, np.nan)
    if how in ("last", "first", "centre"):
        offset = {"last": window - 1, "first": 0, "centre": window // 2}[how]
        result[offset : offset + stop : stride] = by_window[:, offset]
        return result
    result[:] = -np.inf if how == "max" else 0.0
    covered = np.zeros(size)
    for offset in range(window):
        steps = slice(offset, offset + stop, stride)
        if how == "max":
            result[steps] = np.maximum(result[steps], by_window[:, offset])
        else:
            result[steps] += by_window[:, offset]
        covered[steps] += 1
    result[covered == 0] = np.nan
    return result if how == "max" else result / np.maximum(covered, 1)


def repeat_nearest(scores: FloatArray) -> FloatArray:
    """Give each step without a score that of the nearest step with one, the earlier of two."""
    there = np.flatnonzero(~np.isnan(scores))
    steps = np.arange(scores.size)
    after = np.minimum(np.searchsorted(there, steps), there.size - 1)
    before = np.maximum(after - 1, 0)
    is_before = np.abs(steps - there[before]) <= np.abs(there[after] - steps)
    return scores[there[np.where(is_before, before, after)]]


def windows_in_a_row(labels: BoolArray) -> int | None:
    """Return the length of windows that labels consist of, each a step later than the one before; None where of none.

    Windows are recognised by what repeats: step j + 1 of one is step j of the next. Labels that repeat with a period do
    so, too, and are no windows.

    >>> series = np.repeat([False, True, False], [20, 3, 20])
    >>> windows_in_a_row(np.lib.stride_tricks.sliding_window_view(series, 8).ravel()), windows_in_a_row(series)
    (8, None)
    """
    for window in range(2, labels.size // 3 + 1):
        if labels.size % window:
            continue
        rows = labels.reshape(-1, window)
        if not (rows[0, 1:] == rows[1, :-1]).all() or not (rows[:-1, 1:] == rows[1:, :-1]).all():
            continue
        # An event that several windows share, and one where it is not also a period later.
        if rows[1:-1, 1:-1].any() and (rows[:, 0] != rows[:, -1]).any():
            return window
    return None


def _checked(window_scores: object, size: int, window: int, stride: int) -> FloatArray:
    """Return the scores with the shape (windows, window), or say which shape they should have."""
    array = to_numpy(window_scores, "window_scores")
    number = (size - window) // stride + 1
    by_step = array.ndim == 2
    scores = finite_array(array, "window_scores", channels=by_step).astype(np.float64, copy=False)
    fit = f"a series of {size} steps has {counted(number, 'window')} of {window} at stride {stride}"
    if scores.shape == (number * window,) and number * window != number:
        raise ValueError(
            f"window_scores must have one score or one row per window; got {scores.size} values, and {fit}: "
            f"pass window_scores.reshape({number}, {window}) if they are the steps of the windows, one after another"
        )
    if scores.shape[0] != number:
        raise ValueError(f"window_scores must have one score or one row per window; got {scores.shape[0]}, and {fit}")
    if by_step and scores.shape[1] != window:
        raise ValueError(
            f"window_scores must have {window} columns, a score for each step of a window; got {scores.shape[1]}"
        )
    return scores if by_step else np.broadcast_to(scores[:, None], (number, window))
