"""The machinery: plans, batches, workers, cache, with two small metrics of our own."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.io.plan import make_plan
from pateval.io.units import make_batches, read_batch
from pateval.leaderboards import cache
from pateval.leaderboards.tasks import iterate_batch
from pateval.worker_pool import _Processes, set_stop
from support import leaderboard_metrics as metrics
from support.leaderboard_cases import compute, kept_results, parquet_bytes, rows, series, settings, write_detectors
from support.messages import message_of, raises_exactly


def test_plan_and_batches(tmp_path):
    plan = make_plan(write_detectors(tmp_path))
    assert plan.detectors == ("d0", "d1", "d2")
    assert plan.series == tuple(f"s{s}" for s in range(7))
    assert len(plan.jobs) == 21
    assert [len(batch.jobs) for batch in make_batches(plan)] == [7, 7, 7]  # a file is read once
    batches = list(make_batches(plan, workers=2))
    assert sorted((job for batch in batches for job in batch.jobs), key=lambda job: job.number) == list(plan.jobs)
    assert len(batches) == 8
    for batch in batches:
        for item in read_batch(batch):
            d, s = int(item.detector[1:]), int(item.series[1:])
            assert np.array_equal(item.scores, series(100 * d + s, steps=60 + s, anomalies=s != 2)[1])


def test_one_wide_table_and_one_long_table_are_the_same(tmp_path):
    files = write_detectors(tmp_path)
    tables = [pq.read_table(path) for path in files]
    wide = pa.table(
        {"series": tables[0]["series"], "label": tables[0]["label"]}
        | {path.stem: table["score"] for path, table in zip(files, tables, strict=True)}
    )
    long = pa.concat_tables(
        [t.append_column("detector", pa.array([p.stem] * len(t))) for p, t in zip(files, tables, strict=True)]
    )
    expected = rows(compute(make_plan(files)))
    shuffled = long.take(np.argsort(np.tile(np.arange(len(wide)), 3), kind="stable"))
    for data in (wide, long, shuffled, long.to_pandas(), wide.to_pandas()):
        plan = make_plan(data)
        board = compute(plan, settings())
        assert rows(board) == expected
    for name, table in (("wide", wide), ("long", long)):
        pq.write_table(table, tmp_path / f"{name}.pq", row_group_size=100)
        assert rows(compute(make_plan(tmp_path / f"{name}.pq"), settings())) == expected
    partitioned = tmp_path / "partitioned"
    pq.write_to_dataset(long, partitioned, partition_cols=["detector"])
    assert rows(compute(make_plan(partitioned), settings())) == expected
    pq.write_to_dataset(long, tmp_path / "deep", partition_cols=["detector", "series"])
    plan = make_plan(tmp_path / "deep")
    assert all(len(batch.content.pieces) <= len(batch.jobs) for batch in make_batches(plan))
    assert rows(compute(plan, settings())) == expected


def test_mappings():
    labels, one = series(1)
    _, two = series(2)
    columns = make_plan({"label": labels, "lstm": one, "usad": two})
    assert [(job.detector, job.series) for job in columns.jobs] == [("lstm", "series"), ("usad", "series")]
    by_detector = make_plan({"lstm": {"label": labels, "score": one}, "usad": {"label": labels, "score": two}})
    assert [(job.detector, job.series) for job in by_detector.jobs] == [("lstm", "series"), ("usad", "series")]
    by_series = make_plan({"m1": {"label": labels, "lstm": one, "usad": two}, "m2": {"label": labels, "lstm": two}})
    assert [(job.detector, job.series) for job in by_series.jobs] == [("lstm", "m1"), ("usad", "m1"), ("lstm", "m2")]
    assert any("'usad' lacks 1 of 2 series ('m2')" in note for note in by_series.notes)


def test_unevenness_is_reported(tmp_path):
    labels, scores = series(0)
    plan = make_plan(
        {
            "a": {"series": ["x"] * 60, "label": labels, "score": scores},
            "b": {"series": ["x"] * 60, "label": labels, "score": scores},
            "c": {"series": ["x"] * 50 + ["y"] * 10, "label": labels, "score": scores},
        }
    )
    assert "series 'x' has 60 steps, but 50 for 'c'" in plan.notes
    assert any(note.startswith("detector 'a' lacks 1 of 2 series ('y')") for note in plan.notes)


def test_two_files_of_one_name(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder, start in (("a", 0), ("b", 5)):
        labels, scores = series(start)
        pq.write_table(pa.table({"label": labels, "score": scores}), tmp_path / folder / "lstm.parquet")
    files = [tmp_path / "a" / "lstm.parquet", tmp_path / "b" / "lstm.parquet"]
    assert message_of(make_plan, files) == (
        f"{files[1]}: detector 'lstm' on series 'series' is also in {files[0]}; detectors are named by their files, so "
        "rename one of the two, leave it out, or name the folder that holds the folders of both"
    )
    plan = make_plan(files, keep_going=True)
    assert len(plan.jobs) == 1
    assert "rename one" in plan.failures[0]
    twice = make_plan([files[0], files[0]])
    assert len(twice.jobs) == 1
    assert "read once" in twice.notes[0]


def test_nothing_to_do(tmp_path):
    with raises_exactly(ValueError, "there is nothing to evaluate: no files, no tables"):
        make_plan([])
    with raises_exactly(ValueError, "data must be paths, tables or mappings of arrays; got int"):
        make_plan(3)
    path = tmp_path / "absent.csv"
    assert message_of(make_plan, path) == f"{path}: there is no such file or folder"
    assert message_of(make_plan, path, keep_going=True) == f"{path}: there is no such file or folder"


@pytest.fixture
def detectors(tmp_path):
    return write_detectors(tmp_path / "scores")


def test_every_way_gives_the_same_bytes(detectors, tmp_path):
    plan = make_plan(detectors)
    alone = compute(plan, settings(chance=2))
    expected = parquet_bytes(alone, tmp_path)
    two = compute(plan, settings(chance=2), workers=2)
    assert parquet_bytes(two, tmp_path) == expected
    for m in range(2):
        assert np.array_equal(two.chance.of_metric(m), alone.chance.of_metric(m), equal_nan=True)
    with ThreadPoolExecutor(3) as threads:
        assert parquet_bytes(compute(plan, settings(), executor=threads), tmp_path) == expected
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert parquet_bytes(compute(plan, settings(), executor=processes), tmp_path) == expected
    folder = str(tmp_path / "cache")
    first = compute(plan, settings(cache=folder))
    again = compute(plan, settings(cache=folder), workers=2)
    assert parquet_bytes(first, tmp_path) == parquet_bytes(again, tmp_path) == expected
    assert (first.run["computed"], first.run["from_cache"]) == (21, 0)
    assert (again.run["computed"], again.run["from_cache"]) == (0, 21)


def test_only_what_changed_is_computed_again(detectors, tmp_path, monkeypatch):
    folder = str(tmp_path / "cache")
    log = tmp_path / "log"
    monkeypatch.setenv(metrics.LOG, str(log))

    def run(*chosen):
        before = len(log.read_text().splitlines()) if log.exists() else 0
        compute(make_plan(detectors), settings(chosen or metrics.PLAIN, cache=folder))
        return log.read_text().splitlines()[before:]

    scaled = metrics.gap.with_options(scale=2)
    assert len(run("support.leaderboard_metrics:gap")) == 21
    assert run(metrics.gap) == []
    added = run(metrics.gap, metrics.lag)  # another metric: only that one is computed
    assert len(added) == 21
    assert all(line.startswith("lag ") for line in added)
    assert run(metrics.lag) == []
    assert len(run(scaled)) == 21  # another option
    raised = pv.define_metric(metrics.gap_of_means, id="gap", takes="scores", definition=2)
    assert len(run(raised)) == 21  # another definition
    assert run(scaled, raised, metrics.lag) == []
    # Another content of one series in one file: that series alone.
    table = pq.read_table(detectors[1]).to_pydict()
    table["score"][0] += 0.5
    pq.write_table(pa.table(table), detectors[1])
    assert len(run(metrics.gap)) == 1


def damaged_lines(lines):
    """A cache with one line cut off, changed, moved to another key, or that is none."""
    first, second, *rest = lines
    key, other = first[:40], second[:40]
    yield "cut off", [first[: len(first) // 2], second, *rest]
    yield "a figure changed", [first[:-9] + (b"8" if first[-9:-8] == b"7" else b"7") + first[-8:], second, *rest]
    yield "keys exchanged", [other + first[40:], key + second[40:], *rest]
    yield "another file", [b"[]", second, *rest]
    yield "values of another shape", [key + b" " + b"0" * 16 + b' {"gap": "text"}', second, *rest]


def test_a_line_of_the_cache_that_is_damaged_counts_as_absent(detectors, tmp_path):
    plan, folder = make_plan(detectors), tmp_path / "cache"
    expected = compute(plan, settings(cache=str(folder)))
    (file,) = folder.glob("*.results")
    lines = file.read_bytes().splitlines()
    assert len(lines) == 21
    for damage, changed in damaged_lines(lines):
        for path in folder.glob("*.results"):
            path.unlink()
        file.write_bytes(b"\n".join(changed) + b"\n")
        board = compute(plan, settings(cache=str(folder)))
        assert board.run["computed"] == (2 if damage == "keys exchanged" else 1), damage
        assert rows(board) == rows(expected), damage
        assert compute(plan, settings(cache=str(folder))).run["computed"] == 0


def test_what_is_no_file_in_a_cache_counts_as_absent(detectors, tmp_path):
    plan, folder = make_plan(detectors), tmp_path / "cache"
    folder.mkdir()
    (folder / "folder.results").mkdir()
    (folder / "loop.results").symlink_to("loop.results")
    (folder / "nothing.results").symlink_to("not-there")
    os.mkfifo(folder / "pipe.results")
    assert [compute(plan, settings(cache=str(folder))).run["computed"] for _ in range(2)] == [21, 0]


def test_many_files_of_a_cache_become_one(detectors, tmp_path, monkeypatch):
    """Each of many runs leaves a file; those that nobody writes to any more are joined, and nothing is lost."""
    monkeypatch.setattr(cache, "_MOST_FILES", 2)
    monkeypatch.setattr(cache, "_SECONDS_AT_REST", -1)
    folder = tmp_path / "cache"
    for chosen in (metrics.gap, metrics.lag, metrics.gap.with_options(scale=2), metrics.gap.with_options(scale=3)):
        compute(make_plan(detectors), settings(chosen, cache=str(folder)))
    assert len(list(folder.glob("*.results"))) <= 3
    everything = (metrics.lag, metrics.gap.with_options(scale=2), metrics.gap.with_options(scale=3), metrics.gap)
    assert compute(make_plan(detectors), settings(everything, cache=str(folder))).run["computed"] == 0


def test_another_version_of_the_metrics_counts_as_new(detectors, tmp_path, monkeypatch):
    plan = make_plan(detectors)
    folder = str(tmp_path / "cache")
    compute(plan, settings(cache=folder))
    monkeypatch.setattr(cache, "fingerprint", lambda: "other")
    assert compute(plan, settings(cache=folder)).run["computed"] == 21
    # A worker with other code than ours refuses.
    refused = compute(plan, replace(settings(), code="mine"))
    assert refused.run["failed"] == 21
    assert "other metric code" in refused.failures[0]


def test_a_worker_that_dies_once_is_replaced(tmp_path, monkeypatch):
    plan = make_plan(write_detectors(tmp_path / "scores", mark=3))
    expected = compute(plan, settings())
    flag = tmp_path / "flag"
    monkeypatch.setenv(metrics.FLAG, str(flag))
    board = compute(plan, settings(metrics.DEADLY_ONCE), workers=2)
    assert flag.exists()
    assert rows(board) == rows(expected)
    assert board.failures == ()


def test_a_series_that_always_kills_becomes_a_row(tmp_path):
    plan = make_plan(write_detectors(tmp_path / "scores", mark=3))
    board = compute(plan, settings(metrics.DEADLY), workers=2)
    expected = compute(plan, settings())
    dead = board.scores.filter(pa.compute.match_substring(board.scores["reason"], "died")).to_pylist()
    assert [(row["detector"], row["series"], row["metric"]) for row in dead] == [
        ("d0", "s3", "gap"),
        ("d0", "s3", "lag"),
    ]
    assert all(math.isnan(row["value"]) for row in dead)
    assert board.failures == ("detector 'd0', series 's3': the worker process died 3 times on this series",)
    others = (np.arange(3)[:, None] != 0) | (np.arange(7)[None, :] != 3)
    assert np.array_equal(board.values[others], expected.values[others], equal_nan=True)


def test_a_broken_metric_leaves_the_others(tmp_path):
    plan = make_plan(write_detectors(tmp_path / "scores", mark=3))
    folder = tmp_path / "cache"
    board = compute(plan, settings(metrics.BROKEN, cache=str(folder)))
    rows = {(r["detector"], r["series"], r["metric"]): r for r in board.scores.to_pylist()}
    assert rows["d0", "s3", "lag"]["reason"] == "failed: ZeroDivisionError: no lag at all"
    assert not math.isnan(rows["d0", "s3", "gap"]["value"])
    assert board.failures == ("detector 'd0', series 's3': lag failed: ZeroDivisionError: no lag at all",)
    # What broke is not kept: it is tried again.
    again = compute(plan, settings(metrics.BROKEN, cache=str(folder)))
    assert again.run["computed"] == 1
    assert again.failures == board.failures


def test_workers_that_cannot_start_say_why(detectors, tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from support.leaderboard_cases import compute_files\n"
        f"compute_files({[str(path) for path in detectors]!r}, workers=2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    # Not always the last line: Python's own tracker of semaphores may warn after it, when the machine is busy.
    assert (
        "RuntimeError: the worker processes do not start; a script must call this under "
        "`if __name__ == '__main__':` (or pass workers=1)"
    ) in done.stderr.splitlines()


class Flaky(ThreadPoolExecutor):
    """Loses the first answers, as a cluster does whose workers are killed."""

    def __init__(self, losses):
        super().__init__(2)
        self.losses = losses

    def submit(self, *args):
        if self.losses:
            self.losses -= 1
            lost = Future()
            lost.set_exception(ConnectionError("worker gone"))
            return lost
        return super().submit(*args)


def test_an_executor_that_loses_work(detectors):
    plan = make_plan(detectors)
    expected = compute(plan, settings())
    with Flaky(4) as executor:
        assert rows(compute(plan, settings(), executor=executor)) == rows(expected)
    with Flaky(1000) as executor:
        board = compute(plan, settings(), executor=executor)
    assert board.run["failed"] == 21
    assert "lost 3 times: ConnectionError: worker gone" in board.failures[0]


def test_an_executor_that_broke(tmp_path):
    plan = make_plan(write_detectors(tmp_path / "scores", mark=0))
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor,
        pytest.raises(RuntimeError, match="the executor stopped working"),
    ):
        compute(plan, settings(metrics.DEADLY), executor=executor)


def test_a_full_disk_loses_nothing(detectors, tmp_path, monkeypatch):
    plan = make_plan(detectors)
    expected = compute(plan, settings())
    append, calls = cache._append, []

    def full(path, line):
        calls.append(path)
        if len(calls) > 5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return append(path, line)

    monkeypatch.setattr(cache, "_append", full)
    folder = tmp_path / "cache"
    board = compute(plan, settings(cache=str(folder)))
    assert rows(board) == rows(expected)
    assert any(
        "finished work could not be kept (No space left on device): 16 results are in memory only" in line
        for line in board.warnings
    )
    monkeypatch.undo()
    assert kept_results(folder) == 5
    assert compute(plan, settings(cache=str(folder))).run["from_cache"] == 5


def test_a_worker_elsewhere_without_our_disk(detectors, tmp_path):
    """The worker's cache is another folder, as on another machine; the results are still kept here."""
    plan = make_plan(detectors)
    folder = tmp_path / "cache"
    with Elsewhere(str(tmp_path / "nowhere")) as executor:
        compute(plan, settings(cache=str(folder)), executor=executor)
    assert kept_results(folder) == 21


