"""How good is a time-series anomaly detector really? PATE and every other metric of the field."""

from pateval._inputs import UndefinedMetricError
from pateval.audit import Audit, audit
from pateval.buffers import suggest_buffer
from pateval.catalog import catalog
from pateval.coarse import CoarseScoresWarning
from pateval.evaluate import Evaluation, evaluate
from pateval.leaderboard import Leaderboard, leaderboard
from pateval.metrics import *  # noqa: F403  # every metric is importable from here too
from pateval.metrics import __all__ as _metrics
from pateval.pate.accumulator import PateAccumulator
from pateval.pate.curve import PateCurve, pate_curve
from pateval.pate.explain import EventWeights, Explanation, StepWeights, explain
from pateval.pate.score import pate, pate_ap, pate_f1
from pateval.prf import PRF
from pateval.search import best_threshold
from pateval.thresholds import (
    BestThreshold,
    apply_threshold,
    median_deviation_threshold,
    peaks_over_threshold,
    quantile_threshold,
    standard_deviation_threshold,
)

__version__ = "0.1.0"

__all__ = [
    "PRF",
    "Audit",
    "BestThreshold",
    "CoarseScoresWarning",
    "Evaluation",
    "EventWeights",
    "Explanation",
    "Leaderboard",
    "PateAccumulator",
    "PateCurve",
    "StepWeights",
    "UndefinedMetricError",
    "apply_threshold",
    "audit",
    "best_threshold",
    "catalog",
    "evaluate",
    "explain",
    "leaderboard",
    "median_deviation_threshold",
    "pate",
    "pate_ap",
    "pate_curve",
    "pate_f1",
    "peaks_over_threshold",
    "quantile_threshold",
    "standard_deviation_threshold",
    "suggest_buffer",
]
__all__ += _metrics
