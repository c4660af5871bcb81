"""How good is a time-series anomaly detector really? PATE and every other metric of the field."""

from pateval._inputs import UndefinedMetricError
from pateval.buffers import suggest_buffer
from pateval.pate.accumulator import PateAccumulator
from pateval.pate.coarse import CoarseScoresWarning
from pateval.pate.curve import PateCurve, pate_curve
from pateval.pate.explain import EventWeights, Explanation, StepWeights, explain
from pateval.pate.score import pate, pate_ap, pate_f1

__version__ = "0.1.0"

__all__ = [
    "CoarseScoresWarning",
    "EventWeights",
    "Explanation",
    "PateAccumulator",
    "PateCurve",
    "StepWeights",
    "UndefinedMetricError",
    "explain",
    "pate",
    "pate_ap",
    "pate_curve",
    "pate_f1",
    "suggest_buffer",
]
