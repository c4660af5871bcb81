"""The tables a leaderboard gives: summary, ranks, significance, agreement, and how they are written."""

from __future__ import annotations

import csv
import json
import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.catalog import default_rank_by
from pateval.evaluation.bootstrap import Interval
from pateval.evaluation.measures import Measures
from pateval.io.atomic import as_csv
from pateval.leaderboards import diagnostics, render
from pateval.leaderboards.arrays import ChanceLevels, MetricFacts
from pateval.leaderboards.result import Leaderboard
from pateval.paper.paper_tables import DETECTORS, impact_table
from support.messages import raises_exactly

PAPER = {metric: impact_table(metric) for metric in ("PATE", "PA-F1", "Standard-F1", "VUS-ROC")}


def board_of(values, metrics, *, detectors=None, series=None, reasons=None, facts=None, present=None, **more):
    """Build a leaderboard from an array of detectors x series x metrics."""
    values = np.asarray(values, dtype=float)
    codes = np.isnan(values).astype(np.int32)
    return Leaderboard(
        tuple(detectors or [f"d{i}" for i in range(values.shape[0])]),
        tuple(series or [f"s{i}" for i in range(values.shape[1])]),
        tuple(metrics),
        values,
        np.ones(values.shape[:2], dtype=bool) if present is None else present,
        codes if reasons is None else reasons[0],
        ("", "the labels hold no anomaly") if reasons is None else reasons[1],
        {metric: MetricFacts() for metric in metrics} | (facts or {}),
        **more,
    )


@pytest.fixture
def paper():
    """The paper's table of five detectors on four data sets."""
    values = np.stack([np.array(PAPER[metric]).T for metric in PAPER], axis=2)
    return board_of(values, list(PAPER), detectors=list(DETECTORS), series=["SMD", "MSL", "SWaT", "PSM"])


def test_the_papers_ranks(paper):
    ranks = paper.ranks("PA-F1").to_pylist()
    assert [(row["detector"], row["mean_rank"]) for row in ranks] == [
        ("DCDetector", 1.625),
        ("AnomalyTrans", 1.875),
        ("USAD", 3.0),
        ("LSTM", 3.875),
        ("Transformer", 4.625),
    ]
    assert {(row["series_used"], row["series_dropped"]) for row in ranks} == {(4, 0)}
    assert [row["mean_rank"] for row in paper.ranks("PATE").to_pylist()] == [1.25, 2.25, 2.5, 4.5, 4.5]
    assert len(paper.ranks()) == 20


def test_the_papers_significance(paper):
    found = paper.significance("PATE")
    assert found.detectors[0] == "Transformer"
    assert found.nemenyi_difference == pytest.approx(3.05, abs=0.005)
    # Nemenyi tells only the extremes apart; the signed-rank test on four series can tell nobody apart.
    assert found.nemenyi_p[0][4] < 0.05
    assert sorted(map(len, found.nemenyi_groups)) == [3, 3, 3] or min(map(len, found.nemenyi_groups)) >= 3
    assert found.wilcoxon_groups == [list(found.detectors)]
    assert found.wins[0][4] == 4
    assert found.losses[4][0] == 4
    assert found.rank_biserial[0][4] == 1.0
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["friedman"]["p_value"] == pytest.approx(found.friedman["p_value"])
    with raises_exactly(
        ValueError, "metric 'pate' is not in this leaderboard; it has PATE, PA-F1, Standard-F1, VUS-ROC"
    ):
        paper.significance("pate")


def test_the_paper_has_too_few_series(paper):
    lines = [check.sentence for check in diagnostics.find_warnings(paper, {})]
    assert len(lines) == 1
    assert lines[0].startswith("too few series for any claim: with 4 comparable series and 10 pairs of detectors")
    assert lines[0].endswith("corrected p-value is 1, so no difference can be significant")


def test_agreement_of_the_papers_metrics(paper):
    table = paper.agreement().to_pydict()
    assert table["metric"] == list(PAPER)
    matrix = np.array([table[metric] for metric in PAPER])
    assert np.array_equal(matrix, matrix.T)
    assert (np.diag(matrix) == 1).all()
    # Point adjustment turns the order around.
    assert matrix[0, 1] < -0.7
    assert matrix[0, 3] > 0.5


