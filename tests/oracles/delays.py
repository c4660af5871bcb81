"""Delays, offsets and false alarms, event by event; None where there is no value."""

from __future__ import annotations

from oracles.runs import prf, runs_of


def mean(values):
    return sum(values) / len(values) if values else None


def mean_detection_delay(labels, predictions, unit=None):
    assert unit is None  # in steps; delays in time are held against those on an even clock
    hits = [[t - event[0] for t in event if predictions[t]] for event in runs_of(labels)]
    return mean([delays[0] for delays in hits if delays])


def censored_detection_delay(labels, predictions, unit=None):
    assert unit is None
    return mean([min([t - event[0] for t in event if predictions[t]] + [len(event)]) for event in runs_of(labels)])


def offsets(labels, predictions, early, delay):
    """Earliest alarm near each onset, relative to it; None where there is none."""
    alarms = [run[0] for run in runs_of(predictions)]
    onsets = [event[0] for event in runs_of(labels)]
    near = [[alarm - onset for alarm in alarms if onset - early <= alarm <= onset + delay] for onset in onsets]
    return [min(found) if found else None for found in near]


def mean_detection_offset(labels, predictions, early, delay, unit=None):
    assert unit is None
    return mean([value for value in offsets(labels, predictions, early, delay) if value is not None])


def onset_detection_rate(labels, predictions, early, delay):
    return mean([value is not None for value in offsets(labels, predictions, early, delay)])


def false_alarm_rate(labels, predictions, per=None):
    per = 1 if per is None else per  # a step, without a clock
    false_alarms = [run for run in runs_of(predictions) if not any(labels[t] for t in run)]
    return len(false_alarms) * per / len(labels)


def window_counts(labels, predictions, window):
    """Windows that are true positive, false positive and false negative."""
    labels = [int(any(labels[t : t + window])) for t in range(0, len(labels), window)]
    predictions = [int(any(predictions[t : t + window])) for t in range(0, len(predictions), window)]
    for event in runs_of(labels):
        seen = False
        for w in event:
            seen = seen or bool(predictions[w])
            predictions[w] = int(seen)
    pairs = list(zip(labels, predictions, strict=True))
    return pairs.count((1, 1)), pairs.count((0, 1)), pairs.count((1, 0))


def latency_sparsity_aware(labels, predictions, window):
    return prf(*window_counts(labels, predictions, window))
