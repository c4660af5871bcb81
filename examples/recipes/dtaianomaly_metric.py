"""PATE in dtaianomaly: one metric on scores and one on predictions, for `Workflow(metrics=...)` or alone."""

import numpy as np
from dtaianomaly.evaluation import BinaryMetric, ProbaMetric, ThresholdMetric
from dtaianomaly.thresholding import FixedCutoffThreshold

import pateval as pv


class Pate(ProbaMetric):
    """PATE with one pair of buffers, in steps."""

    def __init__(self, early: int = 100, delay: int = 100) -> None:
        self.early, self.delay = early, delay

    def _compute(self, y_true: np.ndarray, y_pred: np.ndarray, **_: object) -> float:
        return pv.pate_ap(y_true, y_pred, early=self.early, delay=self.delay)


class PateF1(BinaryMetric):
    """PATE-F1 of predictions."""

    def __init__(self, early: int = 100, delay: int = 100) -> None:
        self.early, self.delay = early, delay

    def _compute(self, y_true: np.ndarray, y_pred: np.ndarray, **_: object) -> float:
        return pv.pate_f1(y_true, y_pred, early=self.early, delay=self.delay)


labels = np.zeros(500, dtype=int)
labels[200:220] = 1
scores = np.random.default_rng(0).random(500) * 0.5
scores[205:225] += 0.5
print(f"{Pate(20, 20)} {Pate(20, 20).compute(labels, scores):.4f}")
with_threshold = ThresholdMetric(FixedCutoffThreshold(0.5), PateF1(20, 20))
print(f"{with_threshold} {with_threshold.compute(labels, scores):.4f}")
assert with_threshold.compute(labels, scores) == pv.pate_f1(labels, scores >= 0.5, early=20, delay=20)
