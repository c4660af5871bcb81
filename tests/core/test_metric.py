"""Ids with options, and metrics of a user's own: what is accepted, how it is named, what it computes."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.catalog import canonical_id, catalogue, find_metrics
from pateval.catalog.option_text import bare_text, id_text, read_id, read_value, split_outside_brackets, value_text
from pateval.catalog.table import all_metrics
from support import user_metrics as mine
from support.messages import raises_exactly

# ruff: noqa: ARG005, E501, ISC004  # what users write, and messages as they read

RNG = np.random.default_rng(8)
LABELS = np.repeat([0, 1, 0, 1, 0], [30, 8, 40, 5, 37])
SCORES = np.round(LABELS * 0.5 + RNG.random(LABELS.size), 2)
PREDICTIONS = SCORES >= 0.9


def refused(metrics, message, **arguments):
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.evaluate(LABELS, SCORES, metrics=metrics, **arguments)
    assert str(caught.value) == message


# --- the text of options ---

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)


@given(PLAIN | st.lists(PLAIN, max_size=6).map(tuple) | st.integers(-50, 50).map(lambda n: tuple(range(n, n + 5))))
def test_what_is_written_can_be_read(value):
    assert read_value(value_text(value)) == value
    assert read_value(bare_text(value)) == value
    assert "|" not in value_text(value)
    assert read_id(id_text("name", {"option": value, "other": 1})) == ("name", {"option": value, "other": 1})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0..3", (0, 1, 2, 3)),
        ("[0, 5 .. 7]", (0, 5, 6, 7)),
        ("range(3)", (0, 1, 2)),
        ("range(2, 9, 3)", (2, 5, 8)),
        ("(5,)", (5,)),
        ("{1,2}", (1, 2)),
        ("()", ()),
        ("1e-3", 0.001),
        ("-inf", -math.inf),
        ("TRUE", True),
        ("10min", "10min"),
        ("tsb-ad", "tsb-ad"),
        ("'it, \\'s'", "it, 's"),
    ],
)
def test_spellings_of_values(text, value):
    assert read_value(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing"),
        ("[1,,2]", "a value is missing"),
        ("a b", "'a b' is neither a number nor a word; put text with other characters in quotes"),
        ("'open", """"'open" lacks a closing "'\""""),
        ("range(x)", "'range(x)' is no range of integers"),
        ("range(1,2,0)", "'range(1,2,0)' is no range of integers"),
        ("5..1", "'5..1' must hold between one and 1,000,000 integers"),
        (f"0..{10**30}", f"'0..{10**30}' must hold between one and 1,000,000 integers"),
        ("0..99999999", "'0..99999999' must hold between one and 1,000,000 integers"),
        ("=", "'=' is neither a number nor a word; put text with other characters in quotes"),
        ("(1]", "'(1]' has a ']' that closes nothing"),
    ],
)
def test_values_that_cannot_be_read(text, message):
    with raises_exactly(ValueError, message):
        read_value(text)


def test_commas_outside_brackets_separate():
    assert split_outside_brackets("a, b(c=[1,2],d='x,y') ,e") == ["a", "b(c=[1,2],d='x,y')", "e"]
    assert split_outside_brackets(r'a(b="\",")') == [r'a(b="\",")']


