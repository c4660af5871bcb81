"""Files in: CSV, Parquet, JSON lines and NPZ, told apart by suffix; globs, folders and partitioned folders."""

from __future__ import annotations

import glob
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from pateval.io.parquet import ParquetFiles, read_whole
from pateval.io.source import (
    Column,
    Table,
    TableError,
    damaged,
    missing_column,
    numpy_column,
    reason,
    refuse_repeated,
    require_equal_lengths,
    require_readable,
    typed_array,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SUFFIXES = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
}
_READABLE = "CSV (.csv, .csv.gz), Parquet (.parquet, .pq), JSON lines (.jsonl, .ndjson) and NPZ (.npz)"


def expand(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Resolve files, folders and globs into a list of tables, each a file or a partitioned folder.

    Parameters
    ----------
    paths : path or iterable of paths
        A plain folder stands for the data files in it (sorted; hidden files and other suffixes are passed over); a
        folder with ``key=value`` sub-folders, or with nothing but ``part-...`` files, is one table.

    Returns
    -------
    list of Path
        Nothing is opened: what cannot be read, a folder without data files or a pattern without a match stays in the
        list, and `open_table` says what is wrong with it, so that the other files can go on.
    """
    found: list[Path] = []
    for item in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = Path(item)
        if not os.path.exists(path) and glob.has_magic(str(item)):
            matches = [Path(match) for match in sorted(glob.glob(str(item), recursive=True))] or [path]
        else:
            matches = [path]
        found.extend(each for match in matches for each in _expand_one(match))
    return found


def open_table(path: str | os.PathLike[str]) -> Table | ParquetFiles:
    """Open one table: Parquet is read later, series by series; the other formats now.

    Parameters
    ----------
    path : path
        A file, or a partitioned folder.

    Returns
    -------
    Table or ParquetFiles

    Raises
    ------
    TableError
        If it is missing, unreadable, empty, damaged or of an unknown format.
    """
    path = Path(path)
    pieces = _pieces(path)
    name = _stem(path)
    if all(_format(piece) == "parquet" for piece, _ in pieces):
        source = ParquetFiles(name, tuple(pieces), str(path))
        if source.rows == 0:
            raise TableError(f"{path}: the table holds no rows")
        return source
    tables = [_with_constants(_read_file(piece), constants) for piece, constants in pieces]
    return tables[0] if os.path.isfile(path) else _concatenate(tables, name, str(path))


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read one whole table into memory.

    Parameters
    ----------
    path : path
        A CSV, Parquet, JSON-lines or NPZ file, or a partitioned folder of them.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If it is missing, unreadable, empty, damaged or of an unknown format.
    """
    source = open_table(path)
    if isinstance(source, Table):
        return source
    tables = [_with_constants(_read_file(piece), constants) for piece, constants in source.pieces]
    return tables[0] if len(tables) == 1 else _concatenate(tables, source.name, source.where)


def _expand_one(path: Path) -> list[Path]:
    try:
        if not os.path.isdir(path) or _is_one_table(path):
            return [path]
        return [each for each in _visible(path) if each.is_file() and _format(each)] or [path]
    except TableError:
        return [path]


def _is_one_table(folder: Path) -> bool:
    entries = _visible(folder)
    if any(entry.is_dir() and "=" in entry.name for entry in entries):
        return True
    files = [entry for entry in entries if entry.is_file() and _format(entry)]
    return bool(files) and all(each.name.startswith(("part-", "part.")) for each in files)


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise TableError(f"{folder}: {reason(error)}") from error


def _pieces(path: Path) -> list[tuple[Path, dict[str, str]]]:
    """List the files behind a path, each with the constants its folders name."""
    if not os.path.isdir(path):
        if glob.has_magic(str(path)) and not os.path.exists(path):
            raise TableError(f"{path}: no file matches this pattern")
        require_readable(path)
        if not _format(path):
            suffix = f"the suffix {path.suffix!r} is not known" if path.suffix else "the file has no suffix"
            raise TableError(f"{path}: {suffix}; {_READABLE} are read")
        return [(path, {})]
    pieces = list(_walk(path, {}))
    if not pieces:
        raise TableError(f"{path}: the folder holds no data files; {_READABLE} are read")
    if not _is_one_table(path):
        raise TableError(
            f"{path}: a folder is one table only if it is partitioned into key=value folders or part-* files; "
            f"name its files instead"
        )
    return pieces


def _walk(folder: Path, constants: dict[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
    # Not by pyarrow.dataset, which guesses types (the detectors 007 and 7 become one number) and knows no NPZ files.
    for entry in _visible(folder):
        if entry.is_dir():
            key, equals, value = entry.name.partition("=")
            yield from _walk(entry, constants | ({unquote(key): unquote(value)} if equals else {}))
        elif _format(entry):
            yield entry, constants


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def _stem(path: Path) -> str:
    name = path.name or path.resolve().name
    suffix = next((each for each in sorted(SUFFIXES, key=len, reverse=True) if name.lower().endswith(each)), "")
    return name[: len(name) - len(suffix)] or name


def _read_file(path: Path) -> Table:
    readers = {"csv": _read_csv, "parquet": _read_parquet, "jsonl": _read_jsonl, "npz": _read_npz}
    columns, notes = readers[str(_format(path))](path)
    table = Table(_stem(path), columns, str(path), notes)
    if not columns or table.rows == 0:
        raise TableError(f"{path}: the table holds no rows")
    return table


def _read_parquet(path: Path) -> tuple[dict[str, Column], tuple[str, ...]]:
    return read_whole(path), ()


def _read_csv(path: Path) -> tuple[dict[str, Column], tuple[str, ...]]:
    import pyarrow as pa
    import pyarrow.csv

    try:
        with pa.input_stream(str(path), compression="detect") as stream:
            header = stream.read(1 << 16).decode("utf-8", "replace").partition("\n")[0]
        delimiter = next((mark for mark in ",;\t" if mark in header), ",")
        table = pa.csv.read_csv(path, parse_options=pa.csv.ParseOptions(delimiter=delimiter))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise damaged(path, "CSV", error) from error
    refuse_repeated(table.column_names, path)
    notes = () if delimiter == "," else (f"{path}: columns are taken as separated by {delimiter!r}",)
    # A column of empty cells has no type; it counts as missing numbers.
    return {name: numpy_column(table.column(name)) for name in table.column_names}, notes


def _read_jsonl(path: Path) -> tuple[dict[str, Column], tuple[str, ...]]:
    records: list[Mapping[str, object]] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except json.JSONDecodeError as error:
                    raise TableError(f"{path}: line {number} is not valid JSON ({error.msg})") from error
                if not isinstance(record, dict):
                    raise TableError(f'{path}: line {number} is not an object like {{"label": 0, "score": 0.1}}')
                records.append(record)
    except UnicodeDecodeError as error:
        raise damaged(path, "JSON-lines", error) from error
    names = dict.fromkeys(name for record in records for name in record)
    return {name: typed_array([record.get(name) for record in records]) for name in names}, ()


def _read_npz(path: Path) -> tuple[dict[str, Column], tuple[str, ...]]:
    columns: dict[str, Column] = {}
    name = ""
    try:
        # Object arrays would need pickle, which can run code: they are refused.
        with path.open("rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise TableError(f"{path}: not an NPZ archive but a single array")
            for name in arrays.files:
                columns[name] = arrays[name]
    except TableError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error) and name:
            raise TableError(f"{path}: array {name!r} holds Python objects, which are never unpickled") from error
        raise damaged(path, "NPZ", error) from error
    if not columns:
        raise TableError(f"{path}: the archive holds no arrays")
    for name, column in columns.items():
        if column.ndim != 1:
            raise TableError(f"{path}: array {name!r} has shape {column.shape}; one value per time step is needed")
    require_equal_lengths(columns, str(path), "arrays")
    return columns, ()


def _with_constants(table: Table, constants: Mapping[str, str]) -> Table:
    added = {name: np.full(table.rows, value) for name, value in constants.items()}
    return Table(table.name, table.columns | added, table.where, table.notes)


def _concatenate(tables: Sequence[Table], name: str, where: str) -> Table:
    names = list(tables[0].columns)
    for table in tables[1:]:
        for column in names:
            if column not in table.columns:
                raise missing_column(table.where, column, table.columns)
    columns = {column: np.concatenate([table.columns[column] for table in tables]) for column in names}
    return Table(name, columns, where, tuple(dict.fromkeys(note for table in tables for note in table.notes)))
