"""What the columns of a table hold, looked at before any series is read: numbers, words, dates, running numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pateval.io import guesses
from pateval.io.formats import DECIMAL_COMMA
from pateval.io.source import TableError, is_missing, numpy_column
from pateval.io.units import groups_of_rows
from pateval.labels.classes import as_text, from_words, remedy
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pateval.io.files import Source
    from pateval.io.source import Column

_RUNNING_NUMBERS = ("step", "index", "t")


def first_value(source: Source, name: str) -> object:
    """Return the first value of a column that is not missing; None where all are."""
    for _, column in _values(source, name):
        for value in column:
            if not is_missing(value):
                found: object = value
                return found
    return None


def not_numbers(source: Source, name: str, kind: str) -> TableError:
    """Say where the first score stands that is not a number."""
    what = {"text": "text", "time": "a date or time"}.get(kind)
    for offset, column in _values(source, name):
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
    for offset, column in _values(source, label):
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


def _values(source: Source, name: str) -> Iterator[tuple[int, Column]]:
    """Yield one column in pieces, each with the number of its first row."""
    for offset, columns in source.batches([name]):
        yield offset, columns[name]


def unordered_steps(source: Source, roles: Mapping[str, str]) -> list[str]:
    """Say which columns of running numbers, among those without a role, do not increase within a series.

    They are no clock, but where they do not increase the rows may be out of order. Parquet files are read batch by
    batch, and no further than to the first such row.

    Examples
    --------
    >>> from pateval.io import Table
    >>> table = Table("a", {"step": np.array([0, 1, 1]), "score": np.array([0.1, 0.2, 0.3])}, "a.csv")
    >>> unordered_steps(table, {"score": "score"})[0].partition(";")[0]
    "a.csv: column 'step' does not increase within a series (row 3: 1 after 1)"
    """
    kinds = source.kinds()
    keys = [name for name, role in roles.items() if role in ("series", "detector", "run")]
    found = []
    for name, kind in kinds.items():
        if name in roles or guesses.plain(name) not in _RUNNING_NUMBERS or kind != "number":
            continue
        place = _first_not_increasing(source, name, keys)
        if place is not None:
            row, value, before = place
            where, row = source.locate(row, row + 1)
            found.append(
                f"{where}: column {name!r} does not increase within a series (row {row + 1}: {value} after {before}); "
                f"rows are taken as they stand: sort them with --time {name} --sort, or name the column that tells "
                f"series apart with --series"
            )
    return found


def _first_not_increasing(source: Source, name: str, keys: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the first row whose number is not above the one before it in its series, with both numbers."""
    last: dict[tuple[str, ...], int] = {}  # number of the last row so far, by series
    for first_row, columns in source.batches([name, *keys], encoded=True):
        column = columns[name]
        numbers = column if isinstance(column, np.ndarray) else numpy_column(column)
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            return None
        order, starts, groups = groups_of_rows(columns, keys, source, first_row, numbers.size)
        ordered = numbers[order]
        wrong = np.flatnonzero(ordered[1:] <= ordered[:-1]) + 1
        before = {int(order[place]): int(ordered[place - 1]) for place in np.setdiff1d(wrong, starts)}
        for start, group in zip(starts.tolist(), groups, strict=True):
            if group in last and ordered[start] <= last[group]:
                before[int(order[start])] = last[group]
        if before:
            row = min(before)
            return first_row + row, int(numbers[row]), before[row]
        stops = np.append(starts[1:], numbers.size)
        last |= dict(zip(groups, ordered[stops - 1].tolist(), strict=True))
    return None
