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

from pateval.alarms.clock import AlarmClock
from pateval.alarms.intervals import (
    DATES,
    DATES_WITH_ZONE,
    NOTHING_OBSERVED,
    NUMBERS,
    OF_INCIDENTS,
    Columns,
    Intervals,
    as_one_type,
    common_clock,
    kind_of_dates,
    read_intervals,
    read_periods,
    require_observed,
)
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.matching import Matching, Number, Observed, Policy, joined, match, whole_lengths
from pateval.io import NoRowsError, Reading, ScoredSeries, Table, TableError, expand, guesses, read_table
from pateval.io.plan import make_plan
from pateval.io.units import read_jobs
from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.thresholds.alarm_rates import step_lengths
from pateval.time.clocks import LONG_HOLE, nanoseconds, read_clock
from pateval.time.dates import Times, date_text
from pateval.time.intervals import mark_intervals
from pateval.time.timelines import Recording
from pateval.time.timelines import joined as one_recording
from pateval.validation.arrays import BoolArray, FloatArray

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
    incidents: Intervals

    def judge(self, threshold: float, policy: Policy) -> Matching:
        """Hold the alarms at a threshold against the incidents; each step in alarm counts up to the next one."""
        flagged = run_times(self.scores >= threshold, self.times, self.is_parted)
        alarms, incidents = as_one_type([Intervals("", flagged), self.incidents])
        part = match(
            alarms.bounds, incidents.bounds, self.observed, policy, series=self.name, kinds=self.incidents.kinds
        )
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
        return sum((Fraction(one.observed.length) for one in self.series), Fraction(0))

    @property
    def days(self) -> float:
        """Observed time in days, or in units of time where no unit is known."""
        return self.clock.in_rate_units(self.observed)

    def judge(self, threshold: float, within: Number | None = None) -> AlarmJudgement:
        """Judge the alarms at a threshold."""
        name = f"{self.name} >= {threshold:.6g}" if math.isfinite(threshold) else f"{self.name}, never"
        parts = tuple(one.judge(threshold, self.policy) for one in self.series)
        return AlarmJudgement(parts, self.clock, self.policy, within, name=name)

    def _together(self, name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in self.series])

    @cached_property
    def times(self) -> Times:
        """Times of all steps."""
        return self._together("times")

    @cached_property
    def lengths(self) -> FloatArray:
        """Length of each step."""
        return self._together("lengths")

    @cached_property
    def incident_starts(self) -> Times:
        """Starts of all incidents."""
        return np.concatenate([one.incidents.bounds[:, 0] for one in self.series])

    @cached_property
    def thresholds(self) -> FloatArray:
        """Distinct scores, ascending."""
        scores = self._together("scores")
        return np.unique(scores[scores > -np.inf])

    @property
    def lowest_candidate(self) -> int:
        """Rank of the lowest threshold that does not flag every step."""
        return 0 if any((one.scores == -np.inf).any() for one in self.series) else 1

    @cached_property
    def levels(self) -> AlarmLevels:
        """What happens at which rank of the thresholds."""
        scores = self._together("scores")
        ranks = np.searchsorted(self.thresholds, scores)
        ranks[scores == -np.inf] = NEVER
        sizes = [one.times.size for one in self.series]
        series = np.repeat(np.arange(len(sizes)), sizes)
        merge = whole_lengths(self.policy, self.times, self.times).merge
        bridges = bridge_levels(ranks, self._together("is_parted"), self.times, series, _number(merge))
        covers = np.maximum(ranks, np.minimum(np.append(NEVER, bridges[:-1]), bridges))
        firsts, lasts, neighbours, counted = [], [], [], []
        for offset, one in zip(np.cumsum([0, *sizes[:-1]]).tolist(), self.series, strict=True):
            bounds = one.incidents.bounds
            limits = whole_lengths(self.policy, one.times, bounds)
            first = np.searchsorted(one.times, bounds[:, 0] - _number(limits.early), side="left")
            last = np.searchsorted(one.times, bounds[:, 1] + _number(limits.delay), side="right") - 1
            firsts.append(first + offset)
            lasts.append(last + offset)
            neighbours.append((first <= last) | ((last >= 0) & (first < one.times.size)))
            counted.append(one.observed.first_moments(bounds)[1])
        windows = [np.concatenate(lists) for lists in (firsts, lasts, neighbours, counted)]
        return AlarmLevels(ranks, self.thresholds.size, covers, bridges, *windows)


def _number(length: Any) -> Any:
    """A length that NumPy can add to times."""
    return length if length is None or isinstance(length, int) else float(length)


def scored_steps(
    recording: Recording, incidents: object, *, clock: AlarmClock, policy: Policy, name: str = "alarms"
) -> ScoredSteps:
    """Turn a recording into steps of series, each with its incidents: given ones, or runs of its labels for None."""
    given = None if incidents is None else _given_incidents(incidents, recording.names, clock)
    found = []
    for _, part in recording.series_parts():
        series = part.names[0] if part.names else None
        found.append(_series_steps(part, series, None if given is None else given[series]))
    if all(one is None for one in found):
        raise TableError(NOTHING_OBSERVED)
    return ScoredSteps(tuple(one for one in found if one is not None), clock, clock.policy(policy), name)


