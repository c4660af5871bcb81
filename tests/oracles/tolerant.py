"""Every anomalous step against every predicted one."""

from __future__ import annotations

from oracles.runs import f1_of


def steps(values):
    return [t for t, value in enumerate(values) if value]


def time_tolerant(labels, predictions, tolerance):
    anomalous, predicted = steps(labels), steps(predictions)
    covered = [t for t in anomalous if any(abs(t - s) <= tolerance for s in predicted)]
    correct = [s for s in predicted if any(abs(t - s) <= tolerance for t in anomalous)]
    precision = len(correct) / len(predicted) if predicted else 0.0
    recall = len(covered) / len(anomalous)
    return precision, recall, f1_of(precision, recall)


def temporal_distance(labels, predictions):
    anomalous, predicted = steps(labels), steps(predictions)
    total = sum(min((abs(t - s) for s in predicted), default=len(labels)) for t in anomalous)
    return total + sum(min((abs(t - s) for t in anomalous), default=len(labels)) for s in predicted)
