"""What the bytes of a file hold that is no text table: JSON, NumPy's arrays, Arrow. Columns and notes out."""

from __future__ import annotations

import io
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pateval.io.content import (
    BYTES_OF_VALUE,
    Content,
    TableError,
    arrow,
    begins_like,
    damaged,
    require_bounded,
    require_fitting,
)
from pateval.io.source import Column, Columns, numpy_column, refuse_repeated, require_equal_lengths, typed_array

Notes = tuple[str, ...]

_EXAMPLE = '{"label": 0, "score": 0.1}'
_TOO_LONG = "an integer of more digits than can be read"
# What NumPy raises for files that are not what they should be, down to a header that is no Python literal.
_BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, SyntaxError, MemoryError, OverflowError, NotImplementedError,
    RuntimeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # fmt: skip


def format_of(data: bytes) -> str:
    """Say which format data without a name are in."""
    binary = begins_like(data)
    if binary is not None:
        return binary
    begin = data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not begin.startswith(b"{"):
        return "json" if begin.startswith(b"[") else "csv"
    try:
        record = json.loads(begin.partition(b"\n")[0])
    except (ValueError, RecursionError):
        return "json"
    # A line that is an object of plain values is one of many; any other is the beginning of a longer document.
    return "json" if any(isinstance(value, (list, dict)) for value in record.values()) else "jsonl"


