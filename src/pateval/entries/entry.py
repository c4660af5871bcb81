"""One entry: what its folder holds, and what is wrong with it, in one sentence each."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pateval.io import TableError
from pateval.io.content import reason
from pateval.io.files import data_files, stem_of
from pateval.output.harmless import visible
from pateval.validation.wording import in_words, listed, named_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pateval.datasets import Series

FILE = "entry.toml"
# A detector's name is that of its folder and of its page: nothing that leads elsewhere, in any system.
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_DEVICES = ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))
_NO_NAMES = ("index", *_DEVICES)
_FORMS = {
    "link": re.compile(r"https?://[^\s\"<>\\]{3,300}"),
    "detector": re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?", re.ASCII),
}
_LONGEST = 500  # characters of a text


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What an entry says of itself, in the fields of its ``entry.toml``."""

    folder: Path
    name: str  # for people; on the board it is called like its folder
    authors: tuple[str, ...]
    link: str
    licence: str
    causal: bool  # whether a score depends on no later step
    training: str  # which data it was trained on
    cost: str  # of training and scoring
    detector: str = ""  # one of `pateval detect --list`, or package.module:Class: with it the entry can be run
    settings: dict[str, Any] = field(default_factory=dict)  # of the detector

    @property
    def detector_name(self) -> str:
        """What it is called on the board."""
        return self.folder.resolve().name

    @property
    def data(self) -> Path:
        """Where its scores are: the table called like its folder, or else the folder with a file for each series."""
        files = data_files(self.folder)
        return files[0] if len(files) == 1 and stem_of(files[0]) == self.detector_name else self.folder


_KINDS: dict[str, tuple[type, str]] = {
    "name": (str, "text"),
    "authors": (list, "a list of texts"),
    "link": (str, "an address that begins with https:// or http://"),
    "licence": (str, "text"),
    "causal": (bool, "true or false"),
    "training": (str, "text"),
    "cost": (str, "text"),
    "detector": (str, "one of `pateval detect --list`, or package.module:Class"),
    "settings": (dict, "a table"),
}
_OPTIONAL = ("detector", "settings")


def read_entries(folder: Path) -> list[Entry]:
    """Read all entries of a folder, in order of their names, or refuse the first that has something wrong with it."""
    try:
        places = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        raise TableError(f"{folder}: {reason(error)}") from error
    if not places:
        raise TableError(f"{folder}: there is no entry; each is a folder with {FILE} and scores")
    entries = []
    for place in places:
        for problem in problems_of(place):
            raise TableError(problem)
        entries.append(read_entry(place))
    lower = [entry.detector_name.lower() for entry in entries]
    twice = next((entry for entry in entries if lower.count(entry.detector_name.lower()) > 1), None)
    if twice is not None:
        raise TableError(f"{twice.folder}: another entry has this name but for capitals; rename one of them")
    return entries


def read_entry(folder: Path) -> Entry:
    """Read an entry that has nothing wrong with it."""
    facts = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    return Entry(folder=folder, **{**facts, "authors": tuple(facts["authors"])})


def problems_of(folder: Path) -> Iterator[str]:
    """Say what is wrong with the folder of an entry and the facts in it, in one sentence each."""
    name = folder.resolve().name
    if name.partition(".")[0].lower() in _NO_NAMES:
        yield f"{folder}: {in_words(name)} is the name of the site's first page, or of a device; give it another one"
    elif not _FOLDER_NAME.fullmatch(name) or name.endswith("."):
        yield (
            f"{folder}: the folder's name is the detector's on the board, and takes letters, digits, '.', '_' and '-' "
            f"only, at most 80; got {in_words(name)}"
        )
    if not folder.is_dir():
        yield f"{folder}: there is no such folder"
        return
    # Before anything is read: what a link leads to is not the entry's.
    inside = sorted([folder, *folder.rglob("*")])
    links = [path for path in inside if path.is_symlink() or not (path.is_file() or path.is_dir())]
    if links:
        yield f"{links[0]}: a link, or no plain file; an entry holds its files itself"
        return
    nested = next((path for path in inside[1:] if path.is_dir()), None)
    if nested is not None:
        yield f"{nested}: a folder within an entry; its files lie side by side"
    yield from _wrong_facts(folder / FILE)
    if not data_files(folder):
        yield f"{folder}: there are no scores; they are in a table called like the folder, such as {name}.parquet"


def _wrong_facts(path: Path) -> Iterator[str]:
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        # What the parser says of a text may repeat it.
        why = reason(error) if isinstance(error, OSError) else f"not valid TOML ({visible(str(error))})"
        yield f"{path}: {why}"
        return
    unknown = [name for name in facts if name not in _KINDS]
    if unknown:
        yield f"{path}: there is no field {in_words(unknown[0])}; the fields are {', '.join(_KINDS)}"
    lacking = [name for name in _KINDS if name not in facts and name not in _OPTIONAL]
    if lacking:
        yield f"{path}: {listed(lacking, len(lacking))} must be there, too"
    for name, value in facts.items():
        kind, wanted = _KINDS.get(name, (object, ""))
        texts = value if isinstance(value, list) else [value]
        if not isinstance(value, kind) or (kind is list and not all(isinstance(text, str) for text in texts)):
            yield f"{path}: {name} must be {wanted}; got {in_words(value)}"
        elif kind in (str, list) and not (texts and all(map(_is_plain, texts))):
            yield f"{path}: {name} must be {wanted} of 1 to {_LONGEST} visible characters; got {in_words(value)}"
        elif name in _FORMS and not _FORMS[name].fullmatch(str(value)):
            yield f"{path}: {name} must be {wanted}; got {in_words(value)}"


def _is_plain(text: str) -> bool:
    return bool(text.strip()) and len(text) <= _LONGEST and visible(text) == text


def look_ahead(entry: Entry, data: list[Series]) -> Iterator[str]:
    """Run the detector of an entry that says it is causal, and say on which series its past scores changed."""
    from pateval.checking import check_causal
    from pateval.runner import candidate, user_candidate

    make = user_candidate if ":" in entry.detector else candidate
    for series in data:
        # Without a stretch to learn from, the first half is one: what is fitted on what it scores has seen all of it.
        half = series.steps // 2
        whole = series.train is not None
        train, values = (series.train, series.test) if whole else (series.test[:half], series.test[half:])
        try:
            check = check_causal(make(entry.detector, settings=entry.settings).build().fit(train), values)
        except Exception as error:  # a detector of others may fail in any way
            why = named_error(error)
            yield f"{entry.folder}: {entry.detector} cannot be run on series {in_words(series.name)}: {why}"
            return
        if not check.causal:
            yield (
                f"{entry.folder}: it says it is causal, and {entry.detector} is not: on series {in_words(series.name)} "
                f"the score of step {check.first:,} was {check.before:.4g}, and {check.after:.4g} when later steps came"
            )
