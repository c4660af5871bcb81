"""How good is a time-series anomaly detector really? PATE and every other metric of the field."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pateval._version import __version__ as __version__
from pateval.kernels.precision_recall import CoarseScoresWarning as CoarseScoresWarning
from pateval.pate.score import pate as pate
from pateval.pate.score import pate_ap as pate_ap
from pateval.pate.score import pate_f1 as pate_f1
from pateval.validation.arrays import UndefinedMetricError as UndefinedMetricError

if TYPE_CHECKING:  # the same names once more, for type checkers
    from pateval import plots as plots
    from pateval.alarms.frontier import AlarmFrontier as AlarmFrontier
    from pateval.alarms.frontier import alarm_frontier as alarm_frontier
    from pateval.alarms.judgement import AlarmJudgement as AlarmJudgement
    from pateval.alarms.judgement import AlarmTable as AlarmTable
    from pateval.alarms.lists import judge_alarm_files as judge_alarm_files
    from pateval.alarms.lists import judge_alarms as judge_alarms
    from pateval.auditing import Audit as Audit
    from pateval.auditing import ScoreAudit as ScoreAudit
    from pateval.auditing import audit as audit
    from pateval.auditing import audit_scores as audit_scores
    from pateval.catalog import DEFAULT_METRICS as DEFAULT_METRICS
    from pateval.catalog import catalogue as catalogue
    from pateval.catalog.lookup import define_metric as define_metric
    from pateval.catalog.metric import Metric as Metric
    from pateval.catalog.signatures import parse_signature as parse_signature
    from pateval.checking import CausalCheck as CausalCheck
    from pateval.checking import DataCheck as DataCheck
    from pateval.checking import check as check
    from pateval.checking import check_causal as check_causal
    from pateval.evaluation import Evaluation as Evaluation
    from pateval.evaluation import EvaluationTable as EvaluationTable
    from pateval.evaluation import evaluate as evaluate
    from pateval.evaluation import explain as explain
    from pateval.evaluation.buffers import suggest_buffer as suggest_buffer
    from pateval.evaluation.comparison import Comparison as Comparison
    from pateval.evaluation.comparison import compare as compare
    from pateval.evaluation.paired import Power as Power
    from pateval.evaluation.paired import power as power
    from pateval.evaluation.run import best_threshold as best_threshold
    from pateval.integrations import scikit_learn as sklearn  # noqa: F401
    from pateval.integrations import torch_metrics as torchmetrics  # noqa: F401
    from pateval.leaderboards import Leaderboard as Leaderboard
    from pateval.leaderboards import Verification as Verification
    from pateval.leaderboards import leaderboard as leaderboard
    from pateval.leaderboards import leaderboard_from_results as leaderboard_from_results
    from pateval.leaderboards import verify as verify
    from pateval.metrics import *  # noqa: F403
    from pateval.output.explanation import EventWeights as EventWeights
    from pateval.output.explanation import Explanation as Explanation
    from pateval.output.explanation import StepWeights as StepWeights
    from pateval.output.results import PRF as PRF
    from pateval.pate.accumulator import PateAccumulator as PateAccumulator
    from pateval.pate.curve import PateCurve as PateCurve
    from pateval.pate.curve import pate_curve as pate_curve
    from pateval.thresholds import alarm_rate_threshold as alarm_rate_threshold
    from pateval.thresholds import apply_threshold as apply_threshold
    from pateval.thresholds import median_deviation_threshold as median_deviation_threshold
    from pateval.thresholds import peaks_over_threshold as peaks_over_threshold
    from pateval.thresholds import quantile_threshold as quantile_threshold
    from pateval.thresholds import standard_deviation_threshold as standard_deviation_threshold
    from pateval.thresholds.sweeps import BestThreshold as BestThreshold
    from pateval.time.intervals import intervals_from_labels as intervals_from_labels
    from pateval.time.intervals import labels_from_intervals as labels_from_intervals
    from pateval.time.windows import scores_from_windows as scores_from_windows

# Where each public name lives. All but PATE itself is imported when it is first asked for, so that a first number comes
# soon. No module has the name of a function listed here: importing it would put the module in the function's place.
# The metrics are not listed: `pateval.metrics.__all__` names them, and everything there can be had from here.
_HOMES = {
    "pateval.alarms.frontier": ["AlarmFrontier", "alarm_frontier"],
    "pateval.alarms.judgement": ["AlarmJudgement", "AlarmTable"],
    "pateval.alarms.lists": ["judge_alarm_files", "judge_alarms"],
    "pateval.auditing": ["Audit", "ScoreAudit", "audit", "audit_scores"],
    "pateval.evaluation.buffers": ["suggest_buffer"],
    "pateval.catalog": ["DEFAULT_METRICS", "catalogue"],
    "pateval.evaluation.comparison": ["Comparison", "compare"],
    "pateval.checking": ["CausalCheck", "DataCheck", "check", "check_causal"],
    "pateval.evaluation": ["Evaluation", "EvaluationTable", "evaluate", "explain"],
    "pateval.time.intervals": ["intervals_from_labels", "labels_from_intervals"],
    "pateval.time.windows": ["scores_from_windows"],
    "pateval.leaderboards": ["Leaderboard", "Verification", "leaderboard", "leaderboard_from_results", "verify"],
    "pateval.evaluation.paired": ["Power", "power"],
    "pateval.catalog.metric": ["Metric"],
    "pateval.catalog.lookup": ["define_metric"],
    "pateval.pate.accumulator": ["PateAccumulator"],
    "pateval.pate.curve": ["PateCurve", "pate_curve"],
    "pateval.output.explanation": ["EventWeights", "Explanation", "StepWeights"],
    "pateval.output.results": ["PRF"],
    "pateval.catalog.signatures": ["parse_signature"],
    "pateval.evaluation.run": ["best_threshold"],
    "pateval.thresholds.sweeps": ["BestThreshold"],
    "pateval.thresholds": [
        "alarm_rate_threshold",
        "apply_threshold",
        "median_deviation_threshold",
        "peaks_over_threshold",
        "quantile_threshold",
        "standard_deviation_threshold",
    ],
}
# Reached as a whole.
_MODULES = {
    "plots": "pateval.plots",
    "sklearn": "pateval.integrations.scikit_learn",
    "torchmetrics": "pateval.integrations.torch_metrics",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_AT_ONCE = ["CoarseScoresWarning", "UndefinedMetricError", "pate", "pate_ap", "pate_f1"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module 'pateval' has no attribute {name!r}")
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        metrics = import_module("pateval.metrics")
        if name == "__all__":
            value = [*_AT_ONCE, *_HOME_OF, *metrics.__all__]
        elif name in metrics.__all__:
            value = getattr(metrics, name)
        else:
            raise AttributeError(f"module 'pateval' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), *_MODULES, "__version__"])
