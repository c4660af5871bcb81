"""Numbers out of files: feature matrices and label vectors, with errors that name file, column and row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.io import Table, TableError
from pateval.validation.arrays import BoolArray, FloatArray, binary_array
from pateval.validation.wording import listed, one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path


def headless(path: Path, names: Sequence[str] | None = None, *, skip: int = 0) -> Table:
    """Read numbers with commas between them and no header; columns are called ``f00``, ``f01``, ... unless named."""
    import pyarrow as pa
    import pyarrow.csv

    require_file(path)
    try:
        options = pa.csv.ReadOptions(autogenerate_column_names=True, skip_rows=skip)
        table = pa.csv.read_csv(path, read_options=options)
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
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=[column])
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path}: not a readable Parquet file ({one_line(error, 160)})") from error
    return tuple(map(str, table[column].unique().to_pylist())) if column in table.column_names else (path.stem,)


def labels(table: Table, column: str) -> BoolArray:
    """Return a column of 0/1 as booleans; the error names file and column."""
    try:
        return binary_array(table.columns[column], "labels")
    except (TypeError, ValueError) as error:
        raise TableError(f"{table.where}: column {column!r}: {error}") from error


def array(path: Path) -> FloatArray:
    """Read an ``.npy`` file of numbers, rows by features; pickled objects are refused."""
    require_file(path)
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


def same_length(path: Path, labels_: BoolArray, steps: int) -> None:
    """Raise TableError where a label file does not fit its series."""
    if labels_.size != steps:
        raise TableError(f"{path}: {labels_.size} labels for {steps} steps")


def require_file(path: Path) -> None:
    """Raise TableError where a file that must be there is not, or is empty."""
    try:
        empty = path.stat().st_size == 0
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from error
    if empty:
        raise TableError(f"{path}: the file is empty; write or fetch it again")


def _numbers(table: Table, name: str, missing: float | None) -> npt.NDArray[Any]:
    """Return one column as numbers."""
    column = table.columns[name]
    if column.dtype.kind in "biu":
        return column
    if column.dtype.kind != "f":
        values = np.full(column.size, np.nan)
        for row, value in enumerate(column.tolist()):
            if value is not None:
                try:
                    values[row] = float(value)
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
