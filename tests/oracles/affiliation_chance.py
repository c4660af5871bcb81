"""Affiliation with its precision measured from chance: that of flagging every step, or one half."""

from __future__ import annotations

from oracles.affiliation import affiliation


def above(precision, recall, chance):
    raised = (precision - chance) / (1 - chance)
    if not abs(raised) + recall:
        return raised, recall, 0.0
    size = 2 * abs(raised) * recall / (abs(raised) + recall)
    return raised, recall, size if raised >= 0 else -size


def normalised_affiliation(labels, predictions):
    if not any(predictions):
        return 0.0, 0.0, 0.0
    precision, recall, _ = affiliation(labels, predictions)
    return above(precision, recall, 0.5)


def unbiased_affiliation(labels, predictions):
    if not any(predictions):
        return 0.0, 0.0, 0.0
    precision, recall, _ = affiliation(labels, predictions)
    chance, _, _ = affiliation(labels, [1] * len(labels))
    return above(precision, recall, chance)
