"""What is to be computed: score files, frames or arrays in, a plan of (detector, series) jobs out.

Only key columns are read here; labels and scores are read by the workers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.io import guesses
from pateval.io.content import TableError
from pateval.io.event_files import EventIntervals, read_events
from pateval.io.files import LONGEST_PATH, Source, as_table, expand, open_table, read_table
from pateval.io.folders import is_tree, open_folder
from pateval.io.layout import LAYOUTS, Layout, Reading, common_affix, find_layout, require_zones_alike
from pateval.io.series import LabelledSeries, ScoredSeries
from pateval.io.source import ParquetFiles, Table, without_times
from pateval.io.units import UNNAMED_SERIES, Unit, interleaving_note, labelled_series, list_units
from pateval.validation.wording import in_words, listed, named_error

DEFAULT_LABEL, DEFAULT_SCORE = "label", "score"
# A source, how it is read, and what it holds.
Part = tuple[Source | Path, Layout, Sequence[Unit]]
_MOST_KEPT_BYTES = 1 << 27  # of tables from text, JSON and NumPy files that stay in memory; later ones are read again


@dataclass(frozen=True, eq=False)
class JobTable:
    """All jobs in their fixed order, held as arrays: tens of thousands of objects would fill the memory.

    Names are in order of appearance, and the codes are places among them. Each job has the numbers of its source and of
    its score column, and its rows as a `Unit` has them.
    """

    detectors: tuple[str, ...]
    series: tuple[str, ...]
    runs: tuple[str, ...]
    scores: tuple[str, ...]
    detector_code: npt.NDArray[np.int32]
    series_code: npt.NDArray[np.int32]
    run_code: npt.NDArray[np.int32]
    score: npt.NDArray[np.int32]
    source: npt.NDArray[np.int32]
    start: npt.NDArray[np.int64]
    stop: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return self.detector_code.size

    def __getitem__(self, job: int) -> Unit:
        return Unit(
            self.detectors[self.detector_code[job]],
            self.series[self.series_code[job]],
            self.runs[self.run_code[job]],
            self.scores[self.score[job]],
            int(self.start[job]),
            int(self.stop[job]),
            int(self.steps[job]),
            number=job,
            source=int(self.source[job]),
        )

    def __iter__(self) -> Iterator[Unit]:
        return map(self.__getitem__, range(len(self)))


@dataclass(frozen=True)
class Plan:
    """All jobs in their fixed order, with what was said and left out in opening their sources.

    Jobs are ordered by source, then by detector and first row; results are put together in this order, whoever finishes
    first. A large file that must be read whole is kept as its path. A failure is a sentence that says why a source was
    left out, which happens only where the caller asked to keep going.
    """

    jobs: JobTable
    sources: tuple[Source | Path, ...]
    layouts: tuple[Layout, ...]
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @classmethod
    def of(cls, parts: Sequence[Part], notes: Iterable[str] = (), failures: Iterable[str] = ()) -> Plan:
        """List what sources hold, one after the other."""
        known: list[dict[str, int]] = [{} for _ in range(4)]  # codes of detectors, series, runs and score columns
        rows = []
        for source, (_, _, units) in enumerate(parts):
            for unit in units:
                names = zip(known, (*unit.names, unit.score), strict=True)
                codes = [code_of.setdefault(name, len(code_of)) for code_of, name in names]
                rows.append((*codes, source, unit.start, unit.stop, unit.steps))
        table = np.array(rows, dtype=np.int64).reshape(-1, 8).T
        detectors, series, runs, scores = map(tuple, known)
        jobs = JobTable(detectors, series, runs, scores, *table[:5].astype(np.int32), *table[5:].copy())
        sources, layouts = tuple(source for source, _, _ in parts), tuple(layout for _, layout, _ in parts)
        return cls(jobs, sources, layouts, tuple(notes), tuple(failures))

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


def make_plan(data: object, reading: Reading | None = None, *, needs_times: str = "", keep_going: bool = False) -> Plan:
    """Open every source, decide which column is which, and list the jobs.

    The data are what :func:`pateval.leaderboards.leaderboard` takes. Where something cannot be computed without times,
    ``needs_times`` says so in words, and a source that has none is refused. To ``keep_going`` is to leave out what
    cannot be used, with its reason, instead of raising; that nothing is left to compute is an error all the same.
    """
    reading = reading or Reading()
    failures: list[str] = []

    @contextmanager
    def left_out_if_refused() -> Iterator[None]:
        try:
            yield
        except TableError as error:
            if not keep_going:
                raise
            failures.append(str(error))

    notes: list[str] = []
    opened: list[Source] = []
    for opener in _openers(data, notes, reading):
        with left_out_if_refused():
            opened.append(opener())
    if reading.layout is not None and opened and not any(source.folder_layout for source in opened):
        raise TableError(f"{opened[0].where}: a layout is that of a folder with sub-folders; leave --layout out")
    for role, usual in (("label", DEFAULT_LABEL), ("score", DEFAULT_SCORE)):
        is_usual = reading.defaults and getattr(reading, role) == usual
        if is_usual and not any(usual in source.kinds() for source in opened):
            unnamed: dict[str, Any] = {role: None}
            reading = replace(reading, **unnamed)
    understood: list[tuple[Source, Layout]] = []
    for source in opened:
        with left_out_if_refused():
            layout = _named_by_column(find_layout(source, reading), reading, len(opened))
            if needs_times and layout.time is None:
                raise without_times(source.where, needs_times)
            understood.append((source, layout))
    parts: list[Part] = []
    kept_bytes = 0
    zones: dict[str, tuple[bool, str]] = {}
    known: dict[tuple[str, str, str], str] = {}
    for source, layout in _named_shortly(understood):
        with left_out_if_refused():
            units = list_units(source, layout)
            require_zones_alike(source, layout, dict.fromkeys(unit.series for unit in units), zones)
            _require_new(units, source.where, known)
            notes += layout.notes
            if note := interleaving_note(source, units):
                notes.append(note)
            kept_bytes += source.size_in_bytes if isinstance(source, Table) else 0
            is_kept = kept_bytes <= _MOST_KEPT_BYTES or not _is_file(source)
            parts.append((source if is_kept else Path(source.where), layout, units))
    if not parts:
        raise TableError(failures[0] if failures else "there is nothing to evaluate: no files, no tables")
    plan = Plan.of(parts, merged_notes(notes), failures)
    return replace(plan, notes=(*plan.notes, *unevenness(plan.jobs)))


def _require_new(units: Sequence[Unit], where: str, known: dict[tuple[str, str, str], str]) -> None:
    """Refuse a detector that another source has on the same series and run, and remember where the others are."""
    for unit in units:
        if other := known.get(unit.names):
            of_run = f", run {unit.run!r}," if unit.run else ""
            raise TableError(
                f"{where}: detector {unit.detector!r} on series {unit.series!r}{of_run} is also in {other}; "
                f"detectors are named by their files, so rename one of the two, leave it out, or name the folder "
                f"that holds the folders of both"
            )
    known |= dict.fromkeys((unit.names for unit in units), where)


def _is_file(source: Source) -> bool:
    """Whether a table was read from a file, from which it can be read again."""
    is_table = isinstance(source, Table) and source.from_file and not source.folder_layout
    return is_table and os.path.exists(source.where)


def _named_by_column(layout: Layout, reading: Reading, sources: int) -> Layout:
    """Let the one score column that is named in the one file name its detector, unless it says only "score"."""
    if sources > 1 or reading.score is None or layout.channels or not layout.named_by_file:
        return layout
    says_something = guesses.plain(layout.scores[0]) not in guesses.SCORES[0]
    return replace(layout, named_by_file=False) if says_something else layout


def _named_shortly(understood: Sequence[tuple[Source, Layout]]) -> Iterator[tuple[Source, Layout]]:
    """Leave out of the names of detectors what the columns or files of all of them have in common."""
    names: list[str] = []
    for source, layout in understood:
        if layout.detector is None and not layout.channels:
            names += [str(source.name)] if layout.named_by_file else layout.scores
        else:
            names.append("")
    affix = common_affix(names)
    for source, layout in understood:
        named = replace(layout, affix=affix)
        yield source, replace(named, notes=_notes_on_names(source, named)) if affix else layout


def _notes_on_names(source: Source, layout: Layout) -> tuple[str, ...]:
    """Say what the names of detectors lack: with the scores that were guessed, or in a line of its own."""
    guessed = f"score{'s' if len(layout.scores) > 1 else ''} {listed(layout.scores)}"
    if layout.named_by_file or not any(guessed in note for note in layout.notes):
        return *layout.notes, f"{source.where}: detectors are named without {layout.affix!r}"
    columns = f"{layout.affix}*" if layout.affix.endswith("_") else f"*{layout.affix}"
    named = f"scores {columns!r} of {listed([layout.detector_name(name) for name in layout.scores])}"
    return tuple(note.replace(guessed, named) for note in layout.notes)


def _openers(data: object, notes: list[str], reading: Reading) -> Iterator[Callable[[], Source]]:
    """Yield an opener for everything the caller handed in."""
    if isinstance(data, Mapping) and _holds_tables(data):
        for name, value in data.items():
            yield partial(_named_table, value, str(name))
        return
    if isinstance(data, (str, os.PathLike)) or _is_table(data):
        items: list[object] = [data]
    elif isinstance(data, Iterable):
        items = list(data)
    else:
        raise TableError(f"data must be paths, tables or mappings of arrays; got {type(data).__name__}")
    if not items:
        raise TableError("there is nothing to evaluate: no files, no tables")
    others = {
        os.path.realpath(path) for path in (reading.events, reading.ignore) if isinstance(path, (str, os.PathLike))
    }
    seen: set[str] = set()
    for item in items:
        if not isinstance(item, (str, os.PathLike)):
            yield partial(as_table, item)
            continue
        if len(os.fspath(item)) > LONGEST_PATH:
            raise TableError(
                f"data must be paths, tables or mappings of arrays; no path is as long as {in_words(item)}"
            )
        is_whole = reading.labels is not None or (reading.layout is not None and os.path.isdir(item))
        if is_whole or is_tree(item, others):
            yield partial(open_folder, item, reading, others)
            continue
        for path in expand(item):
            target = os.path.realpath(path)  # not by Path.resolve, which raises where a link leads to itself
            if target in others and os.fspath(path) != os.fspath(item):
                continue  # a file of events among those of scores
            if target in seen:
                notes.append(f"{path}: named more than once; it is read once")
                continue
            seen.add(target)
            yield partial(open_table, path)


def _named_table(value: object, name: str) -> Source:
    return replace(as_table(value, name=name), name=name)


def _is_table(data: object) -> bool:
    # Asked of the type: a lazy frame would have to look into its files to tell its columns.
    return isinstance(data, (Mapping, Table, ParquetFiles)) or hasattr(type(data), "columns")


def _holds_tables(data: Mapping[object, object]) -> bool:
    """Whether the values are tables or paths themselves, and not columns."""
    return bool(data) and all(isinstance(value, (str, os.PathLike)) or _is_table(value) for value in data.values())


def merged_notes(notes: Iterable[str]) -> list[str]:
    """Say once for all files what is the same for all of them; some notes may be of several files already."""
    known: dict[str, tuple[int, str]] = {}
    for note in dict.fromkeys(notes):
        where, _, text = note.partition(": ")
        several = re.fullmatch(r"(\d+) files \((.*), \.\.\.\)", where)
        number, first = (int(several[1]), several[2]) if several else (1, where)
        before, first = known.get(text, (0, first))
        known[text] = before + number, first
    return [
        f"{first}: {text}" if number == 1 else f"{number} files ({first}, ...): {text}"
        for text, (number, first) in known.items()
    ]


def unevenness(jobs: JobTable) -> Iterator[str]:
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
        remedy = ""
        if jobs.series == (UNNAMED_SERIES,):
            remedy = "; files of several series are told apart in a folder for each detector, or called pump__lstm.csv"
        yield f"series {jobs.series[s]!r} has {usual} steps, but {others} for {listed(odd)}{remedy}"


def saved_plan(run: Mapping[str, Any], folder: Path | None = None) -> tuple[Plan | None, list[str]]:
    """Open the inputs of a leaderboard as they were read when it was computed, from its ``run.json``.

    A relative path is looked up from where the board was computed, from here, and from beside the board's folder. What
    can still be read is a plan, None where nothing can; beside it stands a sentence for each input that is gone or
    cannot be read, and for events that are not those of then.
    """
    try:
        reading = run["reading"]
        layouts = [saved_layout(layout) for layout in reading["layouts"]]
        places = [Path(reading["directory"]), Path.cwd(), *([] if folder is None else [folder.parent, folder])]
        numbers = zip(run["inputs"], reading["layout_of_input"], strict=True)
        inputs = [(str(path), layouts[number]) for path, number in numbers]
        event_files = list(reading["event_files"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        where = "" if folder is None else f"{folder}: "
        raise TableError(
            f"{where}run.json does not say how the inputs were read ({named_error(error)}); compute the leaderboard "
            f"again"
        ) from error
    problems = [line for layout in dict.fromkeys(layouts) for line in _changed_events(layout, event_files, places)]
    opened: list[tuple[Source, Layout, list[Unit]]] = []
    for path, layout in inputs:
        try:
            there = _placed(path, places)
            if not layout.folder_layout:
                source = open_table(there)
            else:
                labels = None if layout.labels_folder is None else _placed(layout.labels_folder, places)
                shape = layout.folder_layout if layout.folder_layout in LAYOUTS else None
                others = {os.path.realpath(place / where) for place in places for where in event_files}
                source = open_folder(there, Reading(layout=shape, labels=labels, label=layout.label), others)
            opened.append((source, layout, list_units(source, layout)))
        except (TableError, KeyError) as error:
            problems.append(f"{path}: the input can no longer be read: {error}")
    if not opened:
        return None, problems
    # What stands in several inputs was replaced when the board grew.
    last = {unit.names: place for place, (_, _, units) in enumerate(opened) for unit in units}
    parts: list[Part] = [
        (source, layout, [unit for unit in units if last[unit.names] == place])
        for place, (source, layout, units) in enumerate(opened)
    ]
    return Plan.of(parts), problems


def _changed_events(layout: Layout, event_files: Sequence[str], places: Sequence[Path]) -> Iterator[str]:
    """Say whether files of events, and of what to ignore, are what they were then; the layout has what they held."""
    for then in (layout.events, layout.ignored):
        if then is None or then.where not in event_files:
            continue
        try:
            table = read_table(_placed(then.where, places))
            now = read_events(table, then.word, closed=then.closed, series=layout.series, time_zone=layout.time_zone)
            if (now.by_series, now.has_dates) != (then.by_series, then.has_dates):
                yield f"{then.where}: the {then.word}s are not those that the leaderboard was computed from"
        except TableError as error:
            yield f"{then.where}: the {then.word}s can no longer be read: {error}"


def _placed(path: str, places: Sequence[Path]) -> Path:
    for place in places:
        if (place / path).exists():
            return place / path
    raise TableError("it is gone, or was a table in memory")


def saved_layout(record: Mapping[str, Any]) -> Layout:
    """Make the layout that ``dataclasses.asdict`` and JSON have made plain data of.

    Fields of other releases are passed over. Events that came from a file of their own are in the record.
    """
    values = _known(Layout, record)
    for name in ("events", "ignored"):
        if values.get(name) is not None:
            values[name] = EventIntervals(**_known(EventIntervals, record[name]))
    return Layout(**values)


def _known(kind: type[Any], record: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: _frozen(value) for name, value in record.items() if name in names}


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def read_labels(files: Sequence[str], reading: Reading, needs_times: str = "") -> LabelledSeries:
    """Read the labels of each series; a file needs no scores, and one with several detectors counts once."""
    items: list[ScoredSeries] = []
    notes: list[str] = []
    for path in expand(files):
        source = open_table(path)
        layout = find_layout(source, replace(reading, labels_only=True))
        notes += layout.notes
        items += labelled_series(source, layout)
    if not items:
        raise TableError("there is nothing to read: no files")
    return LabelledSeries(tuple(items), tuple(merged_notes(notes)), needs_times)
