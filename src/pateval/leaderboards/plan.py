"""What is to be computed: score files, frames or arrays in, a plan of (detector, series) jobs out.

Only key columns are read here; labels and scores are read by the workers.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pateval.io import (
    Layout,
    ParquetFiles,
    ScoredSeries,
    Source,
    Table,
    TableError,
    Unit,
    as_table,
    expand,
    find_layout,
    interleaving_note,
    list_units,
    open_table,
    read_units,
)
from pateval.io.source import open_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

BATCH_JOBS = 16
BATCH_STEPS = 500_000
DEFAULT_LABEL, DEFAULT_SCORE = "label", "score"


@dataclass(frozen=True, slots=True)
class Job:
    """One detector on one series, and its rows in one source."""

    detector: str
    series: str
    source: int
    unit: Unit


@dataclass(frozen=True)
class Failure:
    """Something that could not be used: the file (or other source) and one sentence that says why."""

    where: str
    reason: str


@dataclass(frozen=True)
class Batch:
    """Neighbouring jobs of one source, with all a worker needs to read them.

    Attributes
    ----------
    jobs : tuple of Job
        What is to be computed.
    content : str, ParquetFiles or tuple of ScoredSeries
        The path of a file, Parquet files opened but not read, or the series themselves where they are in memory.
    layout : Layout
        Which column is which.
    thresholds : mapping of str to ndarray, optional
        Thresholds of each detector, where series are to be counted at them.
    """

    jobs: tuple[Job, ...]
    content: str | ParquetFiles | tuple[ScoredSeries, ...]
    layout: Layout
    thresholds: Mapping[str, npt.NDArray[np.float64]] | None = None

    def split(self) -> list[Batch]:
        """Cut into batches of one job, to find the one that fails."""
        if isinstance(self.content, tuple):
            pairs = zip(self.jobs, self.content, strict=True)
            return [replace(self, jobs=(job,), content=(item,)) for job, item in pairs]
        return [replace(self, jobs=(job,)) for job in self.jobs]


@dataclass(frozen=True)
class Plan:
    """All jobs in their fixed order, and what was noticed on the way.

    Attributes
    ----------
    jobs : tuple of Job
        By source, then by detector and first row; results are merged in this order, whoever finishes first.
    sources, layouts : tuple
        Where the rows are and which column is which. A file that must be read whole is kept as its path.
    notes : tuple of str
        Guesses and liberties, one line each.
    failures : tuple of Failure
        Sources left out (only where the caller asked to keep going).
    """

    jobs: tuple[Job, ...]
    sources: tuple[Source | Path, ...]
    layouts: tuple[Layout, ...]
    notes: tuple[str, ...]
    failures: tuple[Failure, ...]

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return tuple(dict.fromkeys(job.detector for job in self.jobs))

    @property
    def series(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return tuple(dict.fromkeys(job.series for job in self.jobs))

    @property
    def steps(self) -> int:
        """Time steps of all jobs together."""
        return sum(job.unit.steps for job in self.jobs)

    def where(self, job: Job) -> str:
        """Name the file or table a job comes from."""
        source = self.sources[job.source]
        return str(source) if isinstance(source, Path) else source.where


def make_plan(
    data: object,
    *,
    label: str | None = DEFAULT_LABEL,
    score: str | Sequence[str] | None = DEFAULT_SCORE,
    series: str | None = None,
    detector: str | None = None,
    strict: bool = False,
    keep_going: bool = False,
) -> Plan:
    """Open every source, decide which column is which, and list the jobs.

    Parameters
    ----------
    data : path, frame, mapping, or a collection of them
        See :func:`pateval.leaderboards.leaderboard`.
    label, score, series, detector : str, optional
        Column names; None is guessed and announced.
    strict : bool
        Names given must exist. Otherwise the default names ``label`` and ``score`` are guessed again where no source
        has them.
    keep_going : bool
        Leave out what cannot be used, with its reason, instead of raising.

    Returns
    -------
    Plan

    Raises
    ------
    TableError
        If a source cannot be used, or nothing is left to compute.
    """
    failures: list[Failure] = []

    def refuse(where: str, error: TableError) -> None:
        if not keep_going:
            raise error
        failures.append(Failure(where, str(error)))

    notes: list[str] = []
    opened: list[Source] = []
    for where, opener in _openers(data, notes):
        try:
            opened.append(opener())
        except TableError as error:
            refuse(where, error)
    if not strict:
        label = _known(label, DEFAULT_LABEL, opened)
        score = _known(score, DEFAULT_SCORE, opened) if isinstance(score, str) else score
    sources: list[Source | Path] = []
    layouts: list[Layout] = []
    jobs: list[Job] = []
    owners: dict[tuple[str, str], str] = {}
    for source in opened:
        try:
            layout = find_layout(source, label=label, score=score, series=series, detector=detector)
            units = list_units(source, layout)
            _refuse_repeated(units, owners, source.where)
        except TableError as error:
            refuse(source.where, error)
            continue
        notes.extend(layout.notes)
        note = interleaving_note(source, units)
        if note:
            notes.append(note)
        owners |= {(unit.detector, unit.series): source.where for unit in units}
        jobs.extend(Job(unit.detector, unit.series, len(sources), unit) for unit in units)
        from_file = isinstance(source, Table) and source.name is not None and os.path.exists(source.where)
        sources.append(Path(source.where) if from_file else source)
        layouts.append(layout)
    if not jobs:
        raise TableError(failures[0].reason if failures else "there is nothing to evaluate: no files, no tables")
    plan = Plan(tuple(jobs), tuple(sources), tuple(layouts), tuple(_merged(notes)), tuple(failures))
    return replace(plan, notes=plan.notes + tuple(_unevenness(plan)))


def make_batches(plan: Plan, *, workers: int = 1) -> Iterator[Batch]:
    """Group neighbouring jobs of a source, so that it is read in few passes and every worker has enough to do.

    Batches shrink towards the end, so that no worker is left with a long one when the others are done. Those over
    tables in memory are cut as they are asked for; only those under way are copied.
    """
    left = len(plan.jobs)
    by_source: dict[int, list[Job]] = {}
    for job in plan.jobs:
        by_source.setdefault(job.source, []).append(job)
    for number, jobs in by_source.items():
        source, layout = plan.sources[number], plan.layouts[number]
        narrow = _narrower(source)
        ordered = deque(sorted(jobs, key=lambda job: job.unit.start))
        while ordered:
            group = _next_group(ordered, max(1, min(BATCH_JOBS, left // (4 * workers))))
            left -= len(group)
            if isinstance(source, Table):
                found = {
                    (item.detector, item.series): item
                    for item in read_units(source, layout, [job.unit for job in group])
                }
                yield Batch(tuple(group), tuple(found[job.detector, job.series] for job in group), layout)
            else:
                yield narrow(group, layout)


def read_batch(batch: Batch) -> Iterator[tuple[Job, ScoredSeries]]:
    """Read the series of a batch, one at a time."""
    if isinstance(batch.content, tuple):
        yield from zip(batch.jobs, batch.content, strict=True)
        return
    source = batch.content if isinstance(batch.content, ParquetFiles) else _opened(batch.content)
    jobs = {(job.detector, job.series): job for job in batch.jobs}
    for item in read_units(source, batch.layout, [job.unit for job in batch.jobs]):
        yield jobs[item.detector, item.series], item


_last: tuple[tuple[str, int, int], Source] | None = None


def _opened(path: str) -> Source:
    """Open a file that must be read whole; the last one is kept, since the next batch is often of the same file."""
    global _last  # a cache of one
    status = os.stat(path)
    key = (path, status.st_mtime_ns, status.st_size)
    if _last is None or _last[0] != key:
        _last = None  # the old one is let go before the new one is read
        _last = (key, open_table(path))
    return _last[1]


def _openers(data: object, notes: list[str]) -> Iterator[tuple[str, Callable[[], Source]]]:
    """Yield a name and an opener for everything the caller handed in."""
    if isinstance(data, Mapping) and _holds_tables(data):
        for name, value in data.items():
            yield str(name), partial(_named_table, value, str(name))
        return
    if isinstance(data, (str, os.PathLike)) or _is_table(data):
        items: list[object] = [data]
    elif isinstance(data, Iterable):
        items = list(data)
    else:
        raise TableError(f"data must be paths, tables or mappings of arrays; got {type(data).__name__}")
    if not items:
        raise TableError("there is nothing to evaluate: no files, no tables")
    seen: set[Path] = set()
    for number, item in enumerate(items):
        if not isinstance(item, (str, os.PathLike)):
            where = "the table" if len(items) == 1 else f"table {number + 1}"
            yield where, partial(as_table, item)
            continue
        for path in expand(item):
            if path.resolve() in seen:
                notes.append(f"{path}: named more than once; it is read once")
                continue
            seen.add(path.resolve())
            yield str(path), partial(open_table, path)


def _named_table(value: object, name: str) -> Source:
    return replace(as_table(value, name=name), name=name)


def _is_table(data: object) -> bool:
    # Asked of the type: a lazy frame would have to look into its files to tell its columns.
    return isinstance(data, (Mapping, Table, ParquetFiles)) or hasattr(type(data), "columns")


def _holds_tables(data: Mapping[object, object]) -> bool:
    """Whether the values are tables or paths themselves, and not columns."""
    return bool(data) and all(isinstance(value, (str, os.PathLike)) or _is_table(value) for value in data.values())


def _known(name: str | None, default: str, opened: Sequence[Source]) -> str | None:
    if name != default or any(default in source.kinds() for source in opened):
        return name
    return None


def _refuse_repeated(units: Sequence[Unit], owners: Mapping[tuple[str, str], str], where: str) -> None:
    for unit in units:
        other = owners.get((unit.detector, unit.series))
        if other is not None:
            raise TableError(
                f"{where}: detector {unit.detector!r} on series {unit.series!r} is also in {other}; "
                f"detectors are named by their files, so rename one of the two, or leave it out"
            )


def _merged(notes: Sequence[str]) -> list[str]:
    """Say once for all files what is the same for all of them."""
    texts: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        where, _, text = note.partition(": ")
        texts.setdefault(text or where, []).append(where)
    return [
        f"{places[0]}: {text}" if len(places) == 1 else f"{len(places)} files ({places[0]}, ...): {text}"
        for text, places in texts.items()
        for places in [[place for place in places if place != text] or [text]]
    ]


def _unevenness(plan: Plan) -> Iterator[str]:
    """Report series that some detectors lack, and series whose length depends on the detector."""
    by_detector: dict[str, set[str]] = {}
    lengths: dict[str, dict[int, list[str]]] = {}
    for job in plan.jobs:
        by_detector.setdefault(job.detector, set()).add(job.series)
        lengths.setdefault(job.series, {}).setdefault(job.unit.steps, []).append(job.detector)
    for detector, present in by_detector.items():
        missing = [name for name in plan.series if name not in present]
        if missing:
            yield (
                f"detector {detector!r} lacks {len(missing)} of {len(plan.series)} series ({listed(missing)}); "
                f"ranks use only the series that all detectors have"
            )
    for name, found in lengths.items():
        if len(found) > 1:
            usual = max(found, key=lambda steps: len(found[steps]))
            odd = [detector for steps, names in found.items() if steps != usual for detector in names]
            yield (
                f"series {name!r} has {usual} steps, but {', '.join(str(n) for n in sorted(found) if n != usual)} "
                f"for {listed(odd)}"
            )


def listed(names: Sequence[str], most: int = 3) -> str:
    """Name the first few and count the rest.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _next_group(jobs: deque[Job], size: int) -> list[Job]:
    """Take the next jobs of a source, until there are enough jobs or steps."""
    group = [jobs.popleft()]
    steps = group[0].unit.steps
    while jobs and len(group) < size and steps + jobs[0].unit.steps <= BATCH_STEPS:
        group.append(jobs.popleft())
        steps += group[-1].unit.steps
    return group


def _narrower(source: Source | Path) -> Callable[[Sequence[Job], Layout], Batch]:
    """Prepare batches of one source on disk; of a partitioned folder a batch names only the files it needs."""
    if not isinstance(source, ParquetFiles) or len(source.pieces) == 1:
        content = source if isinstance(source, ParquetFiles) else str(source)
        return lambda jobs, layout: Batch(tuple(jobs), content, layout)
    counts = [int(open_parquet(path).metadata.num_rows) for path, _ in source.pieces]
    stops = np.array(list(accumulate(counts)))

    def narrowed(jobs: Sequence[Job], layout: Layout) -> Batch:
        first = int(np.searchsorted(stops, min(job.unit.start for job in jobs), side="right"))
        last = int(np.searchsorted(stops, max(job.unit.stop for job in jobs), side="left"))
        offset = int(stops[first - 1]) if first else 0
        moved = tuple(
            replace(job, unit=replace(job.unit, start=job.unit.start - offset, stop=job.unit.stop - offset))
            for job in jobs
        )
        return Batch(moved, replace(source, pieces=source.pieces[first : last + 1]), layout)

    return narrowed
