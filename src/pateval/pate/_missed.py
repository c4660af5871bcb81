"""Missed weight: how the weighted false negatives change as the steps inside events are detected one by one.

Inside one event of length L, with U steps missed so far, V the sum of their offsets, s the first detected offset and r
the length of the run detected there, the missed weight is

    U - [(r + 1) (V - B) - (U - A) r (r + 1) / 2] / [L (L - 1) / 2]

where A and B count and sum the missed offsets not beyond r, which weigh 1 each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import IntArray

_CHUNK = 2**14  # steps of events worked on at once, small enough to stay in cache


def miss_weight(offset: IntArray, length: int | IntArray, run: int | IntArray) -> npt.NDArray[np.float64]:
    """Weight of a missed step, ``offset`` steps into a detected event whose first detected run has ``run`` steps."""
    discount = (run + 1) * offset - run * (run + 1) / 2
    return np.where(offset <= run, 1.0, 1.0 - discount / np.maximum(length * (length - 1) / 2, 1.0))


def missed_weight_changes(lengths: IntArray, detection_order: IntArray) -> npt.NDArray[np.float64]:
    """Change of the missed weight at each detection.

    Parameters
    ----------
    lengths : ndarray of int
        Event lengths; the steps inside are numbered through, event after event.
    detection_order : ndarray of int
        The numbers of the inside steps in the order in which they are detected.

    Returns
    -------
    ndarray of float
        For each detection, what it adds to the total missed weight, which starts at ``lengths.sum()``.
    """
    events = np.arange(lengths.size, dtype=np.uint16 if lengths.size <= 2**16 else np.intp)
    # Group the detections by event, keeping their order; NumPy sorts 16-bit integers by radix, in linear time.
    by_event = np.argsort(np.repeat(events, lengths)[detection_order], kind="stable")
    steps = detection_order[by_event]
    changes = np.empty(detection_order.size)
    event_stops = np.cumsum(lengths)
    first_event = first_step = 0
    while first_event < lengths.size:
        stop_event = max(first_event + 1, int(np.searchsorted(event_stops, first_step + _CHUNK, side="right")))
        stop_step = int(event_stops[stop_event - 1])
        chunk = slice(first_step, stop_step)
        changes[by_event[chunk]] = _changes_by_event(lengths[first_event:stop_event], steps[chunk] - first_step)
        first_event, first_step = stop_event, stop_step
    return changes


def _changes_by_event(lengths: IntArray, steps: IntArray) -> npt.NDArray[np.float64]:
    """Change of the missed weight at each detection; ``steps`` come event after event, each event's as detected."""
    total = steps.size
    firsts = np.cumsum(lengths) - lengths
    event_of = np.repeat(np.arange(lengths.size), lengths)
    first_of = firsts[event_of]
    length = lengths[event_of]
    offsets = steps - first_of
    position = np.arange(total) - first_of  # how many steps of the event were detected before
    missed = length - 1 - position
    sums = np.cumsum(offsets)
    detected_sum = sums - (sums[firsts] - offsets[firsts])[event_of]
    missed_sum = length * (length - 1) // 2 - detected_sum
    # Offset each event, so that one running minimum serves all of them.
    event_offset = event_of * (int(lengths.max()) + 1)
    first_hit = np.minimum.accumulate(offsets - event_offset) + event_offset
    run = _first_run_ends(lengths, steps, position, event_of, first_hit) - first_hit

    at_front = first_hit == 0
    # How many missed steps weigh 1, and the sum of their offsets: A and B of the formula.
    full_weight = np.where(at_front, run < length, np.minimum(first_hit, run + 1))
    offset_sum = np.where(at_front, np.where(run < length, run, 0), full_weight * (full_weight - 1) // 2)
    discount = (run + 1.0) * (missed_sum - offset_sum) - (missed - full_weight) * (run * (run + 1.0) / 2)
    discount /= np.maximum(length * (length - 1.0) / 2, 1.0)
    weight = missed - discount

    before = np.empty(total)
    before[1:] = weight[:-1]
    before[firsts] = lengths
    weight -= before
    return weight


def _first_run_ends(
    lengths: IntArray, steps: IntArray, position: IntArray, event_of: IntArray, first_hit: IntArray
) -> IntArray:
    """Offset at which the run that begins at ``first_hit`` ends, at each detection.

    It is the first offset after ``first_hit`` that is detected later than now; a guard after every event never is.
    """
    guarded_firsts = np.cumsum(lengths + 1) - (lengths + 1)
    detection_times = np.full(int(lengths.sum()) + lengths.size, np.iinfo(np.int32).max, dtype=np.int32)
    detection_times[steps + event_of] = position
    start = guarded_firsts[event_of] + first_hit + 1
    return _first_later(detection_times, start, position) - guarded_firsts[event_of]


def _first_later(times: npt.NDArray[np.int32], start: IntArray, now: IntArray) -> IntArray:
    """For each query the first index from ``start`` on whose time is later than ``now``; the last time always is.

    All queries climb a tree of pairwise maxima, level by level, until the node they stand on holds a later time; then
    they descend to it.
    """
    levels = [times]
    index = start.copy()
    climbing = np.arange(index.size)
    stopped: list[IntArray] = []  # the queries whose node was found, by level
    while True:
        later = levels[-1][index[climbing]] > now[climbing]
        stopped.append(climbing[later])
        climbing = climbing[~later]
        if not climbing.size:
            break
        index[climbing] = (index[climbing] + 1) >> 1
        top = levels[-1]
        if top.size % 2:
            top = np.append(top, np.iinfo(np.int32).max)
        levels.append(np.maximum(top[0::2], top[1::2]))
    descending = stopped[-1]
    for level in range(len(levels) - 2, -1, -1):
        child = 2 * index[descending]
        child += levels[level][child] <= now[descending]
        index[descending] = child
        descending = np.concatenate([descending, stopped[level]])
    return index
