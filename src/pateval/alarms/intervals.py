"""Lists of alarms, incidents and periods in: pairs, arrays of times, tables and files."""

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
from pateval.io import NoRowsError, ParquetFiles, Table, TableError, as_table, guesses, read_table
from pateval.io.source import missing_column, missing_places, names_in
from pateval.time.clocks import unit_nanoseconds
from pateval.time.dates import (
    ZONE_REMEDY,
    MixedZonesError,
    Times,
    date_text,
    has_zone,
    is_day_first,
    is_time,
    require_zone,
    time_numbers,
    why_no_time,
)
from pateval.validation.arrays import binary_array
from pateval.validation.containers import to_numpy
from pateval.validation.wording import InputError, InputTypeError, in_words, listed

_TIMES = (guesses.TIMES, ("at", "alarm_time", "fired"), ("alarm", "alarms"))
# What a column may say of each interval, the field that holds it, and what it may be called.
_ROLES = {
    "series": ("series", guesses.SERIES),
    "detector": ("detectors", guesses.DETECTORS),
    "kind": ("kinds", guesses.KINDS),
}
OF_ALARMS, OF_INCIDENTS = ("series", "detector"), ("series", "kind")
NOTHING_OBSERVED = "nothing is observed: the period is empty, or all of it is ignored"
NUMBERS, DATES, DATES_WITH_ZONE = "numbers", "dates without a time zone", "dates with a time zone"


@dataclass(frozen=True)
class Intervals:
    """Closed intervals on a clock, in the order of the rows."""

    where: str  # what messages call them
    bounds: Times = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))  # numbers: nanoseconds for dates
    kind_of_time: str = ""  # numbers, dates with a time zone, or without one; empty where there are no times
    example: str = ""  # one of the dates
    series: npt.NDArray[Any] | None = None  # of each interval, where a column says so, as the next two
    detectors: npt.NDArray[Any] | None = None
    kinds: npt.NDArray[Any] | None = None
    name: str = ""  # the file's stem
    ignored: int | None = None  # rows left out as a column says; None where there is no such column
    notes: tuple[str, ...] = ()  # liberties taken in reading

    def __len__(self) -> int:
        return len(self.bounds)

    def of_series(self, name: str | None) -> Intervals:
        """The intervals of one series; all of them where no column tells series apart."""
        if self.series is None:
            return self
        return self.chosen(self._rows_of_series.get(name, np.zeros(0, dtype=np.intp)))

    def chosen(self, rows: npt.NDArray[Any] | slice) -> Intervals:
        """Some of the intervals."""
        columns = {role: getattr(self, role) for role in ("series", "detectors", "kinds")}
        parts: Any = {role: None if column is None else column[rows] for role, column in columns.items()}
        return replace(self, bounds=self.bounds[rows], **parts)

    @cached_property
    def _rows_of_series(self) -> dict[Any, npt.NDArray[np.intp]]:
        return rows_by_name([] if self.series is None else self.series)


def rows_by_name(names: Iterable[Any]) -> dict[Any, npt.NDArray[np.intp]]:
    """Rows of each name, names in order of appearance."""
    rows: dict[Any, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: np.array(found, dtype=np.intp) for name, found in rows.items()}


@dataclass(frozen=True)
class Columns:
    """Names of columns, where they are not to be guessed."""

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
            require_zone(self.time_zone)
        for role, name in vars(self).items():
            if role != "are_hints" and name is not None and not isinstance(name, str):
                raise TypeError(f"{role} must be the name of a column; got {in_words(name)}")


def is_table(source: object) -> bool:
    """Whether something is a table or the path of one, and no array."""
    return isinstance(source, (str, os.PathLike, Mapping, Table, ParquetFiles)) or hasattr(source, "columns")


def read_intervals(
    source: object, name: str, columns: Columns | None = None, roles: Sequence[str] = ("series",)
) -> Intervals:
    """Read intervals or instants; ``name`` says what they are, in messages, and ``roles`` what columns may say of them.

    A table has columns of start and stop, or one of times; an array holds pairs, or times. None is an empty list.
    """
    if source is None:
        return Intervals(name)
    if not is_table(source):
        return _of_array(source, name, columns)
    path = source if isinstance(source, (str, os.PathLike)) else None
    try:
        # What Parquet holds is read as a whole: these are lists, not recordings.
        table = as_table(source, name=None) if path is None else read_table(path)
        table = read_table(table.where) if isinstance(table, ParquetFiles) else table
    except NoRowsError:
        return Intervals(name) if path is None else Intervals(str(path), name=Path(path).name.split(".")[0])
    return _of_table(table, table.where if table.from_file else name, columns or Columns(), name, roles)


