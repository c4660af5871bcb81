"""Range-based precision and recall."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import range_based as oracle
from pateval.metrics.range_based import BIASES, CARDINALITIES, range_based
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases, scenarios
from support.messages import raises_exactly
from support.strategies import labels_and_predictions

OPTIONS = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
        "precision_alpha": st.sampled_from([0.0, 0.2]),
        "cardinality": st.sampled_from(CARDINALITIES),
        "bias": st.sampled_from(BIASES),
    }
)


@given(labels_and_predictions(), OPTIONS)
def test_agrees_with_the_definition(pair, options):
    assert range_based(*pair, **options) == pytest.approx(oracle.range_based(*pair, **options), abs=1e-12)


def test_by_hand():
    labels = [0, 1, 1, 1, 1, 1, 0, 1, 0]
    predictions = [1, 1, 0, 1, 0, 0, 0, 0, 0]
    # first event: two runs touch it, on its first and third step; second event: missed
    assert oracle.range_based(labels, predictions)[:2] == pytest.approx(((1 / 2 + 1) / 2, 2 / 5 / 2))
    assert oracle.range_based(labels, predictions, cardinality="reciprocal")[1] == pytest.approx(1 / 5 / 2)
    assert oracle.range_based(labels, predictions, bias="front")[1] == pytest.approx((5 + 3) / 15 / 2)
    assert oracle.range_based(labels, predictions, bias="back")[1] == pytest.approx((1 + 3) / 15 / 2)
    assert oracle.range_based(labels, predictions, bias="middle")[1] == pytest.approx((1 + 3) / 9 / 2)
    assert oracle.range_based(labels, predictions, alpha=0.5)[1] == pytest.approx((0.5 + 0.5 * 2 / 5) / 2)
    assert oracle.range_based(labels, predictions, precision_alpha=0.5)[0] == pytest.approx((0.5 + 0.25 + 1) / 2)


@pytest.mark.parametrize("case", prediction_cases("range_pr"))
def test_golden(case):
    if not case.labels.any():
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            range_based(case.labels, case.predictions)
        return
    for name, expected in case.metrics.items():
        what, options = name.rstrip("]").split("[")
        options = dict(re.findall(r"(\w+)=([\w.]+)", options))
        alpha = float(options.get("alpha", 0))
        values = range_based(
            case.labels,
            case.predictions,
            alpha=0.0 if what == "precision_alpha" else alpha,
            precision_alpha=alpha if what == "precision_alpha" else 0.0,
            cardinality=options["card"],
            bias=options["bias"],
        )
        if expected is None:
            assert not case.predictions.any()
            assert values == (0, 0, 0)
        else:
            assert getattr(values, what.removesuffix("_alpha")) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("case", prediction_cases("paper_repo"))
def test_what_the_authors_scripts_print(case):
    expected = [case.metrics[f"rbased_{name}"] for name in ("precision", "recall", "f1")]
    if None not in expected:
        values = range_based(case.labels, case.predictions, alpha=0.2, precision_alpha=0.2)
        assert values == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize(("labels", "predictions", "printed"), scenarios("range_based"))
def test_paper(labels, predictions, printed):
    values = range_based(labels, predictions, alpha=0.2, precision_alpha=0.2)
    assert values.f1 == pytest.approx(printed, abs=0.005)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("alpha", -0.1, ValueError),
        ("alpha", "0", TypeError),
        ("precision_alpha", 1.5, ValueError),
        ("cardinality", "two", ValueError),
        ("bias", "Flat", ValueError),
    ],
)
def test_options_are_checked(option, value, error):
    with pytest.raises(error, match=f"{option} must be"):
        range_based([0, 1], [0, 1], **{option: value})
