"""TaPR and eTaPR: the full matrix of overlap scores, step by step."""

from __future__ import annotations

import math

from oracles.runs import f1_of, runs_of


def zone_credits(event, following, span):
    """Credit of each step of the zone after the event."""
    first, last = event[-1] + 1, event[-1] + 1 + span
    if following is not None and last > following[0]:
        last = following[0] - 1
    if last <= first:
        return {}
    return {t: 1 / (1 + math.exp(-6 + 12 * (t - first) / (last - first))) for t in range(first, last + 1)}


def overlap_matrix(events, alarms, spans):
    matrix = []
    for i, event in enumerate(events):
        zone = zone_credits(event, events[i + 1] if i + 1 < len(events) else None, spans[i])
        matrix.append(
            [sum(t in event for t in alarm) + sum((zone[t] for t in alarm if t in zone), 0.0) for alarm in alarms]
        )
    return matrix


def tapr(labels, predictions, theta=0.5, delta=0, alpha=0.5):
    events, alarms = runs_of(labels), runs_of(predictions)
    matrix = overlap_matrix(events, alarms, [delta] * len(events))
    covered = [min(1.0, sum(row) / len(event)) for row, event in zip(matrix, events, strict=True)]
    correct = [sum(row[j] for row in matrix) / len(alarm) for j, alarm in enumerate(alarms)]

    def blend(values):
        return alpha * sum(v >= theta for v in values) / len(values) + (1 - alpha) * sum(values) / len(values)

    recall = blend(covered)
    precision = blend(correct) if correct else 0.0
    return precision, recall, f1_of(precision, recall)


def etapr(labels, predictions, theta_p=0.5, theta_r=0.1, delta=0.0):
    events, alarms = runs_of(labels), runs_of(predictions)
    if not alarms:
        return 0.0, 0.0, 0.0
    matrix = overlap_matrix(events, alarms, [int(delta * (len(event) - 1)) for event in events])

    def rows():
        return [sum(row) / len(event) for row, event in zip(matrix, events, strict=True)]

    def columns():
        return [sum(row[j] for row in matrix) / len(alarm) for j, alarm in enumerate(alarms)]

    changed = True
    while changed:
        changed = False
        for i, covered in enumerate(rows()):
            if 0 < covered < theta_r:
                matrix[i] = [0.0] * len(alarms)
                changed = True
        for j, correct in enumerate(columns()):
            if 0 < correct < theta_p:
                for row in matrix:
                    row[j] = 0.0
                changed = True
    recall = sum((1 + min(r, 1.0)) / 2 for r in rows() if r >= theta_r) / len(events)
    weights = [math.sqrt(len(alarm)) for alarm in alarms]
    precision = sum(w * (1 + p) / 2 for w, p in zip(weights, columns(), strict=True) if p >= theta_p) / sum(weights)
    return precision, recall, f1_of(precision, recall)
