"""Folders as people have them: one per detector or per series, scores without labels, results of TimeEval."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np

from pateval.io import guesses
from pateval.io.content import TableError, read_content, read_text
from pateval.io.files import (
    TIMEEVAL_SCORES,
    Source,
    data_files,
    file_format,
    is_leaderboard,
    is_one_table,
    open_pieces,
    open_table,
    read_table,
    stem_of,
    visible,
)
from pateval.io.layout import Reading
from pateval.io.source import Column, Columns, Piece, Table, concatenated, missing_column
from pateval.io.text_tables import TEXT_TABLES, is_number, read_text_table
from pateval.time.dates import is_time
from pateval.validation.wording import listed

_DEEPEST = 7  # folders within each other that are looked into; links may lead in circles
_DEEPEST_TABLES = 3  # of those with tables that hold their labels
_MOST_FOLDERS = 20_000  # that are looked through for these
_OF_LABELS = ("label", "labels", "truth", "groundtruth")  # names of folders that are no detector's
_OTHER_WAY = {"detector/series": "series/detector", "series/detector": "detector/series"}


def is_tree(path: str | os.PathLike[str], others: Collection[str]) -> bool:
    """Whether tables of a folder lie in sub-folders, or the names of its files say both detector and series.

    ``others`` are the real paths of what is no score file: events, and intervals to leave out.
    """
    folder = Path(path)
    if not os.path.isdir(folder) or is_leaderboard(folder):
        return False
    try:
        inside = _folders_in(folder)
        if is_one_table(folder) or (inside and all(map(is_one_table, inside))):
            return False
        return bool(_tables_below(folder)[0]) or _flat_shape(_without_others(data_files(folder), others)) is not None
    except TableError:
        return False


def _without_others(files: Sequence[Path], others: Collection[str]) -> list[Path]:
    return [file for file in files if os.path.realpath(file) not in others]


def open_folder(path: str | os.PathLike[str], reading: Reading, others: Collection[str]) -> Source:
    """Open the score files below a folder as one table, with detectors and series named by folders and files.

    Where no layout says which of the two folders name, that is found out, and announced. Labels may lie in a folder of
    their own, in a file for each series. For ``others`` see `is_tree`.
    """
    folder, layout, labels = Path(path), reading.layout, reading.labels
    if not os.path.isdir(folder):
        raise TableError(f"{folder}: labels that lie elsewhere go with a folder of scores; name that folder")
    truth: dict[str, list[Path]] | None = None
    passed_over: list[Path] = []
    if labels is not None:
        truth = _label_files(Path(labels), folder)
        paths = [file for file in _score_files(folder) if not _is_within(file, Path(labels), folder)]
    else:
        paths, passed_over = _tables_below(folder)
        top = _without_others(data_files(folder), others)
        if paths and top and layout is None:
            raise TableError(
                f"{folder}: tables lie in it ({listed([file.name for file in top])}) and in its folders "
                f"({listed([*dict.fromkeys(file.parent.name for file in paths)])}); say --layout detector/series or "
                "series/detector for those in the folders, or name the files"
            )
        paths = paths or top
        for entry in _folders_in(folder):
            if guesses.plain(entry.name) in _OF_LABELS:
                raise TableError(f"{folder}: labels seem to lie in {entry}; say so with --labels {entry}")
    paths = _without_others(paths, others)
    if not paths:
        raise TableError(
            f"{folder}: the folder holds no files of scores, such as .csv, .parquet or .npy; name one with a file for "
            "each series, or a folder for each detector"
        )
    if any(path.name == TIMEEVAL_SCORES for path in paths):
        pieces, shape = _of_timeeval(folder, [path for path in paths if path.name == TIMEEVAL_SCORES]), "timeeval"
    else:
        pieces, shape = _named(folder, paths, layout, truth)
    note = _announcement(folder, pieces, shape, layout)
    if passed_over:
        note += f"; passed over, without tables: {listed([entry.name for entry in passed_over])}"
    known: dict[tuple[str, ...], Path] = {}
    for path, names in pieces:
        if (other := known.setdefault(tuple(names.values()), path)) != path:
            raise TableError(
                f"{other} and {path} are one series of one detector by their names; rename one of the two, or take it "
                "out"
            )
    if truth is not None:
        columns = _joined(pieces, truth, str(labels), reading.label or "")
        table = Table(folder.name, columns, str(folder), (note,), from_file=True)
        return replace(table, pieces=tuple(pieces), folder_layout=shape)
    first, names = pieces[0]
    if twice := names.keys() & open_table(first).kinds().keys():
        role = min(twice)
        raise TableError(
            f"{first}: its place names the {role}, and so does its column {role!r}; name the files one by one, or "
            "take the column out"
        )
    return open_pieces(folder, tuple(pieces), shape, (note,))


def _folders_in(folder: Path) -> list[Path]:
    """List the folders within one, less leaderboards that were written there."""
    return [entry for entry in visible(folder) if entry.is_dir() and not is_leaderboard(entry)]


def _tables_below(folder: Path, depth: int = _DEEPEST_TABLES) -> tuple[list[Path], list[Path]]:
    """List the tables in the first level of sub-folders that has some, and the sub-folders there without any.

    A folder there with tables only further down counts with these, so that none is passed over.
    """
    level = [folder]
    for left in range(depth - 1, -1, -1):
        level = [entry for above in level for entry in _folders_in(above)]
        if len(level) > _MOST_FOLDERS:
            break
        tables = {entry: data_files(entry) for entry in level}
        if any(tables.values()):
            tables |= {entry: _tables_below(entry, left)[0] for entry in level if not tables[entry]}
            return [file for files in tables.values() for file in files], [
                entry for entry in level if not tables[entry]
            ]
    return [], []


def _is_within(file: Path, inner: Path, outer: Path) -> bool:
    """Whether a file lies in a folder that itself lies within the other one."""
    inner, outer = inner.resolve(), outer.resolve()
    return inner != outer and inner.is_relative_to(outer) and file.resolve().is_relative_to(inner)


def _score_files(folder: Path, depth: int = _DEEPEST) -> list[Path]:
    """List what may be scores below a folder: tables, arrays, and what TimeEval writes."""
    files = []
    for entry in visible(folder):
        if entry.is_dir():
            files += _score_files(entry, depth - 1) if depth else []
        elif entry.name == TIMEEVAL_SCORES or file_format(entry) not in (None, "txt", "json"):
            files.append(entry)
    return files


def _label_files(folder: Path, scores: Path) -> dict[str, list[Path]]:
    """Find the labels of each series by the name of its file, alone and with that of its folder."""
    if not os.path.isdir(folder):
        what = "is a file" if os.path.isfile(folder) else "there is no such folder of labels"
        raise TableError(f"{folder}: {what}; name a folder that holds a file for each series, called like its scores")
    names: dict[str, list[Path]] = {}
    for path in _score_files(folder):
        if not _is_within(path, scores, folder):
            stem = stem_of(path).removesuffix(".test")  # as TimeEval calls them
            for name in (stem, f"{path.parent.name}/{stem}"):
                names.setdefault(name, []).append(path)
    return names


def _of_timeeval(folder: Path, paths: Sequence[Path]) -> list[Piece]:
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
    pieces = []
    for path, (algorithm, parameters, collection, dataset, repetition) in zip(paths, places, strict=True):
        names = {
            "detector": f"{algorithm} {parameters}" if several else algorithm,
            "series": f"{collection}/{dataset}" if alike else dataset,
            "run": repetition,
        }
        pieces.append(Piece(path, names))
    return pieces


def _named(
    folder: Path, paths: Sequence[Path], layout: str | None, truth: Mapping[str, list[Path]] | None
) -> tuple[list[Piece], str]:
    """Name detector and series of each file, and say which of them the folders are."""
    pairs = _pairs(folder, paths, truth)
    shape = layout or _decided(folder, paths, pairs, truth)
    roles = shape.split("/")
    return [Piece(path, dict(zip(roles, pair, strict=False))) for path, pair in zip(paths, pairs, strict=True)], shape


def _pairs(folder: Path, paths: Sequence[Path], truth: Mapping[str, list[Path]] | None) -> list[tuple[str, str]]:
    """Return the two names of each file that tell detector and series, in the order in which its path has them."""
    places = [path.relative_to(folder).parts[:-1] for path in paths]
    stems = [stem_of(path) for path in paths]
    halves = None if any(places) else _halves(paths)
    if halves is not None and (truth is None or not any(stem in truth for stem in stems)):
        return halves
    # A folder that all files share says nothing, unless it is the only one above them.
    shared = len(list(takewhile(lambda level: len(set(level)) == 1, zip(*places, strict=False))))
    is_single = max(map(len, places)) == shared
    above = [(folder.resolve().name, *place)[-1:] if is_single else place[shared:] for place in places]
    if {len(place) for place in above} == {2} and len(set(stems)) == 1:
        return [(first, second) for first, second in above]  # lstm/pump/scores.csv
    if {len(place) for place in above} != {1}:
        usual = min(map(len, above))
        odd = next((path for path, place in zip(paths, above, strict=True) if len(place) != usual), paths[0])
        raise TableError(
            f"{folder}: files must lie in one folder each, as in detector/series.csv; {odd.relative_to(folder)} does "
            "not; name a folder further up or down, or call the folders what they are, as in "
            "detector=lstm/run=0/pump.csv"
        )
    pairs = [(place[0], stem) for place, stem in zip(above, stems, strict=True)]
    shorter = [(place, _without(place, stem)) for place, stem in pairs]
    is_repeated = all(pair != short for pair, short in zip(pairs, shorter, strict=True))
    if is_repeated and (_crossing(pairs) is None if truth is None else not any(stem in truth for stem in stems)):
        return shorter  # lstm/lstm_pump.csv
    return pairs


def _halves(paths: Sequence[Path]) -> list[tuple[str, str]] | None:
    """Cut the names of files such as ``pump__lstm.csv``; None where some are others, or nothing occurs twice."""
    halves = [tuple(stem_of(path).split("__")) for path in paths]
    if not all(len(half) == 2 and all(half) for half in halves):
        return None
    pairs = [(first, second) for first, second in halves]
    return pairs if any(len(set(names)) < len(pairs) for names in zip(*pairs, strict=True)) else None


def _without(folder: str, stem: str) -> str:
    """Leave the name of a folder out of that of a file in it."""
    rests = [rest.strip("_-. ") for rest in (stem.removeprefix(folder), stem.removesuffix(folder)) if rest != stem]
    return next(filter(None, rests), stem)


def _crossing(pairs: Sequence[tuple[str, str]]) -> tuple[int, int, int] | None:
    """Find a file, one beside it that shares its first name, and one that shares its second; None where none does."""
    where = {pair: place for place, pair in enumerate(pairs)}
    for (first, second), place in where.items():
        beside = next((where[pair] for pair in pairs if pair[0] == first and pair[1] != second), None)
        across = next((where[pair] for pair in pairs if pair[1] == second and pair[0] != first), None)
        if beside is not None and across is not None:
            return place, beside, across
    return None


def _flat_shape(paths: Sequence[Path]) -> str | None:
    """Tell what the halves of the names of files are, by labels in common; None where these do not say it."""
    halves = _halves(paths)
    crossing = None if halves is None else _crossing(halves)
    return None if crossing is None else _shape_by_labels(paths, crossing)


def _shape_by_labels(paths: Sequence[Path], crossing: tuple[int, int, int]) -> str | None:
    """Tell which of two names is that of a series, as `_crossing` has them: files of one series have its labels."""
    own, beside, across = (_labels_in(paths[place]) for place in crossing)
    if own is None or (own == beside) == (own == across):
        return None
    return "series/detector" if own == beside else "detector/series"


def _decided(
    folder: Path, paths: Sequence[Path], pairs: Sequence[tuple[str, str]], truth: Mapping[str, list[Path]] | None
) -> str:
    """Tell which of folders and files name series: by names in common with labels, or by labels in common."""
    folders, stems = (dict.fromkeys(names) for names in zip(*pairs, strict=True))
    if truth is not None:
        by_stem, by_folder = (sum(name in truth for name in names) for names in (stems, folders))
        if not by_stem and not by_folder:
            raise TableError(
                f"{folder}: no file and no folder in it is called like one of the labels "
                f"({listed([name for name in truth if '/' not in name])}); name the labels of a series like its scores"
            )
        return "detector/series" if by_stem >= by_folder else "series/detector"
    crossing = _crossing(pairs)
    if crossing is not None:
        return _shape_by_labels(paths, crossing) or "detector/series"
    if len(stems) > 1 and len(folders) > 1:
        raise TableError(
            f"{folder}: its folders ({listed([*folders])}) have no name of a file in common, so it cannot be told "
            "which are detectors; say --layout detector/series or series/detector"
        )
    own, other = (_labels_in(paths[place]) for place in (0, -1))
    if len(folders) > 1:
        # One detector on several series, where labels are others, and not those of a part.
        is_part = own is None or other is None or own in other or other in own
        return "detector" if is_part else "series/detector"
    return "series/detector" if own is not None and own == other else "detector/series"


def _labels_in(path: Path) -> bytes | None:
    """The labels of a table, to be held against others, or in them; None where no column is called like labels."""
    try:
        table = read_table(path)
    except TableError:
        return None
    names = guesses.equals(table.columns, guesses.LABELS)
    return "".join(f"{value}," for value in table.columns[names[0]].tolist()).encode() if names else None


def _announcement(folder: Path, pieces: Sequence[Piece], shape: str, layout: str | None) -> str:
    counts = []
    for role in ("detector", "series", "run"):
        names = list(dict.fromkeys(piece.constants[role] for piece in pieces if role in piece.constants))
        if names:
            word = role if len(names) == 1 or role == "series" else f"{role}s"
            counts.append(f"{len(names)} {word} ({listed(names)})")
    kind = {"timeeval": "results of TimeEval", "detector": "a folder for each detector"}.get(shape, shape)
    other = _OTHER_WAY.get(shape) if layout is None else None
    hint = f"; --layout {other} reads it the other way round" if other else ""
    if shape == "detector":
        hint = "; --layout series/detector takes the folders as series"
    return f"{folder}: taken as {kind}: {', '.join(counts)}{hint}"


def _joined(pieces: Sequence[Piece], truth: Mapping[str, list[Path]], where: str, label: str) -> Columns:
    """Put scores beside the labels of their series."""
    known: dict[Path, Columns] = {}
    parts: list[Columns] = []
    for path, names in pieces:
        series = names.get("series", "")
        if series not in truth:
            raise TableError(f"{where}: there are no labels of series {series!r}, of which {path} has scores")
        own, *others = truth[series]
        if others:
            raise TableError(
                f"{where}: labels of series {series!r} are both in {own} and in {others[0]}; name the folder of one, "
                "or take one out"
            )
        labels = known[own] if own in known else known.setdefault(own, _labels(own, label))
        scores = _scores(path)
        size = next(iter(labels.values())).size
        if scores.size != size:
            raise TableError(
                f"{path}: there are {scores.size} scores, and {size} labels in {own}; one "
                "score per time step is needed, and scores of windows become such by pateval.scores_from_windows"
            )
        constants = {name: np.full(scores.size, value) for name, value in names.items()}
        parts.append(constants | {"score": scores} | labels)
    shared = [name for name in parts[0] if all(name in part for part in parts)]
    return {name: concatenated([part[name] for part in parts]) for name in shared}


def _labels(path: Path, label: str) -> Columns:
    """Labels of one series, and its times where there is a column of them."""
    table = _table(path)
    if label not in ("", "label", *table.columns) and len(table.columns) > 1:
        raise missing_column(str(path), label, table.columns, "label")
    names = [label] if label in table.columns else guesses.equals(table.columns, guesses.LABELS)
    names = [*table.columns] if len(table.columns) == 1 else names
    if len(names) != 1:
        raise TableError(
            f"{path}: {'several columns look' if names else 'no column looks'} like labels; name it with --label among "
            f"{listed([*table.columns], 20)}"
        )
    times = [name for name in table.columns if guesses.is_called(name, "time") and is_time(table.columns[name][0])]
    return {label or "label": table.columns[names[0]]} | ({"time": table.columns[times[0]]} if len(times) == 1 else {})


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
    if path.name != TIMEEVAL_SCORES and file_format(path) not in TEXT_TABLES:
        return read_table(path)
    text = read_text(read_content(path), "a text table")
    lines = text.data.split(b"\n", 1)
    if is_number(lines[0].decode()):
        text = text._replace(data=b"score\n" + text.data)
    columns, notes = read_text_table(text, "csv" if path.name == TIMEEVAL_SCORES else str(file_format(path)))
    return Table(stem_of(path), columns, text.where, notes, from_file=True)
