"""Pooled Server Metrics of eBay: one series, 25 features.

Original layout: ``train.csv``, ``test.csv`` (with ``timestamp_(min)``) and ``test_label.csv``. As everybody does, the
time stamp is left out and missing values of the training stretch become 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pateval.datasets import matrix
from pateval.datasets.inventory import Contents
from pateval.datasets.series import Series
from pateval.io import Table, TableError, read_table

if TYPE_CHECKING:
    from pathlib import Path


def found(folder: Path) -> bool:
    """Tell whether a folder has this layout."""
    original = _original(folder)
    if original is None:
        return any(folder.glob("PSM_test_first*.parquet"))
    with (original / "test.csv").open(errors="replace") as lines:
        return "timestamp_(min)" in next(lines, "")


def read(folder: Path) -> list[Series]:
    """Read the one series.

    Parameters
    ----------
    folder : Path
        A folder with the three CSV files (or a ``data`` folder with them), or with ``PSM_test_first*.parquet``, an
        excerpt of the test stretch without a training stretch.

    Returns
    -------
    list of Series

    Raises
    ------
    TableError
        If a file is missing, damaged or of another length than its labels.
    """
    original = _original(folder)
    if original is None:
        excerpt = sorted(folder.glob("PSM_test_first*.parquet"))
        if not excerpt:
            raise TableError(f"{folder}: neither test.csv with test_label.csv nor PSM_test_first*.parquet are here")
        table = read_table(excerpt[0])
        names, test = matrix.features(table, drop=_times(table) | {"label"}, missing=0.0)
        if "label" not in table.columns:
            raise TableError(f"{excerpt[0]}: there is no column 'label'")
        return [Series("PSM", test, matrix.labels(table, "label"), None, names)]
    table, label_path = read_table(original / "test.csv"), original / "test_label.csv"
    names, test = matrix.features(table, drop=_times(table), missing=0.0)
    truth = read_table(label_path)
    column = next((name for name in truth.columns if name.strip().lower() == "label"), None)
    if column is None:
        raise TableError(f"{label_path}: there is no column 'label'; its columns are {', '.join(truth.columns)}")
    labels = matrix.labels(truth, column)
    matrix.same_length(label_path, labels, len(test))
    training = read_table(original / "train.csv")
    train_names, train = matrix.features(training, drop=_times(training), missing=0.0)
    if train_names != names:
        raise TableError(f"{training.where}: its features differ from those of test.csv")
    return [Series("PSM", test, labels, train, names)]


def contents(folder: Path, reader: str = "read") -> Contents:  # noqa: ARG001 - one reader for all
    """Say which series are here, without reading them."""
    original = _original(folder)
    if original is not None:
        rows = {}
        for name in ("train", "test"):
            path = original / f"{name}.csv"
            with path.open("rb") as lines:
                rows[name] = max(0, sum(1 for _ in lines) - 1)
        return Contents(("PSM",), rows["train"], rows["test"])
    excerpt = sorted(folder.glob("PSM_test_first*.parquet"))
    if not excerpt:
        return Contents(())
    return Contents(("PSM",), 0, read_table(excerpt[0]).rows)


def _original(folder: Path) -> Path | None:
    for candidate in (folder, folder / "data"):
        if (candidate / "test.csv").is_file() and (candidate / "test_label.csv").is_file():
            return candidate
    return None


def _times(table: Table) -> set[str]:
    return {name for name in table.columns if name.strip().lower().startswith("timestamp")}
