"""The NAB score, walking through the series."""

from __future__ import annotations

import math

from oracles.runs import runs_of

WEIGHTS = {"standard": (1.0, 0.11, 1.0), "low_fp": (1.0, 0.22, 1.0), "low_fn": (1.0, 0.11, 2.0)}


def sigma(x):
    return -1.0 if x > 3 else 2 / (1 + math.exp(5 * x)) - 1


def nab(labels, predictions, profile="standard", probation=0.15):
    gain, alarm, miss = WEIGHTS[profile]
    unscored = min(math.floor(probation * len(labels)), probation * 5000)
    windows = runs_of(labels)
    scored = [t for t in range(len(labels)) if t >= unscored]
    raw, silent = 0.0, 0.0
    for window in windows:
        if not any(t in scored for t in window):
            continue
        silent -= miss
        worth = [
            gain * sigma(-(window[-1] - t + 1) / len(window)) / sigma(-1)
            for t in window
            if t in scored and predictions[t]
        ]
        raw += max(worth) if worth else -miss
    for t in scored:
        if predictions[t] and not labels[t]:
            before = [window for window in windows if window[-1] < t]
            raw += alarm * sigma((t - before[-1][-1]) / (len(before[-1]) - 1)) if before else -alarm
    return 100 * (raw - silent) / (gain * len(windows) - silent)
