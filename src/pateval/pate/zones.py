"""Zones: which steps lie shortly before or after an event, and how much a detection there is worth.

A zone of length ``z`` beside an event of length ``L`` gives its step number ``i`` (0 beside the event) the weight
``(z - 1 - i) / (z + (L - 1) / 2)``: the distance left to the zone's end over the distance from the event's centre to
it. The outermost step weighs exactly 0 and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import IntArray
from pateval.events import Events, within

Weights = npt.NDArray[np.float64]
Lengths = IntArray | Weights


@dataclass(frozen=True)
class Rooms:
    """How far zones can reach: steps to the neighbouring event or the end of the series.

    Attributes
    ----------
    after, before : ndarray of int
        Steps free behind and ahead of each event.
    shared : ndarray of bool
        Whether the steps ahead of an event also lie behind another one, whose delayed zone has priority.
    """

    after: IntArray
    before: IntArray
    shared: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, events: Events) -> Rooms:
        """Measure the rooms around ``events``."""
        same_series = events.lows[1:] == events.lows[:-1]
        after = events.highs - events.stops
        before = events.starts - events.lows
        gaps = events.starts[1:] - events.stops[:-1]
        after[:-1] = np.where(same_series, gaps, after[:-1])
        before[1:] = np.where(same_series, gaps, before[1:])
        return cls(after, before, np.concatenate([[False], same_series]))

    def delayed(self, delay: int) -> IntArray:
        """Length of each event's delayed zone."""
        return np.minimum(delay, self.after)

    def early(self, early: int, delay: int) -> IntArray:
        """Length of each event's early zone: what the delayed zone of the event before has left."""
        left = np.maximum(self.before - np.where(self.shared, delay, 0), 0)
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
    weights : ndarray of float
        What a detection at the step is worth.
    """

    steps: IntArray
    events: IntArray
    weights: Weights


def delayed_steps(events: Events, zone_lengths: IntArray) -> ZoneSteps:
    """Weighted steps behind the events."""
    return _zone_steps(events, zone_lengths, events.stops, forwards=True)


def early_steps(events: Events, zone_lengths: IntArray) -> ZoneSteps:
    """Weighted steps ahead of the events."""
    return _zone_steps(events, zone_lengths, events.starts, forwards=False)


def zone_weight(zone_length: Lengths, event_length: Lengths, distance: Lengths) -> Weights:
    """Weight of the step ``distance`` steps into a zone (0 beside the event); 0 from the zone's last step on."""
    to_centre = np.maximum((event_length - 1) / 2, np.finfo(np.float64).tiny)  # no zone and one step: 0 / tiny
    weight = np.subtract(zone_length, distance + 1, dtype=np.float64)
    np.maximum(weight, 0.0, out=weight)
    weight /= zone_length + to_centre
    return weight


def _zone_steps(events: Events, zone_lengths: IntArray, edges: IntArray, *, forwards: bool) -> ZoneSteps:
    weighted = np.maximum(zone_lengths - 1, 0)
    owners = np.repeat(np.arange(len(events)), weighted)
    distances = within(np.zeros_like(weighted), weighted)
    weights = zone_weight(zone_lengths[owners], events.lengths[owners], distances)
    steps = edges[owners] + distances if forwards else edges[owners] - 1 - distances
    return ZoneSteps(steps, owners, weights)
