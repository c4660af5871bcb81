"""All metrics of one detector, on one series or several."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.catalog import MetricLike, find_metrics
from pateval.catalog.metric import Metric
from pateval.evaluation.circumstances import (
    circumstances,
    coarse_note,
    inverted_note,
    left_out_notes,
    lengths_in_steps,
    require_clock,
)
from pateval.evaluation.result import Evaluation
from pateval.evaluation.stretch import OnClock, Stretch, mean_over, one_per_series, series_numbers
from pateval.evaluation.threshold_rules import ScoredSteps, ThresholdRule, threshold_rule
from pateval.time.clocks import Duration, canonical_lengths, duration_text, is_duration
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import (
    BoolArray,
    Buffers,
    FloatArray,
    UndefinedMetricError,
    has_channels,
    number_array,
    window_length,
    without_gaps,
)
from pateval.validation.containers import missing_mask
from pateval.validation.large_integers import needs_exactness


class Evaluated(NamedTuple):
    """One detector's values, and what they were computed from.

    Attributes
    ----------
    evaluation : Evaluation
        The values.
    recording : Recording
        Labels, scores and predictions as they were given.
    flagged : int or None
        How many of the steps that count are predicted; None without predictions.
    """

    evaluation: Evaluation
    recording: Recording
    flagged: int | None


def evaluate_detector(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike | None = None,
    predictions: npt.ArrayLike | None = None,
    *,
    metrics: Iterable[MetricLike] | MetricLike | None,
    early: Buffers,
    delay: Buffers,
    window: int | Duration,
    threshold: float | str | ThresholdRule,
    train_scores: npt.ArrayLike | None = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> Evaluated:
    """Compute metrics of one detector; `pateval.evaluate` says what the parameters are."""
    options: dict[str, Any] = {
        "early": canonical_lengths(early, "early"),
        "delay": canonical_lengths(delay, "delay"),
        "window": duration_text(window) if is_duration(window) else window_length(window, "window"),
    }
    if scores is None and predictions is None:
        raise ValueError("evaluate needs scores, predictions or both")
    channels = has_channels(labels)
    wanted = find_metrics(metrics, global_values=options, channels=channels)
    recording = read_recording(
        labels,
        scores,
        predictions,
        series=series,
        times=times,
        time_unit=time_unit,
        max_gap=max_gap,
        ignore=ignore,
        missing=missing,
        channels=channels,
    )
    timeline = recording.timeline
    require_clock(wanted, options, timeline.clock)
    rule = threshold_rule(threshold, train_scores)
    truth = recording.closed_up(recording.labels)
    values = None if recording.scores is None else recording.closed_up(recording.scores)
    has_gaps = recording.counts.missing > 0 and missing == "normal"
    # Scores as thresholds see them: none reaches a step whose score is missing.
    reachable = without_gaps(values) if values is not None and has_gaps else values
    if predictions is None and reachable is not None and any(metric.needs_threshold for metric in wanted):
        predicted = _cut(rule, truth, reachable, scores, recording)
    else:
        given = None if recording.predictions is None else recording.closed_up(recording.predictions)
        predicted = _Predicted(given, None, "needs predictions, or scores to make them from")
    whole = Stretch(
        _read_only(truth),
        None if values is None else _read_only(values),
        None if predicted.flags is None else _read_only(predicted.flags),
        predicted.reason,
        options,
        timeline.starts,
        timeline.clock,
        has_gaps,
        _on_clock(recording, predicted.flags, max_gap, has_gaps=has_gaps),
    )
    parts = one_per_series(whole) if timeline.starts.size > 1 else []
    found, reasons, seconds = _computed(wanted, whole, parts)
    notes = [] if reachable is None or channels else coarse_note(reachable, wanted)
    evaluation = Evaluation(
        found,
        reasons,
        threshold=_reported(predicted.level, rule),
        threshold_rule=None if predicted.level is None else rule.description,
        threshold_sign=rule.sign,
        means=frozenset(metric.id for metric in wanted if parts and not metric.pools),
        notes=(*notes, *inverted_note(found), *left_out_notes(recording, wanted, missing=missing, max_gap=max_gap)),
        seconds=seconds,
        metrics=tuple(wanted),
        options=options,
        predictions_from=rule.signature if predictions is None else "given",
        several_series=bool(parts),
        steps=recording.counts,
        circumstances=circumstances(wanted, options, parts or [whole], max_gap=max_gap, ignore=ignore, missing=missing),
        lengths_in_steps=lengths_in_steps(wanted, parts or [whole]),
    )
    flags = predicted.flags
    return Evaluated(evaluation, recording, None if flags is None else int(np.count_nonzero(flags)))


class _Predicted(NamedTuple):
    """Predictions at the steps that count, and the threshold that made them; or why there are none."""

    flags: BoolArray | None
    level: float | FloatArray | None
    reason: str = ""


def _cut(
    rule: ThresholdRule, truth: BoolArray, reachable: FloatArray, scores: object, recording: Recording
) -> _Predicted:
    """Make predictions of scores by a rule."""
    timeline = recording.timeline
    try:
        exact = _exact(scores, reachable, recording)
        level = rule.choose(ScoredSteps.on(timeline, truth, exact))
        return _Predicted(rule.predictions(exact, level), level)
    except UndefinedMetricError as error:
        return _Predicted(None, None, str(error))


def _computed(
    wanted: Iterable[Metric], whole: Stretch, parts: list[Stretch]
) -> tuple[dict[str, float], dict[str, str], dict[str, float]]:
    """Return values, reasons and seconds by metric; ``parts`` are the series where there are several."""
    found: dict[str, float] = {}
    reasons: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for metric in wanted:
        begin = time.perf_counter()
        found[metric.id], reason = mean_over(metric, parts) if parts and not metric.pools else whole.value(metric)
        seconds[metric.id] = time.perf_counter() - begin
        if reason:
            reasons[metric.id] = reason
    return found, reasons, seconds


def _exact(scores: object, reachable: FloatArray, recording: Recording) -> npt.NDArray[Any]:
    """Return the scores for thresholds: floats, or the integers given where floats had to stand for them."""
    given = number_array(scores, "scores", allow_missing=True, channels=reachable.ndim == 2)
    if not needs_exactness(given):
        return reachable
    given = recording.closed_up(given)
    absent = missing_mask(given)
    return np.where(absent, -np.inf, given.astype(object)) if absent.any() else given


def _reported(level: Any, rule: ThresholdRule) -> float | None:
    """The threshold, where there is one for all steps; between integers, the integer that does the same."""
    if isinstance(level, Fraction):
        return math.floor(level) if rule.strict else math.ceil(level)
    return level if isinstance(level, (float, int)) else None


def _on_clock(
    recording: Recording, predicted: BoolArray | None, max_gap: Duration | None, *, has_gaps: bool
) -> OnClock | None:
    """The whole recording for PATE, where it has a clock or steps that are left out."""
    timeline = recording.timeline
    if recording.labels.ndim == 2 or (timeline.step_numbers is None and timeline.clock is None):
        return None
    everywhere = None if predicted is None else timeline.on_all_steps(predicted)
    data = {
        "series": None if recording.starts.size == 1 else series_numbers(recording.starts, recording.labels.size),
        "times": None if timeline.clock is None else recording.times,
        "time_unit": None if timeline.clock is None else timeline.clock.unit,
        "max_gap": max_gap,
        "ignore": recording.is_left_out,
        "missing": "normal" if has_gaps else None,
    }
    return OnClock(recording.labels, recording.scores, everywhere, data)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Protect what several metrics see from a function that writes."""
    view = array.view()
    view.flags.writeable = False
    return view