def read_periods(source: object, name: str, columns: Columns | None = None) -> Intervals:
    """Read half-open periods, as `read_intervals` does; one pair alone is one period, and times are none."""
    if isinstance(source, (list, tuple, np.ndarray)) and np.ndim(np.asarray(source, dtype=object)) == 1 and len(source):
        if len(source) != 2:
            raise ValueError(f"{name} must be pairs of from and to; got {in_words(source)}")
        source = [tuple(source)]
    return read_intervals(source, name, columns)


def _of_array(source: object, name: str, columns: Columns | None) -> Intervals:
    array, zone = to_numpy(source, name), None if columns is None else columns.time_zone
    if not array.size:
        return Intervals(name, kind_of_time=DATES if array.dtype.kind == "M" else "")
    if array.ndim != 1 and (array.ndim != 2 or array.shape[1] != 2):
        raise ValueError(f"{name} must be pairs of start and stop, or times; got an array of shape {array.shape}")
    is_utc = getattr(getattr(source, "dtype", None), "time_zone", None) is not None  # polars has this
    numbers, kind = _numbers(array.ravel(), name, zone if not is_utc else "UTC")
    bounds = numbers.reshape(-1, 2) if array.ndim == 2 else np.stack([numbers, numbers], axis=1)
    _refuse_reversed(bounds, name, "index", 0)
    return Intervals(name, bounds, kind, "" if kind == NUMBERS else date_text(array.ravel()))


def _of_table(table: Table, where: str, columns: Columns, name: str, roles: Sequence[str]) -> Intervals:
    def named(role: str, given: str | None, tiers: tuple[tuple[str, ...], ...]) -> str | None:
        if given in table.columns:
            return given
        if given is not None and (role == "kind" or not columns.are_hints):
            raise missing_column(where, given, table.columns, role)
        return guesses.only(table.columns, tiers, where, f"the {role} of {name}")

    def texts(role: str) -> npt.NDArray[Any] | None:
        column = named(role, getattr(columns, role), _ROLES[role][1])
        return None if column is None else np.array(names_in(table.columns[column], column, where), dtype=object)

    start = named("start", columns.start, guesses.STARTS)
    stop = named("stop", columns.stop, guesses.STOPS) if columns.stop is not None or start is not None else None
    start = start or named("time", None, _TIMES)
    if start is None:
        dates = [column for column, kind in table.kinds().items() if kind == "time"]
        if len(dates) != 1:
            raise TableError(
                f"{where}: no column looks like the times of {name}; call one 'time', or two 'start' and 'stop', "
                f"among {listed(list(table.columns), 20)}"
            )
        start = dates[0]
    starts, kind = _column_times(table, where, start, columns.time_zone)
    stops, kind_of_stop = _column_times(table, where, stop or start, columns.time_zone)
    if kind != kind_of_stop:
        raise TableError(f"{where}: column {start!r} holds {kind} and {stop!r} {kind_of_stop}; write both alike")
    bounds = np.stack([starts, stops], axis=1)
    _refuse_reversed(bounds, where, "row", 1)
    notes = table.notes
    if is_day_first(guesses.first_value(table, start)):
        notes = (*notes, f"{where}: dates in {start!r} are taken as day.month.year")
    said: dict[str, Any] = {_ROLES[role][0]: texts(role) for role in roles}
    found = Intervals(
        where,
        bounds,
        kind,
        "" if kind == NUMBERS else date_text(table.columns[start]),
        name=table.name or "",
        notes=notes,
        **said,
    )
    if columns.ignore is None or columns.ignore not in table.columns:
        return found
    try:
        is_ignored = binary_array(table.columns[columns.ignore], "the rows to ignore")
    except (InputError, InputTypeError) as error:
        text = error.sentence(place=None if error.step is None else f"in row {error.step + 1}")
        raise TableError(f"{where}: column {columns.ignore!r}: {text}") from error
    ignored = int(np.count_nonzero(is_ignored))
    note = f"{where}: left out {ignored:,} of {table.rows:,} rows, as column {columns.ignore!r} says"
    return replace(found.chosen(~is_ignored), ignored=ignored, notes=(*found.notes, note))


