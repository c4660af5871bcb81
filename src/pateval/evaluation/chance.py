"""What chance reaches: random scores on the same steps, cut as the detector's are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pateval.catalog.metric import Metric
from pateval.evaluation.measures import Measures
from pateval.evaluation.values import Value, mean_value, values_of
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, FloatArray


def chance_of(recording: Recording, measures: Measures, found: Mapping[str, Value]) -> dict[str, Value]:
    """Mean of each metric over random scores on one series, or on several taken together.

    Random scores have no gaps; steps that are left out for a detector are left out for them, too. Where predictions are
    given, or a threshold is a number or comes from training scores, it means nothing to random scores: as many random
    steps are predicted as the detector has predicted. The draws are the same for the same labels and steps, whoever
    asks.

    Parameters
    ----------
    recording : Recording
        What the detector was evaluated on.
    measures : Measures
        What was computed; ``chance`` draws from ``seed``.
    found : mapping of str to Value
        The detector's values by metric.
    """
    mask = recording.is_left_out
    steps = replace(recording, predictions=None, ignore=mask, absent=None, of_others=None, missing="error")
    generator = np.random.default_rng([measures.seed, steps_digest(steps)])
    by_count: dict[int | None, list[str]] = {}
    wanted = [metric for metric in measures.metrics if metric.needs_threshold or recording.scores is not None]
    for metric in wanted:
        number = found[metric.id].flagged if has_own_chance(metric, recording, measures) else None
        by_count.setdefault(number, []).append(metric.id)
    drawn: dict[str, list[Value]] = {metric.id: [] for metric in wanted}
    for _ in range(measures.chance):
        scores = generator.random(recording.labels.shape)
        for number, names in by_count.items():
            predictions = None if number is None else _highest(scores, mask, number)
            counted = replace(measures, metrics=tuple(measures.by_id[name] for name in names))
            for name, value in values_of(replace(steps, scores=scores, predictions=predictions), counted).items():
                drawn[name].append(value)
    return {name: _mean_of_draws(values) for name, values in drawn.items()}


def has_own_chance(metric: Metric, recording: Recording, measures: Measures) -> bool:
    """Whether chance of a metric depends on how many steps the detector predicts, and not on the steps alone."""
    return metric.needs_threshold and (recording.predictions is not None or measures.rule(metric).is_foreign)


def chance_key(recording: Recording, measures: Measures, found: Mapping[str, Value]) -> str:
    """Tell what random scores reach apart: by labels, steps that count, clock, and how many steps are predicted."""
    digest = hashlib.blake2b(str(steps_digest(recording)).encode(), digest_size=16)
    if measures.needs_times and recording.clock is not None:
        digest.update(f"{recording.clock.unit} {recording.clock.times.dtype}".encode())
        digest.update(np.ascontiguousarray(recording.clock.times).tobytes())
    own = [metric.id for metric in measures.metrics if has_own_chance(metric, recording, measures)]
    digest.update(repr([(metric, found[metric].flagged) for metric in own]).encode())
    return digest.hexdigest()


def _mean_of_draws(values: list[Value]) -> Value:
    return mean_value(values) if values else Value(math.nan, "no random scores were drawn")


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
