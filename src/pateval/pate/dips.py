"""Dips: where recall may fall below what it was at a higher threshold, and what dropping such points changes.

That can only happen where the missed weight grows, at few thresholds known beforehand for all pairs of a grid.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.pate.area import not_below
from pateval.pate.layout import Grid

Array = npt.NDArray[np.float64]


def _find_dips(grid: Grid) -> BoolArray:
    """Mark the thresholds at which recall may be below an earlier one, for some pair of the grid.

    Recall falls where FN grows by a larger factor than TP, and is back where FN / TP is; TP is at most what the longest
    zones give, and grows by 1 at least with every step found inside an event.
    """
    missed, found = grid.missed, np.cumsum(grid.inside)
    most = found + np.cumsum(grid.most_delayed + grid.most_early)
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
        searching, reach = searching[~done], reach + reach // 4 + 1
    return np.cumsum(edges[:-1]) > 0


class Dips:
    """What dropping points changes, found while one goes through the thresholds from high to low."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._inside = _find_dips(grid)
        # The threshold before a dip is kept by every pair of the grid.
        self._wanted = np.flatnonzero(self._inside | np.append(self._inside[1:], False))
        self._weight_before = np.append(grid.before, 0.0)
        nothing = np.zeros((grid.early.size, grid.delay.size))
        self._recall = self._counted = self._best = self._best_counted = nothing
        self._difference = nothing.copy()

    def points(self, begin: int, stop: int) -> IntArray:
        """Those of the thresholds from ``begin`` up to ``stop`` that have to be visited."""
        return self._wanted[slice(*np.searchsorted(self._wanted, [begin, stop]))]

    def visit(self, points: IntArray, true_positive: Array) -> None:
        """Go through some points, with the true positives at each: points x early lengths x delays."""
        for point, found in zip(points.tolist(), true_positive, strict=True):
            recall = found / (found + self._grid.missed[point])
            counted_next = self._weight_before[point + 1] * found
            if self._inside[point]:
                counted = self._grid.after[point] * found
                self._difference -= (recall - self._recall) * (counted + self._counted)
                kept = not_below(recall, self._best)
                self._difference += np.where(kept, (recall - self._best) * (counted + self._best_counted), 0.0)
                self._best = np.where(kept, recall, self._best)
                self._best_counted = np.where(kept, counted_next, self._best_counted)
            else:
                self._best, self._best_counted = recall, counted_next
            self._recall, self._counted = recall, counted_next

    @property
    def correction(self) -> float:
        """Difference to the mean area, where the gain behind dropped points starts from the last point kept."""
        return self._grid.mean(self._difference)
