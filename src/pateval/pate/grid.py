"""Mean area over a whole grid of buffer lengths, with all shared work done once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pateval.pate.area import Rule, sampled_area
from pateval.pate.layout import Grid
from pateval.pate.sweep import Scored

_FEW = 40  # pairs


def mean_area(scored: Scored, early: Sequence[int], delay: Sequence[int], rule: Rule) -> float:
    """Mean area over all pairs of ``early`` and ``delay``: a few one by one, many together."""
    grid = Grid.of(scored, early, delay, rule)
    if grid.early.size * grid.delay.size <= _FEW:
        return _one_by_one(grid, rule)
    from pateval.pate.together import mean_area_together  # takes time to load, which a first number can do without

    return mean_area_together(grid)


def _one_by_one(grid: Grid, rule: Rule) -> float:
    """Mean area, one pair after the other."""
    size = grid.missed.size
    alone, shared = grid.ahead[~grid.ahead.shared], grid.ahead[grid.ahead.shared]
    early_gains = [alone.add_up(alone.gains_for(early, 0.0), size) for early in grid.early]
    areas = np.empty((grid.early.size, grid.delay.size))
    for column, delay in enumerate(grid.delay):
        fixed = grid.inside + grid.delayed.add_up(grid.delayed.gains_for(delay, 0.0), size)
        for row, early in enumerate(grid.early):
            found = fixed + early_gains[row]
            if shared.at.size:
                found += shared.add_up(shared.gains_for(early, delay), size)
            np.cumsum(found, out=found)
            areas[row, column] = sampled_area(found, grid.missed, grid.detected, grid.detected_before, rule)
    return grid.mean(areas)
