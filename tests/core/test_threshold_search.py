"""The best threshold of any metric: against exhaustive search, references, and bad arguments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from oracles import thresholds as oracle
from pateval.catalog import catalogue
from support.messages import raises_exactly
from support.score_cases import ScoreCase, number, score_cases
from support.strategies import labels_and_scores

SWEPT = [name for name, metric in catalogue().items() if metric.sweep is not None]
ON_PREDICTIONS = [name for name, metric in catalogue().items() if metric.needs_threshold]


def value(metric, labels, predictions):
    result = metric.function(labels, predictions)
    return float(getattr(result, metric.field) if metric.field else result)


def exhaustive(metric, labels, scores):
    """Every distinct score, highest first; the first of the best."""
    best = None
    for level in sorted(set(scores.tolist()), reverse=True):
        try:
            found = value(metric, labels, scores >= level)
        except pv.UndefinedMetricError:
            continue
        if best is None or (found > best[1] if metric.higher_is_better else found < best[1]):
            best = (level, found)
    return best


@pytest.mark.parametrize("name", ON_PREDICTIONS)
def test_agrees_with_exhaustive_search(name):
    metric = catalogue()[name]

    @settings(max_examples=25)
    @given(labels_and_scores(max_size=25))
    def check(pair):
        labels, scores = pair
        expected = exhaustive(metric, labels, scores)
        if expected is None:
            with pytest.raises(pv.UndefinedMetricError):
                pv.best_threshold(labels, scores, metric=name)
            return
        best = pv.best_threshold(labels, scores, metric=name)
        assert best.value == pytest.approx(expected[1], abs=1e-12)
        # Equal fractions may differ in the last digit where the metric divides twice, so the sweeps, which compare
        # single divisions, may find the tie with the higher threshold.
        assert best.threshold >= expected[0] if name in SWEPT else best.threshold == expected[0]
        assert value(metric, labels, scores >= best.threshold) == pytest.approx(best.value, abs=1e-12)

    check()


def test_which_metrics_are_swept():
    functions = ("point", "point_adjusted", "point_adjusted_k", "delay_adjusted", "composite", "segment")
    assert ["pate_f1", *(f"{name}_f1" for name in functions)] == SWEPT


@pytest.mark.parametrize("case", score_cases("pa_best"))
def test_references(case: ScoreCase):
    for metric, field in {"point_f1": "point_f1_best_exact", "point_adjusted_f1": "pa_f1_best_exact"}.items():
        best, reference = pv.best_threshold(case.labels, case.scores, metric=metric), number(case.metrics.get(field))
        assert reference is None or best.value == pytest.approx(reference, abs=1e-9)
        flagged = (case.scores >= best.threshold).tolist()
        assert float(getattr(oracle, metric)(case.labels.tolist(), flagged)) == pytest.approx(best.value, abs=1e-12)
    assert pv.best_threshold(case.labels, case.scores) == pv.best_threshold(case.labels, case.scores, metric="point_f1")


def test_lower_is_better_is_minimised():
    labels, scores = [0, 0, 1, 1, 1, 0], [0.3, 0.1, 0.5, 0.9, 0.7, 0.2]
    assert pv.best_threshold(labels, scores, metric="mean_detection_delay") == (0.5, 0.0)
    assert pv.best_threshold(labels, scores, metric="temporal_distance") == (0.5, 0.0)
    assert pv.best_threshold(labels, scores, metric="false_alarm_rate") == (0.9, 0.0)


def test_a_given_function_is_maximised():
    labels, scores = [0, 0, 1, 0], [1.0, 4.0, 3.0, 2.0]
    assert pv.best_threshold(labels, scores, metric=lambda _, flagged: -abs(int(flagged.sum()) - 2)) == (3.0, 0.0)
    # A PRF counts by its F1; equal values give the highest threshold; undefined and NaN ones are passed over.
    assert pv.best_threshold(labels, scores, metric=lambda *_: pv.PRF(1.0, 0.0, 0.5)) == (4.0, 0.5)
    assert pv.best_threshold(labels, scores, metric=pv.point) == pv.best_threshold(labels, scores)

    def undefined_above_two(_, flagged):
        if flagged.sum() < 2:
            raise pv.UndefinedMetricError("nothing found")
        return float("nan") if flagged.sum() == 2 else 7

    assert pv.best_threshold(labels, scores, metric=undefined_above_two) == (2.0, 7.0)
    with raises_exactly(
        pv.UndefinedMetricError, "the best threshold is undefined: the metric is undefined at every threshold"
    ):
        pv.best_threshold(labels, scores, metric=lambda *_: float("nan"))


@given(st.integers(1, 120))
def test_candidates_are_spread_by_rank(candidates):
    seen = []
    scores = np.arange(100.0)
    pv.best_threshold(
        scores > 90, scores, metric=lambda _, flagged: seen.append(int(flagged.sum())) or 0.0, candidates=candidates
    )
    assert len(seen) == min(candidates, 100)
    assert seen[0] == 1
    assert candidates == 1 or seen[-1] == 100
    assert max(np.diff(seen), default=1) - min(np.diff(seen), default=1) <= 1


def test_best_of_a_precision_is_at_the_best_f1_with_the_same_options():
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1, 0, 1, 0], [20, 6, 30, 9, 20])
    scores = np.round(labels * 0.4 + rng.random(labels.size), 2)
    options = ("alpha=0.9,cardinality=reciprocal", "alpha=0.1,bias=front", "")
    ids = [f"range_based_precision({text},threshold=best)".replace("(,", "(") for text in options]
    found = pv.evaluate(
        labels, scores, metrics=["range_based_f1", *ids, "vus_predictions_recall(window=9,threshold=best)"]
    )
    for name, text in zip(ids, options, strict=True):
        best = pv.best_threshold(labels, scores, metric=f"range_based_f1({text})")
        chosen = dict(part.split("=") for part in text.split(",")) if text else {}
        chosen = {key: float(value) if key == "alpha" else value for key, value in chosen.items()}
        assert found.thresholds(name) == (best.threshold,)
        assert found[name] == pv.range_based(labels, scores >= best.threshold, **chosen).precision
    best = pv.best_threshold(labels, scores, metric="vus_predictions_f1(window=9)")
    assert found.thresholds("vus_predictions_recall(window=9,threshold=best)") == (best.threshold,)


def test_candidates_do_not_limit_the_sweeps():
    rng = np.random.default_rng(0)
    labels, scores = rng.random(200) < 0.1, rng.random(200)
    assert pv.best_threshold(labels, scores, candidates=1) == pv.best_threshold(labels, scores)
    few, all_of_them = (
        pv.best_threshold(labels, scores, metric="affiliation_f1", candidates=n).value for n in (5, None)
    )
    assert few <= all_of_them


def test_undefined_and_bad_arguments():
    for metric in ("point_f1", "affiliation_f1", lambda *_: 1.0):
        with raises_exactly(pv.UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            pv.best_threshold([0, 0], [1, 2], metric=metric)
    with raises_exactly(
        ValueError, "pate is computed from scores and needs no threshold; name a metric on predictions"
    ):
        pv.best_threshold([0, 1], [1, 2], metric="pate")
    with raises_exactly(ValueError, "unknown metric 'point'; did you mean 'point_f1'? ('pateval metrics' lists them)"):
        pv.best_threshold([0, 1], [1, 2], metric="point")
    with raises_exactly(ValueError, "candidates must be a positive integer; got 0"):
        pv.best_threshold([0, 1], [1, 2], candidates=0)
    with raises_exactly(
        ValueError,
        "labels must be 0 or 1 at every step; found 0.1 at index 0 (3 such values in 3): the arguments look "
        "swapped; labels come first",
    ):
        pv.best_threshold([0.1, 0.2, 0.9], [0, 1, 0])
    with raises_exactly(
        pv.UndefinedMetricError, "the best threshold is undefined: the metric is undefined at every threshold"
    ):
        pv.best_threshold([0, 1, 0], [1, 2, 3], metric="nab")
