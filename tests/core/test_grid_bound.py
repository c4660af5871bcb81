"""The grid's rounding error against the bound that docs/grid.md derives, where it is largest."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import pateval as pv
from conftest import golden
from oracles import pate as oracle
from pateval.pate import _counts, _grid
from support.cases import mask

UNIT = 2.0**-53


@pytest.fixture(autouse=True)
def _all_pairs_together(monkeypatch):
    monkeypatch.setattr(_counts, "_MAX_PAIRS_ONE_BY_ONE", 0)


def gains(labels, scores, threshold, early, delay):
    """Weighted true positives at a threshold."""
    return float(pv.explain(labels, (scores >= threshold).astype(int), early=early, delay=delay).true_positive)


def bound(labels, scores, early, delay):
    """The bound of docs/grid.md, with each of its quantities counted from the definition or not below it."""
    thresholds = np.unique(scores)[::-1]
    before = np.array([np.count_nonzero(scores > threshold) for threshold in thresholds])
    found = np.array([gains(labels, scores, threshold, max(early), max(delay)) for threshold in thresholds])
    tail = before >= labels.sum() / 8
    gained = np.diff(found, prepend=0.0)
    growth = float((np.abs(gained[tail]) / before[tail]).sum())
    number, chunk = thresholds.size, _grid._CHUNK
    roundings = 2 * min(chunk, number) + 2 * number / chunk + 2 * number + len(early) + len(delay) + 24
    return roundings * (16 + growth) * UNIT


@pytest.mark.parametrize("case", golden("grid_hard"), ids=lambda case: case["id"])
def test_cases_found_by_climbing_before(case):
    labels, scores = mask(case["label_runs"], case["T"]), np.array(case["scores"])
    found = pv.pate(labels, scores, early=case["early"], delay=case["delay"])
    allowed = bound(labels, scores, case["early"], case["delay"])
    assert allowed < 2e-11  # A bound that allowed more would say nothing.
    assert abs(found - case["mean_of_pairs"]) <= min(allowed, 1e-13)


def test_climbing_for_the_largest_error():
    """Change a case wherever that makes the error larger, from several starts; the exact value is in fractions."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(4):
        labels = np.repeat(np.arange(9) % 2, rng.integers(2, 9, 9))
        scores = rng.permutation(labels.size).astype(np.float64)
        early, delay = [0, 3, 7, 11], [0, 2, 5, 9]
        largest = -math.inf
        for _ in range(25):
            tried = scores.copy()
            one, other = rng.integers(labels.size, size=2)
            tried[[one, other]] = tried[[other, one]]
            expected = oracle.pate(labels.tolist(), tried.tolist(), early, delay)
            error = abs(pv.pate(labels, tried, early=early, delay=delay) - expected)
            if error >= largest:
                scores, largest = tried, error
        worst = max(worst, largest)
        assert largest <= bound(labels, scores, early, delay)
    assert 0 < worst < 1e-13


def test_errors_do_not_add_up_over_chunks(monkeypatch):
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(400) % 2, rng.integers(3, 40, 400))
    scores = rng.random(labels.size) + 0.2 * labels
    early, delay = [0, 1, 7, 13, 29], [0, 3, 11, 17, 31]
    with monkeypatch.context() as one_by_one:
        one_by_one.setattr(_counts, "_MAX_PAIRS_ONE_BY_ONE", 1)
        single = [pv.pate(labels, scores, early=e, delay=d) for e, d in itertools.product(early, delay)]
    for chunk in (8, 512, 10**6):
        monkeypatch.setattr(_grid, "_CHUNK", chunk)
        assert pv.pate(labels, scores, early=early, delay=delay) == pytest.approx(np.mean(single), rel=0, abs=1e-13)
