"""Best thresholds by trying every distinct score, with each metric computed from its definition."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy import optimize


def runs_of(flags):
    """Runs of true values, as lists of steps."""
    found = []
    for t, flag in enumerate(flags):
        if flag and t and flags[t - 1]:
            found[-1].append(t)
        elif flag:
            found.append([t])
    return found


def point_f1(labels, predictions):
    """F1 of steps, exact."""
    hits = sum(1 for label, flag in zip(labels, predictions, strict=True) if label and flag)
    return Fraction(2 * hits, sum(map(int, labels)) + sum(map(int, predictions)))


def filled(labels, predictions, keep):
    """Predictions with each event wholly flagged (True), cleared (False) or left (None), as ``keep`` says."""
    result = [bool(flag) for flag in predictions]
    for event in runs_of(labels):
        decision = keep(event, [t for t in event if predictions[t]])
        for t in event:
            result[t] = result[t] if decision is None else decision
    return result


def point_adjusted_f1(labels, predictions):
    """Events with a hit are filled."""
    return point_f1(labels, filled(labels, predictions, lambda _, hits: True if hits else None))


def point_adjusted_k_f1(labels, predictions, k):
    """Events hit for more than k percent are filled."""
    return point_f1(
        labels, filled(labels, predictions, lambda event, hits: True if 100 * len(hits) > k * len(event) else None)
    )


def delay_adjusted_f1(labels, predictions, delay):
    """Events hit in their first ``delay + 1`` steps are filled, all others cleared."""
    return point_f1(labels, filled(labels, predictions, lambda event, hits: any(t in hits for t in event[: delay + 1])))


def harmonic(precision, recall):
    return 2 * precision * recall / (precision + recall) if precision + recall else Fraction(0)


def composite_f1(labels, predictions):
    """Precision of steps, recall of events."""
    hits = sum(1 for label, flag in zip(labels, predictions, strict=True) if label and flag)
    events = runs_of(labels)
    found = sum(any(predictions[t] for t in event) for event in events)
    return harmonic(Fraction(hits, sum(map(int, predictions))), Fraction(found, len(events)))


def segment_f1(labels, predictions):
    """Events found, events missed, runs that touch no event."""
    events = runs_of(labels)
    found = sum(any(predictions[t] for t in event) for event in events)
    false = sum(not any(labels[t] for t in run) for run in runs_of(predictions))
    return Fraction(2 * found, found + false + len(events))


def best(labels, scores, metric):
    """(threshold, value) over all distinct scores; the highest of equals."""
    values = {level: metric(labels, [score >= level for score in scores]) for level in set(scores)}
    top = max(values.values())
    return max(level for level, value in values.items() if value == top), float(top)


def tail_likelihood(excesses, shape, scale):
    """Log-likelihood of the generalised Pareto law."""
    if scale <= 0 or any(1 + shape * y / scale <= 0 for y in excesses):
        return -math.inf
    if shape == 0:
        return -sum(math.log(scale) + y / scale for y in excesses)
    return -sum(math.log(scale) + (1 + 1 / shape) * math.log(1 + shape * y / scale) for y in excesses)


def tail(excesses, shape, scale):
    """Climb from a start to the nearest maximum of the likelihood."""
    result = optimize.minimize(
        lambda p: -tail_likelihood(excesses, p[0], math.exp(p[1])),
        [shape, math.log(scale)],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000},
    )
    return result.x[0], math.exp(result.x[1])


def alarm_rate(scores, alarms, per, starts=(0,), times=None):
    """Go down from the highest score, counting the runs of each series, until there are more than allowed.

    ``per`` is in steps, or in the unit of the integer times where there are any.
    """
    stops = [*starts[1:], len(scores)]
    observed = Fraction(len(scores))
    if times is not None:
        gaps = sorted(
            times[t] - times[t - 1] for start, stop in zip(starts, stops, strict=True) for t in range(start + 1, stop)
        )
        middle = len(gaps) // 2
        interval = Fraction(0)
        if gaps:
            interval = Fraction(gaps[middle]) if len(gaps) % 2 else Fraction(gaps[middle - 1] + gaps[middle], 2)
        observed = sum(
            (times[stop - 1] - times[start] + interval for start, stop in zip(starts, stops, strict=True)), Fraction(0)
        )
    allowed = math.floor(Fraction(alarms) * observed / per)
    chosen = math.nextafter(max(scores), math.inf)
    for level in sorted(set(scores), reverse=True):
        number = sum(
            len(runs_of([score >= level for score in scores[start:stop]]))
            for start, stop in zip(starts, stops, strict=True)
        )
        if number > allowed or level == min(scores):  # which would flag every step
            break
        chosen = level
    return chosen
