"""Rules from training scores and from alarm rates: against direct computation and the literal definition."""

from __future__ import annotations

import datetime
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import thresholds as oracle
from pateval.cli import main
from pateval.cli import pateval as console
from pateval.evaluation.threshold_rules import check_threshold, threshold_rule
from pateval.thresholds import alarm_rate_level, alarm_rate_threshold
from pateval.time.clocks import Clock
from pateval.time.timelines import Timeline
from support.messages import raises_exactly

HOUR = 3600 * 10**9


def small_series(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = (np.arange(200) % 50) < 5
    return labels, (labels + generator.random(200)).round(2), generator.random(300).round(2)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
def test_training_rules_equal_a_direct_computation(share: float) -> None:
    labels, scores, train = small_series()
    for name, pool in (("train-quantile", train), ("train-test-quantile", np.concatenate([train, scores]))):
        level = float(np.quantile(pool, 1 - share))
        found = pv.evaluate(labels, scores, metrics=["point_f1"], threshold=f"{name}:{share}", train_scores=train)
        assert found.threshold == level
        assert found.threshold_sign == ">"
        direct = pv.evaluate(labels, predictions=scores > level, metrics=["point_f1"])
        assert found["point_f1"] == direct["point_f1"]
        assert f"|predictions:{name}:{share:g}|" in found.signature("point_f1")
        assert f"score > {level:.6g} ({name}:{share}: strictly above" in repr(found)


def test_steps_equal_to_a_training_quantile_are_not_predicted() -> None:
    found = pv.evaluate(
        [0, 1, 1], [1.0, 2.0, 3.0], metrics=["point_recall"], threshold="train-quantile:0", train_scores=[2]
    )
    assert (found.threshold, found["point_recall"]) == (2.0, 0.5)


def test_training_scores_are_asked_for_and_not_ignored() -> None:
    labels, scores, train = small_series()
    with raises_exactly(
        ValueError,
        "threshold 'train-quantile:0.01' needs the scores of the training steps: pass train_scores, or use a score "
        "file that `pateval detect` wrote",
    ):
        pv.evaluate(labels, scores, threshold="train-quantile:0.01")
    with raises_exactly(
        ValueError,
        "train_scores are for the rules 'train-quantile' and 'train-test-quantile'; the threshold is 'quantile:0.01'",
    ):
        pv.evaluate(labels, scores, threshold="quantile:0.01", train_scores=train)
    with raises_exactly(
        ValueError,
        "train_scores are for the rules 'train-quantile' and 'train-test-quantile'; the threshold is 'oracle'",
    ):
        pv.evaluate(labels, scores, train_scores=train)
    with raises_exactly(ValueError, "the share of threshold 'train-quantile:2' must be a number in [0, 1]; got 2.0"):
        pv.evaluate(labels, scores, threshold="train-quantile:2", train_scores=train)
    with raises_exactly(
        ValueError, "the figure of threshold 'train-quantile:x' must be a number, as in train-quantile:0.01; got 'x'"
    ):
        check_threshold("train-quantile:x")


@st.composite
def alarm_cases(draw: st.DrawFn) -> tuple[list[float], list[int], list[int], float, int]:
    size = draw(st.integers(1, 14))
    scores = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.5]), min_size=size, max_size=size))
    starts = sorted({0, *draw(st.lists(st.integers(0, size - 1), max_size=2))})
    gaps = draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    alarms = draw(st.sampled_from([0, 0.5, 1, 2, 3, 7]))
    return scores, starts, np.cumsum(gaps).tolist(), alarms, draw(st.integers(1, 20))


@given(case=alarm_cases())
def test_alarm_rates_agree_with_the_literal_definition(
    case: tuple[list[float], list[int], list[int], float, int],
) -> None:
    scores, starts, times, alarms, per = case
    series = np.searchsorted(starts, np.arange(len(scores)), side="right")
    in_steps = alarm_rate_threshold(scores, alarms=alarms, per=per, series=series)
    assert in_steps == oracle.alarm_rate(scores, alarms, per, starts)
    in_time = alarm_rate_threshold(scores, alarms=alarms, per=f"{per}h", series=series, times=times, time_unit="h")
    assert in_time == oracle.alarm_rate(scores, alarms, per, starts, times)
    # Going down from the top, the number of alarms is allowed at the threshold.
    rule = threshold_rule(f"alarms:{alarms}/{per}")
    timeline = Timeline(len(scores), np.array(starts), np.array(starts))
    assert rule.choose(np.zeros(len(scores), dtype=bool), np.array(scores), timeline) == in_steps


