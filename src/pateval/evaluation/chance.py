"""What chance reaches: random scores on the same steps, cut as the detector's are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from pateval.evaluation.measures import Measures
from pateval.evaluation.together import MOST_STEPS, values_together
from pateval.evaluation.values import Value, mean_value
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, FloatArray

Parts = list[list[tuple[Recording, dict[str, Value]]]]  # each series, and each run on it, with the detector's values


@dataclass(frozen=True, eq=False)
class Chance:
    """What random scores reach on the steps of an evaluation, computed when it is first asked for.

    Several draws cost several times what a detector does, and most evaluations are asked for a few values only.
    """

    parts: Parts
    measures: Measures

    @classmethod
    def of(cls, parts: Parts, measures: Measures) -> Chance:
        """Keep what chance needs of each series and run, in copies: callers may change their arrays meanwhile."""
        kept = [[(_copied(part), values) for part, values in runs if not part.is_mostly_missing] for runs in parts]
        return cls(kept, measures)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Equal where random scores reach the same."""
        return tuple(tuple(chance_key(part, self.measures, values) for part, values in runs) for runs in self.parts)

    @cached_property
    def levels(self) -> dict[str, float]:
        """Mean of each metric over the draws, the runs and the series where the detector has a value."""
        reached_by_run = iter(chance_of([pair for runs in self.parts for pair in runs], self.measures))
        by_series = [[(next(reached_by_run), values) for _, values in runs] for runs in self.parts]
        levels = {}
        for metric in self.measures.ids:
            reached = [
                mean_value([drawn[metric] for drawn, _ in runs if metric in drawn])
                for runs in by_series
                if any(metric in drawn and not values[metric].reason for drawn, values in runs)
            ]
            mean = mean_value(reached) if reached else None
            if mean is not None and not mean.reason:
                levels[metric] = mean.value
        return levels


def _copied(recording: Recording) -> Recording:
    clock = None if recording.clock is None else replace(recording.clock, times=recording.clock.times.copy())
    predictions, left_out = copy(recording.predictions), copy(recording.is_left_out)
    kept = replace(recording, labels=copy(recording.labels), predictions=predictions, clock=clock, ignore=left_out)
    return replace(kept, absent=None, of_others=None, training=())


def chance_of(asked: Sequence[tuple[Recording, Mapping[str, Value]]], measures: Measures) -> list[dict[str, Value]]:
    """Mean of each metric over random scores on each recording: one series, or several taken together.

    Random scores have no gaps; steps that are left out for a detector are left out for them, too. Where predictions are
    given, or a threshold is a number or comes from training scores, it means nothing to random scores: as many random
    steps are predicted as the detector has predicted, which its values, given beside it, tell. The draws are the same
    for the same labels and steps, whoever asks.
    """
    drawn: list[dict[str, list[Value]]] = []
    waiting: dict[tuple[str, ...], list[tuple[int, Recording]]] = {}  # by the metrics that are computed of them
    for place, (recording, of_detector) in enumerate(asked):
        by_count: dict[int | None, list[str]] = {}
        own, _ = own_and_shared(recording, measures)
        wanted = [metric for metric in measures.metrics if metric.needs_threshold or recording.scores is not None]
        for metric in wanted:
            number = of_detector[metric.id].flagged if metric.id in own.ids else None
            by_count.setdefault(number, []).append(metric.id)
        drawn.append({metric.id: [] for metric in wanted})
        mask = recording.is_left_out
        steps = replace(recording, predictions=None, ignore=mask, absent=None, of_others=None, missing="error")
        generator = np.random.default_rng([measures.seed, steps_digest(steps)])
        for _ in range(measures.chance):
            scores = generator.random(recording.labels.shape)
            for number, names in by_count.items():
                predictions = None if number is None else _highest(scores, mask, number)
                one = replace(steps, scores=scores, predictions=predictions)
                waiting.setdefault(tuple(names), []).append((place, one))
            if sum(len(one.labels) for several in waiting.values() for _, one in several) >= MOST_STEPS:
                _take(waiting, measures, drawn)
    _take(waiting, measures, drawn)
    nothing = Value(math.nan, "no random scores were drawn")
    return [{name: mean_value(values) if values else nothing for name, values in one.items()} for one in drawn]


def _take(
    waiting: dict[tuple[str, ...], list[tuple[int, Recording]]],
    measures: Measures,
    drawn: Sequence[Mapping[str, list[Value]]],
) -> None:
    """Compute what waits, and put it where it belongs."""
    for names, several in waiting.items():
        found = values_together([one for _, one in several], measures.only(names))
        for (place, _), values in zip(several, found, strict=True):
            for name, value in values.items():
                drawn[place][name].append(value)
    waiting.clear()


def own_and_shared(recording: Recording, measures: Measures) -> tuple[Measures, Measures]:
    """The metrics whose chance depends on how many steps the detector predicts, and those of which the steps decide."""
    return measures.by_own_chance[recording.predictions is not None]


def chance_key(recording: Recording, measures: Measures, values: Mapping[str, Value]) -> str:
    """Tell what random scores reach apart: by labels, steps that count, clock, threshold and how many are predicted."""
    digest = hashlib.blake2b(str(steps_digest(recording)).encode(), digest_size=16)
    if recording.clock is not None and measures.follows_clock:
        digest.update(f"{recording.clock.unit} {recording.clock.times.dtype}".encode())
        digest.update(np.ascontiguousarray(recording.clock.times).tobytes())
    own, _ = own_and_shared(recording, measures)
    digest.update(repr([(metric, values[metric].flagged) for metric in own.ids]).encode())
    if any(metric.needs_threshold for metric in measures.metrics):
        digest.update(repr(measures.threshold).encode())
    return digest.hexdigest()


def steps_digest(recording: Recording) -> int:
    """Tell the steps that chance is drawn on: labels, series, and which of them count."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (recording.labels, recording.starts, recording.is_left_out):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).tobytes())
    return int(digest.hexdigest(), 16)


def _highest(scores: FloatArray, left_out: BoolArray | None, number: int) -> BoolArray:
    """Predict so many of the steps that count, those with the highest random scores."""
    cells = np.argsort(scores, axis=None)
    if left_out is not None:
        cells = cells[~left_out[cells // (scores.size // len(scores))]]
    predictions = np.zeros(scores.size, dtype=np.bool_)
    predictions[cells[cells.size - number :]] = True
    return predictions.reshape(scores.shape)
