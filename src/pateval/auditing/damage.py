"""Detectors of known order: made from the labels and damaged step by step, in one respect at a time.

All detectors of one kind differ in that respect alone, so a metric that says anything about it puts them in order.
Scores are evenly spread values, low where nothing is flagged and high where something is; only under ``noise`` do the
two overlap, and the threshold rule decides what is flagged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pateval.auditing.fakes import Detection, marked
from pateval.labels.events import Events, find_events
from pateval.validation.arrays import BoolArray, FloatArray

_SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the events found, and of each event covered
_PLACES = 5  # where an alarm, a fifth of its event long, may lie in it
_ALARMS = (0, 1, 2, 4, 8)  # false alarms per event
_ALARM_PART = 8  # a typical event is so many times as long as a false alarm
_NOISE = (0.125, 0.25, 0.5, 1.0, 2.0)  # standard deviations of the noise on scores of 0 and 1
_TIE = 1e-9
_GOLDEN_RATIO = (5**0.5 - 1) / 2


class GradedDetection(NamedTuple):
    """A damaged detector and how good it is; only the order of the qualities of one kind means anything."""

    quality: float
    detection: Detection


Flagged = Iterator[tuple[float, BoolArray]]
"""Quality and flagged steps of one detector after the other, the best one first."""


@dataclass(frozen=True)
class Damage:
    """One kind of damage, or one choice between two.

    Attributes
    ----------
    text : str
        In words.
    flag : callable or None
        Labels, their events and a source of chance to what each detector flags. None for noise on scores of 0 and 1,
        where a threshold decides that.
    """

    text: str
    flag: Callable[[BoolArray, Events, np.random.Generator], Flagged] | None = None

    def detections(self, labels: BoolArray, chance: np.random.Generator) -> list[GradedDetection]:
        """Make the detectors, the best one first; none where the labels do not allow it.

        Parameters
        ----------
        labels : ndarray of bool
            Truth, with at least one event.
        chance : Generator
            Decides which events are missed, where alarms lie, and the small differences between scores; all detectors
            share it.

        Examples
        --------
        >>> labels = np.repeat([False, True, False], [40, 10, 50])
        >>> made = DAMAGES["coverage"].detections(labels, np.random.default_rng(0))
        >>> [int(each.detection.predictions.sum()) for each in made]
        [10, 8, 6, 4, 2]
        """
        if self.flag is None:
            noise = chance.normal(size=labels.size)
            return [GradedDetection(-deviation, Detection(labels + deviation * noise)) for deviation in _NOISE]
        # Distinct values from 0 to 1, as evenly spread over every part of the series as over the whole. With random
        # ones a metric on scores would mostly see which of them an alarm happens to cover.
        background = 0.4 * ((chance.random() + np.arange(labels.size) * _GOLDEN_RATIO) % 1.0)
        return [
            GradedDetection(quality, Detection(np.where(flagged, 0.6, 0.0) + background, flagged))
            for quality, flagged in self.flag(labels, find_events(labels), chance)
        ]


def agreement_with_order(qualities: FloatArray, values: FloatArray) -> FloatArray:
    """Rank correlation of values with the known order: Somers' D, 1 for the same order, -1 for the reverse.

    Over all pairs that differ in quality, the share that the values put in the right order less the share that they put
    in the wrong one; a pair that they leave level counts for neither, so a constant gets 0. Pairs where a value is not
    defined are left out.

    Parameters
    ----------
    qualities : ndarray of shape (detectors,)
        The truth, higher is better.
    values : ndarray of shape (detectors, metrics)
        Higher is better.

    Returns
    -------
    ndarray of shape (metrics,)
        NaN where no pair is left.

    Examples
    --------
    >>> agreement_with_order(np.array([3.0, 2.0, 1.0]), np.array([[0.9, 1.0], [0.5, 1.0], [0.7, 1.0]]))
    array([0.33333333, 0.        ])
    """
    one, other = np.triu_indices(qualities.size, 1)
    truth = np.sign(qualities[one] - qualities[other])
    one, other, truth = one[truth != 0], other[truth != 0], truth[truth != 0]
    with np.errstate(invalid="ignore"):
        gaps = values[one] - values[other]
    defined = ~np.isnan(gaps)
    signs = np.where(np.abs(np.nan_to_num(gaps)) > _TIE, np.sign(np.nan_to_num(gaps)), 0.0)
    pairs = defined.sum(axis=0)
    return np.asarray(np.where(pairs > 0, (signs * truth[:, None]).sum(axis=0) / np.maximum(pairs, 1), np.nan))


def _events(labels: BoolArray, events: Events, chance: np.random.Generator) -> Flagged:
    order = chance.permutation(len(events))
    for number in dict.fromkeys(max(1, round(share * len(events))) for share in _SHARES):
        found = order[:number]
        yield float(number), marked(events.starts[found], events.lengths[found], labels.size)


def _coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> Flagged:
    place = chance.random(len(events))
    for share in _SHARES:
        parts = np.maximum(1, np.rint(share * events.lengths)).astype(np.intp)
        offsets = np.floor(place * (events.lengths - parts + 1)).astype(np.intp)
        yield float(parts.sum()), marked(events.starts + offsets, parts, labels.size)


def _delay(labels: BoolArray, events: Events, _: np.random.Generator) -> Flagged:
    parts = np.maximum(1, events.lengths // _PLACES)
    for place in range(_PLACES):
        offsets = place * (events.lengths - parts) // (_PLACES - 1)
        yield -float(offsets.sum()), marked(events.starts + offsets, parts, labels.size)


def _alarms(labels: BoolArray, events: Events, chance: np.random.Generator) -> Flagged:
    normal = np.flatnonzero(~labels)
    length = max(1, int(np.median(events.lengths)) // _ALARM_PART)
    places = chance.choice(normal, size=min(normal.size, _ALARMS[-1] * len(events)), replace=False)
    for per_event in _ALARMS:
        starts = places[: per_event * len(events)]
        lengths = np.minimum(starts + length, labels.size) - starts
        yield -float(starts.size), marked(starts, lengths, labels.size) | labels


def _events_or_coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> Flagged:
    if len(events) < 2:
        return
    parts = np.maximum(1, events.lengths // 5)
    yield 1.0, marked(events.starts + (events.lengths - parts) // 2, parts, labels.size)
    half = chance.permutation(len(events))[: len(events) // 2]
    yield 0.0, marked(events.starts[half], events.lengths[half], labels.size)


def _early_or_coverage(labels: BoolArray, events: Events, _: np.random.Generator) -> Flagged:
    fifths = np.maximum(1, events.lengths // 5)
    late = np.minimum(2 * fifths, events.lengths - 1)
    yield float(late.sum() > 0), marked(events.starts, fifths, labels.size)  # a single step has no late part
    yield 0.0, marked(events.starts + late, events.lengths - late, labels.size)


def _alarms_or_steps(labels: BoolArray, events: Events, chance: np.random.Generator) -> Flagged:
    normal = np.flatnonzero(~labels)
    many = chance.choice(normal, size=min(normal.size, 8 * len(events)), replace=False)
    long = np.minimum(many[: len(events)] + 16, labels.size) - many[: len(events)]
    few = marked(many[: len(events)], long, labels.size) | labels
    short = marked(many, np.ones_like(many), labels.size) | labels
    yield float(np.count_nonzero(few) > np.count_nonzero(short)), few  # else few alarms cost no more steps
    yield 0.0, short


DAMAGES = {
    "events": Damage("the share of the events found falls from all to a fifth, but one is found at least", _events),
    "coverage": Damage(
        "every event is found; the share of it that is flagged, at one random place, falls from all to a fifth",
        _coverage,
    ),
    "delay": Damage(
        "every event is found, by an alarm of a fifth of its length that moves from its beginning to its end", _delay
    ),
    "alarms": Damage(
        "every event is flagged exactly; false alarms of an eighth of a typical event grow from 0 to 8 per event",
        _alarms,
    ),
    "noise": Damage("scores are 1 in events and 0 elsewhere, plus normal noise that grows from 0.125 to 2 deviations"),
}
"""The kinds of damage."""

CHOICES = {
    "events": Damage("every event found by a fifth of it, above half of the events found whole", _events_or_coverage),
    "delay": Damage("the first fifth of every event, above its last three fifths", _early_or_coverage),
    "alarms": Damage("one false alarm of 16 steps per event, above 8 of a single step", _alarms_or_steps),
}
"""Pairs where a question competes with another one; the first detector should win if the question matters most."""
