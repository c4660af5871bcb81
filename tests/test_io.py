"""Files and frames in: every layout, every format, every way a file can be bad."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pateval
from pateval.io import (
    ParquetFiles,
    Reading,
    Table,
    as_table,
    expand,
    find_layout,
    interleaving_note,
    list_units,
    open_table,
    read_table,
    read_units,
    scored_series,
)
from support.messages import message_of

if TYPE_CHECKING:
    from pathlib import Path

LONG = {
    "series": ["a", "a", "a", "b", "b"],
    "label": [0, 1, 0, 0, 1],
    "score": [0.1, 0.9, 0.2, 0.3, 0.4],
}


def write(path: Path, columns: dict[str, Any]) -> Path:
    if path.suffix == ".csv":
        pa.csv.write_csv(pa.table(columns), path)
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        rows = zip(*columns.values(), strict=True)
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    return path


def content(source: Any, **names: Any) -> list[tuple[str, str, list[bool], list[float]]]:
    table = as_table(source)
    layout = find_layout(table, Reading(**names))
    return [
        (item.detector, item.series, item.checked()[0].tolist(), item.checked()[1].tolist())
        for item in scored_series(table, layout)
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_every_format_gives_the_same_series(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"lstm{suffix}", LONG)
    expected = [
        ("lstm", "a", [False, True, False], [0.1, 0.9, 0.2]),
        ("lstm", "b", [False, True], [0.3, 0.4]),
    ]
    assert content(path) == expected
    assert content(read_table(path)) == expected
    assert read_table(path).name == "lstm"


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_every_container_gives_the_same_series(make: Any) -> None:
    assert content(make(LONG)) == [
        ("score", "a", [False, True, False], [0.1, 0.9, 0.2]),
        ("score", "b", [False, True], [0.3, 0.4]),
    ]


def test_a_name_given_to_a_frame_is_the_detectors() -> None:
    table = as_table(pd.DataFrame(LONG), name="usad")
    assert {item.detector for item in scored_series(table, find_layout(table))} == {"usad"}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_wide(tmp_path: Path, suffix: str) -> None:
    columns = {"timestamp": [1, 2, 3], "is_anomaly": [0, 1, 0], "lstm": [0.1, 0.2, 0.3], "usad": [3.0, 2.0, 1.0]}
    path = write(tmp_path / f"sensor{suffix}", columns)
    found = content(path)
    assert [(each[0], each[1]) for each in found] == [("lstm", "sensor"), ("usad", "sensor")]
    assert found[1][3] == [3.0, 2.0, 1.0]
    assert content(path, score=["usad", "lstm"])[0][0] == "usad"
    assert content(path, score="usad")[0][0] == "sensor"


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_long_with_a_detector_column(tmp_path: Path, suffix: str) -> None:
    columns = {
        "model": ["x", "x", "x", "y", "y", "y"],
        "machine": ["a", "b", "b", "a", "b", "b"],
        "y_true": [1, 0, 1, 1, 0, 1],
        "anomaly_score": [0.5, 0.1, 0.2, 0.6, 0.3, 0.4],
    }
    path = write(tmp_path / f"all{suffix}", columns)
    assert [(detector, series, scores) for detector, series, _, scores in content(path)] == [
        ("x", "a", [0.5]),
        ("x", "b", [0.1, 0.2]),
        ("y", "a", [0.6]),
        ("y", "b", [0.3, 0.4]),
    ]
    layout = find_layout(open_table(path))
    assert layout.guessed == "label 'y_true', score 'anomaly_score', series 'machine', detector 'model'"
    assert layout.notes == (f"{path}: guessed {layout.guessed}",)


def test_several_scores_beside_a_detector_column() -> None:
    data = {"detector": ["x", "x"], "label": [0, 1], "raw": [1.0, 2.0], "smooth": [3.0, 4.0]}
    assert [item[0] for item in content(data, score=["raw", "smooth"])] == ["x:raw", "x:smooth"]


def test_named_columns_leave_nothing_to_announce(tmp_path: Path) -> None:
    path = write(tmp_path / "d.csv", {"s": ["a"], "truth": [1], "out": [0.5]})
    layout = find_layout(open_table(path), Reading(label="truth", score="out", series="s"))
    assert layout.guessed == ""
    assert layout.notes == ()


def test_numbers_name_series_alike_in_every_format(tmp_path: Path) -> None:
    columns = {"series": [1, 1, 2], "label": [0, 1, 1], "score": [0.0, 1.0, 2.0]}
    for suffix in (".csv", ".parquet", ".jsonl", ".npz"):
        assert [item[1] for item in content(write(tmp_path / f"d{suffix}", columns))] == ["1", "2"]
    assert [item[1] for item in content(pd.DataFrame(columns | {"series": [1.0, 1.0, 2.0]}))] == ["1", "2"]


def test_raw_values_times_and_predictions_are_not_taken_for_scores() -> None:
    data = {
        "t": [1, 2],
        "value": [3.0, 4.0],
        "label": [0, 1],
        "prediction": [0, 1],
        "Unnamed: 0": [0, 1],
        "knn": [1, 2],
    }
    assert find_layout(as_table(data)).scores == ("knn",)


def test_interleaved_series_are_put_together_in_order(tmp_path: Path) -> None:
    columns = {"series": ["a", "b", "a", "b", "c"], "label": [0, 1, 1, 0, 1], "score": [1.0, 2.0, 3.0, 4.0, 5.0]}
    for source in (columns, write(tmp_path / "d.parquet", columns)):
        found = content(source)
        assert [(series, scores) for _, series, _, scores in found] == [
            ("a", [1.0, 3.0]),
            ("b", [2.0, 4.0]),
            ("c", [5.0]),
        ]
        table = as_table(source)
        note = interleaving_note(table, list_units(table, find_layout(table)))
        assert note == (
            f"{table.where}: rows of series 'a' and 1 more are not contiguous; they are taken together in file order"
        )
    contiguous = as_table(LONG)
    assert interleaving_note(contiguous, list_units(contiguous, find_layout(contiguous))) is None


@pytest.mark.parametrize("interleaved", [False, True])
def test_streaming_over_row_groups_equals_reading_whole(tmp_path: Path, interleaved: bool) -> None:
    generator = np.random.default_rng(3)
    series = np.repeat([f"s{i}" for i in range(7)], generator.integers(1, 90, 7))
    if interleaved:
        series = generator.permutation(series)
    table = pa.table(
        {
            "series": pa.array(series).dictionary_encode(),
            "label": generator.integers(0, 2, series.size).astype(np.uint8),
            "one": generator.random(series.size),
            "two": generator.random(series.size).astype(np.float32),
        }
    )
    path = tmp_path / "wide.parquet"
    pq.write_table(table, path, row_group_size=37)
    whole, streamed = read_table(path), open_table(path)
    assert isinstance(whole, Table)
    assert isinstance(streamed, ParquetFiles)
    assert find_layout(whole) == find_layout(streamed)
    assert list_units(whole, find_layout(whole)) == list_units(streamed, find_layout(streamed))
    assert content(whole) == content(streamed)
    layout = find_layout(streamed)
    for unit in list_units(streamed, layout):
        (item,) = read_units(streamed, layout, [unit])
        mask = series == unit.series
        np.testing.assert_array_equal(item.scores, table.column(unit.score).to_numpy()[mask])
        np.testing.assert_array_equal(item.labels, table.column("label").to_numpy()[mask])
        assert item.scores.dtype == (np.float64 if unit.score == "one" else np.float32)
    assert list(read_units(streamed, layout, [])) == []


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("detectors", [{}, {"detector": ["x", "x", "x", "y", "y", "y"]}])
def test_mixed_rows_of_several_score_columns(tmp_path: Path, suffix: str, detectors: dict[str, Any]) -> None:
    columns = {"series": list("abbaab"), **detectors, "label": [0, 0, 1, 1, 0, 1], "one": [1.0, 2, 3, 4, 5, 6]}
    columns |= {"two": [10.0, 20, 30, 40, 50, 60], "value": [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]}
    source = open_table(write(tmp_path / f"mixed{suffix}", columns))
    layout = find_layout(source, Reading(score=["one", "two"]))
    names = [*zip(detectors.get("detector", "-" * 6), columns["series"], strict=True)]
    units = list_units(source, layout)
    assert len(units) == 2 * len(set(names))
    for unit in units:
        rows = [row for row, (x, s) in enumerate(names) if s == unit.series and x in ("-", unit.detector.split(":")[0])]
        (item,) = read_units(source, layout, [unit])
        (values,) = read_units(source, layout, [replace(unit, score="value")])
        (labels,) = read_units(source, layout, [unit], scores=False)
        assert item.scores.tolist() == [columns[unit.score][row] for row in rows]
        assert values.scores.tolist() == [columns["value"][row] for row in rows]
        assert labels.labels.tolist() == [columns["label"][row] for row in rows]
        assert [item.row(place) for place in range(len(rows))] == [row + 1 for row in rows]


def test_partitioned_folder_is_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    table = pa.table(LONG)
    for detector in ("x", "y z"):
        piece = table.append_column("detector", pa.array([detector] * 5))
        pq.write_to_dataset(piece, folder, partition_cols=["detector", "series"])
    assert expand(folder) == [folder]
    found = content(folder)
    assert [(detector, series) for detector, series, _, _ in found] == [
        ("x", "a"),
        ("x", "b"),
        ("y z", "a"),
        ("y z", "b"),
    ]
    assert content(read_table(folder)) == found


def test_partitioned_folder_of_csv_and_of_parts(tmp_path: Path) -> None:
    (tmp_path / "c" / "series=a").mkdir(parents=True)
    (tmp_path / "c" / "series=b").mkdir()
    for name in "ab":
        write(tmp_path / "c" / f"series={name}" / "x.csv", {"label": [0, 1], "score": [0.1, 0.2]})
    assert [item[1] for item in content(tmp_path / "c")] == ["a", "b"]
    (tmp_path / "p").mkdir()
    for number in range(2):
        write(tmp_path / "p" / f"part-{number}.parquet", {"series": ["a"], "label": [number], "score": [0.5]})
    assert content(tmp_path / "p") == [("p", "a", [False, True], [0.5, 0.5])]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_of_a_partitioned_folder_are_series(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / "out"
    for number, detector in enumerate(("x", "y")):
        (folder / f"detector={detector}").mkdir(parents=True)
        for name in ("pump", "valve"):
            columns = {"label": [0, 1], "score": [0.25 + number, len(name)]}
            write(folder / f"detector={detector}" / f"{name}{suffix}", columns)
    assert content(folder) == [
        ("x", "pump", [False, True], [0.25, 4]),
        ("x", "valve", [False, True], [0.25, 5]),
        ("y", "pump", [False, True], [1.25, 4]),
        ("y", "valve", [False, True], [1.25, 5]),
    ]
    own = "files is taken as a series of its own; name the column that tells series apart with --series where that is"
    assert find_layout(open_table(folder)).notes == (
        f"{folder}: guessed label 'label', score 'score', detector 'detector'",
        f"{folder}: each of its 4 {own} not so",
    )
    # The same in a leaderboard, whose workers read some of the files each.
    board = pateval.leaderboard(folder, metrics=["auc_roc"], chance=0, event_draws=0, workers=1)
    assert (board.detectors, board.series) == (("x", "y"), ("pump", "valve"))


def test_files_of_a_partitioned_folder_that_may_be_one_series(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    for detector in "xy":  # a file each: which series it is need not be said
        (folder / f"detector={detector}").mkdir(parents=True)
        write(folder / f"detector={detector}" / f"{detector}.csv", {"label": [0, 1], "score": [0.25, 0.5]})
    assert [item[:2] for item in content(folder)] == [("x", "one"), ("y", "one")]
    folder = tmp_path / "two"
    for dataset in "ab":
        (folder / f"dataset={dataset}").mkdir(parents=True)
        write(folder / f"dataset={dataset}" / "part.csv", {"label": [0, 1], "score": [0.25, 0.5]})
    assert message_of(content, folder) == (
        f"{folder}: no column tells series apart, and {folder}/dataset=a/part.csv and {folder}/dataset=b/part.csv have "
        "the same name; name the column with --series, or rename one of the files"
    )
    source = open_table(folder)
    assert [item.series for item in scored_series(source, find_layout(source, Reading(series="dataset")))] == ["a", "b"]


def test_expand_resolves_globs_and_folders_and_leaves_the_bad_for_later(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.csv", LONG), write(tmp_path / "two.parquet", LONG)
    (tmp_path / "README.txt").write_text("x")
    (tmp_path / ".parts").mkdir()
    assert expand(tmp_path) == [one, two]
    assert expand([str(tmp_path / "*.csv"), two]) == [one, two]
    assert expand(tmp_path / "none.csv") == [tmp_path / "none.csv"]
    pattern = str(tmp_path / "q*.csv")
    assert message_of(open_table, expand(pattern)[0]) == f"{pattern}: no file matches this pattern"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_missing_column_names_the_nearest(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG)
    message = message_of(find_layout, open_table(path), Reading(score="scor"))
    assert message == (
        f"{path}: there is no score column 'scor' (did you mean 'score'?); its columns are 'series', 'label', 'score'"
    )


def test_text_in_a_score_column_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label,score\n0,0.5\n1,oops\n0,0.1\n")
    assert message_of(content, path) == (
        f"{path}: column 'score' holds text in row 2, 'oops'; scores are numbers: correct it, or leave the cell empty "
        "and say --missing ignore"
    )
    path.write_text('label,score\n0,"0,5"\n1,"0,7"\n0,"0,1"\n')
    assert message_of(content, path) == (
        f"{path}: column 'score' holds text in row 1, '0,5'; scores are numbers: write decimal points, or separate the "
        "columns by semicolons"
    )
    path.write_text("label,lstm\n0,0.5\n1,oops\n0,0.1\n")
    assert message_of(content, path) == (
        f"{path}: column 'lstm' holds text in row 2, 'oops'; scores are numbers: correct it, or leave the cell empty "
        "and say --missing ignore"
    )
    path.write_text("label,score\nnormal,0.5\nattack,1\n")
    assert message_of(content, path) == (
        f"{path}: column 'label' holds text in row 1, 'normal'; say which of 'normal', 'attack' mean an anomaly with "
        "--positive (positive=...)"
    )


def test_text_and_dates_in_other_formats(tmp_path: Path) -> None:
    text = write(tmp_path / "t.parquet", {"label": [0, 1], "score": ["0.5", "high"]})
    remedy = "scores are numbers: correct it, or leave the cell empty and say --missing ignore"
    assert message_of(content, text) == f"{text}: column 'score' holds text in row 2, 'high'; {remedy}"
    lines = tmp_path / "d.jsonl"
    lines.write_text('{"label": 0, "score": 1}\n{"label": 1, "score": "n/a"}\n')
    assert message_of(content, lines) == f"{lines}: column 'score' holds text in row 2, 'n/a'; {remedy}"
    dates = pd.DataFrame({"label": [0, 1], "score": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    assert message_of(content, dates) == (
        "the table: column 'score' holds a date or time in row 1, '2020-01-01T00:00:00.000000'; scores are numbers: "
        "name another column with --score"
    )
    lists = tmp_path / "l.jsonl"
    lists.write_text('{"label": 0, "score": [1, 2]}\n')
    assert message_of(content, lists) == (
        f"{lists}: column 'score' holds a list in row 1, '[1, 2]'; scores are numbers: name another column with --score"
    )
    times = write(tmp_path / "d.parquet", {"label": dates["score"].to_numpy(), "score": [0.1, 0.9]})
    assert message_of(content, times) == (
        f"{times}: column 'label' holds dates or times; labels are 0 or 1, or words: name another column with --label"
    )
    quoted = {"label": [0, 1], "score": ["0.5", "0.7"]}
    assert message_of(content, quoted) == (
        "the table: column 'score' holds numbers written as text; scores are numbers: store them as such"
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_labels_that_are_not_binary_name_file_and_column(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG | {"label": [0, 1, 0, 2, 1]})
    assert message_of(content, path) == (
        f"{path}: column 'label', series 'b': labels must be 0 or 1 at every step; found 2 in row 4 (1 such value in "
        "2); say which of '2', '1' mean an anomaly with --positive (positive=...)"
    )


A_MISSING_SCORE = (
    "scores must hold no missing values; found one in row 2 (1 in {}): leave such steps out with --missing ignore, or "
    "count them as never predicted with --missing normal (missing=...)"
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_missing_values_name_file_and_column(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG | {"score": [0.1, None, 0.2, 0.3, 0.4]})
    assert message_of(content, path) == f"{path}: column 'score', series 'a': {A_MISSING_SCORE.format(3)}"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_values_in_frames(make: Any) -> None:
    message = message_of(content, make(LONG | {"score": [0.1, None, 0.2, 0.3, 0.4]}))
    assert message == f"the table: column 'score', series 'a': {A_MISSING_SCORE.format(3)}"
    message = message_of(content, make(LONG | {"series": ["a", "a", None, "b", "b"]}))
    assert message == "the table: column 'series' names nothing in row 3; fill it in, or take the row out"
    nullable = pd.DataFrame(LONG).assign(series=pd.array(["a", None, "a", "b", "b"], dtype="string"))
    message = message_of(content, nullable)
    assert message == "the table: column 'series' names nothing in row 2; fill it in, or take the row out"


def test_masked_values_in_a_mapping() -> None:
    masked = np.ma.masked_array([0.5, 0.6], mask=[False, True])
    message = message_of(content, {"label": [0, 1], "score": masked})
    assert message == f"the table: column 'score': {A_MISSING_SCORE.format(2)}"


def test_truncated_and_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", LONG)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert message_of(open_table, path) == (
        f"{path}: not a readable Parquet file, perhaps truncated or damaged (Parquet magic bytes not found in footer); "
        "write or fetch it again"
    )
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])
    found = message_of(content, path)  # in brackets stand the words of the library
    assert re.sub(r"\(.{20,160}\)", "(...)", found) == (
        f"{path}: not a readable Parquet file, perhaps truncated or damaged (...); write or fetch it again"
    )
    archive = write(tmp_path / "d.npz", LONG)
    archive.write_bytes(archive.read_bytes()[:100])
    assert message_of(open_table, archive) == (
        f"{archive}: not a readable NPZ file, perhaps truncated or damaged (File is not a zip file); write or fetch it "
        "again"
    )
    table = tmp_path / "d.csv"
    table.write_text("label,score\n0,1\n1\n")
    assert message_of(open_table, table) == (
        f"{table}: row 2 has 1 cell, and the header 2; the file is damaged, or a cell with commas lacks its quotes"
    )


def test_npz_refuses_objects_ragged_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, label=np.array([0, 1]), score=np.array([0.5, "x"], dtype=object))
    assert (
        message_of(open_table, path)
        == f"{path}: array 'score' holds Python objects, which are never unpickled; save numbers instead"
    )
    np.savez(path, label=np.zeros(3), score=np.zeros(2))
    assert message_of(open_table, path) == (
        f"{path}: arrays must have equal lengths; 'label' has 3 values, 'score' has 2"
    )
    np.savez(path, label=np.zeros(3), score=np.zeros((3, 2, 2)))
    assert message_of(open_table, path) == (
        f"{path}: array 'score' has shape (3, 2, 2); one value per time step is needed"
    )
    np.savez(path)
    assert message_of(open_table, path) == (
        f"{path}: the archive holds no arrays; save them by name, with numpy.savez(path, label=..., score=...)"
    )
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert message_of(open_table, path) == (
        f"{path}: not an NPZ archive but a single array; give the file the suffix .npy"
    )


def test_jsonl_names_the_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"label": 0, "score": 1}\n\n{"label": 0, "sc\n')
    assert message_of(open_table, path) == (
        f"{path}: line 3 is not valid JSON (Unterminated string starting at); it should be an object like "
        '{"label": 0, "score": 0.1}'
    )
    path.write_text("[1, 2]\n")
    assert message_of(open_table, path) == f'{path}: line 1 is not an object like {{"label": 0, "score": 0.1}}'
    path.write_bytes(b'{"label": "\xff\xfe"}\n')
    assert message_of(open_table, path) == f"{path}: line 1 is not UTF-8, which JSON is written in; write it again"


def test_what_cannot_be_guessed_is_asked_for() -> None:
    assert message_of(find_layout, as_table({"a": [1], "b": [2]})) == (
        "the table: no column looks like labels; name it (label=..., --label) among 'a', 'b', or give the anomalies in "
        "a file of their own with --events FILE (events=...)"
    )
    assert message_of(find_layout, as_table({"label": [1], "value": [2]})) == (
        "the table: no column looks like scores; name it (score=..., --score) among 'value'; scores of values are "
        "made by 'pateval detect', as in 'pateval detect pca --data FILE -o scores'"
    )
    twice = as_table({"label": [1], "b": [2]})
    assert message_of(find_layout, twice, Reading(label="label", score="label")) == (
        "the table: column 'label' is named twice, as label and as score"
    )
    assert message_of(find_layout, twice, Reading(score=[])) == "the table: at least one score column must be named"


def test_headers_and_separators(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label,score,score\n0,1,2\n")
    assert message_of(open_table, path) == (
        f"{path}: the column name 'score' occurs more than once; rename or leave out all but one"
    )
    path.write_text("Label;Anomaly Score\n0;0.5\n1;0.7\n")
    layout = find_layout(open_table(path))
    assert (layout.label, layout.scores) == ("Label", ("Anomaly Score",))
    assert layout.notes[0] == f"{path}: columns are taken as separated by semicolons"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "a path, a data frame or a mapping of arrays is needed, not int"),
        ({"label": [0, 1], "score": [1.0]}, "columns must have equal lengths; 'label' has 2 values, 'score' has 1"),
        ({"label": [[0, 1]]}, "column 'label' has shape (1, 2); one value per time step is needed"),
        ({}, "there are no columns; labels and scores are needed"),
        ({"label": []}, "there are no rows; at least one time step is needed"),
    ],
)
def test_bad_frames_and_mappings(data: Any, message: str) -> None:
    assert message_of(as_table, data) == f"the table: {message}"


def test_inputs_are_not_changed() -> None:
    frame = pd.DataFrame(LONG)
    before = frame.copy()
    content(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_importing_loads_no_table_library() -> None:
    heavy = ("pyarrow", "narwhals", "pandas", "polars")
    code = f"import sys, pateval.io; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_published_nab_scores(real_data: Path) -> None:
    paths = expand(real_data / "scores" / "NAB")
    assert len(paths) == 16
    source = open_table(next(path for path in paths if path.stem == "random"))
    layout = find_layout(source)
    assert layout.guessed == "label 'label', score 'score', series 'series'"
    found = list(scored_series(source, layout))
    assert len(found) == 58
    assert sum(item.labels.size for item in found) == 365_558
    assert {item.detector for item in found} == {"random"}
    assert all(item.checked()[0].size == item.scores.size for item in found)
