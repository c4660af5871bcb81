"""The data sets by name, read from ``sources.toml``: what they are, whose they are, where they come from."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar


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
    found: dict[str, _Record] = {}
    for entry in entries:
        downloads = [
            Download(tuple(Mirror(**_plain(mirror)) for mirror in each.pop("mirrors")), **each)
            for each in entry.pop("downloads", [])
        ]
        fields = _plain(entry) | ({"downloads": tuple(downloads)} if downloads else {})
        like = fields.pop("like", None)
        found[entry["name"]] = kind(**fields) if like is None else dataclasses.replace(found[like], **fields)
    return tuple(found.values())


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


_SOURCES = tomllib.loads(files("pateval.datasets").joinpath("sources.toml").read_text(encoding="utf-8"))
DATASETS = _read(Dataset, _SOURCES["datasets"])
PUBLISHED = _read(Published, _SOURCES["results"])
