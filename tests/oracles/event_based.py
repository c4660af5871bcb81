"""Events, predicted runs and steps, counted as sets."""

from __future__ import annotations

from oracles.runs import f1_of, prf, runs_of


def counts(labels, predictions):
    anomalous = {t for t, label in enumerate(labels) if label}
    predicted = {t for t, value in enumerate(predictions) if value}
    found = [event for event in runs_of(labels) if predicted & set(event)]
    missed = [event for event in runs_of(labels) if not predicted & set(event)]
    false_runs = [run for run in runs_of(predictions) if not anomalous & set(run)]
    return len(found), len(missed), len(false_runs), len(predicted - anomalous), len(predicted & anomalous)


def composite(labels, predictions):
    found, missed, _, false_steps, true_steps = counts(labels, predictions)
    precision = true_steps / (true_steps + false_steps) if true_steps + false_steps else 0.0
    recall = found / (found + missed)
    return precision, recall, f1_of(precision, recall)


def segment(labels, predictions):
    found, missed, false_runs, _, _ = counts(labels, predictions)
    return prf(found, false_runs, missed)


def event_wise(labels, predictions):
    found, missed, false_runs, false_steps, _ = counts(labels, predictions)
    normal = sum(1 for label in labels if not label)
    precision, recall, _ = prf(found, false_runs, missed)
    precision *= 1 - (false_steps / normal if normal else 0.0)
    return precision, recall, f1_of(precision, recall)


def revised_point_adjusted(labels, predictions):
    found, missed, _, false_steps, _ = counts(labels, predictions)
    return prf(found, false_steps, missed)


def f_beta_of(precision, recall, beta):
    """Weighted harmonic mean, 0 where there is nothing to divide by."""
    whole = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / whole if whole else 0.0


def event_wise_f_beta(labels, predictions, beta):
    precision, recall, _ = event_wise(labels, predictions)
    return f_beta_of(precision, recall, beta)


def alarming_precision(labels, predictions):
    """Events found, of those and the alarms that repeat an alarm."""
    found = repeated = 0
    for event in runs_of(labels):
        alarms = [run for run in runs_of(predictions) if set(run) & set(event)]
        if alarms:
            found += 1
            repeated += len(alarms) - 1
    return found / (found + repeated) if found else 0.0
