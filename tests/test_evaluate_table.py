"""Several detectors at once, what chance reaches beside them, and results as frames and JSON."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pateval as pv
from pateval.evaluation.chance import steps_digest
from pateval.time.timelines import read_recording
from support.messages import raises_exactly

RNG = np.random.default_rng(1)
LABELS = np.tile([0, 0, 0, 0, 1, 1, 0, 0, 0, 0], 8)
SCORES = {"good": RNG.random(80) + LABELS, "guess": RNG.random(80), "inverted": RNG.random(80) - 2 * LABELS}
METRICS = ["pate", "auc_roc", "point_f1", "mean_detection_delay"]


@pytest.mark.parametrize(
    "make",
    [dict, pd.DataFrame, pl.DataFrame, pa.table, lambda columns: {name: list(each) for name, each in columns.items()}],
)
def test_columns_are_detectors(make):
    table = pv.evaluate(LABELS, make(SCORES), metrics=METRICS)
    assert isinstance(table, pv.EvaluationTable)
    assert list(table) == list(SCORES)
    assert table.metrics == tuple(METRICS)
    for name, scores in SCORES.items():
        assert dict(table[name]) == dict(pv.evaluate(LABELS, scores, metrics=METRICS))


def test_an_array_of_two_dimensions_has_a_detector_per_column():
    table = pv.evaluate(LABELS, np.column_stack(list(SCORES.values())), metrics="auc_roc")
    assert list(table) == ["0", "1", "2"]
    assert table["2"]["auc_roc"] == pv.auc_roc(LABELS, SCORES["inverted"])
    assert not isinstance(pv.evaluate(LABELS, SCORES["good"], metrics="auc_roc"), pv.EvaluationTable)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.1, 0.2], "labels and scores of bad must have the same length; got 4 and 2"),
        (
            [0.1, None, 0.3, 0.4],
            (
                "scores of bad must hold no missing values; found one at index 1 (1 in 4): pass missing='ignore' to "
                "leave such steps out, or missing='normal' to count them as never predicted"
            ),
        ),
        (
            pd.Series([0.1, 0.2, 0.3, 0.4], index=[1, 2, 3, 4]),
            (
                "labels and scores of bad have different indexes, at position 0 for example 0 and 1: align them first, "
                "with reindex, or go by position with to_numpy()"
            ),
        ),
    ],
)
def test_what_is_wrong_with_a_detector_is_said_with_its_name(values, message):
    with raises_exactly(ValueError, message):
        pv.evaluate(pd.Series([0, 1, 1, 0]), {"good": [0.1, 0.2, 0.3, 0.4], "bad": values}, metrics="auc_roc")


def test_predictions_of_several_detectors():
    flagged = {name: scores > 0.8 for name, scores in SCORES.items()}
    table = pv.evaluate(LABELS, predictions=flagged, metrics="point_f1")
    assert table["good"]["point_f1"] == pv.point(LABELS, flagged["good"]).f1
    both = pv.evaluate(LABELS, SCORES, flagged, metrics=["auc_roc", "point_f1"])
    assert both["good"]["point_f1"] == table["good"]["point_f1"]
    with raises_exactly(
        ValueError,
        "scores and predictions must be of the same detectors in the same order; got ['good', 'guess', 'inverted'] "
        "and ['good']",
    ):
        pv.evaluate(LABELS, SCORES, {"good": flagged["good"]})
    with raises_exactly(ValueError, "scores must hold at least one detector; got none"):
        pv.evaluate(LABELS, {})


def test_chance_stands_beside_every_value_and_marks_what_is_not_above_it():
    table = pv.evaluate(LABELS, SCORES, metrics=METRICS, chance=10, seed=3)
    alone = pv.evaluate(LABELS, SCORES["guess"], metrics=METRICS, chance=10, seed=3)
    assert table["guess"].chance == alone.chance
    rng = np.random.default_rng([3, steps_digest(read_recording(LABELS))])
    draws = [pv.auc_roc(LABELS, rng.random(80)) for _ in range(10)]
    assert alone.chance["auc_roc"] == pytest.approx(np.mean(draws))
    assert table["good"].is_above_chance("auc_roc") is True
    assert table["inverted"].is_above_chance("auc_roc") is False
    # A delay above that of chance is worse.
    worse = table["guess"]["mean_detection_delay"] > table["guess"].chance["mean_detection_delay"]
    assert table["guess"].is_above_chance("mean_detection_delay") is not worse
    printed = repr(table).splitlines()
    assert printed[0].split() == ["metric", "chance", "good", "guess", "inverted"]
    assert printed[3].endswith("*")
    assert "* not above chance: random scores do as well" in printed
    assert any(
        line.startswith("inverted: the scores look inverted: AUC-ROC is 0.00, and 1.00 with") for line in printed
    )
    assert "chance 0." in repr(table["good"])
    assert all(len(line) <= 120 for line in printed)


def test_chance_flags_as_many_steps_as_the_detector_where_the_threshold_is_a_number():
    found = pv.evaluate(LABELS, 1000 * SCORES["good"], metrics=["point_recall"], threshold=900.0, chance=5)
    share = np.mean(1000 * SCORES["good"] >= 900.0)
    assert found.chance["point_recall"] == pytest.approx(share, abs=0.25)
    given = pv.evaluate(LABELS, predictions=SCORES["good"] > 0.9, metrics="point_recall", chance=5)
    assert given.chance == pytest.approx(found.chance, abs=0.05)


def test_chance_is_computed_on_what_remains():
    ignore = np.zeros(80, dtype=int)
    ignore[:40] = 1
    scores = np.where(np.arange(80) < 50, np.nan, SCORES["good"])
    found = pv.evaluate(LABELS, scores, metrics="average_precision", ignore=ignore, missing="ignore", chance=4, seed=2)
    rng = np.random.default_rng([2, steps_digest(read_recording(LABELS, ignore=np.arange(80) < 50))])
    expected = np.mean([pv.average_precision(LABELS[50:], rng.random(80)[50:]) for _ in range(4)])
    assert found.chance["average_precision"] == pytest.approx(expected)


def test_chance_is_not_computed_before_it_is_asked_for():
    seen = []

    def spy(labels, scores):
        seen.append(np.array(scores))
        return 0.5

    metric = pv.define_metric(spy, id="spy", takes="scores", higher_is_better=True)
    labels, ignore = LABELS.copy(), np.arange(80) < 7
    table = pv.evaluate(labels, SCORES, metrics=metric, ignore=ignore)
    assert (table["good"]["spy"], len(seen)) == (0.5, 3)
    labels[:], ignore[:] = 0, True  # what a caller does to its arrays afterwards changes nothing
    assert table["good"].chance == {"spy": 0.5}
    assert len(seen) == 8  # five draws, of the 73 steps that count, for all three detectors
    assert seen[-1].size == 73
    repr(table), table.to_json(), table.to_frame(), table["guess"].chance
    assert len(seen) == 8
    assert pv.evaluate(LABELS, SCORES["good"], metrics=metric, chance=0).chance == {}


def test_chance_survives_pickling_before_and_after_it_is_computed():
    times = pd.date_range("2026-01-01", periods=80, freq="min")
    given = {"metrics": METRICS, "series": np.arange(80) // 40, "times": times, "max_gap": "1h", "threshold": 0.8}
    found = pv.evaluate(LABELS, SCORES["good"], **given)
    before = pickle.loads(pickle.dumps(found))  # noqa: S301  # it is our own
    assert before.chance == found.chance != {}
    after = pickle.loads(pickle.dumps(found))  # noqa: S301  # it is our own
    assert (after, after.chance, repr(after)) == (found, found.chance, repr(found))


def test_a_step_without_a_score_is_left_out_for_all_detectors():
    gaps = np.where(np.arange(80) < 40, np.nan, SCORES["guess"])
    few = np.where(np.arange(80) < 41, np.nan, SCORES["guess"])  # more than half are missing: no value, and no say
    scores = {"whole": SCORES["good"], "half": gaps, "few": few}
    table = pv.evaluate(LABELS, scores, metrics=["average_precision"], missing="ignore")
    expected = pv.evaluate(
        LABELS,
        {"whole": SCORES["good"], "half": SCORES["guess"]},
        metrics=["average_precision"],
        ignore=np.arange(80) < 40,
    )
    for name in ("whole", "half"):
        assert table[name]["average_precision"] == expected[name]["average_precision"]
        assert table[name].chance == expected[name].chance
    assert table["few"].reasons == {"average_precision": "the detector has no score for more than half of the steps"}
    alone = pv.evaluate(LABELS, few, metrics=["average_precision"], missing="ignore")
    assert alone.reasons == table["few"].reasons


def test_detectors_that_flag_more_have_their_own_chance():
    table = pv.evaluate(
        LABELS, {"whole": SCORES["good"], "half": SCORES["good"] / 2}, metrics="point_f1", threshold=0.8
    )
    title, _, row, *_ = repr(table).splitlines()
    assert title.split() == ["metric", "whole", "chance", "of", "whole", "half", "chance", "of", "half"]
    assert float(row.split()[4]) == pytest.approx(table["half"].chance["point_f1"], abs=5e-5)
    assert table["half"].chance != table["whole"].chance


def test_chance_flags_no_ignored_steps():
    ignore = np.arange(80) < 40
    found = pv.evaluate(LABELS, np.arange(80), metrics="false_alarm_rate", threshold=0, ignore=ignore, chance=1)
    everything = pv.evaluate(LABELS[40:], predictions=np.ones(40, dtype=int), metrics="false_alarm_rate", chance=0)
    assert found.chance == dict(everything)


def test_results_as_frames_and_json():
    labels = np.zeros(80, dtype=int)
    table = pv.evaluate(labels, SCORES, metrics=METRICS, chance=2)
    data = json.loads(table.to_json(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert data["good"]["metrics"]["pate"]["value"] is None
    table = pv.evaluate(LABELS, SCORES, metrics=METRICS, chance=2, threshold=0.7, window=9)
    data = json.loads(table.to_json())["good"]
    assert data["threshold"] == 0.7
    assert data["options"]["window"] == 9
    assert data["metrics"]["auc_roc"]["chance"] == table["good"].chance["auc_roc"]
    for backend, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)):
        frame = table.to_frame(backend)
        assert isinstance(frame, kind)
        rows = pl.DataFrame(frame) if backend != "pyarrow" else pl.from_arrow(frame)
        assert rows.height == 12
        row = rows.filter((pl.col("detector") == "good") & (pl.col("metric") == "point_f1")).to_dicts()[0]
        assert row["value"] == table["good"]["point_f1"]
        assert (row["threshold"], row["threshold_rule"], row["coverage"]) == (0.7, "given", 1.0)
        assert row["signature"] == table["good"].signature("point_f1")
    single = table["good"].to_frame("pandas")
    assert single.columns.tolist()[:3] == ["metric", "value", "reason"]
    assert math.isnan(pv.evaluate(labels, SCORES["good"], metrics="pate").to_frame("pandas")["value"].iloc[0])
