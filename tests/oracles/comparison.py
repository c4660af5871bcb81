"""The comparison of two detectors, literally: pieces cut by hand, drawn one by one; BCa limits from their formulas."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from oracles import affiliation, event_based, vus
from oracles.runs import f1_of


def pieces(labels):
    """Half-open pieces, cut midway between events that are at least two steps apart."""
    events, start = [], None
    for step, label in enumerate([*labels, 0]):
        if label and start is None:
            start = step
        if not label and start is not None:
            events.append((start, step))
            start = None
    cuts = [0]
    for (_, stop), (following, _) in pairwise(events):
        if following - stop >= 2:
            cuts.append((stop + following) // 2)
    cuts.append(len(labels))
    return [list(range(cuts[k], cuts[k + 1])) for k in range(len(cuts) - 1)]


def percentile(values, share):
    """Linear interpolation between the two nearest of the ordered values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def piece_limits(labels, a, b, metric, draws, seed):
    """Limits of the difference of a metric, over pieces drawn with replacement, in the order of time."""
    parts = pieces(labels)
    generator = np.random.default_rng(seed)
    differences = []
    for _ in range(draws):
        steps = []
        for piece in sorted(generator.integers(0, len(parts), len(parts)).tolist()):
            steps.extend(parts[piece])
        truth = [labels[step] for step in steps]
        differences.append(metric(truth, [a[step] for step in steps]) - metric(truth, [b[step] for step in steps]))
    return percentile(differences, 0.025), percentile(differences, 0.975)


def series_limits(differences, draws, seed):
    """BCa limits of the mean difference over series drawn with replacement."""
    count = len(differences)
    mean = sum(differences) / count
    generator = np.random.default_rng(seed)
    means = [sum(differences[k] for k in generator.integers(0, count, count).tolist()) / count for _ in range(draws)]
    near = 1e-12 * max(abs(each) for each in means)
    below = sum(0.5 * (each < mean - near) + 0.5 * (each <= mean + near) for each in means) / draws
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, 0.5 / draws), 1 - 0.5 / draws))
    cubes = sum((each - mean) ** 3 for each in differences)
    squares = sum((each - mean) ** 2 for each in differences)
    acceleration = cubes / (6 * squares**1.5)
    limits = []
    for share in (0.025, 0.975):
        shifted = bias + normal.inv_cdf(share)
        limits.append(percentile(means, normal.cdf(bias + shifted / (1 - acceleration * shifted))))
    return tuple(limits)


def draws_of(labels, draws, seed):
    """The pieces of each draw, in the order of time, as lists of steps."""
    parts = pieces(labels)
    generator = np.random.default_rng(seed)
    return [[parts[k] for k in sorted(generator.integers(0, len(parts), len(parts)).tolist())] for _ in range(draws)]


def put_together(drawn, *columns):
    """The columns at the steps of a draw, and the number of the piece at each of them."""
    steps = [step for part in drawn for step in part]
    series = [place for place, part in enumerate(drawn) for _ in part]
    return *([column[step] for step in steps] for column in columns), series


def event_counts(drawn, labels, predictions):
    """What `event_based.counts` finds on each piece, and normal steps, summed."""
    rows = []
    for part in drawn:
        truth, flags = [labels[step] for step in part], [predictions[step] for step in part]
        rows.append([*event_based.counts(truth, flags), truth.count(0)])
    return [sum(column) for column in zip(*rows, strict=True)]


def affiliation_f1(drawn, labels, predictions):
    """Means over the events of all pieces, each in a zone that its piece bounds."""
    precisions, recalls = [], []
    for part in drawn:
        found = affiliation.affiliation_events([labels[step] for step in part], [predictions[step] for step in part])
        precisions += [value for value in found[0] if not math.isnan(value)]
        recalls += found[1]
    return f1_of(sum(precisions) / len(precisions) if precisions else 0.0, sum(recalls) / len(recalls))


def vus_areas(drawn, labels, scores, levels, window):
    """Mean areas (ROC, PR) of VUS as TSB-AD has it: soft labels and zones of every piece, one sample of all steps."""
    truth, values, _ = put_together(drawn, labels, scores)
    areas = []
    for width in range(window + 1):
        soft, zones = [], []
        for part in drawn:
            own = [labels[step] for step in part]
            own_soft = vus.soft_labels(own, width, "tsb-ad")
            zones += [{len(soft) + step for step in zone} for zone in vus.zones(own, own_soft, width, "tsb-ad")]
            soft += own_soft
        rates, recalls, precisions = [0.0], [0.0], [1.0]
        for level in levels:
            flagged = {step for step, value in enumerate(values) if value >= level}
            if not flagged:
                continue
            true_positive = sum(soft[step] for step in flagged)
            positive = sum(truth) + sum(soft[step] for step in flagged if not truth[step]) / 2
            existence = sum(bool(zone & flagged) for zone in zones) / len(zones)
            recalls.append(min(true_positive / positive, 1.0) * existence)
            precisions.append(true_positive / len(flagged))
            rates.append((len(flagged) - true_positive) / (len(truth) - positive))
        pr = sum((recalls[k] - recalls[k - 1]) * precisions[k] for k in range(1, len(recalls)))
        rates, recalls = [*rates, 1.0], [*recalls, 1.0]
        roc = sum((rates[k] - rates[k - 1]) * (recalls[k] + recalls[k - 1]) / 2 for k in range(1, len(rates)))
        areas.append((roc, pr))
    return tuple(sum(column) / len(areas) for column in zip(*areas, strict=True))
