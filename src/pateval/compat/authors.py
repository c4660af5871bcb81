"""Calls of the packages of PATE (PyPI ``PATE`` 0.1.1), VUS and TSB-AD; in the latter scores come first, then labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import TRAPEZOID, trapezoids
from pateval.kernels.soft_labels import VARIANTS, ThresholdSums, soft_counts, soft_recall
from pateval.kernels.threshold_counts import above, at_least, distinct_descending
from pateval.labels.events import count_inside, find_events, marked, runs
from pateval.metrics import affiliation, auc_roc, average_precision, point, range_based, vus_areas
from pateval.output.results import PRF
from pateval.pate._counts import mean_area, rank_steps
from pateval.pate.score import pate_f1
from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    binary_pair,
    count,
    flag,
    non_negative_integer,
    positive_integer,
    require_anomaly,
    require_normal,
    scored_pair,
    window_length,
)

_TRIED = 100  # thresholds between the lowest and the highest score
_SAMPLED = 250  # thresholds of the first VUS package
_ADDED = 1e-5  # to the denominator of the best point F1


def PATE(  # noqa: N802  # the authors' name
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    e_buffer: int = 100,
    d_buffer: int = 100,
    pos_label: int = 1,
    sample_weight: None = None,
    n_jobs: int = 1,
    drop_intermediate: bool = True,
    Big_Data: bool = True,  # noqa: N803  # the authors' name
    num_desired_thresholds: int = 250,
    num_splits_MaxBuffer: int = 1,  # noqa: N803  # the authors' name
    include_zero: bool = True,
    binary_scores: bool = False,
) -> float:
    """PATE as the authors' package computes it: a drop-in replacement for ``from pate.PATE_metric import PATE``.

    New code is better off with `pateval.pate` and `pateval.pate_f1`, whose defaults are exact.

    Parameters
    ----------
    y_true : array-like of 0/1
        Truth for each time step.
    y_score : array-like of float
        Scores, or predictions with ``binary_scores``.
    e_buffer, d_buffer : int, default=100
        Longest buffer before and after an event.
    pos_label : int, default=1
        Only 1 is accepted: in the package another value merely shifts which thresholds are sampled.
    sample_weight : None
        Only None is accepted, for the same reason.
    n_jobs : int, default=1
        Accepted and unneeded.
    drop_intermediate : bool, default=True
        First leave out thresholds whose plain count of true positives equals that of both neighbours.
    Big_Data : bool, default=True
        Sample the thresholds left at ``num_desired_thresholds`` percentiles.
    num_desired_thresholds : int, default=250
        Number of percentiles.
    num_splits_MaxBuffer : int, default=1
        Number of parts that each longest buffer is split into; the value is the mean over all pairs.
    include_zero : bool, default=True
        Whether a buffer of length 0 is among them.
    binary_scores : bool, default=False
        Take ``y_score > 0`` as predictions and return PATE-F1.

    Returns
    -------
    float
        PATE, or PATE-F1 with ``binary_scores``; 0.0 without any anomaly, as in the package.

    Examples
    --------
    >>> round(PATE([0, 0, 1, 1, 0, 0], [0.1, 0.6, 0.9, 0.4, 0.5, 0.2], e_buffer=2, d_buffer=2), 4)
    0.7764
    """
    flags = {"drop_intermediate": drop_intermediate, "Big_Data": Big_Data, "include_zero": include_zero}
    for name, value in (flags | {"binary_scores": binary_scores}).items():
        flag(value, name)
    if non_negative_integer(pos_label, "pos_label") != 1:
        raise ValueError("pos_label other than 1 is not supported: label anomalies 1 instead")
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported: it never weighted anything but the choice of thresholds")
    if not isinstance(n_jobs, int) or n_jobs != -1:
        positive_integer(n_jobs, "n_jobs")
    splits = count(positive_integer(num_splits_MaxBuffer, "num_splits_MaxBuffer"), "num_splits_MaxBuffer")
    early_set = _buffer_set(window_length(e_buffer, "e_buffer"), splits, include_zero)
    delay_set = _buffer_set(window_length(d_buffer, "d_buffer"), splits, include_zero)
    labels, scores = scored_pair(y_true, y_score)
    if not labels.any():
        return 0.0
    if binary_scores:
        return pate_f1(labels, scores > 0, early=early_set, delay=delay_set)
    thresholds = np.unique(scores).astype(np.float64)[::-1] if drop_intermediate or Big_Data else None
    if thresholds is not None and drop_intermediate:
        thresholds = _without_intermediate(labels, scores, thresholds)
    if thresholds is not None and Big_Data:
        number = count(positive_integer(num_desired_thresholds, "num_desired_thresholds"), "num_desired_thresholds")
        thresholds = np.percentile(thresholds, np.linspace(100, 0, number))
    early, delay = (tuple(min(length, labels.size) for length in lengths) for lengths in (early_set, delay_set))
    return mean_area(rank_steps(scores, find_events(labels), early, delay, thresholds), early, delay, TRAPEZOID)


def _buffer_set(longest: int, splits: int, include_zero: bool) -> list[int]:
    lengths = np.linspace(0, longest, splits + 1) if include_zero else np.linspace(longest / splits, longest, splits)
    return [int(length) for length in lengths]


def _without_intermediate(
    labels: BoolArray, scores: FloatArray, thresholds: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Leave out thresholds between two others at which as many anomalous steps are predicted."""
    if thresholds.size <= 2:
        return thresholds
    predicted = at_least(np.sort(scores[labels]), thresholds)
    between = (predicted[1:-1] == predicted[:-2]) & (predicted[1:-1] == predicted[2:])
    return thresholds[np.concatenate([[True], ~between, [True]])]


