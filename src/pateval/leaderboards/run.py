"""From score files to a leaderboard: plan, compute somewhere, collect in a fixed order."""

from __future__ import annotations

import time as clock
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.catalog import GROUPS, canonical_id, find_metrics
from pateval.catalog.metric import ORACLE
from pateval.evaluation.files import ScoredFiles
from pateval.evaluation.measures import CHANCE_DRAWS, Measures
from pateval.evaluation.notes import clock_fields
from pateval.evaluation.run import evaluate_detectors
from pateval.io import Reading
from pateval.io.batches import CHANCE, batches_of, make_batches
from pateval.io.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_plan
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards import diagnostics
from pateval.leaderboards.board_files import refuse_other_board
from pateval.leaderboards.collect import Collector
from pateval.leaderboards.doubt import DOUBT_DRAWS, read_doubt
from pateval.leaderboards.progress import PartialScores, RunState, binary_detectors, binary_note, run_record
from pateval.leaderboards.result import POOLED, Leaderboard
from pateval.leaderboards.statistics import ChanceLevels, MetricFacts, default_rank_by
from pateval.leaderboards.tasks import Settings, divided, prepare_worker
from pateval.output.progress import reporter
from pateval.validation.arrays import count, flag, positive_integer
from pateval.validation.wording import in_words
from pateval.worker_pool import WorkerPool

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterable, Sequence
    from concurrent.futures import Executor

    from pateval.catalog import MetricLike
    from pateval.evaluation.measures import Threshold
    from pateval.output.progress import Report
    from pateval.time.clocks import Duration
    from pateval.validation.arrays import Buffers

EVENT_DRAWS = 200
_MOST_DETECTORS_WITH_EVENT_DRAWS = 1_000  # by default: 200 draws of 2,000 steps take about .4 s for each detector
# Metrics of the catalogue quick enough to be computed some hundred times for the limits of a single series.
EVENT_METRICS = ("pate", "pate_ap", "auc_roc", "average_precision")


