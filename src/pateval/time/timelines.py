"""Which steps of a recording count, and how they lie in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events, count_inside, find_events
from pateval.time.clocks import Clock, Duration, Lengths, Times, nanoseconds, read_buffers, read_clock
from pateval.validation.arrays import (
    MISSING,
    BoolArray,
    Buffers,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    binary_array,
    binary_pair,
    choice,
    number_array,
    scored_channels,
    scored_pair,
    scores_with_gaps,
    series_starts,
    without_gaps,
)
from pateval.validation.containers import place_in
from pateval.validation.indexes import times_of


@dataclass(frozen=True)
class Timeline:
    """The steps that count, with their series and times.

    Attributes
    ----------
    size : int
        How many steps were recorded.
    starts : ndarray of int
        Where each series begins.
    stretches : ndarray of int
        Where steps begin that zones do not reach from before: series, and holes longer than ``max_gap``.
    clock : Clock or None
        When each step was recorded.
    step_numbers : ndarray of int or None
        Number of each step in the whole recording, where some steps are ignored.
    missing : int
        How many scores are missing.
    recorded_starts : ndarray of int or None
        Where each series begins in the whole recording, where some steps are ignored.
    """

    size: int
    starts: IntArray
    stretches: IntArray
    clock: Clock | None = None
    step_numbers: IntArray | None = None
    missing: int = 0
    recorded_starts: IntArray | None = None

    @property
    def ignored(self) -> int:
        """How many steps are left out."""
        return 0 if self.step_numbers is None else self.size - self.step_numbers.size

    def original(self, steps: IntArray) -> IntArray:
        """Numbers of steps in the whole recording."""
        return steps if self.step_numbers is None else self.step_numbers[steps]

    def recorded_runs(self, starts: IntArray, stops: IntArray) -> tuple[IntArray, IntArray]:
        """Runs of steps that count, empty ones left out, as runs of recorded steps."""
        has_steps = stops > starts
        return self.original(starts[has_steps]), self.original(stops[has_steps] - 1) + 1

    def on_all_steps(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Put values of the steps that count at their places in the whole recording; 0 stands at the others."""
        if self.step_numbers is None:
            return values
        found = np.zeros(self.size, dtype=values.dtype)
        found[self.step_numbers] = values
        return found

    def events(self, labels: BoolArray) -> Events:
        """Events for PATE: ignored steps and long holes part them."""
        cuts = None if self.step_numbers is None else np.flatnonzero(np.diff(self.step_numbers) > 1) + 1
        return find_events(labels, self.stretches, cuts)

    def zone_clock(self, *, in_time: bool) -> Clock | None:
        """The clock on which zones are measured; None for plain step numbers."""
        if in_time:
            return self.clock
        return None if self.step_numbers is None else Clock(self.step_numbers, None)


@dataclass(frozen=True)
class StepCounts:
    """How much of a recording is evaluated.

    Attributes
    ----------
    recorded : int
        Steps that were recorded.
    ignored : int
        Steps that the caller left out.
    missing : int
        Steps, of those that were not ignored, without a score.
    evaluated : int
        Steps that count.
    events, events_left_out : int
        Events that were recorded, and those of which no step counts.
    """

    recorded: int
    ignored: int
    missing: int
    evaluated: int
    events: int
    events_left_out: int

    @property
    def coverage(self) -> float:
        """Share of the steps that were not ignored for which the detector has a score."""
        return 1 - self.missing / (self.recorded - self.ignored)


