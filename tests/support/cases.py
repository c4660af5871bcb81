"""Cases with 0/1 predictions: golden files decoded, and the ten scenarios of the PATE paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import golden


class Case(NamedTuple):
    labels: np.ndarray
    predictions: np.ndarray
    metrics: dict[str, Any]
    params: dict[str, Any]


def mask(runs: list[list[int]], length: int) -> np.ndarray:
    """Mark inclusive runs."""
    values = np.zeros(length, dtype=int)
    for first, last in runs:
        values[first : last + 1] = 1
    return values


def prediction_cases(name: str) -> list[Any]:
    """Cases of a golden file that hold predictions, as pytest parameters named after the case."""
    return [
        pytest.param(
            Case(mask(row["label_runs"], row["T"]), mask(row["pred_runs"], row["T"]), row["metrics"], row["params"]),
            id=row["id"],
        )
        for row in golden(name)
        if row["type"] == "binary"
    ]


SCENARIOS = {
    f"S{number}": (mask([[40, 59]], 500), mask([run], 500))
    for number, run in enumerate(
        [[20, 39], [30, 49], [40, 59], [50, 69], [60, 79], [30, 69], [40, 49], [50, 59], [40, 54], [45, 59]], start=1
    )
}

# The F1 columns on predictions of the two scenario tables of the paper, S1 to S10.
PAPER = {
    "point": [0.00, 0.50, 1.00, 0.50, 0.00, 0.67, 0.67, 0.67, 0.86, 0.86],
    "point_adjusted": [0.00, 0.80, 1.00, 0.80, 0.00, 0.67, 1.00, 1.00, 1.00, 1.00],
    "range_based": [0.00, 0.60, 1.00, 0.60, 0.00, 0.75, 0.75, 0.75, 0.89, 0.89],
    "etapr": [0.00, 0.75, 1.00, 0.75, 0.00, 0.86, 0.86, 0.86, 0.93, 0.93],
    "affiliation": [0.94, 0.98, 1.00, 0.98, 0.94, 0.98, 0.99, 0.99, 1.00, 1.00],
}


def scenarios(column: str) -> list[Any]:
    """Labels, predictions and the printed F1 of one column, as pytest parameters."""
    return [
        pytest.param(labels, predictions, printed, id=name)
        for (name, (labels, predictions)), printed in zip(SCENARIOS.items(), PAPER[column], strict=True)
    ]
