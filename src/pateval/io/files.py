"""Tables in: files by suffix, globs, folders, partitioned folders, standard input; data frames and mappings."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from pateval.io import formats
from pateval.io.content import (
    PACKED,
    STANDARD_INPUT,
    NoRowsError,
    TableError,
    read_content,
    read_text,
    reason,
    require_readable,
)
from pateval.io.source import (
    Columns,
    ParquetFiles,
    Piece,
    Table,
    concatenated,
    missing_column,
    numpy_column,
    object_array,
    require_equal_lengths,
)
from pateval.io.text_tables import TEXT_TABLES, read_text_table
from pateval.validation.containers import in_zone, index_of, require_same_index, zone_of
from pateval.validation.wording import in_words, listed

Source = Table | ParquetFiles

FILE_COLUMN = "file name"  # the column that every table of several files has: from which of them a row is
TIMEEVAL_SCORES = "anomaly_scores.ts"  # in algorithm/parameters/collection/dataset/repetition
LONGEST_PATH = 4096  # characters
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "txt",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".npz": "npz",
    ".npy": "npy",
}
_COMPRESSIBLE = (*TEXT_TABLES, "json", "jsonl")
# In a folder these are licences, notes and settings as often as tables; they are read where they are named.
_ONLY_BY_NAME = ("txt", "json", "npy")
_READABLE = (
    "text tables (.csv, .tsv, .txt), Parquet (.parquet, .pq), Arrow (.feather, .arrow), JSON (.jsonl, .ndjson, .json) "
    "and NumPy (.npz, .npy)"
)
_MOST_FOLDERS = 1000  # that are looked into for what a folder without tables holds
_NOT_READ = {
    (".xlsx", ".xls"): "spreadsheets are not read; save the sheet as CSV UTF-8",
    (".ods",): "spreadsheets are not read; save the sheet as CSV",
    (".pkl", ".pickle"): "pickles can run code and are never read; write the table as Parquet, with frame.to_parquet",
    (".h5", ".hdf5"): "HDF5 is not read; write the table as Parquet",
    (".mat",): "MATLAB files are not read; write the arrays as CSV, or as NPZ with numpy.savez",
    (".zip", ".tar", ".tgz", ".tar.gz", ".7z"): "archives are not read; unpack it, and name the folder",
}


def expand(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Resolve files, folders and globs into a list of tables, each a file or a partitioned folder.

    A plain folder stands for the data files in it (sorted; hidden files and other suffixes are passed over); a folder
    with ``key=value`` sub-folders, or with nothing but ``part-...`` files, is one table, and each of its files a series
    of its own where no column tells series apart.

    Nothing is opened: what cannot be read, a folder without data files or a pattern without a match stays in the list,
    and `open_table` says what is wrong with it, so that the other files can go on. Only an empty path is refused here.
    """
    tables: list[Path] = []
    for item in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = _path(item)
        matches = [] if os.path.exists(path) else sorted(glob.glob(str(item), recursive=True))
        for match in matches or [str(path)]:
            tables += _expand_one(Path(match))
    return tables


def open_table(path: str | os.PathLike[str]) -> Source:
    """Open one table, a file, a partitioned folder or ``-``: Parquet is read later, series by series; all else now.

    What is missing, unreadable, empty, damaged or of an unknown format is a TableError.
    """
    path = _path(path)
    return open_pieces(path, tuple(_pieces(path)))


