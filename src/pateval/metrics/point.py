"""Precision, recall and F1 of single time steps."""

from __future__ import annotations

import numpy as np

from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, require_anomaly
from pateval.validation.checked import adds_up, on_predictions


def _point_counts(labels: BoolArray, predictions: BoolArray) -> tuple[int, int, int]:
    anomalous, predicted = int(np.count_nonzero(labels)), int(np.count_nonzero(predictions))
    true_positive = int(np.count_nonzero(labels & predictions))
    return true_positive, predicted - true_positive, anomalous - true_positive


@adds_up(_point_counts, PRF.from_counts)
@on_predictions()
def point(labels: BoolArray, predictions: BoolArray) -> PRF:
    r"""Precision, recall and F1 of single time steps.

    Every step stands for itself: with TP the steps that are anomalous and predicted,

    .. math:: P = \frac{TP}{TP + FP}, \quad R = \frac{TP}{TP + FN}, \quad F_1 = \frac{2 P R}{P + R}.

    Warnings
    --------
    Steps are not events: one long event outweighs many short ones, and a detection that is one step late counts as
    wrong as one that is a day late.

    Examples
    --------
    >>> point([0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 0])
    PRF(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    require_anomaly(labels)
    return PRF.from_counts(*_point_counts(labels, predictions))
