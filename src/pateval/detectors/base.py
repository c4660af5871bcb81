"""What all detectors share: settings, checks of what they are given, scaling, and one score per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from pateval.detectors.windows import FloatMatrix, Scaling, score_parts, series_matrix, standard_scaling

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


class Detector:
    """``fit(train)``, then ``score(values)``.

    A detector that keeps to the steps of :meth:`fit` and :meth:`score` says what it learns from a scaled series and how
    it scores one; others have methods of their own.

    Parameters
    ----------
    settings : dataclass, optional
        Of the class ``Settings``; its defaults if not given.
    """

    Settings: ClassVar[type[Any]]
    settings: Any
    # Fewest steps of a series that can be scored.
    window = 1

    def __init__(self, settings: Any = None) -> None:
        self.settings = self.Settings() if settings is None else settings
        self._scaling: Scaling | None = None

    def fit(self, train: object, *, boundaries: Boundaries | None = None) -> Self:
        """Learn from a training series, shape (steps,) or (steps, features).

        Parameters
        ----------
        train : array-like
            Finite numbers.
        boundaries : sequence of int, optional
            The step at which each of several series laid end to end begins, 0 first; no window crosses one. None takes
            all steps for one series.
        """
        matrix = series_matrix(train, "train")
        scaling = self.scale(matrix)
        self.learn(scaling(matrix), boundaries)
        self._scaling = scaling
        return self

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        scaling = self.fitted(self._scaling)
        matrix = series_matrix(values, features=scaling.features)
        return score_parts(scaling(matrix), self.window, boundaries, self.score_series)

    def scale(self, matrix: FloatMatrix) -> Scaling:
        """Return what brings a training series, and later those to be scored, to zero mean and unit deviation."""
        return standard_scaling(matrix)

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Learn from a scaled training series; nothing by default."""

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Score one scaled series, a value per step."""
        raise NotImplementedError

    @staticmethod
    def fitted(state: Any) -> Any:
        """Return what ``fit`` has left, or say that it has not been called."""
        if state is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        return state
