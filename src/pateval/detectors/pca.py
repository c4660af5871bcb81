"""PCA reconstruction: what the main directions of the training windows leave unexplained. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_mean,
    require_steps,
    score_parts,
    score_rows,
    series_matrix,
    standard_scaling,
    training_rows,
)
from pateval.validation.arrays import positive_integer

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class PCASettings:
    """Settings of :class:`PCA`.

    Attributes
    ----------
    window : int
        Steps of a window.
    share : float
        Directions are kept until they explain this share of the variance.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    """

    window: int = 20
    share: float = 0.9
    max_windows: int | None = 50_000

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1; got {self.share}")


class PCA:
    """Squared error of each step when its windows are projected on the main directions of the training windows.

    A step is covered by up to ``window`` windows; its score is the mean of its errors in them.

    Examples
    --------
    >>> values = np.sin(np.arange(400.0) / 5)
    >>> values[300:303] = 0
    >>> int(PCA().fit(values[:200]).score(values).argmax()) in range(300, 303)
    True
    """

    def __init__(self, settings: PCASettings | None = None) -> None:
        self.settings = settings if settings is not None else PCASettings()
        self._fitted: tuple[Scaling, FloatMatrix, FloatMatrix] | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> PCA:
        """Find the main directions of the z-scored windows of a training series."""
        matrix = series_matrix(train, "train")
        require_steps(len(matrix), self.settings.window, "train")
        scaling = standard_scaling(matrix)
        rows = training_rows(scaling(matrix), self.settings.window, self.settings.max_windows, boundaries=boundaries)
        centre = rows.mean(axis=0)
        variances, directions = np.linalg.eigh(np.cov(rows, rowvar=False, bias=True).reshape(rows.shape[1], -1))
        explained = np.cumsum(np.maximum(variances[::-1], 0))
        components = int(np.searchsorted(explained, self.settings.share * explained[-1])) + 1
        self._fitted = scaling, centre, directions[:, ::-1][:, :components]
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._fitted is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaling, centre, directions = self._fitted
        matrix = series_matrix(values, features=scaling.features)
        window = self.settings.window

        def errors(rows: FloatMatrix) -> FloatMatrix:
            centred = rows - centre
            left = centred - centred @ directions @ directions.T
            result: FloatMatrix = np.square(left).reshape(len(rows), window, -1).mean(axis=2)
            return result

        return score_parts(
            scaling(matrix), window, boundaries, lambda part: lay_mean(score_rows(part, window, errors), window)
        )
