"""Rewarding once and penalising once: late detections lose steps, dense false alarms count once per window."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import first_inside, runs
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, require_anomaly
from pateval.validation.checked import POSITIVE_STEPS, on_predictions


@on_predictions(window=POSITIVE_STEPS)
def latency_sparsity_aware(labels: BoolArray, predictions: BoolArray, *, window: int = 5) -> PRF:
    """Latency- and sparsity-aware precision, recall and F1.

    The series is looked at in windows of ``window`` steps, counted from its start; a window is anomalous, or
    predicted, if any of its steps is. In every run of anomalous windows those from the first predicted one on count
    as detected, those before it as missed; a predicted window outside counts as one false alarm. Then precision,
    recall and F1 of windows.

    Parameters
    ----------
    window : int, default 5
        Steps per window; 1 for none.

    Warnings
    --------
    A single early step pays for the rest of the event. Events closer together than two windows may become one.

    Notes
    -----
    The value depends on where the windows begin. Published code adds 1e-5 to each denominator, and differs where
    events share a window or lie in neighbouring ones.

    References
    ----------
    .. [1] K. Doshi, S. Abudalou, Y. Yilmaz, "Reward once, penalize once: rectifying time series anomaly detection",
       2022, arXiv:2203.05167.

    Examples
    --------
    >>> latency_sparsity_aware([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 1], window=1)
    PRF(precision=0.6, recall=0.75, f1=0.6666666666666665)
    >>> latency_sparsity_aware([0, 1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 1, 1], window=2)
    PRF(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    window = min(window, labels.size)
    require_anomaly(labels)
    labels, predictions = _windows(labels, window), _windows(predictions, window)
    starts, stops = runs(labels)
    detected = int(np.sum(stops - first_inside(predictions, starts, stops)))
    return PRF.from_counts(
        detected, int(np.count_nonzero(predictions & ~labels)), int(np.count_nonzero(labels)) - detected
    )


def _windows(mask: BoolArray, window: int) -> BoolArray:
    result = np.zeros(-(-mask.size // window), dtype=np.bool_)
    result[np.flatnonzero(mask) // window] = True
    return result
