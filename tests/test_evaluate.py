"""`evaluate`: equal to the functions themselves, reasons for what is undefined, thresholds, series, real data."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from pateval.catalog import catalogue
from pateval.evaluation.measures import Measures
from pateval.evaluation.threshold_rules import THRESHOLD_RULES, threshold_rule
from support.messages import raises_exactly
from support.strategies import labels_and_scores, split_series

pytestmark = pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")

ON_SCORES = {name for name, metric in catalogue().items() if metric.takes == "scores"}
ON_PREDICTIONS = set(catalogue()) - ON_SCORES
NO_ANOMALY = "the metric is undefined: the labels hold no anomaly"


def series(seed=0, steps=400, events=((50, 70), (150, 153), (300, 340))):
    rng = np.random.default_rng(seed)
    labels = np.zeros(steps, dtype=int)
    for start, stop in events:
        labels[start:stop] = 1
    return labels, np.round(rng.random(steps) + 0.5 * labels, 3)


def options_of(metric, early, delay, window):
    """What `evaluate` hands on, spelt out."""
    if metric.id in ("pate", "pate_ap", "pate_f1"):
        return {"early": early, "delay": delay}
    if metric.id in ("mean_detection_offset", "onset_detection_rate"):
        return {"early": max(early), "delay": max(delay)}
    if metric.function.__name__.startswith(("vus_", "range_auc_")):
        return {"window": window}
    return {}


def direct(metric, labels, given, **options):
    result = metric.function(labels, given, **options)
    return float(getattr(result, metric.field) if metric.field else result)


def outcome(metric, labels, given, **options):
    """Value, or NaN and the reason."""
    try:
        return direct(metric, labels, given, **options), None
    except pv.UndefinedMetricError as error:
        return math.nan, str(error)


@settings(max_examples=25)
@given(labels_and_scores(with_anomaly=False), st.integers(0, 5))
def test_equals_direct_calls_for_every_metric(pair, window):
    labels, scores = pair
    early, delay = (0, 3), (0, 2)
    found = pv.evaluate(labels, scores, metrics="all", early=early, delay=delay, window=window, chance=0)
    assert list(found) == list(catalogue())
    predictions = scores >= pv.best_threshold(labels, scores).threshold if labels.any() else None
    if set(scores.tolist()) == {0, 1}:  # no rule is applied
        predictions = scores == 1
    for name, metric in catalogue().items():
        expected, reason = math.nan, NO_ANOMALY
        given_ = scores if metric.takes == "scores" else predictions
        if labels.any() or (metric.takes == "predictions" and predictions is not None):
            expected, reason = outcome(metric, labels, given_, **options_of(metric, early, delay, window))
        assert found[name] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert found.reasons.get(name) == reason


def test_defaults_are_those_of_the_functions():
    labels, scores = series()
    found = pv.evaluate(labels, scores, metrics="all")
    for name, metric in catalogue().items():
        predictions = scores >= found.threshold
        if name == "ucr_score":
            assert found.reasons == {
                name: "the metric is undefined: it asks for exactly one event; got 3",
            }
        else:
            expected = direct(metric, labels, scores if metric.takes == "scores" else predictions)
            assert found[name] == pytest.approx(expected, abs=1e-12)
    assert set(found.seconds) == set(found)
    assert found.means == frozenset()


def test_some_metrics_in_the_order_asked_for():
    labels, scores = series()
    found = pv.evaluate(labels, scores, metrics=["point_f1", "pate", "point_f1"])
    assert list(found) == ["point_f1", "pate"]
    assert len(found) == 2
    assert found["pate"] == pv.evaluate(labels, scores)["pate"]
    assert list(pv.evaluate(labels, scores, metrics="nab")) == ["nab"]
    with pytest.raises(KeyError):
        found["auc_roc"]


def test_scores_only_need_no_threshold():
    labels, scores = series()
    found = pv.evaluate(labels, scores, metrics=sorted(ON_SCORES))
    assert found.threshold is None
    assert found.threshold_rule is None


def test_predictions_only():
    labels, scores = series()
    predictions = scores > 0.8
    found = pv.evaluate(labels, predictions=predictions, metrics="all")
    assert {name for name, value in found.items() if math.isnan(value)} == ON_SCORES
    assert {found.reasons[name] for name in ON_SCORES} == {"needs scores"}
    assert found["point_f1"] == pv.point(labels, predictions).f1
    assert found.threshold is None
    assert found.label("point_f1") == "point_f1"


def test_predictions_beside_scores_are_taken_as_they_are():
    labels, scores = series()
    found = pv.evaluate(labels, scores, scores > 0.8)
    assert found["point_f1"] == pv.point(labels, scores > 0.8).f1
    assert found["auc_roc"] == pv.auc_roc(labels, scores)
    assert found.threshold_rule is None


def test_no_anomaly_gives_reasons():
    scores = np.arange(10) / 10
    for found in (
        pv.evaluate([0] * 10, scores, metrics="all"),
        pv.evaluate([0] * 10, scores, scores > 0.5, metrics="all"),
        pv.evaluate([0] * 10, scores, threshold="quantile:0.2", metrics="all"),
        pv.evaluate([0] * 10, scores, threshold=0.3, metrics="all"),
    ):
        defined = {name for name, value in found.items() if not math.isnan(value)}
        assert defined <= {"szcore_false_alarm_rate"}  # which needs no event, but predictions
        assert set(found.reasons) == set(catalogue()) - defined
        assert set(found.reasons.values()) == {NO_ANOMALY}


def test_undefined_ones_have_reasons_and_the_rest_goes_on():
    found = pv.evaluate([1] * 20, np.arange(20.0), metrics="all")
    assert set(found.reasons) == {"auc_roc", "vus_roc", "range_auc_roc", "pa_auc_roc"}
    assert all("every step is anomalous" in reason for reason in found.reasons.values())
    found = pv.evaluate([0, 1, 0, 0, 1, 1], [5, 0, 4, 3, 0, 0], threshold=1, metrics="all")
    assert set(found.reasons) == {"ucr_score", "nab", "mean_detection_delay", "timing_after_rate", "timing_quality"}
    assert "events of at least two steps" in found.reasons["nab"]
    assert "no event is detected" in found.reasons["timing_quality"]


def test_threshold_rules():
    labels, scores = series()
    oracle = pv.evaluate(labels, scores)
    assert oracle.threshold == pv.best_threshold(labels, scores).threshold
    assert oracle.threshold_rule == "oracle: best point F1"
    assert oracle["point_f1"] == pytest.approx(pv.best_threshold(labels, scores).value)
    expected = {
        0.75: (0.75, "given"),
        np.float32(0.75): (0.75, "given"),
        1: (1.0, "given"),
        "quantile": (pv.quantile_threshold(scores), "quantile: the highest share of scores"),
        "quantile:0.2": (
            pv.quantile_threshold(scores, fraction=0.2),
            "quantile:0.2: the highest share of scores",
        ),
        "standard-deviation:2": (
            pv.standard_deviation_threshold(scores, deviations=2),
            "standard-deviation:2: standard deviations above the mean",
        ),
        "median-deviation": (
            pv.median_deviation_threshold(scores),
            "median-deviation: median absolute deviations above the median",
        ),
        "peaks-over-threshold:0.001": (
            pv.peaks_over_threshold(scores, risk=0.001),
            "peaks-over-threshold:0.001: extreme value theory",
        ),
    }
    for threshold, (number, rule) in expected.items():
        found = pv.evaluate(labels, scores, threshold=threshold, metrics=["point_f1", "pate"])
        assert (found.threshold, found.threshold_rule) == (number, rule)
        assert found["point_f1"] == pv.point(labels, scores >= number).f1
        assert threshold_rule(threshold).description == rule
    assert {rule.partition(":")[0] for rule in expected if isinstance(rule, str)} == set(THRESHOLD_RULES)


def test_the_oracle_is_named_wherever_it_was_used():
    labels, scores = series()
    found = pv.evaluate(labels, scores, metrics=["pate", "point_f1", "nab"])
    assert [found.label(name) for name in found] == ["pate", "point_f1 (oracle)", "nab (oracle)"]
    assert "point_f1 (oracle)" in repr(found)
    assert "(oracle: best point F1)" in repr(found)
    honest = pv.evaluate(labels, scores, metrics=["pate", "point_f1", "nab"], threshold="quantile")
    assert "oracle" not in repr(honest)


def test_a_threshold_that_cannot_be_found_is_a_reason():
    labels, _ = series()
    found = pv.evaluate(labels, np.zeros(labels.size), threshold="peaks-over-threshold", metrics="all")
    assert {name for name in found.reasons if name != "ucr_score"} == ON_PREDICTIONS
    assert found.reasons["point_f1"].startswith("the threshold is undefined: no score lies above the quantile 0.98")
    assert found["auc_roc"] == 0.5
    assert found.threshold is None
    assert found.threshold_rule is None


def several_series():
    parts = [
        series(1),
        series(2, 250, ((40, 80),)),
        series(3, 100, ()),
        series(4, 200, ((0, 10), (190, 200))),
    ]
    labels, scores = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
    return labels, scores, np.repeat(["a", "b", "c", "d"], [part[0].size for part in parts])


def test_series_are_averaged_each_with_its_own_threshold():
    labels, scores, names = several_series()
    found = pv.evaluate(labels, scores, metrics="all", series=names)
    assert found.means == set(catalogue())
    assert found.series == 4
    for name, metric in catalogue().items():
        values = []
        for each in "abcd":
            part = names == each
            if not labels[part].any():
                continue
            level = pv.best_threshold(labels[part], scores[part]).threshold
            try:
                values.append(
                    direct(metric, labels[part], scores[part] if metric.takes == "scores" else scores[part] >= level)
                )
            except pv.UndefinedMetricError:
                assert name in ("ucr_score", "mean_detection_delay")
        assert found[name] == pytest.approx(np.mean(values), abs=1e-12)
        assert found.defined_on(name) == len(values)
    assert found.threshold is None
    assert found.thresholds("point_f1")[1] == pv.best_threshold(labels[names == "b"], scores[names == "b"]).threshold
    assert "score >= a threshold for each series (oracle: best point F1)" in repr(found)
    assert "means over 4 series; defined on fewer: pate on 3, " in repr(found)
    assert "|over:mean:4|" in found.signature("vus_pr")


def test_series_are_pooled_where_that_is_asked_for():
    labels, scores, names = several_series()
    pools = {name: metric for name, metric in catalogue().items() if metric.pools}
    found = pv.evaluate(labels, scores, metrics="all", series=names, pooled=True)
    assert set(found) == set(pools)
    assert found.threshold == pv.best_threshold(labels, scores).threshold
    predictions = scores >= found.threshold
    for name, metric in pools.items():
        series_too = {"series": names} if name.startswith("pate") else {}
        given = scores if metric.takes == "scores" else predictions
        assert found[name] == direct(metric, labels, given, **series_too)
    assert "all steps of 4 series are one sample" in repr(found)
    assert "left out, since series cannot be pooled for them: vus_roc, " in repr(found)
    assert "|over:pooled:4|" in found.signature("pate")
    with raises_exactly(
        ValueError,
        "vus_pr cannot be computed over several series taken together: leave it out, or leave out pooled",
    ):
        pv.evaluate(labels, scores, metrics=["pate", "vus_pr"], series=names, pooled=True)


def test_best_is_the_best_of_the_metric_itself_on_each_series():
    labels, scores, names = several_series()
    metrics = ["point_adjusted_f1(threshold=best)", "affiliation_f1(threshold=best)", "nab(threshold=best)"]
    metrics += ["point_adjusted_precision(threshold=best)", "temporal_distance(threshold=best)"]
    found = pv.evaluate(labels, scores, metrics=metrics, series=names, chance=0)
    for name in metrics:
        plain = name.removesuffix("(threshold=best)")
        best = [
            pv.best_threshold(labels[names == each], scores[names == each], metric=plain.replace("precision", "f1"))
            for each in "abd"
        ]
        assert found.thresholds(name) == (best[0].threshold, best[1].threshold, None, best[2].threshold)
        if "precision" not in name:
            assert found[name] == pytest.approx(np.mean([one.value for one in best]), abs=1e-12)
    assert found.label(metrics[0]) == "point_adjusted_f1 (best)"
    assert "|predictions:best|candidates:all|" in found.signature(metrics[0])
    assert "|predictions:best|candidates:1000|" in found.signature(metrics[1])
    assert (
        pv.evaluate(labels, scores, metrics="nab", series=names, threshold="best")["nab"]
        == found["nab(threshold=best)"]
    )


def test_scores_of_0_and_1_are_predictions():
    labels, scores = series()
    flags = (scores > 0.2).astype(float)  # the oracle would flag nothing but these, the quantile everything
    for threshold in ("oracle", "best", "quantile:0.9", 0.5, 7):
        found = pv.evaluate(labels, flags, threshold=threshold, metrics=["point_f1", "auc_roc"])
        assert found["point_f1"] == pv.point(labels, flags).f1
        assert found["auc_roc"] == pv.auc_roc(labels, flags)
        assert "|predictions:given|" in found.signature("point_f1")
        assert found.notes[0] == "scores of 0 and 1 only are predictions; no threshold is applied"
    constant = pv.evaluate(labels, np.ones(labels.size), metrics="point_f1")
    assert constant.threshold_rule == "oracle: best point F1"
    # One series of 0 and 1 among others is no detector that gives predictions.
    which = np.repeat([0, 1], labels.size)
    mixed = pv.evaluate(np.tile(labels, 2), np.concatenate([flags, scores]), series=which, metrics="point_f1")
    expected = [pv.best_threshold(labels, one).value for one in (flags, scores)]
    assert mixed["point_f1"] == pytest.approx(np.mean(expected), abs=1e-12)


@settings(max_examples=20)
@given(st.data())
def test_one_series_is_no_series(data):
    labels, scores = data.draw(labels_and_scores())
    found = pv.evaluate(labels, scores, metrics="all", chance=0)
    named = pv.evaluate(labels, scores, metrics="all", series=["x"] * labels.size, chance=0)
    np.testing.assert_equal(dict(named), dict(found))
    assert named.means == frozenset()
    which = split_series(data.draw, labels.size)
    split = pv.evaluate(labels, scores, metrics="all", series=which, chance=0)
    assert set(split.reasons) == {name for name, value in split.items() if math.isnan(value)}
    if np.unique(which).size > 1:
        assert split.means == set(catalogue())


def test_undefined_on_every_series():
    labels = [0, 0, 0, 1, 1, 0, 1, 1]
    found = pv.evaluate(labels, np.arange(8.0), series=[1, 1, 1, 2, 2, 2, 3, 3], metrics=["vus_roc", "range_auc_pr"])
    assert found["vus_roc"] == pv.vus_roc([1, 1, 0], [3, 4, 5])
    silent = pv.evaluate([0] * 4, np.arange(4.0), series=[1, 1, 2, 2], metrics=["vus_roc", "pate"])
    assert set(silent.reasons.values()) == {f"undefined on every series: {NO_ANOMALY}"}


def test_coarse_scores_are_noted_not_warned_about(recwarn):
    labels, scores = series()
    assert pv.evaluate(labels, scores).notes == ()
    coarse = "the scores have at most 2 distinct values: the trapezoid rule of"
    two = np.where(scores > 0.8, 2.0, 1.0)
    assert pv.evaluate(labels, two, metrics="all").notes == (f"{coarse} pate, auc_pr, ts_auprc flatters such scores",)
    asked = pv.evaluate(labels, two, metrics=["pate_ap", "pate(early=3)", "auc_pr", "vus_pr(variant=original)"])
    assert asked.notes == (f"{coarse} pate, auc_pr, vus_pr flatters such scores",)
    assert "flatters" in repr(asked)
    for variant in ("original", "timeeval"):
        asked = pv.evaluate(
            labels, two, metrics=[f"vus_pr(variant={variant})", "vus_pr", f"vus_roc(variant={variant})"]
        )
        assert asked.notes == (f"{coarse} vus_pr flatters such scores",)
    assert pv.evaluate(labels, two, metrics=["pate_ap", "point_f1", "vus_pr"]).notes == ()
    assert not recwarn.list


def test_it_prints_readably():
    labels, scores = series()
    found = pv.evaluate(labels, scores, metrics=["pate", "ucr_score", "point_f1"])
    lines = repr(found).splitlines()
    assert lines[0].split() == ["pate", f"{pv.pate(labels, scores):.4f}", "chance", f"{found.chance['pate']:.4f}"]
    assert lines[1].endswith("it asks for exactly one event; got 3")
    assert lines[-1].startswith("predictions: score >= ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs scores, predictions or both"),
        ({"scores": [1, 2]}, "same length; got 4 and 2"),
        ({"predictions": [1, 0]}, "same length; got 4 and 2"),
        ({"scores": [1, 2, 3, math.nan]}, "scores must be finite"),
        ({"predictions": [1, 2, 3, 4]}, "predictions must be 0 or 1"),
        ({"scores": [1, 2, 3, 4], "metrics": ["pate", "pat"]}, "unknown metric 'pat'; did you mean 'pate'"),
        ({"scores": [1, 2, 3, 4], "metrics": []}, "at least one metric"),
        ({"scores": [1, 2, 3, 4], "early": -1}, "early must be a non-negative integer"),
        ({"scores": [1, 2, 3, 4], "delay": 1.5}, "delay must be a non-negative integer"),
        ({"scores": [1, 2, 3, 4], "window": -1}, "window must be a non-negative integer"),
        ({"scores": [1, 2, 3, 4], "series": [1, 2]}, "series and labels must have the same length"),
        ({"scores": [1, 2, 3, 4], "series": [1, 2, 1, 1]}, "contiguous"),
        (
            {"scores": [1, 2, 3, 4], "threshold": "bset"},
            "threshold must be a number, or a rule such as 'quant",
        ),
        ({"scores": [1, 2, 3, 4], "threshold": "oracle:2"}, "threshold must be a number, or a rule"),
        ({"scores": [1, 2, 3, 4], "threshold": "quantile:x"}, "the figure of threshold 'quantile:x'"),
        ({"scores": [1, 2, 3, 4], "threshold": "quantile:2"}, r"fraction must be a number in \[0, 1\]"),
        ({"scores": [1, 2, 3, 4], "threshold": math.nan}, "threshold must be a finite number"),
        ({"scores": [1, 2, 3, 4], "threshold": True}, "threshold must be a finite number"),
        ({"scores": [1, 2, 3, 4], "threshold": None}, "threshold must be a finite number"),
        # A wrong threshold is wrong even where none is needed.
        ({"predictions": [1, 0, 1, 0], "threshold": "bset"}, "threshold must be a number, or a rule"),
        ({"scores": [1, 2, 3, 4], "metrics": "pate", "threshold": "bset"}, "threshold must be a number, or a rule"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        pv.evaluate([0, 1, 1, 0], **arguments)
    assert "\n" not in str(caught.value)


def test_swapped_arguments_are_pointed_out():
    with pytest.raises(ValueError, match="the arguments look swapped"):
        pv.evaluate([0.1, 0.5, 0.3], [0, 1, 0])
    with pytest.raises(ValueError, match="labels must be 0 or 1"):
        pv.evaluate([0, 1, 2], predictions=[0, 1, 1])


def nab_scores(folder: Path, detector: str):
    """Series name, labels and scores of one published detector."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "scores" / "NAB" / f"{detector}.parquet")
    names = table["series"].combine_chunks().dictionary_decode().to_numpy(zero_copy_only=False)
    labels, scores = table["label"].to_numpy(), table["score"].to_numpy()
    for name in dict.fromkeys(names):
        yield name, labels[names == name], scores[names == name]


