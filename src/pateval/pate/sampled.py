"""Weighted counts at given thresholds: small, additive over series, and so what can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import FloatArray, IntArray
from pateval.kernels.sorting import descending_order
from pateval.pate.area import Rule, sampled_area
from pateval.pate.misses import missed_weight_changes
from pateval.pate.sweep import Scored
from pateval.pate.zones import ZoneSteps, delayed_steps, early_steps

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ThresholdCounts:
    """Weighted counts at given thresholds, from high to low, for every pair of buffers.

    Attributes
    ----------
    detected : ndarray
        Number of scores at or above each threshold.
    missed : ndarray
        Weighted false negatives at each threshold.
    true_positive : ndarray, early lengths x delays x thresholds
        Weighted true positives.
    """

    detected: IntArray
    missed: Array
    true_positive: Array

    def __add__(self, other: ThresholdCounts) -> ThresholdCounts:
        return ThresholdCounts(
            self.detected + other.detected, self.missed + other.missed, self.true_positive + other.true_positive
        )

    @classmethod
    def none(cls, thresholds: int, early: int, delay: int) -> ThresholdCounts:
        """Counts of nothing, from which to add on."""
        return cls(np.zeros(thresholds, dtype=np.intp), np.zeros(thresholds), np.zeros((early, delay, thresholds)))

    def mean_area(self, rule: Rule) -> float:
        """Mean area under the curves of all pairs through these points alone."""
        before = np.concatenate([[0], self.detected])
        pairs = self.true_positive.reshape(-1, self.detected.size)
        return float(np.mean([sampled_area(found, self.missed, self.detected, before, rule) for found in pairs]))


def counts_at(scored: Scored, thresholds: FloatArray, early: Sequence[int], delay: Sequence[int]) -> ThresholdCounts:
    """Count at each of the ``thresholds``, given from high to low.

    A step counts at its own score, an early one at the lower of its own and its event's highest score: all counts are
    cumulative sums over the thresholds.
    """
    ascending = thresholds[::-1]
    size = thresholds.size

    def add_up(entries: FloatArray, weights: Array | None = None) -> npt.NDArray[np.float64]:
        """Sum the weights of the entries at or above each threshold."""
        first = size - np.searchsorted(ascending, entries, side="right")
        return np.cumsum(np.bincount(first, weights, minlength=size + 1)[:size])

    def add_up_zone(zone: ZoneSteps, entries: FloatArray) -> npt.NDArray[np.float64]:
        return add_up(entries, zone.weights)

    detected = add_up(scored.scores).astype(np.intp)
    found = np.zeros((len(early), len(delay), size))
    if not len(scored.events):
        return ThresholdCounts(detected, np.zeros(size), found)
    found += add_up(scored.inside)
    order = descending_order(scored.inside)
    changes = missed_weight_changes(scored.events.lengths, order)
    missed = scored.inside.size + add_up(scored.inside[order], changes)

    rooms, events = scored.rooms, scored.events
    by_delay = {d: np.flatnonzero([d == other for other in delay]) for d in dict.fromkeys(delay)}
    by_early = {e: np.flatnonzero([e == other for other in early]) for e in dict.fromkeys(early)}
    # Only where events lie close together does an early zone depend on the delay too.
    close = rooms.shared & (rooms.before < min(max(early), scored.scores.size) + min(max(delay), scored.scores.size))
    for d, at_delay in by_delay.items():
        zone = delayed_steps(events, rooms.delayed(min(d, scored.scores.size)))
        found[:, at_delay] += add_up_zone(zone, scored.delayed_entries(zone))
    for e, at_early in by_early.items():
        length = min(e, scored.scores.size)
        zone = early_steps(events, np.where(close, 0, np.minimum(length, rooms.before)))
        found[at_early] += add_up_zone(zone, scored.early_entries(zone))
        if close.any():
            for d, at_delay in by_delay.items():
                zone = early_steps(events, np.where(close, rooms.early(length, min(d, scored.scores.size)), 0))
                found[np.ix_(at_early, at_delay)] += add_up_zone(zone, scored.early_entries(zone))
    return ThresholdCounts(detected, missed, found)
