"""Run an audit with scores: the real detectors, the fakes, detectors of known order, and what the metrics agree on.

A series that cannot be read is refused; a metric that breaks on a detector has no value there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pateval.auditing.fakes import (
    CHOICES,
    DAMAGES,
    SKILL_FREE,
    Detection,
    Fake,
    counted_labels,
    judged,
    series_with_anomalies,
)
from pateval.auditing.score_audit import (
    Gaming,
    MetricTrial,
    ScoreAudit,
    agreement_with_order,
    halves_agreement,
    shares_alone,
    voters,
)
from pateval.catalog import MetricLike
from pateval.catalog.metric import ORACLE, Metric
from pateval.evaluation.files import LabelsRead, binary_detectors, binary_note, series_by_series
from pateval.evaluation.measures import Measures
from pateval.evaluation.threshold_rules import threshold_rule, uses_training_scores
from pateval.evaluation.values import Value, defined_mean, mean_values, values_of
from pateval.io import Reading, TableError
from pateval.io.plan import Plan, make_plan
from pateval.leaderboards.cache import labels_digest
from pateval.leaderboards.diagnostics import data_checks
from pateval.leaderboards.tasks import Settings, divided, prepare_worker
from pateval.output.progress import Report, reporter
from pateval.time.clocks import Duration
from pateval.time.timelines import Recording, read_recording
from pateval.validation.arrays import Buffers, FloatArray, positive_integer
from pateval.worker_pool import ATTEMPTS, WorkerPool

ORDER_DRAWS_PER_SEED = 0.1  # the order needs fewer draws: each holds five detectors of every kind of damage
REFERENCE_SERIES, REFERENCE_STEPS = 4, 1000
REFERENCE_NOISE = (0.5, 0.75, 1.0)  # standard deviations: the point F1 falls from about 0.8 to 0.5


def audited_measures(**wanted: Any) -> Measures:
    """What an audit computes: the whole catalogue by default, each metric at the threshold its papers report.

    Metrics whose papers report their own best are judged at ``(threshold=best)``, unless they or the caller name
    another threshold. What is wanted is given as for `Measures.of_keywords`.
    """
    metrics = wanted.get("metrics")
    measures = Measures.of_keywords(wanted, metrics="all" if metrics is None else metrics, chance=0)
    if measures.threshold == ORACLE:
        metrics = [
            replace(metric, threshold=metric.threshold or metric.papers_threshold).named(measures.options)
            for metric in measures.metrics
        ]
        measures = replace(measures, metrics=tuple(dict.fromkeys(metrics)))
    named = [metric.threshold for metric in measures.metrics]
    for threshold in filter(uses_training_scores, [measures.threshold, *dict(measures.thresholds).values(), *named]):
        raise ValueError(
            f"an audit cannot use threshold {threshold!r}: fakes have no training scores; name another rule"
        )
    return measures


def audit_scores(
    data: object,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    series: str | None = None,
    detector: str | None = None,
    run: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    sort: bool = False,
    ignore: object = None,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: float | str = ORACLE,
    max_gap: Duration | None = None,
    missing: str = "error",
    seeds: int = 20,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | Report | None = None,
) -> ScoreAudit:
    """Put metrics on trial with the scores of real detectors.

    Three questions to every metric. Can it be *gamed*: on which share of the series does a detector without skill
    (`pateval.auditing.SKILL_FREE`) reach 90 % of the best real detector, or more than it? Does it *recover a known
    order*: detectors made from the labels and damaged step by step in one respect (`pateval.auditing.DAMAGES`), and the
    rank correlation of its values with the truth. Does it *decide alone*: how often is its winner not that of the
    consensus, the detector with the lowest median rank over one metric for each function, and how alike are its
    rankings on halves of the series?

    Predictions of the real detectors and of random scores are made by one threshold rule, or at a metric's own best
    threshold where its papers report that (``point_adjusted_f1(threshold=best)``); the other fakes flag steps
    themselves. All is measured on the series that hold an anomaly, with the labels that most detectors have there.

    Parameters
    ----------
    data, label, score, series, detector, run, time, time_unit, sort, ignore
        Score files or tables, as for `pateval.leaderboard`.
    metrics : str, Metric, function, or iterable of these, optional
        As for `evaluate`; the whole catalogue by default.
    early, delay, window, threshold, max_gap
        As for `evaluate`.
    missing : {"error", "ignore", "normal"}
        What becomes of missing scores, as for `pateval.leaderboard`; fakes have a score at every step that counts.
    seeds : int
        How many draws to make of each fake that depends on chance; their mean counts. A tenth as many, at least one,
        are made of the detectors of known order.
    seed : int
        Where the draws begin: the same seed gives the same audit.
    workers : int, optional
        Processes on this machine; 1 computes in this process. By default one per core, or this process where the data
        are small.
    progress : bool or callable, optional
        True draws a bar on standard error; a callable gets ``(what, done, total)``.

    Returns
    -------
    ScoreAudit

    Raises
    ------
    ValueError
        If input is unusable, or no series holds an anomaly.

    Examples
    --------
    >>> labels = np.zeros(400, dtype=int)
    >>> labels[100:130] = labels[250:280] = 1
    >>> scores = labels + np.random.default_rng(0).normal(size=400)
    >>> found = audit_scores(
    ...     {"label": labels, "mine": scores}, metrics=["point_f1", "segment_f1", "average_precision"], seeds=2
    ... )
    >>> found.with_fault("gamed")
    ('segment_f1',)
    """
    measures = audited_measures(**locals())
    reading = Reading(label, score, series, detector, run, time, time_unit, ignore=ignore, sort=sort)
    plan = make_plan(data, reading, needs_times=measures.needs_times)
    return audit_plan(plan, measures, draws=positive_integer(seeds, "seeds"), workers=workers, progress=progress)


def audit_plan(
    plan: Plan, measures: Measures, *, draws: int, workers: int | None = None, progress: bool | Report | None = None
) -> ScoreAudit:
    """Put metrics on trial with the detectors and series of a plan; `audit_scores` describes the rest.

    Series are read and handed out one by one, so that one of them at a time has to fit into the memory of a worker.
    """
    measures.require_detectors(plan.detectors)
    settings = Settings.of(measures, event_draws=0)
    trials: dict[str, SeriesTrial] = {}
    binary = binary_detectors(plan) if measures.needs_predictions else frozenset()
    seen, done = LabelsRead(plan), 0
    with WorkerPool(workers=workers, prepare=prepare_worker) as pool, reporter(progress) as report:
        pool.decide_workers(plan.steps, len(plan.jobs))
        # Metrics that workers cannot import are computed in this process, and the others with them.
        where = WorkerPool(workers=1) if divided(settings, pool)[1].metrics else pool
        work = partial(_try_one, detectors=plan.detectors, measures=measures, draws=draws)
        with closing(where.map(work, _series(plan, measures, binary, seen), lost=_raise_lost)) as arriving:
            for results in arriving:
                for result in results:
                    if result is not None:
                        trials[result.series] = result
                done += len(results)
                report("series", done, len(plan.series))
    if not trials:
        raise TableError(f"{plan.where(0)}: no series holds an anomaly, so no metric can be tried on these labels")
    found = [trials[name] for name in plan.series if name in trials]
    checks = data_checks(plan, seen, measures)  # what boards say of such data, too
    notes = [*plan.notes, *binary_note(binary), *(check.sentence for check in checks)]
    return summarised(found, plan.detectors, measures, draws=draws, left_out=done - len(found), notes=notes)


def _series(
    plan: Plan, measures: Measures, binary: frozenset[str], seen: LabelsRead
) -> Iterator[tuple[str, dict[str, list[Recording]]]]:
    """One series after the other, by its name with the runs of each detector; their labels are noted."""
    for read in series_by_series(plan, measures, binary):
        recordings: dict[str, list[Recording]] = {}
        for item, one in read:
            recordings.setdefault(item.detector, []).append(one)
            seen.add(item.unit, one)
        yield read[0][0].series, recordings


def _raise_lost(item: tuple[str, Any], reason: str) -> list[SeriesTrial]:
    raise RuntimeError(reason or f"the worker process died {ATTEMPTS} times on series {item[0]!r}")


def _try_one(
    item: tuple[str, dict[str, list[Recording]]], *, detectors: Sequence[str], measures: Measures, draws: int
) -> list[SeriesTrial | None]:
    """What a worker does: try the metrics on one series."""
    return [try_series(*item, detectors, measures, draws)]


class SeriesTrial(NamedTuple):
    """What the metrics say on one series that holds an anomaly, in arrays with a column per metric."""

    series: str
    real: FloatArray  # value of each real detector
    fakes: FloatArray  # of each of `SKILL_FREE`, the mean over its draws
    orders: FloatArray  # rank correlation with the known order, for each of `DAMAGES`
    choices: FloatArray  # for each of `CHOICES` 1 where the first detector gets more, -1 where the second does


def try_series(
    series: str, recordings: Mapping[str, Sequence[Recording]], detectors: Sequence[str], measures: Measures, draws: int
) -> SeriesTrial | None:
    """Try the metrics on one series; the draws depend on the labels and the seed alone.

    The recordings are those of the real detectors that have scores there. None where the labels that most of them have
    hold no anomaly.
    """
    every_run = [run for runs in recordings.values() for run in runs]
    digests = [_digest(run) for run in every_run]
    usual, _ = Counter(digests).most_common(1)[0]
    truth = series_with_anomalies(every_run[digests.index(usual)])
    if not truth:
        return None
    (steps,) = truth
    labels = counted_labels(steps)
    undefined = np.full(len(measures.metrics), np.nan)

    def chance(draw: int) -> np.random.Generator:
        return np.random.default_rng([measures.seed, draw, usual])

    def values(detection: Detection) -> FloatArray:
        return _row(judged(steps, detection, measures), measures)

    def agreement(fake: Fake, draw: int) -> FloatArray:
        detections = fake.detections(labels, chance(draw))
        if not detections:
            return undefined
        qualities = np.array([detection.quality for detection in detections])
        return agreement_with_order(qualities, measures.signs * np.array(list(map(values, detections))))

    def mean_of(fake: Fake) -> FloatArray:
        return defined_mean([values(*fake.detections(labels, chance(draw))) for draw in fake.draws(draws)])

    few = range(max(1, round(ORDER_DRAWS_PER_SEED * draws)))
    real = {}
    for name, runs in recordings.items():
        own = measures.of_detector(name)
        real[name] = _row(mean_values([values_of(run, own, keep_going=True) for run in runs]), measures)
    return SeriesTrial(
        series,
        np.array([real.get(name, undefined) for name in detectors]),
        np.array([mean_of(fake) for fake in SKILL_FREE]),
        np.array([defined_mean([agreement(damage, draw) for draw in few]) for damage in DAMAGES.values()]),
        np.array([defined_mean([agreement(choice, draw) for draw in few]) for choice in CHOICES.values()]),
    )


def summarised(
    trials: Sequence[SeriesTrial],
    detectors: Sequence[str],
    measures: Measures,
    *,
    draws: int,
    left_out: int,
    notes: Sequence[str] = (),
) -> ScoreAudit:
    """Put the series together: how often each metric is gamed, how well it orders, and whether it decides alone."""
    # All by (detectors, fakes, damages or choices), series and metrics.
    real, fakes, orders, choices = (
        np.stack([getattr(trial, name) for trial in trials], axis=1) for name in ("real", "fakes", "orders", "choices")
    )
    voting = voters(measures.metrics)
    better = measures.signs * real
    alone, winners = shares_alone(better, voting)
    halves = halves_agreement(better, seed=measures.seed)
    series = tuple(trial.series for trial in trials)
    rows = []
    for m, metric in enumerate(measures.metrics):
        both = real[:, :, m], fakes[:, :, m]
        is_judged = _is_judged(metric, *both)
        blind, minimal = (Gaming.of(series, *both, kind) if is_judged else Gaming() for kind in ("blind", "minimal"))
        by_damage = dict(zip(DAMAGES, defined_mean(orders[:, :, m], axis=1).tolist(), strict=True))
        by_choice = dict(zip(CHOICES, defined_mean(choices[:, :, m], axis=1).tolist(), strict=True))
        unlike_others = float(alone[m]), float(halves[m])
        label = measures.labels[metric.id]
        rows.append(MetricTrial(metric, label, is_judged, blind, minimal, by_damage, by_choice, *unlike_others))
    return ScoreAudit(
        tuple(rows),
        tuple(detectors),
        series,
        left_out,
        {name: int(count) for name, count in zip(detectors, winners.sum(axis=1), strict=True)},
        len(voting),
        str(threshold_rule(measures.threshold).signature),
        draws,
        measures.seed,
        notes=tuple(notes),
    )


def _digest(recording: Recording) -> int:
    """Tell labels apart, of the steps that count."""
    return int(labels_digest(replace(recording, labels=counted_labels(recording), ignore=None)), 16)


def _row(found: Mapping[str, Value], measures: Measures) -> FloatArray:
    return np.array([found[metric].value for metric in measures.ids])


def _is_judged(metric: Metric, real: FloatArray, fakes: FloatArray) -> bool:
    """Whether values lie in [0, 1] and higher is better: by its range, or by its values where it states none."""
    if not metric.higher_is_better:
        return False
    if np.isinf(metric.low) and np.isinf(metric.high):
        values = np.concatenate([real[~np.isnan(real)], fakes[~np.isnan(fakes)]])
        return bool(values.size and values.min() >= 0 and values.max() <= 1)
    return bool(metric.low == 0 and metric.high == 1)


@cache
def reference_audit() -> ScoreAudit:
    """Try the catalogue on four series of 1,000 steps with two to six events each, from 5 to 100 steps long.

    What a trial says of the metrics without anybody's data. The detectors that stand for real ones score 1 in events
    and 0 elsewhere, with normal noise.

    Examples
    --------
    >>> "segment_f1" in reference_audit().with_fault("gamed")
    True
    """
    chance = np.random.default_rng(0)
    measures, detectors, trials = audited_measures(), [f"noise-{deviation}" for deviation in REFERENCE_NOISE], []
    for number in range(REFERENCE_SERIES):
        labels = np.zeros(REFERENCE_STEPS, dtype=np.bool_)
        events = int(chance.integers(2, 7))
        for start in (np.arange(events) * REFERENCE_STEPS) // events:
            length = int(np.exp(chance.uniform(np.log(5), np.log(100))))
            begin = int(start + chance.integers(20, REFERENCE_STEPS // events - length))
            labels[begin : begin + length] = True
        scores = [labels + deviation * chance.normal(size=REFERENCE_STEPS) for deviation in REFERENCE_NOISE]
        recordings = {name: [read_recording(labels, values)] for name, values in zip(detectors, scores, strict=True)}
        trials.append(try_series(f"series-{number}", recordings, detectors, measures, 2))
    return summarised([trial for trial in trials if trial is not None], detectors, measures, draws=2, left_out=0)
