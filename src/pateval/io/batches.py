"""How a plan is cut into tasks: as few passes over each file as the number of workers allows."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from pateval.io.files import open_table
from pateval.io.source import ParquetFiles, Table
from pateval.io.units import read_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from pateval.io.files import Source
    from pateval.io.layout import Layout
    from pateval.io.plan import Job, Plan
    from pateval.io.series import ScoredSeries

    Indices = npt.NDArray[np.int64]

SCORES, CHANCE, LOOK = "scores", "chance", "missing scores"
_CARRIED_JOBS = 16  # most jobs of a batch whose series are in memory, and so travel to the worker with it
_FEW_JOBS = 8  # of a batch for chance, each of which takes as long as several detectors
_BATCHES_PER_WORKER = 4  # enough for all workers to finish at about the same time
_MOST_STEPS = 2_000_000  # of a batch: about 10 s with all metrics, so that results are reported that often


@dataclass(frozen=True)
class Batch:
    """Neighbouring jobs of one source, with all a worker needs to read them.

    The content is the path of a file, Parquet files opened but not read, or the series themselves where they are in
    memory. The purpose is ``scores``; ``chance``, what random scores reach; or ``missing scores``, which finds where
    there are none. By the numbers of jobs, ``left_out`` marks the steps where some detector of the series has no score,
    ``binary`` names those whose detectors' scores are 0 and 1 only on all their series, and ``first`` those that also
    find out what random scores reach.
    """

    jobs: tuple[Job, ...]
    content: str | ParquetFiles | tuple[ScoredSeries, ...]
    layout: Layout
    purpose: str = SCORES
    left_out: Mapping[int, npt.NDArray[np.uint8]] = field(default_factory=dict)
    binary: frozenset[int] = frozenset()
    first: frozenset[int] = frozenset()

    def split(self) -> list[Batch]:
        """Cut into batches of one job, to find the one that fails."""
        if isinstance(self.content, tuple):
            return [replace(self, jobs=(cast("Job", item.unit),), content=(item,)) for item in self.content]
        return [replace(self, jobs=(job,)) for job in self.jobs]


def make_batches(plan: Plan, *, workers: int = 1) -> Iterator[Batch]:
    """Cut a plan into batches that read every series once, as far as that leaves enough batches for the workers.

    A Parquet file is read row group by row group, whatever part of one is wanted, so the jobs of a row group stay
    together. Only where there are fewer such batches than workers need are they cut, along score columns first, since
    that repeats nothing but labels. The largest come first, so that no worker is left with a long one at the end.

    Batches over tables in memory are cut as they are asked for; only those under way are copied.
    """
    parts: list[tuple[int, Indices]] = []
    by_source = _by_source(plan, np.arange(len(plan.jobs)))
    for source, indices in by_source.items():
        if not isinstance(plan.sources[source], Table):
            parts += [(source, part) for part in _read_together(plan, source, indices)]
    wanted = _BATCHES_PER_WORKER * workers
    if workers > 1:
        parts = _cut(plan, parts, wanted)
    for source, part in sorted(parts, key=lambda entry: -int(plan.jobs.steps[entry[1]].sum())):
        yield _batch(plan, source, part, SCORES)
    left = sum(indices.size for source, indices in by_source.items() if isinstance(plan.sources[source], Table))
    for source, indices in by_source.items():
        if isinstance(plan.sources[source], Table):
            while indices.size:
                size = max(1, min(_CARRIED_JOBS, left // wanted))
                yield _batch(plan, source, indices[:size], SCORES)
                left, indices = left - size, indices[size:]


def batches_of(plan: Plan, jobs: Sequence[int], purpose: str) -> Iterator[Batch]:
    """Cut some jobs of a plan into small batches."""
    for source, indices in _by_source(plan, np.asarray(jobs, dtype=np.int64)).items():
        for first in range(0, indices.size, _FEW_JOBS):
            yield _batch(plan, source, indices[first : first + _FEW_JOBS], purpose)


def read_jobs(plan: Plan, jobs: Sequence[int] | None = None) -> Iterator[tuple[Job, ScoredSeries]]:
    """Read the series of a plan, or of some of its jobs, in the order of the plan."""
    wanted = range(len(plan.jobs)) if jobs is None else jobs
    read: dict[int, tuple[Job, ScoredSeries]] = {}
    for source, indices in _by_source(plan, np.asarray(wanted, dtype=np.int64)).items():
        for job, item in read_batch(_batch(plan, source, indices, SCORES)):
            read[job.number] = job, item
    for number in sorted(read):
        yield read[number]


def read_batch(batch: Batch) -> Iterator[tuple[Job, ScoredSeries]]:
    """Read the series of a batch, one at a time."""
    content, layout = batch.content, batch.layout
    for item in content if isinstance(content, tuple) else read_units(_opened(content), layout, batch.jobs):
        yield cast("Job", item.unit), item


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


def _by_source(plan: Plan, indices: Indices) -> dict[int, Indices]:
    """Sort jobs by source and first row."""
    jobs = plan.jobs
    ordered = indices[np.lexsort((jobs.start[indices], jobs.source[indices]))]
    cuts = np.flatnonzero(np.diff(jobs.source[ordered])) + 1
    return {int(jobs.source[part[0]]): part for part in np.split(ordered, cuts) if part.size}


def _read_together(plan: Plan, source: int, indices: Indices) -> Iterator[Indices]:
    """Keep jobs together that share a row group, or all where a file can only be read whole.

    Series that straddle row groups could chain a whole file together; a chain is cut after so many steps, and one row
    group is read twice there.
    """
    content = plan.sources[source]
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


def _cut(plan: Plan, parts: list[tuple[int, Indices]], wanted: int) -> list[tuple[int, Indices]]:
    """Halve the largest parts until there are enough of them."""
    import heapq

    jobs = plan.jobs
    heap = [(-int(jobs.steps[part].sum()), number, source, part) for number, (source, part) in enumerate(parts)]
    heapq.heapify(heap)
    done: list[tuple[int, Indices]] = []
    number = len(heap)
    while heap and len(heap) + len(done) < wanted:
        _, _, source, part = heapq.heappop(heap)
        if part.size == 1:
            done.append((source, part))
            continue
        columns = jobs.score[part]
        if columns.min() == columns.max():
            halves = [part[: part.size // 2], part[part.size // 2 :]]
        else:
            middle = np.median(np.unique(columns))
            halves = [part[columns < middle], part[columns >= middle]]
        for half in halves:
            number += 1
            heapq.heappush(heap, (-int(jobs.steps[half].sum()), number, source, half))
    return done + [(source, part) for _, _, source, part in sorted(heap, key=lambda entry: entry[1])]


def _batch(plan: Plan, number: int, indices: Indices, purpose: str) -> Batch:
    source, layout = plan.sources[number], plan.layouts[number]
    jobs = tuple(plan.jobs[int(index)] for index in indices)
    if isinstance(source, Table):
        items = tuple(read_units(source, layout, jobs))
        return Batch(tuple(cast("Job", item.unit) for item in items), items, layout, purpose)
    if not isinstance(source, ParquetFiles):
        return Batch(jobs, str(source), layout, purpose)
    if len(source.pieces) == 1:
        return Batch(jobs, source, layout, purpose)
    return _narrowed(source, jobs, layout, purpose)


def _narrowed(source: ParquetFiles, jobs: tuple[Job, ...], layout: Layout, purpose: str) -> Batch:
    """Name only the files of a partitioned folder that the jobs need, and count rows from the first of them."""
    groups = source.row_groups
    first, last = min(job.start for job in jobs), max(job.stop for job in jobs)
    touched = [group for group in groups if group.stop > first and group.start < last]
    pieces = slice(touched[0].piece, touched[-1].piece + 1)
    offset = min(group.start for group in groups if group.piece == pieces.start)
    moved = tuple(replace(job, start=job.start - offset, stop=job.stop - offset) for job in jobs)
    return Batch(moved, replace(source, pieces=source.pieces[pieces], first_row=offset), layout, purpose)
