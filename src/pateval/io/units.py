"""The series of a table, one detector at a time: listed from the key columns alone, then read by ranges of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.io.series import ScoredSeries
from pateval.io.source import Column, is_missing, key_text, nameless, numpy_column
from pateval.validation.arrays import BoolArray
from pateval.validation.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pateval.io.files import Source
    from pateval.io.layout import Layout


@dataclass(frozen=True)
class Unit:
    """One detector on one series of a table, in one run ("" where there is no column of runs), and its rows.

    Rows ``[start, stop)`` of the table hold the whole series, in so many steps; where they are fewer than the rows,
    those of other series lie between. The score column is "" where none is read, or one for each channel.
    """

    detector: str
    series: str
    run: str
    score: str
    start: int
    stop: int
    steps: int

    @property
    def interleaved(self) -> bool:
        """Whether rows of other series lie between those of this one."""
        return self.steps != self.stop - self.start


def list_units(source: Source, layout: Layout) -> list[Unit]:
    """List what a table holds, in order of detectors and first rows, from its key columns alone.

    Raises
    ------
    TableError
        If a row names no series or no detector.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    if layout.keys:
        for offset, columns in source.batches(layout.keys, encoded=True):
            for group, first, last, steps in _spans(_runs(columns, layout.keys, source, offset)):
                span = groups.setdefault(group, [offset + first, 0, 0])
                span[1] = offset + last
                span[2] += steps
    else:
        groups[()] = [0, source.rows, source.rows]
    units = []
    for score in _detector_columns(layout):
        for group, (start, stop, steps) in groups.items():
            units.append(Unit(*_names(source, layout, score, group), score, start, stop, steps))
    order = {name: index for index, name in enumerate(dict.fromkeys(unit.detector for unit in units))}
    return sorted(units, key=lambda unit: (order[unit.detector], unit.start))


def interleaving_note(source: Source, units: Sequence[Unit]) -> str | None:
    """Say in one line that rows were put together again, where that happened."""
    names = list(dict.fromkeys(unit.series for unit in units if unit.interleaved))
    if not names:
        return None
    return (
        f"{source.where}: rows of series {listed(names, 1)} are not contiguous; they are taken together in file order"
    )


