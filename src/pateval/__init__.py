"""How good is a time-series anomaly detector really? PATE and every other metric of the field."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pateval._validation import UndefinedMetricError
from pateval.coarse import CoarseScoresWarning
from pateval.pate.score import pate, pate_ap, pate_f1

if TYPE_CHECKING:  # the same names once more, for type checkers
    from pateval import plots as plots
    from pateval.auditing import Audit as Audit
    from pateval.auditing import audit as audit
    from pateval.buffers import suggest_buffer as suggest_buffer
    from pateval.catalog import catalogue as catalogue
    from pateval.evaluation import Evaluation as Evaluation
    from pateval.evaluation import evaluate as evaluate
    from pateval.leaderboards import Leaderboard as Leaderboard
    from pateval.leaderboards import leaderboard as leaderboard
    from pateval.metrics import *  # noqa: F403
    from pateval.pate.accumulator import PateAccumulator as PateAccumulator
    from pateval.pate.curve import PateCurve as PateCurve
    from pateval.pate.curve import pate_curve as pate_curve
    from pateval.pate.explain import EventWeights as EventWeights
    from pateval.pate.explain import Explanation as Explanation
    from pateval.pate.explain import StepWeights as StepWeights
    from pateval.pate.explain import explain as explain
    from pateval.prf import PRF as PRF
    from pateval.threshold_search import best_threshold as best_threshold
    from pateval.thresholds import BestThreshold as BestThreshold
    from pateval.thresholds import apply_threshold as apply_threshold
    from pateval.thresholds import median_deviation_threshold as median_deviation_threshold
    from pateval.thresholds import peaks_over_threshold as peaks_over_threshold
    from pateval.thresholds import quantile_threshold as quantile_threshold
    from pateval.thresholds import standard_deviation_threshold as standard_deviation_threshold

__version__ = "0.1.0"

# Where each public name lives. All but PATE itself is imported when it is first asked for, so that a first number comes
# soon. No module has the name of a function listed here: importing it would put the module in the function's place.
_HOMES = {
    "pateval.auditing": ["Audit", "audit"],
    "pateval.buffers": ["suggest_buffer"],
    "pateval.catalog": ["catalogue"],
    "pateval.evaluation": ["Evaluation", "evaluate"],
    "pateval.leaderboards": ["Leaderboard", "leaderboard"],
    "pateval.metrics": [
        "TsCurve",
        "VusAreas",
        "affiliation",
        "affiliation_events",
        "auc_pr",
        "auc_roc",
        "average_precision",
        "censored_detection_delay",
        "composite",
        "delay_adjusted",
        "etapr",
        "event_wise",
        "f1_at_k",
        "f1_at_k_ranges",
        "false_alarm_rate",
        "latency_sparsity_aware",
        "mean_detection_delay",
        "mean_detection_offset",
        "nab",
        "onset_detection_rate",
        "pa_auc_roc",
        "point",
        "point_adjusted",
        "point_adjusted_k",
        "point_adjusted_k_area",
        "precision_at_k",
        "precision_at_k_ranges",
        "range_auc_pr",
        "range_auc_roc",
        "range_based",
        "revised_point_adjusted",
        "segment",
        "tapr",
        "temporal_distance",
        "time_tolerant",
        "timing_quality",
        "ts_auprc",
        "ts_average_precision",
        "ts_curve",
        "ucr_score",
        "vus_areas",
        "vus_pr",
        "vus_predictions",
        "vus_roc",
    ],
    "pateval.pate.accumulator": ["PateAccumulator"],
    "pateval.pate.curve": ["PateCurve", "pate_curve"],
    "pateval.pate.explain": ["EventWeights", "Explanation", "StepWeights", "explain"],
    "pateval.prf": ["PRF"],
    "pateval.threshold_search": ["best_threshold"],
    "pateval.thresholds": [
        "BestThreshold",
        "apply_threshold",
        "median_deviation_threshold",
        "peaks_over_threshold",
        "quantile_threshold",
        "standard_deviation_threshold",
    ],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["CoarseScoresWarning", "UndefinedMetricError", "pate", "pate_ap", "pate_f1"]
__all__ += list(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name == "plots":  # the one package that is reached as a whole
        return import_module("pateval.plots")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'pateval' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOME_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "plots"})
