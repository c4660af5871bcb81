"""Several runs of a detector: one value per series, per-run rows, spread, and runs that are missing."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.leaderboards.arrays import Entries, RunTable
from support.dask_cluster import running_cluster
from support.messages import message_of

METRICS = ["pate", "pate_ap", "auc_roc", "point_f1"]
SERIES = ("a", "b", "c")


def table_of(seed: int, runs: int, *, noise: float = 1.0, skip: tuple[tuple[int, str], ...] = ()) -> dict[str, Any]:
    """Scores of a detector, run by run; in ``skip`` the (run, series) that are not there."""
    columns: dict[str, list[Any]] = {"series": [], "run": [], "label": [], "score": []}
    for run in range(runs):
        for number, series in enumerate(SERIES):
            if (run, series) in skip:
                continue
            generator = np.random.default_rng([seed, run, number])
            labels = (np.arange(80 + 10 * number) % 40 > 33).astype(int)
            columns["series"] += [series] * labels.size
            columns["run"] += [run] * labels.size
            columns["label"] += labels.tolist()
            columns["score"] += (labels + noise * generator.random(labels.size)).round(3).tolist()
    return columns


def write(folder: Path, name: str, columns: dict[str, Any]) -> Path:
    pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "scores"
    folder.mkdir()
    write(folder, "good", table_of(1, 3, noise=1.5))
    write(folder, "fair", table_of(2, 3, noise=4.0))
    write(folder, "fixed", table_of(3, 1, noise=2.5))  # a detector without a seed has one run
    return folder


def each_run(folder: Path, name: str) -> dict[tuple[str, str], pv.Evaluation]:
    """Evaluate every run of every series directly."""
    columns = pq.read_table(folder / f"{name}.parquet").to_pydict()
    series, run = np.array(columns["series"]), np.array(columns["run"])
    found = {}
    for r, s in dict.fromkeys(zip(columns["run"], columns["series"], strict=True)):
        own = (series == s) & (run == r)
        labels, scores = np.array(columns["label"])[own], np.array(columns["score"])[own]
        found[str(r), s] = pv.evaluate(labels, scores, metrics=METRICS)
    return found


def test_a_series_counts_with_its_mean_over_runs(files: Path) -> None:
    board = pv.leaderboard(files, metrics=METRICS, chance=2)
    assert board.series == SERIES
    assert set(board.detectors) == {"good", "fair", "fixed"}
    for d, name in enumerate(board.detectors):
        direct = each_run(files, name)
        runs = sorted({run for run, _ in direct})
        for m, metric in enumerate(METRICS):
            for s, series in enumerate(SERIES):
                expected = np.mean([direct[run, series][metric] for run in runs])
                assert board.values[d, s, m] == pytest.approx(expected, abs=1e-15)
    # As if the means had been computed elsewhere: runs are never counted as series of their own.
    plain = pv.Leaderboard(
        board.detectors,
        board.series,
        board.metrics,
        board.values,
        board.present,
        board.reason_codes,
        board.reason_texts,
        board.facts,
    )
    assert board.significance("auc_roc").to_dict() == plain.significance("auc_roc").to_dict()
    assert board.ranks().equals(plain.ranks())
    limits = board.summary().select(["detector", "metric", "n", "mean", "low", "high", "mean_rank"])
    assert limits.equals(plain.summary().select(limits.column_names))
    assert board.significance().series_used == 3


def test_rows_of_every_run_and_the_spread_over_runs(files: Path) -> None:
    board = pv.leaderboard(files, metrics=METRICS, chance=0)
    rows = board.scores.to_pylist()
    assert list(rows[0]) == ["detector", "series", "run", "metric", "value", "reason", "signature"]
    assert len(rows) == (3 + 3 + 1) * 3 * len(METRICS)
    found = {(row["detector"], row["run"], row["series"], row["metric"]): row["value"] for row in rows}
    summary = {(row["detector"], row["metric"]): row for row in board.summary().to_pylist()}
    for name in board.detectors:
        direct = each_run(files, name)
        for (run, series), values in direct.items():
            assert all(found[name, run, series, metric] == values[metric] for metric in METRICS)
        runs = sorted({run for run, _ in direct})
        for metric in METRICS:
            means = [np.mean([direct[run, series][metric] for series in SERIES]) for run in runs]
            row = summary[name, metric]
            assert (row["runs"], row["n"]) == (len(runs), 3)
            assert row["mean"] == pytest.approx(np.mean(means), abs=1e-15)
            assert row["run_std"] == (None if len(runs) == 1 else pytest.approx(np.std(means, ddof=1), abs=1e-15))
    assert board.timing_table().column_names[:3] == ["detector", "series", "run"]


def test_the_overview_shows_the_spread(files: Path) -> None:
    board = pv.leaderboard(files, metrics=["auc_roc"], chance=0)
    overview = board.overview()
    assert overview.header == ["detector", "rank (auc_roc)", "alike", "auc_roc", "95 %", "run sd"]
    by_name = {row[0]: row[5] for row in overview.rows}
    assert by_name["fixed"] == ""
    assert float(by_name["good"]) > 0
    said = "1 to 3 runs of each detector; each series counts with its mean over runs; run sd: standard deviation over"
    assert any(remark.startswith(said) for remark in overview.remarks)
    without = pv.leaderboard({"label": [0, 1, 0], "lstm": [0.1, 0.2, 0.3]}, metrics=["auc_roc"], chance=0)
    assert "run sd" not in without.overview().header
    assert "runs" not in without.summary().column_names


def test_missing_runs_are_named(tmp_path: Path) -> None:
    write(tmp_path, "gappy", table_of(1, 3, skip=((1, "b"), (2, "c"), (2, "b"))))
    write(tmp_path, "whole", table_of(2, 3))
    board = pv.leaderboard(tmp_path, metrics=["auc_roc"], chance=0)
    said = [note for note in board.notes if "lacks" in note]
    assert said == [
        "detector 'gappy': run '1' lacks 1 of 3 series ('b'); the means over runs there are over the other runs",
        "detector 'gappy': run '2' lacks 2 of 3 series ('b', 'c'); the means over runs there are over the other runs",
    ]
    direct = each_run(tmp_path, "gappy")
    d = board.detectors.index("gappy")
    assert board.values[d, 1, 0] == direct["0", "b"]["auc_roc"]
    assert board.values[d, 2, 0] == pytest.approx(np.mean([direct[run, "c"]["auc_roc"] for run in ("0", "1")]))
    # Runs are compared on the one series that all of them have.
    row = next(row for row in board.summary().to_pylist() if row["detector"] == "gappy")
    assert row["run_std"] == pytest.approx(np.std([direct[run, "a"]["auc_roc"] for run in "012"], ddof=1))


def test_runs_in_which_a_metric_is_undefined_are_left_out_and_counted() -> None:
    labels = [0, 0, 1, 1, 0, 0] * 2
    data = {"label": labels, "run": [0] * 6 + [1] * 6, "lstm": [0, 0, 2, 2, 0, 0, 1, 1, 0, 0, 1, 1]}
    board = pv.leaderboard(data, run="run", metrics=["mean_detection_delay"], threshold=1, chance=0)
    assert board.values.item() == 0.0
    first, second = board.scores["value"].to_pylist()
    assert first == 0.0
    assert np.isnan(second)
    assert any(
        "1 means over runs, of 'lstm' under 'mean_detection_delay', leave out runs" in line for line in board.warnings
    )


def test_pooled_values_are_means_over_runs(files: Path) -> None:
    board = pv.leaderboard(files / "good.parquet", metrics=["pate", "pate_ap"], chance=0, pooled=True)
    columns = pq.read_table(files / "good.parquet").to_pydict()
    run = np.array(columns["run"])
    for row in board.summary().to_pylist():
        pooled = []
        for r in range(3):
            own = run == r
            labels, scores, series = (np.array(columns[name])[own] for name in ("label", "score", "series"))
            pooled.append(getattr(pv, row["metric"])(labels, scores, series=series))
        assert row["mean"] == pytest.approx(np.mean(pooled), abs=1e-12)


def test_two_workers_and_dask_find_the_same(files: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"metrics": METRICS, "chance": 2}
    one = pv.leaderboard(files, workers=1, **options)
    two = pv.leaderboard(files, workers=2, **options)
    with running_cluster(tmp_path) as (client, _):
        dask = pv.leaderboard(files, executor=client.get_executor(), **options)
    for other in (two, dask):
        assert other.scores.equals(one.scores)
        assert other.summary().equals(one.summary())


def test_every_run_is_kept_and_resumed(files: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = pv.leaderboard(files, metrics=["auc_roc"], chance=0, cache=cache)
    assert first.run["computed"] == 21
    write(files, "good", table_of(1, 4, noise=1.5))  # one run more
    second = pv.leaderboard(files, metrics=["auc_roc"], chance=0, cache=cache)
    assert (second.run["computed"], second.run["from_cache"]) == (3, 21)


def test_runs_of_one_series_average_their_limits_over_events() -> None:
    labels = np.tile([0, 0, 0, 0, 1, 1, 0, 0], 20)
    generator = np.random.default_rng(0)
    scores = [labels + 2 * generator.random(160) for _ in range(2)]
    both = {"label": np.tile(labels, 2), "run": np.repeat(["x", "y"], 160), "lstm": np.concatenate(scores)}
    rows = [
        pv.leaderboard(data, metrics=["auc_roc"], chance=0).summary().to_pylist()[0]
        for data in (both, {"label": labels, "lstm": scores[0]}, {"label": labels, "lstm": scores[1]})
    ]
    for end in ("low", "high"):
        assert rows[0][end] == pytest.approx((rows[1][end] + rows[2][end]) / 2)


def test_a_folder_per_run(tmp_path: Path) -> None:
    """Runs in files of their own are one partitioned table."""
    for run in (0, 1):
        folder = tmp_path / "lstm" / f"run={run}"
        folder.mkdir(parents=True)
        columns = table_of(run, 1)
        del columns["run"]
        write(folder, "part-0", columns)
    board = pv.leaderboard(tmp_path / "lstm", metrics=["auc_roc"], chance=0)
    assert board.detectors == ("lstm",)
    assert board.runs is not None
    assert board.runs.entries.names == ("0", "1")


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "lstm", table_of(1, 2))
    first, second = (tmp_path / folder / "lstm.parquet" for folder in ("x", "y"))
    assert message_of(pv.leaderboard, [tmp_path / "x", tmp_path / "y"], metrics=["auc_roc"]) == (
        f"{second}: detector 'lstm' on series 'a', run '0', is also in {first}; detectors are named by their files, so "
        "rename one of the two, leave it out, or name the folder that holds the folders of both"
    )


def pateval(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "pateval", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done


def test_the_command_line(files: Path, tmp_path: Path) -> None:
    renamed = table_of(1, 2)
    renamed["attempt"] = renamed.pop("run")
    path = write(tmp_path, "lstm", renamed)
    done = pateval(
        "leaderboard", path, "--run", "attempt", "--metrics", "auc_roc", "--chance", 0, "-o", tmp_path / "out"
    )
    assert "run sd" in done.stdout
    with (tmp_path / "out" / "scores.csv").open() as file:
        assert {row["run"] for row in csv.DictReader(file)} == {"0", "1"}
    done = pateval("leaderboard", files, "--metrics", "auc_roc", "--chance", 0, "--format", "csv")
    assert "run 'run'" in done.stderr  # the guess is announced
    assert {row["runs"] for row in csv.DictReader(io.StringIO(done.stdout))} == {"1", "3"}
    done = pateval("score", files / "good.parquet", "--metrics", "auc_roc", "--format", "csv")
    assert [row["detector"] for row in csv.DictReader(io.StringIO(done.stdout))] == ["good"]  # the mean over its runs
    done = pateval("explain", files / "good.parquet", status=2)
    assert "holds 3 runs ('good, run 0', 'good, run 1', 'good, run 2'); choose one with" in done.stderr
    done = pateval("explain", files / "good.parquet", "--only", "good, run 1")
    assert done.stdout.startswith("detector good, run 1\n")


def test_entries_and_spread_by_hand() -> None:
    entries = Entries.of(np.array([0, 1, 0, 0, 1]), np.array([0, 0, 1, 0, 0]), ("x", "y"))
    assert entries.detector_code.tolist() == [0, 0, 1]
    assert entries.names == ("x", "y", "x")
    assert entries.of_job.tolist() == [0, 2, 1, 0, 2]
    values = np.array([[[0.2], [0.4]], [[0.4], [np.nan]], [[0.5], [0.7]]])
    table = RunTable(entries, values, np.ones((3, 2), dtype=bool), np.zeros((3, 2, 1), dtype=int))
    assert table.spread(0, 0) == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert table.spread(1, 0) is None
    assert table.partly_defined().ravel().tolist() == [False, True, False, False]
    codes = entries.first(np.array([[0, 5], [3, 4], [0, 0]]))
    assert codes.tolist() == [[3, 5], [0, 0]]
