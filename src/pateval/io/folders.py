"""Folders as people have them: one per detector or per series, scores without labels, results of TimeEval."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pateval.io import formats, guesses
from pateval.io.content import TableError, read_content, read_text
from pateval.io.files import (
    Source,
    data_files,
    expand,
    file_format,
    is_leaderboard,
    is_one_table,
    open_pieces,
    open_table,
    read_table,
    stem_of,
    visible,
)
from pateval.io.source import Column, Table, concatenated
from pateval.time.dates import is_time
from pateval.validation.wording import listed

_TIMEEVAL = "anomaly_scores.ts"  # in algorithm/parameters/collection/dataset/repetition
_DEEPEST = 7  # folders within each other that are looked into; links may lead in circles
_OTHER_WAY = {"detector/series": "series/detector", "series/detector": "detector/series"}


class _Found(NamedTuple):
    """A file of scores, and what its place says: some of detector, series and run."""

    path: Path
    names: dict[str, str]


def is_tree(path: str | os.PathLike[str]) -> bool:
    """Whether a folder has its tables in sub-folders, each of which holds some, and is no table by itself."""
    folder = Path(path)
    if not os.path.isdir(folder) or is_leaderboard(folder):
        return False
    try:
        inside = [entry for entry in visible(folder) if entry.is_dir()]
        return expand(folder) == [folder] and not is_one_table(folder) and bool(inside) and all(map(data_files, inside))
    except TableError:
        return False


def open_folder(
    path: str | os.PathLike[str],
    layout: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    label: str = "",
) -> Source:
    """Open the score files below a folder as one table, with detectors and series named by folders and files.

    The layout says which of the two folders name; otherwise that is found out, and announced. Labels may lie in a
    folder of their own, in a file for each series; ``label`` is the name of their column.
    """
    folder = Path(path)
    if not os.path.isdir(folder):
        raise TableError(f"{folder}: labels that lie elsewhere go with a folder of scores; name that folder")
    truth = None if labels is None else _label_files(Path(labels))
    inside = [entry for entry in visible(folder) if entry.is_dir()]
    paths = [file for entry in inside for file in data_files(entry)] if truth is None else _score_files(folder)
    if not paths:
        raise TableError(
            f"{folder}: the folder holds no files of scores; name one with a file for each series, or a folder for "
            "each detector"
        )
    if any(path.name == _TIMEEVAL for path in paths):
        found, shape = _of_timeeval(folder, [path for path in paths if path.name == _TIMEEVAL]), "timeeval"
    else:
        found, shape = _named(folder, paths, layout, truth)
    note = _announcement(folder, found, shape, layout)
    if truth is not None:
        return _joined(folder, found, truth, str(labels), label, shape, note)
    first, names = found[0]
    if twice := names.keys() & open_table(first).kinds().keys():
        role = min(twice)
        raise TableError(
            f"{first}: its place names the {role}, and so does its column {role!r}; name the files one by one, or "
            "take the column out"
        )
    return open_pieces(folder, tuple((one.path, one.names) for one in found), shape, (note,))


def _score_files(folder: Path, depth: int = _DEEPEST) -> list[Path]:
    """List what may be scores below a folder: tables, arrays, and what TimeEval writes."""
    found = []
    for entry in visible(folder):
        if entry.is_dir():
            found += _score_files(entry, depth - 1) if depth else []
        elif entry.name == _TIMEEVAL or file_format(entry) not in (None, "txt", "json"):
            found.append(entry)
    return found


def _label_files(folder: Path) -> dict[str, Path]:
    """Find the labels of each series by the name of its file, alone and with that of its folder."""
    if not os.path.isdir(folder):
        raise TableError(f"{folder}: there is no such folder of labels; name one that holds a file for each series")
    names: dict[str, Path] = {}
    for path in _score_files(folder):
        stem = stem_of(path).removesuffix(".test")  # as TimeEval calls them
        if stem in names:
            names[f"{names[stem].parent.name}/{stem}"] = names[stem]
        names[f"{path.parent.name}/{stem}"] = path
        names.setdefault(stem, path)
    return names


def _of_timeeval(folder: Path, paths: Sequence[Path]) -> list[_Found]:
    places = []
    for path in paths:
        parts = path.relative_to(folder.parent).parts[-6:-1]
        if len(parts) < 5:
            raise TableError(f"{path}: results of TimeEval lie in algorithm/parameters/collection/dataset/repetition")
        places.append(parts)
    settings = {(algorithm, parameters) for algorithm, parameters, *_ in places}
    datasets = {(collection, dataset) for _, _, collection, dataset, _ in places}
    several = len({algorithm for algorithm, _ in settings}) < len(settings)
    alike = len({dataset for _, dataset in datasets}) < len(datasets)
    found = []
    for path, (algorithm, parameters, collection, dataset, repetition) in zip(paths, places, strict=True):
        names = {
            "detector": f"{algorithm} {parameters}" if several else algorithm,
            "series": f"{collection}/{dataset}" if alike else dataset,
            "run": repetition,
        }
        found.append(_Found(path, names))
    return found


def _named(
    folder: Path, paths: Sequence[Path], layout: str | None, truth: Mapping[str, Path] | None
) -> tuple[list[_Found], str]:
    """Name detector and series of each file, and say which of them the folders are."""
    places = [path.relative_to(folder).parts[:-1] for path in paths]
    # A folder that all files share says nothing, unless it is the only one above them.
    shared = len(list(takewhile(lambda level: len(set(level)) == 1, zip(*places, strict=False))))
    is_single = max(map(len, places)) == shared
    above = [(folder.resolve().name, *place)[-1:] if is_single else place[shared:] for place in places]
    if {len(place) for place in above} != {1}:
        odd = next(path for path, place in zip(paths, above, strict=True) if len(place) != 1)
        raise TableError(
            f"{folder}: files must lie in one folder each, as in detector/series.csv; {odd.relative_to(folder)} does "
            "not; name a folder further up or down"
        )
    pairs = [(place[0], stem_of(path)) for path, place in zip(paths, above, strict=True)]
    shape = layout or _decided(folder, paths, pairs, truth)
    roles = shape.split("/")
    return [_Found(path, dict(zip(roles, pair, strict=False))) for path, pair in zip(paths, pairs, strict=True)], shape


def _decided(
    folder: Path, paths: Sequence[Path], pairs: Sequence[tuple[str, str]], truth: Mapping[str, Path] | None
) -> str:
    """Tell which of folders and files name series: by names in common with labels, or by labels in common."""
    folders, stems = (dict.fromkeys(names) for names in zip(*pairs, strict=True))
    if truth is not None:
        by_stem, by_folder = (sum(name in truth for name in names) for names in (stems, folders))
        if not by_stem and not by_folder:
            raise TableError(
                f"{folder}: no file and no folder in it is called like one of the labels ({listed([*truth])}); name "
                "the labels of a series like its scores"
            )
        return "detector/series" if by_stem >= by_folder else "series/detector"
    if len(stems) == 1 and len(folders) > 1:
        return "detector"
    where = dict(zip(pairs, paths, strict=True))
    for (first, stem), path in where.items():
        beside = next((where[pair] for pair in pairs if pair[0] == first and pair[1] != stem), None)
        across = next((where[pair] for pair in pairs if pair[1] == stem and pair[0] != first), None)
        if beside is not None and across is not None:
            own = _labels_in(path)
            if own is not None and own == _labels_in(beside) and own != _labels_in(across):
                return "series/detector"
            return "detector/series"
    if len(folders) > 1:
        raise TableError(
            f"{folder}: its folders ({listed([*folders])}) have no name of a file in common, so it cannot be told "
            "which are detectors; say --layout detector/series or series/detector"
        )
    own, other = (_labels_in(path) for path in (paths[0], paths[-1]))
    return "series/detector" if own is not None and own == other else "detector/series"


def _labels_in(path: Path) -> bytes | None:
    """The labels of a table, to be held against others; None where no column is called like labels."""
    try:
        table = read_table(path)
    except TableError:
        return None
    names = guesses.equals(table.columns, guesses.LABELS)
    return str(table.columns[names[0]].tolist()).encode() if names else None


def _announcement(folder: Path, found: Sequence[_Found], shape: str, layout: str | None) -> str:
    counts = []
    for role in ("detector", "series", "run"):
        names = list(dict.fromkeys(one.names[role] for one in found if role in one.names))
        if names:
            word = role if len(names) == 1 or role == "series" else f"{role}s"
            counts.append(f"{len(names)} {word} ({listed(names)})")
    kind = {"timeeval": "results of TimeEval", "detector": "a folder for each detector"}.get(shape, shape)
    other = _OTHER_WAY.get(shape) if layout is None else None
    hint = f"; --layout {other} reads it the other way round" if other else ""
    return f"{folder}: taken as {kind}: {', '.join(counts)}{hint}"


def _joined(
    folder: Path, found: Sequence[_Found], truth: Mapping[str, Path], where: str, label: str, shape: str, note: str
) -> Table:
    """Put scores beside the labels of their series."""
    known: dict[Path, dict[str, Column]] = {}
    parts: list[dict[str, Column]] = []
    for path, names in found:
        series = names.get("series", "")
        if series not in truth:
            raise TableError(f"{where}: there are no labels of series {series!r}, of which {path} has scores")
        labels = known.setdefault(truth[series], _labels(truth[series], label))
        scores = _scores(path)
        if scores.size != labels["label"].size:
            raise TableError(
                f"{path}: there are {scores.size} scores, and {labels['label'].size} labels in {truth[series]}; one "
                "score per time step is needed, and scores of windows become such by pateval.scores_from_windows"
            )
        constants = {name: np.full(scores.size, value) for name, value in names.items()}
        parts.append(constants | {"score": scores} | labels)
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    columns = {name: concatenated([part[name] for part in parts]) for name in shared}
    pieces = tuple((one.path, one.names) for one in found)
    return Table(folder.name, columns, str(folder), (note,), from_file=True, pieces=pieces, folder_layout=shape)


def _labels(path: Path, label: str) -> dict[str, Column]:
    """Labels of one series, and its times where there is a column of them."""
    table = _table(path)
    names = [label] if label in table.columns else guesses.equals(table.columns, guesses.LABELS)
    names = [*table.columns] if len(table.columns) == 1 else names
    if len(names) != 1:
        raise TableError(
            f"{path}: {'several columns look' if names else 'no column looks'} like labels; name it with --label among "
            f"{listed([*table.columns], 20)}"
        )
    times = [name for name in table.columns if guesses.is_time(name) and is_time(table.columns[name][0])]
    return {"label": table.columns[names[0]]} | ({"time": table.columns[times[0]]} if len(times) == 1 else {})


def _scores(path: Path) -> Column:
    columns = _table(path).columns
    names = [*columns] if len(columns) == 1 else guesses.equals(columns, guesses.SCORES)
    if len(names) != 1:
        raise TableError(
            f"{path}: of its columns ({listed([*columns], 20)}) one must be called 'score', as labels lie elsewhere"
        )
    return columns[names[0]]


def _table(path: Path) -> Table:
    """Read a table; one column of numbers needs no name above it."""
    if path.name != _TIMEEVAL and file_format(path) not in formats.TEXT_TABLES:
        return read_table(path)
    text = read_text(read_content(path), "a text table")
    lines = text.data.split(b"\n", 1)
    if formats.is_number(lines[0].decode()):
        text = text._replace(data=b"score\n" + text.data)
    columns, notes = formats.read_text_table(text, "csv" if path.name == _TIMEEVAL else str(file_format(path)))
    return Table(stem_of(path), columns, text.where, notes, from_file=True)
