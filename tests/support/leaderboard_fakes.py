"""Stand-ins for `evaluate` that worker processes can import: slow, counting, deadly, broken."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

import numpy as np

METRICS = ("gap", "lag")


def compute(plan, settings, facts, *, executor=None, workers=1, **options):
    """Run a plan in a way of its own."""
    from pateval.leaderboards.executors import Crew
    from pateval.leaderboards.run import compute as run

    with Crew(executor, workers) as crew:
        return run(plan, settings, facts, crew=crew, **options)


class Found(dict):
    """Values with reasons, as `evaluate` gives them."""

    reasons: dict[str, str]


def plain(labels, scores, *, metrics, **parameters):
    """Two metrics that need no package: difference of means (higher is better), distance of peaks (lower)."""
    found = Found()
    found.reasons = {}
    for metric in metrics:
        if not labels.any():
            found[metric] = math.nan
            found.reasons[metric] = "the labels hold no anomaly"
        elif metric == "gap":
            found[metric] = float(scores[labels].mean() - scores[~labels].mean()) * parameters.get("scale", 1)
        else:
            found[metric] = float(abs(int(np.argmax(scores)) - int(np.argmax(labels))))
    return found


def counting(labels, scores, *, metrics, log, pause=0.0, **parameters):
    """Write one line per call, then compute; the line is complete or absent."""
    time.sleep(pause)
    with Path(log).open("a") as file:
        file.write(f"{scores.size} {float(scores.sum()):.6f} {','.join(metrics)}\n")
    return plain(labels, scores, metrics=metrics, **parameters)


def deadly(labels, scores, *, metrics, **parameters):
    """Kill the process on a series whose first score is -1."""
    if scores[0] == -1:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(labels, scores, metrics=metrics, **parameters)


def deadly_once(labels, scores, *, metrics, flag, **parameters):
    """Kill the process the first time a series with first score -1 comes."""
    if scores[0] == -1 and not Path(flag).exists():
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(labels, scores, metrics=metrics, **parameters)


def broken(labels, scores, *, metrics, **parameters):
    """Fail in one metric on one series."""
    if "lag" in metrics and scores[0] == -1:
        raise ZeroDivisionError("no lag\nat all")
    return plain(labels, scores, metrics=metrics, **parameters)


def pate_alone(labels, scores, *, metrics, early, delay):
    """The two metrics that can be pooled, by their own functions."""
    from pateval.pate.score import pate, pate_ap

    found = Found()
    found.reasons = {}
    for metric in metrics:
        if labels.any():
            found[metric] = {"pate": pate, "pate_ap": pate_ap}[metric](labels, scores, early=early, delay=delay)
        else:
            found[metric] = math.nan
            found.reasons[metric] = "the labels hold no anomaly"
    return found
