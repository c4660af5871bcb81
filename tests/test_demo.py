"""The demo: one set of series, means over them, and one number in the table, the board of the report and the files."""

from __future__ import annotations

import json
import shlex
from glob import glob

import numpy as np
import pytest

import pateval as pv
from pateval import demo
from support.command_line import invoke


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What ``demo --save`` prints, and where its files are."""
    folder = tmp_path_factory.mktemp("saved") / "the demo"
    done = invoke("demo", "--save", folder, "--format", "json")
    return folder, json.loads(done.stdout), done.stderr


def test_every_value_is_the_mean_over_the_series(saved):
    _, rows, _ = saved
    by_series = [
        pv.evaluate(sample.labels, scores, early=24, delay=24, window=48, chance=0)
        for _, sample, scores in demo.demo_series()
    ]
    assert len(by_series) == 10
    labels = {label: metric for metric, label in zip(pv.DEFAULT_METRICS, list(rows[0])[1:], strict=True)}
    for row in rows:
        for label, metric in labels.items():
            values = [table[row["detector"]][metric] for table in by_series]
            assert row[label] == pytest.approx(np.mean(values), abs=1e-12)


def test_the_command_that_it_names_gives_the_same_numbers(saved):
    _, rows, said = saved
    command = said.split("the same numbers from them: ")[1].strip()
    words = [name for word in shlex.split(command)[1:] for name in (sorted(glob(word)) if "*" in word else [word])]
    assert len([word for word in words if word.endswith(".csv")]) == 10
    printed = json.loads(invoke(*words, "--chance", 0, "--format", "json").stdout)
    found = {(row["detector"], row["metric"]): row["value"] for row in printed}
    assert len(found) == len(rows) * len(pv.DEFAULT_METRICS)
    for name, *values in ([row["detector"], *list(row.values())[1:]] for row in rows):
        again = [found[demo.column_name(name).removeprefix("score_"), metric] for metric in pv.DEFAULT_METRICS]
        assert values == pytest.approx(again, abs=1e-12)


def test_the_report_has_the_same_numbers(saved):
    _, rows, _ = saved
    values = {row["detector"]: list(row.values())[1:] for row in rows}
    board = demo.demo_board()
    means = {(row["detector"], row["metric"]): row["mean"] for row in board.summary().to_pylist()}
    assert set(board.series) == {name for name, _, _ in demo.demo_series()}
    for name in board.detectors:
        assert values[name] == pytest.approx([means[name, metric] for metric in pv.DEFAULT_METRICS], abs=1e-12)
    assert set(values) - set(board.detectors) == {"perfect"}


def test_its_own_series_pass_the_check(saved):
    folder, _, _ = saved
    files = sorted(folder.glob("*.csv"))
    assert invoke("check", *files).stdout.startswith("no fault found in 10 series")


def test_files_hold_the_values_exactly(saved):
    folder, _, _ = saved
    for name, sample, scores in demo.demo_series(series=2):
        columns = np.genfromtxt(folder / f"{name.replace(' ', '-')}.csv", delimiter=",", names=True, dtype=None)
        assert columns["value"].tolist() == sample.values.tolist()
        assert columns["label"].tolist() == sample.labels.astype(int).tolist()
        for detector, values in scores.items():
            assert columns[demo.column_name(detector)].tolist() == values.tolist()


def test_the_sentences_are_about_the_numbers():
    table = demo.run_demo(series=3)
    said = " ".join(demo.what_to_see(table))
    assert "mean over 3 series" in said
    best = max(
        ("nearest window", "window PCA", "seasonal difference", "moving z-score"),
        key=lambda name: table.evaluations[name]["pate_ap"],
    )
    assert f"By PATE-AP {best} is the best real detector: {table.evaluations[best]['pate_ap']:.2f}" in said
    assert f"random gets F1 {table.evaluations['random'][demo.ADJUSTED]:.2f}" in said
    columns, _ = table.rows(demo.FEW_METRICS)
    assert columns[-2:] == ["point_f1 (oracle)", "point_adjusted_f1 (best)"]