def _given_incidents(incidents: object, names: tuple[str, ...], clock: AlarmClock) -> dict[str | None, Intervals]:
    """Incidents by series: a list for the only one, a mapping of lists, or a table with a column of series."""
    if isinstance(incidents, Mapping) and names and set(incidents) <= set(names):
        lists: dict[str | None, Intervals] = {
            name: read_intervals(incidents.get(name), f"incidents of {name!r}") for name in names
        }
        _require_clock([*lists.values()], clock)
        return lists
    listed = incidents if isinstance(incidents, Intervals) else read_intervals(incidents, "incidents")
    _require_clock([listed], clock)
    if not names:
        return {None: listed}
    if listed.series is None and len(names) == 1:
        return {names[0]: listed}
    if listed.series is None and len(listed):
        raise ValueError(
            f"{listed.where} must say which series each incident belongs to, since there are {len(names)}: add a "
            "column 'series', or pass a mapping of series to incidents"
        )
    unknown = [] if listed.series is None else sorted(set(listed.series.tolist()) - set(names))
    if unknown:
        raise ValueError(f"{listed.where} names series {unknown[0]!r}, of which there are no scores")
    return {name: listed.of_series(name) for name in names}


def _require_clock(lists: list[Intervals], clock: AlarmClock) -> None:
    """Refuse incidents on another kind of clock than the steps."""
    known = [one for one in lists if one.kind_of_time]
    if not clock.has_dates or clock.date:
        kind = DATES_WITH_ZONE if clock.has_zone else DATES if clock.has_dates else NUMBERS
        common_clock([Intervals("the scores", kind_of_time=kind, example=clock.date), *known], None)


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
    if incidents is None:
        incidents = Intervals("labels", run_times(recording.labels[counted], kept, is_parted))
    incidents = as_one_type([incidents, Intervals("", kept.reshape(-1, 1))])[0]
    return CountedSteps(name, kept, scores, is_parted, durations, observed, incidents)


def run_times(is_in: BoolArray, times: Times, is_parted: BoolArray) -> Times:
    """Runs of marked steps, from the time of the first to that of the last; a hole parts them."""
    starts = np.flatnonzero(is_in & (np.append(True, ~is_in[:-1]) | is_parted))
    stops = np.flatnonzero(is_in & np.append(~is_in[1:] | is_parted[1:], True))
    return np.stack([times[starts], times[stops]], axis=1)


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

    Without incidents a column of labels marks them; ``stop`` and ``kind`` are columns of theirs. Steps outside the
    periods, and inside the ignored ones, are left out.
    """
    beside = Columns(stop=stop, series=reading.series, kind=kind, time_zone=reading.time_zone, are_hints=True)
    given = None if incidents is None else read_intervals(incidents, "incidents", beside, OF_INCIDENTS)
    periods = None if period is None else read_periods(period, "period", beside)
    ignored = read_periods(ignore, "ignore", beside)
    lists = [one for one in (given, periods, ignored) if one is not None]
    tables = [read_table(path) if given is None else _unlabelled(read_table(path)) for path in expand(list(files))]
    plan = make_plan(tables, reading if given is None else replace(reading, label=_NO_LABELS))
    notes = [note for note in plan.notes if given is None or _NO_LABELS not in note]
    parts: dict[str, list[Recording]] = {}
    clock = AlarmClock()
    for item in read_jobs(plan):
        recording = _recording(item, missing, max_gap)
        recorded = Intervals(item.where, kind_of_time=NUMBERS)
        if item.has_dates and item.time_values is not None:
            kind_of_time = kind_of_dates(item.time_values, reading.time_zone)
            recorded = replace(recorded, kind_of_time=kind_of_time, example=date_text(item.time_values))
        clock = common_clock([recorded, *lists], None if recording.clock is None else reading.time_unit)
        if periods is not None:
            require_observed([item.series], periods)
        recording = _less(recording, item.series, periods, ignored)
        notes += [] if max_gap is not None else _hole_note(recording, item.where, clock)
        parts.setdefault(f"{item.detector} {item.run}".strip(), []).append(recording)
    steps = [
        scored_steps(one_recording(series), given, clock=clock, policy=policy, name=name)
        for name, series in parts.items()
    ]
    return steps, list(dict.fromkeys(notes))


def _recording(item: ScoredSeries, missing: str, max_gap: str | None) -> Recording:
    """The series, by name where a column has names, on its clock; numbers of no unit are a clock, too."""
    found = item.recording(missing=missing, max_gap=max_gap).as_given()  # as incidents are
    found = replace(found, names=() if item.layout.series is None else (item.series,))
    if found.clock is None and item.times is not None:
        return replace(found, clock=read_clock(item.times, len(found.labels), np.zeros(1, dtype=np.intp)))
    return found


def looks_like_scores(path: str | os.PathLike[str]) -> bool:
    """Whether a file has a column that is called like scores, and so is no list of alarms."""
    if not os.path.isfile(path) or not os.path.getsize(path):
        return False  # which whoever reads it says
    try:
        return any(guesses.is_score(name) for name in read_table(path).columns)
    except NoRowsError:
        return False


def _unlabelled(table: Table) -> Table:
    """A table with a column of labels, all zero, since a list of incidents says what is to be found."""
    columns = {name: column for name, column in table.columns.items() if not guesses.is_label(name)}
    return replace(table, columns={**columns, _NO_LABELS: np.zeros(table.rows)})


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
    if longest <= LONG_HOLE * usual:
        return []
    what = f"a hole of {clock.duration(longest.item())}, where steps are {clock.duration(usual)} apart"
    return [f"{where}: {what}, counts as observed; --max-gap ends alarms there and leaves it out"]
