"""Every figure, drawn from real results: labels, limits and artists."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval import plots
from pateval.kernels.precision_recall import trapezoids
from pateval.plots.styling import CATEGORY_COLOURS, line_style
from support.cases import SCENARIOS
from support.figures import inside_figure, lightness, scored_series, texts


@pytest.fixture(scope="module")
def sample():
    return scored_series()


@pytest.fixture(scope="module")
def thresholds(sample):
    return {name: pv.best_threshold(sample.labels, scores)[0] for name, scores in sample.scores.items()}


@pytest.fixture(scope="module")
def explained(sample, thresholds):
    return {
        name: pv.explain(sample.labels, scores >= thresholds[name], early=50, delay=50)
        for name, scores in sample.scores.items()
    }


class TestSeries:
    def test_panels_for_values_and_each_detector(self, sample, thresholds):
        axes = plots.series(
            sample.labels, sample.scores, values=sample.values, early=50, delay=50, threshold=thresholds
        )
        assert [ax.get_ylabel() for ax in axes] == [
            "value",
            "nearest window\nscore",
            "window PCA\nscore",
            "random\nscore",
        ]
        assert [ax.get_xlabel() for ax in axes] == ["", "", "", "time step"]
        assert texts(axes[0]) == ["event", "early zone", "delayed zone", "threshold"]
        for ax, curve in zip(axes, [sample.values, *sample.scores.values()], strict=True):
            assert ax.get_xlim() == (-0.5, sample.labels.size - 0.5)
            np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), curve)
            low, high = ax.get_ylim()
            assert low < curve.min()
            assert high > curve.max()
            assert inside_figure(ax)
        heights = [line.get_ydata()[0] for line in axes[1].get_lines() if line.get_label() == "threshold"]
        assert heights == [thresholds["nearest window"]]

    def test_events_are_where_the_labels_are(self, sample):
        (ax,) = plots.series(sample.labels, sample.scores["random"])
        assert ax.get_ylabel() == "anomaly score"
        boxes = [path.get_extents() for path in ax.collections[0].get_paths()]
        explained = pv.explain(sample.labels, sample.labels, early=0, delay=0)
        long = [(event.start - 0.5, event.stop - 0.5) for event in explained.events if event.stop - event.start > 10]
        assert [(box.x0, box.x1) for box in boxes if box.width > 10] == long
        assert len(boxes) == len(explained.events)

    def test_boundaries_of_series_are_drawn(self):
        (ax,) = plots.series([0, 1, 0, 1], [0, 1, 0, 1], series=["a", "a", "b", "b"])
        assert "next series" in texts(ax)

    def test_draws_on_axes_given(self, sample):
        given_axes = plots.panels(2)[:, 0]
        axes = plots.series(sample.labels, sample.scores["random"], values=sample.values, ax=given_axes)
        assert list(axes) == list(given_axes)
        with pytest.raises(ValueError, match="this figure needs 1 axes, one per panel; got 2"):
            plots.series(sample.labels, sample.scores["random"], ax=given_axes)

    def test_refuses_what_cannot_be_drawn(self):
        with pytest.raises(ValueError, match="nothing to draw"):
            plots.series([0, 1])
        with pytest.raises(ValueError, match="labels and scores of 'a' must have the same length; got 2 and 3"):
            plots.series([0, 1], {"a": [0, 1, 2]})

    def test_segments_share_heights_within_a_row(self, sample):
        axes = plots.segments(sample.labels, sample.scores, limits=[(0, 500), (900, 1300)], early=20, delay=20)
        assert axes.shape == (3, 2)
        assert [ax.get_xlim() for ax in axes[0]] == [(-0.5, 499.5), (899.5, 1299.5)]
        for row, scores in zip(axes, sample.scores.values(), strict=True):
            assert row[0].get_ylim() == row[1].get_ylim()
            assert row[0].get_ylim()[1] > max(scores[:500].max(), scores[900:1300].max())
        assert [ax.get_ylabel() for ax in axes[:, 0]] == [f"{name}\nscore" for name in sample.scores]

    def test_of_several_buffers_the_longest_is_drawn(self, sample):
        (one,) = plots.series(sample.labels, sample.scores["random"], early=[0, 50], delay=(0, 20))
        (other,) = plots.series(sample.labels, sample.scores["random"], early=50, delay=20)
        for first, second in zip(one.collections, other.collections, strict=True):
            assert first.get_label() == second.get_label()
            assert len(first.get_paths()) == len(second.get_paths())


class TestCategories:
    def test_scenario_with_all_weights(self):
        labels, predictions = SCENARIOS["S2"]  # event 40..59, predicted 30..49
        ax = plots.categories(pv.explain(labels, predictions, early=20, delay=20), limits=(0, 100))
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("time step", "weight")
        assert ax.get_xlim() == (-0.5, 99.5)
        assert {"event", "TP weight", "FP weight", "FN weight", "potential"} <= set(texts(ax))
        assert {"true detection", "early", "partly missed"} <= set(texts(ax))
        solid = {line.get_label(): line for line in ax.get_lines() if not line.get_label().startswith("_")}
        drawn = {name: at_steps(line) for name, line in solid.items() if name != "potential"}
        assert sorted(drawn["TP weight"]) == list(range(30, 50))
        assert drawn["TP weight"][45] == 1.0
        assert drawn["TP weight"][30] == pytest.approx((30 - 20) / (49.5 - 20))
        assert drawn["FP weight"][30] == pytest.approx(1 - 10 / 29.5)
        assert sorted(drawn["FN weight"]) == list(range(50, 60))
        dotted = [line for line in ax.get_lines() if line.get_linestyle() != "-" and line.get_label().startswith("_")]
        potential = at_steps(dotted[0])
        assert sorted(potential) == list(range(20, 80))
        assert potential[79] == 0.0
        assert inside_figure(ax)

    def test_band_shows_each_category_at_its_steps(self, explained):
        explanation = explained["window PCA"]
        ax = plots.categories(explanation, limits=(0, 1500))
        bands = {found.get_label(): found for found in ax.collections}
        for name in CATEGORY_COLOURS:
            steps = np.flatnonzero(explanation.points.category[:1500] == name)
            assert (name in bands) == bool(steps.size), name
            for step in steps:
                assert any(
                    box.x0 <= step <= box.x1 for box in (path.get_extents() for path in bands[name].get_paths())
                ), (name, step)

    def test_legend_fits_with_all_categories(self, explained):
        ax = plots.categories(explained["window PCA"])
        assert inside_figure(ax)

    @given(
        st.lists(st.booleans(), min_size=2, max_size=24),
        st.integers(0, 2**24 - 1),
        st.integers(0, 6),
        st.integers(0, 6),
    )
    def test_potential_is_what_one_more_detection_would_weigh(self, labels, bits, early, delay):
        truth = np.array(labels)
        truth[bits % truth.size] = True
        predictions = np.array([(bits >> place) & 1 for place in range(truth.size)], dtype=bool)
        series = np.arange(truth.size) >= truth.size // 2
        explanation = pv.explain(truth, predictions, early=early, delay=delay, series=series)
        potential = plots.potential_weights(explanation)
        np.testing.assert_array_equal(potential.detected, predictions)
        np.testing.assert_array_equal(potential.missed, truth & ~predictions)
        for step in range(truth.size):
            more = predictions.copy()
            more[step] = True
            if not truth[step]:  # inside an event one more detection changes the event
                found = pv.explain(truth, more, early=early, delay=delay, series=series)
                assert potential.true_positive[step] == pytest.approx(found.points.true_positive[step], abs=1e-12)
        np.testing.assert_allclose(potential.true_positive[truth], 1.0)
        missed = potential.missed
        np.testing.assert_allclose(potential.false_negative[missed], explanation.points.false_negative[missed])
        assert np.isnan(potential.false_negative[~truth]).all()


def at_steps(line) -> dict[int, float]:
    """Heights of a stepwise curve in the middle of each step that has one."""
    x, y = line.get_data()
    middles = (x[0::2] + x[1::2]) / 2
    return {
        round(float(step)): float(height) for step, height in zip(middles, y[0::2], strict=True) if height == height
    }


class TestCurves:
    def test_curve_is_the_one_pate_integrates(self, sample, thresholds):
        scores = sample.scores["window PCA"]
        curve = pv.pate_curve(sample.labels, scores, early=50, delay=50)
        ax = plots.precision_recall(curve, threshold=thresholds["window PCA"])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("recall (weighted)", "precision (weighted)")
        assert ax.get_xlim() == (0, 1)
        assert ax.get_ylim() == (0, 1.02)
        (line,) = (line for line in ax.get_lines() if line.get_label().startswith("PATE"))
        recall, precision = line.get_data()
        assert (recall[0], precision[0]) == (0, 1)
        assert trapezoids(recall, precision) == pytest.approx(curve.area, abs=1e-6)
        assert line.get_label() == f"PATE {curve.area:.3f}"
        explanation = pv.explain(sample.labels, scores >= thresholds["window PCA"], early=50, delay=50)
        (point,) = (line for line in ax.get_lines() if line.get_label().startswith("threshold"))
        assert point.get_xdata()[0] == pytest.approx(explanation.recall)
        assert point.get_ydata()[0] == pytest.approx(explanation.precision)
        assert f"F1 {explanation.f1:.3f}" in point.get_label()
        assert [text.get_text() for text in ax.texts] == ["F1 0.2", "F1 0.4", "F1 0.6", "F1 0.8"]
        assert inside_figure(ax)

    def test_lines_of_equal_f1_have_that_f1(self, sample):
        ax = plots.precision_recall(pv.pate_curve(sample.labels, sample.scores["random"], early=0, delay=0))
        for line, value in zip(ax.get_lines(), (0.2, 0.4, 0.6, 0.8), strict=False):
            recall, precision = line.get_data()
            np.testing.assert_allclose(2 * recall * precision / (recall + precision), value)

    def test_several_curves_differ_in_colour_and_dashes(self, sample, thresholds):
        curves = {name: pv.pate_curve(sample.labels, s, early=50, delay=50) for name, s in sample.scores.items()}
        ax = plots.precision_recall(curves, threshold=thresholds)
        lines = [line for line in ax.get_lines() if "(PATE" in line.get_label()]
        assert [line.get_label().split(" (")[0] for line in lines] == list(curves)
        assert len({line.get_color() for line in lines}) == len({str(line._dash_pattern) for line in lines}) == 3
        assert "threshold in use" in texts(ax)

    def test_a_threshold_above_every_score_is_at_nothing(self):
        ax = plots.precision_recall(pv.pate_curve([0, 1, 0], [0.1, 0.9, 0.2], early=0, delay=0), threshold=2.0)
        (point,) = (line for line in ax.get_lines() if line.get_label().startswith("threshold"))
        assert point.get_data() == ([0.0], [0.0])


class TestBuffers:
    def test_heat_map_shows_each_pair(self, sample):
        early, delay = [0, 20, 40], [0, 50]
        scores = sample.scores["window PCA"]
        values = plots.pate_by_buffers(sample.labels, scores, early=early, delay=delay)
        for row, e in enumerate(early):
            for column, d in enumerate(delay):
                assert values[row, column] == pv.pate(sample.labels, scores, early=e, delay=d)
        ax = plots.buffer_heat_map(values, early=early, delay=delay)
        assert ax.get_xlabel() == "delay: buffer after an event (steps)"
        assert ax.get_ylabel() == "early: buffer before an event (steps)"
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "50"]
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "20", "40"]
        assert ax.get_ylim()[0] < ax.get_ylim()[1]  # early grows upwards
        np.testing.assert_array_equal(ax.collections[0].get_array().reshape(3, 2), values)
        assert len(ax.texts) == 6
        assert ax.figure.axes[1].get_ylabel() == "PATE"

    def test_a_large_grid_is_rasterised_and_has_few_ticks(self):
        grid = np.linspace(0, 1, 101 * 101).reshape(101, 101)
        ax = plots.buffer_heat_map(grid, early=range(101), delay=range(101))
        assert ax.collections[0].get_rasterized()
        assert not ax.texts
        assert len(ax.get_xticks()) <= 12

    def test_heat_map_refuses_another_shape(self):
        with pytest.raises(ValueError, match=r"values must be 2 rows by 1 columns; got the shape \(1, 2\)"):
            plots.heat_map([[1, 2]], rows=["a", "b"], columns=["x"])

    def test_sizes_mark_what_is_below_random(self, sample):
        sizes = [0, 50, 100]
        values = plots.pate_by_sizes(sample.labels, sample.scores, sizes=sizes)
        # One sort serves all sizes, so sums run in another order.
        alone = pv.pate(sample.labels, sample.scores["random"], early=50, delay=50)
        assert values["random"][1] == pytest.approx(alone, rel=1e-12)
        ax = plots.buffer_sizes(sizes, values, random="random")
        assert sorted(texts(ax)) == sorted([*sample.scores, "below random"])
        for line, (name, curve) in zip(ax.get_lines(), values.items(), strict=True):
            assert line.get_label() == name
            np.testing.assert_array_equal(line.get_ydata(), curve)
        shade = ax.collections[0].get_paths()[0].get_extents()
        assert shade.y1 == pytest.approx(values["random"].max())
        assert ax.get_ylim()[0] == pytest.approx(shade.y0)
        with pytest.raises(ValueError, match="reference 'chance' is none of the curves"):
            plots.buffer_sizes(sizes, values, random="chance")


class TestOverSeries:
    """With several series figures show means over them, as tables do; pooled only where asked."""

    LABELS = np.tile(np.r_[np.zeros(40), np.ones(8), np.zeros(32)], 3)
    SERIES = np.repeat(["a", "b", "c"], 80)

    @pytest.fixture
    def scores(self):
        rng = np.random.default_rng(3)
        scales = np.repeat([0.01, 1.0, 1000.0], 80)  # one sample of these would be ruled by the last
        return {name: (self.LABELS * worth + rng.random(240)) * scales for name, worth in (("x", 0.6), ("y", 0.2))}

    @pytest.mark.parametrize("pooled", [False, True])
    def test_values_and_areas_are_those_of_evaluate(self, scores, pooled):
        over = {"series": self.SERIES, "pooled": pooled}
        found = pv.evaluate(self.LABELS, scores, metrics=["pate", "pate(early=5,delay=5)"], chance=0, **over)
        curves = plots.pate_curves(self.LABELS, scores, **over)
        sizes = plots.pate_by_sizes(self.LABELS, scores, sizes=[0, 5], **over)
        for name, values in scores.items():
            assert curves[name].area == pytest.approx(found[name]["pate"], abs=1e-12)
            assert sizes[name][1] == pytest.approx(found[name]["pate(early=5,delay=5)"], abs=1e-12)
            grid = plots.pate_by_buffers(self.LABELS, values, early=[0, 100], delay=[0, 100], **over)
            assert grid.mean() == pytest.approx(found[name]["pate"], abs=1e-12)

    def test_the_drawn_curve_has_the_area_in_its_legend(self, scores):
        curves = plots.pate_curves(self.LABELS, scores, series=self.SERIES)
        ax = plots.precision_recall(curves)
        assert ax.get_ylabel() == "precision (weighted, mean of 3 series)"
        for name, line in zip(scores, [line for line in ax.get_lines() if "(PATE" in line.get_label()], strict=True):
            recall, precision = line.get_data()
            assert trapezoids(recall, precision) == pytest.approx(curves[name].area, abs=2e-3)

    def test_one_threshold_of_all_series_stands_at_the_mean_of_their_points(self, scores):
        curves = plots.pate_curves(self.LABELS, {"x": scores["x"]}, early=5, delay=5, series=self.SERIES)
        ax = plots.precision_recall(curves, threshold=0.9)
        (point,) = (line for line in ax.get_lines() if line.get_label().startswith("threshold"))
        parts = [name == self.SERIES for name in "abc"]
        found = [pv.explain(self.LABELS[part], scores["x"][part] >= 0.9, early=5, delay=5) for part in parts]
        assert point.get_ydata()[0] == pytest.approx(np.mean([one.precision for one in found]))
        assert point.get_xdata()[0] == pytest.approx(np.mean([one.recall for one in found]))

    def test_a_threshold_with_several_pairs_of_buffers_stands_where_explain_says(self, sample, thresholds):
        name = "window PCA"
        curves = plots.pate_curves(sample.labels, {name: sample.scores[name]}, early=[0, 50], delay=50)
        ax = plots.precision_recall(curves[name], threshold=thresholds[name])
        (point,) = (line for line in ax.get_lines() if line.get_label().startswith("threshold"))
        flagged = sample.scores[name] >= thresholds[name]
        recalls = [pv.explain(sample.labels, flagged, early=early, delay=50).recall for early in (0, 50)]
        assert point.get_xdata()[0] == pytest.approx(np.mean(recalls))

    def test_shares_of_scores_are_means_over_series(self, scores):
        ax = plots.score_distribution(self.LABELS, scores["x"], series=self.SERIES)
        assert ax.get_ylabel() == "share of steps, mean of 3 series"
        outside = ax.patches[0].get_data().values
        assert outside.sum() == pytest.approx(1)
        assert outside[0] > 2 / 3  # the series of small scores lie whole in the first interval
        pooled = plots.score_distribution(self.LABELS, scores["x"], series=self.SERIES, pooled=True)
        assert pooled.get_ylabel() == "share of steps"

    def test_steps_without_a_score_are_left_out_for_all_detectors(self, scores):
        gaps = {"x": np.where(np.arange(240) % 7 == 0, np.nan, scores["x"]), "y": scores["y"]}
        over = {"series": self.SERIES, "missing": "ignore"}
        found = pv.evaluate(self.LABELS, gaps, metrics=["pate"], chance=0, **over)
        for name, curve in plots.pate_curves(self.LABELS, gaps, **over).items():
            assert curve.area == pytest.approx(found[name]["pate"], abs=1e-12)


class TestLengths:
    def test_several_delays_weigh_their_mean(self):
        labels = np.concatenate([np.zeros(60), np.ones(5), np.zeros(60)])
        found = pv.explain(labels, labels, early=0, delay=[0, 40])
        ax = plots.weights_by_length(found, distances=[10])
        assert ax.get_lines()[1].get_ydata().tolist() == [pytest.approx(30 / 42 / 2)]
        assert ax.get_ylabel() == "TP weight of a detection (delay 0, 40)"

    def test_events_with_whole_zones_lie_on_their_line(self):
        labels = np.concatenate([np.repeat([0, 1], [60, length]) for length in (1, 5, 20, 80)] + [np.zeros(60)])
        ax = plots.weights_by_length(pv.explain(labels, labels, early=0, delay=40), distances=[1, 10])
        assert ax.get_xscale() == "log"
        assert ax.get_xlabel() == "event length (steps)"
        assert texts(ax) == ["1 step after", "10 steps after"]
        for distance, points in ((1, ax.get_lines()[1]), (10, ax.get_lines()[3])):
            lengths = points.get_xdata()
            np.testing.assert_array_equal(lengths, [1, 5, 20, 80])
            np.testing.assert_allclose(points.get_ydata(), (40 - distance) / (40 + (lengths - 1) / 2))

    def test_a_zone_cut_short_weighs_less(self):
        labels = np.concatenate([np.zeros(50), np.ones(10), np.zeros(5), np.ones(10), np.zeros(60)])
        ax = plots.weights_by_length(pv.explain(labels, labels, early=0, delay=40), distances=[2, 20])
        near, far = ax.get_lines()[1].get_ydata(), ax.get_lines()[3].get_ydata()
        assert near[0] < near[1]
        assert far[0] == 0.0

    def test_refuses_without_delay(self):
        with pytest.raises(ValueError, match="need a delayed zone"):
            plots.weights_by_length(pv.explain([0, 1, 0], [0, 1, 0], early=1, delay=0))


class TestDistribution:
    def test_shares_add_up_to_one_each(self, sample, thresholds):
        scores = sample.scores["window PCA"]
        ax = plots.score_distribution(sample.labels, scores, threshold=thresholds["window PCA"])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("anomaly score", "share of steps")
        outside, inside = ax.patches
        assert outside.get_data().values.sum() == pytest.approx(1)
        assert inside.get_data().values.sum() == pytest.approx(1)
        assert inside.get_hatch() == "////"
        assert f"inside events ({sample.labels.sum():,} steps)" in texts(ax)
        assert ax.get_xlim()[0] <= scores.min() < scores.max() <= ax.get_xlim()[1]
        assert ax.get_lines()[0].get_xdata()[0] == thresholds["window PCA"]

    def test_log_scale_is_named(self, sample):
        ax = plots.score_distribution(sample.labels, sample.scores["random"], log=True)
        assert ax.get_yscale() == "log"
        assert ax.get_ylabel() == "share of steps (log scale)"

    def test_a_constant_score_has_one_bin(self):
        ax = plots.score_distribution([0, 1, 0], [3.0, 3.0, 3.0])
        assert ax.patches[0].get_data().values.tolist() == [1.0]

    def test_no_anomaly_is_undefined(self):
        with pytest.raises(pv.UndefinedMetricError):
            plots.score_distribution([0, 0], [0.1, 0.2])


class TestComparison:
    def test_scores_bands_and_events(self, sample, explained, thresholds):
        pair = {name: explained[name] for name in ("nearest window", "window PCA")}
        axes = plots.comparison(pair, scores=sample.scores, threshold=thresholds)
        assert len(axes) == 4
        assert [ax.get_xlabel() for ax in axes] == ["", "", "time step", "event"]
        assert [tick.get_text() for tick in axes[2].get_yticklabels()] == list(pair)
        for (name, explanation), line in zip(pair.items(), axes[3].get_lines(), strict=True):
            assert line.get_label().startswith(f"{name}: precision {explanation.precision:.3f}")
            expected = [e.true_positive / (e.true_positive + e.false_negative) for e in explanation.events]
            np.testing.assert_allclose(line.get_ydata(), expected)
        present = set(np.unique([e.points.category for e in pair.values()])) - {"quiet"}
        assert present <= set(texts(axes[2]))
        assert all(inside_figure(ax) for ax in axes)

    def test_needs_two_on_the_same_events(self, explained):
        with pytest.raises(ValueError, match="two detectors are compared; got 3"):
            plots.comparison(explained)
        other = pv.explain([0, 1, 0], [0, 1, 0], early=0, delay=0)
        with pytest.raises(ValueError, match="must be of the same series; they have 3000 and 3 steps"):
            plots.comparison({"a": explained["random"], "b": other})
        with pytest.raises(ValueError, match="must be of the same labels; their events differ"):
            plots.comparison({"a": other, "b": pv.explain([0, 1, 1], [0, 1, 0], early=0, delay=0)})


class TestLines:
    def test_timings_carry_their_slopes(self):
        sizes = [100, 1000, 10_000]
        ax = plots.timings(sizes, {"linear": [1, 10, 100], "square": [1, 100, np.nan]})
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        assert texts(ax) == ["linear (slope 1.00)", "square (slope 2.00)"]
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("series length (steps)", "time (s)")
        assert np.isnan(plots.fitted_slope([10], [1.0]))

    def test_shifts_of_a_real_detection(self):
        labels, _ = SCENARIOS["S3"]
        moves = [-10, 0, 10]
        values = [pv.pate_f1(labels, np.roll(labels, move), early=20, delay=20) for move in moves]
        ax = plots.shifts(moves, {"pate_f1": values})
        assert ax.get_lines()[0].get_ydata().tolist() == values
        assert values[1] == 1.0

    def test_refuses_curves_of_another_length(self):
        with pytest.raises(ValueError, match="curve 'a' must hold one value per x, 2"):
            plots.line_chart([0, 1], {"a": [1]}, x_label="x", y_label="y")
        with pytest.raises(ValueError, match="log must name the axes"):
            plots.line_chart([0, 1], {"a": [1, 2]}, x_label="x", y_label="y", log=("z",))


class TestStyle:
    def test_categories_can_be_told_apart_in_grey(self):
        order = sorted(lightness(colour) for colour in CATEGORY_COLOURS.values())
        assert min(high - low for low, high in pairwise(order)) >= 10

    def test_neighbouring_curves_can_be_told_apart_in_grey(self):
        order = [lightness(line_style(place).colour) for place in range(8)]
        assert min(abs(second - first) for first, second in pairwise(order)) >= 18
        assert len({str(line_style(place).dashes) for place in range(8)}) == 8
        assert len({line_style(place) for place in range(24)}) == 24

    def test_nothing_global_is_changed(self, sample):
        before = dict(matplotlib.rcParams)
        plots.series(sample.labels, sample.scores["random"])
        with pytest.raises(ValueError, match="nothing to draw"):
            plots.series(sample.labels)
        assert dict(matplotlib.rcParams) == before
        assert "matplotlib.pyplot" not in sys.modules or not matplotlib.pyplot.get_fignums()


class TestSave:
    @pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
    def test_writes_the_same_bytes_twice(self, tmp_path, suffix, begins):
        def draw(name):
            ax = plots.line_chart([0, 1], {"anomaly": [0, 1]}, x_label="steps", y_label="PATE")
            return plots.save(ax, tmp_path / f"{name}.{suffix}", creator="pateval test").read_bytes()

        first = draw("a")
        assert first.startswith(begins)
        assert b"pateval test" in first
        assert draw("b") == first
        assert sorted(path.name for path in tmp_path.iterdir()) == [f"a.{suffix}", f"b.{suffix}"]
        if suffix == "svg":
            assert b">anomaly</text>" in first  # text stays text

    def test_refuses_another_suffix(self, tmp_path):
        ax = plots.panels()[0, 0]
        with pytest.raises(ValueError, match=r"figures are written as \.pdf, \.png, \.svg; got \.tiff"):
            plots.save(ax, tmp_path / "x.tiff")


def test_real_series_of_nab(real_data):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    name = "realKnownCause/nyc_taxi.csv"
    raw, scored = (
        table.filter(pc.equal(table["series"].cast("string"), name))
        for table in map(pq.read_table, (real_data / "NAB/NAB.parquet", real_data / "scores/NAB/numenta.parquet"))
    )
    labels, scores = raw["label_window"].to_numpy(), scored["score"].to_numpy()
    axes = plots.series(
        labels, scores, values=raw["value"].to_numpy(), times=raw["timestamp"].to_numpy(), early=100, delay=100
    )
    axes[0].figure.draw_without_rendering()
    assert axes[-1].get_xlabel() == "time"
    assert "Aug" in [tick.get_text() for tick in axes[-1].get_xticklabels()]
    assert len(axes[0].collections[0].get_paths()) == 5


WITHOUT_MATPLOTLIB = "import sys; sys.modules['matplotlib'] = None\n"


class TestWithoutTheExtra:
    def test_python_says_how_to_get_it(self):
        code = f"{WITHOUT_MATPLOTLIB}import pateval as pv\npv.plots.series([0, 1], [0, 1])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        last = done.stderr.strip().splitlines()[-1]
        message = "figures need matplotlib, which is not installed: pip install 'pateval[plot]'"
        assert last == f"ImportError: {message}"

    def test_the_package_itself_loads_none_of_it(self):
        code = "import sys, pateval as pv; pv.plots.series; print('matplotlib' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "False"
