"""Score files of trained detectors, as experiments read them: a folder per data set, a file per detector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.detectors.presets import threshold_ratio
from pateval.io import read_table
from pateval.io.score_files import read_metadata, read_training_scores
from pateval.paper.document import ExperimentSettings, MissingInputError
from pateval.paper.paper_tables import DETECTOR_NAMES
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray

# Where a checkout keeps scores, and the folders in it: trained as the paper's were, the same in an earlier training of
# one seed, and by our own protocol.
_IN_CHECKOUT = Path("results/scores")
PAPER, EARLIER, HELD_OUT = "paper", "authors", "held-out"


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one detector on one data set.

    Attributes
    ----------
    detector, dataset : str
        The detector as the paper names it, the data set as its folder is called.
    labels : ndarray of bool
        Truth, all series laid end to end.
    scores : ndarray
        Higher is more anomalous.
    series : ndarray
        Which series each step belongs to.
    threshold : float or None
        The paper's: the configured percentile of training and test scores together; None where the file has none.
    run : int
        The seed.
    source : Path, optional
        The score file.
    has_runs : bool
        Whether the file names its runs.
    """

    detector: str
    dataset: str
    labels: BoolArray
    scores: npt.NDArray[np.float64]
    series: npt.NDArray[Any]
    threshold: float | None
    run: int = 0
    source: Path | None = None
    has_runs: bool = False

    @property
    def flagged(self) -> BoolArray | None:
        """Steps strictly above the threshold, as the paper's code has it."""
        return None if self.threshold is None else self.scores > self.threshold


def score_folder(settings: ExperimentSettings, name: str) -> Path:
    """Where the score files are, or an error that says how to get them."""
    folder = _folder(settings)
    if folder is None:
        raise MissingInputError(
            f"{name} needs score files of trained detectors, and there are none: run in a checkout of the project, or "
            "give --scores FOLDER with DATASET/DETECTOR.parquet, as 'pateval detect' writes them"
        )
    return folder


def has_scores(settings: ExperimentSettings) -> bool:
    """Whether there are score files."""
    return _folder(settings) is not None


def _folder(settings: ExperimentSettings) -> Path | None:
    base = _IN_CHECKOUT if settings.scores is None else settings.scores
    return next((place for place in (base, base / PAPER, base / EARLIER) if _has_files(place)), None)


def protocol_folder(settings: ExperimentSettings, protocol: str) -> Path | None:
    """The folder of one protocol below the folder of scores; None where it holds no score files."""
    place = (_IN_CHECKOUT if settings.scores is None else settings.scores) / protocol
    return place if _has_files(place) else None


def _has_files(place: Path) -> bool:
    return any(place.glob("*/*.parquet"))


def read_dataset(folder: Path, dataset: str) -> dict[str, Scored]:
    """Scores of all detectors of the paper on one data set, in the paper's order; of several runs the first."""
    return {shown: runs[0] for shown, runs in read_runs(folder, dataset).items()}


def read_runs(folder: Path, dataset: str) -> dict[str, list[Scored]]:
    """Scores of all runs of all detectors of the paper on one data set, in the paper's order."""
    return {
        shown: _read(path, shown, dataset)
        for shown, name in DETECTOR_NAMES.items()
        if (path := folder / dataset / f"{name}.parquet").is_file()
    }


def datasets_in(folder: Path) -> list[str]:
    """Names of the data sets there are score files of."""
    return sorted({path.parent.name for path in folder.glob("*/*.parquet")})


def _read(path: Path, detector: str, dataset: str) -> list[Scored]:
    """Read one score file, run by run."""
    columns = read_table(path).columns
    record = read_metadata(path)
    runs = np.unique(columns["run"]).tolist() if "run" in columns else [None]
    found = []
    for run in runs:
        rows: Any = slice(_steps_in_whole_windows(record)) if run is None else columns["run"] == run
        scores = columns["score"][rows].astype(np.float64)
        found.append(
            Scored(
                detector,
                dataset,
                columns["label"][rows].astype(np.bool_),
                scores,
                columns["series"][rows],
                _threshold(path, record, scores, DETECTOR_NAMES[detector], dataset, run),
                record.get("seed") or 0 if run is None else run,
                path,
                run is not None,
            )
        )
    return found


def _steps_in_whole_windows(record: Mapping[str, Any]) -> int | None:
    """Files from before the protocols had names hold all steps; the paper's protocol drops the last, short window."""
    if record.get("format") or "test_steps" not in record:
        return None
    window = int(record["settings"]["window"])
    return int(record["test_steps"]) // window * window


def thresholds_at(scored: Scored, percents: Sequence[float]) -> dict[float, float]:
    """Thresholds that would flag other shares of training and test scores together, in per cent.

    Files from before training scores were kept know a few of them only.
    """
    if scored.source is None:
        return {}
    record = read_metadata(scored.source)
    if "thresholds" in record:
        thresholds = {float(percent): float(value) for percent, value in record["thresholds"].items()}
        return {percent: thresholds[percent] for percent in percents if percent in thresholds}
    training = training_scores(scored)
    if training is None:
        return {}
    return {
        percent: quantile_threshold(scored.scores, fraction=percent / 100, train_scores=training)
        for percent in percents
    }


def training_scores(scored: Scored) -> npt.NDArray[np.float32] | None:
    """Scores of the training steps; None where they were not kept."""
    if scored.source is None:
        return None
    try:
        return read_training_scores(scored.source, run=scored.run if scored.has_runs else None)
    except ValueError:
        return None


def _threshold(
    path: Path,
    record: Mapping[str, Any],
    scores: npt.NDArray[np.float64],
    detector: str,
    dataset: str,
    run: int | None,
) -> float | None:
    """The configured percentile of training and test scores: kept in the file, or from the training scores beside."""
    try:
        percent = threshold_ratio(detector, dataset)
        if str(float(percent)) in record.get("thresholds", {}):
            return float(record["thresholds"][str(float(percent))])
        training = read_training_scores(path, run=run)
        return quantile_threshold(scores, fraction=percent / 100, train_scores=training)
    except ValueError:
        return None  # no percentile is configured, or there are no training scores
