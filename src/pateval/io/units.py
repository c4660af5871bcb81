"""A table's series, one detector at a time: listed from the key columns alone, read within a row range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, FloatArray, binary_array, finite_array
from pateval.io.source import Column, Source, Table, TableError, is_missing, parquet_batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pateval.io.layout import Layout


@dataclass(frozen=True)
class Unit:
    """One (detector, series) of a table and the rows it lies in.

    Attributes
    ----------
    detector, series : str
        Names.
    score : str
        The score column.
    start, stop : int
        Rows ``[start, stop)`` of the table hold the whole series; rows of other series may lie between.
    steps : int
        Length of the series; less than ``stop - start`` where rows are interleaved.
    group : tuple of str
        The values of the layout's key columns.
    """

    detector: str
    series: str
    score: str
    start: int
    stop: int
    steps: int
    group: tuple[str, ...] = ()

    @property
    def interleaved(self) -> bool:
        """Whether rows of other series lie between those of this one."""
        return self.steps != self.stop - self.start


@dataclass(frozen=True)
class ScoredSeries:
    """Labels and scores of one detector on one series, as they stand in the table.

    Attributes
    ----------
    detector, series : str
        Names.
    labels, scores : ndarray
        The raw columns; `checked` is what metrics want.
    where : str
        File and columns, for messages.
    """

    detector: str
    series: str
    labels: Column = field(repr=False)
    scores: Column = field(repr=False)
    where: str = ""
    label_column: str = "label"
    score_column: str = "score"

    def checked(self) -> tuple[BoolArray, FloatArray]:
        """Return the labels as booleans and the scores as floats.

        Raises
        ------
        TableError
            If labels are not 0/1 or scores not finite numbers; the message names file, column and series.
        """
        column = self.label_column
        try:
            labels = binary_array(self.labels, "labels", other=self.scores)
            column = self.score_column
            return labels, finite_array(self.scores, "scores")
        except (TypeError, ValueError) as error:
            raise TableError(f"{self.where}: column {column!r}, series {self.series!r}: {error}") from error


def list_units(source: Source, layout: Layout) -> list[Unit]:
    """List what a table holds, in order of detectors and first rows, from its key columns alone.

    Parameters
    ----------
    source : Table or ParquetFiles
        What `open_table` or `as_table` gave.
    layout : Layout
        What `find_layout` gave.

    Returns
    -------
    list of Unit

    Raises
    ------
    TableError
        If a row names no series or no detector.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    if layout.keys:
        for offset, columns in _batches(source, layout.keys):
            for group, rows in _grouped(columns, layout.keys, source, offset):
                span = groups.setdefault(group, [offset + int(rows[0]), 0, 0])
                span[1] = offset + int(rows[-1]) + 1
                span[2] += rows.size
    else:
        groups[()] = [0, source.rows, source.rows]
    units = []
    for score in layout.scores:
        for group, (start, stop, steps) in groups.items():
            detector, series = _names(source, layout, score, group)
            units.append(Unit(detector, series, score, start, stop, steps, group))
    order = {name: index for index, name in enumerate(dict.fromkeys(unit.detector for unit in units))}
    return sorted(units, key=lambda unit: (order[unit.detector], unit.start))


def interleaving_note(source: Source, units: Sequence[Unit]) -> str | None:
    """Say in one line that rows were put together again, where that happened."""
    names = list(dict.fromkeys(unit.series for unit in units if unit.interleaved))
    if not names:
        return None
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        f"{source.where}: rows of series {names[0]!r}{more} are not contiguous; they are taken together in file order"
    )


def read_units(source: Source, layout: Layout, units: Sequence[Unit]) -> Iterator[ScoredSeries]:
    """Read some units in one pass over the rows they span; each is handed out as soon as its last row is read.

    Only the columns needed are decoded. For Parquet no more than the open series and one batch are in memory.

    Parameters
    ----------
    source : Table or ParquetFiles
        What `open_table` or `as_table` gave.
    layout : Layout
        What `find_layout` gave.
    units : sequence of Unit
        Some of what `list_units` gave.

    Yields
    ------
    ScoredSeries
        In order of the last row, then of ``units``.

    Raises
    ------
    TableError
        If the file cannot be read.
    """
    waiting = sorted(units, key=lambda unit: unit.start)
    if not waiting:
        return
    mixed = any(unit.interleaved for unit in waiting)
    keys = layout.keys if mixed else ()
    scores = dict.fromkeys(unit.score for unit in waiting)
    names = list(dict.fromkeys((*keys, layout.label, *scores)))
    parts: dict[Unit, list[tuple[Column, Column]]] = {}
    for offset, columns in _batches(source, names, waiting[0].start, max(unit.stop for unit in waiting)):
        labels = columns[layout.label]
        end = offset + labels.size
        while waiting and waiting[0].start < end:
            parts[waiting.pop(0)] = []
        rows = dict(_grouped(columns, keys, source, offset)) if mixed else {}
        for unit, pieces in parts.items():
            if unit.interleaved:
                chosen = rows.get(unit.group)
                if chosen is not None:
                    pieces.append((labels[chosen], columns[unit.score][chosen]))
            elif unit.stop > offset:
                inside = slice(max(unit.start - offset, 0), unit.stop - offset)
                pieces.append((labels[inside], columns[unit.score][inside]))
        done = [unit for unit in parts if unit.stop <= end]
        for unit in sorted(done, key=lambda each: each.stop):
            pieces = parts.pop(unit)
            yield ScoredSeries(
                unit.detector,
                unit.series,
                np.concatenate([piece[0] for piece in pieces]) if len(pieces) > 1 else pieces[0][0],
                np.concatenate([piece[1] for piece in pieces]) if len(pieces) > 1 else pieces[0][1],
                source.where,
                layout.label,
                unit.score,
            )


