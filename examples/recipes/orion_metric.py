"""PATE in Orion: two metrics on intervals, for `Orion.evaluate(metrics=...)` and for Orion's benchmark.

Orion needs NumPy 1; pateval runs with NumPy 1.26, so ``pip install pateval`` is enough.
"""

import json
from pathlib import Path

import numpy as np
import orion
import pandas as pd
from orion.evaluation import CONTEXTUAL_METRICS

import pateval as pv


def pate_f1(expected: pd.DataFrame, observed: pd.DataFrame, data: pd.DataFrame) -> float:
    """PATE-F1 of the intervals that were found; in Orion the end of an interval belongs to it."""
    labels, found = (
        pv.labels_from_intervals(intervals[["start", "end"]], data["timestamp"], closed=True)
        for intervals in (expected, observed)
    )
    return pv.pate_f1(labels, found, early="1h", delay="1h", times=data["timestamp"], time_unit="s")


def pate(expected: pd.DataFrame, observed: pd.DataFrame, data: pd.DataFrame) -> float:
    """PATE of the severities as scores: that of its interval for each step, and zero outside."""
    labels = pv.labels_from_intervals(expected[["start", "end"]], data["timestamp"], closed=True)
    scores = np.zeros(len(data))
    for start, end, severity in observed.sort_values("severity").itertuples(index=False):
        scores[pv.labels_from_intervals([(start, end)], data["timestamp"], closed=True)] = severity
    return pv.pate_ap(labels, scores, early="1h", delay="1h", times=data["timestamp"], time_unit="s")


CONTEXTUAL_METRICS.update(pate=pate, pate_f1=pate_f1)  # Where Orion looks up the names of metrics.

# This is `Orion("dummy")`, put together from its parts: by name, Orion wants TensorFlow and torch to be installed.
parts = Path(orion.MLBLOCKS_PRIMITIVES)
pipeline = json.loads((parts.parents[1] / "pipelines" / "sandbox" / "dummy" / "dummy.json").read_text())
pipeline["primitives"] = [json.loads((parts / f"{name}.json").read_text()) for name in pipeline["primitives"]]

timestamps = 1_700_000_000 + 600 * np.arange(1_000)
values = np.random.default_rng(0).normal(size=1_000)
values[700:720] += 3
data = pd.DataFrame({"timestamp": timestamps, "value": values})
truth = pd.DataFrame({"start": timestamps[[700]], "end": timestamps[[719]]})
detector = orion.Orion(pipeline)
table = detector.evaluate(data, truth, fit=True, metrics=["f1", "pate_f1", "pate"])
print("  ".join(f"{name} {value:.4f}" for name, value in table.items()))
events = detector.fit_detect(data)
found = pv.labels_from_intervals(events[["start", "end"]], timestamps, closed=True)
labels = np.zeros(1_000)
labels[700:720] = 1
assert abs(table["pate_f1"] - pv.pate_f1(labels, found, early=6, delay=6)) < 1e-12
assert table["pate"] > 0.2
