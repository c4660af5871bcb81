"""`pateval leaderboard`: what it prints where, its exit status, interruption, and a real cluster."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.dask_cluster import killing, running_cluster
from support.leaderboard_cases import wide_table

METRICS = "pate,pate_ap,auc_roc,point_f1"


def pateval(*arguments, **options):
    """Run the command as users do."""
    command = [sys.executable, "-c", "from pateval.cli import main; main()", "leaderboard", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@pytest.fixture
def files(tmp_path):
    """One file per detector."""
    data = wide_table()
    folder = tmp_path / "scores"
    folder.mkdir()
    for name in ("good", "fair", "guess"):
        table = {"series": data["series"], "label": data["label"], "score": data[name]}
        pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return folder


def one_line(done, *parts):
    """Exit status 2, one line on standard error that holds the parts, nothing on standard output."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert all(part in lines[0] for part in parts), lines[0]


def test_files_in_folder_out(files, tmp_path):
    done = pateval(files, "--metrics", METRICS, "--chance", 2, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "guessed label 'label', score 'score', series 'series'" in done.stderr
    assert "scores" in done.stderr  # the bar
    lines = done.stdout.splitlines()
    assert lines[0].split()[0] == "detector"
    assert lines[2].split()[0] == "good"
    assert "warning" not in done.stdout.lower()
    table = pq.read_table(tmp_path / "out" / "scores.parquet")
    assert table.column_names == ["detector", "series", "metric", "value", "reason", "signature"]
    assert set(table["metric"].to_pylist()) == set(METRICS.split(","))
    assert not (tmp_path / "out" / "scores.partial").exists()
    assert table.num_rows == 3 * 4 * 4
    described = json.loads((tmp_path / "out" / "run.json").read_text())
    lengths = {"early": [0, 100], "delay": [0, 100], "window": 100, "threshold": "oracle"}
    assert {name: described["measures"][name] for name in lengths} == lengths
    assert described["computed"] == 12
    # Again: nothing is computed, the same bytes.
    before = (tmp_path / "out" / "scores.parquet").read_bytes()
    again = pateval(files, "--metrics", METRICS, "--chance", 2, "-o", tmp_path / "out", "--workers", 2)
    assert again.stdout == done.stdout
    assert json.loads((tmp_path / "out" / "run.json").read_text())["computed"] == 0
    assert (tmp_path / "out" / "scores.parquet").read_bytes() == before


def test_formats(files):
    options = (files, "--metrics", "pate,auc_roc", "--chance", 0)
    data = json.loads(pateval(*options, "--format", "json").stdout)
    assert len(data["summary"]) == 6
    rows = list(csv.DictReader(io.StringIO(pateval(*options, "--format", "csv").stdout)))
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in data["summary"]]
    marked = pateval(*options, "--format", "markdown", "--early", "0..3", "--delay", 5).stdout
    assert marked.startswith("| detector | rank (pate) |")
    named = pateval(files, "--metrics", "pate,auc_roc", "--chance", 0, "--rank-by", "auc_roc").stdout
    assert named.splitlines()[0].split()[1:3] == ["rank", "(auc_roc)"]
    latex = pateval(*options, "--format", "latex").stdout
    heads = ["Rank $\\downarrow$", "PATE $\\uparrow$", "AUC-ROC $\\uparrow$"]
    assert " & ".join(["detector", *heads]) in latex


def test_bad_input_is_one_line(files, tmp_path):
    metrics = ("--metrics", "pate", "--chance", 0)
    one_line(pateval(tmp_path / "absent.parquet", *metrics), "absent.parquet", "there is no such file")
    one_line(pateval(files, "--metrics", "pat"), "unknown metric 'pat'", "did you mean 'pate'")
    one_line(pateval(files, "--score", "skore", *metrics), "fair.parquet", "no score column 'skore'")
    one_line(pateval(files, "--early", "x", *metrics), "'x' is not a buffer")
    one_line(pateval(files, "--workers", "0", *metrics), "--workers")
    one_line(pateval(files, "--rank-by", "auc_roc", *metrics), "rank_by must be one of the metrics computed (pate)")
    (tmp_path / "empty").mkdir()
    one_line(pateval(tmp_path / "empty", *metrics), "the folder holds no data files")


