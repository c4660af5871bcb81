"""Range-based precision and recall: every pair of ranges, every position."""

from __future__ import annotations

from oracles.runs import f1_of, runs_of


def weight(position, length, bias):
    """Weight of the position, counted from 1."""
    return {
        "flat": 1,
        "front": length - position + 1,
        "back": position,
        "middle": min(position, length - position + 1),
    }[bias]


def reward(target, others, alpha, cardinality, bias):
    touching = [other for other in others if set(other) & set(target)]
    if not touching:
        return 0.0
    length = len(target)
    total = sum(weight(i, length, bias) for i in range(1, length + 1))
    size = sum(sum(weight(t - target[0] + 1, length, bias) for t in target if t in other) / total for other in touching)
    gamma = 1 / len(touching) if cardinality == "reciprocal" else 1
    return alpha + (1 - alpha) * gamma * size


def range_based(labels, predictions, alpha=0.0, precision_alpha=0.0, cardinality="one", bias="flat"):
    events, alarms = runs_of(labels), runs_of(predictions)
    recall = sum(reward(event, alarms, alpha, cardinality, bias) for event in events) / len(events)
    precision = 0.0
    if alarms:
        precision = sum(reward(alarm, events, precision_alpha, cardinality, bias) for alarm in alarms) / len(alarms)
    return precision, recall, f1_of(precision, recall)