def test_the_alarm_oracle_by_hand() -> None:
    scores = [1, 9, 1, 1, 7, 1, 8, 1, 1, 2]
    assert oracle.alarm_rate(scores, 2, 10) == 8
    assert oracle.alarm_rate(scores, 4, 10) == 2  # 1 would flag every step
    assert oracle.alarm_rate(scores, 3, 10) == 7  # 2 would be a fourth
    assert oracle.alarm_rate(scores, 0, 10) > 9
    assert oracle.alarm_rate([5, 1, 5], 1, 3) > 5  # two steps share the highest score


def test_an_even_clock_counts_like_steps() -> None:
    scores = np.random.default_rng(3).random(1000)
    tenths = np.arange(1000) / 10
    days = np.datetime64("2024-03-01") + np.arange(1000) * np.timedelta64(1, "h")
    for alarms in (1, 2, 5):
        expected = alarm_rate_threshold(scores, alarms=alarms, per=100)
        assert alarm_rate_threshold(scores, alarms=alarms, per="10s", times=tenths, time_unit="s") == expected
        period = datetime.timedelta(hours=100)
        assert alarm_rate_threshold(scores, alarms=alarms, per=period, times=days) == expected


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [([0, 1, 1, 0, 0, 1], 1.0), ([0, 1, 0, 1, 0, 1], np.nextafter(1, 2)), ([4, 4, 4], np.nextafter(4, 5))],
)
def test_not_every_step_is_flagged(scores: list[int], threshold: float) -> None:
    assert alarm_rate_threshold(scores, alarms=2, per=len(scores)) == threshold
    found = pv.evaluate(
        [0] + [1] * (len(scores) - 1), scores, metrics="point_recall", threshold=f"alarms:2/{len(scores)}"
    )
    if len(set(scores)) == 1:  # scores of 0 and 1 are predictions, to which no rule is applied
        assert found["point_recall"] == 0


def test_missing_scores_are_no_alarms() -> None:
    scores = np.array([-np.inf, 3.0, -np.inf, 2.0, 2.0, -np.inf])
    assert alarm_rate_level(scores, 2, 6) == 2.0
    assert alarm_rate_level(scores, 1, 6) == 3.0
    with raises_exactly(pv.UndefinedMetricError, "the threshold is undefined: no score is present"):
        alarm_rate_level(np.full(3, -np.inf), 1, 3)


def test_an_operating_point_in_evaluate() -> None:
    labels, scores, _ = small_series()
    found = pv.evaluate(labels, scores, metrics=["point_f1", "false_alarm_rate"], threshold="alarms:4/200")
    assert found.threshold == alarm_rate_threshold(scores, alarms=4, per=200)
    assert found.threshold_rule == "alarms:4/200: at most 4 alarms in 200 steps"
    assert "|predictions:alarms:4/200|" in found.signature("point_f1")
    assert pv.parse_signature(found.signature("point_f1"))["predictions"] == "alarms:4/200"
    with raises_exactly(
        ValueError, "threshold='alarms:2/1d' is a duration, which needs the times of the steps: pass times"
    ):
        pv.evaluate(labels, scores, threshold="alarms:2/1d")
    with raises_exactly(ValueError, "threshold 'alarms:1/2' needs one score per step; these are steps by channels"):
        pv.evaluate([[0, 1], [1, 0]], [[0.1, 0.2], [0.3, 0.4]], metrics="affected_channels_f1", threshold="alarms:1/2")


NO_RATE = (
    "an alarm rate must be a number of alarms in a duration or a number of steps, such as alarms:2/1d or alarms:2/1000"
)


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        ("alarms", f"{NO_RATE}; got 'alarms'"),
        ("alarms:2", f"{NO_RATE}; got 'alarms:2'"),
        ("alarms:x/1d", f"{NO_RATE}; got 'alarms:x/1d'"),
        ("alarms:-1/1d", f"{NO_RATE}; got 'alarms:-1/1d'"),
        ("alarms:2/0", "the unit of threshold 'alarms:2/0' must be greater than 0; got 0"),
        (
            "alarms:2/day",
            (
                "the unit of threshold 'alarms:2/day' as text must be a number with a unit, such as '10min', '2h'; got "
                "'day'"
            ),
        ),
        (
            "alarms:2/1x",
            "the unit of threshold 'alarms:2/1x' must have a unit of ns, us, ms, s, min, h, d or w; got 'x'",
        ),
    ],
)
def test_alarm_rates_that_are_none(threshold: str, said: str) -> None:
    with raises_exactly(ValueError, said):
        check_threshold(threshold)


def test_bad_alarm_options() -> None:
    with raises_exactly(ValueError, "alarms must not be negative; got -1"):
        alarm_rate_threshold([1, 2], alarms=-1, per=1)
    with raises_exactly(TypeError, "per must be a number of steps or a duration such as '1d'; got 1.5"):
        alarm_rate_threshold([1, 2], alarms=1, per=1.5)
    with raises_exactly(
        ValueError, "a duration needs to know the unit of times: pass time_unit, such as time_unit='s'"
    ):
        alarm_rate_threshold([1, 2], alarms=1, per="1d", times=[1, 2])


