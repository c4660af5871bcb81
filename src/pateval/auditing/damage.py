"""Detectors of known order: made from the labels and damaged step by step, in one respect at a time.

All detectors of one kind differ in that respect alone, so a metric that says anything about it puts them in order.
Scores are a fixed ripple, low where nothing is flagged and high where something is; only under ``noise`` do the
two overlap, and the threshold rule decides what is flagged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pateval.auditing.fakes import DetectorOutput
from pateval.labels.events import Events, find_events, within
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

_SHARES = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the events found, and of each event covered
_PLACES = 5  # where an alarm, a fifth of its event long, may lie in it
_ALARMS = (0, 1, 2, 4, 8)  # false alarms per event
_ALARM_PART = 8  # a typical event is so many times as long as a false alarm
_NOISE = (0.125, 0.25, 0.5, 1.0, 2.0)  # standard deviations of the noise on scores of 0 and 1
_TIE = 1e-9
_GOLDEN_RATIO = (5**0.5 - 1) / 2


class GradedOutput(NamedTuple):
    """A damaged detector and how good it is; only the order of the qualities of one kind means anything."""

    quality: float
    output: DetectorOutput


Damage = Callable[[BoolArray, Events, np.random.Generator], list[GradedOutput]]


def graded(kind: str, labels: BoolArray, chance: np.random.Generator) -> list[GradedOutput]:
    """Make the detectors of one kind of damage, the best one first.

    Parameters
    ----------
    kind : str
        A key of `DAMAGES`.
    labels : ndarray of bool
        Truth, with at least one event.
    chance : Generator
        Decides which events are missed, where alarms lie, and the ripple of the scores; all detectors share it.

    Examples
    --------
    >>> labels = np.repeat([False, True, False], [40, 10, 50])
    >>> made = graded("coverage", labels, np.random.default_rng(0))
    >>> [int(each.output.predictions.sum()) for each in made]
    [10, 8, 6, 4, 2]
    """
    return _MAKERS[kind](labels, find_events(labels), chance)


def choice(kind: str, labels: BoolArray, chance: np.random.Generator) -> list[GradedOutput]:
    """Make the two detectors of one of `CHOICES`, the better one first; none where the labels do not allow it."""
    return _CHOICE_MAKERS[kind](labels, find_events(labels), chance)


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


def _events(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, order = _ripple(labels.size, chance), chance.permutation(len(events))
    made = []
    for number in dict.fromkeys(max(1, round(share * len(events))) for share in _SHARES):
        found = order[:number]
        flagged = _mark(events.starts[found], events.lengths[found], labels.size)
        made.append(GradedOutput(float(number), _rippled(flagged, ripple)))
    return made


def _coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, place = _ripple(labels.size, chance), chance.random(len(events))
    made = []
    for share in _SHARES:
        parts = np.maximum(1, np.rint(share * events.lengths)).astype(np.intp)
        offsets = np.floor(place * (events.lengths - parts + 1)).astype(np.intp)
        flagged = _mark(events.starts + offsets, parts, labels.size)
        made.append(GradedOutput(float(parts.sum()), _rippled(flagged, ripple)))
    return made


def _delay(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple = _ripple(labels.size, chance)
    parts = np.maximum(1, events.lengths // _PLACES)
    made = []
    for place in range(_PLACES):
        offsets = place * (events.lengths - parts) // (_PLACES - 1)
        flagged = _mark(events.starts + offsets, parts, labels.size)
        made.append(GradedOutput(-float(offsets.sum()), _rippled(flagged, ripple)))
    return made


def _alarms(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, normal = _ripple(labels.size, chance), np.flatnonzero(~labels)
    length = max(1, int(np.median(events.lengths)) // _ALARM_PART)
    places = chance.choice(normal, size=min(normal.size, _ALARMS[-1] * len(events)), replace=False)
    made = []
    for per_event in _ALARMS:
        starts = places[: per_event * len(events)]
        lengths = np.minimum(starts + length, labels.size) - starts
        flagged = _mark(starts, lengths, labels.size) | labels
        made.append(GradedOutput(-float(starts.size), _rippled(flagged, ripple)))
    return made


def _events_or_coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, order = _ripple(labels.size, chance), chance.permutation(len(events))
    if len(events) < 2:
        return []
    parts = np.maximum(1, events.lengths // 5)
    touched = _mark(events.starts + (events.lengths - parts) // 2, parts, labels.size)
    half = order[: len(events) // 2]
    whole = _mark(events.starts[half], events.lengths[half], labels.size)
    return [GradedOutput(1.0, _rippled(touched, ripple)), GradedOutput(0.0, _rippled(whole, ripple))]


def _early_or_coverage(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, fifths = _ripple(labels.size, chance), np.maximum(1, events.lengths // 5)
    first = _mark(events.starts, fifths, labels.size)
    late = np.minimum(2 * fifths, events.lengths - 1)
    rest = _mark(events.starts + late, events.lengths - late, labels.size)
    moved = float(late.sum() > 0)  # events of a single step have no late part
    return [GradedOutput(moved, _rippled(first, ripple)), GradedOutput(0.0, _rippled(rest, ripple))]


def _alarms_or_steps(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    ripple, normal = _ripple(labels.size, chance), np.flatnonzero(~labels)
    many = chance.choice(normal, size=min(normal.size, 8 * len(events)), replace=False)
    long = np.minimum(many[: len(events)] + 16, labels.size) - many[: len(events)]
    few = _mark(many[: len(events)], long, labels.size) | labels
    short = _mark(many, np.ones_like(many), labels.size) | labels
    better = float(np.count_nonzero(few) > np.count_nonzero(short))  # else few alarms cost no more steps
    return [GradedOutput(better, _rippled(few, ripple)), GradedOutput(0.0, _rippled(short, ripple))]


def _noise(labels: BoolArray, events: Events, chance: np.random.Generator) -> list[GradedOutput]:
    del events
    noise = chance.normal(size=labels.size)
    return [GradedOutput(-deviation, DetectorOutput(labels + deviation * noise, None)) for deviation in _NOISE]


DAMAGES = {
    "events": "the share of the events found falls from all to a fifth, but one is found at least",
    "coverage": "every event is found; the share of it that is flagged, at one random place, falls from all to a fifth",
    "delay": "every event is found, by an alarm of a fifth of its length that moves from its beginning to its end",
    "alarms": "every event is flagged exactly; false alarms of an eighth of a typical event grow from 0 to 8 per event",
    "noise": "scores are 1 in events and 0 elsewhere, plus normal noise that grows from 0.125 to 2 deviations",
}
"""The kinds of damage, in words."""

CHOICES = {
    "events": "every event found by a fifth of it, above half of the events found whole",
    "delay": "the first fifth of every event, above its last three fifths",
    "alarms": "one false alarm of 16 steps per event, above 8 of a single step",
}
"""Pairs where a question competes with another one; the first detector should win if the question matters most."""

_MAKERS: dict[str, Damage] = {
    "events": _events,
    "coverage": _coverage,
    "delay": _delay,
    "alarms": _alarms,
    "noise": _noise,
}
_CHOICE_MAKERS: dict[str, Damage] = {
    "events": _events_or_coverage,
    "delay": _early_or_coverage,
    "alarms": _alarms_or_steps,
}


def _ripple(size: int, chance: np.random.Generator) -> FloatArray:
    """Distinct values from 0 to 1, as evenly spread over every stretch as over the whole, so that no place is better.

    With independent random values a metric on scores would mostly see which of them an alarm happens to cover.
    """
    return np.asarray((chance.random() + np.arange(size) * _GOLDEN_RATIO) % 1.0)


def _rippled(flagged: BoolArray, ripple: FloatArray) -> DetectorOutput:
    return DetectorOutput(np.where(flagged, 0.6, 0.0) + 0.4 * ripple, flagged)


def _mark(starts: IntArray, lengths: IntArray, size: int) -> BoolArray:
    marked = np.zeros(size, dtype=np.bool_)
    marked[within(starts, lengths)] = True
    return marked