# --- ids ---


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("pa_f1", "point_adjusted_f1"),
        ("F1-PA", "point_adjusted_f1"),
        ("pak_f1", "point_adjusted_k_f1"),
        ("vus-pr", "vus_pr"),
        ("VUS-PR", "vus_pr"),
        ("vusroc", "vus_roc"),
        ("pate-ap", "pate_ap"),
        ("roc_auc", "auc_roc"),
        ("AUPRC", "auc_pr"),
        ("AP", "average_precision"),
        ("affiliation", "affiliation_f1"),
        ("aff_f1", "affiliation_f1"),
        ("F1", "point_f1"),
        ("recall", "point_recall"),
    ],
)
def test_usual_spellings_are_suggested(spelling, meant):
    refused([spelling], f"unknown metric {spelling!r}; did you mean {meant!r}? ('pateval metrics' lists them)")


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("point_f1(threshold=best)", "point_f1(threshold=best)"),
        ("point_f1(threshold=oracle)", "point_f1"),
        ("point_f1(threshold = 0.50)", "point_f1(threshold=0.5)"),
        ("point_f1(threshold=2)", "point_f1(threshold=2)"),
        ("point_f1(threshold=quantile:0.01)", "point_f1(threshold=quantile:0.01)"),
        ("point_f1(threshold=alarms:1/1d)", "point_f1(threshold=alarms:1/1d)"),
        ("point_adjusted_k_f1(threshold=best,k=50)", "point_adjusted_k_f1(k=50,threshold=best)"),
        ("mean_detection_delay(unit=1h)", "mean_detection_delay(unit=h)"),
        ("mean_detection_delay(unit=60min)", "mean_detection_delay(unit=h)"),
        ("mean_detection_delay(unit=90min)", "mean_detection_delay(unit=90min)"),
        ("precision_at_k(k=50)", "precision_at_k(k=50)"),
        ("false_alarm_rate(per=24h)", "false_alarm_rate(per=1d)"),
    ],
)
def test_canonical_ids_with_thresholds_and_times(spelling, canonical):
    assert canonical_id(spelling) == canonical
    assert canonical_id(canonical) == canonical


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            "pate(threshold=best)",
            "the metric pate is computed from scores and has no threshold; thresholds=N takes N of its thresholds",
        ),
        ("auc_roc(threshold=0.5)", "the metric auc_roc is computed from scores and has no threshold"),
        ("point_f1(threshold=true)", "the threshold of point_f1 must be a number or a rule; got True"),
        ("point_f1(threshold=nan)", "the threshold of point_f1 must be a number or a rule; got nan"),
        (
            "point_f1(threshold=9007199254740993)",
            "the threshold of point_f1 must be a number that floats can tell apart; got the integer 9007199254740993: "
            "subtract a constant from it and from all scores",
        ),
        ("etapr_f1(delta=1s)", "the metric etapr_f1(delta=1s) is refused: delta must be a number in [0, 1]; got '1s'"),
        (
            "latency_sparsity_aware_f1(window=0s)",
            "the metric latency_sparsity_aware_f1(window=0s) is refused: window must be a positive integer; got 0",
        ),
        (
            "mean_detection_delay(unit=0h)",
            "the metric mean_detection_delay(unit=0h) is refused: unit must be longer than nothing; got '0h'",
        ),
        ("pate(early=10min,delay=5)", "delay must be a duration such as '10min' too where the other buffer is one"),
    ],
)
def test_thresholds_and_lengths_that_are_refused(metric, message):
    refused([metric], message)


def test_nothing_is_computed_before_an_option_is_refused(monkeypatch):
    def fail(*given, **options):
        raise AssertionError("called")

    monkeypatch.setattr(pv.vus_areas, "unchecked", fail)
    monkeypatch.setattr(sys.modules["pateval.pate.score"], "area_on", fail)
    refused(
        ["pate", "vus_pr(window=-1)"],
        "the metric vus_pr(window=-1) is refused: window must be a non-negative integer; got -1",
    )
    assert [metric.id for metric in find_metrics("vus_pr(window=999999), pate(early=5)")] == [
        "vus_pr(window=999999)",
        "pate(early=5)",
    ]


def test_a_threshold_bound_to_a_metric_of_ones_own_is_its_own_alone():
    (share,) = find_metrics(mine.flagged_share)
    both = [share.with_options(threshold=0.9), "flagged_share(threshold=0.5)", "flagged_share"]
    found = pv.evaluate(LABELS, SCORES, metrics=both, threshold=0.2)
    assert dict(found) == {
        "flagged_share(threshold=0.9)": (SCORES >= 0.9).mean(),
        "flagged_share(threshold=0.5)": (SCORES >= 0.5).mean(),
        "flagged_share": (SCORES >= 0.2).mean(),
    }


@pytest.mark.parametrize("function", [pv.pate, pv.pate_ap, pv.pate_f1])
def test_nothing_is_no_scores(function):
    with pytest.raises((TypeError, ValueError), match=r"^(scores|predictions) must be one-dimensional"):
        function(LABELS, None)


