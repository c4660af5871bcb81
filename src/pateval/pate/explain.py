"""Why predictions get the weighted precision and recall they get: step by step and event by event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events, within
from pateval.output.explanation import (
    DELAYED,
    EARLY,
    OUTSIDE,
    PARTLY,
    TOTALLY,
    TRUE,
    EventWeights,
    Explanation,
    StepWeights,
)
from pateval.output.results import PRF
from pateval.pate._weights import ZoneLimits, ZoneSteps, miss_weight, zone_weight
from pateval.time.clocks import is_duration, single
from pateval.time.timelines import Timeline, read_zone_buffers
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly, require_few, series_starts
from pateval.validation.containers import to_numpy

Array = npt.NDArray[np.float64]


def explain_on(
    truth: BoolArray, predicted: BoolArray, timeline: Timeline, *, early: Any, delay: Any, series: object = None
) -> Explanation:
    """Show what every step and every event adds to the weighted precision and recall of checked predictions.

    The buffers are what `buffers_as_given` makes of them; ``series`` is that of each recorded step.
    """
    early_lengths, delay_lengths, clock = read_zone_buffers(timeline, early, delay)
    require_anomaly(truth)
    events = timeline.events(truth)
    limits, runs = ZoneLimits(events, clock), _FirstRuns.of(events, predicted)
    # What happens inside events does not depend on the buffers.
    inside, owner = runs.steps, runs.owner
    is_found = runs.is_found[owner]
    hit, weights = predicted[inside], miss_weight(runs.offset, events.lengths[owner], runs.length[owner])
    missed = np.zeros(truth.size)
    missed[inside] = np.where(hit, 0.0, np.where(is_found, weights, 1.0))

    worth = np.zeros(truth.size)  # of a detection at each step, summed over the pairs of buffers
    figures = []
    for one_delay, one_early in product(delay_lengths, early_lengths):
        true_positive = float(np.count_nonzero(hit))
        for category, zone, weights in _zones(limits, one_early, one_delay):
            gains = weights if category == DELAYED else np.where(runs.is_found[zone.events], weights, 0.0)
            worth[zone.steps] += gains
            true_positive += float(gains[predicted[zone.steps]].sum())
        false_positive = np.count_nonzero(predicted) - true_positive
        figures.append(PRF.from_counts(true_positive, false_positive, float(missed.sum())))
    worth /= len(figures)
    worth[inside] = 1.0

    # Categories and events are those of the widest zones.
    outside = predicted & ~truth
    codes, event = np.where(outside, OUTSIDE, 0).astype(np.int8), np.full(truth.size, -1, dtype=np.intp)
    for category, zone, _ in _zones(limits, max(early_lengths), max(delay_lengths)):
        event[zone.steps] = zone.events
        codes[zone.steps[predicted[zone.steps]]] = category
    event[inside] = owner
    codes[inside] = np.where(hit, TRUE, np.where(is_found, PARTLY, TOTALLY))
    hits, false_alarms = np.where(predicted, worth, 0.0), np.where(outside, 1.0 - worth, 0.0)
    steps, names = _places_in_series(timeline, series)
    points = StepWeights(steps, codes, event, hits, false_alarms, missed, worth, names)
    precision, recall, f1 = (float(np.mean(column)) for column in zip(*figures, strict=True))
    tp, fp, fn = (float(np.sum(weights)) for weights in (hits, false_alarms, missed))
    rows = _describe(events, runs, points)
    return Explanation(points, rows, precision, recall, f1, tp, fp, fn, early, delay, timeline)


def buffers_as_given(buffers: Any, name: str) -> Any:
    """One buffer as it is, several as a tuple: a generator can be read only once."""
    if is_duration(buffers) or not isinstance(buffers, Iterable):
        return single(buffers, name)
    require_few(buffers, name)
    return tuple(single(buffer, name) for buffer in buffers)


def _places_in_series(timeline: Timeline, series: object) -> tuple[IntArray, npt.NDArray[Any] | None]:
    """Number of each step in its series, and the name of that series where there are names."""
    numbers = timeline.original(np.arange(timeline.size - timeline.ignored))
    if series is None:
        return numbers, None
    starts = series_starts(series, timeline.size)
    which = np.searchsorted(starts, numbers, side="right") - 1
    return numbers - starts[which], to_numpy(series, "series")[starts][which]


def _zones(limits: ZoneLimits, early: float, delay: float) -> Iterator[tuple[int, ZoneSteps, Array]]:
    """The zones after and before the events: their category, their steps, and what a detection at each can weigh."""
    after, before = limits.delayed_reach(delay), limits.early_reach(early, delay)
    for category, reach in ((DELAYED, after), (EARLY, before)):
        zone = limits.zone_steps(reach, forward=category == DELAYED)
        yield category, zone, zone_weight(reach[zone.events], zone.distances, limits.half_length[zone.events])


class _FirstRuns(NamedTuple):
    """The steps inside events, and per event the run that is detected there first."""

    steps: IntArray
    owner: IntArray  # the event of each step, and its place in it
    offset: IntArray
    is_found: BoolArray
    first: IntArray  # offset of the first detection; the length of the event where there is none
    length: IntArray  # of the run
    coverage: Array  # share of the event that is detected

    @classmethod
    def of(cls, events: Events, predicted: BoolArray) -> _FirstRuns:
        lengths = events.lengths
        steps, owner = within(events.starts, lengths), np.repeat(np.arange(len(events)), lengths)
        begins, offset, hit = np.cumsum(lengths) - lengths, steps - events.starts[owner], predicted[steps]
        first = np.minimum.reduceat(np.where(hit, offset, lengths[owner]), begins)
        is_behind = ~hit & (offset > first[owner])
        end = np.minimum.reduceat(np.where(is_behind, offset, lengths[owner]), begins)
        coverage = np.add.reduceat(hit.astype(np.float64), begins) / lengths
        return cls(steps, owner, offset, first < lengths, first, end - first, coverage)


def _describe(events: Events, runs: _FirstRuns, points: StepWeights) -> tuple[EventWeights, ...]:
    owned = points.event >= 0
    sums = [
        np.bincount(points.event[owned], weight[owned], minlength=len(events))
        for weight in (points.true_positive, points.false_positive, points.false_negative)
    ]
    numbers, series = points.step, points.series
    names = [None] * len(events) if series is None else series[events.starts].tolist()
    starts, stops = numbers[events.starts], numbers[events.stops - 1] + 1
    onsets = numbers[np.minimum(events.starts + runs.first, events.stops - 1)] - starts
    leads, ahead = np.zeros(len(events), dtype=np.intp), np.flatnonzero(points.codes == EARLY)
    np.maximum.at(leads, points.event[ahead], starts[points.event[ahead]] - numbers[ahead])
    columns = (starts, stops, runs.is_found, runs.coverage, onsets, leads, *sums)
    return tuple(
        EventWeights(name, start, stop, is_found, coverage, onset if is_found else None, lead or None, *counts)
        for name, start, stop, is_found, coverage, onset, lead, *counts in zip(
            names, *(column.tolist() for column in columns), strict=True
        )
    )
