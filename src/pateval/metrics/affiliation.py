"""Affiliation: how near predictions and events are, compared with what chance would give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pateval._validation import BoolArray, FloatArray, IntArray, binary_pair, require_anomaly
from pateval.events import runs, within
from pateval.prf import PRF

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def affiliation(labels: ArrayLike, predictions: ArrayLike) -> PRF:
    """Affiliation precision, recall and F1.

    The series is cut into one zone per event, at the middle of the gaps between events. In each zone, precision asks
    how near the predictions are to the event and recall how near the event is to the predictions, both as the
    probability that a step drawn at random from the zone is no nearer; see `affiliation_events`. Precision is the
    mean over the zones with a prediction, recall the mean over all.

    Parameters
    ----------
    labels : array-like of 0 and 1
        The truth, one value per time step.
    predictions : array-like of 0 and 1
        What the detector flagged, one value per time step.

    Returns
    -------
    PRF
        Each in [0, 1], higher is better; (0, 0, 0) where nothing is predicted.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.

    Warnings
    --------
    The floor is high: random predictions reach a precision near 0.5 and a recall near 1, so 0.67 is about what luck
    gives, and a detection far from a lone event still scores well because its zone is wide.

    References
    ----------
    .. [1] A. Huet, J. M. Navarro, D. Rossi, "Local evaluation of time series anomaly detection algorithms", KDD 2022,
       doi:10.1145/3534678.3539339.

    Examples
    --------
    >>> affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0, 0])
    PRF(precision=1.0, recall=1.0, f1=1.0)
    >>> affiliation([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0]).precision
    0.8125
    """
    labels, predictions = binary_pair(labels, predictions)
    require_anomaly(labels)
    if not predictions.any():
        return PRF(0.0, 0.0, 0.0)
    precision, recall = _per_event(labels, predictions)
    return PRF.of(float(np.nanmean(precision)), float(np.mean(recall)))


def affiliation_events(labels: ArrayLike, predictions: ArrayLike) -> tuple[FloatArray, FloatArray]:
    r"""Affiliation precision and recall of each event.

    Steps are intervals of length one. With J the event, E its zone, I the predictions inside E and U uniform on E,

    .. math::
       P = \frac{1}{|I|} \int_I \Pr[d(U, J) \ge d(x, J)]\, dx, \qquad
       R = \frac{1}{|J|} \int_J \Pr[|U - y| \ge d(y, I)]\, dy,

    both integrated exactly.

    Parameters
    ----------
    labels : array-like of 0 and 1
        The truth, one value per time step.
    predictions : array-like of 0 and 1
        What the detector flagged, one value per time step.

    Returns
    -------
    precision : ndarray of float
        Per event, in order; NaN where its zone holds no prediction.
    recall : ndarray of float
        Per event, in order; 0 where its zone holds no prediction.

    Raises
    ------
    UndefinedMetricError
        If the labels hold no anomaly.

    References
    ----------
    .. [1] A. Huet, J. M. Navarro, D. Rossi, "Local evaluation of time series anomaly detection algorithms", KDD 2022,
       doi:10.1145/3534678.3539339.

    Examples
    --------
    >>> precision, recall = affiliation_events([0, 1, 1, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0])
    >>> precision.tolist(), recall.tolist()
    ([1.0, nan], [1.0, 0.0])
    """
    labels, predictions = binary_pair(labels, predictions)
    require_anomaly(labels)
    return _per_event(labels, predictions)


def _per_event(labels: BoolArray, predictions: BoolArray) -> tuple[FloatArray, FloatArray]:
    # Zone borders lie on half steps: in units of half a step every coordinate is an integer.
    starts, stops = _doubled(labels)
    borders = np.concatenate([[0], (stops[:-1] + starts[1:]) // 2, [2 * labels.size]])
    lows, highs = borders[:-1], borders[1:]
    zone, left, right = _cut(*_doubled(predictions), borders)
    width, length = highs - lows, stops - starts

    before = starts[zone] - np.minimum(left, starts[zone]), starts[zone] - np.minimum(right, starts[zone])
    after = np.maximum(right, stops[zone]) - stops[zone], np.maximum(left, stops[zone]) - stops[zone]
    common = np.maximum(np.minimum(right, stops[zone]) - np.maximum(left, starts[zone]), 0)
    rooms = (starts - lows)[zone], (highs - stops)[zone]
    near = (
        common * width[zone]
        + (_chance_up_to(before[0], *rooms) - _chance_up_to(before[1], *rooms))
        + (_chance_up_to(after[0], *rooms) - _chance_up_to(after[1], *rooms))
    )
    predicted = np.bincount(zone, weights=right - left, minlength=starts.size)
    with np.errstate(invalid="ignore"):
        precision = np.bincount(zone, weights=near, minlength=starts.size) / (width * predicted)

    # Each step of the event looks to the nearest predicted interval: the one it lies in, or one on either side.
    first, last = np.diff(zone, prepend=-1) != 0, np.diff(zone, append=starts.size) != 0
    middle_left = np.where(first, lows[zone], (left + np.roll(right, 1)) / 2)
    middle_right = np.where(last, highs[zone], (right + np.roll(left, -1)) / 2)
    found = (
        common * width[zone]
        + _reach(right, middle_right, starts[zone], stops[zone], lows[zone], highs[zone])
        + _reach(-left, -middle_left, -stops[zone], -starts[zone], -highs[zone], -lows[zone])
    )
    recall = np.bincount(zone, weights=found, minlength=starts.size) / (width * length)
    return precision, recall


def _doubled(mask: BoolArray) -> tuple[IntArray, IntArray]:
    starts, stops = runs(mask)
    return 2 * starts, 2 * stops


def _cut(starts: IntArray, stops: IntArray, borders: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Cut intervals at the zone borders; return each piece's zone, start and stop."""
    first = np.searchsorted(borders, starts, side="right") - 1
    pieces = np.searchsorted(borders, stops, side="left") - first
    zone = within(first, pieces)
    return (
        zone,
        np.maximum(np.repeat(starts, pieces), borders[zone]),
        np.minimum(np.repeat(stops, pieces), borders[zone + 1]),
    )


def _chance_up_to(distance: IntArray, *rooms: IntArray) -> FloatArray:
    """Integrate, from 0 to ``distance``, how much of the rooms beside the event lies at least so far from it."""
    total = np.zeros(distance.size)
    for room in rooms:
        reached = np.minimum(distance, room)
        total += reached * room - reached * reached / 2
    return total


def _reach(
    edge: IntArray, middle: FloatArray, start: IntArray, stop: IntArray, low: IntArray, high: IntArray
) -> FloatArray:
    """Integrate over the event's part in ``[edge, middle]`` how much of the zone is no nearer than ``edge``."""
    begin, end = np.maximum(edge, start), np.minimum(middle, stop)
    end = np.maximum(begin, end)
    far_begin, far_end = np.maximum(high + edge - 2 * begin, 0), np.maximum(high + edge - 2 * end, 0)
    integral: FloatArray = (edge - low) * (end - begin) + (far_begin * far_begin - far_end * far_end) / 4
    return integral
