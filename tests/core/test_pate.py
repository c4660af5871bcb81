"""PATE against its literal oracle, the authors' numbers, the paper's tables, and by its own laws."""

from __future__ import annotations

import functools
import pickle
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pateval as pv
from conftest import golden
from oracles import pate as oracle
from pateval.compat import PATE
from pateval.kernels import precision_recall
from pateval.labels.events import find_events
from pateval.pate import _counts, _grid, _weights
from support.cases import SCENARIO_VALUES, SCENARIOS
from support.messages import raises_exactly
from support.strategies import labels_and_predictions, labels_and_scores, split_series

EXACT = dict(rel=0, abs=1e-12)
buffer_sets = st.lists(st.integers(0, 14), min_size=1, max_size=3)
MANY = settings(max_examples=max(700, settings().max_examples))


@pytest.fixture(autouse=True)
def _coarse_scores_are_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        yield


def from_runs(runs, length):
    labels = np.zeros(length, dtype=int)
    for first, last in runs:
        labels[first : last + 1] = 1
    return labels


@st.composite
def pooled(draw, pairs):
    """A pair of arrays, sometimes cut into several series."""
    labels, other = draw(pairs)
    return labels, other, split_series(draw, labels.size) if draw(st.booleans()) else None


def as_lists(*arrays):
    return [None if a is None else a.tolist() for a in arrays]


