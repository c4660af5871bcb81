"""Why predictions get the weighted precision and recall they get: step by step and event by event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
from pateval.output.prf import PRF
from pateval.pate._missed import miss_weight
from pateval.pate._zones import ZoneLimits, ZoneSteps, zone_weight
from pateval.time.clocks import is_duration, single
from pateval.time.timelines import Timeline, read_zone_buffers
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly, require_few, series_starts
from pateval.validation.containers import to_numpy


def explain_on(
    truth: BoolArray, predicted: BoolArray, timeline: Timeline, *, early: Any, delay: Any, series: object = None
) -> Explanation:
    """Show what every step and every event adds to the weighted precision and recall of predictions.

    Parameters
    ----------
    truth, predicted : ndarray of bool
        Checked, at the steps of the timeline.
    timeline : Timeline
        The steps that count.
    early, delay
        What `buffers_as_given` makes of buffers.
    series : array-like, optional
        Which series each recorded step belongs to.

    Examples
    --------
    >>> from pateval.time.timelines import read_predictions
    >>> steps = read_predictions([0, 0, 1, 1, 0], [0, 1, 1, 0, 0])
    >>> explain_on(*steps, early=[0, 2], delay=0).points.true_positive.round(3).tolist()
    [0.0, 0.2, 1.0, 0.0, 0.0]
    """
    early_lengths, delay_lengths, clock = read_zone_buffers(timeline, early, delay)
    events = timeline.events(truth)
    require_anomaly(truth)
    steps, names = _places_in_series(timeline, series)
    weights = _Weights(events, ZoneLimits(events, clock), truth, predicted)
    for each_delay in delay_lengths:
        for each_early in early_lengths:
            weights.add(each_early, each_delay)
    points = weights.points(max(early_lengths), max(delay_lengths), steps, names)
    tp, fp, fn = (float(np.sum(w)) for w in (points.true_positive, points.false_positive, points.false_negative))
    rows = _describe(events, predicted, points)
    precision, recall, f1 = (float(np.mean(column)) for column in zip(*weights.figures, strict=True))
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


class _Weights:
    """Weights of all steps, summed over pairs of buffers.

    What happens inside events does not depend on the buffers; of what lies outside, only the steps in zones are looked
    at for each pair.
    """

    def __init__(self, events: Events, limits: ZoneLimits, labels: BoolArray, predictions: BoolArray) -> None:
        self.events, self.limits, self.labels, self.predictions = events, limits, labels, predictions
        self.inside = within(events.starts, events.lengths)
        self.event_of = np.repeat(np.arange(len(events)), events.lengths)
        self.hit = predictions[self.inside]
        self.detected, _, self.run = _first_runs(events, self.hit)
        self.missed = np.zeros(labels.size)
        offsets = self.inside - events.starts[self.event_of]
        self.missed[self.inside] = np.where(
            self.hit, 0.0, miss_weight(offsets, events.lengths[self.event_of], self.run[self.event_of])
        )
        self.missed[self.inside[~self.detected[self.event_of]]] = 1.0
        self.missed_sum = float(self.missed.sum())
        self.predicted_sum = int(np.count_nonzero(predictions))
        self.hits = int(np.count_nonzero(self.hit))
        self.worth = np.zeros(labels.size)  # of a detection in a zone, summed over the pairs
        self.figures: list[PRF] = []

    def add(self, early: float, delay: float) -> None:
        """Count one pair of buffers."""
        true_positive = float(self.hits)
        for reach, zone, code in self._zones(early, delay):
            weights = zone_weight(reach[zone.events], zone.distances, self.limits.half_length[zone.events])
            worth = np.where((code == DELAYED) | self.detected[zone.events], weights, 0.0)
            self.worth[zone.steps] += worth
            true_positive += float(worth[self.predictions[zone.steps]].sum())
        self.figures.append(PRF.from_counts(true_positive, self.predicted_sum - true_positive, self.missed_sum))

    def points(self, early: float, delay: float, steps: IntArray, series: npt.NDArray[Any] | None) -> StepWeights:
        """Mean weights over the pairs; categories and events are those of the widest zones."""
        codes = np.zeros(self.labels.size, dtype=np.int8)
        owner = np.full(self.labels.size, -1, dtype=np.intp)
        outside = self.predictions & ~self.labels
        codes[outside] = OUTSIDE
        for _, zone, code in self._zones(early, delay):
            owner[zone.steps] = zone.events
            codes[zone.steps[self.predictions[zone.steps]]] = code
        owner[self.inside] = self.event_of
        codes[self.inside] = np.where(self.hit, TRUE, np.where(self.detected[self.event_of], PARTLY, TOTALLY))
        worth = self.worth / len(self.figures)
        worth[self.inside] = 1.0
        true_positive = np.where(self.predictions, worth, 0.0)
        wrong = np.where(outside, 1.0 - worth, 0.0)
        return StepWeights(steps, codes, owner, true_positive, wrong, self.missed, worth, series)

    def _zones(self, early: float, delay: float) -> tuple[tuple[Any, ZoneSteps, int], ...]:
        after, ahead = self.limits.delayed_reach(delay), self.limits.early_reach(early, delay)
        return (
            (after, self.limits.delayed_steps(after), DELAYED),
            (ahead, self.limits.early_steps(ahead), EARLY),
        )


def _first_runs(events: Events, hit: BoolArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Per event: whether it is detected, at which offset first, and how long the run detected there is."""
    lengths = events.lengths
    begins = np.cumsum(lengths) - lengths
    offset = within(np.zeros_like(lengths), lengths)
    event_of = np.repeat(np.arange(len(events)), lengths)
    first = np.minimum.reduceat(np.where(hit, offset, lengths[event_of]), begins)
    behind = ~hit & (offset > first[event_of])
    end = np.minimum.reduceat(np.where(behind, offset, lengths[event_of]), begins)
    return first < lengths, first, end - first


def _describe(events: Events, predictions: BoolArray, points: StepWeights) -> tuple[EventWeights, ...]:
    hit = predictions[within(events.starts, events.lengths)]
    detected, first, _ = _first_runs(events, hit)
    begins = np.cumsum(events.lengths) - events.lengths
    covered = np.add.reduceat(hit.astype(np.float64), begins) / events.lengths
    owned = points.event >= 0
    sums = [
        np.bincount(points.event[owned], weight[owned], minlength=len(events))
        for weight in (points.true_positive, points.false_positive, points.false_negative)
    ]
    numbers, series = points.step, points.series
    starts, lasts = numbers[events.starts], numbers[events.stops - 1]
    names = [None] * len(events) if series is None else series[events.starts].tolist()
    onsets = numbers[np.minimum(events.starts + first, events.stops - 1)] - starts
    lead = np.zeros(len(events), dtype=np.intp)
    ahead = np.flatnonzero(points.codes == EARLY)
    np.maximum.at(lead, points.event[ahead], starts[points.event[ahead]] - numbers[ahead])
    return tuple(
        EventWeights(
            names[k],
            int(starts[k]),
            int(lasts[k]) + 1,
            bool(detected[k]),
            float(covered[k]),
            int(onsets[k]) if detected[k] else None,
            int(lead[k]) if lead[k] else None,
            *(float(total[k]) for total in sums),
        )
        for k in range(len(events))
    )
