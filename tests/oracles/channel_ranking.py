"""Channels ranked by their scores at each anomalous step; ties by the mean over all their orders."""

from __future__ import annotations

import math
from fractions import Fraction


def expected_labels(labels, scores):
    """Mean label at each rank, over all orders of the tied channels."""
    found = []
    for level in sorted(set(scores), reverse=True):
        tied = [label for label, score in zip(labels, scores, strict=True) if score == level]
        found += [sum(tied) / len(tied)] * len(tied)
    return found


def kept(labels, percent):
    return min(round(Fraction(percent) * sum(labels) / 100), len(labels))


def hit_rate_at(labels, scores, percent):
    return sum(expected_labels(labels, scores)[: kept(labels, percent)]) / sum(labels)


def ndcg_at(labels, scores, percent):
    k = kept(labels, percent)

    def gain(ranked):
        return sum(label / math.log2(rank + 1) for rank, label in enumerate(ranked[:k], start=1))

    return gain(expected_labels(labels, scores)) / gain(sorted(labels, reverse=True))


def mean_over_steps(function, labels, scores, percent):
    found = [function(row, values, percent) for row, values in zip(labels, scores, strict=True) if any(row)]
    return sum(found) / len(found)


def channel_hit_rate(labels, scores, percent=100):
    return mean_over_steps(hit_rate_at, labels, scores, percent)


def channel_ndcg(labels, scores, percent=100):
    return mean_over_steps(ndcg_at, labels, scores, percent)
