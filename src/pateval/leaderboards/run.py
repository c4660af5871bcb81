"""From score files to a leaderboard: plan, compute somewhere, collect in a fixed order."""

from __future__ import annotations

import platform
import time
import warnings
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval._validation import buffer_lengths, non_negative_integer
from pateval.catalog import canonical_id, find_metrics
from pateval.evaluation import ORACLE, choose_threshold, describe_threshold
from pateval.io import TableError
from pateval.leaderboards import cache as kept
from pateval.leaderboards import diagnostics, pooled
from pateval.leaderboards.batches import CHANCE, SCORES, make_batches, make_chance_batches
from pateval.leaderboards.collect import Collector
from pateval.leaderboards.executors import WorkerPool
from pateval.leaderboards.partial import PartialScores
from pateval.leaderboards.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_plan
from pateval.leaderboards.progress import reporter
from pateval.leaderboards.result import default_rank_by
from pateval.leaderboards.summary import MetricFacts
from pateval.leaderboards.tasks import Settings, record_of, token_of
from pateval.signatures import signature

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from pateval._validation import Buffers
    from pateval.catalog import MetricLike
    from pateval.leaderboards.batches import Batch
    from pateval.leaderboards.progress import Report
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.tasks import SeriesResult

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
    metrics: Iterable[MetricLike] | MetricLike | None = None,
    rank_by: MetricLike | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int = 100,
    threshold: float | str = ORACLE,
    executor: Executor | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    keep_going: bool = False,
    chance: int = CHANCE_DRAWS,
    event_draws: int = EVENT_DRAWS,
    seed: int = 0,
    progress: bool | Report | None = None,
) -> Leaderboard:
    """Evaluate many detectors on many series under many metrics, and say what is evidence.

    Parameters
    ----------
    data : path, frame, mapping, or a collection of them
        * Paths, globs and folders of CSV, Parquet, JSON-lines and NPZ files, and partitioned Parquet folders: a file
          per detector (named by its stem), or wide (one score column per detector), or long (a detector column).
        * A pandas, polars or pyarrow table, laid out in the same ways.
        * A mapping of columns, ``{"label": labels, "lstm": scores, "usad": scores}``: detectors on one series (or on
          several, with a ``series`` column).
        * A mapping of tables: ``{"lstm": table, "usad": table}`` with a ``score`` column names detectors, as files
          do; ``{"machine-1": {"label": ..., "lstm": ..., "usad": ...}, "machine-2": ...}`` names series.
    label, score, series, detector : str, optional
        Columns. What is not there by the default name, or is None, is guessed by name and announced in ``notes``.
    metrics : str, Metric, function, or iterable of these, optional
        Metric ids, with options or without, such as ``"pate(early=20,delay=20)"``; functions of your own, or what
        :func:`pateval.define_metric` made of them; ``"package.module:function"``. All of the catalogue by default.
        What workers cannot import, a closure for example, is computed in this process, which ``notes`` say; what has no
        file whose content could tell versions apart is not kept in the cache.
    rank_by : str, Metric or function, optional
        The metric that orders the detectors, and that skill, groups and tests are shown for. By default `pate_ap`,
        which coarse scores do not fool, where it is computed, else the first metric.
    early, delay, window, threshold
        As in :func:`pateval.evaluate`.
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
        Random score vectors per series for the chance level; 0 skips it.
    event_draws : int
        Where all is one series: resamples of its events for confidence limits, of the metrics named, or else of a few
        quick ones; 0 skips them. Several series are resampled themselves, which costs nothing.
    seed : int
        Seed of random scores and resamples.
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
        cache=cache,
        chance=chance,
        event_draws=event_draws,
        seed=seed,
    )
    rank_by = choose_rank_by(rank_by, settings)
    with WorkerPool(executor, workers) as pool:
        plan = make_plan(data, label=label, score=score, series=series, detector=detector, keep_going=keep_going)
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
    window: int = 100,
    threshold: float | str = ORACLE,
    cache: str | os.PathLike[str] | None = None,
    chance: int = CHANCE_DRAWS,
    event_draws: int = EVENT_DRAWS,
    seed: int = 0,
) -> Settings:
    """Check what is to be computed, before any file is opened; the options are those of :func:`leaderboard`."""
    parameters = {
        "early": buffer_lengths(early, "early"),
        "delay": buffer_lengths(delay, "delay"),
        "window": non_negative_integer(window, "window"),
        "threshold": _checked_threshold(threshold),
    }
    chosen = tuple(find_metrics(metrics, global_values=parameters))
    return Settings(
        chosen,
        parameters,
        {metric.id: metric.cache_token() for metric in chosen},
        cache=None if cache is None else kept.prepare(cache),
        code=kept.fingerprint(),
        draws=non_negative_integer(chance, "chance"),
        seed=non_negative_integer(seed, "seed"),
        event_draws=non_negative_integer(event_draws, "event_draws"),
        event_metrics=tuple(metric.id for metric in chosen if metrics is not None or metric.id in EVENT_METRICS),
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
            f"{', ...' if len(settings.ids) > 8 else ''}), so add it to them; got {rank_by!r}"
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
    settings = _fitted(settings, plan)
    workers = pool.decide_workers(plan)
    elsewhere, here, notes = pool.divide(settings)
    collector = Collector(plan, settings.ids)
    with closing(collector), reporter(progress) as report, PartialScores(output, plan) as partial:
        run = _Run(collector, partial, keep_going, report)
        if elsewhere.metrics:
            # The labels of most series are known when the last scores are under way; chance fills the gaps at the end.
            batches = chain(make_batches(plan, workers=workers), run.chance_batches(elsewhere))
            run.all(batches, elsewhere, pool)
            run.all(run.chance_batches(elsewhere), elsewhere, pool)
        if here.metrics:
            this_process = WorkerPool(workers=1)
            run.all(make_batches(plan), here, this_process)
            run.all(make_chance_batches(plan, collector.known_labels() if here.draws else []), here, this_process)
        board = collector.board(_facts(settings), settings, rank_by, _signatures(settings))
    lines = [
        *diagnostics.label_differences(plan, collector.labels),
        *diagnostics.find_warnings(board, collector.coarse_detectors()),
        *run.cache_errors(),
        *partial.warnings,
    ]
    described = _described(plan, settings, collector, pool, time.perf_counter() - started)
    return replace(board, notes=(*board.notes, *notes), warnings=tuple(lines), run=described)


def _fitted(settings: Settings, plan: Plan) -> Settings:
    """Decide what depends on the number of series: limits over events for one, pooling for several."""
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


def _facts(settings: Settings) -> dict[str, MetricFacts]:
    return {
        metric.id: MetricFacts(metric.higher_is_better, metric.best, metric.needs_threshold)
        for metric in settings.metrics
    }


def _signatures(settings: Settings) -> dict[str, str]:
    origin = describe_threshold(settings.parameters["threshold"])
    return {metric.id: signature(metric, settings.parameters, predictions=origin) for metric in settings.metrics}


class _Run:
    """One way of computing, what has come of it, and what could not be kept."""

    def __init__(self, collector: Collector, partial: PartialScores, keep_going: bool, report: Report) -> None:
        self._collector, self._partial, self._keep_going, self._report = collector, partial, keep_going, report
        self._done = {SCORES: 0, CHANCE: 0}
        self._total = {SCORES: 0, CHANCE: 0}
        self._lost: dict[str, int] = {}

    def all(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Compute all batches, and hand on every result as it comes."""
        if not self._total[SCORES]:
            self._total[SCORES] = len(self._collector.plan.jobs)
            self._tell(SCORES)
        with closing(pool.map(batches, settings)) as arriving:
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
        """Cut work for chance out of the labels met so far, each once."""
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
        """Make sure that a result is on this machine's disk, whoever computed it."""
        folder, line = settings.cache, result.cache_error
        elsewhere = folder is not None and pool.executor is not None and result.key and not line
        if elsewhere and not kept.has(folder, result.key):
            tokens = {name: token for name in result.cells if (token := token_of(name, settings)) is not None}
            line = kept.store(folder, result.key, record_of(result.cells, tokens, result.seconds))
        if line:
            self._lost[line] = self._lost.get(line, 0) + 1


