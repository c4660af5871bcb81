"""Tasks one after the other here, or several at a time in processes of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import time
from typing import TYPE_CHECKING, Any

from pateval.runner.tasks import Message, Task, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Seconds a worker is given to end its epoch after the deadline before it is ended; its checkpoint is a few seconds old.
_GRACE = 20.0


def run_tasks(tasks: Sequence[Task], *, jobs: int, deadline: float | None, tell: Callable[[Message], None]) -> None:
    """Perform tasks in the given order, ``jobs`` at a time.

    Parameters
    ----------
    tasks : sequence of Task
        What to do; the long ones should come first.
    jobs : int
        Processes; 1 does everything in this one.
    deadline : float, optional
        On the clock of ``time.time``: no task is begun after it, and trainings stop at the end of their epoch.
    tell : callable
        Gets a `Message` whenever something happens.
    """
    if jobs == 1:
        for task in tasks:
            if _is_over(deadline):
                _tell_stopped(task, tell, "out of time before it began")
            else:
                perform(task, tell, deadline)
        return
    pool = _Workers(min(jobs, len(tasks)), deadline, tell)
    try:
        pool.run(list(tasks))
    finally:
        pool.close()


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.time() > deadline


def _tell_stopped(task: Task, tell: Callable[[Message], None], reason: str) -> None:
    for run in task.runs:
        if not run.part.exists():
            tell(Message(run.key, "stopped", reason))


class _Workers:
    """Processes that take a task at a time; one that dies fails its task only, and another takes its place."""

    def __init__(self, count: int, deadline: float | None, tell: Callable[[Message], None]) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._deadline = deadline
        self._tell = tell
        self._threads = max(1, (os.cpu_count() or 1) // count)
        self._processes: dict[Any, Any] = {}
        self._tasks: dict[Any, Task | None] = {}
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._deadline, self._threads), daemon=True)
        process.start()
        there.close()
        self._processes[here], self._tasks[here] = process, None

    def run(self, waiting: list[Task]) -> None:
        """Hand out tasks and pass on what is told until all are done or the time is over."""
        while waiting or any(task is not None for task in self._tasks.values()):
            while waiting and _is_over(self._deadline):
                _tell_stopped(waiting.pop(0), self._tell, "out of time before it began")
            for connection, task in list(self._tasks.items()):
                if task is None and waiting:
                    self._tasks[connection] = waiting.pop(0)
                    connection.send(self._tasks[connection])
            busy = [connection for connection, task in self._tasks.items() if task is not None]
            for ready in multiprocessing.connection.wait(busy, timeout=1.0):
                self._receive(ready)
            if self._deadline is not None and time.time() > self._deadline + _GRACE:
                for task in self._tasks.values():
                    if task is not None:
                        _tell_stopped(task, self._tell, "out of time; it goes on from its checkpoint next time")
                return

    def _receive(self, connection: Any) -> None:
        try:
            message = connection.recv()
        except EOFError:
            task, process = self._tasks.pop(connection), self._processes.pop(connection)
            process.join()
            for run in task.runs if task is not None else ():
                if not run.part.exists():
                    self._tell(Message(run.key, "failed", f"the process ended with status {process.exitcode}"))
            self._start()
            return
        if message is None:
            self._tasks[connection] = None
        else:
            self._tell(message)

    def close(self) -> None:
        """End the processes: idle ones on request, the others at once."""
        for connection, process in self._processes.items():
            if self._tasks[connection] is None:
                with contextlib.suppress(OSError):
                    connection.send(None)
            else:
                process.terminate()
        for process in self._processes.values():
            process.join()


def _serve(connection: Any, deadline: float | None, threads: int) -> None:
    """Perform tasks as they come, until None comes."""
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while (task := connection.recv()) is not None:
            _limit_threads(task, threads)
            perform(task, connection.send, deadline)
            connection.send(None)


def _limit_threads(task: Task, threads: int) -> None:
    """Share the cores among the workers; torch takes all of them in each process otherwise."""
    if "device" in task.runs[0].candidate.settings:
        import torch

        torch.set_num_threads(threads)
