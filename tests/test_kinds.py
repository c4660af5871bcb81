"""Events by kind: the rule against a literal one, on explanations, boards and reports."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import kinds as oracle
from oracles import pate_clock
from pateval.evaluation.explanation import LENGTHS, kinds_by_length
from support.command_line import console
from support.messages import raises_exactly

steps = st.lists(st.tuples(st.sampled_from([0, 0, 1]), st.sampled_from([0, 1]), st.sampled_from("xy")), max_size=40)
buffers = st.integers(0, 4)


@given(steps, buffers, buffers, st.booleans())
def test_kinds_of_an_explanation(steps, early, delay, by_class):
    labels, predictions, classes = ([*column] for column in zip(*steps, (1, 0, "x"), (0, 1, "y"), strict=True))
    events = oracle.events_of(labels)
    if by_class:
        kinds = [oracle.majority(classes[first : last + 1]) for first, last in events]
    else:
        kinds = oracle.thirds([last + 1 - first for first, last in events])
    expected = oracle.pate_f1_by_kind(labels, predictions, kinds, early, delay)
    by = classes if by_class else "length"
    found = pv.explain(labels, predictions, early=early, delay=delay, by=by)
    assert len(found.kinds) == len(expected)
    for kind in found.kinds:
        name = kind.name if by_class else LENGTHS.index(kind.name.partition(" ")[0])
        events, hits, value = expected[name]
        assert (kind.events, kind.found, kind.recall) == (events, hits, hits / events)
        assert kind.value == pytest.approx(value, abs=1e-12)
    if len(found.kinds) == 1:
        assert found.kinds[0].value == pytest.approx(found.f1, abs=1e-12)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_thirds_by_length(lengths):
    found = kinds_by_length(np.array(lengths))
    assert np.sum(list(found.values()), axis=0).tolist() == [1] * len(lengths)
    for name, is_one in found.items():
        third = LENGTHS.index(name.partition(" ")[0])
        assert [other == third for other in oracle.thirds(lengths)] == is_one.tolist()
        own = [length for length, is_own in zip(lengths, is_one, strict=True) if is_own]
        low, *more = map(int, re.findall(r"\d+", name))
        assert (low, more[0] if more else low) == (min(own), max(own))


LABELS = np.repeat([0, 1, 0, 1, 0, 1, 0], [20, 2, 12, 9, 15, 30, 12])
RNG = np.random.default_rng(5)
SCORES = LABELS + RNG.normal(size=LABELS.size)


def test_buffers_in_time_leave_out_the_steps_they_reach():
    times = 10 * np.arange(LABELS.size)
    in_steps = pv.explain(LABELS, scores=SCORES, early=3, delay=6, by="length")
    in_time = pv.explain(LABELS, scores=SCORES, early="30s", delay="1min", times=times, time_unit="s", by="length")
    assert in_time.kinds == in_steps.kinds
    # A hole in the recording: the minute after the first event has fewer steps.
    uneven = np.where(np.arange(LABELS.size) < 24, times, times + 40)
    held = pv.explain(LABELS, scores=SCORES, early="30s", delay="1min", times=uneven, time_unit="s", by="length")
    assert held.kinds[1].value != in_steps.kinds[1].value


def test_it_prints_and_writes_them():
    found = pv.explain(LABELS, LABELS, early=2, delay=2, by="length")
    assert repr(found).endswith(
        "kind of event  events  found  recall  pate_f1\n"
        "---------------------------------------------\n"
        "short (2)           1      1    100%   1.0000\n"
        "medium (9)          1      1    100%   1.0000\n"
        "long (30)           1      1    100%   1.0000"
    )
    assert [kind["name"] for kind in found.to_dict()["kinds"]] == ["short (2)", "medium (9)", "long (30)"]
    assert "kinds" not in pv.explain(LABELS, LABELS).to_dict()
    with raises_exactly(ValueError, "by must be 'length', or the class of each step; got 'size'"):
        pv.explain(LABELS, LABELS, by="size")
    with raises_exactly(ValueError, "by must name one class for each step; got (2,) for 100 steps"):
        pv.explain(LABELS, LABELS, by=["a", "b"])


def test_what_is_left_out_is_not_found_and_buffers_end_with_their_series():
    labels, predictions = [0, 1, 1, 0, 0, 1, 1, 1], [0, 1, 0, 0, 0, 0, 0, 1]
    short, long = pv.explain(labels, predictions, early=1, delay=1, ignore=[0, 1] + [0] * 6, by="length").kinds
    assert (short.found, long.found) == (0, 1)
    # The long event begins the second series: its buffer leaves nothing out at the end of the first.
    labels, predictions = [0, 1, 0, 0, 0, 1, 1, 0], [0, 1, 0, 0, 1, 0, 0, 0]
    options = {"early": 3, "delay": 1, "by": "length", "series": list("aaaaabbb")}
    short, _ = pv.explain(labels, predictions, **options).kinds
    alone = pv.explain([0, 1, 0, 0, 0], [0, 1, 0, 0, 1], early=3, delay=1)
    assert short.value == pytest.approx(alone.f1, abs=1e-12)
    assert alone.f1 < 1


def test_scores_that_are_missing_in_other_events_do_not_count_as_missing():
    scores = np.where(LABELS == 1, 2.0, 0.0)
    scores[58:88] = np.nan  # all of the long event
    found = pv.explain(LABELS, scores=scores, threshold=1.0, early=1, delay=1, missing="ignore", by="length").kinds
    assert [(kind.events, kind.value) for kind in found] == [(1, 1.0), (1, 1.0)]
    labels = np.array([0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0])
    scores = np.where(labels == 1, 2.0, 0.0)
    scores[4:10] = np.nan
    short, long = pv.explain(
        labels, scores=scores, threshold=1.0, early=0, delay=0, missing="ignore", by="length"
    ).kinds
    assert (short.value, long.value) == (1.0, 1.0)


def board_of(columns, **options):
    """A board of one metric, ranked by it, on series laid end to end."""
    return pv.leaderboard(columns, series="series", chance=0, event_draws=0, early=2, delay=2, **options)


def test_runs_are_averaged_within_a_series_and_its_events_counted_once():
    scores = np.where(LABELS == 1, 2.0, 0.0)
    worse = scores.copy()
    worse[20:22] = 0  # the short event is missed
    columns = {
        "label": np.tile(LABELS, 4),
        "series": np.repeat(["s", "t"], 2 * LABELS.size),
        "run": np.tile(np.repeat([0, 1], LABELS.size), 2),
        "good": np.concatenate([scores, worse, scores, scores]),
    }
    board = board_of(columns, run="run", score=["good"], metrics="pate_f1", threshold=1.0)
    rows = {row.kind.partition(" ")[0]: row for row in board.by_kind().rows}
    assert (rows["short"].series, rows["short"].events, rows["short"].recall) == (2, 2, 0.75)
    assert rows["short"].value == pytest.approx(0.75)
    assert rows["long"].recall == 1


def test_each_detector_and_metric_is_judged_at_its_own_threshold():
    columns = {
        "label": np.tile(LABELS, 2),
        "series": np.repeat(["s", "t"], LABELS.size),
        "low": np.tile(np.where(LABELS == 1, 0.3, 0.0), 2),
        "high": np.tile(np.where(LABELS == 1, 0.8, 0.1), 2),
    }
    given = {"score": ["low", "high"]}
    recalls = {
        row.detector: row.recall for row in board_of(columns, metrics="pate_ap", threshold=0.5, **given).by_kind().rows
    }
    assert recalls == {"low": 0.0, "high": 1.0}
    own = board_of(columns, metrics="pate_ap", threshold={None: 0.5, "low": 0.2}, **given).by_kind()
    assert {row.detector: row.recall for row in own.rows} == {"low": 1.0, "high": 1.0}
    named = board_of(columns, metrics="pate_f1(threshold=0.2)", threshold=0.5, **given).by_kind()
    assert {(row.recall, row.value) for row in named.rows} == {(1.0, 1.0)}


def test_a_detector_with_few_scores_on_a_series_has_no_kinds_there():
    scores = np.tile(LABELS + 0.0, 2)
    few = scores.copy()
    few[: LABELS.size * 2 // 3] = np.nan
    columns = {"label": np.tile(LABELS, 2), "series": np.repeat(["s", "t"], LABELS.size), "all": scores, "few": few}
    board = board_of(columns, score=["all", "few"], metrics="pate_ap", missing="ignore")
    assert {row.detector: row.series for row in board.by_kind().rows} == {"all": 2, "few": 1}


CLASSES = np.where(LABELS == 0, "normal", np.repeat(["dos", "scan"], [50, 50]))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two detectors on three series, with classes of labels."""
    folder = tmp_path_factory.mktemp("kinds")
    rows = ["series,label,good,weak,gap"]
    values = {}
    for number in range(3):
        labels = np.roll(LABELS, 3 * number)
        classes = np.roll(CLASSES, 3 * number)
        if number == 2:
            classes[classes == "scan"], labels = "normal", labels * (np.roll(CLASSES, 6) == "dos")
        columns = {
            name: labels * lead + RNG.normal(size=labels.size).round(3) for name, lead in (("good", 2), ("weak", 0.5))
        }
        skip = np.arange(labels.size) % 37 == number
        values[f"s{number}"] = labels, classes, columns, skip
        for step in range(labels.size):
            cells = [columns["good"][step], columns["weak"][step], int(skip[step])]
            rows.append(",".join([f"s{number}", classes[step], *map(str, cells)]))
    path = folder / "scores.csv"
    path.write_text("\n".join(rows))
    return path, values


