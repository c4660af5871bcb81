"""PATE, PATE-AP and PATE-F1: one number each, averaged over buffers.

Parameters
----------
early, delay : int or iterable of int, default=(0, 100)
    Buffer lengths in steps before and after an event. One integer is one buffer: the paper's tables use a single pair
    such as ``early=20, delay=20``. Several are averaged over, and one given twice counts twice: ``range(101)`` is the
    paper's full set, the default is that of the authors' package. Durations such as ``"10min"`` or a timedelta are
    measured on ``times``.
thresholds : int or iterable of float, optional
    By default every distinct score: exact. An integer ``n`` takes ``n`` percentiles of the distinct scores, as the
    authors' package does; an iterable gives the thresholds themselves.

References
----------
.. [1] R. Ghorbani, M. J. T. Reinders, D. M. J. Tax, "PATE: Proximity-Aware Time Series Anomaly Evaluation",
   KDD 2024, arXiv:2405.12096.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import AVERAGE_PRECISION, TRAPEZOID, AreaRule, warn_if_coarse
from pateval.output.results import PRF
from pateval.pate._counts import mean_area, rank_steps
from pateval.time.clocks import Duration, canonical_lengths, read_buffers
from pateval.time.timelines import Timeline, read_predictions, read_scores, read_zone_buffers
from pateval.validation.arrays import BoolArray, Buffers, FloatArray, finite_array, positive_integer, require_anomaly
from pateval.validation.checked import OptionKind, adds_up, takes_options
from pateval.validation.wording import in_words

_MOST_PERCENTILES = 1_000_000

Thresholds = int | Iterable[float] | None


def _checked_thresholds(value: Any, name: str) -> Thresholds:
    if value is None:
        return None
    if not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return positive_integer(value, name)
    if isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"{name} must be a positive integer or numbers; got {in_words(value)}")
    given = value if isinstance(value, np.ndarray) else list(value)
    if len(given) == 0:
        raise ValueError(f"{name} must hold at least one number; got an empty collection")
    return tuple(finite_array(given, name).astype(np.float64).tolist())


BUFFERS = OptionKind(canonical_lengths, counts_steps=True, is_set=True)
THRESHOLDS = OptionKind(_checked_thresholds, none_means="all")
_OPTIONS = {"early": BUFFERS, "delay": BUFFERS, "thresholds": THRESHOLDS}


@takes_options(**_OPTIONS)
def pate(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    thresholds: Thresholds = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> float:
    r"""Proximity-Aware Time series anomaly Evaluation: the area under the proximity-weighted precision-recall curve.

    A detection inside an event counts fully. Shortly after an event (within ``delay`` steps) or before one that is
    detected at all (within ``early`` steps) it counts in part, less with distance; the rest of it is a false positive.
    Missed steps of an event weigh less the longer the event had been detected from its first detection on. The area by
    the trapezoid rule, from (recall 0, precision 1), is averaged over all pairs of buffers:

    .. math:: \mathrm{PATE} = \frac{1}{|E||D|} \sum_{e \in E} \sum_{d \in D} \mathrm{AUC\text{-}PR}_{e,d}

    Parameters
    ----------
    scores : array-like of float
        Higher is more anomalous. Only their order matters (with ``thresholds=None``).

    Returns
    -------
    float
        Between 0 and 1, higher is better. Perfect scores give 1.

    Warns
    -----
    CoarseScoresWarning
        If the scores have at most two distinct values, or share one among more than half of all steps.

    Warnings
    --------
    The trapezoid rule flatters coarse scores: a constant score gets (1 + P) / 2, with P the precision of predicting
    everything. `pate_ap` does not have this fault; report both.

    See Also
    --------
    pate_ap : the same curve by the average-precision rule.
    pate_f1 : for 0/1 predictions.
    pate_curve : the curve of one pair of buffers.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 1, 0, 0, 0]
    >>> late = [0.1, 0.2, 0.1, 0.3, 0.8, 0.9, 0.4, 0.2]
    >>> round(pv.pate(labels, late, early=2, delay=2), 3)
    0.568
    >>> early = late[::-1]
    >>> round(pv.pate(labels, early, early=2, delay=2), 3)
    0.426
    """
    truth, values, timeline = read_scores(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    levels = _checked_thresholds(thresholds, "thresholds")
    area = area_on(truth, values, timeline, early=early, delay=delay, thresholds=levels, rule=TRAPEZOID)
    warn_if_coarse(values, "pate", "pate_ap")
    return area


@takes_options(**_OPTIONS)
def pate_ap(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    thresholds: Thresholds = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
) -> float:
    """Area under the proximity-weighted precision-recall curve by the average-precision rule.

    The sum of recall gained times the precision it was gained at, over the same cleaned curve as `pate`, without an
    anchor: no credit for a line between points that no threshold reaches. It agrees with `pate` on fine-grained scores
    and is the fairer of the two on coarse ones.

    Returns
    -------
    float
        Between 0 and 1, higher is better. A constant score gets the precision of predicting everything.

    See Also
    --------
    pate : the paper's rule.

    Examples
    --------
    >>> import pateval as pv
    >>> pv.pate_ap([0, 0, 0, 1, 1, 0, 0, 0], [0.1, 0.2, 0.1, 0.8, 0.9, 0.3, 0.4, 0.2], early=2, delay=2)
    1.0
    >>> round(pv.pate_ap([0, 0, 0, 1], [1, 1, 1, 1], early=0, delay=0), 3)
    0.25
    """
    truth, values, timeline = read_scores(
        labels, scores, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore, missing=missing
    )
    levels = _checked_thresholds(thresholds, "thresholds")
    return area_on(truth, values, timeline, early=early, delay=delay, thresholds=levels, rule=AVERAGE_PRECISION)


def _f1_counts(
    labels: BoolArray, predictions: BoolArray, timeline: Timeline, *, early: Buffers, delay: Buffers
) -> tuple[float, ...]:
    """Predicted steps, weighted false negatives, and for each pair of buffers the weighted true positives."""
    early, delay, clock = read_zone_buffers(timeline, early, delay)
    only = np.ones(1, dtype=np.float32)
    steps = rank_steps(predictions.astype(np.float32), timeline.events(labels), early, delay, only, clock)
    true_positives = [float(counts[0]) for *_, counts in steps.true_positives(early, delay)]
    return float(steps.detected[0]), float(steps.missed[0]), *true_positives


def _f1_of_counts(detected: float, missed: float, *true_positives: float) -> float:
    # Sums of weights may pass their limits by rounding: what is missed may fall below 0, what is found exceed the
    # number of detected steps.
    hits = [min(count, detected) for count in true_positives]
    return float(np.mean([PRF.from_counts(count, detected - count, max(0.0, missed)).f1 for count in hits]))


@adds_up(_f1_counts, _f1_of_counts)
@takes_options(early=BUFFERS, delay=BUFFERS)
def pate_f1(
    labels: npt.ArrayLike,
    predictions: npt.ArrayLike,
    *,
    early: Buffers = (0, 100),
    delay: Buffers = (0, 100),
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
) -> float:
    """F1 of proximity-weighted precision and recall of 0/1 predictions, averaged over the buffers.

    See Also
    --------
    explain : step by step, why.

    Examples
    --------
    >>> import pateval as pv
    >>> round(pv.pate_f1([0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], early=2, delay=2), 3)
    0.636
    """
    truth, predicted, timeline = read_predictions(
        labels, predictions, series=series, times=times, time_unit=time_unit, max_gap=max_gap, ignore=ignore
    )
    return f1_on(truth, predicted, timeline, early=early, delay=delay)


def f1_on(labels: BoolArray, predictions: BoolArray, timeline: Timeline, *, early: Buffers, delay: Buffers) -> float:
    """PATE-F1 of checked predictions at the steps of a timeline."""
    require_anomaly(labels)
    return _f1_of_counts(*_f1_counts(labels, predictions, timeline, early=early, delay=delay))


def area_on(
    labels: BoolArray,
    scores: FloatArray,
    timeline: Timeline,
    *,
    early: Buffers,
    delay: Buffers,
    thresholds: Thresholds,
    rule: AreaRule,
) -> float:
    """Mean area over all pairs of buffers, of checked scores at the steps of a timeline; missing ones are -infinity."""
    levels = _levels(scores, thresholds)
    early, delay, clock = read_zone_buffers(timeline, early, delay)
    require_anomaly(labels)
    return mean_area(rank_steps(scores, timeline.events(labels), early, delay, levels, clock), early, delay, rule)


def trapezoid_area_on(labels: BoolArray, scores: FloatArray, timeline: Timeline, **options: Any) -> float:
    """PATE of checked scores at the steps of a timeline."""
    return area_on(labels, scores, timeline, rule=TRAPEZOID, **options)


def average_precision_on(labels: BoolArray, scores: FloatArray, timeline: Timeline, **options: Any) -> float:
    """PATE-AP of checked scores at the steps of a timeline."""
    return area_on(labels, scores, timeline, rule=AVERAGE_PRECISION, **options)


AREA_RULES: dict[object, AreaRule] = {trapezoid_area_on: TRAPEZOID, average_precision_on: AVERAGE_PRECISION}
"""The rule by which each of these computes."""


def pate_at_sizes(
    labels: npt.ArrayLike, scores: npt.ArrayLike, sizes: Iterable[int | Duration], **reading: Any
) -> npt.NDArray[np.float64]:
    """PATE with ``early = delay = size`` for each size; the scores are sorted once for all of them.

    ``reading`` are the other options of `pate`.
    """
    truth, values, timeline = read_scores(labels, scores, **reading)
    require_anomaly(truth)
    lengths, in_time = read_buffers(list(sizes), "sizes", timeline.clock, timeline.size)
    reaches = (min(lengths), max(lengths))
    clock = timeline.zone_clock(in_time=in_time)
    steps = rank_steps(values, timeline.events(truth), reaches, reaches, clock=clock)
    warn_if_coarse(values, "pate", "pate_ap")
    return np.array([mean_area(steps, (length,), (length,), TRAPEZOID) for length in lengths])


def _levels(scores: FloatArray, thresholds: Thresholds) -> npt.NDArray[np.float64] | None:
    """The thresholds themselves; None where every distinct score is one."""
    if thresholds is None:
        return None
    if isinstance(thresholds, Iterable):
        return np.sort(np.array(thresholds, dtype=np.float64))[::-1]
    present = scores[scores > -np.inf]
    if thresholds > max(_MOST_PERCENTILES, scores.size):
        return None  # Percentiles that lie closer than the scores detect what the scores themselves detect.
    if not present.size:
        return np.empty(0)
    distinct = np.unique(present).astype(np.float64)
    # The difference of two scores must not overflow.
    scale = 4.0 if max(-distinct[0], distinct[-1]) > np.finfo(np.float64).max / 4 else 1.0
    return np.percentile(distinct / scale, np.linspace(100, 0, thresholds)) * scale
