"""Figures of boards and audits, drawn from real results: labels, limits and artists."""

from __future__ import annotations

import numpy as np
import pytest

import pateval as pv
from pateval import plots
from pateval.leaderboards.significance import compare_detectors, rank_table
from support.figures import inside_figure, scored_series, texts
from support.messages import raises_exactly


@pytest.fixture(scope="module")
def sample():
    return scored_series()


@pytest.fixture(scope="module")
def board():
    data = {}
    for seed in range(5):
        one = scored_series(seed)
        data[f"series {seed}"] = {"label": one.labels.astype(int), **one.scores}
    names = list(one.scores)
    metrics = ["pate", "pate_ap", "auc_roc", "mean_detection_delay"]
    return pv.leaderboard(data, score=names, metrics=metrics, chance=0, event_draws=0, workers=1)


class TestRanks:
    def test_critical_difference(self, board):
        significance = board.significance("pate_ap")
        ax = plots.critical_difference(significance, test="nemenyi")
        written = " | ".join(text.get_text() for text in ax.texts)
        for name, rank in zip(significance.detectors, significance.mean_ranks, strict=True):
            assert name in written
            assert f"{rank:.2f}" in written
        assert f"critical difference {significance.nemenyi_difference:.2f}" in written
        assert "mean rank by pate_ap over 5 series" in written
        bars = [line for line in ax.get_lines() if line.get_label() == "group"]
        assert len(bars) == sum(len(group) > 1 for group in significance.nemenyi_groups)
        ranks = dict(zip(significance.detectors, significance.mean_ranks, strict=True))
        for bar, group in zip(bars, (g for g in significance.nemenyi_groups if len(g) > 1), strict=True):
            assert list(bar.get_xdata()) == [ranks[name] for name in group]
        (ruler,) = (line for line in ax.get_lines() if line.get_label() == "critical difference")
        assert np.diff(ruler.get_xdata())[0] <= significance.nemenyi_difference + 1e-9
        assert inside_figure(ax)

    def test_wilcoxon_has_no_ruler(self, board):
        ax = plots.critical_difference(board.significance("pate"), test="wilcoxon")
        assert not any("critical difference" in text.get_text() for text in ax.texts)
        with raises_exactly(ValueError, "test must be one of 'nemenyi', 'wilcoxon'; got 't'"):
            plots.critical_difference(board.significance("pate"), test="t")

    def test_the_figure_joins_whom_the_table_calls_alike(self):
        # The first and the third differ by little but always, and the second from neither: it stands between them.
        noise = np.random.default_rng(0).normal(size=12)
        table = np.stack([np.full(12, 0.8), 0.79 + noise, np.full(12, 0.78)], axis=1)
        found = compare_detectors("pate", ["a", "b", "c"], table, higher_is_better=True)
        assert found.wilcoxon_groups == [["a", "b"], ["b", "c"]]
        ax = plots.critical_difference(found)
        bars = [line.get_xdata().tolist() for line in ax.get_lines() if line.get_label() == "group"]
        ranks = dict(zip(found.detectors, found.mean_ranks, strict=True))
        assert bars == [[ranks[name] for name in group] for group in found.wilcoxon_groups]
        assert "(Wilcoxon with Holm's correction, level 0.05)" in ax.texts[-1].get_text()

    @pytest.mark.parametrize("size", [16, 40, 130])
    def test_many_detectors_are_a_matrix(self, size):
        chance = np.random.default_rng(1)
        table = 0.15 * chance.normal(size=(30, size)) + np.linspace(0.8, 0.3, size)
        order = np.argsort(rank_table(table).mean, kind="stable")
        names = [f"detector {number}" for number in range(size)]
        found = compare_detectors("pate", names, table[:, order], higher_is_better=True)
        ax = plots.critical_difference(found)
        (mesh,) = ax.collections
        expected = [
            [row == column or p >= 0.05 for column, p in enumerate(ps)] for row, ps in enumerate(found.wilcoxon_holm_p)
        ]
        assert mesh.get_array().tolist() == expected
        written = [tick.get_text().split("\N{FIGURE SPACE}")[0].strip() for tick in ax.get_yticklabels()]
        assert [text.split("  ")[0] for text in written] == (names if size <= 60 else names[::3])
        assert inside_figure(ax)

    def test_one_series_is_not_enough(self, sample):
        data = {"label": sample.labels.astype(int), **sample.scores}
        one = pv.leaderboard(data, metrics=["auc_roc"], chance=0, event_draws=0, workers=1)
        with raises_exactly(
            ValueError,
            "a critical-difference diagram needs at least two detectors with values on at least two common series; "
            "there are 3 and 1",
        ):
            plots.critical_difference(one.significance("auc_roc"))

    def test_rank_heat_map(self, board):
        ax = plots.rank_heat_map(board)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == list(board.metrics)
        columns = [tick.get_text() for tick in ax.get_xticklabels()]
        assert sorted(columns) == sorted(board.detectors)
        shown = ax.collections[0].get_array().reshape(len(board.metrics), -1)
        ranks = board.ranks().to_pylist()
        for row in ranks:
            place = list(board.metrics).index(row["metric"]), columns.index(row["detector"])
            assert shown[place] == pytest.approx(row["mean_rank"])
        assert ax.figure.axes[1].get_ylabel() == "mean rank (1 is best)"
        assert inside_figure(ax)
        with raises_exactly(
            ValueError, "metric 'vus' is not in this leaderboard; it has pate, pate_ap, auc_roc, mean_detection_delay"
        ):
            plots.rank_heat_map(board, metrics=["vus"])


@pytest.fixture(scope="module")
def audit(sample):
    metrics = ["pate_ap", "point_recall", "revised_point_adjusted_precision", "mean_detection_delay"]
    return pv.audit(sample.labels, metrics=metrics, seeds=2)


class TestAudit:
    def test_values_and_who_beats_the_real_one(self, audit):
        ax = plots.audit_chart(audit)
        drawn = ["pate_ap", "point_recall", "revised_point_adjusted_precision"]
        assert [tick.get_text() for tick in ax.get_yticklabels()] == drawn
        assert "mean_detection_delay" in ax.get_xlabel()
        assert {"random (± deviation)", "constant", "everything flagged", "real", "perfect"} == set(texts(ax))
        lines = {line.get_label(): line for line in ax.get_lines()}
        real = [audit[name].values["real"] for name in drawn]
        assert list(lines["real"].get_xdata()) == real
        assert audit["point_recall"].fooled
        assert any("always on" in text.get_text() for text in ax.texts)
        assert ax.get_ylim() == (2.5, -0.5)
        assert inside_figure(ax)

    def test_metrics_can_be_chosen(self, audit):
        ax = plots.audit_chart(audit, metrics=["point_recall"])
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["point_recall"]
        with raises_exactly(
            ValueError,
            "metric 'f' is not in this audit; it has pate_ap, point_recall, revised_point_adjusted_precision, "
            "mean_detection_delay",
        ):
            plots.audit_chart(audit, metrics=["f"])
        with raises_exactly(
            ValueError, "none of the metrics has its values in [0, 1], so none can be drawn: mean_detection_delay"
        ):
            plots.audit_chart(audit, metrics=["mean_detection_delay"])
