"""Metrics of a user's own that worker processes can import: plain, counting, deadly, broken.

What they are to do beside computing is told by environment variables, which workers inherit.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

import pateval as pv

LOG, PAUSE, FLAG = "LEADERBOARD_LOG", "LEADERBOARD_PAUSE", "LEADERBOARD_FLAG"


def gap_of_means(labels, scores, *, scale=1.0):
    """Difference of means inside and outside of events."""
    _log("gap", scores)
    if not labels.any():
        raise pv.UndefinedMetricError("the labels hold no anomaly")
    return scale * (scores[labels].mean() - scores[~labels].mean())


def lag_of_peak(labels, scores):
    """Distance of the highest score from the first anomaly."""
    _log("lag", scores)
    if not labels.any():
        raise pv.UndefinedMetricError("the labels hold no anomaly")
    return abs(int(np.argmax(scores)) - int(np.argmax(labels)))


def deadly_gap(labels, scores):
    """Kill the process on a series whose first score is -1."""
    if scores[0] == -1:
        os.kill(os.getpid(), signal.SIGKILL)
    return gap_of_means(labels, scores)


def deadly_gap_once(labels, scores):
    """Kill the process the first time a series with first score -1 comes."""
    flag = Path(os.environ[FLAG])
    if scores[0] == -1 and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return gap_of_means(labels, scores)


def broken_lag(labels, scores):
    """Fail on a series whose first score is -1."""
    if scores[0] == -1:
        raise ZeroDivisionError("no lag\nat all")
    return lag_of_peak(labels, scores)


def _log(name, scores):
    """Write one line per call, complete or not at all, after a pause."""
    if LOG in os.environ:
        time.sleep(float(os.environ.get(PAUSE, "0")))
        with Path(os.environ[LOG]).open("a") as file:
            file.write(f"{name} {scores.size} {float(scores.sum()):.6f}\n")


def _gap(function):
    return pv.define_metric(function, id="gap", takes="scores", high=1)


def _lag(function):
    return pv.define_metric(function, id="lag", takes="scores", higher_is_better=False, low=0)


gap, lag = _gap(gap_of_means), _lag(lag_of_peak)
PLAIN = (gap, lag)
DEADLY = (_gap(deadly_gap), lag)
DEADLY_ONCE = (_gap(deadly_gap_once), lag)
BROKEN = (gap, _lag(broken_lag))
