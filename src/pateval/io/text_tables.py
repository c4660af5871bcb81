"""Tables of text with a header: what stands between the cells, and columns of them, with pyarrow and without it.

Without pyarrow a column is of the first kind that all of its cells are: whole numbers, truth values, numbers, dates,
times, moments with or without a time zone, text. What pyarrow calls missing is missing here.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pateval.io.content import Content, TableError, arrow, damaged, has_arrow, require_fitting
from pateval.io.source import EXACT_INTEGERS, Column, Columns, numpy_column, object_array, refuse_repeated
from pateval.validation.containers import in_zone
from pateval.validation.wording import counted

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_INTEGER = re.compile(r"\s*[+-]?\d{1,4000}\s*")  # Python reads no longer ones, and floats are infinite there
_SAMPLE = 1 << 16  # bytes at the beginning that tell how a file is written
_SAMPLE_LINES = 50
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_USUAL = {"csv": ",", "tsv": "\t", "txt": " "}  # of blanks there may be several, and other marks are looked for first
TEXT_TABLES = tuple(_USUAL)

_MISSING = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
))  # fmt: skip
_MISSING_CELL = "|".join(re.escape(text) for text in sorted(_MISSING, key=len, reverse=True))
_TRUE = ("1", "True", "TRUE", "true")
_CELLS_AT_ONCE = 1 << 19
_END = "\0"  # of a cell among others; no text that is read holds it
_DATE, _CLOCK = r"\d{4}-\d\d-\d\d", r"[ T]\d\d(?::\d\d(?::\d\d{})?)?"
_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)"
_LAST_ZONE = re.compile(f"{_ZONE}$")


def read_text_table(text: Content, kind: str) -> tuple[Columns, tuple[str, ...]]:
    """Read a table with a header from UTF-8; what is not as usual for its kind, csv for example, is announced."""
    where, notes, usual = text.where, list(text.notes), _USUAL[kind]
    most_lines = max(text.data.count(b"\n"), text.data.count(b"\r"))
    require_fitting(where, text.stored, most_lines)
    data, comments = _without_comments(text.data)
    if comments:
        notes.append(f"{where}: {counted(comments, 'comment line')} left out")
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
    present = [mark for mark in candidates if mark in lines[0].strip()]
    for mark in present:
        if len({len(_split(line, mark)) for line in lines}) == 1:
            return mark
    return present[0] if present else usual if usual.strip(" ") else ","


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


def is_number(cell: str) -> bool:
    """Whether a cell is a number, with a point or a comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _parsed(where: str, data: bytes, delimiter: str, decimal_point: str) -> Columns:
    read = _with_arrow if has_arrow() else _without_arrow
    try:
        named = read(where, data, delimiter, decimal_point)
    except TableError:
        raise
    except (csv.Error, OSError, ValueError, MemoryError, NotImplementedError) as error:  # those of Arrow are of these
        raise damaged(where, "CSV", error) from error
    refuse_repeated([name for name, _ in named], where)
    columns = dict(named)
    _refuse_open_quote(where, data, columns)
    return columns


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


def _uneven(where: str, row: int, cells: int, expected: int, delimiter: str) -> TableError:
    """Build the error for a row that has more or fewer cells than the header."""
    return TableError(
        f"{where}: row {row} has {counted(cells, 'cell')}, and the header {expected}; "
        f"the file is damaged, or a cell with {_SEPARATORS.get(delimiter, 'commas')} lacks its quotes"
    )


def _exact(column: Column, cells: Sequence[str | None]) -> Column:
    """Put integers that became floats, and were rounded, back as they are written."""
    pairs = zip(column.tolist(), cells, strict=True)
    return object_array([int(cell) if cell and _INTEGER.fullmatch(cell) else value for value, cell in pairs])


def _with_arrow(where: str, data: bytes, delimiter: str, decimal_point: str) -> list[tuple[str, Column]]:
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
                raise _uneven(where, row.number - 1, row.actual_columns, row.expected_columns, delimiter) from None
            raise
    # Arrow makes floats of integers that are too long for it; as integers they are refused where they are used.
    rounded = [name for name, column in zip(table.column_names, table.columns, strict=True) if _is_beyond(column)]
    # A column of empty cells has no type; it counts as missing numbers.
    columns = [numpy_column(column) for column in table.columns]
    if rounded:
        written = read(use_threads=False, texts=rounded).columns
        triples = zip(table.column_names, columns, written, strict=True)
        columns = [_exact(column, cells.to_pylist()) if name in rounded else column for name, column, cells in triples]
    return list(zip(table.column_names, columns, strict=True))


def _is_beyond(column: Any) -> bool:
    """Whether an Arrow column holds floats so large that they do not hold every integer."""
    if not arrow().types.is_floating(column.type):
        return False
    limits = arrow("compute").min_max(column).as_py().values()
    return any(abs(limit or 0.0) >= EXACT_INTEGERS for limit in limits)


def _without_arrow(where: str, data: bytes, delimiter: str, decimal_point: str) -> list[tuple[str, Column]]:
    header, parts = _read_cells(where, data, delimiter)
    columns = [_column(part, decimal_point) for part in parts]
    for place, column in enumerate(columns):
        values = column.tolist() if column.dtype.kind in "fO" else []
        if any(isinstance(value, float) and abs(value) >= EXACT_INTEGERS for value in values):
            columns[place] = _exact(column, _cells(parts[place]))
    return list(zip(header, columns, strict=True))


