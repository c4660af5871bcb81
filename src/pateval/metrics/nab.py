"""The score of the Numenta Anomaly Benchmark."""

from __future__ import annotations

import numpy as np

from pateval.labels.events import first_inside, runs
from pateval.validation.arrays import BoolArray, FloatArray, UndefinedMetricError, require_anomaly
from pateval.validation.checked import FRACTION, on_predictions, undefined_where, word_of

# What a detected window earns, a false alarm costs at most, and a missed window costs.
PROFILES = {"standard": (1.0, 0.11, 1.0), "low_fp": (1.0, 0.22, 1.0), "low_fn": (1.0, 0.11, 2.0)}


@on_predictions(profile=word_of(PROFILES), probation=FRACTION)
@undefined_where("an event of a single step: the cost of what follows it has no scale")
def nab(labels: BoolArray, predictions: BoolArray, *, profile: str = "standard", probation: float = 0.15) -> float:
    r"""Score of the Numenta Anomaly Benchmark (NAB), for predictions.

    The events are NAB's windows. The first predicted step t of a window [a, b] of L steps earns

    .. math:: A_{TP}\, \sigma\!\Bigl(-\frac{b - t + 1}{L}\Bigr) / \sigma(-1), \qquad
       \sigma(x) = \frac{2}{1 + e^{5x}} - 1,

    which is A_TP at the window's first step; a window without one costs A_FN. A predicted step outside the windows
    costs :math:`A_{FP}\,|\sigma(x)|` with x its distance to the end of the window before it, in units of that window's
    length less one, and A_FP where x > 3 or no window came before. The sum is scaled so that a detector that never
    fires scores 0 and one that fires once at the start of each window scores 100.

    Parameters
    ----------
    profile : {"standard", "low_fp", "low_fn"}, default "standard"
        The weights (A_TP, A_FP, A_FN): (1, 0.11, 1), (1, 0.22, 1) or (1, 0.11, 2).
    probation : float, default 0.15
        Share of the series, in [0, 1], whose first steps are not scored: at most that share of 5000 steps.

    Returns
    -------
    float
        At most 100, without a lower bound; higher is better; 0 where nothing is predicted.

    Warnings
    --------
    Windows are taken as the events are labelled; the benchmark widens its labels first, so published NAB scores need
    its own windows. Every flagged step outside costs on its own, so detectors must fire once per anomaly. A window
    wholly inside the probation cannot be won, but still counts in the scale.

    References
    ----------
    .. [1] A. Lavin, S. Ahmad, "Evaluating real-time anomaly detection algorithms: the Numenta Anomaly Benchmark",
       ICMLA 2015, arXiv:1510.03336.

    Examples
    --------
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]
    >>> nab(labels, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
    100.0
    >>> nab(labels, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    0.0
    """
    gain, alarm, miss = PROFILES[profile]
    require_anomaly(labels)
    starts, stops = runs(labels)
    lengths = stops - starts
    if lengths.min() == 1:
        single = int(starts[np.argmin(lengths)])
        raise UndefinedMetricError(
            f"the metric is undefined: NAB needs events of at least two steps, and the one at index {single} has one"
        )

    unscored = int(np.ceil(min(np.floor(probation * labels.size), probation * 5000)))
    scored = predictions.copy()
    scored[:unscored] = False
    detections = first_inside(scored, starts, stops)
    won = detections < stops
    earned = gain * _sigmoid(-(stops - detections) / lengths) / _sigmoid(np.array(-1.0))
    in_play = stops > unscored

    false_alarms = np.flatnonzero(scored & ~labels)
    window = np.searchsorted(stops, false_alarms, side="right") - 1
    distance = (false_alarms - stops[window] + 1) / (lengths[window] - 1)
    costs = alarm * np.where(window < 0, -1.0, _sigmoid(distance))

    raw = np.sum(earned[won]) - miss * np.count_nonzero(in_play & ~won) + np.sum(costs)
    silent = -miss * np.count_nonzero(in_play)
    return float(100 * (raw - silent) / (gain * starts.size - silent))


def _sigmoid(distance: FloatArray) -> FloatArray:
    """Fall from about 1 at -1 through 0 at 0 to -1, which is reached beyond 3."""
    return np.where(distance > 3, -1.0, 2 / (1 + np.exp(5 * np.minimum(distance, 3))) - 1)
