"""Lists of alarms, incidents and periods: read from pairs, arrays of times, tables and files, and held together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock
from pateval.alarms.judgement import AlarmJudgement, AlarmTable
from pateval.alarms.matching import Matching, Policy, match, observed_time
from pateval.io import NoRowsError, ParquetFiles, Table, TableError, as_table, expand, guesses, read_table
from pateval.io.source import missing_column, missing_places, names_in
from pateval.time import dates
from pateval.time.clocks import Duration, unit_nanoseconds
from pateval.time.dates import Times
from pateval.validation.arrays import binary_array, choice
from pateval.validation.containers import to_numpy
from pateval.validation.wording import InputError, InputTypeError, in_words, listed

OF_INCIDENTS = ("series", "kind")
NOTHING_OBSERVED = "nothing is observed: the period is empty, or all of it is ignored"
_BY = ("kind", "series")
_TIMES = (guesses.TIMES, ("at", "alarm_time", "fired"), ("alarm", "alarms"))
_NAMES = {"series": guesses.SERIES, "detector": guesses.DETECTORS, "kind": guesses.KINDS}
_NUMBERS, _DIFFERENCES = "numbers", "differences in time"
_DATES, _DATES_WITH_ZONE = "dates without a time zone", "dates with a time zone"


def judge_alarms(
    alarms: object,
    incidents: object,
    *,
    period: object = None,
    ignore: object = None,
    early: Duration | float = 0,
    delay: Duration | float = 0,
    merge: Duration | float | None = None,
    cooldown: Duration | float | None = None,
    within: Duration | float | None = None,
    time_unit: str | None = None,
    time_zone: str | None = None,
) -> AlarmJudgement:
    """Hold alarms against incidents on one series: what was found, how soon, and at how many false alarms.

    An incident is found if an alarm meets its window, from ``early`` before its start to ``delay`` after its stop. An
    alarm that meets no window is false. Incidents and alarms outside observed time do not count.

    Parameters
    ----------
    alarms, incidents : pairs, array of times, or table
        Intervals with both ends, or instants: pairs of start and stop, an array of times, or a table (or its path) with
        columns of start and stop, or one of times. Dates, or numbers.
    period : pairs, optional
        What was observed, as half-open periods. By default the time from the first to the last alarm or incident.
    ignore : pairs, optional
        Half-open periods to leave out, such as maintenance.
    early, delay : duration or number
        How long before its start and after its stop an alarm still belongs to an incident: "10min", a timedelta, or a
        number in the unit of numeric times.
    merge : duration or number, optional
        Alarms that begin at most this long after the end of another are one. By default none are joined.
    cooldown : duration or number, optional
        Alarms that start sooner than this after the last one are suppressed.
    within : duration or number, optional
        Also tell the share of incidents found that were found within this time.
    time_unit : str, optional
        Unit of times that are numbers, such as "s"; rates are then per day, otherwise per unit.
    time_zone : str, optional
        Where dates without a time zone were recorded, such as "Europe/Berlin"; without it dates with a zone and dates
        without one do not go together.

    Returns
    -------
    AlarmJudgement
        Counts, shares and rates with their limits, and times to detect.

    Raises
    ------
    ValueError, TypeError
        If times cannot be read, an interval ends before it starts, or dates stand beside numbers.

    See Also
    --------
    judge_alarm_files : several detectors and series, from files or tables.
    alarm_frontier : from a score per step.

    Examples
    --------
    >>> import pateval as pv
    >>> found = pv.judge_alarms([3, 40, 41, 90], [(5, 9), (60, 65)], period=[(0, 100)], early=2)
    >>> found.found, found.missed.tolist(), found.false, found.false_rate
    (1, [[60, 65]], 3, 0.03)
    >>> found.times_to_detect
    array([-2])
    """
    reader = ListReader(time_zone=time_zone)
    lists = [
        replace(reader.read(alarms, "alarms"), stem="alarms"),
        reader.read(incidents, "incidents", OF_INCIDENTS),
        reader.read_periods(period, "period"),
        reader.read_periods(ignore, "ignore"),
    ]
    for intervals in lists:
        if len(intervals.by_series) > 1:
            raise ValueError(f"{intervals.where} must be of one series; pateval.judge_alarm_files judges several")
    lists = [intervals.without_series() for intervals in lists]
    policy = Policy(early, delay, merge, cooldown)
    (judgement,) = _judged(lists, policy, within, time_unit, has_period=period is not None)
    return judgement


def judge_alarm_files(
    alarms: object,
    incidents: object,
    *,
    period: object = None,
    ignore: object = None,
    early: Duration | float = 0,
    delay: Duration | float = 0,
    merge: Duration | float | None = None,
    cooldown: Duration | float | None = None,
    within: Duration | float | None = None,
    time_unit: str | None = None,
    time_zone: str | None = None,
    by: str | None = None,
    start: str | None = None,
    stop: str | None = None,
    series: str | None = None,
    detector: str | None = None,
    kind: str | None = None,
) -> AlarmTable:
    """Hold alarms against incidents: several detectors and series, from files or tables.

    Parameters
    ----------
    alarms : path, table, or list of these
        Tables with a column of times, or of start and stop, and where there are several, columns that name the series
        and the detector. A file per detector is named by its stem.
    incidents : path or table
        Columns of start and stop, or of times; optional series and kind.
    period : path, table or pairs, optional
        What was observed, as half-open periods, of all series or of each that its column names. By default, for each
        series, the time from its first to its last alarm or incident.
    ignore : path, table, pairs or str, optional
        Half-open periods to leave out, likewise; or the name of a column of the alarms or the incidents, whose rows are
        left out where it is 1.
    early, delay, merge, cooldown, within, time_unit, time_zone
        As in `judge_alarms`.
    by : {"kind", "series"}, optional
        Also tell the kinds of incidents, or the series, apart.
    start, stop, series, detector, kind : str, optional
        Names of columns, where their usual names are not used.

    Returns
    -------
    AlarmTable
        A judgement per detector; with two of them also the tests of one against the other.

    Raises
    ------
    ValueError, TypeError
        In one sentence, if a table cannot be read, times are of different kinds, a series is not in the table of
        periods, or nothing is observed.

    Examples
    --------
    >>> import pateval as pv
    >>> alarms = {"time": ["2026-03-01T04:05", "2026-03-02T10:00"], "detector": ["rule", "rule"]}
    >>> incidents = {"start": ["2026-03-01T04:10"], "stop": ["2026-03-01T05:20"]}
    >>> found = pv.judge_alarm_files(alarms, incidents, period=[("2026-03-01", "2026-03-05")], early="30min")
    >>> found["rule"].found, found["rule"].false_rate
    (1, 0.25)
    """
    if by is not None:
        choice(by, "by", _BY)
    column = ignore if isinstance(ignore, str) and not os.path.exists(ignore) else None
    reader = ListReader(start, stop, series, detector, kind, column, time_zone)
    beside = ListReader(series=series, time_zone=time_zone, are_hints=True)
    ignore = ignore if column is None else None
    lists = [
        *_alarm_lists(alarms, reader),
        replace(reader, are_hints=True).read(incidents, "incidents", OF_INCIDENTS),
        beside.read_periods(period, "period"),
        beside.read_periods(ignore, "ignore"),
    ]
    if column is not None and not any(intervals.has_marks for intervals in lists):
        raise TableError(
            f"{in_words(column)} is to be ignored, and is neither a file of periods nor a column of "
            f"{listed([intervals.where for intervals in lists[:-2]], 4)}; name one of these"
        )
    policy = Policy(early, delay, merge, cooldown)
    judgements = _judged(lists, policy, within, time_unit, has_period=period is not None)
    if (period is not None or ignore is not None) and not judgements[0].observed_length:
        raise TableError(NOTHING_OBSERVED)
    notes = [note for intervals in lists for note in intervals.notes]
    return AlarmTable(judgements, by, tuple(dict.fromkeys(notes)))


def _alarm_lists(alarms: object, reader: ListReader) -> list[Intervals]:
    """Read alarms: one table or several; names of files without a column of detectors must differ."""
    several = alarms if isinstance(alarms, (list, tuple)) and alarms and all(map(_is_table, alarms)) else [alarms]
    sources: list[Any] = []
    for source in several:
        if isinstance(source, str) and dates.is_time(source) and not os.path.exists(source):
            raise TableError(f"alarms: there is no file {in_words(source)}; pateval.judge_alarms takes times")
        sources += expand(source) if isinstance(source, (str, os.PathLike)) else [source]
    lists = []
    for place, source in enumerate(sources, start=1):
        called = "alarms" if len(sources) == 1 else f"alarms {place}"
        read = reader.read(source, called, ("series", "detector"))
        lists.append(replace(read, stem=read.stem or read.where))
    stems = [intervals.stem for intervals in lists if "detector" not in intervals.names]
    twice = next((name for name in stems if stems.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"two files of alarms are called {twice!r}; rename one, or name detectors in a column")
    return lists


def _judged(
    lists: Sequence[Intervals], policy: Policy, within: object, time_unit: str | None, *, has_period: bool
) -> tuple[AlarmJudgement, ...]:
    """A judgement per detector; the last of the lists are incidents, periods and what is ignored, the others alarms."""
    clock = common_clock(lists, time_unit)
    number = np.result_type(*(intervals.bounds for intervals in lists))  # floats where some are
    lists = [replace(intervals, bounds=intervals.bounds.astype(number)) for intervals in lists]
    *alarms, incidents, periods, ignored = lists
    policy = clock.policy(policy)
    asked = None if within is None else clock.length(within, "within")
    detectors: dict[str, list[Intervals]] = {}
    for fired in alarms:
        for detector, own in fired.by_name("detector", fired.stem).items():
            detectors.setdefault(detector, []).append(own)
    parts: dict[str, list[Matching]] = {detector: [] for detector in detectors}
    for name in _series_names([*alarms, incidents], periods, ignored):
        to_find = incidents.of_series(name)
        bounds = {
            detector: np.concatenate([fired.of_series(name).bounds for fired in own])
            for detector, own in detectors.items()
        }
        moments = np.concatenate([times.ravel() for times in (*bounds.values(), to_find.bounds)])
        period = periods.of_series(name).bounds if has_period else None
        observed = observed_time(period, ignored.of_series(name).bounds, moments)
        for detector, fired_at in bounds.items():
            kinds = to_find.names.get("kind")
            parts[detector].append(match(fired_at, to_find.bounds, observed, policy, series=name, kinds=kinds))
    return tuple(
        AlarmJudgement(tuple(matchings), clock, policy, asked, has_period, detector)
        for detector, matchings in parts.items()
    )


def _series_names(events: Sequence[Intervals], periods: Intervals, ignored: Intervals) -> list[str | None]:
    """Names of all series; refuse lists that do not fit each other."""
    naming = [intervals for intervals in events if len(intervals) and "series" in intervals.names]
    silent = [intervals for intervals in events if len(intervals) and "series" not in intervals.names]
    named = naming or [intervals for intervals in (periods, ignored) if "series" in intervals.names][:1]
    if not named:
        return [None]
    if silent:
        raise TableError(
            f"{named[0].where} names series, and {silent[0].where} does not; add a column 'series' there"
            f"{', or take it out' if naming else ''}"
        )
    names = dict.fromkeys(name for intervals in named for name in intervals.by_series)
    require_observed(names, periods)
    return [*(names | periods.by_series)]


@dataclass(frozen=True)
class Intervals:
    """Closed intervals on a clock, in the order of the rows."""

    where: str  # what messages call them
    bounds: Times = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # numbers: nanoseconds for dates
    kind_of_time: str = ""  # numbers, differences, dates with a time zone, or without; empty where there are no times
    example: str = ""  # one of the dates
    names: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)  # of each interval, by what columns say
    stem: str = ""  # of the file
    detectors: tuple[Any, ...] = ()  # that a column names, also in rows that are left out
    has_marks: bool = False  # whether a column says which rows to leave out
    notes: tuple[str, ...] = ()  # liberties taken in reading

    def __len__(self) -> int:
        return len(self.bounds)

    def chosen(self, rows: npt.NDArray[Any]) -> Intervals:
        """Some of the intervals."""
        names = {role: column[rows] for role, column in self.names.items()}
        return replace(self, bounds=self.bounds[rows], names=names)

    def by_name(self, role: str, otherwise: str) -> dict[Any, Intervals]:
        """The intervals of each name in a column, in order of appearance; all by another name where there is none."""
        if role not in self.names:
            return {otherwise: self}
        rows: dict[Any, list[int]] = {name: [] for name in self.detectors} if role == "detector" else {}
        for row, name in enumerate(self.names[role]):
            rows.setdefault(name, []).append(row)
        return {name: self.chosen(np.array(own, dtype=np.intp)) for name, own in rows.items()}

    @cached_property
    def by_series(self) -> dict[Any, Intervals]:
        """The intervals of each series; empty where no column tells series apart."""
        return self.by_name("series", "") if "series" in self.names else {}

    def of_series(self, name: str | None) -> Intervals:
        """The intervals of one series; all of them where no column tells series apart."""
        if "series" not in self.names:
            return self
        return self.by_series.get(name) or self.chosen(np.zeros(0, dtype=np.intp))

    def without_series(self) -> Intervals:
        """The intervals as if no column told series apart."""
        return replace(self, names={role: column for role, column in self.names.items() if role != "series"})


@dataclass(frozen=True)
class ListReader:
    """How lists are read: names of columns where they are not to be guessed, and the time zone."""

    start: str | None = None
    stop: str | None = None
    series: str | None = None
    detector: str | None = None
    kind: str | None = None
    ignore: str | None = None
    time_zone: str | None = None  # where dates without a time zone were recorded
    are_hints: bool = False  # whether names that a table does not have are guessed there; a kind never is

    def __post_init__(self) -> None:
        if self.time_zone is not None:
            dates.require_zone(self.time_zone)
        for role, name in vars(self).items():
            if role != "are_hints" and name is not None and not isinstance(name, str):
                raise TypeError(f"{role} must be the name of a column; got {in_words(name)}")

    def read(self, source: object, name: str, roles: Sequence[str] = ("series",)) -> Intervals:
        """Read intervals or instants; ``name`` says what they are, and ``roles`` what columns may say of them.

        A table has columns of start and stop, or one of times; an array holds pairs, or times. None is an empty list.
        """
        if source is None:
            return Intervals(name)
        if not _is_table(source):
            return self._of_array(to_numpy(source, name), name)
        path = source if isinstance(source, (str, os.PathLike)) else None
        try:
            # What Parquet holds is read as a whole: these are lists, not recordings.
            table = as_table(source, name=None) if path is None else read_table(path)
            table = read_table(table.where) if isinstance(table, ParquetFiles) else table
        except NoRowsError:
            return Intervals(name) if path is None else Intervals(str(path), stem=Path(path).name.split(".")[0])
        return self._of_table(table, table.where if table.from_file else name, name, roles)

    def read_periods(self, source: object, name: str) -> Intervals:
        """Read half-open periods, as `read` does; one pair alone is one period, and times are none."""
        if isinstance(source, (list, tuple, np.ndarray)) and np.asarray(source, dtype=object).ndim == 1 and len(source):
            if len(source) != 2:
                raise ValueError(f"{name} must be pairs of from and to; got {in_words(source)}")
            source = [tuple(source)]
        return self.read(source, name)

    def _of_array(self, array: npt.NDArray[Any], name: str) -> Intervals:
        if not array.size:
            return Intervals(name, kind_of_time=_DATES if array.dtype.kind == "M" else "")
        if array.ndim != 1 and (array.ndim != 2 or array.shape[1] != 2):
            raise ValueError(f"{name} must be pairs of start and stop, or times; got an array of shape {array.shape}")
        numbers, recorded = self._numbers(array.ravel(), name)
        bounds = numbers.reshape(-1, 2) if array.ndim == 2 else np.stack([numbers, numbers], axis=1)
        _refuse_reversed(bounds, name, "index", 0)
        return replace(recorded, bounds=bounds)

    def _of_table(self, table: Table, where: str, name: str, roles: Sequence[str]) -> Intervals:
        def find(role: str, tiers: tuple[tuple[str, ...], ...]) -> str | None:
            given = getattr(self, role, None)
            if given in table.columns:
                return given
            if given is not None and (role == "kind" or not self.are_hints):
                raise missing_column(where, given, table.columns, role)
            return guesses.only(table.columns, tiers, where, f"the {role} of {name}")

        start = find("start", guesses.STARTS)
        stop = find("stop", guesses.STOPS) if self.stop is not None or start is not None else None
        start = start or find("time", _TIMES)
        if start is None:
            of_dates = [column for column, kind in table.kinds().items() if kind == "time"]
            if len(of_dates) != 1:
                raise TableError(
                    f"{where}: no column looks like the times of {name}; call one 'time', or two 'start' and 'stop', "
                    f"among {listed(list(table.columns), 20)}"
                )
            start = of_dates[0]
        starts, recorded = self._column_times(table, where, start)
        stops, also_recorded = self._column_times(table, where, stop or start)
        kind, kind_of_stop = recorded.kind_of_time, also_recorded.kind_of_time
        if kind != kind_of_stop:
            raise TableError(f"{where}: column {start!r} holds {kind} and {stop!r} {kind_of_stop}; write both alike")
        bounds = np.stack([starts, stops], axis=1)
        _refuse_reversed(bounds, where, "row", 1)
        notes = table.notes
        if dates.is_day_first(guesses.first_value(table, start)):
            notes = (*notes, f"{where}: dates in {start!r} are taken as day.month.year")
        names = {}
        for role in roles:
            column = find(role, _NAMES[role])
            if column is not None:
                names[role] = np.array(names_in(table.columns[column], column, where), dtype=object)
        read = replace(recorded, where=where, bounds=bounds, names=names, stem=table.name or "", notes=notes)
        if self.ignore not in table.columns:
            return read
        try:
            is_ignored = binary_array(table.columns[self.ignore], "the rows to ignore")
        except (InputError, InputTypeError) as error:
            text = error.sentence(place=None if error.step is None else f"in row {error.step + 1}")
            raise TableError(f"{where}: column {self.ignore!r}: {text}") from error
        ignored = np.count_nonzero(is_ignored)
        note = f"{where}: left out {ignored:,} of {table.rows:,} rows, as column {self.ignore!r} says"
        detectors = tuple(dict.fromkeys(names.get("detector", ())))
        return replace(read.chosen(~is_ignored), detectors=detectors, has_marks=True, notes=(*notes, note))

    def _column_times(self, table: Table, where: str, name: str) -> tuple[Times, Intervals]:
        absent = missing_places(table.columns[name])
        if absent.size:
            raise TableError(
                f"{where}: column {name!r} is empty in row {absent[0] + 1}; fill it in (an instant stops as it starts)"
            )
        return self._numbers(table.columns[name], f"{where}: column {name!r}")

    def _numbers(self, values: npt.NDArray[Any], where: str) -> tuple[Times, Intervals]:
        """Times as numbers, and what kind of time they are."""
        try:
            numbers, unit = dates.time_numbers(values, zone=self.time_zone)
            return numbers, recorded_times(where, None if unit is None else values, self.time_zone)
        except dates.MixedZonesError as error:
            raise TableError(f"{where}: {error.in_rows(lambda place: place + 1)}") from error
        except (TypeError, ValueError) as error:
            given = values.tolist()
            place = next((place for place, value in enumerate(given) if not dates.is_time(value)), None)
            if place is None:
                raise TableError(f"{where}: {error}") from error
            shown, why = in_words(given[place]), dates.why_no_time(given[place])
            raise TableError(f"{where}: {shown}, number {place + 1} of {values.size}, {why}") from None


def _is_table(source: object) -> bool:
    """Whether something is a table or the path of one, and no array."""
    return isinstance(source, (str, os.PathLike, Mapping, Table, ParquetFiles)) or hasattr(source, "columns")


def _refuse_reversed(bounds: Times, where: str, word: str, first: int) -> None:
    wrong = np.flatnonzero(bounds[:, 1] < bounds[:, 0])
    if wrong.size:
        which = f": the interval in {word} {int(wrong[0]) + first}" if first or len(bounds) > 1 else ""
        such = f" ({wrong.size} such)" if wrong.size > 1 else ""
        raise TableError(f"{where}{which} ends before it starts{such}; exchange start and stop")


def require_observed(series: Iterable[str | None], periods: Intervals) -> None:
    """Refuse series of which a list of periods does not say when they were observed."""
    absent = next((name for name in series if periods.by_series and name not in periods.by_series), None)
    if absent is not None:
        raise TableError(f"{periods.where}: series {absent!r} is not there; say when it was observed")


def recorded_times(where: str, given: npt.NDArray[Any] | None, time_zone: str | None = None) -> Intervals:
    """No interval, but the kind of time that others must have: that of given dates or differences, numbers for None."""
    if given is None or given.dtype.kind == "m":
        return Intervals(where, kind_of_time=_NUMBERS if given is None else _DIFFERENCES)
    kind = _DATES_WITH_ZONE if time_zone is not None or dates.has_zone(given) else _DATES
    return Intervals(where, kind_of_time=kind, example=dates.date_text(given))


def common_clock(lists: Sequence[Intervals], time_unit: str | None) -> AlarmClock:
    """Find the clock that several lists are on; refuse lists that are on different ones."""
    known = [intervals for intervals in lists if intervals.kind_of_time]
    for other in known[1:]:
        kinds = known[0].kind_of_time, other.kind_of_time
        if kinds[0] != kinds[1]:
            first, second = (
                f"{intervals.where} has {intervals.kind_of_time}"
                f"{f' ({intervals.example})' if intervals.example else ''}"
                for intervals in sorted([known[0], other], key=lambda intervals: intervals.kind_of_time == _DATES)
            )
            remedy = "; write all times alike"
            if {*kinds} == {_DATES, _DATES_WITH_ZONE}:
                remedy = f", so that nobody knows how they lie to each other; {dates.ZONE_REMEDY}"
            raise TableError(f"{first}, and {second}{remedy}")
    kind = known[0].kind_of_time if known else ""
    if time_unit is not None and kind in ("", _NUMBERS):
        return AlarmClock(unit_nanoseconds(time_unit, "time_unit"))
    if time_unit is not None:
        raise TableError("time_unit is for times that are numbers; dates have a unit of their own")
    # Where nothing happened durations of any kind are fine.
    return AlarmClock() if kind == _NUMBERS else AlarmClock(1, has_dates=bool(kind))
