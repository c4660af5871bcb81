"""Curves of an operator's interest, step by step."""

from __future__ import annotations

import math

from oracles.runs import f1_of, runs_of


def logistic(z):
    return 0.0 if z > 700 else 1 / (1 + math.exp(z))


def fade(i, n):
    if i == 0:
        return 1.0
    return 0.0 if n == 0 else logistic(10 * i / n - 5) / logistic(-5)


def curve(values, discovery, observation, bound):
    alerts = []  # lists of runs
    for run in runs_of(values):
        if alerts and run[0] - alerts[-1][-1][-1] <= observation:
            alerts[-1].append(run)
        else:
            alerts.append([run])
    found = []
    for t in range(len(values) + observation):
        before = [(step, alert[0][0]) for alert in alerts for run in alert for step in run if step <= t]
        if not before or t - before[-1][0] > observation:
            found.append(0.0)
            continue
        last, first = before[-1]
        interest = bound + (1 - bound) * fade(t - first, discovery)
        found.append(interest * fade(t - last, observation))
    return found


def operator_interest(labels, predictions, discovery=5, observation=20, bound=0.5):
    lengths = [len(event) for event in runs_of(labels)]
    if observation == "auto":
        observation = -(-sum(lengths) // len(lengths))
    if discovery == "auto":
        discovery = -(-sum(lengths) // (2 * len(lengths)))
    wanted = curve(labels, discovery, observation, bound)
    given = curve(predictions, discovery, observation, bound)
    shared = sum(min(pair) for pair in zip(wanted, given, strict=True))
    precision = shared / sum(given) if any(given) else 0.0
    recall = shared / sum(wanted)
    return precision, recall, f1_of(precision, recall)
