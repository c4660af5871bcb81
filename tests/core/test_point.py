"""Precision, recall and F1 of single steps."""

from __future__ import annotations

import pytest
from hypothesis import given

from oracles import point as oracle
from pateval.metrics.point import point
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases, scenarios
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@given(labels_and_predictions())
def test_agrees_with_the_definition(pair):
    assert point(*pair) == pytest.approx(oracle.point(*pair), abs=1e-12)


def test_by_hand():
    # steps 2, 3 are right, 1 is a false alarm, 4 is missed
    assert oracle.point([0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0]) == pytest.approx((2 / 3, 2 / 3, 2 / 3))


@pytest.mark.parametrize("case", prediction_cases("pa_pred"))
def test_golden(case):
    if not case.labels.any():
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            point(case.labels, case.predictions)
        return
    expected = [case.metrics[name] for name in ("precision", "recall", "f1")]
    assert point(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("paper_repo"))
def test_what_the_authors_scripts_print(case):
    if case.labels.any():
        expected = [case.metrics[f"std_{name}"] for name in ("precision", "recall", "f1")]
        assert point(case.labels, case.predictions) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("labels", "predictions", "printed"), scenarios("point"))
def test_paper(labels, predictions, printed):
    assert point(labels, predictions).f1 == pytest.approx(printed, abs=0.005)