def read_units(source: Source, layout: Layout, units: Sequence[Unit], *, scores: bool = True) -> Iterator[ScoredSeries]:
    """Read some units in one pass over the rows they span; each is handed out as soon as its last row is read.

    Only the columns needed are decoded; without ``scores`` those of labels alone. For Parquet no more than the open
    series and one batch are in memory.

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
    shared = [name for name in (layout.label, *layout.channels, layout.time, layout.ignore) if name is not None]
    if layout.channels and scores:
        shared += layout.scores
    columns_of_scores = dict.fromkeys(unit.score for unit in waiting if unit.score) if scores and layout.scores else {}
    names = list(dict.fromkeys((*keys, *shared, *columns_of_scores))) or [next(iter(source.kinds()))]
    parts: dict[Unit, list[dict[str, Column]]] = {}
    for offset, columns in source.batches(names, waiting[0].start, max(unit.stop for unit in waiting)):
        end = offset + len(columns[names[0]])
        while waiting and waiting[0].start < end:
            parts[waiting.pop(0)] = []
        rows = _rows_by_names(source, layout, columns, offset) if mixed else {}
        for unit, pieces in parts.items():
            inside: Any = slice(max(unit.start - offset, 0), unit.stop - offset)
            if unit.interleaved:
                inside = rows.get(_names_in_rows(layout, unit.detector, unit.series, unit.run))
            if inside is not None and unit.stop > offset:
                wanted = (*shared, unit.score) if columns_of_scores else shared
                piece = {name: columns[name][inside] for name in wanted}
                pieces.append(piece | ({_ROWS: inside + offset} if unit.interleaved else {}))
        done = [unit for unit in parts if unit.stop <= end]
        for unit in sorted(done, key=lambda one: one.stop):
            yield _assembled(source, layout, unit, parts.pop(unit))


_ROWS = "row numbers of an interleaved series"  # beside the columns of the table, which are called otherwise


def _assembled(source: Source, layout: Layout, unit: Unit, pieces: list[dict[str, Column]]) -> ScoredSeries:
    """Put the batches of one unit together."""

    def joined(name: str | None) -> Column | None:
        if name not in pieces[0]:
            return None
        return np.concatenate([piece[name] for piece in pieces]) if len(pieces) > 1 else pieces[0][name]

    labels, scores, none = joined(layout.label), joined(unit.score), np.empty(0)
    if layout.channels:
        labels = _stacked([joined(name) for name in layout.channels])
        scores = _stacked([joined(name) for name in layout.scores])
    rows = joined(_ROWS)
    where, first_row = source.locate(unit.start, unit.stop)
    item = ScoredSeries(
        unit,
        layout,
        where,
        first_row,
        none if labels is None else labels,
        none if scores is None else scores,
        joined(layout.time),
        joined(layout.ignore),
        None if rows is None else rows + (first_row - unit.start),
    )
    return item.sorted_by_time() if layout.sort else item


def _stacked(columns: Sequence[Column | None]) -> Column | None:
    """Put the columns of channels side by side."""
    present = [column for column in columns if column is not None]
    return np.stack(present, axis=1) if present else None


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


def labelled_series(source: Source, layout: Layout) -> list[ScoredSeries]:
    """Read the labels of every series, without scores; where several detectors share them, those of the first.

    Examples
    --------
    >>> from pateval.io import Reading, as_table, find_layout
    >>> table = as_table({"series": ["a", "a", "b"], "label": [0, 1, 1]})
    >>> layout = find_layout(table, Reading(labels_only=True))
    >>> [item.checked_labels().tolist() for item in labelled_series(table, layout)]
    [[False, True], [True]]
    """
    units = list_units(source, layout)
    first = [unit for unit in units if (unit.detector, unit.run) == (units[0].detector, units[0].run)]
    return list(read_units(source, layout, first, scores=False))


def _detector_columns(layout: Layout) -> tuple[str, ...]:
    """Return the score columns that are a detector each.

    A table read for its labels alone has none; with several channels all columns are one detector's.
    """
    return ("",) if layout.channels or not layout.scores else layout.scores


def _names(source: Source, layout: Layout, score: str, group: tuple[str, ...]) -> tuple[str, str, str]:
    """Name detector, series and run of one group of rows."""
    values = dict(zip(layout.keys, group, strict=True))
    if layout.detector is not None:
        detector = values[layout.detector]
        if len(layout.scores) > 1:
            detector = f"{detector}:{score}"
    else:
        detector = str(source.name) if layout.named_by_file else score or "scores"
    run = "" if layout.run is None else values[layout.run]
    if layout.series is not None:
        return detector, values[layout.series], run
    # A file per detector holds the same unnamed series in each; a file with several detectors is itself the series.
    by_file = layout.named_by_file and layout.detector is None
    return detector, "series" if by_file or source.name is None else source.name, run


class _Runs(NamedTuple):
    """Stretches of rows with the same key values: where they start, their lengths, and which of the groups they are."""

    starts: npt.NDArray[np.intp]
    lengths: npt.NDArray[np.intp]
    codes: npt.NDArray[np.intp]
    groups: list[tuple[str, ...]]


def _runs(columns: dict[str, Any], keys: Sequence[str], source: Source, offset: int) -> _Runs:
    """Cut a batch of rows wherever a key column changes; the groups are in order of their first rows."""
    encoded = [_encoded(columns[key], key, source, offset) for key in keys]
    is_start = np.zeros(len(columns[keys[0]]), dtype=np.bool_)
    for heads, _, _ in encoded:
        is_start[heads] = True
    starts = np.flatnonzero(is_start)
    combined = np.zeros(starts.size, dtype=np.int64)
    for heads, codes, names in encoded:
        combined = combined * len(names) + codes[np.searchsorted(heads, starts, side="right") - 1]
    known, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    groups = []
    for number in known[order].tolist():
        group: list[str] = []
        for _, _, names in reversed(encoded):
            number, index = divmod(number, len(names))
            group.append(names[index])
        groups.append(tuple(reversed(group)))
    lengths = np.diff(starts, append=is_start.size)
    return _Runs(starts, lengths, place[inverse], groups)


def _spans(runs: _Runs) -> Iterator[tuple[tuple[str, ...], int, int, int]]:
    """Yield each group with its first row, the row after its last, and its number of rows."""
    size = len(runs.groups)
    first, last = np.full(size, np.iinfo(np.intp).max), np.zeros(size, dtype=np.intp)
    np.minimum.at(first, runs.codes, runs.starts)
    np.maximum.at(last, runs.codes, runs.starts + runs.lengths)
    steps = np.bincount(runs.codes, runs.lengths, minlength=size).astype(np.intp)
    yield from zip(runs.groups, first.tolist(), last.tolist(), steps.tolist(), strict=True)


def groups_of_rows(
    columns: dict[str, Any], keys: Sequence[str], source: Source, offset: int, size: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], list[tuple[str, ...]]]:
    """Return the rows of a batch group by group, where each group begins among them, and its values of the keys."""
    if not keys:
        return np.arange(size), np.zeros(1, dtype=np.intp), [()]
    runs = _runs(columns, keys, source, offset)
    codes = np.repeat(runs.codes, runs.lengths)
    sizes = np.bincount(codes, minlength=len(runs.groups))
    return np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes, runs.groups


def _rows_by_names(
    source: Source, layout: Layout, columns: dict[str, Any], offset: int
) -> dict[tuple[str, ...], npt.NDArray[np.intp]]:
    """Return the rows of each series, run and detector that a batch holds mixed, in order."""
    order, starts, groups = groups_of_rows(columns, layout.keys, source, offset, 0)
    rows = dict(zip(groups, np.split(order, starts[1:]), strict=True))
    scores = _detector_columns(layout) if layout.detector is not None else _detector_columns(layout)[:1]
    return {
        _names_in_rows(layout, *_names(source, layout, score, group)): rows[group]
        for score in scores
        for group in groups
    }


def _names_in_rows(layout: Layout, detector: str, series: str, run: str) -> tuple[str, ...]:
    """Leave out the detector where all share the rows, each in a column of its own."""
    return (series, run) if layout.detector is None else (detector, series, run)


def _encoded(
    column: Any, key: str, source: Source, offset: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64], list[str]]:
    """Return where a key column changes, the first row included, a number for what holds from there on, and names."""
    heads = np.concatenate([[0], np.flatnonzero(_changes(column)) + 1]).astype(np.intp)
    if hasattr(column, "indices") and not column.null_count:
        values, codes = column.dictionary.to_pylist(), numpy_column(column.indices)[heads]
    else:
        held = column[heads].tolist() if isinstance(column, np.ndarray) else column.take(heads).to_pylist()
        places = {value: place for place, value in enumerate(dict.fromkeys(held))}
        values, codes = list(places), np.fromiter(map(places.__getitem__, held), np.int64, len(held))
    missing = np.isin(codes, [place for place, value in enumerate(values) if is_missing(value)])
    if missing.any():
        raise nameless(source.where, key, offset + int(heads[np.argmax(missing)]) + 1)
    numbers: dict[str, int] = {}
    of_value = [numbers.setdefault(key_text(value), len(numbers)) for value in values]
    return heads, np.array(of_value)[codes], list(numbers)


def _changes(column: Any) -> BoolArray:
    """Mark where a value differs from the one before it."""
    if not isinstance(column, np.ndarray):
        # An Arrow array of texts in a dictionary is compared by its numbers; what has gaps, by its values.
        has_numbers = hasattr(column, "indices") and not column.null_count
        column = numpy_column(column.indices if has_numbers else column)
    try:
        return np.asarray(column[1:] != column[:-1], dtype=np.bool_)
    except (TypeError, ValueError):
        # pandas.NA has no truth value: every row is looked at instead.
        return np.ones(column.size - 1, dtype=np.bool_)
