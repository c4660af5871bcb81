"""Alarms at every threshold at once: how many there are, how many are false, and which incidents they find.

Scores stand as ranks among the distinct scores; at the threshold of rank k the steps with a rank of at least k are
flagged. Steps that count stand side by side, all series together; a *cut* lies between each two neighbours. An alarm
is a row of flagged steps whose cuts are *bridged*: at the level of the lower neighbour where steps follow each other,
and with ``merge`` at the lower score of two flagged steps close enough to each other, around whatever lies between. So
an alarm is a maximal run of covered steps and bridged cuts, and counting alarms is counting steps less cuts. Without a
cooldown every count below is such a sum, of levels that are sorted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import BoolArray, FloatArray, IntArray

NEVER = -1  # level of what no threshold reaches


@dataclass(frozen=True)
class AlarmLevels:
    """Levels of the steps that count."""

    ranks: IntArray  # rank of each score among the distinct ones, ascending; `NEVER` where a score is missing
    number: int  # how many distinct scores there are
    covers: IntArray  # level from which on a step lies within an alarm
    bridges: IntArray  # level from which on an alarm goes on from each step to the next; the last entry is `NEVER`
    # First and last step in the window of each incident; the last comes before the first where no step is inside.
    first_steps: IntArray
    last_steps: IntArray
    # Of each incident, whether steps of its series lie at or around its window on both sides, or in it.
    has_neighbours: BoolArray
    is_counted: BoolArray  # which incidents count

    def alarms(self) -> IntArray:
        """Number of alarms at each rank."""
        return self._reached(self.covers) - self._reached(self.bridges[:-1])

    def outside(self, incidents: BoolArray) -> IntArray:
        """Number of alarms at each rank that meet none of some incidents."""
        is_marked, is_marked_cut = self._marked(incidents)
        size = is_marked.size
        # Runs of steps that no window marks; alarms within them are outside, unless they reach a mark at either end.
        is_parted = np.append(True, is_marked[:-1] | is_marked_cut)
        starts = np.flatnonzero(~is_marked & is_parted)
        stops = np.flatnonzero(~is_marked & np.append(is_parted[1:] | is_marked[1:], True)[:size])
        is_inner = ~(is_marked[:-1] | is_marked[1:] | is_marked_cut)
        count = self._reached(self.covers[~is_marked]) - self._reached(self.bridges[:-1][is_inner])
        left = np.where(starts > 0, self.bridges[np.maximum(starts, 1) - 1], NEVER)
        right = self.bridges[stops]
        both = np.full(starts.size, NEVER)
        is_inside = (starts > 0) & (stops < size - 1)
        if is_inside.any():
            limits = np.stack([starts[is_inside] - 1, stops[is_inside] + 1], axis=1).ravel()
            both[is_inside] = np.minimum.reduceat(self.bridges, limits)[::2]
        return count - self._reached(left) - self._reached(right) + self._reached(both)

    @cached_property
    def found_at(self) -> IntArray:
        """Level from which on each incident is found; `NEVER` where it is not counted."""
        levels = np.full(self.first_steps.size, NEVER)
        has_steps = self.first_steps <= self.last_steps
        if has_steps.any():
            limits = np.stack([self.first_steps[has_steps], self.last_steps[has_steps] + 1], axis=1).ravel()
            levels[has_steps] = np.maximum.reduceat(np.append(self.covers, NEVER), limits)[::2]
        between = ~has_steps & self.has_neighbours
        levels[between] = self.bridges[self.last_steps[between]]
        return np.where(self.is_counted, levels, NEVER)

    def detection_times(
        self, levels: IntArray, times: npt.NDArray[Any], starts: npt.NDArray[Any], early: float
    ) -> FloatArray:
        """Time to detect of each counted incident at some ranks, NaN where it is not found: incidents by ranks."""
        counted = np.flatnonzero(self.is_counted & (self.found_at >= 0))
        delays = np.full((counted.size, levels.size), np.nan)
        for row, incident in enumerate(counted.tolist()):
            first, last = int(self.first_steps[incident]), int(self.last_steps[incident])
            is_found = levels <= self.found_at[incident]
            reaches_back = levels <= (self.bridges[first - 1] if first else NEVER)
            delays[row, is_found] = -early
            if first <= last:
                inside = is_found & ~reaches_back
                highest = np.maximum.accumulate(self.ranks[first : last + 1])
                place = first + np.searchsorted(highest, levels[inside], side="left")
                delays[row, inside] = times[place] - starts[incident]
        return delays

    def in_alarm(self, lengths: FloatArray) -> FloatArray:
        """Sum of the lengths of the steps within alarms at each rank."""
        return self._reached(self.covers, lengths).astype(np.float64)

    def _reached(self, levels: IntArray, weights: FloatArray | None = None) -> npt.NDArray[Any]:
        """How many of the levels, or how much of their weights, are reached at each rank."""
        is_reached = levels >= 0
        sums = np.bincount(levels[is_reached], None if weights is None else weights[is_reached], self.number)
        return np.cumsum(sums[::-1])[::-1]

    def _marked(self, incidents: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Steps, and cuts, in the windows of some incidents."""
        size = self.ranks.size
        first, last = self.first_steps[incidents], self.last_steps[incidents]
        has_steps = first <= last
        depth = np.bincount(first[has_steps], minlength=size + 1)
        depth -= np.bincount(last[has_steps] + 1, minlength=size + 1)
        is_marked = np.cumsum(depth)[:size] > 0
        cuts = np.bincount(first[has_steps], minlength=size + 1) - np.bincount(last[has_steps], minlength=size + 1)
        is_marked_cut = np.cumsum(cuts)[: size - 1] > 0
        between = last[~has_steps & self.has_neighbours[incidents]]
        is_marked_cut[between] = True
        return is_marked, is_marked_cut


