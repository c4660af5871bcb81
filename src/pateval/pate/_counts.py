"""Weighted counts at thresholds, for one pair of buffers or several.

Lowering the threshold past a step outside all zones changes nothing but the number of detections. So only the scores of
steps inside events and zones matter as thresholds; how many scores lie above each is counted separately. A step before
an event counts from the threshold on at which both it and a step inside the event are detected. Every count is then a
cumulative sum over the thresholds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, FloatArray, IntArray
from pateval.events import Events, within
from pateval.kernels.precision_recall import AreaRule, precision_recall_area
from pateval.kernels.sorting import sort_descending
from pateval.kernels.threshold_counts import count_at_thresholds
from pateval.pate._missed import missed_weight_changes
from pateval.pate._zones import ZoneLimits, ZoneSteps, delayed_steps, early_steps, zone_weight

Array = npt.NDArray[np.float64]

# More pairs are computed together. With 88,000 thresholds both ways take 0.2 s at about 90 pairs.
_MAX_PAIRS_ONE_BY_ONE = 90


@dataclass(frozen=True)
class RankedZoneSteps:
    """Steps of the zones on one side of the events, in the order in which they begin to count.

    Attributes
    ----------
    rank : ndarray of int
        Number of the threshold at which each begins to count, ascending.
    event, distance : ndarray of int
        Its event, and how far from it the step lies.
    """

    rank: IntArray
    event: IntArray
    distance: IntArray

    def chosen(self, steps: BoolArray | slice) -> RankedZoneSteps:
        """Some of the steps."""
        return RankedZoneSteps(self.rank[steps], self.event[steps], self.distance[steps])

    def between(self, start: int, stop: int) -> RankedZoneSteps:
        """The steps that begin to count at the thresholds from ``start`` to ``stop``."""
        return self.chosen(slice(*np.searchsorted(self.rank, [start, stop])))


@dataclass(frozen=True)
class ThresholdSteps:
    """What happens at each threshold, from high to low, as far as all pairs of buffers share it.

    Attributes
    ----------
    thresholds : ndarray
        The thresholds.
    detected : ndarray of int
        Number of scores at or above each.
    detected_before : ndarray of int
        Number of scores detected just before each threshold is reached, and after the last.
    inside : ndarray of float
        Number of steps inside events that begin to count at each.
    missed : ndarray of float
        Weighted false negatives at each; they do not depend on the buffers.
    delayed, early : RankedZoneSteps
        Steps after and before events.
    limits : ZoneLimits
        How far the zones can reach.
    """

    thresholds: FloatArray
    detected: IntArray
    detected_before: IntArray
    inside: Array
    missed: Array
    delayed: RankedZoneSteps
    early: RankedZoneSteps
    limits: ZoneLimits

    def delayed_gains(self, delay: int) -> Array:
        """True positives gained after events, at each threshold."""
        return self._gains(self.delayed, self.limits.delayed_reach(delay))

    def early_gains(self, early: int, delay: int) -> Array:
        """True positives gained before events, at each threshold."""
        return self._gains(self.early, self.limits.early_reach(early, delay))

    def true_positive(self, early: int, delay: int) -> Array:
        """Weighted true positives at each threshold."""
        return np.cumsum(self.inside + self.delayed_gains(delay) + self.early_gains(early, delay))

    def area(self, true_positive: Array, rule: AreaRule) -> float:
        """Area under the precision-recall curve."""
        return precision_recall_area(true_positive, self.missed, self.detected, self.detected_before, rule)

    def _gains(self, zone: RankedZoneSteps, reach: IntArray) -> Array:
        weights = zone_weight(reach[zone.event], zone.distance, self.limits.half_length[zone.event])
        return np.bincount(zone.rank, weights, minlength=self.missed.size).astype(np.float64, copy=False)


def rank_steps(
    scores: FloatArray,
    events: Events,
    early: Iterable[int],
    delay: Iterable[int],
    thresholds: FloatArray | None = None,
) -> ThresholdSteps:
    """Find the threshold at which each step inside events and zones begins to count.

    Parameters
    ----------
    scores : ndarray
        Scores of all steps.
    events : Events
        The events.
    early, delay : iterable of int
        The buffers in use, none longer than the series.
    thresholds : ndarray, optional
        Thresholds from high to low; by default every score at which a step inside an event or zone begins to count.
    """
    limits = ZoneLimits.of(events)
    inside = scores[within(events.starts, events.lengths)]
    delayed = delayed_steps(events, limits.delayed_reach(max(delay)))
    ahead = early_steps(events, limits.early_reach(max(early), min(delay)))
    highest_inside = np.maximum.reduceat(inside, np.cumsum(events.lengths) - events.lengths) if len(events) else inside
    # A step before an event needs a detection inside it to count.
    entries = np.concatenate(
        [inside, scores[delayed.steps], np.minimum(scores[ahead.steps], highest_inside[ahead.events])]
    )
    order, ordered = sort_descending(entries) if entries.size else (np.empty(0, dtype=np.intp), entries)
    if thresholds is None:
        is_last = np.append(ordered[1:] != ordered[:-1], True)
        last = np.flatnonzero(is_last)
        thresholds = ordered[last]
        rank = np.repeat(np.arange(last.size), np.diff(last, prepend=-1))
        detected, above = count_at_thresholds(scores, thresholds)
        detected_before = np.append(above, detected[-1])
    else:
        rank = _first_reached(ordered, thresholds)
        reached = np.bincount(_first_reached(scores, thresholds), minlength=thresholds.size + 1)
        detected = np.cumsum(reached[:-1])
        detected_before = np.append(0, detected)

    is_inside, is_early = order < inside.size, order >= inside.size + delayed.steps.size
    is_counted = rank < thresholds.size
    inside_order, inside_rank = order[is_inside], rank[is_inside]
    changes = missed_weight_changes(events.lengths, inside_order)[: np.count_nonzero(is_counted & is_inside)]
    inside_rank = inside_rank[: changes.size]
    missed = np.bincount(inside_rank, changes, minlength=thresholds.size).astype(np.float64, copy=False)
    is_delayed = is_counted & ~is_inside & ~is_early
    is_early &= is_counted
    return ThresholdSteps(
        thresholds,
        detected,
        detected_before,
        np.bincount(inside_rank, minlength=thresholds.size).astype(np.float64),
        np.cumsum(missed) + float(inside.size),
        _ranked(rank[is_delayed], order[is_delayed] - inside.size, delayed),
        _ranked(rank[is_early], order[is_early] - inside.size - delayed.steps.size, ahead),
        limits,
    )


def mean_area(steps: ThresholdSteps, early: Sequence[int], delay: Sequence[int], rule: AreaRule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``."""
    if len(set(early)) * len(set(delay)) > _MAX_PAIRS_ONE_BY_ONE:
        from pateval.pate._grid import grid_area  # Loading it takes time that a first number can do without.

        return grid_area(steps, early, delay, rule)
    total = 0.0
    for delay_length, delay_count in Counter(delay).items():
        fixed = steps.inside + steps.delayed_gains(delay_length)
        for early_length, early_count in Counter(early).items():
            gains = fixed + steps.early_gains(early_length, delay_length)
            total += early_count * delay_count * steps.area(np.cumsum(gains, out=gains), rule)
    return total / (len(early) * len(delay))


def _first_reached(values: FloatArray, thresholds: FloatArray) -> IntArray:
    """Number of the highest threshold that each value reaches; the number of thresholds where it reaches none."""
    return thresholds.size - np.searchsorted(thresholds[::-1], values, side="right")


def _ranked(rank: IntArray, index: IntArray, zone: ZoneSteps) -> RankedZoneSteps:
    return RankedZoneSteps(rank, zone.events[index], zone.distances[index])
