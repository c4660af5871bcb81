"""`evaluate` on a clock, with ignored steps and missing scores: equal to direct calls, and told what was left out."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pateval as pv
from pateval.catalog import catalogue
from support.messages import raises_exactly
from support.strategies import labels_and_scores, split_series

EXACT = dict(rel=0, abs=1e-12)
LABELS = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 0])
SCORES = np.array([0.1, 0.5, 0.4, 0.9, 0.6, 0.2, 0.3, 0.8, 0.05, 0.7])
EVERY_MINUTE = np.datetime64("2024-01-01T00:00") + np.arange(10) * np.timedelta64(1, "m")
OTHERS = [metric.id for metric in catalogue().values() if not metric.on_clock]


@st.composite
def recordings(draw):
    labels, scores = draw(labels_and_scores(max_size=25))
    size = labels.size
    series = split_series(draw, size) if draw(st.booleans()) else np.zeros(size, dtype=int)
    times = np.cumsum(draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)))
    some = st.lists(st.sampled_from([False, False, False, True]), min_size=size, max_size=size)
    ignored, absent = np.array(draw(some)), np.array(draw(some))
    ignored[np.argmax(labels)] = absent[np.argmax(labels)] = False
    return labels, np.where(absent, np.nan, scores), series, times, ignored


def outcome(call):
    try:
        return call()
    except pv.UndefinedMetricError as error:
        return str(error)


@settings(max_examples=25)
@given(recordings(), st.sampled_from(["ignore", "normal"]))
def test_pate_is_what_a_direct_call_gives(case, missing):
    labels, scores, series, times, ignored = case
    # Where more than half of the scores are missing, evaluate has no value.
    assume(missing == "normal" or 2 * np.count_nonzero(np.isnan(scores) & ~ignored) <= np.count_nonzero(~ignored))
    data = dict(series=series, times=times, time_unit="s", max_gap="6s", ignore=ignored)
    found = pv.evaluate(
        labels,
        scores,
        metrics=["pate", "pate_ap", "pate_f1", "pate(early=2,delay=2)"],
        early=["0s", "5s"],
        delay="7s",
        missing=missing,
        pooled=True,
        **data,
    )
    buffers = dict(early=["0s", "5s"], delay="7s")
    assert found["pate"] == pytest.approx(pv.pate(labels, scores, missing=missing, **buffers, **data), **EXACT)
    assert found["pate_ap"] == pytest.approx(pv.pate_ap(labels, scores, missing=missing, **buffers, **data), **EXACT)
    in_steps = pv.pate(labels, scores, missing=missing, early=2, delay=2, **data)
    assert found["pate(early=2,delay=2)"] == pytest.approx(in_steps, **EXACT)
    left_out = ignored | (np.isnan(scores) if missing == "ignore" else False)
    predicted = np.nan_to_num(scores, nan=-np.inf) >= (1 if found.given else found.threshold)
    expected = pv.pate_f1(labels, predicted, **buffers, **data | {"ignore": left_out})
    assert found["pate_f1"] == pytest.approx(expected, **EXACT)
    assert found.given or found.threshold in scores[~left_out & ~np.isnan(scores)]


@settings(max_examples=10)
@given(recordings())
def test_all_other_metrics_close_up(case):
    labels, scores, series, times, ignored = case
    found = pv.evaluate(
        labels, scores, metrics=OTHERS, series=series, times=times, time_unit="s", ignore=ignored, missing="ignore"
    )
    # A series with more than half of its scores missing has no value.
    missing = [
        np.isnan(scores)[(series == one) & ~ignored].mean()
        for one in np.unique(series)
        if (~ignored)[series == one].any()
    ]
    assume(max(missing) <= 0.5)
    kept = ~ignored & ~np.isnan(scores)
    clock = dict(times=times[kept], time_unit="s")  # which decides the unit of rates
    expected = pv.evaluate(labels[kept], scores[kept], metrics=OTHERS, series=series[kept], **clock)
    assert found.thresholds("point_f1") == expected.thresholds("point_f1")
    for metric in OTHERS:
        assert found[metric] == pytest.approx(expected[metric], nan_ok=True, **EXACT), metric
        assert found.reasons.get(metric) == expected.reasons.get(metric)


@settings(max_examples=10)
@given(recordings())
def test_missing_scores_that_count_as_normal(case):
    labels, scores, _, _, _ = case
    wanted = [metric for metric in OTHERS if metric != "ucr_score"]
    found = pv.evaluate(labels, scores, metrics=wanted, missing="normal", threshold=0.3)
    predicted = np.nan_to_num(scores, nan=-np.inf) >= 0.3
    for metric in wanted:
        entry = catalogue()[metric]
        given_values, extra = (scores, {"missing": "normal"}) if entry.takes == "scores" else (predicted, {})
        expected = outcome(lambda m=entry, g=given_values, e=extra: m.function(labels, g, **e))
        if isinstance(expected, str):
            assert found.reasons[metric] == expected
        else:
            value = getattr(expected, entry.field) if entry.field else expected
            assert found[metric] == pytest.approx(value, nan_ok=True, **EXACT), metric


def test_times_change_no_number_asked_for_in_steps():
    uneven = np.cumsum([1, 5, 1, 9, 2, 2, 2, 30, 1, 1])
    plain = pv.evaluate(LABELS, SCORES)
    on_clock = pv.evaluate(LABELS, SCORES, times=uneven, time_unit="s")
    assert dict(on_clock) == pytest.approx(dict(plain), nan_ok=True, rel=0, abs=0)
    assert on_clock.signatures == plain.signatures


def test_windows_in_time_become_steps_of_the_median_interval():
    found = pv.evaluate(
        LABELS,
        SCORES,
        metrics=["vus_pr", "vus_roc(window=5min)", "false_alarm_rate(per=1d)", "mean_detection_offset"],
        window="4min",
        early=datetime.timedelta(minutes=2),
        delay=["1min", "3min"],
        threshold=0.6,
        times=EVERY_MINUTE,
    )
    assert found["vus_pr"] == pv.vus_pr(LABELS, SCORES, window=4)
    assert found["vus_roc(window=5min)"] == pv.vus_roc(LABELS, SCORES, window=5)
    assert found["false_alarm_rate(per=1d)"] == pv.false_alarm_rate(LABELS, SCORES >= 0.6, per=1440)
    assert found["mean_detection_offset"] == pv.mean_detection_offset(LABELS, SCORES >= 0.6, early=2, delay=3)
    assert found.lengths_in_steps == {
        "vus_pr": {"window": [4]},
        "vus_roc(window=5min)": {"window": [5]},
        "false_alarm_rate(per=1d)": {"per": [1440]},
        "mean_detection_offset": {"early": [2], "delay": [3]},
    }
    signature = pv.parse_signature(found.signature("vus_pr"))
    assert (signature["window"], signature["clock"]) == ("4min", "interval:1min")
    # A window shorter than half an interval is still one step; each series has its own interval.
    times = np.concatenate([np.arange(5) * 60, np.arange(5) * 600])
    found = pv.evaluate(
        LABELS, SCORES, metrics="vus_pr", window="2min", times=times, time_unit="s", series=[0] * 5 + [1] * 5
    )
    assert found.lengths_in_steps == {"vus_pr": {"window": [2, 1]}}
    assert pv.parse_signature(found.signature("vus_pr"))["clock"] == "interval:series"


@pytest.mark.parametrize("spelling", ["pate(early=10min,delay=0min)", "pate( delay='0h', early=600s )"])
def test_one_id_for_all_spellings_of_a_duration(spelling):
    found = pv.evaluate(LABELS, SCORES, metrics=spelling, times=EVERY_MINUTE)
    assert list(found) == ["pate(early=10min,delay=0s)"]
    assert found[spelling] == pv.pate(LABELS, SCORES, early=10, delay=0)
    assert pv.parse_signature(found.signature(spelling))["clock"] == "times"


def test_what_was_left_out_is_told():
    labels, scores = np.tile(LABELS, 2).astype(float), np.tile(SCORES, 2)
    ignore = np.zeros(20, dtype=int)
    ignore[[7, 12]] = 1  # one event as a whole, and the first step of another
    labels[13] = 1
    labels[3:7], ignore[4:6] = [1, 1, 1, 1], 1  # two events that meet
    labels[12] = np.nan
    scores[[0, 1]] = np.nan
    found = pv.evaluate(
        labels,
        scores,
        metrics=["pate", "segment_f1"],
        ignore=ignore,
        missing="normal",
        times=np.arange(20),
        time_unit="min",
        max_gap="1h",
    )
    assert (found.steps.recorded, found.steps.ignored, found.steps.missing, found.steps.evaluated) == (20, 4, 2, 16)
    assert found.steps.coverage == 1 - 2 / 16
    assert found.notes == (
        "4 of 20 steps are ignored",
        "2 of 16 scores are missing (coverage 87.5 %): such steps are never predicted",
        (
            "events that only left-out steps part are one to all metrics but PATE's: those that meet between steps "
            "3 and 6"
        ),
        "max_gap=1h parts events and zones of PATE only; to the other metrics a series stays one",
    )
    fields = pv.parse_signature(found.signature("pate"))
    assert (fields["clock"], fields["ignored"], fields["missing"]) == ("steps:max_gap:1h", "mask", "normal")
    fields = pv.parse_signature(found.signature("segment_f1"))
    assert ("clock" in fields, fields["ignored"], fields["missing"]) == (False, "mask", "normal")
    assert found.to_dict()["steps"]["coverage"] == 0.875
    ignore[2:4], ignore[6:8] = 1, 1
    found = pv.evaluate(labels, scores, metrics="pate", ignore=ignore, missing="ignore")
    assert found.notes[2] == "1 of 3 events lies wholly in steps that are left out"
    found = pv.evaluate([0, 1, 0, 0], [0.1, 0.9, np.nan, 0.2], metrics="auc_roc", ignore=[1, 0, 0, 0], missing="ignore")
    assert found.notes[:2] == (
        "1 of 4 steps is ignored",
        "1 of 3 scores is missing (coverage 66.7 %): such steps are left out",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"metrics": "vus_pr(window=10min)"},
            ("window='10min' of vus_pr(window=10min) is a duration, which needs the times of the steps: pass times"),
        ),
        (
            {"metrics": "vus_pr", "window": "10min", "times": np.arange(10)},
            "a duration needs to know the unit of times: pass time_unit, such as time_unit='s'",
        ),
        (
            {"scores": np.where(SCORES > 0.8, np.nan, SCORES)},
            (
                "scores must be finite at every step; found NaN at index 3 (1 such value in 10): pass missing='ignore' "
                "to leave such steps out, or missing='normal' to count them as never predicted"
            ),
        ),
        ({"max_gap": "1h"}, "max_gap needs the times of the steps: pass times"),
        (
            {"metrics": "vus_pr(window=soon)"},
            ("the metric vus_pr(window=soon) is refused: window must be a non-negative integer; got 'soon'"),
        ),
        (
            {"metrics": "pate(early=soon)", "times": EVERY_MINUTE},
            (
                "the metric pate(early=soon) is refused: early as text must be a number with a unit, such as '10min', "
                "'2h'; got 'soon'"
            ),
        ),
    ],
)
def test_what_is_refused(options, message):
    arguments = {"scores": SCORES} | options
    with pytest.raises((ValueError, TypeError)) as caught:
        pv.evaluate(LABELS, arguments.pop("scores"), **arguments)
    assert str(caught.value) == message


def test_a_metric_that_needs_every_value_says_so():
    found = pv.evaluate(LABELS, np.where(SCORES > 0.8, np.nan, SCORES), metrics="detection_quality", missing="normal")
    assert found.reasons == {
        "detection_quality": "needs a score at every step; missing='ignore' leaves out the steps without one"
    }


OFFSET = "mean_detection_offset(early=1,delay=2,unit=s)"
DELAYS = ("mean_detection_delay", "censored_detection_delay", "mean_detection_offset")


@settings(max_examples=30)
@given(labels_and_scores(max_size=25), st.integers(1, 90))
def test_delays_in_units_on_an_even_clock_are_steps_times_the_interval(case, interval):
    labels, scores = case
    assume(labels.size > 1)  # a single step has no interval
    predictions = scores > 0.5
    times = np.arange(labels.size) * interval
    for name in DELAYS:
        function = getattr(pv, name)
        steps = outcome(lambda f=function: f(labels, predictions))
        minutes = outcome(lambda f=function: f(labels, predictions, unit="min", times=times, time_unit="s"))
        assert minutes == (steps if isinstance(steps, str) else pytest.approx(steps * interval / 60, **EXACT))


def test_delays_in_units_of_time():
    labels, predicted = [0, 1, 1, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 1, 0, 0]
    minutes = [0, 1, 4, 5, 9, 10, 12, 20]
    options = dict(times=minutes, time_unit="min")
    assert pv.mean_detection_delay(labels, predicted, unit="min", **options) == 3.0
    # The second event is missed: from its first to its last step 8 minutes, and a median interval of 2.
    assert pv.censored_detection_delay(labels, predicted, unit="s", **options) == (3 + 10) / 2 * 60
    for function in (pv.mean_detection_delay, pv.censored_detection_delay, pv.mean_detection_offset):
        in_minutes = function(labels, predicted, unit="min", **options)
        for unit, length in (("1h", 60), ("h", 60), ("10min", 10), ("90s", 1.5)):
            assert function(labels, predicted, unit=unit, **options) == pytest.approx(in_minutes / length, abs=1e-12)
            name = f"{function.__name__}(unit={unit})"
            assert pv.evaluate(labels, predictions=predicted, metrics=name, **options)[name] == pytest.approx(
                in_minutes / length, abs=1e-12
            )
    found = pv.evaluate(
        labels,
        predictions=predicted,
        metrics=[
            "mean_detection_delay(unit=s)",
            "mean_detection_delay",
            "mean_detection_offset(early=1,delay=2,unit=s)",
        ],
        **options,
    )
    assert found["mean_detection_delay(unit=s)"] == 180.0
    assert found["mean_detection_delay"] == 1.0
    assert found[OFFSET] == (180.0 - 120.0) / 2
    assert pv.parse_signature(found.signature("mean_detection_delay(unit=s)"))["clock"] == "times"
    with raises_exactly(ValueError, "unit='min' needs the times of the steps: pass times"):
        pv.mean_detection_delay(labels, predicted, unit="min")
    with raises_exactly(
        ValueError,
        "unit='min' of mean_detection_delay(unit=min) is a duration, which needs the times of the steps: pass times",
    ):
        pv.evaluate(labels, predictions=predicted, metrics="mean_detection_delay(unit=min)")
    with raises_exactly(
        ValueError,
        "the metric mean_detection_delay(unit=fortnight) is refused: unit must have a unit of ns, us, ms, s, min, "
        "h, d or w; got 'fortnight'",
    ):
        pv.evaluate(labels, predictions=predicted, metrics="mean_detection_delay(unit=fortnight)", **options)


def test_a_gap_of_nothing_parts_everything():
    """By every route, since it would make each step a stretch of its own."""
    labels, scores, times = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8], np.arange(4).astype("datetime64[s]")
    said = "max_gap must be above 0, which parts every step from the next; got '0s'"
    for function in (pv.evaluate, pv.pate):
        with raises_exactly(ValueError, said):
            function(labels, scores, times=times, max_gap="0s")


# --- rates of false alarms ---

RATES = ["false_alarm_rate", "szcore_false_alarm_rate"]


@pytest.mark.parametrize("rate", RATES)
def test_rates_are_per_day_on_a_clock_and_say_so(rate):
    named = f"{rate}(per=1d)"
    found = pv.evaluate(LABELS, SCORES, metrics=[rate, named], times=EVERY_MINUTE, threshold=0.45)
    assert found[rate] == found[named] == getattr(pv, rate)(LABELS, SCORES >= 0.45, times=EVERY_MINUTE)
    assert found.chance[rate] == found.chance[named]
    assert found.signature(rate) == found.signature(named)
    assert f"{rate}|per:1d|" in found.signature(rate)
    assert "|clock:interval:1min|definition:2|" in found.signature(rate)
    assert [found.label(rate), found.label(named)] == [f"{rate} /1d", named]
    compared = pv.compare(LABELS, SCORES, SCORES[::-1], metrics=rate, times=EVERY_MINUTE, threshold=0.45)
    assert f"{rate} /1d " in str(compared)


@pytest.mark.parametrize(("rate", "steps", "unit"), [(RATES[0], 1, "/step"), (RATES[1], 86400, "/86400 steps")])
@pytest.mark.parametrize("times", [None, np.arange(10)])  # numbers without a unit are no clock
def test_rates_without_a_clock_count_steps_and_say_so(rate, steps, unit, times):
    found = pv.evaluate(LABELS, SCORES, metrics=[rate, f"{rate}(per={steps})"], times=times, threshold=0.45)
    assert found[rate] == found[f"{rate}(per={steps})"] == getattr(pv, rate)(LABELS, SCORES >= 0.45, times=times)
    assert f"{rate}|per:{steps}|" in found.signature(rate)
    assert "clock:" not in found.signature(rate)
    assert found.label(rate) == f"{rate} {unit}"
    assert found.label(f"{rate}(per={steps})") == f"{rate}(per={steps})"


def test_the_unit_of_a_rate_on_boards(tmp_path):
    columns = {"label": LABELS, "score": SCORES}
    clocked, plain = {"time": EVERY_MINUTE, **columns}, dict(columns)
    rate = "false_alarm_rate"

    def board(*tables, **options):
        paths = []
        for number, table in enumerate(tables):
            paths.append(tmp_path / f"{number}-{len(tables)}-{'time' in table}.csv")
            full = {"series": [f"s{number}"] * LABELS.size, "detector": ["d"] * LABELS.size, **table}
            rows = zip(*full.values(), strict=True)
            paths[-1].write_text("\n".join([",".join(full), *(",".join(map(str, row)) for row in rows)]) + "\n")
        return pv.leaderboard(paths, metrics=[rate, "point_f1"], threshold=0.45, progress=False, **options)

    on_clock = board(clocked, clocked, chance=0, output=tmp_path / "board")
    expected = pv.evaluate(LABELS, SCORES, metrics=rate, times=EVERY_MINUTE, threshold=0.45, chance=0)
    assert on_clock.values[0, :, 0].tolist() == [expected[rate]] * 2
    assert on_clock.label(rate) == pv.Leaderboard.load(tmp_path / "board").label(rate) == f"{rate} /1d"
    assert " /1d " in str(on_clock)  # below the name in a narrow column
    assert f"{rate}|per:1d|" in on_clock.signatures[rate]
    assert board(plain).label(rate) == f"{rate} /step"
    mixed = board(clocked, plain)
    assert mixed.label(rate) == f"{rate} /1d or step"
    assert pv.parse_signature(mixed.signatures[rate])["per"] == ("1d", 1)
