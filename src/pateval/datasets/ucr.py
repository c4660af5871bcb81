"""UCR anomaly archive (KDD Cup 2021): univariate series, each with one anomaly, whose place is in the file name.

``NNN_UCR_Anomaly_NAME_TRAIN_START_STOP.txt``: the first TRAIN values are free of anomalies, steps START to STOP hold
one. Whether STOP belongs to it is stated nowhere; here steps count from 0 and STOP does not (`START` does always),
which is how the PATE experiments read series 005. The rule is the same for text and Parquet files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pateval.validation.arrays import FloatArray

_NAME = re.compile(r"^(\d+)_UCR_Anomaly_(.+)_(\d+)_(\d+)_(\d+)$")


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return bool(_files(folder))


def read(folder: Path) -> list[Series]:
    """Read every series, in order of its number.

    Parameters
    ----------
    folder : Path
        That holds the files, at any depth (the archive nests them).

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
        raise TableError(f"{folder}: there are no files NNN_UCR_Anomaly_NAME_TRAIN_START_STOP.txt here")
    return [_series(path) for path in files]


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    return Contents(tuple(path.stem for path in _files(folder)))


def _files(folder: Path) -> list[Path]:
    paths = [*folder.rglob("*_UCR_Anomaly_*.txt"), *folder.rglob("*_UCR_Anomaly_*.parquet")]
    return sorted((path for path in paths if _NAME.match(path.stem)), key=lambda path: path.name)


def _series(path: Path) -> Series:
    match = _NAME.match(path.stem)
    assert match is not None  # noqa: S101 - _files chose it
    train, start, stop = (int(match[index]) for index in (3, 4, 5))
    values = _values(path)
    if not 0 < train <= start <= stop <= values.size:
        raise TableError(
            f"{path}: {values.size} values do not fit the name, which promises {train} to train on and an anomaly at "
            f"{start} to {stop}"
        )
    labels = np.zeros(values.size, dtype=np.bool_)
    labels[start : max(stop, start + 1)] = True
    column = values[:, np.newaxis]
    return Series(path.stem, column[train:], labels[train:], column[:train], ("value",))


def _values(path: Path) -> FloatArray:
    """Read the values; text files hold one per line, or all on one line separated by blanks."""
    if path.suffix == ".parquet":
        table = read_table(path)
        if "value" not in table.columns:
            raise TableError(f"{path}: there is no column 'value'")
        return matrix.features(table, drop=set(table.columns) - {"value"})[1][:, 0].astype(np.float64)
    matrix.require_file(path)
    words = path.read_text(errors="replace").split()
    try:
        values = np.array(words, dtype=np.float64)
    except ValueError:
        for number, word in enumerate(words, start=1):
            try:
                float(word)
            except ValueError:
                raise TableError(f"{path}: value {number} is {word[:40]!r}, not a number") from None
        raise
    if values.size == 0:
        raise TableError(f"{path}: the file holds no values")
    matrix.finite(values, path)
    return values
