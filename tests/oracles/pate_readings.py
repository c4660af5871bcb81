"""PATE as the paper's text reads, literally and in exact arithmetic: every sum of its equations is a sum here."""

from __future__ import annotations

from fractions import Fraction

from oracles.pate import distance, find_events, trapezoid, zones


def counts(labels, predictions, early, delay, *, whole_zones, beside, coverage):
    """Weighted TP, FP and FN; the three flags choose the text's reading instead of the program's."""
    events = find_events(labels)
    tp = fp = fn = Fraction(0)
    seen = set()
    for (first, last, _, _), (begin, end) in zip(events, zones(events, early, delay), strict=True):
        steps = range(first, last + 1)
        hits = [t for t in steps if predictions[t]]
        tp += len(hits)
        seen.update(range(begin, end + 1))
        before = [t for t in range(begin, first) if predictions[t]]
        after = [t for t in range(last + 1, end + 1) if predictions[t]]
        for t in after:  # equation 2
            limit = last + delay if whole_zones else end
            weight = 1 - Fraction(distance(t, first, last), distance(limit, first, last))
            tp, fp = tp + weight, fp + 1 - weight
        for t in before:  # equation 5
            limit = first - early if whole_zones else begin
            weight = 1 - Fraction(distance(t, first, last), distance(limit, first, last)) if hits else Fraction(0)
            tp, fp = tp + weight, fp + 1 - weight
        if not hits and not (beside and (before or after)):  # equation 7
            fn += len(steps)
            continue
        if coverage:
            r = len(hits)
        else:
            r = 0
            while hits and hits[0] + r <= last and predictions[hits[0] + r]:
                r += 1
        for t in steps:  # equation 8
            if not predictions[t]:
                near = sum(abs(t - y) for y in range(first, first + r + 1))
                fn += 1 if t <= first + r else 1 - Fraction(near, sum(abs(last - y) for y in steps))
    fp += sum(1 for t in range(len(labels)) if predictions[t] and t not in seen)
    return tp, fp, fn


def f1(labels, predictions, early, delay, **flags):
    tp, fp, fn = counts(labels, predictions, early, delay, **flags)
    return Fraction(2) * tp / (2 * tp + fp + fn) if tp + fp + fn else Fraction(0)


def pate(labels, scores, early, delay, **flags):
    points = []
    for threshold in sorted(set(scores), reverse=True):
        tp, fp, fn = counts(labels, [score >= threshold for score in scores], early, delay, **flags)
        points.append((tp / (tp + fp) if tp else Fraction(0), tp / (tp + fn) if tp else Fraction(0)))
    return trapezoid(points)
