"""What a source is: named columns of equal length, in memory or in Parquet files that are read in row groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.io.content import TableError, arrow, damaged, require_fitting, require_readable
from pateval.validation.containers import in_zone, zone_of
from pateval.validation.wording import listed, shortened

Column = npt.NDArray[Any]
Columns = dict[str, Column]

EXACT_INTEGERS = 2.0**53  # from here on floats do not hold every integer
_BATCH_ROWS = 1 << 17  # of a Parquet file that are decoded at a time


class Piece(NamedTuple):
    """One of the files of a table, and the constant columns that its place names (``detector=lstm/...``)."""

    path: Path
    constants: dict[str, str]


@dataclass(frozen=True)
class Table:
    """Columns of equal length in memory, and what messages call them.

    The name is the file's stem, which names the detector where each detector has its own file; frames and mappings have
    none. A column with missing entries is an object array that holds None there. Only in a table from a file may words
    such as yes and no stand for labels. Of a partitioned folder the pieces are its files, as those of `ParquetFiles`.
    """

    name: str | None
    columns: dict[str, Column] = field(repr=False)
    where: str = "the table"
    notes: tuple[str, ...] = ()
    from_file: bool = False
    pieces: tuple[Piece, ...] = ()
    folder_layout: str = ""  # what sub-folders and files name, where a whole folder was read

    @property
    def rows(self) -> int:
        """Number of rows."""
        return next(iter(self.columns.values())).size if self.columns else 0

    @property
    def size_in_bytes(self) -> int:
        """What the columns take up in memory; of texts, the references to them."""
        return sum(column.nbytes for column in self.columns.values())

    def locate(self, start: int, stop: int) -> tuple[str, int]:
        """Return the file that holds some rows, for messages, and the number of the first of them in it."""
        del stop
        return self.where, start

    def kinds(self) -> dict[str, str]:
        """Say of each column what it holds: ``number``, ``text``, ``time`` or ``other``."""
        return {name: _kind_of_array(column) for name, column in self.columns.items()}

    def batches(
        self, names: Sequence[str], start: int = 0, stop: int | None = None, *, encoded: bool = False
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (row number of the first row, columns) once for all rows, as `ParquetFiles.batches` does for parts."""
        del start, stop, encoded
        yield 0, {name: self.columns[name] for name in names}


def numpy_column(column: Any) -> Column:
    """Turn an Arrow array into a NumPy one; missing entries become None in an object array."""
    pa = arrow()
    if pa.types.is_decimal(column.type):
        numbers = column.cast(pa.float64())
        if column.type.scale <= 0 and (np.abs(numpy_column(numbers.drop_null())) >= EXACT_INTEGERS).any():
            return object_array([None if value is None else int(value) for value in column.to_pylist()])
        column = numbers
    if column.null_count:
        return object_array(column.to_pylist())
    return in_zone(np.asarray(column.to_numpy(zero_copy_only=False)), zone_of(column))


def concatenated(parts: Sequence[Column]) -> Column:
    """Put the parts of a column together; NumPy forgets that dates have a time zone, and text says which of them do."""
    if len(parts) == 1:
        return parts[0]
    zones = [(part.dtype.metadata or {"zone": ""})["zone"] for part in parts]
    if len({(part.dtype.kind == "M", bool(zone)) for part, zone in zip(parts, zones, strict=True)}) > 1:
        parts = [_dates_as_text(part, zone) for part, zone in zip(parts, zones, strict=True)]
    return in_zone(np.concatenate(parts), zones[0])


def _dates_as_text(part: Column, zone: str) -> Column:
    if part.dtype.kind != "M":
        return part
    return np.datetime_as_string(part, timezone="UTC" if zone else "naive").astype(object)


def object_array(values: Sequence[object]) -> Column:
    """Hold any values, lists included, in a one-dimensional object array."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def typed_array(values: Sequence[object]) -> Column:
    """Hold plain numbers in a number array, anything else in an object array."""
    kinds = set(map(type, values))
    if kinds <= {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int, float} and any(type(value) is int and abs(value) >= EXACT_INTEGERS for value in values):
        return object_array(values)
    if kinds <= {int, float}:
        try:
            return np.array(values, dtype=np.int64 if kinds == {int} else np.float64)
        except OverflowError:
            return object_array(values)  # integers of more than 64 bits
    return object_array(values)


def key_text(value: object) -> str:
    """Return what a key column holds as a name; whole numbers have no point, so that 1 and 1.0 name the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_missing(value: object) -> bool:
    """Tell None, NaN, NaT, pandas' NA and blank text from values."""
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, (float, np.datetime64)):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def missing_places(column: Column) -> npt.NDArray[np.intp]:
    """Places of a column at which something is missing."""
    if column.dtype.kind in "OUT":
        return np.flatnonzero([is_missing(value) for value in column.tolist()])
    return np.flatnonzero(column != column)  # NaN and NaT differ from themselves


