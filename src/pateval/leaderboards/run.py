"""From score files to a leaderboard: plan, compute somewhere, collect in a fixed order."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from pateval.catalog import canonical_id, find_metrics
from pateval.catalog.signatures import signature
from pateval.evaluation.circumstances import clock_field, what_needs_times
from pateval.evaluation.threshold_rules import ORACLE, check_threshold, threshold_rule
from pateval.io import TableError
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards import diagnostics, pooled
from pateval.leaderboards.batches import CHANCE, MISSING, SCORES, make_batches, make_chance_batches
from pateval.leaderboards.collect import Collector
from pateval.leaderboards.doubt import DOUBT_DRAWS, read_doubt
from pateval.leaderboards.executors import WorkerPool
from pateval.leaderboards.partial import PartialScores
from pateval.leaderboards.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_plan
from pateval.leaderboards.progress import reporter
from pateval.leaderboards.result import default_rank_by
from pateval.leaderboards.run_record import describe_run
from pateval.leaderboards.steps import MissingInSeries, left_out_lines
from pateval.leaderboards.summary import MetricFacts
from pateval.leaderboards.tasks import Settings, record_of, token_of
from pateval.time.clocks import canonical_lengths, duration_text, is_duration
from pateval.validation.arrays import MISSING as WAYS_WITH_MISSING
from pateval.validation.arrays import choice, count, flag, non_negative_integer, positive_integer, window_length
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from pateval.catalog import MetricLike
    from pateval.leaderboards.batches import Batch
    from pateval.leaderboards.progress import Report
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.tasks import SeriesResult
    from pateval.time.clocks import Duration
    from pateval.validation.arrays import Buffers

CHANCE_DRAWS = 5
EVENT_DRAWS = 200
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
    ignore: str | None = None,
    sort: bool = False,
    positive: object = None,
    events: object = None,
    closed_events: bool = False,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    rank_by: MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: float | str = ORACLE,
    max_gap: Duration | None = None,
    missing: str = "error",
    executor: Executor | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
    chance: int = CHANCE_DRAWS,
    event_draws: int = EVENT_DRAWS,
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
    ignore : str, optional
        Column of 0/1 that marks steps to leave out, as if they had never been recorded.
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
        :func:`pateval.define_metric` made of them; ``"package.module:function"``. All of the catalogue by default.
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
    keep_going : bool
        Leave out files and series that cannot be used, with their reasons in ``failures``, instead of raising.
    chance : int
        Random score vectors per series for the chance level; 0 skips it. They lie between 0 and 1, and are cut by the
        threshold rule; at a threshold that is a number, by that number, which docs/ranks.md discusses.
    event_draws : int
        Where all is one series: resamples of its events for confidence limits, of the metrics named, or else of a few
        quick ones; 0 skips them. Several series are resampled themselves, which costs nothing.
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
        metrics=metrics,
        early=early,
        delay=delay,
        window=window,
        threshold=threshold,
        max_gap=max_gap,
        missing=missing,
        cache=cache,
        chance=chance,
        event_draws=event_draws,
        doubt=doubt,
        doubt_draws=doubt_draws,
        seed=seed,
    )
    for name, value in (("sort", sort), ("keep_going", keep_going)):
        flag(value, name)
    rank_by = choose_rank_by(rank_by, settings)
    with WorkerPool(executor, workers) as pool:
        plan = make_plan(
            data,
            label=label,
            score=score,
            series=series,
            detector=detector,
            run=run,
            time=time,
            time_unit=time_unit,
            ignore=ignore,
            sort=sort,
            positive=positive,
            events=events,
            closed_events=closed_events,
            needs_times=settings.needs_times,
            keep_going=keep_going,
        )
        board = compute(
            plan, settings, pool=pool, rank_by=rank_by, output=output, keep_going=keep_going, progress=progress
        )
    if output is not None:
        board.save(output)
    return board


def choose(
    *,
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int | Duration = 100,
    threshold: float | str = ORACLE,
    max_gap: Duration | None = None,
    missing: str = "error",
    cache: str | os.PathLike[str] | None = None,
    chance: int = CHANCE_DRAWS,
    event_draws: int = EVENT_DRAWS,
    doubt: int | Duration | None = None,
    doubt_draws: int = DOUBT_DRAWS,
    seed: int = 0,
) -> Settings:
    """Check what is to be computed, before any file is opened; the options are those of :func:`leaderboard`."""
    parameters: dict[str, Any] = {
        "early": canonical_lengths(early, "early"),
        "delay": canonical_lengths(delay, "delay"),
        "window": duration_text(window) if is_duration(window) else window_length(window, "window"),
        "threshold": check_threshold(threshold),
    }
    if max_gap is not None:
        parameters["max_gap"] = duration_text(max_gap, "max_gap")
    if choice(missing, "missing", WAYS_WITH_MISSING) != "error":
        parameters["missing"] = missing
    chosen = tuple(find_metrics(metrics, global_values=parameters))
    return Settings(
        chosen,
        parameters,
        {metric.id: metric.cache_token() for metric in chosen},
        cache=None if cache is None else result_cache.prepare(cache),
        code=result_cache.fingerprint(),
        draws=count(chance, "chance"),
        seed=non_negative_integer(seed, "seed"),
        event_draws=count(event_draws, "event_draws"),
        event_metrics=tuple(metric.id for metric in chosen if metrics is not None or metric.id in EVENT_METRICS),
        needs_times=what_needs_times(chosen, parameters, threshold=threshold, max_gap=max_gap),
        doubt=read_doubt(doubt),
        doubt_draws=count(positive_integer(doubt_draws, "doubt_draws"), "doubt_draws"),
        doubt_metrics=tuple(metric.id for metric in chosen) if metrics is not None else (),
    )


def choose_rank_by(rank_by: MetricLike | None, settings: Settings) -> str:
    """Return the metric to rank by, or refuse one that is not computed."""
    if rank_by is None:
        return default_rank_by(settings.ids)
    if not isinstance(rank_by, str):
        rank_by = find_metrics([rank_by], global_values=settings.parameters)[0].id
    found = rank_by
    with suppress(ValueError, TypeError):
        found = canonical_id(rank_by, settings.metrics, global_values=settings.parameters)
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
    keep_going: bool = False,
    progress: bool | Report | None = None,
) -> Leaderboard:
    """Run a plan and put the results together.

    Parameters
    ----------
    plan : Plan
        The jobs.
    settings : Settings
        What to compute.
    pool : WorkerPool
        Where to compute it.
    rank_by, output, keep_going, progress
        As in :func:`leaderboard`.

    Returns
    -------
    Leaderboard
    """
    started = time.perf_counter()
    settings = _fitted(settings, plan, rank_by or default_rank_by(settings.ids))
    workers = pool.decide_workers(plan)
    elsewhere, here, notes = pool.divide(settings)
    collector = Collector(plan, settings.ids, settings.doubt_metrics, settings.doubt_draws)
    with closing(collector), reporter(progress) as report, PartialScores(output, plan) as partial:
        run = _Run(collector, partial, keep_going, report)
        if elsewhere.metrics:
            run.look_for_missing(make_batches(plan, workers=workers), elsewhere, pool)
            # The labels of most series are known when the last scores are under way; chance fills the gaps at the end.
            batches = chain(make_batches(plan, workers=workers), run.chance_batches(elsewhere))
            run.all(batches, elsewhere, pool)
            run.all(run.chance_batches(elsewhere), elsewhere, pool)
        if here.metrics:
            this_process = WorkerPool(workers=1)
            if not elsewhere.metrics:
                run.look_for_missing(make_batches(plan), here, this_process)
            run.all(make_batches(plan), here, this_process)
            run.all(make_chance_batches(plan, collector.known_labels() if here.draws else []), here, this_process)
        board = collector.board(facts_of(settings), settings, rank_by, _signatures(settings, plan))
    has_buffers = any("early" in metric.global_options for metric in settings.metrics)
    checks = [
        *diagnostics.label_differences(plan, collector.labels),
        *(diagnostics.too_long_buffers(plan, collector.labels, settings.parameters) if has_buffers else ()),
        *diagnostics.find_warnings(board, collector.coarse_detectors()),
    ]
    lines = [*(check.sentence for check in checks), *run.cache_errors(), *partial.warnings]
    described = describe_run(plan, settings, collector, pool, time.perf_counter() - started)
    left_out = left_out_lines(plan, collector.steps, settings.parameters.get("missing", "error"))
    return replace(
        board, notes=(*board.notes, *notes, *left_out), warnings=tuple(lines), checks=tuple(checks), run=described
    )


def _fitted(settings: Settings, plan: Plan, rank_by: str) -> Settings:
    """Decide what depends on the number of series: limits over events for one, pooling for several.

    Labels are doubted for the metric that ranks and those that were named.
    """
    if settings.doubt:
        settings = replace(settings, doubt_metrics=tuple(dict.fromkeys((rank_by, *settings.doubt_metrics))))
    else:
        settings = replace(settings, doubt_metrics=(), doubt_draws=0)
    series = len(plan.series)
    if series == 1:
        return settings
    wanted = pooled.poolable(settings.metrics, settings.parameters, series)
    return replace(
        settings,
        event_draws=0,
        pooled_buffers=tuple(dict.fromkeys((how.early, how.delay) for how in wanted.values())),
        pooled_thresholds=pooled.thresholds_per_series(series),
    )


def facts_of(settings: Settings) -> dict[str, MetricFacts]:
    """Return which way each metric points, and what a perfect detector gets."""
    return {
        metric.id: MetricFacts(metric.higher_is_better, metric.best, metric.needs_threshold)
        for metric in settings.metrics
    }


def _signatures(settings: Settings, plan: Plan) -> dict[str, str]:
    parameters = settings.parameters
    return {
        metric.id: signature(
            metric,
            parameters,
            predictions=threshold_rule(parameters["threshold"]).signature,
            clock=clock_field(metric, parameters, None, parameters.get("max_gap")),
            ignored="mask" if any(layout.ignore for layout in plan.layouts) else None,
            missing=parameters.get("missing"),
        )
        for metric in settings.metrics
    }


class _Run:
    """The state of one run: which batches are done, what has been reported, and what could not be cached."""

    def __init__(self, collector: Collector, partial: PartialScores, keep_going: bool, report: Report) -> None:
        self._collector, self._partial, self._keep_going, self._report = collector, partial, keep_going, report
        self._done = {SCORES: 0, CHANCE: 0}
        self._total = {SCORES: 0, CHANCE: 0}
        self._lost: dict[str, int] = {}
        self._missing = MissingInSeries(collector.plan)

    def look_for_missing(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Find the steps at which a detector of a series has no score, where they are left out for all of them."""
        if settings.parameters.get("missing") != "ignore":
            return
        done, total = 0, len(self._collector.plan.jobs)
        looking = (replace(batch, purpose=MISSING) for batch in batches)
        with closing(pool.map(looking, settings)) as arriving:
            for results in arriving:
                for result in results:
                    # A series that cannot be read is reported when its scores are computed.
                    if result.missing is not None:
                        self._missing.add(result.job, result.missing)
                done += len(results)
                self._report(MISSING, done, total)

    def all(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Compute all batches, and hand on every result as it comes."""
        if not self._total[SCORES]:
            self._total[SCORES] = len(self._collector.plan.jobs)
            self._tell(SCORES)
        with closing(pool.map(self._missing.given_to(batches), settings)) as arriving:
            for results in arriving:
                for result in results:
                    if result.bad_input and not self._keep_going:
                        raise TableError(result.failure)
                    self._keep(result, settings, pool)
                    self._collector.add(result, settings.ids)
                    self._partial.add(result, settings.ids)
                    self._done[result.purpose] += 1
                for purpose in dict.fromkeys(result.purpose for result in results):
                    self._tell(purpose)

    def chance_batches(self, settings: Settings) -> Iterator[Batch]:
        """Return batches of random scores for the labels met so far that have had none yet."""
        if settings.draws:
            jobs = self._collector.unknown_labels()
            self._total[CHANCE] += len(jobs)
            yield from make_chance_batches(self._collector.plan, jobs)

    def cache_errors(self) -> list[str]:
        """Say what could not be written to the cache."""
        return [f"{line}: {number:,} results are in memory only" for line, number in self._lost.items()]

    def _tell(self, purpose: str) -> None:
        done = self._done[purpose]
        self._report(purpose, done, max(done, self._total[purpose]))

    def _keep(self, result: SeriesResult, settings: Settings, pool: WorkerPool) -> None:
        """Write a result that was computed on another machine to the cache of this one."""
        folder, line = settings.cache, result.cache_error
        elsewhere = folder is not None and pool.executor is not None
        for key, cells in ((result.key, result.cells), (result.doubt_key, result.doubt)):
            if elsewhere and key and not line and not result_cache.has(folder, key):
                tokens = {name: token for name in cells if (token := token_of(name, settings)) is not None}
                line = result_cache.store(folder, key, record_of(cells, tokens, result.seconds))
        if line:
            self._lost[line] = self._lost.get(line, 0) + 1
