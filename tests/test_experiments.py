"""The paper's tables and figures: numbers asserted through the result objects, and what a reader is told of them."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

import pateval as pv
from conftest import CHECKOUT
from pateval.paper import (
    EXPERIMENTS,
    ExperimentSettings,
    MissingInputError,
    chance,
    compute,
    consistency,
    report,
    timing,
)
from pateval.paper import paper_tables as paper
from pateval.paper.document import DIFFERS, OPEN, REPRODUCES
from support.cases import SCENARIOS

NEED_NOTHING = ("properties", "scenarios", "categories", "ranks", "lengths", "early-late")


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory):
    """Settings that find neither data nor scores."""
    empty = tmp_path_factory.mktemp("empty")
    return ExperimentSettings(root=empty, scores=empty, largest=10_000, seeds=2)


@pytest.fixture(scope="module")
def scored(real_data):
    """Settings with the labels at hand and the score files of the checkout."""
    return ExperimentSettings(
        root=real_data, scores=CHECKOUT / "results" / "scores" / "authors", largest=10_000, seeds=2
    )


class TestScenarios:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls):
        return compute("scenarios")

    def test_109_of_110_cells(self, found):
        assert (found.agreeing, len(found.cells)) == (109, 110)
        (other,) = found.differing
        assert (other.scenario, other.metric, other.printed, round(other.found, 2)) == ("S5", "vus_roc", 0.63, 0.62)

    def test_cells_are_those_of_the_metrics_themselves(self, found):
        labels, flagged = SCENARIOS["S4"]
        direct = {
            "pate": pv.pate(labels, flagged, early=20, delay=20),
            "pate_f1": pv.pate_f1(labels, flagged, early=20, delay=20),
            "vus_pr": pv.vus_pr(labels, flagged, window=40, variant="original"),
            "range_based_f1": pv.range_based(labels, flagged, alpha=0.2, precision_alpha=0.2).f1,
            "etapr_f1": pv.etapr(labels, flagged, theta_p=0.5, theta_r=0.01, delta=0.0).f1,
        }
        for metric, value in direct.items():
            assert found.cell("S4", metric).found == value

    def test_what_explains_the_last_cell(self, found):
        original, symmetric = found.vus_by_variant["original"], found.vus_by_variant["timeeval"]
        assert original["S1"][0] != original["S5"][0]
        assert symmetric["S1"][0] == pytest.approx(symmetric["S5"][0], abs=1e-12)
        assert [found.vus_agreeing(name) for name in ("original", "timeeval", "tsb-ad")] == [19, 16, 1]

    def test_only_one_pair_of_buffers_gives_the_table(self, found):
        assert [found.pate_agreeing(name) for name in found.pate_under] == [10, 5, 5]
        assert [round(values["S4"], 3) for values in found.pate_under.values()] == [0.685, 0.598, 0.594]

    def test_verdicts(self, found):
        assert [verdict.status for verdict in report("scenarios", found).verdicts] == [REPRODUCES, DIFFERS, DIFFERS]


class TestProperties:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls):
        return compute("properties")

    def test_ten_rows_differ(self, found):
        assert len(found.rows) == 12
        assert found.differing == (
            "point_f1",
            "range_based_f1",
            "tapr_f1",
            "etapr_f1",
            "affiliation_f1",
            "auc_roc",
            "average_precision",
            "auc_pr",
            "vus_roc",
            "vus_pr",
        )

    def test_every_difference_shows_its_probe(self, found):
        shown = {(each.metric, each.property) for each in found.evidence}
        for row in found.rows:
            assert {name for metric, name in shown if metric == row.metric} == row.claimed ^ row.measured
        for each in found.evidence:
            if each.measured:
                assert each.value_better > each.value_worse
            else:
                assert each.value_better == each.value_worse

    def test_a_buffer_brings_the_delayed_property_back(self, found):
        assert all(found.delayed_with_buffer.values())


class TestRanks:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls, nowhere):
        return compute("ranks", nowhere)

    def test_pa_f1_is_exact_and_pate_is_not(self, found):
        assert found.exact("PA-F1")
        assert not found.exact("PATE")
        assert found.printed["PATE"].rank("Transformer") == 1.25
        assert found.printed["PATE"].rank("LSTM") == 2.25

    def test_no_rule_for_ties_gives_the_stated_ranks(self, found):
        assert set(found.first_two_by_ties) == {"mean", "lowest", "highest", "dense"}
        assert set(found.first_two_by_ties.values()) == {(1.25, 2.25)}

    def test_rules_for_ties_differ_where_there_are_ties(self):
        from pateval.paper.ranks import _ranks

        row = np.array([[0.5, 0.5, 0.1]])
        expected = {"mean": [1.5, 1.5, 3], "lowest": [1, 1, 3], "highest": [2, 2, 3], "dense": [1, 1, 2]}
        assert {rule: _ranks(row, rule)[0].tolist() for rule in expected} == expected

    def test_groups_join_neighbours_in_rank(self, found):
        test = found.printed["PATE"]
        for group in test.nemenyi_groups:
            places = [test.detectors.index(name) for name in group]
            assert places == list(range(places[0], places[0] + len(places)))
            assert test.mean_ranks[places[-1]] - test.mean_ranks[places[0]] <= test.nemenyi_difference
        assert ("Transformer", "LSTM", "USAD") in test.nemenyi_groups

    def test_scores_are_ranked_where_there_are_any(self, found, scored):
        assert found.ours == {}
        ours = compute("ranks", scored)
        assert ours.our_datasets == ("MSL", "SMAP", "SMD")
        assert ours.ours["PA-F1"].detectors[0] == "AnomalyTrans"
        assert ours.ours["PATE"].detectors[0] == "Transformer"


def test_categories_of_all_alarms():
    found = compute("categories")
    assert [row.found for row in found.rows] == [row.expected for row in found.rows]
    assert {row.found for row in found.rows} == {"true detection", "delayed", "outside", "early"}
    seventh = found.rows[-1]
    assert (seventh.true_positive, seventh.false_positive) == (0, 14)
    assert found.missed["a1"] == 0
    assert found.missed["a4"] == 30
    assert 0 < found.missed["a2"] < 26


def test_weights_follow_the_closed_form():
    from pateval.paper.lengths import BUFFER, LENGTHS

    found = compute("lengths")
    steps = np.arange(1, BUFFER + 1)
    for name, length in LENGTHS.items():
        assert found.after[name] == pytest.approx((BUFFER - steps) / (BUFFER + (length - 1) / 2), abs=1e-12)
        assert found.before[name] == pytest.approx(found.after[name], abs=1e-12)


def test_early_alone_is_false_and_late_alone_is_not():
    found = compute("early-late")
    first, second, third = (found.values[name]["PATE-F1"] for name in ("model 1", "model 2", "model 3"))
    assert second == 0 < third < first
    mirrored = found.moved["AUC-PR"]
    assert mirrored == pytest.approx(mirrored[::-1], abs=1e-12)
    assert not np.allclose(found.moved["PATE"], found.moved["PATE"][::-1])


class TestConsistency:
    @pytest.mark.parametrize(
        ("printed", "possible"), [((0.83, 0.90, 0.44), True), ((0.77, 0.89, 0.55), True), ((0.83, 0.90, 0.31), False)]
    )
    def test_bounds_against_every_prediction(self, printed, possible):
        """All numbers of hits, adjusted hits and false alarms on small labels, one by one."""
        anomalous, normal = 6, 40
        shares, precisions = [], []
        for alarms in range(normal + 1):
            for adjusted in range(anomalous + 1):
                for hits in range(adjusted + 1):
                    values = (
                        2 * adjusted / (anomalous + adjusted + alarms),
                        (adjusted / anomalous + 1 - alarms / normal) / 2,
                        2 * hits / (anomalous + hits + alarms),
                    )
                    if all(abs(value - cell) <= 0.005 for value, cell in zip(values, printed, strict=True)):
                        shares.append((hits + alarms) / (anomalous + normal))
                        precisions.append(hits / (hits + alarms))
        found = consistency.triple_bounds(printed, anomalous, normal)
        assert found.possible == bool(shares) == possible
        if possible:
            assert found.flagged == (min(shares), max(shares))
            assert found.precision == (min(precisions), max(precisions))

    @pytest.mark.parametrize("flagged", [3, 9, 20])
    def test_what_real_predictions_give_is_possible(self, flagged):
        labels = np.zeros(200, dtype=int)
        labels[50:60] = labels[120:135] = 1
        predictions = np.zeros(200, dtype=int)
        predictions[55 : 55 + flagged] = 1
        printed = tuple(
            round(value, 2)
            for value in (
                pv.point_adjusted(labels, predictions).f1,
                pv.pa_auc_roc(labels, predictions),
                pv.point(labels, predictions).f1,
            )
        )
        found = consistency.triple_bounds(printed, 25, 175)
        assert found.possible
        assert found.flagged[0] <= flagged / 200 <= found.flagged[1]

    def test_the_printed_triples(self, scored):
        found = compute("consistency", scored)
        rows = {(row.dataset, row.detector): row for row in found.triples}
        assert len(rows) == 15
        wrong = {pair for pair, row in rows.items() if row.contradicted}
        assert wrong == {("SMD", "USAD"), ("MSL", "USAD"), ("MSL", "DCDetector")}
        assert not rows["SMD", "USAD"].bounds.pair_possible
        asked = rows["MSL", "DCDetector"]
        assert round(100 * asked.bounds.flagged[1], 2) == 0.62
        assert round(asked.bounds.precision[0], 2) == 0.15
        assert round(100 * asked.rule_flags, 2) == 0.98

    def test_shares_and_times(self, scored):
        found = compute("consistency", scored)
        shares = {row.dataset: row for row in found.shares}
        assert (shares["PSM"].printed_percent, round(shares["PSM"].found_percent, 1)) == (4, 27.8)
        assert {name: row.found_steps // 100 * 100 for name, row in shares.items()} == {
            name: row.printed_steps for name, row in shares.items()
        }
        ratios = found.time_ratios.values()
        assert (round(min(ratios)), round(max(ratios))) == (7, 49)
        statuses = {verdict.item: verdict.status for verdict in report("consistency", found).verdicts}
        assert statuses["anomaly share of PSM"] == DIFFERS
        assert statuses["anomaly share of MSL"] == REPRODUCES
        assert statuses["what needs other labels"] == OPEN


class TestChance:
    def test_detectors_that_know_nothing(self):
        labels = np.zeros(1000, dtype=bool)
        labels[100:150] = labels[600:700] = True
        start = np.zeros(1, dtype=np.intp)
        scores, flagged = chance.knowing_nothing("random", labels, start, 2.0, 0)
        assert np.unique(scores).size == 1000
        assert flagged.sum() == 20
        scores, flagged = chance.knowing_nothing("constant", labels, start, 2.0, 0)
        assert np.unique(scores).size == 1
        assert not flagged.any()
        scores, flagged = chance.knowing_nothing("one step per event", labels, start, 2.0, 0)
        assert flagged.sum() == (flagged & labels).sum() == 2
        assert pv.point_adjusted(labels, flagged).f1 == 1

    def test_on_labels_written_to_a_folder(self, tmp_path):
        folder = tmp_path / "PSM"
        folder.mkdir()
        labels = np.zeros(2050, dtype=int)
        labels[300:400] = labels[1500:1700] = 1
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"label": labels}), folder / "PSM_test_labels.parquet")
        found = compute("chance", ExperimentSettings(root=tmp_path, seeds=2))
        assert list(found.sizes) == ["PSM"]
        assert found.sizes["PSM"] == (2050, 2, 300 / 2050)
        assert found.row("PSM", "one step per event").means["PA-F1"] == 1
        constant = found.row("PSM", "constant").means
        assert constant["AUC-ROC"] == 0.5
        assert constant["PATE"] > 0.5 > constant["PATE-AP"]  # the trapezoid flatters a constant
        assert len(found.missing) == len(chance.WANTED) - 1
        # 300 of the 2000 steps in whole windows are anomalous
        assert constant["PATE"] == pytest.approx(
            pv.pate(labels[:2000], np.zeros(2000), early=100, delay=100), abs=1e-12
        )

    def test_real_labels_are_whole(self, real_data):
        from pateval.paper.label_sets import read_labels

        smd = read_labels("SMD", ExperimentSettings(root=real_data))
        assert (smd.labels.size, smd.events, round(100 * smd.share, 2)) == (708_420, 327, 4.16)
        assert np.unique(smd.series).size == 28
        psm = read_labels("PSM", ExperimentSettings(root=real_data))
        assert (psm.labels.size, psm.events) == (87_841, 72)


class TestSegments:
    def test_stretches_and_rows(self, scored):
        found = compute("segments", scored)
        assert list(found.limits) == ["SMD", "MSL"]
        for dataset, limits in found.limits.items():
            first = next(iter(found.scored[dataset].values()))
            assert len(limits) == 2
            for start, stop in limits:
                assert first.labels[start:stop].any()
                assert np.unique(first.series[start:stop]).size == 1
        assert len(found.rows) == 10
        for row in found.rows:
            assert 0 <= row.touched <= row.events
            assert 0 <= row.covered <= 1
            assert row.alarm_steps >= 1
        inside = {row.detector: row.alarms_inside for row in found.rows if row.dataset == "SMD"}
        assert max(inside["AnomalyTrans"], inside["DCDetector"]) < 0.5
        assert inside["USAD"] == inside["LSTM"] == inside["Transformer"] == 1
        made = report("segments", found)
        assert made.verdicts[0].status == REPRODUCES
        # The detectors drop different tails; drawing them together must not mind.
        assert [figure.draw().shape for figure in made.figures] == [(5, 2), (5, 2)]

    def test_no_scores(self, nowhere):
        with pytest.raises(MissingInputError, match="--scores FOLDER"):
            compute("segments", nowhere)


class TestTiming:
    @pytest.fixture(scope="class")
    @classmethod
    def found(cls, nowhere):
        return compute("timing", nowhere)

    def test_cells(self, found):
        assert {cell.steps for cell in found.cells} == {1000, 10_000}
        assert {cell.scores for cell in found.cells} == {"continuous", "binary"}
        assert {cell.share for cell in found.cells} == {0.02, 0.05, 0.10}
        assert all(cell.seconds > 0 for cell in found.cells)
        assert not found.with_authors
        assert found.benchmarks == ()  # all longer than the largest asked for

    @pytest.mark.parametrize("share", timing.SHARES)
    @pytest.mark.parametrize("steps", [1000, 10_000, 123_456])
    def test_made_labels(self, steps, share):
        assert timing.made_labels(steps, share).mean() == pytest.approx(share, abs=120 / steps)

    def test_made_scores(self):
        labels = timing.made_labels(10_000, 0.05)
        assert np.unique(timing.made_scores(labels, "continuous")).size == 10_000
        assert np.unique(timing.made_scores(labels, "binary")).tolist() == [0, 1]

    def test_slow_cells_are_not_run(self, nowhere):
        calls = []

        def slow(labels, scores):
            calls.append(labels.size)
            return labels.size / 100  # 10 s at the first size, 100 s expected at the second

        cells = timing._climb("slow", slow, "binary", 0.05, nowhere)
        assert calls == [1000]
        assert cells[0].seconds == 10
        assert math.isnan(cells[1].seconds)
        assert cells[1].note == "not run: about 100 s expected"

    def test_growth_is_seen_before_it_hurts(self):
        cells = [timing.TimeCell("m", "binary", 0.05, 10**k, seconds) for k, seconds in ((3, 0.01), (4, 1.0))]
        assert timing._expected(cells, 10**5) == pytest.approx(100)

    def test_the_authors_environment_must_exist(self, tmp_path):
        with pytest.raises(ValueError, match="--authors-python"):
            compute("timing", ExperimentSettings(root=tmp_path, authors_python=tmp_path / "python", largest=1000))

    def test_a_failing_environment_is_named(self):
        with pytest.raises(ValueError, match="No module named 'pate'"):
            timing.authors_seconds(sys.executable, timing.made_labels(1000, 0.05), np.arange(1000.0))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_report_is_complete(name, nowhere, scored):
    settings = nowhere if name in (*NEED_NOTHING, "timing") else scored
    if name == "chance":
        pytest.skip("whole data sets: test_on_labels_written_to_a_folder draws a small one")
    if name == "real-world":
        pytest.skip("trains for half a minute: test_experiments_real_world does less")
    made = report(name, compute(name, settings))
    assert made.summary.endswith(".")
    assert made.tables
    assert made.figures
    assert made.verdicts
    for table in made.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    for verdict in made.verdicts:
        assert verdict.status in ("reproduces", "differs", "added", "open")
        assert verdict.why.endswith(".")


def test_unknown_experiment():
    with pytest.raises(ValueError, match="did you mean 'scenarios'"):
        compute("scenario")


def test_the_printed_tables_are_whole():
    assert all(len(column) == 10 for column in paper.SCENARIO_VALUES.values())
    for table in paper.IMPACT_VALUES.values():
        assert tuple(table) == paper.DATASETS
        assert all(len(row) == len(paper.DETECTORS) for row in table.values())
    assert set(paper.IMPACT_METRICS) == set(paper.IMPACT_VALUES)


def test_scenarios_load_nothing_heavy():
    """With `pateval[plot]` there is no torch, scikit-learn or pandas."""
    code = """
import sys
from pateval.paper import compute, report
for figure in report("scenarios", compute("scenarios")).figures:
    figure.draw()
print([name for name in ("torch", "sklearn", "pandas", "polars", "dask", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