def test_summary_by_hand():
    values = [[[0.2, 8.0], [0.4, 2.0], [math.nan, math.nan]], [[0.6, 4.0], [0.8, math.nan], [math.nan, math.nan]]]
    chance = ChanceLevels(np.array([[0.1, 10.0], [0.2, 4.0]]), np.array([[0, 1, -1], [0, 1, -1]], dtype=np.int32))
    board = board_of(
        values,
        ["pate", "delay"],
        chance=chance,
        facts={"delay": MetricFacts(higher_is_better=False, best=0.0)},
    )
    rows = {(row["detector"], row["metric"]): row for row in board.summary().to_pylist()}
    one = rows["d0", "pate"]
    assert (one["n"], one["undefined"]) == (2, 1)
    assert one["mean"] == pytest.approx(0.3)
    assert one["median"] == pytest.approx(0.3)
    assert one["low"] >= 0.2
    assert one["high"] <= 0.4
    assert one["chance"] == pytest.approx(0.15)
    assert one["skill"] == pytest.approx((0.1 / 0.9 + 0.2 / 0.8) / 2)
    assert one["mean_rank"] == 2.0
    two = rows["d0", "delay"]
    assert two["skill"] == pytest.approx((0.2 + 0.5) / 2)
    assert two["mean_rank"] == 2.0  # lower is better, on the one series where both have a value
    assert rows["d1", "delay"]["low"] is None
    assert rows["d1", "delay"]["chance"] == 10.0  # over the same series as the mean beside it


def test_limits_over_events_take_the_place_of_those_over_series():
    board = board_of([[[0.5]], [[0.6]]], ["pate"], intervals={("d0", "pate"): Interval(0.4, 0.7)})
    rows = board.summary().to_pylist()
    assert (rows[0]["low"], rows[0]["high"]) == (0.4, 0.7)
    assert rows[1]["low"] is None


def test_a_detector_without_values_does_not_take_the_others_with_it():
    values = np.random.default_rng(0).random((3, 8, 1))
    values[1] = math.nan
    values[0, 5] = math.nan
    board = board_of(values, ["pate"])
    assert [row["detector"] for row in board.ranks("pate").to_pylist()] in (["d0", "d2"], ["d2", "d0"])
    assert board.ranks("pate").to_pylist()[0]["series_used"] == 7
    assert board.significance("pate").left_out == ("d1",)
    assert "without any value and so left out of the ranks under 'pate': 'd1'" in [
        check.sentence for check in diagnostics.find_warnings(board, {})
    ]
    assert repr(board).splitlines()[4].split() == ["d1", "-"]


def test_nothing_defined_at_all():
    board = board_of(np.full((2, 3, 1), math.nan), ["pate"])
    assert board.summary().column("mean").to_pylist() == [None, None]
    assert board.significance("pate").detectors == ()
    assert board.ranks().num_rows == 0
    assert [line.split()[0] for line in repr(board).splitlines()[2:4]] == ["d0", "d1"]
    assert json.loads(board.significance("pate").to_json())["friedman"]["p_value"] is None


def test_scores_leave_out_what_is_absent():
    present = np.array([[True, False], [True, True]])
    values = np.array([[[0.5], [math.nan]], [[0.6], [math.nan]]])
    codes = np.array([[[0], [0]], [[0], [1]]], dtype=np.int32)
    board = board_of(values, ["pate"], present=present, reasons=(codes, ("", "no anomaly")))
    rows = board.scores.to_pylist()
    assert [(row["detector"], row["series"], row["reason"]) for row in rows] == [
        ("d0", "s0", None),
        ("d1", "s0", None),
        ("d1", "s1", "no anomaly"),
    ]
    assert dict(board.reasons()) == {("pate", "no anomaly"): 1}
    assert board.to_pandas().shape == (3, 6)
    assert board.to_polars().shape == (3, 6)


def test_warnings_about_coarse_scores_and_undefined_values():
    generator = np.random.default_rng(0)
    values = generator.random((3, 12, 2))
    values[:, :, 1] = values[:, :, 0]
    values[0, :, 1] -= 0.2
    values[:, 4] = math.nan
    board = board_of(values, ["pate", "pate_ap"])
    lines = [check.sentence for check in diagnostics.find_warnings(board, {"d0": (12, 12), "d1": (9, 12)})]
    assert lines[0].startswith("detector 'd0': scores are coarse on 12 of 12 series, and pate (0.")
    assert lines[0].endswith("trust pate_ap")
    assert lines[1].startswith("scores are coarse on most series (at most two values")
    assert lines[1].endswith("which flatters pate: 'd1'")
    assert lines[2] == "6 values are missing, in 1 of 12 series, for all metrics: the labels hold no anomaly"
    assert len(lines) == 3


