"""The call of the authors' package (PyPI ``PATE`` 0.1.1), with its arguments and its numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pateval.kernels.precision_recall import TRAPEZOID
from pateval.labels.events import find_events
from pateval.pate._counts import mean_area, rank_steps
from pateval.pate.score import pate_f1
from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    count,
    flag,
    non_negative_integer,
    positive_integer,
    scored_pair,
    window_length,
)


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
    thresholds = None
    if drop_intermediate or Big_Data:
        thresholds = np.unique(scores).astype(np.float64)[::-1]
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
    anomalous = np.sort(scores[labels])
    predicted = anomalous.size - np.searchsorted(anomalous, thresholds, side="left")
    between = (predicted[1:-1] == predicted[:-2]) & (predicted[1:-1] == predicted[2:])
    return thresholds[np.concatenate([[True], ~between, [True]])]
