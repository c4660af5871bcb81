"""Detectors of NumPy alone: baselines for knowledge, luck, silence and a dead network; the recent past; PCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pateval.detectors.base import CheckedSettings, Detector
from pateval.detectors.windows import Boundaries, FloatMatrix, score_rows, series_matrix, training_rows
from pateval.rules import distance_to_past_median, past_variance, past_z_score, squared_difference, usual_window
from pateval.time.windows import lay_windows
from pateval.validation.arrays import binary_array


class Perfect(Detector):
    """The labels as scores: the most a metric can give. The only detector that is shown the labels.

    Examples
    --------
    >>> Perfect().fit([0.0, 0.0]).score([1.0, 9.0, 1.0], labels=[0, 1, 0]).tolist()
    [0.0, 1.0, 0.0]
    """

    def score(self, values: object, labels: object = None) -> FloatMatrix:  # type: ignore[override]  # it needs them
        """Return the labels, one per step of ``values``, as scores."""
        if labels is None:
            raise ValueError("the perfect detector needs the labels: score(values, labels=...)")
        length = series_matrix(values).shape[0]
        truth = binary_array(labels, "labels")
        if truth.size != length:
            raise ValueError(f"labels and values must have the same length; got {truth.size} and {length}")
        return truth.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class RandomSettings(CheckedSettings):
    """Settings of :class:`Random`."""

    seed: int = 0  # every call of ``score`` starts from it
    legacy: bool = False  # draw from NumPy's legacy generator, as the paper's examples do


class Random(Detector):
    """Uniform noise in [0, 1): what luck gives. Nothing is learned from the training series.

    Examples
    --------
    >>> Random().fit([0.0]).score([1.0, 2.0]).round(3).tolist()
    [0.637, 0.27]
    """

    Settings = RandomSettings

    def score(self, values: object) -> FloatMatrix:  # type: ignore[override]  # series boundaries mean nothing to it
        """Return one random number per step."""
        length = series_matrix(values).shape[0]
        if self.settings.legacy:
            # The paper's random rows can only be had from this generator.
            return np.random.RandomState(self.settings.seed).uniform(0, 1, (length,))
        return np.random.default_rng(self.settings.seed).random((length,))


@dataclass(frozen=True, kw_only=True)
class ConstantSettings(CheckedSettings):
    """Settings of :class:`Constant`: the one score."""

    value: float = 0.0


class Constant(Detector):
    """One score for every step: what a metric gives to a detector that says nothing."""

    Settings = ConstantSettings

    def score(self, values: object) -> FloatMatrix:  # type: ignore[override]  # series boundaries mean nothing to it
        """Return the same number for each step."""
        return np.full(series_matrix(values).shape[0], float(self.settings.value))


class SquaredZScore(Detector):
    """Mean over the features of the squared z-score, by mean and deviation of the training series.

    It is what a reconstructing network scores when its output is zero whatever the input: whoever trained one should
    beat it.

    Examples
    --------
    >>> SquaredZScore().fit([[1.0, 5.0], [3.0, 5.0]]).score([[2.0, 5.0], [4.0, 6.0]]).tolist()
    [0.0, 2.5]
    """

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return the mean square of each step."""
        return np.square(scaled).mean(axis=1)


@dataclass(frozen=True, kw_only=True)
class RuleSettings(CheckedSettings):
    """Settings of :class:`SquaredDifference`: how the scores of the features become one."""

    combine: Literal["max", "mean"] = "max"


@dataclass(frozen=True, kw_only=True)
class WindowRuleSettings(RuleSettings):
    """Settings of :class:`MovingVariance` and :class:`MovingMedian`: ``combine``, and the window."""

    # Steps that end at the current one; by default the period of the training series, or 100 where it has none
    # (`pateval.rules.usual_window`): no label is looked at.
    window: int | None = None


class SquaredDifference(Detector):
    """Squared difference of a step from the one before.

    Examples
    --------
    >>> SquaredDifference().fit([0.0, 2.0]).score([1.0, 3.0, 0.0]).tolist()
    [0.0, 4.0, 9.0]
    """

    Settings: ClassVar[type[Any]] = RuleSettings

    def rule(self, scaled: FloatMatrix) -> FloatMatrix:
        """Score each feature of a scaled series; the score of a step depends on no later one."""
        return squared_difference(scaled)

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return one score per step, of all features."""
        scores = self.rule(scaled)
        return scores.max(axis=1) if self.settings.combine == "max" else scores.mean(axis=1)


class MovingVariance(SquaredDifference):
    """Variance of the last steps. Causal, like all rules of one line here."""

    Settings = WindowRuleSettings

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:  # noqa: ARG002 - one window for all
        """Choose the window, where the settings do not."""
        self.steps = self.settings.window or usual_window(scaled)

    def rule(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return the variance of the window that ends at each step."""
        return past_variance(scaled, self.steps)


class MovingMedian(MovingVariance):
    """Distance of a step from the median of the last steps."""

    def rule(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return the distance from the median of the window that ends at each step."""
        return distance_to_past_median(scaled, self.steps)


@dataclass(frozen=True, kw_only=True)
class MovingZScoreSettings(WindowRuleSettings):
    """Settings of :class:`MovingZScore`: those of :class:`WindowRuleSettings`, and a floor."""

    window: int | None = 100
    floor: float = 0.05  # smallest deviation, in training deviations: keeps quiet stretches from blowing up


class MovingZScore(MovingVariance):
    """Distance of a step from the mean of the ``window`` steps before it, in units of their standard deviation.

    Causal: only the past counts. The first ``window`` steps, which have too short a past, are compared with mean and
    deviation of the training series.
    """

    Settings = MovingZScoreSettings

    def rule(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return how far each step lies from its past."""
        return past_z_score(scaled, self.steps, self.settings.floor)


@dataclass(frozen=True, kw_only=True)
class PCASettings(CheckedSettings):
    """Settings of :class:`PCA`."""

    window: int = 20  # its steps
    share: float = 0.9  # directions are kept until they explain this share of the variance
    max_windows: int | None = 50_000  # most training windows, evenly spaced; None takes all


class PCA(Detector):
    """Squared error of each step when its windows are projected on the main directions of the training windows.

    A step is covered by up to ``window`` windows; its score is the mean of its errors in them. scikit-learn's PCA
    scores whole windows, which would be another detector.
    """

    Settings = PCASettings

    def __init__(self, settings: PCASettings | None = None) -> None:
        super().__init__(settings)
        self.window = self.settings.window

    def learn(self, scaled: FloatMatrix, boundaries: Boundaries | None) -> None:
        """Find the main directions of the windows of a training series."""
        rows = training_rows(scaled, self.window, self.settings.max_windows, boundaries=boundaries)
        variances, directions = np.linalg.eigh(np.cov(rows, rowvar=False, bias=True).reshape(rows.shape[1], -1))
        explained = np.cumsum(np.maximum(variances[::-1], 0))
        components = int(np.searchsorted(explained, self.settings.share * explained[-1])) + 1
        self._centre, self._directions = rows.mean(axis=0), directions[:, ::-1][:, :components]

    def score_series(self, scaled: FloatMatrix) -> FloatMatrix:
        """Return the mean error of each step in the windows that cover it."""

        def errors(rows: FloatMatrix) -> FloatMatrix:
            centred = rows - self._centre
            left = centred - centred @ self._directions @ self._directions.T
            return np.square(left).reshape(len(rows), self.window, -1).mean(axis=2)

        return lay_windows(score_rows(scaled, self.window, errors), len(scaled), 1, "mean")
