"""Detectors without skill that real ones are held against: some have never seen the labels, one has and does little."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pateval.labels.events import find_events
from pateval.validation.arrays import BoolArray, FloatArray

SPIKE_INTERVAL = 100
"""Steps per spike, the length of the default buffers and windows; it must not depend on the labels."""


class DetectorOutput(NamedTuple):
    """What a detector hands in: scores, and what it flags, or None where the threshold rule decides that."""

    scores: FloatArray
    predictions: BoolArray | None


class Fake(NamedTuple):
    """One detector without skill.

    Attributes
    ----------
    name : str
        As in tables.
    text : str
        What it does.
    knows_labels : bool
        Whether it is made from the labels.
    drawn : bool
        Whether it depends on chance, so that several draws are made.
    make : callable
        Labels and a source of chance to an `DetectorOutput`.
    """

    name: str
    text: str
    knows_labels: bool
    drawn: bool
    make: Callable[[BoolArray, np.random.Generator], DetectorOutput]


def _random(labels: BoolArray, chance: np.random.Generator) -> DetectorOutput:
    return DetectorOutput(chance.random(labels.size), None)


def _constant(labels: BoolArray, _: np.random.Generator) -> DetectorOutput:
    return DetectorOutput(np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_))


def _everything(labels: BoolArray, _: np.random.Generator) -> DetectorOutput:
    return flagging(np.ones(labels.size, dtype=np.bool_))


def _random_spikes(labels: BoolArray, chance: np.random.Generator) -> DetectorOutput:
    flagged = np.zeros(labels.size, dtype=np.bool_)
    number = max(1, labels.size // SPIKE_INTERVAL)
    flagged[chance.choice(labels.size, size=number, replace=False)] = True
    return flagging(flagged)


def _regular_spikes(labels: BoolArray, _: np.random.Generator) -> DetectorOutput:
    interval = min(SPIKE_INTERVAL, labels.size)
    return flagging(np.arange(labels.size) % interval == interval // 2)


def _step_per_event(labels: BoolArray, chance: np.random.Generator) -> DetectorOutput:
    events = find_events(labels)
    flagged = np.zeros(labels.size, dtype=np.bool_)
    flagged[events.starts + chance.integers(events.lengths)] = True
    return flagging(flagged)


def flagging(predictions: BoolArray) -> DetectorOutput:
    """Hand in flagged steps, with 0 and 1 as scores."""
    return DetectorOutput(predictions.astype(np.float64), predictions)


SKILL_FREE = (
    Fake("random", "uniform random scores, flagged by the threshold rule", False, True, _random),
    Fake("constant", "the same score everywhere, no step flagged", False, False, _constant),
    Fake("everything", "the same score everywhere, every step flagged", False, False, _everything),
    Fake("random_spikes", f"one step in {SPIKE_INTERVAL} flagged, at random places", False, True, _random_spikes),
    Fake("regular_spikes", f"every {SPIKE_INTERVAL}th step flagged", False, False, _regular_spikes),
    Fake("step_per_event", "one step of every event flagged, at random, and nothing else", True, True, _step_per_event),
)
"""The detectors that a metric should not place near the best real one."""
