"""The paper's two real-world examples: a weather series and an ECG, four detectors each, from raw series to scores.

Both slice a short stretch out of the test part and score it by windows that slide within the slice. A window's score
goes to its last step, and the first steps repeat the first score. No metric is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.detectors import make
from pateval.detectors.windows import series_matrix
from pateval.labels.events import runs
from pateval.validation.arrays import BoolArray, binary_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pateval.detectors.windows import FloatMatrix

WEATHER_TRAIN = 4000
WEATHER_SLICE = slice(800, 1800)
WEATHER_ANOMALY = 5391
ECG_GAP = 500
ECG_SLICE = slice(24250, 25300)


@dataclass(frozen=True)
class Example:
    """Labels and scores of one example.

    Attributes
    ----------
    name : str
        ``"weather"`` or ``"ecg"``.
    values : ndarray of float64
        The slice of the raw series.
    labels : ndarray of bool
        Truth, one per step of the slice.
    scores : mapping
        Detector to scores, one per step of the slice, higher where more anomalous.
    buffer : int
        The paper's e = d, and the argument of its VUS.
    """

    name: str
    values: FloatMatrix
    labels: BoolArray
    scores: Mapping[str, FloatMatrix]
    buffer: int


def weather(values: object) -> Example:
    """Weather temperature: UCR 005, DISTORTED CIMIS44 AirTemperature1.

    The first 4000 steps train; the slice is the steps 4800 to 5799 of the series. The anomaly is the single step 5391
    (0-based; 591 of the slice).

    Parameters
    ----------
    values : array-like
        The whole series, 8184 steps in the archive.

    Returns
    -------
    Example
        Perfect, MVN (one Gaussian, window 50), LOF (30 neighbours, window 50), random (legacy seed 42).
    """
    series = _univariate(values, WEATHER_TRAIN + WEATHER_SLICE.stop)
    labels = np.zeros(len(series), dtype=np.bool_)
    labels[WEATHER_ANOMALY] = True
    (example,) = _examples(
        "weather",
        series[:WEATHER_TRAIN],
        [(series[WEATHER_TRAIN:][WEATHER_SLICE], labels[WEATHER_TRAIN:][WEATHER_SLICE])],
        {
            "mvn": {"window": 50, "components": 1, "max_windows": None, "seed": 42},
            "lof": {"window": 50, "neighbors": 30, "max_windows": None},
            "random": {"seed": 42, "legacy": True},
        },
        buffer=100,
    )
    return example


def ecg(
    values: object,
    labels: object,
    *,
    train: slice | None = None,
    part: slice | None = None,
    device: str | None = None,
) -> Example:
    """ECG: MBA_ECG14046_data_0, or another series in its place.

    By the paper's rule training ends 500 steps before the first anomaly, and the slice is the steps 24250 to 25299 of
    what follows. Segment 0 is hard to come by; segment 1 begins with an anomaly, so that the rule leaves nothing to
    train on: give ``train`` and ``part`` then, for example what :func:`longest_normal` finds and the slice's own steps.

    Parameters
    ----------
    values, labels : array-like
        The whole series and its truth.
    train, part : slice, optional
        Steps to train on and steps to score, instead of the paper's rule.
    device : str, optional
        Where the autoencoder runs.

    Returns
    -------
    Example
        Perfect, MVN (four Gaussians, window 100), autoencoder (window 100), random (legacy seed 20).
    """
    truth = binary_array(labels, "labels")
    series = _univariate(values, 1)
    if truth.size != len(series):
        raise ValueError(f"labels and values must have the same length; got {truth.size} and {len(series)}")
    if train is None or part is None:
        split = int(np.argmax(truth)) - ECG_GAP if truth.any() else 0
        train = slice(0, max(split, 0)) if train is None else train
        part = slice(split + ECG_SLICE.start, split + ECG_SLICE.stop) if part is None else part
    if len(series[train]) <= 200 or len(series[part]) < 100:
        raise ValueError(
            f"the paper's rule, or the slices given, leave {len(series[train])} steps to train on and "
            f"{len(series[part])} to score; more than 200 and at least 100 are needed"
        )
    (example,) = _ecg(series, truth, train, [part], device)
    return example


def ecg_stretches(
    values: object, labels: object, *, train: slice, parts: Sequence[slice], device: str | None = None
) -> list[Example]:
    """The detectors of `ecg`, fitted once, on several stretches of one record.

    Parameters
    ----------
    values, labels : array-like
        The whole series and its truth.
    train : slice
        Steps to train on.
    parts : sequence of slice
        Steps to score, each by windows within it.
    device : str, optional
        Where the autoencoder runs.

    Returns
    -------
    list of Example
        One per stretch.
    """
    return _ecg(_univariate(values, 1), binary_array(labels, "labels"), train, parts, device)


def _ecg(
    series: FloatMatrix, truth: BoolArray, train: slice, parts: Sequence[slice], device: str | None
) -> list[Example]:
    detectors: dict[str, dict[str, Any]] = {
        "mvn": {"window": 100, "components": 4, "max_windows": None, "seed": 42},
        "autoencoder": {"window": 100, "seed": 20, "device": device},
        "random": {"seed": 20, "legacy": True},
    }
    return _examples("ecg", series[train], [(series[part], truth[part]) for part in parts], detectors, buffer=50)


def longest_normal(labels: object) -> slice:
    """Return the longest stretch without anomaly.

    Examples
    --------
    >>> longest_normal([0, 1, 0, 0, 0, 1])
    slice(2, 5, None)
    """
    starts, stops = runs(~binary_array(labels, "labels"))
    if not starts.size:
        raise ValueError("labels hold no normal step")
    longest = int(np.argmax(stops - starts))
    return slice(int(starts[longest]), int(stops[longest]))


def _examples(
    name: str,
    train: FloatMatrix,
    stretches: Sequence[tuple[FloatMatrix, BoolArray]],
    detectors: Mapping[str, Mapping[str, Any]],
    *,
    buffer: int,
) -> list[Example]:
    """Fit every detector once and score each stretch, given as values and labels."""
    fitted = {detector: make(detector, **settings).fit(train) for detector, settings in detectors.items()}
    perfect = make("perfect").fit(train)
    return [
        Example(
            name,
            values,
            labels,
            {
                "perfect": perfect.score(values, labels=labels),
                **{detector: model.score(values) for detector, model in fitted.items()},
            },
            buffer,
        )
        for values, labels in stretches
    ]


def _univariate(values: object, steps: int) -> FloatMatrix:
    matrix = series_matrix(values)
    if matrix.shape[1] != 1 or len(matrix) < steps:
        raise ValueError(f"values must be one series of at least {steps} steps; got the shape {matrix.shape}")
    return matrix[:, 0]
