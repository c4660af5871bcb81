"""The catalogue as a table: ids, look-up, what it says of each metric, and what it is asked for in vain."""

from __future__ import annotations

import math

import pytest

import pateval as pv
from pateval.catalog import PROPERTIES, catalogue, find_metrics, initials
from pateval.catalog.table import PAPERS
from support.messages import raises_exactly

EVERYTHING = catalogue(channels=True, emerging=True)


def test_ids_are_function_names_with_the_field():
    for name, metric in EVERYTHING.items():
        assert name == metric.id
        assert name == metric.function.__name__ + (f"_{metric.field}" if metric.field else "")
    assert {metric.field for metric in catalogue().values()} == {None, "precision", "recall", "f1"}
    assert [name for name in catalogue() if name.startswith("affiliation")] == [
        "affiliation_precision",
        "affiliation_recall",
        "affiliation_f1",
    ]


def test_all_papers_are_used():
    assert {metric.paper for metric in EVERYTHING.values()} == set(PAPERS.values())


def test_the_paper_is_quoted_for_metrics_that_exist():
    claimed = {metric.function.__name__: metric.paper_properties for metric in catalogue().values()}
    assert all(properties <= set(PROPERTIES) for properties in claimed.values() if properties is not None)
    # The rows of the paper's first table, in its order: SA ED DD ORT CL TF.
    claims = {name: initials(properties) for name, properties in claimed.items() if properties is not None}
    assert claims["point"] == "------"
    assert claims["range_based"] == claims["point_adjusted"] == "s-----"
    assert claims["tapr"] == claims["etapr"] == "s-d---"
    assert claims["affiliation"] == "s---c-"
    assert claims["auc_roc"] == claims["auc_pr"] == "-----t"
    assert claims["vus_roc"] == claims["vus_pr"] == "s-d--t"
    assert claims["pate"] == "sedoct"
    assert catalogue()["affiliation_f1"].paper_properties == frozenset({"sequential", "coverage"})
    assert catalogue()["nab"].paper_properties is None


def test_facts_of_some():
    pate, distance, nab = (catalogue()[name] for name in ("pate", "temporal_distance", "nab"))
    assert pate.best == 1
    assert not pate.needs_threshold
    assert pate.pools
    assert pate.parameters == {"early": (0, 100), "delay": (0, 100), "thresholds": None}
    assert pate.summary.startswith("Proximity-Aware")
    assert (distance.best, distance.higher_is_better, distance.high) == (0, False, math.inf)
    assert (nab.best, nab.low) == (100, -math.inf)
    assert catalogue()["mean_detection_offset"].best is None
    assert catalogue()["mean_detection_offset"].parameters == {"early": 100, "delay": 100, "unit": None}
    assert pv.catalogue is catalogue


def test_pooled_are_the_metrics_that_do_not_depend_on_the_order_of_steps():
    in_any_order = {metric.id for metric in EVERYTHING.values() if "sequential" not in metric.properties}
    pooled = {metric.id for metric in EVERYTHING.values() if metric.pools}
    # PATE takes series itself; the precision of `composite` stays with its recall. Two judge nothing but where the
    # alarms of found events lie, which the probe does not see.
    left_out = {"composite_precision", "alarming_precision", "timing_after_rate"}
    assert pooled == in_any_order - left_out | {"pate", "pate_ap", "pate_f1"}


def test_emerging_metrics_and_those_on_channels_are_there_where_they_are_asked_for():
    emerging = {metric.function.__name__ for metric in EVERYTHING.values() if metric.emerging}
    assert emerging == {
        "balanced_point_adjusted",
        "confidence_consistency",
        "detection_quality",
        "detection_quality_predictions",
        "normalised_affiliation",
        "operator_interest",
        "unbiased_affiliation",
    }
    listed = {metric.function.__name__ for metric in catalogue().values()}
    assert not emerging & listed
    assert {"event_wise_f_beta", "soft_event", "szcore_event", "pa_average_precision"} <= listed
    assert not any(metric.channels for metric in catalogue().values())
    assert set(catalogue(channels=True)) - set(catalogue()) == {m.id for m in EVERYTHING.values() if m.channels}
    assert "channel_ndcg" in catalogue(channels=True)
    assert [metric.id for metric in find_metrics("operator_interest_f1")] == ["operator_interest_f1"]
    found = pv.evaluate([0, 1, 1, 0], [0.1, 0.9, 2.0, 0.0], metrics=["detection_quality", "confidence_consistency"])
    assert found.reasons == {
        "detection_quality": "the metric is undefined: it takes scores from 0 to 1; these lie between 0 and 2"
    }


