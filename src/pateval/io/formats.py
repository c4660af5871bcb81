"""What the bytes of a file hold, format by format: text tables, JSON, NumPy's arrays, Arrow. Columns and notes out."""

from __future__ import annotations

import csv
import io
import json
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pateval.io.arrow import arrow, has_arrow, size_in_memory
from pateval.io.content import Content, TableError, damaged, require_bounded, require_fitting
from pateval.io.plain_csv import RaggedError, cells_of, column_of, read_cells
from pateval.io.source import (
    EXACT_INTEGERS,
    Column,
    numpy_column,
    object_array,
    refuse_repeated,
    require_equal_lengths,
    typed_array,
)

Columns = dict[str, Column]
Notes = tuple[str, ...]

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_INTEGER = re.compile(r"\s*[+-]?\d{1,4000}\s*")  # Python reads no longer ones, and floats are infinite there
_SAMPLE = 1 << 16  # bytes at the beginning that tell how a file is written
_SAMPLE_LINES = 50
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_USUAL = {"csv": ",", "tsv": "\t", "txt": " "}  # of blanks there may be several, and other marks are looked for first
TEXT_TABLES = tuple(_USUAL)
_EXAMPLE = '{"label": 0, "score": 0.1}'
_TOO_LONG = "an integer of more digits than can be read"
# What NumPy raises for files that are not what they should be, down to a header that is no Python literal.
_BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, SyntaxError, MemoryError, OverflowError, NotImplementedError,
    RuntimeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError,
)  # fmt: skip


def read_text_table(text: Content, kind: str) -> tuple[Columns, Notes]:
    """Read a table with a header from UTF-8; what is not as usual for its kind, csv for example, is announced."""
    where, notes, usual = text.where, list(text.notes), _USUAL[kind]
    most_lines = max(text.data.count(b"\n"), text.data.count(b"\r"))
    require_fitting(where, text.stored, most_lines)
    data, comments = _without_comments(text.data)
    if comments:
        notes.append(f"{where}: {comments} comment line{'s' if comments > 1 else ''} left out")
    lines = _first_lines(data)
    if not lines:
        raise TableError(f"{where}: there are no rows; at least one time step is needed")
    delimiter = _delimiter(lines, usual)
    require_fitting(where, text.stored, most_lines * _width(data, delimiter))
    if delimiter == " ":
        data = re.sub(rb"(?m)^[ \t]+|[ \t\r]+$", b"", data)
        data = re.sub(rb"[ \t]+", b"\t", data)
    cells = [_split(line, delimiter) for line in lines]
    _require_header(cells[0], where)
    if delimiter != usual and len(cells[0]) > 1:
        notes.append(f"{where}: columns are taken as separated by {_SEPARATORS[delimiter]}")
    decimal_comma = delimiter != "," and any(DECIMAL_COMMA.fullmatch(cell.strip()) for row in cells[1:] for cell in row)
    if decimal_comma:
        notes.append(f"{where}: numbers are taken as written with a decimal comma")
    columns = _parsed(where, data, "\t" if delimiter == " " else delimiter, "," if decimal_comma else ".")
    return columns, tuple(notes)


