"""Which steps of a recording count, and how they lie in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pateval._validation import (
    BoolArray,
    Buffers,
    FloatArray,
    IntArray,
    binary_array,
    binary_pair,
    choice,
    number_array,
    scored_pair,
    scores_with_gaps,
    series_starts,
)
from pateval.clocks import Clock, Duration, Lengths, nanoseconds, read_buffers, read_clock
from pateval.events import Events, find_events

MISSING = ("error", "ignore", "normal")


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
    """

    size: int
    starts: IntArray
    stretches: IntArray
    clock: Clock | None = None
    step_numbers: IntArray | None = None
    missing: int = 0

    @property
    def ignored(self) -> int:
        """How many steps are left out."""
        return 0 if self.step_numbers is None else self.size - self.step_numbers.size

    def original(self, steps: IntArray) -> IntArray:
        """Numbers of steps in the whole recording."""
        return steps if self.step_numbers is None else self.step_numbers[steps]

    def events(self, labels: BoolArray) -> Events:
        """Events for PATE: ignored steps and long holes part them."""
        cuts = None if self.step_numbers is None else np.flatnonzero(np.diff(self.step_numbers) > 1) + 1
        return find_events(labels, self.stretches, cuts)

    def zone_clock(self, *, in_time: bool) -> Clock | None:
        """The clock on which zones are measured; None for plain step numbers."""
        if in_time:
            return self.clock
        return None if self.step_numbers is None else Clock(self.step_numbers, None)


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
    choice(missing, "missing", MISSING)
    if ignore is None and missing == "error":
        labels, scores = scored_pair(labels, scores)
        return labels, scores, _timeline(labels.size, None, series, times, time_unit, max_gap)
    mask, labels = _kept_labels(labels, ignore, other=scores)
    values = scores_with_gaps(scores)
    if values.size != labels.size:
        raise ValueError(f"labels and scores must have the same length; got {labels.size} and {values.size}")
    absent = np.isnan(values) & ~mask
    number = int(np.count_nonzero(absent))
    if number and missing == "error":
        first = int(np.argmax(absent))
        raise ValueError(
            f"scores must be present at every step; found a missing one at index {first} ({number} in {values.size}): "
            f"pass missing='ignore' to leave such steps out, or missing='normal' to count them as never predicted"
        )
    if missing == "ignore":
        mask = mask | absent
    values = np.where(np.isnan(values), -np.inf, values)
    kept = None if not mask.any() else np.flatnonzero(~mask)
    timeline = _timeline(labels.size, kept, series, times, time_unit, max_gap, number)
    return (labels, values, timeline) if kept is None else (labels[kept], values[kept], timeline)


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
    if ignore is None:
        labels, predictions = binary_pair(labels, predictions)
        return labels, predictions, _timeline(labels.size, None, series, times, time_unit, max_gap)
    mask, labels = _kept_labels(labels, ignore, other=predictions)
    given = number_array(predictions, "predictions", allow_missing=True)
    if given.size != labels.size:
        raise ValueError(f"labels and predictions must have the same length; got {labels.size} and {given.size}")
    predicted = binary_array(np.where(mask, 0, given), "predictions")
    kept = None if not mask.any() else np.flatnonzero(~mask)
    timeline = _timeline(labels.size, kept, series, times, time_unit, max_gap)
    return (labels, predicted, timeline) if kept is None else (labels[kept], predicted[kept], timeline)


def read_zone_buffers(timeline: Timeline, early: Buffers, delay: Buffers) -> tuple[Lengths, Lengths, Clock | None]:
    """Check the buffers, and choose the clock on which zones are measured; None for plain step numbers."""
    early_lengths, early_in_time = read_buffers(early, "early", timeline.clock, timeline.size)
    delay_lengths, delay_in_time = read_buffers(delay, "delay", timeline.clock, timeline.size)
    in_time = early_in_time or delay_in_time
    for lengths, is_time, name in ((early_lengths, early_in_time, "early"), (delay_lengths, delay_in_time, "delay")):
        if in_time and not is_time and any(lengths):
            raise TypeError(f"{name} must be a duration such as '10min' too where the other buffer is one")
    return early_lengths, delay_lengths, timeline.zone_clock(in_time=in_time)


def _kept_labels(labels: object, ignore: object, *, other: object) -> tuple[BoolArray, BoolArray]:
    """Mask of ignored steps, and the labels, which may be missing where they are ignored."""
    if ignore is None:
        checked = binary_array(labels, "labels", other=other)
        return np.zeros(checked.size, dtype=np.bool_), checked
    given = number_array(labels, "labels", allow_missing=True)
    mask = binary_array(ignore, "ignore")
    if mask.size != given.size:
        raise ValueError(f"ignore and labels must have the same length; got {mask.size} and {given.size}")
    if mask.all():
        raise ValueError("ignore leaves no step to evaluate")
    return mask, binary_array(np.where(mask, 0, given), "labels", other=other)


def _timeline(
    size: int,
    kept: IntArray | None,
    series: object,
    times: object,
    time_unit: str | None,
    max_gap: Duration | None,
    missing: int = 0,
) -> Timeline:
    starts = series_starts(series, size)
    clock = None if times is None else read_clock(times, size, starts, time_unit)
    if max_gap is not None and clock is None:
        raise ValueError("max_gap needs the times of the steps: pass times")
    if kept is not None:
        # The first kept step of each series; a series of which nothing is left is gone.
        starts = np.unique(np.searchsorted(kept, starts))
        starts = starts[starts < kept.size]
        clock = None if clock is None else Clock(clock.times[kept], clock.nanoseconds, clock.tolerance)
    stretches = starts
    if max_gap is not None and clock is not None:
        holes = np.flatnonzero(np.diff(clock.times) > clock.length(nanoseconds(max_gap, "max_gap")) + clock.tolerance)
        stretches = np.union1d(starts, holes + 1)
    return Timeline(size, starts, stretches, clock, kept, missing)
