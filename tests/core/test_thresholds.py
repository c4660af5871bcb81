"""Thresholds against exhaustive search, by hand, and the references; the tail fit against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from oracles import thresholds as oracle
from pateval.evaluation.run import best_threshold
from pateval.thresholds import (
    apply_threshold,
    median_deviation_threshold,
    peaks_over_threshold,
    quantile_threshold,
    standard_deviation_threshold,
)
from pateval.thresholds.levels import Tail, fit_tail
from pateval.validation.arrays import UndefinedMetricError
from support.messages import raises_exactly
from support.score_cases import ScoreCase, number, score_cases
from support.strategies import labels_and_scores


@pytest.mark.parametrize(
    "metric",
    ["point_f1", "point_adjusted_f1", "point_adjusted_k_f1", "delay_adjusted_f1", "composite_f1", "segment_f1"],
)
@given(pair=labels_and_scores(), k=st.sampled_from([0, 1, 20, 33, 50, 99, 100]), delay=st.integers(0, 10))
def test_sweeps_agree_with_exhaustive_search(metric, pair, k, delay):
    labels, scores = pair
    options = {"point_adjusted_k_f1": {"k": k}, "delay_adjusted_f1": {"delay": delay}}.get(metric, {})

    def literal(truth, predictions):
        return getattr(oracle, metric)(truth, predictions, **options)

    written = ",".join(f"{name}={value}" for name, value in options.items())
    threshold, value = best_threshold(labels, scores, metric=f"{metric}({written})")
    expected_threshold, expected_value = oracle.best(labels.tolist(), scores.tolist(), literal)
    assert threshold == expected_threshold
    assert value == pytest.approx(expected_value, abs=1e-12)


def test_the_oracle_by_hand():
    # Events 1-3 and 6; flagged 2, 3, 5.
    labels, flagged = [0, 1, 1, 1, 0, 0, 1], [0, 0, 1, 1, 0, 1, 0]
    assert oracle.point_f1(labels, flagged) == pytest.approx(2 * 2 / (3 + 4))
    assert oracle.point_adjusted_f1(labels, flagged) == pytest.approx(2 * 3 / (4 + 4))
    assert oracle.point_adjusted_k_f1(labels, flagged, 66) == pytest.approx(2 * 3 / (4 + 4))
    assert oracle.point_adjusted_k_f1(labels, flagged, 67) == pytest.approx(2 * 2 / (3 + 4))
    assert oracle.delay_adjusted_f1(labels, flagged, 0) == 0
    assert oracle.delay_adjusted_f1(labels, flagged, 1) == pytest.approx(2 * 3 / (4 + 4))
    assert oracle.composite_f1(labels, flagged) == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))
    assert oracle.segment_f1(labels, flagged) == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))


@pytest.mark.parametrize("case", score_cases("pa_best"))
def test_references(case: ScoreCase):
    for metric, field in {"point_f1": "point_f1_best_exact", "point_adjusted_f1": "pa_f1_best_exact"}.items():
        best, reference = best_threshold(case.labels, case.scores, metric=metric), number(case.metrics.get(field))
        assert reference is None or best.value == pytest.approx(reference, abs=1e-9)
        flagged = apply_threshold(case.scores, best.threshold).tolist()
        assert float(getattr(oracle, metric)(case.labels.tolist(), flagged)) == pytest.approx(best.value, abs=1e-12)


@pytest.mark.parametrize("case", score_cases("pak_best"))
def test_reference_of_the_adjustment_above_k_percent(case: ScoreCase):
    # The reference flags strictly above a score, so it never flags everything; ours may.
    everything = 2 * case.labels.sum() / (case.labels.size + case.labels.sum())
    for k in (0, 20, 50, 100):
        reference = max(number(case.metrics[f"best_f1_w_pa_K{k}"]) or 0.0, everything)
        best = best_threshold(case.labels, case.scores, metric=f"point_adjusted_k_f1(k={k})")
        assert best.value == pytest.approx(reference, abs=1e-9)


def test_float32_scores_are_compared_exactly():
    scores = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    threshold = best_threshold([0, 1, 1], scores).threshold
    assert apply_threshold(scores, threshold).tolist() == [False, True, True]
    assert apply_threshold(scores, 0.2).tolist() == [False, True, True]  # 0.2 in 32 bits is a little above 0.2
    assert apply_threshold(scores, 0.3).tolist() == [False, False, True]


def test_quantile_by_hand():
    assert quantile_threshold([0, 1, 2, 3], fraction=0.5) == 1.5
    train, test = [1.0, 2.0, 3.0], [4.0, 5.0]
    threshold = quantile_threshold(test, fraction=0.3, train_scores=train)
    assert threshold == pytest.approx(np.percentile([1, 2, 3, 4, 5], 70))
    assert apply_threshold(test, threshold, strict=True).tolist() == [True, True]
    assert quantile_threshold(test, fraction=0) == 5
    assert apply_threshold(test, 5, strict=True).tolist() == [False, False]


def test_deviations_by_hand():
    assert standard_deviation_threshold([0, 2], deviations=2) == 3
    assert median_deviation_threshold([0, 1, 2, 3, 50], deviations=2) == pytest.approx(2 + 2 * 1.4826022185056018)
    normal = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    assert median_deviation_threshold(normal, deviations=3) == pytest.approx(3, abs=1e-3)
    assert standard_deviation_threshold(normal, deviations=3) == pytest.approx(3, abs=1e-3)


@pytest.mark.parametrize("shape", [-0.4, -0.1, 0.0, 0.2, 0.8])
@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_the_tail_is_the_likeliest(shape, scale):
    excesses = stats.genpareto.rvs(shape, scale=scale, size=400, random_state=7)
    fitted = fit_tail(excesses)
    climbed = oracle.tail(excesses.tolist(), *fitted)
    assert fitted == pytest.approx(climbed, rel=1e-4, abs=1e-6)
    truth = oracle.tail_likelihood(excesses.tolist(), shape, scale)
    assert oracle.tail_likelihood(excesses.tolist(), *fitted) >= truth
    assert fitted.shape == pytest.approx(shape, abs=0.15)
    assert fitted.exceeded_with(0.01) == pytest.approx(stats.genpareto.isf(0.01, *fitted[:1], scale=fitted[1]))


def test_the_tail_likelihood_by_hand():
    # Exponential law of mean 2, and (1 + y) ** -2, the density of shape 1 and scale 1.
    assert oracle.tail_likelihood([1, 3], 0, 2) == pytest.approx(-2 * np.log(2) - 2)
    assert oracle.tail_likelihood([1, 3], 1, 1) == pytest.approx(-2 * np.log(2) - 2 * np.log(4))


def test_peaks_over_threshold():
    assert Tail(0.0, 2.0).exceeded_with(np.exp(-3)) == pytest.approx(6)
    assert fit_tail(np.array([3.0])) == (0.0, 3.0)
    rng = np.random.default_rng(3)
    scores = rng.exponential(size=50_000)
    threshold = peaks_over_threshold(scores, risk=1e-3)
    assert threshold == pytest.approx(-np.log(1e-3), rel=0.05)
    assert peaks_over_threshold(5 * scores + 7, risk=1e-3) == pytest.approx(5 * threshold + 7)
    with raises_exactly(UndefinedMetricError, "the threshold is undefined: no score lies above the quantile 0.98, 1.0"):
        peaks_over_threshold([1, 1, 1])
    with raises_exactly(ValueError, "risk must be at most the share of scores above the quantile 0.98, 0.02; got 0.1"):
        peaks_over_threshold(scores, risk=0.1)
    with raises_exactly(ValueError, "risk must be greater than 0; got 0.0"):
        peaks_over_threshold(scores, risk=0)


def test_undefined_and_bad_options():
    for metric in ("point_f1", "segment_f1"):
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            best_threshold([0, 0], [1, 2], metric=metric)
    with raises_exactly(
        ValueError, "the metric point_adjusted_k_f1(k=101) is refused: k must be a percentage from 0 to 100; got 101"
    ):
        best_threshold([0, 1], [1, 2], metric="point_adjusted_k_f1(k=101)")
    with raises_exactly(ValueError, "fraction must be a number in [0, 1]; got 2"):
        quantile_threshold([1, 2], fraction=2)
    for wrong in (float("nan"), True, "3"):
        with raises_exactly(ValueError, f"deviations must be a finite number; got {wrong!r}"):
            standard_deviation_threshold([1, 2], deviations=wrong)
        with raises_exactly(ValueError, f"threshold must be a finite number; got {wrong!r}"):
            apply_threshold([1, 2], wrong)
    with raises_exactly(TypeError, "strict must be True or False; got 1"):
        apply_threshold([1, 2], 1, strict=1)
