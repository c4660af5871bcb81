"""Every anomalous step is an event, every predicted step a detection; they choose each other."""

from __future__ import annotations

from oracles.runs import f1_of


def detection_scores(events, detections, tolerance):
    """Score of each detection."""
    nearness = {(d, e): max(0.0, 1 - abs(d - e) / tolerance) for d in detections for e in events}
    chose = {e: [] for e in events}
    for d in detections:
        best = max(nearness[d, e] for e in events)
        for e in events:
            if best > 0 and nearness[d, e] == best:
                chose[e].append(d)
    scores = dict.fromkeys(detections, 0.0)
    for e, suitors in chose.items():
        if suitors:
            taken = max(suitors, key=lambda d: (nearness[d, e], -d))
            scores[taken] = max(scores[taken], nearness[taken, e])
    return scores


def soft_event(labels, predictions, tolerance=15):
    events = [t for t, label in enumerate(labels) if label]
    detections = [t for t, value in enumerate(predictions) if value]
    if not detections:
        return 0.0, 0.0, 0.0
    total = sum(detection_scores(events, detections, tolerance).values())
    precision, recall = total / len(detections), total / len(events)
    return precision, recall, f1_of(precision, recall)
