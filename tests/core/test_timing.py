"""When the first alarm of an event comes, and what that is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import timing as oracle
from pateval.metrics.timing import timing_after_rate, timing_quality, timing_quality_events
from pateval.validation.arrays import UndefinedMetricError
from support.messages import raises_exactly
from support.strategies import labels_and_predictions


@pytest.mark.parametrize("function", [timing_quality, timing_after_rate])
@given(pair=labels_and_predictions())
def test_agrees_with_the_definition(function, pair):
    expected = getattr(oracle, function.__name__)(*pair)
    if expected is None:
        with pytest.raises(UndefinedMetricError, match="no event is detected"):
            function(*pair)
    else:
        assert function(*pair) == pytest.approx(expected, abs=1e-12)


@given(labels_and_predictions(), st.floats(0.01, 20))
def test_each_event_agrees_with_the_definition(pair, exponent):
    found = timing_quality_events(*pair, exponent=exponent)
    for values, expected in zip(found, oracle.timing_quality_events(*pair, exponent), strict=True):
        assert values == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_by_hand():
    assert oracle.timing_quality([0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 0, 0]) == pytest.approx(1 / 2)
    # one step early of a reach of four; then the reach is cut to the onset before, three steps away
    assert oracle.timing_quality([0, 1, 1, 1, 1], [1, 1, 0, 0, 0]) == pytest.approx((3 / 4) ** math.e)
    labels, predictions = [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 1, 0, 0, 0]
    assert oracle.timing_quality(labels, predictions) == pytest.approx((1 + (2 / 3) ** math.e) / 2)
    assert oracle.timing_after_rate(labels, predictions) == 1 / 2
    # a quarter late: 1 / (1 + (1 / 3) ** e)
    assert oracle.timing_quality([1, 1, 1, 1], [0, 1, 0, 0]) == pytest.approx(1 / (1 + (1 / 3) ** math.e))


def test_nothing_detected_is_nan_throughout():
    for values in timing_quality_events([0, 1, 0, 1], [1, 0, 1, 0]):
        assert np.isnan(values).tolist() == [True, True]


@pytest.mark.parametrize("function", [timing_quality, timing_after_rate, timing_quality_events])
def test_no_anomaly(function):
    with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
        function([0, 0, 0], [0, 1, 0])


@pytest.mark.parametrize("exponent", [0, -1, math.inf, math.nan, "e", True])
def test_the_exponent_is_checked(exponent):
    with pytest.raises((ValueError, TypeError), match="exponent must be a finite number above 0"):
        timing_quality_events([0, 1], [0, 1], exponent=exponent)
