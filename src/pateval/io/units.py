"""The series of tables, one detector at a time: listed from the key columns alone, then read by ranges of rows.

A plan of many is cut into batches, with as few passes over each file as the number of workers allows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.io.content import BYTES_OF_VALUE, require_fitting
from pateval.io.files import open_table
from pateval.io.series import ScoredSeries
from pateval.io.source import (
    Column,
    Columns,
    ParquetFiles,
    Table,
    concatenated,
    is_missing,
    key_text,
    nameless,
    numpy_column,
    object_array,
)
from pateval.rules import one_liner
from pateval.validation.arrays import BoolArray, number_array
from pateval.validation.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pateval.io.files import Source
    from pateval.io.layout import Layout
    from pateval.io.plan import Plan

Indices = npt.NDArray[np.int64]

UNNAMED_SERIES = "series"  # the one of files that are a detector each
SCORES, CHANCE, LOOK = "scores", "chance", "missing scores"
_CARRIED_JOBS = 16  # most jobs of a batch whose series are in memory, and so travel to the worker with it
_FEW_JOBS = 8  # of a batch for chance, each of which takes as long as several detectors
_BATCHES_PER_WORKER = 4  # enough for all workers to finish at about the same time
_MOST_STEPS = 2_000_000  # of a batch: about 10 s with all metrics, so that results are reported that often


@dataclass(frozen=True)
class Unit:
    """One detector on one series of a table, in one run ("" where there is no column of runs), and its rows.

    Rows ``[start, stop)`` of the table hold the whole series, in so many steps; where they are fewer than the rows,
    those of other series lie between. The score column is "" where none is read, or one for each channel. In a plan it
    is a job, with a place there, and comes from one of its sources.
    """

    detector: str
    series: str
    run: str
    score: str
    start: int
    stop: int
    steps: int
    number: int = 0
    source: int = 0

    @property
    def names(self) -> tuple[str, str, str]:
        """Of detector, series and run."""
        return self.detector, self.series, self.run

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
    # With several channels all columns are one detector's, and a table read for its labels alone has none.
    scores = ("",) if layout.channels or not layout.scores else layout.scores
    units = [
        Unit(*_names(source, layout, score, group), score, *rows) for score in scores for group, rows in groups.items()
    ]
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
    if layout.one_liners and scores:
        shared, columns_of_scores = [*shared, *layout.values], {}
    names = list(dict.fromkeys((*keys, *shared, *columns_of_scores))) or [next(iter(source.kinds()))]
    if isinstance(source, ParquetFiles):
        # Series are evaluated one by one, which takes several times as much as to hold them meanwhile.
        values = [unit.steps * (len(shared) + bool(columns_of_scores)) for unit in waiting]
        needed = max(BYTES_OF_VALUE * max(values), BYTES_OF_VALUE // 4 * sum(values))
        require_fitting(source.where, source.size_in_bytes, sum(values), needed)
    parts: dict[Unit, list[Columns]] = {}
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
        for unit in sorted(done, key=lambda unit: unit.stop):
            yield _assembled(source, layout, unit, parts.pop(unit))


_ROWS = "row numbers of an interleaved series"  # beside the columns of the table, which are called otherwise


def _assembled(source: Source, layout: Layout, unit: Unit, pieces: list[Columns]) -> ScoredSeries:
    """Put the batches of one unit together."""

    def joined(name: str | None) -> Column | None:
        return concatenated([piece[name] for piece in pieces]) if name in pieces[0] else None

    def stacked(names: Sequence[str]) -> Column | None:
        columns = [column for name in names if (column := joined(name)) is not None]
        return np.stack(columns, axis=1) if columns else None

    labels, scores, rows = joined(layout.label), joined(unit.score), joined(_ROWS)
    if layout.channels:
        labels, scores = stacked(layout.channels), stacked(layout.scores)
    if layout.one_liners and layout.values[0] in pieces[0]:
        values = [number_array(joined(name), name, allow_missing=True) for name in layout.values]
        scores = one_liner(unit.score, np.stack(values, axis=1))
    where, first_row = source.locate(unit.start, unit.stop)
    item = ScoredSeries(
        unit,
        layout,
        where,
        first_row,
        np.empty(0) if labels is None else labels,
        np.empty(0) if scores is None else scores,
        joined(layout.time),
        joined(layout.ignore),
        None if rows is None else rows + (first_row - unit.start),
    )
    return item.sorted_by_time() if layout.sort else item


def scored_series(source: Source, layout: Layout) -> Iterator[ScoredSeries]:
    """Read every (detector, series) of a table, detector by detector."""
    by_detector: dict[str, list[Unit]] = {}
    for unit in list_units(source, layout):
        by_detector.setdefault(unit.detector, []).append(unit)
    for units in by_detector.values():
        yield from read_units(source, layout, units)


def labelled_series(source: Source, layout: Layout) -> list[ScoredSeries]:
    """Read the labels of every series, without scores; where several detectors share them, those of the first."""
    units = list_units(source, layout)
    first = [unit for unit in units if (unit.detector, unit.run) == (units[0].detector, units[0].run)]
    return list(read_units(source, layout, first, scores=False))


def _names(source: Source, layout: Layout, score: str, group: tuple[str, ...]) -> tuple[str, str, str]:
    """Name detector, series and run of one group of rows."""
    values = dict(zip(layout.keys, group, strict=True))
    if layout.one_liners:
        detector = score
    elif layout.detector is not None:
        detector = values[layout.detector]
        if len(layout.scores) > 1:
            detector = f"{detector}:{score}"
    else:
        detector = layout.detector_name(str(source.name) if layout.named_by_file else score or "scores")
    run = "" if layout.run is None else values[layout.run]
    if layout.series is not None:
        return detector, values[layout.series], run
    # A file per detector holds the same unnamed series in each; a file with several detectors is itself the series.
    by_file = layout.named_by_file and layout.detector is None
    return detector, UNNAMED_SERIES if by_file or source.name is None else source.name, run


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


@dataclass(frozen=True)
class Batch:
    """Neighbouring jobs of one source, with all a worker needs to read them.

    The content is the path of a file, Parquet files opened but not read, or the series themselves where they are in
    memory. The purpose is ``scores``; ``chance``, what random scores reach; or ``missing scores``, which finds where
    there are none. By the numbers of jobs, ``left_out`` marks the steps where some detector of the series has no score,
    ``binary`` names those whose detectors' scores are 0 and 1 only on all their series, and ``first`` those that also
    find out what random scores reach.
    """

    jobs: tuple[Unit, ...]
    content: str | ParquetFiles | tuple[ScoredSeries, ...]
    layout: Layout
    purpose: str = SCORES
    left_out: Mapping[int, npt.NDArray[np.uint8]] = field(default_factory=dict)
    binary: frozenset[int] = frozenset()
    first: frozenset[int] = frozenset()

    def split(self) -> list[Batch]:
        """Cut into batches of one job, to find the one that fails."""
        if isinstance(self.content, tuple):
            return [replace(self, jobs=(item.unit,), content=(item,)) for item in self.content]
        return [replace(self, jobs=(job,)) for job in self.jobs]


def make_batches(plan: Plan, *, workers: int = 1) -> Iterator[Batch]:
    """Cut a plan into batches that read every series once, as far as that leaves enough batches for the workers.

    A Parquet file is read row group by row group, whatever part of one is wanted, so the jobs of a row group stay
    together. Only where there are fewer such batches than workers need are they cut, along score columns first, since
    that repeats nothing but labels. The largest come first, so that no worker is left with a long one at the end.

    Batches over tables in memory are cut as they are asked for; only those under way are copied.
    """
    in_memory: list[Indices] = []
    on_disk: list[Indices] = []
    for part in _by_source(plan, np.arange(len(plan.jobs))):
        if isinstance(_source_of(plan, part), Table):
            in_memory.append(part)
        else:
            on_disk += _read_together(plan, part)
    wanted = _BATCHES_PER_WORKER * workers
    if workers > 1:
        on_disk = _cut(plan, on_disk, wanted)
    for part in sorted(on_disk, key=lambda part: -int(plan.jobs.steps[part].sum())):
        yield _batch(plan, part, SCORES)
    left = sum(part.size for part in in_memory)
    for part in in_memory:
        while part.size:
            size = max(1, min(_CARRIED_JOBS, left // wanted))
            yield _batch(plan, part[:size], SCORES)
            left, part = left - size, part[size:]


def batches_of(plan: Plan, jobs: Sequence[int], purpose: str) -> Iterator[Batch]:
    """Cut some jobs of a plan into small batches."""
    for part in _by_source(plan, np.asarray(jobs, dtype=np.int64)):
        for first in range(0, part.size, _FEW_JOBS):
            yield _batch(plan, part[first : first + _FEW_JOBS], purpose)


def read_jobs(plan: Plan, jobs: Sequence[int] | None = None) -> list[ScoredSeries]:
    """Read the series of a plan, or of some of its jobs, in the order of the plan."""
    wanted = np.arange(len(plan.jobs)) if jobs is None else np.asarray(jobs, dtype=np.int64)
    batches = [_batch(plan, part, SCORES) for part in _by_source(plan, wanted)]
    return sorted((item for batch in batches for item in read_batch(batch)), key=lambda item: item.unit.number)


def read_batch(batch: Batch) -> Iterable[ScoredSeries]:
    """Read the series of a batch, one at a time."""
    if isinstance(batch.content, tuple):
        return batch.content
    return read_units(_opened(batch.content), batch.layout, batch.jobs)


_last: tuple[object, Source] | None = None


def _opened(content: str | ParquetFiles) -> Source:
    """Open a source; the last one is kept with its footers, since the next batch is often of the same file."""
    global _last  # a cache of one
    files = [content] if isinstance(content, str) else [path for path, _ in content.pieces]
    key = [(path, status.st_mtime_ns, status.st_size) for path, status in zip(files, map(os.stat, files), strict=True)]
    if _last is None or _last[0] != key:
        _last = None  # the old one is let go before the new one is read
        _last = (key, open_table(content) if isinstance(content, str) else content)
    return _last[1]


def _by_source(plan: Plan, jobs: Indices) -> list[Indices]:
    """Part jobs by their sources, and put those of each in order of first rows."""
    of_jobs = plan.jobs.source[jobs]
    order = np.lexsort((plan.jobs.start[jobs], of_jobs))
    return np.split(jobs[order], np.flatnonzero(np.diff(of_jobs[order])) + 1) if jobs.size else []


def _source_of(plan: Plan, part: Indices) -> Source | Path:
    return plan.sources[plan.jobs.source[part[0]]]


def _read_together(plan: Plan, indices: Indices) -> Iterator[Indices]:
    """Keep jobs together that share a row group, or all where a file can only be read whole.

    Series that straddle row groups could chain a whole file together; a chain is cut after so many steps, and one row
    group is read twice there.
    """
    content = _source_of(plan, indices)
    if not isinstance(content, ParquetFiles):
        yield indices
        return
    stops = np.array([group.stop for group in content.row_groups])
    starts, ends = plan.jobs.start[indices], plan.jobs.stop[indices]
    steps = np.cumsum(plan.jobs.steps[indices])
    first, before, covered = 0, 0, 0
    for place in range(indices.size):
        if place > first and (starts[place] >= covered or steps[place] - before > _MOST_STEPS):
            yield indices[first:place]
            first, before, covered = place, int(steps[place - 1]), 0
        covered = max(covered, int(stops[np.searchsorted(stops, ends[place], side="left")]))
    yield indices[first:]


def _cut(plan: Plan, parts: list[Indices], wanted: int) -> list[Indices]:
    """Halve the largest parts until there are enough of them."""
    steps = [int(plan.jobs.steps[part].sum()) if part.size > 1 else 0 for part in parts]  # one job cannot be cut
    while len(parts) < wanted and any(steps):
        place = int(np.argmax(steps))
        part = parts[place]
        columns = plan.jobs.score[part]
        is_first = np.arange(part.size) < part.size // 2
        if columns.min() != columns.max():
            is_first = columns < np.median(np.unique(columns))
        halves = [part[is_first], part[~is_first]]
        parts[place : place + 1] = halves
        steps[place : place + 1] = [int(plan.jobs.steps[half].sum()) if half.size > 1 else 0 for half in halves]
    return parts


def _batch(plan: Plan, part: Indices, purpose: str) -> Batch:
    source, layout = _source_of(plan, part), plan.layouts[plan.jobs.source[part[0]]]
    jobs = tuple(plan.jobs[job] for job in part.tolist())
    if isinstance(source, Table):
        items = tuple(read_units(source, layout, jobs))
        return Batch(tuple(item.unit for item in items), items, layout, purpose)
    if not isinstance(source, ParquetFiles):
        return Batch(jobs, str(source), layout, purpose)
    if len(source.pieces) == 1:
        return Batch(jobs, source, layout, purpose)
    return _narrowed(source, jobs, layout, purpose)


def _narrowed(source: ParquetFiles, jobs: tuple[Unit, ...], layout: Layout, purpose: str) -> Batch:
    """Name only the files of a partitioned folder that the jobs need, and count rows from the first of them."""
    groups = source.row_groups
    first, last = min(job.start for job in jobs), max(job.stop for job in jobs)
    touched = [group for group in groups if group.stop > first and group.start < last]
    pieces = slice(touched[0].piece, touched[-1].piece + 1)
    offset = min(group.start for group in groups if group.piece == pieces.start)
    moved = tuple(replace(job, start=job.start - offset, stop=job.stop - offset) for job in jobs)
    return Batch(moved, replace(source, pieces=source.pieces[pieces], first_row=offset), layout, purpose)
