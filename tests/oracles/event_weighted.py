"""Events that count as some points, threshold by threshold."""

from __future__ import annotations

from oracles.runs import f1_of, prf, runs_of


def points(length, weight, base):
    """What an event of a length counts."""
    if weight == "one":
        return 1
    if weight == "length":
        return length
    if weight == "sqrt":
        return max(n for n in range(length + 1) if n * n <= length)
    exponent = 0
    while base ** (exponent + 1) <= length + base:
        exponent += 1
    return exponent


def counts(labels, predictions, weight, base, delay):
    true_positive = false_negative = 0
    for event in runs_of(labels):
        in_time = event if delay is None else event[: delay + 1]
        if any(predictions[t] for t in in_time):
            true_positive += points(len(event), weight, base)
        else:
            false_negative += points(len(event), weight, base)
    false_positive = sum(1 for label, value in zip(labels, predictions, strict=True) if value and not label)
    return true_positive, false_positive, false_negative


def event_weighted(labels, predictions, weight="log", base=3, delay=None):
    return prf(*counts(labels, predictions, weight, base, delay))


def at_every_score(labels, scores, weight, base, delay):
    """Precision and recall at every distinct score, highest first."""
    for level in sorted(set(scores), reverse=True):
        flagged = [score >= level for score in scores]
        yield event_weighted(labels, flagged, weight, base, delay)[:2]


def event_weighted_best_f1(labels, scores, weight="log", base=3, delay=None):
    return max(f1_of(*pair) for pair in at_every_score(labels, scores, weight, base, delay))


def event_weighted_average_precision(labels, scores, weight="log", base=3, delay=None):
    area = before = 0.0
    for precision, recall in at_every_score(labels, scores, weight, base, delay):
        area += (recall - before) * precision
        before = recall
    return area


def pa_average_precision(labels, scores):
    """Average precision of single steps, after each event took its highest score."""
    adjusted = list(scores)
    for event in runs_of(labels):
        for t in event:
            adjusted[t] = max(scores[step] for step in event)
    area = before = 0.0
    for level in sorted(set(adjusted), reverse=True):
        flagged = [label for label, score in zip(labels, adjusted, strict=True) if score >= level]
        recall = sum(flagged) / sum(labels)
        area += (recall - before) * sum(flagged) / len(flagged)
        before = recall
    return area