def _without_comments(data: bytes) -> tuple[bytes, int]:
    """Take out lines that begin with ``#``, and count them; a header may be written as one, as NumPy does."""
    if not data.startswith(b"#") and b"\n#" not in data:
        return data, 0
    lines = data.splitlines(keepends=True)
    first = next((place for place, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    if 0 < first < len(lines):
        header, row = lines[first - 1].lstrip(b"# ").strip(), lines[first].strip()
        marks = r"[,;\t|]" if re.search(rb"[,;\t|]", header) else r"\s+"
        names, values = (re.split(marks, line.decode()) for line in (header, row))
        is_header = any(map(is_number, values)) and not any(map(is_number, names))
        if len(names) == len(values) > 1 and is_header:
            lines[first - 1] = header + b"\n"
    rows = [line for line in lines if not line.startswith(b"#")]
    return b"".join(rows), len(lines) - len(rows)


def _first_lines(data: bytes) -> list[str]:
    """Return the first lines that are not empty; the last of them is whole."""
    lines = data[:_SAMPLE].decode("utf-8", "ignore").splitlines()
    if len(data) > _SAMPLE and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip()][:_SAMPLE_LINES]


def _delimiter(lines: Sequence[str], usual: str) -> str:
    """Choose what stands between the cells: what all of the first lines have as often as the header."""
    candidates = dict.fromkeys([*([usual] if usual.strip(" ") else []), *_SEPARATORS])
    header = lines[0]
    several = [mark for mark in candidates if mark in header.strip()]
    for mark in several:
        counts = {len(_split(line, mark)) for line in lines}
        if len(counts) == 1:
            return mark
    return several[0] if several else usual if usual.strip(" ") else ","


def _width(data: bytes, mark: str) -> int:
    """How many cells the header has, at most, however long it is."""
    header = re.search(rb"[^\r\n]+", data)
    if header is None:
        return 0
    # Not by splitting it: there may be millions.
    return sum(1 for _ in re.finditer(rb"\S+", header[0])) if mark == " " else header[0].count(mark.encode()) + 1


def _split(line: str, mark: str) -> list[str]:
    return line.split() if mark == " " else next(csv.reader([line], delimiter=mark), [])


def _require_header(header: Sequence[str], where: str) -> None:
    if header and all(is_number(cell) for cell in header):
        shown = ", ".join(header[:4]) + (" ..." if len(header) > 4 else "")
        remedy = "put a line such as label,score above it"
        if len(header) == 1:
            remedy += "; of scores alone, name the folder of their labels with --labels"
        raise TableError(f"{where}: the first line holds numbers ({shown}), not names; {remedy}")


def _parsed(where: str, data: bytes, delimiter: str, decimal_point: str) -> Columns:
    read = _with_arrow if has_arrow() else _without_arrow
    try:
        found = read(data, delimiter, decimal_point)
    except RaggedError as error:
        cells = f"{error.cells} {'cell' if error.cells == 1 else 'cells'}"
        raise TableError(
            f"{where}: row {error.row} has {cells}, and the header {error.expected}; "
            f"the file is damaged, or a cell with {_SEPARATORS.get(delimiter, 'commas')} lacks its quotes"
        ) from None
    except (csv.Error, OSError, ValueError, MemoryError, NotImplementedError) as error:  # those of Arrow are of these
        raise damaged(where, "CSV", error) from error
    refuse_repeated([name for name, _, _ in found], where)
    columns = {name: column for name, column, _ in found}
    _refuse_open_quote(where, data, columns)
    for name, column, written in found:
        if written is not None:
            pairs = zip(column.tolist(), written(), strict=True)
            columns[name] = object_array(
                [int(cell) if _INTEGER.fullmatch(cell or "") else value for value, cell in pairs]
            )
    return columns


# The name of each column, what it holds, and, where that may be integers rounded to floats, what is written there.
_Found = list[tuple[str, Column, "Callable[[], list[str]] | None"]]


def _without_arrow(data: bytes, delimiter: str, decimal_point: str) -> _Found:
    header, parts = read_cells(data, delimiter)
    found: _Found = []
    for name, part in zip(header, parts, strict=True):
        column = column_of(part, decimal_point)
        values = column.tolist() if column.dtype.kind in "fO" else []
        is_rounded = any(isinstance(value, float) and abs(value) >= EXACT_INTEGERS for value in values)
        found.append((name, column, partial(cells_of, part) if is_rounded else None))
    return found


def _with_arrow(data: bytes, delimiter: str, decimal_point: str) -> _Found:
    pa, arrow_csv = arrow(), arrow("csv")
    wrong: list[Any] = []

    def remember(row: Any) -> str:
        wrong.append(row)
        return "error"

    def read(*, use_threads: bool, texts: Sequence[str] = ()) -> Any:
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            # Rows are counted only without threads. A cell may be longer than Arrow's blocks, so one block is all.
            read_options=arrow_csv.ReadOptions(
                use_threads=use_threads, block_size=None if use_threads else len(data) + 1
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, invalid_row_handler=None if use_threads else remember
            ),
            convert_options=arrow_csv.ConvertOptions(
                decimal_point=decimal_point, column_types=dict.fromkeys(texts, pa.string())
            ),
        )

    try:
        table = read(use_threads=True)
    except (pa.ArrowException, OSError, ValueError):
        try:
            table = read(use_threads=False)
        except (pa.ArrowException, OSError, ValueError):
            if wrong and wrong[0].number is not None:
                row = wrong[0]
                raise RaggedError(row.number - 1, row.actual_columns, row.expected_columns) from None
            raise
    # Arrow makes floats of integers that are too long for it; as integers they are refused where they are used.
    limits = [_limits(column) for column in table.columns]
    rounded = [name for name, most in zip(table.column_names, limits, strict=True) if most >= EXACT_INTEGERS]
    as_written = read(use_threads=False, texts=rounded) if rounded else table
    return [
        # A column of empty cells has no type; it counts as missing numbers.
        (name, numpy_column(table.column(place)), as_written.column(place).to_pylist if name in rounded else None)
        for place, name in enumerate(table.column_names)
    ]


def _limits(column: Any) -> float:
    """The largest size of a float in an Arrow column; 0 where it holds none."""
    if not arrow().types.is_floating(column.type):
        return 0.0
    return max(abs(limit or 0.0) for limit in arrow("compute").min_max(column).as_py().values())


def _refuse_open_quote(where: str, data: bytes, columns: Columns) -> None:
    """Refuse a quote that nothing closes: the rest of the file would be one cell, and its rows gone without a word."""
    last = [column[-1] for column in columns.values() if column.size]
    if data.count(b'"') % 2 == 0 or not last:
        return
    end, rows = data.rstrip(), next(iter(columns.values())).size
    # A mark within a cell, as of inches, is one like any other; a cell that is closed is not what the file ends with.
    if any(isinstance(cell, str) and "\n" in cell and end.endswith(cell.rstrip().encode()) for cell in last):
        raise TableError(
            f"{where}: the quote that opens in row {rows} is never closed, and takes in the rows after it; "
            "close it, or take it out"
        )


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a point or a comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def is_record(line: bytes) -> bool:
    """Tell a line that is an object of plain values from the beginning of a longer document."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and not any(isinstance(value, (list, dict)) for value in record.values())


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
    require_fitting(where, content.stored, sum(one.size for one in (*arrays.values(), loaded) if hasattr(one, "size")))
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
        require_fitting(content.where, content.stored, *size_in_memory(content.data, kind))
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
