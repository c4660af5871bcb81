"""Precision, recall and F1 of single steps, counted one by one."""

from __future__ import annotations

from oracles.runs import prf


def point(labels, predictions):
    pairs = [(bool(label), bool(predicted)) for label, predicted in zip(labels, predictions, strict=True)]
    return prf(pairs.count((True, True)), pairs.count((False, True)), pairs.count((True, False)))