def check_real_series(labels, scores):
    found = pv.evaluate(labels, scores, metrics="all", chance=0)
    undefined = {name for name, value in found.items() if math.isnan(value)}
    assert undefined == set(found.reasons)
    assert all(found.reasons[name] for name in undefined)
    if not labels.any():
        # Of predictions, which scores of 0 and 1 are, alarms can be counted without an event.
        assert undefined == set(catalogue()) - ({"szcore_false_alarm_rate"} if found.given else set())
    for name in set(found) - undefined:
        metric = catalogue()[name]
        assert metric.low - 1e-12 <= found[name] <= metric.high + 1e-12


@pytest.mark.parametrize("detector", ["null", "numenta", "contextOSE"])
def test_some_published_detectors(real_data, detector):
    for number, (_, labels, scores) in enumerate(nab_scores(real_data, detector)):
        if number % 9 == 0:
            check_real_series(labels, scores)


@pytest.mark.slow
def test_all_published_detectors(real_data):
    files = sorted((real_data / "scores" / "NAB").glob("*.parquet"))
    assert len(files) == 16
    checked = 0
    for file in files:
        for _, labels, scores in nab_scores(real_data, file.stem):
            check_real_series(labels, scores)
            checked += 1
    assert checked == 16 * 58


def test_measures_are_what_they_were_once_they_are_read_from_json():
    measures = Measures.of(metrics="pate, point_f1(threshold=best)", early=20, threshold={"a": 0.5}, pooled=False)
    assert Measures.from_record(json.loads(json.dumps(measures.record()))) == measures
    left_out = Measures.of(pooled=True, early="1h", delay=["0s", "2h"])
    assert Measures.from_record(json.loads(json.dumps(left_out.record()))) == left_out
    assert left_out.not_pooled
