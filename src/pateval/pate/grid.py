"""Mean area over a whole grid of buffer lengths, with all shared work done once.

For one pair (e, d), with TP, FN and R = TP / (TP + FN) at the relevant thresholds j, w the true positives gained at
each, and a, b the weights that a rule gives to the precision after and before a gain divided by the detections then,

    area = sum (R_j - R_{j-1}) (a_j TP_j + b_j TP_{j-1})
         = sum w_j (a_j + b_j) - sum R_j q_j,       q_j = k_j FN_j + b_j w_j + a_{j+1} w_{j+1},
                                                    k_j = a_j + b_j - a_{j+1} - b_{j+1}

because TP R = TP - FN R. Everything but R is a sum over single steps, and R = 1 - FN / (TP + FN) takes one addition and
one division per threshold and pair. Thresholds are worked through in strips that fit the processor's cache, for all
early lengths at once and one delay after the other.

Two things break the symmetry. An early zone gives way to the delayed zone of the event before, so the weights of a
*shared* step depend on both lengths; they are updated from delay to delay. And points at which recall falls are
dropped: that can only happen where the missed weight grows, in *dips* known beforehand, which are re-evaluated point by
point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._inputs import BoolArray, IntArray
from pateval.pate.area import Rule, rising
from pateval.pate.detections import count_detections
from pateval.pate.sweep import Entries, Scored, enter, missed_at
from pateval.pate.zones import ZoneSteps, delayed_steps, early_steps, zone_weight

Array = npt.NDArray[np.float64]

_SMALL_PRODUCT = 2**18  # multiplications
_MANY = 40  # lengths from which on a set is halved
_STRIP = 36_000  # elements of a strip's matrix (early lengths x thresholds); a few such matrices stay in cache


@dataclass(frozen=True)
class _Grid:
    """The lengths, and the steps and thresholds that matter for any pair of them."""

    scored: Scored
    early: IntArray
    early_share: Array
    delay: IntArray
    delay_share: Array
    delayed: ZoneSteps
    ahead: ZoneSteps
    entries: Entries
    detected: IntArray
    detected_before: IntArray
    missed: Array


@dataclass(frozen=True)
class _Weights:
    """``a``, ``b`` and ``k`` of the module's formula; ``a`` and ``b`` have a closing 0."""

    after: Array
    before: Array
    change: Array

    @classmethod
    def of(cls, rule: Rule, detected: IntArray, detected_before: IntArray) -> _Weights:
        after = np.append(rule.after / detected, 0.0)
        before = np.append(rule.before / np.maximum(detected_before, 1), 0.0)
        before[0] = 0.0
        both = after + before
        return cls(after, before, both[:-1] - both[1:])


