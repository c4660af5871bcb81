"""Delays, offsets and false alarms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import delays as oracle
from pateval.metrics.delays import (
    censored_detection_delay,
    false_alarm_rate,
    mean_detection_delay,
    mean_detection_offset,
    onset_detection_rate,
)
from pateval.validation.arrays import UndefinedMetricError
from support.cases import prediction_cases
from support.messages import raises_exactly
from support.strategies import labels_and_predictions

WINDOWS = [(0, 0), (5, 0), (0, 10), (5, 10), (20, 20)]


def check(function, expected, labels, predictions, **options):
    if expected is None:
        with raises_exactly(
            UndefinedMetricError, "the metric is undefined: no event is detected, so there is no delay to measure"
        ):
            function(labels, predictions, **options)
    else:
        assert function(labels, predictions, **options) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["mean_detection_delay", "censored_detection_delay"])
@given(pair=labels_and_predictions())
def test_agrees_with_the_definition(name, pair):
    check(globals()[name], getattr(oracle, name)(*pair), *pair)


@pytest.mark.parametrize("name", ["mean_detection_offset", "onset_detection_rate"])
@given(pair=labels_and_predictions(), early=st.integers(0, 50), delay=st.integers(0, 50))
def test_onsets_agree_with_the_definition(name, pair, early, delay):
    check(globals()[name], getattr(oracle, name)(*pair, early, delay), *pair, early=early, delay=delay)


@given(labels_and_predictions(), st.sampled_from([1, 60, 3600]))
def test_false_alarms_agree_with_the_definition(pair, per):
    check(false_alarm_rate, oracle.false_alarm_rate(*pair, per), *pair, per=per)


def test_by_hand():
    labels = [0, 0, 1, 1, 1, 1, 0, 0, 1, 1]
    predictions = [1, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert oracle.mean_detection_delay(labels, predictions) == 2
    assert oracle.censored_detection_delay(labels, predictions) == (2 + 2) / 2
    assert oracle.offsets(labels, predictions, 2, 2) == [-2, None]
    assert oracle.offsets(labels, predictions, 4, 2) == [-2, -4]
    assert oracle.mean_detection_offset(labels, predictions, 4, 2) == -3
    assert oracle.onset_detection_rate(labels, predictions, 2, 2) == 1 / 2
    assert oracle.false_alarm_rate(labels, predictions, 100) == 10


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_delay(case):
    if case.labels.any():
        check(mean_detection_delay, case.metrics["merlion_mean_delay_exact"], case.labels, case.predictions)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_onsets(case):
    for early, delay in WINDOWS:
        key, options = f"[min={-early},max={delay}]", {"early": early, "delay": delay}
        if not case.labels.any():
            for function in (mean_detection_offset, onset_detection_rate):
                with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
                    function(case.labels, case.predictions, **options)
            continue
        offset = case.metrics[f"sktime_mean_offset{key}"]
        check(mean_detection_offset, None if offset == "nan" else offset, case.labels, case.predictions, **options)
        check(onset_detection_rate, case.metrics[f"sktime_event_tpr{key}"], case.labels, case.predictions, **options)


@pytest.mark.parametrize("case", prediction_cases("event"))
def test_golden_false_alarms(case):
    if case.labels.any():
        expected = case.metrics["segment_fp"] / case.labels.size
        check(false_alarm_rate, expected, case.labels, case.predictions)


@pytest.mark.parametrize(
    "function",
    [
        mean_detection_delay,
        censored_detection_delay,
        mean_detection_offset,
        onset_detection_rate,
        false_alarm_rate,
    ],
)
def test_no_anomaly(function):
    with raises_exactly(UndefinedMetricError, "the metric is undefined: the labels hold no anomaly"):
        function([0, 0, 0], [0, 1, 0])


def test_buffers_longer_than_the_series():
    assert mean_detection_offset([0, 0, 1], [1, 0, 0], early=10**30, delay=10**30) == -2
    assert onset_detection_rate([0, 0, 1], [0, 0, 0], early=10**30, delay=10**30) == 0


@pytest.mark.parametrize(
    ("function", "option", "value", "message"),
    [
        (mean_detection_offset, "early", -1, "early must be a non-negative integer; got -1"),
        (mean_detection_offset, "delay", 1.0, "delay must be a non-negative integer; got 1.0"),
        (onset_detection_rate, "early", True, "early must be a non-negative integer; got True"),
        (onset_detection_rate, "delay", -2, "delay must be a non-negative integer; got -2"),
        (false_alarm_rate, "per", 0, "per must be a positive integer; got 0"),
        (false_alarm_rate, "per", 0.5, "per must be a positive integer; got 0.5"),
    ],
)
def test_options_are_checked(function, option, value, message):
    with raises_exactly((ValueError, TypeError), message):
        function([0, 1], [0, 1], **{option: value})


@pytest.mark.parametrize("metric", [false_alarm_rate, pv.szcore_false_alarm_rate])
def test_rates_of_false_alarms_on_a_clock(metric):
    labels = np.tile(np.repeat([0, 1, 0], [300, 20, 280]), 3)
    predictions = np.arange(labels.size) % 500 < 3
    dates = np.datetime64("2026-03-01") + np.arange(labels.size) * np.timedelta64(10, "m")
    daily = metric(labels, predictions, per="1d", times=dates)
    assert daily == metric(labels, predictions, per=144) > 0
    assert daily == metric(labels, predictions, per="24h", times=np.arange(labels.size) * 600, time_unit="s")
    name = f"{metric.__name__}(per=1d)"
    assert daily == pv.evaluate(labels, None, predictions, metrics=name, times=dates, chance=0)[name]
    with raises_exactly(ValueError, "per='1d' is a duration, which needs the times of the steps: pass times"):
        metric(labels, predictions, per="1d")
