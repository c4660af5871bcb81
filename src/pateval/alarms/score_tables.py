"""Scores per step from files, beside lists of incidents and periods: read as every other command reads them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pateval.alarms.clock import AlarmClock
from pateval.alarms.reading import TIMES, Columns, Intervals, common_clock, kind_of_times, read_intervals, read_periods
from pateval.alarms.scored import ScoredSteps, scored_steps
from pateval.io import Reading, ScoredSeries, Table, expand, guesses, read_table
from pateval.io.batches import read_jobs
from pateval.io.plan import make_plan
from pateval.time.clocks import Duration, read_clock
from pateval.time.intervals import mark_intervals
from pateval.time.timelines import Recording, joined

_LONG_HOLE = 10  # usual intervals; a longer hole is pointed out
_NO_LABELS = "label"  # a column of zeros, where a list of incidents says what is to be found


class ScoreTable(NamedTuple):
    """One detector: its name, its series one after the other, their names where a column has them, and the clock."""

    name: str
    recording: Recording
    series: list[str] | None
    clock: AlarmClock


def read_scored_steps(
    files: Iterable[str | os.PathLike[str]],
    incidents: object,
    reading: Reading,
    *,
    period: object = None,
    ignore: object = None,
    early: Duration | float = 0,
    delay: Duration | float = 0,
    merge: Duration | float | None = None,
    cooldown: Duration | float | None = None,
    max_gap: str | None = None,
    missing: str = "error",
) -> tuple[list[ScoredSteps], list[str]]:
    """Read score files: the steps of each detector, and notes on the liberties taken.

    Parameters
    ----------
    files : iterable of path
        Tables with a row per step.
    incidents : path, table or None
        Incidents; None where a column of labels marks them.
    reading : Reading
        What is known of the columns.
    period, ignore : path, table or pairs, optional
        Half-open periods: steps outside the first and inside the second are left out.
    early, delay, merge, cooldown, max_gap, missing
        As in `alarm_frontier`.
    """
    beside = Columns(series=reading.series)
    given = None if incidents is None else read_intervals(incidents, "incidents", beside)
    periods = None if period is None else read_periods(period, "period", beside)
    ignored = read_periods(ignore, "ignore", beside)
    tables, notes = read_score_tables(
        files, reading, incidents=given, periods=periods, ignored=ignored, max_gap=max_gap, missing=missing
    )
    steps = [
        scored_steps(
            one.recording,
            given,
            names=one.series,
            clock=one.clock,
            policy=one.clock.policy(early, delay, merge, cooldown),
            labels_given=given is None,
            name=one.name,
        )
        for one in tables
    ]
    return steps, notes


def read_score_tables(
    files: Iterable[str | os.PathLike[str]],
    reading: Reading,
    *,
    incidents: Intervals | None = None,
    periods: Intervals | None = None,
    ignored: Intervals | None = None,
    max_gap: str | None = None,
    missing: str = "error",
) -> tuple[list[ScoreTable], list[str]]:
    """Read every detector of some files; labels are needed unless there are incidents."""
    tables = [_with_labels(read_table(path), incidents) for path in expand(list(files))]
    named = reading if incidents is None else replace(reading, label=_NO_LABELS)
    if reading.time is None and (time := _time_column(tables)) is not None:
        named = replace(named, time=time)
    plan = make_plan(tables, named)
    lists = [one for one in (incidents, periods, ignored) if one is not None]
    parts: dict[str, list[tuple[ScoredSeries, Recording]]] = {}
    notes, clock = [note for note in plan.notes if incidents is None or _NO_LABELS not in note], AlarmClock()
    for job, item in read_jobs(plan):
        table, column = tables[job.source], plan.layouts[job.source].time
        kind = (
            "numbers" if column is None else kind_of_times(table.columns[column], f"{table.where}: column {column!r}")
        )
        steps = Intervals(table.where, np.zeros((0, 2), dtype=np.int64), kind)
        clock = common_clock([steps, *lists], None if column is None else reading.time_unit)
        recording = item.recording(missing=missing, max_gap=max_gap)
        if recording.clock is None and item.times is not None:  # numbers of no unit are a clock, too
            start = np.zeros(1, dtype=np.intp)
            recording = replace(recording, clock=read_clock(item.times, len(recording.labels), start))
        recording = _less(recording, item.series, periods, ignored)
        notes += [] if max_gap is not None else _hole_note(recording, table.where, clock)
        parts.setdefault(f"{job.detector} {job.run}".strip(), []).append((item, recording))
    found = []
    for name, series in parts.items():
        names = [item.series for item, _ in series] if series[0][0].layout.series is not None else None
        found.append(ScoreTable(name, joined([recording for _, recording in series]), names, clock))
    return found, list(dict.fromkeys(notes))


def looks_like_scores(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a column that is called like scores, and so is no list of alarms."""
    return any(guesses.is_score(name) for name in read_table(path).columns)


def _with_labels(table: Table, incidents: Intervals | None) -> Table:
    """A table with a column of labels, all zero, where incidents say what is to be found."""
    if incidents is None:
        return table
    columns = {name: column for name, column in table.columns.items() if not guesses.is_label(name)}
    return replace(table, columns={**columns, _NO_LABELS: np.zeros(table.rows)})


def _time_column(tables: Sequence[Table]) -> str | None:
    """The column of times, by the names it has in other languages, too."""
    names = [guesses.equals(table.columns, TIMES) for table in tables]
    return names[0][0] if all(len(one) == 1 and one == names[0] for one in names) else None


def _less(recording: Recording, series: str, periods: Intervals | None, ignored: Intervals | None) -> Recording:
    """Leave out the steps outside the periods, and those inside the ignored ones."""
    times = np.arange(len(recording.labels)) if recording.clock is None else recording.clock.times
    mask = np.zeros(times.size, dtype=np.bool_) if recording.ignore is None else recording.ignore
    if periods is not None:
        mask = mask | ~mark_intervals(periods.of_series(series).bounds, times, False)[0]
    if ignored is not None and len(ignored):
        mask = mask | mark_intervals(ignored.of_series(series).bounds, times, False)[0]
    return replace(recording, ignore=mask if mask.any() else None)


def _hole_note(recording: Recording, where: str, clock: AlarmClock) -> list[str]:
    """Point out a hole far longer than the usual interval."""
    usual = None if recording.clock is None else recording.clock.median_interval()
    if recording.clock is None or usual is None:
        return []
    longest: Any = np.diff(recording.clock.times).max()
    if longest <= _LONG_HOLE * usual:
        return []
    what = f"a hole of {clock.duration(longest.item())}, where steps are {clock.duration(usual)} apart"
    return [f"{where}: {what}, counts as observed; --max-gap ends alarms there and leaves it out"]
