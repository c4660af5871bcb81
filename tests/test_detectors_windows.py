"""Windows, tails, scalings: the closed rules, against literal loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pateval import scores_from_windows
from pateval.detectors.windows import (
    lay_last,
    lay_tiles,
    minmax_scaling,
    no_scaling,
    score_rows,
    series_matrix,
    slide,
    standard_scaling,
    tile_starts,
    training_rows,
    window_starts,
)


@given(st.integers(1, 20), st.integers(0, 60))
def test_tiles_cover_every_step_once_and_the_tail_by_the_final_window(window: int, more: int) -> None:
    length = window + more
    starts = tile_starts(length, window)
    positions = np.stack([np.arange(start, start + window) for start in starts])
    # Laying the position of each step back must give each step its own position.
    assert lay_tiles(positions, length).tolist() == list(range(length))


def test_the_tail_takes_only_steps_that_no_tile_covers() -> None:
    scores = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert lay_tiles(scores, 8).tolist() == [1, 2, 3, 4, 5, 6, 8, 9]
    assert lay_tiles(scores, 9).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("length", "window", "scored"),
    [
        (708_420, 100, 708_400),
        (708_420, 105, 708_330),
        (73_729, 105, 73_710),
        (449_919, 12, 449_916),
        (87_841, 5, 87_840),
    ],
)
def test_the_paper_scores_the_lengths_of_its_appendix(length: int, window: int, scored: int) -> None:
    (starts,) = window_starts(length, window, window)
    assert starts[-1] + window == scored


@given(st.integers(1, 8), st.integers(0, 20), st.integers(1, 3))
def test_sliding_windows(window: int, more: int, features: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(window + more, features))
    windows = slide(matrix, window)
    assert windows.shape == (more + 1, window, features)
    for start in range(more + 1):
        np.testing.assert_array_equal(windows[start], matrix[start : start + window])


@given(st.integers(1, 8), st.integers(1, 20))
def test_laying_window_scores_back(window: int, count: int) -> None:
    scores = np.random.default_rng(1).normal(size=(count, window))
    length = count + window - 1
    expected = []
    for step in range(length):
        cover = range(max(0, step - window + 1), min(step, count - 1) + 1)
        expected.append(np.mean([scores[start, step - start] for start in cover]))
    np.testing.assert_allclose(scores_from_windows(scores, size=length, window=window), expected)
    last = lay_last(scores[:, 0], window)
    assert last.tolist() == [scores[max(0, step - window + 1), 0] for step in range(length)]


def test_rows_are_scored_in_bounded_pieces() -> None:
    matrix = np.random.default_rng(2).normal(size=(50, 2))
    seen: list[int] = []

    def total(rows: np.ndarray) -> np.ndarray:
        seen.append(rows.size)
        return rows.sum(axis=1)

    scores = score_rows(matrix, 4, total, values=40)
    np.testing.assert_allclose(scores, slide(matrix, 4).sum(axis=(1, 2)))
    assert max(seen) <= 40


def test_training_rows_are_time_major_and_thinned_evenly() -> None:
    matrix = np.arange(20.0).reshape(10, 2)
    assert training_rows(matrix, 2, None)[0].tolist() == [0, 1, 2, 3]
    thinned = training_rows(matrix, 2, 3)
    assert thinned[:, 0].tolist() == [0, 8, 16]


def test_scalings() -> None:
    matrix = np.random.default_rng(3).normal(3, 5, size=(1000, 3))
    matrix[:, 2] = 0.1
    standard = standard_scaling(matrix)
    scaled = standard(matrix)
    np.testing.assert_allclose(scaled[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled[:, :2].std(axis=0), 1)
    # A constant column divides by one, exactly, however inexact its mean would be.
    assert (scaled[:, 2] == 0).all()
    assert standard.scale[2] == 1
    low = minmax_scaling(matrix)(matrix)
    assert low[:, :2].min() == 0
    assert low[:, :2].max() == pytest.approx(1)
    assert (low[:, 2] == 0).all()
    np.testing.assert_array_equal(no_scaling(matrix)(matrix), matrix)


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([], ValueError, "shape"),
        (np.zeros((2, 2, 2)), ValueError, "shape"),
        (3.0, ValueError, "shape"),
        ([1.0, np.nan, np.inf], ValueError, "found nan at step 1, feature 0 (2 such values)"),
        (["a", "b"], TypeError, "numbers"),
        ([1 + 2j], TypeError, "numbers"),
        ([object()], TypeError, "numbers"),
    ],
)
def test_bad_series_are_refused(values: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        series_matrix(values)
    assert words in str(caught.value)


def test_features_must_match() -> None:
    with pytest.raises(ValueError, match="must have 3 features, as in training; got 2"):
        series_matrix(np.zeros((5, 2)), features=3)


def test_too_short_a_series_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one window of 5 steps; got 4"):
        tile_starts(4, 5)
    with pytest.raises(ValueError, match="at least one window"):
        slide(np.zeros((4, 1)), 5)
