"""Anomalies, or what to ignore, in a file of their own: a row with start and stop for each, in steps or in times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.io import guesses
from pateval.io.content import TableError
from pateval.io.source import Table, missing_places, names_in
from pateval.labels.classes import as_text
from pateval.time.dates import (
    ZONE_REMEDY,
    MixedZonesError,
    Times,
    date_text,
    has_zone,
    is_time,
    time_numbers,
    why_no_time,
)
from pateval.time.intervals import mark_intervals
from pateval.validation.arrays import BoolArray, IntArray
from pateval.validation.wording import in_words, listed


@dataclass(frozen=True)
class EventIntervals:
    """Where anomalies lie: for each series (None where the file names none) triples of start, stop and row number.

    Start and stop are times, dates in nanoseconds, or step numbers counted from 0. If ``closed``, the stop belongs to
    the anomaly.
    """

    where: str
    by_series: tuple[tuple[str | None, tuple[tuple[float, float, int], ...]], ...]
    in_time: bool
    has_dates: bool
    closed: bool
    columns: tuple[str, str] = ("start", "stop")
    notes: tuple[str, ...] = ()
    has_zone: bool = False  # whether dates were written with a time zone, as in the example
    example: str = ""
    word: str = "event"  # what messages call one of them
    kinds: tuple[str, ...] = ()  # of each row, where a column says so

    def describe(self) -> str:
        """Say in one line how the file was understood."""
        number = sum(len(events) for _, events in self.by_series)
        start, stop = self.columns
        unit = "time" if self.in_time else "steps, the first being 0"
        reach = "up to and with" if self.closed else "up to but without"
        what = f"{number} {self.word}{'s' if number > 1 else ''}"
        return f"{self.where}: {what} in {unit}: from {start!r} {reach} {stop!r}"

    def require_zone_of(self, dates: Times, where: str) -> None:
        """Refuse dates of the data that have a time zone where these have none, or the other way round."""
        if not self.has_dates or self.has_zone == has_zone(dates):
            return
        with_zone, without = f"{where} {date_text(dates)}", f"{self.where} {self.example}"
        if self.has_zone:
            with_zone, without = without, with_zone
        raise TableError(
            f"{self.where}: of its dates and those of the data some have a time zone and others have none, in "
            f"{with_zone} and in {without} for example; {ZONE_REMEDY}"
        )

    @property
    def series(self) -> set[str]:
        """The series that are named."""
        return {name for name, _ in self.by_series if name is not None}

    def labels(self, series: str, size: int, times: Times | None) -> BoolArray:
        """Label the steps of one series.

        Refused is an interval that holds no step of the series, which would lose an anomaly without a word; and one in
        steps that begins or ends between two of them, before the first or after the last.
        """
        marked, counts, bounds, rows = self._marked(series, size, times)
        starts, stops = bounds.T
        faults = {"holds no step": counts <= 0}
        if not self.in_time:
            faults |= {
                f"reaches beyond the {size} steps": stops > size - self.closed,
                "begins before the first step": starts < 0,
                "begins or ends between two steps": (starts % 1 != 0) | (stops % 1 != 0),
            }
        for what, wrong in faults.items():
            if wrong.any():
                of_data = f"series {series!r}" if self.series else "the data"
                row = int(rows[np.argmax(wrong)])
                raise TableError(
                    f"{self.where}: the event in row {row} {what} of {of_data}; correct it, or take it out"
                )
        return marked

    def ignored(self, series: str, size: int, times: Times | None) -> BoolArray:
        """Mark the steps of one series that lie in these intervals, which may well hold none of them."""
        return self._marked(series, size, times)[0]

    def classes(self, series: str, size: int, times: Times | None) -> npt.NDArray[Any]:
        """The kind of event that each step of one series lies in, of several the first in the file; blank outside."""
        if not self.kinds:
            raise TableError(f"{self.where}: no column tells kinds of {self.word}s apart; call one 'kind'")
        kinds = np.full(size, "", dtype=object)
        for name, intervals in reversed(self.by_series):
            for interval in reversed(intervals) if name in (None, series) else ():
                alone = replace(self, by_series=((name, (interval,)),))
                kinds[alone.ignored(series, size, times)] = self.kinds[interval[2] - 1]
        return kinds

    def _marked(self, series: str, size: int, times: Times | None) -> tuple[BoolArray, IntArray, Times, IntArray]:
        """Mark steps; also return how many each interval holds, its start and stop, and its row in the file."""
        own = [interval for name, intervals in self.by_series if name in (None, series) for interval in intervals]
        bounds = np.array([(start, stop) for start, stop, _ in own]).reshape(-1, 2)
        positions = np.arange(size) if not self.in_time or times is None else times
        marked, counts = mark_intervals(bounds, positions, self.closed)
        return marked, counts, bounds, np.array([row for _, _, row in own], dtype=np.intp)


def read_events(table: Table, word: str, *, closed: bool, series: str | None, time_zone: str | None) -> EventIntervals:
    """Read a table of anomalies: columns of start and stop, and of series where there are several.

    If ``closed``, the stop belongs to the anomaly. ``series`` is the column that names series in the data; it is looked
    for here by this name, too. Dates without a time zone were recorded in ``time_zone``. The word is what messages call
    one of them.
    """
    start, stop = _column(table, guesses.STARTS, "start", word), _column(table, guesses.STOPS, "stop", word)
    key = series if series in table.columns else guesses.only(table.columns, guesses.SERIES, table.where, "series")
    starts, dates = _bounds(table, start, time_zone)
    stops, stop_dates = _bounds(table, stop, time_zone)
    if dates != stop_dates:
        raise TableError(
            f"{table.where}: of columns {start!r} and {stop!r} one holds dates and the other numbers; write both alike"
        )
    zoned = [has_zone(table.columns[name]) for name in (start, stop)] if dates and time_zone is None else [False, False]
    if zoned[0] != zoned[1]:
        first, other = (start, stop) if zoned[0] else (stop, start)
        raise TableError(
            f"{table.where}: dates of column {first!r} have a time zone, {date_text(table.columns[first])}, and those "
            f"of {other!r} have none, {date_text(table.columns[other])}; {ZONE_REMEDY}"
        )
    wrong = np.flatnonzero(stops < starts if closed else stops <= starts)
    if wrong.size:
        row = int(wrong[0])
        again = stops[row] == starts[row]
        hint = "if the stop belongs to the event, say --closed-events" if word == "event" else "the stop is not ignored"
        what = f"is empty; {hint}" if again else "ends before it starts; exchange the two"
        raise TableError(f"{table.where}: the {word} in row {row + 1} {what}")
    names = [None] * table.rows if key is None else names_in(table.columns[key], key, table.where)
    by_series: dict[str | None, list[tuple[float, float, int]]] = {}
    for row, (name, first, last) in enumerate(zip(names, starts.tolist(), stops.tolist(), strict=True), start=1):
        by_series.setdefault(name, []).append((first, last, row))
    return EventIntervals(
        table.where,
        tuple((name, tuple(found)) for name, found in by_series.items()),
        in_time=dates,
        has_dates=dates,
        closed=closed,
        columns=(start, stop),
        notes=table.notes,
        has_zone=zoned[0],
        example=date_text(table.columns[start]) if dates else "",
        word=word,
        kinds=_kinds(table),
    )


def _kinds(table: Table) -> tuple[str, ...]:
    """What a column says of the kind of each row; nothing where no column, or more than one, looks like it."""
    columns = guesses.equals(table.columns, guesses.KINDS)
    return tuple(map(as_text, table.columns[columns[0]].tolist())) if len(columns) == 1 else ()


def _column(table: Table, tiers: tuple[tuple[str, ...], ...], role: str, word: str) -> str:
    names = guesses.equals(table.columns, tiers)
    if len(names) != 1:
        shown = listed(list(table.columns), 8)
        what = f"{' and '.join(map(repr, names))} both look like" if names else "no column looks like"
        raise TableError(f"{table.where}: {what} the {role} of {word}s; call one {role!r} among {shown}")
    return names[0]


def _bounds(table: Table, name: str, time_zone: str | None) -> tuple[Times, bool]:
    """Starts or stops as numbers, and whether they are dates."""
    column = table.columns[name]
    absent = missing_places(column)
    if absent.size:
        raise TableError(
            f"{table.where}: column {name!r} is empty in row {absent[0] + 1}; write both a start and a stop"
        )
    try:
        numbers, unit = time_numbers(column, zone=time_zone)
    except MixedZonesError as error:
        raise TableError(f"{table.where}: column {name!r}: {error.in_rows(lambda place: place + 1)}") from error
    except (TypeError, ValueError) as error:
        wrong = next((value for value in column if not is_time(value)), None)
        why = error if wrong is None else f"{in_words(str(wrong))} {why_no_time(wrong)}"
        raise TableError(f"{table.where}: column {name!r}: {why}") from None
    return numbers, unit is not None
