"""TaPR and eTaPR."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import tapr as oracle
from pateval.metrics.tapr import etapr, tapr
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases, scenarios
from support.messages import raises_exactly
from support.strategies import labels_and_predictions

# With zones, a score may equal a round threshold but for the last bit, which depends on the order of summation.
ROUND = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])
ODD = st.sampled_from([0.0, 0.1237, 0.4371, 0.7613])


@given(labels_and_predictions(), ROUND, ROUND)
def test_tapr_without_zones_agrees_with_the_definition(pair, theta, alpha):
    assert tapr(*pair, theta=theta, alpha=alpha) == pytest.approx(oracle.tapr(*pair, theta, 0, alpha), abs=1e-12)


@given(labels_and_predictions(), ODD, st.integers(0, 50), ROUND)
def test_tapr_agrees_with_the_definition(pair, theta, delta, alpha):
    values = tapr(*pair, theta=theta, delta=delta, alpha=alpha)
    assert values == pytest.approx(oracle.tapr(*pair, theta, delta, alpha), abs=1e-12)


@given(labels_and_predictions(), ROUND, ROUND)
def test_etapr_without_zones_agrees_with_the_definition(pair, theta_p, theta_r):
    values = etapr(*pair, theta_p=theta_p, theta_r=theta_r)
    assert values == pytest.approx(oracle.etapr(*pair, theta_p, theta_r), abs=1e-12)


@given(labels_and_predictions(), ODD, ODD, st.floats(0, 1))
def test_etapr_agrees_with_the_definition(pair, theta_p, theta_r, delta):
    values = etapr(*pair, theta_p=theta_p, theta_r=theta_r, delta=delta)
    assert values == pytest.approx(oracle.etapr(*pair, theta_p, theta_r, delta), abs=1e-12)


def test_tapr_by_hand():
    labels = [0, 1, 1, 1, 1, 0, 0, 0, 1, 1]
    predictions = [0, 0, 0, 0, 1, 1, 1, 0, 0, 0]
    # one step of four, none of two; one step of three is right
    assert oracle.tapr(labels, predictions, theta=0.25)[:2] == pytest.approx((2 / 3, (1 / 2 + 1 / 8) / 2))
    # a zone of three steps, at -6, 0 and 6 on the logistic curve: the first two are predicted
    credit = 1 / (1 + math.exp(-6)) + 1 / 2
    precision, recall, _ = oracle.tapr(labels, predictions, theta=0.9, delta=2)
    assert precision == pytest.approx((1 + credit) / 3 / 2)
    assert recall == pytest.approx((1 + credit) / 4 / 2 / 2)


def test_zone_ends_by_hand():
    event, following = [1, 2], [5, 6]
    assert list(oracle.zone_credits(event, following, 2)) == [3, 4, 5]  # ends on the next event's first step: kept
    assert list(oracle.zone_credits(event, following, 3)) == [3, 4]  # ends beyond it: cut before it
    assert oracle.zone_credits(event, following, 0) == {}  # a single step is no zone


def test_etapr_by_hand():
    labels = [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    predictions = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert oracle.etapr(labels, predictions, 0.5, 0.5) == pytest.approx(
        (math.sqrt(2) / (math.sqrt(2) + 1), 0.75 / 2, oracle.f1_of(math.sqrt(2) / (math.sqrt(2) + 1), 0.75 / 2))
    )
    # a run of which a quarter is right is dropped, and with it the event it covered
    assert oracle.etapr([1, 0, 0, 0], [1, 1, 1, 1], 0.5, 0.1) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("case", prediction_cases("tapr"))
def test_golden_tapr(case):
    for theta, delta in case.params["tapr_grid"]:
        if not case.labels.any():
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                tapr(case.labels, case.predictions, theta=theta, delta=delta)
            continue
        expected = [case.metrics[f"{name}_a0.5[theta={theta},delta={delta}]"] for name in ("TaP", "TaR")]
        values = tapr(case.labels, case.predictions, theta=theta, delta=delta)
        assert values[:2] == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("tapr"))
def test_golden_etapr(case):
    for theta_p, theta_r, delta in case.params["etapr_grid"]:
        options = {"theta_p": theta_p, "theta_r": theta_r, "delta": delta}
        if not case.labels.any():
            with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                etapr(case.labels, case.predictions, **options)
            continue
        key = f"[theta_p={theta_p},theta_r={theta_r},delta={delta}]"
        expected = [case.metrics[name + key] for name in ("eTaP", "eTaR", "eTaF1")]
        if None in expected:
            assert not case.predictions.any()
            expected = [0.0, 0.0, 0.0]
        assert etapr(case.labels, case.predictions, **options) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("paper_repo"))
def test_what_the_authors_scripts_print(case):
    expected = [case.metrics[f"etapr_{name}"] for name in ("precision", "recall", "f1")]
    if None not in expected:
        values = etapr(case.labels, case.predictions, theta_p=0.5, theta_r=0.01)
        assert values == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("labels", "predictions", "printed"), scenarios("etapr"))
def test_paper(labels, predictions, printed):
    values = etapr(labels, predictions, theta_p=0.5, theta_r=0.01, delta=0.0)
    assert values.f1 == pytest.approx(printed, abs=0.005)


def test_nothing_predicted():
    labels, silence = [0, 1, 1, 0, 1], [0, 0, 0, 0, 0]
    assert tapr(labels, silence) == (0, 0, 0)
    assert tapr(labels, silence, theta=0, alpha=0.3, delta=2) == (0, 0.3, 0)
    assert etapr(labels, silence, theta_p=0, theta_r=0) == (0, 0, 0)


def test_a_zone_longer_than_the_series():
    labels, predictions = [1, 1, 0, 0], [1, 1, 1, 1]
    assert tapr(labels, predictions, delta=10**30).precision == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("function", "option", "value", "error"),
    [
        (tapr, "theta", 1.1, ValueError),
        (tapr, "delta", 0.5, TypeError),
        (tapr, "delta", -1, ValueError),
        (tapr, "alpha", None, TypeError),
        (etapr, "theta_p", -0.1, ValueError),
        (etapr, "theta_r", float("nan"), ValueError),
        (etapr, "delta", 1.5, ValueError),
    ],
)
def test_options_are_checked(function, option, value, error):
    with pytest.raises(error, match=f"{option} must be"):
        function([0, 1], [0, 1], **{option: value})
