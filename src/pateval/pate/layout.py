"""What all pairs of a grid of buffer lengths share: which steps begin to count when, and how much is missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.events import Events
from pateval.kernels.detections import count_detections
from pateval.pate.area import Rule
from pateval.pate.sweep import Scored, enter, missed_at
from pateval.pate.zones import delayed_steps, early_steps, zone_weight

Array = npt.NDArray[np.float64]

_KEPT = 2**22  # elements of zones that are kept


@dataclass(frozen=True)
class Entering:
    """Steps of the zones on one side of the events, in the order in which they begin to count.

    Attributes
    ----------
    at : ndarray of int
        The threshold at which each begins to count.
    event_length, distance, room : ndarray of float
        Length of the event, steps between it and this one, and how long its zone can grow.
    shared : ndarray of bool
        Whether the room is shared with the zone of another event, for some pair of the grid.
    """

    at: IntArray
    event_length: Array
    distance: Array
    room: Array
    shared: BoolArray

    @classmethod
    def of(
        cls, at: IntArray, owners: IntArray, distances: IntArray, events: Events, rooms: IntArray, shared: BoolArray
    ) -> Entering:
        """Steps that enter ``at`` thresholds, of the events ``owners``."""
        return cls(
            at,
            events.lengths[owners].astype(np.float64),
            distances.astype(np.float64),
            rooms[owners].astype(np.float64),
            shared[owners],
        )

    def __getitem__(self, some: slice | BoolArray | IntArray) -> Entering:
        return Entering(self.at[some], self.event_length[some], self.distance[some], self.room[some], self.shared[some])

    def between(self, begin: int, stop: int) -> Entering:
        """Those that enter at the thresholds from ``begin`` up to ``stop``."""
        return self[slice(*np.searchsorted(self.at, [begin, stop]))]

    def gains(self, lengths: Array) -> Array:
        """What each step is worth for buffers of these lengths: steps x lengths."""
        zone = np.minimum(lengths, self.room[:, None])
        return zone_weight(zone, self.event_length[:, None], self.distance[:, None])

    def gains_for(self, length: float, taken: float) -> Array:
        """What each step is worth for one buffer, where the event before takes some of a shared room."""
        room = np.where(self.shared, np.maximum(self.room - taken, 0.0), self.room)
        return zone_weight(np.minimum(length, room), self.event_length, self.distance)

    def add_up(self, gains: Array, thresholds: int) -> Array:
        """Sum of the gains at each of so many thresholds."""
        return np.bincount(self.at, gains, minlength=thresholds).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Grid:
    """The lengths of a grid, and the steps and thresholds that matter for any pair of them.

    Attributes
    ----------
    early, delay : ndarray of float
        Distinct lengths, in order.
    early_share, delay_share : ndarray of float
        How often each was given, as a share.
    inside : ndarray of float
        Steps inside events that enter at each threshold.
    delayed, ahead : Entering
        Steps behind and ahead of events.
    missed : ndarray of float
        Weighted false negatives at each threshold.
    detected, detected_before : ndarray of int
        Scores at or above each threshold; and above it, with all scores from the lowest threshold on behind.
    after, before : ndarray of float
        Weights that the rule gives to the precision after and before a gain, over the detections then: a gain at
        threshold ``j`` counts ``after[j]`` times the true positives there and ``before[j]`` times those before.
    first_precision : float
        Share in the area of the gain at the first threshold, for the precision before it.
    """

    early: Array
    early_share: Array
    delay: Array
    delay_share: Array
    inside: Array
    delayed: Entering
    ahead: Entering
    missed: Array
    detected: IntArray
    detected_before: IntArray
    after: Array
    before: Array
    first_precision: float

    @cached_property
    def is_shared(self) -> BoolArray:
        """Mark the thresholds at which steps of shared rooms enter."""
        marked = np.zeros(self.missed.size, dtype=np.bool_)
        marked[self.ahead.at[self.ahead.shared]] = True
        return marked

    def shared_zone(self, room: float) -> IntArray:
        """Length of an early zone in a shared room, early lengths x delays."""
        if room not in self._zones:
            if len(self._zones) * self.early.size * self.delay.size > _KEPT:
                self._zones.clear()
            zone = np.minimum(self.early[:, None], np.maximum(room - self.delay, 0.0))
            self._zones[room] = zone.astype(np.intp)
        return self._zones[room]

    @cached_property
    def _zones(self) -> dict[float, IntArray]:
        return {}

    def mean(self, values: Array) -> float:
        """Mean over the grid of values for each early length and delay."""
        return float(np.vecdot(np.vecdot(values, self.delay_share), self.early_share))

    @cached_property
    def most_delayed(self) -> Array:
        """What steps behind events bring at each threshold, for the longest delay."""
        return self.delayed.add_up(self.delayed.gains_for(self.delay[-1], 0.0), self.missed.size)

    @cached_property
    def most_early(self) -> Array:
        """What steps ahead of events bring at each threshold, for the longest early and the shortest delayed zones."""
        return self.ahead.add_up(self.ahead.gains_for(self.early[-1], self.delay[0]), self.missed.size)

    @classmethod
    def of(cls, scored: Scored, early: Sequence[int], delay: Sequence[int], rule: Rule) -> Grid:
        """Lay out the grid of ``early`` and ``delay``."""
        # A longer buffer than the series has no more room. Ahead of an event one step weighs 0, as none does.
        longest = scored.scores.size
        early_lengths, early_counts = np.unique(np.clip(early, 1, longest), return_counts=True)
        delay_lengths, delay_counts = np.unique(np.minimum(delay, longest), return_counts=True)
        events, rooms = scored.events, scored.rooms
        delayed = delayed_steps(events, rooms.delayed(int(delay_lengths[-1])))
        ahead = early_steps(events, rooms.early(int(early_lengths[-1]), int(delay_lengths[0])))
        entries = enter(scored, scored.delayed_entries(delayed), scored.early_entries(ahead))
        detected, detected_before = count_detections(scored.scores, entries.thresholds)

        at = np.repeat(np.arange(entries.last.size), np.diff(entries.last, prepend=-1))
        zone, last_zone = scored.inside.size, scored.inside.size + delayed.steps.size
        is_inside, is_ahead = entries.order < zone, entries.order >= last_zone
        is_behind = ~(is_inside | is_ahead)
        late, early_on = entries.order[is_behind] - zone, entries.order[is_ahead] - last_zone
        tight = rooms.shared & (rooms.before < early_lengths[-1] + delay_lengths[-1])
        late_owners, early_owners = delayed.events[late], ahead.events[early_on]
        before = rule.before / np.maximum(detected_before, 1)
        before[0] = 0.0
        return cls(
            early_lengths.astype(np.float64),
            early_counts / len(early),
            delay_lengths.astype(np.float64),
            delay_counts / len(delay),
            np.bincount(at[is_inside], minlength=entries.last.size).astype(np.float64),
            Entering.of(
                at[is_behind],
                late_owners,
                delayed.steps[late] - events.stops[late_owners],
                events,
                rooms.after,
                np.zeros_like(tight),
            ),
            Entering.of(
                at[is_ahead],
                early_owners,
                events.starts[early_owners] - 1 - ahead.steps[early_on],
                events,
                rooms.before,
                tight,
            ),
            missed_at(scored, entries),
            detected,
            np.append(detected_before, detected[-1]),
            rule.after / detected,
            before,
            rule.before * rule.start if detected_before[0] == 0 else 0.0,
        )
