"""Series to windows and window scores back to steps.

Two layouts are used by the detectors:

*tiles*
    Windows laid end to end without overlap, as the paper's five deep detectors use them. The paper drops the
    incomplete tail; here every step gets a score: where the length is no multiple of the window, the **final
    window of the series** is scored too, and only the steps that no tile covers take their score from it.
    The paper's protocol of the runner cuts them off again.
*sliding windows*
    One window per stride; a window's score belongs to its last step (*causal*: the first ``window - 1`` steps
    repeat the first score) or is averaged over all windows that cover a step.

Where several series are laid end to end, *boundaries* are the steps at which they begin. Given them, no window crosses
one: each series is cut into windows, and its scores are laid, by itself. Without them all steps are one series, as the
paper's code takes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Boundaries = Sequence[int]

FloatMatrix = npt.NDArray[np.float64]


def series_matrix(values: object, name: str = "values", *, features: int | None = None) -> FloatMatrix:
    """Check a series, called ``name`` in messages, and return it as float64 of shape (steps, features)."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"{name} must be numbers; got {array.dtype} values")
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{name} must have the shape (steps,) or (steps, features) and hold data; got {array.shape}")
    try:
        matrix = np.asarray(array, dtype=np.float64).reshape(array.shape[0], -1)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from error
    wrong = ~np.isfinite(matrix)
    if wrong.any():
        step, feature = map(int, np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must be finite; found {matrix[step, feature]} at step {step}, feature {feature} "
            f"({int(np.count_nonzero(wrong))} such values)"
        )
    if features is not None and matrix.shape[1] != features:
        raise ValueError(f"{name} must have {features} features, as in training; got {matrix.shape[1]}")
    return matrix


def require_steps(length: int, window: int, name: str = "values") -> None:
    """Raise ValueError where a series is shorter than one window."""
    if length < window:
        raise ValueError(f"{name} must hold at least one window of {window} steps; got {length}")


def parts(length: int, boundaries: Boundaries | None, window: int = 1, name: str = "values") -> list[slice]:
    """Return the stretch of each series; all ``length`` steps where there are no boundaries."""
    if boundaries is None:
        require_steps(length, window, name)
        return [slice(0, length)]
    starts = [int(start) for start in boundaries]
    if not starts or starts[0] != 0 or any(b <= a for a, b in itertools.pairwise(starts)) or starts[-1] >= length:
        raise ValueError(
            f"boundaries must begin at 0 and ascend below the {length} steps of {name}; got {starts[:5]}"
            + (" ..." if len(starts) > 5 else "")
        )
    series = [slice(start, stop) for start, stop in itertools.pairwise([*starts, length])]
    if len(series) == 1:
        require_steps(length, window, name)
    for part in series:
        if part.stop - part.start < window:
            raise ValueError(
                f"{name} must hold at least one window of {window} steps in each series; the one from step "
                f"{part.start} has {part.stop - part.start}"
            )
    return series


def window_starts(
    length: int, window: int, stride: int = 1, *, boundaries: Boundaries | None = None, name: str = "values"
) -> list[npt.NDArray[np.intp]]:
    """Return, for each series, the first steps of its windows."""
    return [
        np.arange(part.start, part.stop - window + 1, stride, dtype=np.intp)
        for part in parts(length, boundaries, window, name)
    ]


def tile_starts(length: int, window: int, *, boundaries: Boundaries | None = None) -> npt.NDArray[np.intp]:
    """First steps of the tiles, and of the final window of each series where they leave steps over."""
    final = [part.stop - window for part in parts(length, boundaries, window)]
    # Where tiles leave nothing over, the final window is a tile itself.
    return np.unique(np.concatenate([*window_starts(length, window, window, boundaries=boundaries), final]))


def lay_tiles(scores: npt.NDArray[Any], length: int, *, boundaries: Boundaries | None = None) -> FloatMatrix:
    """Lay the scores of the steps of tiles, shape (tiles, window), end to end: one per step, shape (length,).

    The tiles are those of `tile_starts`; the steps after the last whole one take the end of the final window.
    """
    window = scores.shape[1]
    steps = tile_starts(length, window, boundaries=boundaries)[:, np.newaxis] + np.arange(window)
    # The first place of each step: where the final window overlaps a whole tile, the tile has the say.
    _, places = np.unique(steps, return_index=True)
    return scores.reshape(-1)[places].astype(np.float64)


def slide(matrix: npt.NDArray[Any], window: int) -> npt.NDArray[Any]:
    """Return a read-only view of the sliding windows, shape (windows, window, features)."""
    require_steps(matrix.shape[0], window)
    return np.lib.stride_tricks.sliding_window_view(matrix, window, axis=0).swapaxes(1, 2)


def lay_last(scores: npt.NDArray[Any], window: int) -> FloatMatrix:
    """Give each stride-1 window's score to its last step; the first ``window - 1`` steps repeat the first score."""
    return np.concatenate([np.repeat(scores[:1], window - 1), scores]).astype(np.float64)


def training_rows(
    matrix: FloatMatrix, window: int, most: int | None, *, fewest: int = 1, boundaries: Boundaries | None = None
) -> FloatMatrix:
    """Return the stride-1 windows of a training series as rows; if there are more than ``most``, evenly spaced ones."""
    require_steps(len(matrix), window + fewest - 1, "train")
    starts = np.concatenate(window_starts(len(matrix), window, boundaries=boundaries, name="train"))
    if most is not None and len(starts) > most:
        starts = starts[np.linspace(0, len(starts) - 1, most).round().astype(np.intp)]
    return np.ascontiguousarray(slide(matrix, window)[starts]).reshape(len(starts), -1)


def score_rows(
    matrix: FloatMatrix, window: int, function: Callable[[FloatMatrix], npt.NDArray[Any]], *, values: int = 4_000_000
) -> npt.NDArray[Any]:
    """Apply a function of window rows to all stride-1 windows, a bounded number of values at a time."""
    windows = slide(matrix, window)
    width = window * matrix.shape[1]
    rows = max(1, values // width)
    pieces = (np.ascontiguousarray(windows[first : first + rows]) for first in range(0, len(windows), rows))
    return np.concatenate([function(piece.reshape(-1, width)) for piece in pieces])


@dataclass(frozen=True, slots=True)
class Scaling:
    """A per-feature affine map ``(values - shift) / scale``, fitted on training data."""

    shift: FloatMatrix
    scale: FloatMatrix

    def __call__(self, matrix: FloatMatrix) -> FloatMatrix:
        """Apply the map; nothing is clipped."""
        return (matrix - self.shift) / self.scale

    @property
    def features(self) -> int:
        """Number of features the scaling was fitted on."""
        return int(self.shift.size)


def standard_scaling(matrix: FloatMatrix) -> Scaling:
    """Zero mean and unit population standard deviation; a constant feature is only shifted."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    # The computed deviation of a constant column is rounding noise, not zero: constancy is asked for directly.
    constant = low == high
    return Scaling(np.where(constant, low, matrix.mean(axis=0)), np.where(constant, 1.0, matrix.std(axis=0)))


def minmax_scaling(matrix: FloatMatrix) -> Scaling:
    """Training minimum to 0, training maximum to 1; a constant feature is only shifted."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    return Scaling(low, np.where(low == high, 1.0, high - low))


def no_scaling(matrix: FloatMatrix) -> Scaling:
    """Leave the values as they are."""
    return Scaling(np.zeros(matrix.shape[1]), np.ones(matrix.shape[1]))
