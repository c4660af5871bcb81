"""Point adjustment in which false alarms grow, too."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import count_inside, runs
from pateval.output.prf import PRF
from pateval.validation.arrays import BoolArray, require_anomaly
from pateval.validation.checked import on_predictions
from pateval.validation.options import STEPS


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
