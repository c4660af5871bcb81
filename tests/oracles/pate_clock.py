"""PATE on a clock, literally from its definition, in exact rational arithmetic.

Times are fractions; steps that are ignored are left out, those that are left keep their times. Two neighbouring steps
belong together unless they are of different series or further apart than ``max_gap``; events are also cut where a step
was ignored. The curve and its areas are those of `oracles.pate`.
"""

from __future__ import annotations

from fractions import Fraction

from oracles.pate import Counts, average_precision, mean_over_buffers, precision_recall, ratio, trapezoid


def stretches(series, times, ignored, max_gap):
    """Kept steps, as lists of step numbers between which zones may reach."""
    found = []
    for t in range(len(times)):
        if ignored[t]:
            continue
        if found:
            last = found[-1][-1]
            if series[last] == series[t] and (max_gap is None or times[t] - times[last] <= max_gap):
                found[-1].append(t)
                continue
        found.append([t])
    return found


def events_of(stretch, labels):
    """Lists of step numbers; neighbours in an event are neighbours in the recording."""
    found, before = [], None
    for t in stretch:
        if labels[t]:
            if before == t - 1 and labels[t - 1]:
                found[-1].append(t)
            else:
                found.append([t])
        before = t
    return found


def counts(labels, predictions, early, delay, times, series=None, ignored=None, max_gap=None):
    """Weighted true positives, false positives and false negatives of 0/1 predictions."""
    size = len(labels)
    series = [0] * size if series is None else series
    ignored = [False] * size if ignored is None else ignored
    tp = fp = fn = Fraction(0)
    for stretch in stretches(series, times, ignored, max_gap):
        events = events_of(stretch, labels)
        weights = {}
        end_before = None  # the end of the delayed zone of the event before
        for k, event in enumerate(events):
            first, last = event[0], event[-1]
            centre = Fraction(times[first] + times[last]) / 2
            hits = [t for t in event if predictions[t]]
            free = [t for t in stretch if t > last and (k + 1 == len(events) or t < events[k + 1][0])]
            end = min(times[last] + delay, times[free[-1]]) if free else times[last]
            for t in free:
                if times[t] <= end:
                    weights[t] = Fraction(end - times[t]) / (end - centre)
            behind = -1 if k == 0 else events[k - 1][-1]
            ahead = [t for t in stretch if behind < t < first and (end_before is None or times[t] > end_before)]
            if ahead:
                begin = max(times[first] - early, times[ahead[0]])
                for t in ahead:
                    if times[t] >= begin:
                        weights[t] = Fraction(times[t] - begin) / (centre - begin) if hits else Fraction(0)
            end_before = end
            tp += len(hits)
            fn += missed(event, predictions, hits)
        for t in stretch:
            if predictions[t] and not labels[t]:
                weight = weights.get(t, Fraction(0))
                tp, fp = tp + weight, fp + 1 - weight
    return Counts(tp, fp, fn)


def missed(event, predictions, hits):
    """Weight of the missed steps of one event: by step, whatever the clock says."""
    if not hits:
        return Fraction(len(event))
    run, place = 0, event.index(hits[0])
    while place + run < len(event) and predictions[event[place + run]]:
        run += 1
    total = Fraction(0)
    for u, t in enumerate(event):
        if not predictions[t]:
            total += 1 if u <= run else 1 - Fraction(sum(u - k for k in range(run + 1)), sum(range(len(event))))
    return total


def curve(labels, scores, early, delay, times, series=None, ignored=None, max_gap=None):
    kept = [score for place, score in enumerate(scores) if ignored is None or not ignored[place]]
    thresholds = sorted({score for score in kept if score is not None}, reverse=True)
    return [
        precision_recall(
            counts(
                labels,
                [score is not None and score >= threshold for score in scores],
                early,
                delay,
                times,
                series,
                ignored,
                max_gap,
            )
        )
        for threshold in thresholds
    ]


def pate(labels, scores, early, delay, *clock):
    return mean_over_buffers(lambda e, d: trapezoid(curve(labels, scores, e, d, *clock)), early, delay)


def pate_ap(labels, scores, early, delay, *clock):
    return mean_over_buffers(lambda e, d: average_precision(curve(labels, scores, e, d, *clock)), early, delay)


def pate_f1(labels, predictions, early, delay, *clock):
    def f1(e, d):
        precision, recall = precision_recall(counts(labels, predictions, e, d, *clock))
        return ratio(2 * precision * recall, precision + recall)

    return mean_over_buffers(f1, early, delay)
