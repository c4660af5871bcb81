"""Any scikit-learn or PyOD estimator as a detector: windows in, one score per step out."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from pateval.detectors.estimator_kinds import high_means
from pateval.detectors.windows import (
    FloatMatrix,
    Scaling,
    lay_last,
    no_scaling,
    require_steps,
    score_parts,
    score_rows,
    series_matrix,
    standard_scaling,
    training_rows,
)
from pateval.validation.arrays import choice, positive_integer

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries

HIGH_MEANS = ("auto", "normal", "anomalous")


@dataclass(frozen=True, kw_only=True)
class AdapterSettings:
    """Settings of :class:`Adapter`.

    Attributes
    ----------
    window : int
        Steps of a window; 1 hands over single steps.
    standardize : bool
        Whether features are z-scored on the training series first.
    high_means : {"auto", "normal", "anomalous"}
        What a high value of the estimator says. scikit-learn's outlier and density estimators mean normal, PyOD's mean
        anomalous; ``"auto"`` tells them apart by their class and refuses others.
    max_windows : int, optional
        Most training windows, evenly spaced; None takes all.
    min_windows : int
        Fewest training windows the estimator can learn from.
    """

    window: int = 10
    standardize: bool = True
    high_means: Literal["auto", "normal", "anomalous"] = "auto"
    max_windows: int | None = 50_000
    min_windows: int = 1

    def __post_init__(self) -> None:
        positive_integer(self.window, "window")
        positive_integer(self.min_windows, "min_windows")
        choice(self.high_means, "high_means", HIGH_MEANS)


class Adapter:
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

    # A detector built on the adapter shows its own settings here.
    settings: Any

    def __init__(self, estimator: Any, settings: AdapterSettings | None = None) -> None:
        self._windows = settings if settings is not None else AdapterSettings()
        self.settings = self._windows
        self.estimator = estimator
        self._method = _method(estimator)
        self._sign = sign_of(estimator, self._windows.high_means)
        self._fitted: tuple[Scaling, Any] | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> Self:
        """Fit a copy of the estimator to the windows of a training series, (steps,) or (steps, features)."""
        matrix = series_matrix(train, "train")
        chosen = self._windows
        require_steps(len(matrix), chosen.window + chosen.min_windows - 1, "train")
        scaling = (standard_scaling if chosen.standardize else no_scaling)(matrix)
        estimator = copy.deepcopy(self.estimator)
        estimator.fit(training_rows(scaling(matrix), chosen.window, chosen.max_windows, boundaries=boundaries))
        self._fitted = scaling, estimator
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._fitted is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaling, estimator = self._fitted
        function = getattr(estimator, self._method)
        matrix = series_matrix(values, features=scaling.features)
        window = self._windows.window

        def rows_scores(rows: FloatMatrix) -> FloatMatrix:
            return self._sign * np.asarray(function(rows), dtype=np.float64).reshape(-1)

        return score_parts(
            scaling(matrix), window, boundaries, lambda part: lay_last(score_rows(part, window, rows_scores), window)
        )


def _method(estimator: Any) -> str:
    if hasattr(estimator, "fit"):
        for name in ("decision_function", "score_samples"):
            if hasattr(estimator, name):
                return name
    hint = "; LocalOutlierFactor needs novelty=True" if type(estimator).__name__ == "LocalOutlierFactor" else ""
    raise TypeError(
        f"an estimator needs fit and decision_function or score_samples; {type(estimator).__name__} has not{hint}"
    )


def sign_of(estimator: Any, meaning: str) -> float:
    """Return what to multiply the values of an estimator by, so that high ones are anomalous.

    Raises
    ------
    ValueError
        If ``meaning`` is "auto" and the class does not tell.
    """
    found = high_means(estimator) if meaning == "auto" else meaning
    if found is None:
        raise ValueError(
            f"cannot tell what a high value of {type(estimator).__name__} says: "
            "give high_means='normal' or high_means='anomalous'"
        )
    return -1.0 if found == "normal" else 1.0
