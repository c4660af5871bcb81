"""k-nearest windows: the distance to the training windows most alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.neighbors import NearestNeighbors

from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_last,
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
class KNNSettings:
    """Settings of :class:`KNN`.

    Attributes
    ----------
    window : int
        Steps of a window.
    neighbors : int
        Nearest training windows whose mean distance is the score.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    """

    window: int = 20
    neighbors: int = 5
    max_windows: int | None = 20_000

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        positive_integer(self.neighbors, "neighbors")


class KNN:
    """Mean Euclidean distance from the z-scored window that ends at a step to its nearest training windows.

    Windows slide by one step; the first ``window - 1`` steps repeat the first window's score.

    Parameters
    ----------
    settings : KNNSettings, optional
        Five neighbours and windows of twenty steps by default.
    """

    def __init__(self, settings: KNNSettings | None = None) -> None:
        self.settings = settings if settings is not None else KNNSettings()
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> KNN:
        """Learn the stride-1 windows of a training series, (steps,) or (steps, features)."""
        matrix = series_matrix(train, "train")
        require_steps(len(matrix), self.settings.window + self.settings.neighbors - 1, "train")
        scaling = standard_scaling(matrix)
        model = NearestNeighbors(n_neighbors=self.settings.neighbors)
        model.fit(
            training_rows(scaling(matrix), self.settings.window, self.settings.max_windows, boundaries=boundaries)
        )
        self._fitted = scaling, model
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._fitted is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaling, model = self._fitted
        matrix = series_matrix(values, features=scaling.features)
        window = self.settings.window

        def distances(part: FloatMatrix) -> FloatMatrix:
            return lay_last(score_rows(part, window, lambda rows: model.kneighbors(rows)[0].mean(axis=1)), window)

        return score_parts(scaling(matrix), window, boundaries, distances)
