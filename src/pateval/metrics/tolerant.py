"""Comparing steps with some slack in time, and the distance in time itself.

References
----------
.. [1] S. Sørbø, M. Ruocco, "Navigating the metric maze: a taxonomy of evaluation metrics for anomaly detection in
   time series", Data Mining and Knowledge Discovery 2023, arXiv:2303.01272.
"""

from __future__ import annotations

import numpy as np

from pateval.labels.events import runs
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, IntArray, require_anomaly
from pateval.validation.checked import STEPS, on_predictions


@on_predictions(tolerance=STEPS)
def time_tolerant(labels: BoolArray, predictions: BoolArray, *, tolerance: int = 5) -> PRF:
    """Precision, recall and F1 of single steps, with a tolerance in time.

    Recall is the share of anomalous steps with a predicted step at most ``tolerance`` steps away; precision the share
    of predicted steps with an anomalous step that near. ``tolerance=0`` is `point`.

    Parameters
    ----------
    tolerance : int, default 5
        How far off a step may be, in steps, to either side.

    Warnings
    --------
    One predicted step covers up to ``2 * tolerance + 1`` anomalous ones: isolated spikes score like full coverage.

    Examples
    --------
    >>> time_tolerant([0, 0, 1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1], tolerance=1)
    PRF(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    require_anomaly(labels)
    if not predictions.any():
        return PRF(0.0, 0.0, 0.0)
    return PRF.of(
        float(np.mean(_distances(predictions, labels) <= tolerance)),
        float(np.mean(_distances(labels, predictions) <= tolerance)),
    )


@on_predictions()
def temporal_distance(labels: BoolArray, predictions: BoolArray) -> float:
    """Sum of the distances in time between anomalous and predicted steps.

    Every anomalous step adds its distance, in steps, to the nearest predicted one, and every predicted step its
    distance to the nearest anomalous one.

    Returns
    -------
    float
        0 or more, **lower is better**; 0 for a perfect prediction. Where nothing is predicted, every anomalous step
        adds the length of the series.

    Warnings
    --------
    It is a sum: it grows with the length of the series and the number of predictions, so values of different series
    cannot be compared or averaged, and one far false alarm can outweigh everything else.

    Examples
    --------
    >>> temporal_distance([0, 0, 1, 1, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1])
    10.0
    """
    require_anomaly(labels)
    if not predictions.any():
        return float(labels.size * np.count_nonzero(labels))
    return float(_distances(labels, predictions).sum() + _distances(predictions, labels).sum())


def _distances(mask: BoolArray, target: BoolArray) -> IntArray:
    """Distance of each True step of ``mask`` to the nearest True step of ``target``, which has at least one."""
    positions = np.flatnonzero(mask)
    starts, stops = runs(target)
    # The runs that begin at or before a step, found per run instead of per step.
    edges = np.searchsorted(positions, starts)
    begun = np.repeat(np.arange(starts.size + 1), np.diff(edges, prepend=0, append=positions.size))
    far = 2 * mask.size
    behind = positions - np.concatenate([[-far], stops - 1])[begun]
    ahead = np.append(starts, far)[begun] - positions
    return np.maximum(np.minimum(behind, ahead), 0)
