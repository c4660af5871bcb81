"""Golden values of the newer metrics, decoded: what each function must return, and with which options."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import golden
from support.cases import mask

FILES = (
    "affiliation_chance",
    "balanced_point_adjusted",
    "channel_ranking",
    "confidence_consistency",
    "detection_quality",
    "detection_quality_predictions",
    "esa_channels",
    "esa_events",
    "event_weighted",
    "event_weighted_scores",
    "operator_interest",
    "soft_event",
    "szcore",
)


class NewerCase(NamedTuple):
    labels: np.ndarray
    second: np.ndarray
    expected: list[tuple[str, dict[str, Any], Any]]  # function, options, value; None where it must be undefined
    tolerance: float


def newer_cases(file: str) -> list[Any]:
    """All cases of a golden file, as pytest parameters named after the case."""
    return [pytest.param(decoded(row), id=row["id"]) for row in golden(f"newer/{file}")]


def decoded(row: dict[str, Any]) -> NewerCase:
    """One line of a golden file."""
    labels = _marked(row, "label_runs")
    second = np.array(row["scores"], dtype=float) if "scores" in row else _marked(row, "pred_runs")
    expected = []
    for entry in row["expected"]:
        options = dict(entry["options"])
        if options.get("anomalies") == "@anomalies":
            options["anomalies"] = _anomalies(row)
        expected.append((entry["function"], options, _value(entry["value"])))
    return NewerCase(labels, second, expected, row["origin"].get("tolerance", 1e-9))


def _marked(row: dict[str, Any], key: str) -> np.ndarray:
    if "channels" not in row:
        return mask(row[key], row["T"])
    return np.column_stack([mask(runs, row["T"]) for runs in row[key]])


def _anomalies(row: dict[str, Any]) -> np.ndarray:
    numbers = np.zeros((row["T"], row["channels"]), dtype=int)
    for number, channel, first, last in row["anomaly_runs"]:
        numbers[first : last + 1, channel] = number
    return numbers


def _value(value: Any) -> Any:
    if value == "undefined":
        return None
    if isinstance(value, dict):
        return tuple(value[name] for name in ("precision", "recall", "f1"))
    return _numbers(value)


def _numbers(value: Any) -> Any:
    return [_numbers(item) for item in value] if isinstance(value, list) else float(value)
