"""Times in files and tables: found by name, checked for order, handed on as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pateval.io import Reading, as_table, find_layout, list_units, open_table, read_units, scored_series
from support.messages import message_of, raises_exactly

if TYPE_CHECKING:
    from pathlib import Path

HOURS = ["2024-01-01 00:00:00", "2024-01-01 01:00:00", "2024-01-01 02:30:00"]
NANOSECONDS = (np.array(HOURS, dtype="datetime64[ns]")).astype(np.int64)
TABLE = {"timestamp": HOURS, "label": [0, 1, 0], "score": [0.1, 0.9, 0.2]}


def csv(path: Path, columns: dict[str, Any]) -> Path:
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    return path


def items(source: Any, **names: Any) -> list[Any]:
    table = as_table(source)
    return list(scored_series(table, find_layout(table, Reading(**names))))


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_dates_of_a_csv_are_nanoseconds(tmp_path: Path, zone: str) -> None:
    path = csv(tmp_path / "d.csv", TABLE | {"timestamp": [hour.replace(" ", "T") + zone for hour in HOURS]})
    (item,) = items(path)
    np.testing.assert_array_equal(item.times, NANOSECONDS)
    assert item.times.dtype == np.int64
    assert (item.time_unit, item.has_dates) == ("ns", True)
    assert find_layout(open_table(path)).notes == (f"{path}: guessed label 'label', score 'score', time 'timestamp'",)


def test_a_zone_is_moved_to_universal_time(tmp_path: Path) -> None:
    path = csv(tmp_path / "d.csv", TABLE | {"timestamp": [hour.replace(" ", "T") + "+02:00" for hour in HOURS]})
    np.testing.assert_array_equal(items(path)[0].times, NANOSECONDS - 2 * 3600 * 10**9)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
@pytest.mark.parametrize("zone", [None, "Europe/Amsterdam"])
def test_dates_of_frames(make: Any, zone: str | None) -> None:
    dates = pd.to_datetime(HOURS)
    if zone is not None:
        dates = dates.tz_localize("UTC").tz_convert(zone)
    frame = pd.DataFrame(TABLE | {"timestamp": dates})
    (item,) = items(make(dict(frame)) if make is dict else make(frame) if make is pl.DataFrame else frame)
    np.testing.assert_array_equal(item.times, NANOSECONDS)


def test_dates_written_as_text_in_a_mapping_and_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table(TABLE), path)
    for source in (TABLE, path):
        np.testing.assert_array_equal(items(source)[0].times, NANOSECONDS)


def test_numbers_stay_numbers_and_have_the_unit_that_is_named() -> None:
    (item,) = items(TABLE | {"timestamp": [0.5, 1.5, 7.0]})
    assert (item.times.tolist(), item.time_unit, item.has_dates) == ([0.5, 1.5, 7.0], None, False)
    (item,) = items(TABLE | {"timestamp": [1, 2, 3]}, time_unit="ms")
    assert (item.times.dtype, item.time_unit) == (np.int64, "ms")


def test_a_unit_that_is_none() -> None:
    with raises_exactly(ValueError, "time_unit must have a unit of ns, us, ms, s, min, h, d or w; got 'parsec'"):
        items(TABLE, time_unit="parsec")


def test_without_a_column_of_times_there_are_none() -> None:
    (item,) = items({"label": [0, 1], "score": [0.1, 0.2]})
    assert (item.times, item.time_unit, item.ignore) == (None, None, None)
    assert items(TABLE | {"timestamp": HOURS[::-1]}, time="none")[0].times is None


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (
            [HOURS[0], HOURS[2], HOURS[1]],
            (
                "the time in row 3, 2024-01-01 01:00:00, lies before the one in row 2, 2024-01-01 02:30:00 "
                "(1 such place); sort the rows with --sort (sort=True), name the column that tells series apart "
                "with --series, or read without times by --time none"
            ),
        ),
        (
            [HOURS[0], HOURS[0], HOURS[0]],
            (
                "the time in row 2, 2024-01-01 00:00:00, is the same as the one in row 1, 2024-01-01 00:00:00 "
                "(2 such places); leave out all but one of the rows with the same time (2 too many), name the column "
                "that tells series apart with --series, or read without times by --time none"
            ),
        ),
    ],
)
def test_times_that_do_not_increase(tmp_path: Path, times: list[str], message: str) -> None:
    path = csv(tmp_path / "d.csv", TABLE | {"timestamp": times})
    (item,) = items(path)
    for ask in (item.checked, item.checked_labels):
        assert message_of(ask) == f"{path}: column 'timestamp': {message}"


def test_the_row_is_that_of_the_file_whatever_lies_between(tmp_path: Path) -> None:
    columns = {
        "series": ["a", "b", "a", "b", "a", "b"],
        "timestamp": [1, 1, 2, 3, 3, 2],
        "label": [0, 0, 1, 1, 0, 0],
        "score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    }
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    for source, where in ((columns, "the table"), (path, path)):
        good, bad = items(source)
        assert good.checked()[1].tolist() == [0.1, 0.3, 0.5]
        assert message_of(bad.checked) == (
            f"{where}: column 'timestamp', series 'b': the time in row 6, 2, lies before the one in row 4, 3 (1 such "
            "place); sort the rows with --sort (sort=True), or read without times by --time none"
        )


def test_the_file_of_a_partitioned_folder_is_named(tmp_path: Path) -> None:
    for name, times in (("a", [1, 2, 3]), ("b", [1, 3, 2])):
        (tmp_path / "all" / f"series={name}").mkdir(parents=True)
        table = pa.table({"timestamp": times, "label": [0, 1, 0], "score": [0.1, 0.2, 0.3]})
        pq.write_table(table, tmp_path / "all" / f"series={name}" / "x.parquet")
    _, bad = items(tmp_path / "all")
    place = tmp_path / "all" / "series=b" / "x.parquet"
    assert message_of(bad.checked) == (
        f"{place}: column 'timestamp', series 'b': the time in row 3, 2, lies before the one in row 2, 3 (1 such "
        "place); sort the rows with --sort (sort=True), or read without times by --time none"
    )


def test_sorting_is_announced_and_moves_all_columns_alike(tmp_path: Path) -> None:
    path = csv(
        tmp_path / "d.csv",
        {"timestamp": [3, 1, 2], "label": [1, 0, 0], "score": [0.3, 0.1, 0.2], "off": [0, 0, 1]},
    )
    layout = find_layout(open_table(path), Reading(sort=True, ignore="off"))
    assert layout.notes[-1] == f"{path}: the rows of each series are sorted by 'timestamp'"
    (item,) = read_units(open_table(path), layout, list_units(open_table(path), layout))
    labels, scores = item.checked()
    assert (item.times.tolist(), labels.tolist(), scores.tolist()) == ([1, 2, 3], [False, False, True], [0.1, 0.2, 0.3])
    assert item.ignore.tolist() == [False, True, False]
    assert [item.row(index) for index in range(3)] == [2, 3, 1]


def test_sorting_does_not_hide_repeated_times(tmp_path: Path) -> None:
    path = csv(tmp_path / "d.csv", {"timestamp": [3, 1, 3], "label": [1, 0, 0], "score": [0.3, 0.1, 0.2]})
    assert message_of(items(path, sort=True)[0].checked) == (
        f"{path}: column 'timestamp': the time in row 3, 3, is the same as the one in row 1, 3 "
        "(1 such place); leave out all but one of the rows with the same time (1 too many), name the column that tells "
        "series apart with --series, or read without times by --time none"
    )


def test_sorting_needs_times() -> None:
    message = "the table: no column looks like times to sort the rows by; name it with --time"
    assert message_of(items, {"label": [0, 1], "score": [0.1, 0.2]}, sort=True) == message


def test_missing_times(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("timestamp,label,score\n2024-01-01,0,0.1\n,1,0.2\n2024-01-03,0,0.3\n")
    assert message_of(items(path)[0].checked) == (
        f"{path}: column 'timestamp': the time in row 2 is missing (1 such row); fill it in, or read "
        "without times by --time none"
    )


def test_text_that_is_no_date_is_not_taken_for_times(tmp_path: Path) -> None:
    path = csv(tmp_path / "d.csv", TABLE | {"timestamp": ["01/02/2024 10:00", "01/02/2024 11:00", "01/02/2024 12:00"]})
    layout = find_layout(open_table(path))
    assert layout.time is None
    assert layout.notes[0] == f"{path}: guessed label 'label', score 'score'"
    assert layout.notes[1] == (
        f"{path}: column 'timestamp' is not used as time: '01/02/2024 10:00' is neither a date such as "
        "2024-01-31T12:00:00 nor a number"
    )
    assert message_of(items(path, time="timestamp")[0].checked) == (
        f"{path}: column 'timestamp': the value in row 1, '01/02/2024 10:00', is neither a date "
        "such as 2024-01-31T12:00:00 nor a number; correct it, or read without times by --time none"
    )


def test_an_unsigned_integer_that_is_no_time() -> None:
    columns = {"time": np.array([1, 2**63], np.uint64), "label": [0, 1], "score": [0.1, 0.2]}
    assert message_of(items(columns, time="time")[0].checked) == (
        "the table: column 'time': the value in row 2, '9223372036854775808', is more than 64 bits can count; correct "
        "it, or read without times by --time none"
    )


def test_dates_among_numbers(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"time": 1, "label": 0, "score": 0.1}\n{"time": "2024-01-01", "label": 1, "score": 0.9}\n')
    assert message_of(items(path)[0].checked) == (
        f"{path}: column 'time': some times are dates, and others numbers; write all of them alike"
    )


def test_of_two_columns_none_is_taken() -> None:
    layout = find_layout(as_table(TABLE | {"time": [1, 2, 3]}))
    assert layout.time is None
    assert layout.notes[-1] == "the table: 'timestamp', 'time' look like times, and none is used; name one with --time"
    assert find_layout(as_table(TABLE | {"time": [1, 2, 3]}), Reading(time="time")).time == "time"


def test_ignored_steps_need_neither_label_nor_score() -> None:
    nan = float("nan")
    data = {"label": [0, None, 1], "score": [0.1, nan, 0.3], "off": [0, 1, 0]}
    (item,) = items(data, ignore="off")
    labels, scores = item.checked()
    assert labels.tolist() == [False, False, True]
    np.testing.assert_array_equal(scores, [0.1, nan, 0.3])
    (item,) = items(data | {"off": [1, 0, 0]}, ignore="off")
    assert message_of(item.checked) == (
        "the table: column 'label': labels must hold no missing values; found one in row 2 (1 in 3): fill it in, or "
        "leave such steps out with --ignore COLUMN (ignore=...)"
    )
    (item,) = items(data | {"label": [0, 0, 1], "off": [1, 0, 0]}, ignore="off")
    assert message_of(item.checked) == (
        "the table: column 'score': scores must be finite at every step; found NaN in row 2 (1 such value in 3): leave "
        "such steps out with --missing ignore, or count them as never predicted with --missing normal (missing=...)"
    )
    np.testing.assert_array_equal(item.checked(allow_missing=True)[1], [0.1, nan, 0.3])
    (item,) = items(data | {"off": [0, 2, 0]}, ignore="off")
    assert message_of(item.checked) == (
        "the table: column 'off': the steps to ignore must be 0 or 1 at every step; found 2 in row 2 (1 such value "
        "in 3)"
    )


def test_columns_are_named_once() -> None:
    message = "the table: column 'timestamp' is named twice, as time and as steps to ignore"
    assert message_of(items, TABLE, time="timestamp", ignore="timestamp") == message
    assert message_of(items, TABLE, time="timestam") == (
        "the table: there is no time column 'timestam' (did you mean 'timestamp'?); its columns are 'timestamp', "
        "'label', 'score'"
    )


@pytest.mark.parametrize("dates", [["9999-01-01", "9999-01-02"], np.array(["9999-01-01", "9999-01-02"], dtype="M8[s]")])
def test_dates_that_nanoseconds_cannot_count_are_refused(dates: Any) -> None:
    (item,) = items({"time": dates, "label": [0, 1], "score": [0.1, 0.2]}, time="time")
    shown = str(dates[0])
    assert message_of(item.checked) == (
        f"the table: column 'time': the value in row 1, '{shown}', lies outside the years 1678 to 2261; correct it, or "
        "read without times by --time none"
    )
    layout = find_layout(as_table({"time": dates, "label": [0, 1], "score": [0.1, 0.2]}))
    assert layout.notes[-1] == (
        f"the table: column 'time' is not used as time: '{shown}' lies outside the years 1678 to 2261"
    )
