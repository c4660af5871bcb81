"""Why predictions, or scores at a threshold, get the number they get: by step and event, and by kind of event.

Kinds are short, medium and long events, or those of a class; their rule stands here alone. A kind of event is judged as
if there were no others: steps inside events of other kinds, and within the longest buffers of these, are left out,
unless they are within the buffers of an event of the kind, too. Predictions stay what they are, so that all kinds are
judged at one threshold, and a false alarm that is near no event counts against every kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog.metric import ORACLE
from pateval.evaluation.measures import Measures
from pateval.evaluation.result import BINARY
from pateval.evaluation.run import with_training
from pateval.evaluation.values import Sample, values_of, with_predictions
from pateval.labels.classes import as_text
from pateval.labels.events import Events, count_inside, find_events, marked
from pateval.output.explanation import EventKind, Explanation
from pateval.output.results import TableResult
from pateval.output.text_table import plain
from pateval.pate.explain import buffers_as_given, explain_on
from pateval.time.clocks import Duration, is_duration, nanoseconds
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import BoolArray, Buffers, IntArray, require_anomaly
from pateval.validation.containers import to_numpy
from pateval.validation.wording import counted, in_words

LENGTH, CLASS = "length", "class"
LENGTHS = ("short", "medium", "long")


def explain(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    threshold: float | str = ORACLE,
    train_scores: npt.ArrayLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    by: str | npt.ArrayLike | None = None,
) -> Explanation:
    """Show what every step and every event adds to the proximity-weighted precision and recall.

    With the same arguments its F1 is the ``pate_f1`` that `evaluate` and ``pateval score`` report of one series.
    Several series are taken together: one threshold for all steps, and what steps and events add is summed, as
    ``pooled=True`` and ``--pooled`` have it.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    predictions : array-like of 0/1, optional
        What was predicted for each time step.
    scores : array-like of float, optional
        Instead of predictions: higher is more anomalous.
    threshold : float or str
        How scores become predictions: a number, or a rule such as "oracle" or "quantile:0.02"; see `evaluate`.
    train_scores : array-like of float, optional
        Scores of the training steps, for the rules whose names begin with "train-".
    early, delay : int or duration, or iterable of these
        Buffer lengths before and after an event, in steps or on ``times``. Of several, all weights and figures are the
        mean over all pairs; the category of a step is that of the longest.
    series : array-like, optional
        Which series each step belongs to; events are named by it and counted from its first step.
    times, time_unit, max_gap, ignore
        As in `pate`; ignored steps have no row.
    missing : {"error", "ignore", "normal"}
        What becomes of scores that are missing, as in `pate`.
    by : "length" or array-like, optional
        Also judge each kind of event as if there were no others (``kinds``): "length" tells the shortest third from the
        longest; an array has the class of each step, and an event is of the class that most of its steps have. Steps
        inside events of other kinds, and within their buffers, are left out.

    Returns
    -------
    Explanation
        Per step its category and weights, per event a row, and the sums; print it to read it.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.
    ValueError, TypeError
        If an input is not of the form described, or both or none of predictions and scores are given.

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
    >>> scores = [0.1, 0.2, 0.6, 0.3, 0.9, 0.8, 0.2, 0.7, 0.1, 0.3, 0.6, 0.2]
    >>> explained = pv.explain(labels, scores=scores, threshold="quantile:0.25")
    >>> explained.predictions_from
    'score >= 0.625 (quantile:0.25: the highest share of scores)'
    >>> explained.f1 == pv.evaluate(labels, scores, metrics="pate_f1", threshold="quantile:0.25")["pate_f1"]
    True
    """
    if (predictions is None) == (scores is None):
        raise ValueError("explain needs either predictions or scores with a threshold")
    steps: dict[str, Any] = {"series": series, "times": times, "time_unit": time_unit}
    steps |= {"max_gap": max_gap, "ignore": ignore}
    early, delay = buffers_as_given(early, "early"), buffers_as_given(delay, "delay")
    measures = Measures.of_keywords(locals(), metrics="pate_f1", pooled=True)
    missing = missing if predictions is None else "error"
    recording = read_recording(labels, scores, predictions, **steps, missing=missing)
    if scores is None:
        return replace(explain_recording(recording, measures, series=series, by=by), predictions_from="")
    return explain_recording(with_training(recording, train_scores, measures), measures, series=series, by=by)


def explain_recording(
    recording: Recording, measures: Measures, *, series: object = None, names: bool = False, by: object = None
) -> Explanation:
    """Explain the predictions of one detector, as the first metric is judged on.

    Tables show ``series`` of each step as the caller gave it, or with ``names`` the names of the series; ``by`` is as
    in `explain`.
    """
    (recording,) = with_predictions([recording])
    truth = recording.counted(recording.labels)
    require_anomaly(truth)
    flags, made = predicted_steps(recording, measures)
    if series is None and names:
        series = np.repeat(np.array(recording.names, dtype=object), np.diff([*recording.starts, len(recording.labels)]))
    early, delay = (one[0] if len(one) == 1 else one for one in (measures.early, measures.delay))
    series = recording.series_of_steps if series is None else series
    predicted = recording.counted(flags)
    explanation = explain_on(truth, predicted, recording.timeline, early=early, delay=delay, series=series)
    kinds: list[EventKind] = []
    if by is not None:
        events = counted_events(recording)
        kinds = by_kind(recording, measures, events, kinds_of(recording, events, by), flags)
    return replace(explanation, predictions_from=made, kinds=tuple(kinds))


Kinds = dict[str, BoolArray]  # which of some events are of each kind


def kinds_by_length(lengths: IntArray, among: IntArray | None = None) -> Kinds:
    """Tell the shortest third of the events from the longest; those of one length are of one kind.

    The thirds are those of the lengths ``among`` which these are; by default of these alone.

    Examples
    --------
    >>> list(kinds_by_length(np.array([5, 120, 8, 5, 40, 60, 5])))
    ['short (5)', 'medium (8 to 40)', 'long (60 to 120)']
    """
    every = lengths if among is None else among
    limits = np.quantile(every, [1 / 3, 2 / 3], method="inverted_cdf")
    thirds = np.searchsorted(limits, every)
    kinds = {}
    for third in np.unique(thirds).tolist():
        shortest, longest = every[thirds == third].min(), every[thirds == third].max()
        name = f"{LENGTHS[third]} ({shortest if shortest == longest else f'{shortest} to {longest}'})"
        kinds[name] = np.searchsorted(limits, lengths) == third
    return kinds


def kinds_by_class(events: Events, classes: npt.NDArray[Any]) -> Kinds:
    """Name each event by the class that most of its steps have, the first of equally many."""
    names = []
    for start, stop in zip(events.starts.tolist(), events.stops.tolist(), strict=True):
        inside = [as_text(value) for value in classes[start:stop].tolist()]
        names.append(max(dict.fromkeys(inside), key=inside.count))
    named = np.array(names, dtype=object)
    return {name: named == name for name in dict.fromkeys(names)}


def kinds_of(recording: Recording, events: Events, by: object) -> Kinds:
    """The kinds of some events by "length", or by the class of each recorded step."""
    if isinstance(by, str):
        if by != LENGTH:
            raise ValueError(f"by must be {LENGTH!r}, or the class of each step; got {in_words(by)}")
        return kinds_by_length(events.lengths)
    classes = to_numpy(by, "by", allow_missing=True)
    if classes.shape != (len(recording.labels),):
        raise ValueError(f"by must name one class for each step; got {classes.shape} for {len(recording.labels)} steps")
    try:
        return kinds_by_class(events, classes)
    except Exception:  # an object without a text, or a number of many thousand digits
        raise ValueError(f"by must name classes; got {in_words(by)}") from None


def counted_events(recording: Recording) -> Events:
    """The events of which a step counts."""
    events = find_events(recording.labels, recording.starts)
    if recording.is_left_out is None:
        return events
    return _chosen(events, count_inside(~recording.is_left_out, events.starts, events.stops) > 0)


def _chosen(events: Events, which: BoolArray) -> Events:
    return Events(*(column[which] for column in (events.starts, events.stops, events.lows, events.highs)))


def by_kind(
    recording: Recording, measures: Measures, events: Events, kinds: Kinds, flags: BoolArray
) -> list[EventKind]:
    """Judge the predictions of a detector, or its scores, on each kind of event by itself.

    The value is that of the first metric; the flags are those of `predicted_steps`.
    """
    is_found = count_inside(flags, events.starts, events.stops) > 0
    rows = []
    for name, of_kind in kinds.items():
        number, found = int(of_kind.sum()), int(is_found[of_kind].sum())
        value = math.nan
        if number:
            part = only_these(replace(recording, predictions=flags), events, of_kind, measures)
            value = values_of(part, measures)[measures.ids[0]].value
        rows.append(EventKind(name, number, found, found / number if number else math.nan, value))
    return rows


def only_these(recording: Recording, events: Events, chosen: BoolArray, measures: Measures) -> Recording:
    """Leave out the events that are not chosen, with the steps in their buffers that are in no chosen one's."""
    these, others = _chosen(events, chosen), _chosen(events, ~chosen)
    labels = marked(these.starts, these.stops, len(recording.labels))
    ignore = _near(recording, others, measures) & ~_near(recording, these, measures)
    ignore |= recording.labels & ~labels
    ignore = ignore if recording.ignore is None else ignore | recording.ignore
    absent = None if recording.absent is None else recording.absent & ~ignore
    return replace(recording, labels=labels, ignore=ignore, absent=absent)


