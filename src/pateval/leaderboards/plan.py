"""What is to be computed: score files, frames or arrays in, a plan of (detector, series) jobs out.

Only key columns are read here; labels and scores are read by the workers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack, overload

import numpy as np

from pateval.io import (
    ColumnNames,
    Layout,
    ParquetFiles,
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
)
from pateval.io.source import merged_notes
from pateval.leaderboards.runs import Entries
from pateval.validation.wording import in_words, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

DEFAULT_LABEL, DEFAULT_SCORE = "label", "score"
_COLUMN_ROLES = ("label", "score", "series", "detector", "run", "time", "ignore")
_LONGEST_PATH = 4096  # characters
_MOST_KEPT_BYTES = 1 << 27  # of tables from text, JSON and NumPy files that stay in memory; later ones are read again


class Job(NamedTuple):
    """One detector on one series, in one run, its rows in one source, and its place in the plan."""

    number: int
    detector: str
    series: str
    source: int
    unit: Unit
    run: str = ""


class Failure(NamedTuple):
    """Something that could not be used: the file (or other source) and one sentence that says why."""

    where: str
    reason: str


@dataclass(frozen=True, eq=False)
class JobTable(Sequence[Job]):
    """All jobs in their fixed order, held as arrays: tens of thousands of objects would fill the memory.

    Attributes
    ----------
    detectors, series, runs : tuple of str
        Names, in order of appearance; the only run is called "" where there is no column of runs.
    layouts : tuple of Layout
        Of each source.
    detector_code, series_code, run_code, source, score : ndarray of int32
        For each job the numbers of its detector, series, run, source, and score column.
    start, stop, steps : ndarray of int64
        Its rows in the source, and how many of them are its own.
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

    @cached_property
    def entries(self) -> Entries:
        """The runs of each detector, and for each job which of them it belongs to."""
        return Entries.of(self.detector_code, self.run_code, self.runs)

    @overload
    def __getitem__(self, index: int) -> Job: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Job]: ...

    def __getitem__(self, index: int | slice) -> Job | Sequence[Job]:
        if isinstance(index, slice):
            return [self[job] for job in range(len(self))[index]]
        place = range(len(self))[index]
        detector, series = self.detectors[self.detector_code[place]], self.series[self.series_code[place]]
        layout = self.layouts[self.source[place]]
        score = layout.scores[self.score[place]]
        rows = int(self.start[place]), int(self.stop[place]), int(self.steps[place])
        run = self.runs[self.run_code[place]]
        unit = Unit(detector, series, score, *rows, _group(layout, detector, series, score, run), run)
        return Job(place, detector, series, int(self.source[place]), unit, run)


