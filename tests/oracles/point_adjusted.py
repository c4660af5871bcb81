"""Point adjustment and its variants: adjust the predictions, event by event, then count steps."""

from __future__ import annotations

from oracles.point import point
from oracles.runs import prf, runs_of


def adjusted(labels, predictions):
    result = list(predictions)
    for event in runs_of(labels):
        if any(predictions[t] for t in event):
            for t in event:
                result[t] = 1
    return result


def point_adjusted(labels, predictions):
    return point(labels, adjusted(labels, predictions))


def pa_auc_roc(labels, predictions):
    """Probability that an anomalous step outranks a normal one, ties counting half: the area under the ROC curve."""
    values = adjusted(labels, predictions)
    anomalous = [value for value, label in zip(values, labels, strict=True) if label]
    normal = [value for value, label in zip(values, labels, strict=True) if not label]
    wins = sum((a > n) + 0.5 * (a == n) for a in anomalous for n in normal)
    return wins / (len(anomalous) * len(normal))


def point_adjusted_k(labels, predictions, k):
    result = list(predictions)
    for event in runs_of(labels):
        if 100 * sum(int(predictions[t]) for t in event) > k * len(event):
            for t in event:
                result[t] = 1
    return point(labels, result)


def point_adjusted_k_area(labels, predictions):
    f1 = [point_adjusted_k(labels, predictions, k)[2] for k in range(101)]
    return sum((f1[k] + f1[k + 1]) / 2 for k in range(100)) / 100


def delay_adjusted(labels, predictions, delay):
    result = list(predictions)
    for event in runs_of(labels):
        in_time = any(predictions[t] for t in event[: delay + 1])
        for t in event:
            result[t] = int(in_time)
    return point(labels, result)


def spread(labels, predictions, width):
    steps = range(len(labels))
    marked = {t for t in steps if any(predictions[d] for d in steps if abs(d - t) <= width)}
    for event in runs_of(labels):
        if any(predictions[t] for t in event):
            marked |= set(event)
    return marked


def balanced_point_adjusted(labels, predictions, width=2):
    marked = spread(labels, predictions, width)
    anomalous = {t for t, label in enumerate(labels) if label}
    return prf(len(marked & anomalous), len(marked - anomalous), len(anomalous - marked))
