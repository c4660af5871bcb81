"""Coarse scores: so few distinct values that the trapezoid rule flatters them."""

from __future__ import annotations

import warnings

import numpy as np

from pateval.validation.arrays import FloatArray


class CoarseScoresWarning(UserWarning):
    """The scores are so coarse that the trapezoid rule pays for a line nobody walked."""


def coarseness(scores: FloatArray) -> str | None:
    """Say in a few words why scores are coarse, or return None.

    Coarse are scores of at most two distinct values, and scores of which one value holds more than half of all steps.

    Examples
    --------
    >>> coarseness(np.array([0.0, 0.0, 1.0, 0.0]))
    'the scores have at most 2 distinct values'
    >>> coarseness(np.array([0.1, 0.1, 0.1, 0.2, 0.3]))
    'one score (0.1) is shared by 60 % of all steps'
    >>> coarseness(np.arange(5.0)) is None
    True
    """
    if scores.min() == -np.inf:  # a missing score that counts as normal is no value
        scores = scores[scores > -np.inf]
    if not scores.size:
        return None
    few = np.unique(scores[:64])
    if few.size <= 2:
        few = np.unique([scores.min(), scores.max()])
        if np.isin(scores, few).all():
            return "the scores have at most 2 distinct values"
    common = _majority(scores)
    if common is None:
        return None
    share = np.count_nonzero(scores == common) / scores.size
    return f"one score ({common:g}) is shared by {100 * share:.0f} % of all steps"


def warn_if_coarse(scores: FloatArray, metric: str, instead: str) -> None:
    """Warn the caller of a public function that its trapezoid rule flatters these scores."""
    if reason := coarseness(scores):
        warnings.warn(
            f"{reason}, which the trapezoid rule of {metric} flatters; compare {instead}",
            CoarseScoresWarning,
            stacklevel=3,
        )


def _majority(values: FloatArray) -> float | None:
    """Value of more than half of the steps, found by pairing off unequal neighbours (Boyer and Moore)."""
    rest = values
    while rest.size:
        if rest.size % 2:
            if 2 * np.count_nonzero(rest == rest[-1]) > rest.size:
                candidate = float(rest[-1])
                return candidate if 2 * np.count_nonzero(values == rest[-1]) > values.size else None
            rest = rest[:-1]
        rest = rest[0::2][rest[0::2] == rest[1::2]]
    return None
