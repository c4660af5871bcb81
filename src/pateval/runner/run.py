"""Every detector on every series: what there is to do, doing it, and what became of it."""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pateval.datasets import Series
from pateval.io.atomic import write_text
from pateval.io.content import arrow
from pateval.runner.candidates import Candidate
from pateval.runner.store import Store
from pateval.runner.tasks import Protocol, State, Task, Tell, perform, stop
from pateval.validation.arrays import choice, positive_integer
from pateval.worker_pool import WorkerPool

FAILURES = "failures.json"
# Seconds a process is given to end its epoch after the deadline before it ends itself; its checkpoint is kept.
_GRACE = 20.0
_SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class DetectionProgress:
    """Something to show: a run of a detector on a series began, went on, ended."""

    detector: str
    series: str
    state: State  # "kept": the scores are there from an earlier call; "stopped": time was over
    done: int  # runs dealt with so far
    total: int
    message: str = ""  # epochs, or the reason of a failure
    run: int | None = None  # the seed, where there are several
    seconds_left: float | None = None  # estimate for this run while it is trained
    collapse: tuple[str, ...] = ()  # in what ways a finished training collapsed; empty where it is sound


@dataclass(frozen=True)
class DetectionResult:
    """What became of one detector."""

    detector: str
    path: Path | None  # the score file; None where every series failed, or files are put together later
    failures: Mapping[str, str] = field(default_factory=dict)  # reason by series
    stopped: int = 0  # runs that were not finished in time; the next call goes on with them


def detect(
    candidates: Sequence[Candidate],
    data: Sequence[Series],
    folder: str | os.PathLike[str],
    *,
    seeds: Sequence[int] | None = None,
    protocol: Protocol = "held-out",
    jobs: int = 1,
    minutes: float | None = None,
    single: bool = False,
    overwrite: bool = False,
    assemble: bool = True,
    about_data: Mapping[str, Any] | None = None,
    show: Callable[[DetectionProgress], None] = lambda _: None,
) -> list[DetectionResult]:
    """Run every detector on every series and write one score file per detector.

    A detector is fitted anew on each series: on its training stretch or, where there is none, on the test stretch
    itself, without labels (the file says which). Scores of series that are in the file already, from the same settings
    and the same data, are kept; other series in the file stay there.

    Parameters
    ----------
    candidates, data : sequences of Candidate and Series
        With different names.
    folder : path
        Where ``NAME.parquet`` go; made if need be.
    seeds : sequence of int, optional
        Run each detector once for each, in one file with a column ``run``; networks of one detector train side by side.
        A detector without a seed runs once. None is the one seed of the settings, without such a column.
    protocol : {"held-out", "paper"}
        "held-out": windows stay inside the parts of joined series, whose ends are held out where something is, and
        every step has a score. "paper": windows are laid across the parts and the steps after the last whole window are
        dropped. Who chooses the weights is the detector's own setting ``select_on_test``.
    jobs : int
        Fits at a time, each in a process of its own if more than one.
    minutes : float, optional
        Begin nothing after so long and stop trainings at the end of their epoch; the next call goes on from there.
    single : bool
        Store scores as float32, half the size, instead of float64.
    overwrite : bool
        Replace score files made with other settings; otherwise they are refused.
    assemble : bool
        Put the score files together; False leaves the parts, which needs no pyarrow, for a later call to do it.
    about_data : mapping, optional
        What the files shall say about the data: name, what is missing.
    show : callable
        Gets a `DetectionProgress` whenever something happens.

    Returns
    -------
    list of DetectionResult
        In the order of ``candidates``.
    """
    positive_integer(jobs, "jobs")
    _require_distinct([candidate.name for candidate in candidates], "detectors")
    _require_distinct([series.name for series in data], "series")
    _require_distinct([part for series in data for part in series.parts], "series")
    choice(protocol, "protocol", ("held-out", "paper"))
    place = Path(folder)
    if assemble:
        arrow("parquet", f"{place}: score files in Parquet")  # refused before hours of training
    place.mkdir(parents=True, exist_ok=True)
    stores = [
        Store(candidate, place, seeds=seeds, protocol=protocol, single=single, overwrite=overwrite, about=about_data)
        for candidate in candidates
    ]
    digests = [_digest(series) for series in data]
    for store in stores:
        store.take(data, digests)
    monitor = _Monitor(show, stores)
    deadline = math.inf if minutes is None else time.time() + 60 * minutes
    results = []
    # One process finishes a detector before it begins the next; several share what there is to do.
    for group in [stores] if jobs > 1 else [[store] for store in stores]:
        waiting = [task for store in group for task in _left(store, monitor.tell)]
        if jobs > 1 and waiting:
            # The long ones first, so that no single one is left at the end.
            waiting.sort(key=lambda task: -max(task.series.train_steps, task.series.steps) * len(task.runs))
            _perform_in_processes(waiting, jobs, deadline, monitor.tell)
        else:
            for task in waiting:
                perform(task, monitor.tell, deadline)
        for store in group:
            path = store.assemble() if assemble else None
            results.append(DetectionResult(store.candidate.name, path, store.failures, store.stopped))
            _record_failures(place, results[-1])
    return results


