"""Counting events instead of steps.

Warnings
--------
One correct step per event is a perfect score: neither coverage nor delay counts.

References
----------
.. [1] K. Kotowski et al., "European Space Agency benchmark for anomaly detection in satellite telemetry",
   arXiv:2406.17826.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pateval.labels.events import count_inside, runs
from pateval.output.results import PRF, ratio
from pateval.validation.arrays import BoolArray, require_anomaly
from pateval.validation.checked import BETA, adds_up, on_predictions


class _EventCounts(NamedTuple):
    """Events, predicted runs and steps, counted."""

    found: float
    missed: float
    false_runs: float
    false_steps: float
    predicted: float
    normal: float


def _count_events(labels: BoolArray, predictions: BoolArray) -> _EventCounts:
    require_anomaly(labels)
    starts, stops = runs(labels)
    hits = count_inside(predictions, starts, stops)
    hit_events, predicted = int(np.count_nonzero(hits)), int(np.count_nonzero(predictions))
    return _EventCounts(
        found=hit_events,
        missed=starts.size - hit_events,
        false_runs=int(np.count_nonzero(count_inside(labels, *runs(predictions)) == 0)),
        false_steps=predicted - int(hits.sum()),
        predicted=predicted,
        normal=labels.size - int((stops - starts).sum()),
    )


def _composite_value(*totals: float) -> PRF:
    counts = _EventCounts(*totals)
    precision = ratio(counts.predicted - counts.false_steps, counts.predicted)
    return PRF.of(precision, ratio(counts.found, counts.found + counts.missed))


@adds_up(_count_events, _composite_value)
@on_predictions()
def composite(labels: BoolArray, predictions: BoolArray) -> PRF:
    """Composite F1: precision of steps, recall of events.

    Precision is the share of predicted steps that are anomalous; recall the share of events with at least one
    predicted step.

    Notes
    -----
    The authors' program drops the last step of an event that reaches the end of the series; here it counts.

    References
    ----------
    .. [1] A. Garg et al., "An evaluation of anomaly detection and diagnosis in multivariate time series", IEEE
       Transactions on Neural Networks and Learning Systems 2022, arXiv:2109.11428.

    Examples
    --------
    >>> composite([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0, 0, 0])
    PRF(precision=0.5, recall=0.5, f1=0.5)
    """
    return _composite_value(*_count_events(labels, predictions))


def _segment_value(*totals: float) -> PRF:
    counts = _EventCounts(*totals)
    return PRF.from_counts(counts.found, counts.false_runs, counts.missed)


@adds_up(_count_events, _segment_value)
@on_predictions()
def segment(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Segment-wise precision, recall and F1.

    Events touched by a prediction are hits, the others misses; predicted runs that touch no event are false alarms.
    A run that touches several events hits them all.

    .. math:: P = TP / (TP + FP), \quad R = TP / (TP + FN)

    with TP and FN counted in events and FP in predicted runs.

    Warnings
    --------
    Flagging every step is a perfect score: it is one run, and it touches every event.

    References
    ----------
    .. [1] K. Hundman et al., "Detecting spacecraft anomalies using LSTMs and nonparametric dynamic thresholding",
       KDD 2018, doi:10.1145/3219819.3219845.

    Examples
    --------
    >>> segment([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0])
    PRF(precision=0.5, recall=0.5, f1=0.5)
    """
    return _segment_value(*_count_events(labels, predictions))


def _event_wise_value(*totals: float) -> PRF:
    counts = _EventCounts(*totals)
    precision = ratio(counts.found, counts.found + counts.false_runs) * (1 - ratio(counts.false_steps, counts.normal))
    return PRF.of(precision, ratio(counts.found, counts.found + counts.missed))


@adds_up(_count_events, _event_wise_value)
@on_predictions()
def event_wise(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Event-wise precision, recall and F1: segments, with a price on flagged normal steps.

    Recall as in `segment`; precision as in `segment`, times the share of normal steps left unflagged:

    .. math:: P = \frac{TP}{TP + FP} \Bigl(1 - \frac{\text{normal steps predicted}}{\text{normal steps}}\Bigr).

    Returns
    -------
    PRF
        Each in [0, 1], higher is better; (0, 0, 0) where nothing is predicted. Where every step is anomalous the
        factor is 1.

    References
    ----------
    .. [1] M. E. A. Sehili, Z. Zhang, "Multivariate time series anomaly detection: fancy algorithms and flawed
       evaluation methodology", TPCTC 2023, arXiv:2308.13068.

    Examples
    --------
    >>> event_wise([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0])
    PRF(precision=0.25, recall=0.5, f1=0.3333333333333333)
    """
    return _event_wise_value(*_count_events(labels, predictions))


def _revised_value(*totals: float) -> PRF:
    counts = _EventCounts(*totals)
    return PRF.from_counts(counts.found, counts.false_steps, counts.missed)


@adds_up(_count_events, _revised_value)
@on_predictions()
def revised_point_adjusted(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Revised point adjustment: an event found or missed counts once, a flagged normal step once each.

    .. math:: P = TP / (TP + FP), \quad R = TP / (TP + FN)

    with TP and FN counted in events and FP in steps.

    Warnings
    --------
    Events and steps are added up: one false alarm of a hundred steps outweighs fifty events, so the value depends on
    the sampling rate.

    References
    ----------
    .. [1] A. Bhatnagar et al., "Merlion: a machine learning library for time series", arXiv:2109.09265.

    Examples
    --------
    >>> revised_point_adjusted([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0])
    PRF(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    return _revised_value(*_count_events(labels, predictions))


@on_predictions(beta=BETA)
def event_wise_f_beta(labels: BoolArray, predictions: BoolArray, *, beta: float = 0.5) -> float:
    r"""F-beta of `event_wise`: its precision and recall, weighted (the corrected event-wise score of ESA-ADB).

    .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    with P and R of `event_wise`.

    Parameters
    ----------
    beta : float, default 0.5
        How many times recall counts as much as precision; above 0. The default is that of the benchmark, where a false
        alarm costs more than a miss.

    Examples
    --------
    >>> event_wise_f_beta([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0], beta=1)
    0.3333333333333333
    >>> round(event_wise_f_beta([0, 1, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0, 0]), 4)
    0.2778
    """
    return _event_wise_value(*_count_events(labels, predictions)).f_beta(beta)


@on_predictions()
def alarming_precision(labels: BoolArray, predictions: BoolArray) -> float:
    r"""Share of alarms that are not repeated: one alarm per event found is best.

    .. math:: \frac{H}{H + \sum_{i=1}^{H} (n_i - 1)}

    with H the events touched by a predicted run and :math:`n_i` the number of runs that touch event i. A run that
    touches two events counts for both.

    Returns
    -------
    float
        In [0, 1], higher is better; 0 where no event is touched.

    Warnings
    --------
    It counts repeated alarms and nothing else: false alarms cost nothing, and flagging every step scores 1.

    Examples
    --------
    >>> alarming_precision([0, 1, 1, 1, 0, 0, 1, 1], [0, 1, 0, 1, 0, 0, 1, 0])
    0.6666666666666666
    """
    require_anomaly(labels)
    starts, stops = runs(labels)
    run_starts, run_stops = runs(predictions)
    alarms = np.searchsorted(run_starts, stops) - np.searchsorted(run_stops, starts, side="right")
    return ratio(int(np.count_nonzero(alarms)), int(alarms.sum()))
