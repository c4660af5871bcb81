"""PATE in TimeEval: a metric object that goes into the `metrics=` of an experiment.

TimeEval needs NumPy 1; pateval runs with NumPy 1.26, so ``pip install pateval`` is enough.
"""

import numpy as np
from timeeval.metrics import Metric

import pateval as pv


class Pate(Metric):
    """PATE with one pair of buffers, in steps."""

    def __init__(self, early: int = 100, delay: int = 100) -> None:
        self.early, self.delay = early, delay

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"PATE_{self.early}_{self.delay}"

    def score(self, y_true: np.ndarray, y_score: np.ndarray) -> float:
        """Compute it; TimeEval has checked both arrays before."""
        return pv.pate_ap(y_true, y_score, early=self.early, delay=self.delay)

    def supports_continuous_scorings(self) -> bool:
        """No threshold is needed."""
        return True


labels = np.zeros(500, dtype=int)
labels[200:220] = 1
scores = np.random.default_rng(0).random(500) * 0.5
scores[205:225] += 0.5
value = Pate(20, 20)(labels, scores)
print(f"{Pate(20, 20).name} {value:.4f}")
assert value == pv.pate_ap(labels, scores, early=20, delay=20)
