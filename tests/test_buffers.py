"""Buffer suggestion against a direct computation of the autocorrelation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from pateval.buffers import autocorrelation


def direct_autocorrelation(series, longest):
    centred = [v - sum(series) / len(series) for v in series]
    total = sum(v * v for v in centred)
    return [sum(a * b for a, b in zip(centred, centred[lag:], strict=False)) / total for lag in range(longest + 1)]


def direct_suggestion(values):
    values = list(values)[:20_000]
    correlation = direct_autocorrelation(values, min(400, len(values) - 1))[3:]
    peaks = [
        i
        for i in range(1, len(correlation) - 1)
        if correlation[i] > correlation[i - 1] and correlation[i] > correlation[i + 1]
    ]
    if not peaks:
        return 100
    highest = max(peaks, key=lambda i: correlation[i])
    return highest + 3 if 3 <= highest <= 300 else 100


@given(st.lists(st.floats(-100, 100), min_size=4, max_size=60).filter(lambda v: max(v) - min(v) > 1e-3))
def test_autocorrelation_is_the_direct_one(values):
    longest = len(values) - 1
    found = autocorrelation(np.array(values), longest)
    assert found == pytest.approx(direct_autocorrelation(values, longest), abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.filterwarnings("ignore:no period")
def test_suggestion_is_the_direct_one(seed):
    rng = np.random.default_rng(seed)
    period = rng.integers(5, 420)
    values = np.sin(2 * np.pi * np.arange(1500) / period) + rng.normal(0, 0.3, 1500) + 0.001 * np.arange(1500)
    assert pv.suggest_buffer(values) == direct_suggestion(values)


def test_only_the_first_steps_count():
    values = np.sin(2 * np.pi * np.arange(30_000) / 40)
    values[20_000:] = np.random.default_rng(0).normal(size=10_000)
    assert pv.suggest_buffer(values) == 40


@pytest.mark.parametrize("values", [np.ones(500), np.arange(500.0), [1.0], [1.0, 2.0, 3.0], np.zeros(3)])
def test_nothing_found_gives_the_default_and_says_so(values):
    with pytest.warns(UserWarning, match="no period found"):
        assert pv.suggest_buffer(values) == 100


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e300])
def test_scale_does_not_matter(scale):
    assert pv.suggest_buffer(scale * np.sin(2 * np.pi * np.arange(2000) / 50)) == 50


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], "pass one column"),
        ([1.0, float("nan"), 2.0], "NaN at index 1"),
        ([1.0, float("inf"), 2.0], "infinite value at index 1"),
        ([], "at least one time step"),
        (["a", "b"], "text"),
    ],
)
def test_bad_values(values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pv.suggest_buffer(values)
