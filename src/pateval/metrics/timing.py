"""When the first alarm of an event comes, and what that is worth: the timing curve of ESA-ADB.

References
----------
.. [1] K. Kotowski et al., "European Space Agency benchmark for anomaly detection in satellite telemetry",
   arXiv:2406.17826.
"""

from __future__ import annotations

import math

import numpy as np

from pateval.labels.events import runs
from pateval.validation.arrays import BoolArray, FloatArray, require_anomaly, require_detected
from pateval.validation.checked import number, on_predictions, undefined_where


@on_predictions()
@undefined_where("no event is detected")
def timing_quality(labels: BoolArray, predictions: BoolArray) -> float:
    r"""Mean timing quality of the detected events (the timing curve of ESA-ADB).

    A detected event of L steps is one touched by a predicted run; x is the offset from its first step to the first
    step of the first such run, and its quality

    .. math::
       q(x) = \Bigl(\frac{x + a}{a}\Bigr)^{e} \text{ for } -a < x \le 0, \qquad
       q(x) = \frac{1}{1 + \bigl(\frac{x}{L - x}\bigr)^{e}} \text{ for } 0 < x < L,

    and 0 elsewhere, with a the smaller of L and the distance to the onset of the event before (L for the first), and
    e Euler's number.

    Returns
    -------
    float
        In [0, 1], higher is better; 1 where every detected event is seen at its first step.

    Warnings
    --------
    Missed events and false alarms are ignored. Read it next to `event_wise`.

    See Also
    --------
    timing_quality_events : the offset and the quality of each event.

    Examples
    --------
    >>> timing_quality([0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0])
    0.5
    >>> timing_quality([0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0])
    1.0
    """
    _, quality = _quality_of_events(labels, predictions)
    return float(quality[require_detected(~np.isnan(quality))].mean())


@on_predictions()
@undefined_where("no event is detected")
def timing_after_rate(labels: BoolArray, predictions: BoolArray) -> float:
    """Share of the detected events whose first alarm begins at their first step or later.

    An event is detected where a predicted run touches it, and its alarm begins where the first such run does.

    Returns
    -------
    float
        In [0, 1]; 1 where no alarm begins ahead of its event.

    Warnings
    --------
    It describes a detector and does not rank it: an alarm at the end of an event counts like one at its first step, and
    missed events and false alarms are ignored.

    Examples
    --------
    >>> timing_after_rate([0, 0, 1, 1, 0, 0, 1, 1], [0, 1, 1, 0, 0, 0, 0, 1])
    0.5
    """
    offset, _ = _quality_of_events(labels, predictions)
    return float(np.mean(offset[require_detected(~np.isnan(offset))] >= 0))


@on_predictions(exponent=number())
def timing_quality_events(
    labels: BoolArray, predictions: BoolArray, *, exponent: float = math.e
) -> tuple[FloatArray, FloatArray]:
    """Offset of the first alarm and timing quality of each event.

    Both are defined in `timing_quality`.

    Parameters
    ----------
    exponent : float, default e
        How steeply the quality falls to both sides; above 0.

    Returns
    -------
    offset : ndarray of float
        Per event, in order: steps from its first step to the first step of the first predicted run that touches it,
        negative for an alarm that begins ahead; NaN where the event is missed.
    quality : ndarray of float
        Per event, in [0, 1], higher is better; NaN where the event is missed.

    Examples
    --------
    >>> offset, quality = timing_quality_events([0, 1, 1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 0], exponent=1)
    >>> offset.tolist(), quality.tolist()
    ([2.0, nan], [0.5, nan])
    """
    return _quality_of_events(labels, predictions, exponent)


def _quality_of_events(
    labels: BoolArray, predictions: BoolArray, exponent: float = math.e
) -> tuple[FloatArray, FloatArray]:
    require_anomaly(labels)
    starts, stops = runs(labels)
    run_starts, run_stops = runs(predictions)
    lengths = stops - starts
    first = np.searchsorted(run_stops, starts, side="right")
    offset = np.append(run_starts, 2 * labels.size)[first] - starts
    detected = offset < lengths
    reach = np.minimum(lengths, np.diff(starts, prepend=starts[0] - lengths[0]))
    late = np.where(detected, np.maximum(offset, 0), 0)
    ahead = np.maximum(np.minimum(offset, 0) + reach, 0) / reach
    quality = np.where(offset <= 0, ahead**exponent, 1 / (1 + (late / (lengths - late)) ** exponent))
    return np.where(detected, offset, np.nan), np.where(detected, quality, np.nan)