def mean_area(scored: Scored, early: Sequence[int], delay: Sequence[int], rule: Rule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``.

    Large sets are halved: short buffers do not meet the thresholds that only matter for long ones.
    """
    blocks = [(some, others) for some in _halves(early) for others in _halves(delay)]
    total = sum(len(some) * len(others) * _block_area(scored, some, others, rule) for some, others in blocks)
    return min(total / (len(early) * len(delay)), 1.0)  # rounding may reach beyond


def _halves(lengths: Sequence[int]) -> list[list[int]]:
    ordered = sorted(lengths)
    half = len(ordered) // 2
    return [ordered] if len(ordered) < _MANY else [ordered[:half], ordered[half:]]


def _block_area(scored: Scored, early: Sequence[int], delay: Sequence[int], rule: Rule) -> float:
    grid = _lay_out(scored, early, delay)
    weights = _Weights.of(rule, grid.detected, grid.detected_before)
    dips = _dips(grid)
    found_fixed = np.zeros(grid.delay.size)
    found_early = np.zeros((grid.delay.size, grid.early.size))
    total = 0.0
    for begin, stop in _strips(grid, dips):
        strip = _Strip.of(grid, begin, stop)
        total += _strip_area(grid, weights, rule, strip, dips, found_fixed, found_early)
    return total


def _lay_out(scored: Scored, early: Sequence[int], delay: Sequence[int]) -> _Grid:
    longest = scored.scores.size  # a longer buffer has no more room
    early_lengths, early_counts = np.unique([min(length, longest) for length in early], return_counts=True)
    delay_lengths, delay_counts = np.unique([min(length, longest) for length in delay], return_counts=True)
    delayed = delayed_steps(scored.events, scored.rooms.delayed(int(delay_lengths[-1])))
    ahead = early_steps(scored.events, scored.rooms.early(int(early_lengths[-1]), int(delay_lengths[0])))
    entries = enter(scored, scored.delayed_entries(delayed), scored.early_entries(ahead))
    return _Grid(
        scored,
        early_lengths,
        early_counts / len(early),
        delay_lengths,
        delay_counts / len(delay),
        delayed,
        ahead,
        entries,
        *count_detections(scored.scores, entries.thresholds),
        missed_at(scored, entries),
    )


def _strips(grid: _Grid, dips: BoolArray) -> Iterator[tuple[int, int]]:
    """Cut the thresholds into strips; a dip is never cut."""
    width = max(64, _STRIP // grid.early.size)
    starts = np.flatnonzero(~dips)
    begin, total = 0, grid.missed.size
    while begin < total:
        later = np.searchsorted(starts, begin + width)
        stop = int(starts[later]) if later < starts.size else total
        yield begin, stop
        begin = stop


@dataclass(frozen=True)
class _Strip:
    """True positives gained at a run of thresholds, and at the one behind it.

    Attributes
    ----------
    begin, stop : int
        The thresholds.
    fixed : ndarray, delays x thresholds
        Gains from steps inside events and in delayed zones.
    early : ndarray, early lengths x thresholds
        Gains from steps in early zones, for the shortest delay.
    shared : ndarray of int
        Thresholds (from ``begin``) at which steps enter whose weight depends on both lengths.
    shared_changes : ndarray, delays x early lengths x shared
        How the gains there change from each delay to the next.
    """

    begin: int
    stop: int
    fixed: Array
    early: Array
    shared: IntArray
    shared_changes: Array

    @classmethod
    def of(cls, grid: _Grid, begin: int, stop: int) -> _Strip:
        last = grid.entries.last
        thresholds = min(stop + 1, last.size) - begin
        places = slice(last[begin - 1] + 1 if begin else 0, last[begin + thresholds - 1] + 1)
        entered = grid.entries.order[places]
        columns = np.repeat(np.arange(thresholds), np.diff(last[begin : begin + thresholds], prepend=places.start - 1))
        inside, zone = grid.scored.inside.size, grid.delayed.steps.size
        events, rooms = grid.scored.events, grid.scored.rooms

        fixed = np.zeros((grid.delay.size, thresholds))
        fixed += np.bincount(columns[entered < inside], minlength=thresholds)
        behind = (entered >= inside) & (entered < inside + zone)
        steps = entered[behind] - inside
        owners = grid.delayed.events[steps]
        _add_columns(
            fixed,
            columns[behind],
            zone_weight(
                np.minimum(grid.delay[:, None], rooms.after[owners]),
                events.lengths[owners],
                grid.delayed.steps[steps] - events.stops[owners],
            ),
        )

        early = np.zeros((grid.early.size, thresholds))
        ahead = entered >= inside + zone
        columns, steps = columns[ahead], entered[ahead] - inside - zone
        owners = grid.ahead.events[steps]
        room, length = rooms.before[owners], events.lengths[owners]
        distance = events.starts[owners] - 1 - grid.ahead.steps[steps]
        shared = rooms.shared[owners] & (room < grid.early[-1] + grid.delay[-1])
        left = np.where(shared, np.maximum(room - grid.delay[0], 0), room)
        _add_columns(early, columns, zone_weight(np.minimum(grid.early[:, None], left), length, distance))
        columns, room, length, distance = columns[shared], room[shared], length[shared], distance[shared]
        left = np.maximum(room - grid.delay[:, None], 0)
        by_delay = zone_weight(np.minimum(grid.early[:, None], left[:, None, :]), length, distance)
        changes = np.diff(by_delay, axis=0, prepend=by_delay[:1])
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        if starts.size < columns.size:
            changes = np.add.reduceat(changes, starts, axis=2)
        return cls(begin, stop, fixed, early, columns[starts], changes)


def _add_columns(matrix: Array, columns: IntArray, gains: Array) -> None:
    """Add ``gains`` to the given columns, which are in order and may repeat."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    if starts.size:
        matrix[:, columns[starts]] += np.add.reduceat(gains, starts, axis=1) if starts.size < columns.size else gains


def _strip_area(
    grid: _Grid,
    weights: _Weights,
    rule: Rule,
    strip: _Strip,
    dips: BoolArray,
    found_fixed: Array,
    found_early: Array,
) -> float:
    """Share of one strip in the mean area; moves the true positives found so far on to its end."""
    width = strip.stop - strip.begin
    span = slice(strip.begin, strip.stop)
    missed, change, after, before = grid.missed[span], weights.change[span], weights.after[span], weights.before[span]
    after_next = weights.after[strip.begin + 1 : strip.stop + 1]

    def charge(gains: Array) -> Array:
        """``b_j w_j + a_{j+1} w_{j+1}``."""
        charged = before * gains[:, :width]
        following = gains[:, 1 : width + 1]
        charged[:, : following.shape[1]] += after_next[: following.shape[1]] * following
        return charged

    fixed = np.cumsum(strip.fixed[:, :width], axis=1)
    fixed += found_fixed[:, None]
    early = np.cumsum(strip.early[:, :width], axis=1)
    early += found_early[0][:, None]
    fixed_charge = charge(strip.fixed) + change * missed
    early_charge = charge(strip.early)
    changes = _Changes.of(strip, weights, found_early, width)

    linear = (strip.early[:, :width] @ (after + before))[None, :] + changes.linear
    constant = strip.fixed[:, :width] @ (after + before) + linear @ grid.early_share
    # 1 - FN / (TP + FN) would cancel while few anomalies are found; there R itself is taken.
    plain = bool(grid.detected[strip.begin] < grid.scored.inside.size)
    if not plain:
        charged = early_charge.sum(axis=1)[None, :] + changes.charged
        constant -= fixed_charge.sum(axis=1) + charged @ grid.early_share
    fixed_charge *= -1.0 if plain else missed
    early_charge *= -1.0 if plain else missed
    changes.charges *= -1.0 if plain else missed[changes.charge_columns]

    in_dip = dips[span]
    dip = np.flatnonzero(in_dip | np.append(in_dip[1:], False))
    # From here on the order of the thresholds is free: those whose charges change come last, in one piece.
    changing = np.zeros(width, dtype=np.bool_)
    changing[changes.charge_columns] = True
    order = np.argsort(changing, kind="stable")
    changes.steps = changes.steps.take(order, axis=1)
    walk = _walk_few if plain else _walk_many
    values, in_dips = walk(
        early.take(order, axis=1),
        fixed.take(order, axis=1),
        missed[order],
        early_charge.take(order, axis=1),
        fixed_charge.take(order, axis=1),
        changes,
        np.argsort(order)[dip],
    )
    correction = (
        _dip_correction(grid, weights, dips, strip.begin + dip, in_dips) if dip.size else np.zeros(grid.delay.size)
    )
    if strip.begin == 0 and grid.detected_before[0] == 0:
        first = strip.early[:, 0] + strip.fixed[:, :1]
        if strip.shared.size and strip.shared[0] == 0:
            first += np.cumsum(strip.shared_changes[:, :, 0], axis=0)
        correction += rule.before * rule.start * ((first / (first + missed[0])) @ grid.early_share)
    found_fixed[:] = fixed[:, -1]
    found_early += strip.early[:, :width].sum(axis=1) + changes.entered
    return float(grid.delay_share @ (constant + values @ grid.early_share + correction))


def _walk_few(
    early: Array,
    fixed: Array,
    missed: Array,
    early_charge: Array,
    fixed_charge: Array,
    changes: _Changes,
    dip: IntArray,
) -> tuple[Array, Array]:
    """Sum charges times recall for every pair, one delay after the other; and the true positives in dips."""
    values = np.empty((fixed.shape[0], early.shape[0]))
    in_dips = np.empty((*values.shape, dip.size))
    for place in range(fixed.shape[0]):
        if place:
            changes.apply(early, early_charge, place)
        found = early + fixed[place]
        in_dips[place] = found[:, dip]
        recall = found / (found + missed)
        recall *= early_charge + fixed_charge[place]
        np.add.reduce(recall, axis=1, out=values[place])
    return values, in_dips


def _walk_many(
    early: Array,
    fixed: Array,
    missed: Array,
    early_charge: Array,
    fixed_charge: Array,
    changes: _Changes,
    dip: IntArray,
) -> tuple[Array, Array]:
    """Sum charges over TP + FN for every pair; and the true positives in dips.

    Both matrices are carried from delay to delay in place: that halves the traffic to memory.
    """
    values = np.empty((fixed.shape[0], early.shape[0]))
    in_dips = np.empty((*values.shape, dip.size))
    more, more_charge = np.diff(fixed, axis=0), np.diff(fixed_charge, axis=0)
    early += fixed[0] + missed
    early_charge += fixed_charge[0]
    ratio = np.empty_like(early)
    for place in range(fixed.shape[0]):
        if place:
            early += more[place - 1]
            early_charge += more_charge[place - 1]
            changes.apply(early, early_charge, place)
        if dip.size:
            np.subtract(early[:, dip], missed[dip], out=in_dips[place])
        np.divide(early_charge, early, out=ratio)
        np.add.reduce(ratio, axis=1, out=values[place])
    return values, in_dips


@dataclass
class _Changes:
    """How early true positives and charges change from each delay to the next.

    Attributes
    ----------
    first_row : ndarray of int
        For each delay the shortest early length for which anything changes.
    gains, steps : ndarray
        The true positives change by ``gains[delay] @ steps``.
    charge_columns, charges : ndarray
        The charges change at some thresholds, which come last when they are applied.
    entered, linear, charged : ndarray, delays x early lengths
        By how much the sums of gains, weighted gains and charges differ from those of the first delay.
    """

    first_row: IntArray
    gains: Array
    steps: Array
    charge_columns: IntArray
    charges: Array
    entered: Array
    linear: Array
    charged: Array

    @classmethod
    def of(cls, strip: _Strip, weights: _Weights, found_early: Array, width: int) -> _Changes:
        own, previous = strip.shared < width, strip.shared >= 1
        start = np.diff(found_early, axis=0, prepend=found_early[:1])
        gains = np.concatenate([start[:, :, None], strip.shared_changes[:, :, own]], axis=2)
        changing: BoolArray = np.any(gains != 0, axis=2)
        first_row = np.where(changing.any(axis=1), changing.argmax(axis=1), changing.shape[1])
        steps = np.arange(width) >= np.concatenate([[0], strip.shared[own]])[:, None]

        at = strip.begin + strip.shared
        linear = strip.shared_changes @ np.where(own, weights.after[at] + weights.before[at], 0.0)
        columns = np.concatenate([strip.shared[own], strip.shared[previous] - 1])
        factors = np.concatenate([weights.before[at[own]], weights.after[at[previous]]])
        unique, place = np.unique(columns, return_inverse=True)
        spread = np.zeros((strip.shared.size, unique.size))
        np.add.at(spread, (np.concatenate([np.flatnonzero(own), np.flatnonzero(previous)]), place), factors)
        charges = strip.shared_changes @ spread
        return cls(
            first_row,
            gains,
            steps.astype(np.float64),
            unique,
            charges,
            np.cumsum(strip.shared_changes[:, :, own].sum(axis=2), axis=0),
            np.cumsum(linear, axis=0),
            np.cumsum(charges.sum(axis=2), axis=0),
        )

    def apply(self, early: Array, early_charge: Array, place: int) -> None:
        """Turn the true positives and charges of one delay into those of the next."""
        row, rows = int(self.first_row[place]), early.shape[0]
        if row == rows:
            return
        # Small products stay on one thread of the linear algebra library, which is what pays here.
        some = max(1, _SMALL_PRODUCT // self.steps.size)
        for begin in range(row, rows, some):
            early[begin : begin + some] += self.gains[place, begin : begin + some] @ self.steps
        if self.charge_columns.size:
            early_charge[row:, -self.charge_columns.size :] += self.charges[place, row:]


def _dips(grid: _Grid) -> BoolArray:
    """Mark the thresholds at which recall may be below an earlier one, for some pair of the grid.

    Recall falls where FN grows by a larger factor than TP, and is back where FN / TP is; TP is at most what the longest
    zones give, and grows by 1 at least with every step found inside an event.
    """
    inside = grid.scored.inside.size
    weight = np.concatenate([np.ones(inside), grid.delayed.weights, grid.ahead.weights])[grid.entries.order]
    most = np.cumsum(weight)[grid.entries.last]
    found = np.cumsum(grid.entries.order < inside)[grid.entries.last]
    missed = grid.missed
    falling = np.flatnonzero(missed[1:] * most[:-1] > missed[:-1] * (most[:-1] + np.diff(found))) + 1
    edges = np.zeros(missed.size + 1, dtype=np.intp)
    searching, reach = falling, 1
    while searching.size:
        end = np.minimum(searching + reach, missed.size - 1)
        before = searching - 1
        back = missed[end] * most[before] <= missed[before] * (most[before] + found[end] - found[before])
        done = back | (end == missed.size - 1)
        edges[searching[done]] += 1
        np.subtract.at(edges, end[done] + 1, 1)
        searching, reach = searching[~done], 2 * reach
    return np.cumsum(edges[:-1]) > 0


def _dip_correction(grid: _Grid, weights: _Weights, dips: BoolArray, points: IntArray, true_positive: Array) -> Array:
    """Difference that dropping points makes, for each delay: the gain behind them starts from the last point kept.

    ``points`` are the thresholds of dips and the one before each, which is kept for every pair of the grid;
    ``true_positive`` has an entry for each delay, early length and point.
    """
    recall = true_positive + grid.missed[points]
    np.divide(true_positive, recall, out=recall)
    kept = rising(recall)
    dropped = ~kept
    if not dropped.any():
        return np.zeros(grid.delay.size)
    here, before = slice(1, None), slice(None, -1)
    touched = dropped[..., here] | dropped[..., before]
    touched &= dips[points[here]]
    counted = true_positive[..., here] * weights.after[points[here]]
    counted += true_positive[..., before] * weights.before[points[here]]
    counted *= recall[..., here] - recall[..., before]
    counted *= touched
    values = -counted.sum(axis=2)

    back = np.nonzero(touched & kept[..., here])
    last_kept = np.maximum.accumulate(np.where(kept, np.arange(points.size, dtype=np.int32), 0), axis=2)[back]
    at, start = (*back[:2], back[2] + 1), (*back[:2], last_kept)
    gained = recall[at] - recall[start]
    gained *= (
        weights.after[points[at[2]]] * true_positive[at] + weights.before[points[last_kept] + 1] * true_positive[start]
    )
    np.add.at(values, back[:2], gained)
    return values @ grid.early_share
