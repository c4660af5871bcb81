"""Alarms and incidents from files, and the command."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest

import pateval as pv
from oracles import alarms as oracle
from support.command_line import console, console_status
from support.messages import raises_exactly
from support.plant import write_plant

MONTH = ("--from", "01.03.2026", "--to", "29.03.2026")


@pytest.fixture
def plant(tmp_path, monkeypatch):
    write_plant(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestThePlant:
    def test_table_threshold_and_page_in_three_commands(self, plant):
        policy = ("--incidents", "stoerungen.csv", "--ignore", "wartung.csv", "--early", "30min", "--merge", "15min")
        printed = console("alarms", "alarme.csv", *policy, *MONTH, "--within", "10min")
        assert all(len(line) <= 80 for line in printed.out.splitlines())
        assert "9 of 9" in printed.out
        assert "left out" in printed.out
        assert "2026-03-26 08:00" in printed.out
        assert "per day" in printed.out.replace("\n", " ")
        budget = console("alarms", "werte.csv", *policy, "--budget", "1/1d,5/1d")
        assert all(len(line) <= 80 for line in budget.out.splitlines())
        assert "(oracle" in budget.out
        assert "--max-gap" in budget.err  # the hole of two days
        console("alarms", "werte.csv", *policy, "--budget", "1/1d", "--max-gap", "1h", "--report", "page.html")
        assert "<html" in (plant / "page.html").read_text()

    @pytest.mark.usefixtures("plant")
    def test_the_budget_is_what_the_alarm_file_at_that_threshold_gives(self):
        options = ("--incidents", "stoerungen.csv", "--early", "30min", "--max-gap", "1h")
        found = json.loads(console("alarms", "werte.csv", *options, "--budget", "1/1d", "--format", "json").out)
        (frontier,) = found["frontiers"]
        row = next(row for row in frontier["rows"] if row["budgets"] == "1/1d")
        (judged,) = found["detectors"]
        assert (judged["found"], judged["false"]) == (row["found"], row["false"])
        assert row["false_rate"] <= 1 < row["false_rate_high"]

    @pytest.mark.usefixtures("plant")
    def test_what_is_asked_of_scores_is_what_is_shown(self):
        options = ("alarms", "werte.csv", "--incidents", "stoerungen.csv", "--early", "30min", "--max-gap", "1h")
        at_a_threshold = console(*options, "--threshold", "3.5", "--cooldown", "1h")
        assert "werte >= 3.5 found 10 of 10 incidents" in " ".join(at_a_threshold.out.split())
        assert "threshold" not in at_a_threshold.out
        assert console(*options, "--threshold", "3.5", "--format", "csv").out.startswith("detector,incidents,found")
        frontier = console(*options, "--score", "Score")
        assert frontier.out.splitlines()[1].startswith("threshold ")
        assert "werte >=" not in frontier.out
        rows = console(*options, "--budget", "1/1d", "--format", "csv").out.splitlines()
        assert rows[0].startswith("detector,threshold,found,incidents,recall,recall_low,recall_high")
        assert len(rows) > 5

    def test_every_format_and_a_file(self, plant):
        options = ("alarms", "alarme.csv", "--incidents", "stoerungen.csv", *MONTH)
        data = json.loads(console(*options, "--format", "json").out)
        assert data["detectors"][0]["incidents"] == 10
        assert data["detectors"][0]["incident_list"][0]["start"] == "2026-03-02T04:00"
        assert console(*options, "--format", "csv").out.startswith("detector,incidents,found")
        assert console(*options, "--format", "markdown").out.startswith("| detector |")
        assert "\\toprule" in console(*options, "--format", "latex").out
        console(*options, "-o", "result.json")
        assert json.loads((plant / "result.json").read_text()) == data

    @pytest.mark.usefixtures("plant")
    def test_two_files_are_tested_against_each_other(self):
        table = pv.judge_alarm_files(["alarme.csv", "strenger.csv"], "stoerungen.csv", early="30min")
        one, other = table["alarme"], table["strenger"]
        difference = table.difference
        assert difference.found_by_first_only == len(other.missed) - len(one.missed) > 0
        assert difference.found_p_value == pytest.approx(2 * 0.5**difference.found_by_first_only)
        assert difference.false_p_value == pytest.approx(binomtest(one.false, one.false + other.false).pvalue)
        assert difference.found_by_both == other.found
        assert 0 < difference.time_p_value <= 1
        shown = console("alarms", "alarme.csv", "strenger.csv", "--incidents", "stoerungen.csv", "--early", "30min").out
        assert "found by this one only" in shown
        assert "missed: 2026-03-" in shown

    @pytest.mark.usefixtures("plant")
    def test_by_kind(self):
        table = pv.judge_alarm_files("alarme.csv", "stoerungen.csv", by="kind", early="30min")
        frame = table.to_frame("pandas")
        assert frame["kind"].tolist()[1:] == ["Lager", "Pumpe"]
        assert frame["incidents"].tolist() == [10, 5, 5]
        assert "Pumpe" in console("alarms", "alarme.csv", "--incidents", "stoerungen.csv", "--by", "kind").out


def test_series_and_detectors_by_column():
    alarms = {
        "time": [1, 5, 30, 2, 40],
        "series": ["a", "a", "b", "a", "b"],
        "detector": ["x", "x", "x", "y", "y"],
    }
    incidents = {"start": [4, 29], "stop": [6, 31], "series": ["a", "b"]}
    period = {"from": [0, 0, 0], "to": [10, 50, 20], "series": ["a", "b", "quiet"]}
    table = pv.judge_alarm_files(alarms, incidents, period=period, by="series")
    assert [(one.name, one.found, one.false, one.observed) for one in table.judgements] == [
        ("x", 2, 1, 80),
        ("y", 0, 2, 80),
    ]
    assert table["x"].of_series("b").false == 0
    assert table["y"].of_series("quiet").alarms == 0
    assert table.records()[1][1][1] == "a"
    whole = oracle.add(
        [
            oracle.judge([(1, 1), (5, 5)], [(4, 6)], periods=[(0, 10)]),
            oracle.judge([(30, 30)], [(29, 31)], periods=[(0, 50)]),
            oracle.judge([], [], periods=[(0, 20)]),
        ]
    )
    assert table["x"].recall_limits == pytest.approx(oracle.limits(whole)["recall_95"], abs=1e-9)


def test_a_column_marks_rows_to_leave_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages.csv").write_text("time,muted\n1,0\n5,1\n30,0\n")
    (tmp_path / "incidents.csv").write_text("start,stop,drill\n4,6,0\n29,31,0\n")
    options = ("alarms", "pages.csv", "--incidents", "incidents.csv", "--from", "0", "--to", "50", "--format", "json")
    printed = console(*options, "--ignore", "muted")
    (judged,) = json.loads(printed.out)["detectors"]
    assert (judged["found"], judged["incidents"], judged["false"]) == (1, 2, 1)
    assert printed.err == "pages.csv: left out 1 of 3 rows, as column 'muted' says\n"
    status, printed = console_status(*options, "--ignore", "wartung.csv")
    assert status == 2
    assert printed.err == (
        "pateval: 'wartung.csv' is to be ignored, and is neither a file of periods nor a column of 'pages.csv', "
        "'incidents.csv'; name one of these\n"
    )
    status, printed = console_status(*options, "--ignore", "time")
    assert status == 2
    assert printed.err == (
        "pateval: pages.csv: column 'time': the rows to ignore must be 0 or 1 at every step; found 5 in row 2 "
        "(2 such values in 3)\n"
    )


@pytest.mark.parametrize("muted", [[1, 1], [1, 0]])
def test_a_detector_of_which_all_rows_are_left_out_never_alarmed(muted):
    alarms = {"time": [3, 4], "detector": ["x", "y"], "muted": muted}
    table = pv.judge_alarm_files(alarms, [5], period=(0, 9), ignore="muted")
    assert [(one.name, one.alarms, one.found, one.incidents) for one in table.judgements] == [
        ("x", 0, 0, 1),
        ("y", 2 - sum(muted), 0, 1),
    ]


def test_without_a_period_all_detectors_of_a_series_say_what_is_observed():
    table = pv.judge_alarm_files([{"time": [0]}, {"time": [100]}], {"time": [50]})
    assert [one.observed for one in table.judgements] == [100, 100]
    assert "no period is given" in " ".join(repr(table).split())


def test_one_endless_alarm_is_called_by_its_name():
    found = pv.judge_alarms([(0, 90)], [(10, 12), (40, 41)], period=[(0, 100)])
    assert found.share_in_alarm == 0.9
    assert found.sentence().startswith("alarms is in alarm 90% of the time")


def test_a_file_without_alarms_has_none(tmp_path):
    (tmp_path / "none.csv").write_text("time\n")
    (tmp_path / "incidents.csv").write_text("start,stop\n2026-03-01T04:00,2026-03-01T05:00\n")
    table = pv.judge_alarm_files(tmp_path / "none.csv", tmp_path / "incidents.csv")
    assert (table["none"].alarms, table["none"].incidents) == (0, 1)


def test_a_file_without_incidents_leaves_recall_undefined(tmp_path):
    (tmp_path / "pages.csv").write_text("time\n2026-03-01T04:00\n2026-03-02T04:00\n")
    (tmp_path / "incidents.csv").write_text("start,stop\n")
    judged = pv.judge_alarm_files(tmp_path / "pages.csv", tmp_path / "incidents.csv")["pages"]
    assert math.isnan(judged.recall)
    assert (judged.false, judged.false_rate) == (2, 2.0)


BAD = {
    "reversed": (
        "time\n1\n",
        "start,stop\n1,2\n5,3\n",
        (),
        "i.csv: the interval in row 2 ends before it starts; exchange start and stop",
    ),
    "unreadable": (
        "time\n2026-01-01\nsoon\n",
        "start,stop\n2026-01-01,2026-01-02\n",
        (),
        "a.csv: column 'time': 'soon', number 2 of 2, is neither a date such as 2024-01-31T12:00:00 nor a number",
    ),
    "empty cell": (
        "start,stop\n1,2\n3,\n",
        "start,stop\n5,6\n",
        (),
        "a.csv: column 'stop' is empty in row 2; fill it in (an instant stops as it starts)",
    ),
    "zone": (
        "time\n2026-01-01T00:00\n",
        "start,stop\n2026-01-01T00:00+01:00,2026-01-01T01:00+01:00\n",
        (),
        (
            "i.csv has dates with a time zone ('2025-12-31T23:00:00 UTC'), and a.csv has dates without a time zone "
            "('2026-01-01T00:00:00'), so that nobody knows how they lie to each other; say where the latter were "
            "recorded with --time-zone ZONE (time_zone=...), or strip the others of it"
        ),
    ),
    "numbers beside dates": (
        "time\n3\n",
        "start,stop\n2026-01-01,2026-01-02\n",
        (),
        "a.csv has numbers, and i.csv has dates without a time zone ('2026-01-01'); write all times alike",
    ),
    "no times": (
        "name\nx\n",
        "start,stop\n5,6\n",
        (),
        "a.csv: no column looks like the times of alarms; call one 'time', or two 'start' and 'stop', among 'name'",
    ),
    "series in one file": (
        "time,series\n3,a\n",
        "start,stop\n5,6\n",
        (),
        "a.csv names series, and i.csv does not; add a column 'series' there, or take it out",
    ),
    "a series that is not in the period": (
        "time,series\n3,a\n4,b\n",
        "start,stop,series\n5,6,a\n",
        ("--period", "p.csv"),
        "p.csv: series 'b' is not there; say when it was observed",
    ),
    "nothing observed": (
        "time\n3\n",
        "start,stop\n5,6\n",
        ("--from", "7", "--to", "7"),
        "nothing is observed: the period is empty, or all of it is ignored",
    ),
    "reversed period": (
        "time\n3\n",
        "start,stop\n5,6\n",
        ("--from", "9", "--to", "2"),
        "period ends before it starts; exchange start and stop",
    ),
    "no such kind": (
        "time\n3\n",
        "start,stop\n5,6\n",
        ("--kind", "cause"),
        "i.csv: there is no kind column 'cause'; its columns are 'start', 'stop'",
    ),
    "duration without unit": (
        "time\n3\n",
        "start,stop\n5,6\n",
        ("--early", "10min"),
        (
            "early='10min' is a duration, and the times are numbers without a unit: say what one unit is with "
            "--time-unit (time_unit=...)"
        ),
    ),
    "number on dates": (
        "time\n2026-01-01\n",
        "start\n2026-01-02\n",
        ("--early", "10"),
        "early needs a unit where times are dates, as in '10min'; got 10",
    ),
    "series without names": (
        "time\n3\n",
        "start,stop,kind\n5,6,x\n",
        ("--by", "series"),
        (
            "by='series' needs a column that names the series, and there is none; name it with --series (series=...), "
            "or leave out --by (by=...)"
        ),
    ),
    "kinds without names": (
        "time,series\n3,x\n",
        "start,stop,series\n5,6,x\n",
        ("--by", "kind"),
        (
            "by='kind' needs a column that names the kind, and there is none; name it with --kind (kind=...), or "
            "leave out --by (by=...)"
        ),
    ),
    "scores of series without names": (
        "time,score\n3,.1\n4,.2\n",
        "start,stop\n3,4\n",
        ("--budget", "1/10", "--score", "score", "--time", "time", "--by", "series"),
        (
            "by='series' needs a column that names the series, and there is none; name it with --series (series=...), "
            "or leave out --by (by=...)"
        ),
    ),
    "half a period": ("time\n3\n", "start,stop\n5,6\n", ("--from", "7"), "--from and --to go together"),
    "scores": (
        "time,score\n3,0.1\n",
        "start,stop\n5,6\n",
        (),
        "a.csv holds scores, not alarms; say --budget 1/1d to find a threshold, or --threshold X",
    ),
    "scores of a series that is not in the period": (
        "time,score,series\n3,.1,a\n4,.2,a\n3,.1,b\n5,.2,b\n",
        "start,stop,series\n3,4,a\n",
        ("--budget", "1/10", "--score", "score", "--series", "series", "--time", "time", "--period", "p.csv"),
        "p.csv: series 'b' is not there; say when it was observed",
    ),
    "scores of which nothing is observed": (
        "time,score\n3,.1\n4,.2\n",
        "start,stop\n3,4\n",
        ("--budget", "1/10", "--score", "score", "--time", "time", "--from", "50", "--to", "60"),
        "nothing is observed: the period is empty, or all of it is ignored",
    ),
    "no budget": (
        "time,score\n3,.1\n4,.2\n",
        "start,stop\n5,6\n",
        ("--budget", "often", "--score", "score", "--time", "time"),
        (
            "a budget must be a number of false alarms in a duration or a number of steps, as in 1/1d or 2/1000; got "
            "'often'"
        ),
    ),
    "a budget in time without times": (
        "score\n.1\n.2\n",
        "start,stop\n0,1\n",
        ("--budget", "1/1d", "--score", "score"),
        (
            "budget '1/1d' is in time, and the steps have no times of a known unit: name their column with --time "
            "(times=...), or say what one unit is with --time-unit (time_unit=...)"
        ),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_nothing_is_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alarms, incidents, options, expected = BAD[name]
    (tmp_path / "a.csv").write_text(alarms)
    (tmp_path / "i.csv").write_text(incidents)
    (tmp_path / "p.csv").write_text("from,to,series\n0,9,a\n")
    status, printed = console_status(
        "alarms", "a.csv", "--incidents", "i.csv", *options, "-o", "out.json", "--report", "page.html"
    )
    assert status == 2
    assert printed.err == f"pateval: {expected}\n"
    assert printed.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "i.csv", "p.csv"]


def test_one_series_is_judged_by_judge_alarms():
    with pytest.raises(ValueError, match=r"^alarms must be of one series; pateval.judge_alarm_files judges several$"):
        pv.judge_alarms({"time": [1, 2], "series": ["a", "b"]}, [(1, 2)])


def test_a_list_of_dates_is_no_list_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raises_exactly(ValueError, "alarms: there is no file '2026-01-01'; pateval.judge_alarms takes times"):
        pv.judge_alarm_files(["2026-01-01", "2026-01-02"], ["2026-01-01"])
    (tmp_path / "2026-01-01").mkdir()
    (tmp_path / "2026-01-01" / "rule.csv").write_text("time\n2026-01-01T04:00\n")
    assert pv.judge_alarm_files(["2026-01-01"], ["2026-01-01T04:00"])["rule"].found == 1


def test_a_name_of_a_column_that_incidents_lack_is_guessed_there(tmp_path):
    alarms = {"fired": [3, 40], "plant": ["a", "b"], "type": [None, "x"]}
    incidents = {"start": [2, 41], "stop": [5, 44], "machine": ["a", "b"]}
    table = pv.judge_alarm_files(alarms, incidents, start="fired", series="plant", early=1)
    assert (table["alarms"].found, table["alarms"].false) == (2, 0)


def test_a_series_that_is_not_in_the_period_file(tmp_path):
    with pytest.raises(ValueError, match=r"series 'b' is not there"):
        pv.judge_alarm_files(
            {"time": [1, 2], "series": ["a", "b"]},
            {"time": [3], "series": ["a"]},
            period={"from": [0], "to": [9], "series": ["a"]},
        )


def test_alarm_files_equal_the_path_from_scores():
    rng = np.random.default_rng(3)
    names, tables, steps = ["a", "b", "c"], [], []
    for name in names:
        size = int(rng.integers(50, 200))
        times = np.datetime64("2026-01-01", "ns") + np.cumsum(rng.integers(60, 4000, size)).astype("timedelta64[s]")
        labels = np.convolve(rng.random(size) < 0.03, np.ones(5), "same") > 0
        steps.append((name, times, labels, rng.normal(size=size) + labels))
    whole = {
        "times": np.concatenate([one[1] for one in steps]),
        "series": [one[0] for one in steps for _ in one[1]],
    }
    labels, scores = (np.concatenate([one[place] for one in steps]) for place in (2, 3))
    frontier = pv.alarm_frontier(labels, scores, early="1h", delay="10min", merge="30min", **whole)
    for threshold in (0.5, 1.2, 2.0):
        tables = {"start": [], "stop": [], "series": []}
        incidents, period = ({key: [] for key in tables} for _ in range(2))
        for name, times, truth, values in steps:
            gaps = np.diff(times)
            ends = np.append(times[1:], times[-1] + np.median(gaps))
            for target, mask in ((tables, values >= threshold), (incidents, truth)):
                for start, stop in pv.intervals_from_labels(mask, times, closed=True):
                    target["start"].append(start)
                    target["stop"].append(stop)
                    target["series"].append(name)
            period["start"] += list(times)
            period["stop"] += list(ends)
            period["series"] += [name] * times.size
        (from_files,) = pv.judge_alarm_files(
            tables, incidents, period=period, early="1h", delay="10min", merge="30min"
        ).judgements
        judged = frontier.judge(threshold)
        for figure in ("incidents", "found", "alarms", "first", "repeat", "false", "suppressed", "observed"):
            assert getattr(from_files, figure) == getattr(judged, figure), figure
        assert from_files.times_to_detect.tolist() == judged.times_to_detect.tolist()
