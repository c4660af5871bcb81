"""Scores per step as alarms: what is flagged, how long each step counts, and where the incidents lie."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from pateval.alarms.clock import AlarmClock
from pateval.alarms.judgement import AlarmJudgement
from pateval.alarms.matching import Number, Observed, Policy, joined, match, whole_lengths
from pateval.alarms.reading import DATES, Intervals, as_one_type, common_clock, read_intervals
from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.thresholds.false_alarms import step_lengths
from pateval.time.clocks import Times, nanoseconds
from pateval.time.timelines import Recording
from pateval.validation.arrays import BoolArray, FloatArray, IntArray
from pateval.validation.containers import to_numpy
from pateval.validation.wording import in_words


@dataclass(frozen=True)
class CountedSteps:
    """The steps of one series that count.

    Attributes
    ----------
    name : str or None
        The series.
    times : ndarray
        When each step was recorded, on the clock.
    scores : ndarray of float
        Negative infinity where a score is missing and counts as normal.
    is_parted : ndarray of bool
        Whether an alarm ends before each step, at the beginning or at a hole.
    lengths : ndarray of float
        How long each step counts for.
    observed : Observed
        Observed time; its length is exact.
    incidents : Intervals
        Incidents of the series.
    """

    name: str | None
    times: Times
    scores: FloatArray
    is_parted: BoolArray
    lengths: FloatArray
    observed: Observed
    incidents: Intervals

    def alarms(self, threshold: float) -> Times:
        """Runs of flagged steps, from the time of the first to that of the last."""
        return run_times(self.scores >= threshold, self.times, self.is_parted)


@dataclass(frozen=True)
class ScoredSteps:
    """All series, with what is needed to judge them at a threshold."""

    series: tuple[CountedSteps, ...]
    clock: AlarmClock
    policy: Policy
    name: str = "alarms"

    @property
    def size(self) -> int:
        """Number of steps that count."""
        return sum(one.times.size for one in self.series)

    @cached_property
    def observed(self) -> Fraction:
        """Length of observed time, exact."""
        return sum((Fraction(one.observed.length) for one in self.series), Fraction(0))

    @property
    def days(self) -> float:
        """Observed time in days, or in units of time where no unit is known."""
        return float(self.clock.in_rate_units(self.observed))

    def judge(self, threshold: float, within: Number | None = None) -> AlarmJudgement:
        """Judge the alarms at a threshold."""
        parts = []
        for one in self.series:
            alarms, incidents = as_one_type([Intervals("", one.alarms(threshold), ""), one.incidents])
            part = match(
                alarms.bounds, incidents.bounds, one.observed, self.policy, series=one.name, kinds=one.incidents.kinds
            )
            # Each step is in alarm as long as it counts for, up to the next one.
            place = np.searchsorted(part.alarms[:, 0], one.times, side="right") - 1
            latest = np.maximum.accumulate(part.alarms[:, 1]) if len(part.alarms) else part.alarms[:, 1]
            inside = (place >= 0) & (one.times <= latest[place]) if len(part.alarms) else np.zeros(0, dtype=np.intp)
            length = float(one.lengths[inside].sum())
            parts.append(replace(part, time_in_alarm=length))
        name = f"{self.name} >= {threshold:.6g}" if math.isfinite(threshold) else f"{self.name}, never"
        return AlarmJudgement.of(parts, self.clock, within, name=name)

    @cached_property
    def thresholds(self) -> FloatArray:
        """Distinct scores, ascending."""
        scores = np.concatenate([one.scores for one in self.series])
        found: FloatArray = np.unique(scores[scores > -np.inf])
        return found

    @property
    def lowest_candidate(self) -> int:
        """Rank of the lowest threshold that does not flag every step."""
        return 0 if any((one.scores == -np.inf).any() for one in self.series) else 1

    @cached_property
    def times(self) -> Times:
        """Times of all steps."""
        return np.concatenate([one.times for one in self.series])

    @cached_property
    def incident_starts(self) -> Times:
        """Starts of all incidents."""
        return np.concatenate([one.incidents.bounds[:, 0] for one in self.series])

    @cached_property
    def lengths(self) -> FloatArray:
        """Length of each step."""
        return np.concatenate([one.lengths for one in self.series])

    @cached_property
    def levels(self) -> AlarmLevels:
        """What happens at which rank of the thresholds."""
        scores = np.concatenate([one.scores for one in self.series])
        ranks = np.searchsorted(self.thresholds, scores)
        ranks[scores == -np.inf] = NEVER
        sizes = [one.times.size for one in self.series]
        series = np.repeat(np.arange(len(sizes)), sizes)
        is_parted = np.concatenate([one.is_parted for one in self.series])
        merge = whole_lengths(self.policy, self.times, self.times).merge
        bridges = bridge_levels(ranks, is_parted, self.times, series, None if merge is None else _number(merge))
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
        return AlarmLevels(
            ranks,
            self.thresholds.size,
            covers,
            bridges,
            np.concatenate(firsts),
            np.concatenate(lasts),
            np.concatenate(neighbours),
            np.concatenate(counted),
        )


def scored_steps(
    recording: Recording,
    incidents: object,
    *,
    names: list[str] | None,
    clock: AlarmClock,
    policy: Policy,
    labels_given: bool,
    name: str = "alarms",
) -> ScoredSteps:
    """Turn a recording into steps of series, each with its incidents: given ones, or runs of its labels."""
    starts = [*recording.starts.tolist(), len(recording.labels)]
    given = None if labels_given else _given_incidents(incidents, names, clock)
    found = []
    for place, (first, last) in enumerate(pairwise(starts)):
        series = None if names is None else names[place]
        listed = None if given is None else given[series]
        found.append(_series_steps(recording, slice(first, last), series, listed))
    return ScoredSteps(tuple(one for one in found if one is not None), clock, policy, name)


def _given_incidents(incidents: object, names: list[str] | None, clock: AlarmClock) -> dict[str | None, Intervals]:
    """Incidents by series: a list for the only one, a mapping of lists, or a table with a column of series."""
    if isinstance(incidents, Intervals):
        listed = incidents
    elif isinstance(incidents, Mapping) and names is not None and set(incidents) <= set(names):
        lists: dict[str | None, Intervals] = {
            name: read_intervals(incidents.get(name), f"incidents of {name!r}") for name in names
        }
        _require_clock([*lists.values()], clock)
        return lists
    else:
        listed = read_intervals(incidents, "incidents")
    _require_clock([listed], clock)
    if names is None or (listed.series is None and len(names) == 1):
        return {None: listed, **({} if names is None else {names[0]: listed})}
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
    steps = Intervals("the scores", np.zeros((0, 2), dtype=np.int64), DATES if clock.has_dates else "numbers")
    known = [one for one in lists if one.kind_of_time]
    if clock.has_dates and any(one.kind_of_time != "numbers" for one in known):
        return  # both are in universal time
    common_clock([steps, *known], None)


def _series_steps(
    recording: Recording, steps: slice, name: str | None, incidents: Intervals | None
) -> CountedSteps | None:
    size = steps.stop - steps.start
    clock = recording.clock
    times = np.arange(size) if clock is None else clock.times[steps]
    is_hole = np.zeros(size, dtype=np.bool_)  # before each step
    if clock is not None and recording.max_gap is not None:
        longest = clock.length(nanoseconds(recording.max_gap, "max_gap"))
        is_hole[1:] = np.diff(times) > longest + clock.tolerance
    lengths, usual = (np.ones(size, dtype=np.int64), Fraction(1)) if clock is None else step_lengths(times, is_hole)
    left_out = recording.is_left_out
    counted = np.arange(size) if left_out is None else np.flatnonzero(~left_out[steps])
    if not counted.size:
        return None
    # A hole between two ignored steps parts the steps around them.
    holes = np.cumsum(is_hole)[counted]
    is_parted = np.append(True, holes[1:] > holes[:-1])
    scores = np.asarray(recording.scores, dtype=np.float64)[steps][counted]  # the caller has given scores
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
        marked = recording.labels[steps][counted]
        incidents = Intervals("labels", run_times(marked, kept, is_parted), "")
    incidents = as_one_type([incidents, Intervals("", kept.reshape(-1, 1), "")])[0]
    return CountedSteps(name, kept, scores, is_parted, durations, observed, incidents)


def run_times(is_in: BoolArray, times: Times, is_parted: BoolArray) -> Times:
    """Runs of marked steps, from the time of the first to that of the last; a hole parts them."""
    starts = np.flatnonzero(is_in & (np.append(True, ~is_in[:-1]) | is_parted))
    stops = np.flatnonzero(is_in & np.append(~is_in[1:] | is_parted[1:], True))
    return np.stack([times[starts], times[stops]], axis=1)


def _number(length: Number) -> int | float:
    """A length that NumPy can add to times."""
    return length if isinstance(length, int) else float(length)


def step_series(names: object, starts: IntArray) -> list[str] | None:
    """Names of the series, in order; None where there is one without a name."""
    if names is None:
        return None
    values = to_numpy(names, "series")[starts].tolist()
    try:
        return [str(value) for value in values]
    except Exception:  # whatever an object raises that has no text
        raise TypeError(f"series must be names; got {in_words(values[0])}") from None
