"""The data sets by name, read from ``sources.toml``: what they are, whose they are, where they come from."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


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
    """What is known about one data set.

    Attributes
    ----------
    name : str
        As used on the command line.
    title, licence, citation, origin : str
        For people.
    series, features : str
        How many.
    train, test : str
        Published numbers of rows.
    anomalies : str
        Published share of anomalous test steps, and events.
    layout : str
        Module and function in `pateval.datasets` that find it in a folder.
    files : str
        What is looked for in that folder.
    folders : tuple of str
        Names its folder may have below the data root.
    home : str
        The one of them a download goes to; the first where empty.
    downloads : tuple of Download
        Empty where it cannot be downloaded.
    note : str
        What else one should know.
    members : tuple of str
        Names of all its series, where they are known: what is missing can then be said.
    """

    name: str
    title: str
    licence: str
    citation: str
    origin: str
    series: str
    features: str
    train: str
    test: str
    anomalies: str
    layout: str
    files: str
    folders: tuple[str, ...]
    downloads: tuple[Download, ...] = ()
    note: str = ""
    home: str = ""
    members: tuple[str, ...] = ()


def _read(entries: list[dict[str, Any]]) -> tuple[Dataset, ...]:
    """Turn the tables of ``sources.toml`` into records."""
    found: dict[str, Dataset] = {}
    for entry in entries:
        downloads = [
            Download(tuple(Mirror(**_plain(mirror)) for mirror in each.pop("mirrors")), **each)
            for each in entry.pop("downloads", [])
        ]
        fields = _plain(entry) | ({"downloads": tuple(downloads)} if downloads else {})
        like = fields.pop("like", None)
        found[entry["name"]] = Dataset(**fields) if like is None else dataclasses.replace(found[like], **fields)
    return tuple(found.values())


def _plain(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


DATASETS = _read(
    tomllib.loads(files("pateval.datasets").joinpath("sources.toml").read_text(encoding="utf-8"))["datasets"]
)
