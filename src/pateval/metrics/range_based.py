"""Precision and recall of ranges: existence, size, position and cardinality."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import runs
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly
from pateval.validation.checked import FRACTION, on_predictions, word_of

CARDINALITIES = ("one", "reciprocal")
BIASES = ("flat", "front", "middle", "back")


@on_predictions(alpha=FRACTION, precision_alpha=FRACTION, cardinality=word_of(CARDINALITIES), bias=word_of(BIASES))
def range_based(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    alpha: float = 0.0,
    precision_alpha: float = 0.0,
    cardinality: str = "one",
    bias: str = "flat",
) -> PRF:
    r"""Range-based precision, recall and F1.

    Recall is the mean over the events r of

    .. math:: \alpha\, [n > 0] + (1 - \alpha)\, \gamma(n) \sum_{p} \omega(r, r \cap p),

    over the n predicted runs p that touch r, with ω the share of the event's positional weight that is covered.
    Precision is the same with the roles of events and predicted runs exchanged.

    Parameters
    ----------
    alpha : float, default 0
        Weight of existence in recall, in [0, 1]: what an event earns for being touched at all.
    precision_alpha : float, default 0
        The same for precision. The paper has none; the tables of the PATE paper use 0.2 for both.
    cardinality : {"one", "reciprocal"}, default "one"
        γ: whether a range touched by n others earns its full share, or 1/n of it.
    bias : {"flat", "front", "middle", "back"}, default "flat"
        Which positions of a range weigh more: none, the first, the central or the last; the weight falls by one per
        step.

    Warnings
    --------
    Precision averages over predicted runs whatever their length: many one-step hits outvote one long false alarm.
    With ``alpha`` near 1 recall has the weakness of `point_adjusted`.

    References
    ----------
    .. [1] N. Tatbul et al., "Precision and recall for time series", NeurIPS 2018, arXiv:1803.03639.

    Examples
    --------
    >>> range_based([0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 0], cardinality="reciprocal")
    PRF(precision=1.0, recall=0.25, f1=0.4)
    >>> range_based([0, 1, 1, 1, 1, 0], [1, 1, 0, 0, 0, 0], bias="front").recall
    0.4
    """
    require_anomaly(labels)
    # A common run belongs to one event and one predicted run, and each touching pair has exactly one.
    common = runs(labels & predictions)
    return PRF.of(
        _mean_reward(runs(predictions), common, precision_alpha, cardinality, bias),
        _mean_reward(runs(labels), common, alpha, cardinality, bias),
    )


def _mean_reward(
    ranges: tuple[IntArray, IntArray], common: tuple[IntArray, IntArray], alpha: float, cardinality: str, bias: str
) -> float:
    starts, stops = ranges
    if not starts.size:
        return 0.0
    owner = np.searchsorted(starts, common[0], side="right") - 1
    lengths = stops - starts
    covered = _weight_before(common[1] - starts[owner], lengths[owner], bias) - _weight_before(
        common[0] - starts[owner], lengths[owner], bias
    )
    touching = np.bincount(owner, minlength=starts.size)
    share = np.bincount(owner, weights=covered, minlength=starts.size) / _weight_before(lengths, lengths, bias)
    if cardinality == "reciprocal":
        share = share / np.maximum(touching, 1)
    return float(np.mean(alpha * (touching > 0) + (1 - alpha) * share))


def _weight_before(position: IntArray, length: IntArray, bias: str) -> IntArray:
    """Sum of the weights of the first ``position`` steps of a range."""
    rising = position * (position + 1) // 2
    falling = position * (length + 1) - rising
    if bias == "flat":
        return position
    if bias == "back":
        return rising
    if bias == "front":
        return falling
    half = (length + 1) // 2
    return np.where(position <= half, rising, falling - (length + 1) * half + half * (half + 1))
