"""Values of the big table under the paper's protocol, and the printed ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation import evaluate
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.paper import paper_tables as paper
from pateval.paper.chance import PAPER_METRICS
from pateval.validation.arrays import BoolArray

CLOSE = 0.03
THRESHOLDED = ("PA-F1", "Standard-F1", "PA-AUC-ROC")


@dataclass(frozen=True)
class Values:
    """One run of a detector on a data set: the seven metrics, by name; ``earlier``: of the earlier training."""

    dataset: str
    detector: str
    run: int
    values: dict[str, float]
    earlier: bool = False

    def difference(self, metric: str) -> float | None:
        """Ours less the printed value; None where nothing is printed."""
        value = printed(self.dataset, self.detector, metric)
        return None if value is None else self.values[metric] - value


def printed(dataset: str, detector: str, metric: str) -> float | None:
    """The paper's value of a cell; None where it prints none.

    Examples
    --------
    >>> printed("MSL", "USAD", "PA-F1"), printed("SMAP", "USAD", "PA-F1")
    (0.91, None)
    """
    if dataset not in paper.DATASETS or metric not in paper.IMPACT_VALUES or detector not in paper.DETECTORS:
        return None
    return paper.IMPACT_VALUES[metric][dataset][paper.DETECTORS.index(detector)]


def measured(
    labels: BoolArray,
    scores: npt.NDArray[np.float64],
    flagged: BoolArray | None,
    series: npt.NDArray[Any] | None = None,
) -> dict[str, float]:
    """The seven metrics, by name; NaN for those that need predictions where there are none.

    Without ``series`` all steps are one series, as in the paper.
    """
    wanted = {name: metric for name, metric in PAPER_METRICS.items() if flagged is not None or name not in THRESHOLDED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        found = list(evaluate(labels, scores, flagged, metrics=list(wanted.values()), series=series).values())
    by_name = dict(zip(wanted, map(float, found), strict=True))
    return {name: by_name.get(name, float("nan")) for name in PAPER_METRICS}
