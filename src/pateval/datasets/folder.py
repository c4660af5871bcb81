"""Any folder of tables: text, Parquet, Arrow, JSON lines or NPZ files.

``NAME_train`` and ``NAME_test`` (with a label column, or with ``NAME_test_label`` beside them) are one series;
``train`` and ``test`` without a name are called like the folder; any other file is a test stretch with labels and no
training stretch. A column called ``series``, ``machine``, ``channel`` and the like splits a file into several series.
Columns that are called like times, running numbers, labels, scores, predictions or detectors are no features; text and
missing values in the others are errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.series import Series
from pateval.io import Table, TableError, expand, guesses, read_table
from pateval.time.dates import time_numbers
from pateval.time.windows import windows_in_a_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pateval.validation.arrays import BoolArray

_ROLE = re.compile(r"^(?:(?P<name>.*?)[_\-.])??(?P<role>test_labels?|labels?|train|test)$", re.IGNORECASE)


def read(folder: Path) -> list[Series]:
    """Read every series of a folder of data files, or of one file."""
    groups: dict[str, dict[str, Path]] = {}
    for path in expand(folder):
        stem = path.name.split(".")[0] if path.is_file() else path.name
        match = _ROLE.match(stem)
        name = (match["name"] or folder.name) if match else stem
        role = match["role"].lower() if match else "test"
        role = "label" if role.endswith(("label", "labels")) else role
        if role in groups.setdefault(name, {}):
            raise TableError(f"{path}: a second {role} file for series {name!r}, beside {groups[name][role].name}")
        groups[name][role] = path
    found: list[Series] = []
    for name, files in groups.items():
        if "test" not in files:
            raise TableError(f"{next(iter(files.values()))}: there is no test file for series {name!r}")
        found.extend(read_pair(files.get("train"), files["test"], name, label_file=files.get("label")))
    return found


def read_pair(train: Path | None, test: Path, name: str, *, label_file: Path | None = None) -> list[Series]:
    """Read one training file, if there is one, and one test file, which may hold several series.

    ``name`` is that of the series where the file holds only one; labels are in the test file unless one of their own
    is named.
    """
    table = read_table(test)
    truth = table if label_file is None else read_table(label_file)
    column = _named(truth, guesses.LABELS, "labels")
    if column is None:
        raise TableError(f"{truth.where}: no column looks like labels; its columns are {', '.join(truth.columns)}")
    values = matrix.labels(truth, column)
    matrix.same_length(label_file or test, values, table.rows)
    training = None if train is None else read_table(train)
    key = _named(table, guesses.SERIES, "series")
    if key is None:
        return [_series(name, table, training, values)]
    if training is not None and key not in training.columns:
        raise TableError(f"{training.where}: there is no column {key!r} to tell series apart")
    known = {} if training is None else _split(training, key)
    found = []
    for series_name, rows in _split(table, key).items():
        mine = None
        if training is not None:
            chosen = known.get(series_name)
            if chosen is None:
                raise TableError(
                    f"{training.where}: column {key!r} has no rows for {series_name!r}, which the test file has"
                )
            mine = _take(training, chosen, key)
        found.append(_series(series_name, _take(table, rows, key), mine, values[rows]))
    return found


def _series(name: str, table: Table, training: Table | None, values: BoolArray) -> Series:
    left_out = tuple(column for column in table.columns if not _is_feature(table, column))
    window = windows_in_a_row(values) if len(left_out) == len(table.columns) else None
    if window is not None:
        raise TableError(
            f"{table.where}: its {table.rows:,} rows are windows of {window} steps laid one after another, each a step "
            f"later: give every step one row, as pv.scores_from_windows does with the scores"
        )
    names, test = matrix.features(table, drop=left_out)
    train = None
    if training is not None:
        absent = [column for column in names if column not in training.columns]
        if absent:
            raise TableError(f"{training.where}: there is no column {absent[0]!r}, which {table.where} has")
        ordered = Table(training.name, {column: training.columns[column] for column in names}, training.where)
        train = matrix.features(ordered, dtype=test.dtype)[1]
    notes = [line for source in (training, table) if source is not None for line in _unordered(source, name)]
    return Series(name, test, values, train, names, left_out=left_out, notes=tuple(notes))


def _unordered(table: Table, series: str) -> Iterator[str]:
    """Say where times decrease or repeat: detectors take the rows as they stand."""
    for name in filter(guesses.is_time, table.columns):
        try:
            times, _ = time_numbers(table.columns[name])
        except (TypeError, ValueError):
            continue  # called like times, and holds something else
        wrong = np.flatnonzero(~(np.diff(times) > 0))
        if wrong.size:
            what = "repeat" if (times[wrong + 1] == times[wrong]).all() else "are out of order"
            places = f"{wrong.size:,} {'place' if wrong.size == 1 else 'places'}"
            yield (
                f"{table.where}: series {series!r}: the times in column {name!r} {what} ({places}, the first at step "
                f"{wrong[0] + 1:,}, counted from 0); rows are taken as they stand: sort the file, or leave repeated "
                f"rows out, where that is not meant"
            )


def _is_feature(table: Table, name: str) -> bool:
    roles = (guesses.is_label, guesses.is_time, guesses.is_step, guesses.is_score, guesses.is_prediction)
    if any(is_called(name) for is_called in roles) or guesses.equals([name], guesses.DETECTORS):
        return False
    return table.columns[name].dtype.kind not in "mM"


def _named(table: Table, tiers: tuple[tuple[str, ...], ...], role: str) -> str | None:
    found = guesses.equals(table.columns, tiers)
    if len(found) > 1:
        which = " and ".join(map(repr, found))
        raise TableError(f"{table.where}: {which} look like the {role}; rename or take out all but one")
    return found[0] if found else None


def _split(table: Table, key: str) -> dict[str, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Return the rows of each series, in order of appearance."""
    values, first, inverse = np.unique(table.columns[key].astype(str), return_index=True, return_inverse=True)
    return {str(values[index]): np.flatnonzero(inverse == index) for index in np.argsort(first)}


def _take(table: Table, rows: np.ndarray[tuple[int], np.dtype[np.intp]], key: str) -> Table:
    columns = {name: column[rows] for name, column in table.columns.items() if name != key}
    return Table(table.name, columns, table.where)
