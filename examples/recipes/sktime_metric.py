"""PATE-F1 in sktime: a detection metric on segments, as sktime's detectors return them."""

import numpy as np
import pandas as pd
from sktime.performance_metrics.detection._base import BaseDetectionMetric

import pateval as pv


class PateF1(BaseDetectionMetric):
    """PATE-F1 with one pair of buffers, in steps; the length of the series is that of X."""

    _tags = {"scitype:y": "segments", "requires_X": True, "lower_is_better": False}

    def __init__(self, early: int = 100, delay: int = 100) -> None:
        self.early, self.delay = early, delay
        super().__init__()

    def _evaluate(self, y_true: pd.DataFrame, y_pred: pd.DataFrame, X: pd.DataFrame) -> float:
        labels, predictions = (steps_of(segments, len(X)) for segments in (y_true, y_pred))
        return pv.pate_f1(labels, predictions, early=self.early, delay=self.delay)


def steps_of(segments: pd.DataFrame, length: int) -> np.ndarray:
    """Turn segments, whose ends do not belong to them, into one 0 or 1 per step."""
    steps = np.zeros(length, dtype=int)
    for segment in segments["ilocs"]:
        steps[segment.left : segment.right] = 1
    return steps


series = pd.DataFrame({"value": np.zeros(500)})
truth = pd.DataFrame({"ilocs": pd.IntervalIndex.from_tuples([(100, 120), (300, 310)], closed="left")})
found = pd.DataFrame({"ilocs": pd.IntervalIndex.from_tuples([(105, 125), (400, 405)], closed="left")})
metric = PateF1(20, 20)
value = metric(truth, found, series)
print(f"PATE-F1 {value:.4f}, of the truth itself {metric(truth, truth, series):.4f}")
assert value == pv.pate_f1(steps_of(truth, 500), steps_of(found, 500), early=20, delay=20)
assert round(metric(truth, truth, series), 9) == 1
