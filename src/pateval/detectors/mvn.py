"""MVN: a Gaussian mixture on windows; improbable windows are anomalous."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.mixture import GaussianMixture

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
class MVNSettings:
    """Settings of :class:`MVN`; the defaults are those of the paper's weather example.

    Attributes
    ----------
    window : int
        Steps of a window (ECG example: 100).
    components : int
        Gaussians in the mixture, full covariance (ECG example: 4).
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    seed : int
        Of the initialisation.
    """

    window: int = 50
    components: int = 1
    max_windows: int | None = 20_000
    seed: int = 42

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        positive_integer(self.components, "components")


class MVN:
    """Minus the log density of the z-scored window that ends at a step.

    Windows slide by one step; the first ``window - 1`` steps repeat the first window's score (causal padding).

    Parameters
    ----------
    settings : MVNSettings, optional
        Those of the paper's weather example by default.
    """

    def __init__(self, settings: MVNSettings | None = None) -> None:
        self.settings = settings if settings is not None else MVNSettings()
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object) -> MVN:
        """Fit the mixture to the stride-1 windows of a training series, (steps,) or (steps, features)."""
        matrix = series_matrix(train, "train")
        require_steps(len(matrix), self.settings.window, "train")
        scaling = standard_scaling(matrix)
        model = GaussianMixture(n_components=self.settings.components, random_state=self.settings.seed)
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
        return lay_last(score_rows(scaling(matrix), window, lambda rows: -model.score_samples(rows)), window)
