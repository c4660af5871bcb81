"""Mean area over a grid from some threshold on, a block of thresholds at a time.

For one pair (e, d), with FN missed, X = TP + FN and w the true positives gained at each threshold j, and a, b the
weights that a rule gives to the precision after and before a gain over the detections then, the gains in recall from
threshold h on add to the area

    sum (R_j - R_{j-1}) (a_j TP_j + b_j TP_{j-1})
        = (a_h TP_h + b_h TP_{h-1}) FN_{h-1} / X_{h-1} - sum k_j FN_j + sum q_j FN_j / X_j
    q_j = k_j FN_j + b_j w_j + a_{j+1} w_{j+1},       k_j = a_j + b_j - a_{j+1} - b_{j+1}

because R = 1 - FN / X. Only 1 / X mixes e and d. Within a *block* of thresholds X moves very little, by a sum of two
parts: one for the delay, one for the early length. With M its middle, Y = 1 / M and t = M - X = u(d) + v(e),

    1 / X = Y + t Y^2 + t^2 Y^3 + ...

to full precision after a few terms. Multiplied out, the powers of t are products of something for d and something for
e: the sum over a block and all pairs becomes a matrix product for each power of Y, instead of a division for each
threshold and pair.

What early zones gain in a gap that two events share does not fall into two parts. It starts a new block, and its own
share in the sum is worked out as it stands. So is every early gain that is too large for the series, as with little
data.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.pate.dips import Dips
from pateval.pate.found import EarlyGains, Found, fixed_gains
from pateval.pate.layout import Grid

Array = npt.NDArray[np.float64]

# What all series may leave out together if X lay at the end of their reach all the time; it does not, and tests find
# the sum within 1e-12.
_PRECISION = 4e-12
_EACH = 5e-15  # what may be left out at one threshold; one that weighs more has a block to itself, where nothing is
_GROUPS = 8  # early gains in a block, at most
_THRESHOLDS = 256  # in a block, at most
_STRIP = 12_000  # blocks laid out together, times lengths and terms: what they need stays in cache
_MATRICES = 100_000  # blocks worked on together, times pairs: likewise
_SMALL_PRODUCT = 2**18  # multiplications


def tail_area(grid: Grid, dips: Dips, begin: int, found: Found) -> float:
    """Share of the gains from threshold ``begin`` on in the mean area; ``found`` holds the true positives before."""
    plan = _Plan.of(grid, begin)
    total = -float((plan.change[begin:] * grid.missed[begin:]).sum())
    before, missed = found.table, grid.missed[begin - 1]
    counted = (grid.after[begin] + grid.before[begin]) * before
    counted += grid.after[begin] * fixed_gains(grid, begin, begin + 1)[0]
    total += grid.mean(counted * (missed / (before + missed)))
    for blocks, groups, stop in plan.strips(grid):
        total += _Strip.of(grid, plan, blocks, groups, stop, found).sum(grid, plan, dips, found)
    return total


@dataclass(frozen=True)
class _Plan:
    """Where blocks begin, and within them groups of thresholds of which only the first has early gains.

    Attributes
    ----------
    terms : int
        How many terms of the series are taken.
    blocks, groups : ndarray of int
        Their first thresholds; every block begins with a group.
    simple : ndarray of bool
        Thresholds whose early gains the series reaches.
    after_next, change : ndarray of float
        ``a_{j+1}`` and ``k_j`` of the formula.
    """

    terms: int
    blocks: IntArray
    groups: IntArray
    simple: BoolArray
    after_next: Array
    change: Array

    @classmethod
    def of(cls, grid: Grid, begin: int) -> _Plan:
        """Plan the thresholds from ``begin`` on."""
        least = np.cumsum(grid.inside) + grid.missed  # X without buffers
        smallest = float(least[begin:].min())
        # There should be room in a block for some weights, which are at most 1.
        terms = next((terms for terms in range(3, 7) if _PRECISION ** (1 / terms) * smallest > 1), 7)
        # How far X may move in a block, half to each side of the middle. While few are detected, terms that cancel in
        # the end are large, and need more precision.
        allowed = _PRECISION * (grid.detected / grid.inside.sum()) * (grid.detected / grid.detected[-1])
        reach = 2 * least * allowed ** (1 / terms)
        moves = np.abs(np.diff(least, prepend=least[0])) + grid.most_delayed + grid.most_early  # at most
        weights = grid.after + grid.before
        change, after_next = weights - np.append(weights[1:], 0.0), np.append(grid.after[1:], 0.0)
        most = grid.inside + grid.most_delayed + grid.most_early
        charge = change * grid.missed + grid.before * most + after_next * np.append(most[1:], 0.0)
        heavy = charge * grid.missed / least * allowed > _EACH
        simple = (moves <= reach / 4) & ~grid.is_shared & ~heavy
        simple[grid.delayed.at] = False  # or else more than the early part would differ from the threshold before

        early = np.zeros(least.size, dtype=np.bool_)
        early[grid.ahead.at] = True
        opens = (early & ~simple) | heavy
        opens[1:] |= heavy[:-1]
        opens[begin] = True
        places, way, gains = np.arange(least.size), np.cumsum(moves / reach), np.cumsum(early)
        since = np.maximum.accumulate(np.where(opens, places, 0))
        full = np.floor((way - way[since]) / 0.75) + (gains - gains[since]) // _GROUPS + (places - since) // _THRESHOLDS
        opens |= np.diff(full, prepend=0.0) != 0
        return cls(
            terms,
            np.flatnonzero(opens[begin:]) + begin,
            np.flatnonzero((opens | early)[begin:]) + begin,
            simple,
            after_next,
            change,
        )

    def strips(self, grid: Grid) -> Iterator[tuple[IntArray, IntArray, int]]:
        """Cut into strips of some blocks: yields these, their groups, and the end."""
        width = max(1, _STRIP // (max(grid.early.size, grid.delay.size) * self.terms))
        for begin in range(0, self.blocks.size, width):
            blocks = self.blocks[begin : begin + width]
            stop = int(self.blocks[begin + width]) if begin + width < self.blocks.size else grid.missed.size
            yield blocks, self.groups[slice(*np.searchsorted(self.groups, [blocks[0], stop]))], stop


@dataclass(frozen=True)
class _Strip:
    """Some blocks, and what X does in them.

    Attributes
    ----------
    begin, stop : int
        The thresholds.
    blocks, groups : ndarray of int
        First thresholds of the blocks and groups, counted from ``begin``.
    first : ndarray of int
        First group of each block.
    gains, moves, level : ndarray, thresholds x delays
        What true positives gain and how X moves at each threshold, and X itself, without early zones.
    early : EarlyGains
        Gains from early zones.
    early_level : ndarray, groups x early lengths
        What these add to X, without joint ones.
    middle, early_middle : ndarray, blocks x lengths
        The middle of each block's series, without joint gains: the sum of both.
    """

    begin: int
    stop: int
    blocks: IntArray
    groups: IntArray
    first: IntArray
    gains: Array
    moves: Array
    level: Array
    early: EarlyGains
    early_level: Array
    middle: Array
    early_middle: Array

    @classmethod
    def of(cls, grid: Grid, plan: _Plan, blocks: IntArray, groups: IntArray, stop: int, found: Found) -> _Strip:
        """Lay out the blocks and groups that start at these thresholds; moves ``found`` on, but for joint gains."""
        begin = int(blocks[0])
        gains = fixed_gains(grid, begin, stop + 1)
        moves = gains[:-1] + np.diff(grid.missed[begin - 1 : stop])[:, None]
        level = np.cumsum(moves, axis=0)
        level += found.fixed + grid.missed[begin - 1]
        early = EarlyGains.of(grid, groups, stop, plan.simple)
        early_level = np.cumsum(early.alone, axis=0)
        early_level += found.early
        first = np.searchsorted(groups, blocks)
        last = np.append(first[1:], groups.size) - 1
        ends = np.append(blocks[1:], stop) - 1
        found.fixed = level[-1] - grid.missed[stop - 1]
        found.early = early_level[-1]
        return cls(
            begin,
            stop,
            blocks - begin,
            groups - begin,
            first,
            gains,
            moves,
            level,
            early,
            early_level,
            (level[blocks - begin] + level[ends - begin]) / 2,
            (early_level[first] - early.alone[first] + early_level[last]) / 2,
        )

    def sum(self, grid: Grid, plan: _Plan, dips: Dips, found: Found) -> float:
        """Sum of ``q_j FN_j / X_j``, averaged over the grid; moves ``found`` on and visits what is in dips."""
        factors = self._factors(grid, plan)
        joint_blocks = np.searchsorted(self.first, self.early.joint_rows)
        in_dips = dips.points(self.begin, self.stop)
        total = 0.0
        width = max(1, _MATRICES // found.joint.size)
        for low in range(0, self.blocks.size, width):
            some = slice(low, min(low + width, self.blocks.size))
            own = slice(*np.searchsorted(joint_blocks, [some.start, some.stop]))
            matrices, now = self._middles(found, some, joint_blocks[own], self.early.joint[own])
            if in_dips.size:
                self._visit(grid, dips, some, matrices)
            total += self._joint_sum(grid, now, joint_blocks[own], self.early.joint[own])
            inverse = np.divide(1.0, matrices, out=matrices)
            power = inverse.copy()
            for term in range(plan.terms):
                if term:
                    power *= inverse
                total += factors.sum(some, term, power)
        return total

    def _middles(self, found: Found, some: slice, joint_blocks: IntArray, gains: Array) -> tuple[Array, Array]:
        """Middles of some blocks, early lengths x delays, and X where those begin that have joint gains.

        Moves ``found`` on to the end of the blocks.
        """
        matrices = np.empty((some.stop - some.start, *found.joint.shape))
        now = np.empty_like(gains)
        edges = [some.start, *joint_blocks.tolist(), some.stop]
        for place, (begin, end) in enumerate(itertools.pairwise(edges)):
            if place:
                found.joint += gains[place - 1]
                np.add(found.joint, self.early_level[self.first[begin], :, None], out=now[place - 1])
            np.add(
                found.joint, self.early_middle[begin:end, :, None], out=matrices[begin - some.start : end - some.start]
            )
        matrices += self.middle[some, None]
        now += self.level[self.blocks[joint_blocks], None]
        return matrices, now

    def _visit(self, grid: Grid, dips: Dips, some: slice, matrices: Array) -> None:
        """Visit the thresholds of some blocks that are in dips."""
        ends = np.append(self.blocks, self.stop - self.begin)[[some.start, some.stop]] + self.begin
        points = dips.points(*ends)
        at = points - self.begin
        block, group = (np.searchsorted(starts, at, side="right") - 1 for starts in (self.blocks, self.groups))
        found = matrices[block - some.start]
        found += (self.early_level[group] - self.early_middle[block])[:, :, None]
        found += (self.level[at] - self.middle[block] - grid.missed[points][:, None])[:, None]
        dips.visit(points, found)

    def _joint_sum(self, grid: Grid, now: Array, blocks: IntArray, gains: Array) -> float:
        """What joint gains add to the sum; ``now`` is X with them."""
        at = self.blocks[blocks]
        past = now - gains
        past -= self.moves[at, None]
        at = at + self.begin
        np.divide((grid.after[at] * grid.missed[at - 1])[:, None, None], past, out=past)
        np.divide((grid.before[at] * grid.missed[at])[:, None, None], now, out=now)
        now += past
        now *= gains
        return grid.mean(now.sum(axis=0))

    def _factors(self, grid: Grid, plan: _Plan) -> _Factors:
        """What multiplies the powers of Y."""
        sizes = np.diff(self.first, append=self.groups.size)
        places = np.arange(int(sizes.max()))
        exists = places < sizes[:, None]
        group = np.where(exists, self.first[:, None] + places, 0)  # blocks x groups, with room for the largest block
        threshold = self.groups[group]

        # How far X lies below the middle at the first threshold of each group, as a sum u + v; and at the one before
        # it, where only the early part differs if anything is gained.
        away = self.middle[:, None] - self.level[threshold]
        early_away = self.early_middle[:, None] - self.early_level[group]
        gained = self.early.alone[group]
        early_away_past = early_away + gained
        early_away_past += self.moves[threshold, :1]
        gained *= grid.early_share * exists[:, :, None]
        at = threshold + self.begin
        now = (grid.before[at] * grid.missed[at])[:, :, None] * gained
        past = (grid.after[at] * grid.missed[at - 1])[:, :, None] * gained

        moments = self._moments(grid, plan, exists)
        powers = [np.broadcast_to(grid.delay_share, away.shape)]
        for _ in range(1, plan.terms):
            powers.append(powers[-1] * away)
        width, last = places.size, plan.terms - 1
        by_early = np.empty((sizes.size, 1 + plan.terms + 2 * last * width, grid.early.size))
        by_early[:, 0] = grid.early_share
        share = np.broadcast_to(grid.early_share, gained.shape)
        for power in range(plan.terms):
            if power:
                now *= early_away
                past *= early_away_past
            if power == last:
                np.add.reduce(now + past, axis=1, out=by_early[:, 1 + power])
                break
            rows = by_early[:, 1 + plan.terms + 2 * power * width :]
            share = np.multiply(share, early_away, out=rows[:, :width])
            gains = np.add(now, past, out=rows[:, width : 2 * width])
            np.add.reduce(gains, axis=1, out=by_early[:, 1 + power])
        return _Factors(by_early, moments, [moment.sum(axis=1) for moment in moments], powers)

    def _moments(self, grid: Grid, plan: _Plan, exists: BoolArray) -> list[Array]:
        """Sums of ``q_j FN_j t_j^n`` over each group, without early gains: blocks x groups x delays, for each n."""
        some = slice(self.begin, self.stop)
        missed = grid.missed[some]
        charges = self.gains[:-1] * (grid.before[some] * missed)[:, None]
        charges += self.gains[1:] * (plan.after_next[some] * missed)[:, None]
        charges += (plan.change[some] * missed**2)[:, None]
        charges *= grid.delay_share

        sizes = np.diff(self.blocks, append=missed.size)
        block = np.repeat(np.arange(sizes.size), sizes)
        place = np.arange(missed.size) - self.blocks[block]
        group = np.searchsorted(self.groups, np.arange(missed.size), side="right") - 1 - self.first[block]
        belongs = np.zeros((*exists.shape, int(sizes.max())))
        belongs[block, group, place] = 1.0
        charge = np.zeros((sizes.size, int(sizes.max()), grid.delay.size))
        charge[block, place] = charges
        away = np.zeros_like(charge)
        away[block, place] = self.middle[block] - self.level
        moments = []
        for term in range(plan.terms):
            if term:
                charge *= away
            moments.append(belongs @ charge)
        return moments


@dataclass(frozen=True)
class _Factors:
    """Factors of the powers of Y.

    The sum over a block's thresholds j of ``q_j FN_j t_j^n`` with t = u + v is multiplied out: a sum of products of
    something for each early length and something for each delay, group by group.

    Attributes
    ----------
    by_early : ndarray, blocks x rows x early lengths
        A row for what depends on the delay alone; one for each power of Y, for what depends on the early length alone;
        then, for each power from 1 on, v^n and early gains times v^(n - 1), a row for each group.
    moments : list of ndarray, blocks x groups x delays
        Sums over each group of charges times u^n.
    totals : list of ndarray, blocks x delays
        The same over all groups.
    powers : list of ndarray, blocks x groups x delays
        u^n at the first threshold of each group.
    """

    by_early: Array
    moments: list[Array]
    totals: list[Array]
    powers: list[Array]

    def sum(self, some: slice, term: int, power: Array) -> float:
        """Sum of a power of Y, for some blocks, times its factors."""
        terms, width = len(self.moments), self.moments[0].shape[1]
        begin = 1 + terms
        products = _product(self.by_early[some, : begin + 2 * term * width], power)
        total = _dot(products[:, 0], self.totals[term][some])
        total += _dot(products[:, 1 + term], self.powers[0][some, 0])
        for part in range(1, term + 1):
            zones, gains = products[:, begin : begin + width], products[:, begin + width : begin + 2 * width]
            total += comb(term, part) * _dot(zones, self.moments[term - part][some])
            total += comb(term, part - 1) * _dot(gains, self.powers[term - part + 1][some])
            begin += 2 * width
        return total


def _product(rows: Array, matrices: Array) -> Array:
    """Matrix products, in pieces: larger ones go to several threads, which keep on spinning when they are done."""
    products = np.empty((*rows.shape[:2], matrices.shape[2]))
    most = max(2, _SMALL_PRODUCT // matrices[0].size)
    for begin in range(0, rows.shape[1], most):
        some = slice(begin, begin + most)
        np.matmul(rows[:, some], matrices, out=products[:, some])
    return products


def _dot(values: Array, others: Array) -> float:
    """Sum of products."""
    return float(np.vecdot(values, others).sum())
