"""Scores to predictions: thresholds chosen from the scores alone (`best_threshold` uses the labels).

Every function but `apply_threshold` returns a threshold; a step is predicted anomalous where its score is at least
the threshold, or, with ``strict=True``, above it.

Returns
-------
float
    The threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from pateval.validation.arrays import BoolArray, FloatArray, UndefinedMetricError, finite_array, finite_number, flag
from pateval.validation.arrays import fraction as checked_fraction
from pateval.validation.checked import documented

_GRID = 200  # points on each side of 0 between which maxima of the likelihood are looked for
_HALVINGS = 60  # enough to pin a maximum down to rounding error
_LARGEST_EXPONENT = 400  # of two, beyond which scores are scaled down so that sums and squares stay finite
_NORMAL = 1.4826022185056018  # standard deviation of a normal law over its median absolute deviation


class Tail(NamedTuple):
    """Shape and scale of a generalised Pareto law, ``P(Y > y) = (1 + shape * y / scale) ** (-1 / shape)``."""

    shape: float
    scale: float

    def exceeded_with(self, probability: float) -> float:
        """Return the ``y`` that is exceeded with this probability."""
        if self.shape == 0:
            return float(-self.scale * np.log(probability))
        return float(self.scale * np.expm1(-self.shape * np.log(probability)) / self.shape)


def fit_tail(excesses: FloatArray) -> Tail:
    """Fit a generalised Pareto law to positive excesses by maximum likelihood.

    After Grimshaw (1993): with ``x = shape / scale`` the likeliest shape is ``mean(log(1 + x * excess))``, which leaves
    one unknown. Its local maxima are bracketed on a grid on both sides of 0, found by bisection of the derivative, and
    compared with each other and with the exponential law, the limit at ``x = 0``. The likelihood grows without bound
    at the lower end of ``x``, which is no estimate; only stationary points count.
    """
    mean = float(excesses.mean())
    values = np.asarray(excesses, dtype=np.float64) / mean
    lowest = -1 / values.max()
    grids = lowest * (1 - np.geomspace(1e-9, 1 - 1e-6, _GRID)), np.geomspace(1e-6, 1e6, _GRID)
    best, highest = Tail(0.0, mean), -1.0  # the mean log-likelihood of the exponential law of mean 1
    for grid in grids:
        rising = np.array([_derivative(x, values) > 0 for x in grid])
        for k in np.flatnonzero(rising[:-1] & ~rising[1:]):
            low, high = float(grid[k]), float(grid[k + 1])
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                low, high = (middle, high) if _derivative(middle, values) > 0 else (low, middle)
            shape = float(np.log1p(low * values).mean())
            likelihood = -float(np.log(shape / low)) - shape - 1
            if likelihood > highest:
                best, highest = Tail(shape, mean * shape / low), likelihood
    return best


def _derivative(x: float, values: FloatArray) -> float:
    """Slope of the mean log-likelihood, maximal over the shape, at ``x = shape / scale``."""
    shape = np.log1p(x * values).mean()
    return float(1 / x - (1 + 1 / shape) * (values / (1 + x * values)).mean())


@documented
def apply_threshold(scores: ArrayLike, threshold: float, *, strict: bool = False) -> BoolArray:
    """Predictions: where the scores are at least the threshold, or above it if ``strict``.

    Parameters
    ----------
    threshold : float
        The threshold.
    strict : bool, default False
        Flag only scores above the threshold, as the protocol of many deep-learning papers does.

    Returns
    -------
    ndarray of bool
        One prediction per time step.

    Examples
    --------
    >>> apply_threshold([0.1, 0.5, 0.9], 0.5).tolist()
    [False, True, True]
    >>> apply_threshold([0.1, 0.5, 0.9], 0.5, strict=True).tolist()
    [False, False, True]
    """
    scores, level = finite_array(scores, "scores"), np.float64(finite_number(threshold, "threshold"))
    return scores > level if flag(strict, "strict") else scores >= level


@documented
def quantile_threshold(scores: ArrayLike, *, fraction: float = 0.01, train_scores: ArrayLike | None = None) -> float:
    r"""Return the threshold above which the highest ``fraction`` of the scores lies.

    .. math:: \tau = Q_{1 - fraction}(train \cup test),

    the quantile with linear interpolation between neighbouring scores. With ``train_scores``, and applied with
    ``strict=True``, it is the protocol of many deep-learning papers, where ``100 * fraction`` is the anomaly ratio.

    Parameters
    ----------
    fraction : float, default 0.01
        Share of the steps to flag, in [0, 1].
    train_scores : array-like of float, optional
        Scores of training data, taken together with ``scores``.

    Warnings
    --------
    A fraction chosen by looking at the share of anomalies in the labels uses the labels.

    References
    ----------
    .. [1] J. Xu et al., "Anomaly Transformer: Time Series Anomaly Detection with Association Discrepancy", ICLR 2022,
       arXiv:2110.02642.

    Examples
    --------
    >>> quantile_threshold([1, 2, 3, 4, 5], fraction=0.25)
    4.0
    >>> quantile_threshold([5, 4], fraction=0.25, train_scores=[1, 2, 3])
    4.0
    """
    share, pool = checked_fraction(fraction, "fraction"), finite_array(scores, "scores")
    if train_scores is not None:
        pool = np.concatenate([finite_array(train_scores, "train_scores"), pool])
    return _scaled(pool, lambda values: float(np.quantile(values, 1 - share)))


@documented
def standard_deviation_threshold(scores: ArrayLike, *, deviations: float = 3.0) -> float:
    r"""Return the mean of the scores plus a number of standard deviations.

    .. math:: \tau = \mu + k \sigma

    Parameters
    ----------
    deviations : float, default 3
        How many standard deviations (of the population, without Bessel's correction) above the mean.

    Warnings
    --------
    Anomalies raise both the mean and the deviation: many or high ones hide each other.

    References
    ----------
    .. [1] F. E. Grubbs, "Procedures for Detecting Outlying Observations in Samples", Technometrics 11(1), 1969,
       doi:10.1080/00401706.1969.10490657.

    Examples
    --------
    >>> standard_deviation_threshold([1, 1, 3, 3], deviations=2)
    4.0
    """
    values, number = finite_array(scores, "scores"), finite_number(deviations, "deviations")
    return _scaled(values, lambda scaled: float(scaled.mean() + number * scaled.std()))


@documented
def median_deviation_threshold(scores: ArrayLike, *, deviations: float = 3.0) -> float:
    r"""Return the median of the scores plus a number of scaled median absolute deviations.

    .. math:: \tau = \operatorname{med}(s) + 1.4826\, k \operatorname{med} |s - \operatorname{med}(s)|

    The factor makes the deviation that of the standard deviation for normally distributed scores.

    Parameters
    ----------
    deviations : float, default 3
        How many scaled deviations above the median.

    Warnings
    --------
    Where more than half of the scores are equal, the deviation is 0 and the threshold is the median.

    References
    ----------
    .. [1] C. Leys et al., "Detecting outliers: Do not use standard deviation around the mean, use absolute deviation
       around the median", Journal of Experimental Social Psychology 49(4), 2013, doi:10.1016/j.jesp.2013.03.013.

    Examples
    --------
    >>> median_deviation_threshold([1, 2, 3, 4, 100], deviations=1)
    4.4826...
    """
    values, number = finite_array(scores, "scores"), finite_number(deviations, "deviations")

    def rule(scaled: npt.NDArray[np.float64]) -> float:
        middle = float(np.median(scaled))
        return middle + number * _NORMAL * float(np.median(np.abs(scaled - middle)))

    return _scaled(values, rule)


@documented
def peaks_over_threshold(scores: ArrayLike, *, risk: float = 1e-4, level: float = 0.98) -> float:
    r"""Return the threshold that scores like these exceed with probability ``risk`` (POT, the batch step of SPOT).

    A generalised Pareto law is fitted to the excesses over a first threshold t, a high quantile of the scores:

    .. math:: \tau = t + \frac{\sigma}{\gamma} \left( \left( \frac{risk \cdot n}{n_t} \right)^{-\gamma} - 1 \right)

    with shape :math:`\gamma`, scale :math:`\sigma`, n scores, and :math:`n_t` of them above t. The fit is by maximum
    likelihood in Grimshaw's reduction to one unknown, its local maxima found on a grid and refined by bisection.

    Parameters
    ----------
    scores : array-like of float
        Scores to calibrate on, best of normal data; higher is more anomalous.
    risk : float, default 1e-4
        Share of normal steps that may exceed the threshold; greater than 0, at most the share above the level.
    level : float, default 0.98
        Quantile of the scores, in [0, 1], over which peaks are taken.

    Raises
    ------
    UndefinedMetricError
        If no score lies above the first threshold, as with constant scores.

    Warnings
    --------
    Few peaks give a wild tail: with the default level a series of 1,000 steps has 20. Other programs start from other
    first thresholds (a share of the sorted scores, or 0.07 instead of 0.02), which changes the result.

    References
    ----------
    .. [1] A. Siffer et al., "Anomaly Detection in Streams with Extreme Value Theory", KDD 2017,
       doi:10.1145/3097983.3098144.
    .. [2] S. D. Grimshaw, "Computing Maximum Likelihood Estimates for the Generalized Pareto Distribution",
       Technometrics 35(2), 1993, doi:10.1080/00401706.1993.10485040.

    Examples
    --------
    >>> scores = -np.log((np.arange(10_000) + 0.5) / 10_000)  # an exponential law, which exceeds 9.21 once in 10,000
    >>> round(peaks_over_threshold(scores, risk=1e-4), 2)
    9.1
    """
    values = finite_array(scores, "scores")
    risk, level = checked_fraction(risk, "risk"), checked_fraction(level, "level")
    if not risk:
        raise ValueError("risk must be greater than 0; got 0.0")

    def rule(scaled: npt.NDArray[np.float64]) -> float:
        first = float(np.quantile(scaled, level))
        excesses = scaled[scaled > first] - first
        if not excesses.size:
            raise UndefinedMetricError(f"the threshold is undefined: no score lies above the quantile {level}, {first}")
        conditional = risk * scaled.size / excesses.size
        if conditional > 1:
            raise ValueError(
                f"risk must be at most the share of scores above the quantile {level}, "
                f"{excesses.size / scaled.size}; got {risk}"
            )
        return first + fit_tail(excesses).exceeded_with(conditional)

    return _scaled(values, rule)


def _scaled(values: FloatArray, rule: Callable[[npt.NDArray[np.float64]], float]) -> float:
    """Apply a rule that follows its scores when they are scaled, so that nothing overflows on the way."""
    floats: npt.NDArray[np.float64] = values.astype(np.float64)
    _, exponent = math.frexp(float(np.abs(floats).max()))
    excess = max(0, exponent - _LARGEST_EXPONENT)
    if not excess:
        return rule(floats)
    try:
        return math.ldexp(rule(np.ldexp(floats, -excess)), excess)
    except OverflowError:
        raise ValueError("the threshold lies beyond the largest float: divide the scores by a constant") from None
