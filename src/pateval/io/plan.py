"""What is to be computed: score files, frames or arrays in, a plan of (detector, series) jobs out.

Only key columns are read here; labels and scores are read by the workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from pateval.io import guesses
from pateval.io.files import LONGEST_PATH, Source, as_table, expand, open_table
from pateval.io.layout import Layout, Reading, find_layout
from pateval.io.parquet import ParquetFiles
from pateval.io.source import Table, TableError, merged_notes, without_times
from pateval.io.units import Unit, interleaving_note, list_units
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

DEFAULT_LABEL, DEFAULT_SCORE = "label", "score"
_MOST_KEPT_BYTES = 1 << 27  # of tables from text, JSON and NumPy files that stay in memory; later ones are read again


@dataclass(frozen=True)
class Job(Unit):
    """One detector on one series, in one run: its place in the plan, and its source."""

    number: int
    source: int


class Failure(NamedTuple):
    """Something that could not be used: the file (or other source) and one sentence that says why."""

    where: str
    reason: str


@dataclass(frozen=True, eq=False)
class JobTable(Sequence[Job]):
    """All jobs in their fixed order, held as arrays: tens of thousands of objects would fill the memory.

    Names are in order of appearance, and the codes are places among them. Each job has the numbers of its source and of
    its score column there, and its rows as a `Unit` has them.
    """

    detectors: tuple[str, ...]
    series: tuple[str, ...]
    runs: tuple[str, ...]
    layouts: tuple[Layout, ...]
    detector_code: npt.NDArray[np.int32]
    series_code: npt.NDArray[np.int32]
    run_code: npt.NDArray[np.int32]
    source: npt.NDArray[np.int32]
    score: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return self.detector_code.size

    @overload
    def __getitem__(self, index: int) -> Job: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...

    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        if isinstance(index, slice):
            return [self[job] for job in range(len(self))[index]]
        place = range(len(self))[index]
        layout = self.layouts[self.source[place]]
        return Job(
            self.detectors[self.detector_code[place]],
            self.series[self.series_code[place]],
            self.runs[self.run_code[place]],
            "" if layout.channels else layout.scores[self.score[place]],
            int(self.start[place]),
            int(self.stop[place]),
            int(self.steps[place]),
            number=place,
            source=int(self.source[place]),
        )


@dataclass(frozen=True)
class Plan:
    """All jobs in their fixed order, with what was said and left out in opening their sources.

    Jobs are ordered by source, then by detector and first row; results are put together in this order, whoever finishes
    first. A large file that must be read whole is kept as its path. Sources are left out, as failures, only where the
    caller asked to keep going.
    """

    jobs: JobTable
    sources: tuple[Source | Path, ...]
    layouts: tuple[Layout, ...]
    notes: tuple[str, ...]
    failures: tuple[Failure, ...]

    @property
    def detectors(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return self.jobs.detectors

    @property
    def series(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return self.jobs.series

    @property
    def steps(self) -> int:
        """Time steps of all jobs together."""
        return int(self.jobs.steps.sum())

    def where(self, job: int) -> str:
        """Name the file or table a job comes from."""
        source = self.sources[self.jobs.source[job]]
        return str(source) if isinstance(source, Path) else source.where


def make_plan(
    data: object,
    reading: Reading | None = None,
    *,
    needs_times: str = "",
    keep_going: bool = False,
) -> Plan:
    """Open every source, decide which column is which, and list the jobs.

    The data are what :func:`pateval.leaderboards.leaderboard` takes. Where something cannot be computed without times,
    ``needs_times`` says so in words, and a source that has none is refused. To ``keep_going`` is to leave out what
    cannot be used, with its reason, instead of raising.

    Raises
    ------
    TableError
        If a source cannot be used, or nothing is left to compute.
    """
    reading = reading or Reading()
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
    named = reading
    for role, default in (("label", DEFAULT_LABEL), ("score", DEFAULT_SCORE)):
        if reading.defaults and getattr(reading, role) == default and not any(default in one.kinds() for one in opened):
            named = replace(named, label=None) if role == "label" else replace(named, score=None)
    sources: list[Source | Path] = []
    layouts: list[Layout] = []
    table = _JobTableBuilder()
    kept_bytes = 0
    for source in opened:
        try:
            layout = _named_by_column(find_layout(source, named), named, len(opened))
            if needs_times and layout.time is None:
                raise without_times(source.where, needs_times)
            units = list_units(source, layout)
            table.add(units, layout, source.where)
        except TableError as error:
            refuse(source.where, error)
            continue
        notes.extend(layout.notes)
        note = interleaving_note(source, units)
        if note:
            notes.append(note)
        # Files that must be read whole are small as a rule, and stay in memory so that they are not parsed again. Where
        # they add up to too much, only their paths are kept.
        size = source.size_in_bytes if isinstance(source, Table) else 0
        is_file = isinstance(source, Table) and source.from_file and os.path.exists(source.where)
        kept_bytes += size
        sources.append(Path(source.where) if is_file and kept_bytes > _MOST_KEPT_BYTES else source)
        layouts.append(layout)
    jobs = table.finish(layouts)
    if not len(jobs):
        raise TableError(failures[0].reason if failures else "there is nothing to evaluate: no files, no tables")
    return Plan(jobs, tuple(sources), tuple(layouts), (*merged_notes(notes), *_unevenness(jobs)), tuple(failures))


def plan_of(opened: Iterable[tuple[Source, Layout]]) -> Plan:
    """List the jobs of sources whose columns are known, as those of a leaderboard that is computed again.

    Raises
    ------
    TableError
        If a source cannot be read so.
    """
    pairs = list(opened)
    table = _JobTableBuilder()
    for source, layout in pairs:
        table.add(list_units(source, layout), layout, source.where)
    layouts = tuple(layout for _, layout in pairs)
    return Plan(table.finish(layouts), tuple(source for source, _ in pairs), layouts, (), ())


def _named_by_column(layout: Layout, reading: Reading, sources: int) -> Layout:
    """Let the one score column that is named in the one file name its detector, unless it says only "score"."""
    if sources > 1 or reading.score is None or layout.channels or not layout.named_by_file:
        return layout
    says_something = guesses.plain(layout.scores[0]) not in guesses.SCORES[0]
    return replace(layout, named_by_file=False) if says_something else layout


class _JobTableBuilder:
    """Collects the units of source after source in arrays."""

    def __init__(self) -> None:
        self._detectors: dict[str, int] = {}
        self._series: dict[str, int] = {}
        self._runs: dict[str, int] = {}
        self._columns: list[npt.NDArray[np.int64]] = []
        self._pairs: list[npt.NDArray[np.int64]] = []
        self._where: list[str] = []

    def add(self, units: Sequence[Unit], layout: Layout, where: str) -> None:
        """Take in the units of the next source, unless one of its detectors is known on a series and run already."""
        detectors, series, runs = dict(self._detectors), dict(self._series), dict(self._runs)
        columns = {name: place for place, name in enumerate(layout.scores)}
        rows = np.array(
            [
                (
                    detectors.setdefault(unit.detector, len(detectors)),
                    series.setdefault(unit.series, len(series)),
                    runs.setdefault(unit.run, len(runs)),
                    len(self._where),
                    columns.get(unit.score, 0),
                    unit.start,
                    unit.stop,
                    unit.steps,
                )
                for unit in units
            ],
            dtype=np.int64,
        ).reshape(-1, 8)
        pairs = rows[:, 0] << 42 | rows[:, 2] << 28 | rows[:, 1]  # 2²¹ detectors, 2¹⁴ runs, 2²⁸ series
        for other, known in zip(self._where, self._pairs, strict=True):
            repeated = np.flatnonzero(np.isin(pairs, known))
            if repeated.size:
                unit = units[int(repeated[0])]
                of_run = f", run {unit.run!r}," if unit.run else ""
                raise TableError(
                    f"{where}: detector {unit.detector!r} on series {unit.series!r}{of_run} is also in {other}; "
                    f"detectors are named by their files, so rename one of the two, or leave it out"
                )
        self._detectors, self._series, self._runs = detectors, series, runs
        self._columns.append(rows)
        self._pairs.append(np.sort(pairs))
        self._where.append(where)

    def finish(self, layouts: Sequence[Layout]) -> JobTable:
        """Put the sources together."""
        rows = np.concatenate(self._columns) if self._columns else np.empty((0, 8), dtype=np.int64)
        codes, lines = rows[:, :5].T.astype(np.int32), rows[:, 5:].T.copy()
        names = tuple(self._detectors), tuple(self._series), tuple(self._runs)
        return JobTable(*names, tuple(layouts), *codes, *lines)


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
    seen: set[str] = set()
    for number, item in enumerate(items):
        if not isinstance(item, (str, os.PathLike)):
            where = "the table" if len(items) == 1 else f"table {number + 1}"
            yield where, partial(as_table, item)
            continue
        if len(os.fspath(item)) > LONGEST_PATH:
            raise TableError(
                f"data must be paths, tables or mappings of arrays; no path is as long as {in_words(item)}"
            )
        for path in expand(item):
            target = os.path.realpath(path)  # not by Path.resolve, which raises where a link leads to itself
            if target in seen:
                notes.append(f"{path}: named more than once; it is read once")
                continue
            seen.add(target)
            yield str(path), partial(open_table, path)


def _named_table(value: object, name: str) -> Source:
    return replace(as_table(value, name=name), name=name)


def _is_table(data: object) -> bool:
    # Asked of the type: a lazy frame would have to look into its files to tell its columns.
    return isinstance(data, (Mapping, Table, ParquetFiles)) or hasattr(type(data), "columns")


def _holds_tables(data: Mapping[object, object]) -> bool:
    """Whether the values are tables or paths themselves, and not columns."""
    return bool(data) and all(isinstance(value, (str, os.PathLike)) or _is_table(value) for value in data.values())


def _unevenness(jobs: JobTable) -> Iterator[str]:
    """Report series that some detectors lack, runs that some series lack, and lengths that depend on the detector."""
    several = len(jobs.runs)
    codes, of_job = np.unique(jobs.detector_code.astype(np.int64) * several + jobs.run_code, return_inverse=True)
    detector_of_run = codes // several
    lengths = np.zeros((codes.size, len(jobs.series)), dtype=np.int64)
    lengths[of_job, jobs.series_code] = jobs.steps
    present = np.zeros((len(jobs.detectors), len(jobs.series)), dtype=np.bool_)
    present[jobs.detector_code, jobs.series_code] = True
    for detector, row in zip(jobs.detectors, present, strict=True):
        missing = [jobs.series[s] for s in np.flatnonzero(~row)]
        if missing:
            yield (
                f"detector {detector!r} lacks {len(missing)} of {len(jobs.series)} series ({listed(missing)}); "
                f"ranks use only the series that all detectors have"
            )
    for d, code, row in zip(detector_of_run, codes, lengths > 0, strict=True):
        missing = [jobs.series[s] for s in np.flatnonzero(present[d] & ~row)]
        if missing:
            yield (
                f"detector {jobs.detectors[d]!r}: run {jobs.runs[code % several]!r} lacks {len(missing)} of "
                f"{len(jobs.series)} series ({listed(missing)}); the means over runs there are over the other runs"
            )
    shortest = np.where(lengths > 0, lengths, np.iinfo(np.int64).max).min(axis=0)
    for s in np.flatnonzero(shortest != lengths.max(axis=0)):
        column = lengths[:, s]
        steps, first, counts = np.unique(column[column > 0], return_index=True, return_counts=True)
        usual = int(steps[np.lexsort((first, -counts))[0]])
        different = detector_of_run[np.flatnonzero((column > 0) & (column != usual))]
        odd = [jobs.detectors[d] for d in dict.fromkeys(different.tolist())]
        others = ", ".join(str(length) for length in steps.tolist() if length != usual)
        yield f"series {jobs.series[s]!r} has {usual} steps, but {others} for {listed(odd)}"