OPTIONS = ("--positive", "dos", "--positive", "scan", "--score", "good,weak", "--series", "series", "--ignore", "gap")
MEASURED = ("--metrics", "pate_ap", "--early", 3, "--delay", 5, "--threshold", 1, "--chance", 0)


@pytest.mark.parametrize("by", ["length", "class"])
def test_kinds_on_a_board(files, by, tmp_path):
    path, values = files
    every = [last + 1 - first for one in values.values() for first, last in oracle.events_of(one[0])]
    third = dict(zip(every, oracle.thirds(every), strict=True))
    wanted = {}
    for labels, classes, columns, skip in values.values():
        truth, events = labels.tolist(), oracle.events_of(labels.tolist())
        kinds = [
            third[last + 1 - first] if by == "length" else oracle.majority(classes[first : last + 1].tolist())
            for first, last in events
        ]
        for name, scores in columns.items():

            def value(kept, left_out, scores=scores):
                times = list(range(len(kept)))
                return float(pate_clock.pate_ap(kept, scores.tolist(), [3], [5], times, None, left_out))

            found = oracle.by_kind(truth, (scores >= 1).tolist(), kinds, 3, 5, value, skip.tolist())
            for kind, (number, hits, of_kind) in found.items():
                wanted.setdefault((name, kind), []).append((number, hits / number, of_kind))
    console("leaderboard", path, *OPTIONS, *MEASURED, "-o", tmp_path / "board")
    loaded = pv.Leaderboard.load(tmp_path / "board").by_kind(by)
    told = json.loads(console("leaderboard", path, *OPTIONS, *MEASURED, "--kinds", by, "--format", "json").out)["kinds"]
    assert told == loaded.to_dict()
    assert (told["metric"], told["by"]) == ("pate_ap", by)
    rows = {
        (row["detector"], row["kind"] if by == "class" else LENGTHS.index(row["kind"].partition(" ")[0])): row
        for row in told["rows"]
    }
    assert set(rows) == set(wanted)
    for key, several in wanted.items():
        numbers, recalls, values_of_kind = zip(*several, strict=True)
        assert (rows[key]["series"], rows[key]["events"]) == (len(several), sum(numbers))
        assert rows[key]["recall"] == pytest.approx(np.mean(recalls), abs=1e-12)
        assert rows[key]["value"] == pytest.approx(np.mean(values_of_kind), abs=1e-12)
    printed = console("leaderboard", path, *OPTIONS, *MEASURED, "--kinds", by).out
    assert "each kind is judged as if there were no others" in " ".join(printed.split())
    page = tmp_path / "page.html"
    console("report", tmp_path / "board", "-o", page, "--kinds", by)
    block = json.loads(re.search(r'<script[^>]*id="board"[^>]*>(.*?)</script>', page.read_text(), re.S)[1])
    assert block["kinds"] == told


