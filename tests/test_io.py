"""Files and frames in: every layout, every format, every way a file can be bad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pateval.io import (
    ParquetFiles,
    Table,
    TableError,
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
    layout = find_layout(table, **names)
    return [
        (item.detector, item.series, item.checked()[0].tolist(), item.checked()[1].tolist())
        for item in scored_series(table, layout)
    ]


def error(call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(TableError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


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
    layout = find_layout(open_table(path), label="truth", score="out", series="s")
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
        assert note is not None
        assert "series 'a' and 1 more are not contiguous" in note
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


def test_expand_resolves_globs_and_folders_and_leaves_the_bad_for_later(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one.csv", LONG), write(tmp_path / "two.parquet", LONG)
    (tmp_path / "README.txt").write_text("x")
    (tmp_path / ".parts").mkdir()
    assert expand(tmp_path) == [one, two]
    assert expand([str(tmp_path / "*.csv"), two]) == [one, two]
    assert expand(tmp_path / "none.csv") == [tmp_path / "none.csv"]
    assert "no file matches this pattern" in error(open_table, expand(str(tmp_path / "q*.csv"))[0])


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".npz"])
def test_missing_column_names_the_nearest(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG)
    message = error(find_layout, open_table(path), score="scor")
    assert message == (
        f"{path}: there is no score column 'scor' (did you mean 'score'?); its columns are 'series', 'label', 'score'"
    )


def test_text_in_a_score_column_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label,score\n0,0.5\n1,oops\n0,0.1\n")
    assert error(content, path) == (
        f"{path}: column 'score' holds text in row 2, 'oops'; scores are numbers: correct it, or leave the cell empty "
        "and say --missing ignore"
    )
    path.write_text('label,score\n0,"0,5"\n1,"0,7"\n0,"0,1"\n')
    assert error(content, path) == (
        f"{path}: column 'score' holds text in row 1, '0,5'; scores are numbers: write decimal points, or separate the "
        "columns by semicolons"
    )
    path.write_text("label,lstm\n0,0.5\n1,oops\n0,0.1\n")
    assert "column 'lstm' holds text in row 2, 'oops'" in error(content, path)
    path.write_text("label,score\nnormal,0.5\nattack,1\n")
    assert "column 'label' holds text in row 1, 'normal'; say which of 'normal', 'attack' mean" in error(content, path)


def test_text_and_dates_in_other_formats(tmp_path: Path) -> None:
    text = write(tmp_path / "t.parquet", {"label": [0, 1], "score": ["0.5", "high"]})
    assert "column 'score' holds text in row 2, 'high'" in error(content, text)
    lines = tmp_path / "d.jsonl"
    lines.write_text('{"label": 0, "score": 1}\n{"label": 1, "score": "n/a"}\n')
    assert "column 'score' holds text in row 2, 'n/a'" in error(content, lines)
    dates = pd.DataFrame({"label": [0, 1], "score": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    assert "column 'score' holds a date or time in row 1" in error(content, dates)
    lists = tmp_path / "l.jsonl"
    lists.write_text('{"label": 0, "score": [1, 2]}\n')
    assert "column 'score' holds a list in row 1" in error(content, lists)
    quoted = {"label": [0, 1], "score": ["0.5", "0.7"]}
    assert "column 'score' holds numbers written as text" in error(content, quoted)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_labels_that_are_not_binary_name_file_and_column(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG | {"label": [0, 1, 0, 2, 1]})
    message = error(content, path)
    assert message.startswith(
        f"{path}: column 'label', series 'b': labels must be 0 or 1 at every step; found 2 in row 4"
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_missing_values_name_file_and_column(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"d{suffix}", LONG | {"score": [0.1, None, 0.2, 0.3, 0.4]})
    message = error(content, path)
    assert message.startswith(
        f"{path}: column 'score', series 'a': scores must hold no missing values; found one in row 2"
    )


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_values_in_frames(make: Any) -> None:
    assert "column 'score', series 'a': scores must" in error(
        content, make(LONG | {"score": [0.1, None, 0.2, 0.3, 0.4]})
    )
    assert "column 'series' names nothing in row 3" in error(
        content, make(LONG | {"series": ["a", "a", None, "b", "b"]})
    )
    nullable = pd.DataFrame(LONG).assign(series=pd.array(["a", None, "a", "b", "b"], dtype="string"))
    assert "column 'series' names nothing in row 2" in error(content, nullable)


def test_masked_values_in_a_mapping() -> None:
    masked = np.ma.masked_array([0.5, 0.6], mask=[False, True])
    assert "scores must hold no missing values" in error(content, {"label": [0, 1], "score": masked})


def test_truncated_and_damaged_files(tmp_path: Path) -> None:
    path = write(tmp_path / "d.parquet", LONG)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert error(open_table, path).startswith(f"{path}: not a readable Parquet file, perhaps truncated or damaged")
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])
    assert str(path) in error(content, path)
    path.write_bytes(b"")
    assert error(open_table, path) == f"{path}: the file is empty"
    archive = write(tmp_path / "d.npz", LONG)
    archive.write_bytes(archive.read_bytes()[:100])
    assert "not a readable NPZ file" in error(open_table, archive)
    table = tmp_path / "d.csv"
    table.write_text("label,score\n0,1\n1\n")
    assert error(open_table, table) == (
        f"{table}: row 2 has 1 cells, and the header 2; the file is damaged, or a cell with commas lacks its quotes"
    )


def test_npz_refuses_objects_ragged_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, label=np.array([0, 1]), score=np.array([0.5, "x"], dtype=object))
    assert (
        error(open_table, path)
        == f"{path}: array 'score' holds Python objects, which are never unpickled; save numbers instead"
    )
    np.savez(path, label=np.zeros(3), score=np.zeros(2))
    assert "arrays must have equal lengths; 'label' has 3 values, 'score' has 2" in error(open_table, path)
    np.savez(path, label=np.zeros(3), score=np.zeros((3, 2, 2)))
    assert "array 'score' has shape (3, 2, 2)" in error(open_table, path)
    np.savez(path)
    assert error(open_table, path) == f"{path}: the archive holds no arrays"
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    assert "not an NPZ archive" in error(open_table, path)


def test_jsonl_names_the_broken_line(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"label": 0, "score": 1}\n\n{"label": 0, "sc\n')
    assert error(open_table, path).startswith(f"{path}: line 3 is not valid JSON")
    path.write_text("[1, 2]\n")
    assert f"{path}: line 1 is not an object" in error(open_table, path)
    path.write_bytes(b'{"label": "\xff\xfe"}\n')
    assert error(open_table, path) == f"{path}: line 1 is not UTF-8, which JSON is written in; write it again"


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_no_rows(tmp_path: Path, suffix: str) -> None:
    if suffix == ".csv":
        path = tmp_path / "d.csv"
        path.write_text("label,score\n")
    else:
        path = write(tmp_path / f"d{suffix}", {"label": [], "score": []})
    assert error(open_table, path) == f"{path}: the table holds no rows"


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    assert error(open_table, tmp_path / "no.csv") == f"{tmp_path / 'no.csv'}: there is no such file or folder"
    assert "the folder holds no data files" in error(open_table, tmp_path)
    write(tmp_path / "a.csv", LONG)
    assert "a folder is one table only if" in error(open_table, tmp_path)
    (tmp_path / "a.xlsx").write_text("x")
    assert "a.xlsx: spreadsheets are not read; save the sheet as CSV UTF-8" in error(open_table, tmp_path / "a.xlsx")
    (tmp_path / "noext").write_text("x")
    assert "the file has no suffix" in error(open_table, tmp_path / "noext")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are a POSIX matter")
def test_no_permission(tmp_path: Path) -> None:
    path = write(tmp_path / "secret.csv", LONG)
    path.chmod(0)
    root = os.geteuid() == 0
    try:
        if root:
            os.seteuid(65534)
        message = error(open_table, path)
    finally:
        if root:
            os.seteuid(0)
    assert message == f"{path}: no permission to read it"


def test_what_cannot_be_guessed_is_asked_for() -> None:
    assert "no column looks like labels; name it (label=..., --label) among 'a', 'b'" in error(
        find_layout, as_table({"a": [1], "b": [2]})
    )
    assert "no column looks like scores" in error(find_layout, as_table({"label": [1], "value": [2]}))
    assert "column 'label' is named twice, as label and as score" in error(
        find_layout, as_table({"label": [1], "b": [2]}), label="label", score="label"
    )
    assert "at least one score column" in error(find_layout, as_table({"label": [1], "b": [2]}), score=[])


def test_headers_and_separators(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("label,score,score\n0,1,2\n")
    assert error(open_table, path) == (
        f"{path}: the column name 'score' occurs more than once; rename or leave out all but one"
    )
    path.write_text("Label;Anomaly Score\n0;0.5\n1;0.7\n")
    layout = find_layout(open_table(path))
    assert (layout.label, layout.scores) == ("Label", ("Anomaly Score",))
    assert layout.notes[0] == f"{path}: columns are taken as separated by semicolons"


def test_bad_frames_and_mappings() -> None:
    assert "not int" in error(as_table, 3)
    assert "columns must have equal lengths" in error(as_table, {"label": [0, 1], "score": [1.0]})
    assert "has shape (1, 2)" in error(as_table, {"label": [[0, 1]]})
    assert "there are no columns" in error(as_table, {})
    assert "holds no rows" in error(as_table, {"label": []})


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
