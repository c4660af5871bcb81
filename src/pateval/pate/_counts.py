"""Weighted counts at thresholds, for one pair of buffers or several.

Lowering the threshold past a step outside all zones changes nothing but the number of detections. So only the scores of
steps inside events and zones matter as thresholds; how many scores lie above each is counted separately. A step before
an event counts from the threshold on at which both it and a step inside the event are detected. Every count is then a
cumulative sum over the thresholds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import AreaRule
from pateval.kernels.threshold_counts import above, count_at_thresholds, sort_descending
from pateval.labels.events import Events, within
from pateval.pate._weights import Numbers, ZoneLimits, ZoneSteps, missed_weight_changes, zone_weight
from pateval.time.clocks import Clock, Lengths
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

Array = npt.NDArray[np.float64]

# More pairs are computed together. Both ways take the same time at about 64 pairs where no zones of neighbours meet,
# and at about 150 where half the steps lie in zones that do (python benchmarks/pate.py --only sets).
_MAX_PAIRS_ONE_BY_ONE = 64
_MAX_PAIRS_OF_GRID = 2**18  # more are computed in blocks; a table of them takes 2 MB
_COST_OF_JOINT_ZONES = 2.7


@dataclass(frozen=True)
class RankedZoneSteps:
    """Steps of the zones on one side of the events, in the order in which they begin to count."""

    rank: IntArray  # number of the threshold at which each begins to count, ascending
    event: IntArray
    distance: Numbers  # from its event

    def chosen(self, steps: BoolArray | slice) -> RankedZoneSteps:
        """Some of the steps."""
        return RankedZoneSteps(self.rank[steps], self.event[steps], self.distance[steps])

    def between(self, start: int, stop: int) -> RankedZoneSteps:
        """The steps that begin to count at the thresholds from ``start`` to ``stop``."""
        return self.chosen(slice(*np.searchsorted(self.rank, [start, stop])))


@dataclass(frozen=True)
class RankedEventSteps:
    """Steps inside events, in the order in which they are detected."""

    rank: IntArray  # number of the threshold at which each is detected, ascending
    place: IntArray  # among the steps inside events, numbered through event after event
    change: Array  # what its detection adds to the weighted false negatives


@dataclass(frozen=True)
class ThresholdSteps:
    """What happens at each threshold, from high to low, as far as all pairs of buffers share it."""

    thresholds: FloatArray
    detected: IntArray  # scores at or above each
    detected_before: IntArray  # scores detected just before each is reached, and after the last
    inside: Array  # steps inside events that begin to count at each
    missed: Array  # weighted false negatives at each, which do not depend on the buffers
    delayed: RankedZoneSteps
    early: RankedZoneSteps
    limits: ZoneLimits
    inside_steps: RankedEventSteps

    def is_joint(self, early: Lengths, delay: Lengths) -> BoolArray:
        """Mark the early steps whose weight depends on both buffers, for some pair of these sets."""
        return self.limits.depends_on_both(early, delay)[self.early.event]

    def true_positives(self, early: Lengths, delay: Lengths) -> Iterator[tuple[int, int, Array]]:
        """Weighted true positives at each threshold, for each pair of buffers, with their places in both sets."""
        for row, column, gains in self.gains_of_pairs(early, delay):
            yield row, column, np.cumsum(gains, out=gains)

    def gains_of_pairs(self, early: Lengths, delay: Lengths) -> Iterator[tuple[int, int, Array]]:
        """What each threshold adds to the weighted true positives, for each pair of buffers; likewise."""
        is_joint = self.is_joint(early, delay)
        own, joint = self.early.chosen(~is_joint), self.early.chosen(is_joint)
        own_gains = [self.gains(own, self.limits.early_reach(length, max(delay))) for length in early]
        for column, delay_length in enumerate(delay):
            fixed = self.inside + self.gains(self.delayed, self.limits.delayed_reach(delay_length))
            limit = self.limits.early_limit(delay_length)
            for row, early_length in enumerate(early):
                gains = fixed + own_gains[row]
                if joint.rank.size:
                    gains += self.gains(joint, np.minimum(early_length, limit))
                yield row, column, gains

    def area(self, true_positive: Array, rule: AreaRule) -> float:
        """Area under the precision-recall curve; 0 where no step that counts is ever detected."""
        if not self.missed.size:
            return 0.0
        return rule.area(true_positive, self.missed, self.detected, self.detected_before)

    def gains(self, zone: RankedZoneSteps, reach: Numbers) -> Array:
        """True positives gained in zones at each threshold."""
        weights = self.weights(zone, reach)
        return np.bincount(zone.rank, weights, minlength=self.missed.size).astype(np.float64, copy=False)

    def weights(self, zone: RankedZoneSteps, reach: Numbers) -> Array:
        """Weight of each step of a zone."""
        return zone_weight(reach[zone.event], zone.distance, self.limits.half_length[zone.event])


def rank_steps(
    scores: FloatArray,
    events: Events,
    early: Lengths,
    delay: Lengths,
    thresholds: FloatArray | None = None,
    clock: Clock | None = None,
) -> ThresholdSteps:
    """Find the threshold at which each step inside events and zones begins to count.

    A score of negative infinity is never detected. The buffers are in steps, none longer than the series, or in units
    of the clock. Thresholds come from high to low; by default they are all scores at which a step inside an event or
    zone begins to count.
    """
    limits = ZoneLimits(events, clock)
    inside = scores[within(events.starts, events.lengths)]
    delayed = limits.zone_steps(limits.delayed_reach(max(delay)), forward=True)
    ahead = limits.zone_steps(limits.early_reach(max(early), min(delay)), forward=False)
    highest_inside = np.maximum.reduceat(inside, np.cumsum(events.lengths) - events.lengths) if len(events) else inside
    # A step before an event needs a detection inside it to count.
    entries = np.concatenate(
        [inside, scores[delayed.steps], np.minimum(scores[ahead.steps], highest_inside[ahead.events])]
    )
    order, ordered = sort_descending(entries) if entries.size else (np.empty(0, dtype=np.intp), entries)
    if thresholds is None:
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        rank = np.repeat(np.arange(last.size), np.diff(last, prepend=-1))
        last = last[ordered[last] > -np.inf]
        thresholds = ordered[last]
        detected, higher = count_at_thresholds(scores, thresholds) if last.size else np.zeros((2, 0), dtype=np.intp)
        detected_before = np.append(higher, detected[-1:])
    else:
        # As many thresholds lie above a value as are passed before it is reached.
        rank = above(thresholds[::-1], ordered)
        reached = np.bincount(above(thresholds[::-1], scores), minlength=thresholds.size + 1)
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
        RankedEventSteps(inside_rank, inside_order[: changes.size], changes),
    )


def mean_area(steps: ThresholdSteps, early: Lengths, delay: Lengths, rule: AreaRule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``."""
    early_counts, delay_counts = Counter(early), Counter(delay)
    if not steps.missed.size:
        return 0.0  # No step that could count is ever detected.
    joint_share = steps.is_joint(early, delay).sum() / steps.missed.size
    if len(early_counts) * len(delay_counts) > _MAX_PAIRS_ONE_BY_ONE * (1 + _COST_OF_JOINT_ZONES * joint_share):
        from pateval.pate._grid import grid_area  # Loading it takes time that a first number can do without.

        # Blocks of early buffers bound the memory: a grid holds some twenty tables of all its pairs.
        together = max(1, _MAX_PAIRS_OF_GRID // len(delay_counts))
        ordered = tuple(sorted(early))
        blocks = [ordered[first : first + together] for first in range(0, len(ordered), together)]
        return sum(len(block) / len(early) * grid_area(steps, block, delay, rule) for block in blocks)
    weights = np.outer(list(early_counts.values()), list(delay_counts.values())) / (len(early) * len(delay))
    pairs = steps.true_positives(tuple(early_counts), tuple(delay_counts))
    return float(sum(weights[row, column] * steps.area(true_positive, rule) for row, column, true_positive in pairs))


def _ranked(rank: IntArray, index: IntArray, zone: ZoneSteps) -> RankedZoneSteps:
    return RankedZoneSteps(rank, zone.events[index], zone.distances[index])
