"""The main job on embedded data: realistic series made from a seed, simple but real detectors, and the table."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval import rules
from pateval.catalog import DEFAULT_METRICS
from pateval.evaluation import Evaluation, evaluate
from pateval.io.atomic import write_text

if TYPE_CHECKING:
    from pateval.leaderboards import Leaderboard

Array = npt.NDArray[np.float64]

ADJUSTED = "point_adjusted_f1(threshold=best)"
# Those a terminal has room for.
FEW_METRICS = ("pate_ap", "pate", "vus_pr", "auc_roc", "point_f1", ADJUSTED)
SERIES = 10  # with fewer no difference between six detectors can be significant
STEPS = 3000
EVENTS = 5
PERIOD = 48
BUFFER = PERIOD // 2  # fits the made series; the window of VUS is one period
_DECIMALS = 5  # of all values, so that files hold them exactly
_NO_DETECTORS = ("perfect", "random", "constant")


@dataclass(frozen=True)
class MadeSeries:
    """A made series with its truth."""

    values: Array
    labels: npt.NDArray[np.bool_]  # where something was injected


def make_series(seed: int) -> MadeSeries:
    """A rhythm that swells and fades, with drift and noise, and a spike, a shift, a noise burst, a stall and a rush.

    No rule of one line finds all five, as `pateval.check` would tell: the shift comes and goes little by little, the
    stall lasts one period and so ends where it began, and the rhythm itself is louder than a weak event.

    Examples
    --------
    >>> sample = make_series(0)
    >>> sample.values.size, int(sample.labels.sum())
    (3000, 220)
    """
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * np.arange(STEPS) / PERIOD
    loudness = 1 + 0.4 * np.sin(phase / 7 + 2 * np.pi * rng.random())
    values = loudness * (np.sin(phase) + 0.4 * np.sin(2 * phase + 1)) + np.cumsum(rng.normal(0, 0.01, STEPS))
    labels = np.zeros(STEPS, dtype=np.bool_)
    lengths = {"spike": 2, "shift": 60, "burst": 50, "stall": PERIOD, "rush": 60}
    places = rng.permutation(np.arange(1, EVENTS + 1)) * (STEPS // (EVENTS + 1))
    for (kind, length), place in zip(lengths.items(), places, strict=True):
        start = int(place + rng.integers(-100, 100))
        span = slice(start, start + length)
        labels[span] = True
        if kind == "spike":
            values[span] += rng.choice([-1, 1]) * 1.5
        elif kind == "shift":
            to_edge = np.minimum(np.arange(1, length + 1), np.arange(length, 0, -1))
            values[span] += np.minimum(0.1 * to_edge, 0.8)
        elif kind == "burst":
            values[span] += rng.normal(0, 0.5, length)
        elif kind == "stall":
            values[span] = values[start]
        else:
            values[span] += np.sin(4 * phase[span]) - np.sin(phase[span])
    return MadeSeries(np.round(values + rng.normal(0, 0.1, STEPS), _DECIMALS), labels)


def detector_scores(sample: MadeSeries, seed: int) -> dict[str, Array]:
    """Scores of all the demo's detectors on one series."""
    values = sample.values
    scores = {
        "perfect": sample.labels.astype(np.float64),
        "window PCA": rules.window_pca(values, PERIOD),
        "nearest window": rules.nearest_window(values, PERIOD // 2),
        "seasonal difference": rules.seasonal_difference(values, PERIOD),
        "moving z-score": rules.moving_z_score(values, 2 * PERIOD),
        "random": np.random.default_rng(seed).random(values.size),
        "constant": np.ones(values.size),
    }
    return {name: np.round(column, _DECIMALS) for name, column in scores.items()}


def demo_series(seed: int = 0, series: int = SERIES) -> Iterator[tuple[str, MadeSeries, dict[str, Array]]]:
    """Name, truth and scores of each series of the demo: the same for the table, the report and the files.

    The seed is that of the first series; each of the others has the next one.
    """
    for number in range(series):
        sample = make_series(seed + number)
        yield f"series {number + 1}", sample, detector_scores(sample, 1000 + number)


@dataclass(frozen=True)
class DemoTable:
    """What the demo found: of each detector the means over the series."""

    evaluations: Mapping[str, Evaluation]

    def rows(self, metrics: Sequence[str] = DEFAULT_METRICS) -> tuple[list[str], list[list[Any]]]:
        """Columns and rows: one detector each, its value of every metric."""
        random = self.evaluations["random"]  # its threshold is chosen, as those of the real detectors are
        columns = ["detector", *map(random.label, metrics)]
        return columns, [[name, *(values[metric] for metric in metrics)] for name, values in self.evaluations.items()]


def demo_board(seed: int = 0, series: int = SERIES) -> Leaderboard:
    """Compute a leaderboard of the demo's detectors, without the perfect one, for the report."""
    from pateval.leaderboards import leaderboard

    tables: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name, sample, scores in demo_series(seed, series):
        del scores["perfect"]
        tables[name] = {"label": sample.labels, "value": sample.values, **scores}
    return leaderboard(tables, score=list(scores), early=BUFFER, delay=BUFFER, window=PERIOD, workers=1, event_draws=0)


def save_files(folder: str | os.PathLike[str], seed: int = 0, series: int = SERIES) -> list[Path]:
    """Write each series of the demo to a CSV file, with minutes, labels and the scores of all detectors."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    minutes = np.datetime64("2026-01-01T00:00") + np.arange(STEPS) * np.timedelta64(1, "m")
    written = []
    for name, sample, scores in demo_series(seed, series):
        columns = [sample.values, *scores.values()]
        lines = [",".join(["time", "value", "label", *map(column_name, scores)])]
        lines += [
            f"{time},{value:.{_DECIMALS}f},{label:d}," + ",".join(f"{cell:.{_DECIMALS + 4}g}" for cell in rest)
            for time, label, value, *rest in zip(minutes, sample.labels, *columns, strict=True)
        ]
        written.append(target / f"{name.replace(' ', '-')}.csv")
        write_text("\n".join(lines) + "\n", written[-1])
    return written


def column_name(detector: str) -> str:
    """The column of a detector in a file."""
    return f"score_{detector.lower().replace(' ', '_').replace('-', '_')}"


def command_for(folder: str | os.PathLike[str]) -> str:
    """The command that gives the demo's numbers from its files."""
    files = f"{shlex.quote(os.fspath(folder))}/*.csv"
    return f"pateval score {files} --early {BUFFER} --delay {BUFFER} --window {PERIOD}"


def run_demo(seed: int = 0, series: int = SERIES) -> DemoTable:
    """Evaluate all detectors on all series; every value is the mean over the series.

    Examples
    --------
    >>> table = run_demo(series=2).evaluations
    >>> round(table["perfect"]["pate"], 3), table["random"]["pate_ap"] < table["window PCA"]["pate_ap"]
    (1.0, True)
    """
    names, samples, scores = zip(*demo_series(seed, series), strict=True)
    return DemoTable(
        evaluate(
            np.concatenate([sample.labels for sample in samples]),
            {name: np.concatenate([of_series[name] for of_series in scores]) for name in scores[0]},
            early=BUFFER,
            delay=BUFFER,
            window=PERIOD,
            series=np.repeat(names, STEPS),
            chance=0,  # the random detector is one of them
        )
    )


def what_to_see(table: DemoTable) -> list[str]:
    """Say in a few sentences what the table shows, from its numbers."""
    values = table.evaluations
    real = [name for name in values if name not in _NO_DETECTORS]
    best = max(real, key=lambda name: values[name]["pate_ap"])
    random, constant = values["random"], values["constant"]
    beaten = [name for name in real if values[name][ADJUSTED] < random[ADJUSTED]]
    by_luck = f": more than {' and '.join(beaten)}." if beaten else "."
    return [
        f"Every value is the mean over {random.series} series.",
        f"By PATE-AP {best} is the best real detector: {values[best]['pate_ap']:.2f}; random {random['pate_ap']:.2f}.",
        f"Under point adjustment, at its best threshold, random gets F1 {random[ADJUSTED]:.2f}{by_luck}",
        f"The constant gets PATE {constant['pate']:.2f} (trapezoid rule), PATE-AP {constant['pate_ap']:.2f}: see both.",
        "The labels chose the threshold on each series: (oracle) for the best point F1, (best) for the metric itself.",
    ]