@dataclass(frozen=True)
class Recording:
    """Truth and detector at every recorded step, and which of the steps count.

    Attributes
    ----------
    labels : ndarray of bool
        Truth; False where a step is ignored and its label is missing.
    scores : ndarray of float or None
        Scores, NaN where one is missing.
    predictions : ndarray of bool or None
        Predictions.
    starts : ndarray of int
        Where each series begins.
    timeline : Timeline
        The steps that count.
    is_left_out : ndarray of bool or None
        Marks the others, where there are any.
    counts : StepCounts
        How many there are.
    times : ndarray or None
        When each step was recorded, in the unit of the timeline's clock.
    """

    labels: BoolArray
    scores: FloatArray | None
    predictions: BoolArray | None
    starts: IntArray
    timeline: Timeline
    is_left_out: BoolArray | None
    counts: StepCounts
    times: Times | None = None

    def closed_up(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the steps that count, as if the others had never been recorded."""
        return values if self.timeline.step_numbers is None else values[self.timeline.step_numbers]

    def merged_at(self) -> list[tuple[int, int]]:
        """Last and next step of events that become one when the steps between them are left out."""
        steps = self.timeline.step_numbers
        if steps is None:
            return []
        labels = steps_with_label(self.labels)[steps]
        is_merged = (np.diff(steps) > 1) & labels[1:] & labels[:-1]
        is_merged[self.timeline.starts[1:] - 1] = False
        places = np.flatnonzero(is_merged)
        return list(zip(steps[places].tolist(), steps[places + 1].tolist(), strict=True))


def read_recording(
    labels: object,
    scores: object = None,
    predictions: object = None,
    *,
    series: object = None,
    times: object = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: object = None,
    missing: str = "error",
    channels: bool = False,
) -> Recording:
    """Check truth, and scores, predictions or both, and find the steps that count.

    With ``channels`` all three are steps by channels. A step counts, or is left out, in all channels: it is missing
    where the score of a channel is.
    """
    times = times_of(times, labels=labels, scores=scores, predictions=predictions, series=series, ignore=ignore)
    choice(missing, "missing", MISSING)
    values: FloatArray | None = None
    predicted: BoolArray | None = None
    mask: BoolArray | None = None
    if ignore is not None:
        mask, truth = _kept_labels(labels, ignore, other=predictions if scores is None else scores, channels=channels)
    elif scores is not None and missing == "error":
        truth, values = scored_channels(labels, scores) if channels else scored_pair(labels, scores)
    else:
        truth = binary_array(labels, "labels", other=predictions if scores is None else scores, channels=channels)
    ignored = 0 if mask is None else int(np.count_nonzero(mask))
    number = 0
    if scores is not None and values is None:
        values, absent = _scores_and_gaps(scores, truth, mask, missing)
        number = int(np.count_nonzero(absent))
        if missing == "ignore" and number:
            mask = absent if mask is None else mask | absent
    if predictions is not None:
        predicted = _predictions(predictions, truth, mask)
    size = len(truth)
    starts, clock = _series_and_clock(size, series, times, time_unit)
    counted = None if mask is None or not mask.any() else np.flatnonzero(~mask)
    if counted is not None and not counted.size:
        raise UndefinedMetricError("no step is left to evaluate: every one is ignored or has no score")
    timeline = _timeline(size, counted, starts, clock, max_gap, number)
    events = find_events(steps_with_label(truth), starts)
    left_out = 0
    if mask is not None and counted is not None and len(events):
        left_out = int(np.count_nonzero(count_inside(~mask, events.starts, events.stops) == 0))
    evaluated = size if counted is None else counted.size
    counts = StepCounts(size, ignored, number, evaluated, len(events), left_out)
    times_of_all = None if clock is None else clock.times
    return Recording(
        truth, values, predicted, starts, timeline, None if counted is None else mask, counts, times_of_all
    )


def read_scores(
    labels: object,
    scores: object,
    *,
    series: object = None,
    times: object = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: object = None,
    missing: str = "error",
) -> tuple[BoolArray, FloatArray, Timeline]:
    """Check truth and scores, and leave out what is to be left out.

    Scores that are missing and count as normal become negative infinity, which no threshold reaches.
    """
    times = times_of(times, labels=labels, scores=scores, series=series, ignore=ignore)
    choice(missing, "missing", MISSING)
    if ignore is None and missing == "error":
        labels, scores = scored_pair(labels, scores)
        starts, clock = _series_and_clock(labels.size, series, times, time_unit)
        return labels, scores, _timeline(labels.size, None, starts, clock, max_gap)
    recording = read_recording(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    values = without_gaps(recording.closed_up(cast(FloatArray, recording.scores)))
    return recording.closed_up(recording.labels), values, recording.timeline


def read_predictions(
    labels: object,
    predictions: object,
    *,
    series: object = None,
    times: object = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: object = None,
) -> tuple[BoolArray, BoolArray, Timeline]:
    """Check truth and predictions, and leave out what is to be left out."""
    times = times_of(times, labels=labels, predictions=predictions, series=series, ignore=ignore)
    if ignore is None:
        labels, predictions = binary_pair(labels, predictions)
        starts, clock = _series_and_clock(labels.size, series, times, time_unit)
        return labels, predictions, _timeline(labels.size, None, starts, clock, max_gap)
    recording = read_recording(
        labels, None, predictions, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore
    )
    predicted = recording.closed_up(cast(BoolArray, recording.predictions))
    return recording.closed_up(recording.labels), predicted, recording.timeline


def read_zone_buffers(timeline: Timeline, early: Buffers, delay: Buffers) -> tuple[Lengths, Lengths, Clock | None]:
    """Check the buffers, and choose the clock on which zones are measured; None for plain step numbers."""
    early_lengths, early_in_time = read_buffers(early, "early", timeline.clock, timeline.size)
    delay_lengths, delay_in_time = read_buffers(delay, "delay", timeline.clock, timeline.size)
    in_time = early_in_time or delay_in_time
    for lengths, is_time, name in ((early_lengths, early_in_time, "early"), (delay_lengths, delay_in_time, "delay")):
        if in_time and not is_time and any(lengths):
            raise TypeError(f"{name} must be a duration such as '10min' too where the other buffer is one")
    return early_lengths, delay_lengths, timeline.zone_clock(in_time=in_time)


def steps_with_label(labels: BoolArray) -> BoolArray:
    """Tell the anomalous steps: with labels of steps by channels those with a labelled channel."""
    return np.asarray(labels.any(axis=1)) if labels.ndim == 2 else labels


def _kept_labels(labels: object, ignore: object, *, other: object, channels: bool) -> tuple[BoolArray, BoolArray]:
    """Mask of ignored steps, and the labels, which may be missing where they are ignored."""
    given = number_array(labels, "labels", allow_missing=True, channels=channels)
    mask = binary_array(ignore, "ignore")
    if mask.size != len(given):
        raise ValueError(f"ignore and labels must have the same length; got {mask.size} and {len(given)}")
    if mask.all():
        raise ValueError("ignore leaves no step to evaluate")
    # Whatever stands at an ignored step is no label, unless it could be one: then events are counted by it.
    known = np.where(_of_cells(mask, given) & (given != 1), 0, given)
    return mask, binary_array(known, "labels", other=other, channels=channels)


def _of_cells(mask: BoolArray, values: npt.NDArray[Any]) -> BoolArray:
    """Mask of steps in the shape that goes with values of steps, or of steps by channels."""
    return mask[:, None] if values.ndim == 2 else mask


def _scores_and_gaps(
    scores: object, labels: BoolArray, mask: BoolArray | None, missing: str
) -> tuple[FloatArray, BoolArray]:
    """Scores, and the steps that are not ignored at which one is missing."""
    values = scores_with_gaps(scores, mask, channels=labels.ndim == 2)
    _require_alike(labels, values, "scores")
    absent = np.isnan(values) if mask is None else np.isnan(values) & ~_of_cells(mask, values)
    number = int(np.count_nonzero(absent))
    if number and missing == "error":
        place = place_in(values, int(np.argmax(absent)))
        raise ValueError(
            f"scores must be present at every step; found a missing one at {place} ({number} in {values.size}): "
            f"pass missing='ignore' to leave such steps out, or missing='normal' to count them as never predicted"
        )
    return values, steps_with_label(absent)


def _predictions(predictions: object, labels: BoolArray, mask: BoolArray | None) -> BoolArray:
    channels = labels.ndim == 2
    given = number_array(predictions, "predictions", allow_missing=mask is not None, channels=channels)
    _require_alike(labels, given, "predictions")
    known = given if mask is None else np.where(_of_cells(mask, given), 0, given)
    return binary_array(known, "predictions", channels=channels)


def _require_alike(labels: BoolArray, given: npt.NDArray[Any], name: str) -> None:
    if given.shape != labels.shape:
        if labels.ndim == 2:
            raise ValueError(f"labels and {name} must have the same shape; got {labels.shape} and {given.shape}")
        raise ValueError(f"labels and {name} must have the same length; got {labels.size} and {given.size}")


def _series_and_clock(size: int, series: object, times: object, time_unit: str | None) -> tuple[IntArray, Clock | None]:
    if times is None and time_unit is not None:
        raise ValueError("time_unit is the unit of times that are numbers: pass times too")
    starts = series_starts(series, size)
    return starts, None if times is None else read_clock(times, size, starts, time_unit)


def _timeline(
    size: int,
    counted: IntArray | None,
    starts: IntArray,
    clock: Clock | None,
    max_gap: Duration | None,
    missing: int = 0,
) -> Timeline:
    if max_gap is not None and clock is None:
        raise ValueError("max_gap needs the times of the steps: pass times")
    recorded_starts = None if counted is None else starts
    if counted is not None:
        # The first step that counts of each series; a series of which nothing is left is gone.
        starts = np.unique(np.searchsorted(counted, starts))
        starts = starts[starts < counted.size]
        clock = None if clock is None else clock.chosen(counted)
    stretches = starts
    if max_gap is not None and clock is not None:
        holes = np.flatnonzero(np.diff(clock.times) > clock.length(nanoseconds(max_gap, "max_gap")) + clock.tolerance)
        stretches = np.union1d(starts, holes + 1)
    return Timeline(size, starts, stretches, clock, counted, missing, recorded_starts)
