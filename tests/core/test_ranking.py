"""Metrics on the order of the scores against literal oracles, scikit-learn, by hand, and the references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from oracles import ranking as oracle
from pateval.metrics.ranking import (
    auc_pr,
    auc_roc,
    average_precision,
    f1_at_k,
    f1_at_k_ranges,
    precision_at_k,
    precision_at_k_ranges,
    ucr_score,
)
from pateval.validation.arrays import UndefinedMetricError
from support.cases import SCENARIO_VALUES, SCENARIOS
from support.messages import raises_exactly
from support.score_cases import ScoreCase, number, score_cases
from support.strategies import labels_and_scores

CLOSE = {"abs": 1e-12, "rel": 0}
ALL = [auc_roc, average_precision, auc_pr, precision_at_k, f1_at_k, precision_at_k_ranges, f1_at_k_ranges, ucr_score]


def by_scikit_learn(labels, scores):
    precision, recall, _ = sklearn.precision_recall_curve(labels, scores)
    return sklearn.average_precision_score(labels, scores), sklearn.auc(recall, precision)


@given(labels_and_scores(max_size=60))
def test_areas_agree_with_the_definition_and_scikit_learn(pair):
    labels, scores = pair
    values = average_precision(labels, scores), auc_pr(labels, scores)
    assert values == pytest.approx((oracle.average_precision(labels, scores), oracle.auc_pr(labels, scores)), **CLOSE)
    assert values == pytest.approx(by_scikit_learn(labels, scores), **CLOSE)
    if not labels.all():
        assert auc_roc(labels, scores) == pytest.approx(oracle.auc_roc(labels, scores), **CLOSE)
        assert auc_roc(labels, scores) == pytest.approx(sklearn.roc_auc_score(labels, scores), **CLOSE)


@pytest.mark.parametrize("decimals", [1, 3, 12])
def test_areas_agree_with_scikit_learn_on_long_series(decimals):
    rng = np.random.default_rng(decimals)
    labels = (rng.random(20_000) < 0.05).astype(int)
    scores = np.round(rng.random(20_000) + 0.3 * labels, decimals)
    assert (average_precision(labels, scores), auc_pr(labels, scores)) == pytest.approx(
        by_scikit_learn(labels, scores), **CLOSE
    )
    assert auc_roc(labels, scores) == pytest.approx(sklearn.roc_auc_score(labels, scores), **CLOSE)


@given(labels_and_scores(), st.none() | st.integers(1, 40))
def test_values_at_k_agree_with_the_definition(pair, k):
    labels, scores = pair
    k = None if k is None else min(k, labels.size)
    expected = oracle.at_k(labels.tolist(), scores.tolist(), k)
    assert (precision_at_k(labels, scores, k=k), f1_at_k(labels, scores, k=k)) == pytest.approx(expected, **CLOSE)
    expected = oracle.at_k_ranges(labels.tolist(), scores.tolist(), k)
    values = precision_at_k_ranges(labels, scores, k=k), f1_at_k_ranges(labels, scores, k=k)
    assert values == pytest.approx(expected, **CLOSE)


@given(labels_and_scores(), st.integers(0, 12))
def test_ucr_score_agrees_with_the_definition(pair, tolerance):
    labels, scores = pair
    events = len(oracle.runs_of(labels))
    if events == 1:
        assert ucr_score(labels, scores, tolerance=tolerance) == oracle.ucr_score(labels, scores, tolerance)
    else:
        with pytest.raises(UndefinedMetricError, match=f"exactly one event; got {events}"):
            ucr_score(labels, scores, tolerance=tolerance)


def test_by_hand():
    # Descending: 9 (anomalous), 7 (normal), 5 (one of each), 1 (normal).
    labels, scores = [1, 0, 1, 0, 0], [9, 7, 5, 5, 1]
    assert oracle.auc_roc(labels, scores) == pytest.approx((3 + 0 + 0.5 + 1) / 6)
    assert oracle.average_precision(labels, scores) == pytest.approx(1 / 2 * 1 + 1 / 2 * 2 / 4)
    assert oracle.auc_pr(labels, scores) == pytest.approx(1 / 2 * 1 + 1 / 2 * (1 / 2 + 2 / 4) / 2)
    assert oracle.at_k(labels, scores, None) == (1 / 2, 1 / 2)
    assert oracle.at_k(labels, scores, 3) == (2 / 4, 4 / 6)
    # Two runs are never reached; the last threshold tried is 5, with one run that touches both events.
    assert oracle.at_k_ranges(labels, scores, None) == (1, 1)
    assert oracle.ucr_score([0, 0, 0, 1, 1, 0], [9, 1, 0, 0, 0, 0], 2) == 0
    assert oracle.ucr_score([0, 0, 0, 1, 1, 0], [1, 9, 0, 0, 0, 0], 2) == 1


@pytest.mark.parametrize("case", score_cases("pa_best"))
def test_areas_of_the_references(case: ScoreCase):
    assert average_precision(case.labels, case.scores) == pytest.approx(case.metrics["auc_pr_ap"], abs=1e-9)
    if not case.labels.all():
        assert auc_roc(case.labels, case.scores) == pytest.approx(case.metrics["auc_roc"], abs=1e-9)


@pytest.mark.parametrize("case", score_cases("paper_repo"))
def test_areas_of_the_authors_scripts(case: ScoreCase):
    expected = number(case.metrics["auc_pr"])
    assert expected is None or auc_pr(case.labels, case.scores) == pytest.approx(expected, abs=1e-9)
    expected = number(case.metrics["auc_roc"])
    if expected is not None and not case.labels.all():
        assert auc_roc(case.labels, case.scores) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("case", score_cases("score_misc"))
def test_references(case: ScoreCase):
    pair, expected = (case.labels, case.scores), case.metrics
    assert precision_at_k(*pair) == pytest.approx(expected["precision_at_k"], abs=1e-9)
    for k in (None, 1, 3):
        assert precision_at_k_ranges(*pair, k=k) == pytest.approx(
            expected[f"timeeval_precision_at_k_ranges[k={k}]"], abs=1e-9
        )
        assert f1_at_k_ranges(*pair, k=k) == pytest.approx(expected[f"timeeval_f_at_k_ranges[k={k}]"], abs=1e-9)
    for name, tolerance in {"None": 0, "1": 1, "10": 10, "100": 100}.items():
        reference = number(expected[f"ucr_score[tol={name}]"])
        if reference is None:
            with pytest.raises(UndefinedMetricError):
                ucr_score(*pair, tolerance=tolerance)
        else:
            assert ucr_score(*pair, tolerance=tolerance) == reference


@pytest.mark.parametrize(
    ("scenario", "roc", "pr"),
    list(zip(SCENARIOS, SCENARIO_VALUES["auc_roc"], SCENARIO_VALUES["auc_pr"], strict=True)),
)
def test_the_papers_table(scenario, roc, pr):
    assert f"{auc_roc(*SCENARIOS[scenario]):.2f}" == f"{roc:.2f}"
    assert f"{auc_pr(*SCENARIOS[scenario]):.2f}" == f"{pr:.2f}"


def test_undefined_and_extreme():
    for metric in ALL:
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            metric([0, 0, 0], [1, 2, 3])
    with raises_exactly(
        UndefinedMetricError, "the metric is undefined: every step is anomalous, so no alarm can be false"
    ):
        auc_roc([1, 1, 1], [1, 2, 3])
    for metric in ALL[1:]:
        assert metric([1, 1, 1], [1, 2, 3]) == 1
    labels, constant = [0, 0, 1, 0], [2, 2, 2, 2]
    values = auc_roc(labels, constant), average_precision(labels, constant), auc_pr(labels, constant)
    assert values == (0.5, 0.25, (1 + 0.25) / 2)


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (precision_at_k, {"k": 0}, "k must be a positive integer; got 0"),
        (f1_at_k, {"k": 4}, "k must be at most the number of steps, 3; got 4"),
        (precision_at_k_ranges, {"k": 1.5}, "k must be a positive integer; got 1.5"),
        (f1_at_k_ranges, {"k": -1}, "k must be a positive integer; got -1"),
        (ucr_score, {"tolerance": -1}, "tolerance must be a non-negative integer; got -1"),
    ],
)
def test_bad_options(metric, options, message):
    with pytest.raises((TypeError, ValueError)) as error:
        metric([0, 1, 0], [0, 1, 2], **options)
    assert str(error.value) == message
