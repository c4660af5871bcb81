"""`pateval score` beside chance: marks, scores that look inverted, files that do not agree."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval
from pateval.evaluation.chance import steps_digest
from pateval.time.timelines import read_recording

RNG = np.random.default_rng(6)
LABELS = np.tile(np.repeat([0, 1, 0], [30, 8, 22]), 6)
GOOD = LABELS + RNG.random(LABELS.size)


def run(*arguments):
    done = CliRunner().invoke(pateval, ["score", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "wide.csv"
    pd.DataFrame({"label": LABELS, "good": GOOD, "upside_down": -GOOD}).to_csv(path, index=False)
    return path


def test_chance_stands_beside_the_values(table):
    lines = run(table, "--metrics", "pate,auc_roc,mean_detection_delay", "--chance", 3, "--seed", 5).stdout.splitlines()
    assert lines[0].split() == ["metric", "chance", "good", "upside_down"]
    metrics = ["pate", "auc_roc", "mean_detection_delay"]
    expected = pv.evaluate(LABELS, {"good": GOOD, "upside_down": -GOOD}, metrics=metrics, chance=3, seed=5)
    for line, metric in zip(lines[2:5], expected["good"], strict=True):
        level = expected["good"].chance[metric]
        values = [f"{expected[name][metric]:.4f}{expected[name].mark(metric)}" for name in expected]
        assert line.split()[-3:] == [f"{level:.4f}", *values]
    assert lines[3].endswith("0.0000*")
    assert lines[-1] == "* not above chance: random scores do as well"
    without = run(table, "--metrics", "pate", "--chance", 0).stdout
    assert without.splitlines()[0].split() == ["metric", "good", "upside_down"]


def test_for_programs(table):
    rows = json.loads(run(table, "--metrics", "auc_roc,point_f1", "--format", "json").stdout)
    first = rows[0]
    assert first["chance"] == pv.evaluate(LABELS, GOOD, metrics=["auc_roc", "point_f1"], chance=5).chance["auc_roc"]
    assert (first["above_chance"], rows[2]["above_chance"]) == (True, False)
    assert rows[1]["threshold"] == pv.best_threshold(LABELS, GOOD).threshold
    assert rows[1]["threshold_rule"] == "oracle: best point F1"
    assert first["options"] == {"early": [0, 100], "delay": [0, 100], "window": 100}
    assert first["signature"].startswith("auc_roc|")
    (row, _) = csv.DictReader(io.StringIO(run(table, "--metrics", "auc_roc", "--format", "csv").stdout))
    assert float(row["chance"]) == first["chance"]
    assert row["options"] == "early=[0, 100] delay=[0, 100] window=100"


@pytest.mark.parametrize("metrics", ["auc_roc", "pate"])
def test_scores_that_look_inverted_are_pointed_out(table, metrics):
    (line,) = [line for line in run(table, "--metrics", metrics).stderr.splitlines() if "look inverted" in line]
    assert line == (
        "upside_down: the scores look inverted: AUC-ROC is 0.00, and 1.00 with the sign turned; higher must mean more "
        "anomalous"
    )


def test_chance_of_labels_that_differ_much(tmp_path):
    rare = np.where(np.arange(LABELS.size) < 38, LABELS, 0)
    for name, labels in (("one", LABELS), ("two", rare)):
        pd.DataFrame({"label": labels, "score": GOOD}).to_csv(tmp_path / f"{name}.csv", index=False)
    done = run(tmp_path / "one.csv", tmp_path / "two.csv", "--metrics", "pate_ap", "--wide")
    assert "chance of one" in done.stdout.splitlines()[0]
    assert "chance of two" in done.stdout.splitlines()[0]
    assert (
        f"{tmp_path / 'two.csv'}: labels differ from those of most detectors in 1 of 1 series, on 40 steps ('series'); "
        "each file is scored with its own labels"
    ) in done.stderr.splitlines()


def test_chance_of_a_threshold_from_training_scores_predicts_as_many_steps():
    training = RNG.random(500) * 100
    scores = GOOD * 100
    found = pv.evaluate(
        LABELS, scores, metrics="point_f1", threshold="train-quantile:0.5", train_scores=training, chance=3
    )
    flagged = int((scores > found.threshold).sum())
    values = []
    generator = np.random.default_rng([0, steps_digest(read_recording(LABELS, scores))])
    for _ in range(3):
        random = generator.random(LABELS.size)
        values.append(pv.point(LABELS, random >= np.sort(random)[-flagged]).f1)
    assert found.chance["point_f1"] == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("kind", ["ignored steps", "times"])
def test_chance_is_shared_only_where_it_is_the_same(kind, tmp_path):
    options = ["--metrics", "pate_ap,average_precision", "--label", "label", "--seed", 3]
    options += ["--ignore", "skip", "--early", 5, "--delay", 5]
    if kind == "times":
        options[-4:] = ["--early", "5s", "--delay", "5s", "--time", "time", "--time-unit", "s"]
    for place, name in enumerate("ab"):
        columns = {"label": LABELS, "score": RNG.random(LABELS.size), "time": np.arange(LABELS.size) * (1 + place)}
        columns["skip"] = np.where((LABELS == 0) & (np.arange(LABELS.size) % 60 < 25) & (kind != "times"), place, 0)
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]

    def levels(*given):
        rows = json.loads(run(*given, "--score", "score", *options, "--format", "json").stdout)
        return {row["detector"]: row["chance"] for row in rows if row["metric"] == "pate_ap"}

    together = levels(*files)
    assert together["a"] != together["b"]
    assert together == levels(files[0]) | levels(files[1])
