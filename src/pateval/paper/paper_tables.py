"""The numbers that the PATE paper prints, read from ``printed.json``, and the synthetic cases they stand for.

Experiments put them beside ours, and tests assert against them. Everything in that file was typed from the paper's
tables; no value was computed.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from pateval.labels.events import marked
from pateval.validation.arrays import BoolArray

_PRINTED = json.loads(files("pateval.paper").joinpath("printed.json").read_text(encoding="utf-8"))

# Ten synthetic scenarios, one event, a binary detector. Values S1 to S10 by metric id: the ten columns of the first
# table, and PATE-F1 of the second, whose other columns repeat the first.
_SCENARIOS = _PRINTED["scenarios"]
SCENARIO_STEPS: int = _SCENARIOS["steps"]
SCENARIO_EVENT: tuple[int, int] = tuple(_SCENARIOS["event"])
SCENARIO_BUFFER: int = _SCENARIOS["buffer"]
SCENARIO_FLAGGED: dict[str, tuple[int, int]] = {name: tuple(ends) for name, ends in _SCENARIOS["flagged"].items()}
SCENARIO_VALUES: dict[str, tuple[float, ...]] = {name: tuple(row) for name, row in _SCENARIOS["values"].items()}

# First table: its rows, and the functions of the catalogue that each stands for. What is ticked is kept there, as the
# claims of the paper beside what each metric rewards.
PROPERTY_ROWS: dict[str, list[str]] = _PRINTED["properties"]

# Two real series, four detectors each: by series, detector, then the five metrics.
REAL_WORLD_METRICS: list[str] = _PRINTED["real_world"]["metrics"]
REAL_WORLD_VALUES: dict[str, dict[str, list[float]]] = _PRINTED["real_world"]["values"]

# The big table: five detectors on four data sets under six metrics; and how our catalogues call them. Values by metric
# as printed, then data set, in the order of `DETECTORS`.
DETECTOR_NAMES: dict[str, str] = _PRINTED["impact"]["detectors"]
DETECTORS = tuple(DETECTOR_NAMES)
DATASETS: tuple[str, ...] = tuple(_PRINTED["impact"]["datasets"])
IMPACT_METRICS: dict[str, str] = _PRINTED["impact"]["metrics"]
IMPACT_VALUES: dict[str, dict[str, list[float]]] = _PRINTED["impact"]["values"]
# Mean ranks that the text states; it names none for USAD under PATE.
MEAN_RANKS: dict[str, dict[str, float]] = _PRINTED["impact"]["mean_ranks"]
# The big table's protocol: one pair of buffers, one window, windows of 100 steps and no incomplete one at the end.
IMPACT_BUFFER, IMPACT_VUS_WINDOW, IMPACT_CHUNK = 100, 200, 100


class BenchmarkTimes(NamedTuple):
    """A row of the paper's table of computing times, in seconds on its own machine."""

    steps: int
    anomalous_percent: int
    auc_pr: float
    vus_pr: float
    pate: float


BENCHMARK_TIMES = {name: BenchmarkTimes(**times) for name, times in _PRINTED["times"].items()}


def flagged(*stretches: tuple[int, int], steps: int = SCENARIO_STEPS) -> BoolArray:
    """Mark half-open stretches of steps."""
    starts, stops = np.array(stretches).T
    return marked(starts, stops, steps)


def scenarios() -> dict[str, tuple[BoolArray, BoolArray]]:
    """Labels and predictions of the ten scenarios."""
    return {name: (flagged(SCENARIO_EVENT), flagged(stretch)) for name, stretch in SCENARIO_FLAGGED.items()}


def impact_table(metric: str) -> list[list[float]]:
    """The big table under one metric: a row per data set, a column per detector."""
    return [IMPACT_VALUES[metric][dataset] for dataset in DATASETS]


def impact_cell(dataset: str, detector: str, metric: str) -> float | None:
    """One cell of the big table; None where the paper prints none."""
    if dataset not in DATASETS or metric not in IMPACT_VALUES or detector not in DETECTORS:
        return None
    return IMPACT_VALUES[metric][dataset][DETECTORS.index(detector)]