def test_numbers_too_large_for_a_float_are_no_thresholds():
    huge = Fraction(10**400, 3)
    with pytest.raises(ValueError, match=r"^threshold must be a finite number; got Fraction"):
        pv.apply_threshold(SCORES, huge)
    with pytest.raises(ValueError, match=r"^threshold must be a finite number or the name of a rule; got Fraction"):
        pv.evaluate(LABELS, SCORES, threshold=huge)


def test_options_of_ones_own_that_count_steps_may_be_durations():
    def near(labels, scores, *, tolerance=1, share=0.5):
        return tolerance * share

    counts = pv.define_metric(near, id="near", takes="scores", steps=["tolerance"])
    minutes = dict(times=np.arange(LABELS.size) * 2, time_unit="min")
    found = pv.evaluate(LABELS, SCORES, metrics=[counts, "near(tolerance=10min)", "near(tolerance=3)"], **minutes)
    assert dict(found) == {"near": 0.5, "near(tolerance=10min)": 2.5, "near(tolerance=3)": 1.5}
    assert pv.parse_signature(found.signature("near(tolerance=10min)"))["clock"] == "interval:2min"
    refused(
        [counts.with_options(tolerance="10min")],
        "tolerance='10min' of near(tolerance=10min) is a duration, which needs the times of the steps: pass times",
    )
    with raises_exactly(ValueError, "the metric near names the option 'width', which its function does not take"):
        pv.define_metric(near, id="near", takes="scores", steps=["width"])


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("pate", "pate"),
        ("pate()", "pate"),
        ("pate(early=20,delay=20)", "pate(early=20,delay=20)"),
        (" pate ( delay = 20 , early=[20] ) ", "pate(early=20,delay=20)"),
        ("pate(early=(100, 0))", "pate"),
        ("pate(early=range(101),delay=[0,100])", "pate(early=0..100)"),
        ("pate(early=[1,0])", "pate(early=[0,1])"),
        ("pate(thresholds=None)", "pate"),
        ("pate(thresholds=[0.5])", "pate(thresholds=[0.5])"),
        ("vus_pr(variant='original', window=50)", "vus_pr(window=50,variant=original)"),
        ('vus_pr(variant="tsb-ad")', "vus_pr"),
        ("vus_pr(thresholds=none)", "vus_pr(thresholds=none)"),
        ("range_based_f1(alpha=0.20)", "range_based_f1(alpha=0.2)"),
        ("range_based_f1(alpha=1)", "range_based_f1(alpha=1)"),
        ("range_based_f1(alpha=1.0)", "range_based_f1(alpha=1)"),
        ("point_f_beta(beta=0.5)", "point_f_beta(beta=0.5)"),
        ("point_f_beta(beta=1)", "point_f_beta"),
        ("ts_auprc(weighted=False)", "ts_auprc(weighted=false)"),
    ],
)
def test_canonical_ids(spelling, canonical):
    assert canonical_id(spelling) == canonical
    (metric,) = find_metrics(spelling)
    assert metric.id == canonical
    assert find_metrics([metric, canonical, spelling]) == [metric]
    assert metric.name == canonical.partition("(")[0]


def test_options_reach_the_function():
    asked = {
        "pate(early=20,delay=20)": pv.pate(LABELS, SCORES, early=20, delay=20),
        "pate(early=0..3)": pv.pate(LABELS, SCORES, early=range(4)),
        "pate(thresholds=10)": pv.pate(LABELS, SCORES, thresholds=10),
        "vus_pr(window=50,variant=original)": pv.vus_pr(LABELS, SCORES, window=50, variant="original"),
        "vus_roc(window=50,thresholds=none)": pv.vus_roc(LABELS, SCORES, window=50, thresholds=None),
        "range_auc_pr(window=7)": pv.range_auc_pr(LABELS, SCORES, window=7),
        "ts_auprc(weighted=false)": pv.ts_auprc(LABELS, SCORES, weighted=False),
        "range_based_f1(alpha=0.2)": pv.range_based(LABELS, PREDICTIONS, alpha=0.2).f1,
        "range_based_recall(alpha=0.2)": pv.range_based(LABELS, PREDICTIONS, alpha=0.2).recall,
        "latency_sparsity_aware_f1(window=9)": pv.latency_sparsity_aware(LABELS, PREDICTIONS, window=9).f1,
        "mean_detection_offset(early=5)": pv.mean_detection_offset(LABELS, PREDICTIONS, early=5),
        "point_f_beta(beta=0.5)": pv.point(LABELS, PREDICTIONS).f_beta(0.5),
        "point_f_beta": pv.point(LABELS, PREDICTIONS).f1,
    }
    found = pv.evaluate(LABELS, SCORES, PREDICTIONS, metrics=asked)
    assert list(found) == list(asked)
    assert dict(found) == pytest.approx(asked, abs=1e-12)
    assert found["pate( delay=(20), early=20 )"] == asked["pate(early=20,delay=20)"]
    assert "pate(early=20, delay=20)" in found
    assert "pate(early=21)" not in found


