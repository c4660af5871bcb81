"""Frames and mappings in: pandas, polars, pyarrow and whatever else narwhals knows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from pateval.io.files import open_table
from pateval.io.parquet import ParquetFiles
from pateval.io.source import (
    Column,
    Table,
    TableError,
    numpy_column,
    object_array,
    require_equal_lengths,
)
from pateval.validation.indexes import index_of, require_same_index


def as_table(data: object, *, name: str | None = None) -> Table | ParquetFiles:
    """Open whatever holds a table: a path, a data frame, or a mapping of column names to arrays.

    Parameters
    ----------
    data : path, data frame, mapping or Table
        Frames of pandas, polars, pyarrow and everything else narwhals reads; lazy frames are collected. An index of
        dates becomes a column, called like the index, or ``timestamp``.
    name : str, optional
        What to call a frame or mapping, where its name is to stand for a detector.

    Returns
    -------
    Table or ParquetFiles

    Raises
    ------
    TableError
        If it is not a table, is empty, or has columns of different lengths.

    Examples
    --------
    >>> as_table({"label": [0, 1], "score": [0.2, 0.9]}).rows
    2
    """
    if isinstance(data, (Table, ParquetFiles)):
        return data
    if isinstance(data, (str, os.PathLike)):
        return open_table(data)
    where = "the table" if name is None else name
    columns = _from_mapping(data, where) if isinstance(data, Mapping) else _from_frame(data, where)
    if not columns:
        raise TableError(f"{where}: there are no columns; labels and scores are needed")
    require_equal_lengths(columns, where, "columns")
    table = Table(name, columns, where)
    if table.rows == 0:
        raise TableError(f"{where}: there are no rows; at least one time step is needed")
    return table


def _from_mapping(data: Mapping[Any, Any], where: str) -> dict[str, Column]:
    try:
        require_same_index(**{repr(str(name)): values for name, values in data.items()})
    except ValueError as error:
        raise TableError(f"{where}: {error}") from error
    columns: dict[str, Column] = {}
    for name, values in data.items():
        column = np.asarray(values) if not isinstance(values, np.ma.MaskedArray) else object_array(values.tolist())
        if column.ndim != 1:
            raise TableError(f"{where}: column {name!r} has shape {column.shape}; one value per time step is needed")
        columns[str(name)] = column
    return columns


def _from_frame(data: object, where: str) -> dict[str, Column]:
    import narwhals as nw

    try:
        native: Any = nw.from_native(data)
    except TypeError as error:
        raise TableError(
            f"{where}: a path, a data frame or a mapping of arrays is needed, not {type(data).__name__}"
        ) from error
    frame: Any = native.collect() if isinstance(native, nw.LazyFrame) else native
    columns: dict[str, Column] = {}
    for name in frame.columns:
        series = frame[name]
        if nw.get_native_namespace(frame).__name__ == "pyarrow":
            columns[str(name)] = numpy_column(series.to_native())
        elif series.null_count():
            columns[str(name)] = object_array(series.to_list())
        else:
            columns[str(name)] = np.asarray(series.to_numpy())
    index = index_of(data)
    if type(index).__name__ == "DatetimeIndex":
        name = "timestamp" if index.name is None else str(index.name)
        columns = {name: _dates(index)} | columns
    return columns


def _dates(index: Any) -> Column:
    """Return the dates of a pandas index, in universal time where they have a zone."""
    return np.asarray(index.tz_convert(None) if index.tz is not None else index)
