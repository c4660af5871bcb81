"""Mean area over a grid of many buffer lengths, all pairs together.

The first thresholds are worked out as the definition says, for all pairs at once. All others are left to `tail_area`,
which is many times as fast but works with what is missed instead of what is found, and would lose digits while little
is found.
"""

from __future__ import annotations

import itertools

import numpy as np

from pateval.pate.blocks import tail_area
from pateval.pate.dips import Dips
from pateval.pate.found import EarlyGains, Found, fixed_gains
from pateval.pate.layout import Grid

_LITTLE = 1 / 64  # detections, as a share of all anomalous steps
_HEAD = 160_000  # thresholds worked on together, times pairs


def mean_area_together(grid: Grid) -> float:
    """Mean area over all pairs of a grid."""
    dips, found = Dips(grid), Found.none(grid)
    # At least one threshold: the first gain has its own precision before it.
    head = min(max(1, int(np.searchsorted(grid.detected, _LITTLE * grid.inside.sum()))), grid.missed.size)
    width = max(1, _HEAD // found.joint.size)
    total = 0.0
    for begin in range(0, head, width):
        total += _head_area(grid, dips, begin, min(begin + width, head), found)
    if head < grid.missed.size:
        total += tail_area(grid, dips, head, found)
    return min(total + dips.correction, 1.0)  # rounding may reach beyond


def _head_area(grid: Grid, dips: Dips, begin: int, stop: int, found: Found) -> float:
    """Share of the gains at some thresholds in the mean area; moves ``found`` on to their end."""
    points = np.arange(begin, stop)
    fixed, early = fixed_gains(grid, begin, stop), EarlyGains.of(grid, points, stop, ~grid.is_shared)
    true_positive = np.empty((points.size + 1, grid.early.size, grid.delay.size))
    true_positive[0] = found.table
    true_positive[1:] = early.alone[:, :, None] + fixed[:, None]
    true_positive[1 + early.joint_rows] += early.joint
    for before, here in itertools.pairwise(true_positive):  # np.cumsum is slow in this direction
        here += before
    missed = np.append(grid.missed[begin - 1] if begin else 1.0, grid.missed[begin:stop])  # any, where nothing is found
    recall = true_positive / (true_positive + missed[:, None, None])
    counted = true_positive[1:] * grid.after[begin:stop, None, None]
    counted += true_positive[:-1] * grid.before[begin:stop, None, None]
    if begin == 0:
        counted[0] += grid.first_precision
    counted *= np.diff(recall, axis=0)
    total = grid.mean(counted.sum(axis=0))
    in_dips = dips.points(begin, stop)
    dips.visit(in_dips, true_positive[1 + in_dips - begin])
    found.fixed += fixed.sum(axis=0)
    found.early += early.alone.sum(axis=0)
    found.joint += early.joint.sum(axis=0)
    return total
