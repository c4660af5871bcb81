"""Soft labels around events, as Range-AUC and VUS use them: what flagged steps are worth, for many widths at once.

At width ``w`` an event reaches ``h = w // 2`` steps to both sides, and a step in reach at distance ``d`` is worth
``sqrt(1 - d / w)``. As ``d <= h <= w / 2``, that is at least 0.707, so two events in reach always add up to more than
1, where the sum is clipped. A step is therefore worth nothing until its nearest event reaches it, then the slope of
that event alone, and 1 as soon as a second event reaches it: two distances per step say everything about all widths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pateval.kernels.precision_recall import steps, trapezoids
from pateval.kernels.threshold_counts import at_least, distinct_descending
from pateval.labels.events import Events, find_events, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

_LONGEST_KEPT = 1_000  # windows up to this are taken as they are on series of any length, as the references do
_MOST_SAMPLED = 1_000_000  # thresholds taken one by one
_FULL = 0  # the code of a step that is worth 1; distances start at 1
# The C library of Linux gives freed memory back to the system, which clears it before it is used again: half of the
# time of arrays of this size. It keeps what is smaller than the largest piece that was ever given back.
np.empty(1 << 21)  # 16 MB

_BLOCK = 1 << 15  # cells (width x threshold) that are worked on together: large enough to be fast, small enough to fit


@dataclass(frozen=True)
class Variant:
    """One published reading of the definition."""

    linear: bool = False  # the slope falls linearly from 1 to 1/sqrt(2) instead of as ``sqrt(1 - d / w)``
    # The slopes of neighbouring events add up (clipped at 1), and zones that overlap count as one; otherwise the
    # higher slope holds, every event keeps its own zone, and a zone looks one step further to the right.
    neighbours_add: bool = True
    after_shorter: int = 0  # steps by which the reach after an event is shorter than the reach before it
    # The number of positives counts the flagged part of the slopes only, instead of all of them.
    positives_follow: bool = False
    # The area under the precision-recall curve is made of steps, instead of trapezoids from (0, 1).
    precision_steps: bool = False

    def slope(self, length: int, width: int) -> FloatArray:
        """Return what steps at the distances 1 to ``length`` are worth."""
        distances = np.arange(1.0, length + 1)
        if not self.linear:
            return np.sqrt(1 - distances / max(width, 1))
        lowest, half = math.sqrt(0.5), width // 2
        return lowest + (1 - lowest) * (half - distances) / max(half, 1)


VARIANTS = {
    "tsb-ad": Variant(positives_follow=True, precision_steps=True),
    "original": Variant(after_shorter=1),
    "timeeval": Variant(linear=True, neighbours_add=False),
}


class SoftCounts(NamedTuple):
    """What a block of widths (rows) gives at the thresholds (columns)."""

    slope: FloatArray  # worth of the flagged steps outside events
    whole_slope: FloatArray  # worth of all steps outside events (one column)
    found: IntArray  # how many zones have a flagged step
    zones: IntArray  # how many zones there are (one column)


class _Nearby(NamedTuple):
    """Steps outside events that some event reaches, nearest first."""

    steps: IntArray
    reached: IntArray  # the half width at which the first event reaches the step
    code: IntArray  # distance to that event; plus the largest half width if the step lies after it
    crowded: IntArray  # entries that a second event reaches too, in the order in which it does
    crowded_at: IntArray  # and the half width at which it does


def cut_window(window: int, steps: int) -> int:
    """A window beyond the series is the series, unless it is short."""
    return min(window, max(steps, _LONGEST_KEPT))


def soft_counts(
    labels: BoolArray, scores: FloatArray, thresholds: FloatArray, widths: range, variant: Variant
) -> Iterator[SoftCounts]:
    """Yield the soft counts of the ``widths`` (ascending), block by block; the thresholds are distinct, descending."""
    for changes in soft_changes(labels, scores, thresholds, widths, variant):
        slope, found = np.cumsum(changes[0], axis=1, dtype=np.float64), np.cumsum(changes[1], axis=1)
        # No threshold reaches the last column, which is that of all steps and zones.
        yield SoftCounts(slope[:, :-1], slope[:, -1:], found[:, :-1], found[:, -1:])


def soft_changes(
    labels: BoolArray, scores: FloatArray, thresholds: FloatArray, widths: range, variant: Variant
) -> Iterator[tuple[Sequence[FloatArray | IntArray], Sequence[IntArray]]]:
    """Yield, block by block, what each threshold adds to the worth of the flagged steps and to the zones found.

    Each has a row for every width, with one column more than there are thresholds, for steps that none of them flags.
    """
    events, number = find_events(labels), thresholds.size
    largest = min(widths[-1] // 2, labels.size)  # nothing lies further away
    nearby = _nearby(events, labels.size, largest, variant)
    # The level of a step is the number of thresholds that do not flag it.
    relevant = np.concatenate([np.flatnonzero(labels), nearby.steps])
    level = np.full(labels.size + 1, number)
    level[relevant] = number - np.searchsorted(thresholds[::-1], scores[relevant], side="right")
    nearby_level, code = level[nearby.steps], nearby.code.copy()

    halves = np.arange(widths[-1] // 2 + 1)
    reached_by = np.searchsorted(nearby.reached, halves, side="right").tolist()
    crowded_by = np.searchsorted(nearby.crowded_at, np.append(halves, halves[-1] + 1)).tolist()
    rows: list[tuple[IntArray | FloatArray, IntArray]] = []
    for half, zone_levels in enumerate(_zone_levels(level, events, widths[-1] // 2, variant)):
        zones_at = np.bincount(zone_levels, minlength=number + 1)
        reached = slice(reached_by[half])
        code[nearby.crowded[crowded_by[half] : crowded_by[half + 1]]] = _FULL
        for width in (2 * half, 2 * half + 1):
            if width in widths:
                worth = _worth_by_code(largest, width, variant).take(code[reached])
                rows.append((np.bincount(nearby_level[reached], worth, minlength=number + 1), zones_at))
        if len(rows) * number >= _BLOCK:
            yield tuple(zip(*rows, strict=True))  # type: ignore[misc]  # which are pairs
            rows = []
    if rows:
        yield tuple(zip(*rows, strict=True))  # type: ignore[misc]


@lru_cache(maxsize=1024)
def _worth_by_code(largest: int, width: int, variant: Variant) -> FloatArray:
    """What a step is worth at a width, by its code as `_Nearby` has it."""
    half, worth = width // 2, np.zeros(2 * largest + 1)
    worth[_FULL] = 1.0
    before = min(half, largest)
    worth[1 : before + 1] = variant.slope(before, width)
    after = min(max(half - variant.after_shorter, 0), largest)
    worth[largest + 1 : largest + after + 1] = worth[1 : after + 1]
    return worth


def _nearby(events: Events, size: int, largest: int, variant: Variant) -> _Nearby:
    """Find the steps within reach at the largest half width and what reaches them when."""
    far = size + largest + 2
    # Each gap lies between an event (or the far left) and the next (or the far right).
    lasts = np.concatenate([[-far, -far], events.stops - 1])
    firsts = np.concatenate([events.starts, [size + far, size + far]])
    gap_starts = np.concatenate([[0], events.stops])
    gaps = np.concatenate([events.starts, [size]]) - gap_starts
    after = np.where(np.arange(gaps.size) > 0, np.minimum(gaps, largest), 0)
    before = np.where(np.arange(gaps.size) < len(events), np.minimum(gaps - after, largest), 0)
    starts = np.stack([gap_starts, gap_starts + gaps - before], axis=1).ravel()
    lengths = np.stack([after, before], axis=1).ravel()
    steps = within(starts, lengths)
    gap = np.repeat(np.arange(lengths.size) // 2, lengths)

    # When is the step reached by the nearest event on its left, and by the nearest on its right?
    shorter = variant.after_shorter
    left, right = steps - lasts[gap + 1] + shorter, firsts[gap] - steps
    reached = np.minimum(left, right)
    code = np.where(left < right, left - shorter + largest, right)
    # NumPy's stable sort of one- and two-byte integers takes linear time.
    small = np.min_scalar_type(largest + 1)
    order = np.argsort(reached.astype(small), kind="stable")
    order = order[: np.searchsorted(reached[order], largest, side="right")]
    steps, gap, reached, code, left, right = (values[order] for values in (steps, gap, reached, code, left, right))
    if not variant.neighbours_add:
        return _Nearby(steps, reached, code, order[:0], order[:0])
    # The second to arrive is the other neighbour, or the next event but one on either side.
    second = np.minimum(np.maximum(left, right), np.minimum(steps - lasts[gap] + shorter, firsts[gap + 1] - steps))
    crowded = np.flatnonzero(second <= largest)
    crowded = crowded[np.argsort(second[crowded].astype(small), kind="stable")]
    return _Nearby(steps, reached, code, crowded, second[crowded])


def _zone_levels(level: IntArray, events: Events, largest: int, variant: Variant) -> Iterator[IntArray]:
    """Yield, for the half widths 0 to ``largest``, the level at which each zone gets its first flagged step."""
    size = level.size - 1
    gaps = events.starts[1:] - events.stops[:-1]
    nearest = int(gaps.min(initial=2 * size + 2 * largest))
    lowest = np.minimum.reduceat(level, np.stack([events.starts, events.stops], axis=1).ravel())[::2]
    for half in range(largest + 1):
        # A zone that runs into an end of the series stops there; the step at the end is already in it.
        after = max(half - variant.after_shorter, 0)
        lowest = np.minimum(lowest, level[np.maximum(events.starts - half, 0)])
        lowest = np.minimum(lowest, level[np.minimum(events.stops - 1 + after, size - 1)])
        if 2 * half < nearest:  # no zone meets another
            yield lowest
        elif variant.neighbours_add:
            zone_starts = np.flatnonzero(gaps >= 2 * half) + 1
            yield np.minimum.reduceat(lowest, np.concatenate([[0], zone_starts]))
        else:
            # One step further right counts too, but only where the next event reaches it.
            close = np.flatnonzero(gaps <= 2 * half)
            zones = lowest.copy()
            zones[close] = np.minimum(zones[close], level[np.minimum(events.stops[close] + half, size - 1)])
            yield zones


class ThresholdSums(NamedTuple):
    """Numbers of flagged steps, and of anomalous ones among them, at the thresholds; of anomalous and of all steps."""

    flagged: FloatArray | IntArray
    hit: FloatArray | IntArray
    anomalous: float | IntArray  # of one series, or a column for several
    steps: float

    @classmethod
    def of(cls, labels: BoolArray, scores: FloatArray, ascending: FloatArray, levels: FloatArray) -> ThresholdSums:
        """Count what the thresholds flag, of scores that are also given in order."""
        hit = at_least(np.sort(scores[labels]), levels)
        return cls(at_least(ascending, levels), hit, int(np.count_nonzero(labels)), labels.size)


def areas_of(
    sums: ThresholdSums, counts: SoftCounts, rules: Variant, reachable: int, *, only: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Areas under both curves at a block of widths, the one that is not wanted NaN; so many thresholds are scores.

    Counts may have an axis of series between those of widths and of thresholds.
    """
    true_positive, positives, recall = soft_recall(sums, counts, rules)
    roc, pr = np.full((2, *recall.shape[:-1]), np.nan)
    if only != "pr" and sums.anomalous < sums.steps:
        rate = (sums.flagged - true_positive) / (sums.steps - positives)
        roc = trapezoids(_framed(rate, 0, 1), _framed(recall, 0, 1))
    if only != "roc":
        recall, precision = recall[..., :reachable], (true_positive / sums.flagged)[..., :reachable]
        pr = (
            steps(recall, precision) if rules.precision_steps else trapezoids(_framed(recall, 0), _framed(precision, 1))
        )
    return np.minimum(roc, 1.0), np.minimum(pr, 1.0)  # rounding may pass 1


