"""Micro beside macro: counts over all series of a detector, merged in a fixed order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pateval.catalog import find_metrics
from pateval.leaderboards import pooled
from pateval.leaderboards.plan import make_plan
from pateval.pate.score import pate, pate_ap
from support.leaderboard_cases import compute, write_detectors
from support.leaderboard_cases import settings as chosen_settings


def settings(early=(0, 5), delay=(0, 5), metrics=("pate", "pate_ap")):
    return chosen_settings(metrics, early=early, delay=delay)


def test_equals_the_whole_where_all_scores_are_thresholds(tmp_path):
    files = write_detectors(tmp_path / "scores")
    board = compute(make_plan(files), settings())
    for path in files:
        table = pq.read_table(path)
        labels, scores = table["label"].to_numpy(), table["score"].to_numpy()
        series = np.array(table["series"].to_pylist())
        expected = pate(labels, scores, early=(0, 5), delay=(0, 5), series=series)
        stepwise = pate_ap(labels, scores, early=(0, 5), delay=(0, 5), series=series)
        assert board.pooled[path.stem, "pate"] == pytest.approx(expected, abs=1e-12)
        assert board.pooled[path.stem, "pate_ap"] == pytest.approx(stepwise, abs=1e-12)
    summary = {(row["detector"], row["metric"]): row["pooled"] for row in board.summary().to_pylist()}
    assert summary == board.pooled


def test_bit_for_bit_for_any_number_of_workers(tmp_path):
    files = write_detectors(tmp_path / "scores", number=9)
    alone = compute(make_plan(files), settings()).pooled
    assert compute(make_plan(files), settings(), workers=2).pooled == alone
    tables = [pq.read_table(path) for path in files]
    wide = {"series": tables[0]["series"], "label": tables[0]["label"]}
    wide |= {path.stem: table["score"] for path, table in zip(files, tables, strict=True)}
    assert compute(make_plan(pa.table(wide)), settings()).pooled == alone


def test_many_distinct_scores_are_close_to_the_whole():
    generator = np.random.default_rng(0)
    series = np.repeat(np.arange(8), 2000)
    labels = np.tile(np.repeat([0, 1, 0], [900, 60, 1040]), 8)
    scores = generator.normal(size=labels.size) + 1.5 * labels
    board = compute(
        make_plan({"label": labels, "a": scores, "b": scores.round(1), "series": series}), settings((20,), (20,))
    )
    for name, values, tolerance in (("a", scores, 2e-3), ("b", scores.round(1), 1e-12)):
        expected = pate(labels, values, early=20, delay=20, series=series)
        assert board.pooled[name, "pate"] == pytest.approx(expected, abs=tolerance)


def test_not_where_it_makes_no_sense(tmp_path):
    files = write_detectors(tmp_path / "scores", number=1)
    assert compute(make_plan(files), settings()).pooled == {}
    files = write_detectors(tmp_path / "scores", number=3)
    everything = tuple(range(101))
    several = find_metrics(
        ["pate", "auc_roc", "pate(early=0..100,delay=0..100)", "pate(thresholds=9)", "pate_ap(early=3)"]
    )
    assert pooled.poolable(several, {"delay": (7,)}, 3) == {
        "pate": ("pate", (0, 100), (7,)),
        "pate_ap(early=3)": ("pate_ap", (3,), (7,)),
    }
    assert compute(make_plan(files), settings(everything, everything)).pooled == {}
    labels = np.zeros(40, dtype=int)
    data = {"label": labels, "a": np.arange(40.0), "series": np.repeat([0, 1], 20)}
    assert compute(make_plan(data), settings()).pooled == {}


def test_several_settings_side_by_side(tmp_path):
    files = write_detectors(tmp_path / "scores")
    metrics = ("pate", "pate(early=2,delay=3)", "pate_ap(early=0..4)")
    board = compute(make_plan(files), settings(metrics=metrics))
    table = pq.read_table(files[1])
    content = table["label"].to_numpy(), table["score"].to_numpy()
    series = np.array(table["series"].to_pylist())
    assert board.pooled["d1", metrics[0]] == pytest.approx(pate(*content, early=(0, 5), delay=(0, 5), series=series))
    assert board.pooled["d1", metrics[1]] == pytest.approx(pate(*content, early=2, delay=3, series=series))
    assert board.pooled["d1", metrics[2]] == pytest.approx(
        pate_ap(*content, early=range(5), delay=(0, 5), series=series)
    )


def test_the_order_of_arrival_does_not_count():
    generator = np.random.default_rng(0)
    counts = [
        pooled.count_series(labels, scores, (0, 3), (3,), pooled.choose_thresholds(np.sort(scores), 9))
        for labels, scores in ((generator.random(50) < 0.2, generator.random(50)) for _ in range(5))
    ]
    found = pooled.CountsFile()
    for job in (3, 0, 4, 2, 1):
        found.add(job, 0, counts[job])
    assert found.read(5, 0) is None
    for job, expected in enumerate(counts):
        assert np.array_equal(found.read(job, 0), expected)
    found.close()
    # What is missed where nothing is detected, and what is missed in the end.
    assert counts[0][2, 0] == 9
    assert counts[0][2].sum() == pytest.approx(0, abs=1e-12)
    assert (
        pooled.pooled_values([pooled.count_series(np.zeros(9, bool), np.arange(9.0), (0,), (0,), np.array([3.0]))])
        == {}
    )


def test_thresholds_are_scores_and_half_of_them_are_high():
    few = np.array([0.0, 0.5, 1.0])
    assert pooled.choose_thresholds(np.repeat(few, 10), 3).tolist() == [0.0, 0.5, 1.0]
    many = np.sort(np.random.default_rng(0).random(5000))
    chosen = pooled.choose_thresholds(many, 100)
    assert 90 <= chosen.size <= 100
    assert chosen[-1] == many[-1]
    assert chosen[0] == many[0]
    assert np.isin(chosen, many).all()
    assert np.count_nonzero(chosen > np.quantile(many, 0.9)) > 35


def test_close_to_the_whole_on_nab(nab):
    files = [nab / f"{name}.parquet" for name in ("htmjava", "windowedGaussian", "null")]
    board = compute(make_plan(files), settings((0, 100), (0, 100)), workers=2)
    for path in files:
        table = pq.read_table(path)
        content = table["label"].to_numpy(), table["score"].to_numpy()
        names = np.array(table["series"].to_pylist())
        tolerance = 1e-12 if path.stem == "null" else 5e-4
        assert board.pooled[path.stem, "pate"] == pytest.approx(pate(*content, series=names), abs=tolerance)
        assert board.pooled[path.stem, "pate_ap"] == pytest.approx(pate_ap(*content, series=names), abs=tolerance)
