"""A real Dask cluster: scheduler and two workers as processes of their own, one of them killed in the middle."""

from __future__ import annotations

import signal

import pytest

from pateval.io.plan import make_plan
from support.dask_cluster import killing, running_cluster
from support.leaderboard_cases import compute, parquet_bytes, write_detectors

pytest.importorskip("distributed")


def test_a_killed_worker_changes_nothing(tmp_path):
    plan = make_plan(write_detectors(tmp_path / "scores", detectors=4, number=12))
    expected = parquet_bytes(compute(plan), tmp_path)
    log = tmp_path / "log"
    with (
        running_cluster(tmp_path) as (client, workers),
        killing(workers[0], lambda: log.exists() and len(log.read_text().splitlines()) >= 8),
    ):
        board = compute(plan, executor=client.get_executor(), workers=2)
        assert board.failures == ()
        assert workers[0].wait(10) == -signal.SIGKILL
        assert len(client.scheduler_info()["workers"]) == 1
    assert parquet_bytes(board, tmp_path) == expected
    assert board.run["where"] == "ClientExecutor"
