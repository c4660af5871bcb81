"""Where work is done: in this process, in processes on this machine, or on an executor such as Dask's.

Items go in, and what a function makes of each comes out as it is finished. Everything goes through
`concurrent.futures`, so that a cluster is whatever has an executor: Dask's is ``Client(...).get_executor()``. What is
lost because a process died is tried again, in smaller parts, and at last alone, so that only the part to blame fails.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from typing import Any

from pateval.validation.arrays import count, positive_integer
from pateval.validation.wording import in_words, named_error

ATTEMPTS = 3  # how often work is tried whose worker dies
MOST_IN_FLIGHT = 256  # most items that somebody else's executor holds at a time
_MOST_WORKERS = 10_000
_MIN_STEPS_FOR_PROCESSES = 200_000  # with fewer steps in all, starting processes costs more than it saves
_ASSUMED_EXECUTOR_SLOTS = 16  # items that somebody else's executor is taken to run at once
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "ARROW_IO_THREADS")


def usable_cores() -> int:
    """Count the processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Runs a function on items somewhere; processes of its own serve until it is closed.

    An executor that is given is not shut down; ``workers`` says how many items it runs at once. Without one they are
    processes on this machine, by default one per core; 1 computes in this process, as where there is little to do. In
    each process ``prepare`` is called first, which can be imported there, and NumPy, Arrow and torch take so many
    ``threads``. When work is given up, a ``patient`` pool lets every process finish what `stopped` does not end.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        workers: int | None = None,
        *,
        prepare: Callable[[], None] | None = None,
        threads: int = 1,
        patient: bool = True,
    ) -> None:
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise TypeError(
                f"executor must be a concurrent.futures.Executor, such as Client(...).get_executor() of Dask; "
                f"got {in_words(executor)}"
            )
        self.executor = executor
        self.workers = (
            None if workers is None else count(positive_integer(workers, "workers"), "workers", most=_MOST_WORKERS)
        )
        self._prepare, self._threads, self._patient = prepare, threads, patient
        self._processes: _Processes | None = None
        if executor is None and self.workers is not None and self.workers > 1:
            self._start()  # they import what they need while the caller looks through the files

    def decide_workers(self, steps: int, jobs: int) -> int:
        """Choose the number of workers for so many time steps in so many jobs."""
        if self.workers is None and self.executor is not None:
            self.workers = max(usable_cores(), _ASSUMED_EXECUTOR_SLOTS)
        elif self.workers is None:
            self.workers = 1 if steps < _MIN_STEPS_FOR_PROCESSES else max(1, min(usable_cores(), jobs))
        return self.workers

    def map(
        self,
        function: Callable[[Any], Iterable[Any]],
        items: Iterable[Any],
        *,
        lost: Callable[[Any, str], list[Any]],
        split: Callable[[Any], list[Any]] = lambda item: [item],
        most_in_flight: int = MOST_IN_FLIGHT,
        heartbeat: float | None = None,
    ) -> Generator[list[Any]]:
        """Run a function, which workers can import, on every item and yield the results as they come.

        The next item is asked for when there is room for it; an executor holds ``most_in_flight``. Where the worker of
        one died, ``split`` cuts it into those that are tried next. What came to nothing goes to ``lost``, with the
        reason (empty where its process died every time), for the results instead. After so many seconds of
        ``heartbeat`` without a result nothing is yielded.
        """
        if self.executor is None and self.workers == 1:
            for item in items:
                for result in function(item):
                    yield [result]
            return
        window = most_in_flight if self.executor is not None else 2 * (self.workers or usable_cores())
        queue = _Queue(items, window)
        try:
            while True:
                while (turn := queue.next()) is not None:
                    place = self.executor or self._processes or self._start()
                    queue.in_flight[place.submit(results_of, function, turn[0])] = turn
                if not queue.in_flight:
                    return
                done, _ = wait(queue.in_flight, heartbeat, FIRST_COMPLETED)
                if not done:
                    yield []
                for future in done:
                    item, attempt = queue.in_flight.pop(future)
                    try:
                        results = future.result()
                    except Exception as error:
                        died = isinstance(error, BrokenExecutor | CancelledError)
                        if died and self.executor is not None:
                            raise RuntimeError(f"the executor stopped working ({named_error(error)})") from error
                        if (died or self.executor is not None) and attempt < ATTEMPTS:
                            queue.again.extend((part, attempt + 1) for part in split(item))
                            continue
                        # Functions record errors and raise none, so one of a cluster is of the transport.
                        times = f"lost {attempt} times: " if self.executor is not None else ""
                        results = lost(item, "" if died else f"{times}{named_error(error)}")
                    yield results
        finally:
            for future in queue.in_flight:
                future.cancel()

    def _start(self) -> _Processes:
        self._processes = _Processes(self.workers or usable_cores(), self._prepare, self._threads)
        return self._processes

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._processes is not None:
            self._processes.close(at_once=kind is not None and not self._patient)