def scored_series(source: Source, layout: Layout) -> Iterator[ScoredSeries]:
    """Read every (detector, series) of a table, detector by detector.

    Parameters
    ----------
    source : Table or ParquetFiles
        What `open_table` or `as_table` gave.
    layout : Layout
        What `find_layout` gave.

    Yields
    ------
    ScoredSeries

    Raises
    ------
    TableError
        If the file cannot be read, or a row names no series or detector.

    Examples
    --------
    >>> from pateval.io import as_table, find_layout
    >>> data = {"detector": ["a", "b", "a", "b"], "label": [0, 0, 1, 1], "score": [0.1, 0.2, 0.3, 0.4]}
    >>> table = as_table(data)
    >>> for item in scored_series(table, find_layout(table)):
    ...     print(item.detector, item.series, item.labels, item.scores)
    a series [0 1] [0.1 0.3]
    b series [0 1] [0.2 0.4]
    """
    by_detector: dict[str, list[Unit]] = {}
    for unit in list_units(source, layout):
        by_detector.setdefault(unit.detector, []).append(unit)
    for units in by_detector.values():
        yield from read_units(source, layout, units)


def _names(source: Source, layout: Layout, score: str, group: tuple[str, ...]) -> tuple[str, str]:
    """Name detector and series of one group of rows."""
    values = dict(zip(layout.keys, group, strict=True))
    if layout.detector is not None:
        detector = values[layout.detector]
        if len(layout.scores) > 1:
            detector = f"{detector}:{score}"
    else:
        detector = str(source.name) if layout.named_by_file else score
    if layout.series is not None:
        return detector, values[layout.series]
    # A file per detector holds the same unnamed series in each; a file with several detectors is itself the series.
    by_file = layout.named_by_file and layout.detector is None
    return detector, "series" if by_file or source.name is None else source.name


def _batches(
    source: Source, names: Sequence[str], start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, dict[str, Column]]]:
    if isinstance(source, Table):
        yield 0, {name: source.columns[name] for name in names}
    else:
        yield from parquet_batches(source, names, start, stop)


def _grouped(
    columns: dict[str, Column], keys: Sequence[str], source: Source, offset: int
) -> list[tuple[tuple[str, ...], npt.NDArray[np.intp]]]:
    """Return the rows of each combination of key values, by first row."""
    codes: npt.NDArray[np.int64] = np.zeros(columns[keys[0]].size, dtype=np.int64)
    values: list[list[str]] = []
    for key in keys:
        one, names = _encoded(columns[key], key, source, offset)
        values.append(names)
        codes = codes * len(names) + one
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    groups = sorted(np.split(order, cuts), key=lambda rows: int(rows[0]))
    named = []
    for rows in groups:
        code = int(codes[rows[0]])
        group: list[str] = []
        for names in reversed(values):
            code, index = divmod(code, len(names))
            group.append(names[index])
        named.append((tuple(reversed(group)), rows))
    return named


def _encoded(column: Column, key: str, source: Source, offset: int) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Give the distinct values of a key column numbers in order of appearance; return the numbers and the names."""
    heads = np.concatenate([[0], np.flatnonzero(_changes(column)) + 1])
    numbers: dict[str, int] = {}
    known: dict[object, int] = {}
    codes = np.empty(heads.size, dtype=np.int64)
    for index, value in enumerate(column[heads].tolist()):
        code = known.get(value)
        if code is None:
            if is_missing(value):
                raise TableError(
                    f"{source.where}: column {key!r} names nothing in row {offset + int(heads[index]) + 1}"
                )
            code = known[value] = numbers.setdefault(_text(value), len(numbers))
        codes[index] = code
    return np.repeat(codes, np.diff(heads, append=column.size)), list(numbers)


def _changes(column: Column) -> BoolArray:
    """Mark where a value differs from the one before it."""
    try:
        return np.asarray(column[1:] != column[:-1], dtype=np.bool_)
    except (TypeError, ValueError):
        # pandas.NA has no truth value: every row is looked at instead.
        return np.ones(column.size - 1, dtype=np.bool_)


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
