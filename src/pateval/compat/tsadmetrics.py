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

from pateval import metrics
from pateval.compat.authors import PATE
from pateval.compat.timeeval import _FunctionOfOptions, _ranges
from pateval.pate.score import pate_f1
from pateval.validation.arrays import binary_pair, scored_pair


class _OnPredictions(_FunctionOfOptions):
    """A metric of 0/1 predictions."""

    binary_prediction: ClassVar[bool] = True

    def compute(self, y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
        """Value of the metric."""
        return self._value(*(binary_pair if self.binary_prediction else scored_pair)(y_true, y_pred))


class _OnScores(_OnPredictions):
    """A metric of scores."""

    binary_prediction: ClassVar[bool] = False


@dataclass(frozen=True)
class _FScore(_OnPredictions):
    """An F score without other options."""

    beta: float = 1.0


class PointwiseFScore(_FScore, name="pwf", function=metrics.point):
    """F score of steps: `pateval.point`."""


class DiceCoefficient(_OnPredictions, name="dicec", function=metrics.point):
    """Dice's coefficient of steps, which is F1: `pateval.point`."""


class PrecisionAtK(_OnScores, name="pak", function=metrics.precision_at_k):
    """Precision of as many steps as are anomalous: `pateval.precision_at_k`."""


class PointwiseAucRoc(_OnScores, name="pw_auc_roc", function=metrics.auc_roc):
    """Area under the ROC curve: `pateval.auc_roc`."""


class PointwiseAucPr(_OnScores, name="pw_auc_pr", function=metrics.average_precision):
    """Average precision: `pateval.average_precision`."""


class PointadjustedFScore(_FScore, name="paf", function=metrics.point_adjusted):
    """F score after point adjustment: `pateval.point_adjusted`."""


@dataclass(frozen=True)
class DelayThresholdedPointadjustedFScore(_OnPredictions, name="dtpaf", function=metrics.delay_adjusted):
    """F score after point adjustment of events found among their first k steps: `pateval.delay_adjusted`, k - 1."""

    k: int = 1
    beta: float = 1.0

    def _options(self) -> dict[str, Any]:
        return {"delay": self.k - 1, "beta": self.beta}


class CompositeFScore(_FScore, name="cf", function=metrics.composite):
    """F score of the precision of steps and the recall of events: `pateval.composite`."""


class SegmentwiseFScore(_FScore, name="swf", function=metrics.segment):
    """F score of events and alarms: `pateval.segment`."""


@dataclass(frozen=True)
class RangebasedFScore(_OnPredictions, name="rbf", function=_ranges):
    """F score of range-based precision and recall: `pateval.range_based`, each with its own bias."""

    beta: float = 1.0
    p_alpha: float = 0.5
    r_alpha: float = 0.5
    p_bias: str = "flat"
    r_bias: str = "flat"
    cardinality_mode: str = "one"

    def _options(self) -> dict[str, Any]:
        options = dict(vars(self))
        options["cardinality"] = options.pop("cardinality_mode")
        return options


@dataclass(frozen=True)
class TimeseriesAwareFScore(_OnPredictions, name="taf", function=metrics.tapr):
    """F score of TaPR: `pateval.tapr`; ``past_range`` is not supported."""

    beta: float = 1.0
    alpha: float = 0.5
    delta: int = 5
    theta: float = 0.5


@dataclass(frozen=True)
class EnhancedTimeseriesAwareFScore(_OnPredictions, name="etaf", function=metrics.etapr):
    """F1 of eTaPR: `pateval.etapr`."""

    theta_p: float = 0.5
    theta_r: float = 0.5


class AffiliationbasedFScore(_FScore, name="aff_f", function=metrics.affiliation):
    """F score of affiliation: `pateval.affiliation`."""


@dataclass(frozen=True)
class TimeTolerantFScore(_OnPredictions, name="ttf", function=metrics.time_tolerant):
    """F score with a tolerance of t steps: `pateval.time_tolerant`."""

    t: int = 5
    beta: float = 1.0

    def _options(self) -> dict[str, Any]:
        return {"tolerance": self.t, "beta": self.beta}


class TemporalDistance(_OnPredictions, name="td", function=metrics.temporal_distance):
    """Summed distance of anomalous and predicted steps to each other: `pateval.temporal_distance`."""


@dataclass(frozen=True)
class VusPr(_OnScores, name="vus_pr", function=metrics.vus_pr):
    """VUS of precision and recall: `pateval.vus_pr`."""

    window: int = 4


@dataclass(frozen=True)
class VusRoc(_OnScores, name="vus_roc", function=metrics.vus_roc):
    """VUS of the ROC curve: `pateval.vus_roc`."""

    window: int = 4


@dataclass(frozen=True)
class Pate(_OnScores, name="pate", function=PATE):
    """PATE as the authors' package computes it: `pateval.compat.PATE`."""

    early: int = 5
    delay: int = 5

    def _options(self) -> dict[str, Any]:
        return {"e_buffer": self.early, "d_buffer": self.delay}


@dataclass(frozen=True)
class PateFScore(_OnPredictions, name="pate_f1", function=pate_f1):
    """PATE-F1: `pateval.pate_f1` with buffers of 0 and of the length given."""

    early: int = 5
    delay: int = 5

    def _options(self) -> dict[str, Any]:
        return {"early": (0, self.early), "delay": (0, self.delay)}
