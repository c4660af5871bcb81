"""TSB-AD: series curated from forty collections, one CSV file each, named by what is in it.

``001_NAB_id_1_Facility_tr_1007_1st_2014.csv``: the first 1007 rows may be learned from, the first anomaly is at row
2014; columns of data, then ``Label``. As in the benchmark's own runs, rows with a missing value are left out and the
whole series is scored, the training rows included.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import Table, TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"^\d+_.+_tr_(\d+)_1st_(\d+)$")


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return bool(_files(folder))


def read(folder: Path) -> list[Series]:
    """Read every series, in order of its number.

    Parameters
    ----------
    folder : Path
        With the CSV files, at any depth.

    Returns
    -------
    list of Series
        Each called like its file without the suffix.

    Raises
    ------
    TableError
        If there is none, or one is damaged or does not fit its name.
    """
    files = _files(folder)
    if not files:
        raise TableError(f"{folder}: there are no files NNN_..._tr_N_1st_M.csv here")
    return [_series(path) for path in files]


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    return Contents(tuple(path.stem for path in _files(folder)))


def _files(folder: Path) -> list[Path]:
    return sorted(
        (path for path in folder.rglob("*_tr_*_1st_*.csv") if _NAME.match(path.stem)), key=lambda path: path.name
    )


def _series(path: Path) -> Series:
    match = _NAME.match(path.stem)
    assert match is not None  # noqa: S101 - _files chose it
    train = int(match[1])
    table = read_table(path)
    if "Label" not in table.columns:
        raise TableError(f"{path}: there is no column 'Label'; its columns are {', '.join(table.columns)}")
    whole = np.ones(table.rows, dtype=np.bool_)
    for column in table.columns.values():
        if column.dtype.kind in "fO":
            whole &= np.array([value is not None and value == value for value in column.tolist()])
    if not whole.all():
        table = Table(table.name, {name: column[whole] for name, column in table.columns.items()}, table.where)
    names, values = matrix.features(table, drop={"Label"})
    if not 0 < train <= len(values):
        raise TableError(f"{path}: {len(values)} rows do not fit the name, which promises {train} to train on")
    return Series(path.stem, values, matrix.labels(table, "Label"), values[:train], names)
