"""The main job on embedded data: realistic series made from a seed, simple but real detectors, and the table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation import Evaluation, evaluate
from pateval.evaluation.threshold_search import best_threshold
from pateval.io.atomic import write_text
from pateval.leaderboards import Leaderboard, leaderboard

Array = npt.NDArray[np.float64]

METRICS = (
    "pate_ap",
    "pate",
    "vus_pr",
    "auc_roc",
    "average_precision",
    "pate_f1",
    "point_f1",
    "point_adjusted_f1",
    "affiliation_f1",
)
# Those a terminal has room for, and what they are compared with.
FEW_METRICS = ("pate_ap", "pate", "vus_pr", "auc_roc", "point_f1")
BEST_ADJUSTED = "best point_adjusted_f1 (oracle)"
_PERIOD = 48
_LENGTH = 3000
_SERIES = 4
_SERIES_FOR_EVIDENCE = 10  # with fewer no difference between six detectors can be significant


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

    def rows(self, metrics: Sequence[str] = METRICS) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows: one detector each, its value of every metric and the best one after point adjustment."""
        first = next(iter(self.evaluations.values()))
        columns = ["detector", *map(first.label, metrics), BEST_ADJUSTED]
        return columns, [
            [name, *(found[metric] for metric in metrics), self.best_adjusted[name]]
            for name, found in self.evaluations.items()
        ]


def demo_board(seed: int = 0, series: int = _SERIES_FOR_EVIDENCE) -> Leaderboard:
    """Compute a leaderboard of the demo's detectors, without the perfect one, on some series, for the report.

    Parameters
    ----------
    seed : int
        Of the first series; each of the others has the next one.
    series : int
        How many.
    """
    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for number in range(series):
        sample = make_series(seed + number)
        scores = {name: values for name, values in detector_scores(sample, 1000 + number).items() if name != "perfect"}
        tables[f"series {number + 1}"] = {"label": sample.labels, "value": sample.values, **scores}
    return leaderboard(
        tables,
        score=list(scores),
        metrics=METRICS,
        early=_PERIOD // 2,
        delay=_PERIOD // 2,
        window=_PERIOD,
        workers=1,
        event_draws=0,
    )


def save_files(folder: str | os.PathLike[str], seed: int = 0, series: int = _SERIES) -> list[Path]:
    """Write each series of the demo to a CSV file, with minutes, labels and the scores of all detectors.

    Parameters
    ----------
    folder : path
        Where to; made if it is not there.
    seed, series : int
        As in `demo_board`.

    Returns
    -------
    list of Path
        The files.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    minutes = np.datetime64("2026-01-01T00:00") + np.arange(_LENGTH) * np.timedelta64(1, "m")
    written = []
    for number in range(series):
        sample = make_series(seed + number)
        scores = detector_scores(sample, 1000 + number)
        names = [f"score_{name.lower().replace(' ', '_').replace('-', '_')}" for name in scores]
        lines = [",".join(["time", "value", "label", *names])]
        columns = [sample.values, *scores.values()]
        lines += [
            f"{time},{value:.5f},{label:d}," + ",".join(f"{cell:.6g}" for cell in rest)
            for time, label, value, *rest in zip(minutes, sample.labels, *columns, strict=True)
        ]
        written.append(target / f"series-{number + 1}.csv")
        write_text("\n".join(lines) + "\n", written[-1])
    return written


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
    scores = {name: np.concatenate([of_series[name] for of_series in by_series]) for name in by_series[0]}
    evaluations = {
        name: evaluate(
            labels,
            values,
            metrics=METRICS,
            early=_PERIOD // 2,
            delay=_PERIOD // 2,
            window=_PERIOD,
            series=series,
            chance=0,  # the random detector is one of them
        )
        for name, values in scores.items()
    }
    adjusted = {name: best_threshold(labels, values, metric="point_adjusted_f1")[1] for name, values in scores.items()}
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
        "(oracle): the threshold was chosen with the labels, for the best point F1; in the last column, for it.",
    ]
