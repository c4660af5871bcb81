"""The command line on a clock: durations, ignored steps, missing scores, and NAB with its own timestamps."""

from __future__ import annotations

import json

import numpy as np
import pytest

import pateval as pv
from support.command_line import console

LABELS = np.tile([0, 0, 0, 1, 1, 0, 0, 0, 0, 0], 6)
SCORES = np.random.default_rng(3).random(60) + 0.4 * LABELS
TIMES = np.datetime64("2024-01-01T00:00") + np.cumsum(np.random.default_rng(4).integers(1, 9, 60)).astype("m8[m]")
IGNORED = (np.arange(60) % 13 == 0).astype(int)
BUFFERS = dict(early=["0s", "10min"], delay="20min")
FLAGS = ["--early", "0min,10min", "--delay", "20min"]


@pytest.fixture
def recording(tmp_path):
    """A file as people have them: times, a warm-up without scores, maintenance."""
    path = tmp_path / "pump.csv"
    rows = ["timestamp,label,maintenance,score"]
    for number, (time, label, ignored, score) in enumerate(zip(TIMES, LABELS, IGNORED, SCORES, strict=True)):
        rows.append(f"{time},{label},{ignored},{'' if number < 5 else score}")
    path.write_text("\n".join(rows) + "\n")
    return path


def gaps():
    return np.where(np.arange(60) < 5, np.nan, SCORES)


@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_score_says_what_evaluate_says(recording, missing):
    metrics = "pate,pate_f1,auc_roc,vus_pr(window=30min),false_alarm_rate(per=1d)"
    options = ["--metrics", metrics, "--missing", missing, "--ignore", "maintenance", "--max-gap", "1h", *FLAGS]
    found = console("score", recording, *options, "--format", "json")
    expected = pv.evaluate(
        LABELS,
        gaps(),
        metrics=metrics.split(","),
        missing=missing,
        ignore=IGNORED,
        times=TIMES,
        max_gap="1h",
        **BUFFERS,
    )
    rows = {row["metric"]: row for row in json.loads(found.out)}
    assert {name: row["value"] for name, row in rows.items()} == pytest.approx(dict(expected))
    assert {name: row["signature"] for name, row in rows.items()} == expected.signatures
    found = console("score", recording, *options)
    what = {"ignore": "left out", "normal": "never predicted"}[missing]
    lost = ["1 of 6 events lies wholly in steps that are left out"] if missing == "ignore" else []
    assert found.err.splitlines() == [
        f"{recording}: guessed label 'label', score 'score', time 'timestamp'",
        f"predictions: score >= {expected.threshold:.6g} (oracle: best point F1)",
        "5 of 60 steps are ignored",
        f"4 of 55 scores are missing (coverage 92.7 %): such steps are {what}",
        *lost,
        "max_gap=1h parts events and zones of PATE only; to the other metrics a series stays one",
        (
            "delay 20min is longer than the typical event (2 steps): a buffer then counts for more than what it "
            "surrounds; `pateval buffer` suggests one"
        ),
    ]


def test_explain_gives_the_number_that_score_prints(recording):
    options = ["--missing", "normal", "--ignore", "maintenance", *FLAGS]
    row = json.loads(console("score", recording, *options, "--metrics", "pate_f1", "--format", "json").out)[0]
    found = console("explain", recording, *options)
    assert f"F1 {row['value']:.4f}" in found.out or f"{row['value']:.3f}" in found.out


def test_leaderboard_says_what_evaluate_says(recording, tmp_path):
    options = ["--metrics", "pate,auc_roc", "--missing", "ignore", "--ignore", "maintenance", *FLAGS]
    console("leaderboard", recording, *options, "-o", tmp_path / "out", "--chance", "0")
    import pyarrow.parquet as pq

    rows = pq.read_table(tmp_path / "out" / "scores.parquet").to_pylist()
    expected = pv.evaluate(
        LABELS, gaps(), metrics=["pate", "auc_roc"], missing="ignore", ignore=IGNORED, times=TIMES, **BUFFERS
    )
    assert {row["metric"]: row["value"] for row in rows} == pytest.approx(dict(expected))
    assert {row["coverage"] for row in rows} == {expected.steps.coverage}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--early", "10min", "--delay", "10min", "--time", "none", "--missing", "normal"],
            (
                "{}: early=['10min'] of pate_ap is a duration, which needs a column of times; name it with --time "
                "(time=...)"
            ),
        ),
        (
            ["--early", "soon"],
            (
                "Invalid value for '--early': 'soon' is not a buffer; write steps, as in 100, 0,100 or 0..100, or "
                "durations, as in 10min or 0min,2h"
            ),
        ),
        (
            ["--early", "-3"],
            (
                "Invalid value for '--early': '-3' is not a buffer; write steps, as in 100, 0,100 or 0..100, or "
                "durations, as in 10min or 0min,2h"
            ),
        ),
        (
            ["--max-gap", "0min"],
            "Invalid value for '--max-gap': '0min' parts every step from the next; write a longer one",
        ),
        (
            ["--early", "0..1000000000"],
            "Invalid value for '--early': '0..1000000000' are 1,000,000,001 buffers; at most 1,000,000 are taken",
        ),
        (
            ["--early", "1..10000000000000000000000"],
            (
                "Invalid value for '--early': '1..10000000000000000000000' are 10,000,000,000,000,000,000,000 buffers; "
                "at most 1,000,000 are taken"
            ),
        ),
        (
            ["--max-gap", "9"],
            "Invalid value for '--max-gap': '9' is no duration; write a number with a unit, as in 10min or 2h",
        ),
        (
            ["--missing", "error"],
            (
                "{}: column 'score': scores must hold no missing values; found one in row 1 (5 in 60): leave such "
                "steps out with --missing ignore, or count them as never predicted with --missing normal (missing=...)"
            ),
        ),
        (
            ["--window", "1h,2h"],
            "Invalid value for '--window': '1h,2h' is not one length; write steps or a duration",
        ),
    ],
)
def test_what_is_refused(recording, arguments, message):
    found = console("score", recording, *arguments, status=2)
    assert found.out == ""
    assert found.err.splitlines()[-1] == f"pateval: {message.format(recording)}"


