"""Estimators of other libraries as detectors: windows to scikit-learn's and PyOD's, whole series to aeon's."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from pateval.detectors.base import Detector
from pateval.detectors.estimator_kinds import high_means
from pateval.detectors.settings import CheckedSettings
from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_last,
    no_scaling,
    parts,
    require_steps,
    score_rows,
    standard_scaling,
    training_rows,
)

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class SeriesAdapterSettings(CheckedSettings):
    """Settings of :class:`SeriesAdapter`.

    Attributes
    ----------
    standardize : bool
        Whether features are z-scored on the training series first.
    high_means : {"auto", "normal", "anomalous"}
        What a high value of the estimator says. scikit-learn's outlier and density estimators mean normal, PyOD's and
        aeon's mean anomalous; ``"auto"`` tells them apart by their class and refuses others.
    """

    standardize: bool = True
    high_means: Literal["auto", "normal", "anomalous"] = "auto"


@dataclass(frozen=True, kw_only=True)
class AdapterSettings(SeriesAdapterSettings):
    """Settings of :class:`Adapter`: those of :class:`SeriesAdapterSettings`, and windows.

    Attributes
    ----------
    window : int
        Steps of a window; 1 hands over single steps.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    min_windows : int
        Fewest training windows the estimator can learn from.
    """

    window: int = 10
    max_windows: int | None = 50_000
    min_windows: int = 1


class SeriesAdapter(Detector):
    """A detector made of one of aeon, whose ``predict`` returns a score for every step of a series.

    It is copied before fitting and never changed. What it does with the series, such as cutting it into windows, is its
    own affair and set by its own parameters.

    Parameters
    ----------
    estimator : object
        For example ``aeon.anomaly_detection.series.distance_based.KMeansAD()``.
    settings : SeriesAdapterSettings, optional
        A z-scored series by default.

    Raises
    ------
    ValueError
        If the class of the estimator does not tell what its numbers mean and ``high_means`` is not given.
    """

    Settings: ClassVar[type[Any]] = SeriesAdapterSettings

    def __init__(self, estimator: Any, settings: Any = None) -> None:
        super().__init__(settings)
        # What the estimator is shown, also where a detector built on the adapter has settings of its own.
        self._shown = self.settings
        self.estimator = estimator
        self._sign = _sign(estimator, self._shown.high_means)
        self._fitted: Any = None

    def scale(self, matrix: FloatMatrix) -> Scaling:
        """Return the scaling the settings ask for."""
        return standard_scaling(matrix) if self._shown.standardize else no_scaling(matrix)

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
        return self._sign * np.asarray(values, dtype=np.float64).reshape(-1)


class Adapter(SeriesAdapter):
    """A detector made of an estimator with ``fit`` and ``decision_function`` or ``score_samples``.

    The estimator sees the flattened window that ends at each step; the first ``window - 1`` steps repeat the first
    score. It is copied before fitting and never changed. ``decision_function`` is taken where both are there.

    Parameters
    ----------
    estimator : object
        For example ``sklearn.svm.OneClassSVM()`` or ``pyod.models.ecod.ECOD()``.
    settings : AdapterSettings, optional
        Windows of ten z-scored steps by default.

    Raises
    ------
    TypeError
        If the estimator lacks the methods.
    ValueError
        If it is neither scikit-learn's nor PyOD's and ``high_means`` is not given.
    """

    Settings: ClassVar[type[Any]] = AdapterSettings

    def __init__(self, estimator: Any, settings: Any = None) -> None:
        self._method = _method(estimator)
        super().__init__(estimator, settings)

    @property
    def window(self) -> int:  # type: ignore[override]  # it is set
        """Steps of a window."""
        steps: int = self._shown.window
        return steps

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Fit a copy of the estimator to the windows of a training series."""
        require_steps(len(scaled), self.window + self._shown.min_windows - 1, "train")
        rows = training_rows(scaled, self.window, self._shown.max_windows, boundaries=boundaries)
        self._fitted = copy.deepcopy(self.estimator)
        self._fitted.fit(rows)

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Give the score of each window to its last step."""
        function = getattr(self._fitted, self._method)
        return lay_last(score_rows(scaled, self.window, lambda rows: self._turned(function(rows))), self.window)


def _method(estimator: Any) -> str:
    if hasattr(estimator, "fit"):
        for name in ("decision_function", "score_samples"):
            if hasattr(estimator, name):
                return name
    hint = "; LocalOutlierFactor needs novelty=True" if type(estimator).__name__ == "LocalOutlierFactor" else ""
    raise TypeError(
        f"an estimator needs fit and decision_function or score_samples; {type(estimator).__name__} has not{hint}"
    )


def _sign(estimator: Any, meaning: str) -> float:
    """Return what to multiply the values of an estimator by, so that high ones are anomalous."""
    found = high_means(estimator) if meaning == "auto" else meaning
    if found is None:
        raise ValueError(
            f"cannot tell what a high value of {type(estimator).__name__} says: "
            "give high_means='normal' or high_means='anomalous'"
        )
    return -1.0 if found == "normal" else 1.0
