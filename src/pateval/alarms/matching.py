"""Alarms held against incidents on the clock of one series: arrays in, arrays out, no checks.

Times are integers (nanoseconds for dates) or floats. Intervals are arrays of shape (n, 2), closed at both ends;
observed time is a union of half-open periods.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.time.dates import Times
from pateval.validation.arrays import BoolArray, IntArray

Number = int | float | Fraction
# What becomes of an alarm that is neither dropped nor suppressed.
ROLES = ("first", "repeat", "false", "set aside")
FIRST, REPEAT, FALSE, SET_ASIDE = range(4)


@dataclass(frozen=True)
class Policy:
    """How alarms are counted: lengths as given, or in units of the clock; None where there is no such rule."""

    early: Any = 0
    delay: Any = 0
    merge: Any = None
    cooldown: Any = None


@dataclass(frozen=True)
class Observed:
    """Observed time of a series."""

    starts: Times  # of half-open periods in order, apart from each other
    stops: Times
    last: Any  # a single moment after all of them that is observed, too, the end of a closed stretch; None without one
    length: Number

    def first_moments(self, intervals: Times) -> tuple[Times, BoolArray]:
        """The first observed moment of each interval, and whether there is one."""
        starts, stops = intervals[:, 0], intervals[:, 1]
        moments, is_observed = starts.copy(), np.zeros(starts.size, dtype=np.bool_)
        if self.starts.size:
            place = np.searchsorted(self.stops, starts, side="right")
            reached = np.maximum(starts, self.starts[np.minimum(place, self.starts.size - 1)])
            is_observed = (place < self.starts.size) & (reached <= stops)
            moments = np.where(is_observed, reached, starts)
        if self.last is not None:
            at_the_end = ~is_observed & (starts <= self.last) & (self.last <= stops)
            moments[at_the_end] = self.last
            is_observed |= at_the_end
        return moments, is_observed

    def length_within(self, intervals: Times) -> Number:
        """Length of the union of intervals, as far as it is observed."""
        if not len(intervals) or not self.starts.size:
            return 0
        starts, stops = joined(intervals)
        before = np.append(0, np.cumsum(self.stops - self.starts))

        def up_to(times: Times) -> Times:
            place = np.searchsorted(self.starts, times, side="right") - 1
            period = np.maximum(place, 0)
            inside = np.clip(times, self.starts[period], self.stops[period]) - self.starts[period]
            return before[period] + np.where(place >= 0, inside, 0)

        return (up_to(stops) - up_to(starts)).sum().item()


def observed_time(periods: Times | None, ignored: Times, moments: Times) -> Observed:
    """Half-open periods less the ignored ones; without periods, the closed stretch from first to last moment."""
    last = None
    if periods is None:
        if not moments.size:
            return Observed(moments, moments, None, 0)
        first, last = moments.min(), moments.max()
        periods = np.array([[first, last]])
        if ((ignored[:, 0] <= last) & (last < ignored[:, 1])).any():
            last = None
    starts, stops = joined(periods[periods[:, 1] > periods[:, 0]])
    left_out = ignored[ignored[:, 1] > ignored[:, 0]]
    if len(left_out) and starts.size:
        # What is observed changes at these times only; +1 where a period or an ignored one begins, -1 where it ends.
        away, back = joined(left_out)
        times = np.concatenate([starts, stops, back, away])
        change = np.repeat([1, -1, 1, -1], [starts.size, stops.size, back.size, away.size])
        order = np.argsort(times, kind="stable")
        times, depth = times[order], np.cumsum(change[order])
        is_inside = (depth[:-1] == 1) & (times[1:] > times[:-1])
        starts, stops = times[:-1][is_inside], times[1:][is_inside]
    return Observed(starts, stops, last, (stops - starts).sum().item() if starts.size else 0)


def joined(intervals: Times, apart: float = 0) -> tuple[Times, Times]:
    """Starts and stops of the union of intervals, in order; intervals at most so far apart become one."""
    if not len(intervals):
        return intervals[:, 0], intervals[:, 1]
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    latest = np.maximum.accumulate(ordered[:, 1])
    firsts = np.flatnonzero(np.append(True, ordered[1:, 0] > latest[:-1] + apart))
    return ordered[firsts, 0], latest[np.append(firsts[1:], len(ordered)) - 1]


@dataclass(frozen=True)
class Matching:
    """Alarms and incidents of one series, and what became of them."""

    incidents: Times
    is_counted: BoolArray  # whether some moment of the incident is observed; the others are left out
    first_alarm: IntArray  # place of the first alarm of each incident; -1 where it is missed or left out
    times_to_detect: Times  # from the start of each incident to its first alarm; 0 where there is none
    alarms: Times  # after merge and cooldown, in order
    roles: IntArray  # of each alarm, its place in `ROLES`
    dropped: int  # alarms outside observed time
    suppressed: int  # alarms within the cooldown of another
    observed: Observed
    time_in_alarm: Number  # length of the union of the alarms within observed time
    series: str | None
    kinds: npt.NDArray[Any]  # of each incident; None where no column says so

    @property
    def is_found(self) -> BoolArray:
        """Which incidents are found."""
        return self.first_alarm >= 0

    def of_kind(self, kind: str) -> Matching:
        """The same with the incidents of one kind only."""
        names, is_chosen = ("incidents", "is_counted", "first_alarm", "times_to_detect", "kinds"), self.kinds == kind
        return replace(self, **{name: getattr(self, name)[is_chosen] for name in names})


def match(
    alarms: Times,
    incidents: Times,
    observed: Observed,
    policy: Policy,
    *,
    series: str | None = None,
    kinds: npt.NDArray[Any] | None = None,
) -> Matching:
    """Find out which incidents the alarms find, and what each alarm is."""
    limits = whole_lengths(policy, alarms, incidents)
    is_counted = observed.first_moments(incidents)[1]
    moments, is_observed = observed.first_moments(alarms)
    kept = np.stack([moments, alarms[:, 1]], axis=1)[is_observed]
    kept = kept[np.lexsort((kept[:, 1], kept[:, 0]))]
    if limits.merge is not None:
        kept = np.stack(joined(kept, limits.merge), axis=1)
    merged = len(kept)
    if limits.cooldown is not None:
        kept = kept[_outside_cooldown(kept[:, 0], limits.cooldown)]
    windows = np.stack([incidents[:, 0] - limits.early, incidents[:, 1] + limits.delay], axis=1)
    first_alarm = np.where(is_counted, _first_meeting(kept, windows), -1)
    is_found = first_alarm >= 0
    times = np.zeros(len(incidents), dtype=incidents.dtype)
    early = policy.early if isinstance(policy.early, int) else float(policy.early)
    if is_found.any():
        after = kept[first_alarm[is_found], 0] - incidents[is_found, 0]
        times = times.astype(np.result_type(after, early))
        times[is_found] = np.maximum(after, -early)
    roles = np.full(len(kept), FALSE)
    in_order = np.argsort(windows[:, 0])
    for role, is_of_role in ((SET_ASIDE, ~is_counted), (REPEAT, is_counted)):
        own = in_order[is_of_role[in_order]]
        roles[_first_meeting(windows[own], kept) >= 0] = role
    roles[first_alarm[is_found]] = FIRST
    dropped, suppressed = int(np.count_nonzero(~is_observed)), merged - len(kept)
    kinds = np.full(len(incidents), None) if kinds is None else kinds
    length = observed.length_within(kept)
    return Matching(
        incidents, is_counted, first_alarm, times, kept, roles, dropped, suppressed, observed, length, series, kinds
    )


def whole_lengths(policy: Policy, alarms: Times, incidents: Times) -> Policy:
    """Lengths that compare with the times as the given ones do, and can be added to them."""
    if alarms.dtype.kind != "i" or incidents.dtype.kind != "i":
        return Policy(**{name: None if length is None else float(length) for name, length in vars(policy).items()})
    # Nothing happens between two ticks, and none is longer than all of the times together, so that no sum overflows.
    times = [int(limit) for array in (alarms, incidents) if array.size for limit in (array.min(), array.max())]
    span = max(times) - min(times) + 1 if times else 0
    cooldown = None if policy.cooldown is None else min(math.ceil(policy.cooldown), span)
    merge = None if policy.merge is None else min(math.floor(policy.merge), span)
    return Policy(min(math.floor(policy.early), span), min(math.floor(policy.delay), span), merge, cooldown)


def _outside_cooldown(starts: Times, cooldown: Number) -> IntArray:
    """Places of the alarms that start no sooner than ``cooldown`` after the last one kept."""
    times, kept, place = starts.tolist(), [], 0
    while place < len(times):
        kept.append(place)
        place = bisect_left(times, times[place] + cooldown, place + 1)
    return np.array(kept, dtype=np.intp)


def _first_meeting(intervals: Times, windows: Times) -> IntArray:
    """Place of the first of some intervals, in order of their starts, that meets each window; -1 where none does."""
    if not len(intervals):
        return np.full(len(windows), -1)
    # The first that stops late enough for the window: the earliest of all that do, so if it starts too late, all do.
    place = np.searchsorted(np.maximum.accumulate(intervals[:, 1]), windows[:, 0], side="left")
    start = intervals[np.minimum(place, len(intervals) - 1), 0]
    return np.where((place < len(intervals)) & (start <= windows[:, 1]), place, -1)
