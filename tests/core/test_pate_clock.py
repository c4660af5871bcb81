"""PATE on a clock against its literal oracle: uneven times, holes, ignored steps, missing scores, durations."""

from __future__ import annotations

import datetime
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from oracles import pate_clock as oracle
from pateval.pate import _counts
from support.messages import raises_exactly
from support.strategies import labels_and_predictions, labels_and_scores, split_series

EXACT = dict(rel=0, abs=1e-12)
MANY = settings(max_examples=max(500, settings().max_examples))
durations = st.lists(st.integers(0, 25), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def _coarse_scores_are_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        yield


@st.composite
def recordings(draw, pairs):
    """Truth and detector on an uneven clock of whole seconds, perhaps cut into series, with holes and ignored steps."""
    labels, given_values = draw(pairs)
    size = labels.size
    series = split_series(draw, size) if draw(st.booleans()) else np.zeros(size, dtype=int)
    intervals = np.array(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    times = np.concatenate([np.cumsum(intervals[series == name]) for name in np.unique(series)])
    ignored = np.array(draw(st.lists(st.sampled_from([False, False, False, True]), min_size=size, max_size=size)))
    if not draw(st.booleans()):
        ignored[:] = False
    ignored[np.argmax(labels)] = False
    max_gap = draw(st.sampled_from([None, None, 3, 6]))
    return labels, given_values, series, times, ignored, max_gap


def seconds(values):
    return [f"{value}s" for value in values]


def clock_of(case):
    _, _, series, times, ignored, max_gap = case
    return times.tolist(), series.tolist(), ignored.tolist(), max_gap


def options_of(case):
    _, _, series, times, ignored, max_gap = case
    gap = None if max_gap is None else f"{max_gap}s"
    return dict(series=series, times=times, time_unit="s", ignore=ignored, max_gap=gap)


@MANY
@given(recordings(labels_and_scores(max_size=30)), durations, durations)
def test_areas_equal_the_definition(case, early, delay):
    labels, scores = case[:2]
    buffers = dict(early=seconds(early), delay=seconds(delay))
    for function, literal in ((pv.pate, oracle.pate), (pv.pate_ap, oracle.pate_ap)):
        expected = literal(labels.tolist(), scores.tolist(), early, delay, *clock_of(case))
        for few in (0, 10**6):
            with mock.patch.object(_counts, "_MAX_PAIRS_ONE_BY_ONE", few):
                found = function(labels, scores, **buffers, **options_of(case))
            assert found == pytest.approx(expected, **EXACT)


@MANY
@given(recordings(labels_and_predictions(max_size=30)), durations, durations)
def test_f1_equals_the_definition(case, early, delay):
    labels, predictions = case[:2]
    expected = oracle.pate_f1(labels.tolist(), predictions.tolist(), early, delay, *clock_of(case))
    found = pv.pate_f1(labels, predictions, early=seconds(early), delay=seconds(delay), **options_of(case))
    assert found == pytest.approx(expected, **EXACT)


@given(recordings(labels_and_predictions(max_size=30)), st.integers(0, 25), st.integers(0, 25))
def test_an_explanation_adds_up_to_the_definition(case, early, delay):
    labels, predictions, _, _, ignored, _ = case
    expected = oracle.counts(labels.tolist(), predictions.tolist(), early, delay, *clock_of(case))
    found = pv.explain(labels, predictions, early=f"{early}s", delay=f"{delay}s", **options_of(case))
    sums = found.true_positive, found.false_positive, found.false_negative
    assert sums == pytest.approx([float(count) for count in expected], **EXACT)
    starts = np.sort(np.unique(options_of(case)["series"], return_index=True)[1])
    numbers = np.arange(labels.size) - np.repeat(starts, np.diff(starts, append=labels.size))
    assert found.points.step.tolist() == numbers[~ignored].tolist()
    kept = labels[~ignored]
    assert all(kept[start] and kept[stop - 1] for start, stop in zip(*found.event_places(), strict=True))
    assert found.to_dict()["early"] == f"{early}s"


@given(recordings(labels_and_scores(max_size=30)), st.integers(0, 25), st.integers(0, 25))
def test_a_curve_equals_the_definition(case, early, delay):
    labels, scores = case[:2]
    points = oracle.curve(labels.tolist(), scores.tolist(), early, delay, *clock_of(case))
    curve = pv.pate_curve(labels, scores, early=f"{early}s", delay=f"{delay}s", **options_of(case))
    assert curve.precision == pytest.approx([float(precision) for precision, _ in points], **EXACT)
    assert curve.recall == pytest.approx([float(recall) for _, recall in points], **EXACT)


@MANY
@given(recordings(labels_and_scores(max_size=30)), durations, durations, st.data())
def test_ignored_steps_keep_the_step_numbers_as_clock(case, early, delay, data):
    labels, scores, series, _, ignored, _ = case
    absent = np.array(
        data.draw(st.lists(st.sampled_from([False, False, True]), min_size=labels.size, max_size=labels.size))
    )
    values = np.where(absent, np.nan, scores)
    steps = list(range(labels.size))
    for missing, left_out, given_scores in (
        ("ignore", ignored | absent, scores.tolist()),
        ("normal", ignored, [None if gone else score for gone, score in zip(absent, scores.tolist(), strict=True)]),
    ):
        if left_out.all() or not labels[~left_out].any():
            continue
        expected = oracle.pate(labels.tolist(), given_scores, early, delay, steps, series.tolist(), left_out.tolist())
        found = pv.pate(labels, values, early=early, delay=delay, series=series, ignore=ignored, missing=missing)
        assert found == pytest.approx(expected, **EXACT)


@given(labels_and_scores(), st.integers(0, 20), st.integers(0, 20))
def test_an_even_clock_equals_steps(case, early, delay):
    labels, scores = case
    expected = pv.pate(labels, scores, early=early, delay=delay)
    start = np.datetime64("2024-03-31T00:00")
    dates = start + np.arange(labels.size) * np.timedelta64(7, "m")
    as_time = dict(early=f"{7 * early}min", delay=datetime.timedelta(minutes=7 * delay))
    assert pv.pate(labels, scores, times=dates, **as_time) == pytest.approx(expected, **EXACT)
    tenths = np.arange(labels.size) * 0.1 + 3.7
    as_time = dict(early=f"{early / 10}s", delay=np.timedelta64(100 * delay, "ms"))
    assert pv.pate(labels, scores, times=tenths, time_unit="s", **as_time) == pytest.approx(expected, **EXACT)


def test_times_change_no_number_in_steps():
    labels, scores = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.4, 0.9, 0.6, 0.2]
    times = [0, 1, 5, 6, 90, 91]
    assert pv.pate(labels, scores, early=2, delay=2, times=times) == pv.pate(labels, scores, early=2, delay=2)


@pytest.mark.parametrize(
    "make",
    [
        pd.DatetimeIndex,
        lambda dates: pd.Series(pd.DatetimeIndex(dates).tz_localize("Europe/Amsterdam")),
        pl.Series,
        lambda dates: [each.item() for each in dates.astype("datetime64[us]")],
        lambda dates: [str(each) for each in dates.astype("datetime64[s]")],
    ],
)
def test_times_of_all_kinds(make):
    labels, scores = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.4, 0.9, 0.6, 0.2]
    dates = np.datetime64("2024-05-01", "ns") + np.arange(6) * np.timedelta64(10, "m")
    found = pv.pate(labels, scores, times=make(dates), early="20min", delay=["0min", "20min"])
    assert found == pytest.approx(pv.pate(labels, scores, early=2, delay=[0, 2]), **EXACT)


