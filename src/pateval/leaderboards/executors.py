"""Who does the work: this process, processes on this machine, or any executor, a Dask cluster among them."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pateval._validation import positive_integer
from pateval.leaderboards.tasks import Outcome, failed, set_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from pateval.leaderboards.plan import Batch, Plan

    Run = Callable[[Batch], list[Outcome]]

ATTEMPTS = 3
SMALL = 200_000  # steps in all, below which processes cost more than they save
_WINDOW = 256  # batches handed to somebody else's executor at a time,
_CARRIED = 32  # or so many where they carry the series themselves
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "ARROW_IO_THREADS")


def usable_cores() -> int:
    """Count the processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Crew:
    """Runs batches somewhere; processes of its own are started when first needed and serve until it is closed.

    Parameters
    ----------
    executor : concurrent.futures.Executor, optional
        Where to run; it is not shut down.
    workers : int, optional
        Processes on this machine, where no executor is given; 1 computes in this process. By default one per core, or
        this process where there is little to do.
    """

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        self.executor = executor
        self.workers = None if workers is None else positive_integer(workers, "workers")
        self._pool: _Pool | None = None
        if executor is None and self.workers is not None and self.workers > 1:
            # They start, and import what they need, while the caller looks through the files.
            self._pool = _Pool(self.workers)

    def settle(self, plan: Plan) -> int:
        """Decide how many work on a plan, and return their number."""
        if self.workers is None:
            small = plan.steps < SMALL and self.executor is None
            self.workers = 1 if small else max(1, min(usable_cores(), len(plan.jobs)))
        return self.workers

    def spread(self, batches: Iterable[Batch], run: Run) -> Generator[list[Outcome]]:
        """Run every batch and yield the outcomes as they come.

        Parameters
        ----------
        batches : iterable of Batch
            The work.
        run : callable
            From :mod:`pateval.leaderboards.tasks`; sent to the workers, so it must be importable there.

        Yields
        ------
        list of Outcome
            One per job. A job whose worker died is tried again, alone after the second time; after the third it is an
            outcome that says so.
        """
        if self.executor is not None:
            yield from _through_executor(batches, run, self.executor)
        elif self.workers == 1:
            for batch in batches:
                yield run(batch)
        else:
            self._pool = self._pool or _Pool(self.workers or usable_cores())
            yield from _through_processes(batches, run, self._pool)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()


def _through_executor(batches: Iterable[Batch], run: Run, executor: Executor) -> Iterator[list[Outcome]]:
    """Keep a window of batches in flight; what is lost on the way is sent again, job by job."""
    queue = iter(batches)
    again: deque[tuple[Batch, int]] = deque()
    flying: dict[Future[list[Outcome]], tuple[Batch, int]] = {}
    try:
        while True:
            window = _WINDOW
            while len(flying) < window:
                batch, attempt = again.popleft() if again else (next(queue, None), 1)
                if batch is None:
                    break
                window = _CARRIED if isinstance(batch.content, tuple) else _WINDOW
                flying[executor.submit(run, batch)] = (batch, attempt)
            if not flying:
                return
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                batch, attempt = flying.pop(future)
                try:
                    outcomes = future.result()
                except (BrokenExecutor, CancelledError) as error:
                    raise RuntimeError(f"the executor stopped working ({type(error).__name__}: {error})") from error
                except Exception as error:
                    # Nothing raises inside a batch, so this is the way there or back: a killed worker, say.
                    if len(batch.jobs) > 1:
                        again.extend((each, attempt) for each in batch.split())
                    elif attempt < ATTEMPTS:
                        again.append((batch, attempt + 1))
                    else:
                        yield [failed(batch.jobs[0], f"lost {attempt} times: {type(error).__name__}: {_line(error)}")]
                else:
                    yield outcomes
    finally:
        for future in flying:
            future.cancel()


def _through_processes(batches: Iterable[Batch], run: Run, pool: _Pool) -> Iterator[list[Outcome]]:
    """Work with a pool of processes; a pool that breaks is replaced, and what was in flight is tried again."""
    queue = iter(batches)
    suspects: list[Batch] = []
    flying: dict[Future[list[Outcome]], Batch] = {}
    broken = 0
    while True:
        while len(flying) < 2 * pool.workers and not pool.broken:
            batch = suspects.pop() if suspects else next(queue, None)
            if batch is None:
                break
            try:
                flying[pool.submit(run, batch)] = batch
            except BrokenExecutor:
                suspects.append(batch)
                pool.broken = True
        if not flying and not pool.broken:
            return
        done, _ = wait(flying, return_when=FIRST_COMPLETED) if flying else (set(), set())
        for future in done:
            batch = flying.pop(future)
            try:
                outcomes = future.result()
            except BrokenExecutor:
                suspects.append(batch)
                pool.broken = True
            except Exception as error:
                yield [failed(job, f"{type(error).__name__}: {_line(error)}") for job in batch.jobs]
            else:
                yield outcomes
        if pool.broken:
            broken += 1
            suspects.extend(flying.values())
            flying.clear()
            if not pool.proven and broken > 1:
                raise RuntimeError(
                    "the worker processes do not start; a script must call this under "
                    "`if __name__ == '__main__':` (or pass workers=1)"
                )
            pool.replace()
            if broken > 1:
                # Twice is no accident: the jobs under suspicion are run one at a time to find the culprit.
                yield from _one_by_one(suspects, run, pool)
                suspects = []


def _one_by_one(batches: Iterable[Batch], run: Run, pool: _Pool) -> Iterator[list[Outcome]]:
    for batch in batches:
        for single in batch.split():
            for attempt in range(2, ATTEMPTS + 1):
                try:
                    yield pool.submit(run, single).result()
                except BrokenExecutor:
                    pool.replace()
                    if attempt == ATTEMPTS:
                        yield [failed(single.jobs[0], f"the worker process died {ATTEMPTS} times on this series")]
                else:
                    break


class _Pool:
    """Processes that compute with one thread each, ignore Ctrl-C, and end with their parent."""

    def __init__(self, workers: int) -> None:
        import multiprocessing

        # Not fork: threads of NumPy, Arrow and notebooks do not survive it.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self.workers = workers
        self.proven = False
        self._renew()
        # Bring the processes up before there is work for them, and see that they come up at all.
        with _birth(), suppress(BrokenExecutor):
            for _ in range(workers):
                self._executor.submit(int).add_done_callback(self._prove)

    def _prove(self, first_sign: Future[int]) -> None:
        self.proven = self.proven or (not first_sign.cancelled() and first_sign.exception() is None)

    def _renew(self) -> None:
        from concurrent.futures import ProcessPoolExecutor

        self.broken = False
        self._executor = ProcessPoolExecutor(
            self.workers, mp_context=self._context, initializer=_enter_worker, initargs=(self._stop,)
        )

    def submit(self, run: Run, batch: Batch) -> Future[list[Outcome]]:
        # Processes start when work comes in, so this is the moment at which their environment is decided.
        with _birth():
            return self._executor.submit(run, batch)

    def replace(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._renew()

    def close(self) -> None:
        """Let every worker finish the series in hand, which is kept, and end."""
        self._stop.set()
        self._executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _birth() -> Iterator[None]:
    """Decide what a new process inherits: one thread each for NumPy and Arrow, and deafness to Ctrl-C.

    Ctrl-C is only held back here, not lost: it arrives when the process is on its way.
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


def _enter_worker(stop: Any) -> None:
    """Prepare a worker process."""
    import multiprocessing

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


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
