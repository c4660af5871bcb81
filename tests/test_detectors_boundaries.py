"""Several series laid end to end: windows stay inside them, and each of them is learned from and held out from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pateval.detectors import REGISTRY, make
from pateval.detectors.deep import fit_together, split_windows
from pateval.detectors.windows import lay_tiles, parts, tile_starts, training_rows, window_starts

torch.set_num_threads(1)

SMALL: dict[str, dict[str, Any]] = {
    "moving_zscore": {"window": 10},
    "moving_variance": {"window": 7},
    "moving_median": {"window": 7},
    "squared_difference": {},
    "pca": {"window": 8},
    "knn": {"window": 6},
    "isolation_forest": {"window": 4, "trees": 10},
    "mvn": {"window": 6},
    "lof": {"window": 6, "neighbors": 10},
    "autoencoder": {"window": 10, "epochs": 1, "rescale": False},
    "lstm": {"window": 10, "hidden": 4, "epochs": 2},
    "transformer": {"window": 10, "width": 8, "heads": 2, "hidden": 8, "blocks": 1, "epochs": 2},
    "usad": {"window": 5, "epochs": 2},
    "anomaly_transformer": {"window": 10, "width": 8, "heads": 2, "hidden": 8, "blocks": 1, "epochs": 2},
    "dcdetector": {"window": 12, "patch_sizes": (2, 3), "width": 8, "epochs": 2},
}
DEEP = [name for name in SMALL if REGISTRY[name].needs == "torch"]


def series(length: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(length, 2)) + seed


def settings(name: str, **changes: Any) -> dict[str, Any]:
    return {**SMALL[name], **({"device": "cpu"} if name in DEEP else {}), **changes}


def test_every_windowed_detector_is_here() -> None:
    assert set(SMALL) == set(REGISTRY) - {"perfect", "random", "constant", "squared_zscore"}


@pytest.mark.parametrize("name", SMALL)
def test_scores_of_a_series_do_not_depend_on_its_neighbours(name: str) -> None:
    detector = make(name, **settings(name)).fit(series(200))
    one, two = series(47, 1), series(38, 2)
    both = detector.score(np.concatenate([one, two]), boundaries=(0, 47))
    for mine, alone in ((both[:47], detector.score(one)), (both[47:], detector.score(two))):
        np.testing.assert_allclose(mine, alone, rtol=1e-4, atol=1e-6)
    # One series is the same with and without boundaries.
    np.testing.assert_array_equal(detector.score(one, boundaries=(0,)), detector.score(one))


@pytest.mark.parametrize("name", SMALL)
def test_one_series_is_fitted_the_same_with_and_without_boundaries(name: str) -> None:
    if name in ("moving_zscore", "moving_variance", "moving_median", "squared_difference"):
        pytest.skip("nothing is learned from windows")
    plain, bounded = make(name, **settings(name)).fit(series(200)), make(name, **settings(name))
    bounded.fit(series(200), boundaries=(0,))
    np.testing.assert_array_equal(bounded.score(series(60, 3)), plain.score(series(60, 3)))


LENGTHS = (95, 61, 130)
STARTS = (0, 95, 156)


def numbered() -> np.ndarray:
    """Steps that carry their own number, so that a window tells where it came from."""
    return np.arange(float(sum(LENGTHS)))[:, None]


def steps_of(recipe: Any, scaling: Any) -> np.ndarray:
    values = recipe.windows[:].double().numpy()[:, :, 0] * scaling.scale[0] + scaling.shift[0]
    return values.round().astype(int)


@pytest.mark.parametrize("name", DEEP)
def test_every_series_contributes_training_windows_and_none_crosses_a_boundary(name: str) -> None:
    detector = make(name, **settings(name))
    recipe = detector.plan(numbered(), boundaries=STARTS)
    steps = steps_of(recipe, detector._scaling)
    owner = np.searchsorted(STARTS, steps, side="right") - 1
    assert (owner == owner[:, :1]).all()
    assert set(owner[:, 0]) == {0, 1, 2}
    assert (np.diff(steps, axis=1) == 1).all()


@pytest.mark.parametrize("name", ["lstm", "transformer", "anomaly_transformer"])
def test_the_end_of_each_series_is_held_out(name: str) -> None:
    detector = make(name, **settings(name, validation_share=0.2))
    recipe = detector.plan(numbered(), boundaries=STARTS)
    used = steps_of(recipe, detector._scaling)
    for number, (start, length) in enumerate(zip(STARTS, LENGTHS, strict=True)):
        whole = length // 10
        held = max(1, round(0.2 * whole))
        mine = used[(used[:, 0] >= start) & (used[:, 0] < start + length)]
        assert len(mine) == whole - held, number
        assert mine.max() < start + (whole - held) * 10
    # Without boundaries, the end of the last series alone is held out: what the joined data did before.
    joined = make(name, **settings(name, validation_share=0.2)).plan(numbered())
    assert len(joined.windows) == 28 - 6


def test_a_series_of_one_window_is_learned_from() -> None:
    train, held_out = split_windows([np.array([0]), np.arange(10, 15)], 0.1, overlap=0, stride=1)
    assert train.tolist() == [0, 10, 11, 12, 13]
    assert held_out.tolist() == [14]


def test_bad_boundaries_and_short_series() -> None:
    for wrong in ((1, 5), (0, 5, 5), (0, 20), ()):
        with pytest.raises(ValueError, match="boundaries must begin at 0 and ascend"):
            parts(20, wrong)
    with pytest.raises(ValueError, match="in each series; the one from step 15 has 5"):
        make("lstm", **settings("lstm")).fit(series(20), boundaries=(0, 15))
    with pytest.raises(ValueError, match=r"^values must hold at least one window of 12 steps; got 5$"):
        parts(5, (0,), 12)
    with pytest.raises(ValueError, match="nothing that test data could choose"):
        make("usad", **settings("usad")).fit(series(50), test=series(50))


@given(st.lists(st.integers(4, 30), min_size=1, max_size=5), st.integers(1, 4))
def test_tiles_cover_every_step_once(lengths: list[int], window: int) -> None:
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    total = sum(lengths)
    tiles = tile_starts(total, window, boundaries=starts)
    found = lay_tiles(tiles[:, None] + np.arange(window), total, boundaries=starts)
    assert found.tolist() == list(range(total))
    for mine, start, length in zip(window_starts(total, window, boundaries=starts), starts, lengths, strict=True):
        assert mine.tolist() == list(range(start, start + length - window + 1))
    rows = training_rows(np.arange(float(total))[:, None], window, None, boundaries=starts)
    assert len(rows) == sum(length - window + 1 for length in lengths)


@pytest.mark.parametrize("name", DEEP)
def test_seeds_trained_together_are_those_trained_alone(name: str) -> None:
    train = series(200)
    alone = [make(name, **settings(name, seed=seed)).fit(train, boundaries=(0, 90)) for seed in (0, 1, 2)]
    together = [make(name, **settings(name, seed=seed)) for seed in (0, 1, 2)]
    seen: list[tuple[int, int]] = []
    shows = [lambda epoch, number=number: seen.append((number, epoch.number)) for number in range(3)]
    fit_together(together, train, boundaries=(0, 90), progress=shows)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.score(train), other.score(train))
        assert [epoch.loss for epoch in one.history_] == [epoch.loss for epoch in other.history_]
    # In turn, not one after the other.
    assert seen[:3] == [(0, 1), (1, 1), (2, 1)]
