"""The numbers that the PATE paper prints, and the synthetic cases they stand for: the one home of both.

Experiments put them beside ours, and tests assert against them. Everything here was typed from the paper's tables; no
value was computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pateval.validation.arrays import BoolArray

# ---------------------------------------------------------------------------------------------------------------------
# Ten synthetic scenarios, one event, a binary detector. Stretches are half-open.
SCENARIO_STEPS = 500
SCENARIO_EVENT = (40, 60)
SCENARIO_BUFFER = 20
SCENARIO_FLAGGED = {
    "S1": (20, 40),
    "S2": (30, 50),
    "S3": (40, 60),
    "S4": (50, 70),
    "S5": (60, 80),
    "S6": (30, 70),
    "S7": (40, 50),
    "S8": (50, 60),
    "S9": (40, 55),
    "S10": (45, 60),
}

# Printed values, S1 to S10, by metric id: the ten columns of the first table, and PATE-F1 of the second, whose other
# columns repeat the first.
SCENARIO_VALUES = {
    "pate": (0.03, 0.76, 1.00, 0.69, 0.31, 0.87, 0.85, 0.77, 0.95, 0.88),
    "vus_roc": (0.63, 0.79, 0.87, 0.79, 0.63, 0.99, 0.69, 0.69, 0.78, 0.78),
    "vus_pr": (0.37, 0.72, 0.88, 0.70, 0.34, 0.91, 0.71, 0.71, 0.79, 0.79),
    "auc_roc": (0.48, 0.74, 1.00, 0.74, 0.48, 0.98, 0.75, 0.75, 0.88, 0.88),
    "auc_pr": (0.02, 0.51, 1.00, 0.51, 0.02, 0.75, 0.76, 0.76, 0.88, 0.88),
    "point_f1": (0.00, 0.50, 1.00, 0.50, 0.00, 0.67, 0.67, 0.67, 0.86, 0.86),
    "point_adjusted_f1": (0.00, 0.80, 1.00, 0.80, 0.00, 0.67, 1.00, 1.00, 1.00, 1.00),
    "range_based_f1": (0.00, 0.60, 1.00, 0.60, 0.00, 0.75, 0.75, 0.75, 0.89, 0.89),
    "etapr_f1": (0.00, 0.75, 1.00, 0.75, 0.00, 0.86, 0.86, 0.86, 0.93, 0.93),
    "affiliation_f1": (0.94, 0.98, 1.00, 0.98, 0.94, 0.98, 0.99, 0.99, 1.00, 1.00),
    "pate_f1": (0.00, 0.75, 1.00, 0.66, 0.28, 0.85, 0.81, 0.67, 0.95, 0.86),
}

# ---------------------------------------------------------------------------------------------------------------------
# First table: its rows, and the functions of the catalogue that each stands for. What is ticked is kept there, as the
# claims of the paper beside what each metric rewards.
PROPERTY_ROWS = {
    "Precision/Recall (F1 Score)": ("point",),
    "R-based": ("range_based",),
    "TS-Aware/ETS-Aware": ("tapr", "etapr"),
    "Affiliation": ("affiliation",),
    "PA-F1": ("point_adjusted",),
    "AUC-ROC/PR": ("auc_roc", "average_precision", "auc_pr"),
    "VUS-ROC/PR": ("vus_roc", "vus_pr"),
    "PATE": ("pate",),
}

# ---------------------------------------------------------------------------------------------------------------------
# Two real series, four detectors each: PATE, VUS-ROC, VUS-PR, AUC-ROC, AUC-PR.
REAL_WORLD_METRICS = ("pate", "vus_roc", "vus_pr", "auc_roc", "auc_pr")
REAL_WORLD_VALUES = {
    "weather": {
        "Perfect Model": (1.00, 0.55, 0.57, 1.00, 1.00),
        "Model 1": (0.88, 0.98, 0.71, 0.98, 0.02),
        "Model 2": (0.07, 0.86, 0.14, 0.83, 0.01),
        "Random Score": (0.02, 0.67, 0.08, 0.66, 0.01),
    },
    "ecg": {
        "Perfect Model": (1.00, 0.90, 0.91, 1.00, 1.00),
        "Model 1": (0.83, 0.99, 0.89, 0.98, 0.69),
        "Model 2": (0.79, 0.98, 0.81, 0.97, 0.69),
        "Random Score": (0.07, 0.56, 0.11, 0.43, 0.06),
    },
}

# ---------------------------------------------------------------------------------------------------------------------
# The big table: five detectors on four data sets under six metrics; and how our catalogues call them.
DETECTORS = ("AnomalyTrans", "DCDetector", "USAD", "LSTM", "Transformer")
DETECTOR_NAMES = {
    "AnomalyTrans": "anomaly_transformer",
    "DCDetector": "dcdetector",
    "USAD": "usad",
    "LSTM": "lstm",
    "Transformer": "transformer",
}
DATASETS = ("SMD", "MSL", "SWaT", "PSM")
IMPACT_METRICS = {
    "PATE": "pate",
    "PA-F1": "point_adjusted_f1",
    "Standard-F1": "point_f1",
    "PA-AUC-ROC": "pa_auc_roc",
    "AUC-ROC": "auc_roc",
    "VUS-ROC": "vus_roc",
}
# By metric as printed, then data set; values in the order of `DETECTORS`.
IMPACT_VALUES = {
    "PATE": {
        "SMD": (0.06, 0.07, 0.16, 0.25, 0.27),
        "MSL": (0.13, 0.14, 0.17, 0.19, 0.20),
        "SWaT": (0.19, 0.12, 0.73, 0.71, 0.72),
        "PSM": (0.33, 0.32, 0.45, 0.55, 0.56),
    },
    "PA-F1": {
        "SMD": (0.91, 0.87, 0.94, 0.80, 0.75),
        "MSL": (0.94, 0.97, 0.91, 0.82, 0.40),
        "SWaT": (0.94, 0.96, 0.85, 0.82, 0.82),
        "PSM": (0.98, 0.98, 0.89, 0.93, 0.91),
    },
    "Standard-F1": {
        "SMD": (0.03, 0.01, 0.13, 0.14, 0.14),
        "MSL": (0.02, 0.02, 0.06, 0.08, 0.07),
        "SWaT": (0.02, 0.02, 0.25, 0.03, 0.03),
        "PSM": (0.02, 0.02, 0.07, 0.15, 0.14),
    },
    "PA-AUC-ROC": {
        "SMD": (0.96, 0.94, 0.91, 0.87, 0.84),
        "MSL": (0.97, 0.98, 0.92, 0.87, 0.63),
        "SWaT": (0.97, 0.99, 0.83, 0.85, 0.85),
        "PSM": (0.99, 0.99, 0.91, 0.94, 0.92),
    },
    "AUC-ROC": {
        "SMD": (0.49, 0.50, 0.63, 0.76, 0.74),
        "MSL": (0.49, 0.50, 0.53, 0.57, 0.60),
        "SWaT": (0.53, 0.49, 0.82, 0.82, 0.82),
        "PSM": (0.51, 0.50, 0.60, 0.73, 0.72),
    },
    "VUS-ROC": {
        "SMD": (0.50, 0.51, 0.72, 0.81, 0.80),
        "MSL": (0.52, 0.58, 0.58, 0.64, 0.66),
        "SWaT": (0.54, 0.50, 0.61, 0.60, 0.57),
        "PSM": (0.52, 0.52, 0.61, 0.73, 0.72),
    },
}
# Mean ranks that the text states; it names none for USAD under PATE.
MEAN_RANKS = {
    "PA-F1": {"DCDetector": 1.62, "AnomalyTrans": 1.88, "USAD": 3.00, "LSTM": 3.88, "Transformer": 4.62},
    "PATE": {"Transformer": 1.38, "LSTM": 2.12, "AnomalyTrans": 4.50, "DCDetector": 4.50},
}
# The big table's protocol: one pair of buffers, one window, windows of 100 steps and no incomplete one at the end.
IMPACT_BUFFER = 100
IMPACT_VUS_WINDOW = 200
IMPACT_CHUNK = 100


class BenchmarkTimes(NamedTuple):
    """A row of the paper's table of computing times, in seconds on its own machine."""

    steps: int
    anomalous_percent: int
    auc_pr: float
    vus_pr: float
    pate: float


