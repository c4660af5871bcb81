"""Affiliation: how near predictions and events are, compared with what chance would give.

References
----------
.. [1] A. Huet, J. M. Navarro, D. Rossi, "Local evaluation of time series anomaly detection algorithms", KDD 2022,
   doi:10.1145/3534678.3539339.
"""

from __future__ import annotations

import numpy as np

from pateval.kernels.affiliation_zones import affiliation_of_events
from pateval.output.prf import PRF
from pateval.validation.arrays import BoolArray, FloatArray, require_anomaly
from pateval.validation.checked import adds_up, on_predictions


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
