"""Indexes of pandas columns: never lined up by position without a word, and a clock where they hold dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pateval as pv
from pateval.io import TableError, as_table, find_layout, scored_series
from support.messages import raises_exactly

DATES = pd.date_range("2024-01-01", periods=40, freq="10min")
LABELS = pd.Series(np.isin(np.arange(40), [10, 11, 12, 25, 26]).astype(int), index=DATES)
SCORES = pd.Series(np.random.default_rng(4).random(40), index=DATES)
PREDICTIONS = (SCORES > 0.7).astype(int)
SHIFTED = SCORES.set_axis(DATES + pd.Timedelta("1h"))
MESSAGE = (
    "labels and {0} have different indexes, at position 0 for example 2024-01-01 00:00:00 and 2024-01-01 01:00:00: "
    "align them first, with {0}.reindex(labels.index), or go by position with {0}.to_numpy()"
)


@pytest.mark.parametrize(
    "metric", [pv.pate, pv.pate_ap, pv.evaluate, pv.auc_roc, pv.vus_pr, pv.ts_auprc, pv.best_threshold]
)
def test_scores_with_another_index_are_refused(metric: Any) -> None:
    with pytest.raises(ValueError, match="different indexes") as caught:
        metric(LABELS, SHIFTED)
    assert str(caught.value) == MESSAGE.format("scores")
    metric(LABELS, SHIFTED.to_numpy())
    metric(LABELS, SHIFTED.reindex(LABELS.index, fill_value=0.0))


@pytest.mark.parametrize("metric", [pv.pate_f1, pv.explain, pv.mean_detection_delay, pv.affiliation])
def test_predictions_with_another_index_are_refused(metric: Any) -> None:
    with pytest.raises(ValueError, match="different indexes") as caught:
        metric(LABELS, PREDICTIONS.set_axis(SHIFTED.index))
    assert str(caught.value) == MESSAGE.format("predictions")
    metric(LABELS, PREDICTIONS)


def test_what_goes_along_with_the_labels_must_agree_too() -> None:
    with raises_exactly(
        ValueError,
        "labels and ignore have different indexes, at position 0 for example 2024-01-01 00:00:00 and 0: align them "
        "first, with ignore.reindex(labels.index), or go by position with ignore.to_numpy()",
    ):
        pv.pate(LABELS, SCORES, ignore=pd.Series(np.zeros(40, dtype=bool)))
    with raises_exactly(
        ValueError,
        "labels and series have different indexes, at position 0 for example 2024-01-01 00:00:00 and 0: align them "
        "first, with series.reindex(labels.index), or go by position with series.to_numpy()",
    ):
        pv.evaluate(LABELS, SCORES, series=pd.Series(np.zeros(40)), metrics="pate")
    with raises_exactly(
        ValueError,
        "labels and times have different indexes, at position 0 for example 2024-01-01 00:00:00 and 0: align them "
        "first, with times.reindex(labels.index), or go by position with times.to_numpy()",
    ):
        pv.pate(LABELS, SCORES, times=pd.Series(DATES))
    shuffled = SCORES.sample(frac=1, random_state=0)
    with raises_exactly(
        ValueError,
        "labels and scores have different indexes, at position 0 for example 2024-01-01 00:00:00 and 2024-01-01 "
        "03:40:00: align them first, with scores.reindex(labels.index), or go by position with scores.to_numpy()",
    ):
        pv.pate(LABELS, shuffled)


def test_columns_without_an_index_go_with_all() -> None:
    expected = pv.pate(LABELS.to_numpy(), SCORES.to_numpy())
    for scores in (SCORES.to_numpy(), SCORES.tolist(), pl.Series(SCORES.to_numpy()), SCORES):
        assert pv.pate(LABELS, scores) == expected


@pytest.mark.parametrize("zone", [None, "Europe/Amsterdam"])
def test_a_shared_index_serves_as_times(zone: str | None) -> None:
    dates = DATES if zone is None else DATES.tz_localize("UTC").tz_convert(zone)
    labels, scores = LABELS.set_axis(dates), SCORES.set_axis(dates)
    options = {"early": "30min", "delay": "20min"}
    expected = pv.pate(LABELS.to_numpy(), SCORES.to_numpy(), early=3, delay=2)
    assert pv.pate(labels, scores, times="index", **options) == expected
    assert pv.pate(labels, scores.to_numpy(), times="index", **options) == expected
    assert pv.evaluate(labels, scores, times="index", metrics="pate", **options)["pate"] == expected
    found = pv.explain(labels, scores=scores, threshold=0.7, times="index", **options)
    plain = pv.explain(labels.to_numpy(), scores=scores.to_numpy(), threshold=0.7, early=3, delay=2)
    assert found.f1 == pytest.approx(plain.f1, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "times", "message"),
    [
        (
            LABELS.to_numpy(),
            "index",
            "times='index' needs pandas columns, with an index of times; got none among labels, scores, series, ignore",
        ),
        (LABELS.reset_index(drop=True), "index", "times='index' needs an index of dates; got a RangeIndex"),
        (LABELS, "idx", "times must be one value per step, or 'index' for the index of pandas columns; got 'idx'"),
    ],
)
def test_an_index_that_is_no_clock(labels: Any, times: str, message: str) -> None:
    with pytest.raises(ValueError, match="times") as caught:
        pv.pate(labels, SCORES.to_numpy(), times=times)
    assert str(caught.value) == message


def test_the_index_of_a_frame_is_its_clock() -> None:
    frame = pd.DataFrame({"label": LABELS, "score": SCORES})
    layout = find_layout(as_table(frame))
    assert layout.guessed == "label 'label', score 'score', time 'timestamp'"
    (item,) = scored_series(as_table(frame), layout)
    np.testing.assert_array_equal(item.times, DATES.as_unit("ns").asi8)
    aware = frame.set_axis(DATES.tz_localize("UTC").tz_convert("Asia/Tokyo").rename("time"))
    (item,) = scored_series(as_table(aware), find_layout(as_table(aware)))
    np.testing.assert_array_equal(item.times, DATES.as_unit("ns").asi8)


def test_columns_of_a_mapping_must_share_their_index() -> None:
    with raises_exactly(
        TableError,
        "the table: 'label' and 'score' have different indexes, at position 0 for example 2024-01-01 00:00:00 and "
        "2024-01-01 01:00:00: align them first, with reindex, or go by position with to_numpy()",
    ):
        as_table({"label": LABELS, "score": SHIFTED})
