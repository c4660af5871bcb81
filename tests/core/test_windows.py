"""Scores of windows become scores of steps: against the oracle, and refusals whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from oracles import windows as oracle
from support.messages import raises_exactly

PER_WINDOW = "window_scores must have one score or one row per window"
RESHAPE = "pass window_scores.reshape(3, 3) if they are the steps of the windows, one after another"
HOW = ("mean", "max", "last", "first", "centre")


@st.composite
def cut_series(draw):
    window, stride = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    size = draw(st.integers(window, window + 25))
    count = (size - window) // stride + 1
    numbers = st.integers(-9, 9).map(lambda number: number / 4)
    one = draw(st.sampled_from([numbers, st.lists(numbers, min_size=window, max_size=window)]))
    return draw(st.lists(one, min_size=count, max_size=count)), size, window, stride


@given(cut_series(), st.sampled_from(HOW), st.sampled_from(["nan", "repeat"]))
def test_agrees_with_the_definition(cut, how, missing):
    scores, size, window, stride = cut
    expected = oracle.scores_from_windows(scores, size, window, stride, how, missing)
    found = pv.scores_from_windows(scores, size=size, window=window, stride=stride, how=how, missing=missing)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [np.nan if score is None else score for score in expected], atol=1e-12, rtol=0)


def test_the_oracle_by_hand():
    assert oracle.scores_from_windows([1, 5], 6, 2, 3, "mean", "nan") == [1, 1, None, 5, 5, None]
    assert oracle.scores_from_windows([[1, 2], [4, 3]], 3, 2, 1, "mean", "nan") == [1, 3, 3]
    assert oracle.scores_from_windows([1, 5], 6, 2, 3, "last", "repeat") == [1, 1, 1, 5, 5, 5]


def test_the_input_stays_and_containers_agree():
    scores = np.array([[1.0, 2.0], [4.0, 3.0]], dtype=np.float32)
    before = scores.copy()
    expected = pv.scores_from_windows(scores, size=3, window=2)
    np.testing.assert_array_equal(scores, before)
    np.testing.assert_array_equal(pv.scores_from_windows(scores.tolist(), size=3, window=2), expected)


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (
            [1.0] * 4,
            {"size": 5, "window": 3},
            f"{PER_WINDOW}; got 4, and a series of 5 steps has 3 windows of 3 at stride 1",
        ),
        (
            [1.0] * 9,
            {"size": 5, "window": 3},
            f"{PER_WINDOW}; got 9 values, and a series of 5 steps has 3 windows of 3 at stride 1: {RESHAPE}",
        ),
        (
            [[1.0, 2.0]] * 3,
            {"size": 5, "window": 3},
            "window_scores must have 3 columns, a score for each step of a window; got 2",
        ),
        ([1.0], {"size": 2, "window": 3}, "window must not be longer than the series; got window=3 and size=2"),
        ([1.0], {"size": 3, "window": 0}, "window must be a positive integer; got 0"),
        ([1.0], {"size": 3, "window": 3, "stride": 0}, "stride must be a positive integer; got 0"),
        ([1.0], {"size": 3.5, "window": 3}, "size must be a positive integer; got 3.5"),
        (
            [1.0],
            {"size": 3, "window": 3, "how": "median"},
            "how must be one of 'mean', 'max', 'last', 'first', 'centre'; got 'median'",
        ),
        ([1.0], {"size": 3, "window": 3, "missing": "zero"}, "missing must be one of 'nan', 'repeat'; got 'zero'"),
        (
            [1.0, np.nan],
            {"size": 3, "window": 2},
            "window_scores must be finite at every step; found NaN at index 1 (1 such value in 2)",
        ),
    ],
)
def test_what_cannot_be_is_refused(scores, options, message):
    with raises_exactly((ValueError, TypeError), message):
        pv.scores_from_windows(scores, **options)


def test_windows_laid_one_after_another_are_recognised_by_their_length():
    labels, scores = [0, 1] * 50, np.zeros(91 * 10)
    remedy = (
        ": those are 91 windows of 10 steps, one after another; "
        "pv.scores_from_windows(scores.reshape(-1, 10), size=100, window=10) gives each step one"
    )
    with raises_exactly(ValueError, f"labels and scores must have the same length; got 100 and 910{remedy}"):
        pv.evaluate(labels, scores)
    with raises_exactly(ValueError, f"labels and scores must have the same length; got 100 and 910{remedy}"):
        pv.pate_ap(labels, scores)
    with raises_exactly(ValueError, "labels and scores must have the same length; got 100 and 911"):
        pv.pate_ap(labels, np.zeros(911))
    with raises_exactly(ValueError, "labels and scores must have the same length; got 100 and 99"):
        pv.pate_ap(labels, np.zeros(99))


def test_put_back_on_the_steps_the_scores_give_the_value_of_the_series():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0, 1, 0], [40, 5, 30, 8, 37])
    scores = rng.random(120) + labels
    rows = np.lib.stride_tricks.sliding_window_view(scores, 10)
    for how in ("mean", "max"):
        back = pv.scores_from_windows(rows, size=120, window=10, how=how)
        np.testing.assert_allclose(back, scores, atol=1e-12)
        assert pv.pate_ap(labels, back) == pytest.approx(pv.pate_ap(labels, scores), abs=1e-12)
    last = pv.scores_from_windows(rows, size=120, window=10, how="last")
    assert pv.evaluate(labels, last, metrics="pate_ap", missing="ignore")["pate_ap"] == pytest.approx(
        pv.pate_ap(labels[9:], scores[9:]), abs=1e-12
    )
