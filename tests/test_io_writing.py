"""Tables out: whole files or none, one renderer, one frame builder, CSV as a row-by-row writer would have it."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pateval.io.atomic import as_csv, replacing, write_csv, write_parquet, write_text
from pateval.output.harmless import csv_text
from pateval.output.results import build_frame
from pateval.output.text_table import FORMATS, plain, render
from support.messages import raises_exactly


def test_what_was_there_stays_until_the_new_is_whole(tmp_path):
    target = tmp_path / "result.txt"
    write_text("old", target)

    def break_off():
        with replacing(target) as draft:
            draft.write_text("half")
            assert target.read_text() == "old"
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert target.read_text() == "old"
    write_text("new", target)
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]
    assert target.read_text() == "new"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device that is always full")
def test_a_full_disk_is_named_with_the_path(tmp_path):
    target = tmp_path / "result.csv"
    write_text("old", target)

    def fill(path):
        with replacing(path) as draft, open("/dev/full", "w") as full:
            draft.touch()
            full.write("x")
            full.flush()

    with pytest.raises(OSError) as caught:  # noqa: PT011  # asserted whole below
        fill(target)
    assert caught.value.errno == errno.ENOSPC
    assert str(caught.value) == (
        "[Errno 28] the file could not be written (No space left on device); make room there, or write to another "
        f"place: '{target}'"
    )
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["result.csv"]


def test_a_folder_that_is_not_there(tmp_path):
    target = tmp_path / "absent" / "x.parquet"
    with raises_exactly(
        FileNotFoundError,
        f"[Errno 2] the file could not be written (No such file or directory); write to another place: '{target}'",
    ):
        write_parquet([pa.table({"a": [1]})], target)


CELLS = st.none() | st.text(max_size=8) | st.floats() | st.integers(-(10**9), 10**9) | st.booleans()


BEGINNINGS = {"table": "one", "markdown": "| one | two |", "latex": r"\begin{tabular}{"}


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5), st.sampled_from(FORMATS))
def test_every_table_can_be_rendered(rows, style):
    shown = render(["one", "two"], rows, style)
    if style == "json":
        assert len(json.loads(shown)) == len(rows)
    elif style == "csv":
        # What a quoted cell holds may span lines.
        assert len(list(csv.reader(io.StringIO(shown, newline="")))) == len(rows) + 1
    else:
        assert shown.lstrip().startswith(BEGINNINGS[style])


def test_one_look_for_all_tables():
    rows = [["a", 0.25, 3, True], ["b|c", math.nan, None, False], ["d", 12345.6, 4, True]]
    assert render(["name", "value", "n", "here"], rows).splitlines() == [
        "name   value  n  here",
        "---------------------",
        "a     0.2500  3  yes",
        "b|c        -  -  no",
        "d     12,346  4  yes",
    ]
    assert render(["name", "value", "n", "here"], rows, "markdown").splitlines()[3] == "| b\\|c | - | - | no |"
    assert render(["name", "value"], [["a", math.inf]], "csv") == "name,value\na,"
    with raises_exactly(
        ValueError, "a table is rendered as one of 'table', 'json', 'csv', 'markdown', 'latex'; got 'excel'"
    ):
        render(["a"], [], "excel")


def test_plain_data():
    given_data = {"a": np.float64(1.5), "b": (math.nan, -math.inf), "c": np.arange(2)}
    assert plain(given_data) == {"a": 1.5, "b": [None, "-inf"], "c": [0, 1]}


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_frames_of_every_kind(backend, kind):
    frame = build_frame({"metric": ["pate", "nab"], "value": [0.5, 1.0]}, backend)
    assert isinstance(frame, kind)
    assert frame.shape == (2, 2)
    with raises_exactly(ValueError, "backend must be one of 'pandas', 'polars', 'pyarrow'; got 'excel'"):
        build_frame({"a": []}, "excel")


COLUMNS = st.integers(0, 6).flatmap(
    lambda size: st.fixed_dictionaries(
        {
            "text": st.lists(st.none() | st.text(max_size=5), min_size=size, max_size=size),
            "value": st.lists(st.none() | st.floats(), min_size=size, max_size=size),
            "number": st.lists(st.integers(-9, 9), min_size=size, max_size=size),
        }
    )
)


@given(COLUMNS)
def test_csv_reads_back_as_it_was(columns):
    types = {"text": pa.string(), "value": pa.float64(), "number": pa.int64()}
    table = pa.table({name: pa.array(columns[name], types[name]) for name in types})
    found = list(csv.reader(io.StringIO(as_csv(table), newline="")))
    assert found[0] == list(types)
    for row, text, value, number in zip(found[1:], *(columns[name] for name in types), strict=True):
        assert row[0] == csv_text(text or "")  # as it was, with codes visible and formulas behind a quote
        assert row[1] == "" if value is None or math.isnan(value) else float(row[1]) == value
        assert int(row[2]) == number


def test_parts_make_one_file(tmp_path):
    table = pa.table({"name": ["a", 'b"c', "d,e"], "value": [0.1, math.nan, 1e300], "here": [True, False, True]})
    for writer, name in ((write_csv, "t.csv"), (write_parquet, "t.parquet")):
        writer([table.slice(0, 1), table.slice(1)], tmp_path / name)
    assert (tmp_path / "t.csv").read_text() == 'name,value,here\na,0.1,True\n"b""c",,False\n"d,e",1e+300,True\n'
    assert pq.read_table(tmp_path / "t.parquet")["name"].to_pylist() == table["name"].to_pylist()


def test_rendering_imports_nothing_heavy():
    heavy = ("pyarrow", "narwhals", "pandas", "polars", "scipy")
    code = (
        "import sys, pateval.output.text_table, pateval.output.results, pateval.io.atomic; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
