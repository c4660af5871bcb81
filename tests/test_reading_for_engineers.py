"""What engineers have: maintenance in a file of its own, no labels, logs out of order, recordings with holes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pateval as pv
from pateval.io import Reading, TableError, find_layout, open_table, scored_series
from support.command_line import console
from support.messages import raises_exactly

LABELS = np.repeat([0, 1, 0, 1, 0], [10, 4, 12, 4, 10])
SCORES = np.random.default_rng(0).random(40) + LABELS / 2
TIMES = pd.date_range("2026-03-01", periods=40, freq="10min")
IGNORED = np.isin(np.arange(40), [0, 1, 2, 27, 28])
METRICS = "pate_ap,auc_roc,point_f1"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A recording, the same with a column of what to ignore, and that as intervals in times and in steps."""
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"time": TIMES, "label": LABELS, "score": SCORES})
    frame.to_csv("pump.csv", index=False)
    frame.assign(maintenance=IGNORED.astype(int)).to_csv("marked.csv", index=False)
    intervals = [
        ("2026-02-27", "2026-03-01 00:30"),
        ("2026-03-01 04:30", "2026-03-01 04:41"),
        ("2026-04-01", "2027-01-01"),
    ]
    pd.DataFrame(intervals, columns=["start", "stop"]).to_csv("maintenance.csv", index=False)
    pd.DataFrame({"start": [-5, 27], "stop": [3, 29]}).to_csv("steps.csv", index=False)


def values(*arguments):
    printed = console(*arguments, "--metrics", METRICS, "--format", "json")
    return [{name: row[name] for name in ("metric", "value")} for row in json.loads(printed.out)]


def test_ignore_takes_a_file_of_intervals(files):
    expected = values("score", "marked.csv", "--score", "score", "--ignore", "maintenance")
    assert values("score", "pump.csv", "--ignore", "maintenance.csv") == expected
    assert values("score", "pump.csv", "--ignore", "steps.csv", "--time", "none") == expected
    plain = pv.evaluate(LABELS, SCORES, ignore=IGNORED, metrics=METRICS)
    assert [row["value"] for row in expected] == [plain[row["metric"]] for row in expected]


@pytest.mark.parametrize("command", ["score", "leaderboard", "compare", "explain", "audit", "buffer", "plot"])
def test_every_command_that_reads_takes_it(files, command, tmp_path):
    frame = pd.read_csv("pump.csv").assign(other=SCORES[::-1])
    frame.to_csv("two.csv", index=False)
    arguments = {
        "compare": ["--score", "score,other"],
        "explain": ["--score", "score"],
        "plot": ["--score", "score", "-o", "figure.svg"],
        "audit": ["--metrics", "point_f1"],
    }.get(command, [])
    names = [command, "series"] if command == "plot" else [command]
    printed = console(*names, "two.csv", *arguments, "--ignore", "maintenance.csv")
    note = "maintenance.csv: 3 ignored intervals in time: from 'start' up to but without 'stop'"
    assert note in printed.err.splitlines() + [line.removeprefix("pateval: ") for line in printed.err.splitlines()]


def test_intervals_of_series(files):
    two = pd.concat([pd.read_csv("pump.csv").assign(series=name) for name in "ab"])
    two.to_csv("two.csv", index=False)
    pd.DataFrame({"series": ["a", "c"], "start": ["2026-03-01"] * 2, "stop": ["2026-03-01 00:30"] * 2}).to_csv(
        "of_series.csv", index=False
    )
    source = open_table("two.csv")
    items = scored_series(source, find_layout(source, Reading(ignore="of_series.csv")))
    assert {item.series: int(item.ignore.sum()) for item in items} == {"a": 3, "b": 0}
    board = pv.leaderboard("two.csv", ignore=pd.read_csv("of_series.csv"), metrics=["point_f1"], chance=0)
    assert "3 of 40 steps are ignored, in 1 series" in " ".join(board.notes)


def test_a_board_keeps_them(files):
    console("leaderboard", "pump.csv", "--ignore", "maintenance.csv", "--metrics", "point_f1", "-o", "board")
    console("verify", "board")
    Path("maintenance.csv").write_text("start,stop\n2026-03-01,2026-03-02\n")
    printed = console("verify", "board", status=1)
    sentence = "maintenance.csv: the ignored intervals are not those that the leaderboard was computed from"
    assert sentence in printed.out + printed.err


def test_neither_a_column_nor_a_file(files):
    with raises_exactly(
        TableError,
        "pump.csv: there is no ignore column 'maintenence.csv'; its columns are 'time', 'label', 'score', and there is "
        "no file of that name",
    ):
        find_layout(open_table("pump.csv"), Reading(ignore="maintenence.csv"))