def leaderboard(
    data: object,
    *,
    label: str | None = DEFAULT_LABEL,
    score: str | Sequence[str] | None = DEFAULT_SCORE,
    series: str | None = None,
    detector: str | None = None,
    run: str | None = None,
    time: str | None = None,
    time_unit: str | None = None,
    time_zone: str | None = None,
    layout: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    ignore: object = None,
    sort: bool = False,
    positive: object = None,
    events: object = None,
    closed_events: bool = False,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    rank_by: MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: Threshold = ORACLE,
    max_gap: Duration | None = None,
    missing: str = "error",
    pooled: bool = False,
    executor: Executor | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    keep_going: bool = False,
    chance: int = CHANCE_DRAWS,
    event_draws: int | None = None,
    doubt: int | Duration | None = None,
    doubt_draws: int = DOUBT_DRAWS,
    seed: int = 0,
    progress: bool | Report | None = None,
) -> Leaderboard:
    """Evaluate many detectors on many series under many metrics, and say what is evidence.

    Parameters
    ----------
    data : path, frame, mapping, or a collection of them
        * Paths, globs and folders of text, Parquet, Arrow, JSON and NumPy tables, and partitioned folders: a file
          per detector (named by its stem), or wide (one score column per detector), or long (a detector column).
        * A pandas, polars or pyarrow table, laid out in the same ways.
        * A mapping of columns, ``{"label": labels, "lstm": scores, "usad": scores}``: detectors on one series (or on
          several, with a ``series`` column).
        * A mapping of tables: ``{"lstm": table, "usad": table}`` with a ``score`` column names detectors, as files
          do; ``{"machine-1": {"label": ..., "lstm": ..., "usad": ...}, "machine-2": ...}`` names series.
    label, score, series, detector, run : str, optional
        Columns. What is not there by the default name, or is None, is guessed by name and announced in ``notes``. With
        several runs of a detector (other seeds, say) a series counts with its mean over runs, in ranks and tests too,
        and how far the runs lie apart stands beside the means.
    time : str, optional
        Column of times, guessed like the others where it is not named; "none" reads without. Times must increase within
        a series.
    time_unit : str, optional
        What one unit of times that are numbers is: "s", "ms", "min" and so on.
    time_zone : str, optional
        Where dates without a time zone were recorded, in the data and in the events: "UTC", "Europe/Berlin" and so on.
        Without it dates with a zone and dates without one do not go together.
    layout : {"detector/series", "series/detector"}, optional
        What sub-folders and files of a folder name; by default it is found out by names and labels in common.
    labels : path, optional
        Folder with the labels of each series, where the scores lie without them; files are matched by name.
    ignore : str, path or table, optional
        Column of 0/1 that marks steps to leave out, as if they had never been recorded; or a table of intervals, with
        columns of start and stop (and of series where there are several), in steps or in times. The stop is not left
        out.
    sort : bool
        Put the rows of each series in order of time.
    positive : label or collection of labels, optional
        The labels that mean an anomaly, where labels are words or classes.
    events : path or table, optional
        The anomalies in a table of their own, with columns of start and stop (and of series where there are several),
        instead of a column of labels: dates, or step numbers from 0.
    closed_events : bool
        Whether the stop of an event belongs to it; by default it does not.
    metrics : str, Metric, function, or iterable of these, optional
        Metric ids, with options or without, such as ``"pate(early=20,delay=20)"``; functions of your own, or what
        :func:`pateval.define_metric` made of them; ``"package.module:function"``; "all" and the other groups of
        :func:`pateval.evaluate`. By default the nine of `pateval.DEFAULT_METRICS`.
        What workers cannot import, a closure for example, is computed in this process, which ``notes`` say; what has no
        file whose content could tell versions apart is not kept in the cache.
    rank_by : str, Metric or function, optional
        The metric that orders the detectors, and that skill, groups and tests are shown for. By default `pate_ap`,
        which coarse scores do not fool, where it is computed, else the first metric.
    early, delay, window, threshold, max_gap
        As in :func:`pateval.evaluate`; durations are measured on the column of times.
    missing : {"error", "ignore", "normal"}
        What to do where a score is missing: refuse it; leave the step out, for all detectors of the series, so that all
        are judged on the same steps; or count it as never predicted. A detector without scores for more than half of
        a series has no value there where such steps are ignored, and does not shrink it for the others.
    pooled : bool
        Take all steps of a detector's series for one sample, with one threshold: the board has one value for each
        detector and metric, and no ranks. Metrics that cannot be pooled are refused where they are named.
    executor : concurrent.futures.Executor, optional
        Where to compute: a Dask cluster is ``distributed.Client(address).get_executor()``. It is not shut down.
    workers : int, optional
        Processes on this machine, where no executor is given. 1 computes in this process. By default one per core, or
        this process where the data are small. With an executor: how many tasks it runs at once. A script that starts
        processes must be guarded by ``if __name__ == "__main__":``.
    cache : path, optional
        Folder where each finished (detector, series) is kept; running again computes only what is not there.
    output : path, optional
        Folder that gets all tables, as from :meth:`Leaderboard.save`. While the work goes on, what is finished can be
        read from the Parquet files in its folder ``scores.partial``.
    overwrite : bool
        Replace a leaderboard in that folder that has other options, or metrics or rows that the new one lacks.
    keep_going : bool
        Leave out files and series that cannot be used, with their reasons in ``failures``, instead of raising.
    chance : int
        Random score vectors per series for the chance level; 0 skips it. They are cut by the threshold rule; where a
        threshold is a number or comes from training scores, as many steps are predicted as the detector predicts.
    event_draws : int, optional
        Where all is one series: resamples of its events for confidence limits, of the metrics named, or else of a few
        quick ones; 0 skips them. By default 200, and none for more than 1,000 detectors, which ``notes`` say. Several
        series are resampled themselves, which costs nothing.
    doubt : int or duration, optional
        How far the edges of events may lie elsewhere: steps, or a duration such as "10min" where there are times (at
        least one step, by the median interval of each series). Every edge is moved by a number of steps drawn uniformly
        up to that far; events that vanish are gone, those that meet are one. Values stay as they are; the spread of the
        ranking metric, and of others that ``metrics`` names, and how often each detector keeps its place stand beside
        them, in ``Leaderboard.doubt``.
    doubt_draws : int
        How often the edges are moved.
    seed : int
        Seed of random scores, resamples and moved edges.
    progress : bool or callable, optional
        True draws a bar on standard error; a callable gets ``(what, done, total)``.

    Returns
    -------
    Leaderboard

    Raises
    ------
    ValueError
        If input is unusable: one sentence that names file and column.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.tile([0, 0, 0, 0, 1, 1, 0, 0], 20)
    >>> noise = np.random.default_rng(0).random(160)
    >>> board = leaderboard({"label": labels, "good": labels + noise, "guess": noise}, metrics=["auc_roc"], chance=0)
    >>> board.summary().column("mean").to_pylist()[0]
    1.0
    """
    settings = choose(
        Measures.of(
            metrics=metrics,
            early=early,
            delay=delay,
            window=window,
            threshold=threshold,
            max_gap=max_gap,
            missing=missing,
            pooled=pooled,
            chance=chance,
            seed=seed,
        ),
        is_named=metrics is not None and not (isinstance(metrics, str) and metrics in GROUPS),
        cache=cache,
        event_draws=event_draws,
        doubt=doubt,
        doubt_draws=doubt_draws,
    )
    reading = Reading(
        label=label,
        score=score,
        series=series,
        detector=detector,
        run=run,
        time=time,
        time_unit=time_unit,
        time_zone=time_zone,
        layout=layout,
        labels=labels,
        ignore=ignore,
        sort=sort,
        positive=positive,
        events=events,
        closed_events=closed_events,
        defaults=True,
    )
    board = make_board(
        data,
        reading,
        settings,
        rank_by=rank_by,
        executor=executor,
        workers=workers,
        output=output,
        overwrite=overwrite,
        keep_going=keep_going,
        progress=progress,
    )
    if output is not None:
        board.save(output, overwrite=overwrite)
    return board