def test_reasons_that_differ_in_a_number_are_one_line():
    values = np.full((1, 3, 2), math.nan)
    values[0, :, 1] = 0.5
    codes = np.array([[[1, 0], [2, 0], [1, 0]]], dtype=np.int32)
    board = board_of(values, ["ucr_score", "pate"], reasons=(codes, ("", "one event; got 2", "one event; got 3")))
    assert [check.sentence for check in diagnostics.find_warnings(board, {})] == [
        "3 values are missing, in 3 of 3 series, for 'ucr_score': one event; got 2 (and 1 like it)"
    ]


def test_marks_of_the_overview():
    facts = {"point_f1": MetricFacts(needs_threshold=True)}
    board = board_of(
        np.full((2, 4, 2), 0.5),
        ["pate", "point_f1"],
        facts=facts,
        coarse=("d1",),
        measures=Measures.of(metrics="pate, point_f1"),
    )
    header, body, remarks = board.overview()
    assert header[-1] == "point_f1 (oracle)"
    assert [row[0] for row in body] == ["d0", "d1 (coarse)"]
    assert "coarse: few distinct scores, which pate flatters: see pate_ap" in remarks
    assert any(remark.startswith("oracle: ") for remark in remarks)


class Balanced(HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, _):
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_files(paper, tmp_path):
    from dataclasses import replace

    columns = {"detector": ["LSTM"], "series": ["SMD"], "steps": [100], "seconds": [0.123457], "cached": [True]}
    board = replace(paper, jobs=columns, run={"versions": {"x": "1"}, "big": math.nan}, warnings=("careful",))
    board.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "agreement.csv",
        "contents.csv",
        "jobs.parquet",
        "ranks.csv",
        "run.json",
        "scores.csv",
        "scores.parquet",
        "significance.json",
        "summary.csv",
        "timings.csv",
    ]
    stored = pq.read_table(tmp_path / "out" / "scores.parquet")
    assert stored.column_names == ["detector", "series", "metric", "value", "reason", "signature"]
    assert stored.equals(board.scores)
    with (tmp_path / "out" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows] == stored["value"].to_pylist()
    described = json.loads((tmp_path / "out" / "run.json").read_text())
    assert described["warnings"] == ["careful"]
    assert described["big"] is None
    assert set(json.loads((tmp_path / "out" / "significance.json").read_text())) == set(PAPER)
    assert (tmp_path / "out" / "timings.csv").read_text().splitlines()[1] == "LSTM,SMD,100,0.123457,True"
    board.to_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out" / "scores.csv").read_bytes()


def test_written_in_parts(tmp_path, monkeypatch):
    from pateval.leaderboards import tables

    present = np.random.default_rng(0).random((7, 3)) < 0.8
    board = board_of(np.random.default_rng(1).random((7, 3, 2)), ["pate", "auc_roc"], present=present)
    board.to_csv(tmp_path / "whole.csv")
    whole = board.scores.to_pylist()
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 13)
    assert len(list(board.score_parts())) == 3
    board.to_parquet(tmp_path / "parts.parquet")
    assert pq.read_table(tmp_path / "parts.parquet").to_pylist() == whole
    board.to_csv(tmp_path / "parts.csv")
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_undefined_values_are_empty_in_csv():
    board = board_of([[[math.nan]]], ["pate"], signatures={"pate": "pate|early:0,100"})
    assert as_csv(board.scores).splitlines() == [
        "detector,series,metric,value,reason,signature",
        'd0,s0,pate,,the labels hold no anomaly,"pate|early:0,100"',
    ]


def test_html_is_escaped_and_whole(tmp_path):
    board = board_of([[[0.5]], [[0.6]]], ["pate"], detectors=["<b>a</b>", "b&c"])
    assert board.to_html(tmp_path / "page.html").path == tmp_path / "page.html"
    page = board._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;a&lt;/b&gt;" in page
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "http" not in page


def test_text_markdown_json(paper):
    text = repr(paper)
    assert max(map(len, text.splitlines())) <= 80
    assert render.text(paper.overview(), None).splitlines()[0].split()[:2] == ["detector", "rank"]
    assert len(text.splitlines()) >= 7
    marked = render.as_markdown(paper.overview())
    assert marked.splitlines()[1].startswith("| --- | ---: |")
    data = json.loads(paper.to_json())
    assert len(data["summary"]) == 20
    assert data["rank_by"] == data["significance"]["metric"] == paper.rank_by == next(iter(PAPER))
    letters = render.alike_texts(paper.significance("PATE"))
    assert set(letters.values()) == {"a"}
    assert [render._letter(i) for i in (0, 25, 26, 53)] == ["a", "z", "a1", "b2"]


