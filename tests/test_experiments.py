"""The paper's tables and figures: numbers asserted through the result objects, and what a reader is told of them."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import pateval as pv
from conftest import CHECKOUT
from pateval.paper import EXPERIMENTS, ExperimentSettings, MissingInputError, compute, from_labels, timing
from pateval.paper import paper_tables as paper
from pateval.paper.document import CANNOT, DIFFERS, IN_PART, REPRODUCES, Cell, Verdict
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
    return ExperimentSettings(root=real_data, scores=CHECKOUT / "results" / "scores" / "paper", largest=10_000, seeds=2)


def rows_of(report, table, *columns):
    """Rows of a table by the values of some columns."""
    return {tuple(row[name] for name in columns): row for row in report.table(table).rows}


class TestScenarios:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls):
        return compute("scenarios")

    def test_109_of_110_cells(self, made):
        rows = made.table("cells").rows
        (other,) = [row for row in rows if not row["agrees"]]
        assert len(rows) == 110
        assert (other["scenario"], other["printed"], round(other["ours"], 4)) == ("S5", 0.63, 0.6163)

    def test_cells_are_those_of_the_metrics_themselves(self, made):
        labels, flagged = SCENARIOS["S4"]
        rows = rows_of(made, "cells", "scenario", "metric")
        direct = {
            "pate(early=20,delay=20)": pv.pate(labels, flagged, early=20, delay=20),
            "pate_f1(early=20,delay=20)": pv.pate_f1(labels, flagged, early=20, delay=20),
            "vus_pr(window=40,variant=original)": pv.vus_pr(labels, flagged, window=40, variant="original"),
            "range_based_f1(alpha=0.2,precision_alpha=0.2)": pv.range_based(
                labels, flagged, alpha=0.2, precision_alpha=0.2
            ).f1,
        }
        for metric, value in direct.items():
            assert rows["S4", metric]["ours"] == value

    def test_what_explains_the_last_cell(self, made):
        variants = made.verdict("cell").values["variants"]
        assert variants["original"][0] != variants["original"][1]
        assert variants["timeeval"][0] == pytest.approx(variants["timeeval"][1], abs=1e-12)
        assert [variants[name][2] for name in ("original", "timeeval", "tsb-ad")] == [19, 16, 1]
        (said,) = [said for said in made.statements if said["item"] == "S5, VUS-ROC"]
        assert "The authors' own code gives .6163" in said["why"]

    def test_only_one_pair_of_buffers_gives_the_table(self, made):
        under = made.verdict("buffers").values["under"]
        assert [(round(value, 3), given) for value, given in under.values()] == [(0.685, 10), (0.598, 5), (0.594, 5)]

    def test_statuses(self, made):
        assert [verdict.status for verdict in made.verdicts] == [REPRODUCES, DIFFERS, IN_PART]


class TestProperties:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls):
        return compute("properties")

    def test_ten_rows_differ(self, made):
        rows = made.table("properties").rows
        assert len(rows) == 12
        assert [row["metric"] for row in rows if row["as claimed"]] == ["point_adjusted_f1", "pate"]
        assert made.verdict("table").status == IN_PART

    def test_every_difference_shows_its_probe(self, made):
        shown = {(row["metric"], row["property"]) for row in made.table("probes").rows}
        for row in made.table("properties").rows:
            differing = {name for name, cell in row.items() if "not claimed" in str(cell) or "not meas" in str(cell)}
            assert {name for metric, name in shown if metric == row["metric"]} == differing
        for row in made.table("probes").rows:
            first, second = row["value of the first"], row["value of the second"]
            assert first > second if row["measured"] else first == second

    def test_a_buffer_brings_the_delayed_property_back(self, made):
        assert all(made.values["buffered"].values())

    def test_the_first_figure_is_drawn(self, made):
        texts = {text.get_text() for text in made.figures[0].draw().texts}
        assert texts == {"a1", "a2", "a3", "p11", "p12", "p21", "p22", "p31", "p32"}


class TestRanks:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, nowhere):
        return compute("ranks", nowhere)

    def test_pa_f1_is_exact_and_pate_is_not(self, made):
        assert [verdict.status for verdict in made.verdicts[:2]] == [REPRODUCES, IN_PART]
        rows = rows_of(made, "printed", "metric", "ranks")
        assert rows["PATE", "from the table"]["Transformer"] == 1.25
        assert rows["PATE", "from the table"]["LSTM"] == 2.25

    def test_no_rule_for_ties_gives_the_stated_ranks(self, made):
        by_rule = made.verdicts[1].values["by_rule"]
        assert set(by_rule) == {"mean", "lowest", "highest", "dense"}
        assert set(by_rule.values()) == {(1.25, 2.25)}

    def test_groups_join_neighbours_in_rank(self):
        from pateval.paper.from_scores import rank_test

        test = rank_test("PATE", paper.impact_table("PATE"))
        for group in test.nemenyi_groups:
            places = [test.detectors.index(name) for name in group]
            assert places == list(range(places[0], places[0] + len(places)))
            assert test.mean_ranks[places[-1]] - test.mean_ranks[places[0]] <= test.nemenyi_difference
        assert any({"Transformer", "LSTM", "USAD"} <= set(group) for group in test.nemenyi_groups)

    def test_scores_are_ranked_where_there_are_any(self, made, scored):
        assert [table.name for table in made.tables] == ["printed"]
        ours = compute("ranks", scored)
        assert ours.values["datasets"] == ["MSL", "SMAP", "SMD"]
        rows = rows_of(ours, "ours", "metric")
        for metric, leader in (("PA-F1", "AnomalyTrans"), ("PATE", "Transformer")):
            assert min(paper.DETECTORS, key=rows[(metric,)].__getitem__) == leader


def test_categories_of_all_alarms():
    made = compute("categories")
    rows = made.table("alarms").rows
    assert [row["ours"] for row in rows] == [row["paper"] for row in rows]
    assert {row["ours"] for row in rows} == {"true detection", "delayed", "outside", "early"}
    assert (rows[-1]["TP weight"], rows[-1]["FP weight"]) == (0, 14)
    missed = {row["event"]: row["FN weight"] for row in made.table("events").rows}
    assert (missed["a1"], missed["a4"]) == (0, 30)
    assert 0 < missed["a2"] < 26


def test_weights_follow_the_closed_form():
    from pateval.paper.definitions import LENGTH_BUFFER, LENGTHS

    for row in compute("lengths").table("weights").rows:
        for name, length in LENGTHS.items():
            expected = (LENGTH_BUFFER - row["steps after"]) / (LENGTH_BUFFER + (length - 1) / 2)
            assert row[f"{name} (length {length})"] == pytest.approx(expected, abs=1e-12)


def test_early_alone_is_false_and_late_alone_is_not():
    made = compute("early-late")
    first, second, third = (row["PATE-F1"] for row in made.table("values").rows)
    assert second == 0 < third < first
    moved = {metric: np.array([row[metric] for row in made.table("moved").rows]) for metric in ("PATE", "AUC-PR")}
    assert moved["AUC-PR"] == pytest.approx(moved["AUC-PR"][::-1], abs=1e-12)
    assert not np.allclose(moved["PATE"], moved["PATE"][::-1])


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
        found = from_labels.triple_bounds(printed, anomalous, normal)
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
        found = from_labels.triple_bounds(printed, 25, 175)
        assert found.possible
        assert found.flagged[0] <= flagged / 200 <= found.flagged[1]

    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, scored):
        return compute("consistency", scored)

    def test_the_printed_triples(self, made):
        triples = {(one.dataset, one.detector): one for one in made.verdict("triples").values["triples"]}
        assert len(triples) == 15
        wrong = {pair for pair, one in triples.items() if one.contradicted}
        assert wrong == {("SMD", "USAD"), ("MSL", "USAD"), ("MSL", "DCDetector")}
        assert not triples["SMD", "USAD"].bounds.pair_possible
        asked = triples["MSL", "DCDetector"]
        assert round(100 * asked.bounds.flagged[1], 2) == 0.62
        assert round(asked.bounds.precision[0], 2) == 0.15
        assert round(100 * asked.rule_flags, 2) == 0.98

    def test_shares_and_times(self, made):
        rows = rows_of(made, "shares", "data set")
        assert (rows[("PSM",)]["printed %"], round(rows[("PSM",)]["counted %"], 1)) == (4, 27.8)
        assert all(row["steps"] // 100 * 100 == row["printed steps"] for row in rows.values())
        ratios = made.verdict("times").values["ratios"].values()
        assert (round(min(ratios)), round(max(ratios))) == (7, 49)
        statuses = {said["item"]: said["status"] for said in made.statements}
        assert statuses["anomaly share of PSM"] == DIFFERS
        assert statuses["anomaly share of MSL"] == REPRODUCES
        assert statuses["what is not here"] == CANNOT


class TestChance:
    def test_detectors_that_know_nothing(self):
        labels = np.zeros(1000, dtype=bool)
        labels[100:150] = labels[600:700] = True
        start = np.zeros(1, dtype=np.intp)
        scores, flagged = from_labels.knowing_nothing("random", labels, start, 2.0, 0)
        assert np.unique(scores).size == 1000
        assert flagged.sum() == 20
        scores, flagged = from_labels.knowing_nothing("constant", labels, start, 2.0, 0)
        assert np.unique(scores).size == 1
        assert not flagged.any()
        scores, flagged = from_labels.knowing_nothing("one step per event", labels, start, 2.0, 0)
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
        made = compute("chance", ExperimentSettings(root=tmp_path, seeds=2))
        (size,) = made.table("sizes").rows
        assert (size["data set"], size["steps"], size["events"]) == ("PSM", 2050, 2)
        assert size["anomalous %"] == pytest.approx(30000 / 2050)
        rows = rows_of(made, "big-table", "detector")
        assert rows[("one step per event",)]["PA-F1"] == 1
        constant = rows[("constant",)]
        assert constant["AUC-ROC"] == 0.5
        assert constant["PATE"] > 0.5 > constant["PATE-AP"]  # the trapezoid flatters a constant
        # 300 of the 2000 steps in whole windows are anomalous
        expected = pv.pate(labels[:2000], np.zeros(2000), early=100, delay=100)
        assert constant["PATE"] == pytest.approx(expected, abs=1e-12)
        assert len([one for one in made.verdicts if one.status == CANNOT]) == len(from_labels.WANTED) - 1
        assert len(made.table("all-metrics-random").rows) == len(pv.catalog.find_metrics("all"))

    def test_real_labels_are_whole(self, real_data):
        from pateval.paper.inputs import read_labels

        smd = read_labels("SMD", ExperimentSettings(root=real_data))
        assert (smd.labels.size, smd.events, round(100 * smd.labels.mean(), 2)) == (708_420, 327, 4.16)
        assert np.unique(smd.series).size == 28
        psm = read_labels("PSM", ExperimentSettings(root=real_data))
        assert (psm.labels.size, psm.events) == (87_841, 72)


class TestSegments:
    def test_stretches_and_rows(self, scored):
        from pateval.paper.inputs import read_labels

        made = compute("segments", scored)
        stretches = made.table("stretches").rows
        assert [row["data set"] for row in stretches] == ["SMD", "SMD", "MSL", "MSL"]
        truth = read_labels("MSL", scored).labels
        assert all(truth[row["first step"] : row["last step"] + 1].any() for row in stretches[2:])
        rows = made.table("segments").rows
        assert len(rows) == 10
        for row in rows:
            assert 0 <= row["events touched"] <= row["events"]
            assert 0 <= row["share of event steps flagged"] <= 1
            assert row["steps per alarm"] >= 1
        inside = {row["detector"]: row["share of alarms in events"] for row in rows if row["data set"] == "SMD"}
        assert max(inside["AnomalyTrans"], inside["DCDetector"]) < 0.5
        assert inside["USAD"] == inside["LSTM"] == inside["Transformer"] == 1
        assert made.verdicts[0].status == IN_PART  # one seed alone
        # The detectors drop different tails; drawing them together must not mind.
        assert [figure.draw().shape for figure in made.figures] == [(5, 2), (5, 2)]

    def test_no_scores(self, nowhere):
        with pytest.raises(MissingInputError, match="--scores FOLDER"):
            compute("segments", nowhere)


class TestTiming:
    @pytest.fixture(scope="class")
    @classmethod
    def made(cls, nowhere):
        return compute("timing", nowhere)

    def test_cells(self, made):
        rows = made.table("cells").rows
        assert {row["steps"] for row in rows} == {1000, 10_000}
        assert {row["scores"] for row in rows} == {"perfect", "continuous"}
        assert {row["share"] for row in rows} == {0.02, 0.05, 0.10}
        assert all(row["seconds"] > 0 for row in rows)
        assert made.verdict("authors").status == CANNOT
        assert "benchmarks" not in [table.name for table in made.tables]  # all longer than the largest asked for

    @pytest.mark.parametrize("share", timing.SHARES)
    @pytest.mark.parametrize("steps", [1000, 10_000, 123_456])
    def test_made_labels(self, steps, share):
        assert timing.made_labels(steps, share).mean() == pytest.approx(share, abs=120 / steps)

    def test_made_scores(self):
        labels = timing.made_labels(10_000, 0.05)
        assert np.unique(timing.made_scores(labels, "continuous")).size == 10_000
        assert (timing.made_scores(labels, "perfect") == labels).all()

    def test_slow_cells_are_not_run(self, nowhere):
        calls = []

        def slow(labels, scores):
            calls.append(labels.size)
            return labels.size / 100  # 10 s at the first size, 100 s expected at the second

        cells = timing.climb("slow", slow, "perfect", 0.05, nowhere)
        assert calls == [1000]
        assert cells[0].seconds == 10
        assert math.isnan(cells[1].seconds)
        assert cells[1].note == "not run: about 100 s expected"

    def test_growth_is_seen_before_it_hurts(self):
        cells = [timing.TimeCell("m", "perfect", 0.05, 10**k, seconds) for k, seconds in ((3, 0.01), (4, 1.0))]
        assert timing.expected_seconds(cells, 10**5) == pytest.approx(100)

    def test_statuses_follow_from_the_times(self):
        """The paper's claims, with times that hold them and times that do not."""

        def statuses(seconds, ratio):
            cells = [
                timing.TimeCell(name, "perfect", share, steps, seconds * steps / 10**5)
                for name in (timing.PATE, timing.AUTHORS)
                for share in timing.SHARES
                for steps in (10**4, 10**5)
            ]
            cells += [timing.TimeCell(timing.PATE, "continuous", 0.05, 10**4, 1.0)]
            row = {"PATE / AUC-PR printed": 40.0, "PATE / AUC-PR perfect": ratio, "VUS-PR perfect": 1.0}
            verdicts = timing._verdicts(timing.Times(cells), [{**row, "PATE perfect": seconds}], with_authors=True)
            return {(one.name, one.values.get("theirs") is True): one.status for one in verdicts}

        good, bad = statuses(0.1, 39.0), statuses(50.0, 3.0)
        for key in (("second", True), ("second", False), ("ratio", False), ("faster", False)):
            assert (good[key], bad[key]) == (REPRODUCES, DIFFERS), key
        assert good["linear", False] == REPRODUCES

    def test_the_authors_environment_must_exist(self, tmp_path):
        with pytest.raises(ValueError, match="--authors-python"):
            compute("timing", ExperimentSettings(root=tmp_path, authors_python=tmp_path / "python", largest=1000))

    def test_a_failing_environment_is_named(self):
        with pytest.raises(ValueError, match="No module named 'pate'"):
            timing.authors_seconds(sys.executable, timing.made_labels(1000, 0.05), np.arange(1000.0))


