"""Whatever is handed in: a value, or one bounded sentence of ours, and no warning that nobody wrote."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

import pateval as pv
from pateval.catalog import catalogue
from pateval.catalog.metric import GLOBAL_OPTIONS
from pateval.compat import PATE
from support.hostile_values import HOSTILE, broken_rules, outcome
from support.messages import raises_exactly

LABELS = [0, 0, 1, 1, 1, 0, 0, 0]
SCORES = [0.125, 0.5, 1.0, 0.25, 0.375, 0.0, 0.75, 0.625]
PREDICTIONS = [0, 1, 1, 0, 0, 0, 1, 0]
# Nobody can look at 10**12 labels or thresholds; a range of buffers must be refused at once.
ENDLESS = {"long range"}
WITH_BUFFERS = {"early", "delay", "window", "e_buffer", "d_buffer"}

GOOD = {
    "labels": LABELS,
    "y_true": LABELS,
    "scores": SCORES,
    "y_score": SCORES,
    "values": SCORES,
    "predictions": PREDICTIONS,
    "a": SCORES,
    "b": SCORES[::-1],
    "intervals": [(1, 3)],
    "size_or_times": 8,
    "early": 2,
    "delay": 2,
    "thresholds": [0.2, 0.5],
    "threshold": 0.5,
    "alarms": 1,
    "per": 4,
    "function": pv.auc_roc,
    "id": "mine",
    "takes": "scores",
    "text": "pate|early:2|definition:1|pateval:0.1.0",
}
# What a function needs beside its arguments without a default.
ALARMS = {"alarms": [(1, 3)], "incidents": [(2, 4)], "period": (0, 8)}
NEEDED = {
    "evaluate": {"scores": SCORES},
    "explain": {"predictions": PREDICTIONS},
    "scores_from_windows": {"window_scores": SCORES[:7], "size": 8, "window": 2},
    "check_causal": {"detector": np.asarray},
    "power": {"first": SCORES, "second": SCORES[::-1]},
    "judge_alarms": ALARMS,
    "judge_alarm_files": {
        "alarms": {"start": [1], "stop": [3]},
        "incidents": {"start": [2], "stop": [4]},
        "period": (0, 8),
    },
}
OTHERS = {"leaderboard", "audit", "audit_scores", "check", "leaderboard_from_results", "verify"}
# The leaderboard has tests of its own below; audits and checks of data take seconds.
FUNCTIONS = {
    name: getattr(pv, name) for name in pv.__all__ if inspect.isfunction(getattr(pv, name)) and name not in OTHERS
}
FUNCTIONS |= {"compat.PATE": PATE, "PateAccumulator": pv.PateAccumulator}
EVERY_METRIC = catalogue(emerging=True, channels=True)
ON_CHANNELS = {metric.function.__name__ for metric in EVERY_METRIC.values() if metric.channels}


def parameters_of(function):
    return inspect.signature(function).parameters.values()


def good_arguments(name, function):
    """The arguments without a default, with values that make sense."""
    values = {each.name: GOOD.get(each.name) for each in parameters_of(function) if each.default is each.empty}
    values |= NEEDED.get(name, {})
    if name in ON_CHANNELS or "channel" in name:
        return {key: np.column_stack([value, value]) for key, value in values.items()}
    return values


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_argument_of_every_function(name):
    function = FUNCTIONS[name]
    good = good_arguments(name, function)
    assert not isinstance(outcome(function, good), Exception)
    cases = {
        f"{parameter.name}={what}": {**good, parameter.name: value}
        for parameter in parameters_of(function)
        for what, value in HOSTILE.items()
        if what not in ENDLESS or parameter.name in WITH_BUFFERS
    }
    assert not broken_rules(function, cases)


@pytest.mark.parametrize("what", [what for what in HOSTILE if what not in ENDLESS])
def test_every_metric_at_once(what):
    value = HOSTILE[what]
    cases = {
        "labels": {"labels": value, "scores": SCORES},
        "scores": {"labels": LABELS, "scores": value},
        "predictions": {"labels": LABELS, "predictions": value},
    }
    assert not broken_rules(pv.evaluate, cases)


@pytest.mark.parametrize("metric", EVERY_METRIC.values(), ids=EVERY_METRIC)
def test_every_option_of_every_metric(metric):
    cases = {f"{option}={what}": {option: value} for option in metric.parameters for what, value in HOSTILE.items()}
    assert not broken_rules(metric.with_options, cases)
    if not metric.channels:
        usual = {"labels": LABELS, "scores": SCORES, "metrics": metric.id}
        cases = {
            f"{option}={what}": {**usual, option: value}
            for option in GLOBAL_OPTIONS
            if option in metric.parameters
            for what, value in HOSTILE.items()
        }
        assert not broken_rules(pv.evaluate, cases)


TABLE = {
    "label": LABELS * 3,
    "first": SCORES * 3,
    "second": SCORES[::-1] * 3,
    "series": ["a"] * 8 + ["b"] * 8 + ["c"] * 8,
}
# Each of these takes a leaderboard of its own; kinds of values, not all of them.
FEW_NAMES = "10**12,huge integer,nan,object,long text,bytes,decimal,date,empty,series,frame,mapping,mixed"
FEW = {what: HOSTILE[what] for what in FEW_NAMES.split(",")}
USUAL = {"metrics": ["pate", "point_f1"], "chance": 0, "event_draws": 0, "workers": 1}
WRITING = {"data", "cache", "output", "progress"}  # folders that would be made, and what gets called


@pytest.mark.parametrize("name", [each.name for each in parameters_of(pv.leaderboard) if each.name not in WRITING])
def test_every_argument_of_the_leaderboard(name):
    cases = {what: {"data": TABLE, **USUAL, name: value} for what, value in FEW.items()}
    assert not broken_rules(pv.leaderboard, cases)


@pytest.mark.parametrize("column", ["label", "first", "series"])
def test_every_column_of_the_leaderboard(column):
    table = {"label": LABELS, "first": SCORES, "second": SCORES[::-1]}
    cases = {what: {"data": {**table, column: value}, **USUAL} for what, value in FEW.items()}
    assert not broken_rules(pv.leaderboard, cases)


def test_anything_as_the_data_of_the_leaderboard():
    cases = {what: {"data": value, **USUAL} for what, value in FEW.items()}
    assert not broken_rules(pv.leaderboard, cases)


NUMBERS = pd.Series(np.arange(1000.0))  # whose representation has many lines


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: pv.vus_pr(LABELS, SCORES, window=10**12),
            "window must be at most 1,000,000 steps; got 1000000000000",
        ),
        (
            lambda: pv.evaluate(LABELS, SCORES, metrics="vus_roc", window=10**12),
            "window must be at most 1,000,000 steps; got 1000000000000",
        ),
        (lambda: pv.leaderboard(TABLE, detector=2), "detector must be the name of a column; got 2"),
        (lambda: pv.leaderboard(TABLE, score=2), "score must be the name of a column, or a list of names; got 2"),
        (
            lambda: pv.leaderboard(TABLE, executor=3),
            ("executor must be a concurrent.futures.Executor, such as Client(...).get_executor() of Dask; got 3"),
        ),
        (
            lambda: pv.auc_roc(LABELS, SCORES, missing=NUMBERS),
            "missing must be one of 'error', 'ignore', 'normal'; got Series of shape (1000,)",
        ),
        (
            lambda: pv.evaluate(LABELS, SCORES, threshold=NUMBERS),
            "threshold must be a finite number or the name of a rule; got Series of shape (1000,)",
        ),
        (
            lambda: pv.median_deviation_threshold([1.7e308, -1.7e308, 1.6e308, 0.0]),
            "the threshold lies beyond the largest float: divide the scores by a constant",
        ),
        (
            lambda: pv.evaluate(LABELS, SCORES, metrics="PATE"),
            "unknown metric 'PATE'; did you mean 'pate'? ('pateval metrics' lists them)",
        ),
    ],
)
def test_what_is_said(call, message):
    with raises_exactly((ValueError, TypeError), message):
        call()


def test_what_has_a_value_all_the_same():
    assert pv.pate([0, 1], [0, 10.0**300]) == pv.pate([0, 1], [0, 1])
    assert pv.pate(LABELS, SCORES, thresholds=2**63) == pv.pate(LABELS, SCORES)
    assert pv.pate(LABELS, SCORES, early=10**400, delay=2) == pv.pate(LABELS, SCORES, early=8, delay=2)
    single = np.array(SCORES, dtype=np.float32)
    assert pv.quantile_threshold(single, fraction=0.3) == pv.quantile_threshold(single.astype(float), fraction=0.3)