def _near(recording: Recording, events: Events, measures: Measures) -> BoolArray:
    """Steps inside some events, and within their longest buffers."""
    begins = _reached(recording, events, measures.early, earlier=True)
    ends = _reached(recording, events, measures.delay, earlier=False) + 1
    return marked(np.maximum(begins, events.lows), np.minimum(ends, events.highs), len(recording.labels))


def _reached(recording: Recording, events: Events, lengths: Sequence[Any], *, earlier: bool) -> IntArray:
    """The furthest step that the longest buffer reaches from each event, within the recording or beyond it."""
    steps, sign = (events.starts, -1) if earlier else (events.stops - 1, 1)
    clock = recording.clock
    if clock is None or not any(map(is_duration, lengths)):
        return steps + sign * max(map(int, lengths))
    longest = max(clock.length(nanoseconds(length)) for length in lengths if is_duration(length))
    limits = clock.times[steps] + sign * longest
    found = [
        low + np.searchsorted(clock.times[low:high], limit, side="left" if earlier else "right")
        for limit, low, high in zip(limits, events.lows, events.highs, strict=True)
    ]
    return np.array(found, dtype=np.intp) - (0 if earlier else 1)


def predicted_steps(recording: Recording, measures: Measures) -> tuple[BoolArray, str]:
    """Predictions at every recorded step as the first metric is judged on, and in words how they were made.

    Steps of a series where no threshold can be chosen, for example because it has no anomaly, are not predicted.
    """
    metric, flags, levels = measures.metrics[0], np.zeros(len(recording.labels), dtype=np.bool_), set()
    for steps, part in [(slice(None), recording)] if measures.pooled else recording.series_parts():
        predicted = Sample(part, measures).predicted(metric)
        levels.add(predicted.level)
        if predicted.flags is not None:
            flags[steps] = part.timeline.on_all_steps(predicted.flags)
    if recording.predictions is not None:
        return flags, BINARY
    rule, level = measures.rule(metric), levels.pop() if len(levels) == 1 else None
    at = "a threshold for each series" if level is None else f"{level:.6g}"
    return flags, f"score {rule.sign} {at} ({rule.description})"


