"""How sure, and how steadily sure, scores are of events and of normal stretches."""

from __future__ import annotations

import numpy as np

from pateval.validation.arrays import BoolArray, FloatArray, IntArray, UndefinedMetricError, require_anomaly
from pateval.validation.checked import on_scores, undefined_where


@on_scores()
@undefined_where("nothing but anomalies")
def confidence_consistency(labels: BoolArray, scores: FloatArray) -> float:
    r"""Confidence-consistency of scores (CCE).

    The scores are scaled to [0, 1] by their minimum and maximum. A set of values with mean m and population variance v
    is worth :math:`g = (m - \frac12) e^{-v}` where it is anomalous and :math:`h = (\frac12 - m) e^{-v}` where it is
    normal:

    .. math::
       \tfrac12 \bigl(\overline{g}_{\text{events}} + g_{\text{all anomalous}}
       + \overline{h}_{\text{normal runs}} + h_{\text{all normal}}\bigr),

    the first and third being means over events and over the runs between them.

    Returns
    -------
    float
        From -1 to 1, higher is better; 0 where all scores are equal.

    Warnings
    --------
    Emerging: a preprint so far. It depends on the values of the scores and not on their order: one extreme score
    squeezes all others together and decides the result.

    Notes
    -----
    The authors' program takes the variance from a Beta distribution fitted by moments, with 1e-8 added here and there;
    where a run holds nothing but 0 and 1 these guards swallow the variance.

    References
    ----------
    .. [1] Z. Zhong et al., "CCE: confidence-consistency evaluation for time series anomaly detection",
       arXiv:2509.01098.

    Examples
    --------
    >>> confidence_consistency([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    1.0
    >>> confidence_consistency([0, 1, 1, 0], [0.2, 0.2, 0.2, 0.2])
    0.0
    """
    require_anomaly(labels)
    if labels.all():
        raise UndefinedMetricError("the metric is undefined: every step is anomalous, so nothing is normal")
    # Halved first, so that the difference of two huge scores of opposite sign does not overflow.
    halved = scores.astype(np.float64) / 2
    low, room = halved.min(), np.ptp(halved)
    scaled = (halved - low) / room if room > 0 else np.zeros(scores.size)
    starts = np.flatnonzero(np.diff(labels, prepend=~labels[0]))
    steps = np.diff(starts, append=labels.size)
    sure = _confidence(scaled, starts, steps)
    first = labels[starts]
    anomalous, normal = (
        _confidence(scaled[mask], np.zeros(1, dtype=np.intp), np.array([mask.sum()]))[0] for mask in (labels, ~labels)
    )
    return float(sure[first].mean() + anomalous - sure[~first].mean() - normal) / 2


def _confidence(values: FloatArray, starts: IntArray, steps: IntArray) -> FloatArray:
    """Mean minus one half, damped by the population variance, of consecutive runs."""
    mean = np.add.reduceat(values, starts) / steps
    variance = np.add.reduceat((values - np.repeat(mean, steps)) ** 2, starts) / steps
    return (mean - 0.5) * np.exp(-variance)
