"""The rules of NumPy alone: each against the sentence that defines it, step by step."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pateval import rules

VALUES = arrays(np.float64, st.integers(3, 40), elements=st.floats(-100, 100, width=32))


def centred(values: np.ndarray, step: int, window: int) -> np.ndarray:
    return values[max(0, step - window // 2) : step - window // 2 + window]


def ending(values: np.ndarray, step: int, window: int) -> np.ndarray:
    return np.array([values[max(0, step - back)] for back in range(window - 1, -1, -1)])


@settings(deadline=None)
@given(VALUES, st.integers(1, 12))
def test_centred_windows(values: np.ndarray, window: int) -> None:
    mine = [centred(values, step, window) for step in range(values.size)]
    mean = np.array([part.mean() for part in mine])
    np.testing.assert_allclose(rules.moving_mean(values, window), mean, atol=1e-9)
    np.testing.assert_allclose(rules.distance_to_moving_mean(values, window), np.abs(values - mean), atol=1e-9)
    np.testing.assert_allclose(rules.moving_variance(values, window), [part.var() for part in mine], atol=1e-7)
    median = np.array([np.median(part) for part in mine])
    np.testing.assert_allclose(rules.distance_to_moving_median(values, window), np.abs(values - median), atol=1e-9)


@settings(deadline=None)
@given(VALUES, st.integers(2, 12))
def test_windows_that_end_at_a_step(values: np.ndarray, window: int) -> None:
    expected = [
        abs(value - part.mean()) / (part.std() + 1e-9)
        for value, part in ((values[step], ending(values, step, window)) for step in range(values.size))
    ]
    np.testing.assert_allclose(rules.moving_z_score(values, window), expected, rtol=1e-6, atol=1e-6)


@settings(deadline=None)
@given(VALUES, st.integers(2, 8))
def test_the_past_alone(values: np.ndarray, window: int) -> None:
    expected = np.abs(values)
    for step in range(window, values.size):
        past = values[step - window : step]
        expected[step] = abs(values[step] - past.mean()) / max(past.std(), 0.5)
    np.testing.assert_allclose(rules.past_z_score(values, window, 0.5), expected, rtol=1e-6, atol=1e-6)
    both = np.stack([values, -2 * values], axis=1)
    np.testing.assert_allclose(rules.past_z_score(both, window, 0.5)[:, 0], expected, rtol=1e-6, atol=1e-6)


@given(VALUES)
def test_differences(values: np.ndarray) -> None:
    steps = np.array([0.0, *(b - a for a, b in itertools.pairwise(values))])
    np.testing.assert_array_equal(rules.squared_difference(values), steps**2)
    np.testing.assert_array_equal(rules.absolute_difference(values), np.abs(steps))
    seasonal = rules.seasonal_difference(values, 2)
    assert seasonal[:2].tolist() == [0, 0]
    np.testing.assert_array_equal(seasonal[2:], np.abs(values[2:] - values[:-2]))


def test_a_calm_stretch_has_no_deviation() -> None:
    values = np.concatenate([np.full(30, 1e3), np.sin(np.arange(30.0))])
    assert (rules.moving_deviation(values, 10)[:20] == 0).all()
    assert rules.moving_deviation(values, 10)[40] == pytest.approx(values[35:45].std())


@pytest.mark.parametrize(("rule", "window"), [(rules.window_pca, 40), (rules.nearest_window, 20)])
def test_an_odd_shape_is_found(rule: Callable[[np.ndarray, int], np.ndarray], window: int) -> None:
    values = np.sin(np.arange(900.0) * 2 * np.pi / 40) + 0.01 * np.random.default_rng(0).normal(size=900)
    values[500:520] = 0
    scores = rule(values, window)
    assert scores.shape == values.shape
    assert 485 <= int(scores.argmax()) <= 535
    assert scores[100:400].max() < scores.max()


def test_rules_leave_their_input_alone() -> None:
    values = np.sin(np.arange(200.0))
    before = values.copy()
    public = {name for name in vars(rules) if not name.startswith("_") and inspect.isfunction(getattr(rules, name))}
    for name in sorted(public - {"usual_window", "one_liner"}):
        extra = {"past_z_score": (20, 0.1)}.get(
            name, () if name.endswith(("absolute_difference", "squared_difference")) else (20,)
        )
        assert getattr(rules, name)(values, *extra).shape == values.shape, name
    assert rules.usual_window(values) > 0
    np.testing.assert_array_equal(values, before)
