"""Signatures: everything that decided a number, written and read back."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.catalog import catalogue, find_metrics
from pateval.catalog.signatures import signature
from pateval.evaluation.threshold_rules import threshold_rule
from support import user_metrics as mine

LABELS = np.repeat([0, 1, 0, 1, 0], [30, 8, 40, 5, 37])
SCORES = np.round(LABELS * 0.5 + np.random.default_rng(8).random(LABELS.size), 2)
END = f"definition:1|pateval:{pv.__version__}"


@pytest.mark.parametrize(
    ("metric", "arguments", "expected"),
    [
        ("pate", {}, "pate|early:0,100|delay:0,100|area:trapezoid|thresholds:all"),
        (
            "pate(early=20)",
            {"delay": range(5), "window": 3},
            "pate|early:20|delay:0..4|area:trapezoid|thresholds:all",
        ),
        ("pate_ap", {"early": [7]}, "pate_ap|early:7|delay:0,100|area:average_precision|thresholds:all"),
        ("vus_pr(variant=original)", {"window": 9}, "vus_pr|window:9|thresholds:250|variant:original"),
        ("auc_roc", {"early": 3}, "auc_roc"),
        ("precision_at_k", {}, "precision_at_k|k:anomalies"),
        ("point_f1", {}, "point_f1|predictions:oracle:point_f1"),
        ("point_f_beta(beta=0.5)", {"threshold": 0.75}, "point_f_beta|beta:0.5|predictions:0.75"),
        ("nab", {"threshold": "quantile"}, "nab|profile:standard|probation:0.15|predictions:quantile:0.01"),
        ("point_f1", {"threshold": "standard-deviation:2"}, "point_f1|predictions:standard-deviation:2"),
        (
            "mean_detection_offset",
            {},
            "mean_detection_offset|early:100|delay:100|unit:steps|predictions:oracle:point_f1",
        ),
    ],
)
def test_what_decided_the_number(metric, arguments, expected):
    found = pv.evaluate(LABELS, SCORES, metrics=metric, **arguments)
    assert found.signature(metric) == f"{expected}|{END}"
    assert found.signatures == {find_metrics(metric)[0].id: f"{expected}|{END}"}


def test_given_predictions_and_several_series():
    series = np.repeat([1, 2], [60, 60])
    found = pv.evaluate(LABELS, SCORES, SCORES > 0.8, metrics=["pate", "vus_roc", "point_f1"], series=series)
    assert found.signature("pate").endswith(f"|over:mean:2|{END}")
    assert found.signature("vus_roc").endswith(f"|variant:tsb-ad|over:mean:2|{END}")
    assert found.signature("point_f1") == f"point_f1|predictions:given|over:mean:2|{END}"
    pooled = pv.evaluate(LABELS, SCORES, SCORES > 0.8, metrics=["pate", "point_f1"], series=series, pooled=True)
    assert pooled.signature("point_f1") == f"point_f1|predictions:given|over:pooled:2|{END}"
    assert pv.parse_signature(pooled.signature("pate"))["over"] == "pooled:2"
    old = "pate|early:20|delay:20|area:trapezoid|thresholds:all|series:pooled|definition:1|pateval:0.2.0"
    assert pv.parse_signature(old)["series"] == "pooled"
    assert "over" not in pv.evaluate(LABELS, SCORES, metrics="pate").signature("pate")


def test_a_metric_of_ones_own():
    found = pv.evaluate(LABELS, SCORES, metrics=[mine.cost, "cost(scale=2)"], threshold=0.5)
    assert found.signature("cost(scale=2.0)") == f"cost|scale:2|predictions:0.5|module:support.user_metrics|{END}"
    assert pv.parse_signature(found.signature("cost"))["module"] == "support.user_metrics"

    def odd(labels, scores, *, weigh=np.mean, limit=math.nan):
        return 0.0

    parsed = pv.parse_signature(pv.evaluate(LABELS, SCORES, metrics=odd).signature("odd"))
    assert parsed["weigh"] == "mean"
    assert math.isnan(parsed["limit"])


def test_every_metric_has_one_that_can_be_read():
    found = pv.evaluate(LABELS, SCORES, metrics="all")
    assert list(found.signatures) == list(catalogue())
    assert len(set(found.signatures.values())) == len(catalogue())
    for name, text in found.signatures.items():
        parsed = pv.parse_signature(text)
        assert parsed["metric"] == name
        assert parsed["definition"] == catalogue()[name].definition
        assert parsed["pateval"] == pv.__version__
        assert set(catalogue()[name].parameters) <= set(parsed)
        assert ("predictions" in parsed) == catalogue()[name].needs_threshold


buffers = st.integers(0, 300) | st.lists(st.integers(0, 300), min_size=2, max_size=5).map(sorted).map(tuple)


@given(
    early=buffers,
    delay=buffers,
    window=st.integers(0, 1000),
    beta=st.floats(0, 100),
    threshold=st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["oracle", "quantile:0.25"]),
    texts=st.fixed_dictionaries({key: st.none() | st.text(max_size=12) for key in ("clock", "ignored", "missing")}),
    over=st.sampled_from([None, "pooled:2", "mean:7"]),
)
def test_round_trip(early, delay, window, beta, threshold, texts, over):
    predictions = threshold_rule(threshold).signature
    values = {"early": early, "delay": delay, "window": window}
    (metric, pate, vus) = find_metrics([f"segment_f_beta(beta={beta!r})", "pate", "vus_pr"])
    common = {key: value for key, value in {**texts, "over": over}.items() if value is not None}
    end = {**common, "definition": 1, "pateval": pv.__version__}

    def parsed(which):
        return pv.parse_signature(signature(which, values, predictions=predictions, **texts, over=over))

    assert parsed(metric) == {"metric": "segment_f_beta", "beta": beta, "predictions": predictions, **end}
    expected = {"metric": "pate", "early": early, "delay": delay, "area": "trapezoid", "thresholds": "all", **end}
    assert parsed(pate) == expected
    assert parsed(vus) == {"metric": "vus_pr", "window": window, "thresholds": 250, "variant": "tsb-ad", **end}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no signature; one looks like 'pate|early:0,100|...|definition:1|pateval:0.2.0'"),
        ("pate", "'pate' is no signature; one looks like 'pate|early:0,100|...|definition:1|pateval:0.2.0'"),
        ("pate|early", "the field 'early' of the signature 'pate|early' must be written key:value"),
        ("a|b:1|b:2", "the signature 'a|b:1|b:2' has the field 'b' twice"),
        ("a|b:1", "the signature 'a|b:1' lacks its definition or the version of pateval"),
        ("a|b:[1", "the field 'b' of the signature 'a|b:[1' cannot be read: '[1' lacks a closing ']'"),
        (7, "a signature is a text; got 7"),
    ],
)
def test_what_is_no_signature(text, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.parse_signature(text)
    assert str(caught.value) == message


def test_plain_data():
    found = pv.evaluate(LABELS, SCORES, metrics=["ucr_score", "pate(delay=3)", "point_f1"], early=(1, 2), chance=0)
    read = json.loads(found.to_json())
    assert read == found.to_dict()
    assert "NaN" not in found.to_json()
    assert read["options"] == {"early": [1, 2], "delay": [0, 100], "window": 100}
    assert read["threshold"] == found.threshold
    assert read["threshold_rule"] == "oracle: best point F1"
    assert read["notes"] == []
    assert read["metrics"]["ucr_score"]["value"] is None
    assert read["metrics"]["ucr_score"]["reason"] == found.reasons["ucr_score"]
    assert read["metrics"]["pate(delay=3)"] == {
        "value": found["pate(delay=3)"],
        "reason": None,
        "chance": None,
        "above_chance": None,
        "threshold": None,
        "threshold_rule": None,
        "series": 1,
        "defined_on": 1,
        "coverage": 1.0,
        "signature": found.signature("pate(delay=3)"),
    }
    infinite = pv.evaluate([0, 1], [1, 2], metrics=pv.define_metric(lambda *_: math.inf, id="inf", takes="scores"))
    assert json.loads(infinite.to_json())["metrics"]["inf"]["value"] is None
    assert infinite.reasons == {"inf": "the metric inf returned inf, with which no mean and no rank exists"}
