"""kNN, LOF, MVN and isolation forest: estimators of scikit-learn behind the adapter, with settings of their own.

Each sees the z-scored window that ends at a step; windows slide by one step, and the first ``window - 1`` steps repeat
the first window's score (causal padding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from sklearn.ensemble import IsolationForest as Forest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from pateval.detectors.adapter import Adapter, AdapterSettings, high_means
from pateval.detectors.base import CheckedSettings


@dataclass(frozen=True, kw_only=True)
class WindowSettings(CheckedSettings):
    """What all of them can be told."""

    window: int = 50  # its steps
    max_windows: int | None = 20_000  # most training windows, evenly spaced; None takes all

    def estimator(self) -> tuple[Any, int]:
        """Make the estimator; also return the training windows without which it has nothing to learn."""
        raise NotImplementedError


class WindowEstimator(Adapter):
    """An estimator on windows that its settings make."""

    def __init__(self, settings: Any = None) -> None:
        chosen = self.Settings() if settings is None else settings
        estimator, fewest = chosen.estimator()
        shown = AdapterSettings(
            window=chosen.window,
            max_windows=chosen.max_windows,
            min_windows=fewest,
            high_means=high_means(estimator) or "anomalous",
        )
        super().__init__(estimator, shown)
        self.settings = chosen


class _MeanDistance(NearestNeighbors):  # type: ignore[misc]  # scikit-learn is untyped
    """Nearest neighbours with a score: scikit-learn's class finds them and leaves the rest to its user."""

    def decision_function(self, rows: npt.NDArray[Any]) -> Any:
        """Return the mean distance to the nearest training rows."""
        return self.kneighbors(rows)[0].mean(axis=1)


@dataclass(frozen=True, kw_only=True)
class KNNSettings(WindowSettings):
    """Settings of :class:`KNN`: windows, and the ``neighbors`` whose mean distance is the score."""

    window: int = 20
    neighbors: int = 5

    def estimator(self) -> tuple[Any, int]:
        """Make the search for neighbours; there must be as many as are to be found."""
        return _MeanDistance(n_neighbors=self.neighbors), self.neighbors


class KNN(WindowEstimator):
    """Mean Euclidean distance from a window to its nearest training windows."""

    Settings = KNNSettings


@dataclass(frozen=True, kw_only=True)
class LOFSettings(WindowSettings):
    """Settings of :class:`LOF`, by default those of the paper's weather example: windows and ``neighbors``."""

    neighbors: int = 30

    def estimator(self) -> tuple[Any, int]:
        """Make the estimator, for windows it was not fitted on; a window is no neighbour of its own."""
        return LocalOutlierFactor(n_neighbors=self.neighbors, novelty=True), self.neighbors + 1


class LOF(WindowEstimator):
    """Local outlier factor of a window: it lies in a thinner neighbourhood than its neighbours do."""

    Settings = LOFSettings


@dataclass(frozen=True, kw_only=True)
class MVNSettings(WindowSettings):
    """Settings of :class:`MVN`, by default those of the paper's weather example."""

    components: int = 1  # Gaussians in the mixture, full covariance; ECG example: 4, with windows of 100 steps
    seed: int = 42  # of the initialisation

    def estimator(self) -> tuple[Any, int]:
        """Make the mixture."""
        return GaussianMixture(n_components=self.components, random_state=self.seed), 1


class MVN(WindowEstimator):
    """Minus the log density of a window under a Gaussian mixture."""

    Settings = MVNSettings


@dataclass(frozen=True, kw_only=True)
class IsolationForestSettings(WindowSettings):
    """Settings of :class:`IsolationForest`: windows, the number of ``trees``, and the ``seed`` of their splits."""

    window: int = 10
    max_windows: int | None = 50_000
    trees: int = 100
    seed: int = 0

    def estimator(self) -> tuple[Any, int]:
        """Make the forest."""
        return Forest(n_estimators=self.trees, random_state=self.seed), 1


class IsolationForest(WindowEstimator):
    """How soon random splits isolate a window: above zero where scikit-learn calls it an outlier."""

    Settings = IsolationForestSettings
