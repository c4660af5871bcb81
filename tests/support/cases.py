"""Cases with 0/1 predictions: golden files decoded, and the ten scenarios of the PATE paper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import golden
from pateval.paper import paper_tables
from pateval.paper.paper_tables import SCENARIO_VALUES


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


SCENARIOS = paper_tables.scenarios()


def scenarios(column: str) -> list[Any]:
    """Labels, predictions and the printed F1 of one column, as pytest parameters."""
    return [
        pytest.param(labels, predictions, printed, id=name)
        for (name, (labels, predictions)), printed in zip(
            SCENARIOS.items(), SCENARIO_VALUES[f"{column}_f1"], strict=True
        )
    ]