class TestOracle:
    """Cases worked by hand, so that the oracle itself stands on something."""

    def test_zones_of_two_events(self):
        # event 3..4, centre 3.5; event 8..8. early 3, delay 2: delayed 5..6 of the first, early 7 of the second.
        labels = [0, 0, 0, 1, 1, 0, 0, 0, 1, 0]
        events = oracle.find_events(labels)
        assert oracle.zones(events, 3, 2) == [(0, 6), (7, 9)]

    def test_weights(self):
        labels = [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
        # delayed zone 5..7 ends at 7: (7 - 5) / (7 - 3.5) = 4/7; early zone 1..2 begins at 1: (2 - 1) / (3.5 - 1) = 2/5
        found = oracle.counts(labels, [0, 0, 1, 1, 1, 1, 0, 0, 0, 0], 2, 3)
        assert found.tp == 2 + oracle.Fraction(4, 7) + oracle.Fraction(2, 5)
        assert found.tp + found.fp == 4
        assert found.fn == 0

    def test_early_counts_only_with_the_event(self):
        assert oracle.counts([0, 0, 1, 1], [0, 1, 0, 0], 2, 2) == (0, 1, 2)

    def test_missed_steps(self):
        # L = 4, first run r = 1 at u = 1; u = 0 misses fully, u = 2: 1 - (2 + 1) / 6, u = 3: 1 - (3 + 2) / 6
        found = oracle.counts([1, 1, 1, 1], [0, 1, 0, 0], 0, 0)
        assert found.fn == 1 + oracle.Fraction(1, 2) + oracle.Fraction(1, 6)

    def test_recall_can_fall(self):
        labels, predictions = [1] * 12, [int(2 <= u <= 7) for u in range(12)]
        before = oracle.precision_recall(oracle.counts(labels, predictions, 0, 0))[1]
        predictions[0] = 1
        after = oracle.precision_recall(oracle.counts(labels, predictions, 0, 0))[1]
        assert (round(float(before), 4), round(float(after), 4)) == (0.6492, 0.6417)


class TestAgainstOracle:
    @MANY
    @given(pooled(labels_and_scores()), st.integers(0, 45), st.integers(0, 45))
    def test_one_pair(self, case, early, delay):
        labels, scores, series = case
        lists = as_lists(labels, scores)
        points = oracle.curve(*lists, early, delay, as_lists(series)[0])
        options = dict(early=early, delay=delay, series=series)
        assert pv.pate(labels, scores, **options) == pytest.approx(float(oracle.trapezoid(points)), **EXACT)
        assert pv.pate_ap(labels, scores, **options) == pytest.approx(float(oracle.average_precision(points)), **EXACT)
        curve = pv.pate_curve(labels, scores, **options)
        assert curve.precision == pytest.approx([float(p) for p, _ in points], **EXACT)
        assert curve.recall == pytest.approx([float(r) for _, r in points], **EXACT)
        for threshold, *counts in zip(
            curve.thresholds, curve.true_positive, curve.false_positive, curve.false_negative, strict=True
        ):
            predicted = (scores >= threshold).astype(int).tolist()
            expected = oracle.counts(lists[0], predicted, early, delay, as_lists(series)[0])
            assert counts == pytest.approx([float(count) for count in expected], **EXACT)
        assert curve.area == pytest.approx(float(oracle.trapezoid(points)), **EXACT)

    @MANY
    @given(pooled(labels_and_scores(max_size=30)), buffer_sets, buffer_sets)
    @example((np.ones(17, dtype=int), np.repeat([0.0, 0.25, 0.5], [6, 10, 1]), None), [0], [0, 0])
    def test_sets_of_buffers(self, case, early, delay):
        labels, scores, series = case
        options = dict(early=early, delay=delay, series=series)
        for function, literal in ((pv.pate, oracle.pate), (pv.pate_ap, oracle.pate_ap)):
            expected = literal(*as_lists(labels, scores), early, delay, *as_lists(series))
            for few in (0, 10**6):  # all pairs together, and one by one
                with mock.patch.object(_counts, "_MAX_PAIRS_ONE_BY_ONE", few):
                    assert function(labels, scores, **options) == pytest.approx(expected, **EXACT)

    @MANY
    @given(pooled(labels_and_predictions()), buffer_sets, buffer_sets)
    def test_f1(self, case, early, delay):
        labels, predictions, series = case
        expected = oracle.pate_f1(*as_lists(labels, predictions), early, delay, *as_lists(series))
        found = pv.pate_f1(labels, predictions, early=early, delay=delay, series=series)
        assert found == pytest.approx(expected, **EXACT)

    @given(pooled(labels_and_scores(max_size=30)), buffer_sets, buffer_sets, st.data())
    def test_given_thresholds(self, case, early, delay, data):
        labels, scores, series = case
        thresholds = data.draw(st.lists(st.floats(-1, 3), min_size=1, max_size=6))
        expected = oracle.pate(
            *as_lists(labels, scores), early, delay, *as_lists(series), sorted(thresholds, reverse=True)
        )
        options = dict(early=early, delay=delay, series=series)
        assert pv.pate(labels, scores, thresholds=thresholds, **options) == pytest.approx(expected, **EXACT)

    @pytest.mark.parametrize("most_in_batches", [1, 64])
    def test_grid_over_many_chunks(self, monkeypatch, most_in_batches):
        monkeypatch.setattr(_counts, "_MAX_PAIRS_ONE_BY_ONE", 0)
        monkeypatch.setattr(_grid, "_CHUNK", 16)
        monkeypatch.setattr(_grid, "_MAX_PAIRS_IN_BATCHES", most_in_batches)
        monkeypatch.setattr(_grid, "_BATCH_CELLS", 60)
        rng = np.random.default_rng(7)
        for _ in range(40):
            labels = np.repeat(rng.random(80) < 0.4, rng.integers(1, 14, 80)).astype(int)[:300]
            labels[5] = 1
            scores = np.convolve(rng.random(labels.size), np.ones(5), "same") + 0.5 * labels
            early, delay = rng.integers(0, 25, 4).tolist(), rng.integers(0, 25, 3).tolist()
            single = [pv.pate(labels, scores, early=e, delay=d) for e in early for d in delay]
            assert pv.pate(labels, scores, early=early, delay=delay) == pytest.approx(np.mean(single), **EXACT)

    @pytest.mark.parametrize("kind", ["random", "good", "smooth", "coarse", "skewed", "misled"])
    @pytest.mark.parametrize(("steps", "length"), [(120, 5), (2_000, 20), (9_000, 60), (40_000, 400), (60_000, 4_000)])
    def test_all_pairs_together_equal_one_by_one(self, kind, steps, length):
        rng = np.random.default_rng(steps)
        labels = np.zeros(steps, dtype=int)
        for start in rng.integers(0, steps, 1 + steps // (3 * length)):
            labels[start : start + rng.integers(1, length + 1)] = 1
        noise = rng.random(steps)
        scores = {
            "random": noise,
            "good": noise + 0.5 * labels,
            "smooth": np.convolve(noise + 0.2 * labels, np.ones(20) / 20, "same"),
            "coarse": np.round(noise + 0.2 * labels, 2),
            "skewed": noise**8 * (1 + labels),
            "misled": np.convolve(noise - 0.2 * labels, np.ones(9) / 9, "same"),
        }[kind]
        early, delay = [0, 3, 20, 21, 90, 91], [0, 1, 15, 50, 51, 120]
        for function in (pv.pate, pv.pate_ap):
            with mock.patch.object(_counts, "_MAX_PAIRS_ONE_BY_ONE", 10**6):
                expected = function(labels, scores, early=early, delay=delay)
            with mock.patch.object(_counts, "_MAX_PAIRS_ONE_BY_ONE", 0):
                assert function(labels, scores, early=early, delay=delay) == pytest.approx(expected, **EXACT)


class TestAuthorsNumbers:
    @pytest.mark.parametrize("case", golden("pate"), ids=lambda case: case["id"])
    def test_compat(self, case):
        labels, binary = from_runs(case["label_runs"], case["T"]), from_runs(case["binary_runs"], case["T"])
        assert PATE(labels, case["scores"], **case["params"]) == pytest.approx(case["pate"], **EXACT)
        assert PATE(labels, binary, binary_scores=True, **case["params"]) == pytest.approx(case["pate_f1"], **EXACT)

    @pytest.mark.parametrize("case", golden("pate"), ids=lambda case: case["id"])
    def test_public_functions(self, case):
        params = case["params"]
        labels, binary = from_runs(case["label_runs"], case["T"]), from_runs(case["binary_runs"], case["T"])
        splits = params["num_splits_MaxBuffer"]
        early, delay = (
            [int(b) for b in np.linspace(0, m, splits + 1)]
            if params["include_zero"]
            else [int(b) for b in np.linspace(m / splits, m, splits)]
            for m in (params["e_buffer"], params["d_buffer"])
        )
        if not labels.any():
            with pytest.raises(pv.UndefinedMetricError):
                pv.pate(labels, case["scores"], early=early, delay=delay)
            return
        assert pv.pate_f1(labels, binary, early=early, delay=delay) == pytest.approx(case["pate_f1"], **EXACT)
        if params["drop_intermediate"]:
            return
        thresholds = params["num_desired_thresholds"] if params["Big_Data"] else None
        found = pv.pate(labels, case["scores"], early=early, delay=delay, thresholds=thresholds)
        assert found == pytest.approx(case["pate"], **EXACT)

    @pytest.mark.parametrize("case", golden("pate_curve"), ids=lambda case: case["id"])
    def test_curve(self, case):
        labels = from_runs(case["label_runs"], case["T"])
        options = dict(early=case["params"]["e"], delay=case["params"]["d"])
        if not labels.any():
            with pytest.raises(pv.UndefinedMetricError):
                pv.pate_curve(labels, case["scores"], **options)
            return
        curve = pv.pate_curve(labels, case["scores"], **options)
        assert curve.thresholds.tolist() == case["thresholds"]
        assert curve.precision == pytest.approx(case["precision"], **EXACT)
        assert curve.recall == pytest.approx(case["recall"], **EXACT)


@pytest.mark.parametrize(
    ("scenario", "pate", "f1"),
    list(zip(SCENARIOS, SCENARIO_VALUES["pate"], SCENARIO_VALUES["pate_f1"], strict=True)),
)
def test_the_papers_scenarios(scenario, pate, f1):
    labels, predictions = SCENARIOS[scenario]
    assert f"{pv.pate(labels, predictions, early=20, delay=20):.2f}" == f"{pate:.2f}"
    assert f"{pv.pate_f1(labels, predictions, early=20, delay=20):.2f}" == f"{f1:.2f}"


class TestCompatArguments:
    def test_refuses_what_never_had_a_meaning(self):
        with raises_exactly(ValueError, "pos_label other than 1 is not supported: label anomalies 1 instead"):
            PATE([0, 1], [0.1, 0.9], pos_label=0)
        with raises_exactly(
            ValueError, "sample_weight is not supported: it never weighted anything but the choice of thresholds"
        ):
            PATE([0, 1], [0.1, 0.9], sample_weight=[1, 1])

    def test_n_jobs_changes_nothing(self):
        labels, scores = [0, 0, 1, 1, 0], [0.1, 0.5, 0.4, 0.9, 0.2]
        assert PATE(labels, scores, n_jobs=-1) == PATE(labels, scores, n_jobs=4) == PATE(labels, scores)

    def test_no_anomaly_is_zero_as_in_the_package(self):
        assert PATE([0, 0, 0], [0.1, 0.2, 0.3]) == 0.0

    def test_binary_scores_are_positive_scores(self):
        labels, scores = [0, 0, 1, 1, 0], [-0.1, 0.0, 0.4, 2.0, 0.0]
        expected = pv.pate_f1(labels, [0, 0, 1, 1, 0], early=(0, 3), delay=(0, 3))
        assert PATE(labels, scores, e_buffer=3, d_buffer=3, binary_scores=True) == expected


class TestAccumulator:
    @given(pooled(labels_and_scores(max_size=30)), buffer_sets, buffer_sets, st.data())
    def test_equals_pate_at_its_thresholds(self, case, early, delay, data):
        labels, scores, series = case
        thresholds = data.draw(st.lists(st.floats(-1, 2), min_size=1, max_size=6))
        series = np.zeros(labels.size, dtype=int) if series is None else series
        parts = [(labels[series == s], scores[series == s]) for s in np.unique(series)]
        expected = pv.pate(labels, scores, early=early, delay=delay, series=series, thresholds=thresholds)

        one = pv.PateAccumulator(early, delay, thresholds)
        for part in parts:
            one.update(*part)
        assert one.compute() == pytest.approx(expected, **EXACT)
        assert pv.PateAccumulator(early, delay, thresholds).update(labels, scores, series=series).compute() == (
            pytest.approx(expected, **EXACT)
        )
        left, right = (pv.PateAccumulator(early, delay, thresholds) for _ in range(2))
        for place, part in enumerate(parts):
            (left, right)[place % 2].update(*part)
        right = pickle.loads(pickle.dumps(right)).merge(left)  # noqa: S301  # our own bytes
        assert right.compute() == pytest.approx(expected, **EXACT)
        assert right.steps == labels.size
        exact = pv.PateAccumulator(early, delay, scores).update(labels, scores, series=series)
        options = dict(early=early, delay=delay, series=series)
        assert exact.compute() == pytest.approx(pv.pate(labels, scores, **options), **EXACT)
        assert exact.compute_ap() == pytest.approx(pv.pate_ap(labels, scores, **options), **EXACT)

    def test_series_without_anomaly_adds_false_alarms(self):
        with_it = pv.PateAccumulator(0, 0, [0.5]).update([0, 1], [0.1, 0.9]).update([0, 0], [0.9, 0.9])
        assert with_it.compute_ap() == pytest.approx(1 / 3)

    def test_says_what_is_wrong(self):
        accumulator = pv.PateAccumulator(1, 1, [0.5])
        with raises_exactly(pv.UndefinedMetricError, "the metric is undefined: no anomaly has been seen yet"):
            accumulator.update([0, 0], [0.1, 0.2]).compute()
        with raises_exactly(ValueError, "accumulators to merge must have the same thresholds"):
            accumulator.merge(pv.PateAccumulator(1, 1, [0.4]))
        with raises_exactly(ValueError, "accumulators to merge must have the same delay buffers"):
            accumulator.merge(pv.PateAccumulator(1, 2, [0.5]))
        with raises_exactly(TypeError, "only a PateAccumulator can be merged; got int"):
            accumulator.merge(3)

    def test_memory_does_not_grow(self):
        accumulator = pv.PateAccumulator((0, 5), (0, 5), np.linspace(0, 1, 50))
        rng = np.random.default_rng(0)
        sizes = []
        for _ in range(3):
            accumulator.update(rng.random(2000) < 0.1, rng.random(2000))
            sizes.append(len(pickle.dumps(accumulator)))
        assert max(sizes) - min(sizes) < 64


class TestLaws:
    @given(pooled(labels_and_scores()), buffer_sets, buffer_sets)
    def test_only_the_order_of_scores_matters(self, case, early, delay):
        labels, scores, series = case
        options = dict(early=early, delay=delay, series=series)
        assert pv.pate(labels, 3 * scores**3 - 7, **options) == pytest.approx(
            pv.pate(labels, scores, **options), **EXACT
        )

    @given(labels_and_scores(), st.integers(0, 20), st.integers(0, 20))
    def test_perfect_is_one(self, case, early, delay):
        labels, _ = case
        assert pv.pate(labels, labels, early=early, delay=delay) == pytest.approx(1.0)
        assert pv.pate_f1(labels, labels, early=early, delay=delay) == pytest.approx(1.0)

    def test_repeated_buffers_count_twice(self):
        labels, scores = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.4, 0.9, 0.6, 0.2]
        one, two = (pv.pate(labels, scores, early=e, delay=1) for e in (0, 2))
        assert pv.pate(labels, scores, early=[0, 2, 2], delay=1) == pytest.approx((one + 2 * two) / 3)

    def test_float32_gives_the_same_number(self):
        rng = np.random.default_rng(3)
        labels, scores = rng.random(500) < 0.2, rng.random(500).astype(np.float32)
        for thresholds in (None, 37):
            one = pv.pate(labels, scores, thresholds=thresholds)
            assert one == pv.pate(labels, scores.astype(np.float64), thresholds=thresholds)

    @pytest.mark.parametrize("scores", [[1e308, -1e308, 0, 1e307], [5e-324, 0, 1e-323, 0], [1e-300, 1, 1e300, 2]])
    def test_extreme_scores(self, scores):
        labels = [0, 1, 1, 0]
        ranks = np.unique(scores, return_inverse=True)[1]
        assert pv.pate(labels, scores, early=1, delay=1) == pv.pate(labels, ranks, early=1, delay=1)

    def test_longer_buffers_than_the_series(self):
        labels, scores = [0, 1, 0, 0, 1], [0.3, 0.2, 0.9, 0.1, 0.5]
        assert pv.pate(labels, scores, early=10**30, delay=10**30) == pv.pate(labels, scores, early=5, delay=5)
        assert pv.pate(labels, scores, early=[10**30, 0], delay=3) == pv.pate(labels, scores, early=[5, 0], delay=3)


class TestCoarseScores:
    @pytest.mark.parametrize("scores", [[1, 1, 1, 1], [0, 1, 0, 0], [0.5, 0.5, 0.5, 0.7, 0.1]])
    def test_warns(self, scores):
        labels = [1] + [0] * (len(scores) - 1)
        with pytest.warns(pv.CoarseScoresWarning, match="compare pate_ap"):
            pv.pate(labels, scores)

    def test_other_trapezoids_warn_too(self):
        labels, scores = [1, 0, 0, 0], [0, 1, 0, 0]
        for flattering in (pv.auc_pr, pv.ts_auprc):
            with pytest.warns(pv.CoarseScoresWarning, match=f"{flattering.__name__} flatters"):
                flattering(labels, scores)
        for variant in ("original", "timeeval"):
            with pytest.warns(pv.CoarseScoresWarning, match="compare variant='tsb-ad'"):
                pv.vus_pr(labels, scores, variant=variant, window=2)
            with pytest.warns(pv.CoarseScoresWarning, match="compare variant='tsb-ad'"):
                pv.range_auc_pr(labels, scores, variant=variant, window=2)

    def test_fine_scores_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pv.pate([0, 1, 0, 0], [0.1, 0.4, 0.3, 0.3])
            for fair in (pv.pate_ap, pv.average_precision, pv.ts_average_precision, pv.vus_pr, pv.auc_roc):
                fair([0, 1, 0, 0], [1, 1, 1, 1])

    def test_constant_score(self):
        labels = np.zeros(100, dtype=int)
        labels[10:15] = 1
        assert pv.pate(labels, np.ones(100), early=0, delay=0) == pytest.approx(0.525)
        assert pv.pate_ap(labels, np.ones(100), early=0, delay=0) == pytest.approx(0.05)


def test_work_in_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.random(5000) < 0.2
    scores = np.where(labels, 0.3, 0.0) + rng.random(5000)
    whole = pv.pate(labels, scores, early=5, delay=5), pv.pate_ap(labels, scores, early=5, delay=5)
    monkeypatch.setattr(_weights, "_CHUNK", 10)
    monkeypatch.setattr(precision_recall, "_CHUNK", 10)
    pieces = pv.pate(labels, scores, early=5, delay=5), pv.pate_ap(labels, scores, early=5, delay=5)
    assert pieces == pytest.approx(whole, rel=1e-13)


def test_a_perfect_prediction_gets_exactly_one():
    labels = np.zeros(500, dtype=int)
    labels[100:120] = labels[300:310] = 1
    assert pv.pate_f1(labels, labels, early=20, delay=20) == 1.0


@pytest.mark.parametrize("metric", [pv.pate, pv.pate_ap])
def test_a_large_grid_is_computed_in_blocks(metric):
    rng = np.random.default_rng(3)
    labels, scores = np.tile(np.repeat([0, 1, 0], [15, 6, 9]), 5), rng.random(150)
    early, delay = [*range(40), 3], range(0, 60, 2)
    whole = metric(labels, scores, early=early, delay=delay)
    with mock.patch.object(_counts, "_MAX_PAIRS_OF_GRID", 100):
        assert metric(labels, scores, early=early, delay=delay) == pytest.approx(whole, abs=1e-14)


def test_too_many_pairs_are_refused():
    labels = np.arange(3000) % 100 < 5
    message = (
        "early and delay must make at most 5,000,000 pairs of buffers; they make 6,250,000: give fewer lengths, such "
        "as every tenth"
    )
    with raises_exactly(ValueError, message):
        pv.pate_ap(labels, labels, early=range(2500), delay=range(2500))


def test_more_than_64_pairs_are_computed_together(monkeypatch):
    labels, scores = np.tile(np.repeat([0, 1, 0], [40, 6, 40]), 5), np.arange(430) % 17  # no zones meet
    together = []

    def area(_steps, early, delay, _rule):
        together.append((len(early), len(delay)))
        return 0.5

    monkeypatch.setattr(_grid, "grid_area", area)
    for early, delay in ((8, 8), (13, 5), (5, 13)):
        pv.pate(labels, scores, early=range(early), delay=range(delay))
    assert together == [(13, 5), (5, 13)]


def test_only_events_behind_a_delayed_zone_depend_on_both_buffers():
    labels = np.array([0, 0, 1, 0, 0, 0, 1, 0])
    limits = _weights.ZoneLimits(find_events(labels))
    # The first event has two free steps ahead of it whatever the delay; of the three ahead of the second, the delayed
    # zone of the first takes up to two.
    assert limits.depends_on_both((0, 9), (0, 2)).tolist() == [False, True]
    assert limits.depends_on_both((0, 9), (2,)).tolist() == [False, False]
    assert limits.depends_on_both((0, 1), (0, 2)).tolist() == [False, False]


def test_percentiles_are_those_of_the_scores_that_are_present():
    labels, scores = [0, 0, 1, 1, 0, 0, 1, 0], [0.1, np.nan, 0.9, 0.3, 0.5, np.nan, 0.6, 0.2]
    given = dict(early=1, delay=1, missing="normal")
    levels = np.percentile([0.1, 0.2, 0.3, 0.5, 0.6, 0.9], [100, 50, 0])
    assert pv.pate(labels, scores, thresholds=3, **given) == pv.pate(labels, scores, thresholds=levels, **given)


def test_percentiles_of_scores_whose_differences_overflow():
    labels = np.arange(200) % 50 < 8
    scores = np.random.default_rng(0).normal(size=200) + labels
    # A power of two changes no digit of a score.
    huge = scores * 2.0**1022
    assert huge.max() / 2 - huge.min() / 2 > np.finfo(np.float64).max / 2
    assert pv.pate(labels, huge, thresholds=9) == pv.pate(labels, scores, thresholds=9)


@pytest.mark.parametrize(
    "metric",
    [
        pv.pate,
        pv.auc_pr,
        pv.ts_auprc,
        functools.partial(pv.vus_pr, variant="original", window=2),
        functools.partial(pv.range_auc_pr, variant="timeeval", window=2),
        lambda labels, scores: pv.plots.pate_by_sizes(labels, {"mine": scores}, sizes=[1]),
    ],
)
def test_the_warning_of_coarse_scores_points_at_the_call(metric):
    with pytest.warns(pv.CoarseScoresWarning) as caught:
        metric([0, 1, 0], [0, 1, 0])
    assert [warning.filename for warning in caught] == [__file__]


def test_recall_may_fall_only_where_the_missed_weight_grows():
    def drops(labels, scores):
        steps = _counts.rank_steps(np.array(scores, dtype=float), find_events(np.array(labels)), (0, 2), (0, 2))
        return _grid._recall_drops(_grid._Grid(steps, (0, 2), (0, 2), precision_recall.TRAPEZOID)).tolist()

    # Events of one step: what is missed only shrinks.
    assert not any(drops([0, 0, 1, 0, 0, 1, 0, 0], [0.1, 0.2, 0.9, 0.6, 0.4, 0.3, 0.5, 0.7]))
    # A first run of six steps, then a step ahead of it: the first run is short again, and what is missed weighs more
    # until it has grown, two thresholds later.
    labels, scores = np.repeat([0, 1, 0], [1, 20, 1]), np.linspace(0.3, 0.01, 22)
    scores[3:9], scores[1] = np.linspace(0.9, 0.6, 6), 0.5
    assert np.flatnonzero(drops(labels, scores)).tolist() == [6, 7, 8]
