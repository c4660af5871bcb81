"""Moving z-score: how far a step lies from the mean of the steps just before it. NumPy only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from pateval.detectors.windows import FloatMatrix, Scaling, score_parts, series_matrix, standard_scaling
from pateval.validation.arrays import choice, positive_integer

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class MovingZScoreSettings:
    """Settings of :class:`MovingZScore`.

    Attributes
    ----------
    window : int
        Steps before the current one that make its mean and deviation.
    floor : float
        Smallest deviation, in units of the training deviation: keeps quiet stretches from blowing up.
    combine : {"max", "mean"}
        How the features' scores become one.
    """

    window: int = 100
    floor: float = 0.05
    combine: Literal["max", "mean"] = "max"

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        choice(self.combine, "combine", ("max", "mean"))
        if not self.floor > 0:
            raise ValueError(f"floor must be positive; got {self.floor}")


class MovingZScore:
    """Distance of a step from the mean of the ``window`` steps before it, in units of their standard deviation.

    Causal: only the past counts. The first ``window`` steps, which have too short a past, are compared with mean and
    deviation of the training series.

    Examples
    --------
    >>> values = np.sin(np.arange(300.0))
    >>> values[250] = 7
    >>> int(MovingZScore().fit(values[:200]).score(values).argmax())
    250
    """

    def __init__(self, settings: MovingZScoreSettings | None = None) -> None:
        self.settings = settings if settings is not None else MovingZScoreSettings()
        self._scaling: Scaling | None = None

    def fit(self, train: object) -> MovingZScore:
        """Learn mean and deviation of each feature from a training series, (steps,) or (steps, features)."""
        self._scaling = standard_scaling(series_matrix(train, "train"))
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._scaling is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaled = self._scaling(series_matrix(values, features=self._scaling.features))
        return score_parts(scaled, 1, boundaries, self._scores)

    def _scores(self, scaled: FloatMatrix) -> FloatMatrix:
        window = self.settings.window
        scores = np.abs(scaled)
        if len(scaled) > window:
            mean = _moving_mean(scaled, window)
            variance = np.maximum(_moving_mean(np.square(scaled), window) - np.square(mean), 0)
            deviation = np.maximum(np.sqrt(variance), self.settings.floor)
            scores[window:] = np.abs(scaled[window:] - mean[:-1]) / deviation[:-1]
        result: FloatMatrix = scores.max(axis=1) if self.settings.combine == "max" else scores.mean(axis=1)
        return result


def _moving_mean(matrix: FloatMatrix, window: int) -> FloatMatrix:
    total = np.cumsum(np.vstack([np.zeros((1, matrix.shape[1])), matrix]), axis=0)
    result: FloatMatrix = (total[window:] - total[:-window]) / window
    return result
