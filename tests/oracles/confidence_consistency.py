"""How sure and how steady scores are, run by run and over all."""

from __future__ import annotations

import math

from oracles.runs import runs_of


def confidence(values):
    """Mean minus one half, damped by the population variance."""
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return (mean - 0.5) * math.exp(-variance)


def confidence_consistency(labels, scores):
    low, high = min(scores), max(scores)
    scaled = [(score - low) / (high - low) if high > low else 0.0 for score in scores]
    total = 0.0
    for sign, wanted in ((1, 1), (-1, 0)):
        members = [int(bool(label) == bool(wanted)) for label in labels]
        inside = runs_of(members)
        total += sign * sum(confidence([scaled[t] for t in run]) for run in inside) / len(inside)
        total += sign * confidence([scaled[t] for run in inside for t in run])
    return total / 2
