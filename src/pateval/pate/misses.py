"""Missed steps: how the weighted false negatives change as the steps inside events are detected one by one.

Inside one event of length L, with U steps missed so far, V the sum of their offsets, s the first detected offset and r
the length of the run detected there, the missed weight is

    U - [(r + 1) (V - B) - (U - A) r (r + 1) / 2] / [L (L - 1) / 2]

where A and B count and sum the missed offsets not beyond r, which weigh 1 each.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval._validation import IntArray

_STEPS = 2**14  # steps of events worked on at once


def missed_weight_changes(lengths: IntArray, entry_order: IntArray) -> npt.NDArray[np.float64]:
    """Change of the missed weight at each entry.

    Parameters
    ----------
    lengths : ndarray of int
        Event lengths; the steps inside are numbered through, event after event.
    entry_order : ndarray of int
        The numbers of the inside steps in the order in which they are detected.

    Returns
    -------
    ndarray of float
        For each entry, what it adds to the total missed weight, which starts at ``lengths.sum()``.
    """
    events = np.arange(lengths.size, dtype=np.uint16 if lengths.size <= 2**16 else np.intp)
    # Brings each event's entries together, in order; NumPy sorts 16-bit integers by radix, in linear time.
    ranks_by_event = np.argsort(np.repeat(events, lengths)[entry_order], kind="stable")
    steps = entry_order[ranks_by_event]
    changes = np.empty(entry_order.size)
    # A few events at a time, so that what they need stays in cache.
    stops = np.cumsum(lengths)
    begin = first = 0
    while begin < lengths.size:
        end = max(begin + 1, int(np.searchsorted(stops, first + _STEPS, side="right")))
        stop = int(stops[end - 1])
        changes[ranks_by_event[first:stop]] = _changes_by_event(lengths[begin:end], steps[first:stop] - first)
        begin, first = end, stop
    return changes


def _changes_by_event(lengths: IntArray, steps: IntArray) -> npt.NDArray[np.float64]:
    """Change of the missed weight at each entry; ``steps`` come event after event, each event's in order of entry."""
    total = steps.size
    firsts = np.cumsum(lengths) - lengths
    event_of = np.repeat(np.arange(lengths.size), lengths)
    first_of = firsts[event_of]
    length = lengths[event_of]
    offsets = steps - first_of
    position = np.arange(total) - first_of  # how many entered the event before
    missed = length - 1 - position
    sums = np.cumsum(offsets)
    entered_sum = sums - (sums[firsts] - offsets[firsts])[event_of]
    missed_sum = length * (length - 1) // 2 - entered_sum
    # A running minimum that starts anew with each event: later events live on lower ground.
    ground = event_of * (int(lengths.max()) + 1)
    first_hit = np.minimum.accumulate(offsets - ground) + ground
    run = _first_run_ends(lengths, steps, position, event_of, first_hit) - first_hit

    at_front = first_hit == 0
    whole = np.where(at_front, run < length, np.minimum(first_hit, run + 1))  # A
    whole_sum = np.where(at_front, np.where(run < length, run, 0), whole * (whole - 1) // 2)  # B
    credited = (run + 1.0) * (missed_sum - whole_sum) - (missed - whole) * (run * (run + 1.0) / 2)
    credited /= np.maximum(length * (length - 1.0) / 2, 1.0)
    weight = missed - credited

    before = np.empty(total)
    before[1:] = weight[:-1]
    before[firsts] = lengths
    weight -= before
    return weight


def _first_run_ends(
    lengths: IntArray, steps: IntArray, position: IntArray, event_of: IntArray, first_hit: IntArray
) -> IntArray:
    """Offset at which the run that begins at ``first_hit`` ends, at each entry.

    It is the first offset behind ``first_hit`` that enters later than now; a guard behind every event never enters.
    """
    guarded_firsts = np.cumsum(lengths + 1) - (lengths + 1)
    entry_times = np.full(int(lengths.sum()) + lengths.size, np.iinfo(np.int32).max, dtype=np.int32)
    entry_times[steps + event_of] = position
    begin = guarded_firsts[event_of] + first_hit + 1
    return _first_later(entry_times, begin, position) - guarded_firsts[event_of]


def _first_later(times: npt.NDArray[np.int32], begin: IntArray, now: IntArray) -> IntArray:
    """For each query the first index from ``begin`` on whose time is later than ``now``; the last time always is.

    Climbs a tree of pairwise maxima from each starting place, leaving passed places behind, until a block holds a later
    time, then descends into it.
    """
    levels = [times]
    index = begin.copy()
    climbing = np.arange(index.size)
    found: list[IntArray] = []
    while True:
        later = levels[-1][index[climbing]] > now[climbing]
        found.append(climbing[later])
        climbing = climbing[~later]
        if not climbing.size:
            break
        index[climbing] = (index[climbing] + 1) >> 1
        top = levels[-1]
        if top.size % 2:
            top = np.append(top, np.iinfo(np.int32).max)
        levels.append(np.maximum(top[0::2], top[1::2]))
    descending = found[-1]
    for level in range(len(levels) - 2, -1, -1):
        child = 2 * index[descending]
        child += levels[level][child] <= now[descending]
        index[descending] = child
        descending = np.concatenate([descending, found[level]])
    return index
