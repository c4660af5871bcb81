"""Range-AUC and VUS against the literal oracle, by hand, against the references and the paper's table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracles import vus as oracle
from pateval.metrics.vus import range_auc_pr, range_auc_roc, vus_areas, vus_pr, vus_predictions, vus_roc
from pateval.validation.arrays import UndefinedMetricError
from support.cases import SCENARIO_VALUES, SCENARIOS
from support.messages import raises_exactly
from support.score_cases import ScoreCase, number, score_cases
from support.strategies import labels_and_predictions, labels_and_scores

VARIANTS = ["tsb-ad", "original", "timeeval"]
CLOSE = {"abs": 1e-12, "rel": 0}

windows = st.one_of(st.integers(0, 12), st.integers(13, 70))
thresholds = st.one_of(st.none(), st.just(250), st.integers(1, 30))


@settings(max_examples=150)
@given(labels_and_scores(max_size=30), windows, thresholds, st.sampled_from(VARIANTS))
@example((np.array([0, 0, 1, 0, 0, 0, 0, 1, 0, 0]), np.arange(10.0)), 9, None, "tsb-ad")
@example((np.array([1, 0, 1, 0, 0, 1]), np.array([0, 3, 1, 2, 5, 4.0])), 4, 250, "original")
def test_range_auc_agrees_with_the_definition(pair, window, number_of_thresholds, variant):
    labels, scores = pair
    roc, pr = oracle.range_auc(labels, scores, window, number_of_thresholds, variant)
    options = {"window": window, "thresholds": number_of_thresholds, "variant": variant}
    assert range_auc_pr(labels, scores, **options) == pytest.approx(pr, **CLOSE)
    if not labels.all():
        assert range_auc_roc(labels, scores, **options) == pytest.approx(roc, **CLOSE)


@settings(max_examples=60)
@given(labels_and_scores(max_size=20), st.integers(0, 25), thresholds, st.sampled_from(VARIANTS))
def test_vus_agrees_with_the_definition(pair, window, number_of_thresholds, variant):
    labels, scores = pair
    roc, pr = oracle.vus(labels, scores, window, number_of_thresholds, variant)
    options = {"window": window, "thresholds": number_of_thresholds, "variant": variant}
    assert vus_pr(labels, scores, **options) == pytest.approx(pr, **CLOSE)
    if not labels.all():
        assert vus_roc(labels, scores, **options) == pytest.approx(roc, **CLOSE)


@settings(max_examples=60)
@given(labels_and_predictions(max_size=25), st.integers(0, 30), st.sampled_from(VARIANTS))
def test_predictions_agree_with_the_definition(pair, window, variant):
    labels, predictions = pair
    result = vus_predictions(labels, predictions, window=window, variant=variant)
    expected = oracle.vus_predictions(labels, predictions, window, variant)
    assert (result.precision, result.recall) == pytest.approx(expected if predictions.any() else (0, 0), **CLOSE)


@given(labels_and_scores(), st.integers(0, 20), thresholds, st.sampled_from(VARIANTS))
def test_all_widths_at_once_are_the_single_ones(pair, window, number_of_thresholds, variant):
    labels, scores = pair
    options = {"thresholds": number_of_thresholds, "variant": variant}
    areas = vus_areas(labels, scores, window=window, **options)
    assert areas.pr == pytest.approx(
        [range_auc_pr(labels, scores, window=width, **options) for width in range(window + 1)], **CLOSE
    )
    if labels.all():
        assert np.isnan(areas.roc).all()
    else:
        assert areas.roc.mean() == vus_roc(labels, scores, window=window, **options)
        assert areas.roc[-1] == pytest.approx(range_auc_roc(labels, scores, window=window, **options), **CLOSE)


def test_many_thresholds_do_not_fit_one_block():
    rng = np.random.default_rng(0)
    labels = rng.random(30_000) < 0.02
    scores = rng.random(30_000) + 0.5 * labels
    areas = vus_areas(labels, scores, window=12, thresholds=None)
    sampled = vus_areas(labels, scores, window=12, thresholds=30_000)
    assert areas.roc == pytest.approx(sampled.roc, **CLOSE)
    assert areas.pr == pytest.approx(sampled.pr, **CLOSE)


@pytest.mark.parametrize(
    ("variant", "roc", "pr"),
    [
        # Event at 2, width 2: soft labels .7 1 .7 around it (original: no .7 after it); flagged 1 and 2, then all.
        # TP = 1.7; P = 1 + .35; recall 1; precision .85; false positive rate .3 / 3.65 (.7 as short for sqrt(1/2)).
        ("tsb-ad", 1 - 0.5 * (2 - math.sqrt(0.5) - 1) / (5 - 1 - math.sqrt(0.5) / 2), (1 + math.sqrt(0.5)) / 2),
        # P = (1 + 1.7) / 2, the rest alike; the line from (0, 1) to (1, .85).
        (
            "original",
            1 - 0.5 * (2 - math.sqrt(0.5) - 1) / (5 - 1 - math.sqrt(0.5) / 2),
            (1 + (1 + math.sqrt(0.5)) / 2) / 2,
        ),
        # P = (1 + 2.4) / 2 = 1.7, so that recall is 1 again; the negatives are 5 - 1.7.
        ("timeeval", 1 - 0.5 * (1 - math.sqrt(0.5)) / (4 - math.sqrt(0.5)), (1 + (1 + math.sqrt(0.5)) / 2) / 2),
    ],
)
def test_by_hand(variant, roc, pr):
    labels, scores = [0, 0, 1, 0, 0], [0, 1, 1, 0, 0]
    assert oracle.range_auc(labels, scores, 2, None, variant) == pytest.approx((roc, pr))
    assert range_auc_roc(labels, scores, window=2, variant=variant) == pytest.approx(roc)
    assert range_auc_pr(labels, scores, window=2, variant=variant) == pytest.approx(pr)


@pytest.mark.parametrize("case", score_cases("vus"))
@pytest.mark.parametrize(
    ("variant", "sampled", "volume", "single"),
    [
        ("tsb-ad", None, "vus_{}", "range_auc_{}_curve"),
        ("original", 250, "pate_vus_{}", "pate_RangeAUC_{}"),
        ("timeeval", 250, "timeeval_vus_{}", None),
    ],
)
def test_references(case: ScoreCase, variant, sampled, volume, single):
    options = {"thresholds": sampled or case.params["n_thresholds"], "variant": variant}
    areas = vus_areas(case.labels, case.scores, window=case.params["slidingWindow"], **options)
    if case.labels.all():
        assert areas.pr == pytest.approx(1)
        return
    for name in ("roc", "pr"):
        values = getattr(areas, name)
        expected = {values.mean(): number(case.metrics[volume.format(name)])}
        if single:
            expected[values[-1]] = number(case.metrics.get(single.format(name)))
        for value, reference in expected.items():
            assert reference is None or value == pytest.approx(reference, abs=1e-9)


@pytest.mark.parametrize("case", score_cases("paper_repo"))
def test_the_authors_scripts(case: ScoreCase):
    options = {"window": case.params["vus_windowSize"], "variant": "original"}
    expected = number(case.metrics["vus_pr"])
    if expected is not None:
        assert vus_pr(case.labels, case.scores, **options) == pytest.approx(expected, abs=1e-9)
    expected = number(case.metrics["vus_roc"])
    if expected is not None and not case.labels.all():
        assert vus_roc(case.labels, case.scores, **options) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("scenario", "roc", "pr"),
    list(zip(SCENARIOS, SCENARIO_VALUES["vus_roc"], SCENARIO_VALUES["vus_pr"], strict=True)),
)
def test_the_papers_table(scenario, roc, pr):
    labels, predictions = SCENARIOS[scenario]
    if scenario == "S5":
        assert roc == 0.63
        roc = 0.62  # what the paper's own code gives
    assert round(vus_roc(labels, predictions, window=40, variant="original"), 2) == roc
    assert round(vus_pr(labels, predictions, window=40, variant="original"), 2) == pr


@pytest.mark.parametrize("variant", VARIANTS)
def test_undefined_and_extreme(variant):
    for metric in (vus_roc, vus_pr, range_auc_roc, range_auc_pr, vus_areas):
        with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
            metric([0, 0, 0], [1, 2, 3], variant=variant)
    for metric in (vus_roc, range_auc_roc):
        with raises_exactly(
            UndefinedMetricError, "the metric is undefined: every step is anomalous, so no alarm can be false"
        ):
            metric([1, 1, 1], [1, 2, 3], variant=variant)
    for metric in (vus_pr, range_auc_pr):
        assert metric([1, 1, 1], [1, 2, 3], variant=variant) == pytest.approx(1, abs=1e-12)
    assert vus_predictions([0, 1], [0, 0], variant=variant) == (0, 0, 0)
    assert vus_predictions([1, 1], [1, 1], variant=variant) == (1, 1, 1)


def test_a_perfect_prediction_scores_one():
    labels = np.array([0] * 50 + [1] * 10 + [0] * 40)
    assert vus_pr(labels, labels, window=20) == pytest.approx(1)
    assert vus_roc(labels, labels, window=20) == pytest.approx(1)
    assert vus_pr(labels, labels, window=20, variant="original") < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": -1}, "window must be a non-negative integer; got -1"),
        ({"window": 2.0}, "window must be a non-negative integer; got 2.0"),
        ({"thresholds": 0}, "thresholds must be a positive integer; got 0"),
        ({"variant": "tsbad"}, "variant must be one of 'tsb-ad', 'original', 'timeeval'; got 'tsbad'"),
    ],
)
def test_bad_options(options, message):
    for metric in (vus_roc, vus_pr, range_auc_roc, range_auc_pr, vus_areas):
        with pytest.raises((TypeError, ValueError)) as error:
            metric([0, 1], [0, 1], **options)
        assert str(error.value) == message


@pytest.mark.parametrize("steps", [300, 1500])
def test_a_window_beyond_the_series_is_the_series(steps):
    rng = np.random.default_rng(0)
    labels = (np.arange(steps) % 150) < 10
    scores = rng.random(steps)
    longest = max(steps, 1000)  # short windows are taken as they are, as the references do
    for metric in (vus_pr, vus_roc, range_auc_pr, range_auc_roc):
        assert metric(labels, scores, window=10**6) == metric(labels, scores, window=longest)
    assert vus_predictions(labels, scores > 0.5, window=10**6) == vus_predictions(labels, scores > 0.5, window=longest)
    assert vus_pr(labels[:300], scores[:300], window=500) != vus_pr(labels[:300], scores[:300], window=300)