def get_metrics(
    score: npt.ArrayLike,
    labels: npt.ArrayLike,
    slidingWindow: int = 100,  # noqa: N803  # their name
    pred: npt.ArrayLike | None = None,
    version: str = "opt",
    thre: int = 250,
) -> dict[str, float]:
    """The nine numbers of TSB-AD 1.5: a drop-in replacement for ``from TSB_AD.evaluation.metrics import get_metrics``.

    New code is better off with `pateval.evaluate`, which names the threshold of every value.

    Parameters
    ----------
    score : array-like of float
        Higher is more anomalous.
    labels : array-like of 0 and 1
        The truth.
    slidingWindow : int, default 100
        The window of VUS.
    pred : array-like of 0 and 1, optional
        Predictions; without them, values that need some are the best over thresholds.
    version : {"opt", "opt_mem"}
        Accepted and unneeded: both give the same numbers.
    thre : int, default 250
        Thresholds of VUS.

    Returns
    -------
    dict of str to float
        AUC-PR (average precision), AUC-ROC, VUS-PR, VUS-ROC, Standard-F1, PA-F1, Event-based-F1, R-based-F1 and
        Affiliation-F.

    Warnings
    --------
    Faults of the original that are kept: without predictions all F1s but the first are the best of 100 thresholds
    evenly spaced between the lowest and the highest score, which a single outlier makes useless; 0.00001 is added to
    the denominator of the best Standard-F1; PA-F1 does not fill the first step of the series, Event-based-F1 does not
    see the last one where an event ends there; R-based-F1 is 0 where everything is predicted, and Affiliation-F NaN
    where nothing is. A window above 1,000 that is longer than the series is taken as long as the series; that is ours.

    Examples
    --------
    >>> values = get_metrics([0.1, 0.6, 0.9, 0.4, 0.5, 0.2], [0, 0, 1, 1, 0, 0], slidingWindow=2)
    >>> round(values["VUS-PR"], 4), round(values["PA-F1"], 4)
    (0.8062, 1.0)
    """
    if version not in ("opt", "opt_mem"):
        raise ValueError(f"version must be 'opt' or 'opt_mem'; got {version!r}")
    truth, scores = scored_pair(labels, score)
    require_anomaly(truth)
    areas = vus_areas(truth, scores, window=slidingWindow, thresholds=positive_integer(thre, "thre"))
    values = {
        "AUC-PR": average_precision(truth, scores),
        "AUC-ROC": auc_roc(truth, scores),
        "VUS-PR": areas.vus_pr,
        "VUS-ROC": areas.vus_roc,
    }
    of_predictions: dict[str, Callable[[BoolArray, BoolArray], float]] = {
        "PA-F1": _point_adjusted,
        "Event-based-F1": _event_based,
        "R-based-F1": _range_based,
        "Affiliation-F": _affiliation,
    }
    if pred is None:
        values["Standard-F1"] = _best_point_f1(truth, scores)
        tried = [scores > threshold for threshold in _distinct_cuts(scores)]
    else:
        _, predictions = binary_pair(labels, pred)
        values["Standard-F1"] = point(truth, predictions).f1
        tried = [predictions]
    return values | {
        name: max(compute(truth, predictions) for predictions in tried) for name, compute in of_predictions.items()
    }


def get_range_vus_roc(
    score: npt.ArrayLike,
    labels: npt.ArrayLike,
    slidingWindow: int,  # noqa: N803  # their name
) -> dict[str, float]:
    """The four areas of the first VUS package: a drop-in for ``from vus.metrics import get_range_vus_roc``.

    Parameters
    ----------
    score : array-like of float
        Higher is more anomalous.
    labels : array-like of 0 and 1
        The truth.
    slidingWindow : int
        The width of the Range-AUC; VUS goes up to twice of it.

    Returns
    -------
    dict of str to float
        R_AUC_ROC, R_AUC_PR, VUS_ROC and VUS_PR: `range_auc_roc`, `range_auc_pr`, `vus_roc` and `vus_pr` with
        ``variant="original"``.

    Warnings
    --------
    Kept: areas under the precision-recall curve are made of trapezoids, which flatter coarse scores, and the slope
    after an event is a step shorter than that before it.

    Examples
    --------
    >>> values = get_range_vus_roc([0.1, 0.6, 0.9, 0.4, 0.5, 0.2], [0, 0, 1, 1, 0, 0], 2)
    >>> {name: round(value, 4) for name, value in values.items()}
    {'R_AUC_ROC': 0.8905, 'R_AUC_PR': 0.8744, 'VUS_ROC': 0.8521, 'VUS_PR': 0.8298}
    """
    window = window_length(slidingWindow, "slidingWindow")
    recall, rate, precision, _, roc, pr = RangeAUC_volume(labels, score, 2 * window)
    return {
        "R_AUC_ROC": float(trapezoids(rate[window], recall[window])),
        "R_AUC_PR": float(trapezoids(recall[window][:-1], precision[window])),
        "VUS_ROC": roc,
        "VUS_PR": pr,
    }


