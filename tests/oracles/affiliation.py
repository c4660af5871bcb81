"""Affiliation: integrals over quarter steps.

All break points of the integrands are multiples of a quarter step, and between them the integrands are linear, so
the midpoint rule on quarter steps is exact.
"""

from __future__ import annotations

import math
from itertools import pairwise

from oracles.runs import f1_of, runs_of

CELL = 0.25


def midpoints(low, high):
    return [low + (i + 0.5) * CELL for i in range(round((high - low) / CELL))]


def distance(x, intervals):
    return min(max(low - x, x - high, 0.0) for low, high in intervals)


def zones(events, length):
    borders = [0.0]
    borders += [(left[1] + right[0]) / 2 for left, right in pairwise(events)]
    return list(zip(borders, [*borders[1:], float(length)], strict=True))


def precision_of(event, zone, inside):
    """Share of the zone that is no nearer to the event than x, averaged over the predictions."""
    total = 0.0
    points = [x for low, high in inside for x in midpoints(low, high)]
    for x in points:
        gap = distance(x, [event])
        no_nearer = (
            max(event[0] - gap - zone[0], 0.0) + max(zone[1] - event[1] - gap, 0.0) if gap else zone[1] - zone[0]
        )
        total += no_nearer / (zone[1] - zone[0])
    return total / len(points)


def recall_of(event, zone, inside):
    """Share of the zone that is no nearer to y than the predictions are, averaged over the event."""
    total = 0.0
    points = midpoints(*event)
    for y in points:
        gap = distance(y, inside)
        total += (max(y - gap - zone[0], 0.0) + max(zone[1] - y - gap, 0.0)) / (zone[1] - zone[0])
    return total / len(points)


def affiliation_events(labels, predictions):
    events = [(float(run[0]), float(run[-1] + 1)) for run in runs_of(labels)]
    alarms = [(float(run[0]), float(run[-1] + 1)) for run in runs_of(predictions)]
    precisions, recalls = [], []
    for event, zone in zip(events, zones(events, len(labels)), strict=True):
        inside = [(max(low, zone[0]), min(high, zone[1])) for low, high in alarms if low < zone[1] and high > zone[0]]
        precisions.append(precision_of(event, zone, inside) if inside else math.nan)
        recalls.append(recall_of(event, zone, inside) if inside else 0.0)
    return precisions, recalls


def affiliation(labels, predictions):
    precisions, recalls = affiliation_events(labels, predictions)
    defined = [value for value in precisions if not math.isnan(value)]
    precision = sum(defined) / len(defined) if defined else 0.0
    recall = sum(recalls) / len(recalls)
    return precision, recall, f1_of(precision, recall)


def above(precision, recall, chance):
    raised = (precision - chance) / (1 - chance)
    if not abs(raised) + recall:
        return raised, recall, 0.0
    size = 2 * abs(raised) * recall / (abs(raised) + recall)
    return raised, recall, size if raised >= 0 else -size


def normalised_affiliation(labels, predictions):
    if not any(predictions):
        return 0.0, 0.0, 0.0
    precision, recall, _ = affiliation(labels, predictions)
    return above(precision, recall, 0.5)


def unbiased_affiliation(labels, predictions):
    if not any(predictions):
        return 0.0, 0.0, 0.0
    precision, recall, _ = affiliation(labels, predictions)
    chance, _, _ = affiliation(labels, [1] * len(labels))
    return above(precision, recall, chance)
