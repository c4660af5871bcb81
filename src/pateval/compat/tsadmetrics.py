"""Metrics of tsadmetrics 1.0.16 by their own names: ``from pateval.compat.tsadmetrics import PointadjustedFScore``.

Objects have ``compute(y_true, y_pred)``, with 0/1 predictions or with scores, as there, and the same options with the
same defaults. Faults that are kept: what is called AUC-PR is average precision; an existence reward of 0.5 goes into
the precision of ranges, too; the k-th step of an event is too late for a detection with delay ``k``; PATE samples 250
thresholds. Left out, because no function here gives their number: ``PointadjustedAucPr``, ``PointadjustedAucRoc``,
``BalancedPointadjustedFScore``, ``PointadjustedAtKFScore``, ``PointadjustedAtKLFScore``,
``LatencySparsityawareFScore``, ``NormalizedAffiliationbasedFScore``, ``MeanTimeToDetect``, ``NabScore``,
``EarlyDetectionScore``, and those that count detections in a range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy.typing as npt

from pateval.compat.authors import PATE
from pateval.compat.timeeval import f_beta_of_ranges
from pateval.metrics import (
    affiliation,
    auc_roc,
    average_precision,
    composite,
    delay_adjusted,
    etapr,
    point,
    point_adjusted,
    precision_at_k,
    segment,
    tapr,
    temporal_distance,
    time_tolerant,
    vus_pr,
    vus_roc,
)
from pateval.pate.score import pate_f1
from pateval.validation.arrays import BoolArray, FloatArray, binary_pair, scored_pair


class _OnPredictions:
    """A metric of 0/1 predictions."""

    binary_prediction: ClassVar[bool] = True

    def compute(self, y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
        """Value of the metric."""
        pair = (binary_pair if self.binary_prediction else scored_pair)(y_true, y_pred)
        return float(self._value(*pair))

    def _value(self, labels: BoolArray, predictions: Any) -> float:
        raise NotImplementedError


class _OnScores(_OnPredictions):
    """A metric of scores."""

    binary_prediction: ClassVar[bool] = False


@dataclass(frozen=True)
class PointwiseFScore(_OnPredictions):
    """F score of steps: `pateval.point`."""

    name: ClassVar[str] = "pwf"
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return point(labels, predictions).f_beta(self.beta)


class DiceCoefficient(_OnPredictions):
    """Dice's coefficient of steps, which is F1: `pateval.point`."""

    name = "dicec"

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return point(labels, predictions).f1


class PrecisionAtK(_OnScores):
    """Precision of as many steps as are anomalous: `pateval.precision_at_k`."""

    name = "pak"

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return precision_at_k(labels, predictions)


class PointwiseAucRoc(_OnScores):
    """Area under the ROC curve: `pateval.auc_roc`."""

    name = "pw_auc_roc"

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return auc_roc(labels, predictions)


class PointwiseAucPr(_OnScores):
    """Average precision: `pateval.average_precision`."""

    name = "pw_auc_pr"

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return average_precision(labels, predictions)


@dataclass(frozen=True)
class PointadjustedFScore(_OnPredictions):
    """F score after point adjustment: `pateval.point_adjusted`."""

    name: ClassVar[str] = "paf"
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return point_adjusted(labels, predictions).f_beta(self.beta)


@dataclass(frozen=True)
class DelayThresholdedPointadjustedFScore(_OnPredictions):
    """F score after point adjustment of events found among their first k steps: `pateval.delay_adjusted`, k - 1."""

    name: ClassVar[str] = "dtpaf"
    k: int = 1
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return delay_adjusted(labels, predictions, delay=self.k - 1).f_beta(self.beta)


@dataclass(frozen=True)
class CompositeFScore(_OnPredictions):
    """F score of the precision of steps and the recall of events: `pateval.composite`."""

    name: ClassVar[str] = "cf"
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return composite(labels, predictions).f_beta(self.beta)


