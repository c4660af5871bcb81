"""Baselines that say what a metric gives to knowledge, to luck, to silence, and to a network that learned nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pateval.detectors.windows import FloatMatrix, Scaling, series_matrix, standard_scaling
from pateval.validation.arrays import binary_array


@dataclass(frozen=True, kw_only=True)
class PerfectSettings:
    """:class:`Perfect` has no settings."""


class Perfect:
    """The labels as scores: the most a metric can give. The only detector that is shown the labels.

    Examples
    --------
    >>> Perfect().fit([0.0, 0.0]).score([1.0, 9.0, 1.0], labels=[0, 1, 0]).tolist()
    [0.0, 1.0, 0.0]
    """

    def __init__(self, settings: PerfectSettings | None = None) -> None:
        self.settings = settings if settings is not None else PerfectSettings()

    def fit(self, train: object) -> Perfect:
        """Check the training series; there is nothing to learn from it."""
        series_matrix(train, "train")
        return self

    def score(self, values: object, labels: object = None) -> FloatMatrix:
        """Return the labels, one per step of ``values``, as scores."""
        if labels is None:
            raise ValueError("the perfect detector needs the labels: score(values, labels=...)")
        length = series_matrix(values).shape[0]
        truth = binary_array(labels, "labels")
        if truth.size != length:
            raise ValueError(f"labels and values must have the same length; got {truth.size} and {length}")
        return truth.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class RandomSettings:
    """Settings of :class:`Random`.

    Attributes
    ----------
    seed : int
        Every call of ``score`` starts from it.
    legacy : bool
        Draw from NumPy's legacy generator, as the paper's examples do.
    """

    seed: int = 0
    legacy: bool = False


class Random:
    """Uniform noise in [0, 1): what luck gives.

    Examples
    --------
    >>> Random().fit([0.0]).score([1.0, 2.0]).round(3).tolist()
    [0.637, 0.27]
    """

    def __init__(self, settings: RandomSettings | None = None) -> None:
        self.settings = settings if settings is not None else RandomSettings()

    def fit(self, train: object) -> Random:
        """Check the training series; there is nothing to learn from it."""
        series_matrix(train, "train")
        return self

    def score(self, values: object) -> FloatMatrix:
        """Return one random number per step."""
        length = series_matrix(values).shape[0]
        if self.settings.legacy:
            # The paper's random rows can only be had from this generator.
            return np.random.RandomState(self.settings.seed).uniform(0, 1, (length,))
        return np.random.default_rng(self.settings.seed).random((length,))


@dataclass(frozen=True, kw_only=True)
class ConstantSettings:
    """Settings of :class:`Constant`: the one score."""

    value: float = 0.0


class Constant:
    """One score for every step: what a metric gives to a detector that says nothing.

    Examples
    --------
    >>> Constant().fit([0.0]).score([1.0, 2.0]).tolist()
    [0.0, 0.0]
    """

    def __init__(self, settings: ConstantSettings | None = None) -> None:
        self.settings = settings if settings is not None else ConstantSettings()

    def fit(self, train: object) -> Constant:
        """Check the training series; there is nothing to learn from it."""
        series_matrix(train, "train")
        return self

    def score(self, values: object) -> FloatMatrix:
        """Return the same number for each step."""
        return np.full(series_matrix(values).shape[0], float(self.settings.value))


@dataclass(frozen=True, kw_only=True)
class SquaredZScoreSettings:
    """:class:`SquaredZScore` has no settings."""


class SquaredZScore:
    """Mean over the features of the squared z-score, by mean and deviation of the training series.

    It is what a reconstructing network scores when its output is zero whatever the input: whoever trained one should
    beat it.

    Examples
    --------
    >>> SquaredZScore().fit([[1.0, 5.0], [3.0, 5.0]]).score([[2.0, 5.0], [4.0, 6.0]]).tolist()
    [0.0, 2.5]
    """

    def __init__(self, settings: SquaredZScoreSettings | None = None) -> None:
        self.settings = settings if settings is not None else SquaredZScoreSettings()
        self._scaling: Scaling | None = None

    def fit(self, train: object) -> SquaredZScore:
        """Learn mean and deviation of each feature from a training series, (steps,) or (steps, features)."""
        self._scaling = standard_scaling(series_matrix(train, "train"))
        return self

    def score(self, values: object) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        if self._scaling is None:
            raise RuntimeError("the detector is not fitted yet: call fit(train) before score(values)")
        scaled = self._scaling(series_matrix(values, features=self._scaling.features))
        result: FloatMatrix = np.square(scaled).mean(axis=1)
        return result
