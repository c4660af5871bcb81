"""While the work goes on: results are handed on, shown as a bar and written to files; and what was run is recorded."""

from __future__ import annotations

import math
import os
import platform
import shutil
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval._version import __version__
from pateval.evaluation.values import Value
from pateval.io import TableError
from pateval.io.atomic import write_parquet
from pateval.io.batches import CHANCE, LOOK, SCORES, Batch, batches_of, read_batch
from pateval.io.source import Table
from pateval.leaderboards import cache as result_cache
from pateval.leaderboards.board_files import writing
from pateval.leaderboards.tasks import iterate_batch, lost
from pateval.validation.arrays import scores_with_gaps
from pateval.validation.wording import listed
from pateval.worker_pool import MOST_IN_FLIGHT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from pateval.io.plan import Plan
    from pateval.leaderboards.collect import Collector
    from pateval.leaderboards.tasks import SeriesResult, Settings
    from pateval.output.progress import Report
    from pateval.validation.arrays import BoolArray
    from pateval.worker_pool import WorkerPool


_MOST_CARRYING_BATCHES_IN_FLIGHT = 32
FOLDER = "scores.partial"
_ROWS_PER_FILE = 30_000
_SECONDS_PER_FILE = 20.0


class PartialScores:
    """Writes results as they come, in files of bounded size.

    The files hold the rows of ``scores.parquet`` in the order in which they were finished. They stay after an
    interruption, for whoever wants to look, until the next run into the same folder. Without a folder for the tables
    nothing is written.
    """

    def __init__(self, output: str | os.PathLike[str] | None, plan: Plan) -> None:
        self._folder = None if output is None else Path(output) / FOLDER
        self._plan, self._lock = plan, ExitStack()
        self._waiting: list[tuple[SeriesResult, Sequence[str]]] = []
        self._rows = 0
        self.warnings: list[str] = []
        self._files = 0
        self._last = time.monotonic()

    def add(self, result: SeriesResult, metrics: Sequence[str]) -> None:
        """Take in one result, and write those that wait where they are many, or have waited long."""
        if self._folder is None or result.purpose != SCORES:
            return
        self._waiting.append((result, metrics))
        self._rows += len(metrics)
        if self._rows >= _ROWS_PER_FILE or time.monotonic() - self._last > _SECONDS_PER_FILE:
            self.flush()

    def flush(self) -> None:
        """Write what waits; where that is not possible, nothing more is written, and `warnings` say so."""
        if self._folder is not None and self._waiting:
            try:
                write_parquet([self._table()], self._folder / f"part-{self._files:05d}.parquet")
            except OSError as error:
                # The results themselves are not lost: the whole is written at the end, and says what is wrong then.
                self.warnings.append(f"finished scores cannot be read before the end: {error}")
                self._folder = None
            self._files += 1
            self._waiting, self._rows = [], 0
        self._last = time.monotonic()

    def _table(self) -> Any:
        import pyarrow as pa

        jobs = [self._plan.jobs[result.job] for result, _ in self._waiting]
        sizes = [len(metrics) for _, metrics in self._waiting]
        cells = [
            (result.values.get(metric, Value(math.nan, result.failure)), metric)
            for result, metrics in self._waiting
            for metric in metrics
        ]
        names = np.repeat([job.run for job in jobs], sizes)
        run = {"run": pa.array(names, pa.string())} if any(self._plan.jobs.runs) else {}
        return pa.table(
            {
                "detector": pa.array(np.repeat([job.detector for job in jobs], sizes), pa.string()),
                "series": pa.array(np.repeat([job.series for job in jobs], sizes), pa.string()),
                **run,
                "metric": pa.array([metric for _, metric in cells], pa.string()),
                "value": pa.array([cell.value for cell, _ in cells], pa.float64()),
                "reason": pa.array([cell.reason or None for cell, _ in cells], pa.string()),
            }
        )

    def __enter__(self) -> PartialScores:
        if self._folder is not None:
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(writing(self._folder.parent))
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._lock:
            if self._folder is not None and kind is None:
                # All results are at hand now, and the files that hold them in order are written next.
                shutil.rmtree(self._folder, ignore_errors=True)
            elif self._folder is not None:
                self.flush()


