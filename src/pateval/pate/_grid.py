"""Mean area over a grid of many buffers: all pairs together, one threshold after the other.

At threshold j let FN be the missed weight, X = TP + FN, w the true positives gained there, and a, b the weights of the
precision after and before a gain, divided by the detections then. A pair of buffers adds, from threshold h on,

    sum (R_j - R_{j-1}) (a_j TP_j + b_j TP_{j-1})
        = sum over j >= h - 1 of  FN_j (k_j FN_j + b_j w_j + a_{j+1} w_{j+1}) / X_j  -  k_j FN_j,
    k_j = a_j + b_j - a_{j+1} - b_{j+1},    with a_j = b_j = 0 for j < h,

because R = 1 - FN / X. Only X depends on the pair in a way that cannot be separated, so a threshold costs one sum and
one division per pair. X is a part for each delay, a part for each early length, and a part for both: where two events
share a gap, an early zone has what the delayed zone of the event before leaves it. As weights grow with the reach, a
step in such a gap is worth the lower one of its weights for either limit.

While little is detected, the terms are large and cancel. The first thresholds are therefore worked out as the
definition says. ``docs/grid.md`` derives the bound of the rounding error.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.kernels.areas import AreaRule, is_kept
from pateval.pate._counts import RankedZoneSteps, ThresholdSteps
from pateval.pate._zones import zone_weight

Array = npt.NDArray[np.float64]

_HEAD_SHARE = 1 / 64  # The definition is followed until so many are detected, as a share of the anomalous steps.
_CHUNK = 256  # thresholds prepared together
_BATCH = 2**13  # cells (thresholds x pairs) divided together: small enough to stay in cache


def grid_area(steps: ThresholdSteps, early: Sequence[int], delay: Sequence[int], rule: AreaRule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``."""
    grid = _Grid.of(steps, early, delay, rule)
    dropped, found = _DroppedPoints(grid), _TruePositives(np.zeros(grid.delay.size), np.zeros(grid.shape))
    thresholds = steps.missed.size
    # At least one threshold: the first gain has a precision of its own before it.
    head = min(max(1, int(np.searchsorted(steps.detected, _HEAD_SHARE * steps.inside.sum()))), thresholds)
    total = _head_area(grid, dropped, found, head)
    if head < thresholds:
        total += _tail_area(grid, dropped, found, head)
    return min(total + grid.mean(dropped.correction), 1.0)  # Rounding may pass 1.


@dataclass
class _TruePositives:
    """Weighted true positives so far: a part for each delay, and the rest for each pair."""

    fixed: Array
    table: Array


