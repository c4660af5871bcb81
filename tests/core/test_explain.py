"""Explanations add up to what PATE-F1 uses, step by step and event by event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import pate as oracle
from support.messages import raises_exactly
from support.strategies import labels_and_predictions, split_series


@given(labels_and_predictions(), st.integers(0, 15), st.integers(0, 15), st.data())
def test_sums_are_those_of_the_definition(pair, early, delay, data):
    labels, predictions = pair
    series = split_series(data.draw, labels.size)
    expected = oracle.counts(labels.tolist(), predictions.tolist(), early, delay, series.tolist())
    explanation = pv.explain(labels, predictions, early=early, delay=delay, series=series)
    points = explanation.points
    sums = (points.true_positive.sum(), points.false_positive.sum(), points.false_negative.sum())
    assert sums == pytest.approx([float(x) for x in expected], abs=1e-12)
    assert explanation.f1 == pytest.approx(
        pv.pate_f1(labels, predictions, early=early, delay=delay, series=series), abs=1e-12
    )
    outside = points.false_positive[points.category == "outside"].sum()
    assert sum(e.true_positive for e in explanation.events) == pytest.approx(sums[0], abs=1e-12)
    assert sum(e.false_positive for e in explanation.events) + outside == pytest.approx(sums[1], abs=1e-12)
    assert sum(e.false_negative for e in explanation.events) == pytest.approx(sums[2], abs=1e-12)
    assert points.true_positive + points.false_positive == pytest.approx(predictions)
    assert repr(explanation)


@given(
    labels_and_predictions(),
    st.lists(st.integers(0, 15), min_size=1, max_size=3),
    st.lists(st.integers(0, 15), min_size=1, max_size=3),
    st.data(),
)
def test_sets_of_buffers_are_averaged(pair, early, delay, data):
    labels, predictions = pair
    series = split_series(data.draw, labels.size)
    explained = pv.explain(labels, predictions, early=early, delay=delay, series=series)
    each = [pv.explain(labels, predictions, early=one, delay=other, series=series) for one in early for other in delay]
    for name in ("precision", "recall", "f1", "true_positive", "false_positive", "false_negative"):
        assert getattr(explained, name) == pytest.approx(np.mean([getattr(one, name) for one in each]), abs=1e-12)
    for name in ("true_positive", "false_positive", "false_negative"):
        mean = np.mean([getattr(one.points, name) for one in each], axis=0)
        assert getattr(explained.points, name) == pytest.approx(mean, abs=1e-12)
    assert explained.f1 == pytest.approx(
        pv.pate_f1(labels, predictions, early=early, delay=delay, series=series), abs=1e-12
    )
    starts, stops = explained.event_places()
    assert [labels[start:stop].all() for start, stop in zip(starts, stops, strict=True)] == [True] * len(starts)
    assert (stops - starts).sum() == labels.sum()


def test_the_number_of_evaluate_and_its_words():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 0, 1, 0], [300, 20, 400, 30, 250])
    scores = labels * 0.4 + rng.random(labels.size)
    scores[5] = np.nan
    series = np.repeat(["a", "b"], [500, 500])
    keep = np.arange(labels.size) != 5
    for threshold, missing in (("oracle", "ignore"), ("quantile:0.05", "normal"), (0.9, "ignore"), (0.9, "normal")):
        expected = pv.evaluate(labels[keep], scores[keep], metrics="pate_f1", threshold=threshold)
        found = pv.explain(labels, scores=scores, threshold=threshold, missing=missing)
        assert found.f1 == pytest.approx(expected["pate_f1"], abs=1e-12)
        assert found.predictions_from == expected.prediction_text
        assert len(found.points) == labels.size - (missing == "ignore")
    explained = pv.explain(labels[keep], scores=scores[keep], series=series[keep])
    assert [(event.series, event.start) for event in explained.events] == [("a", 299), ("b", 220)]
    assert [row.split()[0] for row in repr(explained).splitlines()[-4:]] == ["a", "b", "outside", "all"]
    assert set(explained.to_dict()["events"][0]) > {"series", "start"}
    assert explained.points.to_frame("pyarrow")["series"].to_pylist() == series[keep].tolist()
    assert "series" not in pv.explain(labels, labels).to_dict()["events"][0]
    assert "early {0, 100}, delay {0..5}" in repr(pv.explain(labels, labels, delay=range(6)))


def test_either_predictions_or_scores():
    for arguments in ({}, {"predictions": [0, 1], "scores": [0.1, 0.9]}):
        with raises_exactly(ValueError, "explain needs either predictions or scores with a threshold"):
            pv.explain([0, 1], **arguments)
    with pytest.raises(pv.UndefinedMetricError):
        pv.explain([0, 0], scores=[0.1, 0.9])
    with raises_exactly(TypeError, "early must be a non-negative integer; got 2.5"):
        pv.explain([0, 1], [0, 1], early=[1, 2.5])


def test_the_strip_shows_the_neighbourhood_of_events():
    labels = np.zeros(100_000, dtype=int)
    for start in (30_000, 70_000):
        labels[start : start + 40] = 1
    predictions = np.ones(labels.size, dtype=int)
    explained = pv.explain(labels, predictions, early=20, delay=20)
    strip = explained.strip()
    assert len(strip) <= 80
    assert strip.count("…") == 3
    assert strip.count("×") < 15
    assert "◂" in strip
    assert "▸" in strip
    assert set(explained.timeline()) == {"×"}
    for part in strip.strip("…").split("…"):
        assert part[0] == part[-1] == "×"
        assert part.strip("×").strip("◂").strip("▸") == "█" * part.count("█")
    assert strip in repr(explained)
    many = pv.explain(np.tile([0] * 50 + [1], 2000), np.tile([0] * 50 + [1], 2000), early=1, delay=1)
    assert len(many.strip()) <= 80
    assert pv.explain([0, 1, 0], [1, 1, 0], early=0, delay=0).strip() == "×█·"


def test_categories_and_rows():
    labels = [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    predictions = [1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0]
    explanation = pv.explain(labels, predictions, early=2, delay=2)
    assert explanation.points.category.tolist() == [
        "outside",
        "quiet",
        "early",
        "partly missed",
        "true detection",
        "partly missed",
        "delayed",
        "delayed",
        "early",
        "totally missed",
        "totally missed",
    ]
    first, second = explanation.events
    assert (first.detected, first.coverage, first.onset_delay, first.early_lead) == (True, 1 / 3, 1, 1)
    assert (second.detected, second.coverage, second.onset_delay, second.early_lead) == (False, 0.0, None, 1)
    assert second.false_positive == 1.0  # early, but of an event that is never detected
    assert explanation.timeline() == "×·◂▒█▒▸▸◂░░"
    assert len(explanation.timeline(width=4)) == 4


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_frames(backend):
    explanation = pv.explain([0, 1, 0, 1], [0, 1, 1, 0], early=1, delay=1)
    events, steps = explanation.to_frame(backend), explanation.points.to_frame(backend)
    assert len(events) == 2
    assert len(steps) == 4
    assert "onset_delay" in list(getattr(events, "column_names", getattr(events, "columns", None)))


def test_unknown_backend():
    with raises_exactly(ValueError, "backend must be one of 'pandas', 'polars', 'pyarrow'; got 'excel'"):
        pv.explain([0, 1], [0, 1], early=1, delay=1).to_frame("excel")


def test_many_events_are_cut_short_in_print():
    labels = np.tile([0, 1], 50)
    assert "more events" in repr(pv.explain(labels, labels, early=0, delay=0))


def test_dates_and_durations_where_there_is_a_clock():
    labels = [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    found = [0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1]
    dates = np.datetime64("2026-03-01T23:00") + np.arange(16) * np.timedelta64(10, "m")
    shown = repr(pv.explain(labels, found, early=2, delay=3, times=dates, ignore=np.arange(16) == 7))
    assert shown.split("\n\n")[-1].splitlines()[2:4] == [
        "[2026-03-01 23:30, 03-02 00:10)    yes    50%  10 min  10 min  2.29  0.71  1.00",
        "[2026-03-02 01:20, 01:40)          yes    50%  10 min       -  1.00  0.00  1.00",
    ]
    numbers = repr(pv.explain(labels, found, early=2, delay=3, times=np.arange(16) * 0.5, time_unit="h"))
    assert numbers.split("\n\n")[-1].splitlines()[2].startswith("[1.5, 3.5 h)    yes    50%  30 min  30 min")
    without_unit = pv.explain(labels, found, early=2, delay=3, times=np.arange(16))
    assert repr(without_unit) == repr(pv.explain(labels, found, early=2, delay=3))
