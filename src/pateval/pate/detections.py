"""How many scores lie at or above each threshold, without sorting them all.

A non-decreasing map sends scores and thresholds into cells. A score whose cell holds no threshold compares with all
thresholds as its cell does, so counting per cell is enough; only scores that share a cell with a threshold are sorted.
The result is exact whatever the map: a poor one only means that more scores are sorted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval._inputs import BoolArray, FloatArray, IntArray

_CELLS_PER_THRESHOLD = 8
_MOST_CELLS = 2**24
_BLOCK = 2**16  # scores whose cells are computed at once: small enough to stay in cache


def count_detections(
    scores: FloatArray, thresholds: FloatArray, settled: BoolArray, settled_upto: IntArray
) -> tuple[IntArray, IntArray]:
    """Count the scores at or above, and strictly above, each threshold.

    Parameters
    ----------
    scores : ndarray
        Finite scores in any order.
    thresholds : ndarray
        Distinct thresholds, from high to low.
    settled : ndarray of bool
        Scores that are thresholds themselves and have been counted already.
    settled_upto : ndarray of int
        How many of those lie at or above each threshold.

    Returns
    -------
    detected, detected_before : ndarray of int
        Number of scores at or above, and above, each threshold.

    Examples
    --------
    >>> scores = np.array([0.5, 0.1, 0.9, 0.5])
    >>> settled = np.array([True, False, True, False])
    >>> at, above = count_detections(scores, np.array([0.9, 0.5]), settled, np.array([1, 2]))
    >>> at.tolist(), above.tolist()
    ([1, 3], [0, 1])
    """
    settled_before = np.concatenate([[0], settled_upto[:-1]])
    nearby, elsewhere = _split(scores, thresholds, settled)
    if not nearby.size:
        return elsewhere + settled_upto, elsewhere + settled_before
    nearby = np.sort(nearby)
    at = nearby.size - np.searchsorted(nearby, thresholds, side="left")
    # Few thresholds are shared with such a score; only those need a second look-up.
    above = at.copy()
    shared = np.flatnonzero((nearby[nearby.size - np.maximum(at, 1)] == thresholds) & (at > 0))
    above[shared] = nearby.size - np.searchsorted(nearby, thresholds[shared], side="right")
    return elsewhere + settled_upto + at, elsewhere + settled_before + above


def _split(scores: FloatArray, thresholds: FloatArray, settled: BoolArray) -> tuple[FloatArray, IntArray]:
    """Unsettled scores that share a cell with a threshold, and for each threshold the number of other scores above."""
    low, high = thresholds[-1], thresholds[0]
    cells = min(_MOST_CELLS, 1 << (_CELLS_PER_THRESHOLD * thresholds.size).bit_length())
    with np.errstate(over="ignore", divide="ignore"):
        scale = (cells - 3) / (high - low)
    if not 0 < scale < np.inf:
        return scores[~settled], np.zeros(thresholds.size, dtype=np.intp)
    threshold_cells = _cells(thresholds, low, scale, cells)
    taken = np.zeros(cells, dtype=np.bool_)
    taken[threshold_cells] = True
    score_cells = np.empty(scores.size, dtype=np.int32)
    nearby = []
    for begin in range(0, scores.size, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        score_cells[block] = _cells(scores[block], low, scale, cells)
        nearby.append(scores[block][taken[score_cells[block]] & ~settled[block]])
    per_cell = np.bincount(score_cells, minlength=cells)
    per_cell[threshold_cells] = 0
    upto = np.cumsum(per_cell)
    return np.concatenate(nearby), upto[-1] - upto[threshold_cells]


def _cells(values: FloatArray, low: float, scale: float, cells: int) -> npt.NDArray[np.int32]:
    """Cell 0 holds what lies below ``low``, the last one what lies far above."""
    with np.errstate(over="ignore"):
        position = values - low
        position *= scale
    np.clip(position, -1, cells - 2, out=position)
    np.floor(position, out=position)
    position += 1
    return position.astype(np.int32)
