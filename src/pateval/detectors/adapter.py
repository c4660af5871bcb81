"""Estimators of other libraries as detectors: windows to scikit-learn's and PyOD's, whole series to aeon's.

Half of the libraries turn the sign around: an outlier detector of scikit-learn gives *low* values to anomalies, one of
PyOD or aeon high ones, and nothing in the numbers would show it. :func:`estimator_kind` is the one place that decides;
none of the libraries is imported for it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pateval.detectors.base import CheckedSettings, Detector
from pateval.detectors.windows import (
    Boundaries,
    FloatMatrix,
    Scaling,
    lay_last,
    no_scaling,
    parts,
    score_rows,
    training_rows,
)

Kind = Literal["outlier_detector", "density_estimator", "classifier", "pyod", "aeon"]


def high_means(estimator: Any) -> Literal["normal", "anomalous"] | None:
    """Say what a high value of an estimator means, or None where its class does not tell.

    The estimator is one of scikit-learn, PyOD or aeon, one that follows their rules, or a pipeline or search around it.
    """
    kind = estimator_kind(estimator)
    if kind is None:
        return None
    # The decision function of a classifier is high for the class with the larger label.
    return "normal" if kind in ("outlier_detector", "density_estimator") else "anomalous"


def estimator_kind(estimator: Any) -> Kind | None:
    """Say what an estimator is, or None where its class does not tell; of a pipeline its last step decides.

    PyOD comes first: its detectors call themselves outlier detectors of scikit-learn, with the other sign.
    """
    if hasattr(estimator, "steps"):
        return estimator_kind(estimator.steps[-1][1])
    if type(estimator).__module__.startswith("sklearn.model_selection."):
        return estimator_kind(estimator.estimator)
    if any(base.__module__.partition(".")[0] == "pyod" for base in type(estimator).__mro__):
        return "pyod"
    if sees_whole_series(type(estimator)):
        return "aeon"
    declared = _scikit_learn_type(estimator)
    if declared in ("outlier_detector", "density_estimator", "classifier"):
        return declared
    # KernelDensity and PCA carry no such mark; the samples they score highest are those they find most likely.
    if type(estimator).__module__.partition(".")[0] == "sklearn" and hasattr(estimator, "score_samples"):
        return "density_estimator"
    return None


def sees_whole_series(kind: type[Any]) -> bool:
    """Whether a class is a detector of aeon, which is shown a series as it is and cuts its own windows."""
    return any(
        base.__name__ == "BaseSeriesAnomalyDetector" and base.__module__.partition(".")[0] == "aeon"
        for base in kind.__mro__
    )


def _scikit_learn_type(estimator: Any) -> Any:
    try:
        declared = estimator.__sklearn_tags__().estimator_type
    except (AttributeError, TypeError):  # It is older than these tags, or no estimator of scikit-learn.
        declared = getattr(estimator, "_estimator_type", None)
    if declared is None and any(base.__name__ == "DensityMixin" for base in type(estimator).__mro__):
        # Before its tags, scikit-learn marked density estimators by their base class alone.
        return "density_estimator"
    return declared


@dataclass(frozen=True, kw_only=True)
class SeriesAdapterSettings(CheckedSettings):
    """Settings of :class:`SeriesAdapter`."""

    standardize: bool = True  # whether features are z-scored on the training series first
    # What a high value of the estimator says. scikit-learn's outlier and density estimators mean normal, PyOD's and
    # aeon's mean anomalous; "auto" tells them apart by their class and refuses others.
    high_means: Literal["auto", "normal", "anomalous"] = "auto"


@dataclass(frozen=True, kw_only=True)
class AdapterSettings(SeriesAdapterSettings):
    """Settings of :class:`Adapter`: those of :class:`SeriesAdapterSettings`, and windows."""

    window: int = 10  # its steps; 1 hands over single steps
    max_windows: int | None = 50_000  # most training windows, evenly spaced; None takes all
    min_windows: int = 1  # fewest training windows the estimator can learn from


class SeriesAdapter(Detector):
    """A detector made of one of aeon, whose ``predict`` returns a score for every step of a series.

    It is copied before fitting and never changed. What it does with the series, such as cutting it into windows, is its
    own affair and set by its own parameters.

    Parameters
    ----------
    estimator : object
        For example ``aeon.anomaly_detection.series.distance_based.KMeansAD()``. A class that does not tell what its
        numbers mean is refused where the settings do not say it.
    settings : SeriesAdapterSettings, optional
        A z-scored series by default.
    """

    Settings: ClassVar[type[Any]] = SeriesAdapterSettings

    def __init__(self, estimator: Any, settings: Any = None) -> None:
        super().__init__(settings)
        # What the estimator is shown, also where a detector built on the adapter has settings of its own.
        self._shown = self.settings
        self.estimator = estimator
        meaning = high_means(estimator) if self._shown.high_means == "auto" else self._shown.high_means
        if meaning is None:
            raise ValueError(
                f"cannot tell what a high value of {type(estimator).__name__} says: "
                "give high_means='normal' or high_means='anomalous'"
            )
        self._sign = -1.0 if meaning == "normal" else 1.0

    def scale(self, matrix: FloatMatrix) -> Scaling:
        """Return the scaling the settings ask for."""
        return super().scale(matrix) if self._shown.standardize else no_scaling(matrix)

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Fit a copy of the estimator; several series laid end to end are refused: aeon's detectors learn from one."""
        several = len(parts(len(scaled), boundaries, name="train"))
        if several > 1:
            raise ValueError(
                f"{type(self.estimator).__name__} learns from one series, and train holds {several} laid end to end: "
                "fit it to each series by itself, without --join"
            )
        self._fitted = copy.deepcopy(self.estimator).fit(scaled, axis=0)

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return the scores of the estimator."""
        return self._turned(self._fitted.predict(scaled, axis=0))

    def _turned(self, values: Any) -> FloatMatrix:
        """Return the numbers of the estimator with the sign that makes high ones anomalous."""
        return self._sign * np.asarray(values, dtype=np.float64).reshape(-1)


class Adapter(SeriesAdapter):
    """A detector made of an estimator with ``fit`` and ``decision_function`` or ``score_samples``.

    The estimator sees the flattened window that ends at each step; the first ``window - 1`` steps repeat the first
    score. It is copied before fitting and never changed. ``decision_function`` is taken where both are there.

    Parameters
    ----------
    estimator : object
        For example ``sklearn.svm.OneClassSVM()`` or ``pyod.models.ecod.ECOD()``. One without these methods is refused,
        and one of a class that is neither scikit-learn's nor PyOD's where ``high_means`` is not given.
    settings : AdapterSettings, optional
        Windows of ten z-scored steps by default.
    """

    Settings: ClassVar[type[Any]] = AdapterSettings

    def __init__(self, estimator: Any, settings: Any = None) -> None:
        methods = [name for name in ("decision_function", "score_samples") if hasattr(estimator, name)]
        if not hasattr(estimator, "fit") or not methods:
            kind = type(estimator).__name__
            hint = "; LocalOutlierFactor needs novelty=True" if kind == "LocalOutlierFactor" else ""
            raise TypeError(f"an estimator needs fit and decision_function or score_samples; {kind} has not{hint}")
        super().__init__(estimator, settings)
        self._method = methods[0]
        self.window = self._shown.window

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Fit a copy of the estimator to the windows of a training series."""
        shown = self._shown
        rows = training_rows(scaled, self.window, shown.max_windows, fewest=shown.min_windows, boundaries=boundaries)
        self._fitted = copy.deepcopy(self.estimator)
        self._fitted.fit(rows)

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Give the score of each window to its last step."""
        function = getattr(self._fitted, self._method)
        return lay_last(score_rows(scaled, self.window, lambda rows: self._turned(function(rows))), self.window)
