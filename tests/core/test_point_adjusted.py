"""Point adjustment, PA%K, its area, and adjustment within a delay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import point_adjusted as oracle
from pateval.metrics.point_adjusted import (
    delay_adjusted,
    pa_auc_roc,
    point_adjusted,
    point_adjusted_k,
    point_adjusted_k_area,
)
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases, scenarios
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions())
def test_point_adjusted_agrees_with_the_definition(pair):
    assert point_adjusted(*pair) == pytest.approx(oracle.point_adjusted(*pair), abs=1e-12)


@given(labels_and_predictions())
def test_area_under_the_roc_curve_agrees_with_the_definition(pair):
    if pair[0].all():
        with pytest.raises(UndefinedMetricError, match="every step is anomalous"):
            pa_auc_roc(*pair)
    else:
        assert pa_auc_roc(*pair) == pytest.approx(oracle.pa_auc_roc(*pair), abs=1e-12)


@given(labels_and_predictions(), st.integers(0, 100))
def test_share_agrees_with_the_definition(pair, k):
    assert point_adjusted_k(*pair, k=k) == pytest.approx(oracle.point_adjusted_k(*pair, k), abs=1e-12)


@given(labels_and_predictions(max_size=25))
def test_area_over_shares_agrees_with_the_definition(pair):
    assert point_adjusted_k_area(*pair) == pytest.approx(oracle.point_adjusted_k_area(*pair), abs=1e-12)


@given(labels_and_predictions(), st.integers(0, 12))
def test_delay_agrees_with_the_definition(pair, delay):
    assert delay_adjusted(*pair, delay=delay) == pytest.approx(oracle.delay_adjusted(*pair, delay), abs=1e-12)


def test_by_hand():
    labels = [1, 1, 1, 1, 0, 1, 1, 0, 0, 0]
    predictions = [0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    # the first event (4 steps) is filled, the second (2) missed, one false alarm
    assert oracle.point_adjusted(labels, predictions) == pytest.approx((4 / 5, 4 / 6, 8 / 11))
    assert oracle.pa_auc_roc(labels, predictions) == pytest.approx((1 + 4 / 6 - 1 / 4) / 2)
    # one step of four is 25 percent: exceeded by 24, not by 25
    assert oracle.point_adjusted_k(labels, predictions, 24)[1] == pytest.approx(4 / 6)
    assert oracle.point_adjusted_k(labels, predictions, 25) == pytest.approx((1 / 2, 1 / 6, 1 / 4))
    # F1 is 8/11 for k = 0..24 and 1/4 from 25 on
    assert oracle.point_adjusted_k_area(labels, predictions) == pytest.approx((24.5 * 8 / 11 + 75.5 / 4) / 100)
    assert oracle.delay_adjusted(labels, predictions, 3)[1] == pytest.approx(4 / 6)
    assert oracle.delay_adjusted(labels, predictions, 2) == (0.0, 0.0, 0.0)


def test_share_is_compared_in_whole_numbers():
    # 29 of 100 steps do not exceed 29 percent, though 29 / 100 * 100 does in floating point
    labels, predictions = np.ones(100, dtype=int), np.arange(100) < 29
    assert point_adjusted_k(labels, predictions, k=29).recall == 0.29
    assert point_adjusted_k(labels, predictions, k=28).recall == 1.0


@given(labels_and_predictions())
def test_the_ends_of_the_share_are_point_adjustment_and_none(pair):
    assert point_adjusted_k(*pair, k=0) == point_adjusted(*pair)
    assert point_adjusted_k(*pair, k=100) == pytest.approx(oracle.point(*pair), abs=1e-12)


@pytest.mark.parametrize("case", prediction_cases("pa_pred"))
def test_golden(case):
    if not case.labels.any():
        for function in (point_adjusted, pa_auc_roc):
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                function(case.labels, case.predictions)
        return
    expected = [case.metrics[f"pa_{name}"] for name in ("precision", "recall", "f1")]
    assert point_adjusted(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)
    if case.labels.all():
        with pytest.raises(UndefinedMetricError):
            pa_auc_roc(case.labels, case.predictions)
    else:
        area = pa_auc_roc(case.labels, case.predictions)
        assert area == pytest.approx(case.metrics["pa_auc_roc"], abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("pak_pred"))
def test_golden_shares(case):
    if not case.labels.any():
        for function in (point_adjusted_k, point_adjusted_k_area):
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                function(case.labels, case.predictions)
        return
    for k in case.params["K"]:
        expected = [case.metrics[f"{name}_K{k}"] for name in ("precision", "recall", "f1")]
        assert point_adjusted_k(case.labels, case.predictions, k=k) == pytest.approx(expected, abs=1e-9, rel=0)
    if "f1_area_trapz_step1" in case.metrics:
        area = point_adjusted_k_area(case.labels, case.predictions)
        assert area == pytest.approx(case.metrics["f1_area_trapz_step1"], abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_delays(case):
    for delay in case.params["dtpa_k"]:
        if not case.labels.any():
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                delay_adjusted(case.labels, case.predictions, delay=delay)
            continue
        # the oracle has no value where everything is predicted; the definition has
        expected = case.metrics.get(f"dt_pa_f1[k={delay}]")
        if expected is None:
            expected = oracle.delay_adjusted(case.labels, case.predictions, delay)[2]
        assert delay_adjusted(case.labels, case.predictions, delay=delay).f1 == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("paper_repo"))
def test_what_the_authors_scripts_print(case):
    if not case.labels.any():
        return
    predictions = case.predictions
    expected = [case.metrics[f"pa_{name}"] for name in ("precision", "recall", "f1")]
    if case.labels[0] and not predictions[0] and predictions[: int(np.argmin(case.labels))].any():
        # their backward loop never fills index 0
        assert point_adjusted(case.labels, predictions).recall > expected[1]
    else:
        assert point_adjusted(case.labels, predictions) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("labels", "predictions", "printed"), scenarios("point_adjusted"))
def test_paper(labels, predictions, printed):
    assert point_adjusted(labels, predictions).f1 == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize(("k", "error"), [(-1, ValueError), (101, ValueError), (20.0, TypeError), (True, TypeError)])
def test_share_is_checked(k, error):
    with pytest.raises(error, match="k must be"):
        point_adjusted_k([0, 1], [0, 1], k=k)


@pytest.mark.parametrize(("delay", "error"), [(-1, ValueError), (7.0, TypeError)])
def test_delay_is_checked(delay, error):
    with pytest.raises(error, match="delay must be"):
        delay_adjusted([0, 1], [0, 1], delay=delay)