def test_many_detectors_are_alike_by_places():
    chance = np.random.default_rng(0)
    values = (0.15 * chance.normal(size=(40, 30, 1)) + np.linspace(0.8, 0.3, 40)[:, None, None]).clip(0, 1)
    board = board_of(values, ["pate_ap"])
    _, rows, remarks = board.overview()
    found = board.significance()
    for place, row in enumerate(rows):
        alike = [other + 1 for other, p in enumerate(found.wilcoxon_holm_p[place]) if p >= 0.05]
        written = [range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1) for part in row[2].split(",")]
        assert [number for numbers in written for number in numbers] == alike
    assert max(len(row[2]) for row in rows) < 20
    assert remarks[2].endswith("; alike: the places of those not told apart (Wilcoxon-Holm, 5 %)")


def test_many_metrics_show_the_best_known(paper):
    metrics = ["auc_roc", *(f"m{i}" for i in range(10)), "pate", "pate_ap"]
    board = board_of(np.random.default_rng(0).random((2, 3, 13)), metrics)
    header, _, remarks = board.overview()
    assert header == ["detector", "rank (pate_ap)", "alike", "pate_ap", "95 %", "pate", "auc_roc"]
    assert remarks[-1] == "10 more metrics in scores.csv (-o DIR) and in to_frame()"


def test_ranked_by_what_is_asked_for_in_its_direction():
    values = np.array([[[0.9, 5.0, 0.1]] * 6, [[0.5, 1.0, 0.2]] * 6, [[0.1, 3.0, 0.3]] * 6])
    facts = {"delay": MetricFacts(higher_is_better=False, best=0.0)}

    def order(**options):
        board = board_of(values, ["pate", "delay", "pate_ap"], facts=facts, **options)
        return board.rank_by, [row[0] for row in board.overview().rows]

    assert order() == ("pate_ap", ["d2", "d1", "d0"])
    assert order(rank_by="pate") == ("pate", ["d0", "d1", "d2"])
    assert order(rank_by="delay") == ("delay", ["d1", "d2", "d0"])
    assert order(rank_by="pate( early = [0,100] )")[0] == "pate"
    with raises_exactly(ValueError, "metric 'nab' is not in this leaderboard; it has pate, delay, pate_ap"):
        order(rank_by="nab")
    by_delay = board_of(values, ["pate", "delay"], facts=facts, rank_by="delay")
    assert by_delay.significance().metric == "delay"
    assert by_delay.significance().detectors == ("d1", "d2", "d0")
    page = by_delay._repr_html_()
    assert page.index("<td>d1</td>") < page.index("<td>d0</td>")


def test_as_frames_and_plain_data(paper):
    for backend, kind in {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}.items():
        assert isinstance(paper.to_frame(backend), kind)
        assert paper.to_frame(backend).shape == (80, 6)
        pairs = paper.significance("PATE").to_frame(backend)
        assert isinstance(pairs, kind)
        assert pairs.shape == (10, 11)
    pairs = paper.significance("PATE").to_frame("pandas")
    assert pairs.loc[3, ["detector", "other", "wins"]].tolist() == [
        "Transformer",
        paper.significance("PATE").detectors[4],
        4,
    ]
    with raises_exactly(ValueError, "backend must be one of 'pandas', 'polars', 'pyarrow'; got 'excel'"):
        paper.to_frame("excel")


def test_the_metric_that_ranks_where_none_is_named():
    assert default_rank_by(["pate", "pate_ap(early=0,delay=0)", "pate_ap"]) == "pate_ap"
    assert default_rank_by(["pate", "pate_ap(early=0,delay=0)"]) == "pate_ap(early=0,delay=0)"
    assert default_rank_by(["auc_roc", "pate"]) == "auc_roc"
    values = np.array([[[0.1, 0.9]] * 3, [[0.9, 0.1]] * 3])
    board = board_of(values, ["pate_ap(early=0,delay=0)", "pate_ap"])
    assert board.rank_by == "pate_ap"
    assert board.overview().rows[0][0] == "d0"


def test_means_that_are_not_above_chance_have_a_star() -> None:
    labels = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 10)
    series = np.repeat(np.arange(5), 80)
    noise = np.random.default_rng(1).random(400)
    data = {"label": labels, "series": series, "good": labels + noise, "inverted": -labels - noise}
    board = pv.leaderboard(data, metrics=["auc_roc", "mean_detection_delay"], chance=5)
    lines = {line.split()[0]: line for line in repr(board).splitlines() if line}
    assert "0.000*" in lines["inverted"]
    assert "*" not in lines["good"]
    assert "* not above chance: random scores do as well" in repr(board)
    said = " ".join(repr(board).split())
    assert "first by mean rank under auc_roc: good, 1.00; it has the highest mean, too, 1.000" in said