def test_an_operating_point_on_a_clock_in_every_command(tmp_path: Path) -> None:
    labels, scores, _ = small_series()
    gaps = np.random.default_rng(1).integers(1, 90, labels.size)  # an uneven clock, in minutes
    times = np.datetime64("2024-05-01T00:00:00") + np.cumsum(gaps) * np.timedelta64(1, "m")
    level = alarm_rate_threshold(scores, alarms=2, per="1d", times=times)
    assert level != alarm_rate_threshold(scores, alarms=2, per=48)
    lines = zip(times, labels.astype(int), scores, strict=True)
    path = tmp_path / "pump.csv"
    path.write_text("\n".join(["timestamp,label,score", *(f"{when},{label},{score}" for when, label, score in lines)]))
    expected = pv.point(labels, scores >= level).f1
    found = pv.evaluate(labels, scores, metrics="point_f1", threshold="alarms:2/1d", times=times)
    assert (found.threshold, found["point_f1"]) == (level, expected)
    board = pv.leaderboard(path, metrics="point_f1", threshold="alarms:2/1d", chance=0)
    assert board.values.item() == expected
    for command, said in [
        (["score", path, "--metrics", "point_f1", "--format", "json"], f'"value": {expected}'),
        (["explain", path], f"score >= {level:.6g} (alarms:2/1d: at most 2 alarms in 1d)"),
        (["leaderboard", path, "--metrics", "point_f1", "--chance", "0", "--format", "csv"], f",{expected},"),
    ]:
        with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()), pytest.raises(SystemExit):
            main([*map(str, command), "--threshold", "alarms:2/1d"])
        assert said in " ".join(output.getvalue().split())


def test_rules_are_tried_out_and_described() -> None:
    for threshold, described in {
        "alarms:2/1d": "alarms:2/1d",
        "alarms:2.50/1000": "alarms:2.5/1000",
        "train-quantile": "train-quantile:0.01",
        "train-test-quantile:0.0200": "train-test-quantile:0.02",
    }.items():
        assert check_threshold(threshold) == threshold
        assert threshold_rule(threshold).signature == described
    clock = Clock(np.arange(48) * HOUR, 1)
    start, scores = np.zeros(1, dtype=int), np.arange(48.0) % 7
    level = threshold_rule("alarms:2/1d").choose(np.zeros(48, dtype=bool), scores, Timeline(48, start, start, clock))
    assert level == alarm_rate_threshold(scores, alarms=4, per=48)


def test_a_detector_may_have_a_threshold_of_its_own(tmp_path):
    generator = np.random.default_rng(0)
    labels, series = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 6), np.repeat(["a", "b", "c"], 80)
    scores = {"model": labels + generator.random(240), "rule": generator.random(240)}
    columns = {"series": series, "label": labels, **scores}
    path = tmp_path / "scores.csv"
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    expected = {
        name: pv.evaluate(labels, values, metrics="point_f1", threshold=threshold, series=series)
        for (name, values), threshold in zip(scores.items(), ("quantile:0.1", 0.9), strict=True)
    }
    table = pv.evaluate(
        labels, scores, metrics="point_f1", threshold={"rule": 0.9, None: "quantile:0.1"}, series=series
    )
    board = pv.leaderboard(path, metrics="point_f1", threshold={"rule": 0.9, None: "quantile:0.1"})
    means = {row["detector"]: (row["mean"], row["chance"]) for row in board.summary_rows}
    signatures = {row["detector"]: row["signature"] for row in board.scores.to_pylist()}
    options = ["--metrics", "point_f1", "--threshold", "quantile:0.1", "--threshold", "rule=0.9", "--format", "json"]
    done = CliRunner().invoke(console, ["score", str(path), *options])
    printed = {row["detector"]: row["value"] for row in json.loads(done.stdout)}
    compared = json.loads(CliRunner().invoke(console, ["compare", str(path), *options]).stdout)["metrics"][0]
    for name, alone in expected.items():
        assert table[name]["point_f1"] == alone["point_f1"]
        assert means[name] == pytest.approx((alone["point_f1"], alone.chance["point_f1"]), abs=1e-12)
        assert printed[name] == alone["point_f1"]
    assert (compared["value_a"], compared["value_b"]) == (printed["model"], printed["rule"])
    assert "|predictions:quantile:0.1|" in signatures["model"]
    assert "|predictions:0.9|" in signatures["rule"]
    with raises_exactly(ValueError, "threshold names 'nobody'; the detectors are 'model', 'rule'"):
        pv.evaluate(labels, scores, threshold={"nobody": 1})