def open_pieces(path: Path, pieces: tuple[Piece, ...], folder_layout: str = "", notes: tuple[str, ...] = ()) -> Source:
    """Open the files behind a path as one table."""
    if any(file_format(piece) != "parquet" for piece, _ in pieces):
        table = _in_memory(pieces, stem_of(path), str(path))
        return replace(table, notes=(*notes, *table.notes), folder_layout=folder_layout)
    source = ParquetFiles(stem_of(path), pieces, str(path), notes, folder_layout=folder_layout)
    _require_rows(source)
    return source


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read one whole table into memory; otherwise as `open_table`.

    It is a file of one of the formats by suffix, compressed (.gz, .zst) where it is text; a partitioned folder of them;
    or ``-`` for standard input, whose format is told by its first bytes.
    """
    source = open_table(path)
    return source if isinstance(source, Table) else _in_memory(source.pieces, source.name, source.where)


def _path(item: str | os.PathLike[str]) -> Path:
    if not os.fspath(item):  # which Path takes for the current folder
        raise TableError("a path is empty; name a file or a folder, '.' for the current one")
    if len(os.fspath(item)) > LONGEST_PATH:
        raise TableError(f"no path is as long as {in_words(item)}; name a file or a folder")
    return Path(item)


def _expand_one(path: Path) -> list[Path]:
    try:
        if not os.path.isdir(path) or is_leaderboard(path) or is_one_table(path):
            return [path]
        inside = [entry for entry in visible(path) if entry.is_dir()]
        if not data_files(path) and inside and all(is_one_table(entry) for entry in inside):
            return inside  # a detector each, in parts
        return data_files(path) or [path]
    except TableError:
        return [path]


def is_leaderboard(folder: Path) -> bool:
    """Whether a folder is what ``pateval leaderboard -o`` wrote, finished or not: results, not scores."""
    names = [{"run.json", "scores.parquet"}, {"scores.partial"}]
    # Not by Path.is_file, which raises where a folder may not be looked into.
    return any(all(os.path.isfile(folder / name) for name in group) for group in names)


def data_files(folder: Path) -> list[Path]:
    """List the tables in a folder, without the files that may be something else."""
    tables = (entry for entry in visible(folder) if file_format(entry) not in (None, *_ONLY_BY_NAME))
    return [entry for entry in tables if entry.is_file()]


def is_one_table(folder: Path) -> bool:
    """Whether a folder is partitioned: into ``key=value`` folders, or files called ``part-...``."""
    if any("=" in entry.name and entry.is_dir() for entry in visible(folder)):
        return True
    files = data_files(folder)
    return bool(files) and all(file.name.startswith(("part-", "part.")) for file in files)


def visible(folder: Path) -> list[Path]:
    """List what a folder holds, less what is hidden."""
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith((".", "_")))
    except OSError as error:
        raise TableError(f"{folder}: {reason(error)}") from error


def _pieces(path: Path) -> list[Piece]:
    """List the files behind a path, each with the constants its folders name."""
    if not os.path.isdir(path):
        if glob.has_magic(str(path)) and not os.path.exists(path):
            raise TableError(f"{path}: no file matches this pattern")
        if str(path) != STANDARD_INPUT:
            require_readable(path)
            if file_format(path) is None:
                suffix = f"the suffix {path.suffix!r} is not known" if path.suffix else "the file has no suffix"
                raise TableError(f"{path}: {_why_not_read(path) or f'{suffix}; {_READABLE} are read'}")
        return [Piece(path, {})]
    if is_leaderboard(path):
        if (path / "run.json").is_file():
            remedy = f"'pateval report {path}' shows it, and the command that made it prints it in another --format"
        else:
            remedy = "it is not finished, and the command that began it goes on where it was"
        raise TableError(f"{path}: the folder holds a leaderboard, not score files; {remedy}")
    is_partitioned = is_one_table(path)
    if not is_partitioned and data_files(path):
        raise TableError(
            f"{path}: a folder is one table only if it is partitioned into key=value folders or part-* files; "
            f"name its files instead"
        )
    pieces = list(_walk(path, {})) if is_partitioned else []
    if not pieces:
        raise _without_tables(path)
    if len(pieces) == 1:
        return pieces
    return [Piece(file, constants | {FILE_COLUMN: stem_of(file)}) for file, constants in pieces]


def _why_not_read(path: Path) -> str:
    """Say why files of a known kind are not read; nothing where the suffix says nothing."""
    name = path.name.lower()
    return next((why for suffixes, why in _NOT_READ.items() if name.endswith(suffixes)), "")


def _without_tables(folder: Path) -> TableError:
    """Build the error for a folder that is no table and holds none, by what lies there instead."""
    inside = [entry.name for entry in visible(folder) if entry.is_dir() and data_files(entry)]
    if inside:
        return TableError(f"{folder}: its tables lie in the folders within it ({listed(inside)}); name one of these")
    levels = itertools.islice(os.walk(folder), _MOST_FOLDERS)
    files = [
        Path(level, name) for level, _, names in levels for name in sorted(names) if not name.startswith((".", "_"))
    ]
    alone = [file for file in files if file_format(file) == "npy" or file.name == TIMEEVAL_SCORES]
    if alone:
        scores = next((file for file in alone if "label" not in file.name.lower()), alone[0])
        return TableError(
            f"{folder}: the folder holds no tables with labels, but files such as {scores.relative_to(folder)}; where "
            "these are scores, name the folder of their labels with --labels"
        )
    odd = next((file for file in files if _why_not_read(file)), None)
    if odd is not None:
        return TableError(f"{odd}: {_why_not_read(odd)}")
    return TableError(f"{folder}: the folder holds no data files; {_READABLE} are read")


def _walk(folder: Path, constants: dict[str, str]) -> Iterator[Piece]:
    # Not by pyarrow.dataset, which guesses types (the detectors 007 and 7 become one number) and knows no NPZ files.
    # Only folders that name a constant are entered, so that a folder that is no table is not searched through.
    for entry in visible(folder):
        key, equals, value = entry.name.partition("=")
        if equals and entry.is_dir():
            yield from _walk(entry, constants | {unquote(key): unquote(value)})
        elif file_format(entry) not in (None, *_ONLY_BY_NAME) and entry.is_file():
            yield Piece(entry, constants)


def file_format(path: Path) -> str | None:
    """Say which format a file is in, by its suffix; None where that is not known."""
    name = path.name.lower()
    packed = next((suffix for suffix in PACKED if name.endswith(suffix)), "")
    kind = next((kind for suffix, kind in SUFFIXES.items() if name.removesuffix(packed).endswith(suffix)), None)
    return kind if not packed or kind in _COMPRESSIBLE else None


def stem_of(path: Path) -> str:
    """Return the name of a file without what says how it is written."""
    name = path.name or path.resolve().name
    for suffixes in (PACKED, SUFFIXES):
        suffix = next((ending for ending in suffixes if name.lower().endswith(ending)), "")
        name = name[: len(name) - len(suffix)] or name
    return name


def _read_file(path: Path) -> Table:
    content = read_content(path)
    name, kind = stem_of(path), file_format(path)
    if str(path) == STANDARD_INPUT:
        name, kind = "stdin", formats.format_of(content.data)
    if kind in ("npz", "npy"):
        columns, notes = formats.read_numpy(content, kind)
    elif kind in ("arrow", "parquet"):
        columns, notes = formats.read_arrow(content, kind)
    elif kind in ("json", "jsonl"):
        text = read_text(content, "JSON", guess_encoding=False)
        columns, notes = formats.read_json(text) if kind == "json" else formats.read_json_lines(text)
    else:
        columns, notes = read_text_table(read_text(content, "a text table"), str(kind))
    table = Table(name, columns, content.where, notes, from_file=True)
    _require_rows(table)
    return table


def _require_rows(source: Source) -> None:
    if source.rows == 0:
        raise NoRowsError(f"{source.where}: there are no rows; at least one time step is needed")


def _in_memory(pieces: tuple[Piece, ...], name: str, where: str) -> Table:
    """Read all files behind a path, of whatever format, into one table."""
    tables = []
    for piece, constants in pieces:
        table = _read_file(piece)
        of_folders = {column: np.full(table.rows, value) for column, value in constants.items()}
        tables.append(replace(table, columns=table.columns | of_folders))
    if str(pieces[0].path) == where:
        return tables[0]
    names = list(tables[0].columns)
    for table, (_, constants) in zip(tables, pieces, strict=True):
        for column in names:
            if column not in table.columns:
                missing = missing_column(table.where, column, [name for name in table.columns if name not in constants])
                raise TableError(f"{missing}; files that are read together need the same columns, as label and score")
    columns = {column: concatenated([table.columns[column] for table in tables]) for column in names}
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Table(name, columns, where, notes, from_file=True, pieces=pieces)


def as_table(data: object, *, name: str | None = None) -> Source:
    """Open whatever holds a table: a path, a data frame, or a mapping of column names to arrays.

    Frames are those of pandas, polars, pyarrow and everything else narwhals reads; lazy ones are collected. An index of
    dates becomes a column, called like the index, or ``timestamp``. The name is what to call a frame or mapping, where
    it is to stand for a detector.

    Examples
    --------
    >>> as_table({"label": [0, 1], "score": [0.2, 0.9]}).rows
    2
    """
    if isinstance(data, (Table, ParquetFiles)):
        return data
    if isinstance(data, (str, os.PathLike)):
        return open_table(data)
    where = "the table" if name is None else name
    columns = _from_mapping(data, where) if isinstance(data, Mapping) else _from_frame(data, where)
    if not columns:
        raise TableError(f"{where}: there are no columns; labels and scores are needed")
    require_equal_lengths(columns, where, "columns")
    table = Table(name, columns, where)
    _require_rows(table)
    return table


def _from_mapping(data: Mapping[Any, Any], where: str) -> Columns:
    try:
        require_same_index(**{repr(str(name)): values for name, values in data.items()})
    except ValueError as error:
        raise TableError(f"{where}: {error}") from error
    columns: Columns = {}
    for name, values in data.items():
        column = np.asarray(values) if not isinstance(values, np.ma.MaskedArray) else object_array(values.tolist())
        column = in_zone(column, zone_of(values))
        if column.ndim != 1:
            raise TableError(f"{where}: column {name!r} has shape {column.shape}; one value per time step is needed")
        columns[str(name)] = column
    return columns


def _from_frame(data: object, where: str) -> Columns:
    import narwhals as nw

    try:
        native: Any = nw.from_native(data)
    except TypeError as error:
        raise TableError(
            f"{where}: a path, a data frame or a mapping of arrays is needed, not {type(data).__name__}"
        ) from error
    frame: Any = native.collect() if isinstance(native, nw.LazyFrame) else native
    columns: Columns = {}
    for name in frame.columns:
        series = frame[name]
        if nw.get_native_namespace(frame).__name__ == "pyarrow":
            columns[str(name)] = numpy_column(series.to_native())
        elif series.null_count():
            columns[str(name)] = object_array(series.to_list())
        else:
            columns[str(name)] = in_zone(np.asarray(series.to_numpy()), zone_of(series))
    index = index_of(data)
    index = index.to_timestamp() if type(index).__name__ == "PeriodIndex" else index
    if type(index).__name__ == "DatetimeIndex":
        name = "timestamp" if index.name is None else str(index.name)
        dates = np.asarray(index.tz_convert(None) if index.tz is not None else index)
        columns = {name: in_zone(dates, str(index.tz or ""))} | columns
    return columns