def _checked_threshold(threshold: float | str) -> float | str:
    """Refuse what is no threshold before any work is done, by trying it out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choose_threshold(np.arange(1000) >= 990, np.arange(1000.0), threshold)
    return threshold if isinstance(threshold, str) else float(threshold)


def _described(
    plan: Plan, settings: Settings, collector: Collector, pool: WorkerPool, seconds: float
) -> dict[str, Any]:
    """Say what was run, with what."""
    failed, computed = len(collector.failed), int(collector.is_computed.sum())
    return {
        "inputs": [str(source) if not hasattr(source, "where") else source.where for source in plan.sources],
        "columns": [
            {"label": each.label, "scores": list(each.scores), "series": each.series, "detector": each.detector}
            for each in dict.fromkeys(plan.layouts)
        ],
        "parameters": settings.parameters,
        "chance_draws": settings.draws,
        "seed": settings.seed,
        "code": settings.code,
        "versions": _versions(),
        "units": len(plan.jobs),
        "computed": computed,
        "from_cache": int(collector.is_done.sum()) - computed - failed,
        "failed": failed,
        "where": f"{pool.workers} processes" if pool.executor is None else type(pool.executor).__name__,
        "seconds": round(seconds, 3),
    }


def _versions() -> dict[str, str]:
    from importlib import metadata

    packages = {"pateval": kept.package_version()}
    for name in ("numpy", "scipy", "pyarrow", "distributed"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return packages | {"python": platform.python_version(), "platform": platform.platform()}
