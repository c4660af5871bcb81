"""Score files of trained detectors, as experiments read them: a folder per data set, a file per detector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray
from pateval.detectors.presets import threshold_ratio
from pateval.experiments.document import MissingInputError, Settings
from pateval.experiments.paper_tables import DETECTOR_NAMES
from pateval.io import read_table
from pateval.score_files import read_metadata, read_training_scores
from pateval.thresholds import quantile_threshold

# Where a checkout keeps the scores that were trained as the paper's were.
_IN_CHECKOUT = (Path("results/scores/paper"), Path("results/scores/authors"))


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
    """

    detector: str
    dataset: str
    labels: BoolArray
    scores: npt.NDArray[np.float64]
    series: npt.NDArray[Any]
    threshold: float | None

    @property
    def flagged(self) -> BoolArray | None:
        """Steps strictly above the threshold, as the paper's code has it."""
        return None if self.threshold is None else self.scores > self.threshold


def score_folder(settings: Settings, name: str) -> Path:
    """Where the score files are, or an error that says how to get them."""
    folder = _folder(settings)
    if folder is None:
        raise MissingInputError(
            f"{name} needs score files of trained detectors, and there are none: run in a checkout of the project, or "
            "give --scores FOLDER with DATASET/DETECTOR.parquet, as 'pateval detect' writes them"
        )
    return folder


def has_scores(settings: Settings) -> bool:
    """Whether there are score files."""
    return _folder(settings) is not None


def _folder(settings: Settings) -> Path | None:
    places = _IN_CHECKOUT if settings.scores is None else (settings.scores,)
    return next((place for place in places if any(place.glob("*/*.parquet"))), None)


def read_dataset(folder: Path, dataset: str) -> dict[str, Scored]:
    """Scores of all detectors of the paper on one data set, in the paper's order."""
    found = {}
    for shown, name in DETECTOR_NAMES.items():
        path = folder / dataset / f"{name}.parquet"
        if path.is_file():
            found[shown] = _read(path, shown, dataset)
    return found


def datasets_in(folder: Path) -> list[str]:
    """Names of the data sets there are score files of."""
    return sorted({path.parent.name for path in folder.glob("*/*.parquet")})


def _read(path: Path, detector: str, dataset: str) -> Scored:
    """Read one score file; of several runs the first."""
    columns = read_table(path).columns
    record = read_metadata(path)
    kept: Any = slice(None)
    run: int | None = None
    if "run" in columns:
        run = int(columns["run"].min())
        kept = columns["run"] == run
    scores = columns["score"][kept].astype(np.float64)
    return Scored(
        detector,
        dataset,
        columns["label"][kept].astype(np.bool_),
        scores,
        columns["series"][kept],
        _threshold(path, record, scores, DETECTOR_NAMES[detector], dataset, run),
    )


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
