"""Metrics as a user would write them, in a file of their own."""

from __future__ import annotations

import numpy as np

import pateval as pv


def flagged_share(labels, predictions, *, scale=1.0):
    """Share of steps that are flagged."""
    return scale * predictions.mean()


def highest_inside(labels, scores):
    """Whether the highest score lies in an event; undefined where it is shared."""
    if np.count_nonzero(scores == scores.max()) > 1:
        raise pv.UndefinedMetricError("the highest score is shared")
    return labels[scores.argmax()]


def halves(labels, predictions):
    """Precision and recall of the first half of the steps."""
    half = labels.size // 2
    return pv.point(labels[:half], predictions[:half])


def not_a_number(labels, scores):
    return float("nan")


def text(labels, scores):
    return "good"


def writes(labels, scores):
    labels[0] = True
    return 0.0


def mean_buffer(labels, scores, *, early=(0, 100), delay=7, window=3):
    """Not a metric, but it tells which options reached it."""
    return float(np.sum(early) * 10_000 + delay * 100 + window)


def series_seen(labels, scores, *, series=None):
    return 1.0 if series is None else float(np.unique(series).size)


def no_kind(truth, values):
    return 0.0


def required(labels, scores, weight):
    return weight


def starred(labels, scores, **kwargs):
    return 0.0


def reserved(labels, scores, *, definition=1):
    return 0.0


cost = pv.define_metric(flagged_share, id="cost", takes="predictions", higher_is_better=False, low=0, high=1)
