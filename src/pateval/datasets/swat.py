"""Secure Water Treatment: 51 sensors and actuators of a test bed, eleven days, the last four with attacks.

The data are given out on request only (see `pateval data info SWaT`). What arrives are workbooks, which must be saved
as CSV once: ``SWaT_Dataset_Normal_v1.csv`` (495,000 rows; v0 has 496,800) and ``SWaT_Dataset_Attack_v0.csv`` (449,919
rows). The header may be preceded by a line of process names; labels are the words of the column ``Normal/Attack``,
among them the known misspelling ``A ttack``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import Table, TableError

if TYPE_CHECKING:
    from pathlib import Path

    from pateval.validation.arrays import BoolArray


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return _file(folder, "attack", ".csv") is not None and _file(folder, "normal", ".csv") is not None


def read(folder: Path) -> list[Series]:
    """Read the one series: normal operation to learn from, the days with attacks to score.

    Parameters
    ----------
    folder : Path
        With one CSV file whose name contains "normal" and one whose name contains "attack".

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing, still a workbook, or damaged.
    """
    paths = {}
    for word in ("normal", "attack"):
        path = _file(folder, word, ".csv")
        if path is None:
            workbook = _file(folder, word, ".xlsx")
            if workbook is not None:
                raise TableError(f"{workbook}: a workbook; open it in a spreadsheet program and save it as CSV first")
            raise TableError(
                f"{folder}: there is no CSV file with {word!r} in its name; SWaT is given out on request only"
            )
        paths[word] = path
    normal, attack = _table(paths["normal"]), _table(paths["attack"])
    names, test = matrix.features(attack, drop=_no_features(attack))
    train_names, train = matrix.features(normal, drop=_no_features(normal))
    if train_names != names:
        raise TableError(f"{paths['normal']}: its columns differ from those of {paths['attack'].name}")
    return [Series("SWaT", test, _labels(attack), train, names)]


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    return Contents(("SWaT",) if found(folder) else ())


def _file(folder: Path, word: str, suffix: str) -> Path | None:
    if not folder.is_dir():
        return None
    matches = [path for path in sorted(folder.iterdir()) if word in path.name.lower() and path.suffix.lower() == suffix]
    return matches[-1] if matches else None


def _table(path: Path) -> Table:
    matrix.require_file(path)
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for skip in range(3):
            names = [name.strip() for name in next(lines, "").rstrip("\r\n").split(",")]
            if "Normal/Attack" in names:
                table = matrix.headless(path, names, skip=skip + 1)
                return Table("SWaT", {name: column for name, column in table.columns.items() if name}, str(path))
    raise TableError(f"{path}: there is no column 'Normal/Attack' in its first three lines")


def _no_features(table: Table) -> set[str]:
    return {
        name for name in table.columns if name == "Normal/Attack" or name.lower().startswith(("timestamp", "unnamed"))
    }


def _labels(table: Table) -> BoolArray:
    words = np.array([str(word).replace(" ", "").lower() for word in table.columns["Normal/Attack"].tolist()])
    attack = np.isin(words, ["attack", "1", "1.0", "-1"])
    other = ~attack & ~np.isin(words, ["normal", "0", "0.0"])
    if other.any():
        row = int(np.argmax(other))
        raise TableError(f"{table.where}: column 'Normal/Attack' holds {str(words[row])!r} in row {row + 1}")
    return attack