class _Queue:
    """What is to be done: new items, and those to be tried again, the last time alone."""

    def __init__(self, items: Iterable[Any], window: int) -> None:
        self._items, self._window = ((item, 1) for item in items), window
        self.again: deque[tuple[Any, int]] = deque()
        self.in_flight: dict[Future[list[Any]], tuple[Any, int]] = {}

    def next(self) -> tuple[Any, int] | None:
        """The next item and which attempt it is; None where there is none, or no room for it."""
        is_last_attempt = bool(self.again) and self.again[0][1] == ATTEMPTS
        if any(attempt == ATTEMPTS for _, attempt in self.in_flight.values()) or (is_last_attempt and self.in_flight):
            return None
        if len(self.in_flight) >= self._window:
            return None
        return self.again.popleft() if self.again else next(self._items, None)


def results_of(function: Callable[[Any], Iterable[Any]], item: Any) -> list[Any]:
    """All results of one item, computed where this is called."""
    return list(function(item))


class _Processes:
    """Processes that compute with few threads each, ignore Ctrl-C, and end with their parent."""

    def __init__(self, workers: int, prepare: Callable[[], None] | None = None, threads: int = 1) -> None:
        import multiprocessing

        # Not fork: threads of NumPy, Arrow, torch and notebooks do not survive it.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._workers, self._prepare, self._threads = workers, prepare, threads
        self._has_started, self._replaced = False, 0
        self._start()

    def _start(self) -> None:
        """Start all processes now, while the environment is the one they are to inherit."""
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import active_children

        others = set(active_children())
        all_started = self._context.Event()
        self._executor = ProcessPoolExecutor(
            self._workers,
            mp_context=self._context,
            initializer=_enter_worker,
            initargs=(self._stop, all_started, self._prepare),
        )
        # An executor starts a process for a task unless one is idle, and nobody is before all have been started.
        with _inherited_by_children(self._threads), suppress(BrokenExecutor):
            for _ in range(self._workers):
                self._executor.submit(_wait_for_the_others).add_done_callback(self._note_start)
        all_started.set()
        self._children = set(active_children()) - others

    def _note_start(self, first_task: Future[None]) -> None:
        self._has_started = self._has_started or (not first_task.cancelled() and first_task.exception() is None)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a process call a function, a new one where one has died, which ends them all."""
        with suppress(BrokenExecutor):
            return self._executor.submit(function, *arguments)
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._replaced += 1
        if not self._has_started and self._replaced > 1:
            raise RuntimeError(
                "the worker processes do not start; a script must call this under "
                "`if __name__ == '__main__':` (or pass workers=1)"
            )
        self._start()
        return self._executor.submit(function, *arguments)

    def close(self, *, at_once: bool = False) -> None:
        """Let every worker finish what it does not stop by itself, and end; or end it at once."""
        self._stop.set()
        for process in self._children if at_once else ():
            process.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _inherited_by_children(threads: int) -> Iterator[None]:
    """Decide what processes started now inherit: few threads each for NumPy, Arrow and torch, and Ctrl-C ignored.

    Threads are counted when a library is imported, before any code of ours runs in a new process, so the limit must be
    in the environment the process starts with; ours is restored at once. Ctrl-C is only held back here, not lost.
    """
    before = {name: os.environ[name] for name in _THREADS if name in os.environ}
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        for name in _THREADS:
            del os.environ[name]
        os.environ.update(before)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_all_started: Any = None
_stop: Any = None


def _wait_for_the_others() -> None:
    _all_started.wait()


def set_stop(event: Any) -> None:
    """Give this process the event that tells it to stop after the work in hand."""
    global _stop  # one per worker process
    _stop = event


def stopped() -> bool:
    """Tell whether the work of this process was given up."""
    return _stop is not None and bool(_stop.is_set())


def _enter_worker(stop: Any, all_started: Any, prepare: Callable[[], None] | None) -> None:
    import multiprocessing

    global _all_started  # one per worker process
    _all_started = all_started

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_stop(stop)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if prepare is not None:
        prepare()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def missing_modules(modules: tuple[str, ...]) -> list[str]:
    """Return those modules that this process cannot import."""
    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:  # whatever a user's file may raise when it is run
            missing.append(module)
    return missing
