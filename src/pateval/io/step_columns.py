"""Running numbers beside the data: they are no clock, but where they do not increase the rows may be out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.io import guesses
from pateval.io.parquet import ParquetFiles
from pateval.io.source import Table, numpy_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

_NAMES = ("step", "index", "t")


def unordered_steps(source: Table | ParquetFiles, taken: dict[str, str]) -> list[str]:
    """Say which columns of running numbers do not increase within a series.

    Parquet files are read batch by batch, and no further than to the first such row.

    Parameters
    ----------
    source : Table or ParquetFiles
        The table.
    taken : dict
        Columns that have a role, and which.

    Examples
    --------
    >>> table = Table("a", {"step": np.array([0, 1, 1]), "score": np.array([0.1, 0.2, 0.3])}, "a.csv")
    >>> unordered_steps(table, {"score": "score"})[0].partition(";")[0]
    "a.csv: column 'step' does not increase within a series (row 3: 1 after 1)"
    """
    kinds = source.kinds()
    apart = [name for name, role in taken.items() if role in ("series", "detector", "run") and name in kinds]
    found = []
    for name, kind in kinds.items():
        if name in taken or guesses.plain(name) not in _NAMES or kind != "number":
            continue
        place = _first_wrong(source, name, apart)
        if place is not None:
            row, value, before = place
            where, row = (source.where, row) if isinstance(source, Table) else source.locate(row, row + 1)
            found.append(
                f"{where}: column {name!r} does not increase within a series (row {row + 1}: {value} after {before}); "
                f"rows are taken as they stand: sort them with --time {name} --sort, or name the column that tells "
                f"series apart with --series"
            )
    return found


def _first_wrong(source: Table | ParquetFiles, name: str, apart: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the first row whose number is not above the one before it in its series, with both numbers."""
    last: dict[tuple[str, ...], int] = {}  # number of the last row so far, by what tells series apart
    for first_row, columns in _batches(source, [name, *apart]):
        numbers = columns[name]
        if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
            return None
        order, starts, keys = _groups([columns[key] for key in apart], numbers.size)
        ordered = numbers[order]
        wrong = np.flatnonzero(ordered[1:] <= ordered[:-1]) + 1
        places = np.setdiff1d(wrong, starts)
        rows = {int(order[place]): int(ordered[place - 1]) for place in places}
        for start, key in zip(starts.tolist(), keys, strict=True):
            if key in last and ordered[start] <= last[key]:
                rows[int(order[start])] = last[key]
        if rows:
            row = min(rows)
            return first_row + row, int(numbers[row]), rows[row]
        stops = np.append(starts[1:], numbers.size)
        last |= dict(zip(keys, ordered[stops - 1].tolist(), strict=True))
    return None


def _batches(source: Table | ParquetFiles, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of the first row and the columns: numbers as NumPy's, the others as they are read fastest."""
    if isinstance(source, Table):
        if source.rows:
            yield 0, {name: source.columns[name] for name in names}
        return
    for first_row, columns in source.batches(names, encoded=True):
        number = columns[names[0]]
        yield first_row, columns | {names[0]: numpy_column(number)}


def _groups(columns: Sequence[Any], size: int) -> tuple[npt.NDArray[np.intp], Any, list[tuple[str, ...]]]:
    """Return the rows put in order by what tells series apart, where each series begins among them, and its key."""
    if not columns:
        return np.arange(size), np.zeros(1, dtype=np.intp), [()]
    coded = [_codes(column) for column in columns]
    order = np.lexsort([codes for codes, _ in coded])
    changes = np.zeros(max(size - 1, 0), dtype=np.bool_)
    for codes, _ in coded:
        changes |= codes[order][1:] != codes[order][:-1]
    starts = np.append(0, np.flatnonzero(changes) + 1)
    keys = [tuple(names[codes[order[start]]] for codes, names in coded) for start in starts.tolist()]
    return order, starts, keys


def _codes(column: Any) -> tuple[npt.NDArray[np.integer[Any]], list[str]]:
    """Number the values of a column, NumPy's or Arrow's."""
    if isinstance(column, np.ndarray):
        known, codes = np.unique(column.astype(str), return_inverse=True)
        return codes, known.tolist()
    coded = column if hasattr(column, "dictionary") else column.dictionary_encode()
    names = [str(value) for value in coded.dictionary.to_pylist()]
    return coded.indices.fill_null(len(names)).to_numpy(zero_copy_only=False), [*names, ""]
