"""Micro beside macro: counts over all series of a detector, merged in a fixed order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import support.leaderboard_fakes as fakes
from pateval.leaderboards import cache, pooled
from pateval.leaderboards.plan import make_plan
from pateval.leaderboards.result import MetricFacts
from pateval.leaderboards.tasks import Settings
from pateval.pate.accumulator import PateAccumulator
from pateval.pate.score import pate, pate_ap
from support.leaderboard_fakes import compute
from test_leaderboard_tasks import write_detectors

FACTS = {"pate": MetricFacts(), "pate_ap": MetricFacts()}


def settings(early=(0, 5), delay=(0, 5)):
    return Settings(
        ("pate", "pate_ap"),
        {"early": early, "delay": delay},
        code=cache.fingerprint(),
        evaluate=fakes.pate_alone,
    )


def test_equals_the_whole_where_all_scores_are_thresholds(tmp_path):
    files = write_detectors(tmp_path / "scores")
    board = compute(make_plan(files), settings(), FACTS)
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
    alone = compute(make_plan(files), settings(), FACTS).pooled
    assert compute(make_plan(files), settings(), FACTS, workers=2).pooled == alone
    tables = [pq.read_table(path) for path in files]
    wide = {"series": tables[0]["series"], "label": tables[0]["label"]}
    wide |= {path.stem: table["score"] for path, table in zip(files, tables, strict=True)}
    assert compute(make_plan(pa.table(wide)), settings(), FACTS).pooled == alone


def test_many_distinct_scores_are_close_to_the_whole():
    generator = np.random.default_rng(0)
    series = np.repeat(np.arange(8), 2000)
    labels = np.tile(np.repeat([0, 1, 0], [900, 60, 1040]), 8)
    scores = generator.normal(size=labels.size) + 1.5 * labels
    board = compute(
        make_plan({"label": labels, "a": scores, "b": scores.round(1), "series": series}), settings((20,), (20,)), FACTS
    )
    for name, values, tolerance in (("a", scores, 2e-3), ("b", scores.round(1), 1e-12)):
        expected = pate(labels, values, early=20, delay=20, series=series)
        assert board.pooled[name, "pate"] == pytest.approx(expected, abs=tolerance)


def test_not_where_it_makes_no_sense(tmp_path):
    files = write_detectors(tmp_path / "scores", number=1)
    assert compute(make_plan(files), settings(), FACTS).pooled == {}
    files = write_detectors(tmp_path / "scores", number=3)
    everything = tuple(range(101))
    assert not pooled.can_pool(everything, everything)
    assert pooled.can_pool((0, 100), (0, 100))
    labels = np.zeros(40, dtype=int)
    data = {"label": labels, "a": np.arange(40.0), "series": np.repeat([0, 1], 20)}
    assert compute(make_plan(data), settings(), FACTS).pooled == {}


def test_merging_waits_for_its_turn():
    def counts(seed):
        generator = np.random.default_rng(seed)
        return PateAccumulator(3, 3, [0.2, 0.5, 0.8]).update(generator.integers(0, 2, 50), generator.random(50))

    order = [("a", "x"), ("b", "x"), ("a", "y"), ("a", "z"), ("b", "y")]
    results = []
    for arrival in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]):
        merge = pooled.OrderedMerge(order)
        for index in arrival:
            merge.add(*order[index], None if index == 3 else counts(index))
        assert not merge._waiting
        results.append(merge.values())
    assert results[0] == results[1] == results[2]
    assert set(results[0]) == {("a", "pate"), ("a", "pate_ap"), ("b", "pate"), ("b", "pate_ap")}


def test_samples():
    few = np.array([0.0, 0.5, 1.0])
    assert pooled.score_sample(np.repeat(few, 10), few).tolist() == [0.0, 0.5, 1.0]
    many = np.sort(np.random.default_rng(0).random(5000))
    sample = pooled.score_sample(many, many)
    assert sample[-1] == many[-1]
    assert sample[0] == many[0]
    assert np.isin(sample, many).all()
    assert pooled.common_thresholds([np.arange(2000.0)]).size == pooled.THRESHOLDS
