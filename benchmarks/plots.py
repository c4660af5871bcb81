"""How long a figure of a long series takes, from arrays to PNG bytes.

    python benchmarks/plots.py [--steps 1000000]

Random scores are the worst case: every column of the picture is full of spikes. The time of importing matplotlib is
measured apart.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pateval as pv

REPEATS = 3


def seconds(draw: Callable[[], Any]) -> float:
    """Best of some runs, the figure made and rendered."""
    taken = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        axes = np.ravel(np.asarray(draw(), dtype=object))
        with pv.plots.style():
            axes[0].figure.savefig(io.BytesIO(), format="png")
        taken.append(time.perf_counter() - begin)
    return min(taken)


def main() -> None:
    """Print a line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    labels = np.zeros(steps, dtype=bool)
    for start in rng.integers(0, steps - 200, steps // 2000):
        labels[start : start + rng.integers(1, 200)] = True
    scores = rng.random(steps)
    values = np.cumsum(rng.normal(size=steps))
    times = np.datetime64("2024-01-01") + np.arange(steps).astype("timedelta64[m]")
    begin = time.perf_counter()
    with pv.plots.style():
        pass
    print(f"importing matplotlib                  {time.perf_counter() - begin:6.2f} s")
    explained = pv.explain(labels, scores > 0.95, early=100, delay=100)
    curve = pv.pate_curve(labels, scores, early=100, delay=100)
    figures: dict[str, Callable[[], Any]] = {
        "series, scores": lambda: pv.plots.series(labels, scores, early=100, delay=100, threshold=0.95),
        "series, values, scores, times": lambda: pv.plots.series(
            labels, scores, values=values, early=100, delay=100, threshold=0.95, times=times
        ),
        "categories": lambda: pv.plots.categories(explained),
        "precision-recall": lambda: pv.plots.precision_recall(curve, threshold=0.95),
        "score distribution": lambda: pv.plots.score_distribution(labels, scores, threshold=0.95),
    }
    print(f"{steps:,} steps, {len(explained.events):,} events, to PNG, best of {REPEATS}")
    for name, draw in figures.items():
        print(f"{name:36}  {seconds(draw):6.2f} s")


if __name__ == "__main__":
    main()
