"""Metrics of TimeEval 1.5.0 by their own names: ``from pateval.compat.timeeval import RangePrVUS``.

Objects are called with labels and scores, or with labels and 0/1 predictions, as there. Faults that are kept: scores
that are all equal get 0.0, with a warning; a missing score counts as 0, an infinite one as 1, one of minus infinity as
0; the F score of ranges is not that of their own default precision and recall, since ``r_alpha`` is 0.5 in it and
``alpha`` is 0 in the recall, and its ``r_bias`` is without effect: ``p_bias`` goes for both. Left out: classes that
need a thresholding strategy, for whose predictions `pateval.point` is there, and ``RangePrecisionRangeRecallAUC``,
which no function here gives.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import runs
from pateval.metrics import (
    auc_pr,
    auc_roc,
    average_precision,
    f1_at_k_ranges,
    precision_at_k_ranges,
    range_auc_pr,
    range_auc_roc,
    range_based,
    vus_pr,
    vus_roc,
)
from pateval.output.prf import PRF
from pateval.validation.arrays import BoolArray, FloatArray, binary_pair, scored_pair


class _OnScores:
    """A metric that is called with labels and scores."""

    def __call__(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> float:
        """Value of the metric."""
        mended = np.nan_to_num(np.asarray(y_score, dtype=np.float64), nan=0.0, posinf=1.0, neginf=0.0)
        return self._unless_constant(*scored_pair(y_true, mended))

    def _unless_constant(self, labels: BoolArray, values: Any) -> float:
        if (values == values[0]).all():
            warnings.warn("scores that are all equal get 0.0 in TimeEval, whatever the metric", stacklevel=3)
            return 0.0
        return self._value(labels, values)

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        raise NotImplementedError


class _OnPredictions(_OnScores):
    """A metric that is called with labels and 0/1 predictions."""

    def __call__(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> float:
        """Value of the metric."""
        return self._unless_constant(*binary_pair(y_true, y_score))


class RocAUC(_OnScores):
    """Area under the ROC curve: `pateval.auc_roc`."""

    name = "ROC_AUC"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return auc_roc(labels, scores)


class PrAUC(_OnScores):
    """Area under the precision-recall curve by trapezoids: `pateval.auc_pr`."""

    name = "PR_AUC"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return auc_pr(labels, scores)


class AveragePrecision(_OnScores):
    """Average precision: `pateval.average_precision`."""

    name = "AVERAGE_PRECISION"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return average_precision(labels, scores)


@dataclass(frozen=True)
class PrecisionAtK(_OnScores):
    """Precision of the first k predicted runs: `pateval.precision_at_k_ranges`."""

    k: int | None = None

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"PRECISION@K({self.k})"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return precision_at_k_ranges(labels, scores, k=self.k)


@dataclass(frozen=True)
class FScoreAtK(_OnScores):
    """F1 of the first k predicted runs: `pateval.f1_at_k_ranges`."""

    k: int | None = None

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"F_SCORE@K({self.k})"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return f1_at_k_ranges(labels, scores, k=self.k)


@dataclass(frozen=True)
class _RangeAUC(_OnScores):
    """Range-AUC at a width, the median length of the events by default."""

    buffer_size: int | None = None
    compatibility_mode: bool = False
    max_samples: int = 250

    def _options(self, labels: BoolArray) -> dict[str, Any]:
        starts, stops = runs(labels)
        width = int(np.median(stops - starts)) if self.buffer_size is None and starts.size else self.buffer_size
        return {"window": width, "thresholds": self.max_samples, "variant": _variant(self.compatibility_mode)}


class RangePrAUC(_RangeAUC):
    """Range-AUC of precision and recall: `pateval.range_auc_pr`, variant "timeeval" or "original"."""

    name = "RANGE_PR_AUC"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return range_auc_pr(labels, scores, **self._options(labels))


class RangeRocAUC(_RangeAUC):
    """Range-AUC of the ROC curve: `pateval.range_auc_roc`, variant "timeeval" or "original"."""

    name = "RANGE_ROC_AUC"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return range_auc_roc(labels, scores, **self._options(labels))


@dataclass(frozen=True)
class _RangeVUS(_OnScores):
    """Volume under the surface up to a width."""

    max_buffer_size: int = 500
    compatibility_mode: bool = False
    max_samples: int = 250

    def _options(self) -> dict[str, Any]:
        variant = _variant(self.compatibility_mode)
        return {"window": self.max_buffer_size, "thresholds": self.max_samples, "variant": variant}


class RangePrVUS(_RangeVUS):
    """VUS of precision and recall: `pateval.vus_pr`, variant "timeeval" or "original"."""

    name = "RANGE_PR_VOLUME"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return vus_pr(labels, scores, **self._options())


class RangeRocVUS(_RangeVUS):
    """VUS of the ROC curve: `pateval.vus_roc`, variant "timeeval" or "original"."""

    name = "RANGE_ROC_VOLUME"

    def _value(self, labels: BoolArray, scores: FloatArray) -> float:
        return vus_roc(labels, scores, **self._options())


@dataclass(frozen=True)
class RangePrecision(_OnPredictions):
    """Range-based precision of 0/1 predictions: `pateval.range_based`."""

    alpha: float = 0
    cardinality: str = "reciprocal"
    bias: str = "flat"
    name: str = "RANGE_PRECISION"

    def _value(self, labels: BoolArray, scores: Any) -> float:
        found = range_based(labels, scores, precision_alpha=self.alpha, cardinality=self.cardinality, bias=self.bias)
        return found.precision


@dataclass(frozen=True)
class RangeRecall(_OnPredictions):
    """Range-based recall of 0/1 predictions: `pateval.range_based`."""

    alpha: float = 0
    cardinality: str = "reciprocal"
    bias: str = "flat"
    name: str = "RANGE_RECALL"

    def _value(self, labels: BoolArray, scores: Any) -> float:
        return range_based(labels, scores, alpha=self.alpha, cardinality=self.cardinality, bias=self.bias).recall


@dataclass(frozen=True)
class RangeFScore(_OnPredictions):
    """F score of range-based precision and recall: `pateval.range_based`; ``r_bias`` is without effect, as there."""

    beta: float = 1
    p_alpha: float = 0
    r_alpha: float = 0.5
    cardinality: str = "reciprocal"
    p_bias: str = "flat"
    r_bias: str = "flat"

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"RANGE_F{self.beta:.2f}_SCORE"

    def _value(self, labels: BoolArray, scores: Any) -> float:
        return f_beta_of_ranges(
            labels,
            scores,
            alphas=(self.p_alpha, self.r_alpha),
            biases=(self.p_bias, self.p_bias),  # theirs gives the bias of the precision to the recall, too
            cardinality=self.cardinality,
            beta=self.beta,
        )


def f_beta_of_ranges(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    alphas: tuple[float, float],
    biases: tuple[str, str],
    cardinality: str,
    beta: float,
) -> float:
    """F score of range-based precision and recall, each with its own reward of existence and its own bias."""
    precision, recall = (
        range_based(labels, predictions, alpha=alphas[1], precision_alpha=alphas[0], cardinality=cardinality, bias=bias)
        for bias in biases
    )
    return PRF.of(precision.precision, recall.recall).f_beta(beta)


def _variant(compatibility_mode: bool) -> str:
    return "original" if compatibility_mode else "timeeval"
