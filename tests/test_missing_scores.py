"""Missing scores in every metric on scores: left out, or never predicted, against literal curves that end early."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from oracles import event_weighted, ranking, ts_auprc, vus
from pateval.catalog import catalogue
from support.messages import raises_exactly
from support.strategies import labels_and_scores

EXACT = dict(rel=0, abs=1e-12)
FEW = settings(max_examples=15)  # the oracles of areas at many widths are slow
ON_SCORES = [metric for metric in catalogue(emerging=True).values() if metric.takes == "scores"]
NEEDS_ALL_VALUES = {"detection_quality", "confidence_consistency"}
TAKES_MISSING = [metric for metric in ON_SCORES if metric.id not in NEEDS_ALL_VALUES]


@pytest.fixture(autouse=True)
def _coarse_scores_are_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        yield


@st.composite
def with_gaps(draw):
    """Truth, scores with NaN in some places, and the scores with one value below all others there."""
    labels, scores = draw(labels_and_scores(max_size=25))
    absent = np.array(draw(st.lists(st.sampled_from([False, False, True]), min_size=labels.size, max_size=labels.size)))
    absent[draw(st.integers(0, labels.size - 1))] = False
    lowest = scores[~absent].min() - 1
    return labels, np.where(absent, np.nan, scores), np.where(absent, lowest, scores)


def trapezoids(points):
    area, recall_before, precision_before = 0.0, 0.0, 1.0
    for recall, precision in points:
        area += (recall - recall_before) * (precision + precision_before) / 2
        recall_before, precision_before = recall, precision
    return area


def steps(points):
    area, recall_before = 0.0, 0.0
    for recall, precision in points:
        area += (recall - recall_before) * precision
        recall_before = recall
    return area


def test_every_metric_on_scores_says_what_becomes_of_missing_ones():
    silent = {metric.id for metric in ON_SCORES if "missing" not in inspect.signature(metric.function).parameters}
    assert silent == NEEDS_ALL_VALUES


@pytest.mark.parametrize("metric", TAKES_MISSING, ids=lambda metric: metric.id)
@FEW
@given(with_gaps())
def test_left_out_is_as_if_never_recorded(metric, case):
    labels, scores, _ = case
    kept = ~np.isnan(scores)
    if metric.name.startswith("pate"):
        return  # its clock remembers what was left out: tests/core/test_pate_clock.py
    outcomes = []
    for arguments, options in (((labels, scores), {"missing": "ignore"}), ((labels[kept], scores[kept]), {})):
        try:
            outcomes.append(metric.function(*arguments, **options))
        except pv.UndefinedMetricError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("metric", TAKES_MISSING, ids=lambda metric: metric.id)
@pytest.mark.parametrize("missing", ["ignore", "normal"])
def test_where_nothing_is_missing_nothing_changes(metric, missing):
    labels, scores = np.array([0, 0, 1, 1, 0, 0, 0, 0]), np.array([0.1, 0.6, 0.4, 0.9, 0.5, 0.2, 0.3, 0.7])
    assert metric.function(labels, scores, missing=missing) == metric.function(labels, scores)


@FEW
@given(with_gaps())
def test_rank_statistics_tie_missing_steps_below_all_others(case):
    labels, scores, filled = case
    if labels.all():
        return
    assert pv.auc_roc(labels, scores, missing="normal") == pytest.approx(ranking.auc_roc(labels, filled), **EXACT)
    for variant in ("tsb-ad", "original", "timeeval"):
        expected, _ = vus.vus(labels, filled, 5, None, variant)
        found = pv.vus_roc(labels, scores, window=5, thresholds=None, variant=variant, missing="normal")
        assert found == pytest.approx(expected, **EXACT)


@settings(max_examples=40)
@given(with_gaps())
def test_curves_end_at_the_lowest_present_score(case):
    labels, scores, filled = case
    levels = sorted(set(scores[~np.isnan(scores)].tolist()), reverse=True)
    flagged = [scores >= level for level in levels]
    points = [((labels & each).sum() / labels.sum(), (labels & each).sum() / each.sum()) for each in flagged]
    assert pv.average_precision(labels, scores, missing="normal") == pytest.approx(steps(points), **EXACT)
    assert pv.auc_pr(labels, scores, missing="normal") == pytest.approx(trapezoids(points), **EXACT)

    points = ts_auprc.curve(labels, filled, True)[: len(levels)]
    found = pv.ts_curve(labels, scores, missing="normal")
    assert list(found.recall) == pytest.approx([float(recall) for recall, _ in points], **EXACT)
    assert list(found.precision) == pytest.approx([float(precision) for _, precision in points], **EXACT)

    for variant, area in (("tsb-ad", steps), ("original", trapezoids), ("timeeval", trapezoids)):
        points = vus.curve(labels.tolist(), flagged, 4, variant)
        expected = area([(recall, precision) for _, recall, precision in points])
        found = pv.range_auc_pr(labels, scores, window=4, thresholds=None, variant=variant, missing="normal")
        assert found == pytest.approx(expected, **EXACT)


@given(with_gaps())
def test_events_without_a_present_score_are_never_found(case):
    labels, scores, _ = case
    levels = sorted(set(scores[~np.isnan(scores)].tolist()), reverse=True)
    results = [event_weighted.event_weighted(labels, scores >= level) for level in levels]
    best = max((2 * p * r / (p + r) if p + r else 0.0) for p, r, *_ in results)
    assert pv.event_weighted_best_f1(labels, scores, missing="normal") == pytest.approx(best, **EXACT)
    expected = steps([(float(recall), float(precision)) for precision, recall, *_ in results])
    found = pv.event_weighted_average_precision(labels, scores, missing="normal")
    assert found == pytest.approx(expected, **EXACT)


@given(with_gaps(), st.integers(1, 5))
def test_the_top_k_are_present_scores(case, k):
    labels, scores, _ = case
    k = min(k, labels.size)
    present = sorted(scores[~np.isnan(scores)].tolist(), reverse=True)
    flagged = scores >= present[min(k, len(present)) - 1]
    expected = (labels & flagged).sum() / flagged.sum()
    assert pv.precision_at_k(labels, scores, k=k, missing="normal") == pytest.approx(expected, **EXACT)


def test_what_a_missing_or_infinite_score_is_told():
    with raises_exactly(
        ValueError,
        "scores must be finite at every step; found NaN at index 1 (1 such value in 3): pass missing='ignore' to "
        "leave such steps out, or missing='normal' to count them as never predicted",
    ):
        pv.auc_roc([0, 1, 0], [0.1, np.nan, 0.2])
    with raises_exactly(
        ValueError,
        "scores must be finite at every step; found an infinite value at index 2 (1 such value in 3): put a finite "
        "number above or below all others in its place, or NaN where the score is not known",
    ):
        pv.auc_roc([0, 1, 0], [0.1, np.nan, np.inf], missing="normal")
    with raises_exactly(pv.UndefinedMetricError, "the metric is undefined: every score is missing"):
        pv.auc_roc([0, 1], [np.nan, np.nan], missing="normal")