def make_board(
    data: object,
    reading: Reading,
    settings: Settings,
    *,
    rank_by: MetricLike | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    keep_going: bool = False,
    progress: bool | Report | None = None,
    tell: Callable[[str], None] | None = None,
) -> Leaderboard:
    """Read and compute a leaderboard, without writing it; ``tell`` gets the notes of reading before anything else."""
    flag(keep_going, "keep_going")
    chosen = choose_rank_by(rank_by, settings)
    with WorkerPool(executor, workers, prepare=prepare_worker) as pool:
        plan = make_plan(data, reading, needs_times=settings.measures.needs_times, keep_going=keep_going)
        tell = tell or (lambda _line: None)
        for line in plan.notes:
            tell(line)
        # Only now, so that files that cannot be read leave no empty folder behind.
        if settings.cache is not None:
            settings = replace(settings, cache=result_cache.prepare(settings.cache))
        board = compute(
            plan,
            settings,
            pool=pool,
            rank_by=chosen,
            output=output,
            overwrite=flag(overwrite, "overwrite"),
            keep_going=keep_going,
            progress=progress,
        )
    for line in board.notes[len(plan.notes) :]:
        tell(line)
    return board


def choose(
    measures: Measures,
    *,
    is_named: bool = True,
    cache: str | os.PathLike[str] | None = None,
    event_draws: int | None = None,
    doubt: int | Duration | None = None,
    doubt_draws: int = DOUBT_DRAWS,
) -> Settings:
    """Check what is computed beside the measures; ``is_named`` says whether the caller has named the metrics."""
    return Settings(
        measures,
        {metric.id: metric.cache_token() for metric in measures.metrics},
        cache=None if cache is None else result_cache.checked_folder(cache),
        code=result_cache.fingerprint(),
        event_draws=EVENT_DRAWS if event_draws is None else count(event_draws, "event_draws"),
        most_resampled=_MOST_DETECTORS_WITH_EVENT_DRAWS if event_draws is None else None,
        event_metrics=tuple(metric for metric in measures.ids if is_named or metric in EVENT_METRICS),
        doubt=read_doubt(doubt),
        doubt_draws=count(positive_integer(doubt_draws, "doubt_draws"), "doubt_draws"),
        doubt_metrics=measures.ids if is_named else (),
    )