def soft_recall(sums: ThresholdSums, counts: SoftCounts, rules: Variant) -> tuple[FloatArray, FloatArray, FloatArray]:
    """True positives, all positives and recall at a block of widths.

    The number of positives takes half of the hard and half of the soft mass, all of it or its flagged part.
    """
    true_positive = sums.hit + counts.slope
    positives = sums.anomalous + (counts.slope if rules.positives_follow else counts.whole_slope) / 2
    recall = true_positive / positives
    np.minimum(recall, 1, out=recall)
    recall *= counts.found / counts.zones  # the share of the zones with a flagged step
    return true_positive, positives, recall


def _framed(curves: FloatArray, first: float, *last: float) -> FloatArray:
    """Put a first point, and perhaps a last one, to every curve."""
    ends = [np.full((len(curves), 1), end, dtype=np.float64) for end in (first, *last)]
    return np.concatenate([ends[0], curves, *ends[1:]], axis=1)


def sampled_levels(ascending: FloatArray, number: int) -> FloatArray:
    """Thresholds at evenly spaced ranks; with fewer steps than thresholds, ranks repeat, which changes no area."""
    return distinct_descending(ascending[::-1][sampled_ranks(ascending.size, number)][::-1])


def sampled_ranks(steps: int, number: int) -> IntArray:
    """Evenly spaced places among so many steps, of which some repeat where there are fewer steps than places."""
    if number > max(_MOST_SAMPLED, 2 * steps):
        return np.arange(steps)  # More thresholds than that reach every rank.
    return np.linspace(0, steps - 1, number).astype(np.intp)
