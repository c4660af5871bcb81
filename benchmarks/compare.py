"""How long `compare` takes, beside one `pate_ap` of the same series: wall-clock seconds of both.

python benchmarks/compare.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import pateval as pv

METRICS = ("pate_ap", "pate", "vus_pr", "average_precision", "auc_roc", "pate_f1", "point_f1", "affiliation_f1")


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest time of several calls."""
    times = []
    for _ in range(repeats):
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return min(times)


def two_detectors(steps: int, events: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels with events of at most 100 steps, and the scores of two detectors."""
    rng = np.random.default_rng(0)
    labels = np.zeros(steps, dtype=bool)
    for start in np.linspace(50, steps - 200, events).astype(int):
        labels[start : start + min(100, steps // events // 4)] = True
    return labels, rng.random(steps) + 0.5 * labels, rng.random(steps) + 0.3 * labels


def main() -> None:
    """Print the times."""
    for steps, events in ((1_200, 6), (200_000, 100), (1_000_000, 100), (1_000_000, 500)):
        labels, one, other = two_detectors(steps, events)
        single = seconds(lambda labels=labels, one=one: pv.pate_ap(labels, one))
        both = seconds(
            lambda labels=labels, one=one, other=other: pv.compare(labels, one, other, metrics=METRICS), repeats=2
        )
        print(f"{steps:>9,} steps, {events} events: {both:.2f} s, {both / single:.0f} x one pate_ap", flush=True)


if __name__ == "__main__":
    main()
