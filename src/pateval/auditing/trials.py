"""What a worker does for an audit with scores: every metric on the fakes and on the detectors of known order.

Only labels are read. Series that cannot be read raise; a metric that raises has no value.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pateval.auditing.damage import CHOICES, DAMAGES, GradedOutput, agreement_with_order, choice, graded
from pateval.auditing.fakes import SKILL_FREE, DetectorOutput
from pateval.evaluation import evaluate
from pateval.leaderboards.batches import Batch, read_batch
from pateval.leaderboards.cache import labels_digest
from pateval.leaderboards.steps import SeriesSteps, read_steps
from pateval.leaderboards.tasks import Settings, stopped
from pateval.validation.arrays import FloatArray, IntArray

ORDER_DRAWS_PER_SEED = 0.1  # the order needs fewer draws: each holds five detectors of every kind of damage


@dataclass(frozen=True)
class LabelTrial:
    """What the metrics say of detectors made from one series' labels, or without them.

    Attributes
    ----------
    job : int
        The job whose labels they are.
    fakes : ndarray of shape (fakes, metrics)
        Value of each of `SKILL_FREE`, the mean over its draws; NaN where undefined.
    orders : ndarray of shape (damages, metrics)
        Rank correlation with the known order for each of `DAMAGES`; NaN where undefined.
    choices : ndarray of shape (choices, metrics)
        For each of `CHOICES` 1 where the first detector gets more, -1 where the second does, 0 where they are level;
        NaN where undefined.
    failure : str
        Why there is none, or empty.
    """

    job: int
    fakes: FloatArray = field(repr=False)
    orders: FloatArray = field(repr=False)
    choices: FloatArray = field(repr=False)
    failure: str = ""


def iterate_trials(batch: Batch, settings: Settings) -> Iterator[LabelTrial]:
    """Try the metrics on the labels of every job of a batch."""
    for job, item in read_batch(batch):
        if stopped():
            return
        steps = read_steps(
            item,
            missing=settings.parameters.get("missing", "error"),
            needs_times=settings.needs_times,
            with_scores=False,
            left_out=batch.left_out.get(job.number),
        )
        yield replace(try_labels(steps, settings), job=job.number)


def try_labels(steps: SeriesSteps, settings: Settings) -> LabelTrial:
    """Try the metrics on one series' labels; the draws depend on the labels and the seed alone.

    Parameters
    ----------
    steps : SeriesSteps
        Labels with at least one event, and their clock where something is measured on it.
    settings : Settings
        Metrics, options, and how many draws of each fake from which seed.
    """
    # Detectors are made from the steps that count; the others are as if they had never been recorded.
    labels = steps.labels if "ignore" not in steps.data else steps.labels[~steps.data["ignore"]]
    digest = int(labels_digest(labels), 16)

    def chance(draw: int) -> np.random.Generator:
        return np.random.default_rng([settings.seed, draw, digest])

    fakes = []
    for fake in SKILL_FREE:
        draws = range(settings.draws if fake.drawn else 1)
        fakes.append(_mean([_values(steps, fake.make(labels, chance(draw)), settings) for draw in draws]))
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for metric in settings.metrics])

    def agreement(made: list[GradedOutput]) -> FloatArray:
        if not made:
            return np.full(signs.size, np.nan)
        values = np.array([signs * _values(steps, variant.output, settings) for variant in made])
        return agreement_with_order(np.array([variant.quality for variant in made]), values)

    draws = range(max(1, round(ORDER_DRAWS_PER_SEED * settings.draws)))
    orders = [_mean([agreement(graded(kind, labels, chance(draw))) for draw in draws]) for kind in DAMAGES]
    choices = [_mean([agreement(choice(kind, labels, chance(draw))) for draw in draws]) for kind in CHOICES]
    return LabelTrial(-1, np.array(fakes), np.array(orders), np.array(choices))


def _values(steps: SeriesSteps, output: DetectorOutput, settings: Settings) -> FloatArray:
    """Values of all metrics; where one raises it has none, and the others keep theirs."""
    options = settings.parameters | steps.data
    if "ignore" in steps.data:
        places = np.flatnonzero(~steps.data["ignore"])
        output = DetectorOutput(*(_at(places, given, steps.labels.size) for given in output))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = evaluate(
                steps.labels, output.scores, output.predictions, metrics=settings.metrics, chance=0, **options
            )
            return np.array([found.values_by_id[metric.id] for metric in settings.metrics])
        except Exception:
            if len(settings.metrics) == 1:
                return np.array([np.nan])
            alone = [_values(steps, output, replace(settings, metrics=(metric,))) for metric in settings.metrics]
            return np.concatenate(alone)


def _at(places: IntArray, values: Any, size: int) -> Any:
    """Put values at some of the steps, and 0 at the others."""
    if values is None:
        return None
    found = np.zeros(size, dtype=values.dtype)
    found[places] = values
    return found


def _mean(rows: list[FloatArray]) -> FloatArray:
    """Mean of each column over the rows where it is defined."""
    values = np.array(rows)
    defined = np.count_nonzero(~np.isnan(values), axis=0)
    return np.asarray(np.where(defined > 0, np.nansum(values, axis=0) / np.maximum(defined, 1), np.nan))
