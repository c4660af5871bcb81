"""Scores to predictions: thresholds chosen from the scores alone (`best_threshold` uses the labels).

Every function but `apply_threshold` returns a threshold; a step is predicted anomalous where its score is at least
the threshold, or, with ``strict=True``, above it.
"""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pateval.kernels.pareto import fit_tail
from pateval.kernels.sorted_values import distinct_descending, run_counts
from pateval.time.clocks import Clock, Duration, is_duration, nanoseconds, read_clock
from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    UndefinedMetricError,
    finite_array,
    finite_number,
    flag,
)
from pateval.validation.arrays import fraction as checked_fraction
from pateval.validation.arrays import series_starts as starts_of
from pateval.validation.wording import in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

_LARGEST_EXPONENT = 400  # of two, beyond which scores are scaled down so that sums and squares stay finite
_ROUNDING = Fraction(1, 10**9)  # alarms: times that are no whole numbers must not cost one
_NORMAL = 1.4826022185056018  # standard deviation of a normal law over its median absolute deviation


def apply_threshold(scores: ArrayLike, threshold: float, *, strict: bool = False) -> BoolArray:
    """Predictions: where the scores are at least the threshold, or above it if ``strict``.

    Parameters
    ----------
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
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


def quantile_threshold(scores: ArrayLike, *, fraction: float = 0.01, train_scores: ArrayLike | None = None) -> float:
    r"""Return the threshold above which the highest ``fraction`` of the scores lies.

    .. math:: \tau = Q_{1 - fraction}(train \cup test),

    the quantile with linear interpolation between neighbouring scores. With ``train_scores``, and applied with
    ``strict=True``, it is the protocol of many deep-learning papers, where ``100 * fraction`` is the anomaly ratio.

    Parameters
    ----------
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
    fraction : float, default 0.01
        Share of the steps to flag, in [0, 1].
    train_scores : array-like of float, optional
        Scores of training data, taken together with ``scores``.

    Returns
    -------
    float
        The threshold.

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


def standard_deviation_threshold(scores: ArrayLike, *, deviations: float = 3.0) -> float:
    r"""Return the mean of the scores plus a number of standard deviations.

    .. math:: \tau = \mu + k \sigma

    Parameters
    ----------
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
    deviations : float, default 3
        How many standard deviations (of the population, without Bessel's correction) above the mean.

    Returns
    -------
    float
        The threshold.

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


def median_deviation_threshold(scores: ArrayLike, *, deviations: float = 3.0) -> float:
    r"""Return the median of the scores plus a number of scaled median absolute deviations.

    .. math:: \tau = \operatorname{med}(s) + 1.4826\, k \operatorname{med} |s - \operatorname{med}(s)|

    The factor makes the deviation that of the standard deviation for normally distributed scores.

    Parameters
    ----------
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
    deviations : float, default 3
        How many scaled deviations above the median.

    Returns
    -------
    float
        The threshold.

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

    Returns
    -------
    float
        The threshold.

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


def alarm_rate_threshold(
    scores: ArrayLike,
    *,
    alarms: float,
    per: int | Duration,
    series: ArrayLike | None = None,
    times: ArrayLike | None = None,
    time_unit: str | None = None,
) -> float:
    r"""Return the lowest threshold that keeps the number of alarms within a rate: an operating point.

    An alarm is a run of neighbouring steps of one series with scores at or above the threshold, however long it is.
    Over all series together, :math:`\lfloor alarms \cdot T / per \rfloor` of them are allowed in the time T that was
    observed. Going down from the highest score, the threshold is the last one before there are more: at it, and at
    every higher one, the number of alarms is allowed. Lower ones may again have few alarms, down to a single one that
    flags everything; they are never chosen, nor is any other that flags every step.

    Parameters
    ----------
    scores : array-like of float
        The detector's scores, one per time step, higher is more anomalous.
    alarms : float
        How many alarms are allowed,
    per : int or duration
        in so many steps, or in so much time: "1d", a timedelta; a duration needs ``times``.
    series : array-like, optional
        Which series each step belongs to; an alarm never goes on into the next one.
    times : array-like, optional
        When each step was recorded: datetimes, or numbers with ``time_unit``. A series is observed from its first to
        its last time and one interval more, the median one of all series: n equal intervals for n steps.
    time_unit : str, optional
        Unit of times that are numbers, such as "s".

    Returns
    -------
    float
        A score; the next number above the highest score where not even that one is allowed.

    Warnings
    --------
    All alarms count, true and false ones: the rule does not see the labels. The rate is that of the very steps it is
    chosen on.

    Examples
    --------
    >>> alarm_rate_threshold([1, 9, 1, 1, 7, 1, 8, 1, 1, 2], alarms=2, per=10)
    8.0
    >>> alarm_rate_threshold([0, 1, 1, 0, 0, 1], alarms=5, per=6)
    1.0
    >>> days = np.arange("2024-01-01", "2024-01-11", dtype="datetime64[D]")
    >>> alarm_rate_threshold([1, 9, 1, 1, 7, 1, 8, 1, 1, 2], alarms=1, per="3d", times=days)
    7.0
    """
    values = finite_array(scores, "scores")
    starts = starts_of(series, values.size)
    clock = None if times is None else read_clock(times, values.size, starts, time_unit)
    return alarm_rate_level(values, alarms, per, starts, clock)


