"""Numbers out of tables, and any folder of tables: text, Parquet, Arrow, JSON lines or NPZ files.

``NAME_train`` and ``NAME_test`` (with a label column, or with ``NAME_test_label`` beside them) are one series;
``train`` and ``test`` without a name are called like the folder; any other file is a test stretch with labels and no
training stretch. A column called ``series``, ``machine``, ``channel`` and the like splits a file into several series.
Columns that are called like times, running numbers, labels, scores, predictions or detectors are no features; text and
missing values in the others are errors, which name file, column and row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.datasets.series import Series
from pateval.io import Table, TableError, expand, guesses, read_table
from pateval.io.content import arrow, require_readable
from pateval.io.files import FILE_COLUMN
from pateval.time.dates import time_numbers
from pateval.time.windows import windows_in_a_row
from pateval.validation.arrays import BoolArray, FloatArray, binary_array
from pateval.validation.wording import listed, one_line

Rows = npt.NDArray[np.intp]

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
    series: list[Series] = []
    for name, files in groups.items():
        if "test" not in files:
            raise TableError(f"{next(iter(files.values()))}: there is no test file for series {name!r}")
        series.extend(read_pair(files.get("train"), files["test"], name, label_file=files.get("label")))
    return series


def read_pair(train: Path | None, test: Path, name: str, *, label_file: Path | None = None) -> list[Series]:
    """Read one training file, if there is one, and one test file, which may hold several series.

    ``name`` is that of the series where the file holds only one; labels are in the test file unless one of their own
    is named.
    """
    table = read_table(test)
    truth = table if label_file is None else read_table(label_file)
    column = guesses.only(truth.columns, guesses.LABELS, truth.where, "labels")
    if column is None:
        raise TableError(f"{truth.where}: no column looks like labels; its columns are {', '.join(truth.columns)}")
    values = labels(truth, column, table.rows)
    training = None if train is None else read_table(train)
    key = guesses.only(table.columns, guesses.SERIES, table.where, "series")
    key = key or (FILE_COLUMN if FILE_COLUMN in table.columns else None)
    if key is None:
        return [_series(name, table, training, values)]
    if training is not None and key not in training.columns:
        raise TableError(f"{training.where}: there is no column {key!r} to tell series apart")
    train_rows = {} if training is None else _split(training, key)
    series = []
    for part, rows in _split(table, key).items():
        if training is not None and part not in train_rows:
            raise TableError(f"{training.where}: column {key!r} has no rows for {part!r}, which the test file has")
        stretch = None if training is None else _take(training, train_rows[part], key)
        series.append(_series(part, _take(table, rows, key), stretch, values[rows]))
    return series


def _series(name: str, table: Table, training: Table | None, values: BoolArray) -> Series:
    left_out = tuple(column for column in table.columns if not _is_feature(table, column))
    window = windows_in_a_row(values) if len(left_out) == len(table.columns) else None
    if window is not None:
        raise TableError(
            f"{table.where}: its {table.rows:,} rows are windows of {window} steps laid one after another, each a step "
            f"later: give every step one row, as pv.scores_from_windows does with the scores"
        )
    names, test = features(table, drop=left_out)
    train = None
    if training is not None:
        absent = [column for column in names if column not in training.columns]
        if absent:
            raise TableError(f"{training.where}: there is no column {absent[0]!r}, which {table.where} has")
        ordered = Table(training.name, {column: training.columns[column] for column in names}, training.where)
        train = features(ordered, dtype=test.dtype)[1]
    notes = [line for source in (training, table) if source is not None for line in _unordered(source, name)]
    return Series(name, test, values, train, names, left_out=left_out, notes=tuple(notes))


def _unordered(table: Table, series: str) -> Iterator[str]:
    """Say where times decrease or repeat: detectors take the rows as they stand."""
    for name in (column for column in table.columns if guesses.is_called(column, "time")):
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
    has_role = guesses.is_called(name, "label", "time", "step", "score", "prediction")
    if name == FILE_COLUMN or has_role or guesses.equals([name], guesses.DETECTORS):
        return False
    return table.columns[name].dtype.kind not in "mM"


def _split(table: Table, key: str) -> dict[str, Rows]:
    """Return the rows of each series, in order of appearance."""
    values, first, inverse = np.unique(table.columns[key].astype(str), return_index=True, return_inverse=True)
    return {str(values[index]): np.flatnonzero(inverse == index) for index in np.argsort(first)}


def _take(table: Table, rows: Rows, key: str) -> Table:
    columns = {name: column[rows] for name, column in table.columns.items() if name != key}
    return Table(table.name, columns, table.where)


def headless(path: Path, names: Sequence[str] | None = None, *, skip: int = 0) -> Table:
    """Read numbers with commas between them and no header; columns are called ``f00``, ``f01``, ... unless named."""
    pa, arrow_csv = arrow(), arrow("csv")
    require_readable(path)
    try:
        options = arrow_csv.ReadOptions(autogenerate_column_names=True, skip_rows=skip)
        table = arrow_csv.read_csv(path, read_options=options)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a readable text file of numbers ({one_line(error, 160)})") from error
    if names is None:
        names = [f"f{index:02d}" for index in range(table.num_columns)]
    if table.num_columns != len(names):
        raise TableError(f"{path}: {len(names)} columns are needed ({', '.join(names)}); there are {table.num_columns}")
    columns = {
        name: np.array(column.to_pylist(), dtype=object) if column.null_count else column.to_numpy()
        for name, column in zip(names, table.columns, strict=True)
    }
    return Table(path.stem, columns, str(path))


def features(
    table: Table, *, drop: Collection[str] = (), dtype: npt.DTypeLike | None = None, missing: float | None = None
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the names and the matrix, rows by features, of all columns but those to drop.

    The matrix is float32 where every column is, else float64, unless a ``dtype`` is asked for. Missing values are
    refused unless ``missing`` says what stands for them.
    """
    names = tuple(name for name in table.columns if name not in drop)
    if not names:
        raise TableError(
            f"{table.where}: there is no column of recorded values beside the labels, which detectors and 'pateval "
            f"check' need; its columns are {listed(list(table.columns), 6)}: add the values, or name the file they "
            f"stand in"
        )
    columns = [_numbers(table, name, missing) for name in names]
    if dtype is None:
        dtype = np.float32 if all(column.dtype in (np.float32, np.float16) for column in columns) else np.float64
    matrix = np.empty((table.rows, len(names)), dtype=dtype)
    for index, column in enumerate(columns):
        matrix[:, index] = column
    return names, matrix


