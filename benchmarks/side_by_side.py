"""Measure alternatives side by side in one process: machines are noisy, ratios less so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

# Threads of the linear algebra library spin for a while when they are done, at the expense of whoever is timed next.
_SPINNING = 0.15


def cpu_seconds(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """Best CPU time of each function, taking turns so that all meet the same machine."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for place, function in enumerate(functions):
            time.sleep(_SPINNING)
            begin = time.process_time()
            function()
            best[place] = min(best[place], time.process_time() - begin)
    return best


def labelled_scores(
    steps: int, *, share: float = 0.05, length: int = 125, seed: int = 0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Random-ish scores, somewhat higher inside events of ``length`` steps that make up ``share`` of all steps."""
    rng = np.random.default_rng(seed)
    number = max(1, int(steps * share / length))
    room = steps // number
    starts = np.arange(number) * room + rng.integers(0, room - length, number)
    labels = np.zeros(steps, dtype=np.int64)
    for start in starts:
        labels[start : start + length] = 1
    return labels, rng.random(steps) + 0.3 * labels * rng.random(steps)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
