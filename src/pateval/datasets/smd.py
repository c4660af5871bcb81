"""Server Machine Dataset: 28 machines, 38 metrics each.

The original files are read as published (``train/``, ``test/`` and ``test_label/`` of ``machine-G-I.txt``, numbers
separated by commas), as float32: the text has six decimals of values between 0 and 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from pateval.datasets import matrix
from pateval.datasets.folder import read_pair
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import TableError

if TYPE_CHECKING:
    from pathlib import Path


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    return _original(folder) is not None or any(folder.glob("machine-*_test.parquet"))


def read(folder: Path) -> list[Series]:
    """Read one series per machine, in order of group and number.

    Parameters
    ----------
    folder : Path
        ``ServerMachineDataset``, a folder that holds it, or Parquet files ``machine-G-I_{train,test}.parquet``.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing, damaged or of another length than its labels.
    """
    original = _original(folder)
    if original is not None:
        names = sorted((path.stem for path in (original / "test").glob("machine-*.txt")), key=_order)
        if not names:
            raise TableError(f"{original / 'test'}: the folder holds no files machine-*.txt")
        return [_machine(original, name) for name in names]
    files = sorted(folder.glob("machine-*_test.parquet"), key=lambda path: _order(path.stem))
    if not files:
        raise TableError(f"{folder}: neither ServerMachineDataset/test nor files machine-*_test.parquet are here")
    read: list[Series] = []
    for path in files:
        name = path.stem.removesuffix("_test")
        read.extend(read_pair(path.with_name(f"{name}_train.parquet"), path, name))
    return read


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    original = _original(folder)
    if original is not None:
        return Contents(tuple(sorted((path.stem for path in (original / "test").glob("machine-*.txt")), key=_order)))
    stems = sorted((path.stem for path in folder.glob("machine-*_test.parquet")), key=_order)
    return Contents(tuple(stem.removesuffix("_test") for stem in stems))


def interpretation(folder: Path) -> dict[str, list[tuple[int, int, tuple[int, ...]]]]:
    """Read which metrics the operators blamed for each event.

    Parameters
    ----------
    folder : Path
        As for `read`; only the original layout has these files.

    Returns
    -------
    dict of str to list of (start, stop, features)
        Per machine; steps are half-open, features count from 1 as in the files.

    Raises
    ------
    TableError
        If a line is not of the form ``start-stop:feature,feature``.
    """
    causes: dict[str, list[tuple[int, int, tuple[int, ...]]]] = {}
    original = _original(folder) or folder
    for path in sorted((original / "interpretation_label").glob("machine-*.txt"), key=lambda file: _order(file.stem)):
        events = causes.setdefault(path.stem, [])
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            match = re.fullmatch(r"\s*(\d+)-(\d+):([\d,\s]+)", line)
            if match:
                events.append(
                    (int(match[1]), int(match[2]), tuple(int(text) for text in match[3].split(",") if text.strip()))
                )
            elif line.strip():
                raise TableError(f"{path}: line {number} is not of the form start-stop:feature,feature")
    return causes


def _original(folder: Path) -> Path | None:
    for candidate in (folder, folder / "ServerMachineDataset"):
        if (candidate / "test_label").is_dir() and (candidate / "test").is_dir():
            return candidate
    return None


def _machine(folder: Path, name: str) -> Series:
    test_path, label_path = folder / "test" / f"{name}.txt", folder / "test_label" / f"{name}.txt"
    names, test = matrix.features(matrix.headless(test_path), dtype=np.float32)
    train = matrix.features(matrix.headless(folder / "train" / f"{name}.txt"), dtype=np.float32)[1]
    if train.shape[1] != test.shape[1]:
        raise TableError(f"{test_path}: {test.shape[1]} features, but the training file has {train.shape[1]}")
    labels = matrix.labels(matrix.headless(label_path, ["label"]), "label")
    matrix.same_length(label_path, labels, len(test))
    return Series(name, test, labels, train, names)


def _order(stem: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", stem))
