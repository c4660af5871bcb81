"""All steps of a detector's series as one sample: the values of `evaluate(pooled=True)`, exactly."""

from __future__ import annotations

import math

import numpy as np
import pyarrow.parquet as pq
import pytest

import pateval as pv
from support.leaderboard_cases import parquet_bytes, write_detectors
from support.messages import raises_exactly

METRICS = "pate, pate_ap, auc_roc, point_f1, pate_ap(early=0..4,delay=3)"
OPTIONS = {"early": (0, 5), "delay": (0, 5), "metrics": METRICS, "pooled": True, "chance": 2}


def content(path):
    table = pq.read_table(path)
    return table["label"].to_numpy(), table["score"].to_numpy(), np.array(table["series"].to_pylist())


def test_it_is_what_evaluate_gives_to_the_last_bit(tmp_path):
    files = write_detectors(tmp_path / "scores")
    board = pv.leaderboard(files, **OPTIONS)
    assert (board.detectors, board.series, board.pooled) == (("d0", "d1", "d2"), ("pooled",), 7)
    for d, path in enumerate(files):
        labels, scores, series = content(path)
        direct = pv.evaluate(labels, scores, series=series, **OPTIONS)
        assert board.values[d, 0].tolist() == list(direct.values())
        assert board.own_signatures[path.stem] == direct.signatures
        levels = [row["chance"] for row in board.summary_rows if row["detector"] == path.stem]
        assert levels == [direct.chance[metric] for metric in board.metrics]
    assert parquet_bytes(pv.leaderboard(files, workers=2, **OPTIONS), tmp_path) == parquet_bytes(board, tmp_path)


def test_it_is_not_the_mean_over_series(tmp_path):
    files = write_detectors(tmp_path / "scores")
    pooled = pv.leaderboard(files, **OPTIONS)
    mean = pv.leaderboard(files, **OPTIONS | {"pooled": False})
    for row, other in zip(pooled.summary_rows, mean.summary_rows, strict=True):
        assert abs(row["mean"] - other["mean"]) > 1e-4
        assert row["n"] == 1
        assert row["mean_rank"] is None


def test_there_are_no_ranks_and_no_tests(tmp_path):
    board = pv.leaderboard(write_detectors(tmp_path / "scores"), **OPTIONS)
    sentence = "a pooled board has one value for each detector, and so no ranks and no tests over series"
    for method in (board.ranks, board.significance):
        with raises_exactly(ValueError, sentence):
            method()
    remarks = board.overview().remarks
    best = max(board.summary_rows, key=lambda row: row["mean"] if row["metric"] == "pate_ap" else -math.inf)
    assert remarks[0] == f"first by pate_ap: {best['detector']}, {best['mean']:.3f}"
    assert remarks[1] == "all steps of 7 series are one sample; there are no ranks"
    assert board.overview().rows[0][0] == best["detector"]
    board.save(tmp_path / "board")
    assert not {"ranks.csv", "significance.json", "agreement.csv"} & {
        path.name for path in (tmp_path / "board").iterdir()
    }


def test_what_cannot_be_pooled_is_refused_where_it_is_named_and_left_out_otherwise(tmp_path):
    files = write_detectors(tmp_path / "scores")
    with pytest.raises(ValueError, match="ucr_score cannot be computed over several series taken together"):
        pv.leaderboard(files, metrics="pate, ucr_score", pooled=True)
    board = pv.leaderboard(files, metrics="all", pooled=True, chance=0, early=5, delay=5, window=5)
    assert "ucr_score" not in board.metrics
    assert any("left out, since series cannot be pooled for them: " in line for line in board.notes)


def test_close_to_nothing_else_on_nab(nab):
    files = [nab / f"{name}.parquet" for name in ("htmjava", "null")]
    board = pv.leaderboard(files, series="series", metrics="pate, pate_ap", pooled=True, chance=0)
    for d, path in enumerate(files):
        labels, scores, series = content(path)
        assert board.values[d, 0, 0] == pv.pate(labels, scores, series=series)
        assert board.values[d, 0, 1] == pv.pate_ap(labels, scores, series=series)
