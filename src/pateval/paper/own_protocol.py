"""The big table by our own protocol: series kept apart, no look at the test set, several seeds, and intervals.

Windows stay inside their series, a tenth of each training series chooses the weights, and the threshold comes from
training scores alone. Every series is evaluated by itself; seeds are runs, and series are the unit of inference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pateval.datasets import data_root, join, load
from pateval.detectors import make
from pateval.detectors.presets import threshold_ratio
from pateval.paper import paper_tables as paper
from pateval.paper.chance import PAPER_METRICS
from pateval.paper.document import ExperimentSettings
from pateval.paper.impact_values import measured
from pateval.paper.score_folders import HELD_OUT, datasets_in, protocol_folder, read_runs, training_scores
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray

BASELINES = ("random", "constant", "squared z-score")
RESAMPLES = 10_000
METRICS = tuple(PAPER_METRICS)

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnRow:
    """One detector on one data set.

    Attributes
    ----------
    dataset, detector : str
        Whose scores.
    seeds : tuple of int
        The runs.
    series : tuple of str
        The series.
    values : ndarray
        Runs by series by `METRICS`; NaN where a metric is undefined.
    pooled : ndarray
        Runs by `METRICS`: counts of all series together, events and buffers inside their series.
    """

    dataset: str
    detector: str
    seeds: tuple[int, ...]
    series: tuple[str, ...]
    values: Values
    pooled: Values

    def by_series(self, metric: str) -> Values:
        """Mean over runs, for each series."""
        found: Values = self.values[:, :, METRICS.index(metric)].mean(axis=0)
        return found

    def by_seed(self, metric: str) -> Values:
        """Mean over series, for each run."""
        found: Values = self.values[:, :, METRICS.index(metric)].mean(axis=1)
        return found

    def interval(self, metric: str, against: OwnRow | None = None) -> tuple[float, float, float]:
        """Mean and 95 % bootstrap interval over series, of the values or of the differences from another detector."""
        values = self.by_series(metric)
        if against is not None:
            values = values - against.by_series(metric)
        draws = np.random.default_rng(0).integers(values.size, size=(RESAMPLES, values.size))
        low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
        return float(values.mean()), float(low), float(high)


@dataclass(frozen=True)
class OwnProtocol:
    """Detectors and baselines, and a sentence for each thing that is not here."""

    rows: tuple[OwnRow, ...]
    missing: tuple[str, ...]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets with score files."""
        return tuple(dict.fromkeys(row.dataset for row in self.rows))

    def of(self, dataset: str, detector: str) -> OwnRow | None:
        """One row."""
        return next((row for row in self.rows if (row.dataset, row.detector) == (dataset, detector)), None)


def compute(settings: ExperimentSettings, datasets: tuple[str, ...]) -> OwnProtocol:
    """Evaluate every run of the score files of our protocol, and the baselines on the same series."""
    folder = protocol_folder(settings, HELD_OUT)
    if folder is None:
        how = "'pateval reproduce impact --train --scores FOLDER' makes them"
        return OwnProtocol((), (f"Our own protocol needs score files below {HELD_OUT}/: {how}.",))
    rows: list[OwnRow] = []
    missing: list[str] = []
    for dataset in (name for name in datasets if name in datasets_in(folder)):
        scored = read_runs(folder, dataset)
        for detector, runs in scored.items():
            settings.tell(f"{dataset}, own protocol: {detector}, {len(runs)} seeds")
            percent = threshold_ratio(paper.DETECTOR_NAMES[detector], dataset)
            triples = []
            for run in runs:
                training = training_scores(run)
                flagged = None
                if training is None:
                    missing.append(f"{dataset}, own protocol: {detector}, seed {run.run} has no training scores.")
                else:
                    flagged = run.scores > quantile_threshold(training, fraction=percent / 100)
                triples.append((run.labels, run.scores, flagged))
            seeds = tuple(run.run for run in runs)
            rows.append(_row(dataset, detector, seeds, runs[0].series, triples))
        first = next(iter(scored.values()))[0]
        rows += _baselines(dataset, first.labels, first.series, settings, missing)
    return OwnProtocol(tuple(rows), tuple(missing))


Triple = tuple[BoolArray, npt.NDArray[np.float64], BoolArray | None]


def _row(
    dataset: str, detector: str, seeds: tuple[int, ...], series: npt.NDArray[np.object_], runs: list[Triple]
) -> OwnRow:
    starts = np.flatnonzero(np.r_[True, series[1:] != series[:-1]])
    stops = np.append(starts[1:], series.size)
    values = [
        [
            _seven(labels[low:high], scores[low:high], None if flagged is None else flagged[low:high])
            for low, high in zip(starts.tolist(), stops.tolist(), strict=True)
        ]
        for labels, scores, flagged in runs
    ]
    pooled = [_seven(labels, scores, flagged, series) for labels, scores, flagged in runs]
    names = tuple(map(str, series[starts]))
    return OwnRow(dataset, detector, seeds, names, np.array(values), np.array(pooled))


def _seven(
    labels: BoolArray,
    scores: npt.NDArray[np.float64],
    flagged: BoolArray | None,
    series: npt.NDArray[np.object_] | None = None,
) -> list[float]:
    return list(measured(labels, scores, flagged, series).values())


def _baselines(
    dataset: str,
    labels: BoolArray,
    series: npt.NDArray[np.object_],
    settings: ExperimentSettings,
    missing: list[str],
) -> list[OwnRow]:
    """Random scores, a constant, and the squared z-score, with thresholds as the detectors have them."""
    settings.tell(f"{dataset}, own protocol: baselines")
    share = threshold_ratio("anomaly_transformer", dataset) / 100
    draws: list[Triple] = []
    for seed in range(settings.seeds):
        scores = np.random.default_rng(seed).random(labels.size)
        draws.append((labels, scores, scores > 1 - share))  # what training scores would give
    nothing = (labels, np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_))
    rows = [
        _row(dataset, "random", tuple(range(settings.seeds)), series, draws),
        _row(dataset, "constant", (0,), series, [nothing]),
    ]
    try:
        whole = join(load(dataset, root=settings.root or data_root()), dataset)
    except (ValueError, OSError):
        missing.append(
            f"The squared z-score on {dataset}, own protocol, needs the data: name their folder with --root."
        )
        return rows
    if whole.train is None or not np.array_equal(whole.labels, labels):
        missing.append(f"The squared z-score on {dataset}: the data at hand are not those of the score files.")
        return rows
    detector = make("squared_zscore").fit(whole.train)
    scores = np.asarray(detector.score(whole.test), dtype=np.float64)
    threshold = quantile_threshold(detector.score(whole.train), fraction=share)
    rows.append(_row(dataset, "squared z-score", (0,), series, [(labels, scores, scores > threshold)]))
    return rows
