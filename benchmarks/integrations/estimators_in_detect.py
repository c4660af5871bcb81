"""Estimators of PyOD and aeon in ``pateval detect``, as the guide says; called with series and an output folder.

The score file must hold what the estimator itself gives, on a real series and on a made-up one. High scores must be the
anomalous ones: the made-up series is a wave with one flat, lifted stretch, whose scores lie above those before it.
"""

from __future__ import annotations

import csv
import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

# The class and settings of its own; all are shown z-scored series, PyOD's in windows of ten steps.
ESTIMATORS: dict[str, dict[str, Any]] = {
    "pyod.models.ecod:ECOD": {},
    "pyod.models.iforest:IForest": {"n_estimators": 50, "random_state": 3},
    "pyod.models.lof:LOF": {"n_neighbors": 30},
    "aeon.anomaly_detection.series.distance_based:KMeansAD": {"n_clusters": 10, "window_size": 20, "random_state": 3},
    "aeon.anomaly_detection.series.distance_based:STOMP": {"window_size": 40},
    "aeon.anomaly_detection.series.outlier_detection:IsolationForest": {"n_estimators": 50, "random_state": 3},
}
WINDOW = 10
FLAT = slice(800, 830)
MADE_UP = f"900_Made_id_1_Wave_tr_400_1st_{FLAT.start}"
Values = npt.NDArray[np.float64]


def main() -> None:
    """Run the command for every estimator and compare."""
    warnings.simplefilter("ignore")
    series, folder = map(Path, sys.argv[1:3])
    data = folder / "data"
    data.mkdir(parents=True)
    path = min(series.glob("*.csv"))
    with path.open() as file:
        rows = [(float(row["Data"]), int(row["Label"])) for row in csv.DictReader(file)]
    values = {path.stem: np.array([value for value, _ in rows]), MADE_UP: wave()}
    (data / path.name).write_bytes(path.read_bytes())
    with (data / f"{MADE_UP}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Data", "Label"])
        writer.writerows((value, int(FLAT.start <= step < FLAT.stop)) for step, value in enumerate(wave().tolist()))
    for place, settings in ESTIMATORS.items():
        check(place, settings, values, data, folder / "scores")
    check_scorer()


def check_scorer() -> None:
    """Of PyOD's detectors the scorer for scikit-learn must take high values for anomalous, also inside a pipeline."""
    from pyod.models.iforest import IForest
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import pateval as pv

    rows, labels = wave()[:, None], np.zeros(1_000, dtype=int)
    labels[FLAT] = 1
    detector = make_pipeline(StandardScaler(), IForest(random_state=0)).fit(rows)
    found = pv.sklearn.scorer("auc_roc")(detector, rows, labels)
    assert found == pv.auc_roc(labels, detector.decision_function(rows)), found
    assert found > 0.9, found
    print(f"pv.sklearn.scorer on a pipeline that ends in IForest of PyOD: AUC-ROC {found:.3f}")


def check(place: str, settings: dict[str, Any], values: dict[str, Values], data: Path, output: Path) -> None:
    """Run one estimator through the command and by itself."""
    name = place.partition(":")[2]
    file = f"{place.partition('.')[0]}-{name}"
    chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={json.dumps(value)}")]
    command = [sys.executable, "-m", "pateval", "detect", place, "--data", str(data), "-o", str(output)]
    done = subprocess.run([*command, "--name", file, *chosen], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{place}: {done.stderr[-2_000:]}")
    assert "its high values are anomalous" in done.stderr, done.stderr
    table = pq.read_table(output / f"{file}.parquet").to_pydict()
    for each, given in values.items():
        train = given[: int(each.split("_")[-3])]
        shift, scale = train.mean(), train.std()
        expected = direct(place, settings, (train - shift) / scale, (given - shift) / scale)
        written = scores_of(table, each)
        assert len(written) == len(given), f"{place}: {len(written)} scores for {len(given)} steps"
        np.testing.assert_allclose(written, expected, rtol=1e-9, atol=1e-12, err_msg=f"{place} on {each}")
    written = scores_of(table, MADE_UP)
    above = float(np.mean(written[FLAT][:, None] > written[: FLAT.start][None]))
    assert above > 0.9, f"{place}: the flat steps lie above {above:.0%} of those before them only"
    print(f"{place}: the same scores on {len(values)} series, and high where it should be")


def wave() -> Values:
    """A wave with a little noise, flat and lifted in one stretch."""
    values = np.sin(np.arange(1_000) / 8) + 0.05 * np.random.default_rng(0).normal(size=1_000)
    values[FLAT] = 3
    return values


def scores_of(table: dict[str, list[Any]], series: str) -> Values:
    """The scores of one series in a score file."""
    return np.array([score for score, name in zip(table["score"], table["series"], strict=True) if name == series])


def direct(place: str, settings: dict[str, Any], train: Values, given: Values) -> Values:
    """Call the estimator without pateval."""
    module, _, name = place.partition(":")
    estimator = getattr(importlib.import_module(module), name)(**settings)
    if module.startswith("aeon."):
        return np.asarray(estimator.fit(train).predict(given), dtype=np.float64)
    rows = np.lib.stride_tricks.sliding_window_view
    estimator.fit(rows(train, WINDOW).copy())
    scores = np.asarray(estimator.decision_function(rows(given, WINDOW).copy()))
    return np.concatenate([np.repeat(scores[:1], WINDOW - 1), scores])


if __name__ == "__main__":
    main()
