"""Labels as people have them: words, classes, a file of events; and columns found by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.io import Reading, as_table, find_layout, labelled_series, open_table, scored_series
from support.messages import message_of, raises_exactly

if TYPE_CHECKING:
    from pathlib import Path


def text(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def labels(source: Any, **names: Any) -> list[list[int]]:
    table = as_table(source)
    found = list(scored_series(table, find_layout(table, Reading(**names))))
    return [item.checked()[0].astype(int).tolist() for item in found]


@pytest.mark.parametrize(
    "words", [("0", "1"), ("no", "yes"), ("No", "YES"), ("false", "true"), ("False", "True"), ("0.0", "1.0")]
)
def test_words_of_a_file_that_speak_for_themselves(tmp_path: Path, words: tuple[str, str]) -> None:
    path = text(tmp_path / "d.csv", "label,score", f"{words[0]},0.1", f"{words[1]},0.9", f"{words[0]},0.2")
    assert labels(path) == [[0, 1, 0]]


def test_words_in_parquet_and_in_frames(tmp_path: Path) -> None:
    table = pa.table({"label": ["no", "yes", "no"], "score": [0.1, 0.9, 0.2]})
    pq.write_table(table, tmp_path / "d.parquet")
    assert labels(tmp_path / "d.parquet") == [[0, 1, 0]]
    message = (
        "the table: column 'label' holds text in row 1, 'no'; say which of 'no', 'yes' mean an anomaly with --positive "
        "(positive=...)"
    )
    for frame in (table, table.to_pandas(), pl.from_arrow(table), {"label": ["no", "yes"], "score": [0.1, 0.9]}):
        assert message_of(labels, frame) == message
        assert labels(frame, positive="yes")[0][:2] == [0, 1]


def test_classes_of_which_some_mean_an_anomaly(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "label,score", "normal,0.1", "dos,0.9", "probe,0.8", "normal,0.2")
    assert labels(path, positive="dos") == [[0, 1, 0, 0]]
    assert labels(path, positive=["dos", "probe"]) == [[0, 1, 1, 0]]
    assert message_of(labels, path) == (
        f"{path}: column 'label' holds text in row 1, 'normal'; say which of 'normal', 'dos', 'probe' mean an anomaly "
        "with --positive (positive=...)"
    )
    assert message_of(labels, path, positive="doss") == (
        f"{path}: column 'label' holds no label 'doss'; its labels are 'normal', 'dos', 'probe'"
    )


def test_numbers_that_are_classes(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "label,score", "0,0.1", "2,0.9", "3,0.8", "0,0.2")
    assert labels(path, positive=[2, 3]) == [[0, 1, 1, 0]]
    assert labels(path, positive="3") == [[0, 0, 1, 0]]
    assert message_of(labels, path) == (
        f"{path}: column 'label': labels must be 0 or 1 at every step; found 2 in row 2 (2 such "
        "values in 4); say which of '0', '2', '3' mean an anomaly with --positive (positive=...)"
    )


def test_minus_one_and_one(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "label,score", "1,0.1", "-1,0.9", "1,0.2")
    assert message_of(labels, path) == (
        f"{path}: column 'label': labels must be 0 or 1 at every step; found -1 in row 2 (1 such "
        "value in 3); if -1 marks the anomalies, as in scikit-learn, say --positive -1, and if 1 does, --positive 1"
    )
    assert labels(path, positive="-1") == [[0, 1, 0]]
    assert labels(path, positive=1) == [[1, 0, 1]]


def test_missing_labels_stay_an_error(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "label,score,off", "normal,0.1,0", ",0.9,1", "attack,0.2,0")
    assert labels(path, positive="attack", ignore="off") == [[0, 0, 1]]
    assert message_of(labels, path, positive="attack") == (
        f"{path}: column 'label': labels must hold no missing values; found one in row 2 (1 in 3): fill it in, or "
        "leave such steps out with --ignore COLUMN (ignore=...)"
    )
    path = text(tmp_path / "n.csv", "label,score,off", "1,0.1,0", ",0.9,1", "2,0.2,0")
    assert labels(path, positive="2", ignore="off") == [[0, 0, 1]]
    assert message_of(labels, path, positive="2") == (
        f"{path}: column 'label': labels must hold no missing values; found one in row 2 (1 in 3): fill it in, or "
        "leave such steps out with --ignore COLUMN (ignore=...)"
    )


DATED = ("timestamp,score", *(f"2024-01-01 0{hour}:00:00,0.{hour}" for hour in range(6)))


def test_events_in_time(tmp_path: Path) -> None:
    path = text(tmp_path / "scores.csv", *DATED)
    events = text(tmp_path / "events.csv", "start,end", "2024-01-01T01:00:00,2024-01-01T03:00:00")
    assert labels(path, events=events) == [[0, 1, 1, 0, 0, 0]]
    assert labels(path, events=events, closed_events=True) == [[0, 1, 1, 1, 0, 0]]
    assert find_layout(open_table(path), Reading(events=events)).notes == (
        f"{path}: guessed score 'score', time 'timestamp'",
        f"{events}: 1 event in time: from 'start' up to but without 'end'",
    )
    labelled = text(tmp_path / "labelled.csv", "label,score", *["0,0.1"] * 6)
    steps = text(tmp_path / "steps.csv", "start,end", "1,3")
    assert find_layout(open_table(labelled), Reading(events=steps)).notes[-1] == (
        f"{labelled}: column 'label' is not used: the events say what is an anomaly"
    )
    table = open_table(path)
    (item,) = labelled_series(table, find_layout(table, Reading(events=str(events), labels_only=True)))
    assert item.checked_labels().astype(int).tolist() == [0, 1, 1, 0, 0, 0]


def test_events_in_steps_and_by_series(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "series,score", "b,0.2", "a,0.1", "b,0.4", "a,0.3", "a,0.5")
    events = pd.DataFrame({"series": ["a", "b", "a"], "start": [0, 1, 2], "stop": [1, 2, 3]})
    assert labels(path, events=events) == [[0, 1], [1, 0, 1]]
    only_a = events[events["series"] == "a"]
    assert labels(path, events=only_a) == [[0, 0], [1, 0, 1]]
    assert message_of(labels, path, events=events[["start", "stop"]]) == (
        f"the events: no column names the series of an event, and {path} has 2; add one called 'series'"
    )
    other = events.assign(series=["x", "y", "z"])
    assert message_of(labels, path, events=other) == (
        f"the events: its series ('x', 'y', 'z') are none of {path} ('a', 'b'); name them alike"
    )
    one = text(tmp_path / "one.csv", "value,score", *["0,0.1"] * 3)
    assert message_of(labels, one, events=events) == (
        f"the events: events are of series 'a', 'b', and {one} has no column of series; name it with --series, or "
        "leave the column out of the events"
    )
    nameless = events.assign(series=["a", None, "b"])
    assert message_of(labels, path, events=nameless) == (
        "the events: column 'series' names nothing in row 2; fill it in, or take the row out"
    )
    more = events.assign(series=["a", "b", "z"])
    assert find_layout(open_table(path), Reading(events=more)).notes[-1] == f"the events: 'z' is not in {path}"
    board = pv.leaderboard(path, score=None, label=None, events=events, metrics="auc_roc", chance=0)
    assert board.values.shape == (1, 2, 1)


def test_events_on_a_clock_of_numbers(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "time,score", "10,0.1", "20,0.2", "30,0.3")
    events = {"start": [1], "stop": [25]}
    assert message_of(labels, path, events=events) == (
        "the events: events are numbers: say --time none if they count steps, or --time time if they are times"
    )
    assert labels(path, events=events, time="time") == [[1, 1, 0]]
    steps = {"start": [1], "stop": [2]}
    assert labels(path, events=steps, time="none", closed_events=True) == [[0, 1, 1]]
    assert find_layout(open_table(path), Reading(events=steps, time="none", closed_events=True)).notes[-1] == (
        "the events: 1 event in steps, the first being 0: from 'start' up to and with 'stop'"
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            ["start,end", "2025-01-01T01:00:00,2025-01-01T03:00:00"],
            "the event in row 1 holds no step of the data; correct it, or take it out",
        ),
        (
            ["start,end", "2024-01-01T03:00:00,2024-01-01T01:00:00"],
            "the event in row 1 ends before it starts; exchange the two",
        ),
        (
            ["start,end", "2024-01-01T03:00:00,2024-01-01T03:00:00"],
            "the event in row 1 is empty; if the stop belongs to the event, say --closed-events",
        ),
        (["start,end", "2024-01-01T03:00:00,"], "column 'end' is empty in row 1; write both a start and a stop"),
        (
            ["first,duration", "0,1"],
            "no column looks like the stop of events; call one 'stop' among 'first', 'duration'",
        ),
        (
            ["start,end,stop", "0,1,1"],
            "'end' and 'stop' both look like the stop of events; call one 'stop' among 'start', 'end', 'stop'",
        ),
        (
            ["start,end", "2024-01-01T03:00:00,7"],
            "of columns 'start' and 'end' one holds dates and the other numbers; write both alike",
        ),
        (
            ["start,end,machine,channel", "0,1,a,b"],
            "'machine' and 'channel' both look like series; take one of them out",
        ),
        (["start,stop", "a,b"], "column 'start': 'a' is neither a date such as 2024-01-31T12:00:00 nor a number"),
        (["start,stop", "2024-01-01,9999-12-31"], "column 'stop': '9999-12-31' lies outside the years 1678 to 2261"),
        (
            ["start,stop", "2,9"],
            "the event in row 1 reaches beyond the 6 steps of the data; correct it, or take it out",
        ),
        (
            ["start,stop", "0,1", "-2,3"],
            "the event in row 2 begins before the first step of the data; correct it, or take it out",
        ),
        (
            ["start,stop", "1,2.5"],
            "the event in row 1 begins or ends between two steps of the data; correct it, or take it out",
        ),
    ],
)
def test_events_that_cannot_be(tmp_path: Path, rows: list[str], message: str) -> None:
    path = text(tmp_path / "scores.csv", *DATED)
    events = text(tmp_path / "events.csv", *rows)
    assert message_of(labels, path, events=events) == f"{events}: {message}"


def test_events_and_labels_exclude_each_other_and_dates_need_dates(tmp_path: Path) -> None:
    path = text(tmp_path / "d.csv", "label,score", "0,0.1", "1,0.2")
    events = text(tmp_path / "events.csv", "start,end", "2024-01-01T01:00:00,2024-01-01T03:00:00")
    assert message_of(labels, path, label="label", events=events) == (
        f"{path}: labels stand in a column or in a file of events; name one of the two"
    )
    assert message_of(labels, path, events=events) == (
        f"{events}: events are given as dates, and {path} has no column of dates; name it with --time"
    )


def columns(*names: str) -> Any:
    return as_table({name: np.array([0.0, 1.0]) for name in names})


@pytest.mark.parametrize(
    ("names", "scores"),
    [
        (["ds", "y", "label", "lstm"], ("lstm",)),
        (["label", "threshold", "temperature", "usad"], ("usad",)),
        (["label", *(f"f{number:02d}" for number in range(38)), "pca"], ("pca",)),
        (["label", "temperature", "speed", "lstm_score", "pca_score"], ("lstm_score", "pca_score")),
        (["label", "speed", "score"], ("score",)),
        (["label", "y_pred", "prediction", "yhat_upper", "knn"], ("knn",)),
        (["is_outlier", "one", "two"], ("one", "two")),
    ],
)
def test_what_is_a_score(names: list[str], scores: tuple[str, ...]) -> None:
    assert find_layout(columns(*names)).scores == scores


def test_a_forecast_is_not_a_detector() -> None:
    assert message_of(find_layout, columns("ds", "y", "label", "yhat")) == (
        "the table: no column looks like scores; name it (score=..., --score) among 'y', 'yhat'"
    )
    assert message_of(find_layout, columns("label", "y_pred")) == (
        "the table: no column looks like scores; name it (score=..., --score) among 'y_pred'; 0/1 predictions are "
        "read with --score y_pred --threshold 1"
    )
    assert message_of(find_layout, columns("label", "f00", "f01", "temperature")) == (
        "the table: no column looks like scores; name it (score=..., --score) among 'f00', 'f01', 'temperature'; "
        "scores of values are made by 'pateval detect', as in 'pateval detect pca --data FILE -o scores'"
    )
    assert message_of(find_layout, columns("label", *(f"f{number:02d}" for number in range(38)))) == (
        "the table: no column looks like scores; name it (score=..., --score) among "
        + ", ".join(f"'f{number:02d}'" for number in range(20))
        + " and 18 more; scores of values are made by 'pateval detect', as in 'pateval detect pca --data FILE -o "
        "scores'"
    )


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["outlier", "lstm"], "outlier"),
        (["attack", "lstm"], "attack"),
        (["attack", "label", "lstm"], "label"),
        (["Anomaly", "lstm"], "Anomaly"),
    ],
)
def test_what_is_a_label(names: list[str], label: str) -> None:
    assert find_layout(columns(*names)).label == label


def test_hosts_are_series() -> None:
    layout = find_layout(as_table({"host": ["a", "b"], "label": [0, 1], "score": [0.1, 0.2]}))
    assert layout.guessed == "label 'label', score 'score', series 'host'"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["label", "is_anomaly", "score"],
            "'label' and 'is_anomaly' look like the label; name one (label=..., --label)",
        ),
        (["label", "score", "y_score"], "'score' and 'y_score' look like the score; name one (score=..., --score)"),
        (
            ["label", "score", "machine", "channel"],
            "'machine' and 'channel' look like the series; name one (series=..., --series)",
        ),
    ],
)
def test_between_equals_nothing_is_guessed(names: list[str], message: str) -> None:
    assert message_of(find_layout, columns(*names)) == f"the table: {message}"


def test_words_and_signs_in_python() -> None:
    words, scores = ["normal", "dos", "normal", "probe"], [0.1, 0.9, 0.3, 0.2]
    expected = pv.evaluate([0, 1, 0, 1], scores, metrics="auc_roc")["auc_roc"]
    for given in (words, np.array(words), pd.Series(words), pl.Series(words), pd.Categorical(words)):
        assert pv.evaluate(given, scores, metrics="auc_roc", positive=["dos", "probe"])["auc_roc"] == expected
    assert pv.evaluate([1, -1, 1, -1], scores, metrics="auc_roc", positive=-1)["auc_roc"] == expected
    with raises_exactly(ValueError, "positive names 'doss', which is none of the labels ('normal', 'dos', 'probe')"):
        pv.evaluate(words, scores, metrics="auc_roc", positive="doss")
    with raises_exactly(
        TypeError,
        "labels must be numbers (bool, integer or float); got text values; pass labels == 'anomaly', or name the "
        "labels that mean an anomaly with positive= where there is one",
    ):
        pv.pate(words, scores)
    with raises_exactly(
        ValueError,
        "labels must be 0 or 1 at every step; found -1 at index 1 (2 such values in 4): pass labels == -1 if -1 marks "
        "the anomalies, as in scikit-learn, and labels == 1 if 1 does",
    ):
        pv.pate([1, -1, 1, -1], scores)


def test_a_frame_whose_index_differs_is_refused_with_words_too() -> None:
    words = pd.Series(["normal", "dos"], index=[1, 2])
    with raises_exactly(
        ValueError,
        "labels and scores have different indexes, at position 0 for example 1 and 0: align them first, with "
        "scores.reindex(labels.index), or go by position with scores.to_numpy()",
    ):
        pv.evaluate(words, pd.Series([0.1, 0.9]), metrics="auc_roc", positive="dos")
