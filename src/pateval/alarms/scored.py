"""Scores per step as alarms: what is flagged, how long each step counts, and where the incidents lie."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.alarms.clock import AlarmClock
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.lists import (
    NOTHING_OBSERVED,
    OF_INCIDENTS,
    Intervals,
    ListReader,
    common_clock,
    recorded_times,
    require_observed,
)
from pateval.alarms.matching import Matching, Number, Observed, Policy, joined, match, whole_lengths
from pateval.io import NoRowsError, Reading, ScoredSeries, Table, TableError, expand, guesses, read_table
from pateval.io.plan import make_plan
from pateval.io.units import read_jobs
from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.labels.events import find_events
from pateval.thresholds.alarm_rates import step_lengths
from pateval.time.clocks import LONG_HOLE, nanoseconds, read_clock
from pateval.time.dates import Times
from pateval.time.intervals import mark_intervals
from pateval.time.timelines import Recording
from pateval.time.timelines import joined as one_recording
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

_NO_LABELS = "label"  # a column of zeros, where a list of incidents says what is to be found


@dataclass(frozen=True)
class CountedSteps:
    """The steps of one series that count."""

    name: str | None  # of the series
    times: Times  # when each step was recorded, on the clock
    scores: FloatArray  # negative infinity where a score is missing and counts as normal
    is_parted: BoolArray  # whether an alarm ends before each step, at the beginning or at a hole
    lengths: FloatArray  # how long each step counts for
    observed: Observed  # its length is exact
    incidents: Times
    kinds: npt.NDArray[Any] | None  # of the incidents

    def judge(self, threshold: float, policy: Policy) -> Matching:
        """Hold the alarms at a threshold against the incidents; each step in alarm counts up to the next one."""
        flagged = _run_times(self.scores >= threshold, self.times, self.is_parted).astype(self.incidents.dtype)
        part = match(flagged, self.incidents, self.observed, policy, series=self.name, kinds=self.kinds)
        in_alarm, _ = mark_intervals(part.alarms, self.times, True)
        return replace(part, time_in_alarm=float(self.lengths[in_alarm].sum()))


@dataclass(frozen=True)
class ScoredSteps:
    """All series, with what is needed to judge them at a threshold."""

    series: tuple[CountedSteps, ...]
    clock: AlarmClock
    policy: Policy
    name: str = "alarms"

    @cached_property
    def observed(self) -> Fraction:
        """Length of observed time, exact."""
        return sum((Fraction(steps.observed.length) for steps in self.series), Fraction(0))

    @property
    def days(self) -> float:
        """Observed time in days, or in units of time where no unit is known."""
        return self.clock.in_rate_units(self.observed)

    def judge(self, threshold: float, within: Number | None = None) -> AlarmJudgement:
        """Judge the alarms at a threshold."""
        name = f"{self.name} >= {threshold:.6g}" if math.isfinite(threshold) else f"{self.name}, never"
        parts = tuple(steps.judge(threshold, self.policy) for steps in self.series)
        return AlarmJudgement(parts, self.clock, self.policy, within, name=name)

    def joined(self, name: str) -> Any:
        """What is known of each step, of all series one after the other."""
        return np.concatenate([getattr(steps, name) for steps in self.series])

    @cached_property
    def thresholds(self) -> FloatArray:
        """Distinct scores, ascending."""
        scores = self.joined("scores")
        return np.unique(scores[scores > -np.inf])

    @property
    def lowest_candidate(self) -> int:
        """Rank of the lowest threshold that does not flag every step."""
        return 0 if any((steps.scores == -np.inf).any() for steps in self.series) else 1

    def ranks(self, scores: FloatArray) -> IntArray:
        """Places of scores among the thresholds; `NEVER` where a score is missing."""
        return np.where(scores == -np.inf, NEVER, np.searchsorted(self.thresholds, scores))

    @cached_property
    def false_alarms(self) -> IntArray:
        """How many alarms meet no incident, counted or left out, at the rank of each threshold."""
        return self.levels.outside(np.ones(self.levels.is_counted.size, dtype=np.bool_))

    @cached_property
    def levels(self) -> AlarmLevels:
        """What happens at which rank of the thresholds."""
        ranks, times = self.ranks(self.joined("scores")), self.joined("times")
        sizes = [steps.times.size for steps in self.series]
        series = np.repeat(np.arange(len(sizes)), sizes)
        merge: Any = whole_lengths(self.policy, times, times).merge
        bridges = bridge_levels(ranks, self.joined("is_parted"), times, series, merge)
        covers = np.maximum(ranks, np.minimum(np.append(NEVER, bridges[:-1]), bridges))
        windows, offset = [], 0
        for steps in self.series:
            times, incidents = steps.times, steps.incidents
            limits: Any = whole_lengths(self.policy, times, incidents)
            first = np.searchsorted(times, incidents[:, 0] - limits.early, side="left")
            last = np.searchsorted(times, incidents[:, 1] + limits.delay, side="right") - 1
            has_neighbours = (first <= last) | ((last >= 0) & (first < times.size))
            is_counted = steps.observed.first_moments(incidents)[1]
            windows.append((first + offset, last + offset, has_neighbours, is_counted))
            offset += times.size
        return AlarmLevels(
            ranks, self.thresholds.size, covers, bridges, *map(np.concatenate, zip(*windows, strict=True))
        )


def scored_steps(
    recording: Recording,
    incidents: Mapping[str | None, Intervals] | None,
    *,
    clock: AlarmClock,
    policy: Policy,
    name: str = "alarms",
) -> ScoredSteps:
    """Turn a recording into steps of series, each with its incidents: given ones, or runs of its labels for None."""
    series = []
    for part in recording.parts():
        series_name = part.names[0] if part.names else None
        steps = _series_steps(part, series_name, None if incidents is None else incidents[series_name])
        if steps is not None:
            series.append(steps)
    if not series:
        raise TableError(NOTHING_OBSERVED)
    return ScoredSteps(tuple(series), clock, clock.policy(policy), name)


def incidents_by_series(incidents: Intervals, names: tuple[str, ...]) -> dict[str | None, Intervals]:
    """Incidents of each series with scores; of the only one where there are no names."""
    if not names:
        return {None: incidents}
    if "series" not in incidents.names and len(names) == 1:
        return {names[0]: incidents}
    if "series" not in incidents.names and len(incidents):
        raise ValueError(
            f"{incidents.where} must say which series each incident belongs to, since there are {len(names)}: add a "
            "column 'series', or pass a mapping of series to incidents"
        )
    unknown = sorted(incidents.by_series.keys() - set(names))
    if unknown:
        raise ValueError(f"{incidents.where} names series {unknown[0]!r}, of which there are no scores")
    return {name: incidents.of_series(name) for name in names}


def _series_steps(recording: Recording, name: str | None, incidents: Intervals | None) -> CountedSteps | None:
    """The steps of one series that count; None where there are none."""
    size, clock = len(recording.labels), recording.clock
    times = np.arange(size) if clock is None else clock.times
    is_hole = np.zeros(size, dtype=np.bool_)  # before each step
    if clock is not None and recording.max_gap is not None:
        longest = clock.length(nanoseconds(recording.max_gap, "max_gap"))
        is_hole[1:] = np.diff(times) > longest + clock.tolerance
    lengths, usual = (np.ones(size, dtype=np.int64), Fraction(1)) if clock is None else step_lengths(times, is_hole)
    left_out = recording.is_left_out
    counted = np.arange(size) if left_out is None else np.flatnonzero(~left_out)
    if not counted.size:
        return None
    # A hole between two ignored steps parts the steps around them.
    holes = np.cumsum(is_hole)[counted]
    is_parted = np.append(True, holes[1:] > holes[:-1])
    scores = np.asarray(recording.scores, dtype=np.float64)[counted]  # the caller has given scores
    scores = np.where(np.isnan(scores), -np.inf, scores)
    kept, is_usual = times[counted], lengths[counted] < 0
    durations = np.where(is_usual, float(usual), lengths[counted])
    with np.errstate(over="ignore"):
        whole = (lengths[counted] if times.dtype.kind == "i" else durations)[~is_usual].sum().item()
    if not math.isfinite(whole):
        raise ValueError("times must lie within what a number can hold; their differences add up to infinity")
    total = Fraction(whole) + int(np.count_nonzero(is_usual)) * usual
    ends = kept + (np.ceil(durations).astype(np.int64) if times.dtype.kind == "i" else durations)
    opened, closed = joined(np.stack([kept, ends], axis=1))
    has_length = closed > opened
    last = None if has_length.all() else kept[-1]
    observed = Observed(opened[has_length], closed[has_length], last, total)
    bounds = _run_times(recording.labels[counted], kept, is_parted) if incidents is None else incidents.bounds
    bounds = bounds.astype(np.result_type(bounds, kept))
    kinds = None if incidents is None else incidents.names.get("kind")
    return CountedSteps(name, kept, scores, is_parted, durations, observed, bounds, kinds)


def _run_times(is_marked: BoolArray, times: Times, is_parted: BoolArray) -> Times:
    """Runs of marked steps, from the time of the first to that of the last; a hole parts them."""
    events = find_events(is_marked, cuts=np.flatnonzero(is_parted)[1:])
    return np.stack([times[events.starts], times[events.stops - 1]], axis=1)


def read_scored_steps(
    files: Iterable[str | os.PathLike[str]],
    incidents: object,
    reading: Reading,
    policy: Policy,
    *,
    period: object = None,
    ignore: object = None,
    stop: str | None = None,
    kind: str | None = None,
    max_gap: str | None = None,
    missing: str = "error",
) -> tuple[list[ScoredSteps], list[str]]:
    """Read score files, as every other command does: the steps of each detector, and notes on the liberties taken.

    Without incidents a column of labels marks them; ``stop`` and ``kind`` are columns of theirs.
    """
    reader = ListReader(stop=stop, series=reading.series, kind=kind, time_zone=reading.time_zone, are_hints=True)
    given = None if incidents is None else reader.read(incidents, "incidents", OF_INCIDENTS)
    periods = None if period is None else reader.read_periods(period, "period")
    ignored = reader.read_periods(ignore, "ignore")
    lists = [intervals for intervals in (given, periods, ignored) if intervals is not None]
    tables = [read_table(path) if given is None else _unlabelled(read_table(path)) for path in expand(list(files))]
    plan = make_plan(tables, reading if given is None else replace(reading, label=_NO_LABELS))
    notes = [note for note in plan.notes if given is None or _NO_LABELS not in note]
    parts: dict[str, list[Recording]] = {}
    clock = AlarmClock()
    for item in read_jobs(plan):
        recording = _recording(item, missing, max_gap)
        recorded = recorded_times(item.where, item.time_values if item.has_dates else None, reading.time_zone)
        clock = common_clock([recorded, *lists], None if recording.clock is None else reading.time_unit)
        if periods is not None:
            require_observed([item.series], periods)
        recording = _less(recording, item.series, periods, ignored)
        notes += [] if max_gap is not None else _hole_note(recording, item.where, clock)
        parts.setdefault(f"{item.detector} {item.run}".strip(), []).append(recording)
    steps = []
    for name, series in parts.items():
        whole = one_recording(series)
        to_find = None if given is None else incidents_by_series(given, whole.names)
        steps.append(scored_steps(whole, to_find, clock=clock, policy=policy, name=name))
    return steps, list(dict.fromkeys(notes))


def _recording(item: ScoredSeries, missing: str, max_gap: str | None) -> Recording:
    """The series, by name where a column has names, on its clock; numbers of no unit are a clock, too."""
    recording = item.recording(missing=missing, max_gap=max_gap).as_given()  # as incidents are
    recording = replace(recording, names=() if item.layout.series is None else (item.series,))
    if recording.clock is None and item.times is not None:
        return replace(recording, clock=read_clock(item.times, len(recording.labels), np.zeros(1, dtype=np.intp)))
    return recording


def looks_like_scores(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a column that is called like scores, and so is no list of alarms."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return False  # which whoever reads it says
    try:
        return any(guesses.is_called(name, "score") for name in read_table(path).columns)
    except NoRowsError:
        return False


def _unlabelled(table: Table) -> Table:
    """A table with a column of labels, all zero, since a list of incidents says what is to be found."""
    columns = {name: column for name, column in table.columns.items() if not guesses.is_called(name, "label")}
    return replace(table, columns={**columns, _NO_LABELS: np.zeros(table.rows)})


def _less(recording: Recording, series: str, periods: Intervals | None, ignored: Intervals) -> Recording:
    """Leave out the steps outside the periods, and those inside the ignored ones."""
    times = np.arange(len(recording.labels)) if recording.clock is None else recording.clock.times
    is_out, _ = mark_intervals(ignored.of_series(series).bounds, times, False)
    if periods is not None:
        is_out = is_out | ~mark_intervals(periods.of_series(series).bounds, times, False)[0]
    if recording.ignore is not None:
        is_out = is_out | recording.ignore
    return replace(recording, ignore=is_out if is_out.any() else None)


def _hole_note(recording: Recording, where: str, clock: AlarmClock) -> list[str]:
    """Point out a hole far longer than the usual interval."""
    usual = None if recording.clock is None else recording.clock.median_interval()
    if recording.clock is None or usual is None:
        return []
    longest: Any = np.diff(recording.clock.times).max()
    if longest <= LONG_HOLE * usual:
        return []
    what = f"a hole of {clock.duration(longest.item())}, where steps are {clock.duration(usual)} apart"
    return [f"{where}: {what}, counts as observed; --max-gap ends alarms there and leaves it out"]
