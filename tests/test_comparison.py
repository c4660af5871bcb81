"""Two detectors compared: values, limits and counts against a literal version, and the command."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import pateval as pv
from oracles import comparison as oracle
from oracles import pate as pate_oracle
from pateval.cli import pateval
from support.messages import raises_exactly

RNG = np.random.default_rng(11)
LABELS = np.tile(np.repeat([0, 1, 0], [7, 3, 4]), 7)
A = np.round(0.6 * LABELS + RNG.random(LABELS.size), 1)
B = np.round(0.3 * LABELS + RNG.random(LABELS.size), 1)


def test_one_series_is_cut_between_its_events():
    def metric(labels, scores):
        return float(pate_oracle.pate(labels, scores, [2], [3]))

    found = pv.compare(LABELS, A, B, metrics="pate(early=2,delay=3)", draws=12, seed=4)
    (row,) = found.rows
    expected = oracle.piece_limits(LABELS.tolist(), A.tolist(), B.tolist(), metric, 12, 4)
    assert (row.low, row.high) == pytest.approx(expected, abs=1e-12)
    assert row.first == pv.pate(LABELS, A, early=2, delay=3)
    assert row.difference == row.first - row.second
    parts = oracle.pieces(LABELS.tolist())
    gains = [
        metric(LABELS[part].tolist(), A[part].tolist()) - metric(LABELS[part].tolist(), B[part].tolist())
        for part in parts
    ]
    assert (found.unit, found.units, found.draws) == ("piece", 7, 12)
    assert row.wins == sum(gain > 1e-12 for gain in gains)
    assert row.losses == sum(gain < -1e-12 for gain in gains)
    assert row.wins + row.ties + row.losses == 7


def test_series_are_drawn_in_pairs():
    series = np.repeat(np.arange(7), 14)
    found = pv.compare(LABELS, A, B, metrics=["auc_roc", "mean_detection_delay"], series=series, threshold=0.7, seed=2)
    values = {
        name: [pv.evaluate(LABELS[series == k], scores[series == k], metrics="auc_roc")["auc_roc"] for k in range(7)]
        for name, scores in (("a", A), ("b", B))
    }
    differences = [a - b for a, b in zip(values["a"], values["b"], strict=True)]
    row = found["auc_roc"]
    assert (row.first, row.second) == pytest.approx((np.mean(values["a"]), np.mean(values["b"])), abs=1e-12)
    assert (row.low, row.high) == pytest.approx(oracle.series_limits(differences, 2000, 2), abs=1e-9)
    assert (row.wins, row.ties, row.losses) == (
        sum(d > 1e-12 for d in differences),
        sum(abs(d) <= 1e-12 for d in differences),
        sum(d < -1e-12 for d in differences),
    )
    assert found.unit == "series"
    assert found.notes == (
        "values are means over the series where each detector has one; differences are over those where both have",
    )


def test_lower_is_better_for_delays_and_equals_tie():
    late = np.roll(LABELS, 2)
    found = pv.compare(
        LABELS, LABELS, late, metrics=["mean_detection_delay", "point_f1"], threshold=1, names=("on", "off")
    )
    delay, f1 = found.rows
    assert (delay.first, delay.second, delay.better, f1.better) == (0.0, 2.0, "on", "on")
    assert (delay.wins, delay.ties, delay.losses) == (7, 0, 0)
    same = pv.compare(LABELS, A, A, metrics=["pate", "point_f1"], draws=20)
    assert [(row.difference, row.low, row.high, row.better, row.ties) for row in same.rows] == [(0, 0, 0, "tie", 7)] * 2
    assert [row.label for row in same.rows] == ["pate", "point_f1 (oracle)"]
    assert "1.0000<" not in repr(same)


def test_fewer_than_five_events_have_no_limits():
    few = slice(0, 4 * 14)
    found = pv.compare(LABELS[few], A[few], B[few], metrics="auc_roc")
    (row,) = found.rows
    assert np.isnan(row.low)
    assert (row.better, found.draws) == ("", 0)
    assert found.notes == ("no limits: 4 events are too few, five are needed",)
    assert "95 %" not in repr(found)
    single = pv.compare(LABELS[:14], A[:14], B[:14], metrics="auc_roc")
    assert single.notes == ("no limits: 1 event is too few, five are needed",)
    gap = np.where(np.arange(14) == 0, np.nan, A[:14])
    single = pv.compare(LABELS[:14], gap, B[:14], metrics="auc_roc", missing="ignore")
    assert single.notes[1] == "1 score of a is missing: such steps are left out for both"
    by_series = pv.compare(LABELS[few], A[few], B[few], metrics="auc_roc", series=np.repeat(np.arange(4), 14))
    assert by_series.notes == ("no limits: 4 series are too few, five are needed",)
    none = pv.compare(np.zeros(9, dtype=int), A[:9], B[:9], metrics=["auc_roc", "point_f1"])
    assert [row.reason for row in none.rows] == ["the metric is undefined: the labels hold no anomaly"] * 2
    assert none.to_dict()["metrics"][0]["value_a"] is None
    json.loads(none.to_json())


def test_frames_text_and_mistakes():
    found = pv.compare(LABELS, A, B, draws=5)
    assert len(found) == 9
    assert max(map(len, repr(found).splitlines())) <= 80
    frame = found.to_frame("pandas")
    assert list(frame["metric"]) == [row.metric for row in found.rows]
    assert json.loads(found.to_json()) == found.to_dict()
    with pytest.raises(KeyError):
        found["nothing"]
    with raises_exactly(ValueError, "labels and scores must have the same length; got 98 and 97"):
        pv.compare(LABELS, A[1:], B)
    with raises_exactly(ValueError, "unknown metric 'patte'; did you mean 'pate'? ('pateval metrics' lists them)"):
        pv.compare(LABELS, A, B, metrics="patte")


@pytest.fixture
def files(tmp_path):
    series = np.repeat([f"s{k}" for k in range(7)], 14)
    for name, scores in (("one", A), ("two", B)):
        pq.write_table(pa.table({"series": series, "label": LABELS, "score": scores}), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"label": LABELS, "one": A, "two": B, "three": A}), tmp_path / "wide.parquet")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(pateval, ["compare", *map(str, arguments)])


def test_the_command(files):
    done = run(files / "one.parquet", files / "two.parquet", "--metrics", "pate,auc_roc")
    assert done.exit_code == 0, done.stderr
    series = np.repeat(np.arange(7), 14)
    expected = pv.compare(LABELS, A, B, metrics=["pate", "auc_roc"], series=series, names=("one", "two"))
    assert done.stdout == f"{expected!r}\n"
    wide = run(files / "wide.parquet", "--only", "one,two", "--metrics", "auc_roc", "--draws", 9, "--format", "json")
    assert (
        json.loads(wide.stdout)
        == pv.compare(LABELS, A, B, metrics=["auc_roc"], names=("one", "two"), draws=9).to_dict()
    )
    assert run(files / "wide.parquet", "--only", "one,two", "--draws", 2, "--format", "csv").stdout.startswith(
        "metric,a,b,"
    )


def test_the_command_names_what_does_not_fit(files):
    assert str(run(files / "wide.parquet").exception) == (
        f"two detectors are compared; {files / 'wide.parquet'} holds 3 ('one', 'two', 'three'); choose two with "
        "--only NAME,NAME or --score COLUMN,COLUMN"
    )
    table = pq.read_table(files / "two.parquet").to_pydict()
    shorter = {name: column[:-14] for name, column in table.items()}
    pq.write_table(pa.table(shorter), files / "two.parquet")
    done = run(files / "one.parquet", files / "two.parquet", "--metrics", "auc_roc")
    assert done.stderr.splitlines()[-1] == "not in the differences, since only 'one' has it: series 's6'"
    assert done.exit_code == 0
    flipped = dict(table, label=[1 - label if step < 3 else label for step, label in enumerate(table["label"])])
    pq.write_table(pa.table(flipped), files / "two.parquet")
    assert str(run(files / "one.parquet", files / "two.parquet").exception) == (
        f"series 's0': the labels in {files / 'one.parquet'} and {files / 'two.parquet'} differ on 3 of 14 steps; both "
        "detectors must be on the same labels"
    )
    cut = {name: column[1:] for name, column in table.items()}
    pq.write_table(pa.table(cut), files / "two.parquet")
    assert str(run(files / "one.parquet", files / "two.parquet").exception) == (
        f"series 's0' has 14 steps in {files / 'one.parquet'} and 13 in {files / 'two.parquet'}; both detectors must "
        "be on the same steps"
    )


def test_the_text_counts_the_series_that_both_have():
    labels, series = np.tile(np.repeat([0, 1, 0], [10, 5, 15]), 7), np.repeat(np.arange(7), 30)
    labels[series == 6] = 0  # no anomaly: nothing to compare there
    scores = np.random.default_rng(0).random(210)
    found = pv.compare(labels, scores + labels, scores, metrics="auc_roc", series=series)
    assert found["auc_roc"].units == 6
    assert "over the 6 of 7 series where both have a value" in " ".join(repr(found).split())
