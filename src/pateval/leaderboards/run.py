"""From score files to a leaderboard: plan, compute somewhere, collect in a fixed order."""

from __future__ import annotations

import os
import platform
import time as clock
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from pateval._version import __version__
from pateval.catalog import GROUPS, MetricLike
from pateval.catalog.metric import ORACLE
from pateval.evaluation.files import binary_detectors, binary_note
from pateval.evaluation.measures import CHANCE_DRAWS, Measures, Threshold
from pateval.io import Reading, TableError
from pateval.io.files import open_table
from pateval.io.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_plan, merged_notes
from pateval.io.units import CHANCE, batches_of, list_units, make_batches
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards import diagnostics
from pateval.leaderboards.arrays import by_name
from pateval.leaderboards.board_files import PartialScores, already_there, refuse_other_board, require_parquet
from pateval.leaderboards.collect import Collector, Work, pooled_board
from pateval.leaderboards.doubt import DOUBT_DRAWS
from pateval.leaderboards.result import POOLED, Leaderboard
from pateval.leaderboards.significance import known_detector
from pateval.leaderboards.tasks import Settings, divided, prepare_worker
from pateval.output.progress import Report, reporter
from pateval.rules import ONE_LINERS
from pateval.time.clocks import Duration
from pateval.validation.arrays import Buffers, flag
from pateval.validation.wording import listed
from pateval.worker_pool import WorkerPool

EVENT_DRAWS = 200
_MOST_DETECTORS_WITH_EVENT_DRAWS = 1_000  # by default: 200 draws of 2,000 steps take about .4 s for each detector


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
    control: str | None = None,
    one_liners: object = None,
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
    control : str, optional
        A detector that all others are compared with where the board is shown, as :meth:`Leaderboard.against` says.
    one_liners : path, frame, mapping, or a collection of them, or False, optional
        Scores of what needs no training, to stand beside the detectors and in no rank and test. By default a constant
        and four rules on the values of the series, where ``data`` has such columns; False leaves them out.
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
    said = dict(locals())
    settings = Settings.of(
        Measures.of_keywords(said),
        rank_by=rank_by,
        is_named=metrics is not None and not (isinstance(metrics, str) and metrics in GROUPS),
        cache=cache,
        event_draws=event_draws,
        doubt=doubt,
        doubt_draws=doubt_draws,
    )
    columns = {field.name: said[field.name] for field in fields(Reading) if field.name in said}
    board = make_board(data, Reading(**columns, defaults=True), settings, **{name: said[name] for name in _OF_WORK})
    if output is not None:
        board.save(output, overwrite=overwrite)
    return board


_OF_WORK = ("control", "one_liners", "executor", "workers", "output", "overwrite", "keep_going", "progress")


def make_board(
    data: object,
    reading: Reading,
    settings: Settings,
    *,
    control: str | None = None,
    one_liners: object = None,
    executor: Executor | None = None,
    workers: int | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    keep_going: bool = False,
    progress: bool | Report | None = None,
    base: Leaderboard | None = None,
    tell: Callable[[str], None] = lambda _line: None,
) -> Leaderboard:
    """Read and compute a leaderboard, without writing it; ``tell`` gets the notes of reading before anything else."""
    flag(keep_going, "keep_going")
    if output is not None:
        require_parquet(output)
    with WorkerPool(executor, workers, prepare=prepare_worker) as pool:
        plan = make_plan(data, reading, needs_times=settings.measures.needs_times, keep_going=keep_going)
        beside = _one_liner_plan(plan, one_liners, reading, settings.ids, base)
        for line in (*plan.notes, *(() if beside is None else beside.notes)):
            tell(line)
        if control is not None:
            known_detector(control, plan.detectors)
        if base is not None:
            jobs = diagnostics.jobs_read(plan, settings.measures, keep_going=keep_going)
            for sentence in diagnostics.other_series(base, jobs):
                raise TableError(f"what is added does not go with the leaderboard: {sentence}")
        # Only now, so that files that cannot be read, or do not belong there, leave nothing behind.
        if settings.cache is not None:
            settings = replace(settings, cache=result_cache.prepare(settings.cache))
        flag(overwrite, "overwrite")
        how: dict[str, Any] = {"pool": pool, "progress": progress}
        board = compute(plan, settings, **how, base=base, output=output, overwrite=overwrite, keep_going=keep_going)
        if beside is not None:  # on the same steps, with the same chance
            plainly = replace(settings, measures=replace(settings.measures, thresholds=()), event_draws=0, doubt=0)
            rules = compute(beside, plainly, **how, base=board, overwrite=True, keep_going=True)
            differing = diagnostics.other_series(board, diagnostics.jobs_of(rules))
            for sentence in differing if one_liners is not None else ():
                raise TableError(f"the one-liners do not go with the detectors: {sentence}")
            board = replace(board, one_liners=bare(rules))
    for line in board.notes[len(plan.notes) :]:
        tell(line)
    return board if control is None else board.against(control)