BENCHMARK_TIMES = {
    "MSL": BenchmarkTimes(73_700, 10, 0.007, 42.315, 0.278),
    "PSM": BenchmarkTimes(87_800, 4, 0.013, 51.683, 0.634),
    "SWaT": BenchmarkTimes(449_900, 12, 0.267, 249.573, 1.895),
    "SMD": BenchmarkTimes(708_400, 4, 0.064, 462.252, 1.796),
}


def flagged(*stretches: tuple[int, int], steps: int = SCENARIO_STEPS) -> BoolArray:
    """Mark half-open stretches of steps.

    Examples
    --------
    >>> flagged((1, 3), steps=4).tolist()
    [False, True, True, False]
    """
    marked = np.zeros(steps, dtype=np.bool_)
    for start, stop in stretches:
        marked[start:stop] = True
    return marked


def scenarios() -> dict[str, tuple[BoolArray, BoolArray]]:
    """Labels and predictions of the ten scenarios.

    Examples
    --------
    >>> labels, predictions = scenarios()["S4"]
    >>> int(labels.sum()), int((labels & predictions).sum())
    (20, 10)
    """
    return {name: (flagged(SCENARIO_EVENT), flagged(stretch)) for name, stretch in SCENARIO_FLAGGED.items()}


def impact_table(metric: str) -> list[list[float]]:
    """The big table under one metric: a row per data set, a column per detector.

    Examples
    --------
    >>> impact_table("PATE")[0]
    [0.06, 0.07, 0.16, 0.25, 0.27]
    """
    return [list(IMPACT_VALUES[metric][dataset]) for dataset in DATASETS]
