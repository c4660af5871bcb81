"""Detectors made to be held against real ones: without skill, with little, and one real and one perfect.

`BATTERY` is what an audit of labels alone judges; `SKILL_FREE` is what an audit with scores holds against the real
detectors there. All are made from the labels of one series.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pateval.labels.events import find_events, runs, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

SPIKE_INTERVAL = 100
"""Steps per spike, the length of the default buffers and windows; it must not depend on the labels."""
REAL, PERFECT, RANDOM = "real", "perfect", "random"


class Detection(NamedTuple):
    """What a detector hands in: scores, and what it flags, or None where a threshold decides that."""

    scores: FloatArray
    predictions: BoolArray | None = None


class Fake(NamedTuple):
    """One detector that is made.

    Attributes
    ----------
    name : str
        As in tables.
    text : str
        What it does.
    kind : str
        In `BATTERY` "worthless" finds nothing but by luck, "poor" knows the events and makes bad use of it, "real" and
        "perfect" are what the others are compared with. In `SKILL_FREE` "blind" is not made from the labels, "minimal"
        is, and does little.
    make : callable
        Labels with at least one event, and a source of chance, to a `Detection`.
    drawn : bool
        Whether it depends on chance, so that several draws are made.
    """

    name: str
    text: str
    kind: str
    make: Callable[[BoolArray, np.random.Generator], Detection]
    drawn: bool = False

    def draws(self, number: int) -> range:
        """As many draws as are asked for, or one where there is no chance in it."""
        return range(number if self.drawn else 1)


def marked(starts: IntArray, lengths: IntArray, size: int) -> BoolArray:
    """Mark the steps of runs, which may overlap or be empty.

    Examples
    --------
    >>> marked(np.array([1, 4]), np.array([2, 1]), 6).astype(int).tolist()
    [0, 1, 1, 0, 1, 0]
    """
    mask = np.zeros(size, dtype=np.bool_)
    mask[within(starts, lengths)] = True
    return mask


def as_many_as(labels: BoolArray, scores: FloatArray) -> BoolArray:
    """Flag as many steps as are anomalous, those with the highest scores."""
    rank = labels.size - int(np.count_nonzero(labels))
    return np.asarray(scores >= np.partition(scores, rank)[rank])


def _flags(predictions: BoolArray) -> Detection:
    """Flagged steps, with 0 and 1 as scores."""
    return Detection(predictions.astype(np.float64), predictions)


def _typical(labels: BoolArray) -> int:
    """Median length of the events."""
    return int(np.median(find_events(labels).lengths))


def _random(labels: BoolArray, chance: np.random.Generator) -> Detection:
    return Detection(chance.random(labels.size))


def _constant(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _flags(np.zeros(labels.size, dtype=np.bool_))


def _everything(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _flags(np.ones(labels.size, dtype=np.bool_))


def _random_spikes(labels: BoolArray, chance: np.random.Generator) -> Detection:
    number = max(1, labels.size // SPIKE_INTERVAL)
    places = chance.choice(labels.size, size=number, replace=False)
    return _flags(marked(places, np.ones_like(places), labels.size))


def _one_per_length(labels: BoolArray, chance: np.random.Generator) -> Detection:
    length = max(_typical(labels), 2)
    places = np.arange(0, labels.size, length)
    places = places + chance.integers(length, size=places.size)
    places = places[places < labels.size]
    return _flags(marked(places, np.ones_like(places), labels.size))


def _regular_spikes(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _regular(labels.size, min(SPIKE_INTERVAL, labels.size))


def _periodic(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _regular(labels.size, max(_typical(labels), 2))


def _regular(size: int, interval: int) -> Detection:
    return _flags(np.arange(size) % interval == interval // 2)


def _inverted(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _flags(~labels)


def _step_per_event(labels: BoolArray, chance: np.random.Generator) -> Detection:
    events = find_events(labels)
    places = events.starts + chance.integers(events.lengths)
    return _flags(marked(places, np.ones_like(places), labels.size))


def _shifted_early(labels: BoolArray, _: np.random.Generator) -> Detection:
    events = find_events(labels)
    before = np.maximum(events.starts - events.lengths, 0)
    return _flags(marked(before, events.starts - before, labels.size) & ~labels)


def _shifted_late(labels: BoolArray, _: np.random.Generator) -> Detection:
    events = find_events(labels)
    after = np.minimum(events.stops + events.lengths, labels.size)
    return _flags(marked(events.stops, after - events.stops, labels.size) & ~labels)


def _real(labels: BoolArray, chance: np.random.Generator) -> Detection:
    events, size = find_events(labels), labels.size
    scores = chance.uniform(0.0, 0.5, size)
    roughness = chance.uniform(0.0, 0.1, size)
    late = events.lengths // 10
    begin, end = events.starts + late, np.minimum(events.stops + late, size)
    heights = chance.uniform(0.5, 1.0, len(events))
    normal = np.flatnonzero(~labels)
    if normal.size:
        wrong = chance.choice(normal, size=max(1, len(events) // 4))
        cut = np.minimum(wrong + _typical(labels), size)
        for start, stop, height in zip(wrong, cut, chance.uniform(0.25, 0.75, wrong.size), strict=True):
            scores[start:stop] = height + roughness[start:stop]
    for number, (start, stop, height) in enumerate(zip(begin, end, heights, strict=True), start=1):
        if number % 10:
            scores[start:stop] = height + roughness[start:stop]
    return Detection(scores)


def _fragmented(labels: BoolArray, chance: np.random.Generator) -> Detection:
    scores = _real(labels, chance).scores
    predictions = as_many_as(labels, scores)
    dropped = np.concatenate([np.arange(start + 1, stop, 2) for start, stop in zip(*runs(predictions), strict=True)])
    scores[dropped], predictions[dropped] = 0.0, False
    return Detection(scores, predictions)


def _perfect(labels: BoolArray, _: np.random.Generator) -> Detection:
    return _flags(labels)


_PER_LENGTH = "a random step in every stretch as long as a typical event"
_FRAGMENTS = "the real detector with every other step of its alarms switched off"

BATTERY = (
    Fake(RANDOM, "uniform random scores", "worthless", _random, drawn=True),
    Fake("constant", "the same score everywhere, no step flagged", "worthless", _constant),
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

SKILL_FREE = (
    Fake(RANDOM, "uniform random scores, flagged by the threshold rule", "blind", _random, drawn=True),
    Fake("constant", "the same score everywhere, no step flagged", "blind", _constant),
    Fake("everything", "the same score everywhere, every step flagged", "blind", _everything),
    Fake(
        "random_spikes", f"one step in {SPIKE_INTERVAL} flagged, at random places", "blind", _random_spikes, drawn=True
    ),
    Fake("regular_spikes", f"every {SPIKE_INTERVAL}th step flagged", "blind", _regular_spikes),
    Fake(
        "step_per_event",
        "one step of every event flagged, at random, and nothing else",
        "minimal",
        _step_per_event,
        True,
    ),
)
"""The detectors that a metric should not place near the best real one."""
