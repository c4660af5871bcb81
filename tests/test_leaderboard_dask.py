"""A real Dask cluster: scheduler and two workers as processes of their own, one of them killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import support.leaderboard_fakes as fakes
from pateval.leaderboards import cache
from pateval.leaderboards.plan import make_plan
from pateval.leaderboards.tasks import Settings
from support.leaderboard_fakes import compute
from test_leaderboard_tasks import FACTS, parquet_bytes, settings, write_detectors

distributed = pytest.importorskip("distributed")


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and two workers; yield its address and the workers' processes."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent), "PYTHONWARNINGS": "ignore"}
    file = tmp_path / "scheduler.json"
    started = []

    def start(module, *arguments):
        with (tmp_path / f"{module}-{len(started)}.log").open("w") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path)
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
    with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client, workers
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


def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    client, workers = cluster
    plan = make_plan(write_detectors(tmp_path / "scores", detectors=4, number=12))
    expected = parquet_bytes(compute(plan, settings(), FACTS), tmp_path)
    log = tmp_path / "log"
    chosen = Settings(
        fakes.METRICS, {"log": str(log), "pause": 0.03}, code=cache.fingerprint(), evaluate=fakes.counting
    )
    with killing(workers[0], lambda: log.exists() and len(log.read_text().splitlines()) >= 8):
        board = compute(plan, chosen, FACTS, executor=client.get_executor())
    assert board.failures == ()
    assert workers[0].wait(10) == -signal.SIGKILL
    assert len(client.scheduler_info()["workers"]) == 1
    assert parquet_bytes(board, tmp_path) == expected
    assert board.run["where"] == "ClientExecutor"
