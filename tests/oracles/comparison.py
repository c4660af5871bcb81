"""The comparison of two detectors, literally: pieces cut by hand, drawn one by one; BCa limits from their formulas."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np


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
