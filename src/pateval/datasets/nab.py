"""Numenta Anomaly Benchmark: 58 univariate series with time stamps, without a training stretch.

Two truths are published: windows around each anomaly (``combined_windows.json``, both ends included), which the
benchmark scores by, and the single time stamps inside them (``combined_labels.json``).
"""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pateval.validation.arrays import BoolArray


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return (folder / "NAB.parquet").is_file() or (folder / "labels" / "combined_windows.json").is_file()


def read(folder: Path) -> list[Series]:
    """Read all series with the windows as truth.

    Parameters
    ----------
    folder : Path
        With ``data`` and ``labels`` as in the repository, or with ``NAB.parquet``.

    Returns
    -------
    list of Series
        Called like their files, ``realKnownCause/nyc_taxi.csv``.

    Raises
    ------
    TableError
        If a file is missing or damaged.
    """
    return _read(folder, "window")


def read_points(folder: Path) -> list[Series]:
    """Read all series with the single time stamps as truth.

    Parameters
    ----------
    folder : Path
        As for `read`.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing or damaged.
    """
    return _read(folder, "point")


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    if (path := folder / "NAB.parquet").is_file():
        import pyarrow.parquet as pq

        return Contents(tuple(pq.read_table(path, columns=["series"])["series"].unique().to_pylist()))
    files = sorted((folder / "data").glob("*/*.csv"))
    return Contents(tuple(f"{path.parent.name}/{path.name}" for path in files))


def _read(folder: Path, truth: str) -> list[Series]:
    if (folder / "NAB.parquet").is_file():
        return _from_parquet(folder / "NAB.parquet", f"label_{truth}")
    path = folder / "labels" / ("combined_windows.json" if truth == "window" else "combined_labels.json")
    matrix.require_file(path)
    try:
        listed = json.loads(path.read_text())
    except ValueError as error:
        raise TableError(f"{path}: not valid JSON ({error})") from error
    if not isinstance(listed, dict) or not listed:
        raise TableError(f"{path}: an object of file names and time stamps is needed")
    return [_from_csv(folder / "data" / name, name, entries, path) for name, entries in listed.items()]


def _from_parquet(path: Path, label: str) -> list[Series]:
    table = read_table(path)
    for name in ("series", "value", label):
        if name not in table.columns:
            raise TableError(f"{path}: there is no column {name!r}")
    values = matrix.features(table, drop=set(table.columns) - {"value"})[1]
    labels = matrix.labels(table, label)
    names = table.columns["series"].astype(str)
    starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1), names.size]
    return [
        Series(str(names[start]), values[start:stop], labels[start:stop], None, ("value",))
        for start, stop in itertools.pairwise(starts)
    ]


def _from_csv(path: Path, name: str, entries: Any, listed: Path) -> Series:
    table = read_table(path)
    for column in ("timestamp", "value"):
        if column not in table.columns:
            raise TableError(f"{path}: there is no column {column!r}")
    values = matrix.features(table, drop=set(table.columns) - {"value"})[1]
    times = table.columns["timestamp"]
    if times.dtype.kind != "M":
        raise TableError(f"{path}: column 'timestamp' holds no dates")
    try:
        labels = _labels(times.astype("datetime64[us]"), entries)
    except (TypeError, ValueError) as error:
        raise TableError(f"{listed}: the entries of {name!r} are no time stamps ({error})") from error
    return Series(name, values, labels, None, ("value",))


def _labels(times: np.ndarray[tuple[int], np.dtype[np.datetime64]], entries: Any) -> BoolArray:
    labels = np.zeros(times.size, dtype=np.bool_)
    for entry in entries:
        first, last = (entry, entry) if isinstance(entry, str) else entry
        labels |= (times >= np.datetime64(first, "us")) & (times <= np.datetime64(last, "us"))
    return labels