def test_parts_have_ranges_of_their_own():
    low = {part: EVERYTHING[f"unbiased_affiliation_{part}"].low for part in ("precision", "recall", "f1")}
    assert low == {"precision": -math.inf, "recall": 0, "f1": -2}


def test_an_f_beta_of_its_own_takes_the_place_of_that_beside_the_f1():
    for name in ("event_wise_f_beta", "affected_channels_f_beta"):
        (metric,) = find_metrics(name)
        assert metric.function.__name__ == name
        assert metric.parameters == {"beta": 0.5}
    assert [metric.id for metric in find_metrics("event_wise_f_beta(beta=2)")] == ["event_wise_f_beta(beta=2)"]
    below = pv.PRF(-0.5, 1.0, -2 / 3)
    assert below.f_beta(1) == -2 / 3
    assert below.f_beta(2) == pytest.approx(-5 * 0.5 / 3)


def test_find():
    assert find_metrics("all") == list(catalogue().values())
    assert tuple(metric.id for metric in find_metrics(None)) == pv.DEFAULT_METRICS
    both = [*find_metrics("scores"), *find_metrics("predictions")]
    assert {metric.id for metric in both} == set(catalogue())
    assert {metric.takes for metric in find_metrics("events")} == {"predictions"}
    assert all(metric.emerging for metric in find_metrics("emerging"))
    several = [metric.id for metric in find_metrics("pate_ap, vus_pr(window=5), all")]
    assert several[:3] == ["pate_ap", "vus_pr(window=5)", "pate"]
    for usual, meant in (("pa_f1", "point_adjusted_f1"), ("vus-pr", "vus_pr"), ("PATE", "pate"), ("f1", "point_f1")):
        with raises_exactly(
            ValueError, f"unknown metric {usual!r}; did you mean {meant!r}? ('pateval metrics' lists them)"
        ):
            find_metrics(usual)
    assert [metric.id for metric in find_metrics("pate")] == ["pate"]
    assert [metric.id for metric in find_metrics(iter(["nab", "pate", "nab"]))] == ["nab", "pate"]
    with raises_exactly(ValueError, "unknown metric 'pates'; did you mean 'pate'? ('pateval metrics' lists them)"):
        find_metrics(["point_f1", "pates"])
    with raises_exactly(ValueError, "unknown metric 'zzzzzz'; 'pateval metrics' lists those there are"):
        find_metrics("zzzzzz")
    with raises_exactly(ValueError, "unknown metric 7; name one by its id, a Metric or a function"):
        find_metrics([7])
    with raises_exactly(ValueError, "metrics must name at least one metric; got an empty collection"):
        find_metrics([])
    # A function returns three numbers; its name alone is not an id.
    with raises_exactly(
        ValueError, "unknown metric 'affiliation'; did you mean 'affiliation_f1'? ('pateval metrics' lists them)"
    ):
        find_metrics("affiliation")


def test_the_nearest_id():
    spellings = {"paet": "pate", "auc": "auc_roc", "vus-pr": "vus_pr", "PATE": "pate", "pa_f1": "point_adjusted_f1"}
    spellings |= {"F1-PA": "point_adjusted_f1", "roc_auc": "auc_roc", "auprc": "auc_pr", "f1": "point_f1", "nope": None}
    for spelling, meant in spellings.items():
        message = "'pateval metrics' lists those there are" if meant is None else f"did you mean {meant!r}"
        with pytest.raises(ValueError, match=message):
            find_metrics(spelling)
