"""Runs of ones, found step by step; shared by the oracles of the metrics on predictions."""

from __future__ import annotations


def runs_of(values):
    """Runs of ones as lists of their steps."""
    found = []
    for t, value in enumerate(values):
        if not value:
            continue
        if t and values[t - 1]:
            found[-1].append(t)
        else:
            found.append([t])
    return found


def f1_of(precision, recall):
    """Harmonic mean, 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def prf(true_positive, false_positive, false_negative):
    """Precision, recall and F1 from counts, 0 for 0/0."""
    precision = true_positive / (true_positive + false_positive) if true_positive + false_positive else 0.0
    recall = true_positive / (true_positive + false_negative) if true_positive + false_negative else 0.0
    return precision, recall, f1_of(precision, recall)