class RunState:
    """The state of one run: which batches are done, what has been reported, and what could not be cached."""

    def __init__(
        self,
        collector: Collector,
        partial: PartialScores,
        binary: frozenset[str],
        keep_going: bool,
        report: Report,
    ) -> None:
        self._collector, self._partial, self._keep_going, self._report = collector, partial, keep_going, report
        self._done = {SCORES: 0, CHANCE: 0}
        self._total = {SCORES: 0, CHANCE: 0}
        self._lost: dict[str, int] = {}
        jobs = collector.plan.jobs
        self._binary = np.isin(jobs.detector_code, [d for d, name in enumerate(jobs.detectors) if name in binary])
        self._is_first = np.zeros(len(jobs), dtype=np.bool_)
        self._is_first[np.unique(jobs.series_code, return_index=True)[1]] = True
        self._absent: dict[tuple[int, int], BoolArray] = {}

    def look_for_missing(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Find the steps at which a detector of a series has no score, where they are left out for all of them."""
        if settings.measures.missing != "ignore":
            return
        jobs, done = self._collector.plan.jobs, 0
        looking = (replace(batch, purpose=LOOK) for batch in batches)
        with closing(self._map(looking, settings, pool)) as arriving:
            for results in arriving:
                for result in results:
                    # A series that cannot be read is reported when its scores are computed.
                    if result.absent is not None:
                        key = int(jobs.series_code[result.job]), result.absent.size
                        self._absent[key] = result.absent | self._absent.get(key, np.False_)
                done += len(results)
                self._report(LOOK, done, len(jobs))

    def compute(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> None:
        """Compute all batches, and hand on every result as it comes."""
        if not self._total[SCORES]:
            self._total[SCORES] = len(self._collector.plan.jobs)
            self._tell(SCORES)
        with closing(self._map(map(self._with_what_is_known, batches), settings, pool)) as arriving:
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

    def _map(self, batches: Iterable[Batch], settings: Settings, pool: WorkerPool) -> Generator[list[SeriesResult]]:
        """Compute batches somewhere; of those that carry their series, few are under way at a time."""
        in_memory = any(isinstance(source, Table) for source in self._collector.plan.sources)
        most = _MOST_CARRYING_BATCHES_IN_FLIGHT if in_memory else MOST_IN_FLIGHT
        work = partial(iterate_batch, settings=settings)
        return pool.map(work, batches, lost=lost, split=Batch.split, most_in_flight=most)

    def _with_what_is_known(self, batch: Batch) -> Batch:
        """Tell a batch what is known of its jobs from all files."""
        numbers = [job.number for job in batch.jobs]
        codes, steps = self._collector.plan.jobs.series_code, self._collector.plan.jobs.steps
        keys = {number: (int(codes[number]), int(steps[number])) for number in numbers}
        return replace(
            batch,
            left_out={n: np.packbits(self._absent[key]) for n, key in keys.items() if key in self._absent},
            binary=frozenset(number for number in numbers if self._binary[number]),
            first=frozenset(number for number in numbers if self._is_first[number]),
        )

    def cache_errors(self) -> list[str]:
        """Say what could not be written to the cache."""
        return [f"{line}: {number:,} results are in memory only" for line, number in self._lost.items()]

    def _tell(self, purpose: str) -> None:
        done = self._done[purpose]
        self._report(purpose, done, max(done, self._total[purpose]))

    def _keep(self, result: SeriesResult, settings: Settings, pool: WorkerPool) -> None:
        """Write a result that was computed on another machine to the cache of this one."""
        line = result.cache_error
        if settings.cache is not None and pool.executor is not None:
            known = result_cache.opened(settings.cache)
            for key, record in result.records.items():
                if record.keys() - known.load(key).keys():
                    line = line or known.store(key, record)
        if line:
            self._lost[line] = self._lost.get(line, 0) + 1


def binary_detectors(plan: Plan) -> frozenset[str]:
    """Detectors whose scores are 0 and 1 only, on all their series: they give predictions, and no rule is applied.

    A detector is given up at its first other score, so that usually one series of each is read.
    """
    codes, jobs = plan.jobs.detector_code, np.arange(len(plan.jobs))
    values: dict[int, set[float]] = {}
    _, first = np.unique(codes, return_index=True)
    for some in (first, np.setdiff1d(jobs, first)):
        for batch in batches_of(plan, [job for job in some if values.get(int(codes[job]), {0.0})], SCORES):
            with suppress(TableError, OSError):  # what is wrong with a file is said when it is evaluated
                for job, item in read_batch(batch):
                    d = int(codes[job.number])
                    if d in values and not values[d]:
                        continue
                    try:
                        found = scores_with_gaps(item.scores, channels=item.scores.ndim == 2)
                    except (TypeError, ValueError):
                        found = np.full(1, 0.5)
                    seen = set(np.unique(found[~np.isnan(found)])[:3].tolist())
                    values[d] = values.get(d, set()) | seen if seen <= {0.0, 1.0} else set()
    return frozenset(plan.detectors[d] for d, seen in values.items() if len(seen) == 2)


def binary_note(binary: frozenset[str]) -> list[str]:
    """Say which detectors give predictions, where some do."""
    if not binary:
        return []
    names = listed(sorted(binary), 8)
    are = "has scores of 0 and 1 only: they are" if len(binary) == 1 else "have scores of 0 and 1 only: these are"
    return [f"{names} {are} taken as predictions, and no threshold rule is applied"]


def run_record(
    plan: Plan, settings: Settings, collector: Collector | None, pool: WorkerPool, seconds: float
) -> dict[str, Any]:
    """What was run, with what; without a collector all was computed here and now."""
    failed = 0 if collector is None else len(collector.failed)
    computed = len(plan.jobs) if collector is None else int(collector.is_computed.sum())
    done = len(plan.jobs) if collector is None else int(collector.is_done.sum())
    return {
        "inputs": [str(source) if not hasattr(source, "where") else source.where for source in plan.sources],
        "reading": _reading(plan),
        **settings.record(),
        "code": settings.code,
        "versions": _versions(),
        "units": len(plan.jobs),
        "computed": computed,
        "from_cache": done - computed - failed,
        "failed": failed,
        "where": f"{pool.workers} processes" if pool.executor is None else type(pool.executor).__name__,
        "seconds": round(seconds, 3),
    }


def _reading(plan: Plan) -> dict[str, Any]:
    """Say how each input was read, so that it can be read again."""
    plain = [replace(layout, guessed="", notes=()) for layout in plan.layouts]
    known = {layout: number for number, layout in enumerate(dict.fromkeys(plain))}
    intervals = [one for layout in known for one in (layout.events, layout.ignored) if one is not None]
    return {
        "directory": os.getcwd(),
        "event_files": [where for where in dict.fromkeys(one.where for one in intervals) if os.path.isfile(where)],
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
