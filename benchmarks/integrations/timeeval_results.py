"""Run a small experiment of TimeEval, so that its folder of results can be read; called with series and folder.

Beside the folder, ``expected.json`` holds the values as TimeEval has them in memory: series, detector, metric, value.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timeeval import Algorithm, DatasetManager, DefaultMetrics, TimeEval
from timeeval.adapters import FunctionAdapter
from timeeval.datasets.dataset_manager import DatasetRecord
from timeeval.params import FixedParameters, FullParameterGrid

METRICS = [DefaultMetrics.ROC_AUC, DefaultMetrics.PR_AUC, DefaultMetrics.RANGE_PR_AUC]


def deviation(values: np.ndarray, _: dict[str, Any]) -> np.ndarray:
    """Distance from the mean."""
    return np.abs(values - values.mean()).ravel()


def change(values: np.ndarray, settings: dict[str, Any]) -> np.ndarray:
    """Distance from the value some steps before."""
    lag = int(settings["lag"])
    return np.concatenate([np.zeros(lag), np.abs(values[lag:] - values[:-lag]).ravel()])


def guess(values: np.ndarray, _: dict[str, Any]) -> np.ndarray:
    """Other scores in every repetition; it fails on the longer series."""
    if len(values) > 1_500:
        raise RuntimeError("too long")
    return np.random.default_rng().random(len(values))


def record(name: str, table: pd.DataFrame) -> DatasetRecord:
    """Describe a data set as TimeEval's index does; only the paths, type and sizes matter here."""
    labels = table["is_anomaly"]
    return DatasetRecord(
        collection_name="small",
        dataset_name=name,
        train_path=None,
        test_path=f"{name}.csv",
        dataset_type="real",
        datetime_index=False,
        split_at=0,
        train_type="unsupervised",
        train_is_normal=False,
        input_type="univariate",
        length=len(table),
        dimensions=1,
        contamination=float(labels.mean()),
        num_anomalies=int((labels.diff() == 1).sum()),
        min_anomaly_length=1,
        median_anomaly_length=1,
        max_anomaly_length=1,
        mean=float(table["value"].mean()),
        stddev=float(table["value"].std()),
        trend="",
        stationarity="",
        period_size=None,
    )


def main() -> None:
    """Evaluate three algorithms, one of them with two settings, on the series."""
    series, folder = map(Path, sys.argv[1:3])
    data = folder / "data"
    data.mkdir(parents=True)
    manager = DatasetManager(data)
    for path in sorted(series.glob("*.csv")):
        given = pd.read_csv(path)
        table = pd.DataFrame({"timestamp": range(len(given)), "value": given["Data"], "is_anomaly": given["Label"]})
        table.to_csv(data / path.name, index=False)
        manager.add_dataset(record(path.stem, table))
    manager.save()
    algorithms = [
        Algorithm(name="deviation", main=FunctionAdapter(deviation)),
        Algorithm(name="change", main=FunctionAdapter(change), param_config=FullParameterGrid({"lag": [1, 20]})),
        Algorithm(name="guess", main=FunctionAdapter(guess), param_config=FixedParameters({"kind": "uniform"})),
    ]
    run = TimeEval(
        manager,
        manager.select(),
        algorithms,
        results_path=folder / "results",
        repetitions=2,
        metrics=METRICS,
        disable_progress_bar=True,
        n_jobs=1,
    )
    run.run()
    expected: dict[tuple[str, str, str], list[float]] = {}
    for row in run.get_results(aggregated=False).to_dict("records"):
        lag = json.loads(row["hyper_params"]).get("lag")
        detector = row["algorithm"] if lag is None else f"{row['algorithm']} (lag={lag})"
        for metric in METRICS:
            expected.setdefault((f"small/{row['dataset']}", detector, metric.name), []).append(row[metric.name])
    values = [[*key, None if np.isnan(found).any() else float(np.mean(found))] for key, found in expected.items()]
    (folder / "expected.json").write_text(json.dumps(values))
    print(f"TimeEval wrote {run.results_path}, {len(values)} values")


if __name__ == "__main__":
    main()
