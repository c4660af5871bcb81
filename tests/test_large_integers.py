"""Integers beyond 2**53, which floats cannot tell apart, keep their order everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.catalog import catalogue
from pateval.evaluation.threshold_rules import THRESHOLD_RULES
from support.messages import raises_exactly

pytestmark = pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")

LABELS = np.zeros(300, dtype=int)
LABELS[60:80] = LABELS[150:160] = LABELS[220] = 1
SMALL = np.random.default_rng(0).integers(0, 400, LABELS.size) + 150 * LABELS
SHIFTED = {
    "int64": SMALL + 2**62,
    "negative": SMALL - 2**62,
    "uint64": SMALL.astype(np.uint64) + np.uint64(2**63),
    "Python": [int(score) + 2**62 for score in SMALL],
    "more than 64 bits": [int(score) + 10**30 for score in SMALL],
    "objects": np.array([int(score) + 2**62 for score in SMALL], dtype=object),
    "pandas nullable": pd.Series(SMALL + 2**62, dtype="Int64"),
    "polars": pl.Series(SMALL + 2**62),
    "pyarrow": pa.array(SMALL + 2**62),
    "far apart": np.sign(SMALL - 200) * 2**62 + SMALL,
}


@pytest.mark.parametrize("kind", SHIFTED)
def test_every_metric_on_scores_sees_the_order(kind):
    shifted = SHIFTED[kind]
    by_value = {"confidence_consistency", "detection_quality"} if kind == "far apart" else set()
    metrics = [name for name, metric in catalogue().items() if metric.takes == "scores" and name not in by_value]
    expected, found = (pv.evaluate(LABELS, scores, metrics=metrics) for scores in (SMALL, shifted))
    assert found.values_by_id == pytest.approx(expected.values_by_id, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("rule", ["oracle", *THRESHOLD_RULES])
@pytest.mark.parametrize("kind", [kind for kind in SHIFTED if kind != "far apart"])
def test_threshold_rules_follow_a_shift(kind, rule):
    expected, found = (
        pv.evaluate(LABELS, scores, metrics=["point_f1", "event_wise_f1"], threshold=rule)
        for scores in (SMALL, SHIFTED[kind])
    )
    assert found.values_by_id == expected.values_by_id


def test_a_threshold_is_compared_exactly():
    scores = np.array([2**62, 2**62 + 1, 2**62 + 2])
    assert pv.apply_threshold(scores, 2**62 + 1).tolist() == [False, True, True]
    assert pv.apply_threshold(scores, 2**62 + 1, strict=True).tolist() == [False, False, True]
    assert pv.apply_threshold(scores, float(2**62)).tolist() == [True, True, True]
    assert pv.apply_threshold([0.5, 2.0**62], 2**62 + 1).tolist() == [False, False]
    assert pv.apply_threshold([0.5, 2.0**62], 2**62 - 1).tolist() == [False, True]
    assert pv.evaluate([0, 1, 1], scores, metrics="point_f1", threshold=2**62 + 1)["point_f1"] == 1


def test_thresholds_come_back_as_the_integers_they_are():
    scores = SMALL + 2**62
    best = pv.best_threshold(LABELS, scores)
    assert best.threshold == int(pv.best_threshold(LABELS, SMALL).threshold) + 2**62
    curve, expected = (pv.pate_curve(LABELS, values, early=3, delay=3) for values in (scores, SMALL))
    assert (curve.thresholds == expected.thresholds.astype(np.int64) + 2**62).all()
    assert np.array_equal(curve.precision, expected.precision)
    assert pv.quantile_threshold([2**62, 2**62 + 2], fraction=0.5) == 2**62 + 1


def test_missing_scores_leave_the_others_in_order():
    present = np.arange(LABELS.size) % 7 > 0
    holey = [int(score) + 2**62 if there else None for score, there in zip(SMALL, present, strict=True)]
    given = {
        "list": holey,
        "pandas": pd.Series(SMALL + 2**62, dtype="Int64").where(present),
        "polars": pl.Series(holey),
        "masked": np.ma.masked_array(SMALL + 2**62, mask=~present),
    }
    for missing in ("ignore", "normal"):
        expected = pv.pate(LABELS, np.where(present, SMALL, np.nan), missing=missing)
        for kind, scores in given.items():
            assert pv.pate(LABELS, scores, missing=missing) == expected, kind


def test_the_leaderboard_reads_integer_columns(tmp_path):
    table = pa.table({"label": LABELS, "large": SMALL + 2**62, "small": SMALL, "unsigned": SHIFTED["uint64"]})
    pq.write_table(table, tmp_path / "scores.parquet")
    board = pv.leaderboard(tmp_path / "scores.parquet", chance=0, event_draws=0, workers=1)
    frame = board.scores.to_pandas().pivot(index="metric", columns="detector", values="value")
    for other in ("large", "unsigned"):
        np.testing.assert_allclose(frame[other], frame["small"], atol=1e-12)


def test_no_thresholds_beside_scores_that_are_no_floats():
    with raises_exactly(
        ValueError,
        "scores must be numbers that floats can tell apart where thresholds are given; subtract a constant from "
        "both, or leave thresholds out",
    ):
        pv.pate(LABELS, SMALL + 2**62, thresholds=[1.0, 2.0])
    with raises_exactly(
        ValueError,
        "scores must be numbers that floats can tell apart to be compared with thresholds; subtract a constant "
        "from both",
    ):
        pv.PateAccumulator(2, 2, [1.0]).update(LABELS, SMALL + 2**62)
    assert pv.pate(LABELS, SMALL + 2**62, thresholds=50) == pv.pate(LABELS, SMALL, thresholds=50)
