"""From score files to a leaderboard: plan, spread, merge in a fixed order."""

from __future__ import annotations

import platform
import time
import warnings
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval._validation import buffer_lengths, non_negative_integer
from pateval.catalog import find_metrics
from pateval.evaluation import ORACLE, choose_threshold
from pateval.io import TableError
from pateval.leaderboards import cache as kept
from pateval.leaderboards import diagnostics, pooled
from pateval.leaderboards.collect import Grid
from pateval.leaderboards.executors import Crew
from pateval.leaderboards.plan import DEFAULT_LABEL, DEFAULT_SCORE, Plan, make_batches, make_plan
from pateval.leaderboards.progress import reporter
from pateval.leaderboards.result import MetricFacts
from pateval.leaderboards.tasks import Settings, record_of, run_batch, run_chance, run_events, run_pooled

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor

    from pateval._validation import Buffers
    from pateval.leaderboards.plan import Batch, Job
    from pateval.leaderboards.progress import Report
    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.tasks import Outcome

    Work = Callable[..., list[Outcome]]
    Take = Callable[[Outcome], None]

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
    metrics: Iterable[str] | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int = 100,
    threshold: float | str = ORACLE,
    executor: Executor | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
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
    metrics : sequence of str, optional
        Metric ids; all of the catalogue by default.
    early, delay, window, threshold
        As in :func:`pateval.evaluation`.
    executor : concurrent.futures.Executor, optional
        Where to compute: a Dask cluster is ``distributed.Client(address).get_executor()``. It is not shut down.
    workers : int, optional
        Processes on this machine, where no executor is given. 1 computes in this process. By default one per core, or
        this process where the data are small. A script that starts processes must be guarded by
        ``if __name__ == "__main__":``.
    cache : path, optional
        Folder where each finished (detector, series) is kept; running again computes only what is not there.
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
    choices = choose(
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
    with Crew(executor, workers) as crew:
        plan = make_plan(data, label=label, score=score, series=series, detector=detector, keep_going=keep_going)
        return compute(plan, *choices, crew=crew, keep_going=keep_going, progress=progress)


def choose(
    *,
    metrics: Iterable[str] | None = None,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    window: int = 100,
    threshold: float | str = ORACLE,
    cache: str | os.PathLike[str] | None = None,
    chance: int = CHANCE_DRAWS,
    event_draws: int = EVENT_DRAWS,
    seed: int = 0,
) -> tuple[Settings, dict[str, MetricFacts]]:
    """Check what is to be computed, before any file is opened; the options are those of :func:`leaderboard`."""
    chosen, facts = known_metrics(metrics)
    settings = Settings(
        chosen,
        {
            "early": buffer_lengths(early, "early"),
            "delay": buffer_lengths(delay, "delay"),
            "window": non_negative_integer(window, "window"),
            "threshold": _checked_threshold(threshold),
        },
        cache=None if cache is None else kept.prepare(cache),
        code=kept.fingerprint(),
        draws=non_negative_integer(chance, "chance"),
        seed=non_negative_integer(seed, "seed"),
        event_draws=non_negative_integer(event_draws, "event_draws"),
        event_metrics=chosen if metrics is not None else tuple(each for each in EVENT_METRICS if each in chosen),
    )
    return settings, facts


def compute(
    plan: Plan,
    settings: Settings,
    facts: Mapping[str, MetricFacts],
    *,
    crew: Crew,
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
    facts : mapping
        Direction and best value of each metric.
    crew : Crew
        Who computes it.
    keep_going, progress
        As in :func:`leaderboard`.

    Returns
    -------
    Leaderboard
    """
    started = time.perf_counter()
    grid = Grid(plan, settings.metrics)
    crew.settle(plan)
    with reporter(progress) as report:
        run = _Run(settings, crew, keep_going)
        outcomes = run.all(plan, run_batch, partial(report, "scores"), grid.add)
        if settings.draws:
            firsts: dict[tuple[str, str], Job] = {}
            for job, outcome in zip(plan.jobs, outcomes, strict=True):
                if outcome.labels:
                    firsts.setdefault((job.series, outcome.labels), job)
            subjects = replace(plan, jobs=tuple(firsts.values()))
            run.all(subjects, run_chance, partial(report, "chance"), grid.add_chance)
        if settings.event_draws and len(plan.series) == 1:
            sound = [job for job, outcome in zip(plan.jobs, outcomes, strict=True) if not outcome.failure]
            run.all(replace(plan, jobs=tuple(sound)), run_events, partial(report, "limits"), grid.add_limits)
        together = _pooled(plan, outcomes, grid, run, partial(report, "pooled"))
    board = replace(grid.board(facts, outcomes), pooled=together)
    cautions = [*diagnostics.label_differences(plan, outcomes), *diagnostics.cautions(board, outcomes), *run.troubles()]
    return replace(
        board,
        warnings=tuple(cautions),
        run=_described(plan, settings, outcomes, crew, time.perf_counter() - started),
    )


def _pooled(
    plan: Plan, outcomes: Sequence[Outcome], grid: Grid, run: _Run, report: Callable[[int, int], None]
) -> Mapping[tuple[str, str], float]:
    """Compute PATE over all series of each detector together, where there are several."""
    parameters = run.settings.parameters
    wanted = set(pooled.METRICS) & set(run.settings.metrics)
    if not wanted or len(plan.series) < 2 or not pooled.can_pool(parameters["early"], parameters["delay"]):
        return {}
    jobs = [job for job, outcome in zip(plan.jobs, outcomes, strict=True) if not outcome.failure]
    merge = pooled.OrderedMerge([(job.detector, job.series) for job in jobs])
    thresholds = grid.thresholds()
    run.all(
        replace(plan, jobs=tuple(jobs)),
        run_pooled,
        report,
        lambda outcome: merge.add(outcome.detector, outcome.series, outcome.counts),
        lambda batch: replace(batch, thresholds={job.detector: thresholds[job.detector] for job in batch.jobs}),
    )
    return {key: value for key, value in merge.values().items() if key[1] in wanted}


class _Run:
    """One way of computing, and the trouble met on it."""

    def __init__(self, settings: Settings, crew: Crew, keep_going: bool) -> None:
        self.settings, self.crew, self.keep_going = settings, crew, keep_going
        self._lost: dict[str, int] = {}

    def all(
        self,
        plan: Plan,
        work: Work,
        report: Callable[[int, int], None],
        take: Take,
        equip: Callable[[Batch], Batch] | None = None,
    ) -> list[Outcome]:
        """Compute every job of a plan and hand each outcome on; return them, without their cells, in plan order."""
        found: dict[tuple[str, str], Outcome] = {}
        report(0, len(plan.jobs))
        batches = make_batches(plan, workers=self.crew.settle(plan))
        batches = batches if equip is None else map(equip, batches)
        run = partial(work, settings=self.settings)
        with closing(self.crew.spread(batches, run)) as arriving:
            for outcomes in arriving:
                for outcome in outcomes:
                    if outcome.bad_input and not self.keep_going:
                        raise TableError(outcome.failure)
                    self._keep(outcome)
                    take(outcome)
                    found[outcome.detector, outcome.series] = outcome.slim()
                report(len(found), len(plan.jobs))
        return [found[job.detector, job.series] for job in plan.jobs]

    def _keep(self, outcome: Outcome) -> None:
        """Make sure that a result is on this machine's disk, whoever computed it."""
        folder, trouble = self.settings.cache, outcome.trouble
        if folder is not None and outcome.key and not trouble and not kept.has(folder, outcome.key):
            trouble = kept.store(folder, outcome.key, record_of(outcome.cells, outcome.seconds))
        if trouble:
            self._lost[trouble] = self._lost.get(trouble, 0) + 1

    def troubles(self) -> list[str]:
        """Say what could not be written to the cache."""
        return [f"{trouble}: {number:,} results are in memory only" for trouble, number in self._lost.items()]


def known_metrics(metrics: Iterable[str] | None) -> tuple[tuple[str, ...], dict[str, MetricFacts]]:
    """Look metrics up in the catalogue; all of them where none are named.

    Examples
    --------
    >>> known_metrics(["temporal_distance"])
    (('temporal_distance',), {'temporal_distance': MetricFacts(higher_is_better=False, best=0.0, needs_threshold=True)})
    """
    found = find_metrics(metrics)
    facts = {each.id: MetricFacts(each.higher_is_better, each.best, each.needs_threshold) for each in found}
    return tuple(facts), facts


def _checked_threshold(threshold: float | str) -> float | str:
    """Refuse what is no threshold before any work is done, by trying it out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choose_threshold(np.arange(1000) >= 990, np.arange(1000.0), threshold)
    return threshold if isinstance(threshold, str) else float(threshold)


def _described(
    plan: Plan,
    settings: Settings,
    outcomes: Sequence[Outcome],
    crew: Crew,
    seconds: float,
) -> dict[str, Any]:
    """Say what was run, with what."""
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
        "units": len(outcomes),
        "computed": sum(outcome.computed for outcome in outcomes),
        "from_cache": sum(not outcome.failure and not outcome.computed for outcome in outcomes),
        "failed": sum(bool(outcome.failure) for outcome in outcomes),
        "where": f"{crew.workers} processes" if crew.executor is None else type(crew.executor).__name__,
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
