"""Metrics on the order of the scores alone: ROC and precision-recall areas, values at the top k, the UCR score.

Parameters
----------
k : int, optional
    How many steps to flag, or how many predicted runs to ask for; None takes the number of anomalous steps, or that of
    events.

References
----------
.. [1] S. Schmidl, P. Wenig, T. Papenbrock, "Anomaly Detection in Time Series: A Comprehensive Evaluation", PVLDB
   15(9), 2022, doi:10.14778/3538598.3538602; rule as in TimeEval 1.5.0.
"""

from __future__ import annotations

import numpy as np

from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, AreaRule, warn_if_coarse
from pateval.kernels.threshold_counts import count_at_thresholds, distinct_descending, run_counts
from pateval.labels.events import count_inside, runs
from pateval.output.results import PRF
from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    require_anomaly,
    require_normal,
)
from pateval.validation.checked import POSITIVE_INTEGER, STEPS, on_scores
from pateval.validation.wording import in_words


@on_scores()
def auc_roc(labels: BoolArray, scores: FloatArray, *, missing: str = "error") -> float:
    r"""Area under the ROC curve: the chance that an anomalous step scores higher than a normal one.

    .. math:: \text{AUC-ROC} = P(s_a > s_n) + \tfrac12 P(s_a = s_n)

    Returns
    -------
    float
        In [0, 1]; 1 is best. Constant scores get 0.5.

    Raises
    ------
    UndefinedMetricError
        If no step is anomalous, or if all are.

    Warnings
    --------
    Steps are judged one by one: a detection one step early is as wrong as any other. With rare anomalies a detector
    can be close to 1 and still raise mostly false alarms.

    References
    ----------
    .. [1] J. A. Hanley, B. J. McNeil, "The meaning and use of the area under a receiver operating characteristic (ROC)
       curve", Radiology 143(1), 1982, doi:10.1148/radiology.143.1.7063747.

    Examples
    --------
    >>> auc_roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    require_anomaly(labels)
    require_normal(labels)
    normal = int(labels.size - np.count_nonzero(labels))
    true_positive, detected, detected_before = _count_at_anomalies(labels, _tied_below(scores))
    gained = np.diff(true_positive, prepend=0)
    higher = detected_before[:-1] - (true_positive - gained)
    not_lower = detected - true_positive
    # Dividing first keeps the sum of products far from the end of the integers.
    return float(1 - (gained / true_positive[-1] * ((higher + not_lower) / (2 * normal))).sum())


@on_scores()
def average_precision(labels: BoolArray, scores: FloatArray, *, missing: str = "error") -> float:
    r"""Average precision: the mean, over anomalous steps, of the precision at the threshold that just flags the step.

    .. math:: AP = \sum_k (R_k - R_{k-1}) P_k

    over all distinct scores as thresholds, from the highest down; P is precision, R recall.

    Returns
    -------
    float
        In (0, 1]; 1 is best. Constant scores get the share of anomalous steps, and so, nearly, do random ones.

    Warnings
    --------
    Steps are judged one by one: a detection one step early is as wrong as any other.

    References
    ----------
    .. [1] M. Zhu, "Recall, Precision and Average Precision", University of Waterloo, 2004.

    Examples
    --------
    >>> average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333...
    """
    require_anomaly(labels)
    return _precision_recall_area(labels, scores, AVERAGE_PRECISION)


@on_scores()
def auc_pr(labels: BoolArray, scores: FloatArray, *, missing: str = "error") -> float:
    r"""Area under the precision-recall curve by the trapezoid rule, from recall 0 and precision 1.

    .. math:: \text{AUC-PR} = \sum_k (R_k - R_{k-1}) \frac{P_k + P_{k-1}}{2}, \qquad R_0 = 0, \; P_0 = 1

    over all distinct scores as thresholds, from the highest down; P is precision, R recall.

    Returns
    -------
    float
        In (0, 1]; 1 is best.

    Warnings
    --------
    The straight lines flatter coarse scores: constant scores get (1 + share of anomalous steps) / 2, which beats many
    real detectors. `average_precision` does not.

    References
    ----------
    .. [1] J. Davis, M. Goadrich, "The Relationship Between Precision-Recall and ROC Curves", ICML 2006,
       doi:10.1145/1143844.1143874.

    Examples
    --------
    >>> auc_pr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.7916...
    """
    require_anomaly(labels)
    warn_if_coarse(scores, "auc_pr", "average_precision")
    return _precision_recall_area(labels, scores, TRAPEZOID)


@on_scores(k=POSITIVE_INTEGER.or_word(None, "anomalies"))
def precision_at_k(labels: BoolArray, scores: FloatArray, *, k: int | None = None, missing: str = "error") -> float:
    """Precision among the ``k`` highest scores, and those equal to the last of them.

    Warnings
    --------
    The default uses the labels to know how many steps to flag, which no detector in use can. Some published values
    come from code that compares a 0/1 prediction with the score of rank k, and mean nothing.

    References
    ----------
    .. [1] S. Sørbø, M. Ruocco, "Navigating the metric maze: a taxonomy of evaluation metrics for anomaly detection in
       time series", Data Mining and Knowledge Discovery 38, 2024, doi:10.1007/s10618-023-00988-8.

    Examples
    --------
    >>> precision_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.5
    >>> precision_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    1.0
    """
    return _at_k(labels, scores, k).precision


@on_scores(k=POSITIVE_INTEGER.or_word(None, "anomalies"))
def f1_at_k(labels: BoolArray, scores: FloatArray, *, k: int | None = None, missing: str = "error") -> float:
    """F1 of the steps flagged by `precision_at_k`.

    Returns
    -------
    float
        In [0, 1]; 1 is best. Without ties and with the default ``k`` it equals `precision_at_k`.

    Warnings
    --------
    The default uses the labels to know how many steps to flag, which no detector in use can.

    Examples
    --------
    >>> f1_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    0.6666...
    """
    return _at_k(labels, scores, k).f1


@on_scores(k=POSITIVE_INTEGER.or_word(None, "anomalies"))
def precision_at_k_ranges(
    labels: BoolArray, scores: FloatArray, *, k: int | None = None, missing: str = "error"
) -> float:
    """Share of true alarms among the first ``k`` predicted runs: those that touch an event.

    The threshold is lowered, from the second highest distinct score to the second lowest, until at least ``k`` runs of
    flagged steps exist; if that never happens, the last one tried stands. With at most two distinct scores the
    highest is taken.

    Warnings
    --------
    One long run that covers everything is a true alarm, so constant scores get 1. That the highest score is never
    accepted as threshold is how the reference code works; its paper does not ask for it.

    Examples
    --------
    >>> precision_at_k_ranges([0, 1, 1, 0, 0, 0], [0.0, 0.9, 0.8, 0.1, 0.7, 0.2], k=2)
    0.5
    """
    return _at_k_ranges(labels, scores, k).precision


@on_scores(k=POSITIVE_INTEGER.or_word(None, "anomalies"))
def f1_at_k_ranges(labels: BoolArray, scores: FloatArray, *, k: int | None = None, missing: str = "error") -> float:
    """F1 of the runs flagged by `precision_at_k_ranges`; recall is the share of events that a run touches.

    Warnings
    --------
    One long run that covers everything touches all events, so constant scores get 1.

    Examples
    --------
    >>> f1_at_k_ranges([0, 1, 1, 0, 0, 0], [0.0, 0.9, 0.8, 0.1, 0.7, 0.2], k=2)
    0.6666...
    """
    return _at_k_ranges(labels, scores, k).f1


@on_scores(tolerance=STEPS)
def ucr_score(labels: BoolArray, scores: FloatArray, *, tolerance: int = 100, missing: str = "error") -> float:
    """1 if the highest score lies in the one event or close to it, else 0.

    Close means within ``max(length of the event, tolerance)`` steps. Among equal highest scores the first counts.

    Parameters
    ----------
    labels : array-like of 0 and 1
        The truth, one value per time step, with exactly one event.
    tolerance : int, default 100
        How far from the event a hit may lie at least; 0 leaves the length of the event.

    Returns
    -------
    float
        0 or 1.

    Raises
    ------
    UndefinedMetricError
        If the labels do not hold exactly one event.

    Warnings
    --------
    Only the place of the maximum counts: constant scores are judged by their first step.

    References
    ----------
    .. [1] R. Wu, E. J. Keogh, "Current Time Series Anomaly Detection Benchmarks are Flawed and are Creating the
       Illusion of Progress", IEEE TKDE 35(3), 2023, doi:10.1109/TKDE.2021.3112126.

    Examples
    --------
    >>> ucr_score([0, 0, 0, 0, 1, 0], [0, 0, 0, 9, 0, 0], tolerance=0)
    1.0
    >>> ucr_score([0, 0, 0, 0, 1, 0], [0, 9, 0, 0, 0, 0], tolerance=2)
    0.0
    """
    tolerance = min(tolerance, labels.size)
    require_anomaly(labels)
    starts, stops = runs(labels)
    if starts.size != 1:
        raise UndefinedMetricError(f"the metric is undefined: it asks for exactly one event; got {starts.size}")
    margin = max(int(stops[0] - starts[0]), tolerance)
    return float(starts[0] - margin <= np.argmax(scores) < stops[0] + margin)


def _tied_below(scores: FloatArray) -> FloatArray:
    """Let missing scores that count as normal share a finite value below all others."""
    absent = scores == -np.inf
    if not absent.any():
        return scores
    lowest = scores[~absent].min()
    return np.where(absent, np.nextafter(lowest, scores.dtype.type(-np.inf)), scores)


def _precision_recall_area(labels: BoolArray, scores: FloatArray, rule: AreaRule) -> float:
    """Area under the precision-recall curve, which ends at the lowest score that is present."""
    reachable = labels & (scores > -np.inf)
    if not reachable.any():
        return 0.0
    true_positive, *detections = _count_at_anomalies(reachable, scores)
    hits = true_positive.astype(np.float64)
    return rule.area(hits, np.count_nonzero(labels) - hits, *detections)


def _count_at_anomalies(labels: BoolArray, scores: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """True positives, detections, and detections just before, at the distinct scores of anomalous steps, highest first.

    Between two of them only false alarms come in, so these counts hold every corner of the ROC and precision-recall
    curves.
    """
    descending = np.sort(scores[labels])[::-1]
    last = np.flatnonzero(np.append(descending[1:] != descending[:-1], True))
    detected, above = count_at_thresholds(scores, descending[last])
    return last + 1, detected, np.append(above, detected[-1])


def _at_k(labels: BoolArray, scores: FloatArray, k: int | None) -> PRF:
    """Precision, recall and F1 of the k highest scores, ties included."""
    require_anomaly(labels)
    anomalous = int(np.count_nonzero(labels))
    number = anomalous if k is None else k
    if number > labels.size:
        raise ValueError(f"k must be at most the number of steps, {labels.size}; got {in_words(number)}")
    rank = labels.size - number
    flagged = (scores >= np.partition(scores, rank)[rank]) & (scores > -np.inf)
    hits = int(np.count_nonzero(flagged & labels))
    return PRF.from_counts(hits, int(np.count_nonzero(flagged)) - hits, anomalous - hits)


def _at_k_ranges(labels: BoolArray, scores: FloatArray, k: int | None) -> PRF:
    """Precision, recall and F1, in runs, at the first threshold that gives k runs."""
    require_anomaly(labels)
    starts, stops = runs(labels)
    ascending = np.sort(scores)
    levels = distinct_descending(ascending[ascending > -np.inf])
    tried = levels[1:-1] if levels.size > 2 else levels[:1]
    enough = run_counts(scores, ascending, tried) >= (starts.size if k is None else k)
    flagged = scores >= tried[np.argmax(enough) if enough.any() else -1]
    alarm_starts, alarm_stops = runs(flagged)
    true_alarms = count_inside(labels, alarm_starts, alarm_stops) > 0
    found_events = count_inside(flagged, starts, stops) > 0
    return PRF.of(float(np.mean(true_alarms)), float(np.mean(found_events)))
