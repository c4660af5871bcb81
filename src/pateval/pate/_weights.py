"""What a step weighs: a detection in a zone, shortly before or after an event, and a miss inside one.

Distances are measured on a clock: step numbers, or times. A zone reaches out from the event's first or last step by
``reach``; the event's centre lies ``half_length`` inside it. A step at distance x has the weight
``(reach - x) / (reach + half_length)``: the distance left to the zone's end over the distance from the centre to that
end. At the zone's end the weight is exactly 0.

Inside one event of length L, with U steps missed so far, V the sum of their offsets, s the first detected offset and r
the length of the run detected there, the missed weight is

    U - [(r + 1) (V - B) - (U - A) r (r + 1) / 2] / [L (L - 1) / 2]

where A and B count and sum the missed offsets not beyond r, which weigh 1 each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events, within
from pateval.time.clocks import Clock, Lengths
from pateval.validation.arrays import IntArray

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[Any]
"""Distances: integers in steps or nanoseconds, floats on a clock of floats."""

_CHUNK = 2**14  # steps of events worked on at once, small enough to stay in cache


@dataclass(frozen=True)
class ZoneSteps:
    """Steps in the zones on one side of the events, the event of each, and how far from it each lies."""

    steps: IntArray
    events: IntArray
    distances: Numbers


class ZoneLimits:
    """How far the zones of each event can reach before they meet another event or the end of the series.

    ``half_length`` is the distance from an event's first or last step to its centre, ``after`` that from the event to
    the last free step after it: in steps, or on a clock.
    """

    def __init__(self, events: Events, clock: Clock | None = None) -> None:
        self._events = events
        self._times = None if clock is None else clock.times
        self._tolerance = 0.0 if clock is None else clock.tolerance
        same_series = events.lows[1:] == events.lows[:-1]
        gaps = events.starts[1:] - events.stops[:-1]
        self._free_after = events.highs - events.stops
        self._free_after[:-1] = np.where(same_series, gaps, self._free_after[:-1])
        self._free_before = events.starts - events.lows
        self._free_before[1:] = np.where(same_series, gaps, self._free_before[1:])
        # The steps before an event may also lie after another one, whose delayed zone has priority.
        self._follows = np.concatenate([[False], same_series])[: len(events)]
        self.half_length = self._distance(events.starts, events.stops - 1) / 2
        self.after = self._distance(events.stops - 1, events.stops - 1 + self._free_after)

    def delayed_reach(self, delay: float) -> Numbers:
        """How far each event's delayed zone reaches."""
        return np.minimum(delay, self.after)

    def early_limit(self, delay: float) -> Numbers:
        """How far each event's early zone can reach: into what the delayed zone of the event before has left."""
        taken = np.zeros_like(self._free_before)
        taken[1:] = self.steps_within(self.delayed_reach(delay), forward=True)[:-1]
        left = self._free_before - np.where(self._follows, taken, 0)
        return self._distance(self._events.starts - left, self._events.starts)

    def depends_on_both(self, early: Lengths, delay: Lengths) -> npt.NDArray[np.bool_]:
        """Mark the events whose early zone depends on both buffers, for some pair of these sets."""
        shortest = self.early_limit(max(delay))
        return (shortest < max(early)) & (shortest < self.early_limit(min(delay)))

    def early_reach(self, early: float, delay: float) -> Numbers:
        """How far each event's early zone reaches."""
        return np.minimum(early, self.early_limit(delay))

    def zone_steps(self, reach: Numbers, *, forward: bool) -> ZoneSteps:
        """Steps after (or before) the events, as far as their zones reach."""
        counts = self.steps_within(reach, forward=forward)
        events = np.repeat(np.arange(counts.size), counts)
        places = within(np.ones_like(counts), counts)
        edges = self._edges(forward=forward)[events]
        steps = edges + places if forward else edges - places
        return ZoneSteps(steps, events, self._distance(edges, steps) if forward else self._distance(steps, edges))

    def steps_within(self, reach: Numbers, *, forward: bool) -> IntArray:
        """How many free steps after (or before) each event lie within reach, found for all events by bisection."""
        free = self._free_after if forward else self._free_before
        if self._times is None:
            return np.minimum(reach, free).astype(np.intp)
        edges = self._edges(forward=forward)
        low, high = np.zeros_like(free), free.copy()
        while (low < high).any():
            middle = (low + high + 1) // 2
            steps = edges + middle if forward else edges - middle
            inside = np.abs(self._times[steps] - self._times[edges]) <= reach + self._tolerance
            low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
        return low

    def _edges(self, *, forward: bool) -> IntArray:
        return self._events.stops - 1 if forward else self._events.starts

    def _distance(self, earlier: IntArray, later: IntArray) -> Numbers:
        return later - earlier if self._times is None else self._times[later] - self._times[earlier]


def zone_weight(reach: float | Numbers, distance: Numbers, half_length: Numbers) -> Array:
    """Weight of a detection at some distance from an event; 0 from the zone's end on."""
    weight = np.subtract(reach, distance, dtype=np.float64)
    np.maximum(weight, 0.0, out=weight)
    weight /= np.maximum(np.add(reach, half_length), np.finfo(np.float64).tiny)  # An event of one step without a zone.
    return weight


def miss_weight(offset: IntArray, length: int | IntArray, run: int | IntArray) -> Array:
    """Weight of a missed step, ``offset`` steps into a detected event whose first detected run has ``run`` steps."""
    discount = (run + 1) * offset - run * (run + 1) / 2
    return np.where(offset <= run, 1.0, 1.0 - discount / np.maximum(length * (length - 1) / 2, 1.0))


def missed_weight_changes(lengths: IntArray, detection_order: IntArray) -> Array:
    """What each detection adds to the total missed weight, which starts at the sum of the events' lengths.

    The steps inside are numbered through, event after event; detected they are in the order given.
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


def _changes_by_event(lengths: IntArray, steps: IntArray) -> Array:
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
