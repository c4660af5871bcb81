"""Labels in doubt: moved edges against enumeration, spread and places against direct computation, resuming, workers."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

import pateval as pv
from oracles.runs import runs_of
from pateval.leaderboards.arrays import MetricFacts
from pateval.leaderboards.doubt import LabelDoubt, moved_labels
from support.dask_cluster import running_cluster
from support.messages import raises_exactly


def data(series: int = 6, detectors: int = 3, steps: int = 120) -> dict[str, Any]:
    """Several detectors of nearly the same quality, on several series."""
    columns: dict[str, list[Any]] = {"series": [], "label": [], **{f"d{d}": [] for d in range(detectors)}}
    for s in range(series):
        generator = np.random.default_rng(s)
        labels = np.zeros(steps, dtype=int)
        labels[20 + 3 * s : 32 + 3 * s] = 1
        labels[80 : 84 + s] = 1
        columns["series"] += [f"s{s}"] * steps
        columns["label"] += labels.tolist()
        for d in range(detectors):
            columns[f"d{d}"] += (labels + (1.5 + 0.2 * d) * generator.random(steps)).round(3).tolist()
    return columns


def literal(labels: list[int], offsets: list[tuple[int, int]]) -> list[bool]:
    """Move the edges of each event, literally."""
    flags = [False] * len(labels)
    for event, (early, late) in zip(runs_of(labels), offsets, strict=True):
        for step in range(event[0] + early, event[-1] + 1 + late):
            if 0 <= step < len(labels):
                flags[step] = True
    return flags


@given(
    labels=st.lists(st.integers(0, 1), min_size=1, max_size=30),
    steps=st.integers(0, 6),
    seed=st.integers(0, 10**6),
)
def test_edges_move_as_defined(labels: list[int], steps: int, seed: int) -> None:
    events = len(runs_of(labels))
    draws = list(moved_labels(np.array(labels, dtype=bool), steps, 3, np.random.default_rng(seed)))
    generator = np.random.default_rng(seed)
    for moved in draws:
        starts, stops = generator.integers(-steps, steps + 1, (2, events)).tolist()
        assert moved.tolist() == literal(labels, list(zip(starts, stops, strict=True)))


def test_the_oracle_by_hand() -> None:
    assert literal([0, 1, 0, 1, 0], [(1, 0), (0, 1)]) == [False, False, False, True, True]  # the first one is gone
    assert literal([0, 1, 0, 1, 0], [(0, 1), (0, 0)]) == [False, True, True, True, False]  # they meet
    assert literal([1, 0], [(-3, 0)]) == [True, False]  # cut off at the start


def test_one_step_and_one_event_tend_to_the_nine_edge_pairs() -> None:
    """The mean over draws comes within its own error of the enumeration."""
    labels = np.zeros(40, dtype=int)
    labels[15:20] = 1
    scores = (labels + 1.5 * np.random.default_rng(3).random(40)).round(3)
    metrics = ["auc_roc", "pate_ap", "average_precision"]
    draws = 4000
    board = pv.leaderboard(
        {"label": labels, "lstm": scores}, metrics=metrics, doubt=1, doubt_draws=draws, chance=0, event_draws=0
    )
    assert board.doubt is not None
    for metric in metrics:
        values = [
            pv.evaluate(literal(labels.tolist(), [pair]), scores, metrics=metric)[metric]
            for pair in itertools.product((-1, 0, 1), repeat=2)
        ]
        assert len(set(values)) > 3
        row = board.doubt.of("lstm", metric)
        assert row is not None
        assert row["value"] == pv.evaluate(labels, scores, metrics=metric)[metric]  # stays what it is
        assert abs(row["draw_mean"] - np.mean(values)) < 4 * np.std(values) / np.sqrt(draws)
        assert row["draw_std"] == pytest.approx(np.std(values), rel=0.1)
        assert row["rank_kept"] == 1.0
        seen = set(np.round(np.unique(board.doubt.moved[0, 0, board.doubt.metrics.index(metric)]), 12))
        assert seen == set(np.round(values, 12))


def test_spread_and_places_equal_a_direct_computation() -> None:
    columns = data()
    draws = 20
    board = pv.leaderboard(columns, metrics=["auc_roc"], doubt=4, doubt_draws=draws, chance=0, seed=7)
    plain = pv.leaderboard(columns, metrics=["auc_roc"], chance=0, seed=7)
    assert board.scores.equals(plain.scores)
    found = board.doubt
    assert found is not None
    assert found.moved.shape == (3, 6, 1, draws)

    # Every draw is shared by all detectors: the value follows from the labels, so detectors are compared alike.
    moved = found.moved[:, :, 0]
    means = moved.mean(axis=1)
    ranks = np.array([[rankdata(-moved[:, s, k]) for s in range(6)] for k in range(draws)]).mean(axis=1)
    places = np.array([rankdata(each.round(9), method="min") for each in ranks])
    now = np.array([rankdata(-board.values[:, s, 0]) for s in range(6)]).mean(axis=0)
    place = rankdata(now.round(9), method="min")
    for d, name in enumerate(board.detectors):
        row = found.of(name, "auc_roc")
        assert row is not None
        assert row["place"] == place[d]
        assert row["rank_kept"] == np.mean(places[:, d] == place[d])
        assert (row["best_place"], row["worst_place"]) == (places[:, d].min(), places[:, d].max())
        assert row["first"] == np.mean(places[:, d] == 1)
        assert row["draw_std"] == pytest.approx(np.std(means[d], ddof=1))
        assert row["draw_mean"] == pytest.approx(means[d].mean())
        summary = next(each for each in board.summary().to_pylist() if each["detector"] == name)
        assert (summary["doubt_std"], summary["rank_kept"]) == (row["draw_std"], row["rank_kept"])
    assert len(set(places[:, 0])) > 1  # the case is one where places change


def test_what_is_doubted() -> None:
    columns = data(series=2, detectors=2)
    named = pv.leaderboard(columns, metrics=["auc_roc", "pate"], doubt=1, doubt_draws=2, chance=0)
    assert named.doubt is not None
    assert set(named.doubt.metrics) == {"auc_roc", "pate"}
    assert pv.leaderboard(columns, metrics=["auc_roc"], doubt=None, chance=0).doubt is None
    assert pv.leaderboard(columns, metrics=["auc_roc"], doubt=0, chance=0).doubt is None
    for doubt, said in [
        (-1, "doubt must be a non-negative integer; got -1"),
        (1.5, "doubt must be a non-negative integer; got 1.5"),
        ("5", "doubt as text must be a number with a unit, such as '10min', '2h'; got '5'"),
    ]:
        with raises_exactly((ValueError, TypeError), said):
            pv.leaderboard(columns, metrics=["auc_roc"], doubt=doubt)
    with pytest.raises(ValueError, match="doubt_draws must be"):
        pv.leaderboard(columns, metrics=["auc_roc"], doubt=1, doubt_draws=0)


def test_all_metrics_doubt_the_ranking_one_only() -> None:
    board = pv.leaderboard(data(series=1, detectors=1, steps=100), doubt=1, doubt_draws=2, chance=0, event_draws=0)
    assert board.doubt is not None
    assert board.doubt.metrics == ("pate_ap",)


def test_series_without_any_event_left_are_left_out_of_that_draw() -> None:
    labels = np.zeros(30, dtype=int)
    labels[10] = 1
    columns = {"label": labels, "lstm": np.random.default_rng(0).random(30)}
    found = pv.leaderboard(columns, metrics=["auc_roc"], doubt=3, chance=0, event_draws=0).doubt
    assert found is not None
    missing = np.isnan(found.moved).mean()
    assert 0.2 < missing < 0.8  # of 49 pairs of edges, 21 leave nothing
    row = found.of("lstm", "auc_roc")
    assert row is not None
    assert row["draw_mean"] == pytest.approx(np.nanmean(found.moved))
    assert row["rank_kept"] == pytest.approx(1 - missing)
    json.loads(found.to_json())


def test_a_duration_is_steps_by_the_median_interval() -> None:
    columns = data(series=1)
    hours = np.datetime64("2024-01-01") + np.arange(120) * np.timedelta64(30, "m")
    options: dict[str, Any] = {"metrics": ["auc_roc"], "chance": 0, "event_draws": 0, "doubt_draws": 5}
    in_steps = pv.leaderboard(columns, doubt=4, **options).doubt
    in_time = pv.leaderboard(columns | {"timestamp": hours}, doubt="2h", **options).doubt
    assert in_steps is not None
    assert in_time is not None
    np.testing.assert_array_equal(in_steps.moved, in_time.moved)
    assert in_time.amount == "2h"
    with pytest.raises(
        ValueError, match=r"doubt '2h' needs the times of the steps of series 's0', and their unit: name"
    ):
        pv.leaderboard(columns, doubt="2h", **options)
    with pytest.raises(ValueError, match="say the unit of numbers"):
        pv.leaderboard(columns | {"time": np.arange(120)}, doubt="2h", **options)


def test_workers_and_dask_find_the_same(tmp_path: Path) -> None:
    columns = data(series=3, detectors=2)
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table(columns), path)
    options: dict[str, Any] = {"metrics": ["auc_roc", "pate_ap"], "doubt": 3, "doubt_draws": 5, "chance": 0}
    one = pv.leaderboard(path, workers=1, **options).doubt
    two = pv.leaderboard(path, workers=2, **options).doubt
    with running_cluster(tmp_path) as (client, _):
        first = pv.leaderboard(path, executor=client.get_executor(), cache=tmp_path / "cache", **options)
    assert one is not None
    for other in (two, first.doubt):
        assert other is not None
        np.testing.assert_array_equal(other.moved, one.moved)
    again = pv.leaderboard(path, cache=tmp_path / "cache", **options)
    assert again.run["computed"] == 0


def test_what_is_finished_is_kept(tmp_path: Path) -> None:
    columns = data(series=3, detectors=2)
    options: dict[str, Any] = {"metrics": ["auc_roc"], "doubt_draws": 5, "chance": 0, "cache": tmp_path}
    plain = pv.leaderboard(columns, **options)
    first = pv.leaderboard(columns, doubt=2, **options)
    again = pv.leaderboard(columns, doubt=2, **options)
    assert (plain.run["computed"], first.run["computed"], again.run["computed"]) == (6, 6, 0)
    assert first.doubt is not None
    assert again.doubt is not None
    np.testing.assert_array_equal(first.doubt.moved, again.doubt.moved)
    other = pv.leaderboard(columns, doubt=3, **options)
    assert other.run["computed"] == 6
    # A metric more: the draws of the first are taken from the cache, and the labels of both are the same.
    more = pv.leaderboard(columns, doubt=2, **{**options, "metrics": ["auc_roc", "average_precision"]})
    assert more.doubt is not None
    np.testing.assert_array_equal(more.doubt.moved[:, :, 0], first.doubt.moved[:, :, 0])


def test_runs_are_averaged_before_places_are_given() -> None:
    columns = data(series=2, detectors=1)
    size = len(columns["label"])
    generator = np.random.default_rng(5)
    noise = [np.array(columns["d0"]) + generator.random(size) for _ in range(2)]
    both = {"series": columns["series"] * 2, "label": columns["label"] * 2, "run": [0] * size + [1] * size}
    options: dict[str, Any] = {"metrics": ["auc_roc"], "doubt": 2, "doubt_draws": 4, "chance": 0}
    found = pv.leaderboard(both | {"lstm": np.concatenate(noise)}, **options).doubt
    alone = [pv.leaderboard(columns | {"d0": each}, **options).doubt for each in noise]
    assert found is not None
    np.testing.assert_allclose(found.moved, (alone[0].moved + alone[1].moved) / 2)  # type: ignore[union-attr]


def test_the_command_line(tmp_path: Path) -> None:
    pq.write_table(pa.table(data()), tmp_path / "wide.parquet")

    def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pateval", "leaderboard", tmp_path / "wide.parquet", "--chance", 0, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done

    done = run("--metrics", "auc_roc", "--doubt", 4, "-o", tmp_path / "out")
    header = done.stdout.splitlines()[0]
    assert "label sd" in header
    assert "rank kept" in header
    assert "labels in doubt: every edge of every event moved at random by up to 4 steps, 100" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    with (tmp_path / "out" / "doubt.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3
    assert sum(float(row["first"]) for row in rows) >= 1
    draws = pq.read_table(tmp_path / "out" / "doubt.parquet")
    assert draws.num_rows == 300 * len(set(draws["series"].to_pylist()))
    assert draws.column_names == ["metric", "detector", "series", "draw", "value"]
    run_record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run_record["doubt"] == {"amount": 4, "draws": 100, "metrics": ["auc_roc"]}
    # What a first run wrote is not foreign to a second one, which leaves nothing of it behind.
    run("--metrics", "auc_roc", "-o", tmp_path / "out", "--overwrite")
    assert not list((tmp_path / "out").glob("doubt.*"))
    found = json.loads(run("--metrics", "auc_roc", "--doubt", 1, "--format", "json").stdout)
    assert (found["doubt"]["doubt"], found["doubt"]["draws"]) == (1, 100)
    assert len(found["doubt"]["rows"]) == 3
    assert "'ten' is neither a number of steps nor a duration such as 10min" in run("--doubt", "ten", status=2).stderr


def test_ties_and_empty_draws_by_hand() -> None:
    now = np.array([[[0.9], [0.8]], [[0.9], [0.8]], [[0.1], [0.2]]])
    moved = np.array(
        [[[[0.9, 0.1]], [[0.8, np.nan]]], [[[0.8, 0.2]], [[0.7, np.nan]]], [[[0.1, 0.3]], [[0.2, np.nan]]]]
    )
    found = LabelDoubt(1, ("a", "b", "c"), ("m",), now, moved, {"m": MetricFacts()})
    rows = {row["detector"]: row for row in found.rows}
    assert [rows[name]["place"] for name in "abc"] == [1, 1, 3]
    assert [rows[name]["rank_kept"] for name in "abc"] == [0.5, 0.0, 0.5]
    assert [rows[name]["first"] for name in "abc"] == [0.5, 0.0, 0.5]
    assert found.draw_means(0).tolist() == [
        [pytest.approx(0.85), 0.1],
        [pytest.approx(0.75), 0.2],
        [pytest.approx(0.15), 0.3],
    ]
    assert list(found.to_frame("pyarrow")["detector"].to_pylist()) == ["a", "b", "c"]
    assert "1..3" in repr(found)