def choose_rank_by(rank_by: MetricLike | None, settings: Settings) -> str:
    """Return the metric to rank by, or refuse one that is not computed."""
    if rank_by is None:
        return default_rank_by(settings.ids)
    measures = settings.measures
    given = measures.options | {"threshold": measures.threshold}
    if not isinstance(rank_by, str):
        rank_by = find_metrics([rank_by], global_values=given)[0].id
    found = rank_by
    with suppress(ValueError, TypeError):
        found = canonical_id(rank_by, settings.metrics, global_values=given)
    if found not in settings.ids:
        raise ValueError(
            f"rank_by must be one of the metrics computed ({', '.join(settings.ids[:8])}"
            f"{', ...' if len(settings.ids) > 8 else ''}), so add it to them; got {in_words(rank_by)}"
        )
    return found


def compute(
    plan: Plan,
    settings: Settings,
    *,
    pool: WorkerPool,
    rank_by: str = "",
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    keep_going: bool = False,
    progress: bool | Report | None = None,
    binary: frozenset[str] | None = None,
) -> Leaderboard:
    """Run a plan and put the results together.

    ``binary`` names the detectors whose scores are 0 and 1 only, where the plan is a part of the series that say so.
    """
    started = clock.perf_counter()
    rank_by = rank_by or default_rank_by(settings.ids)
    settings.measures.require_detectors(plan.detectors)
    settings, skipped = _fitted(settings, plan, rank_by)
    if output is not None and not overwrite:
        _refuse_other_board(output, plan, settings)
    if settings.measures.pooled:
        board = _pooled_board(plan, settings, rank_by)
        return replace(board, run=run_record(plan, settings, None, pool, clock.perf_counter() - started))
    workers = pool.decide_workers(plan.steps, len(plan.jobs))
    elsewhere, here, notes = divided(settings, pool)
    parts = [part for part in ((elsewhere, pool), (here, WorkerPool(workers=1))) if part[0].metrics]
    if binary is None:
        binary = binary_detectors(plan) if settings.measures.needs_predictions else frozenset()
    collector = Collector(plan, settings.ids, settings.doubt_metrics, settings.doubt_draws)
    with reporter(progress) as report, PartialScores(output, plan) as partial:
        state = RunState(collector, partial, binary, keep_going, report)
        state.look_for_missing(make_batches(plan, workers=workers), *parts[0])
        for wanted, where in parts:
            state.compute(make_batches(plan, workers=workers if where is pool else 1), wanted, where)
        for wanted, where in parts if settings.measures.chance else ():
            state.compute(batches_of(plan, collector.without_chance(), CHANCE), wanted, where)
        facts = {metric.id: MetricFacts.of(metric) for metric in settings.metrics}
        clocks = [spacing.interval is not None for spacing in collector.spacings.values() if spacing.steps > 1]
        board = collector.board(facts, settings, rank_by, *_signatures(settings, plan, binary, clocks))
    has_buffers = any("early" in metric.global_options for metric in settings.metrics)
    checks = [
        *diagnostics.label_differences(plan, collector.labels),
        *(diagnostics.too_long_buffers(collector.spacings.values(), settings.measures) if has_buffers else ()),
        *(diagnostics.long_holes(collector.spacings.values(), settings.measures) if has_buffers else ()),
        *diagnostics.find_warnings(board, collector.coarse_detectors()),
    ]
    left_out = diagnostics.left_out_lines(plan, collector.steps, settings.measures.missing)
    return replace(
        board,
        notes=(*board.notes, *notes, *binary_note(binary), *left_out, *skipped),
        warnings=(*(check.sentence for check in checks), *state.cache_errors(), *partial.warnings),
        checks=tuple(checks),
        run=run_record(plan, settings, collector, pool, clock.perf_counter() - started),
    )