def test_keep_going(files, tmp_path):
    whole = (files / "fair.parquet").read_bytes()
    (files / "fair.parquet").write_bytes(whole[: len(whole) // 2])
    columns = ("--label", "label", "--score", "score", "--series", "series", "--metrics", "pate", "--chance", "0")
    one_line(pateval(files, *columns), "fair.parquet: not a readable Parquet file")
    done = pateval(files, *columns, "--keep-going", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert sum("fair.parquet: not a readable Parquet file" in line for line in done.stderr.splitlines()) == 1
    assert set(pq.read_table(tmp_path / "out" / "scores.parquet")["detector"].to_pylist()) == {"good", "guess"}
    assert "fair.parquet" in json.loads((tmp_path / "out" / "run.json").read_text())["failures"][0]


def test_labels_of_three_kinds(files, tmp_path):
    table = pq.read_table(files / "fair.parquet").to_pydict()
    table["label"][7] = 2
    pq.write_table(pa.table(table), files / "fair.parquet")
    columns = ("--label", "label", "--score", "score", "--series", "series", "--metrics", "pate", "--chance", "0")
    done = pateval(files, *columns, "--workers", 2)
    assert done.returncode == 2
    assert "fair.parquet: column 'label', series 's0': labels must be 0 or 1" in done.stderr.splitlines()[-1]
    done = pateval(files, *columns, "--keep-going", "-o", tmp_path / "out")
    assert done.returncode == 1
    rows = pq.read_table(tmp_path / "out" / "scores.parquet").to_pylist()
    bad = [row for row in rows if (row["detector"], row["series"]) == ("fair", "s0")]
    assert "labels must be 0 or 1" in bad[0]["reason"]
    assert len(rows) == 12


def test_no_scheduler(files):
    done = pateval(files, "--dask", "tcp://127.0.0.1:1", "--metrics", "pate")
    assert done.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in done.stderr.splitlines()[-1]


def finished(cache):
    """Count the results that the cache holds: a line each."""
    return sum(path.read_bytes().count(b"\n") for path in Path(cache).rglob("*.results"))


def test_ctrl_c_and_again(nab, tmp_path):
    """Interrupted in the middle, then run again: nothing twice, and the bytes of an undisturbed run."""
    names = [nab / f"{name}.parquet" for name in ("expose", "knncad", "numenta")]
    options = ["--label", "label", "--score", "score", "--series", "series", "--chance", "0", "--metrics", METRICS]
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from pateval.cli import main; main()", "leaderboard"]
    command += [*map(str, names), *options, "--workers", "2", "-o", str(out)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: os.nice(15),  # so that on a busy machine it does not end before this process looks
    )
    deadline = time.time() + 120
    while finished(out / "cache") < 10 and time.time() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "goes on from what is in" in errors
    assert "Traceback" not in errors
    half = finished(out / "cache")
    assert 10 <= half < 174
    assert not (out / "scores.parquet").exists()
    assert list((out / "cache").rglob("*.tmp")) == []
    done = pateval(*names, *options, "--workers", 2, "-o", out)
    assert done.returncode == 0, done.stderr
    described = json.loads((out / "run.json").read_text())
    assert (described["computed"], described["from_cache"]) == (174 - half, half)
    plain = pateval(*names, *options, "--workers", 1, "-o", tmp_path / "plain")
    assert plain.stdout == done.stdout
    assert (tmp_path / "plain" / "scores.parquet").read_bytes() == (out / "scores.parquet").read_bytes()


def test_dask_with_a_killed_worker(nab, tmp_path):
    """The whole catalogue of three detectors on a real cluster, one of its two workers killed in the middle."""
    names = [nab / f"{name}.parquet" for name in ("expose", "random", "twitterADVec")]
    options = ["--label", "label", "--score", "score", "--series", "series", "--chance", "0", "--metrics", "all"]
    cache = tmp_path / "dask" / "cache"
    with running_cluster(tmp_path) as (client, workers):
        with killing(workers[0], lambda: finished(cache) >= 20):
            done = pateval(*names, *options, "--dask", client.scheduler.address, "-o", tmp_path / "dask")
        assert done.returncode == 0, done.stderr
        assert workers[0].wait(10) == -signal.SIGKILL
    described = json.loads((tmp_path / "dask" / "run.json").read_text())
    assert described["where"] == "ClientExecutor"
    assert described["computed"] > 100
    plain = pateval(*names, *options, "--workers", 2, "-o", tmp_path / "plain")
    assert (tmp_path / "plain" / "scores.parquet").read_bytes() == (tmp_path / "dask" / "scores.parquet").read_bytes()
    assert plain.stdout == done.stdout