def test_f_beta_by_hand_and_as_sklearn():
    from sklearn.metrics import fbeta_score

    assert pv.PRF.of(0.5, 1.0).f_beta(2) == pytest.approx(5 * 0.5 / (4 * 0.5 + 1))
    assert pv.PRF.of(0.5, 1.0).f_beta(0) == 0.5
    assert pv.PRF.of(0.0, 0.0).f_beta(2) == 0
    for beta in (0.5, 1, 3):
        assert pv.point(LABELS, PREDICTIONS).f_beta(beta) == pytest.approx(fbeta_score(LABELS, PREDICTIONS, beta=beta))
    for wrong in (-1, math.inf, math.nan, True, "2"):
        with raises_exactly(ValueError, f"beta must be a number from 0 to 1e+100; got {wrong!r}"):
            pv.PRF.of(0.5, 1.0).f_beta(wrong)


def test_every_f1_of_three_has_an_f_beta_listed_only_when_asked_for():
    everything = [name for name, metric in all_metrics().items() if not metric.channels and not metric.emerging]
    hidden = set(everything) - set(catalogue())
    beside = {name.replace("_f1", "_f_beta") for name, metric in catalogue().items() if metric.field == "f1"}
    own = {name for name in catalogue() if "f_beta" in name}
    assert own == {"event_wise_f_beta"}  # with a function, and a default, of its own
    assert hidden == beside - own


def test_an_id_wins_over_global_options_which_win_over_defaults():
    found = pv.evaluate(LABELS, SCORES, metrics=["pate", "pate(early=5)", "pate(early=[0,100])"], early=20, delay=2)
    assert list(found) == ["pate", "pate(early=5)", "pate(early=[0,100])"]
    assert found["pate"] == pv.pate(LABELS, SCORES, early=20, delay=2)
    assert found["pate(early=5)"] == pv.pate(LABELS, SCORES, early=5, delay=2)
    assert found["pate(early=(0,100))"] == pv.pate(LABELS, SCORES, early=(0, 100), delay=2)
    # Without a global option that differs, the two are one.
    assert list(pv.evaluate(LABELS, SCORES, metrics=["pate", "pate(early=[0,100])"])) == ["pate"]
    # The window of latency_sparsity_aware is another thing than that of VUS.
    found = pv.evaluate(LABELS, SCORES, PREDICTIONS, metrics=["latency_sparsity_aware_f1", "vus_pr"], window=7)
    assert found["latency_sparsity_aware_f1"] == pv.latency_sparsity_aware(LABELS, PREDICTIONS).f1
    assert found["vus_pr"] == pytest.approx(pv.vus_pr(LABELS, SCORES, window=7), abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("pate(colour=1)", "the metric pate has no option 'colour'; it takes early, delay, thresholds"),
        ("auc_roc(k=1)", "the metric auc_roc has no option 'k'; it takes none"),
        ("point_f1(beta=2)", "the metric point_f1 has no option 'beta'; it takes threshold"),
        ("pate(early=-1)", "the metric pate(early=-1) is refused: early must be a non-negative integer; got -1"),
        (
            "vus_pr(variant=other)",
            "the metric vus_pr(variant=other) is refused: variant must be one of 'tsb-ad', 'original', 'timeeval'; got 'other'",
        ),
        (
            "point_f_beta(beta=-1)",
            "the metric point_f_beta(beta=-1) is refused: beta must be a number from 0 to 1e+100; got -1",
        ),
        ("pate(early)", "the options of 'pate(early)' must be written name=value, with commas between; got 'early'"),
        ("pate(early=1,early=2)", "'pate(early=1,early=2)' gives the option 'early' twice"),
        ("pate(early=)", "the option 'early' of 'pate(early=)' cannot be read: a value is missing"),
        ("pate(early=5", "'pate(early=5' lacks a closing ')'"),
        ("PATE", "unknown metric 'PATE'; did you mean 'pate'? ('pateval metrics' lists them)"),
        ("Point_F1", "unknown metric 'Point_F1'; did you mean 'point_f1'? ('pateval metrics' lists them)"),
        ("nope", "unknown metric 'nope'; 'pateval metrics' lists those there are"),
        ("score", "unknown metric 'score'; 'pateval metrics' lists those there are"),
        ("paet", "unknown metric 'paet'; did you mean 'pate'? ('pateval metrics' lists them)"),
        ("auc", "unknown metric 'auc'; did you mean 'auc_roc'? ('pateval metrics' lists them)"),
        ("pat(early=3)", "unknown metric 'pat(early=3)'; did you mean 'pate'? ('pateval metrics' lists them)"),
        (7, "unknown metric 7; name one by its id, a Metric or a function"),
    ],
)
def test_what_is_refused(metric, message):
    refused([metric], message)


