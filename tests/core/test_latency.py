"""Latency- and sparsity-aware precision and recall."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import delays as oracle
from oracles.runs import runs_of
from pateval.metrics.delays import latency_sparsity_aware
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions(), st.integers(1, 50))
def test_agrees_with_the_definition(pair, window):
    values = latency_sparsity_aware(*pair, window=window)
    assert values == pytest.approx(oracle.latency_sparsity_aware(*pair, window), abs=1e-12)


def test_by_hand():
    labels, predictions = [0, 1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 1, 1]
    # three of four steps from the first hit on, three false alarms
    assert oracle.latency_sparsity_aware(labels, predictions, 1)[:2] == pytest.approx((3 / 6, 3 / 4))
    # windows 01 11 10 00 0 against 00 10 00 11 1: the event's first window is missed, two false alarms
    assert oracle.window_counts(labels, predictions, 2) == (2, 2, 1)


def published(true_positive, false_positive, false_negative, epsilon=1e-5):
    """F1 as the published code computes it: with a small number in each denominator."""
    precision = true_positive / (true_positive + false_positive + epsilon)
    recall = true_positive / (true_positive + false_negative + epsilon)
    return 2 * precision * recall / (precision + recall + epsilon)


def apart(labels, window):
    """Whether a window without anomaly lies between any two events; closer ones are counted differently elsewhere."""
    return window == 1 or all(right[0] // window - left[-1] // window > 1 for left, right in pairwise(runs_of(labels)))


def test_golden():
    compared = 0
    for parameter in prediction_cases("event"):
        case = parameter.values[0]
        for window in (1, 2, 5):
            recorded = case.metrics.get(f"ls_aware_f1[tw={window}]")
            if recorded is None or not case.labels.any() or not apart(case.labels, window):
                continue
            counts = oracle.window_counts(case.labels, case.predictions, window)
            assert published(*counts) == pytest.approx(recorded, abs=1e-9, rel=0), parameter.id
            value = latency_sparsity_aware(case.labels, case.predictions, window=window).f1
            assert value == pytest.approx(recorded, abs=2e-5, rel=0), parameter.id
            compared += 1
    assert compared == 143


def test_undefined_and_degenerate():
    with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
        latency_sparsity_aware([0, 0], [0, 1])
    assert latency_sparsity_aware([0, 1], [0, 0]) == (0, 0, 0)
    assert latency_sparsity_aware([0, 1], [1, 0], window=10**30) == (1, 1, 1)


@pytest.mark.parametrize(("window", "error"), [(0, ValueError), (2.0, TypeError)])
def test_window_is_checked(window, error):
    with raises_exactly(error, f"window must be a positive integer; got {window}"):
        latency_sparsity_aware([0, 1], [0, 1], window=window)
