"""Text tables read without pyarrow, to the same columns as with it.

A column is of the first kind that all of its cells are: whole numbers, truth values, numbers, dates, times, moments
with or without a time zone, text. What pyarrow calls missing is missing here.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pateval.io.source import Column, object_array
from pateval.validation.containers import in_zone

_MISSING = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
    "NaN", "n/a", "nan", "null",
))  # fmt: skip
_CELLS_AT_ONCE = 1 << 19
_END = "\0"  # of a cell among others; no text that is read holds it
_DATE, _CLOCK = r"\d{4}-\d\d-\d\d", r"[ T]\d\d(?::\d\d(?::\d\d{})?)?"
_ZONE = re.compile(r"(?:Z|[+-]\d\d(?::?\d\d)?)$")


class RaggedError(ValueError):
    """A row has more or fewer cells than the header."""

    def __init__(self, row: int, cells: int, expected: int) -> None:
        self.row, self.cells, self.expected = row, cells, expected
        super().__init__(f"row {row} has {cells} cells, and the header {expected}")


def read_cells(data: bytes, delimiter: str) -> tuple[list[str], list[list[str]]]:
    """Read a table in UTF-8: the header, and for each column its cells, many of them in one text, each with its end."""
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
                    raise RaggedError(place, len(row), len(header))
            for part, cells in zip(parts, zip(*block, strict=True), strict=True):
                part.append(_END.join(cells) + _END)
            number += len(block)
    finally:
        csv.field_size_limit(before)
    return header, parts


def column_of(parts: list[str], decimal_point: str) -> Column:
    """Read the cells of a column as what all of them are."""
    for cell, read in _kinds(decimal_point):
        missing = "|".join(re.escape(text) for text in sorted(_MISSING, key=len, reverse=True))
        pattern = re.compile(rf"(?:(?:{cell}|{missing}){_END})*+")
        if all(pattern.fullmatch(part) for part in parts):
            try:
                return _joined(parts, read)
            except (ValueError, OverflowError):  # a 13th month, or a whole number of more than 64 bits
                continue
    return object_array(cells_of(parts))


def cells_of(parts: list[str]) -> list[str]:
    """The cells of a column as they are written."""
    return [cell for part in parts for cell in _split(part)]


def _split(part: str) -> list[str]:
    return part.split(_END)[:-1]


def _joined(parts: list[str], read: Callable[[list[str]], Column]) -> Column:
    """Read all parts of a column; where something is missing the others stay what they are in Python."""
    columns = []
    for part in parts:
        cells = _split(part)
        present = [place for place, cell in enumerate(cells) if cell not in _MISSING]
        column = read([cells[place].strip(" \t") for place in present])
        if len(present) < len(cells):
            found, column = _in_python(column), object_array([None] * len(cells))
            column[present] = object_array(found)
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
        yield f"{_DATE}{clock}{_ZONE.pattern[:-1]}", partial(_zoned, unit)


_TRUE = ("1", "True", "TRUE", "true")


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
    zones = [_ZONE.search(cell)[0] for cell in cells]  # type: ignore[index]  # each has one
    known = {zone: _offset(zone) for zone in set(zones)}
    moments = _moments(unit, [cell[: -len(zone)] for cell, zone in zip(cells, zones, strict=True)])
    offsets = np.array([known[zone] for zone in zones], dtype="timedelta64[m]")
    return in_zone(moments - offsets, "UTC")


def _offset(zone: str) -> int:
    """Minutes that a time zone is ahead of universal time."""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return 0 if zone == "Z" else int(f"{zone[0]}1") * (int(digits[:2]) * 60 + int(digits[2:]))
