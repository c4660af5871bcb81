"""Where batches are computed: in this process, in processes on this machine, or on an executor such as Dask's."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from pateval.leaderboards.tasks import SeriesResult, failed, iterate_batch, run_batch, set_stop
from pateval.validation.arrays import count, positive_integer
from pateval.validation.wording import in_words, named_error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from pateval.io.batches import Batch
    from pateval.io.plan import Plan
    from pateval.leaderboards.tasks import Iterate, Settings

    Run = Callable[[Batch], list[SeriesResult]]

_MOST_WORKERS = 10_000
ATTEMPTS = 3  # how often a job is tried whose worker dies
_MIN_STEPS_FOR_PROCESSES = 200_000  # with fewer steps in all, starting processes costs more than it saves
_ASSUMED_EXECUTOR_SLOTS = 16  # batches that somebody else's executor is taken to run at once
_MOST_IN_FLIGHT = 256  # most batches that somebody else's executor holds at a time
_MAX_IN_MEMORY_BATCHES_IN_FLIGHT = 32  # the same where batches carry their series
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "ARROW_IO_THREADS")


def usable_cores() -> int:
    """Count the processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Runs batches somewhere; processes of its own are started when first needed and serve until it is closed.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Where to run; it is not shut down.
    workers : int, optional
        Processes on this machine, where no executor is given; 1 computes in this process. By default one per core, or
        this process where there is little to do. With an executor: how many batches it runs at once.
    """

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, such as Client(...).get_executor() of Dask; "
                f"got {in_words(executor)}"
            )
        self.executor = executor
        self.workers = (
            None if workers is None else count(positive_integer(workers, "workers"), "workers", most=_MOST_WORKERS)
        )
        self._processes: _Processes | None = None
        if executor is None and self.workers is not None and self.workers > 1:
            # They start, and import what they need, while the caller looks through the files.
            self._processes = _Processes(self.workers)

    def decide_workers(self, plan: Plan) -> int:
        """Choose the number of workers for a plan."""
        if self.workers is None and self.executor is not None:
            self.workers = max(usable_cores(), _ASSUMED_EXECUTOR_SLOTS)
        elif self.workers is None:
            self.workers = 1 if plan.steps < _MIN_STEPS_FOR_PROCESSES else max(1, min(usable_cores(), len(plan.jobs)))
        return self.workers

    def divide(self, settings: Settings) -> tuple[Settings, Settings, list[str]]:
        """Divide the metrics into those that workers can import and those that this process computes.

        Returns
        -------
        elsewhere, here : Settings
            The same but for their metrics; one of them may have none.
        notes : list of str
            One line where metrics are computed here though there are workers.
        """
        nothing = settings.restricted(())
        if self.executor is None and self.workers == 1:
            return settings, nothing, []
        foreign = {metric.function.__module__: None for metric in settings.metrics if not metric.in_package}
        missing = set(self._missing_modules(tuple(foreign))) if foreign else set()
        here = [metric for metric in settings.metrics if not metric.importable or metric.function.__module__ in missing]
        if not here:
            return settings, nothing, []
        others = [metric for metric in settings.metrics if metric not in here]
        note = f"computed in this process, since workers cannot import them: {', '.join(metric.id for metric in here)}"
        return settings.restricted(others), settings.restricted(here), [note]

    def _missing_modules(self, modules: tuple[str, ...]) -> list[str]:
        """Ask a worker elsewhere which modules it does not have; processes of our own have the same path as we."""
        if self.executor is None:
            return []
        for _ in range(ATTEMPTS):
            # A worker that cannot answer fails again, with a message, when it is given a batch.
            with suppress(Exception):
                return self.executor.submit(missing_modules, modules).result()
        return []

    def map(
        self, batches: Iterable[Batch], settings: Settings, *, iterate: Iterate = iterate_batch
    ) -> Generator[list[Any]]:
        """Run every batch and yield the results as they come.

        Parameters
        ----------
        batches : iterable of Batch
            The work; the next one is asked for when there is room for it.
        settings : Settings
            What to compute.
        iterate : callable
            A function that workers can import: a batch and the settings in, the results of its jobs out, one by one.

        Yields
        ------
        list of SeriesResult, or of what ``iterate`` yields
            One per job. A job whose worker died is tried again, alone after the second time; after the third it is a
            result that says so.
        """
        run = partial(run_batch, settings=settings, iterate=iterate)
        if self.executor is not None:
            yield from _through_executor(batches, run, self.executor)
        elif self.workers == 1:
            for batch in batches:
                for result in iterate(batch, settings):
                    yield [result]
        else:
            self._processes = self._processes or _Processes(self.workers or usable_cores())
            yield from _through_processes(batches, run, self._processes)

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._processes is not None:
            self._processes.close()


def _through_executor(batches: Iterable[Batch], run: Run, executor: Executor) -> Iterator[list[SeriesResult]]:
    """Keep a window of batches in flight; what is lost on the way is sent again, job by job."""
    queue = iter(batches)
    again: deque[tuple[Batch, int]] = deque()
    in_flight: dict[Future[list[SeriesResult]], tuple[Batch, int]] = {}
    try:
        while True:
            window = _MOST_IN_FLIGHT
            while len(in_flight) < window:
                batch, attempt = again.popleft() if again else (next(queue, None), 1)
                if batch is None:
                    break
                window = _MAX_IN_MEMORY_BATCHES_IN_FLIGHT if isinstance(batch.content, tuple) else _MOST_IN_FLIGHT
                in_flight[executor.submit(run, batch)] = (batch, attempt)
            if not in_flight:
                return
            done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
            for future in done:
                batch, attempt = in_flight.pop(future)
                try:
                    outcomes = future.result()
                except (BrokenExecutor, CancelledError) as error:
                    raise RuntimeError(f"the executor stopped working ({named_error(error)})") from error
                except Exception as error:
                    # A batch records errors and raises none, so this one is of the transport, as of a killed worker.
                    if len(batch.jobs) > 1:
                        again.extend((single, attempt) for single in batch.split())
                    elif attempt < ATTEMPTS:
                        again.append((batch, attempt + 1))
                    else:
                        yield [
                            failed(
                                batch.jobs[0],
                                batch.purpose,
                                f"lost {attempt} times: {named_error(error)}",
                            )
                        ]
                else:
                    yield outcomes
    finally:
        for future in in_flight:
            future.cancel()


def _through_processes(batches: Iterable[Batch], run: Run, pool: _Processes) -> Iterator[list[SeriesResult]]:
    """Work with a pool of processes; a pool that breaks is replaced, and what was in flight is tried again."""
    queue = iter(batches)
    retried: list[Batch] = []
    in_flight: dict[Future[list[SeriesResult]], Batch] = {}
    broken = 0
    while True:
        while len(in_flight) < 2 * pool.workers and not pool.broken:
            batch = retried.pop() if retried else next(queue, None)
            if batch is None:
                break
            try:
                in_flight[pool.submit(run, batch)] = batch
            except BrokenExecutor:
                retried.append(batch)
                pool.broken = True
        if not in_flight and not pool.broken:
            return
        done, _ = wait(in_flight, return_when=FIRST_COMPLETED) if in_flight else (set(), set())
        for future in done:
            batch = in_flight.pop(future)
            try:
                outcomes = future.result()
            except BrokenExecutor:
                retried.append(batch)
                pool.broken = True
            except Exception as error:
                yield [failed(job, batch.purpose, f"{named_error(error)}") for job in batch.jobs]
            else:
                yield outcomes
        if pool.broken:
            broken += 1
            retried.extend(in_flight.values())
            in_flight.clear()
            if not pool.has_started and broken > 1:
                raise RuntimeError(
                    "the worker processes do not start; a script must call this under "
                    "`if __name__ == '__main__':` (or pass workers=1)"
                )
            pool.replace()
            if broken > 1:
                # The pool broke twice: run the jobs in flight one at a time, to find the one that breaks it.
                yield from _one_by_one(retried, run, pool)
                retried = []


def _one_by_one(batches: Iterable[Batch], run: Run, pool: _Processes) -> Iterator[list[SeriesResult]]:
    for batch in batches:
        for single in batch.split():
            for attempt in range(2, ATTEMPTS + 1):
                try:
                    yield pool.submit(run, single).result()
                except BrokenExecutor:
                    pool.replace()
                    if attempt == ATTEMPTS:
                        reason = f"the worker process died {ATTEMPTS} times on this series"
                        yield [failed(single.jobs[0], single.purpose, reason)]
                else:
                    break


class _Processes:
    """Processes that compute with one thread each, ignore Ctrl-C, and end with their parent."""

    def __init__(self, workers: int) -> None:
        import multiprocessing

        # Not fork: threads of NumPy, Arrow and notebooks do not survive it.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self.workers = workers
        self.has_started = False
        self._start()

    def _start(self) -> None:
        """Start all processes now, while the environment is the one they are to inherit."""
        from concurrent.futures import ProcessPoolExecutor

        self.broken = False
        all_started = self._context.Event()
        self._executor = ProcessPoolExecutor(
            self.workers, mp_context=self._context, initializer=_enter_worker, initargs=(self._stop, all_started)
        )
        # An executor starts a process for a task unless one is idle, and nobody is before all have been started.
        with _inherited_by_children(), suppress(BrokenExecutor):
            for _ in range(self.workers):
                self._executor.submit(_wait_for_the_others).add_done_callback(self._note_start)
        all_started.set()

    def _note_start(self, first_task: Future[None]) -> None:
        self.has_started = self.has_started or (not first_task.cancelled() and first_task.exception() is None)

    def submit(self, run: Run, batch: Batch) -> Future[list[SeriesResult]]:
        return self._executor.submit(run, batch)

    def replace(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._start()

    def close(self) -> None:
        """Let every worker finish the series in hand, which is kept, and end."""
        self._stop.set()
        self._executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _inherited_by_children() -> Iterator[None]:
    """Decide what processes started now inherit: one thread each for NumPy and Arrow, and Ctrl-C ignored.

    NumPy's threads are counted when it is imported, before any code of ours runs in a new process, so the limit must be
    in the environment the process starts with; ours is restored at once. Ctrl-C is only held back here, not lost.
    """
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_all_started: Any = None


def _wait_for_the_others() -> None:
    _all_started.wait()


def _enter_worker(stop: Any, all_started: Any) -> None:
    """Prepare a worker process."""
    import multiprocessing

    global _all_started  # one per worker process
    _all_started = all_started

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_stop(stop)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    import pyarrow as pa

    pa.set_cpu_count(1)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def missing_modules(modules: tuple[str, ...]) -> list[str]:
    """Return those modules that this process cannot import.

    Examples
    --------
    >>> missing_modules(("json", "no_such_module"))
    ['no_such_module']
    """
    import importlib

    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # whatever a user's file may raise when it is run
            missing.append(module)
    return missing
