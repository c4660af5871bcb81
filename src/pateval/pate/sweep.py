"""The sweep: weighted counts at every threshold that matters.

Lowering the threshold past a step outside all zones changes nothing but the number of detections, so only the scores of
steps inside events and zones are *relevant* thresholds; how many scores lie above each is counted apart. A step ahead
of an event counts from the threshold on at which both it and a step inside the event are detected.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pateval._validation import FloatArray, IntArray
from pateval.events import Events, within
from pateval.kernels.detections import count_detections
from pateval.kernels.sorting import descending
from pateval.pate.misses import missed_weight_changes
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
    order, thresholds = descending(np.concatenate([scored.inside, *zones]))
    ends = np.ones(order.size, dtype=np.bool_)
    np.not_equal(thresholds[1:], thresholds[:-1], out=ends[:-1])
    last = np.flatnonzero(ends)
    thresholds = thresholds[last]
    inside_places = np.flatnonzero(order < scored.inside.size)
    inside_changes = missed_weight_changes(scored.events.lengths, order[inside_places])
    changes = np.zeros(order.size)
    changes[inside_places] = inside_changes
    return Entries(thresholds, order, last, changes)


def missed_at(scored: Scored, entries: Entries) -> Array:
    """Weighted false negatives at each distinct threshold."""
    missed: Array = np.cumsum(entries.missed_changes)[entries.last]
    missed += scored.inside.size
    return missed


def sweep(scored: Scored, early: int, delay: int) -> Counts:
    """Count at every relevant threshold for one pair of buffers."""
    thresholds, true_positive, missed = _weigh(scored, early, delay)
    return Counts(thresholds, *count_detections(scored.scores, thresholds), true_positive, missed)


def _weigh(scored: Scored, early: int, delay: int) -> tuple[FloatArray, Array, Array]:
    """Relevant thresholds, with the weighted true positives and false negatives at each."""
    zones, weights = _zones(scored, early, delay)
    entries = enter(scored, zones)
    weights = weights[entries.order]
    true_positive: Array = np.cumsum(weights, out=weights)[entries.last]
    return entries.thresholds, true_positive, missed_at(scored, entries)


def _zones(scored: Scored, early: int, delay: int) -> tuple[FloatArray, Array]:
    """Thresholds from which on the steps of zones count; and the weights of all steps, those inside events first."""
    delayed = delayed_steps(scored.events, scored.rooms.delayed(delay))
    ahead = early_steps(scored.events, scored.rooms.early(early, delay))
    weights = np.concatenate([np.ones(scored.inside.size), delayed.weights, ahead.weights])
    return np.concatenate([scored.delayed_entries(delayed), scored.early_entries(ahead)]), weights