def bridge_levels(
    ranks: IntArray,
    is_parted: BoolArray,
    times: npt.NDArray[Any] | None = None,
    series: IntArray | None = None,
    merge: float | int | None = None,
) -> IntArray:
    """Level from which on an alarm goes on from each step to the next.

    A step is parted where a hole or the beginning of a series lies before it. Alarms at most ``merge`` apart are one;
    that needs the time and the series of each step.
    """
    bridges = np.append(np.where(is_parted[1:], NEVER, np.minimum(ranks[:-1], ranks[1:])), NEVER)
    if merge is None or times is None or series is None:
        return bridges
    # It is enough to look at pairs of steps with nothing as high between them: others are bridged from within.
    left, right = _visible_pairs(ranks)
    is_close = (series[left] == series[right]) & (times[right] - times[left] <= merge)
    left, right = left[is_close], right[is_close]
    levels, lengths = np.minimum(ranks[left], ranks[right]), right - left
    # Raise all cuts between each pair: as two blocks of a power of two each, from the longest down to single cuts.
    powers = np.log2(np.maximum(lengths, 1)).astype(np.intp)
    raised = np.full(ranks.size, NEVER)
    for power in range(int(powers.max(initial=0)), -1, -1):
        chosen, size = powers == power, 1 << power
        for place in (left[chosen], right[chosen] - size):
            np.maximum.at(raised, place, levels[chosen])
        if power:
            half = size >> 1
            shifted = np.append(np.full(half, NEVER), raised[:-half])
            raised = np.maximum(raised, shifted)
    return np.maximum(bridges, raised)


def _visible_pairs(ranks: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of flagged steps between which everything is lower than both."""
    stack: list[int] = []
    left: list[int] = []
    right: list[int] = []
    values = ranks.tolist()
    for step, rank in enumerate(values):
        if rank < 0:
            continue
        while stack and values[stack[-1]] < rank:
            left.append(stack.pop())
            right.append(step)
        if stack:
            left.append(stack[-1])
            right.append(step)
            if values[stack[-1]] == rank:
                stack.pop()
        stack.append(step)
    return np.array(left, dtype=np.intp), np.array(right, dtype=np.intp)
