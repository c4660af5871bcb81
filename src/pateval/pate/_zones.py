"""Zones: the steps shortly before and after an event, and how much a detection there is worth.

Distances are measured on a clock: step numbers, or times. A zone reaches out from the event's first or last step by
``reach``; the event's centre lies ``half_length`` inside it. A step at distance x has the weight
``(reach - x) / (reach + half_length)``: the distance left to the zone's end over the distance from the centre to that
end. At the zone's end the weight is exactly 0.
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


@dataclass(frozen=True)
class ZoneSteps:
    """Steps in the zones on one side of the events.

    Attributes
    ----------
    steps, events : ndarray of int
        Time steps, and the event each belongs to.
    distances : ndarray
        How far each lies from its event.
    """

    steps: IntArray
    events: IntArray
    distances: Numbers


class ZoneLimits:
    """How far the zones of each event can reach before they meet another event or the end of the series.

    Parameters
    ----------
    events : Events
        The events.
    clock : Clock, optional
        Times of the steps; by default their numbers.

    Attributes
    ----------
    half_length : ndarray
        Distance from the event's first or last step to its centre.
    after : ndarray
        Distance from the event to the last free step after it.
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
        taken[1:] = self.delayed_counts(self.delayed_reach(delay))[:-1]
        left = self._free_before - np.where(self._follows, taken, 0)
        return self._distance(self._events.starts - left, self._events.starts)

    def depends_on_both(self, early: Lengths, delay: Lengths) -> npt.NDArray[np.bool_]:
        """Mark the events whose early zone depends on both buffers, for some pair of these sets."""
        shortest = self.early_limit(max(delay))
        both: npt.NDArray[np.bool_] = (shortest < max(early)) & (shortest < self.early_limit(min(delay)))
        return both

    def early_reach(self, early: float, delay: float) -> Numbers:
        """How far each event's early zone reaches."""
        return np.minimum(early, self.early_limit(delay))

    def delayed_counts(self, reach: Numbers) -> IntArray:
        """How many steps after each event its zone holds."""
        return self._steps_within(reach, forward=True)

    def early_counts(self, reach: Numbers) -> IntArray:
        """How many steps before each event its zone holds."""
        return self._steps_within(reach, forward=False)

    def delayed_steps(self, reach: Numbers) -> ZoneSteps:
        """Steps after the events, as far as their zones reach."""
        counts = self.delayed_counts(reach)
        owners, places = np.repeat(np.arange(counts.size), counts), within(np.zeros_like(counts), counts)
        steps = self._events.stops[owners] + places
        return ZoneSteps(steps, owners, self._distance(self._events.stops[owners] - 1, steps))

    def early_steps(self, reach: Numbers) -> ZoneSteps:
        """Steps before the events, as far as their zones reach."""
        counts = self.early_counts(reach)
        owners, places = np.repeat(np.arange(counts.size), counts), within(np.zeros_like(counts), counts)
        steps = self._events.starts[owners] - 1 - places
        return ZoneSteps(steps, owners, self._distance(steps, self._events.starts[owners]))

    def _distance(self, earlier: IntArray, later: IntArray) -> Numbers:
        return later - earlier if self._times is None else self._times[later] - self._times[earlier]

    def _steps_within(self, reach: Numbers, *, forward: bool) -> IntArray:
        """How many free steps after (or before) each event lie within reach, found for all events by bisection."""
        free = self._free_after if forward else self._free_before
        if self._times is None:
            return np.minimum(reach, free).astype(np.intp)
        edges = self._events.stops - 1 if forward else self._events.starts
        low, high = np.zeros_like(free), free.copy()
        while (low < high).any():
            middle = (low + high + 1) // 2
            steps = edges + middle if forward else edges - middle
            inside = np.abs(self._times[steps] - self._times[edges]) <= reach + self._tolerance
            low, high = np.where(inside, middle, low), np.where(inside, high, middle - 1)
        return low


def zone_weight(reach: float | Numbers, distance: Numbers, half_length: Numbers) -> Array:
    """Weight of a detection at some distance from an event; 0 from the zone's end on."""
    weight = np.subtract(reach, distance, dtype=np.float64)
    np.maximum(weight, 0.0, out=weight)
    weight /= np.maximum(np.add(reach, half_length), np.finfo(np.float64).tiny)  # An event of one step without a zone.
    return weight
