"""The best threshold of metrics whose value at every distinct score costs no more than a few sorts.

Each sweep takes checked labels and scores and the options of its metric. `best_threshold` is the public search,
which uses a sweep where the catalogue names one.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pateval.kernels.threshold_counts import at_least, distinct_descending
from pateval.labels.events import Events, find_events
from pateval.output.results import Result
from pateval.pate.curve import curve_on
from pateval.pate.score import f1_on
from pateval.time.timelines import Timeline
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, UndefinedMetricError

Lengths = Any  # one buffer in steps or time, or several
_TIE = 1e-12  # sums over several buffers differ in the last digits where they mean the same value


class _BestThresholdFields(NamedTuple):
    threshold: float
    value: float


class BestThreshold(_BestThresholdFields, Result):
    """A threshold and the value of the metric there."""

    __slots__ = ()


def sweep_point(labels: BoolArray, scores: FloatArray) -> BestThreshold:
    """Find the best point F1."""
    return _best_point(scores[labels], scores[~labels])


def sweep_point_adjusted(labels: BoolArray, scores: FloatArray) -> BestThreshold:
    """Find the best point-adjusted F1: an event is flagged as a whole as soon as its highest score is."""
    return sweep_delay_adjusted(labels, scores, delay=labels.size)


def sweep_delay_adjusted(labels: BoolArray, scores: FloatArray, *, delay: int) -> BestThreshold:
    """Find the best delay-adjusted F1: as with point adjustment, by the highest of the first ``delay + 1`` scores."""
    events = find_events(labels)
    soon = np.minimum(events.starts + delay + 1, events.stops)
    inside = np.repeat(_highest(scores, events.starts, soon), events.lengths)
    return _best_point(inside, scores[~labels])


def sweep_point_adjusted_k(labels: BoolArray, scores: FloatArray, *, k: int) -> BestThreshold:
    """Find the best F1 of point adjustment above k percent: every step is flagged by itself or with its event."""
    events = find_events(labels)
    inside = scores[labels]
    inside = np.maximum(inside, np.repeat(_filled_at(inside, events, k), events.lengths))
    return _best_point(inside, scores[~labels])


def sweep_composite(labels: BoolArray, scores: FloatArray) -> BestThreshold:
    """Find the best composite F1, of TP / flagged steps and detected / all events.

    Only scores of anomalous steps are tried: any other only adds false alarms.
    """
    events = find_events(labels)
    ascending = np.sort(scores[labels])
    levels = distinct_descending(ascending)
    true_positive, flagged = at_least(ascending, levels), at_least(np.sort(scores), levels)
    detected = at_least(np.sort(_highest(scores, events.starts, events.stops)), levels)
    return _best_fraction(levels, 2 * true_positive * detected, true_positive * len(events) + detected * flagged)


def sweep_segment(labels: BoolArray, scores: FloatArray) -> BestThreshold:
    """Find the best segment F1 = 2 TP / (TP + FP + events), TP in events, FP in runs that touch none.

    A run has one step more than it has pairs of neighbours. So the runs that touch no event are the steps outside
    events, less the pairs that are not inside one; and plus one for every gap that is flagged from event to event, as
    its pairs are one more than its steps.
    """
    events = find_events(labels)
    levels = distinct_descending(np.sort(scores))
    pairs = np.minimum(scores[1:], scores[:-1])[~(labels[1:] & labels[:-1])]
    bridges = -_highest(-scores, events.stops[:-1] - 1, events.starts[1:] + 1)
    false_positive = (
        at_least(np.sort(scores[~labels]), levels)
        - at_least(np.sort(pairs), levels)
        + at_least(np.sort(bridges), levels)
    )
    detected = at_least(np.sort(_highest(scores, events.starts, events.stops)), levels)
    return _best_fraction(levels, 2 * detected, detected + false_positive + len(events))


def sweep_pate_f1(
    labels: BoolArray, scores: FloatArray, *, early: Lengths, delay: Lengths, timeline: Timeline
) -> BestThreshold:
    """Find the best PATE-F1: the curve of each pair of buffers holds the counts at every threshold."""
    early_lengths = list(early) if isinstance(early, (tuple, list)) else [early]
    delay_lengths = list(delay) if isinstance(delay, (tuple, list)) else [delay]
    total: FloatArray = np.zeros(1)
    for before, after in product(early_lengths, delay_lengths):
        curve = curve_on(labels, scores, timeline, early=before, delay=after)
        both = 2 * curve.true_positive + curve.false_positive + curve.false_negative
        total = total + 2 * curve.true_positive / both
    means = total / (len(early_lengths) * len(delay_lengths))
    level = float(curve.thresholds[int(np.argmax(means >= means.max() - _TIE))])
    return BestThreshold(level, f1_on(labels, scores >= np.float64(level), timeline, early=early, delay=delay))


def _best_fraction(levels: FloatArray, parts: IntArray, wholes: IntArray) -> BestThreshold:
    """Return the highest of the levels, which fall, with the largest quotient; equal ones give equal floats."""
    if levels[-1] == -np.inf:  # a missing score is no threshold
        levels, parts, wholes = levels[:-1], parts[:-1], wholes[:-1]
        if not levels.size:
            raise UndefinedMetricError("the best threshold is undefined: no anomalous step has a score")
    values = parts / wholes
    place = int(np.argmax(values))
    return BestThreshold(float(levels[place]), float(values[place]))


def _best_point(inside: FloatArray, outside: FloatArray) -> BestThreshold:
    """F1 = 2 TP / (flagged + anomalous), at the scores of anomalous steps: any other only adds false alarms."""
    ascending = np.sort(inside)
    levels = distinct_descending(ascending)
    true_positive = at_least(ascending, levels)
    return _best_fraction(levels, 2 * true_positive, true_positive + at_least(np.sort(outside), levels) + inside.size)


def _highest(scores: FloatArray, starts: IntArray, stops: IntArray) -> FloatArray:
    if not starts.size:
        return scores[:0]
    edges = np.stack([starts, stops], axis=1).ravel()
    # One more value, because a run may stop at the end and reduceat asks for a valid index.
    return np.maximum.reduceat(np.append(scores, scores[-1]), edges)[::2]


def _filled_at(inside: FloatArray, events: Events, k: int) -> FloatArray:
    """Return the score at which more than k percent of each event are flagged; -inf where that cannot be."""
    owner = np.repeat(np.arange(len(events)), events.lengths)
    descending = inside[np.lexsort((-inside, owner))]
    needed = k * events.lengths // 100 + 1
    first = np.cumsum(events.lengths) - events.lengths
    return np.where(needed <= events.lengths, descending[first + np.minimum(needed, events.lengths) - 1], -np.inf)
