"""Tasks in several processes at a time. What a process has written before it ends is kept: runs are resumed from it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from pateval.runner.tasks import Message, Task, perform, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Tell = Callable[[Message], None]

# Seconds a process is given to end its epoch after the deadline before it ends itself; its checkpoint is kept.
_GRACE = 20.0
_SECONDS_BETWEEN_LOOKS = 0.1


def perform_in_processes(tasks: Sequence[Task], jobs: int, deadline: float | None, tell: Tell) -> None:
    """Perform tasks in the given order, ``jobs`` at a time, each in one of as many processes.

    A process that dies takes the others of its pool with it. What they had begun is tried again, each task alone, so
    that only the one to blame fails.

    The other parameters are those of `pateval.runner.tasks.perform`. The long tasks should come first.
    """
    waiting = list(tasks)
    while waiting:
        if deadline is not None and time.time() > deadline:
            for task in waiting:
                stop(task, tell, "out of time before it began")
            return
        before = len(waiting)
        lost, waiting = _one_pool(waiting, jobs, deadline, tell)
        if not lost and len(waiting) == before:
            raise RuntimeError(
                "the processes do not start; a script must call this under `if __name__ == '__main__':` or with jobs=1"
            )
        for task in lost:
            if deadline is not None and time.time() > deadline:
                stop(task, tell, "out of time; it goes on from its checkpoint next time")
            elif jobs > 1:
                perform_in_processes([task], 1, deadline, tell)
            else:
                for run in task.unfinished:
                    tell(Message(run.key, "failed", "its process died, also when no other was running"))


def _one_pool(tasks: Sequence[Task], jobs: int, deadline: float | None, tell: Tell) -> tuple[list[Task], list[Task]]:
    """Perform tasks until all are done or a process dies; return what was begun then, and what was not."""
    # Not fork: threads of torch and NumPy do not survive it.
    context = multiprocessing.get_context("spawn")
    messages: Any = context.SimpleQueue()
    others = set(multiprocessing.active_children())
    begun: set[str] = set()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    pool = ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_enter_process, initargs=(messages, deadline, threads)
    )

    def pass_on() -> None:
        while not messages.empty():
            message = messages.get()
            # One that is tried again has begun before.
            begun.add(message.key)
            tell(message)

    try:
        running = {pool.submit(_perform_here, task): task for task in tasks}
        while running:
            done, _ = wait(running, timeout=_SECONDS_BETWEEN_LOOKS)
            pass_on()
            if any(isinstance(future.exception(), BrokenExecutor) for future in done):
                left = [task for future, task in running.items() if not future.done() or future.exception() is not None]
                lost = [task for task in left if task.runs[0].key in begun]
                return lost, [task for task in left if task not in lost]
            for future in done:
                future.result()
                del running[future]
        return [], []
    except BaseException:
        # Nobody waits for the rest: end what was started here, and nothing else.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


_tell: Tell
_deadline: float | None
_threads: int


def _enter_process(messages: Any, deadline: float | None, threads: int) -> None:
    """Prepare a process: whom to tell, how long, with how many threads."""
    global _tell, _deadline, _threads
    _tell, _deadline, _threads = messages.put, deadline, threads
    # Ctrl-C reaches the whole group of processes; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if deadline is not None:
        end = threading.Timer(max(0.0, deadline + _GRACE - time.time()), os._exit, [1])
        end.daemon = True
        end.start()


def _perform_here(task: Task) -> None:
    if "device" in task.runs[0].candidate.settings:
        import torch

        # torch takes all cores in each process otherwise.
        torch.set_num_threads(_threads)
    perform(task, _tell, _deadline)
