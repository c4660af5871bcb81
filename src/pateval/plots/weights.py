"""Weights that PATE would give: what a detection or a miss at a step is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pateval.pate._missed import miss_weight

if TYPE_CHECKING:
    from pateval.output.explanation import Explanation

Array = npt.NDArray[np.float64]

DETECTED_CATEGORIES = ("true detection", "early", "delayed", "outside")


@dataclass(frozen=True)
class PotentialWeights:
    """What each step could weigh, whether or not it is detected.

    Attributes
    ----------
    detected : ndarray of bool
        The steps that are predicted: here the weights of a detection are active.
    missed : ndarray of bool
        The steps inside events that are not predicted: here the weights of a miss are active.
    true_positive : ndarray
        Weight of a detection at each step, all other predictions as they are: 1 inside events, falling off in the
        delayed zone, rising in the early zone of an event that is detected, 0 elsewhere. The rest up to 1 counts as
        false.
    false_negative : ndarray
        Weight of a miss at each step inside an event, given the first detected run of the event; NaN outside.
    """

    detected: npt.NDArray[np.bool_]
    missed: npt.NDArray[np.bool_]
    true_positive: Array
    false_negative: Array


def potential_weights(explanation: Explanation) -> PotentialWeights:
    """Weights of a detection and of a miss at every step of an explained series.

    Parameters
    ----------
    explanation : Explanation
        What `pateval.explain` returned.

    Returns
    -------
    PotentialWeights

    Examples
    --------
    >>> import pateval as pv
    >>> explanation = pv.explain([0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0], early=2, delay=2)
    >>> potential_weights(explanation).true_positive.round(2).tolist()
    [0.0, 0.0, 0.33, 1.0, 1.0, 1.0, 0.33, 0.0, 0.0]
    """
    points = explanation.points
    detected = np.isin(points.category, DETECTED_CATEGORIES)
    false_negative = np.full(len(points), np.nan)
    for start, stop in zip(*(values.tolist() for values in explanation.event_places()), strict=True):
        false_negative[start:stop] = _miss_weights(detected[start:stop])
    inside_events = ~np.isnan(false_negative)
    return PotentialWeights(detected, inside_events & ~detected, points.worth, false_negative)


def _miss_weights(detected: npt.NDArray[np.bool_]) -> Array:
    """Weight of a miss at each step of one event, from which of its steps are detected."""
    if not detected.any():
        return np.ones(detected.size)
    first = int(np.argmax(detected))
    gaps = np.flatnonzero(~detected[first:])
    run = int(gaps[0]) if gaps.size else detected.size - first
    return miss_weight(np.arange(detected.size), detected.size, run)