def test_times_in_a_list_are_those_of_an_array_however_large():
    labels, scores, times = [0, 1, 0], [0.1, 0.9, 0.3], [0, 1e16, 2e16]
    found, expected = (
        pv.pate(labels, scores, times=moments, time_unit="ns", early="150d", delay=0)
        for moments in (times, np.array(times))
    )
    assert found == expected


LABELS, SCORES = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.4, 0.9, 0.6, 0.2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"early": "10min"},
            "early='10min' is a duration, which needs the times of the steps: pass times",
        ),
        (
            {"early": "10min", "delay": "1h", "times": [0, 1, 2, 3, 4, 5]},
            "a duration needs to know the unit of times: pass time_unit, such as time_unit='s'",
        ),
        (
            {"times": [0, 1, 1, 3, 4, 5]},
            (
                "times must increase within a series; the time at index 2, 1, is the same as the one before it, 1 "
                "(1 such place): sort the steps by time and leave out repeated ones"
            ),
        ),
        (
            {"times": [0, 1, 2, 1.5, 4, 3]},
            (
                "times must increase within a series; the time at index 3, 1.5, lies before the one before it, 2.0 "
                "(2 such places): sort the steps by time and leave out repeated ones"
            ),
        ),
        ({"times": [0, 1, 2]}, "times and labels must have the same length; got 3 and 6"),
        ({"max_gap": "1h"}, "max_gap needs the times of the steps: pass times"),
        ({"time_unit": "s"}, "time_unit is the unit of times that are numbers: pass times too"),
        (
            {"times": ["2024-01-01", "soon", *["2024-01-02"] * 4]},
            "times must be dates from 1678 to 2261, such as datetime64 values, or numbers; got 'soon' at index 1",
        ),
        (
            {"times": ["2024-01-01", "9999-12-31", *["2024-01-02"] * 4]},
            (
                "times must be dates from 1678 to 2261, such as datetime64 values, or numbers; got '9999-12-31' "
                "at index 1"
            ),
        ),
        (
            {"times": [0, 0.5, 2**53 + 1, 2**54, 2**55, 2**56]},
            (
                "times must be numbers that floats can tell apart; found the integer 9007199254740993 at index 2: "
                "subtract a constant from all of them"
            ),
        ),
        ({"times": [0, 0.5, 1, 2, 1e16, float("inf")]}, "times must be finite; found inf at index 5"),
        (
            {"times": [pd.Timestamp("2024-01-01"), pd.NaT, *[pd.Timestamp("2024-01-02")] * 4]},
            "times must hold no missing values; found one at index 1",
        ),
        (
            {"early": ["10min", 3], "delay": "0s"},
            "early must be all numbers of steps or all durations such as '10min'; got ['10min', 3]",
        ),
        (
            {"early": 3, "delay": "5s", "times": range(6), "time_unit": "s"},
            "early must be a duration such as '10min' too where the other buffer is one",
        ),
        ({"ignore": [1] * 6}, "ignore leaves no step to evaluate"),
        ({"ignore": [0, 1]}, "ignore and labels must have the same length; got 2 and 6"),
        ({"missing": "drop"}, "missing must be one of 'error', 'ignore', 'normal'; got 'drop'"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.pate(LABELS, SCORES, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, None, 1, 1, 0, 0], "labels must hold no missing values; found one at index 1 (1 in 6)"),
        ([0, np.nan, 1, 1, 0, 0], "labels must be 0 or 1 at every step; found NaN at index 1 (1 such value in 6)"),
    ],
)
def test_a_missing_label_names_the_ways_out(labels, message):
    with pytest.raises(ValueError, match="labels must") as caught:
        pv.pate(labels, SCORES)
    assert str(caught.value) == f"{message}: fill it in, or leave such steps out with ignore= where there is one"


def test_a_missing_score_names_both_ways_out():
    with raises_exactly(
        ValueError,
        "scores must be present at every step; found a missing one at index 1 (1 in 6): pass missing='ignore' to "
        "leave such steps out, or missing='normal' to count them as never predicted",
    ):
        pv.pate(LABELS, [0.1, None, 0.4, 0.9, 0.6, 0.2], ignore=[0] * 6)


def test_a_label_may_be_missing_where_it_is_ignored():
    labels = [0, None, 1, 1, 0, 0]
    found = pv.pate_ap(labels, SCORES, early=2, delay=2, ignore=[0, 1, 0, 0, 0, 0])
    assert found == pv.pate_ap(LABELS, SCORES, early=2, delay=2, ignore=[0, 1, 0, 0, 0, 0])
