"""Point adjustment in which an event counts for some points instead of for its length.

Parameters
----------
weight : {"log", "sqrt", "one", "length"}
    What an event counts; see `event_weighted`.
base : int, default 3
    Base of the logarithm, 2 or more.
delay : int, optional
    Steps after an event's first step within which a detection is in time; any by default.

References
----------
.. [1] H. Si et al., "TimeSeriesBench: an industrial-grade benchmark for time series anomaly detection models",
   ISSRE 2024, arXiv:2402.10802.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pateval.kernels.threshold_counts import count_at_thresholds
from pateval.labels.events import count_inside, runs, within
from pateval.output.results import PRF, Result
from pateval.validation.arrays import BoolArray, FloatArray, IntArray, require_anomaly
from pateval.validation.checked import STEPS, documented, integer_from, on_predictions, on_scores, word_of

_OPTIONS = {
    "weight": word_of(("log", "sqrt", "one", "length")),
    "base": integer_from(2),
    "delay": STEPS.or_word(None),
}


class _EventWeightedFields(NamedTuple):
    precision: FloatArray
    recall: FloatArray


class EventWeightedCurve(_EventWeightedFields, Result):
    """Precision and recall at the thresholds where another event is found, recall ascending.

    Examples
    --------
    >>> curve = EventWeightedCurve(np.array([1.0, 0.5]), np.array([0.5, 1.0]))
    >>> curve.best_f1, curve.average_precision
    (0.6666666666666666, 0.75)
    """

    __slots__ = ()

    @property
    def best_f1(self) -> float:
        """Highest F1."""
        return float(np.max(2 * self.precision * self.recall / (self.precision + self.recall), initial=0.0))

    @property
    def average_precision(self) -> float:
        """Sum of precision times recall gained."""
        return float(np.dot(np.diff(self.recall, prepend=0.0), self.precision))


@on_predictions(**_OPTIONS)
def event_weighted(
    labels: BoolArray, predictions: BoolArray, *, weight: str = "log", base: int = 3, delay: int | None = None
) -> PRF:
    r"""Precision, recall and F1 with events that count for some points each (TimeSeriesBench).

    An event of L steps counts for w(L) points. It is detected where a step among its first ``delay + 1`` is predicted,
    any step by default:

    .. math:: P = \frac{TP}{TP + FP}, \quad R = \frac{TP}{\sum w}

    with TP the points of the detected events and FP the predicted normal steps. Predicted steps of an event that is
    detected too late are neither right nor wrong.

    Parameters
    ----------
    weight : {"log", "sqrt", "one", "length"}
        What an event of L steps counts: the largest n with ``base**n <= L + base``; the square root of L, rounded down;
        1; L itself, which is point adjustment.

    Warnings
    --------
    Points of events are added to single steps, so the value depends on the sampling rate; and a lucky step still pays
    for a whole event, as under `point_adjusted`.

    Notes
    -----
    The authors' program floors an inexact logarithm: with base 3 an event of 240 steps counts 4 there, 5 here.

    Examples
    --------
    >>> event_weighted([0, 1, 1, 1, 1, 1, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 1])
    PRF(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    require_anomaly(labels)
    starts, stops = runs(labels)
    points = _points(stops - starts, weight, base)
    is_detected = count_inside(predictions, starts, _in_time(starts, stops, delay)) > 0
    false_positive = int(np.count_nonzero(predictions)) - int(count_inside(predictions, starts, stops).sum())
    return PRF.from_counts(points[is_detected].sum(), false_positive, points[~is_detected].sum())


@documented
def event_weighted_best_f1(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    weight: str = "log",
    base: int = 3,
    delay: int | None = None,
    missing: str = "error",
) -> float:
    """Best F1 of `event_weighted` over all thresholds.

    A step is predicted where its score is at least the threshold; every distinct score is tried.

    Warnings
    --------
    The threshold is chosen with the labels, which no detector has; and it inherits what is wrong with `event_weighted`.

    Notes
    -----
    The authors' program also stops inside a tie, in the order of time, and so finds values that no threshold gives.

    Examples
    --------
    >>> event_weighted_best_f1([0, 1, 1, 0, 0, 1], [0.1, 0.9, 0.2, 0.8, 0.0, 0.5])
    0.8
    """
    return event_weighted_curve(labels, scores, weight=weight, base=base, delay=delay, missing=missing).best_f1


@documented
def event_weighted_average_precision(
    labels: ArrayLike,
    scores: ArrayLike,
    *,
    weight: str = "log",
    base: int = 3,
    delay: int | None = None,
    missing: str = "error",
) -> float:
    r"""Average precision of `event_weighted`.

    .. math:: \sum_t (R_t - R_{t'})\, P_t

    over every distinct score t from the highest down, with t' the one before and recall 0 ahead of the first.

    Warnings
    --------
    It depends on the share of anomalies and on the sampling rate: compare on the same labels only. It inherits what is
    wrong with `event_weighted`.

    Notes
    -----
    The authors' program loses an event of one step at the end of the series.

    Examples
    --------
    >>> event_weighted_average_precision([0, 1, 1, 0, 0, 1], [0.1, 0.9, 0.2, 0.8, 0.0, 0.5])
    0.8333333333333333
    """
    curve = event_weighted_curve(labels, scores, weight=weight, base=base, delay=delay, missing=missing)
    return curve.average_precision


@on_scores()
def pa_average_precision(labels: BoolArray, scores: FloatArray, *, missing: str = "error") -> float:
    """Average precision of single steps after every event took its highest score (PA-AUPRC).

    It is `event_weighted_average_precision` with ``weight="length"`` and any delay.

    Warnings
    --------
    Point adjustment rewards luck: one high score pays for a whole event; see `point_adjusted`.

    Examples
    --------
    >>> pa_average_precision([0, 1, 1, 0, 0, 1], [0.1, 0.9, 0.2, 0.8, 0.0, 0.5])
    0.9166666666666666
    """
    return _curve(labels, scores, "length", 1, None).average_precision


@on_scores(**_OPTIONS)
def event_weighted_curve(
    labels: BoolArray,
    scores: FloatArray,
    *,
    weight: str = "log",
    base: int = 3,
    delay: int | None = None,
    missing: str = "error",
) -> EventWeightedCurve:
    """Precision and recall of `event_weighted` at every threshold where recall rises.

    Between two such thresholds only false alarms are added, so nothing else can decide a best F1 or an area of steps.

    Returns
    -------
    EventWeightedCurve
        Arrays ``precision`` and ``recall``.

    Examples
    --------
    >>> curve = event_weighted_curve([0, 1, 1, 0, 0, 1], [0.1, 0.9, 0.2, 0.8, 0.0, 0.5])
    >>> curve.precision.tolist(), curve.recall.tolist()
    ([1.0, 0.6666666666666666], [0.5, 1.0])
    """
    return _curve(labels, scores, weight, base, delay)


def _curve(labels: BoolArray, scores: FloatArray, weight: str, base: int, delay: int | None) -> EventWeightedCurve:
    require_anomaly(labels)
    starts, stops = runs(labels)
    lengths = _in_time(starts, stops, delay) - starts
    highest = np.maximum.reduceat(scores[within(starts, lengths)], np.cumsum(lengths) - lengths)
    thresholds, place = np.unique(-highest, return_inverse=True)
    points = _points(stops - starts, weight, base)
    gained = np.bincount(place, weights=points)
    reached = np.count_nonzero(thresholds < np.inf)  # events of which no score is present are never found
    thresholds, gained = thresholds[:reached], gained[:reached]
    normal = scores[~labels]
    count = normal.size and reached
    false_positive = count_at_thresholds(normal, -thresholds)[0] if count else np.zeros(thresholds.size)
    true_positive = np.cumsum(gained)
    return EventWeightedCurve(true_positive / (true_positive + false_positive), true_positive / points.sum())


def _in_time(starts: IntArray, stops: IntArray, delay: int | None) -> IntArray:
    """Where the steps of each event end within which a detection is in time."""
    longest = int((stops - starts).max())
    return stops if delay is None or delay >= longest else np.minimum(stops, starts + delay + 1)


def _points(lengths: IntArray, weight: str, base: int) -> IntArray:
    """What events of these lengths count."""
    if weight == "one":
        return np.ones_like(lengths)
    if weight == "length":
        return lengths
    if weight == "sqrt":
        return np.sqrt(lengths).astype(np.intp)
    longest = int(lengths.max())
    base = min(base, longest + 2)  # from here on the largest power that fits is the first
    powers = [1]
    while powers[-1] * base <= longest + base:
        powers.append(powers[-1] * base)
    return np.searchsorted(powers, lengths + base, side="right") - 1