def alarm_rate_level(
    scores: FloatArray,
    alarms: float,
    per: int | Duration,
    starts: IntArray | None = None,
    clock: Clock | None = None,
) -> float:
    """Do the work of `alarm_rate_threshold`; scores of negative infinity are missing and never part of an alarm."""
    starts = np.zeros(1, dtype=np.intp) if starts is None else starts
    allowed = math.floor(_allowed_alarms(alarms, per, scores.size, starts, clock) + _ROUNDING)
    ordered = np.sort(scores)
    levels = distinct_descending(ordered[ordered > -np.inf])
    if not levels.size:
        raise UndefinedMetricError("the threshold is undefined: no score is present")
    tried = levels[:-1] if ordered[0] > -np.inf else levels  # the lowest score flags every step, unless some lack one
    too_many = np.flatnonzero(run_counts(scores, ordered, tried, starts) > allowed)
    last = int(too_many[0]) - 1 if too_many.size else tried.size - 1
    return float(tried[last]) if last >= 0 else float(np.nextafter(np.float64(levels[0]), np.inf))


def read_alarm_rate(text: str, threshold: str) -> tuple[float, int | str]:
    """Read ``2/1d`` or ``2/1000``: how many alarms, in how many steps or how much time.

    Examples
    --------
    >>> read_alarm_rate("2/1d", "alarms:2/1d"), read_alarm_rate("0.5/1000", "alarms:0.5/1000")
    ((2.0, '1d'), (0.5, 1000))
    """
    number, slash, per = (part.strip() for part in text.partition("/"))
    try:
        rate = float(number)
    except ValueError:
        rate = math.nan
    if not slash or not math.isfinite(rate) or rate < 0:
        raise ValueError(
            f"an alarm rate must be a number of alarms in a duration or a number of steps, such as alarms:2/1d or "
            f"alarms:2/1000; got {in_words(threshold)}"
        )
    unit = int(per) if per.isdecimal() else per
    _period(unit, f"the unit of threshold {in_words(threshold)}")
    return rate, unit


def _allowed_alarms(alarms: float, per: int | Duration, size: int, starts: IntArray, clock: Clock | None) -> Fraction:
    rate = Fraction(finite_number(alarms, "alarms"))
    if rate < 0:
        raise ValueError(f"alarms must not be negative; got {in_words(alarms)}")
    period = _period(per, "per")
    if not is_duration(per):
        return rate * size / period
    if clock is None:
        raise ValueError(f"alarms in {in_words(per)} need the times of the steps: pass times")
    times, stops = clock.times, np.append(starts[1:], size) - 1
    differences = np.delete(np.diff(times), starts[1:] - 1)
    interval = Fraction(float(np.median(differences))) if differences.size else Fraction(0)
    spans = (times[stops] - times[starts]).tolist()
    observed = sum(map(Fraction, spans), Fraction(0)) + starts.size * interval
    return rate * observed / Fraction(clock.length(period))


def _period(per: int | Duration, name: str) -> Fraction:
    """Check a number of steps or a duration; return the number of steps or nanoseconds."""
    if isinstance(per, (str, datetime.timedelta, np.timedelta64)):
        period = nanoseconds(per, name)
    elif isinstance(per, (int, np.integer)) and not isinstance(per, bool):
        period = Fraction(int(per))
    else:
        raise TypeError(f"{name} must be a number of steps or a duration such as '1d'; got {in_words(per)}")
    if period <= 0:
        raise ValueError(f"{name} must be greater than 0; got {in_words(per)}")
    return period
