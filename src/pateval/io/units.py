"""The series of a table, one detector at a time: listed from the key columns alone, then read by ranges of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.io.series import ScoredSeries
from pateval.io.source import Column, concatenated, is_missing, key_text, nameless, numpy_column, object_array
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
    """List what a table holds, in order of detectors and first rows, from its key columns alone."""
    groups: dict[tuple[str, ...], list[int]] = {}
    if layout.keys:
        for offset, columns in source.batches(layout.keys, encoded=True):
            for group, first, last in _runs(columns, layout.keys, source, offset):
                span = groups.setdefault(group, [offset + first, 0, 0])
                span[1] = offset + last
                span[2] += last - first
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
    series and one batch are in memory. They come in order of the last row, then of ``units``.
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
        rows = groups_of_rows(columns, keys, source, offset, 0) if mixed else {}
        for unit, pieces in parts.items():
            inside: Any = slice(max(unit.start - offset, 0), unit.stop - offset)
            if unit.interleaved:
                inside = rows.get(_group(layout, unit))
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
        return concatenated([piece[name] for piece in pieces])

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


def _group(layout: Layout, unit: Unit) -> tuple[str, ...]:
    """Return what the key columns hold in the rows of a unit: the way back from `_names`."""
    detector = unit.detector.removesuffix(f":{unit.score}") if len(layout.scores) > 1 else unit.detector
    values = {layout.series: unit.series, layout.detector: detector, layout.run: unit.run}
    return tuple(values[key] for key in layout.keys)


def groups_of_rows(
    columns: dict[str, Any], keys: Sequence[str], source: Source, offset: int, size: int
) -> dict[tuple[str, ...], npt.NDArray[np.intp]]:
    """Return the rows of a batch by what the key columns hold there."""
    if not keys:
        return {(): np.arange(size)}
    runs = _runs(columns, keys, source, offset)
    places: dict[tuple[str, ...], int] = {}
    codes = [places.setdefault(group, len(places)) for group, _, _ in runs]
    of_rows = np.repeat(codes, [stop - start for _, start, stop in runs])
    cuts = np.cumsum(np.bincount(of_rows))[:-1]
    return dict(zip(places, np.split(np.argsort(of_rows, kind="stable"), cuts), strict=True))


def _runs(
    columns: dict[str, Any], keys: Sequence[str], source: Source, offset: int
) -> list[tuple[tuple[str, ...], int, int]]:
    """Cut a batch of rows wherever a key column changes; each run has the names that hold in it, its start and stop."""
    changes = np.logical_or.reduce([_changes(columns[key]) for key in keys])
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.intp)
    names = [_names_at(starts, columns[key], key, source, offset) for key in keys]
    stops = [*starts[1:].tolist(), changes.size + 1]
    return list(zip(zip(*names, strict=True), starts.tolist(), stops, strict=True))


def _names_at(rows: npt.NDArray[np.intp], column: Any, key: str, source: Source, offset: int) -> list[str]:
    """Return what a key column holds in some rows, as names."""
    if isinstance(column, np.ndarray):
        values = column[rows].tolist()
    elif _has_numbers(column):
        values = object_array(column.dictionary.to_pylist())[numpy_column(column.indices)[rows]].tolist()
    else:
        values = column.take(rows).to_pylist()
    names = {value: key_text(value) for value in dict.fromkeys(values)}
    missing = next((value for value in names if is_missing(value)), names)
    if missing is not names:
        place = next(place for place, value in enumerate(values) if value is missing)
        raise nameless(source.where, key, offset + int(rows[place]) + 1)
    return [names[value] for value in values]


def _changes(column: Any) -> BoolArray:
    """Mark where a value differs from the one before it."""
    if not isinstance(column, np.ndarray):
        column = numpy_column(column.indices if _has_numbers(column) else column)
    try:
        return np.asarray(column[1:] != column[:-1], dtype=np.bool_)
    except (TypeError, ValueError):
        # pandas.NA has no truth value: every row is looked at instead.
        return np.ones(column.size - 1, dtype=np.bool_)


def _has_numbers(column: Any) -> bool:
    """Whether an Arrow array holds texts as numbers into a dictionary; what has gaps goes by its values."""
    return hasattr(column, "indices") and not column.null_count
