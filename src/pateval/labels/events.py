"""Labels to events and back: an event is a maximal run of ones, half-open ``[start, stop)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pateval.validation.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class Events:
    """The events of one or several concatenated series."""

    starts: IntArray  # event k covers the steps ``starts[k] <= t < stops[k]``
    stops: IntArray
    lows: IntArray  # the first step of the event's series and the step after its last
    highs: IntArray

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def lengths(self) -> IntArray:
        """Number of steps of each event."""
        return self.stops - self.starts


def runs(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Starts and stops of the maximal runs of True.

    >>> starts, stops = runs(np.array([0, 1, 1, 0, 1], dtype=bool))
    >>> starts.tolist(), stops.tolist()
    ([1, 4], [3, 5])
    """
    changes = np.flatnonzero(mask[1:] != mask[:-1]) + 1
    if mask.size and mask[0]:
        changes = np.concatenate([[0], changes])
    if mask.size and mask[-1]:
        changes = np.concatenate([changes, [mask.size]])
    return changes[0::2], changes[1::2]


def find_events(labels: BoolArray, series_starts: IntArray | None = None, cuts: IntArray | None = None) -> Events:
    """Find the events; a run that crosses the beginning of a series, or one of the ``cuts``, is cut there."""
    starts, stops = runs(labels)
    if cuts is None and (series_starts is None or series_starts.size == 1):
        return Events(starts, stops, np.zeros_like(starts), np.full_like(starts, labels.size))
    series_starts = np.zeros(1, dtype=np.intp) if series_starts is None else series_starts
    crossed = series_starts[1:] if cuts is None else np.union1d(series_starts[1:], cuts)
    crossed = crossed[labels[crossed] & labels[crossed - 1]]
    starts = np.sort(np.concatenate([starts, crossed]))
    stops = np.sort(np.concatenate([stops, crossed]))
    owner = np.searchsorted(series_starts, starts, side="right") - 1
    return Events(starts, stops, series_starts[owner], np.append(series_starts[1:], labels.size)[owner])


def within(starts: IntArray, lengths: IntArray) -> IntArray:
    """Concatenate ``start, start + 1, ...`` of all runs, in order.

    >>> within(np.array([2, 7]), np.array([3, 2])).tolist()
    [2, 3, 4, 7, 8]
    """
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    return np.arange(total) + np.repeat(starts - before, lengths)


def marked(starts: IntArray, stops: IntArray, size: int) -> BoolArray:
    """Mark the steps of runs ``[start, stop)``, which may overlap."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[within(starts, stops - starts)] = True
    return mask


def count_inside(mask: BoolArray, starts: IntArray, stops: IntArray) -> IntArray:
    """Count the True steps of each run ``[start, stop)``.

    >>> count_inside(np.array([0, 1, 1, 0, 1], dtype=bool), np.array([0, 2]), np.array([2, 5])).tolist()
    [1, 2]
    """
    positions = np.flatnonzero(mask)
    return np.searchsorted(positions, stops) - np.searchsorted(positions, starts)


def first_inside(mask: BoolArray, starts: IntArray, stops: IntArray) -> IntArray:
    """Find the first True step of each run ``[start, stop)``; a run without one gives its stop.

    >>> first_inside(np.array([0, 1, 1, 0, 0], dtype=bool), np.array([0, 3]), np.array([2, 5])).tolist()
    [1, 5]
    """
    positions = np.append(np.flatnonzero(mask), mask.size)
    return np.minimum(positions[np.searchsorted(positions, starts)], stops)