def RangeAUC_volume(  # noqa: N802  # their name
    labels_original: npt.ArrayLike,
    score: npt.ArrayLike,
    windowSize: int,  # noqa: N803  # their name
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray], npt.NDArray[np.intp], float, float]:
    """The surface behind VUS: a drop-in replacement for the method of that name of the first VUS package.

    Parameters
    ----------
    labels_original : array-like of 0 and 1
        The truth.
    score : array-like of float
        Higher is more anomalous.
    windowSize : int
        The largest width.

    Returns
    -------
    true_positive_rates, false_positive_rates, precisions : list of ndarray
        A curve for each width, over 250 thresholds evenly spaced by rank; the rates end with a 1.
    widths : ndarray of int
        From 0 to the window.
    vus_roc, vus_pr : float
        As `vus_roc` and `vus_pr` with ``variant="original"``.

    Examples
    --------
    >>> *_, widths, roc, pr = RangeAUC_volume([0, 0, 1, 1, 0, 0], [0.1, 0.6, 0.9, 0.4, 0.5, 0.2], 4)
    >>> widths.tolist(), round(roc, 4), round(pr, 4)
    ([0, 1, 2, 3, 4], 0.8521, 0.8298)
    """
    labels, scores = scored_pair(labels_original, score)
    require_anomaly(labels)
    require_normal(labels)
    window = window_length(windowSize, "windowSize")
    ascending = np.sort(scores)
    thresholds = ascending[::-1][np.linspace(0, scores.size - 1, _SAMPLED).astype(np.intp)]
    levels = distinct_descending(thresholds[::-1])
    # Their curves have a point for every threshold, also where several are equal.
    place = np.searchsorted(-levels, -thresholds)
    sums, rules = ThresholdSums.of(labels, scores, ascending, levels), VARIANTS["original"]
    true_rates, false_rates, precisions = [], [], []
    for counts in soft_counts(labels, scores, levels, range(window + 1), rules):
        true_positive, positives, recall = soft_recall(sums, counts, rules)
        rate = (sums.flagged - true_positive) / (sums.steps - positives)
        true_rates += [np.concatenate([[0.0], row[place], [1.0]]) for row in recall]
        false_rates += [np.concatenate([[0.0], row[place], [1.0]]) for row in rate]
        precisions += [np.append(1.0, row[place]) for row in true_positive / sums.flagged]
    roc = np.mean(list(map(trapezoids, false_rates, true_rates)))
    pr = np.mean([trapezoids(rate[:-1], precision) for rate, precision in zip(true_rates, precisions, strict=True)])
    return true_rates, false_rates, precisions, np.arange(window + 1), float(roc), float(pr)


def _distinct_cuts(scores: FloatArray) -> FloatArray:
    """Their thresholds, from the lowest score to the highest, but for those that flag what the one before does."""
    thresholds = np.linspace(scores.min(), scores.max(), _TRIED)
    flagged = above(np.sort(scores), thresholds)
    return thresholds[np.diff(flagged, prepend=-1) != 0]


def _best_point_f1(labels: BoolArray, scores: FloatArray) -> float:
    ascending = np.sort(scores)
    levels = distinct_descending(ascending)
    sums = ThresholdSums.of(labels, scores, ascending, levels)
    precision, recall = sums.hit / sums.flagged, sums.hit / sums.anomalous
    return float(np.max(2 * precision * recall / (precision + recall + _ADDED)))


def _point_adjusted(labels: BoolArray, predictions: BoolArray) -> float:
    starts, stops = runs(labels)
    is_hit = count_inside(predictions, starts, stops) > 0
    adjusted = predictions | marked(starts[is_hit], stops[is_hit], labels.size)
    adjusted[0] = predictions[0]  # their way back to the beginning of an event ends at the second step
    return point(labels, adjusted).f1


def _event_based(labels: BoolArray, predictions: BoolArray) -> float:
    starts, stops = runs(labels)
    # An event at the end of the series loses its last step there.
    is_hit = count_inside(predictions, starts, np.minimum(stops, labels.size - 1)) > 0
    return PRF.of(point(labels, predictions).precision, float(is_hit.mean())).f1


def _range_based(labels: BoolArray, predictions: BoolArray) -> float:
    # They look for changes of the predictions, and find no range where there is none.
    return 0.0 if predictions.all() else range_based(labels, predictions, alpha=0.2, cardinality="reciprocal").f1


def _affiliation(labels: BoolArray, predictions: BoolArray) -> float:
    return affiliation(labels, predictions).f1 if predictions.any() else float("nan")
