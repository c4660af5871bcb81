"""Cases with scores: golden files decoded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import golden
from support.cases import mask


class ScoreCase(NamedTuple):
    labels: np.ndarray
    scores: np.ndarray
    metrics: dict[str, Any]
    params: dict[str, Any]
    derived: dict[str, Any]


def score_cases(name: str) -> list[Any]:
    """Cases with an anomaly, as pytest parameters named after the case; binary predictions serve as scores."""
    found = []
    for row in golden(name):
        labels = mask(row["label_runs"], row["T"])
        scores = np.array(row["scores"]) if "scores" in row else mask(row["pred_runs"], row["T"]).astype(float)
        if labels.any():
            case = ScoreCase(labels, scores, row["metrics"], row["params"], row.get("derived", {}))
            found.append(pytest.param(case, id=row["id"]))
    return found


def number(value: Any) -> float | None:
    """A golden value, or None where the reference has none."""
    return None if value is None or isinstance(value, str) else float(value)