def _one_liner_plan(
    plan: Plan, given: object, reading: Reading, metrics: Sequence[str], base: Leaderboard | None = None
) -> Plan | None:
    """The jobs of one-liners on the series of a plan: those of given scores, else rules on the values in its files."""
    if given is False:
        return None
    if given is None:
        before = None if base is None else base.one_liners  # a board that grows has those of its series already
        return _rules_on(plan, before.series if before is not None and {*metrics} <= {*before.metrics} else ())
    # Files of their own, with columns and labels as `pateval detect` writes them.
    rules = make_plan(
        given, replace(reading, label=None, score=None, series=None, detector=None, run=None, positive=None)
    )
    codes = [code for code, name in enumerate(rules.series) if name in plan.series]
    if not codes:
        raise TableError(f"{rules.where(0)}: the one-liners are on none of the series that the detectors are on")
    return by_name(rules, np.isin(rules.jobs.series_code, codes))


def _rules_on(plan: Plan, known: Collection[str]) -> Plan | None:
    """The rules on the series of a plan whose files have columns of values, each series once: in the last of them."""
    with_values = []
    for opened, layout in zip(plan.sources, plan.layouts, strict=True):
        if layout.values and not (layout.channels or layout.detector or layout.run):
            source = open_table(opened) if isinstance(opened, Path) else opened
            own = replace(layout, scores=ONE_LINERS, one_liners=True, affix="", notes=())
            units = [unit for unit in list_units(source, own) if unit.series not in known]
            with_values.append((opened, source.where, own, units))
    last = {unit.series: place for place, (*_, units) in enumerate(with_values) for unit in units}
    parts, notes = [], []
    for place, (opened, where, own, units) in enumerate(with_values):
        if own_units := [unit for unit in units if last[unit.series] == place]:
            parts.append((opened, own, own_units))
            notes.append(f"{where}: rules without training score {listed(own.values, 3)}")
    return Plan.of(parts, merged_notes(notes)) if parts else None


def bare(beside: Leaderboard) -> Leaderboard:
    """One-liners without what is said of series and few detectors: the board that they stand beside says it."""
    rows = [
        {name: row[name] for name in ("series", *diagnostics.TRUTH)} for row in diagnostics.rows_of(beside.series_table)
    ]
    return replace(beside, series_table=diagnostics.series_table(rows), warnings=(), checks=(), coarse=())


