"""Run an audit with scores: the real detectors, the fakes, detectors of known order, and what the metrics agree on."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pateval.auditing.consensus import halves_agreement, shares_alone, voters
from pateval.auditing.damage import CHOICES, DAMAGES
from pateval.auditing.fakes import SKILL_FREE
from pateval.auditing.score_audit import Gaming, MetricTrial, ScoreAudit
from pateval.auditing.trials import iterate_trials
from pateval.evaluation.threshold_rules import ORACLE, TRAINING_RULES, threshold_rule
from pateval.io import TableError
from pateval.leaderboards.batches import make_batches, make_chance_batches, read_batch
from pateval.leaderboards.cache import labels_digest
from pateval.leaderboards.executors import WorkerPool
from pateval.leaderboards.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_plan
from pateval.leaderboards.progress import reporter
from pateval.leaderboards.run import choose, compute
from pateval.leaderboards.steps import MissingInSeries, missing_steps, read_steps
from pateval.validation.arrays import positive_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pateval.catalog import MetricLike
    from pateval.catalog.metric import Metric
    from pateval.leaderboards.progress import Report
    from pateval.leaderboards.tasks import Settings
    from pateval.time.clocks import Duration
    from pateval.validation.arrays import Buffers, FloatArray

NEAR = 0.9
"""Share of the best real detector's value from which on a fake counts as near it."""
_TIE = 1e-9


