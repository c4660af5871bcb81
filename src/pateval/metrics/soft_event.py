"""Steps as point events: every detection looks for the nearest, and every event takes one."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import runs
from pateval.output.results import PRF, ratio
from pateval.validation.arrays import BoolArray, require_anomaly
from pateval.validation.checked import number, on_predictions


@on_predictions(tolerance=number(1.0, counts_steps=True))
def soft_event(labels: BoolArray, predictions: BoolArray, *, tolerance: float = 15) -> PRF:
    r"""Soft precision, recall and F1 of point events (SoftED).

    Every anomalous step is an event and every predicted step a detection. A detection d is worth

    .. math:: w(d, e) = \max\bigl(0, 1 - |d - e| / \text{tolerance}\bigr)

    to an event e. Each detection chooses the event to which it is worth most, if that is anything, and all of them
    where several are alike; each event takes, of the detections that chose it, the one that is worth most, the earliest
    where several are alike. The score of a detection is the most that it is worth to an event that took it, else 0.
    With S the sum of the scores, precision is S over the number of detections, recall S over the number of events.

    Parameters
    ----------
    tolerance : float, default 15
        Steps at which a detection is worth nothing; 1 or more.

    Warnings
    --------
    Made for events of a single step. The inside of longer ones is matched step by step, so it behaves like `point` with
    soft edges. As ties go to the earliest, reversing time can change the value.

    References
    ----------
    .. [1] R. Salles et al., "SoftED: metrics for soft evaluation of time series event detection", 2024,
       arXiv:2304.00439.

    Examples
    --------
    >>> soft_event([0, 0, 0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 1, 0], tolerance=4)
    PRF(precision=0.25, recall=0.5, f1=0.3333333333333333)
    """
    require_anomaly(labels)
    events, detections = int(np.count_nonzero(labels)), int(np.count_nonzero(predictions))
    # A predicted step of an event takes itself. A step that is not predicted can only be taken by a detection outside,
    # and only at the edges of its run; the nearest detection in the gap stands for all that chose it.
    exact = int(np.count_nonzero(labels & predictions))
    starts, stops = runs(labels)
    outside = np.flatnonzero(predictions & ~labels)
    far = 4 * labels.size + 4  # farther than anything in the series
    places = np.concatenate([[-far], outside, [far]])
    left = np.searchsorted(outside, starts)  # in places: the last detection ahead of the event; ...
    right = np.searchsorted(outside, stops) + 1  # ... the first one after it
    before, after = np.append(-far, stops[:-1] - 1), np.append(starts[1:], far)  # nearest steps of the other events
    gap_left, gap_right = starts - places[left], places[right] - (stops - 1)
    suits_left = (gap_left < tolerance) & (gap_left <= places[left] - before) & ~predictions[starts]
    suits_right = (gap_right < tolerance) & (gap_right <= after - places[right]) & ~predictions[stops - 1]
    # An event of one step takes one of two; the earlier where they are as near.
    rivals = suits_left & suits_right & (stops - starts == 1)
    suits_left &= ~(rivals & (gap_right < gap_left))
    suits_right &= ~(rivals & (gap_right >= gap_left))
    # A detection taken from both sides is as near to both, and counts once.
    _, which = np.unique(np.concatenate([left[suits_left], right[suits_right]]), return_index=True)
    gaps = np.concatenate([gap_left[suits_left], gap_right[suits_right]])[which]
    total = exact + float((1 - gaps / tolerance).sum())
    return PRF.of(ratio(total, detections), ratio(total, events))
