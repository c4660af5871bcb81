"""Which steps of a recording count, and how they lie in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events, count_inside, find_events
from pateval.time.clocks import Clock, Duration, Lengths, gap_length, read_buffers, read_clock, require_one_measure
from pateval.validation.arrays import (
    MISSING,
    BoolArray,
    Buffers,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    binary_array,
    choice,
    number_array,
    require_same_shape,
    scored_pair,
    scores_with_gaps,
    series_starts,
    without_gaps,
)
from pateval.validation.containers import MISSING_SCORES, first_of, times_of
from pateval.validation.wording import InputError

# What a recording holds for every step, beside its clock.
_OF_STEPS = ("labels", "scores", "predictions", "ignore", "absent", "of_others")


_MOST_PAIRS = 5_000_000  # of buffers; more would take days


@dataclass(frozen=True)
class Timeline:
    """The steps that count, with their series and times."""

    size: int  # how many steps were recorded
    starts: IntArray  # where each series begins
    stretches: IntArray  # where steps begin that zones do not reach from before: series, and holes above ``max_gap``
    clock: Clock | None = None
    # Where some steps are ignored: the number of each step, and the start of each series, in the whole recording.
    step_numbers: IntArray | None = None
    recorded_starts: IntArray | None = None
    missing: int = 0  # how many scores are missing

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
        on_all = np.zeros(self.size, dtype=values.dtype)
        on_all[self.step_numbers] = values
        return on_all

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
    """Truth and detector at every recorded step of one series or several, and which of the steps count."""

    labels: BoolArray  # False where a step is ignored and its label is missing
    scores: FloatArray | None  # NaN where one is missing
    predictions: BoolArray | None
    starts: IntArray  # where each series begins
    clock: Clock | None = None
    max_gap: Duration | None = None  # longer holes part events and zones of PATE
    ignore: BoolArray | None = None  # marks the steps that the caller leaves out
    absent: BoolArray | None = None  # marks the steps, of those that are not ignored, without a score, if there are any
    missing: str = "error"  # what becomes of them, one of `MISSING`
    of_others: BoolArray | None = None  # marks steps at which another detector has no score (`leave_out_for_all`)
    names: tuple[str, ...] = ()  # what the series are called, where that is known
    # For each series the levels of threshold rules on training scores, by the text of the rule, where there are such.
    training: tuple[Callable[[str], float], ...] = ()

    @cached_property
    def is_left_out(self) -> BoolArray | None:
        """Marks the steps that do not count, where there are any."""
        absent = self.absent if self.missing == "ignore" else None
        is_left_out = _union(self.ignore, absent, self.of_others)
        return is_left_out if is_left_out is not None and is_left_out.any() else None

    @property
    def is_mostly_missing(self) -> bool:
        """Whether more than half of the scores are missing, which leaves no value where such steps are ignored."""
        return self.missing == "ignore" and 2 * _number(self.absent) > len(self.labels) - _number(self.ignore)

    @cached_property
    def timeline(self) -> Timeline:
        """The steps that count."""
        counted = None if self.is_left_out is None else np.flatnonzero(~self.is_left_out)
        if counted is not None and not counted.size:
            raise UndefinedMetricError("no step is left to evaluate: every one is ignored or has no score")
        if self.max_gap is not None and self.clock is None:
            raise ValueError("max_gap needs the times of the steps: pass times")
        starts, clock, recorded_starts = self.starts, self.clock, None
        if counted is not None:
            # The first step that counts of each series; a series of which nothing is left is gone.
            recorded_starts = starts
            starts = np.unique(np.searchsorted(counted, starts))
            starts = starts[starts < counted.size]
            clock = None if clock is None else clock.chosen(counted)
        stretches = starts
        if self.max_gap is not None and clock is not None:
            holes = np.flatnonzero(np.diff(clock.times) > clock.length(gap_length(self.max_gap)) + clock.tolerance)
            stretches = np.union1d(starts, holes + 1)
        size, missing = len(self.labels), _number(self.absent)
        return Timeline(size, starts, stretches, clock, counted, recorded_starts, missing)

    @cached_property
    def counts(self) -> StepCounts:
        """How many steps and events are recorded, left out and evaluated."""
        events, left_out = find_events(steps_marked(self.labels), self.starts), 0
        if self.is_left_out is not None and len(events):
            left_out = int(np.count_nonzero(count_inside(~self.is_left_out, events.starts, events.stops) == 0))
        size = len(self.labels)
        evaluated = size - _number(self.is_left_out)
        return StepCounts(size, _number(self.ignore), _number(self.absent), evaluated, len(events), left_out)

    @property
    def has_gaps(self) -> bool:
        """Whether steps count that have no score."""
        return self.missing == "normal" and self.absent is not None

    @property
    def has_channels(self) -> bool:
        """Whether labels are steps by channels."""
        return self.labels.ndim == 2

    @property
    def nanoseconds(self) -> npt.NDArray[Any] | None:
        """When each step was recorded, in nanoseconds; None where that is not known."""
        return None if self.clock is None else self.clock.in_nanoseconds

    def as_given(self) -> Recording:
        """The recording with its times as they were given."""
        return self if self.clock is None else replace(self, clock=self.clock.as_given())

    def counted(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values of the steps that count, as if the others had never been recorded."""
        return values if self.timeline.step_numbers is None else values[self.timeline.step_numbers]

    @property
    def series_of_steps(self) -> IntArray | None:
        """Number of the series of each recorded step, where there are several."""
        if self.starts.size == 1:
            return None
        return np.repeat(np.arange(self.starts.size), np.diff(np.append(self.starts, len(self.labels))))

    def parts(self) -> list[Recording]:
        """The series one by one, less those that are ignored as a whole."""
        return [one for _, one in self.series_parts()]

    def series_parts(self) -> list[tuple[slice, Recording]]:
        """The series one by one, less those that are ignored as a whole, each with where it stands."""
        if self.starts.size == 1:
            return [(slice(0, len(self.labels)), self)]
        limits = [slice(*limit) for limit in pairwise([*self.starts.tolist(), len(self.labels)])]
        parts = []
        for place, limit in enumerate(limits):
            own = slice(place, place + 1)
            parts.append((limit, replace(self.part(limit), names=self.names[own], training=self.training[own])))
        return [(limit, one) for limit, one in parts if one.ignore is None or not one.ignore.all()]

    def part(self, steps: slice) -> Recording:
        """A run of steps as a series of its own."""
        clock = None if self.clock is None else self.clock.of_series(steps)
        part = replace(self, **self._at(steps), starts=np.zeros(1, dtype=np.intp), clock=clock)
        return part if part.absent is None or part.absent.any() else replace(part, absent=None)

    def drawn(self, steps: IntArray) -> Recording:
        """Steps of one series drawn with repetition; each comes as long after the one before as it did."""
        clock = self.clock
        if clock is not None:
            intervals = np.diff(clock.times, prepend=clock.times[:1])
            if intervals.size > 1:
                intervals[0] = np.median(intervals[1:])
            clock = replace(clock, times=np.cumsum(intervals[steps]))
        return replace(self, **self._at(steps), clock=clock)

    def _at(self, steps: slice | IntArray) -> dict[str, Any]:
        """What is known of each step, at some of the steps."""
        values = {name: getattr(self, name) for name in _OF_STEPS}
        return {name: None if value is None else value[steps] for name, value in values.items()}

    def merged_at(self) -> list[tuple[int, int]]:
        """Last and next step of events that become one when the steps between them are left out."""
        steps = self.timeline.step_numbers
        if steps is None:
            return []
        labels = steps_marked(self.labels)[steps]
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
    judged = {name: given for name, given in (("scores", scores), ("predictions", predictions)) if given is not None}
    times = times_of(times, labels=labels, **judged, series=series, ignore=ignore)
    choice(missing, "missing", MISSING)
    values = predicted = mask = absent = None
    if ignore is not None:
        mask, truth = _kept_labels(labels, ignore, other=predictions if scores is None else scores, channels=channels)
    elif scores is not None and missing == "error":
        truth, values = scored_pair(labels, scores, channels=channels)
    else:
        truth = binary_array(labels, "labels", other=predictions if scores is None else scores, channels=channels)
    if scores is not None and values is None:
        values, absent = _scores_and_gaps(scores, truth, mask, missing)
        absent = absent if absent.any() else None
    if predictions is not None:
        # What stands at a step that is left out is no prediction.
        predicted = _predictions(predictions, truth, _union(mask, absent if missing == "ignore" else None))
    if times is None and time_unit is not None:
        raise ValueError("time_unit is the unit of times that are numbers: pass times too")
    starts = series_starts(series, len(truth))
    clock = None if times is None else read_clock(times, len(truth), starts, time_unit)
    recording = Recording(truth, values, predicted, starts, clock, max_gap, mask, absent, missing)
    _ = recording.timeline  # refused here where no step is left, or a gap without a clock
    return recording


