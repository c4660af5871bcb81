"""Detection quality, with zones and pieces of predicted runs in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

from oracles.runs import runs_of


def intervals(values):
    return [(Fraction(run[0]), Fraction(run[-1] + 1)) for run in runs_of(values)]


def zones_of(events, length, near):
    """For each event its early-far, early-near, late-near and late-far zone; an empty one has no length."""
    found = []
    for i, (start, stop) in enumerate(events):
        if i == 0:
            early_near = (max(start - near, 0), start)
            early_far = (Fraction(0), early_near[0])
        else:
            gap_start = events[i - 1][1]
            taken = min(gap_start + near, start)  # by the event before
            early_near = (max(start - near, taken), start)
            early_far = ((taken + early_near[0]) / 2, early_near[0])
        if i == len(events) - 1:
            late_near = (stop, min(stop + near, length))
            late_far = (late_near[1], Fraction(length))
        else:
            gap_stop = events[i + 1][0]
            late_near = (stop, min(stop + near, gap_stop))
            taken = max(gap_stop - near, late_near[1])
            late_far = (late_near[1], (late_near[1] + taken) / 2)
        found.append((early_far, early_near, late_near, late_far))
    return found


def pieces(runs, zone):
    cut = [(max(low, zone[0]), min(high, zone[1])) for low, high in runs]
    return [(low, high) for low, high in cut if low < high]


def total(found):
    return sum((high - low for low, high in found), Fraction(0))


def false_alarm(early, late, early_far, late_far):
    """What far pieces cost, by their length and by the bins that their middles fall in."""
    before, after = early_far[1] - early_far[0], late_far[1] - late_far[0]
    room = before + after
    if room == 0:
        return 1.0
    value = max(Fraction(0), 1 - total(early + late) / (room / 2))
    if not early + late or room <= 1:
        return float(value)
    bins = math.ceil(room)
    middles = [(low + high) / 2 - early_far[1] for low, high in early]
    middles += [(low + high) / 2 - late_far[0] for low, high in late]
    held = {min(math.floor((middle + before) / (room / bins)), bins - 1) for middle in middles}
    return float(value) * (1 - math.log2(len(held)) / math.log2(bins))


def detection_quality_parts(labels, predictions, near=125):
    near, length = Fraction(near), len(labels)
    events, runs = intervals(labels), intervals(predictions)
    found = []
    for event, zones in zip(events, zones_of(events, length, near), strict=True):
        early_far, early, late, late_far = (pieces(runs, zone) for zone in zones)
        capture = 1.0 if pieces(runs, event) else 0.0
        if early + late:
            gaps = [event[0] - early[-1][1]] if early else []
            gaps += [late[0][0] - event[1]] if late else []
            near_miss = float((1 - min(gaps) / near) * (1 - total(early + late) / (2 * near)))
        else:
            near_miss = 1.0 if capture and not early_far + late_far else 0.0
        alarm = false_alarm(early_far, late_far, zones[0], zones[3])
        found.append((math.sqrt((capture + near_miss) / 2 * alarm), capture, near_miss, alarm))
    return tuple(sum(column) / len(events) for column in zip(*found, strict=True))


def detection_quality_predictions(labels, predictions, near=125):
    return detection_quality_parts(labels, predictions, near)[0]


def detection_quality(labels, scores, near=125, thresholds=100):
    levels = [j / thresholds for j in range(thresholds, 0, -1)]
    flagged = [[score >= level for score in scores] for level in levels]
    return sum(detection_quality_predictions(labels, values, near) for values in flagged) / thresholds
