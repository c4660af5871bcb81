"""Detectors of aeon: a whole series in, one score per step out."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from pateval.detectors.adapter import HIGH_MEANS, sign_of
from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    no_scaling,
    parts,
    score_parts,
    series_matrix,
    standard_scaling,
)
from pateval.validation.arrays import choice

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class SeriesAdapterSettings:
    """Settings of :class:`SeriesAdapter`.

    Attributes
    ----------
    standardize : bool
        Whether features are z-scored on the training series first.
    high_means : {"auto", "normal", "anomalous"}
        What a high value of the estimator says; aeon's mean anomalous.
    """

    standardize: bool = True
    high_means: Literal["auto", "normal", "anomalous"] = "auto"

    def __post_init__(self) -> None:
        choice(self.high_means, "high_means", HIGH_MEANS)


class SeriesAdapter:
    """A detector made of one of aeon, whose ``predict`` returns a score for every step of a series.

    It is copied before fitting and never changed. What it does with the series, such as cutting it into windows, is its
    own affair and set by its own parameters.

    Parameters
    ----------
    estimator : object
        For example ``aeon.anomaly_detection.series.distance_based.KMeansAD()``.
    settings : SeriesAdapterSettings, optional
        A z-scored series by default.
    """

    def __init__(self, estimator: Any, settings: SeriesAdapterSettings | None = None) -> None:
        self.settings = settings if settings is not None else SeriesAdapterSettings()
        self.estimator = estimator
        self._sign = sign_of(estimator, self.settings.high_means)
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> Self:
        """Fit a copy of the estimator to a training series, (steps,) or (steps, features).

        Raises
        ------
        ValueError
            If several series are laid end to end: aeon's detectors learn from one.
        """
        matrix = series_matrix(train, "train")
        several = len(parts(len(matrix), boundaries, name="train"))
        if several > 1:
            raise ValueError(
                f"{type(self.estimator).__name__} learns from one series, and train holds {several} laid end to end: "
                "fit it to each series by itself, without --join"
            )
        scaling = (standard_scaling if self.settings.standardize else no_scaling)(matrix)
        self._fitted = scaling, copy.deepcopy(self.estimator).fit(scaling(matrix), axis=0)
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._fitted is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaling, estimator = self._fitted
        matrix = series_matrix(values, features=scaling.features)

        def series_scores(part: FloatMatrix) -> FloatMatrix:
            return self._sign * np.asarray(estimator.predict(part, axis=0), dtype=np.float64).reshape(-1)

        return score_parts(scaling(matrix), 1, boundaries, series_scores)
