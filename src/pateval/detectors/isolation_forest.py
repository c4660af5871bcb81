"""Isolation forest on windows: what random splits isolate soon is anomalous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import IsolationForest as Forest

from pateval._validation import positive_integer
from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_last,
    require_steps,
    score_rows,
    series_matrix,
    standard_scaling,
    training_rows,
)


@dataclass(frozen=True, kw_only=True)
class IsolationForestSettings:
    """Settings of :class:`IsolationForest`.

    Attributes
    ----------
    window : int
        Steps of a window.
    trees : int
        Size of the forest.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    seed : int
        Of the splits.
    """

    window: int = 10
    trees: int = 100
    max_windows: int | None = 50_000
    seed: int = 0

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        positive_integer(self.trees, "trees")


class IsolationForest:
    """How soon random splits isolate the z-scored window that ends at a step.

    Windows slide by one step; the first ``window - 1`` steps repeat the first window's score.

    Parameters
    ----------
    settings : IsolationForestSettings, optional
        Windows of ten steps and a hundred trees by default.
    """

    def __init__(self, settings: IsolationForestSettings | None = None) -> None:
        self.settings = settings if settings is not None else IsolationForestSettings()
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object) -> IsolationForest:
        """Grow the forest on the stride-1 windows of a training series, (steps,) or (steps, features)."""
        matrix = series_matrix(train, "train")
        require_steps(len(matrix), self.settings.window, "train")
        scaling = standard_scaling(matrix)
        model = Forest(n_estimators=self.settings.trees, random_state=self.settings.seed)
        model.fit(training_rows(scaling(matrix), self.settings.window, self.settings.max_windows))
        self._fitted = scaling, model
        return self

    def score(self, values: object) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._fitted is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaling, model = self._fitted
        matrix = series_matrix(values, features=scaling.features)
        window = self.settings.window
        # scikit-learn counts the other way round: high is normal.
        return lay_last(score_rows(scaling(matrix), window, lambda rows: -model.score_samples(rows)), window)
