"""Metrics of one's own and settings side by side in a leaderboard: here, in workers and on Dask; what is cached."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.io.plan import make_plan
from support.dask_cluster import running_cluster
from support.leaderboard_cases import compute, rows, settings, write_detectors

OWN = '''
import numpy as np


def peak_inside(labels, scores, *, tolerance=0):
    """Whether the highest score lies in an event, or so close to one."""
    peak = int(np.argmax(scores))
    return float(labels[max(peak - tolerance, 0) : peak + tolerance + 1].any())
'''
METRICS = [
    "pate",
    "pate(early=2,delay=3)",
    "pate(early=0..4)",
    "pate_ap",
    "own_metrics:peak_inside",
    "own_metrics:peak_inside(tolerance=30)",
]
IDS = ("pate", "pate(early=2,delay=3)", "pate(early=0..4)", "pate_ap", "peak_inside", "peak_inside(tolerance=30)")


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """A user's file with a metric, in a folder of its own."""
    folder = tmp_path / "user"
    folder.mkdir()
    (folder / "own_metrics.py").write_text(OWN)
    monkeypatch.syspath_prepend(folder)
    yield folder / "own_metrics.py"
    sys.modules.pop("own_metrics", None)


def check(board, files, folder):
    """In the tables with the right numbers, ranked, and cached."""
    assert board.metrics == IDS
    assert board.failures == ()
    for d, path in enumerate(files):
        table = pq.read_table(path)
        names = np.array(table["series"].to_pylist())
        for s, name in enumerate(board.series):
            steps = names == name
            direct = pv.evaluate(table["label"].to_numpy()[steps], table["score"].to_numpy()[steps], metrics=METRICS)
            assert np.array_equal(board.values[d, s], list(direct.values()), equal_nan=True)
            for metric in IDS:
                assert board.signatures[metric] == direct.signature(metric)
    stored = board.scores.to_pydict()
    assert set(zip(stored["metric"], stored["signature"], strict=True)) == set(board.signatures.items())
    assert board.rank_by == "pate_ap"
    assert {row["metric"] for row in board.ranks().to_pylist()} == set(IDS)
    assert board.significance("pate( delay=3, early=2 )").metric == "pate(early=2,delay=3)"
    again = compute(make_plan(files), settings(METRICS, cache=folder))
    assert again.run["computed"] == 0
    assert rows(again) == rows(board)


def test_on_two_workers(own_file, tmp_path):
    files = write_detectors(tmp_path / "scores")
    board = compute(make_plan(files), settings(METRICS, cache=tmp_path / "cache"), workers=2)
    assert board.notes == make_plan(files).notes
    check(board, files, tmp_path / "cache")
    # Ranked by one's own, in its direction, with chance.
    by = "peak_inside(tolerance=30)"
    ranked = compute(make_plan(files), settings(METRICS, chance=2, rank_by=by), workers=2)
    assert ranked.overview().header[1] == "rank (peak_inside(tolerance=30))"
    assert not np.isnan(ranked.chance.levels[:, 4]).all()


def test_on_dask(own_file, tmp_path):
    pytest.importorskip("distributed")
    files = write_detectors(tmp_path / "scores")
    chosen = settings(METRICS, cache=tmp_path / "cache")
    path = [str(Path(pv.__file__).parents[1]), str(own_file.parent)]
    with running_cluster(tmp_path, path=path) as (client, _):
        board = compute(make_plan(files), chosen, executor=client.get_executor(), workers=2)
        assert board.run["where"] == "ClientExecutor"
        assert board.notes == make_plan(files).notes
        check(board, files, tmp_path / "cache")
        # Another version of the file than the workers have read: they refuse.
        own_file.write_text(OWN + "\n# changed\n")
        refused = compute(make_plan(files), settings(METRICS), executor=client.get_executor(), workers=2)
    assert refused.run["failed"] == 21
    assert "a worker has another version of the metric peak_inside" in refused.failures[0]