def compute(
    plan: Plan,
    settings: Settings,
    *,
    pool: WorkerPool,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    keep_going: bool = False,
    progress: bool | Report | None = None,
    binary: frozenset[str] | None = None,
    base: Leaderboard | None = None,
) -> Leaderboard:
    """Run a plan and put the results together.

    ``binary`` names the detectors whose scores are 0 and 1 only, where the plan is a part of the series that say so.
    What is known from a ``base``, the board that the results will be put beside, is taken from it: left-out steps,
    chance, and how many series there are.
    """
    started = clock.perf_counter()
    plan = by_name(plan)
    measures = settings.measures
    measures.require_detectors([*plan.detectors, *(() if base is None else base.detectors)])
    settings, skipped = _fitted(settings, plan, () if base is None else base.series)
    if base is not None and not overwrite and settings.ids[0] in base.metrics:
        for sentence in already_there(base, ((job.detector, job.series, job.run) for job in plan.jobs)):
            raise TableError(sentence)
    if output is not None and not overwrite and base is None:
        pooled = measures.pooled
        rows = {(job.detector, POOLED if pooled else job.series, "" if pooled else job.run) for job in plan.jobs}
        axes = {"detectors": plan.detectors, "series": [POOLED] if pooled else plan.series, "metrics": settings.ids}
        refuse_other_board(Path(output), settings.record() | axes, rows)  # before anything is computed
    if measures.pooled:
        board, done = pooled_board(plan, settings), {"computed": len(plan.jobs), "from_cache": 0, "failed": 0}
        return replace(board, run=run_record(plan, settings, pool, started, done))
    workers = pool.decide_workers(plan.steps, len(plan.jobs))
    elsewhere, here, notes = divided(settings, pool)
    parts = [part for part in ((elsewhere, pool), (here, WorkerPool(workers=1))) if part[0].metrics]
    if binary is None:
        known = {} if base is None else {name: name in base.predicting for name in base.detectors}
        binary = binary_detectors(plan, known) if measures.needs_predictions else frozenset()
    collector = Collector(plan, settings, base)
    with reporter(progress) as report, PartialScores(output, plan) as partial:
        work = Work(collector, partial, binary, keep_going, report)
        if measures.missing == "ignore":
            work.look_for_missing(make_batches(plan, workers=workers), *parts[0])
        for wanted, where in parts:
            work.compute(make_batches(plan, workers=workers if where is pool else 1), wanted, where)
        collector.take_chance()
        for wanted, where in parts if measures.chance else ():
            work.compute(batches_of(plan, collector.without_chance(), CHANCE), wanted, where)
    board = collector.board(binary)
    board = diagnostics.with_checks(board, diagnostics.label_differences(plan, collector.labels), measures)
    left_out = diagnostics.left_out_lines(board.jobs, measures.missing)
    return replace(
        board,
        notes=(*board.notes, *notes, *binary_note(binary), *left_out, *skipped),
        warnings=(*board.warnings, *work.cache_errors(), *partial.warnings),
        run=run_record(plan, settings, pool, started, collector.counts()),
    )


def _fitted(settings: Settings, plan: Plan, of_base: Sequence[str]) -> tuple[Settings, list[str]]:
    """Decide what depends on the number of series, with those of a base, and of detectors, with notes on it."""
    draws, notes = EVENT_DRAWS if settings.event_draws is None else settings.event_draws, []
    if not settings.measures.pooled:
        if len({*plan.series, *of_base}) > 1:  # limits over events are for a single one
            draws = 0
        elif settings.event_draws is None and len(plan.detectors) > _MOST_DETECTORS_WITH_EVENT_DRAWS:
            asking = f"event_draws={draws} (--event-draws {draws}) computes them"
            notes = [f"no limits over events for as many as {len(plan.detectors):,} detectors: {asking}"]
            draws = 0
        doubted = tuple(dict.fromkeys((settings.rank_by, *settings.doubt_metrics))) if settings.doubt else ()
        settings = replace(settings, doubt_metrics=doubted, doubt_draws=settings.doubt_draws if doubted else 0)
    return replace(settings, event_draws=draws), notes


def run_record(
    plan: Plan, settings: Settings, pool: WorkerPool, started: float, done: Mapping[str, int]
) -> dict[str, Any]:
    """What was run, with what, how much of it was computed, and how long that took."""
    return {
        "inputs": [str(source) if not hasattr(source, "where") else source.where for source in plan.sources],
        "reading": _reading(plan),
        **settings.record(),
        "code": settings.code,
        "versions": _versions(),
        "units": len(plan.jobs),
        **done,
        "where": f"{pool.workers} processes" if pool.executor is None else type(pool.executor).__name__,
        "seconds": round(clock.perf_counter() - started, 3),
    }


def _reading(plan: Plan) -> dict[str, Any]:
    """Say how each input was read, so that it can be read again."""
    plain = [replace(layout, guessed="", notes=()) for layout in plan.layouts]
    known = {layout: number for number, layout in enumerate(dict.fromkeys(plain))}
    intervals = (table for layout in known for table in (layout.events, layout.ignored) if table is not None)
    files = dict.fromkeys(table.where for table in intervals)
    return {
        "directory": os.getcwd(),
        "event_files": [where for where in files if os.path.isfile(where)],
        "layouts": [asdict(layout) for layout in known],
        "layout_of_input": [known[layout] for layout in plain],
    }


def _versions() -> dict[str, str]:
    from importlib import metadata

    packages = {"pateval": __version__}
    for name in ("numpy", "scipy", "pyarrow", "distributed"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return packages | {"python": platform.python_version(), "platform": platform.platform()}