@dataclass(frozen=True)
class SegmentwiseFScore(_OnPredictions):
    """F score of events and alarms: `pateval.segment`."""

    name: ClassVar[str] = "swf"
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return segment(labels, predictions).f_beta(self.beta)


@dataclass(frozen=True)
class RangebasedFScore(_OnPredictions):
    """F score of range-based precision and recall: `pateval.range_based`, each with its own bias."""

    name: ClassVar[str] = "rbf"
    beta: float = 1.0
    p_alpha: float = 0.5
    r_alpha: float = 0.5
    p_bias: str = "flat"
    r_bias: str = "flat"
    cardinality_mode: str = "one"

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return f_beta_of_ranges(
            labels,
            predictions,
            alphas=(self.p_alpha, self.r_alpha),
            biases=(self.p_bias, self.r_bias),
            cardinality=self.cardinality_mode,
            beta=self.beta,
        )


@dataclass(frozen=True)
class TimeseriesAwareFScore(_OnPredictions):
    """F score of TaPR: `pateval.tapr`; ``past_range`` is not supported."""

    name: ClassVar[str] = "taf"
    beta: float = 1.0
    alpha: float = 0.5
    delta: int = 5
    theta: float = 0.5

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return tapr(labels, predictions, theta=self.theta, delta=self.delta, alpha=self.alpha).f_beta(self.beta)


@dataclass(frozen=True)
class EnhancedTimeseriesAwareFScore(_OnPredictions):
    """F1 of eTaPR: `pateval.etapr`."""

    name: ClassVar[str] = "etaf"
    theta_p: float = 0.5
    theta_r: float = 0.5

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return etapr(labels, predictions, theta_p=self.theta_p, theta_r=self.theta_r).f1


@dataclass(frozen=True)
class AffiliationbasedFScore(_OnPredictions):
    """F score of affiliation: `pateval.affiliation`."""

    name: ClassVar[str] = "aff_f"
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return affiliation(labels, predictions).f_beta(self.beta)


@dataclass(frozen=True)
class TimeTolerantFScore(_OnPredictions):
    """F score with a tolerance of t steps: `pateval.time_tolerant`."""

    name: ClassVar[str] = "ttf"
    t: int = 5
    beta: float = 1.0

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return time_tolerant(labels, predictions, tolerance=self.t).f_beta(self.beta)


class TemporalDistance(_OnPredictions):
    """Summed distance of anomalous and predicted steps to each other: `pateval.temporal_distance`."""

    name = "td"

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return temporal_distance(labels, predictions)


@dataclass(frozen=True)
class VusPr(_OnScores):
    """VUS of precision and recall: `pateval.vus_pr`."""

    name: ClassVar[str] = "vus_pr"
    window: int = 4

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return vus_pr(labels, predictions, window=self.window)


@dataclass(frozen=True)
class VusRoc(_OnScores):
    """VUS of the ROC curve: `pateval.vus_roc`."""

    name: ClassVar[str] = "vus_roc"
    window: int = 4

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return vus_roc(labels, predictions, window=self.window)


@dataclass(frozen=True)
class Pate(_OnScores):
    """PATE as the authors' package computes it: `pateval.compat.PATE`."""

    name: ClassVar[str] = "pate"
    early: int = 5
    delay: int = 5

    def _value(self, labels: BoolArray, predictions: FloatArray) -> float:
        return PATE(labels, predictions, self.early, self.delay)


@dataclass(frozen=True)
class PateFScore(_OnPredictions):
    """PATE-F1: `pateval.pate_f1` with buffers of 0 and of the length given."""

    name: ClassVar[str] = "pate_f1"
    early: int = 5
    delay: int = 5

    def _value(self, labels: BoolArray, predictions: BoolArray) -> float:
        return pate_f1(labels, predictions, early=(0, self.early), delay=(0, self.delay))