# --- metrics of one's own ---


def test_a_function_a_metric_and_a_path_name_the_same():
    for named in (mine.flagged_share, "support.user_metrics:flagged_share", find_metrics(mine.flagged_share)[0]):
        found = pv.evaluate(LABELS, SCORES, metrics=[named, "pate"], threshold=0.9)
        assert list(found) == ["flagged_share", "pate"]
        assert found["flagged_share"] == PREDICTIONS.mean()
    assert dict(pv.evaluate(LABELS, SCORES, metrics=mine.flagged_share, threshold=0.9)) == {
        "flagged_share": PREDICTIONS.mean()
    }
    found = pv.evaluate(LABELS, SCORES, metrics="support.user_metrics:cost(scale=2)", threshold=0.9)
    assert dict(found) == {"cost(scale=2)": 2 * PREDICTIONS.mean()}
    assert found["cost( scale=2.0 )"] == 2 * PREDICTIONS.mean()


def test_functions_of_the_catalogue_stand_for_themselves():
    assert [metric.id for metric in find_metrics([pv.pate, pv.point, pv.vus_pr])] == ["pate", "point_f1", "vus_pr"]


def test_settings_and_parts_of_a_metric_beside_it():
    found = pv.evaluate(
        LABELS,
        SCORES,
        PREDICTIONS,
        metrics=[
            *("halves_recall", mine.halves, "halves_precision", "halves_f1", "halves_f_beta(beta=2)"),
            *(mine.cost.with_options(scale=4), "cost", "cost(scale=3)"),
        ],
    )
    expected = pv.point(LABELS[:60], PREDICTIONS[:60])
    assert dict(found) == {
        "halves_recall": expected.recall,
        "halves": expected.f1,
        "halves_precision": expected.precision,
        "halves_f1": expected.f1,
        "halves_f_beta(beta=2)": expected.f_beta(2),
        "cost(scale=4)": 4 * PREDICTIONS.mean(),
        "cost": PREDICTIONS.mean(),
        "cost(scale=3)": 3 * PREDICTIONS.mean(),
    }
    field = pv.define_metric(mine.halves, id="mine", takes="predictions", field="recall")
    assert (field.id, field.field) == ("mine_recall", "recall")


def test_undefined_and_nan_have_reasons():
    found = pv.evaluate([0, 1, 0], [1, 2, 2], metrics=[mine.highest_inside, mine.not_a_number])
    assert found.reasons == {
        "highest_inside": "the highest score is shared",
        "not_a_number": "the metric is undefined for this input",
    }
    assert pv.evaluate([0, 1, 0], [1, 3, 2], metrics=mine.highest_inside)["highest_inside"] == 1.0


def test_what_a_function_receives():
    seen = {}

    def look(labels, scores):
        seen["scores"] = (labels.dtype, scores.dtype, labels.flags.writeable, scores.flags.writeable)
        return 0

    def look_again(labels, predictions):
        seen["predictions"] = (labels.dtype, predictions.dtype, labels.flags.writeable, predictions.flags.writeable)
        return 0

    pv.evaluate([0, 1, 0], [1, 3, 2], metrics=[look, look_again])
    assert seen == {"scores": (bool, float, False, False), "predictions": (bool, bool, False, False)}
    assert pv.evaluate([0, 1, 0], [1, 3, 2], metrics=mine.writes).reasons == {
        "writes": "the metric writes failed: ValueError: assignment destination is read-only"
    }