class TestStatuses:
    """A status follows from the cells behind it, whatever the experiment says of them."""

    @pytest.mark.parametrize(
        ("agreeing", "cells", "status"),
        [
            (10, 10, REPRODUCES),
            (9, 10, REPRODUCES),
            (8, 10, IN_PART),
            (5, 10, IN_PART),
            (4, 10, DIFFERS),
            (0, 1, DIFFERS),
        ],
    )
    def test_shares(self, agreeing, cells, status):
        made = Verdict("x", [Cell(1, 1)] * agreeing + [Cell(1, 2)] * (cells - agreeing))
        assert made.status == status

    def test_one_seed_reproduces_in_part_at_most(self):
        assert Verdict("x", [Cell(1, 1)], one_seed=True).status == IN_PART
        assert Verdict("x", [Cell(1, 2)], one_seed=True).status == DIFFERS

    def test_a_cell_that_only_one_seed_gives_is_not_reproduced(self):
        assert Cell(0.5, [0.5, 0.6, 0.61], "seeds", 0.03).agrees is False
        assert Cell(0.5, [0.5, 0.52, 0.61], "seeds", 0.03).agrees is True
        assert Cell(0.5, [0.5, 0.6, 0.4], "seeds", 0.03).agrees is False

    @pytest.mark.parametrize(
        ("rule", "good", "bad"),
        [("equal", 1, 2), ("rounds", 0.996, 0.99), ("within", 1.03, 1.04), ("above", 1.1, 1.0), ("below", 0.9, 1.0)],
    )
    def test_rules(self, rule, good, bad):
        assert Cell(1, good, rule, 0.03 + 1e-9).agrees
        assert not Cell(1, bad, rule, 0.03 + 1e-9).agrees

    @pytest.mark.parametrize("name", [*NEED_NOTHING, "readings", "timing", "consistency", "segments"])
    def test_altered_numbers_flip_each(self, name, nowhere, request):
        """Whatever is printed, moved away from what was found, no longer reproduces; moved onto it, it does."""
        far = {"equal": "another", "rounds": 1e9, "within": 1e9, "above": 1e9, "below": -1e9}
        near = {"above": -1e9, "below": 1e9}
        settings = request.getfixturevalue("scored") if name in ("consistency", "segments") else nowhere
        decided = [verdict for verdict in compute(name, settings).verdicts if verdict.cells]
        assert decided
        for verdict in decided:
            away = [cell._replace(printed=far[cell.rule], limit=0.0) for cell in verdict.cells]
            assert replace(verdict, cells=away).status == DIFFERS
            onto = [
                cell._replace(
                    printed=near.get(cell.rule, round(cell.found, 2) if cell.rule == "rounds" else cell.found)
                )
                for cell in verdict.cells
            ]
            assert replace(verdict, cells=onto).status == (IN_PART if verdict.one_seed else REPRODUCES)

    def test_altered_printed_numbers_reach_the_page(self, monkeypatch):
        monkeypatch.setattr(paper, "SCENARIO_VALUES", dict.fromkeys(paper.SCENARIO_VALUES, (0.123,) * 10))
        assert compute("scenarios").verdict("tables").status == DIFFERS
        monkeypatch.setattr(paper, "MEAN_RANKS", {"PATE": {"Transformer": 1.25, "LSTM": 2.25}, "PA-F1": {"USAD": 1.0}})
        statuses = {one.values["metric"]: one.status for one in compute("ranks").verdicts if one.name == "stated"}
        assert statuses == {"PATE": REPRODUCES, "PA-F1": DIFFERS}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_report_is_complete(name, nowhere, scored):
    settings = nowhere if name in (*NEED_NOTHING, "timing", "readings") else scored
    if name == "chance":
        pytest.skip("whole data sets: test_on_labels_written_to_a_folder draws a small one")
    if name == "real-world":
        pytest.skip("trains for half a minute: test_experiments_real_world does less")
    made = compute(name, settings)
    assert made.summary.endswith(".")
    assert made.tables
    assert made.figures
    assert made.verdicts
    for table in made.tables:
        assert all(list(row) == table.columns for row in table.rows)
    for said in made.statements:
        assert said["item"]
        assert said["status"] in (REPRODUCES, IN_PART, DIFFERS, CANNOT, "not in the paper")
        assert said["why"].endswith(".")
        assert "  " not in "".join(said.values())
    for paragraph in (made.title, made.summary, *made.text):
        assert "Settings:" in paragraph or "ExperimentSettings" not in paragraph


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
from pateval.paper import compute
for figure in compute("scenarios").figures:
    figure.draw()
print([name for name in ("torch", "sklearn", "pandas", "polars", "dask", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
