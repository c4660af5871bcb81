"""The main job on embedded data: realistic series made from a seed, simple but real detectors, and the table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.evaluation import Evaluation, evaluate
from pateval.threshold_search import best_threshold

Array = npt.NDArray[np.float64]

METRICS = (
    "pate",
    "pate_ap",
    "pate_f1",
    "auc_roc",
    "average_precision",
    "vus_pr",
    "point_f1",
    "point_adjusted_f1",
    "affiliation_f1",
)
_PERIOD = 48
_LENGTH = 3000
_SERIES = 4


@dataclass(frozen=True)
class Sample:
    """A made series with its truth.

    Attributes
    ----------
    values : ndarray
        The series.
    labels : ndarray of bool
        Where something was injected.
    """

    values: Array
    labels: npt.NDArray[np.bool_]


def make_series(seed: int) -> Sample:
    """A daily rhythm with drift and noise, and one event of each kind: spike, shift, noise burst, stall, rush.

    Examples
    --------
    >>> sample = make_series(0)
    >>> sample.values.size, int(sample.labels.sum())
    (3000, 208)
    """
    rng = np.random.default_rng(seed)
    time = np.arange(_LENGTH)
    phase = 2 * np.pi * time / _PERIOD
    values = np.sin(phase) + 0.4 * np.sin(2 * phase + 1) + np.cumsum(rng.normal(0, 0.01, _LENGTH))
    labels = np.zeros(_LENGTH, dtype=np.bool_)
    lengths = {"spike": 2, "shift": 60, "burst": 50, "stall": 36, "rush": 60}
    places = rng.permutation(np.arange(1, len(lengths) + 1)) * (_LENGTH // (len(lengths) + 1))
    for (kind, length), place in zip(lengths.items(), places, strict=True):
        start = int(place + rng.integers(-100, 100))
        span = slice(start, start + length)
        labels[span] = True
        if kind == "spike":
            values[span] += rng.choice([-1, 1]) * 2.5
        elif kind == "shift":
            values[span] += 0.8
        elif kind == "burst":
            values[span] += rng.normal(0, 0.7, length)
        elif kind == "stall":
            values[span] = values[start]
        else:
            values[span] += np.sin(4 * phase[span]) - np.sin(phase[span])
    return Sample(values + rng.normal(0, 0.1, _LENGTH), labels)


def _windows(values: Array, length: int) -> Array:
    padded = np.concatenate([np.full(length - 1, values[0]), values])
    return np.lib.stride_tricks.sliding_window_view(padded, length)


def moving_z_score(values: Array) -> Array:
    """Distance from the mean of the last two periods, in their standard deviations."""
    windows = _windows(values, 2 * _PERIOD)
    return np.abs(values - windows.mean(axis=1)) / (windows.std(axis=1) + 1e-9)


def seasonal_difference(values: Array) -> Array:
    """Difference from one period ago."""
    before = np.concatenate([values[:_PERIOD], values[:-_PERIOD]])
    return np.abs(values - before)


def window_pca(values: Array) -> Array:
    """Reconstruction error of windows from their four main components."""
    windows = _windows(values, _PERIOD)
    centred = windows - windows.mean(axis=1, keepdims=True)
    mean = centred.mean(axis=0)
    _, _, axes = np.linalg.svd(centred[:: _PERIOD // 4] - mean, full_matrices=False)
    rest = centred - mean
    rest = rest - (rest @ axes[:4].T) @ axes[:4]
    return _centred_on_window(np.sqrt((rest**2).mean(axis=1)))


def nearest_window(values: Array) -> Array:
    """Distance of each window to the closest one elsewhere in the series."""
    windows = _windows(values, _PERIOD // 2)[:, ::2]
    centred = windows - windows.mean(axis=1, keepdims=True)
    reference = centred[:: _PERIOD // 8]
    places = np.arange(_LENGTH)[:: _PERIOD // 8]
    squares = (centred**2).sum(axis=1)[:, None] + (reference**2).sum(axis=1) - 2 * centred @ reference.T
    squares[np.abs(np.arange(_LENGTH)[:, None] - places) < _PERIOD] = np.inf
    return _centred_on_window(np.sqrt(np.maximum(squares.min(axis=1), 0)), _PERIOD // 4)


def _centred_on_window(scores: Array, half: int = _PERIOD // 2) -> Array:
    """Move a window's score from its last step to its middle."""
    return np.concatenate([scores[half:], np.full(half, scores[-1])])


def detector_scores(sample: Sample, seed: int) -> dict[str, Array]:
    """Scores of all the demo's detectors on one series."""
    values = sample.values
    return {
        "perfect": sample.labels.astype(np.float64),
        "nearest window": nearest_window(values),
        "window PCA": window_pca(values),
        "seasonal difference": seasonal_difference(values),
        "moving z-score": moving_z_score(values),
        "random": np.random.default_rng(seed).random(values.size),
        "constant": np.ones(values.size),
    }


@dataclass(frozen=True)
class DemoTable:
    """What the demo found.

    Attributes
    ----------
    evaluations : dict
        Evaluation of each detector, over all series.
    best_adjusted : dict
        F1 after point adjustment of each detector, at the threshold that is best for it: the figure many papers print.
    """

    evaluations: dict[str, Evaluation]
    best_adjusted: dict[str, float]


def run_demo(seed: int = 0) -> DemoTable:
    """Evaluate all detectors on all series, pooled.

    Examples
    --------
    >>> table = run_demo().evaluations
    >>> round(table["perfect"]["pate"], 3), table["random"]["pate_ap"] < table["window PCA"]["pate_ap"]
    (1.0, True)
    """
    samples = [make_series(seed + number) for number in range(_SERIES)]
    by_series = [detector_scores(sample, 1000 + number) for number, sample in enumerate(samples)]
    labels = np.concatenate([sample.labels for sample in samples])
    series = np.repeat(np.arange(_SERIES), _LENGTH)
    scores = {name: np.concatenate([each[name] for each in by_series]) for name in by_series[0]}
    evaluations = {
        name: evaluate(
            labels,
            each,
            metrics=METRICS,
            early=_PERIOD // 2,
            delay=_PERIOD // 2,
            window=_PERIOD,
            series=series,
        )
        for name, each in scores.items()
    }
    adjusted = {name: best_threshold(labels, each, metric="point_adjusted_f1")[1] for name, each in scores.items()}
    return DemoTable(evaluations, adjusted)


def what_to_see(table: DemoTable) -> list[str]:
    """Say in a few sentences what the table shows, from its numbers."""
    found, adjusted = table.evaluations, table.best_adjusted
    real = [name for name in found if name not in ("perfect", "random", "constant")]
    best = max(real, key=lambda name: found[name]["pate_ap"])
    beaten = [name for name in real if adjusted[name] < adjusted["random"]]
    by_luck = f": more than {' and '.join(beaten)}." if beaten else "."
    constant, random = found["constant"], found["random"]["pate_ap"]
    return [
        f"By PATE-AP {best} is the best real detector: {found[best]['pate_ap']:.2f}; random {random:.2f}.",
        f"Under point adjustment, at its best threshold, random gets F1 {adjusted['random']:.2f}{by_luck}",
        f"The constant gets PATE {constant['pate']:.2f} (trapezoid rule), PATE-AP {constant['pate_ap']:.2f}: see both.",
    ]
