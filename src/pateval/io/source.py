"""What a table in memory is: named columns of equal length; and the errors of every way to read one.

Every failure is a `TableError`: one sentence that names the file and, where there is one, the column.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.validation.wording import listed, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

Column = npt.NDArray[Any]

EXACT_INTEGERS = 2.0**53  # from here on floats do not hold every integer


class TableError(ValueError):
    """A table cannot be read or lacks what is asked of it; the message is one sentence naming file and column."""


class NoScoresError(TableError):
    """A table has labels and no column that could be scores; what needs labels alone can go on."""


class NoRowsError(TableError):
    """A table has a header and nothing below it; a list of events may well be empty."""


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
    pieces: tuple[tuple[Path, dict[str, str]], ...] = ()

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
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        numbers = column.cast(pa.float64())
        if column.type.scale <= 0 and (np.abs(numpy_column(numbers.drop_null())) >= EXACT_INTEGERS).any():
            return object_array([None if value is None else int(value) for value in column.to_pylist()])
        column = numbers
    if column.null_count:
        return object_array(column.to_pylist())
    zone = getattr(column.type, "tz", None)
    if isinstance(column, pa.ChunkedArray):
        return in_zone(np.asarray(column.to_numpy()), zone)
    return in_zone(np.asarray(column.to_numpy(zero_copy_only=False)), zone)


def in_zone(dates: Column, zone: object) -> Column:
    """Remember in the type of dates, which are in universal time, that they were written with a time zone."""
    if not zone or dates.dtype.kind != "M":
        return dates
    return dates.view(np.dtype(dates.dtype.str, metadata={"zone": str(zone)}))


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


def require_readable(path: Path) -> None:
    """Raise TableError unless the file is there, may be read and is not empty."""
    try:
        with path.open("rb", buffering=0) as file:
            empty = not file.read(1)
    except OSError as error:
        raise TableError(f"{path}: {reason(error)}") from error
    if empty:
        raise TableError(f"{path}: the file is empty; write or fetch it again")


def reason(error: OSError) -> str:
    """Say in a few words why the system refused a file."""
    if error.errno in (errno.ENOENT, errno.ELOOP) and os.path.islink(error.filename or ""):
        return "it is a link to a file that is not there; make the link anew, or name the file itself"
    known = {
        FileNotFoundError: "there is no such file or folder",
        PermissionError: "no permission to read it; change its permissions, or copy it as its owner",
        IsADirectoryError: "it is a folder, not a file; name a file in it",
    }
    return known.get(type(error), error.strerror or str(error))


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
    repeated = [name for name in names if list(names).count(name) > 1]
    if repeated:
        raise TableError(
            f"{path}: the column name {repeated[0]!r} occurs more than once; rename or leave out all but one"
        )


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
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    tests = pa.types
    if tests.is_boolean(type_) or tests.is_integer(type_) or tests.is_floating(type_) or tests.is_decimal(type_):
        return "number"
    if tests.is_string(type_) or tests.is_large_string(type_) or str(type_) == "string_view":
        return "text"
    if tests.is_temporal(type_):
        return "time"
    return "number" if tests.is_null(type_) else "other"


def merged_notes(notes: Sequence[str]) -> list[str]:
    """Say once for all files what is the same for all of them.

    Examples
    --------
    >>> merged_notes(["a.csv: guessed label 'y'", "b.csv: guessed label 'y'", "b.csv: no time"])
    ["2 files (a.csv, ...): guessed label 'y'", 'b.csv: no time']
    """
    texts: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        where, _, text = note.partition(": ")
        texts.setdefault(text or where, []).append(where)
    return [
        f"{places[0]}: {text}" if len(places) == 1 else f"{len(places)} files ({places[0]}, ...): {text}"
        for text, places in texts.items()
        for places in [[place for place in places if place != text] or [text]]
    ]
