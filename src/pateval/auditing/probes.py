"""What a metric rewards, measured: pairs of detections that differ in one respect, on one fixed series.

The series has 1,000 steps and one event of 40 in its very middle. Everything is laid out so that nothing but the
respect in question can make a difference: the two halves of the series are mirror images, alarms stand apart from the
event by a step, and a run that is moved keeps its place in the grid of five steps that some metrics look through.
A metric on scores sees each detection twice, as 0/1 and over a background of three low levels that repeats every five
steps; a metric on predictions sees the 0/1. A metric on channels sees it beside a second channel where nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pateval.catalog import PROPERTIES, MetricLike
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import values_of
from pateval.labels.events import marked
from pateval.time.clocks import Duration, nanoseconds
from pateval.time.timelines import read_recording
from pateval.validation.arrays import BoolArray, Buffers, FloatArray, IntArray

STEPS, START, STOP = 1000, 480, 520
_FAR = 300  # steps: further than the default buffers, windows and tolerances reach
_LEVELS = np.array([0.0, 0.2, 0.4, 0.2, 0.0])  # symmetric, so that early and late are alike
_TOLERANCE = 1e-9
_QUARTER = (STOP - START) // 4

Stretches = tuple[tuple[int, int], ...]


class Pair(NamedTuple):
    """Two detections that differ in one respect, as the stretches they flag; the first should be worth more."""

    better: Stretches
    worse: Stretches


_EVENT = (START, STOP)
_BEFORE, _AFTER = (START - 5, START - 1), (STOP + 1, STOP + 5)
_FAR_BEFORE, _FAR_AFTER = (_BEFORE[0] - _FAR, _BEFORE[1] - _FAR), (_AFTER[0] + _FAR, _AFTER[1] + _FAR)
_FIRST_HALF, _SECOND_HALF = (START, START + 2 * _QUARTER), (START + 2 * _QUARTER, STOP)

PAIRS = {
    "early": (Pair((_BEFORE, _EVENT), (_FAR_BEFORE, _EVENT)), Pair((_BEFORE,), (_FAR_BEFORE,))),
    "delayed": (Pair((_AFTER, _EVENT), (_FAR_AFTER, _EVENT)), Pair((_AFTER,), (_FAR_AFTER,))),
    "onset": (Pair((_FIRST_HALF,), (_SECOND_HALF,)),),
    "coverage": (Pair(((START, START + 3 * _QUARTER),), (_FIRST_HALF,)),),
}
"""The properties that are measured by pairs of detections, and their pairs."""


@dataclass(frozen=True)
class Findings:
    """What the probes say of one metric.

    Attributes
    ----------
    properties : frozenset of str
        Of `pateval.catalog.PROPERTIES`.
    early_from_late : bool
        Whether a detection that comes too early and its mirror image, which comes too late, get different values.
    """

    properties: frozenset[str]
    early_from_late: bool


def probe(
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    interval: Duration | None = None,
) -> dict[str, Findings]:
    """Measure the six properties of the PATE paper's first table.

    * sequential: the value changes when time is shuffled, labels and detection alike, of a detection that finds half
      of the event or of one that misses it.
    * early: four flagged steps close before the event are worth more than the same four 300 steps earlier, be the
      event itself detected or missed; in at least one of these cases, and not worth less in any.
    * delayed: the same after the event.
    * onset: the first half of the event is worth more than the second.
    * coverage: the first three quarters of the event are worth more than its first half.
    * threshold_free: the metric takes scores.

    "Worth more" is by more than 1e-9, in the metric's own direction; a pair of which one side is undefined is left out.

    Parameters
    ----------
    metrics : str, Metric, function, or iterable of these, optional
        As for `evaluate`; the whole catalogue by default.
    early, delay : int, duration or iterable of these
        Buffers for PATE and its kin.
    window : int or duration
        Largest window of VUS and range-AUC.
    interval : duration, optional
        Time from one step to the next, where something is given as a duration.

    Returns
    -------
    dict
        Metric id to `Findings`.

    Examples
    --------
    >>> found = probe(["pate", "point_f1"])
    >>> sorted(found["pate"].properties)
    ['coverage', 'delayed', 'early', 'onset', 'sequential', 'threshold_free']
    >>> found["pate"].early_from_late, found["point_f1"].early_from_late
    (True, False)
    """
    measures = Measures.of(metrics="all" if metrics is None else metrics, early=early, delay=delay, window=window)
    clock: dict[str, Any] = {}
    if interval is not None:
        clock = {"times": np.arange(STEPS) * round(nanoseconds(interval, "interval")), "time_unit": "ns"}
    wanted, labels = measures.metrics, _flag(_EVENT)
    on_channels = replace(measures, metrics=tuple(metric for metric in wanted if metric.channels))

    def values(detection: BoolArray, order: slice | IntArray = slice(None)) -> FloatArray:
        """Values of all metrics, a row for 0/1 scores and one for graded ones, higher being better."""
        rows = []
        for scores in (detection.astype(np.float64), np.where(detection, 1.0, np.resize(_LEVELS, STEPS))):
            given = [labels[order], scores[order], detection[order]]
            by_metric = values_of(read_recording(*given, **clock), measures)
            if on_channels.metrics:
                beside = [np.stack([array, np.zeros_like(array)], axis=1) for array in given]
                by_metric |= values_of(read_recording(*beside, channels=True), on_channels)
            rows.append([by_metric[metric.id].value for metric in wanted])
        return measures.signs * np.array(rows)

    def gains(pairs: tuple[Pair, ...]) -> BoolArray:
        """Whether the first of a pair is worth more in some pair and form, and less in none."""
        with np.errstate(invalid="ignore"):
            gained = np.concatenate([values(_flag(*pair.better)) - values(_flag(*pair.worse)) for pair in pairs])
            more: BoolArray = np.any(gained > _TOLERANCE, axis=0)
            less: BoolArray = np.any(gained < -_TOLERANCE, axis=0)
        return more & ~less

    shuffled = np.random.default_rng(0).permutation(STEPS)
    sequential = np.zeros(len(wanted), dtype=np.bool_)
    for detection in (_flag((START + _QUARTER, STOP - _QUARTER), _AFTER, _FAR_BEFORE), _flag(_FAR_BEFORE)):
        sequential |= _differ(values(detection), values(detection, shuffled))
    measured = {
        "sequential": sequential,
        **{name: gains(pairs) for name, pairs in PAIRS.items()},
        "threshold_free": np.array([not metric.needs_threshold for metric in wanted]),
    }
    mirrored = np.zeros(len(wanted), dtype=np.bool_)
    for shift in (STOP - START, 2 * _QUARTER):  # missed by its length, and by half of it: S1/S5, S2/S4 of the paper
        too_early = _flag((START - shift, STOP - shift))
        mirrored |= _differ(values(too_early), values(too_early[::-1]))
    return {
        metric.id: Findings(
            frozenset(name for name in PROPERTIES if measured[name][place]), early_from_late=bool(mirrored[place])
        )
        for place, metric in enumerate(wanted)
    }


def pair_values(metric: MetricLike, pair: Pair) -> tuple[float, float]:
    """Value of a metric for both detections of a pair, with 0/1 as scores.

    Examples
    --------
    >>> [round(value, 3) for value in pair_values("point_f1", PAIRS["coverage"][0])]
    [0.857, 0.667]
    """
    measures = Measures.of(metrics=[metric])

    def value(stretches: Stretches) -> float:
        flagged = _flag(*stretches)
        (of_metric,) = values_of(read_recording(_flag(_EVENT), flagged.astype(np.float64), flagged), measures).values()
        return of_metric.value

    return value(pair.better), value(pair.worse)


def _flag(*stretches: tuple[int, int]) -> BoolArray:
    starts, stops = np.array(stretches).T
    return marked(starts, stops, STEPS)


def _differ(first: FloatArray, second: FloatArray) -> BoolArray:
    """Whether two values differ in some form, or just one of them is defined."""
    undefined = np.isnan(first) != np.isnan(second)
    differ: BoolArray = (undefined | (np.abs(first - second) > _TOLERANCE)).any(axis=0)
    return differ
