"""Point adjustment: credit a whole event for being hit, and the variants that ask for more than one lucky step.

References
----------
.. [1] H. Xu et al., "Unsupervised anomaly detection via variational auto-encoder for seasonal KPIs in web
   applications", WWW 2018, doi:10.1145/3178876.3185996.
.. [2] S. Kim et al., "Towards a rigorous evaluation of time-series anomaly detection", AAAI 2022,
   arXiv:2109.05257.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pateval.kernels.precision_recall import trapezoids
from pateval.labels.events import count_inside, first_inside, runs
from pateval.output.results import PRF, ratio
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly, require_normal
from pateval.validation.checked import PERCENTAGE, STEPS, adds_up, on_predictions, undefined_where


def _point_adjusted_counts(labels: BoolArray, predictions: BoolArray) -> tuple[int, int, int]:
    counts = _count_hits(labels, predictions)
    return counts.split(counts.lengths[counts.hits > 0].sum())


@adds_up(_point_adjusted_counts, PRF.from_counts)
@on_predictions()
def point_adjusted(labels: BoolArray, predictions: BoolArray) -> PRF:
    """Precision, recall and F1 after point adjustment (PA).

    An event of which at least one step is predicted counts as predicted from its first step to its last; steps
    outside the events stay as they are. Then precision, recall and F1 of single steps.

    Warnings
    --------
    Point adjustment rewards luck: in long events a random detector is almost sure to hit one step and is paid for all
    of them, while its false alarms stay single steps. Random scores beat published detectors under it (Kim et
    al., 2022).

    See Also
    --------
    point_adjusted_k : asks for a share of the event.
    delay_adjusted : asks for a prompt hit.

    Notes
    -----
    Some implementations never fill index 0, a slip of their backward loop; here it is filled.

    Examples
    --------
    >>> point_adjusted([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0])
    PRF(precision=0.8, recall=1.0, f1=0.888888888888889)
    """
    return PRF.from_counts(*_point_adjusted_counts(labels, predictions))


@on_predictions()
@undefined_where("nothing but anomalies")
def pa_auc_roc(labels: BoolArray, predictions: BoolArray) -> float:
    r"""Area under the ROC curve of point-adjusted predictions.

    Adjusted predictions take two values only, so the curve has one corner and its area is

    .. math:: \tfrac12 (1 + R - A),

    with R the recall of single steps after point adjustment and A the share of normal steps that are predicted.

    Returns
    -------
    float
        In [0, 1], higher is better; 0.5 where nothing, or everything, is predicted.

    Warnings
    --------
    It inherits the luck that point adjustment rewards; see `point_adjusted`.

    Examples
    --------
    >>> pa_auc_roc([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0])
    0.875
    """
    counts = _count_hits(labels, predictions)
    anomalous = int(counts.lengths.sum())
    require_normal(labels)
    recall = ratio(counts.lengths[counts.hits > 0].sum(), anomalous)
    return (1 + recall - ratio(counts.false_positive, labels.size - anomalous)) / 2


def _point_adjusted_k_counts(labels: BoolArray, predictions: BoolArray, *, k: int) -> tuple[int, int, int]:
    counts = _count_hits(labels, predictions)
    return counts.split(np.where(100 * counts.hits > k * counts.lengths, counts.lengths, counts.hits).sum())


@adds_up(_point_adjusted_k_counts, PRF.from_counts)
@on_predictions(k=PERCENTAGE)
def point_adjusted_k(labels: BoolArray, predictions: BoolArray, *, k: int = 20) -> PRF:
    r"""Precision, recall and F1 after point adjustment of the events hit for more than k percent (PA%K).

    An event of L steps, c of them predicted, counts as predicted throughout where

    .. math:: 100\, c > k\, L,

    compared in whole numbers; otherwise its c steps count as they are. ``k=0`` is point adjustment, ``k=100`` none.

    Parameters
    ----------
    k : int, default 20
        Percentage of an event, 0 to 100, that must be exceeded.

    Warnings
    --------
    For small k, and for any k below the detector's share of flagged steps, it still rewards luck as `point_adjusted`
    does; `point_adjusted_k_area` does not ask for a choice.

    Examples
    --------
    >>> point_adjusted_k([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0], k=20).recall
    1.0
    >>> point_adjusted_k([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0], k=25).recall
    0.25
    """
    return PRF.from_counts(*_point_adjusted_k_counts(labels, predictions, k=k))


@on_predictions()
def point_adjusted_k_area(labels: BoolArray, predictions: BoolArray) -> float:
    r"""Area under the F1 of `point_adjusted_k` over k from 0 to 100 percent.

    .. math:: \int_0^1 F_1(\mathrm{PA\%K})\, dK

    by the trapezoid rule on k = 0, 1, ..., 100.

    Examples
    --------
    >>> point_adjusted_k_area([0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0])
    1.0
    >>> round(point_adjusted_k_area([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 0, 0]), 3)
    0.547
    """
    counts = _count_hits(labels, predictions)
    # An event with c of L steps is filled for every k below 100 c / L: the last such k, and -1 (no k) where c = 0.
    last = np.minimum((100 * counts.hits - 1) // counts.lengths, 100)
    gained = np.bincount(last + 1, weights=counts.lengths - counts.hits, minlength=102)
    true_positive = counts.hits.sum() + np.cumsum(gained[::-1])[::-1][1:]
    total = true_positive + counts.false_positive + counts.lengths.sum()
    return float(trapezoids(np.arange(101.0), 2 * true_positive / total) / 100)


def _delay_adjusted_counts(labels: BoolArray, predictions: BoolArray, *, delay: int) -> tuple[int, int, int]:
    counts = _count_hits(labels, predictions)
    return counts.split(counts.lengths[(counts.hits > 0) & (counts.delays <= delay)].sum())


@adds_up(_delay_adjusted_counts, PRF.from_counts)
@on_predictions(delay=STEPS)
def delay_adjusted(labels: BoolArray, predictions: BoolArray, *, delay: int = 7) -> PRF:
    """Precision, recall and F1 after point adjustment of the events that are hit in time.

    An event with a predicted step among its first ``delay + 1`` steps counts as predicted throughout; any other event
    counts as missed throughout, even where later steps of it are predicted. Steps outside the events stay as they are.

    Parameters
    ----------
    delay : int, default 7
        Steps after an event's first step within which a detection is in time.

    Warnings
    --------
    A lucky early step still pays for a whole event; see `point_adjusted`.

    References
    ----------
    .. [1] H. Ren et al., "Time-series anomaly detection service at Microsoft", KDD 2019,
       doi:10.1145/3292500.3330680.

    Examples
    --------
    >>> delay_adjusted([0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 0, 0], delay=1).recall
    1.0
    >>> delay_adjusted([0, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0], delay=1).recall
    0.0
    """
    return PRF.from_counts(*_delay_adjusted_counts(labels, predictions, delay=delay))


@on_predictions(width=STEPS)
def balanced_point_adjusted(labels: BoolArray, predictions: BoolArray, *, width: int = 2) -> PRF:
    """Precision, recall and F1 after balanced point adjustment.

    Every step within ``width`` steps of a predicted one counts as predicted, inside events and outside, and so does
    every step of an event that holds a predicted one. Then precision, recall and F1 of single steps. ``width=0`` is
    `point_adjusted`.

    Parameters
    ----------
    width : int, default 2
        Steps by which a predicted step spreads to both sides.

    Warnings
    --------
    Emerging: a preprint so far, whose text was not at hand: this is what its authors' program does. A lucky step still
    pays for a whole event, however long, while a false alarm of one step costs ``2 * width + 1`` at most. A perfect
    detector does not reach 1: its alarms spill over the edges of the events.

    Notes
    -----
    The authors' program fails with ``width=0`` and where every step is anomalous.

    References
    ----------
    .. [1] D. Bhattacharya et al., "Towards unbiased evaluation of time-series anomaly detector", arXiv:2409.13053.

    Examples
    --------
    >>> balanced_point_adjusted([0, 0, 1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0], width=1).precision
    1.0
    >>> balanced_point_adjusted([0, 0, 1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0], width=1).precision
    0.8
    """
    width = min(width, labels.size)
    require_anomaly(labels)
    starts, stops = runs(labels)
    hit = count_inside(predictions, starts, stops) > 0
    run_starts, run_stops = runs(predictions)
    begins = np.concatenate([np.maximum(run_starts - width, 0), starts[hit]])
    ends = np.concatenate([np.minimum(run_stops + width, labels.size), stops[hit]])
    covers = np.bincount(begins, minlength=labels.size + 1) - np.bincount(ends, minlength=labels.size + 1)
    adjusted = np.cumsum(covers[:-1]) > 0
    true_positive, predicted, anomalous = (
        int(np.count_nonzero(mask)) for mask in (adjusted & labels, adjusted, labels)
    )
    return PRF.from_counts(true_positive, predicted - true_positive, anomalous - true_positive)


@dataclass(frozen=True)
class _AdjustedCounts:
    """What every adjustment starts from."""

    lengths: IntArray
    hits: IntArray
    delays: IntArray
    false_positive: int

    def split(self, true_positive: int) -> tuple[int, int, int]:
        """True and false positives, and false negatives, when that many anomalous steps count as predicted."""
        return int(true_positive), self.false_positive, int(self.lengths.sum() - true_positive)


def _count_hits(labels: BoolArray, predictions: BoolArray) -> _AdjustedCounts:
    require_anomaly(labels)
    starts, stops = runs(labels)
    hits = count_inside(predictions, starts, stops)
    delays = first_inside(predictions, starts, stops) - starts
    return _AdjustedCounts(stops - starts, hits, delays, int(np.count_nonzero(predictions) - hits.sum()))
