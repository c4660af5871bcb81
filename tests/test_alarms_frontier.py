"""From scores to a threshold: every row of the frontier is what the definition gives there."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pateval as pv
from oracles import alarms as oracle
from support.command_line import console
from support.messages import raises_exactly


@st.composite
def recordings(draw):
    """Series with labels, scores, times, ignored steps, holes."""
    found = []
    on_steps = draw(st.booleans())
    levels = draw(st.sampled_from([2, 3, 6, 50]))
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 25))
        steps = draw(st.lists(st.sampled_from([1, 1, 2, 5, 11]), min_size=size, max_size=size))
        found.append(
            {
                "scores": draw(st.lists(st.integers(0, levels - 1), min_size=size, max_size=size)),
                "labels": draw(st.lists(st.sampled_from([0, 0, 0, 1]), min_size=size, max_size=size)),
                "ignored": draw(st.lists(st.sampled_from([False, False, False, True]), min_size=size, max_size=size)),
                "times": None if on_steps else np.cumsum(steps).tolist(),
            }
        )
    if all(all(one["ignored"]) for one in found):
        found[0]["ignored"][0] = False
    return found


lengths = st.integers(0, 6)
policies = st.fixed_dictionaries(
    {"early": lengths, "delay": lengths, "merge": st.none() | lengths, "cooldown": st.none() | st.integers(0, 9)}
)


def flat(found, name):
    return [value for one in found for value in one[name]]


def options(found):
    names = [place for place, one in enumerate(found) for _ in one["scores"]]
    clock = {} if found[0]["times"] is None else {"times": flat(found, "times"), "time_unit": "h"}
    return {"series": names, "ignore": flat(found, "ignored"), **clock}


@settings(max_examples=300)
@given(
    recordings(),
    policies,
    st.sampled_from([None, 4]),
    st.booleans(),
    st.sampled_from(["0/10", "1/10", "0.3/10", "3/20"]),
)
def test_every_row_is_what_the_definition_gives(found, policy, max_gap, with_incidents, budget):
    on_steps = found[0]["times"] is None
    max_gap = None if on_steps else max_gap
    gap = {} if max_gap is None else {"max_gap": f"{max_gap}h"}
    counted = [one for one in found if not all(one["ignored"])]
    given_incidents = [[(2, 3), (4, 4), (7, 30)] for _ in found] if with_incidents else [None for _ in found]
    frontier = pv.alarm_frontier(
        None if with_incidents else flat(found, "labels"),
        flat(found, "scores"),
        incidents={str(place): each for place, each in enumerate(given_incidents)} if with_incidents else None,
        budgets=[budget],
        **policy,
        **gap,
        **options(found),
    )

    def judged_at(threshold):
        return oracle.add(
            [
                oracle.judge_scores(**one, threshold=threshold, incidents=incidents, max_gap=max_gap, **policy)
                for one, incidents in zip(found, given_incidents, strict=True)
                if one in counted
            ]
        )

    levels = oracle.candidates([zip(one["scores"], one["ignored"], strict=True) for one in found])
    number, per = budget.split("/")
    steps = sum(not ignored for ignored in flat(found, "ignored"))
    chosen = oracle.budget_threshold(levels, judged_at, Fraction(number) * steps / int(per))
    assert frontier.thresholds == {budget: chosen}
    wanted = sorted({*oracle.frontier_thresholds(levels, judged_at), *([] if chosen is None else [chosen])})
    assert [row.threshold for row in frontier.rows] == wanted[::-1]
    for row in frontier.rows:
        expected = judged_at(row.threshold)
        per_day = 1 if on_steps else 24
        assert (row.found, row.incidents, row.alarms, row.false) == tuple(
            expected[name] for name in ("found", "incidents", "alarms", "false")
        )
        ttd = median(expected["ttd"]) if expected["ttd"] else math.nan
        assert row.median_time_to_detect == pytest.approx(ttd, nan_ok=True)
        assert row.time_in_alarm == pytest.approx(float(expected["in_alarm"]))
        length = float(expected["observed"]) / per_day
        assert row.false_rate == pytest.approx(expected["false"] / length if length else math.nan, nan_ok=True)
        assert row.false_rate_limits == pytest.approx(oracle.garwood(expected["false"], length), abs=1e-9, nan_ok=True)
        judged = frontier.judge(row.threshold)
        assert (judged.found, judged.first, judged.repeat, judged.false, judged.set_aside) == tuple(
            expected[name] for name in ("found", "first", "repeat", "false", "set_aside")
        )
        assert judged.times_to_detect.tolist() == expected["ttd"]
        assert float(judged.time_in_alarm) == pytest.approx(float(expected["in_alarm"]))


@given(recordings(), st.none() | lengths)
def test_shifted_and_scaled_scores_give_the_same_rows(found, merge):
    labels, scores = flat(found, "labels"), np.array(flat(found, "scores"), dtype=float)
    one, other = (
        pv.alarm_frontier(labels, values, merge=merge, early=1, budgets=["1/10"], **options(found))
        for values in (scores, scores * 8 - 3)
    )
    assert [row.threshold * 8 - 3 for row in one.rows] == [row.threshold for row in other.rows]
    assert [(row.found, row.false, row.alarms, row.time_in_alarm) for row in one.rows] == [
        (row.found, row.false, row.alarms, row.time_in_alarm) for row in other.rows
    ]


def test_zeros_and_ones_have_one_candidate_and_a_constant_none():
    labels = [0, 1, 0, 0, 0, 0]
    binary = pv.alarm_frontier(labels, [0, 1, 0, 1, 0, 0], budgets=["1/6", "0/6"])
    assert [row.threshold for row in binary.rows] == [1.0]
    assert binary.thresholds == {"1/6": 1.0, "0/6": None}
    constant = pv.alarm_frontier(labels, [3] * 6, budgets=["6/6"])
    assert constant.rows == ()
    assert constant.thresholds == {"6/6": None}
    assert "no threshold" in repr(constant)


def test_the_figure_has_a_point_per_threshold_and_marks_the_budgets():
    found = pv.alarm_frontier([0, 0, 1, 1, 0, 0, 1, 0], [1, 5, 2, 8, 1, 6, 4, 0], budgets="1/8")
    ax = pv.plots.frontier(found)
    points = ax.collections[0].get_offsets()
    assert points[:, 1].tolist() == [row.recall for row in found.rows]
    assert points[:, 0].tolist() == pytest.approx([1000 * row.false / 8 for row in found.rows])
    assert [text.get_text() for text in ax.texts] == ["1/8: 6"]


def test_the_figure_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = zip([0, 0, 1, 1, 0, 0, 1, 0], [1, 5, 2, 8, 1, 6, 4, 0], strict=True)
    (tmp_path / "mine.csv").write_text("label,score\n" + "".join(f"{label},{score}\n" for label, score in rows))
    console("plot", "frontier", "mine.csv", "--threshold", "false-alarms:1/8", "-o", "figure.svg")
    assert "1/8: 6" in (tmp_path / "figure.svg").read_text()


def test_incidents_are_differences_in_time_where_times_are():
    hours = np.arange(4, dtype="timedelta64[h]")
    by_labels = pv.alarm_frontier([0, 1, 1, 0], [1, 2, 5, 3], times=hours, early="1h", budgets="1/1d")
    by_incidents = pv.alarm_frontier(
        None, [1, 2, 5, 3], incidents=[(hours[1], hours[2])], times=hours, early="1h", budgets="1/1d"
    )
    assert by_incidents.rows == by_labels.rows
    assert by_incidents.judge(5).found == 1


@pytest.mark.parametrize(
    ("incidents", "kind"),
    [([1, 2], "numbers"), (["2026-01-01"], "dates without a time zone ('2026-01-01')")],
)
def test_differences_in_time_stand_beside_nothing_else(incidents, kind):
    message = f"the scores has differences in time, and incidents has {kind}; write all times alike"
    with raises_exactly(ValueError, message):
        pv.alarm_frontier(None, [1, 2], incidents=incidents, times=np.arange(2, dtype="timedelta64[h]"))


def test_missing_scores_that_count_as_normal_are_never_flagged():
    found = pv.alarm_frontier([0, 1, 0, 0], [2.0, 2.0, math.nan, 2.0], missing="normal", budgets="1/4")
    assert found.thresholds == {"1/4": 2.0}
    assert found.rows[0].false == 1


@given(recordings(), st.sampled_from(["0/10", "1/10", "3/20", "1/5h", "2/1d"]))
def test_the_threshold_rule_is_the_budget_of_each_series(found, budget):
    one = {name: value for name, value in found[0].items() if name != "ignored"}
    clock = {} if one["times"] is None else {"times": one["times"], "time_unit": "h"}
    if not clock and budget[-1].isalpha():
        return
    chosen = pv.alarm_frontier(one["labels"], one["scores"], budgets=budget, **clock).thresholds[budget]
    judged = pv.evaluate(
        one["labels"], one["scores"], metrics=["point_f1"], threshold=f"false-alarms:{budget}", **clock
    )
    binary = set(one["scores"]) == {0, 1}  # those are predictions, to which no rule is applied
    if any(one["labels"]) and not binary:
        flagged = np.zeros(len(one["scores"]), dtype=bool) if chosen is None else np.array(one["scores"]) >= chosen
        assert judged["point_f1"] == pytest.approx(pv.point(one["labels"], flagged).f1, nan_ok=True)
        assert "point_f1 (oracle)" in str(judged)
        assert f"false-alarms:{budget}" in judged.signature("point_f1")


@pytest.fixture
def two_series(tmp_path, monkeypatch):
    """Two files of a detector, one of 0/1 and a constant, on a clock."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    times = np.datetime64("2026-01-01T00:00") + np.arange(600) * np.timedelta64(10, "m")
    labels = np.tile(np.repeat([0, 1, 0], [40, 8, 52]), 6)
    for name in ("one.csv", "two.csv"):
        scores = np.round(rng.normal(size=600) + 2 * labels, 4)
        rows = zip(times, labels, scores, (scores > 1.5).astype(int), strict=True)
        lines = ["time,label,mine_score,binary_score,constant_score", *(",".join(map(str, (*row, 7))) for row in rows)]
        (tmp_path / name).write_text("\n".join([*lines, ""]))
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "score one.csv two.csv --score mine_score --metrics point_f1",
        "compare one.csv --score mine_score,binary_score --metrics point_f1 --draws 0",
        "explain one.csv --score mine_score --early 0 --delay 0",
        "leaderboard one.csv two.csv --score mine_score --metrics point_f1 --chance 0 -o board",
        "audit one.csv --score mine_score --metrics point_f1",
        "gate one.csv one.csv --score mine_score --metric point_f1",
        "plot categories one.csv --score mine_score --early 2 --delay 2 -o categories.svg",
        "plot frontier one.csv --score mine_score -o frontier.svg",
    ],
)
@pytest.mark.usefixtures("two_series")
def test_every_command_takes_a_budget_as_its_threshold(command):
    console(*command.split(), "--threshold", "false-alarms:1/1d")


@pytest.mark.parametrize("rule", ["false-alarms:1000/1d", "alarms:1000/1d"])
@pytest.mark.parametrize("detector", ["mine_score", "constant_score"])
def test_neither_rule_ever_flags_every_step(two_series, rule, detector):
    data = np.genfromtxt(two_series / "one.csv", delimiter=",", names=True, dtype=None, encoding=None)
    times = data["time"].astype("datetime64[m]")
    judged = pv.evaluate(data["label"], data[detector], metrics=["point_recall"], threshold=rule, times=times, chance=0)
    flagged = data[detector] >= judged.threshold
    assert not flagged.all()
    assert flagged.any() == (detector == "mine_score")