def test_series_and_global_options():
    series = np.repeat([1, 2], [60, 60])
    pooled = pv.define_metric(mine.series_seen, id="seen", takes="scores", pools=True)
    found = pv.evaluate(LABELS, SCORES, metrics=[pooled, mine.series_seen], series=series)
    assert dict(found) == {"seen": 1, "series_seen": 1}
    assert dict(pv.evaluate(LABELS, SCORES, metrics=pooled, series=series, pooled=True)) == {"seen": 2}
    told = pv.define_metric(mine.mean_buffer, id="told", takes="scores", global_options=["early", "delay", "window"])
    found = pv.evaluate(
        LABELS,
        SCORES,
        metrics=[told, "told(delay=4)", mine.mean_buffer],
        early=(1, 2),
        delay=(5, 6),
        window=9,
    )
    assert dict(found) == {"told": 30609, "told(delay=4)": 30409, "mean_buffer": 1000703}


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (
            mine.no_kind,
            "a function used as a metric takes labels and then a parameter named 'scores' or 'predictions'; "
            "no_kind takes truth, values (define_metric accepts any names)",
        ),
        (mine.required, "the option 'weight' of metric required must have a default"),
        (mine.starred, "the function of metric starred must name its options; it has *args or **kwargs"),
        (mine.reserved, "the option 'definition' of metric reserved has a name that signatures use; rename it"),
        (
            lambda labels, scores: 0,
            "the function <lambda> has no name for a table; give it one with define_metric(..., id=...)",
        ),
        (
            "support.user_metrics:nothing",
            "metric 'support.user_metrics:nothing': the module 'support.user_metrics' has no 'nothing'",
        ),
        (
            "support.user_metrics:RNG",
            "metric 'support.user_metrics:RNG': the module 'support.user_metrics' has no 'RNG'",
        ),
        (
            "no_such_module:f",
            "metric 'no_such_module:f': importing 'no_such_module' failed: ModuleNotFoundError: No module named "
            "'no_such_module'",
        ),
        (
            "support.user_metrics:flagged_share(size=2)",
            "the metric flagged_share has no option 'size'; it takes scale, threshold",
        ),
    ],
)
def test_what_is_refused_of_ones_own(metric, message):
    scores = np.arange(LABELS.size)
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.evaluate(LABELS, scores, metrics=[metric])
    assert str(caught.value) == message


def test_ids_are_not_taken_twice():
    def pate(labels, scores):
        return 0.0

    refused(pate, "the id 'pate' belongs to the catalogue; give your metric another with define_metric")
    other = pv.define_metric(mine.halves, id="cost", takes="predictions")
    refused([mine.cost, other], "two metrics have the id 'cost'; give one of them another with define_metric")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"id": "a b"}, "the id of a metric must be a word of letters, digits, '_', '.' and '-'; got 'a b'"),
        ({"takes": "labels"}, "takes must be one of 'scores', 'predictions'; got 'labels'"),
        ({"low": 1, "high": 0}, "the range of metric x must have low <= high; got 1 and 0"),
        ({"definition": 0}, "definition must be a positive integer; got 0"),
        ({"field": "f2"}, "field must be one of 'precision', 'recall', 'f1', 'f_beta'; got 'f2'"),
        ({"global_options": ["k"]}, "each of global_options must be one of 'early', 'delay', 'window'; got 'k'"),
        (
            {"global_options": ["early"]},
            "the metric x names the global option 'early', which its function does not take",
        ),
        ({"function": 3}, "define_metric needs a function; got 3"),
        ({"function": lambda labels: 0}, "the function of metric x must take labels and scores"),
    ],
)
def test_bad_definitions(arguments, message):
    complete = {"function": mine.highest_inside, "id": "x", "takes": "scores", **arguments}
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.define_metric(complete.pop("function"), **complete)
    assert str(caught.value) == message