def joined(recordings: Sequence[Recording]) -> Recording:
    """One detector's series, one after the other."""
    if len(recordings) == 1:
        return recordings[0]
    sizes = [len(recording.labels) for recording in recordings]
    starts = np.cumsum([0, *sizes[:-1]])

    def together(name: str) -> Any:
        values = [getattr(recording, name) for recording in recordings]
        nothing = [np.zeros(size, np.bool_) for size in sizes]  # no mask marks no step
        given = [empty if value is None else value for value, empty in zip(values, nothing, strict=True)]
        return None if all(value is None for value in values) else np.concatenate(given)

    clocks = [recording.clock for recording in recordings if recording.clock is not None]
    clock = None
    if len(clocks) == len(recordings):
        # Of several units the finest, in which all of them are whole numbers.
        finest = min(clocks, key=lambda clock: clock.nanoseconds or 0)
        scales = [(own.nanoseconds or 1) // (finest.nanoseconds or 1) for own in clocks]
        times = [own.times * scale for own, scale in zip(clocks, scales, strict=True)]
        clock = read_clock(np.concatenate(times), sum(sizes), starts, finest.unit)
        clock = replace(clock, given=clock.given or finest.given)
    names = tuple(name for recording in recordings for name in recording.names)
    training = tuple(level for recording in recordings for level in recording.training)
    of_steps = {name: together(name) for name in _OF_STEPS}
    return replace(recordings[0], **of_steps, starts=starts, clock=clock, names=names, training=training)


def leave_out_for_all(recordings: Sequence[Recording]) -> list[Recording]:
    """Judge detectors on the same steps: a step of a series is left out for all of them where one has no score.

    A detector without scores for more than half of a series has no say in that, and no value there. Series are the same
    that have the same name, or place where they have none, and as many steps. Where missing scores are not ignored,
    nothing changes.
    """
    if len(recordings) < 2 or recordings[0].missing != "ignore":
        return list(recordings)
    absent: dict[tuple[Any, int], BoolArray] = {}
    for recording in recordings:
        for place, (_, part) in enumerate(recording.series_parts()):
            if part.absent is not None and not part.is_mostly_missing:
                key = part.names or place, len(part.labels)
                absent[key] = absent[key] | part.absent if key in absent else part.absent
    judged = []
    for recording in recordings:
        mask = np.zeros(len(recording.labels), dtype=np.bool_)
        for place, (steps, part) in enumerate(recording.series_parts()):
            key = part.names or place, len(part.labels)
            if key in absent:
                mask[steps] = absent[key]
        judged.append(replace(recording, of_others=mask) if mask.any() else recording)
    return judged


def read_scores(labels: object, scores: object, **steps: Any) -> tuple[BoolArray, FloatArray, Timeline]:
    """Check truth and scores as `read_recording` does, and leave out what is to be left out.

    Scores that are missing and count as normal become negative infinity, which no threshold reaches.
    """
    if scores is None:
        number_array(scores, "scores")  # which refuses it
    recording = read_recording(labels, scores, **steps)
    values = recording.counted(cast(FloatArray, recording.scores))
    return (
        recording.counted(recording.labels),
        without_gaps(values) if recording.has_gaps else values,
        recording.timeline,
    )


def read_predictions(labels: object, predictions: object, **steps: Any) -> tuple[BoolArray, BoolArray, Timeline]:
    """Check truth and predictions as `read_recording` does, and leave out what is to be left out."""
    if predictions is None:
        number_array(predictions, "predictions")  # which refuses it
    recording = read_recording(labels, None, predictions, **steps)
    predicted = recording.counted(cast(BoolArray, recording.predictions))
    return recording.counted(recording.labels), predicted, recording.timeline


def read_zone_buffers(timeline: Timeline, early: Buffers, delay: Buffers) -> tuple[Lengths, Lengths, Clock | None]:
    """Check the buffers, and choose the clock on which zones are measured; None for plain step numbers."""
    early_lengths, early_in_time = read_buffers(early, "early", timeline.clock, timeline.size)
    delay_lengths, delay_in_time = read_buffers(delay, "delay", timeline.clock, timeline.size)
    require_one_measure(early, delay)
    pairs = len(set(early_lengths)) * len(set(delay_lengths))
    if pairs > _MOST_PAIRS:
        raise ValueError(
            f"early and delay must make at most {_MOST_PAIRS:,} pairs of buffers; they make {pairs:,}: give fewer "
            f"lengths, such as every tenth"
        )
    return early_lengths, delay_lengths, timeline.zone_clock(in_time=early_in_time or delay_in_time)


def _union(*masks: BoolArray | None) -> BoolArray | None:
    known = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(known) if known else None


def _number(mask: BoolArray | None) -> int:
    return 0 if mask is None else int(np.count_nonzero(mask))


def steps_marked(marks: BoolArray) -> BoolArray:
    """Tell the marked steps: with marks of steps by channels those with a marked channel."""
    return np.asarray(marks.any(axis=1)) if marks.ndim == 2 else marks


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
    require_same_shape(labels, values, "scores")
    absent = np.isnan(values) if mask is None else np.isnan(values) & ~_of_cells(mask, values)
    if missing == "error" and absent.any():
        problem = "must be present at every step; found a missing one"
        raise InputError("scores", problem, **first_of(absent), remedy=MISSING_SCORES, kind="missing")
    return values, steps_marked(absent)


def _predictions(predictions: object, labels: BoolArray, mask: BoolArray | None) -> BoolArray:
    channels = labels.ndim == 2
    given = number_array(predictions, "predictions", allow_missing=mask is not None, channels=channels)
    require_same_shape(labels, given, "predictions")
    known = given if mask is None else np.where(_of_cells(mask, given), 0, given)
    return binary_array(known, "predictions", channels=channels)
