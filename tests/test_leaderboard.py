"""`pv.leaderboard` on the real catalogue, on small data and on the published NAB scores."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pateval.catalog import catalogue
from pateval.evaluation import evaluate
from pateval.leaderboards import Leaderboard, leaderboard
from support.leaderboard_cases import wide_table
from support.messages import raises_exactly

pytestmark = pytest.mark.filterwarnings("error")


def test_values_equal_direct_calls():
    data = wide_table()
    options = {"early": (0, 10), "delay": 5, "window": 20, "threshold": "quantile:0.1", "metrics": "all"}
    board = leaderboard(data, chance=0, **options)
    assert isinstance(board, Leaderboard)
    assert board.metrics == tuple(catalogue())
    assert board.detectors == ("fair", "good", "guess")
    for d, detector in enumerate(board.detectors):
        for s, name in enumerate(board.series):
            steps = data["series"] == name
            direct = evaluate(data["label"][steps], data[detector][steps], **options)
            assert np.array_equal(board.values[d, s], list(direct.values()), equal_nan=True)
    rows = board.scores.to_pylist()
    assert len(rows) == 3 * 4 * len(catalogue())
    assert all((row["reason"] is not None) == math.isnan(row["value"]) for row in rows)
    assert {row["reason"] for row in rows if row["series"] == "s3" and row["metric"] == "pate"} == {
        "the metric is undefined: the labels hold no anomaly"
    }
    assert board.failures == ()


def test_the_good_is_better_than_the_guess():
    board = leaderboard(wide_table(series=9), metrics=["pate", "auc_roc", "temporal_distance"], chance=20)
    summary = {(row["detector"], row["metric"]): row for row in board.summary().to_pylist()}
    for metric in board.metrics:
        ranks = [row["detector"] for row in board.ranks(metric).to_pylist()]
        assert ranks[0] == "good"
        assert summary["good", metric]["skill"] > 0.8
    assert ranks[-1] == "guess"
    # Chance is what random scores reach: one half for ROC, and the guess has no skill.
    assert summary["guess", "auc_roc"]["chance"] == pytest.approx(0.5, abs=0.05)
    assert abs(summary["guess", "auc_roc"]["skill"]) < 0.2
    assert summary["good", "pate"]["low"] < summary["good", "pate"]["mean"] <= summary["good", "pate"]["high"]
    found = board.significance("pate")
    assert found.series_used == 8
    assert found.series_dropped == 1
    assert found.wins[0][found.detectors.index("guess")] == 8


def test_chance_does_not_depend_on_the_rest(tmp_path):
    whole = leaderboard(wide_table(), metrics=["pate"], chance=3)
    data = wide_table()
    part = {name: column[data["series"] == "s1"] for name, column in data.items()}
    alone = leaderboard(part, metrics=["pate"], chance=3, event_draws=0)
    assert alone.chance.of_metric(0)[0, 0] == whole.chance.of_metric(0)[0, 1]
    other = leaderboard(wide_table(), metrics=["pate"], chance=3, seed=1)
    assert other.chance.of_metric(0)[0, 1] != whole.chance.of_metric(0)[0, 1]
    assert leaderboard(wide_table(), metrics=["pate"], chance=0).chance is None


def test_a_single_series_has_limits_over_its_events():
    data = wide_table(series=2, steps=2000)
    one = {name: column[:2000] for name, column in data.items()}
    for start in range(100, 1900, 200):
        one["label"][start : start + 10] = 1
    board = leaderboard(one, metrics=["pate_ap", "auc_roc"], event_draws=40, chance=0)
    for row in board.summary().to_pylist():
        assert row["low"] < row["mean"] < row["high"]
        assert row["high"] - row["low"] < 0.6
    assert any(line.startswith("too few series for any claim") for line in board.warnings)
    assert set(leaderboard(one, chance=0, event_draws=3).intervals) == {
        (detector, metric)
        for detector in ("good", "fair", "guess")
        for metric in ("pate", "pate_ap", "auc_roc", "average_precision")
    }


def test_no_limits_over_events_of_very_many_detectors_unless_asked_for(monkeypatch):
    monkeypatch.setattr("pateval.leaderboards.run._MOST_DETECTORS_WITH_EVENT_DRAWS", 1)
    labels = np.tile([0, 0, 0, 1, 1, 0, 0, 0], 10)
    one = {"label": labels, "a": np.arange(80.0), "b": -np.arange(80.0)}
    board = leaderboard(one, metrics=["auc_roc"], chance=0)
    assert board.intervals == {}
    assert board.notes[-1] == (
        "no limits over events for as many as 2 detectors: event_draws=200 (--event-draws 200) computes them"
    )
    asked = leaderboard(one, metrics=["auc_roc"], chance=0, event_draws=5)
    assert set(asked.intervals) == {("a", "auc_roc"), ("b", "auc_roc")}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["pat"]}, "unknown metric 'pat'; did you mean 'pate'? ('pateval metrics' lists them)"),
        ({"metrics": []}, "metrics must name at least one metric; got an empty collection"),
        ({"early": -1}, "early must be a non-negative integer; got -1"),
        ({"delay": ()}, "delay must hold at least one buffer length; got an empty collection"),
        ({"window": 2.5}, "window must be a non-negative integer; got 2.5"),
        (
            {"threshold": "orakel"},
            (
                "threshold must be a number, or a rule such as 'quantile:0.01', of these: oracle, best, quantile, "
                "standard-deviation, median-deviation, peaks-over-threshold, train-quantile, train-test-quantile, "
                "alarms:2/1d, false-alarms:2/1d; got 'orakel'"
            ),
        ),
        ({"threshold": math.nan}, "threshold must be a finite number or the name of a rule; got nan"),
        ({"workers": 0}, "workers must be a positive integer; got 0"),
        ({"chance": -1}, "chance must be a non-negative integer; got -1"),
        (
            {"rank_by": "auc_pr", "metrics": ["pate"]},
            "rank_by must be one of the metrics computed (pate), so add it to them; got 'auc_pr'",
        ),
        (
            {"label": "truth"},
            "the table: there is no label column 'truth'; its columns are 'series', 'label', 'good', 'fair', 'guess'",
        ),
    ],
)
def test_bad_options_are_refused_before_any_work(options, message):
    with raises_exactly((ValueError, TypeError), message):
        leaderboard(wide_table(), **options)


def test_containers_agree(tmp_path):
    import pandas as pd
    import polars as pl

    data = wide_table()
    expected = leaderboard(data, metrics=["pate", "point_f1"], chance=0).scores.to_pydict()
    path = tmp_path / "wide.csv"
    pd.DataFrame(data).to_csv(path, index=False)
    pq.write_table(pa.table(data), tmp_path / "wide.parquet")
    sources = [
        pd.DataFrame(data),
        pl.DataFrame(data),
        pl.LazyFrame(data),
        pa.table(data),
        path,
        str(tmp_path / "*.parquet"),
        [tmp_path / "wide.parquet"],
    ]
    for source in sources:
        found = leaderboard(source, metrics=["pate", "point_f1"], chance=0).scores.to_pydict()
        assert found.keys() == expected.keys()
        for name, column in found.items():
            assert np.array_equal(np.array(column, dtype=object), np.array(expected[name], dtype=object)) or (
                name == "value" and np.array_equal(column, expected[name], equal_nan=True)
            )


def test_a_fresh_series_computes_only_itself(tmp_path):
    data = wide_table(series=3)
    part = {name: column[:600] for name, column in data.items()}
    leaderboard(part, metrics=["pate"], cache=tmp_path, chance=2)
    board = leaderboard(data, metrics=["pate"], cache=tmp_path, chance=2)
    assert (board.run["computed"], board.run["from_cache"]) == (3, 6)


def test_importing_is_light():
    heavy = ["scipy", "pandas", "polars", "pyarrow", "rich", "dask", "distributed", "multiprocessing.pool"]
    code = f"import sys, pateval.leaderboards, pateval.cli.board; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


DETECTORS = ("expose", "null", "random", "twitterADVec")


def test_nab_subset(nab, tmp_path):
    """Four of the sixteen detectors, a few metrics; the whole is in the slow test."""
    files = [nab / f"{name}.parquet" for name in DETECTORS]
    metrics = ["pate", "pate_ap", "auc_roc", "point_f1"]
    board = leaderboard(files, series="series", metrics=metrics, workers=2, chance=1, cache=tmp_path)
    assert board.values.shape == (4, 58, 4)
    means = {(row["detector"], row["metric"]): row["mean"] for row in board.summary().to_pylist()}
    assert means["null", "pate"] == pytest.approx(0.558, abs=5e-4)  # the contract's figure
    assert board.ranks("pate").to_pylist()[0]["detector"] == "null"
    assert board.ranks("pate_ap").to_pylist()[0]["detector"] == "expose"
    assert set(board.coarse) == {"null", "twitterADVec"}
    assert board.warnings[0] == (
        f"{nab / 'random.parquet'}: labels differ from those of most detectors in 1 of 58 series, on 1,137 steps "
        f"('realKnownCause/machine_temperature_system_failure.csv'); each file is scored with its own labels"
    )
    undefined = board.scores.filter(pa.compute.is_nan(board.scores["value"]))
    assert len(set(undefined["series"].to_pylist())) == 6
    assert set(undefined["reason"].to_pylist()) == {"the metric is undefined: the labels hold no anomaly"}
    assert board.significance("pate").series_used == 52
    table = pq.read_table(files[0])
    names = np.array(table["series"].to_pylist())
    for s in (0, 30, 57):
        steps = names == board.series[s]
        direct = evaluate(table["label"].to_numpy()[steps], table["score"].to_numpy()[steps], metrics=metrics)
        assert np.array_equal(board.values[0, s], list(direct.values()), equal_nan=True)


@pytest.mark.slow
def test_nab_whole(nab, tmp_path):
    """Sixteen detectors, 58 series, the whole catalogue, each value against a direct call."""
    options = {"label": "label", "score": "score", "series": "series", "metrics": "all", "cache": tmp_path / "cache"}
    board = leaderboard(nab, workers=2, **options)
    assert board.values.shape == (16, 58, len(catalogue()))
    assert board.failures == ()
    rows = board.scores.to_pylist()
    assert all((row["reason"] is not None) == math.isnan(row["value"]) for row in rows)
    for d, detector in enumerate(board.detectors):
        table = pq.read_table(nab / f"{detector}.parquet")
        names = np.array(table["series"].to_pylist())
        direct = evaluate(table["label"], table["score"], series=names, metrics="all", chance=0).by_series
        order = list(dict.fromkeys(names.tolist()))
        for s, name in enumerate(board.series):
            values = [value.value for value in direct[order.index(name)].values()]
            assert np.array_equal(board.values[d, s], values, equal_nan=True), (detector, name)
    board.save(tmp_path / "out")
    again = leaderboard(nab, workers=1, **options)
    assert again.run["computed"] == 0
    again.save(tmp_path / "again")
    first, second = (tmp_path / each / "scores.parquet" for each in ("out", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_chance_follows_the_rule_of_each_detector():
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1, 0], [40, 10, 50]), 6)
    scores = {"a": rng.random(600) + 0.5 * labels, "b": rng.random(600) + 0.2 * labels}
    rules = {"a": "quantile:0.05", "b": "quantile:0.2"}
    board = leaderboard({"label": labels} | scores, metrics="point_f1,pate_f1", threshold=rules)
    for row, (name, rule) in zip(board.chance.rows[:, 0], rules.items(), strict=True):
        alone = evaluate(labels, scores[name], metrics="point_f1,pate_f1", threshold=rule)
        assert board.chance.levels[row].tolist() == pytest.approx([*alone.chance.values()], abs=1e-12)


def test_chance_is_known_of_every_detector_whichever_comes_first():
    """What random scores reach hangs on the number of predictions of one detector, and not on that of the other."""
    rng = np.random.default_rng(0)
    labels = np.tile([0, 0, 0, 1, 1, 0, 0, 0], 20)
    rule = (labels ^ (rng.random(labels.size) < 0.1)).astype(float)
    columns = {"rule": rule, "model": rng.random(labels.size)}
    for names in (("rule", "model"), ("model", "rule")):
        table = {"label": labels, **{name: columns[name] for name in names}}
        board = leaderboard(table, metrics="auc_roc, point_f1", chance=3, event_draws=0, workers=1)
        levels = {(row["detector"], row["metric"]): row["chance"] for row in board.summary_rows}
        expected = evaluate(labels, {name: columns[name] for name in names}, metrics="auc_roc, point_f1", chance=3)
        for name in names:
            for metric in ("auc_roc", "point_f1"):
                assert levels[name, metric] == expected[name].chance[metric]
