"""Metrics that count events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import event_based as oracle
from pateval.metrics.event_based import (
    alarming_precision,
    composite,
    event_wise,
    event_wise_f_beta,
    revised_point_adjusted,
    segment,
)
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases
from support.messages import raises_exactly
from support.strategies import labels_and_predictions

FUNCTIONS = [
    (composite, oracle.composite),
    (segment, oracle.segment),
    (event_wise, oracle.event_wise),
    (revised_point_adjusted, oracle.revised_point_adjusted),
    (alarming_precision, oracle.alarming_precision),
]
NAMED = {"composite": composite, "eventwise": event_wise, "merlion_rpa": revised_point_adjusted}


@pytest.mark.parametrize(("function", "definition"), FUNCTIONS)
@given(pair=labels_and_predictions())
def test_agrees_with_the_definition(function, definition, pair):
    assert function(*pair) == pytest.approx(definition(*pair), abs=1e-12)


def test_by_hand():
    labels = [0, 1, 1, 0, 0, 1, 1, 0, 1, 0]
    predictions = [1, 1, 0, 1, 0, 1, 1, 1, 1, 0]
    # three runs: [0, 1] touches the first event, [3] nothing, [5..8] the other two; steps 0, 3, 7 of 5 normal ones
    assert oracle.counts(labels, predictions) == (3, 0, 1, 3, 4)
    assert oracle.composite(labels, predictions)[:2] == pytest.approx((4 / 7, 1))
    assert oracle.segment(labels, predictions)[:2] == pytest.approx((3 / 4, 1))
    assert oracle.event_wise(labels, predictions)[:2] == pytest.approx((3 / 4 * 2 / 5, 1))
    assert oracle.revised_point_adjusted(labels, predictions)[:2] == pytest.approx((3 / 6, 1))


def test_alarms_by_hand():
    # The first event is touched by two runs, the second by one that touches the third, too, the last by none.
    labels = [1, 1, 1, 0, 0, 1, 0, 1, 0, 1]
    predictions = [1, 0, 1, 0, 0, 1, 1, 1, 0, 0]
    assert oracle.alarming_precision(labels, predictions) == 3 / (3 + 1)
    assert oracle.alarming_precision(labels, [1] * 10) == 1
    assert oracle.alarming_precision(labels, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]) == 0


@given(labels_and_predictions(), st.sampled_from([0.25, 0.5, 1, 2, 10]))
def test_f_beta_agrees_with_the_definition(pair, beta):
    expected = oracle.event_wise_f_beta(*pair, beta)
    assert event_wise_f_beta(*pair, beta=beta) == pytest.approx(expected, abs=1e-12)
    assert event_wise_f_beta(*pair, beta=beta) == pytest.approx(event_wise(*pair).f_beta(beta), abs=1e-12)


def test_f_beta_by_hand():
    assert oracle.f_beta_of(0.5, 1.0, 0.5) == pytest.approx(1.25 * 0.5 / (0.25 * 0.5 + 1))
    with raises_exactly(ValueError, "beta must be a number from 0 to 1e+100; got -0.5"):
        event_wise_f_beta([0, 1], [0, 1], beta=-0.5)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden(case):
    for name, function in NAMED.items():
        if not case.labels.any():
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                function(case.labels, case.predictions)
            continue
        expected = [case.metrics[f"{name}_{part}"] for part in ("precision", "recall", "f1")]
        assert function(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_segments(case):
    if not case.labels.any():
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            segment(case.labels, case.predictions)
        return
    true_positive, false_positive, false_negative = (case.metrics[f"segment_{name}"] for name in ("tp", "fp", "fn"))
    values = segment(case.labels, case.predictions)
    assert values.f1 == pytest.approx(case.metrics["segment_f1"], abs=1e-9, rel=0)
    assert values.precision == pytest.approx(true_positive / max(true_positive + false_positive, 1), abs=1e-9, rel=0)
    assert values.recall == pytest.approx(true_positive / (true_positive + false_negative), abs=1e-9, rel=0)
