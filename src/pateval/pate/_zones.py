"""Zones: the steps shortly before and after an event, and how much a detection there is worth.

A zone reaches ``reach`` steps out from the event's first or last step; the event's centre lies ``half_length`` steps
inside it. A step at distance i (1 beside the event) has the weight ``(reach - i) / (reach + half_length)``: the
distance left to the zone's end over the distance from the centre to that end. The outermost step weighs exactly 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.events import Events, within

Array = npt.NDArray[np.float64]
Number = float | IntArray | Array


@dataclass(frozen=True)
class ZoneLimits:
    """How far the zones of each event can reach before they meet another event or the end of the series.

    Attributes
    ----------
    half_length : ndarray of float
        Distance from the event's first or last step to its centre.
    after, before : ndarray of int
        Free steps after and before each event.
    is_shared : ndarray of bool
        Whether the steps before an event also lie after another one, whose delayed zone has priority.
    """

    half_length: Array
    after: IntArray
    before: IntArray
    is_shared: BoolArray

    @classmethod
    def of(cls, events: Events) -> ZoneLimits:
        """Measure the free steps around ``events``."""
        same_series = events.lows[1:] == events.lows[:-1]
        after = events.highs - events.stops
        before = events.starts - events.lows
        gaps = events.starts[1:] - events.stops[:-1]
        after[:-1] = np.where(same_series, gaps, after[:-1])
        before[1:] = np.where(same_series, gaps, before[1:])
        return cls((events.lengths - 1) / 2, after, before, np.concatenate([[False], same_series]))

    def delayed_reach(self, delay: int) -> IntArray:
        """How far each event's delayed zone reaches."""
        return np.minimum(delay, self.after)

    def early_reach(self, early: int, delay: int) -> IntArray:
        """How far each event's early zone reaches into what the delayed zone of the event before has left."""
        left = np.maximum(self.before - np.where(self.is_shared, delay, 0), 0)
        return np.minimum(early, left)


@dataclass(frozen=True)
class ZoneSteps:
    """Steps of positive weight in the zones on one side of the events.

    Attributes
    ----------
    steps : ndarray of int
        Time steps.
    events : ndarray of int
        The event each belongs to.
    distances : ndarray of int
        How far each lies from its event; 1 is beside it.
    """

    steps: IntArray
    events: IntArray
    distances: IntArray


def delayed_steps(events: Events, reach: IntArray) -> ZoneSteps:
    """Steps of positive weight after the events."""
    owners, distances = _enumerate(reach)
    return ZoneSteps(events.stops[owners] - 1 + distances, owners, distances)


def early_steps(events: Events, reach: IntArray) -> ZoneSteps:
    """Steps of positive weight before the events."""
    owners, distances = _enumerate(reach)
    return ZoneSteps(events.starts[owners] - distances, owners, distances)


def zone_weight(reach: Number, distance: Number, half_length: Number) -> Array:
    """Weight of a detection at some distance from an event; 0 from the zone's last step on."""
    weight = np.subtract(reach, distance, dtype=np.float64)
    np.maximum(weight, 0.0, out=weight)
    weight /= np.maximum(np.add(reach, half_length), np.finfo(np.float64).tiny)  # An event of one step without a zone.
    return weight


def _enumerate(reach: IntArray) -> tuple[IntArray, IntArray]:
    """Event and distance of every weighted step: the distances 1 to ``reach - 1`` of each event."""
    weighted = np.maximum(reach - 1, 0)
    return np.repeat(np.arange(reach.size), weighted), within(np.ones_like(weighted), weighted)