def names_in(column: Column, name: str, where: str) -> list[str]:
    """What a key column of some name holds, as names."""
    missing = missing_places(column)
    if missing.size:
        raise nameless(where, name, int(missing[0]) + 1)
    return [key_text(value) for value in column.tolist()]


def missing_column(where: str, name: str, present: Iterable[str], role: str = "") -> TableError:
    """Build the error for a column that is not there, with the nearest name and what there is."""
    import difflib

    columns, name = [str(column) for column in present], shortened(name)
    near = difflib.get_close_matches(name, columns, n=1) or [c for c in columns if c.lower() == name.lower()]
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return TableError(
        f"{where}: there is no {role}{' ' if role else ''}column {name!r}{hint}; its columns are {listed(columns, 20)}"
    )


def nameless(where: str, key: str, row: int) -> TableError:
    """Build the error for a row in which a key column is empty."""
    return TableError(f"{where}: column {key!r} names nothing in row {row}; fill it in, or take the row out")


def without_times(where: str, needs_times: str) -> TableError:
    """Build the error for a table that lacks what something, in words, needs."""
    return TableError(
        f"{where}: {needs_times} is a duration, which needs a column of times; name it with --time (time=...)"
    )


def require_equal_lengths(columns: Mapping[str, Column], where: str, word: str) -> None:
    """Raise TableError where columns differ in length."""
    first = next(iter(columns), "")
    for name, column in columns.items():
        if column.size != columns[first].size:
            raise TableError(
                f"{where}: {word} must have equal lengths; {first!r} has {columns[first].size} values, "
                f"{name!r} has {column.size}"
            )


def refuse_repeated(names: Sequence[str], path: Path | str) -> None:
    """Raise TableError where two columns share a name."""
    repeated = next((name for name, number in Counter(names).items() if number > 1), None)
    if repeated is not None:
        raise TableError(f"{path}: the column name {repeated!r} occurs more than once; rename or leave out all but one")


def _kind_of_array(column: Column) -> str:
    if column.dtype.kind != "O":
        kinds = {"biuf": "number", "Mm": "time", "UT": "text"}
        return next((name for codes, name in kinds.items() if column.dtype.kind in codes), "other")
    types = set(map(type, column))
    if str in types and any(isinstance(value, str) and not is_missing(value) for value in column):
        return "text"
    present = [kind for kind in types if kind.__name__ not in ("NoneType", "NAType", "NaTType", "str")]
    if not present or any(issubclass(kind, (bool, int, float, np.number, np.bool_)) for kind in present):
        return "number"
    return "time" if any(kind.__name__ in ("datetime", "date", "time", "Timestamp") for kind in present) else "other"


def kind_of_arrow(type_: Any) -> str:
    """Say what a column of an Arrow type holds: ``number``, ``text``, ``time`` or ``other``."""
    tests = arrow().types
    if tests.is_dictionary(type_):
        type_ = type_.value_type
    if tests.is_boolean(type_) or tests.is_integer(type_) or tests.is_floating(type_) or tests.is_decimal(type_):
        return "number"
    if tests.is_string(type_) or tests.is_large_string(type_) or str(type_) == "string_view":
        return "text"
    if tests.is_temporal(type_):
        return "time"
    return "number" if tests.is_null(type_) else "other"


def _is_plain_text(type_: Any) -> bool:
    return kind_of_arrow(type_) == "text" and not hasattr(type_, "value_type")


class RowGroup(NamedTuple):
    """Rows ``[start, stop)`` of a source that are stored, and so read, together."""

    start: int
    stop: int
    piece: int
    number: int