def audit_scores(
    data: object,
    *,
    label: str | None = DEFAULT_LABEL,
    score: str | Sequence[str] | None = DEFAULT_SCORE,
    series: str | None = None,
    detector: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    sort: bool = False,
    ignore: str | None = None,
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

    Predictions of the real detectors and of random scores are made by one threshold rule; the other fakes flag steps
    themselves. All is measured on the series that hold an anomaly, with the labels that most detectors have there.

    Parameters
    ----------
    data, label, score, series, detector, time, time_unit, sort, ignore
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
    settings = choose(
        metrics=metrics,
        early=early,
        delay=delay,
        window=window,
        threshold=threshold,
        max_gap=max_gap,
        missing=missing,
        chance=0,
        event_draws=0,
        seed=seed,
    )
    draws = positive_integer(seeds, "seeds")
    refuse_training_rule(threshold)
    with WorkerPool(workers=workers) as pool:
        plan = make_plan(
            data,
            label=label,
            score=score,
            series=series,
            detector=detector,
            time=time,
            time_unit=time_unit,
            sort=sort,
            ignore=ignore,
            needs_times=settings.needs_times,
        )
        return try_metrics(plan, settings, pool=pool, draws=draws, progress=progress)


def try_metrics(
    plan: Plan, settings: Settings, *, pool: WorkerPool, draws: int, progress: bool | Report | None = None
) -> ScoreAudit:
    """Run a plan; `audit_scores` describes the rest.

    Parameters
    ----------
    plan : Plan
        The real detectors' jobs.
    settings : Settings
        Metrics and options, without chance.
    pool : WorkerPool
        Where to compute.
    draws : int
        Of each fake that depends on chance.
    progress : bool or callable, optional
        As for `pateval.leaderboard`.
    """
    with reporter(progress) as report:
        missing = _missing_in_series(plan, settings)
        jobs, left_out = _jobs_with_anomalies(plan, missing, settings)
        if not jobs:
            raise TableError(f"{plan.where(0)}: no series holds an anomaly, so no metric can be tried on these labels")
        board = compute(plan, settings, pool=pool, progress=report)
        fakes, orders, choices = _tried(plan, jobs, missing, replace(settings, draws=draws), pool, report)
    signs = np.array([1.0 if metric.higher_is_better else -1.0 for metric in settings.metrics])
    codes = plan.jobs.series_code[jobs]
    real = board.values[:, codes]
    voting = voters(settings.metrics)
    alone, winners = shares_alone(signs * real, voting)
    halves = halves_agreement(signs * real, seed=settings.seed)
    names = tuple(plan.series[code] for code in codes)
    blind = [place for place, fake in enumerate(SKILL_FREE) if not fake.knows_labels]
    minimal = [place for place, fake in enumerate(SKILL_FREE) if fake.knows_labels]
    rows = tuple(
        MetricTrial(
            metric,
            judged := _is_judged(metric, real[:, :, m], fakes[:, :, m]),
            _gaming(names, real[:, :, m], fakes[:, :, m], blind if judged else []),
            _gaming(names, real[:, :, m], fakes[:, :, m], minimal if judged else []),
            _means(orders[:, :, m], DAMAGES),
            _means(choices[:, :, m], CHOICES),
            float(alone[m]),
            float(halves[m]),
        )
        for m, metric in enumerate(settings.metrics)
    )
    return ScoreAudit(
        rows,
        board.detectors,
        names,
        left_out,
        {name: int(count) for name, count in zip(board.detectors, winners.sum(axis=1), strict=True)},
        len(voting),
        str(threshold_rule(settings.parameters["threshold"]).signature),
        draws,
        settings.seed,
        notes=(*board.notes, *board.warnings),
    )


def refuse_training_rule(threshold: float | str) -> None:
    """Refuse a rule that needs training scores, which no fake has."""
    if str(threshold).partition(":")[0] in TRAINING_RULES:
        raise ValueError(
            f"an audit cannot use threshold {threshold!r}: fakes have no training scores; name another rule"
        )


def _missing_in_series(plan: Plan, settings: Settings) -> MissingInSeries:
    """Find the steps at which a detector of a series has no score, where they are left out for all, and for fakes."""
    found = MissingInSeries(plan)
    if settings.parameters.get("missing") == "ignore":
        for batch in make_batches(plan):
            for job, item in read_batch(batch):
                absent = missing_steps(item)
                if absent is not None:
                    found.add(job.number, absent)
    return found


def _jobs_with_anomalies(plan: Plan, missing: MissingInSeries, settings: Settings) -> tuple[list[int], int]:
    """For each series with an anomaly a job with the labels that most detectors have; and how many have none."""
    digests: list[str] = [""] * len(plan.jobs)
    for batch in missing.given_to(make_chance_batches(plan, range(len(plan.jobs)))):
        for job, item in read_batch(batch):
            steps = read_steps(
                item,
                missing=settings.parameters.get("missing", "error"),
                needs_times="",
                with_scores=False,
                left_out=batch.left_out.get(job.number),
            )
            counted = steps.labels if "ignore" not in steps.data else steps.labels[~steps.data["ignore"]]
            digests[job.number] = labels_digest(steps.labels) if counted.any() else "none"
    chosen, left_out = [], 0
    for code in range(len(plan.series)):
        jobs = np.flatnonzero(plan.jobs.series_code == code).tolist()
        usual, _ = Counter(digests[job] for job in jobs).most_common(1)[0]
        if usual == "none":
            left_out += 1
        else:
            chosen.append(next(job for job in jobs if digests[job] == usual))
    return chosen, left_out


def _tried(
    plan: Plan, jobs: list[int], missing: MissingInSeries, settings: Settings, pool: WorkerPool, report: Report
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values of fakes, rank correlations and choices: (fakes, damages or choices) by series by metrics."""
    place = {job: number for number, job in enumerate(jobs)}
    columns = {metric.id: number for number, metric in enumerate(settings.metrics)}
    fakes = np.full((len(SKILL_FREE), len(jobs), len(columns)), np.nan)
    orders = np.full((len(DAMAGES), len(jobs), len(columns)), np.nan)
    choices = np.full((len(CHOICES), len(jobs), len(columns)), np.nan)
    alone = (single for batch in make_chance_batches(plan, jobs) for single in batch.split())
    batches = list(missing.given_to(alone))
    # The longest series first, so that no worker is left with one at the end.
    batches.sort(key=lambda batch: -batch.jobs[0].unit.steps)
    elsewhere, here, _ = pool.divide(settings)
    parts = [(part, where) for part, where in ((elsewhere, pool), (here, WorkerPool(workers=1))) if part.metrics]
    done, total = 0, len(parts) * len(batches)
    report("fakes", done, total)
    for part, where in parts:
        mine = [columns[metric.id] for metric in part.metrics]
        with closing(where.map(batches, part, iterate=iterate_trials)) as arriving:
            for results in arriving:
                for result in results:
                    if result.failure:
                        raise TableError(result.failure)
                    fakes[:, place[result.job], mine] = result.fakes
                    orders[:, place[result.job], mine] = result.orders
                    choices[:, place[result.job], mine] = result.choices
                    done += 1
                report("fakes", done, total)
    return fakes, orders, choices


def _means(values: FloatArray, names: Iterable[str]) -> dict[str, float]:
    """Mean of each row over the series where it is defined, by name."""
    defined = ~np.isnan(values)
    means = np.where(defined.any(axis=1), np.nansum(values, axis=1) / np.maximum(defined.sum(axis=1), 1), np.nan)
    return dict(zip(names, means.tolist(), strict=True))


def _is_judged(metric: Metric, real: FloatArray, fakes: FloatArray) -> bool:
    """Whether values lie in [0, 1] and higher is better: by its range, or by its values where it states none."""
    if not metric.higher_is_better:
        return False
    if np.isinf(metric.low) and np.isinf(metric.high):
        values = np.concatenate([real[~np.isnan(real)], fakes[~np.isnan(fakes)]])
        return bool(values.size and values.min() >= 0 and values.max() <= 1)
    return bool(metric.low == 0 and metric.high == 1)


def _gaming(series: tuple[str, ...], real: FloatArray, fakes: FloatArray, chosen: list[int]) -> Gaming:
    """Hold the best of some fakes against the best real detector, series by series."""
    best_real = np.where(np.isnan(real), -np.inf, real).max(axis=0)
    judged_fakes = np.where(np.isnan(fakes[chosen]), -np.inf, fakes[chosen])
    best_fake = judged_fakes.max(axis=0, initial=-np.inf)
    counted = (best_real > -np.inf) & (best_fake > -np.inf)
    if not counted.any():
        return Gaming(np.nan, 0, (), (), "")
    reached = counted & (best_fake >= NEAR * best_real - _TIE)
    won = counted & (best_fake > best_real + _TIE)
    with np.errstate(invalid="ignore"):
        per_fake = ((judged_fakes >= NEAR * best_real - _TIE) & counted).sum(axis=1)
    return Gaming(
        float(reached.sum() / counted.sum()),
        int(counted.sum()),
        tuple(name for name, is_reached in zip(series, reached, strict=True) if is_reached),
        tuple(name for name, is_won in zip(series, won, strict=True) if is_won),
        SKILL_FREE[chosen[int(per_fake.argmax())]].name if reached.any() else "",
    )
