"""What the columns of a table hold, looked at before any series is read: numbers, words, dates, and what is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pateval.io.parquet import ParquetFiles
from pateval.io.source import Table, TableError, is_missing
from pateval.io.text_files import DECIMAL_COMMA
from pateval.labels.classes import as_text, from_words, remedy
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pateval.io.source import Column

Source = Table | ParquetFiles


def first_value(source: Source, name: str) -> object:
    """Return the first value of a column that is not missing; None where all are."""
    for _, column in _batches(source, name):
        for value in column:
            if not is_missing(value):
                found: object = value
                return found
    return None


def not_numbers(source: Source, name: str, kind: str) -> TableError:
    """Say where the first score stands that is not a number."""
    what = {"text": "text", "time": "a date or time"}.get(kind)
    for offset, column in _batches(source, name):
        for row, value in enumerate(column, start=offset + 1):
            if kind == "text" and (not isinstance(value, (str, np.str_)) or is_number(value)):
                continue
            advice = "name another column with --score"
            if kind == "text" and DECIMAL_COMMA.fullmatch(str(value).strip()):
                advice = "write decimal points, or separate the columns by semicolons"
            elif kind == "text":
                advice = "correct it, or leave the cell empty and say --missing ignore"
            return TableError(
                f"{source.where}: column {name!r} holds {what or f'a {type(value).__name__}'} in row {row}, "
                f"{in_words(str(value))}; scores are numbers: {advice}"
            )
    return TableError(
        f"{source.where}: column {name!r} holds numbers written as text; scores are numbers: store them as such"
    )


def check_labels(source: Source, label: str, kind: str, positive: tuple[str, ...]) -> None:
    """Refuse words that do not say what is an anomaly, and classes that do not occur."""
    if kind == "number" and not positive:
        return  # looked at when a series is read
    if kind in ("time", "other"):
        what = "dates or times" if kind == "time" else "neither numbers nor words"
        raise TableError(
            f"{source.where}: column {label!r} holds {what}; "
            "labels are 0 or 1, or words: name another column with --label"
        )
    found: dict[str, int] = {}
    for offset, column in _batches(source, label):
        values = np.unique(column) if column.dtype.kind in "biuf" else column  # of numbers no row is named
        for row, value in enumerate(values.tolist(), start=offset + 1):
            if not is_missing(value):
                found.setdefault(as_text(value), row)
    if positive:
        absent = [name for name in positive if name not in found]
        if absent:
            raise TableError(
                f"{source.where}: column {label!r} holds no label {in_words(absent[0])}; its labels are "
                f"{listed([*found], 6)}"
            )
        return
    odd = [name for name in found if not source.from_file or from_words(np.array([name])) is None]
    if odd:
        name = next((value for value in odd if not is_number(value)), odd[0])
        raise TableError(
            f"{source.where}: column {label!r} holds text in row {found[name]}, {in_words(name)}; {remedy(list(found))}"
        )


def is_number(value: object) -> bool:
    """Whether a value is a number, or text that could be one."""
    try:
        float(value)  # type: ignore[arg-type]  # that is the question
    except (TypeError, ValueError):
        return False
    return True


def _batches(source: Source, name: str) -> Iterator[tuple[int, Column]]:
    """Yield one column in pieces, each with the number of its first row."""
    if isinstance(source, Table):
        yield 0, source.columns[name]
    else:
        for offset, columns in source.batches([name]):
            yield offset, columns[name]
