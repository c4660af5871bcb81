"""One question, one answer: every way to a number gives the same number, on data of every shape, under every metric.

The table is `ROUTES` x `SHAPES`, with all metrics of a shape in one cell. What is right is computed by `expected`, a
literal rule on the metric functions. A cell that is not right says the route, the shape, the detector, the metric and
both values.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations

import pytest

import pateval as pv
from oracles.control import signed_rank_p
from support.command_line import invoke
from support.one_answer import expected, gives_predictions, pooled, with_random_scores
from support.one_answer_routes import Place
from support.one_answer_shapes import SHAPES
from support.one_answer_table import CHANCE_ROUTES, ROUTES

pytestmark = pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")

CELLS = [(route.name, shape.name) for shape in SHAPES.values() for route in ROUTES.values() if route.takes(shape)]


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Each shape with its files, which are written when first asked for."""
    return {name: Place(shape, tmp_path_factory.mktemp("shape")) for name, shape in SHAPES.items()}


@pytest.mark.parametrize(("route", "shape"), CELLS)
def test_the_number_depends_on_the_data_and_never_on_who_is_asked(route, shape, places):
    way, place = ROUTES[route], places[shape]
    names, asked = place.shape.detectors, pooled(place.shape) if way.pools else place.shape
    for together in pairs_of(place.shape) if way.in_pairs else [names]:
        wanted = expected(asked, together)
        if way.metrics:
            wanted = {(name, metric): value for (name, metric), value in wanted.items() if metric in way.metrics}
        wrong = differences(way.values(place, together), wanted, way.tolerance)
        assert not wrong, "\n".join(f"{route} on {shape!r}: {line}" for line in wrong)


def test_a_difference_goes_over_the_series_that_both_detectors_have(places):
    place = places["a file per detector"]
    both = {name: one for name, one in place.shape.series.items() if {"beta", "gamma"} <= set(one.scores)}
    assert len(both) < len(place.shape.series)
    on_both = expected(replace(place.shape, series=both), ["beta", "gamma"])
    done = invoke("compare", *place.arguments, "--only", "beta,gamma", "--draws", 0, "--format", "json")
    rows = json.loads(done.stdout)["metrics"]
    assert [row["metric"] for row in rows] == list(place.shape.metrics)
    for row in rows:
        difference = on_both["beta", row["metric"]] - on_both["gamma", row["metric"]]
        assert row["difference"] == pytest.approx(difference, abs=1e-11), row["metric"]
        assert row["units"] == len(both) - 1  # one of them holds no anomaly


@pytest.mark.parametrize("shape", ["several series", "predictions"])
def test_a_lead_is_tested_alike_by_all_who_ask(shape, places):
    """`compare`, its command, a board and the definition: one p-value, and one power behind it."""
    place = places[shape]
    values = {}
    for row in place.board.scores.to_pylist():
        values.setdefault((row["detector"], row["metric"]), []).append(row["value"])
    for pair in pairs_of(place.shape):
        scores = [place.scores(name) for name in pair]
        found = pv.compare(place.labels, *scores, names=tuple(pair), draws=0, **place.steps, **place.asked)
        command = invoke("compare", *place.arguments, "--only", ",".join(pair), "--draws", 0, "--format", "json")
        printed = {row["metric"]: row for row in json.loads(command.stdout)["metrics"]}
        for row in found.rows:
            one, other = (values[name, row.metric] for name in pair)
            both = [(a, b) for a, b in zip(one, other, strict=True) if not math.isnan(a - b)]
            differences = [a - b for a, b in both]
            tests = place.board.significance(row.metric)
            i, j = (tests.detectors.index(name) for name in pair)
            assert row.p_value == pytest.approx(signed_rank_p(differences), abs=1e-12), row.metric
            assert tests.wilcoxon_p[i][j] == pytest.approx(row.p_value, abs=1e-12), row.metric
            assert printed[row.metric]["p_value"] == pytest.approx(row.p_value, abs=1e-12)
            power = pv.power(one, other)
            assert row.test.power == pytest.approx(power.power, abs=1e-9)
            assert row.test.series_needed == power.series_needed
            assert printed[row.metric]["series_needed"] == power.series_needed


def test_reproduce_gives_what_the_functions_give():
    from pateval.paper import compute, paper_tables

    buffers = {"early": 20, "delay": 20}
    functions = {
        "pate(early=20,delay=20)": lambda labels, flags: pv.pate(labels, flags, **buffers),
        "pate_f1(early=20,delay=20)": lambda labels, flags: pv.pate_f1(labels, flags, **buffers),
        "vus_pr(window=40,variant=original)": lambda labels, flags: pv.vus_pr(
            labels, flags, window=40, variant="original"
        ),
        "auc_roc": pv.auc_roc,
        "point_f1": lambda labels, flags: pv.point(labels, flags).f1,
        "point_adjusted_f1": lambda labels, flags: pv.point_adjusted(labels, flags).f1,
        "affiliation_f1": lambda labels, flags: pv.affiliation(labels, flags).f1,
    }
    cases = paper_tables.scenarios()
    (cells,) = (table for table in compute("scenarios").tables if table.name == "cells")
    known = {(row["scenario"], row["metric"]): row["ours"] for row in cells.rows}
    for scenario, (labels, flags) in cases.items():
        for metric, function in functions.items():
            value = function(labels, flags.astype(float) if metric[:3] in ("pat", "vus", "auc") else flags)
            assert known[scenario, metric] == pytest.approx(value, abs=1e-12), f"{metric} in {scenario}"