def test_explain_by_class_of_a_file(files):
    path, values = files
    labels, classes, columns, skip = values["s0"]
    asked = ("--only", "good", "--only-series", "s0", "--early", 3, "--delay", 5, "--threshold", 1, "--format", "json")
    rows = json.loads(console("explain", path, *OPTIONS, *asked, "--kinds", "class").out)
    direct = pv.explain(labels, scores=columns["good"], threshold=1.0, early=3, delay=5, ignore=skip, by=classes)
    assert [{name: row[name] for name in row if name != "detector"} for row in rows] == [
        kind.to_dict() for kind in direct.kinds
    ]


@pytest.mark.parametrize("in_time", [False, True])
def test_kinds_in_a_file_of_events(in_time, tmp_path):
    starts, stops = np.array(oracle.events_of(LABELS.tolist())).T
    times = [str(time) for time in np.datetime64("2026-01-01") + np.arange(LABELS.size + 1) * np.timedelta64(1, "m")]
    rows = ["begin,end,type"]
    for start, stop, kind in zip(starts, stops + 1, ("leak", "jam", "leak"), strict=True):
        rows.append(f"{times[start]},{times[stop]},{kind}" if in_time else f"{start},{stop},{kind}")
    (tmp_path / "events.csv").write_text("\n".join(rows))
    lines = ["time,good", *(f"{time},{score}" for time, score in zip(times, SCORES, strict=False))]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    asked = ("--events", tmp_path / "events.csv", "--early", 3, "--delay", 5, "--threshold", 1, "--kinds", "class")
    rows = json.loads(console("explain", tmp_path / "scores.csv", *asked, "--format", "json").out)
    kinds = np.repeat(["", "leak", "", "jam", "", "leak", ""], [20, 2, 12, 9, 15, 30, 12])
    expected = pv.explain(LABELS, scores=SCORES, threshold=1.0, early=3, delay=5, by=kinds).kinds
    assert [(row["name"], row["events"], row["value"]) for row in rows] == [
        (kind.name, kind.events, pytest.approx(kind.value)) for kind in expected
    ]
    assert [row["name"] for row in rows] == ["leak", "jam"]
    console("leaderboard", tmp_path / "scores.csv", *asked[:6], "--metrics", "pate_ap", "-o", tmp_path / "board")
    assert {row.kind for row in pv.Leaderboard.load(tmp_path / "board").by_kind("class").rows} == {"leak", "jam"}
    text = (tmp_path / "events.csv").read_text()
    (tmp_path / "events.csv").write_text(text.replace("type", "remark"))
    refused = console("explain", tmp_path / "scores.csv", *asked, status=2)
    assert "no column tells kinds of events apart; call one 'kind'" in refused.err


def test_what_cannot_be_told_apart_is_refused(files, tmp_path):
    data = {"label": LABELS, "good": SCORES}
    board = pv.leaderboard(data, metrics="pate_ap", chance=0, event_draws=0)
    with pytest.raises(ValueError, match="labels have no classes to tell events apart by; say which of them mean"):
        board.by_kind("class")
    with raises_exactly(ValueError, "by must be one of 'length', 'class'; got 'size'"):
        board.by_kind("size")
    given = pv.leaderboard_from_results({"series": ["s", "t"], "a": [0.5, 0.4], "b": [0.1, 0.2]}, metric="vus_pr")
    sentence = (
        "kinds of events need labels and scores of each series; this board holds values that were computed elsewhere"
    )
    with raises_exactly(ValueError, sentence):
        given.by_kind()
    refused = console("leaderboard", files[0], *OPTIONS, "--kinds", "length", "--format", "csv", status=2)
    assert "--kinds is printed as a table, in Markdown or in JSON; choose one with --format" in refused.err
