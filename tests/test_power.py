"""What a number of series can show, against all samples counted one by one, and against the test itself."""

from __future__ import annotations

import csv
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

import pateval as pv
from pateval.leaderboards.power import moments


def statistic(sample):
    """Count differences above 0, and pairs whose sum is; a sum of 0 is a half."""
    sums = [a + b for a, b in itertools.combinations(sample, 2)]
    return sum(a > 0 for a in sample) + sum(1.0 if s > 0 else 0.5 if s == 0 else 0.0 for s in sums)


@given(st.lists(st.integers(-6, 6).filter(bool), min_size=1, max_size=5), st.integers(1, 4))
def test_mean_and_variance_over_all_samples(differences, number):
    found = [statistic(sample) for sample in itertools.product(differences, repeat=number)]
    mean, variance = moments(np.array(differences, dtype=float), np.float64(number))
    assert mean == pytest.approx(np.mean(found) - number * (number + 1) / 4, abs=1e-12)
    assert variance == pytest.approx(np.var(found), abs=1e-12)


def test_swapped_detectors_have_the_same_power():
    rng = np.random.default_rng(1)
    first, second = rng.random(40), rng.random(40)
    there, back = pv.power(first, second), pv.power(second, first)
    assert there.power == pytest.approx(back.power, abs=1e-12)
    assert there.series_needed == back.series_needed


def test_series_needed_is_the_first_number_with_that_power():
    rng = np.random.default_rng(2)
    first = rng.random(50)
    second = first - rng.normal(0.03, 0.1, 50)
    needed = pv.power(first, second, goal=0.5).series_needed
    assert pv.power(first, second, series=needed).power >= 0.5 > pv.power(first, second, series=needed - 1).power


def test_level_detectors_and_few_series():
    level = pv.power([0.5, 0.6, 0.7], [0.5, 0.6, 0.7])
    assert (level.power, level.series_needed) == (0.0, None)
    assert level.sentence("a", "b").endswith(
        "for a against b as they stand, no number of series would show a difference."
    )
    assert pv.power(np.arange(5.0), np.zeros(5)).power == 0  # 5 wins of 5 have a p-value of 1/16
    assert pv.power(np.arange(1, 7.0), np.zeros(6)).power > 0.9  # 6 of 6 one of 1/32


def test_share_found_is_where_the_test_turns():
    """Wins on that share, by differences of any size, have a p-value of about alpha."""
    rng = np.random.default_rng(3)
    for number in (20, 58, 200):
        share = pv.power(np.arange(number), np.zeros(number)).share_found
        sizes = rng.random((4_000, number))
        signs = np.where(rng.random((4_000, number)) < share, 1, -1)
        found = np.mean(wilcoxon(sizes * signs, axis=1).pvalue < 0.05)
        assert found == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("first", "second", "options", "message"),
    [
        ([1, 2], [1], {}, "first and second must have one value each for the same series; got 2 and 1 of them"),
        ([np.nan], [1.0], {}, "first and second have no series in common on which both have a value"),
        ([1.0], [0.5], {"series": 0}, "series must be a positive integer; got 0"),
        ([1.0], [0.5], {"alpha": 2}, "alpha must be a number in [0, 1]; got 2"),
    ],
)
def test_bad_input(first, second, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pv.power(first, second, **options)


@pytest.mark.slow
def test_on_published_results(real_data):
    """Twenty pairs fixed beforehand, 30 to 200 series drawn from 350: predicted and observed within 7 points."""
    with (real_data / "results" / "TSB-AD-U_VUS-PR.csv").open() as file:
        header, *rows = csv.reader(file)
    names = header[1 : header.index("point_anomaly")] if "point_anomaly" in header else header[1:]
    table = np.array([[float(cell) if cell else np.nan for cell in row[1 : len(names) + 1]] for row in rows])
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(range(len(names)), 2))
    worst = (0.0, "")
    for number in rng.choice(len(pairs), 20, replace=False):
        one, other = pairs[number]
        differences = table[:, one] - table[:, other]
        differences = differences[~np.isnan(differences)]
        for size in (30, 50, 100, 200):
            draws = rng.choice(differences, (2_000, size))
            observed = np.mean(wilcoxon(draws, axis=1, method="approx").pvalue < 0.05)
            predicted = pv.power(differences, np.zeros_like(differences), series=size).power
            what = f"{names[one]} against {names[other]}, {size} series: {predicted:.3f}, observed {observed:.3f}"
            worst = max(worst, (abs(predicted - observed), what))
    print("worst pair:", worst[1])
    assert worst[0] <= 0.07, worst[1]