def _read_cells(where: str, data: bytes, delimiter: str) -> tuple[list[str], list[list[str]]]:
    """Read the header, and for each column its cells, many of them in one text, each with its end."""
    before = csv.field_size_limit(len(data) + 1)
    try:
        lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
        rows = filter(None, csv.reader(lines, delimiter=delimiter))  # empty lines are no rows
        header = next(rows, [])
        parts: list[list[str]] = [[] for _ in header]
        number = 1
        while block := list(islice(rows, max(1, _CELLS_AT_ONCE // len(header)))):
            for place, row in enumerate(block, start=number):
                if len(row) != len(header):
                    raise _uneven(where, place, len(row), len(header), delimiter)
            for part, cells in zip(parts, zip(*block, strict=True), strict=True):
                part.append(_END.join(cells) + _END)
            number += len(block)
    finally:
        csv.field_size_limit(before)
    return header, parts


def _column(parts: list[str], decimal_point: str) -> Column:
    """Read the cells of a column as what all of them are."""
    for cell, read in _kinds(decimal_point):
        pattern = re.compile(rf"(?:(?:{cell}|{_MISSING_CELL}){_END})*+")
        if all(pattern.fullmatch(part) for part in parts):
            try:
                return _joined(parts, read)
            except (ValueError, OverflowError):  # a 13th month, or a whole number of more than 64 bits
                continue
    return object_array(_cells(parts))


def _cells(parts: list[str]) -> list[str]:
    return [cell for part in parts for cell in part.split(_END)[:-1]]


def _joined(parts: list[str], read: Callable[[list[str]], Column]) -> Column:
    """Read all parts of a column; where something is missing the others stay what they are in Python."""
    columns = []
    for part in parts:
        cells = _cells([part])
        present = [place for place, cell in enumerate(cells) if cell not in _MISSING]
        column = read([cells[place].strip(" \t") for place in present])
        if len(present) < len(cells):
            values, column = _in_python(column), object_array([None] * len(cells))
            column[present] = object_array(values)
        columns.append(column)
    if any(column.dtype == object for column in columns):
        columns = [object_array(_in_python(column)) for column in columns]
    zone = next((column.dtype.metadata["zone"] for column in columns if column.dtype.metadata), "")
    return in_zone(np.concatenate(columns), zone) if columns else object_array([])


def _in_python(column: Column) -> list[Any]:
    """Values as pyarrow gives them beside missing ones; dates finer than Python's lose what those cannot hold."""
    if column.dtype.kind != "M":
        return column.tolist()
    moments = column.astype("datetime64[us]") if column.dtype != "datetime64[D]" else column
    values = moments.tolist()
    return [value.replace(tzinfo=datetime.UTC) for value in values] if column.dtype.metadata else values


def _kinds(point: str) -> Iterator[tuple[str, Callable[[list[str]], Column]]]:
    """The kinds of columns in the order in which they are tried: a pattern of their cells, and what reads them."""
    digits = rf"(?:\d+{re.escape(point)}?\d*|{re.escape(point)}\d+)"
    yield "(?!)", lambda cells: object_array(cells)  # nothing but missing cells
    yield _blanks(r"-?\d{1,19}|0[xX][0-9A-Fa-f]{1,16}"), _whole_numbers
    yield "1|True|TRUE|true|0|False|FALSE|false", lambda cells: np.array([cell in _TRUE for cell in cells], np.bool_)
    yield (
        _blanks(rf"[+-]?{digits}(?:[eE][+-]?\d+)?|[+-]?(?i:inf|infinity|nan)"),
        lambda cells: np.array([float(cell.replace(point, ".")) for cell in cells]),
    )
    yield _blanks(_DATE), lambda cells: np.array(cells, dtype="datetime64[D]")
    yield (
        _blanks(r"\d\d:\d\d(?::\d\d)?"),
        lambda cells: object_array([datetime.time.fromisoformat(cell) for cell in cells]),
    )
    for clock, unit in ((_CLOCK.format(""), "s"), (_CLOCK.format(r"(?:\.\d{1,9})?"), "ns")):
        yield f"{_DATE}(?:{clock})?", partial(_moments, unit)
        yield f"{_DATE}{clock}{_ZONE}", partial(_zoned, unit)


def _blanks(cell: str) -> str:
    return rf"[ \t]*(?:{cell})[ \t]*"


def _whole_numbers(cells: list[str]) -> Column:
    return np.array([int(cell, 16 if cell[1:2] in "xX" and len(cell) > 1 else 10) for cell in cells], dtype=np.int64)


def _moments(unit: str, cells: list[str]) -> Column:
    seconds = np.array([cell[:19] for cell in cells], dtype="datetime64[s]")
    moments = np.array(cells, dtype=f"datetime64[{unit}]")
    if (moments.astype(seconds.dtype) != seconds).any():
        raise ValueError("64 bits do not count nanoseconds of such years")
    return moments


def _zoned(unit: str, cells: list[str]) -> Column:
    """Moments with a time zone, in universal time."""
    zones = [_LAST_ZONE.search(cell)[0] for cell in cells]  # type: ignore[index]  # each has one
    minutes = {zone: _minutes_ahead(zone) for zone in set(zones)}
    moments = _moments(unit, [cell[: -len(zone)] for cell, zone in zip(cells, zones, strict=True)])
    return in_zone(moments - np.array([minutes[zone] for zone in zones], dtype="timedelta64[m]"), "UTC")


def _minutes_ahead(zone: str) -> int:
    """How many minutes a time zone is ahead of universal time."""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return 0 if zone == "Z" else int(f"{zone[0]}1") * (int(digits[:2]) * 60 + int(digits[2:]))
