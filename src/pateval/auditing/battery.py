"""Detectors that should not win, made from labels, and one that should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pateval.labels.events import Events, find_events, runs, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

REAL, PERFECT, RANDOM = "real", "perfect", "random"


class Detection(NamedTuple):
    """What a detector says: a score per step, and which steps it flags."""

    scores: FloatArray
    predictions: BoolArray


@dataclass(frozen=True)
class Truth:
    """Labels, the events in them, and where each series begins."""

    labels: BoolArray
    starts: IntArray
    events: Events

    @classmethod
    def of(cls, labels: BoolArray, starts: IntArray) -> Truth:
        """Find the events of checked labels."""
        return cls(labels, starts, find_events(labels, starts))

    @property
    def typical(self) -> int:
        """Median length of the events."""
        return int(np.median(self.events.lengths))

    @property
    def steps_into_series(self) -> IntArray:
        """For each step, how many of its series came before it."""
        lengths = np.diff(np.append(self.starts, self.labels.size))
        return np.arange(self.labels.size) - np.repeat(self.starts, lengths)


class AuditDetector(NamedTuple):
    """One detector of the battery.

    Attributes
    ----------
    name : str
        As in tables.
    text : str
        What it does.
    kind : str
        "worthless" finds nothing but by luck; "poor" knows the events and makes bad use of it; "real" and "perfect" are
        what the others are compared with.
    drawn : bool
        Whether it depends on chance, so that several draws are made.
    make : callable
        Truth and a source of chance to a `Detection`.
    """

    name: str
    text: str
    kind: str
    drawn: bool
    make: Callable[[Truth, np.random.Generator], Detection]


def _random(truth: Truth, chance: np.random.Generator) -> Detection:
    return _cut(truth, chance.random(truth.labels.size))


def _constant(truth: Truth, _: np.random.Generator) -> Detection:
    return Detection(np.zeros(truth.labels.size), np.zeros(truth.labels.size, dtype=np.bool_))


def _always_on(truth: Truth, _: np.random.Generator) -> Detection:
    return _flags(np.ones(truth.labels.size, dtype=np.bool_))


def _one_per_length(truth: Truth, chance: np.random.Generator) -> Detection:
    length = max(truth.typical, 2)
    flagged = np.zeros(truth.labels.size, dtype=np.bool_)
    for first, stop in zip(truth.starts, np.append(truth.starts[1:], truth.labels.size), strict=True):
        places = np.arange(first, stop, length)
        places = places + chance.integers(length, size=places.size)
        flagged[places[places < stop]] = True
    return _flags(flagged)


def _periodic(truth: Truth, _: np.random.Generator) -> Detection:
    length = max(truth.typical, 2)
    return _flags(truth.steps_into_series % length == length // 2)


def _inverted(truth: Truth, _: np.random.Generator) -> Detection:
    return _flags(~truth.labels)


def _one_point(truth: Truth, chance: np.random.Generator) -> Detection:
    flagged = np.zeros(truth.labels.size, dtype=np.bool_)
    flagged[truth.events.starts + chance.integers(truth.events.lengths)] = True
    return _flags(flagged)


def _shifted_early(truth: Truth, _: np.random.Generator) -> Detection:
    events = truth.events
    before = np.maximum(events.starts - events.lengths, events.lows)
    return _flags(_mark(before, events.starts, truth.labels.size) & ~truth.labels)


def _shifted_late(truth: Truth, _: np.random.Generator) -> Detection:
    events = truth.events
    after = np.minimum(events.stops + events.lengths, events.highs)
    return _flags(_mark(events.stops, after, truth.labels.size) & ~truth.labels)


def _fragmented(truth: Truth, chance: np.random.Generator) -> Detection:
    real = _real(truth, chance)
    starts, stops = runs(real.predictions)
    dropped = np.concatenate([np.arange(start + 1, stop, 2) for start, stop in zip(starts, stops, strict=True)])
    scores, predictions = real.scores.copy(), real.predictions.copy()
    scores[dropped], predictions[dropped] = 0.0, False
    return Detection(scores, predictions)


def _real(truth: Truth, chance: np.random.Generator) -> Detection:
    events, size = truth.events, truth.labels.size
    scores = chance.uniform(0.0, 0.5, size)
    ripple = chance.uniform(0.0, 0.1, size)
    late = events.lengths // 10
    begin, end = events.starts + late, np.minimum(events.stops + late, events.highs)
    heights = chance.uniform(0.5, 1.0, len(events))
    normal = np.flatnonzero(~truth.labels)
    if normal.size:
        wrong = chance.choice(normal, size=max(1, len(events) // 4))
        series = np.searchsorted(truth.starts, wrong, side="right")
        cut = np.minimum(wrong + truth.typical, np.append(truth.starts, size)[series])
        for start, stop, height in zip(wrong, cut, chance.uniform(0.25, 0.75, wrong.size), strict=True):
            scores[start:stop] = height + ripple[start:stop]
    for number, (start, stop, height) in enumerate(zip(begin, end, heights, strict=True), start=1):
        if number % 10:
            scores[start:stop] = height + ripple[start:stop]
    return _cut(truth, scores)


def _perfect(truth: Truth, _: np.random.Generator) -> Detection:
    return _flags(truth.labels)


BATTERY = (
    AuditDetector(RANDOM, "uniform random scores", "worthless", True, _random),
    AuditDetector("constant", "the same score everywhere, no step flagged", "worthless", False, _constant),
    AuditDetector("always_on", "every step flagged", "worthless", False, _always_on),
    AuditDetector(
        "one_per_length",
        "a random step in every stretch as long as a typical event",
        "worthless",
        True,
        _one_per_length,
    ),
    AuditDetector("periodic", "a step at regular intervals as long as a typical event", "worthless", False, _periodic),
    AuditDetector("inverted", "every normal step flagged and no other", "worthless", False, _inverted),
    AuditDetector("one_point", "a random step of every event", "poor", True, _one_point),
    AuditDetector("shifted_early", "every event, moved ahead by its own length", "poor", False, _shifted_early),
    AuditDetector("shifted_late", "every event, moved back by its own length", "poor", False, _shifted_late),
    AuditDetector(
        "fragmented", "the real detector with every other step of its alarms switched off", "poor", True, _fragmented
    ),
    AuditDetector(REAL, "noisy but real: late by a tenth, misses a tenth, false alarms", "real", True, _real),
    AuditDetector(PERFECT, "the labels themselves", "perfect", False, _perfect),
)


def _flags(predictions: BoolArray) -> Detection:
    """Flagged steps, with 0/1 as scores."""
    return Detection(predictions.astype(np.float64), predictions)


def _cut(truth: Truth, scores: FloatArray) -> Detection:
    """Flag as many steps as are anomalous, those with the highest scores."""
    rank = truth.labels.size - int(np.count_nonzero(truth.labels))
    return Detection(scores, scores >= np.partition(scores, rank)[rank])


def _mark(starts: IntArray, stops: IntArray, size: int) -> BoolArray:
    """Mark the steps of runs ``[start, stop)``, which may overlap or be empty."""
    marked = np.zeros(size, dtype=np.bool_)
    marked[within(starts, stops - starts)] = True
    return marked