def column(table: Table, name: str) -> FloatArray:
    """Return one column of numbers as a matrix of one feature."""
    return features(table, drop=set(table.columns) - {name})[1]


def require_columns(table: Table, names: Sequence[str]) -> Table:
    """Return the table, or raise TableError at the first column it does not have."""
    absent = next((name for name in names if name not in table.columns), None)
    if absent is not None:
        raise TableError(f"{table.where}: there is no column {absent!r}; its columns are {', '.join(table.columns)}")
    return table


def names_in(path: Path, column: str) -> tuple[str, ...]:
    """Return the different names in a column of a Parquet file, as they come, without reading the other columns."""
    pa, pq = arrow(), arrow("parquet")
    try:
        table = pq.read_table(path, columns=[column])
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a readable Parquet file ({one_line(error, 160)})") from error
    return tuple(map(str, table[column].unique().to_pylist())) if column in table.column_names else (path.stem,)


def labels(table: Table, column: str, steps: int | None = None) -> BoolArray:
    """Return a column of 0/1, as long as its series, as booleans."""
    try:
        values = binary_array(table.columns[column], "labels")
    except (TypeError, ValueError) as error:
        raise TableError(f"{table.where}: column {column!r}: {error}") from error
    if steps is not None and values.size != steps:
        raise TableError(f"{table.where}: {values.size} labels for {steps} steps")
    return values


def array(path: Path) -> FloatArray:
    """Read an ``.npy`` file of numbers, rows by features; pickled objects are refused."""
    require_readable(path)
    try:
        values = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise TableError(f"{path}: not a readable NumPy file, perhaps truncated or damaged ({error})") from error
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.size == 0 or values.dtype.kind not in "biuf":
        shape = getattr(values, "shape", "no shape")
        raise TableError(f"{path}: an array of numbers, steps x features, is needed; got shape {shape}")
    finite(values, path)
    return values.astype(np.float64, copy=False)


def finite(values: npt.NDArray[Any], path: Path) -> None:
    """Raise TableError at the first NaN or infinite value."""
    wrong = ~np.isfinite(values)
    if wrong.any():
        row, column = np.argwhere(wrong.reshape(len(wrong), -1))[0]
        raise TableError(f"{path}: row {row + 1}, feature {column + 1} is missing or infinite")


def same_features(path: Path, test: FloatArray, train: FloatArray) -> None:
    """Raise TableError where a training stretch has other features than the test stretch."""
    if train.shape[1] != test.shape[1]:
        raise TableError(f"{path}: {test.shape[1]} features, but the training file has {train.shape[1]}")


def _numbers(table: Table, name: str, missing: float | None) -> npt.NDArray[Any]:
    column = table.columns[name]
    if column.dtype.kind in "biu":
        return column
    if column.dtype.kind != "f":
        values = np.full(column.size, np.nan)
        for row, value in enumerate(column.tolist()):
            try:
                values[row] = np.nan if value is None else float(value)
            except (TypeError, ValueError):
                shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:37]}..."
                raise TableError(
                    f"{table.where}: column {name!r} holds {shown} in row {row + 1}; features are numbers"
                ) from None
        column = values
    wrong = ~np.isfinite(column)
    if not wrong.any():
        return column
    if missing is not None and not np.isinf(column).any():
        return np.where(wrong, np.asarray(missing, dtype=column.dtype), column)
    row = int(np.argmax(wrong))
    raise TableError(
        f"{table.where}: column {name!r} is missing or infinite in row {row + 1} ({int(wrong.sum())} such values)"
    )
