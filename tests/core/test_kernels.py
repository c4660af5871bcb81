"""The kernels: counts, sorts and areas, against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from pateval.kernels import threshold_counts
from pateval.kernels.areas import steps, trapezoids
from pateval.kernels.sorted_values import above, at_least, distinct_descending, run_counts
from pateval.kernels.sorting import sort_descending
from pateval.kernels.threshold_counts import count_at_thresholds
from support.strategies import labels_and_scores


@given(labels_and_scores())
def test_look_ups_in_sorted_values(pair):
    _, scores = pair
    ascending = np.sort(scores)
    levels = distinct_descending(ascending)
    assert levels.tolist() == sorted(set(scores.tolist()), reverse=True)
    assert at_least(ascending, levels).tolist() == [(scores >= level).sum() for level in levels]
    assert above(ascending, levels).tolist() == [(scores > level).sum() for level in levels]
    assert run_counts(scores, ascending, levels).tolist() == [
        np.count_nonzero(np.diff(scores >= level, prepend=False) & (scores >= level)) for level in levels
    ]


def test_areas_along_the_last_axis():
    x, y = np.array([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]]), np.array([[1.0, 1.0, 0.0], [2.0, 4.0, 6.0]])
    assert trapezoids(x, y) == pytest.approx([1.5, 4])
    assert steps(x, y) == pytest.approx([1, 5])


class TestCountAtThresholds:
    @pytest.mark.parametrize("kind", ["uniform", "ties", "heavy tails", "both signs", "two scales", "signed zeros"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("seed", range(10))
    def test_counts(self, kind, dtype, seed):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 400))
        scores = {
            "uniform": rng.random(size),
            "ties": rng.integers(0, 5, size) / 3,
            "heavy tails": np.exp(rng.normal(0, 20, size)),
            "both signs": rng.standard_cauchy(size) ** 3,
            "two scales": np.where(rng.random(size) < 0.5, 1e9, 1) * rng.random(size),
            "signed zeros": rng.choice([0.0, -0.0, 1e-30, -1e-30], size),
        }[kind].astype(dtype)
        thresholds = np.unique(rng.choice(scores, int(rng.integers(1, size + 1))))[::-1]
        at, above = count_at_thresholds(scores, thresholds)
        assert at.tolist() == [int((scores >= t).sum()) for t in thresholds]
        assert above.tolist() == [int((scores > t).sum()) for t in thresholds]

    @pytest.mark.parametrize("kind", ["uniform", "normal", "heavy tails", "ties", "far apart"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_counts_range_by_range(self, kind, dtype, monkeypatch):
        monkeypatch.setattr(threshold_counts, "_CHUNK", 1000)
        rng = np.random.default_rng(0)
        scores = {
            "uniform": rng.random(20_000),
            "normal": rng.normal(size=20_000),
            "heavy tails": np.exp(rng.normal(0, 10, 20_000)),
            "ties": rng.integers(-3000, 3000, 20_000) / 7,
            "far apart": rng.random(20_000) + 100 * rng.integers(0, 9, 20_000),
        }[kind].astype(dtype)
        thresholds = np.unique(scores[:5000])[::-1]
        at_once = count_at_thresholds(scores, thresholds)
        monkeypatch.setattr(threshold_counts, "_MIN_THRESHOLDS_FOR_RANGES", 1000)
        monkeypatch.setattr(threshold_counts, "_SAMPLED_THRESHOLDS", 300)
        by_range = count_at_thresholds(scores, thresholds)
        ascending = np.sort(scores)
        for counts in (at_once, by_range):
            assert (counts[0] == scores.size - np.searchsorted(ascending, thresholds, side="left")).all()
            assert (counts[1] == scores.size - np.searchsorted(ascending, thresholds, side="right")).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(10))
def test_sort_descending(dtype, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 500))
    for values in (
        rng.random(size),
        rng.integers(0, 4, size) / 3,
        np.exp(rng.normal(0, 10, size)),
        np.full(size, 7.0),
        np.where(rng.random(size) < 0.5, 3e38, -3e38),
        1 + rng.random(size) * 1e-12,
    ):
        values = values.astype(dtype)
        indices, ordered = sort_descending(values)
        assert (ordered == np.sort(values)[::-1]).all()
        assert (values[indices] == ordered).all()
        assert (np.sort(indices) == np.arange(size)).all()
