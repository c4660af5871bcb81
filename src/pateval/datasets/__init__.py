"""Public benchmark series, read from their original files or from Parquet, and any folder of tables.

>>> from pateval.datasets import info
>>> [each.name for each in info()][:4]
['SMD', 'MSL', 'SMAP', 'PSM']
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import cast

from pateval.datasets.inventory import contents_of, find_contents, missing
from pateval.datasets.series import Series, join
from pateval.datasets.sources import DATASETS, Dataset

__all__ = [
    "Dataset",
    "Series",
    "contents_of",
    "data_root",
    "find_contents",
    "info",
    "join",
    "load",
    "missing",
]


def info(name: str | None = None) -> list[Dataset]:
    """Describe the known data sets, or one of them: licence, citation, origin, published sizes.

    Parameters
    ----------
    name : str, optional
        Case, hyphens and underscores do not matter.

    Returns
    -------
    list of Dataset

    Raises
    ------
    ValueError
        If there is no such data set; the message lists those there are.

    Examples
    --------
    >>> info("psm")[0].licence
    'CC BY 4.0, (c) 2021 eBay Inc.'
    """
    if name is None:
        return list(DATASETS)
    known = _find(name)
    if known is None:
        raise ValueError(f"there is no data set {name!r}; known are {', '.join(dataset.name for dataset in DATASETS)}")
    return [known]


def data_root() -> Path:
    """Return the folder data sets are kept in: ``$PATEVAL_DATA``, or ``pateval`` in the user's cache folder."""
    named = os.environ.get("PATEVAL_DATA")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pateval"


def load(name_or_folder: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None) -> list[Series]:
    """Load a data set by name, or whatever a folder or file holds.

    Parameters
    ----------
    name_or_folder : str or path
        A known name, looked for below ``root``; or a folder, whose layout is recognised (the original layouts of the
        known data sets, else pairs of ``NAME_train`` and ``NAME_test`` files, else files with labels); or one file.
    root : path, optional
        Where data sets are kept; `data_root` by default.

    Returns
    -------
    list of Series
        In a fixed order. `join` lays them end to end.

    Raises
    ------
    ValueError
        If there is neither such a data set nor such a folder, or it has not been fetched yet.
    TableError
        If a file is missing or damaged.
    """
    text = os.fspath(name_or_folder)
    known = _find(text)
    if known is not None:
        place = Path(root) if root is not None else data_root()
        folder = next((place / name_on_disk for name_on_disk in known.folders if (place / name_on_disk).is_dir()), None)
        if folder is None and Path(text).is_dir():
            folder = Path(text)
        if folder is None:
            how = known.note if not known.downloads else f"get it with 'pateval data fetch {known.name}'"
            raise ValueError(f"{known.name} is not in {place}: {how}")
        return _read(known.reader, folder)
    path = Path(text)
    if not path.exists():
        names = ", ".join(dataset.name for dataset in DATASETS)
        raise ValueError(f"{text!r} is neither a folder nor a known data set; known are {names}")
    if path.is_dir():
        for module in ("smd", "telemanom", "psm", "swat", "nab", "ucr", "ecg", "tsb_ad"):
            if importlib.import_module(f"pateval.datasets.{module}").found(path):
                return _read(f"{module}.read", path)
    return _read("folder.read", path)


def _find(name: str) -> Dataset | None:
    """Find a data set by its name, or by a folder name that only one of them has."""
    plain = _plain(name)
    named = [dataset for dataset in DATASETS if _plain(dataset.name) == plain]
    others = [dataset for dataset in DATASETS if plain in map(_plain, dataset.folders)]
    return named[0] if named else others[0] if len(others) == 1 else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _read(reader: str, folder: Path) -> list[Series]:
    module, function = reader.split(".")
    return cast("list[Series]", getattr(importlib.import_module(f"pateval.datasets.{module}"), function)(folder))
