"""Golden rows, compared and written down: what the page "Where libraries disagree" is made of."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pateval as pv

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
TOLERANCE = 1e-6  # one of the references computes with 32 bits


@dataclass(frozen=True)
class Row:
    """One golden case."""

    labels: np.ndarray
    second: np.ndarray
    values: dict[str, Any]
    errors: dict[str, str]
    kind: str
    inputs: str

    @property
    def size(self) -> int:
        """Number of time steps."""
        return int(self.labels.size)


@dataclass(frozen=True)
class Difference:
    """Two answers to the same question, over all golden rows where both exist."""

    rows: int
    differ: int
    largest: float
    example: Row | None


def read(name: str) -> list[Row]:
    """Read the cases of one golden file."""
    found = []
    for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines():
        case = json.loads(line)
        labels = mask(case["label_runs"], case["T"])
        second = np.array(case["scores"]) if "scores" in case else mask(case["pred_runs"], case["T"])
        values = {**case["metrics"], **case.get("derived", {}), **case["params"]}
        inputs = "" if "scores" in case else f"events {runs(case['label_runs'])}, predicted {runs(case['pred_runs'])}"
        found.append(Row(labels, second, values, case["errors"], case["input_kind"], inputs))
    return found


def mask(inclusive: list[list[int]], size: int) -> np.ndarray:
    """Mark inclusive runs."""
    marked = np.zeros(size, dtype=int)
    for first, last in inclusive:
        marked[first : last + 1] = 1
    return marked


def runs(inclusive: list[list[int]]) -> str:
    """Runs as a reader would write them."""
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in inclusive) or "none"


def number(value: Any) -> float:
    """A golden value; NaN where the reference has none."""
    return math.nan if value is None or isinstance(value, str) else float(value)


def compare(rows: list[Row], one: str | Callable[[Row], float], other: str | Callable[[Row], float]) -> Difference:
    """Compare two golden fields, or functions of a row; the example is the shortest row on which they differ."""

    def value(row: Row, what: str | Callable[[Row], float]) -> float:
        if isinstance(what, str):
            return number(row.values.get(what))
        try:
            return what(row)
        except pv.UndefinedMetricError:
            return math.nan

    pairs = [(value(row, one), value(row, other), row) for row in rows]
    pairs = [pair for pair in pairs if not math.isnan(pair[0] + pair[1])]
    gaps = [abs(first - second) for first, second, _ in pairs]
    differing = [row for gap, (_, _, row) in zip(gaps, pairs, strict=True) if gap > TOLERANCE]
    # The shortest that says something: not one where a detector is simply silent.
    example = min(differing, key=lambda row: (not row.second.any(), row.size), default=None)
    return Difference(len(pairs), len(differing), max(gaps, default=0.0), example)


def counted(difference: Difference) -> str:
    """A difference in words."""
    if not difference.differ:
        return f"equal on all {difference.rows} rows"
    return f"different on {difference.differ} of {difference.rows} rows, by up to {difference.largest:.2f}"


def figure(value: Any) -> str:
    """A value to three decimals."""
    plain = number(value)
    return (
        "none"
        if math.isnan(plain)
        else f"{plain:.3f}".rstrip("0").rstrip(".")
        if plain != round(plain)
        else f"{plain:.0f}"
    )


def table(columns: list[str], body: list[list[str]]) -> Iterator[str]:
    """A Markdown table."""
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in body:
        yield f"| {' | '.join(row)} |"
    yield ""


def prose(*parts: str) -> Iterator[str]:
    """A paragraph, wrapped."""
    yield from textwrap.wrap(" ".join(parts), width=118, break_long_words=False, break_on_hyphens=False)
