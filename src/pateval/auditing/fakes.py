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
from pateval.labels.events import Events, find_events, runs, within
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


Make = Callable[[BoolArray, Events, np.random.Generator], "Detection | BoolArray | Iterable[Detection]"]


@dataclass(frozen=True)
class Fake:
    """One detector that is made, or several of known order.

    Attributes
    ----------
    name : str
        As in tables.
    text : str
        What it does.
    kind : str
        In `BATTERY` "worthless" finds nothing but by luck, "poor" knows the events and makes bad use of it, "real" and
        "perfect" are what the others are compared with. In `SKILL_FREE` "blind" is not made from the labels, "minimal"
        is, and does little. In `DAMAGES` and `CHOICES` it is "order".
    make : callable
        Labels with at least one event, their events and a source of chance to detections, or to what is flagged.
    drawn : bool
        Whether it depends on chance, so that several draws are made.
    """

    name: str
    text: str
    kind: str
    make: Make
    drawn: bool = False

    def detections(self, labels: BoolArray, chance: np.random.Generator) -> list[Detection]:
        """What it hands in, the best one first; nothing where the labels do not allow it.

        Examples
        --------
        >>> labels = np.repeat([False, True, False], [40, 10, 50])
        >>> made = DAMAGES["coverage"].detections(labels, np.random.default_rng(0))
        >>> [int(each.predictions.sum()) for each in made]
        [10, 8, 6, 4, 2]
        """
        made = self.make(labels, find_events(labels), chance)
        if isinstance(made, np.ndarray):
            return [Detection(made.astype(np.float64), made)]
        return [made] if isinstance(made, Detection) else list(made)

    def draws(self, number: int) -> range:
        """As many draws as are asked for, or one where there is no chance in it."""
        return range(number if self.drawn else 1)


def marked(starts: IntArray, lengths: IntArray | int, size: int) -> BoolArray:
    """Mark the steps of runs, which may overlap, be empty, or end with the series.

    Examples
    --------
    >>> marked(np.array([1, 4]), np.array([2, 1]), 6).astype(int).tolist()
    [0, 1, 1, 0, 1, 0]
    """
    mask = np.zeros(size, dtype=np.bool_)
    mask[within(starts, np.minimum(starts + lengths, size) - starts)] = True
    return mask


def as_many_as(labels: BoolArray, scores: FloatArray) -> BoolArray:
    """Flag as many steps as are anomalous, those with the highest scores."""
    rank = labels.size - int(np.count_nonzero(labels))
    return np.asarray(scores >= np.partition(scores, rank)[rank])


def _typical(events: Events) -> int:
    """Median length of the events."""
    return int(np.median(events.lengths))


def _nothing(labels: BoolArray, _events: Events, _chance: np.random.Generator) -> BoolArray:
    return np.zeros_like(labels)


def _everything(labels: BoolArray, _events: Events, _chance: np.random.Generator) -> BoolArray:
    return np.ones_like(labels)


def _inverted(labels: BoolArray, _events: Events, _chance: np.random.Generator) -> BoolArray:
    return ~labels


def _perfect(labels: BoolArray, _events: Events, _chance: np.random.Generator) -> BoolArray:
    return labels


def _random(labels: BoolArray, _: Events, chance: np.random.Generator) -> Detection:
    return Detection(chance.random(labels.size))


