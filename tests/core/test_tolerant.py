"""Tolerance in time, and the distance in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tolerant as oracle
from pateval.metrics.tolerant import temporal_distance, time_tolerant
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions(), st.integers(0, 15))
def test_tolerance_agrees_with_the_definition(pair, tolerance):
    values = time_tolerant(*pair, tolerance=tolerance)
    assert values == pytest.approx(oracle.time_tolerant(*pair, tolerance), abs=1e-12)


@given(labels_and_predictions())
def test_distance_agrees_with_the_definition(pair):
    assert temporal_distance(*pair) == oracle.temporal_distance(*pair)


def test_by_hand():
    labels, predictions = [0, 0, 1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1]
    assert oracle.time_tolerant(labels, predictions, 1)[:2] == pytest.approx((1 / 2, 1 / 3))
    assert oracle.time_tolerant(labels, predictions, 3)[:2] == pytest.approx((1, 1))
    # 1, 2 and 3 steps from the events to a prediction; 1 and 3 back
    assert oracle.temporal_distance(labels, predictions) == 1 + 2 + 3 + 1 + 3
    assert oracle.temporal_distance(labels, [0] * 8) == 3 * 8


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_tolerance(case):
    for tolerance in case.params["time_tolerance"]:
        if not case.labels.any():
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                time_tolerant(case.labels, case.predictions, tolerance=tolerance)
            continue
        names = [f"time_tolerant_{part}[d={tolerance}]" for part in ("precision", "recall", "f1")]
        expected = [case.metrics[name] for name in names]
        if None in expected:
            assert not case.predictions.any()
            expected = [0.0, 0.0, 0.0]
        values = time_tolerant(case.labels, case.predictions, tolerance=tolerance)
        assert values == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_distance(case):
    if not case.labels.any():
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            temporal_distance(case.labels, case.predictions)
    else:
        assert temporal_distance(case.labels, case.predictions) == case.metrics["temporal_distance"]


@pytest.mark.parametrize(("tolerance", "error"), [(-1, ValueError), (5.0, TypeError)])
def test_tolerance_is_checked(tolerance, error):
    with raises_exactly(error, f"tolerance must be a non-negative integer; got {tolerance}"):
        time_tolerant([0, 1], [0, 1], tolerance=tolerance)
