"""True positives at chosen thresholds, for every pair of a grid: early lengths x delays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray, IntArray
from pateval.pate.layout import Grid
from pateval.pate.zones import zone_weight

Array = npt.NDArray[np.float64]


@dataclass
class Found:
    """True positives found so far.

    An early zone gives way to the delayed zone of the event before: where two events share a gap, what a step in it is
    worth depends on both lengths. Everything else is the sum of a part for each delay and a part for each early length.

    Attributes
    ----------
    fixed : ndarray
        Inside events and in delayed zones, for each delay.
    early : ndarray
        In early zones, for each early length.
    joint : ndarray, early lengths x delays
        In early zones too, where that is not enough.
    """

    fixed: Array
    early: Array
    joint: Array

    @classmethod
    def none(cls, grid: Grid) -> Found:
        """Nothing found yet."""
        return cls(np.zeros(grid.delay.size), np.zeros(grid.early.size), np.zeros((grid.early.size, grid.delay.size)))

    @property
    def table(self) -> Array:
        """All of them, early lengths x delays."""
        return self.joint + self.early[:, None] + self.fixed


def fixed_gains(grid: Grid, begin: int, stop: int) -> Array:
    """True positives gained inside events and in delayed zones: thresholds x delays."""
    fixed = np.zeros((stop - begin, grid.delay.size))
    known = grid.inside[begin:stop]
    fixed[: known.size] += known[:, None]
    entering = grid.delayed.between(begin, stop)
    rows, gains = _together(entering.at - begin, entering.gains(grid.delay))
    fixed[rows] += gains
    return fixed


@dataclass(frozen=True)
class EarlyGains:
    """Gains from early zones at some thresholds.

    Attributes
    ----------
    alone : ndarray, thresholds x early lengths
        Those that only depend on the early length and can do with that.
    joint_rows : ndarray of int
        Which thresholds have others.
    joint : ndarray, those thresholds x early lengths x delays
        The others.
    """

    alone: Array
    joint_rows: IntArray
    joint: Array

    @classmethod
    def of(cls, grid: Grid, starts: IntArray, stop: int, simple: BoolArray) -> EarlyGains:
        """Gains at the thresholds ``starts``; there are none at others between them, nor up to ``stop``.

        ``simple`` marks those at which `alone` will do, among all thresholds.
        """
        entering = grid.ahead.between(int(starts[0]), stop)
        rows, own = np.searchsorted(starts, entering.at), entering[~entering.shared]
        alone = np.zeros((starts.size, grid.early.size))
        own_rows, gains = _together(rows[~entering.shared], own.gains(grid.early))
        alone[own_rows] = gains
        is_joint = np.zeros(starts.size, dtype=np.bool_)
        is_joint[rows[~simple[entering.at]]] = True
        joint_rows = np.flatnonzero(is_joint)
        joint = np.empty((joint_rows.size, grid.early.size, grid.delay.size))
        place_of = np.cumsum(is_joint) - 1
        both = own_rows[is_joint[own_rows]]
        joint[place_of[both]] = alone[both, :, None]
        alone[both] = 0.0
        filled = set(place_of[both].tolist())
        shared = entering[entering.shared]
        by_length = zone_weight(np.arange(grid.early[-1] + 1), shared.event_length[:, None], shared.distance[:, None])
        places = place_of[rows[entering.shared]]
        for place, room, worth in zip(places.tolist(), shared.room.tolist(), by_length, strict=True):
            zone = grid.shared_zone(room)
            if place in filled:
                joint[place] += worth.take(zone)
            else:
                worth.take(zone, out=joint[place], mode="clip")
                filled.add(place)
        return cls(alone, joint_rows, joint)


def _together(rows: IntArray, gains: Array) -> tuple[IntArray, Array]:
    """Add up gains of the same row; equal ``rows`` stand together."""
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    if firsts.size == rows.size:
        return rows, gains
    return rows[firsts], np.add.reduceat(gains, firsts)