@pytest.mark.parametrize("shape", ["several series", "dates", "ignored", "missing=ignore", "predictions"])
def test_signatures_are_the_same_for_all_who_ask(shape, places):
    """Two numbers that are the same say the same of how they came about; boards know less of a clock's intervals."""
    place = places[shape]
    scores = {name: place.scores(name) for name in place.shape.detectors}
    found = pv.evaluate(place.labels, scores, chance=0, **place.steps, **place.asked)
    rows = json.loads(invoke("score", *place.arguments, "--chance", 0, "--format", "json").stdout)
    assert {(row["detector"], row["metric"]): row["signature"] for row in rows} == {
        (name, metric): one.signature(metric) for name, one in found.items() for metric in one
    }
    for row in place.board.scores.to_pylist():
        whole = pv.parse_signature(found[row["detector"]].signature(row["metric"]))
        of_series = pv.parse_signature(row["signature"])
        assert whole.pop("over") == f"mean:{len(place.shape.series)}"
        assert {**whole, "clock": None} == {**of_series, "clock": None}


def test_a_table_says_where_labels_chose_the_threshold_of_some():
    scores = {"rule": [0, 0, 1, 0, 0, 1], "model": [0.1, 0.2, 0.3, 0.9, 0.2, 0.4]}
    metrics = ["point_f1", "point_adjusted_f1(threshold=best)", "auc_roc"]
    table = pv.evaluate([0, 0, 1, 1, 0, 0], scores, metrics=metrics, chance=0)
    assert [row[0] for row in table.table()[1]] == ["point_f1 (oracle)", "point_adjusted_f1 (best)", "auc_roc"]


CHANCE_METRICS = ("pate_ap", "vus_pr", "point_f1", "point_adjusted_f1(threshold=best)", "mean_detection_delay")
NUMBER = "point_adjusted_f1(threshold=0.5)"
CHANCE_SHAPES = ("one series", "several series", "dates", "ignored", "missing=ignore", "predictions")


@pytest.fixture(scope="module")
def chance_places(tmp_path_factory):
    """Shapes with a few metrics: what chance reaches costs as much as several detectors."""
    return {
        name: Place(replace(SHAPES[name], metrics=(*CHANCE_METRICS, NUMBER)), tmp_path_factory.mktemp("chance"))
        for name in CHANCE_SHAPES
    }


@pytest.mark.parametrize(("route", "shape"), [(route, shape) for shape in CHANCE_SHAPES for route in CHANCE_ROUTES])
def test_chance_is_the_same_for_all_who_ask(route, shape, chance_places):
    place, draws = chance_places[shape], 2
    found = CHANCE_ROUTES[route](place, draws)
    names = place.shape.detectors
    assert set(found) == {(name, metric) for name in names for metric in place.shape.metrics}
    for name in [name for name in names if not gives_predictions(place.shape, name)]:
        # Where predictions are given, or the threshold is a number, as many random steps are predicted.
        asked = with_random_scores(place.shape, name, CHANCE_METRICS, draws)
        wanted = {(name, metric): value for (_, metric), value in expected(asked, ["random"]).items()}
        wrong = differences(found, wanted, 1e-12)
        assert not wrong, "\n".join(f"chance by {route} on {shape!r}: {line}" for line in wrong)
    wrong = differences(found, place.chance(draws), 1e-12)
    assert not wrong, "\n".join(f"chance by {route}, not as evaluate has it, on {shape!r}: {line}" for line in wrong)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_table_can_tell_right_from_wrong(shape):
    """Every metric has a number on every shape, detectors differ, and so do the rules that are easily confused."""
    one = SHAPES[shape]
    values = expected(one, one.detectors)
    assert not any(math.isnan(value) for value in values.values())
    for metric in one.metrics:
        telling = {round(values[name, metric], 9) for name in one.detectors} - {0.0, 1.0}
        assert len(telling) > 1, metric
    if len(one.series) > 1 and one.is_complete and not one.has_runs:
        together = expected(pooled(one), one.detectors)
        for metric in set(one.metrics) & set(pooled(one).metrics):
            assert any(abs(values[name, metric] - together[name, metric]) > 1e-6 for name in one.detectors), metric


def pairs_of(shape):
    """Two detectors; where it matters who the other is, another two as well."""
    pairs = list(combinations(shape.detectors, 2))
    return pairs[::2] if shape.missing == "ignore" or not shape.is_complete else pairs[:1]


def differences(found, wanted, tolerance):
    """What is not the same, a line each."""
    lines = []
    for (detector, metric), value in wanted.items():
        given = found.get((detector, metric))
        if given is None:
            lines.append(f"{metric} of {detector} is not there; it is {value!r}")
        elif math.isnan(given) != math.isnan(value) or abs(given - value) > tolerance * max(1.0, abs(value)):
            lines.append(f"{metric} of {detector} is {given!r}; it should be {value!r}")
    return lines
