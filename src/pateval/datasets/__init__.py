"""Public benchmark series, read from their original files or from Parquet, and any folder of tables.

What they are, whose they are and where they come from stands in ``sources.toml``.

>>> from pateval.datasets import info
>>> [dataset.name for dataset in info()][:4]
['SMD', 'MSL', 'SMAP', 'PSM']
"""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pateval.datasets.series import Contents as Contents
from pateval.datasets.series import Series as Series
from pateval.datasets.series import join as join

# In the order in which a folder without a known name is compared with them.
_LAYOUTS = ("smd", "telemanom", "psm_by_header", "swat", "nab", "ucr", "ecg", "tsb_ad")


@dataclass(frozen=True)
class Mirror:
    """One place a file can be had from."""

    url: str
    inside: str = ""  # of archives: the folder whose content is wanted; * stands for a folder of any name
    only: tuple[str, ...] = ()  # of archives: patterns of the paths wanted inside that folder; all where empty


@dataclass(frozen=True)
class Download:
    """One file to fetch."""

    mirrors: tuple[Mirror, ...]  # tried in order
    file: str = ""  # its name in the data set's folder; empty for an archive, which is unpacked there
    sha256: str | None = None  # of the file; None where it is not known


@dataclass(frozen=True)
class Dataset:
    """What is known about one data set."""

    name: str  # as used on the command line
    title: str
    licence: str
    citation: str
    origin: str
    series: str  # how many
    features: str
    train: str  # published numbers of rows
    test: str
    anomalies: str  # published share of anomalous test steps, and events
    layout: str  # function of `pateval.datasets.layouts` that finds it in a folder
    files: str  # what is looked for in that folder
    folders: tuple[str, ...]  # names that its folder may have below the data root
    downloads: tuple[Download, ...] = ()  # empty where it cannot be downloaded
    note: str = ""  # what else one should know
    home: str = ""  # the one of its folders a download goes to; the first where empty
    members: tuple[str, ...] = ()  # names of all its series, where they are known: what is missing can then be said


@dataclass(frozen=True)
class Published:
    """A table of values that a benchmark has published: a row per series, a column per detector."""

    name: str  # as used on the command line
    title: str
    licence: str
    citation: str
    origin: str
    metric: str
    detectors: str  # how many
    series: str
    file: str  # its name in the folder ``results`` of the data root
    note: str  # how the values were made
    downloads: tuple[Download, ...]

    def path(self, root: Path) -> Path:
        """Return where the table is, or would be, in the folder that data sets are kept in."""
        return root / "results" / self.file


_Record = TypeVar("_Record", Dataset, Published)


def _read(kind: type[_Record], entries: list[dict[str, Any]]) -> tuple[_Record, ...]:
    """Turn tables of ``sources.toml`` into records."""
    records: dict[str, _Record] = {}
    for entry in entries:
        downloads = [
            Download(tuple(Mirror(**_with_tuples(mirror)) for mirror in download.pop("mirrors")), **download)
            for download in entry.pop("downloads", [])
        ]
        fields = _with_tuples(entry) | ({"downloads": tuple(downloads)} if downloads else {})
        like = fields.pop("like", None)
        records[entry["name"]] = kind(**fields) if like is None else dataclasses.replace(records[like], **fields)
    return tuple(records.values())


def _with_tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


_SOURCES = tomllib.loads(files("pateval.datasets").joinpath("sources.toml").read_text(encoding="utf-8"))
DATASETS = _read(Dataset, _SOURCES["datasets"])
PUBLISHED = _read(Published, _SOURCES["results"])


