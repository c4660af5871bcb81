"""LOF: windows that lie in a thinner neighbourhood than their neighbours are anomalous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.neighbors import LocalOutlierFactor

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
class LOFSettings:
    """Settings of :class:`LOF`; the defaults are those of the paper's weather example.

    Attributes
    ----------
    window : int
        Steps of a window.
    neighbors : int
        Size of the neighbourhood.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    """

    window: int = 50
    neighbors: int = 30
    max_windows: int | None = 20_000

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        positive_integer(self.neighbors, "neighbors")


class LOF:
    """Local outlier factor of the z-scored window that ends at a step, against the training windows.

    Windows slide by one step; the first ``window - 1`` steps repeat the first window's score (causal padding).

    Parameters
    ----------
    settings : LOFSettings, optional
        Those of the paper's weather example by default.
    """

    def __init__(self, settings: LOFSettings | None = None) -> None:
        self.settings = settings if settings is not None else LOFSettings()
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object) -> LOF:
        """Learn the stride-1 windows of a training series, (steps,) or (steps, features)."""
        matrix = series_matrix(train, "train")
        require_steps(len(matrix), self.settings.window + self.settings.neighbors, "train")
        scaling = standard_scaling(matrix)
        model = LocalOutlierFactor(n_neighbors=self.settings.neighbors, novelty=True)
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
        return lay_last(score_rows(scaling(matrix), window, lambda rows: -model.decision_function(rows)), window)