def read_json_lines(text: Content) -> tuple[Columns, Notes]:
    """Read one object a line; a name that a line lacks is missing there."""
    _require_fitting_json(text)
    records: list[Mapping[str, object]] = []
    for number, line in enumerate(text.data.decode().split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            detail = "too deeply nested" if isinstance(error, RecursionError) else getattr(error, "msg", _TOO_LONG)
            raise TableError(
                f"{text.where}: line {number} is not valid JSON ({detail}); it should be an object like {_EXAMPLE}"
            ) from error
        if not isinstance(record, dict):
            raise TableError(f"{text.where}: line {number} is not an object like {_EXAMPLE}")
        records.append(record)
    return {name: typed_array(column) for name, column in _from_records(records).items()}, text.notes


def read_json(text: Content) -> tuple[Columns, Notes]:
    """Read a list of objects, or columns by name, as data frames write them."""
    _require_fitting_json(text)
    try:
        value = json.loads(text.data)
    except json.JSONDecodeError as error:
        hint = ", perhaps truncated or damaged; write or fetch it again"
        if not text.data.lstrip().startswith((b"[", b"{")):
            hint = "; give the file the suffix of what it is"
        elif error.msg == "Extra data":
            hint = "; one object a line is read from a file called .jsonl"
        raise TableError(f"{text.where}: not valid JSON in line {error.lineno} ({error.msg}){hint}") from error
    except (ValueError, RecursionError) as error:
        fault = "is too deeply nested to be a table" if isinstance(error, RecursionError) else f"holds {_TOO_LONG}"
        raise TableError(f"{text.where}: the JSON {fault}; write a list of objects like {_EXAMPLE}") from error
    columns = _json_columns(value)
    if columns is None:
        raise TableError(
            f"{text.where}: the JSON is no table; write a list of objects like {_EXAMPLE}, or an object of lists like "
            f'{{"label": [0, 1], "score": [0.1, 0.9]}}'
        )
    arrays = {name: typed_array(column) for name, column in columns.items()}
    require_equal_lengths(arrays, text.where, "columns")
    return arrays, text.notes


def _require_fitting_json(text: Content) -> None:
    """Refuse more values than fit, before they are made; objects and lists count as one more."""
    number = sum(text.data.count(mark) for mark in (b",", b"{", b"["))
    require_fitting(text.where, text.stored, number)


def _json_columns(value: Any) -> dict[str, Sequence[object]] | None:
    """Find the columns in what was written as records, columns, or in one of pandas' ways; None where none is."""
    if isinstance(value, dict) and "schema" in value and isinstance(value.get("data"), list):
        value = value["data"]
    if isinstance(value, list):
        return _from_records(value) if all(isinstance(record, dict) for record in value) else None
    if not isinstance(value, dict):
        return None
    names, rows = value.get("columns"), value.get("data")
    if set(value) <= {"columns", "index", "data"} and isinstance(names, list) and isinstance(rows, list):
        if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
            return None
        return {str(name): [row[place] for row in rows] for place, name in enumerate(names)}
    if all(isinstance(column, list) for column in value.values()):
        return value
    if all(isinstance(column, dict) for column in value.values()):
        rows = list(next(iter(value.values())))
        if all(list(column) == rows for column in value.values()):
            return {name: list(column.values()) for name, column in value.items()}
    return None


def _from_records(records: Sequence[Mapping[str, object]]) -> dict[str, Sequence[object]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}


def read_numpy(content: Content, kind: str) -> tuple[Columns, Notes]:
    """Read an archive of arrays by name (``npz``) or a single one (``npy``), with one value per time step."""
    where, name = content.where, ""
    arrays: dict[str, Any] = {}
    try:
        # Object arrays would need pickle, which can run code: they are refused.
        loaded = np.load(io.BytesIO(content.data), allow_pickle=False)
        if kind == "npz" and hasattr(loaded, "zip"):
            require_bounded(where, len(content.data), sum(member.file_size for member in loaded.zip.infolist()))
            for name in loaded.files:
                arrays[name] = loaded[name]
    except TableError:
        raise
    except _BROKEN as error:
        # Anything that does not begin like an array is taken for a pickle by NumPy.
        is_array = kind == "npy" and content.data.startswith(np.lib.format.MAGIC_PREFIX)
        if "allow_pickle" in str(error) and (name or is_array):
            what = f"array {name!r}" if name else "the array"
            raise TableError(
                f"{where}: {what} holds Python objects, which are never unpickled; save numbers instead"
            ) from error
        raise damaged(where, kind, error, content.data) from error
    sizes = [array.size for array in (*arrays.values(), loaded) if hasattr(array, "size")]
    require_fitting(where, content.stored, sum(sizes))
    if kind == "npz" and isinstance(loaded, np.ndarray):
        raise TableError(f"{where}: not an NPZ archive but a single array; give the file the suffix .npy")
    if kind == "npy" and not isinstance(loaded, np.ndarray):
        raise TableError(f"{where}: not a single array but an NPZ archive; give the file the suffix .npz")
    return _columns_of_arrays(arrays, where) if kind == "npz" else _columns_of_array(loaded, where)


def _columns_of_arrays(arrays: Mapping[str, Any], where: str) -> tuple[Columns, Notes]:
    """Columns by the names of arrays; a matrix is a column for each of its own."""
    columns: Columns = {}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TableError(f"{where}: {name!r} in the archive is no array; save arrays alone, with numpy.savez")
        if array.ndim not in (1, 2):
            raise TableError(f"{where}: array {name!r} has shape {array.shape}; one value per time step is needed")
        if array.ndim == 1:
            columns[name] = array
        else:
            columns |= {f"{name}_{channel}": column for channel, column in enumerate(array.T)}
    if not columns:
        raise TableError(
            f"{where}: the archive holds no arrays; save them by name, with numpy.savez(path, label=..., score=...)"
        )
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    notes = [f"{where}: the columns of array {name!r} are called {name}_0, {name}_1 and so on" for name in matrices]
    require_equal_lengths(columns, where, "arrays")
    return columns, tuple(notes)


def _columns_of_array(array: Column, where: str) -> tuple[Columns, Notes]:
    """Columns of a record array by its names, of a matrix of steps by columns with numbers for names."""
    if array.dtype.names:
        return {name: np.ascontiguousarray(array[name]).ravel() for name in array.dtype.names}, ()
    if array.ndim not in (1, 2):
        raise TableError(f"{where}: the array has shape {array.shape}; steps, or steps by columns, are needed")
    matrix = array[:, np.newaxis] if array.ndim == 1 else array
    notes = (f"{where}: the columns of the array are called by their numbers, from '0'",)
    return {str(place): column for place, column in enumerate(matrix.T)}, notes


def read_arrow(content: Content, kind: str) -> tuple[Columns, Notes]:
    """Read a table that Arrow or Parquet has written: a file, or a stream."""
    pa = arrow("", f"{content.where}: {kind.capitalize()}")
    try:
        buffer = pa.BufferReader(content.data)
        values, nbytes = _size_of_parquet(content.data) if kind == "parquet" else _size_of_arrow(content.data)
        require_fitting(content.where, content.stored, values, max(BYTES_OF_VALUE * values, nbytes))
        if kind == "parquet":
            table = arrow("parquet").read_table(buffer, use_threads=False)
        else:
            is_stream = not content.data.startswith(b"ARROW1")
            with pa.ipc.open_stream(buffer) if is_stream else pa.ipc.open_file(buffer) as reader:
                table = reader.read_all()
            table.validate(full=True)
        refuse_repeated(table.column_names, content.where)
        return {name: numpy_column(table.column(name)) for name in table.column_names}, ()
    except TableError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(content.where, kind, error, content.data) from error


def _size_of_parquet(data: bytes) -> tuple[int, int]:
    """How many values a table of Parquet holds, and their bytes when they are unpacked."""
    footer = arrow("parquet").read_metadata(arrow().BufferReader(data))
    groups = [footer.row_group(place).total_byte_size for place in range(footer.num_row_groups)]
    return footer.num_rows * footer.num_columns, sum(groups)


def _size_of_arrow(data: bytes) -> tuple[int, int]:
    """How many values a table of Arrow holds, and the bytes of those that are compressed when they are unpacked."""
    pa = arrow()
    # A file is a stream with something before and after it.
    stream = pa.py_buffer(data)[8:] if data.startswith(b"ARROW1") else pa.py_buffer(data)
    values = nbytes = 0
    with pa.ipc.open_stream(stream) as reader:
        columns = len(reader.schema)
    for message in pa.ipc.MessageReader.open_stream(stream):
        if message.type == "record batch":
            rows, size = _size_of_batch(message.metadata.to_pybytes(), message.body)
            values, nbytes = values + rows * columns, nbytes + size
    return values, nbytes


def _size_of_batch(description: bytes, body: Any) -> tuple[int, int]:
    """Rows of a record batch, and its bytes where they are compressed, from its description, a flatbuffer."""

    def number(kind: str, place: int) -> int:
        return struct.unpack_from(f"<{kind}", description, place)[0]

    def field(table: int, which: int) -> int | None:
        """Where a field of a table lies, if it is there."""
        fields = table - number("i", table)
        offset = number("H", fields + 4 + 2 * which) if 4 + 2 * which < number("H", fields) else 0
        return table + offset if offset else None

    header = field(number("I", 0), 2)
    if header is None:
        return 0, 0
    batch = header + number("I", header)
    length, buffers, compression = field(batch, 0), field(batch, 2), field(batch, 3)
    size = 0
    if compression is not None and buffers is not None:
        first = buffers + number("I", buffers)
        for place in range(first + 4, first + 4 + 16 * number("I", first), 16):
            start, stored = number("q", place), number("q", place + 8)
            # Each buffer begins with its length; -1 is one that is not compressed.
            size += max(struct.unpack("<q", body[start : start + 8])[0], stored) if stored > 8 else 0
    return 0 if length is None else number("q", length), size
