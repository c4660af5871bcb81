"""JSON tables in: lines of objects, a list of them, or columns by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pateval.io.source import Column, TableError, typed_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pateval.io.content import Text

_EXAMPLE = '{"label": 0, "score": 0.1}'


def is_record(line: bytes) -> bool:
    """Tell a line that is an object of plain values from the beginning of a longer document."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and not any(isinstance(value, (list, dict)) for value in record.values())


def read_json_lines(text: Text) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read one object a line; a name that a line lacks is missing there."""
    records: list[Mapping[str, object]] = []
    for number, line in enumerate(text.data.decode().split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            detail = getattr(error, "msg", "too deeply nested")
            raise TableError(
                f"{text.where}: line {number} is not valid JSON ({detail}); it should be an object like {_EXAMPLE}"
            ) from error
        if not isinstance(record, dict):
            raise TableError(f"{text.where}: line {number} is not an object like {_EXAMPLE}")
        records.append(record)
    return _from_records(records), text.notes


def read_json(text: Text) -> tuple[dict[str, Column], tuple[str, ...]]:
    """Read a list of objects, or columns by name, as data frames write them."""
    try:
        value = json.loads(text.data)
    except json.JSONDecodeError as error:
        hint = "write or fetch it again"
        if error.msg == "Extra data":
            hint = "one object a line is read from a file called .jsonl"
        raise TableError(
            f"{text.where}: not valid JSON in line {error.lineno} ({error.msg}), perhaps truncated or damaged; {hint}"
        ) from error
    except RecursionError as error:
        raise TableError(
            f"{text.where}: the JSON is too deeply nested to be a table; write a list of objects like {_EXAMPLE}"
        ) from error
    columns = _table(value)
    if columns is None:
        raise TableError(
            f"{text.where}: the JSON is no table; write a list of objects like {_EXAMPLE}, or an object of lists like "
            f'{{"label": [0, 1], "score": [0.1, 0.9]}}'
        )
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        (first, reference), *others = columns.items()
        name, column = next((name, column) for name, column in others if len(column) != len(reference))
        raise TableError(
            f"{text.where}: columns must have equal lengths; {first!r} has {len(reference)} values, {name!r} has "
            f"{len(column)}"
        )
    return {name: typed_array(column) for name, column in columns.items()}, text.notes


def _table(value: Any) -> dict[str, Sequence[object]] | None:
    """Find the columns in what was written as records, columns, or in one of pandas' ways; None where none is."""
    if isinstance(value, dict) and "schema" in value and isinstance(value.get("data"), list):
        value = value["data"]
    if isinstance(value, list):
        if not all(isinstance(record, dict) for record in value):
            return None
        return {name: [record.get(name) for record in value] for name in _names(value)}
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


def _names(records: Sequence[Mapping[str, object]]) -> dict[str, None]:
    return dict.fromkeys(name for record in records for name in record)


def _from_records(records: Sequence[Mapping[str, object]]) -> dict[str, Column]:
    return {name: typed_array([record.get(name) for record in records]) for name in _names(records)}
