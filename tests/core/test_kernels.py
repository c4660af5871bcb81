"""The kernels: counts, sorts and areas, against counting one by one."""

from __future__ import annotations

import math
from collections import Counter
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pateval.kernels import threshold_counts
from pateval.kernels.alarm_levels import NEVER, AlarmLevels, bridge_levels
from pateval.kernels.precision_recall import coarseness, steps, trapezoids
from pateval.kernels.threshold_counts import (
    above,
    at_least,
    count_at_thresholds,
    distinct_descending,
    run_counts,
    sort_descending,
)
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


@given(st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=12))
def test_coarse_are_two_values_and_one_of_more_than_half(values):
    present = Counter(value for value in values if value > -np.inf)
    (_, most), *_ = [*present.most_common(1), (None, 0)]
    found = coarseness(np.array(values))
    if not present:
        assert found is None
    elif len(present) <= 2:
        assert found == "the scores have at most 2 distinct values"
    elif 2 * most > present.total():
        common = present.most_common(1)[0][0]
        assert found == f"one score ({common:g}) is shared by {100 * most / present.total():.0f} % of all steps"
    else:
        assert found is None


@given(st.data())
def test_alarms_go_on_to_the_level_at_which_close_steps_are_flagged(data):
    size = data.draw(st.integers(1, 14))
    ranks = data.draw(st.lists(st.integers(-1, 5), min_size=size, max_size=size))
    series = sorted(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    times = list(accumulate(data.draw(st.lists(st.integers(1, 3), min_size=size, max_size=size))))
    merge = data.draw(st.one_of(st.none(), st.integers(0, 12)))
    parted = [step == 0 or series[step] != series[step - 1] for step in range(size)]

    expected = []
    for cut in range(size - 1):
        levels = [NEVER] if parted[cut + 1] else [min(ranks[cut], ranks[cut + 1])]
        for left, right in product(range(cut + 1), range(cut + 1, size)):
            is_close = merge is not None and series[left] == series[right] and times[right] - times[left] <= merge
            levels += [min(ranks[left], ranks[right])] if is_close else []
        expected.append(max(levels))
    found = bridge_levels(np.array(ranks), np.array(parted), np.array(times), np.array(series), merge)
    assert found.tolist() == [*expected, NEVER]


@given(st.data())
def test_times_to_detect_at_every_level(data):
    number = data.draw(st.integers(1, 4))
    size = data.draw(st.integers(1, 9))
    ranks = data.draw(st.lists(st.integers(NEVER, number - 1), min_size=size, max_size=size))
    parted = [True, *data.draw(st.lists(st.booleans(), min_size=size - 1, max_size=size - 1))]
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size - 1))
    is_counted = data.draw(st.booleans())
    early, times = 2, 10 * np.arange(size)
    start = int(times[first]) + early  # the window reaches back that far

    expected = []
    for level in range(number):
        flagged = [step for step in range(first, last + 1) if ranks[step] >= level]
        if flagged == [] or not is_counted:
            expected.append(math.nan)
        elif flagged[0] == first > 0 and ranks[first - 1] >= level and not parted[first]:
            expected.append(-early)  # an alarm that has gone on since before the window
        else:
            expected.append(times[flagged[0]] - start)
    steps, mask = np.array(ranks), np.array([True])
    bridges = bridge_levels(steps, np.array(parted))
    levels = AlarmLevels(steps, number, steps, bridges, np.array([first]), np.array([last]), mask, mask & is_counted)
    found = levels.detection_times(np.arange(number), times, np.array([start]), early)
    wanted = [expected] if not all(map(math.isnan, expected)) else []
    np.testing.assert_array_equal(found, np.array(wanted).reshape(-1, number))
