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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pateval import metrics
from pateval.labels.events import runs
from pateval.output.results import PRF
from pateval.validation.arrays import BoolArray, binary_pair, scored_pair


class _FunctionOfOptions:
    """A metric whose fields are the options of a function, but for ``beta``, which weighs its precision and recall."""

    function: ClassVar[Callable[..., Any]]

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        options = self._options()
        beta = options.pop("beta", 1)
        found = self.function(labels, given, **options)
        return float(found.f_beta(beta) if isinstance(found, PRF) else found)

    def _options(self) -> dict[str, Any]:
        """What the function is told; a class whose fields have other names or meanings translates them."""
        return dict(vars(self))


class _OnScores(_FunctionOfOptions):
    """A metric that is called with labels and scores."""

    def __call__(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> float:
        mended = np.nan_to_num(np.asarray(y_score, dtype=np.float64), nan=0.0, posinf=1.0, neginf=0.0)
        return self._unless_constant(*scored_pair(y_true, mended))

    def _unless_constant(self, labels: BoolArray, values: npt.NDArray[Any]) -> float:
        if (values == values[0]).all():
            warnings.warn("scores that are all equal get 0.0 in TimeEval, whatever the metric", stacklevel=3)
            return 0.0
        return self._value(labels, values)


class _OnPredictions(_OnScores):
    """A metric that is called with labels and 0/1 predictions."""

    def __call__(self, y_true: npt.ArrayLike, y_score: npt.ArrayLike) -> float:
        return self._unless_constant(*binary_pair(y_true, y_score))


class RocAUC(_OnScores):
    """Area under the ROC curve: `pateval.auc_roc`."""

    name = "ROC_AUC"
    function = staticmethod(metrics.auc_roc)


class PrAUC(_OnScores):
    """Area under the precision-recall curve by trapezoids: `pateval.auc_pr`."""

    name = "PR_AUC"
    function = staticmethod(metrics.auc_pr)


class AveragePrecision(_OnScores):
    """Average precision: `pateval.average_precision`."""

    name = "AVERAGE_PRECISION"
    function = staticmethod(metrics.average_precision)


@dataclass(frozen=True)
class PrecisionAtK(_OnScores):
    """Precision of the first k predicted runs: `pateval.precision_at_k_ranges`."""

    k: int | None = None
    function = staticmethod(metrics.precision_at_k_ranges)

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"PRECISION@K({self.k})"


@dataclass(frozen=True)
class FScoreAtK(_OnScores):
    """F1 of the first k predicted runs: `pateval.f1_at_k_ranges`."""

    k: int | None = None
    function = staticmethod(metrics.f1_at_k_ranges)

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"F_SCORE@K({self.k})"


@dataclass(frozen=True)
class _RangeAUC(_OnScores):
    """Range-AUC at a width, the median length of the events by default."""

    buffer_size: int | None = None
    compatibility_mode: bool = False
    max_samples: int = 250

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        starts, stops = runs(labels)
        width = int(np.median(stops - starts)) if self.buffer_size is None and starts.size else self.buffer_size
        variant = _variant(self.compatibility_mode)
        return float(self.function(labels, given, window=width, thresholds=self.max_samples, variant=variant))


class RangePrAUC(_RangeAUC):
    """Range-AUC of precision and recall: `pateval.range_auc_pr`, variant "timeeval" or "original"."""

    name = "RANGE_PR_AUC"
    function = staticmethod(metrics.range_auc_pr)


class RangeRocAUC(_RangeAUC):
    """Range-AUC of the ROC curve: `pateval.range_auc_roc`, variant "timeeval" or "original"."""

    name = "RANGE_ROC_AUC"
    function = staticmethod(metrics.range_auc_roc)


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
    function = staticmethod(metrics.vus_pr)


class RangeRocVUS(_RangeVUS):
    """VUS of the ROC curve: `pateval.vus_roc`, variant "timeeval" or "original"."""

    name = "RANGE_ROC_VOLUME"
    function = staticmethod(metrics.vus_roc)


def _own_alphas_and_biases(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    alphas: tuple[float, float],
    biases: tuple[str, str],
    cardinality: str,
) -> PRF:
    """Range-based precision and recall, each with its own reward of existence and its own bias."""
    precision, recall = (
        metrics.range_based(
            labels, predictions, alpha=alphas[1], precision_alpha=alphas[0], cardinality=cardinality, bias=bias
        )
        for bias in biases
    )
    return PRF.of(precision.precision, recall.recall)


@dataclass(frozen=True)
class RangePrecision(_OnPredictions):
    """Range-based precision of 0/1 predictions: `pateval.range_based`."""

    alpha: float = 0
    cardinality: str = "reciprocal"
    bias: str = "flat"
    name: str = "RANGE_PRECISION"

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        found = metrics.range_based(
            labels, given, precision_alpha=self.alpha, cardinality=self.cardinality, bias=self.bias
        )
        return found.precision


@dataclass(frozen=True)
class RangeRecall(_OnPredictions):
    """Range-based recall of 0/1 predictions: `pateval.range_based`."""

    alpha: float = 0
    cardinality: str = "reciprocal"
    bias: str = "flat"
    name: str = "RANGE_RECALL"

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        return metrics.range_based(labels, given, alpha=self.alpha, cardinality=self.cardinality, bias=self.bias).recall


@dataclass(frozen=True)
class RangeFScore(_OnPredictions):
    """F score of range-based precision and recall: `pateval.range_based`; ``r_bias`` is without effect, as there."""

    beta: float = 1
    p_alpha: float = 0
    r_alpha: float = 0.5
    cardinality: str = "reciprocal"
    p_bias: str = "flat"
    r_bias: str = "flat"
    function = staticmethod(_own_alphas_and_biases)

    @property
    def name(self) -> str:
        """As in their tables."""
        return f"RANGE_F{self.beta:.2f}_SCORE"

    def _options(self) -> dict[str, Any]:
        biases = (self.p_bias, self.p_bias)  # theirs gives the bias of the precision to the recall, too
        alphas = (self.p_alpha, self.r_alpha)
        return {"alphas": alphas, "biases": biases, "cardinality": self.cardinality, "beta": self.beta}


def _variant(compatibility_mode: bool) -> str:
    return "original" if compatibility_mode else "timeeval"
