"""Latency- and sparsity-aware counts: shrink the series window by window, fill each event from its first hit on."""

from __future__ import annotations

from oracles.runs import prf, runs_of


def counts(labels, predictions, window):
    """Windows that are true positive, false positive and false negative."""
    labels = [int(any(labels[t : t + window])) for t in range(0, len(labels), window)]
    predictions = [int(any(predictions[t : t + window])) for t in range(0, len(predictions), window)]
    for event in runs_of(labels):
        seen = False
        for w in event:
            seen = seen or bool(predictions[w])
            predictions[w] = int(seen)
    pairs = list(zip(labels, predictions, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((1, 0))


def latency_sparsity_aware(labels, predictions, window):
    return prf(*counts(labels, predictions, window))
