"""Metrics on the order of the scores, straight from their definitions."""

from __future__ import annotations


def runs_of(flags):
    """Inclusive runs of true values."""
    found = []
    for t, flag in enumerate(flags):
        if flag and t and flags[t - 1]:
            found[-1][1] = t
        elif flag:
            found.append([t, t])
    return found


def auc_roc(labels, scores):
    """Share of (anomalous, normal) pairs in the right order; equal scores count half."""
    anomalous = [score for label, score in zip(labels, scores, strict=True) if label]
    normal = [score for label, score in zip(labels, scores, strict=True) if not label]
    points = sum((a > n) + 0.5 * (a == n) for a in anomalous for n in normal)
    return points / (len(anomalous) * len(normal))


def curve(labels, scores):
    """Recall and precision at every distinct score, highest first."""
    points = []
    for level in sorted(set(scores), reverse=True):
        hits = sum(1 for label, score in zip(labels, scores, strict=True) if score >= level and label)
        flagged = sum(1 for score in scores if score >= level)
        points.append((hits / sum(labels), hits / flagged))
    return points


def average_precision(labels, scores):
    """Recall gained times precision."""
    area, before = 0.0, 0.0
    for recall, precision in curve(labels, scores):
        area += (recall - before) * precision
        before = recall
    return area


def auc_pr(labels, scores):
    """Trapezoids from recall 0, precision 1."""
    area, recall_before, precision_before = 0.0, 0.0, 1.0
    for recall, precision in curve(labels, scores):
        area += (recall - recall_before) * (precision + precision_before) / 2
        recall_before, precision_before = recall, precision
    return area


def at_k(labels, scores, k):
    """(precision, F1) of all scores that are at least the k-th largest."""
    k = sum(labels) if k is None else k
    level = sorted(scores, reverse=True)[k - 1]
    flagged = [score >= level for score in scores]
    hits = sum(1 for label, flag in zip(labels, flagged, strict=True) if label and flag)
    return hits / sum(flagged), 2 * hits / (sum(flagged) + sum(labels))


def at_k_ranges(labels, scores, k):
    """(precision, F1) of runs at the first threshold with k runs; neither the highest nor the lowest is tried."""
    events = runs_of(labels)
    k = len(events) if k is None else k
    levels = sorted(set(scores), reverse=True)
    level = levels[0]
    for level in levels[1:-1]:
        if len(runs_of([score >= level for score in scores])) >= k:
            break
    flagged = [score >= level for score in scores]
    alarms = runs_of(flagged)
    precision = sum(any(labels[a : b + 1]) for a, b in alarms) / len(alarms)
    recall = sum(any(flagged[a : b + 1]) for a, b in events) / len(events)
    return precision, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def ucr_score(labels, scores, tolerance):
    """1 if the first highest score lies in the only event, widened by its length or the tolerance."""
    ((first, last),) = runs_of(labels)
    margin = max(last - first + 1, tolerance)
    return float(first - margin <= list(scores).index(max(scores)) <= last + margin)
