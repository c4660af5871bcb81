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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import AreaRule, is_kept
from pateval.pate._counts import RankedZoneSteps, ThresholdSteps
from pateval.pate._weights import Numbers, zone_weight
from pateval.time.clocks import Lengths
from pateval.validation.arrays import BoolArray, IntArray

Array = npt.NDArray[np.float64]

# The definition is followed until so many are detected, as a share of the anomalous steps found at all.
_HEAD_SHARE = 1 / 8
_CHUNK = 512  # thresholds prepared together
# Tables of more pairs are worked through one threshold at a time, and stay in cache; smaller ones in batches.
_MAX_PAIRS_IN_BATCHES = 2**13
_BATCH_CELLS, _MAX_BATCH = 2**16, 64  # thresholds x pairs, and thresholds, of a batch


def grid_area(steps: ThresholdSteps, early: Lengths, delay: Lengths, rule: AreaRule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``."""
    grid = _Grid(steps, early, delay, rule)
    dropped = _DroppedPoints(grid)
    hits = _TruePositives(np.zeros(grid.delay.size), np.zeros(grid.early.size), np.zeros(grid.shape))
    thresholds = steps.missed.size
    # At least one threshold: the first gain has a precision of its own before it.
    first_with_enough = int(np.searchsorted(steps.detected_before, _HEAD_SHARE * steps.inside.sum()))
    head = min(max(1, first_with_enough), thresholds)
    total = _head_area(grid, dropped, hits, head)
    if head < thresholds:
        total += _tail_area(grid, dropped, hits, head)
    return min(total + float(dropped.correction.mean()), 1.0)  # Rounding may pass 1.


@dataclass
class _TruePositives:
    """Weighted true positives so far: a part for each delay, for each early buffer, and for each pair."""

    fixed: Array
    own: Array
    joint: Array

    @property
    def total(self) -> Array:
        """Sum of the parts: early buffers x delays."""
        return self.joint + self.own[:, None] + self.fixed


class _Grid:
    """Ascending buffers, the weights of the rule, and the early steps.

    ``own`` and ``joint`` are the early steps whose weight depends on the early buffer alone, and on both; ``after`` and
    ``before`` are ``a`` and ``b`` of the formula, with a 0 after the last threshold; ``first_precision`` is what the
    precision before the first gain adds to its reward.
    """

    def __init__(self, steps: ThresholdSteps, early: Lengths, delay: Lengths, rule: AreaRule) -> None:
        self.steps = steps
        self.early, self.delay = np.sort(early), np.sort(delay)
        limits = steps.limits
        is_joint = steps.is_joint(early, delay)
        # What the delayed zone of the event before leaves of each early zone: delays x events.
        self._remaining_reach = np.stack([limits.early_limit(length) for length in self.delay.tolist()])
        self.own, self.joint = steps.early.chosen(~is_joint), steps.early.chosen(is_joint)
        self.after = np.append(rule.after / np.maximum(steps.detected, 1), 0.0)
        self.before = np.append(rule.before / np.maximum(steps.detected_before[:-1], 1), 0.0)
        self.before[0] = 0.0
        self.first_precision = rule.before if steps.detected_before[0] == 0 else 0.0
        self.shape = self.early.size, self.delay.size
        self.pairs = self.early.size * self.delay.size

    def fixed_gains(self, start: int, stop: int) -> Array:
        """True positives gained inside events and after them: thresholds x delays, 0 after the last threshold."""
        gains = _zone_gains(self.steps, self.steps.delayed, self.steps.limits.after, self.delay, start, stop)
        inside = self.steps.inside[start:stop]
        gains[: inside.size] += inside[:, None]
        return gains

    def own_gains(self, start: int, stop: int) -> Array:
        """True positives gained before events, where the early buffer decides alone: thresholds x early buffers."""
        return _zone_gains(self.steps, self.own, self._remaining_reach[-1], self.early, start, stop)

    def joint_gains(self, start: int, stop: int) -> _JointGains:
        """True positives gained before events, where both buffers decide, at the thresholds ``start`` to ``stop``."""
        joint = self.joint.between(start, stop)
        distance, half_length = joint.distance[:, None], self.steps.limits.half_length[joint.event, None]
        by_early = zone_weight(self.early, distance, half_length)
        by_delay = zone_weight(self._remaining_reach[:, joint.event].T, distance, half_length)
        return _JointGains(joint.rank - start, by_early, by_delay, stop - start)


class _Gains(NamedTuple):
    """Joint gains of a batch: thresholds x early buffers x delays; shorter early buffers than ``rows`` gain nothing."""

    places: IntArray
    rows: slice
    tables: Array


class _JointGains:
    """Steps worth the lower one of two weights: one for each early buffer, one for each delay.

    ``places`` are the thresholds, of ``size``, at which the steps begin to count, ascending.
    """

    def __init__(self, places: IntArray, by_early: Array, by_delay: Array, size: int) -> None:
        self._places, self._by_early, self._by_delay = places, by_early[:, :, None], by_delay[:, None]
        self._edges = np.searchsorted(places, np.arange(size + 1)).tolist()
        self._first_rows = np.count_nonzero(by_early == 0, axis=1).tolist()  # A longer buffer never weighs less.
        self._none = _Gains(places[:0], slice(0), np.empty((0, 0, by_delay.shape[1])))

    def between(self, start: int, stop: int) -> _Gains:
        """Gains at the thresholds from ``start`` to ``stop``; places are counted from ``start``."""
        first, last = self._edges[start], self._edges[stop]
        if first == last:
            return self._none
        rows = slice(min(self._first_rows[first:last]), None)
        places = self._places[first:last] - start
        tables = np.minimum(self._by_early[first:last, rows], self._by_delay[first:last])
        firsts = np.flatnonzero(np.diff(places, prepend=-1)) if last - first > 1 else places[:0]
        if 0 < firsts.size < places.size:  # Steps with the same score.
            places, tables = places[firsts], np.add.reduceat(tables, firsts)
        return _Gains(places, rows, tables)


def _head_area(grid: _Grid, dropped: _DroppedPoints, hits: _TruePositives, head: int) -> float:
    """Rewards of the gains at the first thresholds, as the definition says."""
    total, recall, counts = 0.0, np.zeros(grid.shape), np.zeros(grid.shape)
    for start in range(0, head, _CHUNK):
        stop = min(start + _CHUNK, head)
        fixed, own, joint = grid.fixed_gains(start, stop), grid.own_gains(start, stop), grid.joint_gains(start, stop)
        for place, rank in enumerate(range(start, stop)):
            gains = joint.between(place, place + 1)
            hits.fixed += fixed[place]
            hits.own += own[place]
            hits.joint[gains.rows] += gains.tables.sum(axis=0)
            recall_before, counts_before = recall, counts
            counts = hits.total
            recall = counts / (counts + grid.steps.missed[rank])
            reward = grid.after[rank] * counts + grid.before[rank] * counts_before
            if rank == 0:
                reward += grid.first_precision
            total += float(((recall - recall_before) * reward).mean())
            dropped.visit(rank, counts)
    return total


def _tail_area(grid: _Grid, dropped: _DroppedPoints, hits: _TruePositives, head: int) -> float:
    """Rewards of the gains from threshold ``head`` on, by the formula above."""
    missed = grid.steps.missed
    # The term of threshold ``head - 1``; what joint gains add to it follows with them.
    level = hits.total + missed[head - 1]
    weight = grid.after[head] + grid.before[head]
    first = weight * (level - missed[head - 1])
    first += grid.after[head] * (grid.own_gains(head, head + 1)[0, :, None] + grid.fixed_gains(head, head + 1)[0])
    total = float((first * (missed[head - 1] / level)).mean())
    inverse = 1 / level
    for start in range(head, missed.size, _CHUNK):
        chunk_total, inverse = _chunk_area(grid, dropped, hits, start, min(start + _CHUNK, missed.size), inverse)
        total += chunk_total
    return total


def _chunk_area(
    grid: _Grid, dropped: _DroppedPoints, hits: _TruePositives, start: int, stop: int, inverse: Array
) -> tuple[float, Array]:
    """Terms of some thresholds; ``inverse`` is 1 / X at the one before. Returns their sum and 1 / X at the last."""
    missed, missed_before = grid.steps.missed[start:stop], grid.steps.missed[start - 1 : stop - 1]
    after, before = grid.after[start : stop + 1], grid.before[start : stop + 1]
    change = -np.diff(after + before)
    fixed, own = grid.fixed_gains(start, stop + 1), grid.own_gains(start, stop + 1)
    # What multiplies 1 / X, for sums over the early buffers and over the delays.
    by_delay = before[:-1, None] * fixed[:-1] + after[1:, None] * fixed[1:] + (change * missed)[:, None]
    by_early = before[:-1, None] * own[:-1] + after[1:, None] * own[1:]
    over_early, over_delay = np.empty_like(by_delay), np.zeros_like(by_early)
    ones_early, ones_delay = np.ones(grid.early.size), np.ones(grid.delay.size)
    has_early = set(np.flatnonzero(by_early.any(axis=1)).tolist())
    watched, total = dropped.watched(start, stop), 0.0
    moves = fixed[:-1] + (missed - missed_before)[:, None]
    for first, levels, gains in _levels(hits, missed_before[0], moves, own[:-1], grid.joint_gains(start, stop)):
        last = first + len(levels)
        for rank in sorted(watched.intersection(range(start + first, start + last))) if watched else ():
            dropped.visit(rank, levels[rank - start - first] - missed[rank - start])
        inverses = 1.0 / levels
        if len(levels) == 1:  # Products of a single table cost less by themselves.
            np.dot(ones_early, inverses[0], out=over_early[first])
            if first in has_early:
                np.dot(inverses[0], ones_delay, out=over_delay[first])
        else:
            np.matmul(ones_early, inverses, out=over_early[first:last])
            np.matmul(inverses, ones_delay, out=over_delay[first:last])
        if gains.places.size:
            ranks = first + gains.places
            former = inverse[None] if len(levels) == 1 else np.concatenate([inverse[None], inverses])[gains.places]
            rewards = np.einsum("ked,ked->ke", gains.tables, former[:, gains.rows]).sum(axis=1)
            total += float(rewards @ (after[ranks] * missed_before[ranks]))
            if before[first]:  # Average precision has no such part.
                rewards = np.einsum("ked,ked->ke", gains.tables, inverses[gains.places, gains.rows]).sum(axis=1)
                total += float(rewards @ (before[ranks] * missed[ranks]))
        inverse = inverses[-1]
    # One sum for a chunk keeps rounding errors from adding up.
    hits.fixed += fixed[:-1].sum(axis=0)
    hits.own += own[:-1].sum(axis=0)
    sums = np.einsum("kj,kj->k", over_early, by_delay) + np.einsum("kj,kj->k", over_delay, by_early)
    return total / grid.pairs + float(((sums / grid.pairs - change) * missed).sum()), inverse


def _levels(
    hits: _TruePositives, missed: float, moves: Array, own: Array, joint: _JointGains
) -> Iterator[tuple[int, Array, _Gains]]:
    """X of each threshold, early buffers x delays, for as many thresholds together as fit the cache.

    ``hits`` and ``missed`` are those before the first threshold; each moves X by a row, a column, and a table where
    there is a joint gain, which ``hits`` takes in. Yields the number of the first threshold of a batch, their tables,
    which are overwritten by the next, and their joint gains.
    """
    level = hits.total + missed
    if level.size > _MAX_PAIRS_IN_BATCHES:
        # Where all delays move alike, adding one number is faster than adding a row.
        is_uniform: list[bool] = (moves == moves[:, :1]).all(axis=1).tolist()
        has_own = set(np.flatnonzero(own.any(axis=1)).tolist())
        for place, first_move in enumerate(moves[:, 0].tolist()):
            gains = joint.between(place, place + 1)
            if gains.places.size:
                level[gains.rows] += gains.tables[0]
                hits.joint[gains.rows] += gains.tables[0]
            if place in has_own:
                level += own[place, :, None]
            if not is_uniform[place]:
                level += moves[place]
            elif first_move:
                level += first_move
            yield place, level[None], gains
        return
    width = min(_BATCH_CELLS // level.size, _MAX_BATCH)
    for first in range(0, len(moves), width):
        chosen = slice(first, min(first + width, len(moves)))
        gains = joint.between(chosen.start, chosen.stop)
        levels = np.cumsum(own[chosen], axis=0)[:, :, None] + np.cumsum(moves[chosen], axis=0)[:, None]
        levels += level
        # NumPy's cumulative sum of tables takes many times as long as this loop.
        gained = np.zeros(gains.tables.shape[1:])
        following = np.append(gains.places, len(levels))[1:]
        for first_place, stop_place, table in zip(gains.places, following, gains.tables, strict=True):
            gained += table
            levels[first_place:stop_place, gains.rows] += gained
        hits.joint[gains.rows] += gained
        yield first, levels, gains
        level = levels[-1]


def _zone_gains(
    steps: ThresholdSteps, zone: RankedZoneSteps, free: Numbers, lengths: Numbers, start: int, stop: int
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
        self._is_drop = _recall_drops(grid)
        # The threshold before a drop is kept by every pair of the grid.
        self._watched = np.flatnonzero(self._is_drop | np.append(self._is_drop[1:], False))
        self._weight_next = grid.before[1:]
        self.correction = np.zeros(grid.shape)
        self._recall = self._counted = self._highest = self._highest_counted = self.correction

    def watched(self, start: int, stop: int) -> set[int]:
        """Those of the thresholds from ``start`` to ``stop`` that must be visited."""
        return set(self._watched[slice(*np.searchsorted(self._watched, [start, stop]))].tolist())

    def visit(self, rank: int, true_positive: Array) -> None:
        """Take in the true positives at a threshold.

        Each gain is taken back as it was counted, and counted again from the last point that is kept.
        """
        if not self._watched.size:
            return
        recall = true_positive / (true_positive + self._grid.steps.missed[rank])
        counted_next = self._weight_next[rank] * true_positive
        if not self._is_drop[rank]:
            self._highest, self._highest_counted = recall, counted_next
        else:
            counted = self._grid.after[rank] * true_positive
            kept = is_kept(recall, self._highest)
            recounted = np.where(kept, (recall - self._highest) * (counted + self._highest_counted), 0.0)
            self.correction = self.correction + recounted - (recall - self._recall) * (counted + self._counted)
            self._highest = np.where(kept, recall, self._highest)
            self._highest_counted = np.where(kept, counted_next, self._highest_counted)
        self._recall, self._counted = recall, counted_next


def _recall_drops(grid: _Grid) -> BoolArray:
    """Mark the thresholds at which recall may be below an earlier one, for some pair of the grid.

    Recall falls where FN grows by a larger factor than TP, and has recovered when FN / TP has. TP is at most what the
    longest zones give, and grows by 1 at least with every step found inside an event.
    """
    steps = grid.steps
    missed, inside = steps.missed, np.cumsum(steps.inside)
    longest = steps.limits.delayed_reach(grid.delay[-1]), steps.limits.early_reach(grid.early[-1], grid.delay[0])
    most = inside + np.cumsum(steps.gains(steps.delayed, longest[0]) + steps.gains(steps.early, longest[1]))
    falling = np.flatnonzero(missed[1:] * most[:-1] > missed[:-1] * (most[:-1] + np.diff(inside))) + 1
    edges = np.zeros(missed.size + 1, dtype=np.intp)
    searching, reach = falling, 1
    while searching.size:
        end = np.minimum(searching + reach, missed.size - 1)
        before = searching - 1
        recovered = missed[end] * most[before] <= missed[before] * (most[before] + inside[end] - inside[before])
        done = recovered | (end == missed.size - 1)
        edges[searching[done]] += 1
        np.subtract.at(edges, end[done] + 1, 1)
        searching, reach = searching[~done], reach + reach // 4 + 1
    return np.cumsum(edges[:-1]) > 0
