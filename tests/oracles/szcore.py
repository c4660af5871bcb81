"""Seizure events: merged, cut, widened and compared as sets of steps."""

from __future__ import annotations

from oracles.runs import prf, runs_of


def merged(values, minimum_gap):
    """Runs as [start, stop) after short gaps are filled."""
    found = []
    for run in runs_of(values):
        start, stop = run[0], run[-1] + 1
        if found and start - found[-1][1] < minimum_gap:
            found[-1][1] = stop
        else:
            found.append([start, stop])
    return found


def pieces(values, minimum_gap, maximum_length):
    found = []
    for start, stop in merged(values, minimum_gap):
        while start < stop:
            found.append(set(range(start, min(start + maximum_length, stop))))
            start += maximum_length
    return found


def counts(
    labels,
    predictions,
    start_tolerance=30,
    end_tolerance=60,
    minimum_overlap=0.0,
    maximum_length=300,
    minimum_gap=90,
):
    """True pieces found and missed, and false alarms."""
    alarms = pieces(predictions, minimum_gap, maximum_length)
    predicted = set().union(*alarms)
    steps = range(len(labels))
    detected, missed = [], 0
    for piece in pieces(labels, minimum_gap, maximum_length):
        wide = {t for t in steps if min(piece) - start_tolerance <= t <= max(piece) + end_tolerance}
        if len(predicted & wide) / len(wide) > minimum_overlap + 1e-6:
            detected.append(wide)
        else:
            missed += 1
    false_alarms = sum(1 for alarm in alarms if not any(alarm & wide for wide in detected))
    return len(detected), false_alarms, missed


def szcore_event(labels, predictions, **options):
    found, false_alarms, missed = counts(labels, predictions, **options)
    return prf(found, false_alarms, missed)


def szcore_false_alarm_rate(labels, predictions, per=None, **options):
    steps = 86400 if per is None else per  # a day of seconds, without a clock
    return counts(labels, predictions, **options)[1] * steps / len(labels)