def _perform_in_processes(tasks: Sequence[Task], jobs: int, deadline: float, tell: Tell) -> None:
    """Perform tasks in the given order, ``jobs`` at a time; what a process has written before it dies is kept."""
    messages: Any = multiprocessing.get_context("spawn").SimpleQueue()

    def in_time() -> Iterator[Task]:
        for task in tasks:
            if time.time() > deadline:
                stop(task, tell, "out of time before it began")
            else:
                yield task

    def lost(task: Task, reason: str) -> list[Any]:
        for run in task.unfinished:
            tell(run.key, "failed", reason or "its process died, also when no other was running")
        return []

    pool = WorkerPool(
        # At least two, since one would be this process.
        workers=max(2, min(jobs, len(tasks))),
        threads=max(1, (os.cpu_count() or 1) // jobs),
        prepare=partial(_enter_process, messages, deadline),
        patient=False,
    )
    work = partial(_perform_here, deadline=deadline)
    with pool, closing(pool.map(work, in_time(), lost=lost, heartbeat=_SECONDS_BETWEEN_LOOKS)) as arriving:
        for _ in arriving:
            while not messages.empty():
                message, details = messages.get()
                tell(*message, **details)


_messages: Any


def _enter_process(messages: Any, deadline: float) -> None:
    global _messages  # one per process
    _messages = messages
    left = deadline + _GRACE - time.time()
    if 0 < left < math.inf:
        end = threading.Timer(left, os._exit, [1])
        end.daemon = True
        end.start()


def _tell(*message: Any, **details: Any) -> None:
    _messages.put((message, details))


def _perform_here(task: Task, deadline: float) -> tuple[()]:
    perform(task, _tell, deadline)
    return ()


def _left(store: Store, tell: Tell) -> Iterator[Task]:
    """Yield what is still to be done, and tell what is not."""
    for task in store.tasks:
        missing = []
        for run in task.runs:
            if store.has(run):
                tell(run.key, "kept")
            else:
                missing.append(run)
        if missing:
            yield replace(task, runs=tuple(missing))


class _Monitor:
    """Turns what runs tell into progress."""

    def __init__(self, show: Callable[[DetectionProgress], None], stores: Sequence[Store]) -> None:
        self._show = show
        tasks = [(store, task) for store in stores for task in store.tasks]
        self._runs = {run.key: (store, task.series.name, run.seed) for store, task in tasks for run in task.runs}
        self._several = any(len(task.runs) > 1 for _, task in tasks)
        self._done = 0

    def tell(self, key: str, state: State, message: str = "", **details: Any) -> None:
        """Take note of what happened to a run, and show it."""
        store, series, seed = self._runs[key]
        self._done += state not in ("started", "training")
        store.stopped += state == "stopped"
        if state == "failed":
            store.failures[series] = message
        run, name = seed if self._several else None, store.candidate.name
        self._show(DetectionProgress(name, series, state, self._done, len(self._runs), message, run, **details))


def _record_failures(folder: Path, result: DetectionResult) -> None:
    """Keep ``failures.json`` up to date: reasons by detector and series; no file where nothing failed."""
    path = folder / FAILURES
    failures: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    failures.pop(result.detector, None)
    if result.failures:
        failures[result.detector] = dict(result.failures)
    if failures:
        write_text(json.dumps(failures, indent=1), path)
    else:
        path.unlink(missing_ok=True)


def _digest(series: Series) -> str:
    digest = hashlib.sha256()
    for array in (series.train, series.test, series.labels):
        if array is not None:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((series.parts, series.boundaries, series.train_boundaries)).encode())
    return digest.hexdigest()


def _require_distinct(names: Sequence[str], what: str) -> None:
    if not names:
        raise ValueError(f"there are no {what} to run")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"{what} must have different names; {repeated!r} occurs more than once")
