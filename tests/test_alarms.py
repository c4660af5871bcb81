"""Alarms held against incidents."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import alarms as oracle
from pateval.alarms.clock import AlarmClock, poisson_limits, wilson_limits
from pateval.alarms.lists import judge_alarms
from support.messages import raises_exactly

GOLDEN = [json.loads(line) for line in (Path(__file__).parent / "golden/alarms.jsonl").read_text().splitlines()]
COUNTS = (
    *("incidents", "found", "left_out", "alarms", "first", "repeat", "false", "set_aside", "dropped", "suppressed"),
    *("observed",),
)


def figures(judgement):
    """A judgement under the names of the oracle."""
    return {name: getattr(judgement, name) for name in COUNTS} | {
        "missed": judgement.missed.tolist(),
        "ttd": judgement.times_to_detect.tolist(),
        "in_alarm": judgement.time_in_alarm,
    }


def limits(judgement):
    return {
        "recall_95": judgement.recall_limits,
        "precision_95": judgement.precision_limits,
        "false_rate_95": judgement.false_rate_limits,
    }


def expected_figures(found):
    return {name: found[name] for name in (*COUNTS, "ttd", "in_alarm")} | {"missed": [list(x) for x in found["missed"]]}


def assert_same(judgement, found):
    assert figures(judgement) == expected_figures(found)
    for name, pair in limits(judgement).items():
        assert pair == pytest.approx(oracle.limits(found)[name], abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case):
    given_, expected = case["input"], case["expected"]
    policy = {name: given_[name] for name in ("early", "delay", "merge", "cooldown")}
    lists = given_["alarms"], given_["incidents"]
    judgement = judge_alarms(*lists, period=given_["periods"], ignore=given_["ignored"], **policy)
    assert figures(judgement) == {name: value for name, value in expected.items() if not name.endswith("_95")}
    for name, pair in limits(judgement).items():
        assert pair == pytest.approx(expected[name], abs=1e-9, nan_ok=True)
    literal = oracle.judge(*lists, periods=given_["periods"], ignored=given_["ignored"], **policy)
    assert figures(judgement) == expected_figures({**literal, "missed": literal["missed"]})


times = st.integers(-5, 40)
intervals = st.lists(st.tuples(times, st.one_of(st.just(0), st.integers(0, 12))).map(lambda pair: (pair[0], sum(pair))))
lengths = st.integers(0, 8)


@given(
    intervals,
    intervals,
    st.one_of(st.none(), st.lists(st.tuples(times, st.integers(0, 30)).map(lambda p: (p[0], sum(p))), min_size=1)),
    st.lists(st.tuples(times, st.integers(0, 10)).map(lambda p: (p[0], sum(p))), max_size=4),
    st.fixed_dictionaries(
        {"early": lengths, "delay": lengths, "merge": st.none() | lengths, "cooldown": st.none() | lengths}
    ),
)
def test_agrees_with_the_definition(alarms, incidents, periods, ignored, policy):
    found = oracle.judge(alarms, incidents, periods=periods, ignored=ignored, **policy)
    judgement = judge_alarms(alarms, incidents, period=periods, ignore=ignored, **policy)
    assert_same(judgement, found)
    # The same on the clock of the calendar, to the nanosecond, and in floats.
    base = np.datetime64("2026-03-01T00:00:00.000000001", "ns")

    def dates(pairs):
        return None if pairs is None else base + np.array(pairs, dtype="timedelta64[h]").reshape(-1, 2)

    hours = {name: None if value is None else f"{value}h" for name, value in policy.items()}
    dated = judge_alarms(dates(alarms), dates(incidents), period=dates(periods), ignore=dates(ignored), **hours)
    hour = np.timedelta64(1, "h")
    assert [dated.found, dated.first, dated.repeat, dated.false, dated.set_aside, dated.dropped, dated.suppressed] == [
        judgement.found, judgement.first, judgement.repeat, judgement.false, judgement.set_aside, judgement.dropped,
        judgement.suppressed,
    ]  # fmt: skip
    assert (dated.times_to_detect / hour).tolist() == found["ttd"]
    assert dated.observed / hour == found["observed"]
    assert dated.time_in_alarm / hour == found["in_alarm"]
    assert dated.false_rate == pytest.approx(24 * judgement.false_rate, nan_ok=True)

    def halves(pairs):
        return None if pairs is None else np.array(pairs, dtype=float).reshape(-1, 2) / 2

    small = {name: None if value is None else value / 2 for name, value in policy.items()}
    halved = judge_alarms(halves(alarms), halves(incidents), period=halves(periods), ignore=halves(ignored), **small)
    assert (halved.times_to_detect * 2).tolist() == found["ttd"]
    assert (halved.false, halved.repeat, 2 * halved.observed) == (found["false"], found["repeat"], found["observed"])


def test_by_hand():
    # 2 comes early for 5 to 9 and 7 repeats it; 30 is false; 61 meets nothing but what lies outside; 99 is not observed
    found = judge_alarms(
        [2, 7, 30, 61, 99], [(5, 9), (20, 22), (62, 70)], period=[(0, 62)], early=3, delay=1, time_unit="h"
    )
    assert (found.incidents, found.found, found.left_out) == (2, 1, 1)
    assert found.missed.tolist() == [[20, 22]]
    assert (found.first, found.repeat, found.false, found.set_aside, found.dropped) == (1, 1, 1, 1, 1)
    assert found.times_to_detect.tolist() == [-3]
    assert found.false_rate == pytest.approx(1 / (62 / 24))
    assert found.precision == pytest.approx(2 / 3)


def test_no_incident_at_all_is_no_error():
    found = judge_alarms([1, 2], [], period=[(0, 10)])
    assert math.isnan(found.recall)
    assert (found.false, found.false_rate) == (2, 0.2)
    assert "no incident" in found.sentence()


def test_nothing_at_all():
    found = judge_alarms([], [])
    assert (found.alarms, found.incidents, found.observed) == (0, 0, 0)
    assert math.isnan(found.false_rate)
    assert repr(found)


@pytest.mark.parametrize("container", ["list", "numpy", "pandas", "polars", "datetimes", "table"])
def test_one_result_for_the_same_content(container):
    import datetime as dt

    import pandas as pd
    import polars as pl

    texts = ["2026-03-01T04:00", "2026-03-02T10:30"]
    days = [dt.datetime.fromisoformat(text) for text in texts]
    given_alarms = {
        "list": texts,
        "numpy": np.array(texts, dtype="datetime64[s]"),
        "pandas": pd.Series(pd.to_datetime(texts)),
        "polars": pl.Series(days),
        "datetimes": days,
        "table": {"fired_at": texts},
    }[container]
    period = ("2026-03-01", "2026-03-03")
    found = judge_alarms(given_alarms, [("2026-03-01T04:10", "2026-03-01T05:00")], period=period, early="1h")
    assert (found.found, found.false, found.false_rate) == (1, 1, 0.5)
    assert found.times_to_detect.tolist() == [-600 * 10**9]


def test_periods_are_pairs():
    with pytest.raises(ValueError, match="pairs of from and to"):
        judge_alarms([1], [2], period=[1, 2, 3])


@pytest.mark.parametrize("name", ["early", "delay"])
def test_only_merge_and_cooldown_may_be_none(name):
    with raises_exactly(TypeError, f"{name} must be a duration such as '10min' or a number; got None"):
        judge_alarms([1], [2], **{name: None})


@pytest.mark.parametrize(
    ("times", "shown", "why"),
    [
        (["2026-01-01", "9999-12-31"], "'9999-12-31', number 2 of 2", "lies outside the years 1678 to 2261"),
        (
            ["2026-01-01T00:00:00.0000000001"],
            "'2026-01-01T00:00:00.0000000001', number 1 of 1",
            "has more digits than nanoseconds",
        ),
        (
            [np.datetime64("1500-01-01")],
            "datetime.date(1500, 1, 1), number 1 of 1",
            "lies outside the years 1678 to 2261",
        ),
        ([2**64], "18446744073709551616, number 1 of 1", "is more than 64 bits can count"),
        (np.array([1, 2**63], np.uint64), "9223372036854775808, number 2 of 2", "is more than 64 bits can count"),
        ([True], "True, number 1 of 1", "is neither a date such as 2024-01-31T12:00:00 nor a number"),
        ([math.inf], "inf, number 1 of 1", "is neither a date such as 2024-01-31T12:00:00 nor a number"),
    ],
)
def test_what_is_no_time_and_why(times, shown, why):
    with raises_exactly(ValueError, f"alarms: {shown}, {why}"):
        judge_alarms(times, [])


def test_dates_among_numbers():
    message = "alarms: times must be dates from 1678 to 2261, such as datetime64 values, or numbers; got 3 at index 1"
    with raises_exactly(ValueError, message):
        judge_alarms([np.datetime64("2026-01-01"), 3], [])


def test_floats_that_are_as_large_as_integers_can_be_rounded_to():
    found = judge_alarms([0.0, 1e16], [1e16])
    assert (found.found, found.false, found.observed) == (1, 1, 1e16)


def test_centuries_apart_do_not_overflow():
    far = ["1700-01-01", "2200-01-01"]
    found = judge_alarms(far, ["2000-01-01"], early="100w", delay="100000d", merge="1d", cooldown="9999999d")
    assert (found.found, found.suppressed, found.false) == (0, 1, 1)


def test_fractions_of_a_tick_are_kept():
    found = judge_alarms([7, 20], [(10, 12)], period=(0, 100), early=3.5, cooldown=12.5)
    assert found.times_to_detect.tolist() == [-3]
    assert (found.found, found.false, found.suppressed) == (1, 1, 0)
    assert judge_alarms([(0, 50)], [(10, 12)], early=3.5).times_to_detect.tolist() == [-3.5]


def test_lengths_and_times_in_words():
    seconds, steps, hour = AlarmClock(10**9), AlarmClock(), 3600 * 10**9
    assert (seconds.length("2min", "early"), steps.length(5, "early")) == (120, 5)
    assert (seconds.duration(7800), steps.duration(3)) == ("2 h 10 min", "3 steps")
    assert [seconds.lead(time) for time in (-7800, 2100, 0)] == ["2 h 10 min early", "35 min late", "at once"]
    assert AlarmClock(1, has_dates=True).interval(4 * hour, 5 * hour) == "1970-01-01 04:00 to 05:00"
    assert steps.interval(3, 3) == "3"


def test_limits_by_hand():
    assert wilson_limits(8, 10) == pytest.approx((0.490, 0.943), abs=5e-4)
    assert poisson_limits(0, 2.0) == pytest.approx((0, 1.844), abs=5e-4)
