"""MBA ECG of TSB-UAD: heart beats of the MIT-BIH supraventricular arrhythmia records, one lead each.

Original layout: ``MBA_ECG805_data.out`` and the like, a value and a label per line, without a training stretch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return bool(_files(folder))


def read(folder: Path) -> list[Series]:
    """Read every record of a folder.

    Parameters
    ----------
    folder : Path
        With ``MBA_*.out`` or ``MBA_*.parquet``, perhaps in sub-folders.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If there is none or one is damaged.
    """
    files = _files(folder)
    if not files:
        raise TableError(f"{folder}: there are no files MBA_*.out or MBA_*.parquet here")
    return [read_record(path) for path in files]


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    return Contents(tuple(path.stem for path in _files(folder)))


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.rglob("MBA_*.out"), *folder.rglob("MBA_*.parquet")], key=lambda path: path.name)


def read_record(path: Path) -> Series:
    """Read one record, ``.out`` or ``.parquet``: a value and a label per step."""
    table = read_table(path) if path.suffix == ".parquet" else matrix.headless(path, ["value", "label"])
    for name in ("value", "label"):
        if name not in table.columns:
            raise TableError(f"{path}: there is no column {name!r}")
    names, values = matrix.features(table, drop=set(table.columns) - {"value"})
    return Series(path.stem.removesuffix("_data"), values, matrix.labels(table, "label"), None, names)
