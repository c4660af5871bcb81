"""LOF, MVN and isolation forest: estimators of scikit-learn behind the adapter, with settings of their own.

Each sees the z-scored window that ends at a step; windows slide by one step, and the first ``window - 1`` steps repeat
the first window's score (causal padding).
"""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.ensemble import IsolationForest as Forest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from pateval.detectors.adapter import Adapter, AdapterSettings
from pateval.validation.arrays import positive_integer


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


class LOF(Adapter):
    """Local outlier factor of a window: it lies in a thinner neighbourhood than its neighbours do.

    Parameters
    ----------
    settings : LOFSettings, optional
        Those of the paper's weather example by default.
    """

    def __init__(self, settings: LOFSettings | None = None) -> None:
        settings = settings if settings is not None else LOFSettings()
        super().__init__(
            LocalOutlierFactor(n_neighbors=settings.neighbors, novelty=True),
            # A window is no neighbour of its own.
            AdapterSettings(
                window=settings.window, max_windows=settings.max_windows, min_windows=settings.neighbors + 1
            ),
        )
        self.settings = settings


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


class MVN(Adapter):
    """Minus the log density of a window under a Gaussian mixture.

    Parameters
    ----------
    settings : MVNSettings, optional
        Those of the paper's weather example by default.
    """

    def __init__(self, settings: MVNSettings | None = None) -> None:
        settings = settings if settings is not None else MVNSettings()
        super().__init__(
            GaussianMixture(n_components=settings.components, random_state=settings.seed),
            AdapterSettings(window=settings.window, max_windows=settings.max_windows),
        )
        self.settings = settings


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


class IsolationForest(Adapter):
    """How soon random splits isolate a window: above zero where scikit-learn calls it an outlier.

    Parameters
    ----------
    settings : IsolationForestSettings, optional
        Windows of ten steps and a hundred trees by default.
    """

    def __init__(self, settings: IsolationForestSettings | None = None) -> None:
        settings = settings if settings is not None else IsolationForestSettings()
        super().__init__(
            Forest(n_estimators=settings.trees, random_state=settings.seed),
            AdapterSettings(window=settings.window, max_windows=settings.max_windows),
        )
        self.settings = settings
