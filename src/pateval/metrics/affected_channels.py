"""Which channels an anomaly affects, and which the detector blames.

Parameters
----------
labels : array-like of 0 and 1, steps by channels
    The truth.
predictions : array-like of 0 and 1, steps by channels
    What the detector flagged.
anomalies : array-like of int, steps by channels, optional
    Which anomaly each labelled cell belongs to, 0 exactly where the label is 0. By default each maximal run of
    steps with a labelled channel is one anomaly.
subsystems : iterable, optional
    A name per channel; channels of one name are counted as one, affected or detected where any of them is.

Raises
------
UndefinedMetricError
    If the labels hold no anomaly.
ValueError
    If ``anomalies`` does not match the labels, or ``subsystems`` does not name every channel.

Warnings
--------
Predictions outside every anomaly cost nothing, and one predicted step inside an anomaly blames a channel.

References
----------
.. [1] K. Kotowski et al., "European Space Agency benchmark for anomaly detection in satellite telemetry",
   arXiv:2406.17826.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from pateval.labels.events import runs
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, IntArray, number_array, require_anomaly
from pateval.validation.checked import BETA, on_predictions
from pateval.validation.wording import in_words


@on_predictions("channels")
def affected_channels(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    anomalies: ArrayLike | None = None,
    subsystems: Iterable[object] | None = None,
) -> PRF:
    r"""Precision, recall and F1 of the channels blamed for each anomaly (ESA-ADB's channel-aware score).

    An anomaly is a set of cells (step, channel), and its extent the steps in which any of them lies. A channel is
    affected where it has a cell of the anomaly, and detected where it is predicted at a step of the extent. Counted are
    channels, or groups of them, per anomaly: TP affected and detected, FN affected only, FP detected only. Of the last,
    a channel is excused whose predicted steps inside the extent include a cell of another anomaly on that channel.

    .. math:: P = \frac{TP}{TP + FP}, \quad R = \frac{TP}{TP + FN}, \quad F = \frac{2 P R}{P + R}

    for each anomaly, and the mean of each over the anomalies.

    Returns
    -------
    PRF
        Each in [0, 1], higher is better; (0, 0, 0) where nothing is predicted. The F1 is the mean of the anomalies' F1,
        not that of the mean precision and recall.

    Examples
    --------
    >>> labels = [[0, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]]
    >>> predictions = [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
    >>> affected_channels(labels, predictions)
    PRF(precision=0.5, recall=0.5, f1=0.5)
    >>> affected_channels(labels, predictions, subsystems=["power", "power", "thermal"])
    PRF(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    per_anomaly = _per_anomaly(labels, predictions, anomalies, subsystems)
    return PRF(*(float(np.mean(column)) for column in zip(*per_anomaly, strict=True)))


@on_predictions("channels", beta=BETA)
def affected_channels_f_beta(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    anomalies: ArrayLike | None = None,
    subsystems: Iterable[object] | None = None,
    beta: float = 0.5,
) -> float:
    r"""Mean F-beta of the channels blamed for each anomaly; see `affected_channels`.

    .. math:: F_\beta = \frac{(1 + \beta^2) P R}{\beta^2 P + R}

    for each anomaly, and the mean over the anomalies.

    Parameters
    ----------
    beta : float, default 0.5
        How many times recall counts as much as precision; above 0. The default is that of the benchmark.

    Examples
    --------
    >>> labels = [[0, 0], [1, 1], [1, 1], [0, 0]]
    >>> round(affected_channels_f_beta(labels, [[0, 0], [0, 1], [0, 1], [0, 0]]), 4)
    0.8333
    """
    per_anomaly = _per_anomaly(labels, predictions, anomalies, subsystems)
    return float(np.mean([prf.f_beta(beta) for prf in per_anomaly]))


def _per_anomaly(
    labels: BoolArray, predictions: BoolArray, anomalies: ArrayLike | None, subsystems: Iterable[object] | None
) -> list[PRF]:
    units = _units(subsystems, labels.shape[1])
    numbers = None if anomalies is None else _checked_anomalies(anomalies, labels)
    require_anomaly(labels)
    per_anomaly = []
    for extent, affected in _extents(labels) if numbers is None else _numbered(numbers):
        flagged = predictions[extent]
        detected = flagged.any(axis=0)
        # A cell of a channel without one of this anomaly belongs to another.
        excused = (flagged & labels[extent]).any(axis=0)
        unit_affected, unit_detected, unit_blamed = (
            np.bincount(units, weights=mask) > 0 for mask in (affected, detected, detected & ~excused)
        )
        counts = unit_affected & unit_detected, ~unit_affected & unit_blamed, unit_affected & ~unit_detected
        per_anomaly.append(PRF.from_counts(*(int(np.count_nonzero(count)) for count in counts)))
    return per_anomaly


def _extents(labels: BoolArray) -> Iterator[tuple[slice, BoolArray]]:
    """Steps of each run with a labelled channel, and the channels it affects."""
    for start, stop in zip(*runs(np.any(labels, axis=1)), strict=True):
        yield slice(start, stop), np.any(labels[start:stop], axis=0)


def _numbered(numbers: IntArray) -> Iterator[tuple[IntArray, BoolArray]]:
    """Steps of each numbered anomaly, and the channels it affects."""
    steps, channels = np.nonzero(numbers)
    _, anomaly = np.unique(numbers[steps, channels], return_inverse=True)
    order = np.argsort(anomaly)
    stops = np.cumsum(np.bincount(anomaly))
    for start, stop in zip(stops - np.diff(stops, prepend=0), stops, strict=True):
        cells = order[start:stop]
        yield np.unique(steps[cells]), np.bincount(channels[cells], minlength=numbers.shape[1]) > 0


def _units(subsystems: Iterable[object] | None, channels: int) -> IntArray:
    """Number of the unit that each channel belongs to."""
    if subsystems is None:
        return np.arange(channels)
    if isinstance(subsystems, (str, bytes)) or not isinstance(subsystems, Iterable):
        raise TypeError(f"subsystems must be a collection of names, one per channel; got {in_words(subsystems)}")
    names = list(subsystems)
    if len(names) != channels:
        raise ValueError(f"subsystems must name every channel; got {len(names)} names for {channels} channels")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.intp)


def _checked_anomalies(anomalies: ArrayLike, labels: BoolArray) -> IntArray:
    numbers = number_array(anomalies, "anomalies", channels=True)
    if numbers.shape != labels.shape:
        raise ValueError(f"anomalies must have the shape of labels, {labels.shape}; got {numbers.shape}")
    if (numbers != np.round(numbers)).any():
        raise ValueError("anomalies must be whole numbers, 0 where the label is 0")
    differ = (numbers != 0) != labels
    if differ.any():
        step, channel = np.argwhere(differ)[0]
        raise ValueError(
            f"anomalies must be 0 exactly where the label is 0; step {step}, channel {channel} has label "
            f"{int(labels[step, channel])} and anomaly {numbers[step, channel]}"
        )
    return numbers.astype(np.intp)