def _column_times(table: Table, where: str, name: str, time_zone: str | None) -> tuple[Times, str]:
    """Times of a column as numbers, and what they are, as `Intervals.kind_of_time` has it."""
    column = table.columns[name]
    absent = missing_places(column)
    if absent.size:
        raise TableError(
            f"{where}: column {name!r} is empty in row {absent[0] + 1}; fill it in (an instant stops as it starts)"
        )
    return _numbers(column, f"{where}: column {name!r}", time_zone)


def _numbers(values: npt.NDArray[Any], where: str, time_zone: str | None) -> tuple[Times, str]:
    try:
        numbers, unit = time_numbers(values, zone=time_zone)
    except MixedZonesError as error:
        raise TableError(f"{where}: {error.in_rows(lambda place: place + 1)}") from error
    except (TypeError, ValueError):
        place = next((place for place, value in enumerate(values.tolist()) if not is_time(value)), 0)
        shown = in_words(values.tolist()[place])
        raise TableError(f"{where}: {shown}, number {place + 1} of {values.size}, {why_no_time(shown)}") from None
    if unit is None:
        return numbers, NUMBERS
    return numbers, kind_of_dates(values, time_zone)


def kind_of_dates(values: npt.NDArray[Any], time_zone: str | None) -> str:
    """Whether dates have a time zone, as `Intervals.kind_of_time` has it; all have where one is given."""
    return DATES_WITH_ZONE if time_zone is not None or has_zone(values) else DATES


def _refuse_reversed(bounds: Times, where: str, word: str, first: int) -> None:
    wrong = np.flatnonzero(bounds[:, 1] < bounds[:, 0])
    if wrong.size:
        which = f": the interval in {word} {int(wrong[0]) + first}" if first or len(bounds) > 1 else ""
        such = f" ({wrong.size} such)" if wrong.size > 1 else ""
        raise TableError(f"{where}{which} ends before it starts{such}; exchange start and stop")


def require_observed(series: Iterable[str | None], periods: Intervals) -> None:
    """Refuse series of which a list of periods does not say when they were observed."""
    known = None if periods.series is None else set(periods.series)
    absent = next((name for name in series if known is not None and name not in known), None)
    if absent is not None:
        raise TableError(f"{periods.where}: series {absent!r} is not there; say when it was observed")


def common_clock(lists: Sequence[Intervals], time_unit: str | None) -> AlarmClock:
    """Find the clock that several lists are on; refuse lists that are on different ones."""
    known = [one for one in lists if one.kind_of_time]
    for one in known[1:]:
        if one.kind_of_time != known[0].kind_of_time:
            pair = sorted([known[0], one], key=lambda each: each.kind_of_time == DATES)
            words = [
                f"{each.where} has {each.kind_of_time}{f' ({each.example})' if each.example else ''}" for each in pair
            ]
            if NUMBERS in (one.kind_of_time, known[0].kind_of_time):
                raise TableError(f"{words[0]}, and {words[1]}; write all times alike")
            raise TableError(
                f"{words[0]}, and {words[1]}, so that nobody knows how they lie to each other; {ZONE_REMEDY}"
            )
    if time_unit is not None and (not known or known[0].kind_of_time == NUMBERS):
        return AlarmClock(unit_nanoseconds(time_unit, "time_unit"))
    if not known:
        return AlarmClock(1)  # nothing happened: durations of any kind are fine
    if known[0].kind_of_time == NUMBERS:
        return AlarmClock()
    if time_unit is not None:
        raise TableError("time_unit is for times that are numbers; dates have a unit of their own")
    return AlarmClock(1, has_dates=True)


def as_one_type(lists: Sequence[Intervals]) -> list[Intervals]:
    """Make all bounds integers, or all floats where some are."""
    is_float = any(one.bounds.dtype.kind == "f" for one in lists)
    return [replace(one, bounds=one.bounds.astype(np.float64 if is_float else np.int64)) for one in lists]