ZONES = (
    "of its dates and those of the data some have a time zone and others have none, in maintenance.csv "
    "'2026-03-01T00:00:00 UTC' and in pump.csv '2026-03-01T00:00:00' for example; say where the latter were recorded "
    "with --time-zone ZONE (time_zone=...), or strip the others of it"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "start,stop\n2026-03-02,2026-03-01\n",
            "the ignored interval in row 1 ends before it starts; exchange the two",
        ),
        ("start,stop\n2026-03-01,2026-03-01\n", "the ignored interval in row 1 is empty; the stop is not ignored"),
        (
            "begin of it,stop\n2026-03-01,2026-03-01\n",
            "no column looks like the start of ignored intervals; call one 'start' among 'begin of it', 'stop'",
        ),
        (
            "start,stop\n2026-03-01T00:00Z,2026-03-02T00:00Z\n",
            ZONES,
        ),
    ],
)
def test_intervals_that_cannot_be(files, text, message):
    Path("maintenance.csv").write_text(text)
    with raises_exactly(TableError, f"maintenance.csv: {message}"):
        find_layout(open_table("pump.csv"), Reading(ignore="maintenance.csv"))


def test_without_labels_events_are_named(files):
    pd.read_csv("pump.csv").drop(columns="label").to_csv("plain.csv", index=False)
    message = (
        "plain.csv: no column looks like labels; name it (label=..., --label) among 'time', 'score', or give the "
        "anomalies in a file of their own with --events FILE (events=...)"
    )
    assert console("score", "plain.csv", status=2).err == f"pateval: {message}\n"


SORT, REPEATED = "sort the rows with --sort (sort=True)", "leave out all but one of the rows with the same time"


@pytest.mark.parametrize(
    ("order", "found", "remedy"),
    [
        ([0, 2, 1, 3], "00:10:00, lies before the one in row 2, 2026-03-01 00:20:00 (1 such place)", SORT),
        (
            [0, 1, 1, 2],
            "00:10:00, is the same as the one in row 2, 2026-03-01 00:10:00 (1 such place)",
            f"{REPEATED} (1",
        ),
        (
            [0, 2, 1, 1],
            "00:10:00, lies before the one in row 2, 2026-03-01 00:20:00 (2 such places)",
            f"{SORT} and {REPEATED} (1",
        ),
        (
            [0, 1, 0, 1],
            "00:00:00, lies before the one in row 2, 2026-03-01 00:10:00 (1 such place)",
            f"{SORT} and {REPEATED} (2",
        ),
    ],
)
def test_the_first_error_names_every_way_out(files, order, found, remedy):
    pd.read_csv("pump.csv").iloc[order].to_csv("odd.csv", index=False)
    remedy += " too many)" if remedy[-1].isdigit() else ""
    assert console("score", "odd.csv", status=2).err.splitlines()[-1] == (
        f"pateval: odd.csv: column 'time': the time in row 3, 2026-03-01 {found}; {remedy}, name the column that tells "
        "series apart with --series, or read without times by --time none"
    )


@pytest.fixture
def hole(files):
    """A recording that stopped for two days."""
    frame = pd.read_csv("pump.csv", parse_dates=["time"]).assign(other=SCORES[::-1])
    frame.loc[20:, "time"] += pd.Timedelta(days=2)
    frame.to_csv("hole.csv", index=False)


HOLE = (
    "series {} has a hole of 2 d in steps of 10min: events and zones of PATE reach across it; --max-gap TIME "
    "(max_gap=...) parts them there"
)


@pytest.mark.parametrize("command", ["score", "compare", "leaderboard", "explain", "plot"])
def test_a_hole_is_pointed_out(hole, command):
    arguments = [command, "hole.csv", "--score", "score,other"]
    if command == "explain":
        arguments = ["explain", "hole.csv", "--score", "score"]
    if command == "plot":
        arguments = ["plot", "precision-recall", "hole.csv", "--score", "score", "-o", "figure.svg"]
    named = "'series'" if command in ("explain", "plot") else "'hole'"
    assert HOLE.format(named) in said(*arguments)
    assert not any("hole of" in line for line in said(*arguments, "--max-gap", "1h"))


def said(*arguments):
    return [line.removeprefix("pateval: ").removeprefix("warning: ") for line in console(*arguments).err.splitlines()]


def test_holes_of_several_series(hole):
    frame = pd.read_csv("hole.csv")
    pd.concat([frame.assign(series=name) for name in "abc"]).to_csv("three.csv", index=False)
    text = HOLE.format("'a'").replace("10min:", "10min (2 other series, too):")
    assert text in pv.leaderboard("three.csv", score="score", metrics=["pate_ap"], chance=0).warnings
    assert text in said("score", "three.csv", "--score", "score", "--metrics", "pate_ap")
    assert not pv.leaderboard("three.csv", score="score", metrics=["auc_roc"], chance=0).warnings
