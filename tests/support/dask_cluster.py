"""A real Dask cluster: scheduler and two workers as processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from support.leaderboard_metrics import LOG, PAUSE


@contextmanager
def running_cluster(folder, *, path=None):
    """Start a scheduler and two workers that log what they compute; yield a client and the workers' processes."""
    import distributed

    own = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*(own if path is None else path)]),
        "PYTHONWARNINGS": "ignore",
        LOG: str(folder / "log"),
        PAUSE: "0.02",
    }
    file = folder / "scheduler.json"
    started = []

    def start(module, *arguments):
        with (folder / f"{module}-{len(started)}.log").open("w") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
        started.append(process)
        return process

    start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    deadline = time.time() + 60
    while not (file.exists() and file.stat().st_size) and time.time() < deadline:
        time.sleep(0.05)
    workers = [
        start("dask_worker", "--scheduler-file", str(file), "--no-nanny", "--no-dashboard", "--nthreads", "1")
        for _ in range(2)
    ]
    try:
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            yield client, workers
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def killing(process, condition):
    """Kill a worker as soon as the work inside is under way."""
    over = threading.Event()

    def watch():
        while not over.wait(0.01):
            if condition():
                os.kill(process.pid, signal.SIGKILL)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