def _random_spikes(labels: BoolArray, _: Events, chance: np.random.Generator) -> BoolArray:
    number = max(1, labels.size // SPIKE_INTERVAL)
    return marked(chance.choice(labels.size, size=number, replace=False), 1, labels.size)


def _one_per_length(labels: BoolArray, events: Events, chance: np.random.Generator) -> BoolArray:
    length = max(_typical(events), 2)
    places = np.arange(0, labels.size, length)
    places = places + chance.integers(length, size=places.size)
    return marked(places[places < labels.size], 1, labels.size)


def _regular_spikes(labels: BoolArray, _events: Events, _chance: np.random.Generator) -> BoolArray:
    return _regular(labels.size, min(SPIKE_INTERVAL, labels.size))


def _periodic(labels: BoolArray, events: Events, _: np.random.Generator) -> BoolArray:
    return _regular(labels.size, max(_typical(events), 2))


def _regular(size: int, interval: int) -> BoolArray:
    return np.arange(size) % interval == interval // 2


def _step_per_event(labels: BoolArray, events: Events, chance: np.random.Generator) -> BoolArray:
    return marked(events.starts + chance.integers(events.lengths), 1, labels.size)


def _shifted_early(labels: BoolArray, events: Events, _: np.random.Generator) -> BoolArray:
    before = np.maximum(events.starts - events.lengths, 0)
    return marked(before, events.starts - before, labels.size) & ~labels


def _shifted_late(labels: BoolArray, events: Events, _: np.random.Generator) -> BoolArray:
    return marked(events.stops, events.lengths, labels.size) & ~labels


def _real(labels: BoolArray, events: Events, chance: np.random.Generator) -> Detection:
    size = labels.size
    scores = chance.uniform(0.0, 0.5, size)
    roughness = chance.uniform(0.0, 0.1, size)
    late = events.lengths // 10
    begin, end = events.starts + late, np.minimum(events.stops + late, size)
    heights = chance.uniform(0.5, 1.0, len(events))
    normal = np.flatnonzero(~labels)
    if normal.size:
        wrong = chance.choice(normal, size=max(1, len(events) // 4))
        cut = np.minimum(wrong + _typical(events), size)
        for start, stop, height in zip(wrong, cut, chance.uniform(0.25, 0.75, wrong.size), strict=True):
            scores[start:stop] = height + roughness[start:stop]
    for number, (start, stop, height) in enumerate(zip(begin, end, heights, strict=True), start=1):
        if number % 10:
            scores[start:stop] = height + roughness[start:stop]
    return Detection(scores)


def _fragmented(labels: BoolArray, events: Events, chance: np.random.Generator) -> Detection:
    scores = _real(labels, events, chance).scores
    predictions = as_many_as(labels, scores)
    dropped = np.concatenate([np.arange(start + 1, stop, 2) for start, stop in zip(*runs(predictions), strict=True)])
    scores[dropped], predictions[dropped] = 0.0, False
    return Detection(scores, predictions)


_PER_LENGTH = "a random step in every stretch as long as a typical event"
_FRAGMENTS = "the real detector with every other step of its alarms switched off"

BATTERY = (
    Fake(RANDOM, "uniform random scores", "worthless", _random, drawn=True),
    Fake("constant", "the same score everywhere, no step flagged", "worthless", _nothing),
    Fake("always_on", "every step flagged", "worthless", _everything),
    Fake("one_per_length", _PER_LENGTH, "worthless", _one_per_length, drawn=True),
    Fake("periodic", "a step at regular intervals as long as a typical event", "worthless", _periodic),
    Fake("inverted", "every normal step flagged and no other", "worthless", _inverted),
    Fake("one_point", "a random step of every event", "poor", _step_per_event, drawn=True),
    Fake("shifted_early", "every event, moved ahead by its own length", "poor", _shifted_early),
    Fake("shifted_late", "every event, moved back by its own length", "poor", _shifted_late),
    Fake("fragmented", _FRAGMENTS, "poor", _fragmented, drawn=True),
    Fake(REAL, "noisy but real: late by a tenth, misses a tenth, false alarms", "real", _real, drawn=True),
    Fake(PERFECT, "the labels themselves", "perfect", _perfect),
)
"""What an audit of labels judges."""

_SPIKES = f"one step in {SPIKE_INTERVAL} flagged, at random places"
_ONE_STEP = "one step of every event flagged, at random, and nothing else"

SKILL_FREE = (
    Fake(RANDOM, "uniform random scores, flagged by the threshold rule", "blind", _random, drawn=True),
    Fake("constant", "the same score everywhere, no step flagged", "blind", _nothing),
    Fake("everything", "the same score everywhere, every step flagged", "blind", _everything),
    Fake("random_spikes", _SPIKES, "blind", _random_spikes, drawn=True),
    Fake("regular_spikes", f"every {SPIKE_INTERVAL}th step flagged", "blind", _regular_spikes),
    Fake("step_per_event", _ONE_STEP, "minimal", _step_per_event, drawn=True),
)
"""The detectors that a metric should not place near the best real one."""


Graded = Iterator[tuple[float, BoolArray]]
"""Quality and flagged steps of one detector after the other, the best one first."""


def _noise(labels: BoolArray, _: Events, chance: np.random.Generator) -> Iterator[Detection]:
    noise = chance.normal(size=labels.size)
    for deviation in _NOISE:
        yield Detection(labels + deviation * noise, quality=-deviation)


def _on_background(flag: Callable[[BoolArray, Events, np.random.Generator], Graded]) -> Make:
    """Scores for what several detectors flag: distinct ones, so that a metric on scores sees them as well."""

    def make(labels: BoolArray, events: Events, chance: np.random.Generator) -> Iterator[Detection]:
        # Values from 0 to 1, as evenly spread over every part of the series as over the whole. With random ones a
        # metric on scores would mostly see which of them an alarm happens to cover.
        background = 0.4 * ((chance.random() + np.arange(labels.size) * _GOLDEN_RATIO) % 1.0)
        for quality, flagged in flag(labels, events, chance):
            yield Detection(np.where(flagged, 0.6, 0.0) + background, flagged, quality)

    return make


@_on_background
def _events(labels: BoolArray, events: Events, chance: np.random.Generator) -> Graded:
    order = chance.permutation(len(events))
    for number in dict.fromkeys(max(1, round(share * len(events))) for share in _SHARES):
        found = order[:number]
        yield float(number), marked(events.starts[found], events.lengths[found], labels.size)


@_on_background
def _coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> Graded:
    place = chance.random(len(events))
    for share in _SHARES:
        parts = np.maximum(1, np.rint(share * events.lengths)).astype(np.intp)
        offsets = np.floor(place * (events.lengths - parts + 1)).astype(np.intp)
        yield float(parts.sum()), marked(events.starts + offsets, parts, labels.size)


@_on_background
def _delay(labels: BoolArray, events: Events, _: np.random.Generator) -> Graded:
    parts = np.maximum(1, events.lengths // _PLACES)
    for place in range(_PLACES):
        offsets = place * (events.lengths - parts) // (_PLACES - 1)
        yield -float(offsets.sum()), marked(events.starts + offsets, parts, labels.size)


@_on_background
def _alarms(labels: BoolArray, events: Events, chance: np.random.Generator) -> Graded:
    normal = np.flatnonzero(~labels)
    length = max(1, _typical(events) // _ALARM_PART)
    places = chance.choice(normal, size=min(normal.size, _ALARMS[-1] * len(events)), replace=False)
    for per_event in _ALARMS:
        starts = places[: per_event * len(events)]
        yield -float(starts.size), marked(starts, length, labels.size) | labels


@_on_background
def _events_or_coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> Graded:
    if len(events) < 2:
        return
    parts = np.maximum(1, events.lengths // 5)
    yield 1.0, marked(events.starts + (events.lengths - parts) // 2, parts, labels.size)
    half = chance.permutation(len(events))[: len(events) // 2]
    yield 0.0, marked(events.starts[half], events.lengths[half], labels.size)


@_on_background
def _early_or_coverage(labels: BoolArray, events: Events, _: np.random.Generator) -> Graded:
    fifths = np.maximum(1, events.lengths // 5)
    late = np.minimum(2 * fifths, events.lengths - 1)
    yield float(late.sum() > 0), marked(events.starts, fifths, labels.size)  # a single step has no late part
    yield 0.0, marked(events.starts + late, events.lengths - late, labels.size)


@_on_background
def _alarms_or_steps(labels: BoolArray, events: Events, chance: np.random.Generator) -> Graded:
    normal = np.flatnonzero(~labels)
    many = chance.choice(normal, size=min(normal.size, 8 * len(events)), replace=False)
    few = marked(many[: len(events)], 16, labels.size) | labels
    short = marked(many, 1, labels.size) | labels
    yield float(np.count_nonzero(few) > np.count_nonzero(short)), few  # else few alarms cost no more steps
    yield 0.0, short


def _by_name(*made: tuple[str, str, Make]) -> dict[str, Fake]:
    return {name: Fake(name, text, "order", make, drawn=True) for name, text, make in made}


_FOUND = "the share of the events found falls from all to a fifth, but one is found at least"
_COVERED = "every event is found; the share of it that is flagged, at one random place, falls from all to a fifth"
_DELAYED = "every event is found, by an alarm of a fifth of its length that moves from its beginning to its end"
_ALARMED = "every event is flagged exactly; false alarms of an eighth of a typical event grow from 0 to 8 per event"
_NOISY = "scores are 1 in events and 0 elsewhere, plus normal noise that grows from 0.125 to 2 deviations"

DAMAGES = _by_name(
    ("events", _FOUND, _events),
    ("coverage", _COVERED, _coverage),
    ("delay", _DELAYED, _delay),
    ("alarms", _ALARMED, _alarms),
    ("noise", _NOISY, _noise),
)
"""The kinds of damage."""

CHOICES = _by_name(
    ("events", "every event found by a fifth of it, above half of the events found whole", _events_or_coverage),
    ("delay", "the first fifth of every event, above its last three fifths", _early_or_coverage),
    ("alarms", "one false alarm of 16 steps per event, above 8 of a single step", _alarms_or_steps),
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
