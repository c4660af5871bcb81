"""Rows out of order are noticed: running numbers in score files, times in raw files for `detect`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from support.command_line import invoke


def write(path, columns):
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path, index=False, row_group_size=3)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["step", "index", "t"])
def test_running_numbers_that_do_not_increase_are_announced(tmp_path, name, suffix):
    steps = np.array([0, 1, 2, 4, 3, 5])
    path = write(tmp_path / f"scores.{suffix}", {name: steps, "label": steps == 4, "score": 0.1 * steps})
    found = invoke("score", path, "--metrics", "auc_roc", "--chance", "0")
    assert found.stderr.splitlines()[1] == (
        f"{path}: column '{name}' does not increase within a series (row 5: 3 after 4); rows are taken as they stand: "
        f"sort them with --time {name} --sort, or name the column that tells series apart with --series"
    )
    assert "does not increase" not in invoke("score", path, "--metrics", "auc_roc", "--time", name, "--sort").stderr


LONG = [(step, series, detector) for step in range(4) for detector in ("a", "b") for series in ("x", "y")]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_running_numbers_begin_anew_with_each_series_and_detector(tmp_path, suffix):
    step, series, detector = (np.array(column) for column in zip(*LONG, strict=True))
    columns = {"step": step, "series": series, "detector": detector, "label": step == 2, "score": 0.1 * step}
    path = write(tmp_path / f"long.{suffix}", columns)
    assert "does not increase" not in invoke("score", path, "--metrics", "auc_roc", "--chance", "0").stderr
    step[13] = 2  # of series y and detector a, which has 2 in row 10 already
    found = invoke("score", write(path, columns | {"step": step}), "--metrics", "auc_roc", "--chance", "0")
    assert f"{path}: column 'step' does not increase within a series (row 14: 2 after 2); rows" in found.stderr


def test_running_numbers_in_a_partitioned_folder_begin_anew_with_each_part(tmp_path):
    steps = np.arange(6)
    for detector in ("a", "b"):
        (tmp_path / "out" / f"detector={detector}").mkdir(parents=True)
        columns = {"step": steps, "label": steps == 4, "score": 0.1 * steps}
        path = write(tmp_path / "out" / f"detector={detector}" / "part.parquet", columns)
    assert "does not increase" not in invoke("score", tmp_path / "out", "--metrics", "auc_roc", "--chance", "0").stderr
    write(path, columns | {"step": steps[::-1]})
    found = invoke("score", tmp_path / "out", "--metrics", "auc_roc", "--chance", "0")
    assert f"{path}: column 'step' does not increase within a series (row 2: 4 after 5); rows" in found.stderr


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
    found = invoke("detect", "random", "--data", path, "-o", tmp_path / "out")
    assert (
        f"{path}: series 'pump': the times in column 'timestamp' {what}; rows are taken as they stand: sort the file, "
        "or leave repeated rows out, where that is not meant"
    ) in found.stderr.splitlines()