@dataclass(frozen=True)
class ParquetFiles:
    """One Parquet file, or the files of a partitioned folder in path order, opened but not read.

    It can be pickled; a footer is read once for each process that uses it. Where some files of a folder were chosen,
    ``first_row`` is where they begin in it, for messages.
    """

    name: str
    pieces: tuple[Piece, ...]
    where: str
    notes: tuple[str, ...] = ()
    first_row: int = 0
    folder_layout: str = ""

    from_file: ClassVar[bool] = True

    @property
    def rows(self) -> int:
        """Number of rows in all pieces."""
        return self.row_groups[-1].stop if self.row_groups else 0

    @cached_property
    def fragments(self) -> list[Any]:
        """The files as fragments of a ``pyarrow.dataset``, with their footers."""
        return [_fragment(path) for path, _ in self.pieces]

    @cached_property
    def row_groups(self) -> list[RowGroup]:
        """All row groups in order, with the rows they hold."""
        groups: list[RowGroup] = []
        start = 0
        for piece, fragment in enumerate(self.fragments):
            for number, group in enumerate(fragment.row_groups):
                groups.append(RowGroup(start, start + group.num_rows, piece, number))
                start += group.num_rows
        return groups

    @cached_property
    def size_in_bytes(self) -> int:
        """What the files take up on disk."""
        return sum(path.stat().st_size for path, _ in self.pieces)

    def locate(self, start: int, stop: int) -> tuple[str, int]:
        """Return the file that holds some rows, for messages, and the number of the first of them in it.

        Rows that lie in several files are counted through the whole folder.
        """
        groups = self._overlapping(start, stop)
        numbers = {group.piece for group in groups}
        if len(numbers) == 1 and len(self.pieces) > 1:
            (piece,) = numbers
            begin = next(group.start for group in self.row_groups if group.piece == piece)
            return str(self.pieces[piece][0]), start - begin
        return self.where, start + self.first_row

    def kinds(self) -> dict[str, str]:
        """Say of each column what it holds: ``number``, ``text``, ``time`` or ``other``."""
        path, constants = self.pieces[0]
        schema = self.fragments[0].physical_schema
        refuse_repeated(schema.names, path)
        return {field.name: kind_of_arrow(field.type) for field in schema} | dict.fromkeys(constants, "text")

    def batches(
        self, names: Sequence[str], start: int = 0, stop: int | None = None, *, encoded: bool = False
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (row number of the first row, columns) for the row groups that overlap ``[start, stop)``.

        Only the columns asked for are read, each byte of them once, and decoded a batch at a time. ``encoded`` yields
        Arrow's arrays, with texts as numbers into a dictionary, which costs a tenth where texts repeat.
        """
        pa, dataset = arrow(), arrow("dataset")
        # Without these a scan reads ahead over several row groups, in threads that workers do not want.
        options = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        for piece, (path, constants) in enumerate(self.pieces):
            chosen = [group for group in self._overlapping(start, stop) if group.piece == piece]
            if not chosen:
                continue
            fragment = self.fragments[piece]
            stored = [name for name in names if name not in constants]
            schema = fragment.physical_schema
            absent = [name for name in stored if name not in schema.names]
            if absent:
                raise missing_column(str(path), absent[0], schema.names)
            if encoded and (texts := [name for name in stored if _is_plain_text(schema.field(name).type)]):
                fragment = _fragment(path, texts=texts)
            at = chosen[0].start
            largest = max(_largest_column(fragment, group.number, stored) for group in chosen)
            require_fitting(path, path.stat().st_size, 0, largest)
            try:
                for batch in fragment.subset(row_group_ids=[group.number for group in chosen]).to_batches(
                    columns=stored, batch_size=_BATCH_ROWS, use_threads=False, fragment_scan_options=options
                ):
                    columns: dict[str, Any] = {
                        name: batch.column(name) if encoded else numpy_column(batch.column(name)) for name in stored
                    }
                    columns |= {name: np.full(batch.num_rows, constants[name]) for name in names if name in constants}
                    yield at, columns
                    at += batch.num_rows
            except (pa.ArrowException, OSError) as error:
                raise damaged(path, "parquet", error) from error

    def _overlapping(self, start: int, stop: int | None) -> list[RowGroup]:
        return [group for group in self.row_groups if group.stop > start and (stop is None or group.start < stop)]

    def __getstate__(self) -> dict[str, Any]:
        # Footers stay behind: they are larger than the files' names, and each process reads its own.
        return {stored.name: getattr(self, stored.name) for stored in fields(self)}


def _largest_column(fragment: Any, number: int, names: Sequence[str]) -> int:
    """Bytes of the largest of some columns of a row group, as it is decompressed."""
    group = fragment.metadata.row_group(number)
    if group.total_byte_size < _BATCH_ROWS:  # which saves looking at thousands of columns
        return 0
    places = range(group.num_columns)
    sizes = [
        group.column(place).total_uncompressed_size for place in places if group.column(place).path_in_schema in names
    ]
    return max(sizes, default=0)


def _fragment(path: Path, texts: Sequence[str] = ()) -> Any:
    """Open a Parquet file, or say in one line why not."""
    pa = arrow(what=f"{path}: Parquet")
    dataset, fs = arrow("dataset"), arrow("fs")
    require_readable(path)
    kind = dataset.ParquetFileFormat(read_options=dataset.ParquetReadOptions(dictionary_columns=texts))
    try:
        fragment = kind.make_fragment(str(path), filesystem=fs.LocalFileSystem())
        fragment.ensure_complete_metadata()
    except (pa.ArrowException, OSError, ValueError) as error:
        with path.open("rb") as file:
            raise damaged(path, "parquet", error, file.read(1 << 12)) from error
    return fragment
