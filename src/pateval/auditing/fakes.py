"""Detectors that are made from the labels of one series, and how they are judged: one protocol for all of them.

`BATTERY` is what an audit of labels alone judges; `SKILL_FREE` is what an audit with scores holds against the real
detectors there. `DAMAGES` are detectors of known order: all of one kind differ in one respect alone, so a metric that
says anything about it puts them in order. Their scores are evenly spread values, low where nothing is flagged and high
where something is; only under ``noise`` do the two overlap, and the threshold rule decides what is flagged. `CHOICES`
are pairs where one respect competes with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value, values_of
from pateval.labels.events import Events, find_events, marked, runs
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

SPIKE_INTERVAL = 100
"""Steps per spike, the length of the default buffers and windows; it must not depend on the labels."""
REAL, PERFECT, RANDOM = "real", "perfect", "random"
_SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the events found, and of each event covered
_PLACES = 5  # where an alarm, a fifth of its event long, may lie in it
_ALARMS = (0, 1, 2, 4, 8)  # false alarms per event
_ALARM_PART = 8  # a typical event is so many times as long as a false alarm
_NOISE = (0.125, 0.25, 0.5, 1.0, 2.0)  # standard deviations of the noise on scores of 0 and 1
_GOLDEN_RATIO = (5**0.5 - 1) / 2


class Detection(NamedTuple):
    """What a detector hands in: scores, and what it flags, or None where a threshold decides that.

    The quality says how good it is among others of known order, and means nothing else.
    """

    scores: FloatArray
    predictions: BoolArray | None = None
    quality: float = 0.0


class Truth(NamedTuple):
    """What a detector is made from: labels with at least one event, their events, and a source of chance."""

    labels: BoolArray
    events: Events
    chance: np.random.Generator

    @property
    def size(self) -> int:
        """Number of steps."""
        return self.labels.size

    @property
    def typical(self) -> int:
        """Median length of the events."""
        return int(np.median(self.events.lengths))

    def marked(self, starts: IntArray, lengths: IntArray | int) -> BoolArray:
        """Flag the steps of runs, which may overlap, be empty, or end with the series."""
        return marked(starts, np.minimum(starts + lengths, self.size), self.size)

    def normal_steps(self, number: int) -> IntArray:
        """Draw normal steps, at most so many."""
        normal = np.flatnonzero(~self.labels)
        return self.chance.choice(normal, size=min(normal.size, number), replace=False)


Make = Callable[[Truth], Detection | BoolArray | Iterable[Detection]]
"""Truth to detections, or to what is flagged."""


@dataclass(frozen=True)
class Fake:
    """One detector that is made, or several of known order."""

    name: str
    text: str  # what it does
    # In `BATTERY` "worthless" finds nothing but by luck, "poor" knows the events and makes bad use of it, "real" and
    # "perfect" are what the others are compared with. In `SKILL_FREE` "blind" is not made from the labels, "minimal"
    # is, and does little. In `DAMAGES` and `CHOICES` it is "order".
    kind: str
    make: Make
    drawn: bool = False  # whether it depends on chance, so that several draws are made

    def detections(self, labels: BoolArray, chance: np.random.Generator) -> list[Detection]:
        """What it hands in, the best one first; nothing where the labels do not allow it."""
        made = self.make(Truth(labels, find_events(labels), chance))
        if isinstance(made, np.ndarray):
            return [Detection(made.astype(np.float64), made)]
        return [made] if isinstance(made, Detection) else list(made)

    def draws(self, number: int) -> range:
        """As many draws as are asked for, or one where there is no chance in it."""
        return range(number if self.drawn else 1)


def as_many_as(labels: BoolArray, scores: FloatArray) -> BoolArray:
    """Flag as many steps as are anomalous, those with the highest scores."""
    rank = labels.size - int(np.count_nonzero(labels))
    return np.asarray(scores >= np.partition(scores, rank)[rank])


def _every(truth: Truth, interval: int) -> BoolArray:
    """A step in the middle of every interval."""
    return np.arange(truth.size) % interval == interval // 2


def _random_spikes(truth: Truth) -> BoolArray:
    number = max(1, truth.size // SPIKE_INTERVAL)
    return truth.marked(truth.chance.choice(truth.size, size=number, replace=False), 1)


def _one_per_length(truth: Truth) -> BoolArray:
    length = max(truth.typical, 2)
    places = np.arange(0, truth.size, length)
    places = places + truth.chance.integers(length, size=places.size)
    return truth.marked(places[places < truth.size], 1)


def _step_per_event(truth: Truth) -> BoolArray:
    return truth.marked(truth.events.starts + truth.chance.integers(truth.events.lengths), 1)


def _shifted_early(truth: Truth) -> BoolArray:
    before = np.maximum(truth.events.starts - truth.events.lengths, 0)
    return truth.marked(before, truth.events.starts - before) & ~truth.labels


def _shifted_late(truth: Truth) -> BoolArray:
    return truth.marked(truth.events.stops, truth.events.lengths) & ~truth.labels


def _real(truth: Truth) -> Detection:
    chance, events, size = truth.chance, truth.events, truth.size
    scores = chance.uniform(0.0, 0.5, size)
    roughness = chance.uniform(0.0, 0.1, size)
    late = events.lengths // 10
    begin, end = events.starts + late, np.minimum(events.stops + late, size)
    heights = chance.uniform(0.5, 1.0, len(events))
    normal = np.flatnonzero(~truth.labels)
    if normal.size:
        wrong = chance.choice(normal, size=max(1, len(events) // 4))
        cut = np.minimum(wrong + truth.typical, size)
        for start, stop, height in zip(wrong, cut, chance.uniform(0.25, 0.75, wrong.size), strict=True):
            scores[start:stop] = height + roughness[start:stop]
    for number, (start, stop, height) in enumerate(zip(begin, end, heights, strict=True), start=1):
        if number % 10:
            scores[start:stop] = height + roughness[start:stop]
    return Detection(scores)


def _fragmented(truth: Truth) -> Detection:
    scores = _real(truth).scores
    predictions = as_many_as(truth.labels, scores)
    dropped = np.concatenate([np.arange(start + 1, stop, 2) for start, stop in zip(*runs(predictions), strict=True)])
    scores[dropped], predictions[dropped] = 0.0, False
    return Detection(scores, predictions)


def _random(truth: Truth) -> Detection:
    return Detection(truth.chance.random(truth.size))


_PER_LENGTH = "a random step in every stretch as long as a typical event"
_AT_INTERVALS = "a step at regular intervals as long as a typical event"
_FRAGMENTS = "the real detector with every other step of its alarms switched off"

BATTERY = (
    Fake(RANDOM, "uniform random scores", "worthless", _random, drawn=True),
    Fake(
        "constant", "the same score everywhere, no step flagged", "worthless", lambda truth: np.full(truth.size, False)
    ),
    Fake("always_on", "every step flagged", "worthless", lambda truth: np.full(truth.size, True)),
    Fake("one_per_length", _PER_LENGTH, "worthless", _one_per_length, drawn=True),
    Fake("periodic", _AT_INTERVALS, "worthless", lambda truth: _every(truth, max(truth.typical, 2))),
    Fake("inverted", "every normal step flagged and no other", "worthless", lambda truth: ~truth.labels),
    Fake("one_point", "a random step of every event", "poor", _step_per_event, drawn=True),
    Fake("shifted_early", "every event, moved ahead by its own length", "poor", _shifted_early),
    Fake("shifted_late", "every event, moved back by its own length", "poor", _shifted_late),
    Fake("fragmented", _FRAGMENTS, "poor", _fragmented, drawn=True),
    Fake(REAL, "noisy but real: late by a tenth, misses a tenth, false alarms", "real", _real, drawn=True),
    Fake(PERFECT, "the labels themselves", "perfect", lambda truth: truth.labels),
)
"""What an audit of labels judges."""

_SPIKES = f"one step in {SPIKE_INTERVAL} flagged, at random places"
_REGULAR_SPIKES = f"every {SPIKE_INTERVAL}th step flagged"
_ONE_STEP = "one step of every event flagged, at random, and nothing else"

SKILL_FREE = (
    Fake(RANDOM, "uniform random scores, flagged by the threshold rule", "blind", _random, drawn=True),
    Fake("constant", "the same score everywhere, no step flagged", "blind", lambda truth: np.full(truth.size, False)),
    Fake(
        "everything", "the same score everywhere, every step flagged", "blind", lambda truth: np.full(truth.size, True)
    ),
    Fake("random_spikes", _SPIKES, "blind", _random_spikes, drawn=True),
    Fake("regular_spikes", _REGULAR_SPIKES, "blind", lambda truth: _every(truth, min(SPIKE_INTERVAL, truth.size))),
    Fake("step_per_event", _ONE_STEP, "minimal", _step_per_event, drawn=True),
)
"""The detectors that a metric should not place near the best real one."""


Graded = Iterator[tuple[float, BoolArray]]
"""Quality and flagged steps of one detector after the other, the best one first."""


def _noise(truth: Truth) -> Iterator[Detection]:
    noise = truth.chance.normal(size=truth.size)
    for deviation in _NOISE:
        yield Detection(truth.labels + deviation * noise, quality=-deviation)


def _on_background(flag: Callable[[Truth], Graded]) -> Make:
    """Scores for what several detectors flag: distinct ones, so that a metric on scores sees them as well."""

    def make(truth: Truth) -> Iterator[Detection]:
        # Values from 0 to 1, as evenly spread over every part of the series as over the whole. With random ones a
        # metric on scores would mostly see which of them an alarm happens to cover.
        background = 0.4 * ((truth.chance.random() + np.arange(truth.size) * _GOLDEN_RATIO) % 1.0)
        for quality, flagged in flag(truth):
            yield Detection(np.where(flagged, 0.6, 0.0) + background, flagged, quality)

    return make


@_on_background
def _events(truth: Truth) -> Graded:
    events = truth.events
    order = truth.chance.permutation(len(events))
    for number in dict.fromkeys(max(1, round(share * len(events))) for share in _SHARES):
        chosen = order[:number]
        yield float(number), truth.marked(events.starts[chosen], events.lengths[chosen])


@_on_background
def _coverage(truth: Truth) -> Graded:
    starts, lengths = truth.events.starts, truth.events.lengths
    place = truth.chance.random(lengths.size)
    for share in _SHARES:
        parts = np.maximum(1, np.rint(share * lengths)).astype(np.intp)
        offsets = np.floor(place * (lengths - parts + 1)).astype(np.intp)
        yield float(parts.sum()), truth.marked(starts + offsets, parts)


@_on_background
def _delay(truth: Truth) -> Graded:
    starts, lengths = truth.events.starts, truth.events.lengths
    parts = np.maximum(1, lengths // _PLACES)
    for place in range(_PLACES):
        offsets = place * (lengths - parts) // (_PLACES - 1)
        yield -float(offsets.sum()), truth.marked(starts + offsets, parts)


@_on_background
def _alarms(truth: Truth) -> Graded:
    events = len(truth.events)
    places = truth.normal_steps(_ALARMS[-1] * events)
    for per_event in _ALARMS:
        starts = places[: per_event * events]
        yield -float(starts.size), truth.marked(starts, max(1, truth.typical // _ALARM_PART)) | truth.labels


@_on_background
def _events_or_coverage(truth: Truth) -> Graded:
    starts, lengths = truth.events.starts, truth.events.lengths
    if lengths.size < 2:
        return
    parts = np.maximum(1, lengths // 5)
    yield 1.0, truth.marked(starts + (lengths - parts) // 2, parts)
    half = truth.chance.permutation(lengths.size)[: lengths.size // 2]
    yield 0.0, truth.marked(starts[half], lengths[half])


@_on_background
def _early_or_coverage(truth: Truth) -> Graded:
    starts, lengths = truth.events.starts, truth.events.lengths
    fifths = np.maximum(1, lengths // 5)
    late = np.minimum(2 * fifths, lengths - 1)
    yield float(late.sum() > 0), truth.marked(starts, fifths)  # a single step has no late part
    yield 0.0, truth.marked(starts + late, lengths - late)


@_on_background
def _alarms_or_steps(truth: Truth) -> Graded:
    many = truth.normal_steps(8 * len(truth.events))
    few = truth.marked(many[: len(truth.events)], 16) | truth.labels
    short = truth.marked(many, 1) | truth.labels
    yield float(np.count_nonzero(few) > np.count_nonzero(short)), few  # else few alarms cost no more steps
    yield 0.0, short


def _by_name(*made: tuple[str, Make, str]) -> dict[str, Fake]:
    return {name: Fake(name, text, "order", make, drawn=True) for name, make, text in made}


_FOUND = "the share of the events found falls from all to a fifth, but one is found at least"
_COVERED = "every event is found; the share of it that is flagged, at one random place, falls from all to a fifth"
_DELAYED = "every event is found, by an alarm of a fifth of its length that moves from its beginning to its end"
_ALARMED = "every event is flagged exactly; false alarms of an eighth of a typical event grow from 0 to 8 per event"
_NOISY = "scores are 1 in events and 0 elsewhere, plus normal noise that grows from 0.125 to 2 deviations"

DAMAGES = _by_name(
    ("events", _events, _FOUND),
    ("coverage", _coverage, _COVERED),
    ("delay", _delay, _DELAYED),
    ("alarms", _alarms, _ALARMED),
    ("noise", _noise, _NOISY),
)
"""The kinds of damage."""

CHOICES = _by_name(
    ("events", _events_or_coverage, "every event found by a fifth of it, above half of the events found whole"),
    ("delay", _early_or_coverage, "the first fifth of every event, above its last three fifths"),
    ("alarms", _alarms_or_steps, "one false alarm of 16 steps per event, above 8 of a single step"),
)
"""Pairs where a question competes with another one; the first detector should win if the question matters most."""


def series_with_anomalies(recording: Recording) -> list[Recording]:
    """The labels of each series in which a step that counts is anomalous, without any detector."""
    nothing: Any = {"scores": None, "predictions": None, "absent": None, "of_others": None}
    alone = replace(recording, ignore=recording.is_left_out, missing="error", **nothing)
    return [part for part in alone.parts() if counted_labels(part).any()]


def counted_labels(recording: Recording) -> BoolArray:
    """Labels of the steps that count, from which detectors are made; empty where none does."""
    return recording.labels if recording.is_left_out is None else recording.labels[~recording.is_left_out]


def judged(labels: Recording, detection: Detection, measures: Measures) -> dict[str, Value]:
    """Values of a detector that was made from the labels of one series; a metric that breaks has none."""
    on_all_steps, flags = labels.timeline.on_all_steps, detection.predictions
    recording = replace(
        labels,
        scores=on_all_steps(detection.scores),
        predictions=None if flags is None else on_all_steps(flags),
    )
    return values_of(recording, measures, keep_going=True)
