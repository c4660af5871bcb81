"""PATE, literally from its definition, in exact rational arithmetic: slow, and right by inspection.

Distances to an event are summed step by step as the paper does; nothing here uses a closed form.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Counts(NamedTuple):
    tp: Fraction
    fp: Fraction
    fn: Fraction


def find_events(labels, series=None):
    """Inclusive (first, last, series first, series last) of every event; a series boundary ends an event."""
    size = len(labels)
    series = [0] * size if series is None else list(series)
    events, t = [], 0
    while t < size:
        if not labels[t]:
            t += 1
            continue
        last = t
        while last + 1 < size and labels[last + 1] and series[last + 1] == series[t]:
            last += 1
        low, high = t, last
        while low > 0 and series[low - 1] == series[t]:
            low -= 1
        while high + 1 < size and series[high + 1] == series[t]:
            high += 1
        events.append((t, last, low, high))
        t = last + 1
    return events


def zones(events, early, delay):
    """For each event the first step of its early zone and the last step of its delayed zone."""
    result = []
    for k, (first, last, low, high) in enumerate(events):
        end = min(last + delay, high)
        if k + 1 < len(events) and events[k + 1][2] == low:
            end = min(end, events[k + 1][0] - 1)
        begin = max(first - early, low)
        if k > 0 and events[k - 1][2] == low:
            begin = max(begin, result[k - 1][1] + 1)
        result.append((begin, end))
    return result


def distance(t, first, last):
    """Summed distance of a step to all steps of an event."""
    return sum(abs(t - y) for y in range(first, last + 1))


def counts(labels, predictions, early, delay, series=None):
    """Weighted true positives, false positives and false negatives of 0/1 predictions."""
    events = find_events(labels, series)
    tp = fp = fn = Fraction(0)
    seen = set()
    for (first, last, _, _), (begin, end) in zip(events, zones(events, early, delay), strict=True):
        inside = range(first, last + 1)
        hits = [t for t in inside if predictions[t]]
        tp += len(hits)
        seen.update(range(begin, end + 1))
        for t in range(last + 1, end + 1):
            if predictions[t]:
                weight = 1 - Fraction(distance(t, first, last), distance(end, first, last))
                tp, fp = tp + weight, fp + 1 - weight
        for t in range(begin, first):
            if predictions[t]:
                weight = 1 - Fraction(distance(t, first, last), distance(begin, first, last)) if hits else Fraction(0)
                tp, fp = tp + weight, fp + 1 - weight
        if not hits:
            fn += len(inside)
            continue
        run = 0
        while hits[0] + run <= last and predictions[hits[0] + run]:
            run += 1
        for t in inside:
            if not predictions[t]:
                u = t - first
                if u <= run:
                    fn += 1
                else:
                    fn += 1 - Fraction(sum(u - k for k in range(run + 1)), sum(range(len(inside))))
    fp += sum(1 for t in range(len(labels)) if predictions[t] and t not in seen)
    return Counts(tp, fp, fn)


def ratio(part, whole):
    return Fraction(part) / whole if whole else Fraction(0)


def precision_recall(found):
    return ratio(found.tp, found.tp + found.fp), ratio(found.tp, found.tp + found.fn)


def curve(labels, scores, early, delay, series=None, thresholds=None):
    """(precision, recall) at each threshold, from the highest to the lowest; all distinct scores by default."""
    if thresholds is None:
        thresholds = sorted(set(scores), reverse=True)
    return [
        precision_recall(counts(labels, [s >= threshold for s in scores], early, delay, series))
        for threshold in thresholds
    ]


def cleaned(points):
    """Drop each point whose recall is below the highest recall so far."""
    kept, highest = [], Fraction(0)
    for precision, recall in points:
        if recall >= highest:
            kept.append((precision, recall))
            highest = recall
    return kept


def trapezoid(points):
    area, before = Fraction(0), (Fraction(1), Fraction(0))
    for precision, recall in cleaned(points):
        area += (recall - before[1]) * (precision + before[0]) / 2
        before = precision, recall
    return area


def average_precision(points):
    area, before = Fraction(0), Fraction(0)
    for precision, recall in cleaned(points):
        area += (recall - before) * precision
        before = recall
    return area


def mean_over_buffers(function, early, delay):
    values = [function(e, d) for e in early for d in delay]
    return float(sum(values) / len(values))


def pate(labels, scores, early, delay, series=None, thresholds=None):
    return mean_over_buffers(lambda e, d: trapezoid(curve(labels, scores, e, d, series, thresholds)), early, delay)


def pate_ap(labels, scores, early, delay, series=None, thresholds=None):
    return mean_over_buffers(
        lambda e, d: average_precision(curve(labels, scores, e, d, series, thresholds)), early, delay
    )


def pate_f1(labels, predictions, early, delay, series=None):
    def f1(e, d):
        precision, recall = precision_recall(counts(labels, predictions, e, d, series))
        return ratio(2 * precision * recall, precision + recall)

    return mean_over_buffers(f1, early, delay)
