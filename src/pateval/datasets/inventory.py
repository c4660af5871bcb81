"""What of a data set is here, and what is missing: by names of series and numbers of rows, without reading them all."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pateval.datasets.series import Series
    from pateval.datasets.sources import Dataset


@dataclass(frozen=True)
class Contents:
    """What was found of a data set.

    Attributes
    ----------
    names : tuple of str
        The series.
    train_rows, test_rows : int or None
        Rows of all of them together; None where they were not counted.
    """

    names: tuple[str, ...]
    train_rows: int | None = None
    test_rows: int | None = None


def contents_of(series: Sequence[Series]) -> Contents:
    """Describe series that were loaded."""
    return Contents(
        tuple(part for record in series for part in record.parts),
        sum(record.train_steps for record in series),
        sum(record.steps for record in series),
    )


def find_contents(dataset: Dataset, root: Path) -> Contents | None:
    """Look for a data set below a folder; None where there is nothing of it.

    Parameters
    ----------
    dataset : Dataset
        From `pateval.datasets.info`.
    root : Path
        The folder data sets are kept in.
    """
    module, reader = dataset.reader.split(".")
    contents = importlib.import_module(f"pateval.datasets.{module}").contents
    for name in dataset.folders:
        folder = root / name
        if folder.is_dir():
            found: Contents = contents(folder, reader)
            if found.names:
                return found
    return None


def missing(dataset: Dataset, found: Contents) -> str:
    """Say in a few words what is missing of a data set; nothing where it is whole or its size is not known.

    Parameters
    ----------
    dataset : Dataset
        What there should be.
    found : Contents
        What there is.

    Examples
    --------
    >>> from pateval.datasets import info
    >>> missing(info("PSM")[0], Contents(("PSM",), 0, 8386))
    '8,386 of 87,841 test rows and 0 of 132,481 training rows are here'
    """
    absent = [name for name in dataset.members if name not in found.names]
    if absent:
        shown = ", ".join(absent[:12]) + (", ..." if len(absent) > 12 else "")
        return f"{len(dataset.members) - len(absent)} of {len(dataset.members)} series are here; missing: {shown}"
    wanted = _number(dataset.series)
    if not dataset.members and wanted is not None and len(found.names) < wanted:
        return f"{len(found.names)} of {wanted} series are here"
    short = []
    for word, text, count in (("test", dataset.test, found.test_rows), ("training", dataset.train, found.train_rows)):
        rows = _number(text)
        if rows is not None and count is not None and count < rows:
            short.append(f"{count:,} of {rows:,} {word} rows")
    return f"{' and '.join(short)} are here" if short else ""


def _number(text: str) -> int | None:
    """Read a published size such as ``708,405`` or ``495,000 (v1)``; None for words."""
    first = text.split(" ")[0].replace(",", "")
    return int(first) if first.isdigit() else None
