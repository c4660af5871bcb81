"""Explanations add up to what PATE-F1 uses, step by step and event by event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import pate as oracle
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
    with pytest.raises(ValueError, match="backend must be one of"):
        pv.explain([0, 1], [0, 1], early=1, delay=1).to_frame("excel")


def test_many_events_are_cut_short_in_print():
    labels = np.tile([0, 1], 50)
    assert "more events" in repr(pv.explain(labels, labels, early=0, delay=0))
