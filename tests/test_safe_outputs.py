"""Outputs are safe: nothing of others is replaced unasked, a full disk takes no answer away, no half files stay."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pateval import Leaderboard, leaderboard, leaderboard_from_results
from pateval.leaderboards.board_files import writing
from support.leaderboard_cases import wide_table
from support.messages import raises_exactly

RNG = np.random.default_rng(2)
LABELS = np.repeat([0, 1, 0, 1, 0], [40, 6, 50, 9, 45])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    pa.csv.write_csv(pa.table({"label": LABELS, "good": LABELS + RNG.random(150), "bad": RNG.random(150)}), path)
    return path


def pateval(*arguments, blocks=None, redirect=""):
    """Run the command; ``blocks`` bounds how large a file may get, as a full disk does, in units of 512 bytes."""
    command = shlex.join([sys.executable, "-m", "pateval", *map(str, arguments)]) + redirect
    if blocks is not None:
        command = f"ulimit -f {blocks}; {command}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def one_line(done):
    lines = [line for line in done.stderr.splitlines() if line.startswith("pateval: ")]
    assert len(lines) == 1, done.stderr
    return lines[0].removeprefix("pateval: ")


ONE = ("--metrics", "pate,auc_roc")


@pytest.mark.parametrize(
    ("suffix", "begin"),
    [
        ("json", "["),
        ("csv", "detector,"),
        ("md", "| metric"),
        ("tex", "% needs \\usepackage{booktabs}\n\\begin{table}"),
    ],
)
def test_a_file_as_its_suffix_says(table, tmp_path, suffix, begin):
    out = tmp_path / f"result.{suffix}"
    done = pateval("score", table, *ONE, "-o", out)
    assert done.returncode == 0
    assert done.stdout.startswith("metric")
    assert out.read_text().startswith(begin)
    assert pateval("score", table, *ONE, "-o", out, "--format", "csv", "--overwrite").returncode == 0
    assert out.read_text().startswith("detector,")


def test_a_file_that_is_there_is_kept(table, tmp_path):
    out = tmp_path / "mine.txt"
    out.write_text("mine")
    done = pateval("score", table, *ONE, "-o", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done) == f"-o {out}: the file is there already; --overwrite replaces it"
    assert out.read_text() == "mine"
    before = table.read_bytes()
    done = pateval("score", table, *ONE, "-o", table, "--overwrite")
    assert one_line(done) == f"-o {table}: the file is read by this command and cannot be its output, too"
    assert table.read_bytes() == before
    done = pateval("score", table, *ONE, "-o", tmp_path / "none" / "x.json")
    assert one_line(done) == f"-o {tmp_path / 'none' / 'x.json'}: there is no folder {tmp_path / 'none'}"


def test_folders_and_files_are_not_taken_for_each_other(table, tmp_path):
    done = pateval("score", table, *ONE, "-o", tmp_path, "--overwrite")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"pateval: Invalid value for '-o' / '--output': File '{tmp_path}' is a directory.\n"
    done = pateval("leaderboard", table, *ONE, "-o", table, "--overwrite")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"pateval: Invalid value for '-o' / '--output': Directory '{table}' is a file.\n"


def test_a_disk_that_is_full_takes_no_answer_away(table, tmp_path):
    out = tmp_path / "full" / "steps.csv"
    out.parent.mkdir()
    done = pateval("explain", table, "--score", "good", "--steps", "-o", out, blocks=1)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) > LABELS.size
    assert one_line(done) == f"{out}: the file could not be written (File too large); write to another place"
    assert list(out.parent.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_standard_output_that_takes_nothing(table, tmp_path):
    out = tmp_path / "result.json"
    done = pateval("score", table, *ONE, "-o", out, redirect=" > /dev/full")
    assert done.returncode == 2
    assert one_line(done) == "standard output could not be written (No space left on device)"
    assert len(json.loads(out.read_text())) == 4
    done = pateval("score", table, *ONE, "-o", "/dev/full", "--overwrite")
    assert done.stdout.startswith("metric")
    assert one_line(done) == (
        "/dev/full: the file could not be written (No space left on device); make room there, or write to another place"
    )
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


@pytest.fixture
def files(tmp_path):
    data = wide_table()
    folder = tmp_path / "scores"
    folder.mkdir()
    for name in ("good", "fair"):
        columns = {"series": data["series"], "label": data["label"], "score": data[name]}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


BOARD = ("--metrics", "pate,auc_roc", "--chance", 0, "--workers", 1)


def test_a_folder_with_other_content_is_left_alone(files, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "scores.csv").write_text("my own scores")
    done = pateval("leaderboard", files, *BOARD, "-o", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done) == (
        f"-o {out}: the folder holds other things (scores.csv); name another one, or use --overwrite to write into it "
        "all the same"
    )
    assert [path.name for path in out.iterdir()] == ["scores.csv"]
    assert pateval("leaderboard", files, *BOARD, "-o", out, "--overwrite").returncode == 0
    assert (out / "scores.csv").read_text().startswith("detector,")
    # Again: the same leaderboard, which goes on.
    assert pateval("leaderboard", files, *BOARD, "-o", out).returncode == 0
    (out / "notes.txt").write_text("mine")
    assert one_line(pateval("leaderboard", files, *BOARD, "-o", out)) == (
        f"-o {out}: the folder holds other things (notes.txt); name another one, or use --overwrite to write into it "
        "all the same"
    )
    (out / "notes.txt").unlink()
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(files / "fair.parquet"), other)
    done = pateval("leaderboard", other, *BOARD, "-o", out)
    assert one_line(done) == (
        f"-o {out}: the folder holds a leaderboard of other files ({files / 'fair.parquet'} and 1 more); name another "
        "one, or use --overwrite to replace it"
    )


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["good.parquet", *BOARD], "it has the detector 'fair'"),
        ([".", "--metrics", "pate", *BOARD[2:]], "it has the metric 'auc_roc'"),
        ([".", *BOARD, "--early", "5"], "with early [0, 100] instead of [5]"),
    ],
)
def test_a_leaderboard_that_holds_more_is_replaced_only_when_asked(files, tmp_path, arguments, what):
    out = tmp_path / "out"
    assert pateval("leaderboard", files, *BOARD, "-o", out).returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    place, *others = arguments
    done = pateval("leaderboard", files / place, *others, "-o", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert one_line(done) == (
        f"{out}: the folder holds another leaderboard ({what}); name another folder, or replace it (overwrite=True, "
        "--overwrite)"
    )
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert pateval("leaderboard", files / place, *others, "-o", out, "--overwrite").returncode == 0
    assert pateval("leaderboard", files / place, *others, "-o", out).returncode == 0


def test_rows_and_doubt_are_not_lost_by_the_way(tmp_path):
    """By Python, too; and a board may grow by detectors and metrics."""
    table = wide_table()
    given = {"chance": 0, "workers": 1, "output": tmp_path / "out"}
    leaderboard({"label": table["label"], "good": table["good"]}, metrics="auc_roc", **given)
    both = {name: table[name] for name in ("label", "good", "fair")}
    leaderboard(both, metrics=["auc_roc", "pate"], **given)
    board = leaderboard(both, metrics=["auc_roc", "pate"], **given, doubt=2, doubt_draws=2)
    for change, what in (
        ({}, "with labels in doubt"),
        ({"doubt": 2, "doubt_draws": 3}, "with labels in doubt"),
        ({"doubt": 2, "doubt_draws": 2, "window": 7}, "with window 100 instead of 7"),
    ):
        with raises_exactly(
            ValueError,
            f"{tmp_path / 'out'}: the folder holds another leaderboard ({what}); name another folder, or replace it "
            "(overwrite=True, --overwrite)",
        ):
            leaderboard(both, metrics=["auc_roc", "pate"], **given, **change)
    board.save(tmp_path / "out")
    other = leaderboard_from_results({"file": ["a"], "x": [0.5], "y": [0.6]}, metric="auc_roc")
    with raises_exactly(
        ValueError,
        f"{tmp_path / 'out'}: the folder holds another leaderboard (it has the metric 'pate'); name another folder, "
        "or replace it (overwrite=True, --overwrite)",
    ):
        other.save(tmp_path / "out")
    other.save(tmp_path / "out", overwrite=True)


def test_two_writers_do_not_meet_in_one_folder(files, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    sentence = f"{out}: another run is writing into this folder; wait until it is done, or name another folder"
    with writing(out):
        done = pateval("leaderboard", files, *BOARD, "-o", out, "--overwrite")
        assert (done.returncode, one_line(done)) == (2, sentence)
    assert pateval("leaderboard", files, *BOARD, "-o", out, "--overwrite").returncode == 0
    with writing(out), raises_exactly(ValueError, sentence):
        Leaderboard.load(out).save(out)


def test_a_leaderboard_on_a_full_disk_is_printed(files, tmp_path):
    out = tmp_path / "out"
    done = pateval("leaderboard", files, *BOARD, "-o", out, blocks=1)
    assert done.returncode == 2
    assert done.stdout.startswith("detector")
    assert "good" in done.stdout
    assert one_line(done) == (
        f"{out / 'scores.parquet'}: the file could not be written (File too large); write to another place"
    )
    assert not (out / "scores.parquet").exists()
    assert [path.name for path in out.rglob("*.tmp")] == []


def test_scores_of_another_data_set_are_not_mixed_in(tmp_path):
    for name in ("plant", "mill"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": RNG.random(60)}), tmp_path / name / "pump_train.parquet")
        columns = {"x": RNG.random(40), "label": (np.arange(40) == 20).astype(int)}
        pq.write_table(pa.table(columns), tmp_path / name / f"{name}_test.parquet")
        pq.write_table(pa.table({"x": RNG.random(60)}), tmp_path / name / f"{name}_train.parquet")
        (tmp_path / name / "pump_train.parquet").unlink()
    out = tmp_path / "scores"
    assert pateval("detect", "random", "--data", tmp_path / "plant", "-o", out).returncode == 0
    before = (out / "random.parquet").read_bytes()
    done = pateval("detect", "random", "--data", tmp_path / "mill", "-o", out)
    assert done.returncode == 2
    assert one_line(done) == (
        f"{out / 'random.parquet'}: holds scores on another data set (plant, now mill); choose another folder or name, "
        "or overwrite it"
    )
    assert (out / "random.parquet").read_bytes() == before
    assert pateval("detect", "random", "--data", tmp_path / "mill", "-o", out, "--overwrite").returncode == 0
    assert set(pq.read_table(out / "random.parquet")["series"].to_pylist()) == {"mill"}


def test_two_folders_of_one_name_are_two_data_sets(tmp_path):
    for place in ("north", "south"):
        folder = tmp_path / place / "plant"
        folder.mkdir(parents=True)
        columns = {"x": RNG.random(40), "label": (np.arange(40) == 20).astype(int)}
        pq.write_table(pa.table(columns), folder / f"{place}.parquet")
    out = tmp_path / "scores"
    assert pateval("detect", "random", "--data", tmp_path / "north" / "plant", "-o", out).returncode == 0
    before = (out / "random.parquet").read_bytes()
    done = pateval("detect", "random", "--data", tmp_path / "south" / "plant", "-o", out)
    assert done.returncode == 2
    assert one_line(done) == (
        f"{out / 'random.parquet'}: holds scores on another data set called plant, which lies in another folder; "
        "choose another folder or name, or overwrite it"
    )
    assert (out / "random.parquet").read_bytes() == before
    assert str(tmp_path).encode() not in before  # a score file names no folder of its maker
    # The same data in another place are the same data set, and may have grown.
    (tmp_path / "north").rename(tmp_path / "east")
    (tmp_path / "south" / "plant" / "south.parquet").rename(tmp_path / "east" / "plant" / "south.parquet")
    assert pateval("detect", "random", "--data", tmp_path / "east" / "plant", "-o", out).returncode == 0
    assert set(pq.read_table(out / "random.parquet")["series"].to_pylist()) == {"north", "south"}
    pq.write_table(pa.table(columns), tmp_path / "south" / "plant" / "west.parquet")
    given = ("detect", "random", "--data", tmp_path / "south" / "plant", "-o", out, "--overwrite")
    assert pateval(*given).returncode == 0
    assert set(pq.read_table(out / "random.parquet")["series"].to_pylist()) == {"west"}


def test_reproduce_leaves_pages_of_others_alone(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "README.md").write_text("my project")
    done = pateval("reproduce", "lengths", "-o", tmp_path)
    assert done.returncode == 2
    assert one_line(done) == (
        f"-o {tmp_path}: {tmp_path / 'README.md'} was not made by 'pateval reproduce'; name another folder, or use "
        "--overwrite to replace it"
    )
    (tmp_path / "README.md").unlink()
    (tmp_path / "lengths").mkdir()
    (tmp_path / "lengths" / "mine.txt").write_text("mine")
    done = pateval("reproduce", "lengths", "-o", tmp_path)
    assert one_line(done) == (
        f"-o {tmp_path}: {tmp_path / 'lengths'} holds other things; name another folder, or use --overwrite to write "
        "into it"
    )
