"""Between NumPy series and windows on the device: what every deep detector does before and after its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_tiles,
    require_steps,
    series_matrix,
    tile_starts,
    window_starts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from pateval.detectors.training import WindowSource
    from pateval.detectors.windows import Boundaries

ModelT = TypeVar("ModelT", bound=nn.Module)
StateT = TypeVar("StateT")


def to_device(matrix: FloatMatrix, device: torch.device) -> Tensor:
    """Return a series on the device as float32, shape (steps, features)."""
    return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32)).to(device)


def window_view(series: Tensor, window: int, stride: int) -> Tensor:
    """Return the windows of a series as a view, shape (windows, window, features)."""
    require_steps(series.shape[0], window)
    return series.unfold(0, window, stride).transpose(1, 2)


class Windows:
    """Windows of a series, named by where they begin: an index into an overlapping view, so that nothing is copied.

    Parameters
    ----------
    series : Tensor
        Shape (steps, features).
    window : int
        Steps of a window.
    starts : ndarray of int
        First step of each window.
    """

    def __init__(self, series: Tensor, window: int, starts: npt.NDArray[np.intp]) -> None:
        self._view = window_view(series, window, 1)
        self._starts = torch.from_numpy(np.ascontiguousarray(starts)).to(series.device)

    @property
    def device(self) -> torch.device:
        """Where the windows are."""
        return self._view.device

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: Any, /) -> Tensor:
        """Return windows by number, (windows, window, features), as a copy."""
        return self._view[self._starts[index]]


def in_batches(model: nn.Module, function: Callable[[Tensor], Tensor], windows: WindowSource, rows: int) -> Tensor:
    """Apply a function to ``rows`` windows at a time, without gradients, and join the results."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return torch.cat([function(windows[first : first + rows]) for first in range(0, len(windows), rows)])
    finally:
        model.train(training)


def reconstruction_errors(model: nn.Module, windows: Tensor) -> Tensor:
    """Return the squared error of each step, averaged over the features: (batch, window)."""
    return torch.square(model(windows) - windows).mean(dim=-1)


@dataclass(slots=True)
class Fitted(Generic[ModelT]):
    """What a deep detector needs to score: the network, the scaling of its input, the device."""

    model: ModelT
    scaling: Scaling
    device: torch.device


def fitted(state: StateT | None) -> StateT:
    """Return what ``fit`` has left, or say that it has not been called."""
    if state is None:
        raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
    return state


def score_tiles(
    state: Fitted[ModelT] | None,
    function: Callable[[ModelT, Tensor], Tensor],
    values: object,
    *,
    window: int,
    rows: int,
    boundaries: Boundaries | None = None,
) -> FloatMatrix:
    """Score a series tile by tile, one value per step (see :mod:`pateval.detectors.windows` for the tail).

    Parameters
    ----------
    state : Fitted
        Network, scaling and device.
    function : callable
        Scores a batch of windows with the network: (batch, window, features) to (batch, window).
    values : array-like
        Shape (steps,) or (steps, features).
    window : int
        Steps of a window.
    rows : int
        Windows scored at a time: bounds the memory.
    boundaries : sequence of int, optional
        Where each of several series begins; no tile crosses one.

    Returns
    -------
    ndarray of float64
        Shape (steps,).
    """
    ready = fitted(state)
    matrix = series_matrix(values, features=ready.scaling.features)
    starts = tile_starts(matrix.shape[0], window, boundaries=boundaries)
    tiles = Windows(to_device(ready.scaling(matrix), ready.device), window, starts)
    scores = in_batches(ready.model, lambda part: function(ready.model, part), tiles, rows)
    return lay_tiles(scores.cpu().numpy(), matrix.shape[0], boundaries=boundaries)


def split_windows(
    starts: list[npt.NDArray[np.intp]], share: float, *, overlap: int, stride: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Hold out the last windows of each series.

    Parameters
    ----------
    starts : list of ndarray
        First steps of the windows of each series.
    share : float
        Of the windows of each series that is held out, at least one where there are two.
    overlap : int
        Windows before the held-out ones that share steps with them: they are left out.
    stride : int
        Of the held-out windows, every how-many-th is taken.

    Returns
    -------
    train, held_out : ndarray of int
        First steps; every series contributes to ``train``.

    Examples
    --------
    >>> train, held_out = split_windows([np.arange(10), np.arange(20, 25)], 0.2, overlap=1, stride=1)
    >>> train.tolist(), held_out.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 20, 21, 22], [8, 9, 24])
    """
    train, held_out = [], []
    for mine in starts:
        count = max(1, round(len(mine) * share))
        if count >= len(mine):
            # One window cannot be on both sides: it is learned from.
            train.append(mine)
            continue
        train.append(mine[: max(1, len(mine) - count - overlap)])
        held_out.append(mine[-count:][::stride])
    return np.concatenate(train), np.concatenate(held_out or [np.empty(0, dtype=np.intp)])


def training_windows(
    train: object,
    test: object,
    *,
    scale: Callable[[FloatMatrix], Scaling],
    window: int,
    stride: int,
    device: torch.device,
    select_on_test: bool,
    validation_share: float,
    boundaries: Boundaries | None = None,
    test_boundaries: Boundaries | None = None,
) -> tuple[Scaling, Windows, Windows]:
    """Return scaling, training windows and validation windows, the latter two on the device.

    By default the last windows of each training series, a share of ``validation_share``, are held out and decide on
    learning rate, early stop and the weights to keep. With ``select_on_test`` the test series decides, as in the
    paper: then all windows are trained on, and the result has seen the test data.

    Raises
    ------
    ValueError
        If test data are given without ``select_on_test`` or the other way round, or the training series is too short.
    """
    if (test is not None) != select_on_test:
        raise ValueError(
            "select_on_test=True needs fit(train, test=...)"
            if select_on_test
            else "test data may choose the weights only with select_on_test=True; they were given without it"
        )
    matrix = series_matrix(train, "train")
    starts = window_starts(len(matrix), window, stride, boundaries=boundaries, name="train")
    scaling = scale(matrix)
    series = to_device(scaling(matrix), device)
    if select_on_test:
        other = series_matrix(test, "test", features=scaling.features)
        chosen = np.concatenate(window_starts(len(other), window, window, boundaries=test_boundaries, name="test"))
        return (
            scaling,
            Windows(series, window, np.concatenate(starts)),
            Windows(to_device(scaling(other), device), window, chosen),
        )
    # Windows that overlap the held-out ones are left out, so that nothing is seen on both sides.
    mine, held_out = split_windows(
        starts, validation_share, overlap=(window - 1) // stride, stride=max(1, window // stride)
    )
    if not len(held_out):
        raise ValueError(
            f"train must hold at least two windows of {window} steps: the last is held out; got {len(mine)}"
        )
    return scaling, Windows(series, window, mine), Windows(series, window, held_out)


def all_windows(
    train: object,
    *,
    scale: Callable[[FloatMatrix], Scaling],
    window: int,
    stride: int,
    device: torch.device,
    boundaries: Boundaries | None,
    test: object,
) -> tuple[Scaling, Windows]:
    """Return scaling and all training windows of a detector that keeps its last weights.

    Raises
    ------
    ValueError
        If test data are given, which have nothing to choose, or the training series is too short.
    """
    if test is not None:
        raise ValueError("this detector keeps its last weights: there is nothing that test data could choose")
    matrix = series_matrix(train, "train")
    starts = np.concatenate(window_starts(len(matrix), window, stride, boundaries=boundaries, name="train"))
    scaling = scale(matrix)
    return scaling, Windows(to_device(scaling(matrix), device), window, starts)
