"""Why predictions get the weighted precision and recall they get: step by step and event by event."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray, require_anomaly
from pateval.clocks import Duration, single
from pateval.events import Events, within
from pateval.explanations import (
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
from pateval.pate._missed import miss_weight
from pateval.pate._zones import ZoneLimits, zone_weight
from pateval.prf import PRF
from pateval.timelines import read_predictions, read_zone_buffers


def explain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    early: int | Duration,
    delay: int | Duration,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
) -> Explanation:
    """Show what every step and every event adds to the proximity-weighted precision and recall.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    predictions : array-like of 0/1
        What was predicted for each time step; for scores, ``scores >= threshold``.
    early, delay : int or duration
        One buffer length before and after an event, in steps or on ``times``.
    series : array-like, optional
        Which series each step belongs to.
    times, time_unit, max_gap, ignore
        As in `pate`; ignored steps have no row.

    Returns
    -------
    Explanation
        Per step its category and weights, per event a row, and the sums; print it to read it.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.
    ValueError, TypeError
        If an input is not of the form described.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    >>> found = [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0]
    >>> pv.explain(labels, found, early=2, delay=3)
    precision 0.5460   recall 0.7319   F1 0.6255   (early 2, delay 3)
    <BLANKLINE>
    ··◂▒██▒▸··×·
    █ true detection   ◂ early   ▸ delayed   × outside   ▒ partly missed
    <BLANKLINE>
    event    found  cover  onset  lead    TP    FP    FN
    ----------------------------------------------------
    [3, 7)     yes    50%      1     1  2.73  1.27  1.00
    outside                                   1.00
    all                                 2.73  2.27  1.00
    """
    truth, predicted, timeline = read_predictions(
        labels, predictions, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore
    )
    early, delay = single(early, "early"), single(delay, "delay")
    (early_length,), (delay_length,), clock = read_zone_buffers(timeline, early, delay)
    events = timeline.events(truth)
    require_anomaly(truth)
    step_numbers = timeline.original(np.arange(truth.size))
    points = _weigh(events, ZoneLimits(events, clock), truth, predicted, early_length, delay_length, step_numbers)
    tp, fp, fn = (float(np.sum(w)) for w in (points.true_positive, points.false_positive, points.false_negative))
    rows = _describe(events, predicted, points)
    return Explanation(points, rows, *PRF.from_counts(tp, fp, fn), tp, fp, fn, early, delay)


def _weigh(
    events: Events,
    limits: ZoneLimits,
    labels: BoolArray,
    predictions: BoolArray,
    early: float,
    delay: float,
    step_numbers: IntArray,
) -> StepWeights:
    codes = np.zeros(labels.size, dtype=np.int8)
    owner = np.full(labels.size, -1, dtype=np.intp)
    found, wrong, missed = (np.zeros(labels.size) for _ in range(3))
    lengths = events.lengths
    inside = within(events.starts, lengths)
    event_of = np.repeat(np.arange(len(events)), lengths)
    hit = predictions[inside]
    detected, _, run = _first_runs(events, hit)

    owner[inside] = event_of
    found[inside] = hit
    missed[inside] = np.where(hit, 0.0, miss_weight(inside - events.starts[event_of], lengths[event_of], run[event_of]))
    missed[inside[~detected[event_of]]] = 1.0
    codes[inside] = np.where(hit, TRUE, np.where(detected[event_of], PARTLY, TOTALLY))

    codes[predictions & ~labels] = OUTSIDE
    wrong[predictions & ~labels] = 1.0
    after, ahead = limits.delayed_reach(delay), limits.early_reach(early, delay)
    zones = ((after, limits.delayed_steps(after), DELAYED), (ahead, limits.early_steps(ahead), EARLY))
    for reach, zone, code in zones:
        owner[zone.steps] = zone.events
        codes[zone.steps[predictions[zone.steps]]] = code
        counts = predictions[zone.steps] & ((code == DELAYED) | detected[zone.events])
        weights = zone_weight(reach[zone.events], zone.distances, limits.half_length[zone.events])
        found[zone.steps] = np.where(counts, weights, 0.0)
        wrong[zone.steps] -= found[zone.steps]
    return StepWeights(step_numbers, codes, owner, found, wrong, missed)


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
    numbers = points.step
    starts, lasts = numbers[events.starts], numbers[events.stops - 1]
    onsets = numbers[np.minimum(events.starts + first, events.stops - 1)] - starts
    lead = np.zeros(len(events), dtype=np.intp)
    ahead = np.flatnonzero(points.codes == EARLY)
    np.maximum.at(lead, points.event[ahead], starts[points.event[ahead]] - numbers[ahead])
    return tuple(
        EventWeights(
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