@dataclass(frozen=True)
class BoardKind:
    """A detector on the events of one kind: means over the series that have such events."""

    detector: str
    kind: str
    series: int
    events: int
    recall: float
    value: float


@dataclass(frozen=True, repr=False)
class BoardKinds(TableResult):
    """The detectors of a leaderboard on each kind of event, judged as if there were no others.

    Attributes
    ----------
    metric : str
        What ``value`` is of: the metric that ranks.
    by : {"length", "class"}
        What tells events apart.
    rows : tuple of BoardKind
        Of each detector on each kind, the best detector first.
    """

    metric: str
    by: str
    rows: tuple[BoardKind, ...]

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Return a row per detector, with value and recall on each kind."""
        kinds = sorted({row.kind for row in self.rows}, key=order_of_kind)
        names = [name for kind in kinds for name in (kind, f"recall {kind.partition(' (')[0]}")]
        cells: dict[str, list[Any]] = {row.detector: [row.detector] for row in self.rows}
        known = {(row.detector, row.kind): (row.value, f"{row.recall:.0%}") for row in self.rows}
        for detector, line in cells.items():
            for kind in kinds:
                line += known.get((detector, kind), (math.nan, "-"))
        return ["detector", *names], list(cells.values())

    def remarks(self) -> list[str]:
        """Return what the table means, in sentences."""
        known = sorted({row.kind: row for row in self.rows}.values(), key=lambda row: order_of_kind(row.kind))
        counts = [f"{row.kind}: {counted(row.events, 'event')} on {row.series} series" for row in known]
        what = f"{self.metric}, and recall (share of events found), by {self.by} of events"
        rule = "each kind is judged as if there were no others, whose steps and buffers are left out; means over series"
        return [f"{what}: {rule}", *counts]

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table with a row per detector and kind."""
        return {name: [getattr(row, name) for row in self.rows] for name in BoardKind.__dataclass_fields__}

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data that JSON can carry."""
        return plain({"metric": self.metric, "by": self.by, "rows": self.row_dicts()})


def order_of_kind(kind: str) -> tuple[int, str]:
    """Short before medium before long; classes by name."""
    first = kind.partition(" (")[0]
    return (LENGTHS.index(first) if first in LENGTHS else len(LENGTHS)), kind
