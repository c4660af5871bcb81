"""Rows out of order are noticed: running numbers in score files, times in raw files for `detect`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pateval.cli import pateval


def call(*arguments):
    found = CliRunner().invoke(pateval, [str(argument) for argument in arguments])
    assert found.exit_code == 0, found.output
    return found


@pytest.mark.parametrize("name", ["step", "index"])
def test_running_numbers_that_do_not_increase_are_announced(tmp_path, name):
    path = tmp_path / "scores.csv"
    rows = [f"{step},{int(step == 4)},{0.1 * step}" for step in (0, 1, 2, 4, 3, 5)]
    path.write_text(f"{name},label,score\n" + "\n".join(rows) + "\n")
    found = call("score", path, "--metrics", "auc_roc", "--chance", "0")
    assert found.stderr.splitlines()[1] == (
        f"{path}: column '{name}' does not increase within a series (row 5: 3 after 4); rows are taken as they stand: "
        f"sort them with --time {name} --sort, or name the column that tells series apart with --series"
    )
    assert "does not increase" not in call("score", path, "--metrics", "auc_roc", "--time", name, "--sort").stderr


def test_running_numbers_begin_anew_with_each_series_and_detector(tmp_path):
    path = tmp_path / "long.csv"
    rows = [
        f"{step},{series},{detector},{int(step == 2)},{0.1 * step}"
        for step in range(4)
        for detector in ("a", "b")
        for series in ("x", "y")
    ]
    path.write_text("step,series,detector,label,score\n" + "\n".join(rows) + "\n")
    assert "does not increase" not in call("score", path, "--metrics", "auc_roc", "--chance", "0").stderr


@pytest.mark.parametrize(
    ("minutes", "what"),
    [
        ([0, 1, 2, 4, 3, 5], "are out of order (1 place, the first at step 4, counted from 0)"),
        ([0, 1, 1, 3, 4, 4], "repeat (2 places, the first at step 2, counted from 0)"),
    ],
)
def test_detect_says_where_times_are_out_of_order(tmp_path, minutes, what):
    path = tmp_path / "pump.csv"
    rows = [f"2026-01-01T00:0{minute},{minute % 2},{int(minute == 3)}" for minute in minutes]
    path.write_text("timestamp,flow,label\n" + "\n".join(rows) + "\n")
    found = call("detect", "random", "--data", path, "-o", tmp_path / "out")
    assert (
        f"{path}: series 'pump': the times in column 'timestamp' {what}; rows are taken as they stand: sort the file, "
        "or leave repeated rows out, where that is not meant"
    ) in found.stderr.splitlines()
