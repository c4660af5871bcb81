"""Clocks that mislead: dates with and without time zones, floats that cannot carry their times, nanoseconds."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.io import Reading, TableError, find_layout, open_table, scored_series
from pateval.time.clocks import in_steps, nanoseconds, read_clock
from support.command_line import console
from support.messages import raises_exactly

REMEDY = "say where the latter were recorded with --time-zone ZONE (time_zone=...), or strip the others of it"
START = np.zeros(1, dtype=np.intp)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Data with a time zone, and events without one."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"2024-06-01T00:0{minute}:00Z,{minute / 10}\n" for minute in range(8))
    Path("data.csv").write_text("time,score\n" + rows)
    Path("events.csv").write_text("start,stop\n2024-06-01T02:02:00,2024-06-01T02:04:00\n")


def read(path, **reading):
    source = open_table(path)
    return next(iter(scored_series(source, find_layout(source, Reading(**reading)))))


def test_events_without_a_zone_beside_data_with_one(files):
    message = (
        "events.csv: of its dates and those of the data some have a time zone and others have none, in data.csv "
        f"'2024-06-01T00:00:00 UTC' and in events.csv '2024-06-01T02:02:00' for example; {REMEDY}"
    )
    with raises_exactly(TableError, message):
        read("data.csv", events="events.csv")
    assert console("score", "data.csv", "--events", "events.csv", status=2).err.splitlines() == [f"pateval: {message}"]


def test_the_zone_says_where_they_were_recorded(files):
    item = read("data.csv", events="events.csv", time_zone="Europe/Berlin")
    assert item.checked_labels().tolist() == [False] * 2 + [True] * 2 + [False] * 4
    asked = ["--events", "events.csv", "--time-zone", "Europe/Berlin", "--metrics", "auc_roc", "--chance", "0"]
    expected = pv.auc_roc([0, 0, 1, 1, 0, 0, 0, 0], np.arange(8) / 10)
    (row,) = json.loads(console("score", "data.csv", *asked, "--format", "json").out)
    assert row["value"] == expected
    board = pv.leaderboard("data.csv", events="events.csv", time_zone="Europe/Berlin", metrics=["auc_roc"], chance=0)
    assert board.to_frame()["value"].iloc[0] == expected


def test_data_without_a_zone_beside_events_with_one(files):
    Path("naive.csv").write_text(Path("data.csv").read_text().replace("Z", ""))
    Path("zoned.csv").write_text(Path("events.csv").read_text().replace(":00\n", ":00+02:00\n").replace("00,", "00Z,"))
    with raises_exactly(
        TableError,
        "zoned.csv: of its dates and those of the data some have a time zone and others have none, in zoned.csv "
        f"'2024-06-01T02:02:00 UTC' and in naive.csv '2024-06-01T00:00:00' for example; {REMEDY}",
    ):
        Path("zoned.csv").write_text("start,stop\n2024-06-01T02:02:00Z,2024-06-01T02:04:00Z\n")
        read("naive.csv", events="zoned.csv")


def test_start_and_stop_of_events_are_alike(files):
    Path("half.csv").write_text("start,stop\n2024-06-01T00:02:00,2024-06-01T00:04:00Z\n")
    with raises_exactly(
        TableError,
        "half.csv: dates of column 'stop' have a time zone, '2024-06-01T00:04:00 UTC', and those of 'start' have none, "
        f"'2024-06-01T00:02:00'; {REMEDY}",
    ):
        read("data.csv", events="half.csv")


def test_one_column_of_both(files):
    Path("mixed.csv").write_text("time,label,score\n2024-06-01T00:00:00Z,0,1\n2024-06-01T00:01:00,1,2\n")
    with raises_exactly(
        TableError,
        "mixed.csv: column 'time': some dates have a time zone, '2024-06-01T00:00:00Z' in row 1, and others have none, "
        f"'2024-06-01T00:01:00' in row 2; {REMEDY}",
    ):
        read("mixed.csv").checked()
    times = read("mixed.csv", time_zone="UTC").times
    assert np.diff(times).tolist() == [60 * 10**9]


def test_a_list_of_both():
    dates = ["2024-06-01T00:00:00", "2024-06-01T00:01:00+00:00"]
    with raises_exactly(
        ValueError,
        "times must all have a time zone, or all none; found '2024-06-01T00:01:00+00:00' at index 1 and "
        "'2024-06-01T00:00:00' at index 0: give all of them a zone, or none",
    ):
        pv.evaluate([0, 1], [0.1, 0.2], times=dates)


@pytest.mark.parametrize(
    "zoned",
    [
        "20240601T000000+0200",
        "2024-06-01T00+02:00",
        "2024-06-01T00-02",
        "2024-06-01T00:00:00.5+02:00:30",
        "2024-W22-6T00+01:00",
        "01.06.2024 00:00+02",
    ],
)
def test_every_way_to_write_a_zone_is_one(zoned):
    for naive in ("20240601T030000", "2024-06-02", "2024-W22-7", "2024-06-01T03:00:00.5", "01.06.2024 03:00"):
        with raises_exactly(
            ValueError,
            f"times must all have a time zone, or all none; found '{zoned}' at index 0 and '{naive}' at index 1: give "
            "all of them a zone, or none",
        ):
            pv.evaluate([0, 1], [0.1, 0.2], times=[zoned, naive])


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "chunked"])
def test_columns_of_frames_know_their_zone(files, kind):
    """By themselves and in a mapping; pandas and data frames do, too."""
    dates = pa.array(pd.date_range("2024-06-01", periods=8, freq="min", tz="Europe/Berlin", unit="us"))
    times = {"polars": pl.from_arrow(dates), "pyarrow": dates, "chunked": pa.chunked_array([dates])}[kind]
    with pytest.raises(ValueError, match="intervals and times must both have a time zone, or both none"):
        pv.labels_from_intervals([("2024-06-01", "2024-06-02")], times)
    with raises_exactly(
        TableError,
        "events.csv: of its dates and those of the data some have a time zone and others have none, in the table "
        f"'2024-05-31T22:00:00.000000 UTC' and in events.csv '2024-06-01T02:02:00' for example; {REMEDY}",
    ):
        pv.leaderboard({"time": times, "score": np.arange(8)}, events="events.csv")


@pytest.mark.parametrize("shape", ["one file", "folders of CSV files", "folders of Parquet files"])
def test_a_later_series_of_the_other_kind(tmp_path, monkeypatch, shape):
    """The first series goes with the events; the second does not, though it is written beside it."""
    monkeypatch.chdir(tmp_path)
    naive = pd.date_range("2024-06-01", periods=8, freq="min")
    frames = {"a": pd.DataFrame({"time": naive, "score": np.arange(8.0)})}
    frames["b"] = frames["a"].assign(time=naive.tz_localize("UTC"))
    rows = [f"{name},2024-06-01T00:02:00,2024-06-01T00:04:00\n" for name in frames]
    Path("events.csv").write_text("series,start,stop\n" + "".join(rows))
    if shape == "one file":
        pd.concat([frame.astype({"time": str}).assign(series=name) for name, frame in frames.items()]).to_csv("data")
        Path("data").rename("data.csv")
    for name, frame in frames.items() if shape != "one file" else ():
        folder = Path(f"data/series={name}")
        folder.mkdir(parents=True)
        frame.to_csv(folder / "0.csv", index=False) if "CSV" in shape else frame.to_parquet(folder / "0.parquet")
    with pytest.raises(TableError, match=r"column 'time', series 'b' '2024-06-01[T ]00:00:00.*' and in events.csv"):
        pv.leaderboard("data.csv" if shape == "one file" else "data", events="events.csv", workers=1)


@pytest.mark.parametrize("first", ["naive", "zoned"])
def test_two_files_of_one_series(tmp_path, monkeypatch, first):
    """Each goes with itself; nobody knows how the detectors lie to each other."""
    monkeypatch.chdir(tmp_path)
    times = pd.date_range("2024-06-01", periods=8, freq="min")
    frame = pd.DataFrame({"series": "s", "label": [0, 0, 1, 1, 0, 0, 0, 0], "score": np.arange(8) / 10})
    frame.assign(time=times).to_csv("naive.csv", index=False)
    frame.assign(time=times.tz_localize("Europe/Berlin").as_unit("us")).to_parquet("zoned.parquet")
    frame.assign(time=times.strftime("%Y-%m-%dT%H:%M:%SZ"), series="other").to_csv("other.csv", index=False)
    files = sorted(["naive.csv", "zoned.parquet"], reverse=first == "zoned")
    message = (
        f"{files[1]}: on series 's' some dates have a time zone and others have none, in zoned.parquet "
        f"'2024-05-31T22:00:00.000000 UTC' and in naive.csv '2024-06-01T00:00:00' for example; {REMEDY}"
    )
    with raises_exactly(TableError, message):
        pv.leaderboard(files, metrics="auc_roc", chance=0, workers=1)
    for command in ("score", "compare", "leaderboard"):
        assert console(command, *files, "--metrics", "auc_roc", status=2).err.splitlines()[-1] == f"pateval: {message}"
    asked = {"metrics": "auc_roc", "chance": 0, "workers": 1}
    assert np.unique(pv.leaderboard(files, time_zone="Europe/Berlin", **asked).values).size == 1
    assert pv.leaderboard(["naive.csv", "other.csv"], **asked).series == ("other", "s")


def test_intervals_beside_times():
    with raises_exactly(
        ValueError,
        "intervals and times must both have a time zone, or both none; got '2024-06-01' and '2024-06-01T00:00Z': give "
        "both a zone, or neither",
    ):
        pv.labels_from_intervals([("2024-06-01", "2024-06-02")], ["2024-06-01T00:00Z", "2024-06-01T12:00Z"])


def test_a_zone_that_is_none():
    with raises_exactly(ValueError, "time_zone must be a time zone such as 'UTC' or 'Europe/Berlin'; got 'Mars'"):
        Reading(time_zone="Mars")


def test_zones_of_parquet_files(tmp_path):
    """Batches are put together again, which must not lose the zone."""
    zoned = pd.date_range("2024-06-01", periods=300_000, freq="s", tz="Europe/Berlin")
    table = pa.table({"time": zoned, "label": np.arange(300_000) % 2, "score": np.zeros(300_000)})
    pq.write_table(table, tmp_path / "d.parquet")
    item = read(tmp_path / "d.parquet", time_zone="Asia/Tokyo")  # which concerns only dates that have none
    assert item.times[0] == zoned[0].value
    pq.write_table(table.set_column(0, "time", pa.array(zoned.tz_localize(None))), tmp_path / "n.parquet")
    item = read(tmp_path / "n.parquet", time_zone="Europe/Berlin")
    assert item.times[-1] == zoned[-1].value


def test_summer_time():
    """Of the hour that comes twice the first; an offset changes where it does."""
    dates = pd.date_range("2024-10-26 00:07", periods=400, freq="15min")
    expected = dates.tz_localize("Europe/Berlin", ambiguous=np.ones(400, dtype=bool)).as_unit("ns").asi8
    clock = [read_values(dates.strftime("%Y-%m-%d %H:%M"), "Europe/Berlin"), read_values(dates, "Europe/Berlin")]
    assert all(np.array_equal(found, expected) for found in clock)


def read_values(values, zone):
    from pateval.time.dates import time_numbers

    return time_numbers(np.asarray(values), zone=zone)[0]


def test_alarms_and_incidents(files):
    Path("alarms.csv").write_text("time\n2024-06-01T00:02:00Z\n")
    Path("incidents.csv").write_text("start,stop\n2024-06-01T02:01:00,2024-06-01T02:04:00\n")
    message = (
        "alarms.csv has dates with a time zone ('2024-06-01T00:02:00 UTC'), and incidents.csv has dates without a time "
        f"zone ('2024-06-01T02:01:00'), so that nobody knows how they lie to each other; {REMEDY}"
    )
    with raises_exactly(TableError, message):
        pv.judge_alarm_files("alarms.csv", "incidents.csv")
    found = pv.judge_alarm_files("alarms.csv", "incidents.csv", time_zone="Europe/Berlin")
    assert found["alarms"].found == 1
    console("alarms", "alarms.csv", "--incidents", "incidents.csv", "--time-zone", "Europe/Berlin")
    with raises_exactly(
        TableError,
        "the scores has dates with a time zone ('2024-06-01T00:00:00Z'), and incidents has dates without a time zone "
        f"('2024-06-01'), so that nobody knows how they lie to each other; {REMEDY}",
    ):
        times = ["2024-06-01T00:00:00Z", "2024-06-01T00:01:00Z"]
        pv.alarm_frontier(None, [0.1, 0.2], times=times, incidents=[("2024-06-01", "2024-06-02")])


# What a recording of one minute is in other units and origins: seconds since 1970, days of Excel, of Julius, of MATLAB.
UNITS = {"ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


@given(
    intervals=st.lists(st.integers(1, 40), min_size=8, max_size=30),
    tick=st.sampled_from([10, 50, 1000, 60_000, 3_600_000]),  # milliseconds
    unit=st.sampled_from(sorted(UNITS)),
    origin=st.sampled_from([0, 45_000 * 86_400_000, 19_800 * 86_400_000, -3 * 86_400_000]),
    data=st.data(),
)
def test_floats_give_what_integers_give(intervals, tick, unit, origin, data):
    milliseconds = origin + tick * np.cumsum(intervals)
    size = milliseconds.size
    labels = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size).filter(any))
    scores = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    floats = milliseconds / (UNITS[unit] / 10**6)
    lengths = {
        "early": f"{3 * tick}ms",
        "delay": f"{5 * tick}ms",
        "max_gap": f"{7 * tick}ms",
        "window": f"{3 * tick}ms",
    }
    asked = {"metrics": ["pate", "pate_ap", "vus_pr"], "chance": 0, **lengths}
    exact = pv.evaluate(labels, scores, times=milliseconds, time_unit="ms", **asked)
    found = pv.evaluate(labels, scores, times=floats, time_unit=unit, **asked)
    assert {name: found[name] for name in asked["metrics"]} == {name: exact[name] for name in asked["metrics"]}


@pytest.mark.parametrize(
    ("times", "unit", "gap"),
    [
        (45_000 + np.arange(40) / 1440, "d", "1min"),  # Excel
        (1.7e9 + np.arange(40) / 100, "s", "10ms"),  # 100 Hz since 1970
        (2_460_000.5 + np.arange(40) / 86_400, "d", "1s"),  # Julian days
        (739_000 + np.arange(40) / 1440, "d", "1min"),  # MATLAB
        (1.7e9 + np.cumsum(np.full(40, 1 / 3)), "s", "333.333333334ms"),  # no grid of whole units
        ((np.arange(40) / 10).astype(np.float32), "s", "100ms"),
    ],
)
def test_a_gap_as_long_as_the_interval_parts_nothing(times, unit, gap):
    labels = np.arange(40) % 20 >= 15
    scores = np.sin(np.arange(40))
    whole = pv.pate_ap(labels, scores, times=times, time_unit=unit, early=gap, delay=gap)
    assert pv.pate_ap(labels, scores, times=times, time_unit=unit, early=gap, delay=gap, max_gap=gap) == whole


def test_what_lies_beside_a_grid_stays_as_it_is():
    thirds = np.arange(5) / 3
    assert read_clock(thirds, 5, START, "s").times is not None
    assert read_clock(thirds, 5, START, "s").times.dtype.kind == "f"
    below = read_clock(np.arange(5) / 10, 5, START, "ns")  # a tenth of a nanosecond
    assert below.times.tolist() == (np.arange(5) / 10).tolist()
    assert read_clock(np.arange(5) / 10, 5, START, "s").as_given().times.tolist() == (np.arange(5) / 10).tolist()


def test_halves_round_one_way():
    for unit, size in UNITS.items():
        clock = read_clock(np.arange(9) * 2 * 10**9 / size, 9, START, unit)
        steps = [in_steps(f"{seconds}s", clock.median_interval(), clock) for seconds in (13, 15, 17, 19)]
        assert steps == [7, 8, 9, 10], unit


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-01T00:00:00.000000100", "2024-01-01T00:00:00.0000002"],
        ["2024-01-01T00:00:00.000000100Z", "2024-01-01T02:00:00.000000200+02:00"],
        ["01.01.2024 00:00:00.000000100", "01.01.2024 00:00:00.000000200"],
        [pd.Timestamp("2024-01-01T00:00:00.000000100"), pd.Timestamp("2024-01-01T00:00:00.000000200")],
        [pd.Timestamp("2024-01-01T00:00:00.000000100Z"), pd.Timestamp("2024-01-01T00:00:00.000000200Z")],
        pd.period_range("2024-01-01T00:00:00.000000100", periods=2, freq="100ns"),
    ],
)
def test_nanoseconds_stay(times):
    begin = 1_704_067_200 * 10**9
    assert read_clock(times, 2, START).times.tolist() == [begin + 100, begin + 200]


def test_what_is_finer_is_refused(tmp_path):
    text = "2024-01-01T00:00:00.0000000001"
    (tmp_path / "a.csv").write_text(f"time,label,score\n{text},0,1\n2024-01-01T00:00:01,1,2\n")
    with raises_exactly(
        TableError,
        f"{tmp_path / 'a.csv'}: column 'time': the value in row 1, '{text}', has more digits than nanoseconds; correct "
        "it, or read without times by --time none",
    ):
        read(tmp_path / "a.csv", time="time").checked()


@pytest.mark.parametrize("kind", ["index", "list", "column"])
def test_periods_keep_the_time_of_day(kind):
    periods = pd.period_range("2024-01-01 05:00", periods=3, freq="h")
    given = {"index": periods, "list": list(periods), "column": pd.Series(periods)}[kind]
    assert np.diff(read_clock(given, 3, START).times).tolist() == [3600 * 10**9] * 2
    frame = pd.DataFrame({"label": [0, 1, 0], "score": [0.1, 0.2, 0.3]}, index=periods)
    board = pv.leaderboard(frame, metrics=["pate_ap"], early="1h", delay="1h", chance=0)
    expected = pv.pate_ap(frame["label"], frame["score"], times="index", early="1h", delay="1h")
    assert board.to_frame()["value"].iloc[0] == expected


def test_differences_beyond_292_years():
    with raises_exactly(ValueError, "early must be shorter than 292 years; got 200000 days"):
        pv.pate([0, 1], [0.1, 0.2], times=[0, 1], time_unit="s", early=np.timedelta64(200_000, "D"), delay="1s")
    with raises_exactly(ValueError, "early must be shorter than 292 years; got '200000d'"):
        pv.pate([0, 1], [0.1, 0.2], times=[0, 1], time_unit="s", early="200000d", delay="1s")
    with raises_exactly(ValueError, "times must be below 292 years; found 200000 days at index 1"):
        pv.pate([0, 1], [0.1, 0.2], times=np.array([0, 200_000], "timedelta64[D]"), early="1s", delay="1s")
    assert nanoseconds(np.timedelta64(5, "25s")) == nanoseconds(datetime.timedelta(seconds=125))
    assert nanoseconds(np.timedelta64(1500, "ps")) * 2 == 3
