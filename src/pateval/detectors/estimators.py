"""kNN, LOF, MVN and isolation forest: estimators of scikit-learn behind the adapter, with settings of their own.

Each sees the z-scored window that ends at a step; windows slide by one step, and the first ``window - 1`` steps repeat
the first window's score (causal padding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt
from sklearn.ensemble import IsolationForest as Forest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from pateval.detectors.adapter import Adapter, AdapterSettings, high_means
from pateval.detectors.base import CheckedSettings


@dataclass(frozen=True, kw_only=True)
class WindowSettings(CheckedSettings):
    """What all of them can be told.

    Attributes
    ----------
    window : int
        Steps of a window.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    """

    window: int = 50
    max_windows: int | None = 20_000


class WindowEstimator(Adapter):
    """An estimator on windows that its settings make."""

    Settings: ClassVar[type[Any]]

    def __init__(self, settings: Any = None) -> None:
        chosen = self.Settings() if settings is None else settings
        estimator, fewest = self.estimator_of(chosen)
        shown = AdapterSettings(
            window=chosen.window,
            max_windows=chosen.max_windows,
            min_windows=fewest,
            high_means=high_means(estimator) or "anomalous",
        )
        super().__init__(estimator, shown)
        self.settings = chosen

    @staticmethod
    def estimator_of(settings: Any) -> tuple[Any, int]:
        """Return the estimator, not fitted yet, and the training windows without which it has nothing to learn."""
        raise NotImplementedError


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


class KNN(WindowEstimator):
    """Mean Euclidean distance from a window to its nearest training windows."""

    Settings = KNNSettings

    @staticmethod
    def estimator_of(settings: Any) -> tuple[Any, int]:
        """Return the search for neighbours; there must be as many as are to be found."""
        return _MeanDistance(n_neighbors=settings.neighbors), settings.neighbors


@dataclass(frozen=True, kw_only=True)
class LOFSettings(WindowSettings):
    """Settings of :class:`LOF`, by default those of the paper's weather example: windows and ``neighbors``."""

    neighbors: int = 30


class LOF(WindowEstimator):
    """Local outlier factor of a window: it lies in a thinner neighbourhood than its neighbours do."""

    Settings = LOFSettings

    @staticmethod
    def estimator_of(settings: Any) -> tuple[Any, int]:
        """Return the estimator, for windows it was not fitted on; a window is no neighbour of its own."""
        return LocalOutlierFactor(n_neighbors=settings.neighbors, novelty=True), settings.neighbors + 1


@dataclass(frozen=True, kw_only=True)
class MVNSettings(WindowSettings):
    """Settings of :class:`MVN`, by default those of the paper's weather example.

    Attributes
    ----------
    components : int
        Gaussians in the mixture, full covariance (ECG example: 4, with windows of 100 steps).
    seed : int
        Of the initialisation.
    """

    components: int = 1
    seed: int = 42


class MVN(WindowEstimator):
    """Minus the log density of a window under a Gaussian mixture."""

    Settings = MVNSettings

    @staticmethod
    def estimator_of(settings: Any) -> tuple[Any, int]:
        """Return the mixture."""
        return GaussianMixture(n_components=settings.components, random_state=settings.seed), 1


@dataclass(frozen=True, kw_only=True)
class IsolationForestSettings(WindowSettings):
    """Settings of :class:`IsolationForest`: windows, the number of ``trees``, and the ``seed`` of their splits."""

    window: int = 10
    max_windows: int | None = 50_000
    trees: int = 100
    seed: int = 0


class IsolationForest(WindowEstimator):
    """How soon random splits isolate a window: above zero where scikit-learn calls it an outlier."""

    Settings = IsolationForestSettings

    @staticmethod
    def estimator_of(settings: Any) -> tuple[Any, int]:
        """Return the forest."""
        return Forest(n_estimators=settings.trees, random_state=settings.seed), 1
