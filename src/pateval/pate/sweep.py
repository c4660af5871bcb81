"""The sweep: weighted counts at every threshold that matters, from one sort.

Lowering the threshold past a step outside all zones changes nothing but the number of detections, so only the scores of
steps inside events and zones are *relevant* thresholds; how many scores lie above each is looked up in the sorted
scores. A step ahead of an event counts from the threshold on at which both it and a step inside the event are detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pateval._inputs import FloatArray, IntArray
from pateval.events import Events, within
from pateval.pate.detections import count_detections
from pateval.pate.misses import missed_weight_changes
from pateval.pate.order import descending_order
from pateval.pate.zones import Rooms, ZoneSteps, delayed_steps, early_steps

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """Scores and events, with what every pair of buffers shares."""

    scores: FloatArray
    events: Events

    @cached_property
    def rooms(self) -> Rooms:
        """How far zones can reach."""
        return Rooms.of(self.events)

    @cached_property
    def inside_steps(self) -> IntArray:
        """Steps inside events, event after event."""
        return within(self.events.starts, self.events.lengths)

    @cached_property
    def inside(self) -> FloatArray:
        """Scores inside events, event after event."""
        return self.scores[self.inside_steps]

    @cached_property
    def peaks(self) -> FloatArray:
        """Highest score inside each event: the threshold at which it is first detected."""
        lengths = self.events.lengths
        return np.maximum.reduceat(self.inside, np.cumsum(lengths) - lengths)

    def delayed_entries(self, zone: ZoneSteps) -> FloatArray:
        """Thresholds from which on the steps of a delayed zone count."""
        return self.scores[zone.steps]

    def early_entries(self, zone: ZoneSteps) -> FloatArray:
        """Thresholds from which on the steps of an early zone count."""
        return np.minimum(self.scores[zone.steps], self.peaks[zone.events])


@dataclass(frozen=True)
class Counts:
    """Weighted counts at the relevant thresholds, from high to low.

    Attributes
    ----------
    thresholds : ndarray
        Distinct scores at which a step inside an event or zone begins to count.
    detected, detected_before : ndarray
        Number of scores at or above, and above, each threshold.
    true_positive, missed : ndarray
        Weighted true positives and false negatives at each threshold.
    """

    thresholds: FloatArray
    detected: IntArray
    detected_before: IntArray
    true_positive: Array
    missed: Array


@dataclass(frozen=True)
class Entries:
    """The order in which inside steps and other weighted steps begin to count.

    Attributes
    ----------
    order : ndarray of int
        Indices into the entries given, inside steps first, from the highest to the lowest.
    last : ndarray of int
        For each distinct threshold, the place in ``order`` of its last entry.
    missed_changes : ndarray of float
        Change of the missed weight with each entry.
    """

    thresholds: FloatArray
    order: IntArray
    last: IntArray
    missed_changes: Array


def enter(scored: Scored, *zones: FloatArray) -> Entries:
    """Order the entries of all inside steps and of the given zone steps."""
    entries = np.concatenate([scored.inside, *zones])
    order = descending_order(entries)
    sorted_entries = entries[order]
    last = np.append(np.flatnonzero(sorted_entries[1:] != sorted_entries[:-1]), entries.size - 1)
    inside_places = np.flatnonzero(order < scored.inside.size)
    changes = np.zeros(entries.size)
    changes[inside_places] = missed_weight_changes(scored.events.lengths, order[inside_places])
    return Entries(sorted_entries[last], order, last, changes)


def missed_at(scored: Scored, entries: Entries) -> Array:
    """Weighted false negatives at each distinct threshold."""
    missed: Array = scored.inside.size + np.cumsum(entries.missed_changes)[entries.last]
    return missed


def sweep(scored: Scored, early: int, delay: int) -> Counts:
    """Count at every relevant threshold for one pair of buffers."""
    delayed = delayed_steps(scored.events, scored.rooms.delayed(delay))
    ahead = early_steps(scored.events, scored.rooms.early(early, delay))
    entries = enter(scored, scored.delayed_entries(delayed), scored.early_entries(ahead))
    weights = np.concatenate([np.ones(scored.inside.size), delayed.weights, ahead.weights])
    detected, detected_before = count_detections(scored.scores, entries.thresholds)
    return Counts(
        entries.thresholds,
        detected,
        detected_before,
        np.cumsum(weights[entries.order])[entries.last],
        missed_at(scored, entries),
    )
