"""An operator's interest in alerts, as a curve over time."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import runs, within
from pateval.output.results import PRF, ratio
from pateval.validation.arrays import BoolArray, FloatArray, require_anomaly
from pateval.validation.checked import FRACTION, WINDOW, on_predictions

_VANISHED = 70.5  # lengths after which a faded interest is taken as nothing: a logistic function beyond 700


@on_predictions(discovery=WINDOW.or_word("auto"), observation=WINDOW.or_word("auto"), bound=FRACTION)
def operator_interest(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    discovery: int | str = 5,
    observation: int | str = 20,
    bound: float = 0.5,
) -> PRF:
    r"""Precision, recall and F1 of an operator's interest (OIPR).

    Alerts rouse an interest that fades. With s the logistic function :math:`s(z) = 1 / (1 + e^z)` and
    :math:`f(i, n) = s(10 i / n - 5) / s(-5)`, where :math:`f(0, n) = 1` and :math:`f(i, 0) = 0`, the interest at step
    t is

    .. math:: \bigl(b + (1 - b)\, f(t - v, \text{discovery})\bigr)\, f(t - u, \text{observation})

    while :math:`t - u` is at most ``observation``, and 0 after that. u is the last flagged step up to t, v the first
    step of its alert, and b the ``bound``; runs at most ``observation`` apart, from last step to first, are one alert.
    The curve runs past the end of the series. With I the curve of the labels and J that of the predictions,

    .. math:: P = \frac{\sum \min(I, J)}{\sum J}, \qquad R = \frac{\sum \min(I, J)}{\sum I}.

    Parameters
    ----------
    discovery : int or "auto", default 5
        Steps in which the interest in a lasting alert falls to ``bound``; "auto" is half the mean length of the events,
        rounded up.
    observation : int or "auto", default 20
        Steps for which the interest lasts after an alert; "auto" is the mean length of the events, rounded up.
    bound : float, default 0.5
        Interest that a lasting alert keeps, in [0, 1].

    Warnings
    --------
    Emerging: a preprint so far. Its three options are a choice, and the curve of a long alert is nearly flat: it then
    counts steps, late ones like early ones.

    Notes
    -----
    Defaults are the example of the authors; their program's own (0, 2, 1) come close to counting steps. With
    ``observation=0`` their program begins a new alert at every step; here a run is one.

    References
    ----------
    .. [1] Y. Jing et al., "OIPR: evaluation for time-series anomaly detection inspired by operator interest",
       arXiv:2503.01260.

    Examples
    --------
    >>> operator_interest([0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0])
    PRF(precision=1.0, recall=1.0, f1=1.0)
    >>> operator_interest([0, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0], observation=0).recall
    0.5051790296373222
    """
    require_anomaly(labels)
    anomalous, events = int(np.count_nonzero(labels)), runs(labels)[0].size
    half = -(-anomalous // (2 * events)) if isinstance(discovery, str) else discovery
    whole = -(-anomalous // events) if isinstance(observation, str) else observation
    wanted, given = (_curve(values, half, whole, bound) for values in (labels, predictions))
    shared = np.minimum(wanted, given).sum()
    return PRF.of(ratio(shared, given.sum()), ratio(shared, wanted.sum()))


def _curve(values: BoolArray, discovery: int, observation: int, bound: float) -> FloatArray:
    """Interest at each step, and at the ``observation`` steps after the last."""
    starts, stops = runs(values)
    curve = np.zeros(values.size + observation)
    if not starts.size:
        return curve
    first = np.ones(starts.size, dtype=np.bool_)  # of its alert
    first[1:] = starts[1:] - (stops[:-1] - 1) > observation
    begins = starts[first]
    ends = np.append(stops[:-1][first[1:]], stops[-1]) + observation  # of the interest
    # Interest lives from the begin of an alert to the end of its observation; these stretches do not overlap.
    steps = within(begins, ends - begins)
    since_begin = steps - np.repeat(begins, ends - begins)
    last = np.zeros(curve.size, dtype=np.intp)
    flagged = np.flatnonzero(values)
    last[flagged] = flagged
    since_last = steps - np.maximum.accumulate(last)[steps]
    faded = _fade(int((ends - begins).max()), discovery)
    interest = bound + (1 - bound) * faded[np.minimum(since_begin, faded.size - 1)]
    curve[steps] = interest * _fade(observation, observation)[since_last]
    return curve


def _fade(steps: int, length: int) -> FloatArray:
    """Interest after 0, 1, 2, ... steps of which it lasts about ``length``; the last one stands for all later ones."""
    if length == 0:
        return np.array([1.0, 0.0])
    places = np.arange(min(steps, int(_VANISHED * length) + 2) + 1)
    with np.errstate(over="ignore"):
        faded = (1 + np.exp(-5.0)) / (1 + np.exp(10 * places / length - 5))
    faded[10 * places / length - 5 > 700] = 0.0
    faded[0] = 1.0
    return faded
