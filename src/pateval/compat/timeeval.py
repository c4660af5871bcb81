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

    name: str
    function: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, *, name: str | None = None, function: Callable[..., Any] | None = None) -> None:
        if name is not None and "{" in name:  # with options in it, which an object has
            cls.name = property(lambda metric: name.format(**vars(metric)))  # type: ignore[assignment]  # a string there
        elif name is not None:
            cls.name = name
        if function is not None:
            cls.function = staticmethod(function)

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        options = self._options()
        beta = options.pop("beta", 1)
        result = self.function(labels, given, **options)
        return float(result.f_beta(beta) if isinstance(result, PRF) else result)

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


class RocAUC(_OnScores, name="ROC_AUC", function=metrics.auc_roc):
    """Area under the ROC curve: `pateval.auc_roc`."""


class PrAUC(_OnScores, name="PR_AUC", function=metrics.auc_pr):
    """Area under the precision-recall curve by trapezoids: `pateval.auc_pr`."""


class AveragePrecision(_OnScores, name="AVERAGE_PRECISION", function=metrics.average_precision):
    """Average precision: `pateval.average_precision`."""


@dataclass(frozen=True)
class _AtK(_OnScores):
    k: int | None = None


class PrecisionAtK(_AtK, name="PRECISION@K({k})", function=metrics.precision_at_k_ranges):
    """Precision of the first k predicted runs: `pateval.precision_at_k_ranges`."""


class FScoreAtK(_AtK, name="F_SCORE@K({k})", function=metrics.f1_at_k_ranges):
    """F1 of the first k predicted runs: `pateval.f1_at_k_ranges`."""


@dataclass(frozen=True)
class _RangeAUC(_OnScores):
    """Range-AUC at a width, the median length of the events by default."""

    buffer_size: int | None = None
    compatibility_mode: bool = False
    max_samples: int = 250

    def _value(self, labels: BoolArray, given: npt.NDArray[Any]) -> float:
        starts, stops = runs(labels)
        width = int(np.median(stops - starts)) if self.buffer_size is None and starts.size else self.buffer_size
        variant = "original" if self.compatibility_mode else "timeeval"
        return float(self.function(labels, given, window=width, thresholds=self.max_samples, variant=variant))


class RangePrAUC(_RangeAUC, name="RANGE_PR_AUC", function=metrics.range_auc_pr):
    """Range-AUC of precision and recall: `pateval.range_auc_pr`, variant "timeeval" or "original"."""


class RangeRocAUC(_RangeAUC, name="RANGE_ROC_AUC", function=metrics.range_auc_roc):
    """Range-AUC of the ROC curve: `pateval.range_auc_roc`, variant "timeeval" or "original"."""


@dataclass(frozen=True)
class _RangeVUS(_OnScores):
    """Volume under the surface up to a width."""

    max_buffer_size: int = 500
    compatibility_mode: bool = False
    max_samples: int = 250

    def _options(self) -> dict[str, Any]:
        variant = "original" if self.compatibility_mode else "timeeval"
        return {"window": self.max_buffer_size, "thresholds": self.max_samples, "variant": variant}


class RangePrVUS(_RangeVUS, name="RANGE_PR_VOLUME", function=metrics.vus_pr):
    """VUS of precision and recall: `pateval.vus_pr`, variant "timeeval" or "original"."""


class RangeRocVUS(_RangeVUS, name="RANGE_ROC_VOLUME", function=metrics.vus_roc):
    """VUS of the ROC curve: `pateval.vus_roc`, variant "timeeval" or "original"."""


def _ranges(
    labels: BoolArray,
    predictions: BoolArray,
    *,
    p_alpha: float,
    r_alpha: float,
    p_bias: str,
    r_bias: str,
    cardinality: str,
) -> PRF:
    """Range-based precision and recall, each with its own reward of existence and its own bias."""
    precision, recall = (
        metrics.range_based(
            labels, predictions, alpha=r_alpha, precision_alpha=p_alpha, cardinality=cardinality, bias=bias
        )
        for bias in (p_bias, r_bias)
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
class RangeFScore(_OnPredictions, name="RANGE_F{beta:.2f}_SCORE", function=_ranges):
    """F score of range-based precision and recall: `pateval.range_based`; ``r_bias`` is without effect, as there."""

    beta: float = 1
    p_alpha: float = 0
    r_alpha: float = 0.5
    cardinality: str = "reciprocal"
    p_bias: str = "flat"
    r_bias: str = "flat"

    def _options(self) -> dict[str, Any]:
        return vars(self) | {"r_bias": self.p_bias}  # theirs gives the bias of the precision to the recall, too