def test_best_threshold_takes_all_of_them():
    by_id = pv.best_threshold(LABELS, SCORES, metric="support.user_metrics:cost")
    assert by_id == pv.best_threshold(LABELS, SCORES, metric=mine.cost) == (SCORES.max(), 1 / LABELS.size)
    assert pv.best_threshold(LABELS, SCORES, metric=mine.flagged_share) == (SCORES.min(), 1.0)
    assert pv.best_threshold(LABELS, SCORES, metric=mine.halves).value >= pv.point(LABELS[:60], PREDICTIONS[:60]).f1
    beta = pv.best_threshold(LABELS, SCORES, metric="point_f_beta(beta=2)")
    assert beta.value == pytest.approx(
        max(pv.point(LABELS, level <= SCORES).f_beta(2) for level in np.unique(SCORES)), abs=1e-12
    )
    narrow = pv.best_threshold(LABELS, SCORES, metric="pate_f1(early=2,delay=3)")
    assert narrow.value == max(pv.pate_f1(LABELS, level <= SCORES, early=2, delay=3) for level in np.unique(SCORES))
    with raises_exactly(
        ValueError, "highest_inside is computed from scores and needs no threshold; name a metric on predictions"
    ):
        pv.best_threshold(LABELS, SCORES, metric=mine.highest_inside)


# --- identity, for caches and workers ---


def test_metrics_travel():
    others = find_metrics([mine.cost, "cost(scale=2)", mine.halves, "halves_f1", "vus_pr(window=50)"])
    for metric in [*all_metrics().values(), *others]:
        assert metric.importable
        copy = pickle.loads(pickle.dumps(metric))  # noqa: S301  # our own bytes
        assert copy == metric
        assert hash(copy) == hash(metric)


def test_cache_tokens(tmp_path, monkeypatch):
    assert find_metrics("pate( early = 5 )")[0].cache_token() == "pate(early=5)|definition:1"
    tokens = {metric.cache_token() for metric in find_metrics([mine.cost, "cost(scale=2)", mine.flagged_share])}
    assert len(tokens) == 3
    raised = pv.define_metric(mine.flagged_share, id="cost", takes="predictions", definition=2)
    assert raised.cache_token() not in tokens
    assert "definition:2" in raised.cache_token()

    # The source of the module counts.
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "token_metric.py"
    file.write_text("def f(labels, scores):\n    return 1.0\n")
    (metric,) = find_metrics("token_metric:f")
    before = metric.cache_token()
    assert before is not None
    assert before == find_metrics("token_metric:f")[0].cache_token()
    file.write_text("def f(labels, scores):\n    return 2.0\n")
    assert metric.cache_token() != before


@pytest.mark.parametrize("statement", ["from token_one import weight", "import token_two.inner"])
def test_a_helper_of_a_metric_counts_for_the_cache(tmp_path, monkeypatch, statement):
    """Whatever the module imports from outside installed packages, directly or by others, at once or later."""
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / statement.split()[1].partition(".")[0]
    package.mkdir()
    (package / "__init__.py").write_text("from .inner import weight\n")
    (package / "inner.py").write_text("import numpy\n\n\ndef weight():\n    from . import deep\n\n    return deep.W\n")
    (package / "deep.py").write_text("W = 1.0\n")
    name = f"token_user_{len(statement)}"
    (tmp_path / f"{name}.py").write_text(f"def f(labels, scores):\n    {statement}\n\n    return 1.0\n")
    (metric,) = find_metrics(f"{name}:f")
    tokens = {metric.cache_token()}
    for file, text in (("deep.py", "W = 2.0\n"), ("__init__.py", "from .inner import weight as weight\n")):
        (package / file).write_text(text)
        tokens.add(metric.cache_token())
    assert len(tokens) == 3
    (tmp_path / "unrelated.py").write_text("W = 3\n")
    assert metric.cache_token() in tokens


@pytest.mark.parametrize(
    "source",
    [
        "from importlib import import_module\n\nW = import_module('token_deep').W\n",
        "W = __import__('token_deep').W\n",
        "exec(open('token_deep.py').read())\n",
        "nothing that can be read\n",
    ],
)
def test_a_helper_that_is_named_by_a_computation_keeps_a_metric_from_the_cache(tmp_path, monkeypatch, source):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"token_computed_{len(source)}"
    (tmp_path / f"{name}_helper.py").write_text(source)
    (tmp_path / f"{name}.py").write_text(f"def f(labels, scores):\n    import {name}_helper as h\n    return h.W\n")
    (metric,) = find_metrics(f"{name}:f")
    assert metric.importable
    assert metric.cache_token() is None
    (tmp_path / f"{name}_helper.py").write_text("W = 1.0\n")
    assert metric.cache_token() is not None


