"""Range-AUC and VUS, straight from their definitions: every width, every threshold, every step."""

from __future__ import annotations

import math

import numpy as np


def events_of(labels):
    """Inclusive runs of ones."""
    found, start = [], None
    for t, label in enumerate([*labels, 0]):
        if label and start is None:
            start = t
        if not label and start is not None:
            found.append((start, t - 1))
            start = None
    return found


def soft_labels(labels, width, variant):
    """One soft label per step."""
    half = width // 2
    soft = [float(label) for label in labels]
    for t, label in enumerate(labels):
        if label:
            continue
        parts = []
        for first, last in events_of(labels):
            before, after = first - t, t - last
            if variant == "timeeval":
                distance = max(before, after)
                if width > 1 and distance <= half:
                    low = 1 / math.sqrt(2)
                    parts.append(low + (1 - low) * (half - distance) / half)
            else:
                right_reach = half if variant == "tsb-ad" else half - 1
                if 1 <= before <= half:
                    parts.append(math.sqrt(1 - before / width))
                if 1 <= after <= right_reach:
                    parts.append(math.sqrt(1 - after / width))
        if variant == "timeeval":
            soft[t] = max(parts, default=0.0)
        else:
            soft[t] = min(sum(parts), 1.0)
    return soft


def zones(labels, soft, width, variant):
    """Sets of steps: an event counts as found when a step of its zone is flagged."""
    half, size = width // 2, len(labels)
    if variant == "original":
        return [set(range(a, b + 1)) for a, b in events_of([value > 0 for value in soft])]
    if variant == "timeeval":
        return [
            {t for t in range(max(a - half, 0), min(b + half + 1, size - 1) + 1) if soft[t] > 0}
            for a, b in events_of(labels)
        ]
    merged = []
    for a, b in events_of(labels):
        if merged and merged[-1][1] >= a - half:
            merged[-1][1] = b + half
        else:
            merged.append([a - half, b + half])
    return [set(range(max(a, 0), min(b, size - 1) + 1)) for a, b in merged]


def threshold_values(scores, thresholds):
    """Scores at evenly spaced positions of the descending order, or all of them."""
    if thresholds is None:
        return sorted(set(scores), reverse=True)
    ordered = sorted(scores, reverse=True)
    return [ordered[int(position)] for position in np.linspace(0, len(ordered) - 1, thresholds)]


def curve(labels, predictions_by_threshold, width, variant):
    """(false positive rate, recall, precision) of each prediction at one width."""
    soft = soft_labels(labels, width, variant)
    found_in = zones(labels, soft, width, variant)
    points = []
    for predictions in predictions_by_threshold:
        flagged = {t for t, predicted in enumerate(predictions) if predicted}
        true_positive = sum(soft[t] for t in flagged)
        if variant == "tsb-ad":
            positive = (2 * sum(labels) + sum(soft[t] for t in flagged if not labels[t])) / 2
        else:
            positive = (sum(labels) + sum(soft)) / 2
        existence = sum(bool(zone & flagged) for zone in found_in) / len(found_in)
        recall = min(true_positive / positive, 1.0) * existence
        negative = len(labels) - positive
        rate = (len(flagged) - true_positive) / negative if negative else math.nan
        points.append((rate, recall, true_positive / len(flagged) if flagged else 0.0))
    return points


def range_auc(labels, scores, width, thresholds, variant):
    """(ROC area, PR area) at one width."""
    labels, scores = [int(label) for label in labels], [float(score) for score in scores]
    if variant == "timeeval" and thresholds is not None:
        thresholds = min(thresholds, len(scores))
    levels = threshold_values(scores, thresholds)
    points = curve(labels, [[score >= level for score in scores] for level in levels], width, variant)
    rates = [0.0, *(rate for rate, _, _ in points), 1.0]
    recalls = [0.0, *(recall for _, recall, _ in points), 1.0]
    roc = sum((rates[k] - rates[k - 1]) * (recalls[k] + recalls[k - 1]) / 2 for k in range(1, len(rates)))
    pr, recall_before, precision_before = 0.0, 0.0, 1.0
    for _, recall, precision in points:
        height = precision if variant == "tsb-ad" else (precision + precision_before) / 2
        pr += (recall - recall_before) * height
        recall_before, precision_before = recall, precision
    return roc, pr


def vus(labels, scores, window, thresholds, variant):
    """(ROC volume, PR volume): the mean over the widths 0 to ``window``."""
    areas = [range_auc(labels, scores, width, thresholds, variant) for width in range(window + 1)]
    return tuple(sum(area[k] for area in areas) / len(areas) for k in (0, 1))


def vus_predictions(labels, predictions, window, variant):
    """(precision, recall) of 0/1 predictions: the mean over the widths."""
    labels = [int(label) for label in labels]
    points = [curve(labels, [predictions], width, variant)[0] for width in range(window + 1)]
    return tuple(sum(values[k] for values in points) / len(points) for k in (2, 1))
