"""PATE in MLflow: an extra metric of `mlflow.models.evaluate`, logged with the run like any other."""

import tempfile

import mlflow
import numpy as np
import pandas as pd
from mlflow.models import make_metric

import pateval as pv


def pate(predictions: pd.Series, targets: pd.Series, metrics: object) -> float:
    """PATE with buffers of 20 steps; predictions are scores here.

    MLflow tries the function on the first few rows beforehand, where there may be no anomaly.
    """
    try:
        return pv.pate_ap(targets, predictions, early=20, delay=20)
    except pv.UndefinedMetricError:
        return float("nan")


labels = np.zeros(500, dtype=int)
labels[200:220] = 1
scores = np.random.default_rng(0).random(500) * 0.5
scores[205:225] += 0.5
table = pd.DataFrame({"label": labels, "score": scores})
with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    with mlflow.start_run():
        result = mlflow.models.evaluate(
            data=table,
            targets="label",
            predictions="score",
            extra_metrics=[make_metric(eval_fn=pate, greater_is_better=True, name="pate")],
        )
print({name: round(value, 4) for name, value in result.metrics.items()})
assert result.metrics["pate"] == pv.pate_ap(labels, scores, early=20, delay=20)