def info(name: str | None = None) -> list[Dataset]:
    """Describe the known data sets, or the one of a name: licence, citation, origin, published sizes.

    Case, hyphens and underscores of the name do not matter.

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


def published(name: str) -> Published | None:
    """Return what is known of a table of published values, by its name, or None; case and hyphens do not matter."""
    return next((table for table in PUBLISHED if _plain(table.name) == _plain(name)), None)


def title_of(name_or_folder: str | os.PathLike[str]) -> str:
    """Return a known data set's proper name, or that of a folder or file."""
    text = os.fspath(name_or_folder)
    known = _find(text)
    return (Path(text).resolve().name.split(".")[0] or text) if known is None else known.name


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
    from pateval.datasets import tables
    from pateval.io import TableError

    path = Path(name_or_folder)
    known = _find(os.fspath(name_or_folder))
    if known is not None:
        place = Path(root) if root is not None else data_root()
        folders = (*(place / name for name in known.folders), path)
        folder = next((folder for folder in folders if folder.is_dir()), None)
        if folder is None:
            how = known.note if not known.downloads else f"get it with 'pateval data fetch {known.name}'"
            raise ValueError(f"{known.name} is not in {place}: {how}")
        contents = _contents(known.layout, folder)
        if contents is None:
            raise TableError(f"{folder}: there is nothing of {known.name} here; it has {known.files}")
        return contents.read()
    if not path.exists():
        names = ", ".join(dataset.name for dataset in DATASETS)
        raise ValueError(f"{os.fspath(name_or_folder)!r} is neither a folder nor a known data set; known are {names}")
    for layout in _LAYOUTS if path.is_dir() else ():
        contents = _contents(layout, path)
        if contents is not None:
            return contents.read()
    return tables.read(path)


def contents_of(series: Sequence[Series]) -> Contents:
    """Describe series that were loaded."""
    return Contents(
        tuple(part for record in series for part in record.parts),
        sum(record.train_steps for record in series),
        sum(record.steps for record in series),
    )


def find_contents(dataset: Dataset, root: Path) -> Contents | None:
    """Look for a data set below the folder data sets are kept in; None where there is nothing of it."""
    for folder in (root / name for name in dataset.folders):
        contents = _contents(dataset.layout, folder) if folder.is_dir() else None
        if contents is not None:
            return contents
    return None


def missing(dataset: Dataset, found: Contents) -> str:
    """Say in a few words what is missing of a data set; nothing where it is whole or its size is not known.

    >>> missing(info("PSM")[0], Contents(("PSM",), 0, 8386))
    '8,386 of 87,841 test rows and 0 of 132,481 training rows are here'
    """
    absent = [name for name in dataset.members if name not in found.names]
    if absent:
        shown = ", ".join(absent[:12]) + (", ..." if len(absent) > 12 else "")
        return f"{len(dataset.members) - len(absent)} of {len(dataset.members)} series are here; missing: {shown}"
    wanted = _number(dataset.series)
    if not dataset.members and wanted is not None and len(found.names) < wanted:
        return f"{len(found.names)} of {wanted} series {'is' if len(found.names) == 1 else 'are'} here"
    counts = {"test": (found.test_rows, dataset.test), "training": (found.train_rows, dataset.train)}
    short = [
        f"{count:,} of {rows:,} {word} rows"
        for word, (count, text) in counts.items()
        if count is not None and (rows := _number(text)) is not None and count < rows
    ]
    return f"{' and '.join(short)} are here" if short else ""


def _contents(layout: str, folder: Path) -> Contents | None:
    """Look into a folder with a function of `pateval.datasets.layouts`."""
    from pateval.datasets import layouts

    contents: Contents | None = getattr(layouts, layout)(folder)
    return contents if contents is not None and contents.names else None


def _find(name: str) -> Dataset | None:
    """Find a data set by its name, or by a folder name that only one of them has."""
    plain = _plain(name)
    named = [dataset for dataset in DATASETS if _plain(dataset.name) == plain]
    with_folder = [dataset for dataset in DATASETS if plain in map(_plain, dataset.folders)]
    return named[0] if named else with_folder[0] if len(with_folder) == 1 else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def _number(text: str) -> int | None:
    """Read a published size such as ``708,405`` or ``495,000 (v1)``; None for words."""
    first = text.split(" ")[0].replace(",", "")
    return int(first) if first.isdigit() else None