@dataclass(frozen=True)
class _Grid:
    """Distinct buffers with their shares in the mean, the weights of the rule, and the early steps.

    Attributes
    ----------
    own, joint : RankedZoneSteps
        Early steps whose weight depends on the early buffer alone, and on both.
    after, before : ndarray of float
        ``a`` and ``b`` of the formula, with a 0 after the last threshold.
    first_precision : float
        What the precision before the first gain adds to its reward.
    """

    steps: ThresholdSteps
    early: IntArray
    early_share: Array
    delay: IntArray
    delay_share: Array
    own: RankedZoneSteps
    joint: RankedZoneSteps
    after: Array
    before: Array
    first_precision: float

    @classmethod
    def of(cls, steps: ThresholdSteps, early: Sequence[int], delay: Sequence[int], rule: AreaRule) -> _Grid:
        """Divide the early steps, and spread the rule over the thresholds."""
        (early_lengths, early_counts), (delay_lengths, delay_counts) = (
            np.unique(lengths, return_counts=True) for lengths in (early, delay)
        )
        is_close = steps.limits.is_shared & (steps.limits.before < early_lengths[-1] + delay_lengths[-1])
        is_joint = is_close[steps.early.event]
        before = np.append(rule.before / np.maximum(steps.detected_before[:-1], 1), 0.0)
        before[0] = 0.0
        return cls(
            steps,
            early_lengths,
            early_counts / len(early),
            delay_lengths,
            delay_counts / len(delay),
            steps.early.chosen(~is_joint),
            steps.early.chosen(is_joint),
            np.append(rule.after / np.maximum(steps.detected, 1), 0.0),
            before,
            rule.before * rule.start if steps.detected_before[0] == 0 else 0.0,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Early buffers x delays."""
        return self.early.size, self.delay.size

    def mean(self, values: Array) -> float:
        """Mean over the grid of values for each early buffer and delay."""
        return float(np.vecdot(np.vecdot(values, self.delay_share), self.early_share))

    def fixed_gains(self, start: int, stop: int) -> Array:
        """True positives gained inside events and after them: thresholds x delays, 0 after the last threshold."""
        gains = _zone_gains(self.steps, self.steps.delayed, self.steps.limits.after, self.delay, start, stop)
        inside = self.steps.inside[start:stop]
        gains[: inside.size] += inside[:, None]
        return gains

    def own_gains(self, start: int, stop: int) -> Array:
        """True positives gained before events, where the early buffer decides alone: thresholds x early buffers."""
        return _zone_gains(self.steps, self.own, self.steps.limits.before, self.early, start, stop)

    def joint_gains(self, start: int, stop: int) -> dict[int, Array]:
        """True positives gained before events, where both buffers decide, by threshold: early buffers x delays."""
        limits = self.steps.limits
        joint = self.joint.between(start, stop)
        distance = joint.distance[:, None]
        half_length, free = limits.half_length[joint.event, None], limits.before[joint.event, None]
        by_early = zone_weight(np.minimum(self.early, free), distance, half_length)
        by_delay = zone_weight(np.maximum(free - self.delay, 0), distance, half_length)
        gains: dict[int, Array] = {}
        for rank, wanted, left in zip(joint.rank.tolist(), by_early, by_delay, strict=True):
            gain = np.minimum(wanted[:, None], left)
            gains[rank] = gains[rank] + gain if rank in gains else gain
        return gains


def _head_area(grid: _Grid, dropped: _DroppedPoints, found: _TruePositives, head: int) -> float:
    """Rewards of the gains at the first thresholds, as the definition says."""
    total, recall, counts = 0.0, np.zeros(grid.shape), np.zeros(grid.shape)
    for start in range(0, head, _CHUNK):
        stop = min(start + _CHUNK, head)
        fixed, own, joint = grid.fixed_gains(start, stop), grid.own_gains(start, stop), grid.joint_gains(start, stop)
        for rank in range(start, stop):
            found.fixed += fixed[rank - start]
            found.table += own[rank - start, :, None]
            if rank in joint:
                found.table += joint[rank]
            recall_before, counts_before = recall, counts
            counts = found.table + found.fixed
            recall = counts / (counts + grid.steps.missed[rank])
            reward = grid.after[rank] * counts + grid.before[rank] * counts_before
            if rank == 0:
                reward += grid.first_precision
            total += grid.mean((recall - recall_before) * reward)
            dropped.visit(rank, counts)
    return total


def _tail_area(grid: _Grid, dropped: _DroppedPoints, found: _TruePositives, head: int) -> float:
    """Rewards of the gains from threshold ``head`` on, by the formula above."""
    missed = grid.steps.missed
    # The term of threshold ``head - 1``; what joint gains add to it follows with them.
    level = found.table + found.fixed + missed[head - 1]
    weight = grid.after[head] + grid.before[head]
    first = weight * (level - missed[head - 1])
    first += grid.after[head] * (grid.own_gains(head, head + 1)[0, :, None] + grid.fixed_gains(head, head + 1)[0])
    total = grid.mean(first * (missed[head - 1] / level))
    inverse = 1 / level
    for start in range(head, missed.size, _CHUNK):
        chunk_total, inverse = _chunk_area(grid, dropped, found, start, min(start + _CHUNK, missed.size), inverse)
        total += chunk_total
    return total


def _chunk_area(
    grid: _Grid, dropped: _DroppedPoints, found: _TruePositives, start: int, stop: int, inverse: Array
) -> tuple[float, Array]:
    """Terms of some thresholds; ``inverse`` is 1 / X at the one before. Returns their sum and 1 / X at the last."""
    missed = grid.steps.missed[start:stop]
    after, before = grid.after[start : stop + 1], grid.before[start : stop + 1]
    change = -np.diff(after + before)
    fixed, own, joint = (
        grid.fixed_gains(start, stop + 1),
        grid.own_gains(start, stop + 1),
        grid.joint_gains(start, stop),
    )
    # What multiplies 1 / X, for sums over the early buffers and over the delays.
    by_delay = before[:-1, None] * fixed[:-1] + after[1:, None] * fixed[1:] + (change * missed)[:, None]
    by_early = before[:-1, None] * own[:-1] + after[1:, None] * own[1:]
    level = found.fixed + np.cumsum(fixed[:-1], axis=0)
    found.fixed = level[-1]
    level = level + missed[:, None]
    over_early, over_delay = np.empty_like(level), np.zeros((stop - start, grid.early.size))
    has_own, needs_rows = (set(np.flatnonzero(gains.any(axis=1)).tolist()) for gains in (own, by_early))
    watched = dropped.watched(start, stop)
    total, table = 0.0, found.table
    for first, last in _batches(stop - start, [rank - start for rank in joint], table.size):
        inverse_before, joint_gain = inverse, joint.get(start + first)
        if joint_gain is not None:
            table += joint_gain
        if last - first == 1:
            if first in has_own:
                table += own[first, :, None]
            sums = table + level[first]
            if start + first in watched:
                dropped.visit(start + first, sums - missed[first])
            inverse = np.divide(1.0, sums, out=sums)
            np.dot(grid.early_share, inverse, out=over_early[first])
            if first in needs_rows:
                np.dot(inverse, grid.delay_share, out=over_delay[first])
            first_inverse = inverse
        else:
            reached = np.cumsum(own[first:last], axis=0)
            batch = reached[:, :, None] + level[first:last, None]
            batch += table
            table += reached[-1, :, None]
            for rank in range(start + first, start + last) if watched else ():
                if rank in watched:
                    dropped.visit(rank, batch[rank - start - first] - missed[rank - start])
            np.divide(1.0, batch, out=batch)
            np.matmul(grid.early_share, batch, out=over_early[first:last])
            np.matmul(batch, grid.delay_share, out=over_delay[first:last])
            first_inverse, inverse = batch[0], batch[-1]
        if joint_gain is not None:
            reward = (after[first] * grid.steps.missed[start + first - 1]) * inverse_before
            reward += (before[first] * missed[first]) * first_inverse
            reward *= joint_gain
            total += grid.mean(reward)
    total += float(((np.vecdot(over_early * grid.delay_share, by_delay) - change) * missed).sum())
    return total + float((np.vecdot(over_delay * grid.early_share, by_early) * missed).sum()), inverse


def _batches(size: int, breaks: list[int], pairs: int) -> list[tuple[int, int]]:
    """Cut thresholds into batches that fit the cache; each of the ``breaks`` begins one."""
    width = max(1, _BATCH // pairs)
    edges = range(size + 1) if width == 1 else sorted({0, size, *breaks})
    return [
        (first, min(first + width, stop))
        for start, stop in itertools.pairwise(edges)
        for first in range(start, stop, width)
    ]


def _zone_gains(
    steps: ThresholdSteps, zone: RankedZoneSteps, free: IntArray, lengths: IntArray, start: int, stop: int
) -> Array:
    """What the steps of a zone gain at the thresholds ``start`` to ``stop``, for each length of the buffer."""
    zone = zone.between(start, stop)
    reach = np.minimum(lengths, free[zone.event, None])
    weights = zone_weight(reach, zone.distance[:, None], steps.limits.half_length[zone.event, None])
    rank = zone.rank - start
    gains = np.zeros((stop - start, lengths.size))
    firsts = np.flatnonzero(np.diff(rank, prepend=-1))
    gains[rank[firsts]] = weights if firsts.size == rank.size else np.add.reduceat(weights, firsts)
    return gains


class _DroppedPoints:
    """What leaving out points of lower recall changes, found while the thresholds are passed from high to low.

    Recall can only fall where the missed weight grows: at few thresholds, known beforehand for all pairs.
    """

    def __init__(self, grid: _Grid) -> None:
        self._grid = grid
        self._in_dip = _recall_dips(grid)
        # The threshold before a dip is kept by every pair of the grid.
        self._watched = np.flatnonzero(self._in_dip | np.append(self._in_dip[1:], False))
        self._weight_next = grid.before[1:]
        self.correction = np.zeros(grid.shape)
        self._recall = self._counted = self._highest = self._highest_counted = self.correction

    def watched(self, start: int, stop: int) -> set[int]:
        """Those of the thresholds from ``start`` to ``stop`` that must be visited."""
        return set(self._watched[slice(*np.searchsorted(self._watched, [start, stop]))].tolist())

    def visit(self, rank: int, found: Array) -> None:
        """Take in the true positives at a threshold.

        Each gain is taken back as it was counted, and counted again from the last point that is kept.
        """
        if not self._watched.size:
            return
        recall = found / (found + self._grid.steps.missed[rank])
        counted_next = self._weight_next[rank] * found
        if not self._in_dip[rank]:
            self._highest, self._highest_counted = recall, counted_next
        else:
            counted = self._grid.after[rank] * found
            kept = is_kept(recall, self._highest)
            again = np.where(kept, (recall - self._highest) * (counted + self._highest_counted), 0.0)
            self.correction = self.correction + again - (recall - self._recall) * (counted + self._counted)
            self._highest = np.where(kept, recall, self._highest)
            self._highest_counted = np.where(kept, counted_next, self._highest_counted)
        self._recall, self._counted = recall, counted_next


def _recall_dips(grid: _Grid) -> BoolArray:
    """Mark the thresholds at which recall may be below an earlier one, for some pair of the grid.

    Recall falls where FN grows by a larger factor than TP, and has recovered when FN / TP has. TP is at most what the
    longest zones give, and grows by 1 at least with every step found inside an event.
    """
    steps = grid.steps
    missed, found = steps.missed, np.cumsum(steps.inside)
    most = found + np.cumsum(
        steps.delayed_gains(int(grid.delay[-1])) + steps.early_gains(int(grid.early[-1]), int(grid.delay[0]))
    )
    falling = np.flatnonzero(missed[1:] * most[:-1] > missed[:-1] * (most[:-1] + np.diff(found))) + 1
    edges = np.zeros(missed.size + 1, dtype=np.intp)
    searching, reach = falling, 1
    while searching.size:
        end = np.minimum(searching + reach, missed.size - 1)
        before = searching - 1
        recovered = missed[end] * most[before] <= missed[before] * (most[before] + found[end] - found[before])
        done = recovered | (end == missed.size - 1)
        edges[searching[done]] += 1
        np.subtract.at(edges, end[done] + 1, 1)
        searching, reach = searching[~done], reach + reach // 4 + 1
    return np.cumsum(edges[:-1]) > 0
