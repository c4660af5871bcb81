"""How good is a time-series anomaly detector really? PATE and every other metric of the field."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pateval._inputs import UndefinedMetricError
from pateval.buffers import suggest_buffer
from pateval.catalog import catalog
from pateval.coarse import CoarseScoresWarning
from pateval.evaluate import Evaluation, evaluate
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

if TYPE_CHECKING:
    from pateval.auditing import Audit, audit
    from pateval.leaderboards import Leaderboard, leaderboard

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

# What most programs do not need is imported when it is first asked for.
_LATER = {
    "Audit": "pateval.auditing",
    "audit": "pateval.auditing",
    "Leaderboard": "pateval.leaderboards",
    "leaderboard": "pateval.leaderboards",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'pateval' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_LATER[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