def test_nab_with_its_own_timestamps(real_data, tmp_path):
    import pyarrow.parquet as pq

    recorded = pq.read_table(real_data / "NAB" / "NAB.parquet")
    scores = pq.read_table(real_data / "scores" / "NAB" / "numenta.parquet")
    table = scores.append_column("timestamp", recorded["timestamp"])
    pq.write_table(table, tmp_path / "numenta.parquet")
    names = table["series"].combine_chunks().dictionary_decode().to_numpy(zero_copy_only=False)
    times = table["timestamp"].to_numpy()
    rows = np.arange(names.size)
    bad = {}
    for name in dict.fromkeys(names):
        inside = rows[names == name]
        steps = np.diff(times[inside])
        wrong = np.flatnonzero(steps <= np.timedelta64(0))
        if wrong.size:
            before, after = (str(times[inside][place]).split(".")[0].replace("T", " ") for place in wrong[0] + [0, 1])
            row = int(inside[wrong[0] + 1]) + 1
            what = "is the same as" if steps[wrong[0]] == np.timedelta64(0) else "lies before"
            ways = ["sort the rows with --sort (sort=True)"] if (steps < np.timedelta64(0)).any() else []
            if again := inside.size - np.unique(times[inside]).size:
                ways.append(f"leave out all but one of the rows with the same time ({again} too many)")
            remedy = f"{' and '.join(ways)}, or read without times by --time none"
            bad[name] = (
                f"{tmp_path / 'numenta.parquet'}: column 'timestamp', series {name!r}: the time in row {row}, {after}, "
                f"{what} the one in row {row - 1}, {before} ({wrong.size} such place{'s' * (wrong.size > 1)}); {remedy}"
            )
    assert len(bad) == 8

    options = ["--metrics", "pate,pate_ap,auc_roc", "--early", "1h", "--delay", "1h", "--chance", "0"]
    refused = console("leaderboard", tmp_path / "numenta.parquet", *options, status=2)
    assert refused.err.splitlines()[-1] in [f"pateval: {message}" for message in bad.values()]
    found = console(
        "leaderboard", tmp_path / "numenta.parquet", *options, "--keep-going", "-o", tmp_path / "out", status=1
    )
    for message in bad.values():
        assert message in found.err.splitlines()

    written = pq.read_table(tmp_path / "out" / "scores.parquet").to_pylist()
    good = {row["series"] for row in written} - set(bad)
    assert len(good) == 50
    here = {(row["series"], row["metric"]): row["value"] for row in written}
    all_labels, all_scores = table["label"].to_numpy(), table["score"].to_numpy()
    for name in sorted(good):
        inside = names == name
        labels, given = all_labels[inside], all_scores[inside]
        if labels.any():
            direct = pv.pate_ap(labels, given, early="1h", delay="1h", times=times[inside])
            assert here[name, "pate_ap"] == pytest.approx(direct, rel=0, abs=1e-12), name
            assert here[name, "auc_roc"] == pytest.approx(pv.auc_roc(labels, given), rel=0, abs=1e-12), name
        else:
            assert np.isnan(here[name, "pate_ap"]), name


def test_score_shows_chance_and_marks_what_is_not_above_it(tmp_path):
    path = tmp_path / "wide.csv"
    rows = [f"{label},{score},{-score}" for label, score in zip(LABELS, SCORES, strict=True)]
    path.write_text("label,good,inverted\n" + "\n".join(rows) + "\n")
    options = ["--metrics", "auc_roc,point_f1", "--chance", "3"]
    found = console("score", path, *options)
    header, _, first, *_ = found.out.splitlines()
    assert header.split() == ["metric", "chance", "good", "inverted"]
    assert first.endswith("*")
    assert "* not above chance: random scores do as well" in found.out
    assert found.err.splitlines()[-1] == (
        "inverted: the scores look inverted: AUC-ROC is 0.13, and 0.87 with the sign turned; higher must mean more "
        "anomalous"
    )
    rows = json.loads(console("score", path, *options, "--format", "json", "--threshold", "0.5").out)
    by_name = {(row["detector"], row["metric"]): row for row in rows}
    assert by_name["inverted", "auc_roc"]["above_chance"] is False
    assert by_name["good", "point_f1"]["threshold"] == 0.5
    assert by_name["good", "auc_roc"]["threshold"] is None
    assert by_name["good", "auc_roc"]["coverage"] == 1.0
    expected = pv.evaluate(LABELS, SCORES, metrics="auc_roc", chance=3).chance["auc_roc"]
    assert by_name["good", "auc_roc"]["chance"] == pytest.approx(expected)
    assert "chance" not in console("score", path, "--metrics", "auc_roc", "--chance", "0").out
