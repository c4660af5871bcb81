"""Affiliation: how near predictions and events are, also measured from what chance would give.

References
----------
.. [1] A. Huet, J. M. Navarro, D. Rossi, "Local evaluation of time series anomaly detection algorithms", KDD 2022,
   doi:10.1145/3534678.3539339.
"""

from __future__ import annotations

import math

import numpy as np

from pateval.kernels.affiliation_zones import affiliation_of_events, room_above_chance
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, FloatArray, UndefinedMetricError, require_anomaly
from pateval.validation.checked import adds_up, on_predictions, undefined_where


def _affiliation_sums(labels: BoolArray, predictions: BoolArray) -> tuple[float, int, float, int]:
    """Sum and number of the precisions that are defined, and of the recalls, of single events."""
    precision, recall = affiliation_of_events(labels, predictions)
    return float(np.nansum(precision)), int(np.count_nonzero(~np.isnan(precision))), float(recall.sum()), recall.size


def _from_sums(precision: float, defined: float, recall: float, events: float) -> PRF:
    return PRF.of(precision / defined, recall / events) if defined else PRF(0.0, 0.0, 0.0)


@adds_up(_affiliation_sums, _from_sums)
@on_predictions()
def affiliation(labels: BoolArray, predictions: BoolArray) -> PRF:
    """Affiliation precision, recall and F1.

    The series is cut into one zone per event, at the middle of the gaps between events. In each zone, precision asks
    how near the predictions are to the event and recall how near the event is to the predictions, both as the
    probability that a step drawn at random from the zone is no nearer; see `affiliation_events`. Precision is the
    mean over the zones with a prediction, recall the mean over all.

    Warnings
    --------
    The floor is high: random predictions reach a precision near 0.5 and a recall near 1, so 0.67 is about what luck
    gives, and a detection far from a lone event still scores well because its zone is wide.

    Examples
    --------
    >>> affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0])
    PRF(precision=1.0, recall=1.0, f1=1.0)
    >>> affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]).precision
    0.8125
    """
    require_anomaly(labels)
    return _from_sums(*_affiliation_sums(labels, predictions))


@on_predictions()
def affiliation_events(labels: BoolArray, predictions: BoolArray) -> tuple[FloatArray, FloatArray]:
    r"""Affiliation precision and recall of each event.

    Steps are intervals of length one. With J the event, E its zone, I the predictions inside E and U uniform on E,

    .. math::
       P = \frac{1}{|I|} \int_I \Pr[d(U, J) \ge d(x, J)]\, dx, \qquad
       R = \frac{1}{|J|} \int_J \Pr[|U - y| \ge d(y, I)]\, dy,

    both integrated exactly.

    Returns
    -------
    precision : ndarray of float
        Per event, in order; NaN where its zone holds no prediction.
    recall : ndarray of float
        Per event, in order; 0 where its zone holds no prediction.

    Examples
    --------
    >>> precision, recall = affiliation_events([0, 1, 1, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0])
    >>> precision.tolist(), recall.tolist()
    ([1.0, nan], [1.0, 0.0])
    """
    require_anomaly(labels)
    return affiliation_of_events(labels, predictions)


@on_predictions()
def normalised_affiliation(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Affiliation with its precision stretched so that one half becomes 0.

    .. math:: P' = \frac{P - \frac12}{1 - \frac12}, \qquad F' = \pm\frac{2 |P'| R}{|P'| + R}

    with P and R of `affiliation` and the sign of P'. The recall stays as it is.

    Returns
    -------
    PRF
        Precision and F1 in [-1, 1], recall in [0, 1], higher is better; (0, 0, 0) where nothing is predicted.

    Warnings
    --------
    Emerging: one group's use so far. One half is chance only where events are short beside their zones; see
    `unbiased_affiliation`. Below chance more recall makes F' worse, and predicting nothing (0) is better than that.

    References
    ----------
    .. [1] Z. Zhong et al., "SimAD: a simple dissimilarity-based approach for time-series anomaly detection", IEEE
       Transactions on Neural Networks and Learning Systems 2025, arXiv:2405.11238.

    Examples
    --------
    >>> normalised_affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]).precision
    0.625
    >>> normalised_affiliation([0, 0, 0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]).precision
    -0.75
    """
    require_anomaly(labels)
    return _above_chance(labels, predictions, 0.5)


@on_predictions()
@undefined_where("nothing but anomalies")
def unbiased_affiliation(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Affiliation with its precision stretched so that chance on these labels becomes 0.

    .. math:: P' = \frac{P - c}{1 - c}, \qquad F' = \pm\frac{2 |P'| R}{|P'| + R}

    with P and R of `affiliation`, the sign of P', and c the affiliation precision of flagging every step, to which
    random flags tend. With q the event's share of its zone, c is the mean over the zones of :math:`(1 + q^2) / 2`. The
    recall stays as it is.

    Returns
    -------
    PRF
        Precision from -c / (1 - c) to 1, recall in [0, 1], F1 above -2 and up to 1, higher is better; (0, 0, 0) where
        nothing is predicted.

    Warnings
    --------
    Emerging: one group's use so far. Below chance more recall makes F' worse, and predicting nothing (0) is better than
    that. Where nearly all steps are anomalous it is ill-conditioned: with one normal step in 1,000, P' may be -999.

    Notes
    -----
    The authors' program estimates chance from three random predictions, with another result at each call; c is what
    they scatter about.

    References
    ----------
    .. [1] Z. Zhong et al., "SimAD: a simple dissimilarity-based approach for time-series anomaly detection", IEEE
       Transactions on Neural Networks and Learning Systems 2025, arXiv:2405.11238.

    Examples
    --------
    >>> labels = [0, 0, 0, 1, 1, 0, 0, 0]
    >>> unbiased_affiliation(labels, [0, 0, 1, 1, 0, 0, 0, 0]).precision
    0.6
    >>> unbiased_affiliation(labels, [1] * 8)
    PRF(precision=0.0, recall=1.0, f1=0.0)
    """
    require_anomaly(labels)
    if labels.all():
        raise UndefinedMetricError("the metric is undefined: every step is anomalous, so chance is perfect")
    return _above_chance(labels, predictions, room_above_chance(labels))


def _above_chance(labels: BoolArray, predictions: BoolArray, room: float) -> PRF:
    """Stretch the precision, of which ``room`` lies above chance."""
    if not predictions.any():
        return PRF(0.0, 0.0, 0.0)
    precision, recall = affiliation_of_events(labels, predictions)
    raised, mean_recall = 1 - (1 - float(np.nanmean(precision))) / room, float(np.mean(recall))
    return PRF(raised, mean_recall, math.copysign(PRF.of(abs(raised), mean_recall).f1, raised))