def test_what_dask_workers_cannot_import_is_computed_here(own_file, tmp_path):
    pytest.importorskip("distributed")
    files = write_detectors(tmp_path / "scores")
    with running_cluster(tmp_path, path=[str(Path(pv.__file__).parents[1])]) as (client, _):
        board = compute(
            make_plan(files), settings(METRICS, cache=tmp_path / "cache"), executor=client.get_executor(), workers=2
        )
    assert board.notes[-1] == (
        "computed in this process, since workers cannot import them: peak_inside, peak_inside(tolerance=30)"
    )
    check(board, files, tmp_path / "cache")


def test_closures_are_computed_here_and_not_cached(tmp_path):
    shift = 3.0
    seen = []

    def shifted(labels, scores):
        seen.append(os.getpid())
        return float(scores.mean()) + shift

    files = write_detectors(tmp_path / "scores")
    metrics = ["pate_ap", shifted]
    board = compute(make_plan(files), settings(metrics, cache=tmp_path / "cache", chance=2), workers=2)
    assert board.notes[-1] == "computed in this process, since workers cannot import them: shifted"
    assert board.metrics == ("pate_ap", "shifted")
    assert set(seen) == {os.getpid()}
    assert len(seen) == 21 + 7 * 2  # every job, and the draws of every distinct labels
    alone = compute(make_plan(files), settings(metrics, cache=tmp_path / "cache", chance=2))
    assert rows(alone) == rows(board)
    for place in range(len(metrics)):
        assert np.array_equal(alone.chance.of_metric(place), board.chance.of_metric(place), equal_nan=True)
    assert len(seen) == 2 * (21 + 7 * 2)  # nothing of it was in the cache
    assert "shifted" not in "".join(path.read_text() for path in (tmp_path / "cache").glob("*.results"))


def test_from_the_command_line(own_file, tmp_path):
    files = write_detectors(tmp_path / "scores")
    command = [sys.executable, "-m", "pateval", "leaderboard", *map(str, files), "--metrics", ",".join(METRICS)]
    command += ["--chance", "0", "--workers", "2", "-o", str(tmp_path / "out"), "--rank-by", "peak_inside"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=own_file.parent, check=True)
    header = done.stdout.partition("---")[0].split()  # long titles are folded at underscores
    assert {"rank", "(peak_", "inside)"} <= set(header)
    described = json.loads((tmp_path / "out" / "run.json").read_text())
    assert described["metrics"] == list(IDS)
    assert pv.parse_signature(described["signatures"]["pate(early=0..4)"])["early"] == (0, 1, 2, 3, 4)


def test_a_board_finds_its_metrics_where_it_was_computed_and_runs_no_file_elsewhere(own_file, tmp_path):
    home, elsewhere = own_file.parent, tmp_path / "elsewhere"
    write_detectors(home)[0].rename(home / "scores.parquet")

    def pateval(folder, *arguments, status=0):  # as the installed command: without the current folder on the path
        command = [sys.executable, "-P", "-m", "pateval", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    metrics = ("--metrics", "own_metrics:peak_inside", "--workers", "1")
    pateval(home, "leaderboard", "scores.parquet", *metrics, "-o", "board")
    assert "board is what its inputs give" in pateval(home, "verify", "board", "--workers", "1")
    assert pateval(home, "report", "board").endswith(" series to open\n")
    shutil.copytree(home, elsewhere)
    assert pateval(elsewhere, "verify", "board", "--workers", "1", status=2) == (
        "pateval: board: its metrics cannot be computed here: metric 'own_metrics:peak_inside': importing "
        "'own_metrics' failed: ModuleNotFoundError: No module named 'own_metrics'\n"
    )
    assert pateval(elsewhere, "report", "board", "--overwrite").endswith(
        "no series to open, since a metric of one's own that it has cannot be imported here\n"
    )
