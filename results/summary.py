"""Print what the trained detectors' score files say, and what the training took: the tables of results/README.md.

python results/summary.py
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import pateval as pv

HERE = Path(__file__).parent
DETECTORS = ("lstm", "transformer", "usad", "anomaly_transformer", "dcdetector")
DATASETS = ("MSL", "SMAP", "SMD")


def show(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows as Markdown."""
    for line in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(line) + " |")
    print()


def figures(labels: np.ndarray, scores: np.ndarray, threshold: float) -> list[str]:
    """The paper's figures for one detector on one data set, laid end to end as the authors did."""
    buffers = {"early": 100, "delay": 100}
    predictions = pv.apply_threshold(scores, threshold, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.CoarseScoresWarning)
        values = (
            pv.pate(labels, scores, **buffers),
            pv.pate_ap(labels, scores, **buffers),
            pv.auc_roc(labels, scores),
            pv.vus_roc(labels, scores, window=200, variant="original"),
            pv.point(labels, predictions).f1,
            pv.point_adjusted(labels, predictions).f1,
        )
    return [f"{value:.3f}" for value in values]


def main() -> None:
    """Print the tables."""
    record = json.loads((HERE / "training.json").read_text())
    runs = {(run["protocol"], run["dataset"], run["detector"]): run for run in record["runs"]}
    names = ["PATE", "PATE-AP", "AUC-ROC", "VUS-ROC", "F1", "PA-F1", "zero scores"]
    for protocol in ("authors", "held-out"):
        rows = []
        for dataset in DATASETS:
            folder = HERE / "scores" / protocol / dataset
            for detector in DETECTORS:
                if (path := folder / f"{detector}.parquet").exists():
                    table = pq.read_table(path, columns=["label", "score"])
                    labels, scores = table["label"].to_numpy(), table["score"].to_numpy()
                    run = runs[protocol, dataset, detector]
                    threshold = run["thresholds"][str(float(run["threshold_ratio"]))]
                    zeros = f"{100 * np.mean(scores == 0):.0f} %"
                    rows.append([dataset, detector, *figures(labels, scores, threshold), zeros])
            random = np.random.default_rng(0).random(labels.size)
            rows.append(
                [dataset, "random", *figures(labels, random, pv.quantile_threshold(random, fraction=0.01)), "0 %"]
            )
        print(f"## Scores, {protocol} protocol\n")
        show(["data set", "detector", *names], rows)
    print("## Training\n")
    show(
        ["minutes, 8 at a time on one H200", *DETECTORS],
        [
            [dataset, *(f"{runs['authors', dataset, name]['seconds_total'] / 60:.2f}" for name in DETECTORS)]
            for dataset in DATASETS
        ],
    )
    rows = []
    for probe in record["probe"]:
        plain, lean, graph = (probe["milliseconds"][kind] for kind in ("plain", "lean", "graph"))
        figures_of = [f"{value:.2f}" for value in (plain, lean, graph, plain / lean, plain / graph)]
        rows.append([probe["dataset"], probe["detector"], *figures_of])
    show(["data set", "detector", "plain, ms per step", "lean", "CUDA graph", "plain / lean", "plain / graph"], rows)


if __name__ == "__main__":
    main()
