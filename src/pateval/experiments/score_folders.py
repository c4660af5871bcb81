"""Score files of trained detectors, as experiments read them: a folder per data set, a file per detector."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval._validation import BoolArray
from pateval.experiments.document import MissingInputError, Settings
from pateval.experiments.paper_tables import DETECTOR_NAMES
from pateval.io import read_table

_IN_CHECKOUT = Path("results/scores/authors")


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
    folder = settings.scores or _IN_CHECKOUT
    if not folder.is_dir() or not any(folder.glob("*/*.parquet")):
        raise MissingInputError(
            f"{name} needs score files of trained detectors, and there are none in {_shown(folder)}: run in a "
            f"checkout of "
            "the project, or give --scores FOLDER with DATASET/DETECTOR.parquet, as 'pateval detect' writes them"
        )
    return folder


def has_scores(settings: Settings) -> bool:
    """Whether there are score files."""
    folder = settings.scores or _IN_CHECKOUT
    return folder.is_dir() and any(folder.glob("*/*.parquet"))


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
    import pyarrow.parquet as pq

    table = read_table(path)
    stored = (pq.read_schema(path).metadata or {}).get(b"pateval")
    record = json.loads(stored) if stored else {}
    ratio = record.get("threshold_ratio")
    threshold = record.get("thresholds", {}).get(str(float(ratio))) if ratio is not None else None
    return Scored(
        detector,
        dataset,
        table.columns["label"].astype(np.bool_),
        table.columns["score"].astype(np.float64),
        table.columns["series"],
        None if threshold is None else float(threshold),
    )


def _shown(folder: Path) -> str:
    return str(folder)
