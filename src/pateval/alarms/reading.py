"""Lists of alarms, incidents and periods in: pairs, arrays of times, tables and files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock
from pateval.io import NoRowsError, ParquetFiles, Table, TableError, as_table, guesses, read_table
from pateval.io.source import is_missing, missing_column
from pateval.time.clocks import Times, time_numbers, unit_nanoseconds
from pateval.validation.containers import to_numpy
from pateval.validation.wording import in_words, listed

# What monitoring systems call the beginning and the end of something, in the spelling `guesses.plain` gives.
_STARTS = (
    ("start", "starts", "start_time", "starttime", "start_timestamp", "started_at", "starts_at", "startsat"),
    ("begin", "from", "first", "onset", "fired_at", "triggered_at", "opened_at", "created_at", "beginn", "von"),
)
_STOPS = (
    ("stop", "stops", "end", "end_time", "endtime", "end_timestamp", "stop_time", "ended_at", "ends_at", "endsat"),
    ("to", "until", "last", "resolved_at", "closed_at", "cleared_at", "ende", "bis"),
)
TIMES = (guesses.TIMES, ("at", "alarm_time", "fired", "zeit", "zeitpunkt", "zeitstempel", "datum"), ("alarm", "alarms"))
_KINDS = (("kind", "type", "category", "class", "cause", "art"),)
DATES, DATES_WITH_ZONE = "dates without a time zone", "dates with a time zone"
_ZONE = re.compile(r":\d\d(?:[.,]\d+)?\s*(?:Z|[+-]\d\d:?\d\d)$|\d\s*Z$", re.IGNORECASE)


@dataclass(frozen=True)
class Intervals:
    """Closed intervals on a clock, in the order of the rows.

    Attributes
    ----------
    where : str
        What messages call them.
    bounds : ndarray of shape (n, 2)
        Start and stop as numbers: nanoseconds for dates.
    kind_of_time : str
        "numbers", "dates with a time zone" or "dates without a time zone"; empty where there are none.
    series, detectors, kinds : ndarray of str or None
        Of each interval, where a column says so.
    name : str
        The file's stem.
    notes : tuple of str
        Liberties taken in reading.
    """

    where: str
    bounds: Times
    kind_of_time: str
    series: npt.NDArray[Any] | None = None
    detectors: npt.NDArray[Any] | None = None
    kinds: npt.NDArray[Any] | None = None
    name: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.bounds)

    def of_series(self, name: str | None) -> Intervals:
        """The intervals of one series; all of them where no column tells series apart."""
        if self.series is None:
            return self
        return self.chosen(self._rows_of_series.get(name, np.zeros(0, dtype=np.intp)))

    @cached_property
    def _rows_of_series(self) -> dict[Any, npt.NDArray[np.intp]]:
        return rows_by_name([] if self.series is None else self.series.tolist())

    def chosen(self, rows: npt.NDArray[Any]) -> Intervals:
        """Some of the intervals."""
        columns = {name: getattr(self, name) for name in ("series", "detectors", "kinds")}
        parts: Any = {name: None if column is None else column[rows] for name, column in columns.items()}
        return replace(self, bounds=self.bounds[rows], **parts)


@dataclass(frozen=True)
class Columns:
    """Names of columns, where they are not to be guessed."""

    start: str | None = None
    stop: str | None = None
    series: str | None = None
    detector: str | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        for role, name in vars(self).items():
            if name is not None and not isinstance(name, str):
                raise TypeError(f"{role} must be the name of a column; got {in_words(name)}")


def read_intervals(source: object, name: str, columns: Columns | None = None) -> Intervals:
    """Read intervals or instants.

    Parameters
    ----------
    source : path, table, or array-like
        A table has columns of start and stop, or one of times; an array holds pairs, or times. None is an empty list.
    name : str
        What they are, for messages.
    columns : Columns, optional
        Names of columns of a table.

    Raises
    ------
    ValueError
        If times cannot be read, are missing, or an interval ends before it starts.
    """
    nothing = Intervals(name, np.zeros((0, 2), dtype=np.int64), "")
    if source is None:
        return nothing
    is_table = isinstance(source, (str, os.PathLike, Mapping, Table, ParquetFiles)) or hasattr(source, "columns")
    if not is_table:
        return _of_array(source, nothing)
    try:
        # What Parquet holds is read as a whole: these are lists, not recordings.
        table = read_table(source) if isinstance(source, (str, os.PathLike)) else as_table(source, name=None)
        table = read_table(table.where) if isinstance(table, ParquetFiles) else table
    except NoRowsError:
        stem = os.path.basename(str(source)).split(".")[0] if isinstance(source, (str, os.PathLike)) else ""
        return replace(nothing, where=str(source) if stem else name, name=stem)
    where = table.where if table.from_file else name
    return _of_table(table, where, columns or Columns(), name)


def read_periods(source: object, name: str, columns: Columns | None = None) -> Intervals:
    """Read half-open periods, as `read_intervals` does; one pair alone is one period, and times are none."""
    if isinstance(source, (list, tuple, np.ndarray)) and np.ndim(np.asarray(source, dtype=object)) == 1 and len(source):
        if len(source) != 2:
            raise ValueError(f"{name} must be pairs of from and to; got {in_words(source)}")
        source = [tuple(source)]
    return read_intervals(source, name, columns)


def _of_array(source: object, nothing: Intervals) -> Intervals:
    array = to_numpy(source, nothing.where)
    if not array.size:
        return replace(nothing, kind_of_time=DATES) if array.dtype.kind == "M" else nothing
    if array.ndim != 1 and (array.ndim != 2 or array.shape[1] != 2):
        raise ValueError(
            f"{nothing.where} must be pairs of start and stop, or times; got an array of shape {array.shape}"
        )
    zone = _zone_of(array.ravel()) or getattr(getattr(source, "dtype", None), "time_zone", None)
    numbers, kind = _numbers(array.ravel(), zone, nothing.where)
    bounds = numbers.reshape(-1, 2) if array.ndim == 2 else np.stack([numbers, numbers], axis=1)
    _refuse_reversed(bounds, nothing.where, "index", 0)
    return replace(nothing, bounds=bounds, kind_of_time=kind)


def _of_table(table: Table, where: str, columns: Columns, name: str) -> Intervals:
    def named(role: str, given: str | None, tiers: tuple[tuple[str, ...], ...]) -> str | None:
        if given is not None:
            if given not in table.columns:
                raise missing_column(where, given, table.columns, role)
            return given
        found = guesses.equals(table.columns, tiers)
        if len(found) > 1:
            raise TableError(
                f"{where}: {' and '.join(map(repr, found))} both look like the {role} of {name}; take one of them out"
            )
        return found[0] if found else None

    start = named("start", columns.start, _STARTS)
    stop = named("stop", columns.stop, _STOPS) if columns.stop is not None or start is not None else None
    if start is None:
        start = named("time", None, TIMES)
    if start is None:
        dates = [column for column, kind in table.kinds().items() if kind == "time"]
        if len(dates) != 1:
            raise TableError(
                f"{where}: no column looks like the times of {name}; call one 'time', or two 'start' and 'stop', "
                f"among {listed(list(table.columns), 20)}"
            )
        start = dates[0]
    bounds, kinds = [], []
    for column in (start, stop or start):
        numbers, kind = _column_times(table, where, column)
        bounds.append(numbers)
        kinds.append(kind)
    if kinds[0] != kinds[1]:
        raise TableError(f"{where}: column {start!r} holds {kinds[0]} and {stop!r} {kinds[1]}; write both alike")
    pairs = np.stack(bounds, axis=1)
    _refuse_reversed(pairs, where, "row", 1)

    def texts(role: str, given: str | None, tiers: tuple[tuple[str, ...], ...]) -> npt.NDArray[Any] | None:
        column = named(role, given, tiers)
        return None if column is None else _texts(table.columns[column], where, column)

    return Intervals(
        where,
        pairs,
        kinds[0],
        series=texts("series", columns.series, guesses.SERIES),
        detectors=texts("detector", columns.detector, guesses.DETECTORS),
        kinds=texts("kind", columns.kind, _KINDS),
        name=table.name or "",
        notes=table.notes,
    )


def _texts(column: npt.NDArray[Any], where: str, name: str) -> npt.NDArray[Any]:
    """Names in a column, as text."""
    values = column.tolist()
    absent = _first_missing(column)
    if absent is not None:
        raise TableError(f"{where}: column {name!r} names nothing in row {absent}; fill it in, or take the row out")
    texts = [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values]
    return np.array(texts, dtype=object)


def _first_missing(column: npt.NDArray[Any]) -> int | None:
    """Number of the first row that holds nothing, counted from 1."""
    if column.dtype.kind in "OUT":
        return next((row for row, value in enumerate(column.tolist(), start=1) if is_missing(value)), None)
    missing = np.flatnonzero(column != column)  # NaN and NaT differ from themselves
    return int(missing[0]) + 1 if missing.size else None


def rows_by_name(names: Sequence[Any]) -> dict[Any, npt.NDArray[np.intp]]:
    """Rows of each name, names in order of appearance.

    Examples
    --------
    >>> rows_by_name(["b", "a", "b"])
    {'b': array([0, 2]), 'a': array([1])}
    """
    rows: dict[Any, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    return {name: np.array(found, dtype=np.intp) for name, found in rows.items()}


def _column_times(table: Table, where: str, name: str) -> tuple[Times, str]:
    """Times of a column as numbers, and what they are, as `Intervals.kind_of_time` has it."""
    column = table.columns[name]
    absent = _first_missing(column)
    if absent is not None:
        raise TableError(
            f"{where}: column {name!r} is empty in row {absent}; fill it in (an instant stops as it starts)"
        )
    return _numbers(column, _zone_of(column), f"{where}: column {name!r}")


def _numbers(values: npt.NDArray[Any], zone: object, where: str) -> tuple[Times, str]:
    try:
        numbers, unit = time_numbers(values)
    except (TypeError, ValueError):
        place = next((place for place, value in enumerate(values.tolist()) if not _is_time(value)), 0)
        shown = in_words(values.tolist()[place])
        raise TableError(
            f"{where}: {shown}, number {place + 1} of {values.size}, is neither a date such as 2024-01-31T12:00:00 nor "
            "a number"
        ) from None
    return numbers, "numbers" if unit is None else DATES_WITH_ZONE if zone else DATES


def kind_of_times(values: npt.NDArray[Any], where: str) -> str:
    """What times are, as `Intervals.kind_of_time` has it."""
    return _numbers(values, _zone_of(values), where)[1]


def _is_time(value: object) -> bool:
    try:
        time_numbers(np.array([value]))
    except (TypeError, ValueError):
        return False
    return True


def _zone_of(values: npt.NDArray[Any]) -> bool:
    """Whether dates were written with a time zone; some with and some without are refused."""
    if values.dtype.kind == "M":
        return "zone" in (values.dtype.metadata or ())
    if values.dtype.kind not in "OUT":
        return False
    zoned = [
        _ZONE.search(value) is not None if isinstance(value, str) else getattr(value, "tzinfo", None) is not None
        for value in values.tolist()
    ]
    if any(zoned) and not all(zoned):
        raise TableError(
            f"some dates have a time zone and others have none, {in_words(str(values[zoned.index(False)]))} for "
            "example; write all of them alike"
        )
    return any(zoned)


def _refuse_reversed(bounds: Times, where: str, word: str, first: int) -> None:
    wrong = np.flatnonzero(bounds[:, 1] < bounds[:, 0])
    if wrong.size:
        raise TableError(
            f"{where}: the interval in {word} {int(wrong[0]) + first} ends before it starts ({wrong.size} such); "
            "exchange start and stop"
        )


def common_clock(lists: Sequence[Intervals], time_unit: str | None) -> AlarmClock:
    """Find the clock that several lists are on; refuse lists that are on different ones."""
    known = [one for one in lists if one.kind_of_time]
    for one in known[1:]:
        if one.kind_of_time != known[0].kind_of_time:
            words = [f"{each.where} has {each.kind_of_time}" for each in (known[0], one)]
            if "numbers" in (one.kind_of_time, known[0].kind_of_time):
                raise TableError(f"{words[0]}, and {words[1]}; write all times alike")
            raise TableError(
                f"{words[0]}, and {words[1]}, so that nobody knows how they lie to each other; write both alike"
            )
    if time_unit is not None and (not known or known[0].kind_of_time == "numbers"):
        return AlarmClock(unit_nanoseconds(time_unit, "time_unit"))
    if not known:
        return AlarmClock(1)  # nothing happened: durations of any kind are fine
    if known[0].kind_of_time == "numbers":
        return AlarmClock()
    if time_unit is not None:
        raise TableError("time_unit is for times that are numbers; dates have a unit of their own")
    return AlarmClock(1, has_dates=True)


def as_one_type(lists: Sequence[Intervals]) -> list[Intervals]:
    """Make all bounds integers, or all floats where some are."""
    is_float = any(one.bounds.dtype.kind == "f" for one in lists)
    return [replace(one, bounds=one.bounds.astype(np.float64 if is_float else np.int64)) for one in lists]