def _refuse_other_board(output: str | os.PathLike[str], plan: Plan, settings: Settings) -> None:
    """Refuse to replace what holds more, before anything is computed."""
    pooled = settings.measures.pooled
    rows = {(job.detector, POOLED if pooled else job.series, "" if pooled else job.run) for job in plan.jobs}
    axes = {"detectors": plan.detectors, "series": [POOLED] if pooled else plan.series, "metrics": settings.ids}
    refuse_other_board(Path(output), settings.record() | axes, rows)


def _fitted(settings: Settings, plan: Plan, rank_by: str) -> tuple[Settings, list[str]]:
    """Decide what depends on the number of series and detectors, and on the metric that ranks, with notes on it.

    Limits over events are for a single series; labels are doubted for the metric that ranks and those that were named.
    """
    notes: list[str] = []
    if settings.measures.pooled:
        return settings, notes
    if settings.doubt:
        settings = replace(settings, doubt_metrics=tuple(dict.fromkeys((rank_by, *settings.doubt_metrics))))
    else:
        settings = replace(settings, doubt_metrics=(), doubt_draws=0)
    if len(plan.series) > 1:
        settings = replace(settings, event_draws=0)
    elif settings.most_resampled is not None and len(plan.detectors) > settings.most_resampled:
        draws = settings.event_draws
        asking = f"event_draws={draws} (--event-draws {draws}) computes them"
        notes = [f"no limits over events for as many as {len(plan.detectors):,} detectors: {asking}"]
        settings = replace(settings, event_draws=0)
    return settings, notes


def _signatures(
    settings: Settings, plan: Plan, binary: frozenset[str], clocks: Collection[bool]
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What decides a value on one series: by metric, and for detectors with a threshold of their own once more.

    ``clocks`` says of each series whether it has a clock whose unit is known.
    """
    measures = settings.measures
    is_masked = any(layout.ignore or layout.ignored for layout in plan.layouts)
    steps: dict[str, Any] = {"ignored": "mask"} if is_masked else {}
    steps |= {"missing": measures.missing} if measures.missing != "error" else {}

    def of(own: Measures, given: bool) -> dict[str, str]:
        fields = clock_fields(own, None, clocks)
        return {metric.id: own.signature(metric, given=given, **(steps | fields[metric.id])) for metric in own.metrics}

    special = dict.fromkeys([*dict(measures.thresholds), *sorted(binary)])
    own = {name: of(measures.of_detector(name), name in binary) for name in special}
    return of(measures, False), own


def _pooled_board(plan: Plan, settings: Settings, rank_by: str) -> Leaderboard:
    """A board whose values go over all steps of a detector's series taken for one sample."""
    recordings = ScoredFiles.read(plan, settings.measures).detectors()
    table = evaluate_detectors(recordings, settings.measures)
    texts: dict[str, int] = {"": 0}
    values = np.array([[[found[metric] for metric in settings.ids]] for found in table.values()])
    codes = [
        [[texts.setdefault(found.reasons.get(metric, ""), len(texts)) for metric in settings.ids]]
        for found in table.values()
    ]
    levels = np.array([[found.chance.get(metric, np.nan) for metric in settings.ids] for found in table.values()])
    rows = np.arange(len(table), dtype=np.int32)[:, None]
    first = next(iter(table.values()))
    left_out = first.measures.not_pooled
    return Leaderboard(
        tuple(table),
        (POOLED,),
        settings.ids,
        values,
        np.ones(values.shape[:2], dtype=np.bool_),
        np.array(codes, dtype=np.int16),
        tuple(texts),
        {metric.id: MetricFacts.of(metric) for metric in settings.metrics},
        rank_by=rank_by,
        signatures=first.signatures,
        own_signatures={name: found.signatures for name, found in table.items()},
        measures=settings.measures,
        pooled=len(plan.series),
        chance=ChanceLevels(levels, rows) if settings.measures.chance else None,
        digests={
            (name, POOLED, ""): " ".join(map(result_cache.content_digest, runs)) for name, runs in recordings.items()
        },
        plan=plan,
        notes=(
            *plan.notes,
            f"all steps of {len(plan.series)} series are one sample",
            *([f"left out, since series cannot be pooled for them: {', '.join(left_out)}"] if left_out else []),
            *binary_note(frozenset(name for name, found in table.items() if found.given)),
        ),
    )
