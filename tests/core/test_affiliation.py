"""Affiliation, and its values per event."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from oracles import affiliation as oracle
from pateval.metrics.affiliation import affiliation, affiliation_events
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases, scenarios
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions())
def test_agrees_with_the_definition(pair):
    assert affiliation(*pair) == pytest.approx(oracle.affiliation(*pair), abs=1e-12)
    for values, expected in zip(affiliation_events(*pair), oracle.affiliation_events(*pair), strict=True):
        assert values == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_by_hand():
    # Event [2, 4), zone [0, 8), prediction [5, 6). Precision: x is x - 4 away; 6 - x of the zone lies farther off on
    # the left and 8 - x on the right, on average, at x = 5.5, 0.5 and 2.5 of 8.
    # Recall: y is 5 - y away; 3 of the zone lies beyond 5, and 2y - 5, if anything, on the other side: the mean over
    # [2, 4) of 3 + max(2y - 5, 0) is 3 + 9/8.
    precision, recall = oracle.affiliation_events([0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0])
    assert precision == pytest.approx([(0.5 + 2.5) / 8])
    assert recall == pytest.approx([(3 + 9 / 8) / 8])


def test_zones_by_hand():
    # Events [1, 2) and [4, 6) of nine steps meet at 3; a prediction [2, 5) is cut there.
    assert oracle.zones([(1.0, 2.0), (4.0, 6.0)], 9) == [(0.0, 3.0), (3.0, 9.0)]
    precision, recall = oracle.affiliation_events([0, 1, 0, 0, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0, 0])
    assert precision[0] == 1
    assert math.isnan(precision[1])
    assert recall == [1, 0]


@pytest.mark.parametrize("case", prediction_cases("affiliation"))
def test_golden(case):
    if not case.labels.any():
        for function in (affiliation, affiliation_events):
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                function(case.labels, case.predictions)
        return
    expected = [case.metrics[name] for name in ("precision", "recall", "f1")]
    if not case.predictions.any():
        expected = [0.0, 0.0, 0.0]
    assert affiliation(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)
    events = affiliation_events(case.labels, case.predictions)
    for values, name in zip(events, ("individual_precision", "individual_recall"), strict=True):
        recorded = [float(value) for value in case.metrics[name]]
        assert values == pytest.approx(recorded, abs=1e-9, rel=0, nan_ok=True)


@pytest.mark.parametrize("case", prediction_cases("paper_repo"))
def test_what_the_authors_scripts_print(case):
    if case.labels.any() and case.predictions.any():
        expected = [case.metrics[f"affiliation_{name}"] for name in ("precision", "recall", "f1")]
        assert affiliation(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("labels", "predictions", "printed"), scenarios("affiliation"))
def test_paper(labels, predictions, printed):
    assert affiliation(labels, predictions).f1 == pytest.approx(printed, abs=0.005)


def test_nothing_predicted():
    labels, silence = [0, 1, 1, 0, 1], [0, 0, 0, 0, 0]
    assert affiliation(labels, silence) == (0, 0, 0)
    precision, recall = affiliation_events(labels, silence)
    assert np.isnan(precision).all()
    assert recall.tolist() == [0, 0]