@dataclass(frozen=True)
class Plan:
    """All jobs in their fixed order, with the notes and failures of opening their sources.

    Attributes
    ----------
    jobs : JobTable
        By source, then by detector and first row; results are put together in this order, whoever finishes first.
    sources, layouts : tuple
        Where the rows are and which column is which. A large file that must be read whole is kept as its path.
    notes : tuple of str
        Guesses and liberties, one line each.
    failures : tuple of Failure
        Sources left out (only where the caller asked to keep going).
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
    *,
    needs_times: str = "",
    strict: bool = False,
    keep_going: bool = False,
    **columns: Unpack[ColumnNames],
) -> Plan:
    """Open every source, decide which column is which, and list the jobs.

    Parameters
    ----------
    data : path, frame, mapping, or a collection of them
        See :func:`pateval.leaderboards.leaderboard`.
    needs_times : str
        What cannot be computed without times, in words; a source that has none is then refused.
    strict : bool
        Names given must exist. Otherwise the default names ``label`` and ``score`` are guessed again where no source
        has them.
    keep_going : bool
        Leave out what cannot be used, with its reason, instead of raising.
    **columns
        As in :func:`pateval.io.find_layout`; labels and scores that are not mentioned are ``label`` and ``score``.

    Returns
    -------
    Plan

    Raises
    ------
    TableError
        If a source cannot be used, or nothing is left to compute.
    """
    named: ColumnNames = {"label": DEFAULT_LABEL, "score": DEFAULT_SCORE, **columns}
    _check_names(named)
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
        if named["label"] == DEFAULT_LABEL and _is_absent(DEFAULT_LABEL, opened):
            named["label"] = None
        if named["score"] == DEFAULT_SCORE and _is_absent(DEFAULT_SCORE, opened):
            named["score"] = None
    sources: list[Source | Path] = []
    layouts: list[Layout] = []
    table = _JobTableBuilder()
    kept_bytes = 0
    for source in opened:
        try:
            layout = find_layout(source, **named)
            if needs_times and layout.time is None:
                raise TableError(
                    f"{source.where}: {needs_times} is a duration, which needs a column of times; name it with --time "
                    f"(time=...)"
                )
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


def _check_names(columns: ColumnNames) -> None:
    """Refuse what is no name of a column; only scores may have several."""
    for role, name in columns.items():
        several = role == "score" and isinstance(name, Sequence) and all(isinstance(one, str) for one in name)
        if role in _COLUMN_ROLES and name is not None and not isinstance(name, str) and not several:
            wanted = "the name of a column" + (", or a list of names" if role == "score" else "")
            raise TypeError(f"{role} must be {wanted}; got {in_words(name)}")


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
                    columns[unit.score],
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
    seen: set[Path] = set()
    for number, item in enumerate(items):
        if not isinstance(item, (str, os.PathLike)):
            where = "the table" if len(items) == 1 else f"table {number + 1}"
            yield where, partial(as_table, item)
            continue
        if len(os.fspath(item)) > _LONGEST_PATH:
            raise TableError(
                f"data must be paths, tables or mappings of arrays; no path is as long as {in_words(item)}"
            )
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


def _is_absent(column: str, opened: Sequence[Source]) -> bool:
    return not any(column in source.kinds() for source in opened)


def _group(layout: Layout, detector: str, series: str, score: str, run: str) -> tuple[str, ...]:
    """Return the values of the key columns behind the names of a job, as `list_units` made them."""
    if layout.detector is not None and len(layout.scores) > 1:
        detector = detector.removesuffix(f":{score}")
    named = ((layout.series, series), (layout.detector, detector), (layout.run, run))
    return tuple(value for key, value in named if key is not None)


def _unevenness(jobs: JobTable) -> Iterator[str]:
    """Report series that some detectors lack, runs that some series lack, and lengths that depend on the detector."""
    entries = jobs.entries
    lengths = np.zeros((len(entries.names), len(jobs.series)), dtype=np.int64)
    lengths[entries.of_job, jobs.series_code] = jobs.steps
    present = entries.any_run(lengths > 0)
    for detector, row in zip(jobs.detectors, present, strict=True):
        missing = [jobs.series[s] for s in np.flatnonzero(~row)]
        if missing:
            yield (
                f"detector {detector!r} lacks {len(missing)} of {len(jobs.series)} series ({listed(missing)}); "
                f"ranks use only the series that all detectors have"
            )
    for d, run, row in zip(entries.detector_code, entries.names, lengths > 0, strict=True):
        missing = [jobs.series[s] for s in np.flatnonzero(present[d] & ~row)]
        if missing:
            yield (
                f"detector {jobs.detectors[d]!r}: run {run!r} lacks {len(missing)} of {len(jobs.series)} series "
                f"({listed(missing)}); the means over runs there are over the other runs"
            )
    shortest = np.where(lengths > 0, lengths, np.iinfo(np.int64).max).min(axis=0)
    for s in np.flatnonzero(shortest != lengths.max(axis=0)):
        column = lengths[:, s]
        steps, first, counts = np.unique(column[column > 0], return_index=True, return_counts=True)
        usual = int(steps[np.lexsort((first, -counts))[0]])
        different = entries.detector_code[np.flatnonzero((column > 0) & (column != usual))]
        odd = [jobs.detectors[d] for d in dict.fromkeys(different.tolist())]
        others = ", ".join(str(length) for length in steps.tolist() if length != usual)
        yield f"series {jobs.series[s]!r} has {usual} steps, but {others} for {listed(odd)}"
