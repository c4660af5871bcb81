"""Areas of precision and recall of runs against the literal oracle, by hand, and the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles import ts_auprc as oracle
from pateval.metrics.ts_auprc import ts_auprc, ts_average_precision, ts_curve
from pateval.validation.arrays import UndefinedMetricError
from support.messages import raises_exactly
from support.score_cases import ScoreCase, score_cases
from support.strategies import labels_and_scores

CLOSE = {"abs": 1e-12, "rel": 0}


@given(labels_and_scores(max_size=50), st.booleans())
@example((np.array([1, 0, 1, 0, 1]), np.array([3.0, 2, 3, 1, 3])), True)
@example((np.array([0, 1, 0, 0, 1, 0]), np.array([1.0, 5, 2, 3, 4, 6])), False)
def test_agrees_with_the_definition(pair, weighted):
    labels, scores = pair
    curve = ts_curve(labels, scores, weighted=weighted)
    points = oracle.curve(labels, scores.tolist(), weighted)
    assert curve.thresholds.tolist() == sorted(set(scores.tolist()), reverse=True)
    assert curve.recall == pytest.approx([recall for recall, _ in points], **CLOSE)
    assert curve.precision == pytest.approx([precision for _, precision in points], **CLOSE)
    values = ts_auprc(labels, scores, weighted=weighted), ts_average_precision(labels, scores, weighted=weighted)
    assert values == pytest.approx(oracle.areas(labels, scores.tolist(), weighted), **CLOSE)


def test_agrees_with_the_definition_on_a_longer_series():
    rng = np.random.default_rng(5)
    labels = np.repeat(rng.random(60) < 0.4, rng.integers(1, 10, 60))
    scores = np.round(np.cumsum(rng.normal(size=labels.size)), 1)
    for weighted in (True, False):
        values = ts_auprc(labels, scores, weighted=weighted), ts_average_precision(labels, scores, weighted=weighted)
        assert values == pytest.approx(oracle.areas(labels, scores.tolist(), weighted), **CLOSE)


def test_by_hand():
    # Events 1-3 and 5; thresholds 4: step 1 and 3, in two pieces; 3: and 4, 5, one run of three steps that touches
    # both events; 2: and 2, one run of five; 1: and 0, six.
    labels, scores = [0, 1, 1, 1, 0, 1], [1, 4, 2, 4, 3, 3]
    recalls = [(2 / 3 * 2 / 3 + 0) / 2, (2 / 3 * 2 / 3 + 1) / 2, 1, 1]
    weighted = [1, (1 + 3 * (2 / 3) * (2 / 3)) / 4, 4 / 5 * 4 / 5, 5 / 6 * 4 / 6]
    unweighted = [1, (1 + 2 / 3 * 2 / 3) / 2, 4 / 5 * 4 / 5, 5 / 6 * 4 / 6]
    assert oracle.curve(labels, scores, True) == [pytest.approx(pair) for pair in zip(recalls, weighted, strict=True)]
    assert oracle.curve(labels, scores, False) == [
        pytest.approx(pair) for pair in zip(recalls, unweighted, strict=True)
    ]
    assert ts_average_precision(labels, scores) == pytest.approx(
        recalls[0] + (recalls[1] - recalls[0]) * weighted[1] + (1 - recalls[1]) * weighted[2]
    )


@pytest.mark.parametrize("case", score_cases("ts_auprc"))
def test_reference(case: ScoreCase):
    pair, expected = (case.labels, case.scores), case.metrics
    assert ts_auprc(*pair, weighted=False) == pytest.approx(expected["ts_auprc_unweighted"], abs=1e-6)
    assert ts_average_precision(*pair, weighted=False) == pytest.approx(
        expected["ts_average_precision_unweighted"], abs=1e-6
    )
    if case.derived:
        full = case.derived
        assert ts_auprc(*pair) == pytest.approx(full["ts_auprc_full_denominator"], abs=1e-9)
        assert ts_average_precision(*pair) == pytest.approx(full["ts_average_precision_full_denominator"], abs=1e-9)


def test_undefined_and_extreme():
    for metric in (ts_auprc, ts_average_precision, ts_curve):
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            metric([0, 0, 0], [1, 2, 3])
        with raises_exactly(TypeError, "weighted must be True or False; got 1"):
            metric([0, 1, 0], [1, 2, 3], weighted=1)
    assert ts_auprc([1, 1, 1], [2, 2, 2]) == ts_average_precision([1, 1, 1], [2, 2, 2]) == 1
    assert ts_auprc([0, 0, 1, 0], [2, 2, 2, 2]) == (1 + 0.25) / 2
