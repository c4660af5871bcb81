"""Predictions that spread by a few steps, and fill the events that they hit."""

from __future__ import annotations

from oracles.runs import prf, runs_of


def adjusted(labels, predictions, width):
    steps = range(len(labels))
    marked = {t for t in steps if any(predictions[d] for d in steps if abs(d - t) <= width)}
    for event in runs_of(labels):
        if any(predictions[t] for t in event):
            marked |= set(event)
    return marked


def balanced_point_adjusted(labels, predictions, width=2):
    marked = adjusted(labels, predictions, width)
    anomalous = {t for t, label in enumerate(labels) if label}
    return prf(len(marked & anomalous), len(marked - anomalous), len(anomalous - marked))
