"""Precision and recall of runs over all thresholds, straight from the definition."""

from __future__ import annotations


def runs_of(flags):
    """Runs of true values, as sets of steps."""
    found = []
    for t, flag in enumerate(flags):
        if flag and t and flags[t - 1]:
            found[-1].add(t)
        elif flag:
            found.append({t})
    return found


def share(run, others):
    """Covered share of a run times the reward for being touched by few others."""
    touching = [other for other in others if run & other]
    if not touching:
        return 0.0
    reward = ((len(run) - 1) / len(run)) ** (len(touching) - 1)
    return reward * sum(len(run & other) for other in touching) / len(run)


def curve(labels, scores, weighted):
    """(recall, precision) at every distinct score, highest first."""
    events, points = runs_of(labels), []
    for level in sorted(set(scores), reverse=True):
        alarms = runs_of([score >= level for score in scores])
        recall = sum(share(event, alarms) for event in events) / len(events)
        weights = [len(alarm) if weighted else 1 for alarm in alarms]
        worth = sum(w * share(alarm, events) for w, alarm in zip(weights, alarms, strict=True))
        points.append((recall, worth / sum(weights)))
    return points


def areas(labels, scores, weighted):
    """(trapezoid area, average precision)."""
    trapezoid, steps, recall_before, precision_before = 0.0, 0.0, 0.0, 1.0
    for recall, precision in curve(labels, scores, weighted):
        trapezoid += (recall - recall_before) * (precision + precision_before) / 2
        steps += (recall - recall_before) * precision
        recall_before, precision_before = recall, precision
    return trapezoid, steps
