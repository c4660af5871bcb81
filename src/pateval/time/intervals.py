"""Labels as intervals and back: what an annotator writes down, in steps or in times."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import runs
from pateval.time.clocks import read_clock
from pateval.time.dates import Times, date_text, has_zone, time_numbers
from pateval.validation.arrays import BoolArray, IntArray, binary_array, count, flag
from pateval.validation.containers import to_numpy
from pateval.validation.wording import in_words

_MOST_STEPS = 10**10  # what memory may hold


def labels_from_intervals(
    intervals: npt.ArrayLike, size_or_times: int | npt.ArrayLike, *, closed: bool = False
) -> BoolArray:
    """Mark the steps inside intervals as anomalous.

    Parameters
    ----------
    intervals : array-like of pairs
        Start and stop of each anomaly: step numbers, or times of the same kind as the steps have. They may overlap and
        come in any order; intervals that touch are one event.
    size_or_times : int or array-like
        How many steps there are, or when each was recorded: dates or numbers, increasing.
    closed : bool
        Whether the stop belongs to the interval. By default it does not: ``(3, 5)`` are the steps 3 and 4.

    Returns
    -------
    ndarray of bool
        One label per step.

    Raises
    ------
    ValueError, TypeError
        If an interval is no pair, ends before it starts, or holds no step.

    See Also
    --------
    intervals_from_labels : the way back.

    Examples
    --------
    >>> import pateval as pv
    >>> pv.labels_from_intervals([(1, 3)], 5).astype(int)
    array([0, 1, 1, 0, 0])
    >>> pv.labels_from_intervals([(1, 3)], 5, closed=True).astype(int)
    array([0, 1, 1, 1, 0])
    >>> times = ["2024-01-01T10:00", "2024-01-01T10:10", "2024-01-01T10:20"]
    >>> pv.labels_from_intervals([("2024-01-01T10:05", "2024-01-01T10:20")], times).astype(int)
    array([0, 1, 0])
    """
    closed = flag(closed, "closed")
    is_number = hasattr(size_or_times, "__index__") or isinstance(size_or_times, (float, complex))
    if is_number and not getattr(size_or_times, "ndim", 0):
        size = count(_size(size_or_times), "size", most=_MOST_STEPS)
        bounds = _pairs(intervals)
        if bounds.size and bounds.dtype.kind not in "iu":
            raise TypeError(
                "intervals must be step numbers where the number of steps is given; for intervals in time, pass the "
                "times of the steps"
            )
        bounds, span = bounds.astype(np.int64), f"the steps 0 to {size - 1}"
        # In time, an interval may well reach beyond the recording.
        outside = np.flatnonzero((bounds[:, 0] < 0) | (bounds[:, 1] > size - closed))
        if outside.size:
            place = int(outside[0])
            start, stop = bounds[place]
            raise ValueError(f"interval {place}, from {start} to {stop}, reaches beyond {span}")
        return _marked(bounds, np.arange(size), closed, bounds, span)
    times = to_numpy(size_or_times, "times")
    if not times.size:
        raise ValueError("times must hold at least one time step; got an empty array")
    clock = read_clock(times, times.size, np.zeros(1, dtype=np.intp))
    given = _pairs(intervals)
    numbers, unit = time_numbers(given.ravel())
    if given.size and (unit is None) != (clock.nanoseconds is None):
        raise TypeError("intervals and times must both be dates or both be numbers")
    if unit is not None and has_zone(given.ravel()) != has_zone(times):
        raise ValueError(
            f"intervals and times must both have a time zone, or both none; got {date_text(given.ravel())} and "
            f"{date_text(times)}: give both a zone, or neither"
        )
    return _marked(numbers.reshape(-1, 2), clock.times, closed, given, f"the times {times[0]} to {times[-1]}")


def intervals_from_labels(
    labels: npt.ArrayLike, times: npt.ArrayLike | None = None, *, closed: bool = False
) -> npt.NDArray[Any]:
    """Return start and stop of every event.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    times : array-like, optional
        When each step was recorded; intervals are then in time.
    closed : bool
        Whether the stop is the last step of the event. By default it is the step after it; at the end of the recording
        its time is that of the last step and the last interval between steps once more.

    Returns
    -------
    ndarray of shape (events, 2)
        Step numbers, or dates or numbers as the times are.

    Raises
    ------
    ValueError, TypeError
        If the labels are not 0/1, or times do not increase.

    Examples
    --------
    >>> import pateval as pv
    >>> pv.intervals_from_labels([0, 1, 1, 0, 1])
    array([[1, 3],
           [4, 5]])
    >>> pv.intervals_from_labels([0, 1, 1, 0, 1], times=[10, 20, 30, 40, 60], closed=True)
    array([[20, 30],
           [60, 60]])
    """
    truth, closed = binary_array(labels, "labels"), flag(closed, "closed")
    starts, stops = runs(truth)
    if times is None:
        return np.stack([starts, stops - closed], axis=1)
    given = to_numpy(times, "times")
    clock = read_clock(given, truth.size, np.zeros(1, dtype=np.intp))
    numbers = clock.times
    with np.errstate(over="ignore"):  # beyond the largest float lies infinity
        end = numbers[-1] + (numbers[-1] - numbers[-2] if numbers.size > 1 else 1)
    extended = np.append(numbers, end)
    pairs = np.stack([extended[starts], extended[stops - closed]], axis=1)
    return pairs.view("datetime64[ns]") if clock.nanoseconds is not None and given.dtype.kind != "m" else pairs


def mark_intervals(bounds: Times, positions: Times, closed: bool) -> tuple[BoolArray, IntArray]:
    """Label the positions inside intervals; also return how many positions each interval holds.

    The positions increase; the bounds are pairs of numbers in the same unit.
    """
    first = np.searchsorted(positions, bounds[:, 0], side="left")
    last = np.searchsorted(positions, bounds[:, 1], side="right" if closed else "left")
    depth = np.zeros(positions.size + 1, dtype=np.int64)
    counts = (last - first).astype(np.intp)
    holding = counts > 0
    np.add.at(depth, first[holding], 1)
    np.add.at(depth, last[holding], -1)
    return np.cumsum(depth[:-1]) > 0, counts


def _marked(bounds: Times, positions: Times, closed: bool, given: npt.NDArray[Any], span: str) -> BoolArray:
    """Mark steps, and refuse intervals that mark none: an anomaly would be lost without a word."""
    labels, counts = mark_intervals(bounds, positions, closed)
    empty = np.flatnonzero(counts <= 0)
    if not empty.size:
        return labels
    place = int(empty[0])
    start, stop = given[place]
    if bounds[place, 1] < bounds[place, 0]:
        what = "ends before it starts"
    elif bounds[place, 0] == bounds[place, 1] and not closed:
        what = "is empty, since the stop does not belong to it: pass closed=True if it does"
    else:
        what = f"holds none of {span}"
    raise ValueError(f"interval {place}, from {start} to {stop}, {what}")


def _size(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or value < 1:
        raise TypeError(f"size_or_times must be the number of steps or their times; got {in_words(value)}")
    return int(value)


def _pairs(intervals: npt.ArrayLike) -> npt.NDArray[Any]:
    array = to_numpy(intervals, "intervals")
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"intervals must be pairs of start and stop; got an array of shape {array.shape}")
    return array
