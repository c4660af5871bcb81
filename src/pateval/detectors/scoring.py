"""Between NumPy series and windows on the device: what every deep detector does before and after its network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from pateval.detectors.windows import FloatMatrix, Scaling, lay_tiles, require_steps, series_matrix, tile_starts

if TYPE_CHECKING:
    from collections.abc import Callable

ModelT = TypeVar("ModelT", bound=nn.Module)
StateT = TypeVar("StateT")


def to_device(matrix: FloatMatrix, device: torch.device) -> Tensor:
    """Return a series on the device as float32, shape (steps, features)."""
    return torch.from_numpy(np.ascontiguousarray(matrix, dtype=np.float32)).to(device)


def window_view(series: Tensor, window: int, stride: int) -> Tensor:
    """Return the windows of a series as a view, shape (windows, window, features)."""
    require_steps(series.shape[0], window)
    return series.unfold(0, window, stride).transpose(1, 2)


def in_batches(model: nn.Module, function: Callable[[Tensor], Tensor], windows: Tensor, rows: int) -> Tensor:
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

    Returns
    -------
    ndarray of float64
        Shape (steps,).
    """
    ready = fitted(state)
    matrix = series_matrix(values, features=ready.scaling.features)
    starts = torch.from_numpy(tile_starts(matrix.shape[0], window)).to(ready.device)
    every = window_view(to_device(ready.scaling(matrix), ready.device), window, 1)
    scores = in_batches(ready.model, lambda part: function(ready.model, every[part]), starts, rows)
    return lay_tiles(scores.cpu().numpy(), matrix.shape[0])


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
) -> tuple[Scaling, Tensor, Tensor]:
    """Return scaling, training windows and validation windows, the latter two on the device.

    By default the last windows of the training series, a share of ``validation_share``, are held out and decide on
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
    require_steps(matrix.shape[0], window, "train")
    scaling = scale(matrix)
    windows = window_view(to_device(scaling(matrix), device), window, stride)
    if select_on_test:
        other = series_matrix(test, "test", features=scaling.features)
        require_steps(other.shape[0], window, "test")
        return scaling, windows, window_view(to_device(scaling(other), device), window, window)
    count = max(1, round(len(windows) * validation_share))
    if count >= len(windows):
        raise ValueError(
            f"train must hold at least two windows of {window} steps: the last is held out; got {len(windows)}"
        )
    # Windows that overlap the held-out ones are left out, so that nothing is seen on both sides.
    overlap = (window - 1) // stride
    return scaling, windows[: max(1, len(windows) - count - overlap)], windows[-count:][:: max(1, window // stride)]