class Elsewhere(ThreadPoolExecutor):
    """Runs batches with another cache folder than the one it was told."""

    def __init__(self, folder):
        super().__init__(1)
        self.folder = folder

    def submit(self, run, *arguments):
        if isinstance(arguments[0], partial):
            work, *others = arguments
            there = partial(work.func, settings=replace(work.keywords["settings"], cache=self.folder))
            return super().submit(run, there, *others)
        return super().submit(run, *arguments)


def test_stopping_between_series(detectors):
    batch = next(make_batches(make_plan(detectors)))
    event = threading.Event()
    event.set()
    set_stop(event)
    try:
        assert list(iterate_batch(batch, settings())) == []
    finally:
        set_stop(None)


SCRIPT = """
import json, sys
sys.path.insert(0, {tests!r})
from support.leaderboard_cases import compute_files, settings
from support.leaderboard_metrics import gap
if __name__ == "__main__":
    try:
        board = compute_files({files!r}, chosen=settings(gap, cache={cache!r}), workers={workers})
    except KeyboardInterrupt:
        sys.exit(130)
    board.to_parquet({out!r})
    print(json.dumps(board.run))
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_and_resumed(tmp_path, workers):
    files = [str(path) for path in write_detectors(tmp_path / "scores", detectors=4, number=12)]
    out, log = tmp_path / "out.parquet", tmp_path / "log"
    script = tmp_path / "run.py"
    script.write_text(
        SCRIPT.format(
            tests=str(Path(__file__).parent),
            cache=str(tmp_path / "cache"),
            files=files,
            out=str(out),
            workers=workers,
        )
    )
    environment = os.environ | {metrics.LOG: str(log), metrics.PAUSE: "0.05"}
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, start_new_session=True, env=environment
    )
    deadline = time.time() + 60
    while time.time() < deadline and not (log.exists() and len(log.read_text().splitlines()) >= 10):
        time.sleep(0.02)
    os.killpg(process.pid, 2)  # Ctrl-C in a terminal reaches the workers too
    assert process.wait(60) == 130
    process.stdout.close()
    half = log.read_text().splitlines()
    assert 10 <= len(half) < 48
    assert not out.exists()
    done = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    counts = json.loads(done.stdout)
    lines = log.read_text().splitlines()
    # In this process Ctrl-C may cut off the series in hand between its line and its file.
    slack = 1 if workers == 1 else 0
    assert 48 <= len(lines) <= 48 + slack
    assert len(set(lines)) == 48
    assert counts["computed"] + len(half) - slack <= 48 <= counts["computed"] + len(half)
    expected = compute(make_plan(files), settings(metrics.gap))
    assert out.read_bytes() == parquet_bytes(expected, tmp_path)


def test_limits_over_the_events_of_a_single_series(tmp_path):
    generator = np.random.default_rng(3)
    labels = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 12)
    data = {"label": labels, "a": labels + generator.random(labels.size), "b": generator.random(labels.size)}
    chosen = settings(cache=str(tmp_path), event_draws=50)
    board = compute(make_plan(data), chosen)
    by_row = {(row["detector"], row["metric"]): row for row in board.summary().to_pylist()}
    for detector in "ab":
        row = by_row[detector, "gap"]
        assert row["low"] < row["mean"] < row["high"]
    # They are kept like everything else, and the values do not depend on them.
    assert kept_results(tmp_path) == 4
    again = compute(make_plan(data), chosen, workers=2)
    assert again.intervals == board.intervals
    assert compute(make_plan(data), settings(cache=str(tmp_path))).run["computed"] == 0
    # With several series there is no need for them.
    several = make_plan(data | {"series": np.repeat([0, 1], labels.size // 2)})
    assert compute(several, settings(event_draws=50)).intervals == {}


def test_no_threads_fight_in_the_workers(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = dict(os.environ)
    pool = _Processes(2)
    try:
        # Both have been started, and ours is as it was, before anything is submitted.
        assert dict(os.environ) == before
        assert {pool.submit(environment, None).result() for _ in range(4)} == {("1", "1", "1")}
        assert len(pool._executor._processes) == 2
    finally:
        pool.close()
    assert dict(os.environ) == before


def environment(_):
    return os.environ.get("OMP_NUM_THREADS"), os.environ.get("OPENBLAS_NUM_THREADS"), str(pa.cpu_count())


def test_progress(detectors):
    seen = []
    compute(make_plan(detectors), settings(chance=1), progress=lambda *report: seen.append(report))
    assert seen[0] == ("scores", 0, 21)
    # Chance of a series is found out with its first detector, since all files agree on the labels.
    assert seen[-1] == ("scores", 21, 21)


def test_the_bar_goes_to_standard_error(detectors, capsys):
    compute(make_plan(detectors), settings(), progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "scores" in captured.err
