"""Measure alternatives side by side in one process: machines are noisy, ratios less so.

With NumPy and the standard library alone, so that a process of another package's environment can use it, too.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from pathlib import Path

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


def peak_bytes(function: Callable[[], object]) -> int | None:
    """Memory that a call takes at its peak, beyond what the process had; None where the system does not tell.

    Linux keeps the highest resident size of a process and starts anew where it is asked to, so that memory which C code
    takes counts as well as NumPy's. What earlier calls left to the allocator is given back first, since it would serve
    this one.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _resident("VmRSS")
        function()
        return max(0, _resident("VmHWM") - before)
    except (OSError, AttributeError):
        return None


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field + ":"))


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