def test_what_cannot_be_found_again_is_not_cached(monkeypatch):
    def closure(labels, scores):
        return 0.0

    nameless = pv.define_metric(lambda labels, scores: 0.0, id="nameless", takes="scores")
    made = ModuleType("made_in_memory")
    exec("def f(labels, scores): return 0.0", made.__dict__)  # noqa: S102  # a module without a file
    monkeypatch.setitem(sys.modules, "made_in_memory", made)
    for metric in (find_metrics(closure)[0], nameless, find_metrics(made.f)[0]):
        assert not metric.importable
        assert metric.cache_token() is None
    code = (
        "import pateval as pv\nfrom pateval.catalog import find_metrics\n"
        "def f(labels, scores): return 0.0\n(m,) = find_metrics(f)\nprint(m.importable, m.cache_token())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False None\n"


def test_a_function_cannot_change_what_others_see():
    def writes(labels, scores):
        for array in (labels, scores):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
                array.setflags(write=True)
            base = array.base
            while isinstance(base, np.ndarray):
                with pytest.raises(ValueError, match="cannot set WRITEABLE flag to True"):
                    base.setflags(write=True)
                base = base.base
        return 1.0

    def timed(labels, scores, *, times=None, ignore=None):
        writes(times, ignore)
        return writes(labels, scores)

    times = np.arange(LABELS.size)
    found = pv.evaluate(LABELS, SCORES, metrics=[writes, timed, "auc_roc"], times=times, ignore=times == 0, chance=0)
    assert (found["writes"], found["timed"], found["auc_roc"]) == (1.0, 1.0, pv.auc_roc(LABELS[1:], SCORES[1:]))


def breaks(labels, scores):
    return 1 // 0


def leaves(labels, scores):
    raise SystemExit("enough")


class UnnameableError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def breaks_without_words(labels, scores):
    raise UnnameableError


def gives_up(labels, scores):
    raise GeneratorExit("no more")


def number_as_text(labels, scores):
    return "0.5"


def beyond_floats(labels, predictions):
    return 10**400


def test_a_function_that_breaks_leaves_the_others_alone():
    asked = [
        breaks,
        leaves,
        breaks_without_words,
        gives_up,
        number_as_text,
        beyond_floats,
        mine.text,
        "support.user_metrics:highest_inside_f1",
        "auc_roc",
    ]
    found = pv.evaluate(LABELS, SCORES, metrics=asked, chance=2)
    assert found.reasons == {
        "breaks": "the metric breaks failed: ZeroDivisionError: integer division or modulo by zero",
        "leaves": "the metric leaves failed: SystemExit: enough",
        "breaks_without_words": "the metric breaks_without_words failed: UnnameableError: it cannot be shown",
        "gives_up": "the metric gives_up failed: GeneratorExit: no more",
        "number_as_text": "the metric number_as_text must return a number or a PRF; it returned '0.5'",
        "beyond_floats": "the metric beyond_floats returned inf, with which no mean and no rank exists",
        "text": "the metric text must return a number or a PRF; it returned 'good'",
        "highest_inside_f1": "the metric highest_inside_f1 needs a function that returns a PRF; it returned True",
    }
    assert found["auc_roc"] == pv.auc_roc(LABELS, SCORES)
    assert list(found.chance) == ["auc_roc"]


def test_a_function_that_breaks_on_some_series_is_noted():
    def first_is_normal(labels, scores):
        return 1 // (1 - int(labels[0]))

    labels, series = [0, 1, 0, 1, 1, 0, 0, 1, 0], np.repeat([1, 2, 3], 3)
    found = pv.evaluate(labels, range(9), metrics=first_is_normal, series=series, chance=0)
    assert found["first_is_normal"] == 1.0
    assert found.notes == (
        "on 1 of 3 series the metric first_is_normal failed: ZeroDivisionError: integer division or modulo by zero",
    )
