"""PATE in river: `update` step by step, `get` when asked.

PATE looks at whole events and at what comes before and after, so the metric keeps what it has seen. `get` takes
milliseconds even for a hundred thousand steps, but call it now and then, not after every step.
"""

import random

from river import anomaly, evaluate, metrics

import pateval as pv


class Pate(metrics.base.Metric):
    """PATE with one pair of buffers, in steps; NaN until there is an anomaly."""

    def __init__(self, early: int = 100, delay: int = 100) -> None:
        self.early, self.delay = early, delay
        self.labels: list[bool] = []
        self.scores: list[float] = []

    def update(self, y_true: bool, y_pred: float) -> None:
        """Take the next step."""
        self.labels.append(bool(y_true))
        self.scores.append(y_pred)

    def revert(self, y_true: bool, y_pred: float) -> None:
        """Take back the last step."""
        self.labels.pop()
        self.scores.pop()

    def get(self) -> float:
        """Compute PATE of all steps so far."""
        try:
            return pv.pate_ap(self.labels, self.scores, early=self.early, delay=self.delay)
        except pv.UndefinedMetricError:
            return float("nan")

    @property
    def bigger_is_better(self) -> bool:
        """A perfect detector gets 1."""
        return True

    def works_with(self, model: object) -> bool:
        """Scores are needed."""
        return hasattr(model, "score_one")


rng = random.Random(0)
steps = [({"value": rng.gauss(4 if 600 <= step < 620 else 0, 1)}, 600 <= step < 620) for step in range(1_000)]
detector = anomaly.HalfSpaceTrees(seed=0, limits={"value": (-5, 9)})
metric = evaluate.progressive_val_score(steps, detector, Pate(20, 20))
print(f"PATE {metric.get():.4f} after {len(metric.labels)} steps")
assert len(metric.labels) == 1_000 and 0.1 < metric.get() <= 1
