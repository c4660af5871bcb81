"""The catalogue: every metric with what it takes, what it gives, where it comes from and how it can be fooled.

A metric's id is its function's name, plus ``_precision``, ``_recall`` or ``_f1`` where the function returns all three,
plus the options that are not at their defaults: ``pate(early=20,delay=20)``. Such functions have ``_f_beta`` too, which
is listed only where it is asked for, as are emerging metrics. To add a metric is to add a row here; CONTRIBUTING.md
walks through it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import pateval.metrics as m
from pateval.catalog.metric import BEST, FIELDS, Metric, Paper
from pateval.kernels.soft_labels import VARIANTS
from pateval.pate.score import average_precision_on, f1_on, pate, pate_ap, pate_f1, trapezoid_area_on
from pateval.thresholds import sweeps

PROPERTIES = {
    "sequential": "looks at events in time, not at single steps in any order",
    "early": "values an alarm shortly before an event above one far away",
    "delayed": "values an alarm shortly after an event above one far away",
    "onset": "values finding the beginning of an event above finding its end",
    "coverage": "values finding more of an event",
    "threshold_free": "needs no threshold",
}


class DefinitionChange(NamedTuple):
    """A change of numbers: since when, of which functions, to which definition, and what changed."""

    date: str
    functions: str
    definition: int
    change: str


DEFINITION_HISTORY = (
    DefinitionChange("2026-11-15", "all", 1, "the numbers of the first release"),
    DefinitionChange(
        "2026-11-18",
        "false_alarm_rate, szcore_false_alarm_rate",
        2,
        "without per, a rate is per day on the clock where the unit of times is known",
    ),
)

PAPERS = {
    "pate": Paper("Ghorbani, Reinders, Tax: PATE, KDD 2024", "arXiv:2405.12096"),
    "pateval": Paper("pateval's own, on the curve of Ghorbani et al.: PATE, KDD 2024", "arXiv:2405.12096"),
    "classic": Paper("textbook; as scikit-learn computes it", "https://jmlr.org/papers/v12/pedregosa11a.html"),
    "vus": Paper("Paparrizos et al.: Volume Under the Surface, PVLDB 15(11), 2022", "doi:10.14778/3551793.3551830"),
    "point_adjusted": Paper("Xu et al.: Unsupervised Anomaly Detection via VAE, WWW 2018", "arXiv:1802.03903"),
    "point_adjusted_k": Paper("Kim et al.: Towards a Rigorous Evaluation, AAAI 2022", "arXiv:2109.05257"),
    "delay_adjusted": Paper("Ren et al.: Anomaly Detection Service at Microsoft, KDD 2019", "arXiv:1906.03821"),
    "range_based": Paper("Tatbul et al.: Precision and Recall for Time Series, NeurIPS 2018", "arXiv:1803.03639"),
    "tapr": Paper("Hwang et al.: Time-Series Aware Precision and Recall, CIKM 2019", "doi:10.1145/3357384.3358118"),
    "etapr": Paper("Hwang et al.: Existing Accuracy Metrics Overrate, SAC 2022", "doi:10.1145/3477314.3507024"),
    "affiliation": Paper("Huet, Navarro, Rossi: Local Evaluation of Anomaly Detection, KDD 2022", "arXiv:2206.13167"),
    "composite": Paper("Garg et al.: An Evaluation of Anomaly Detection and Diagnosis, TNNLS 2021", "arXiv:2109.11428"),
    "segment": Paper("Hundman et al.: Detecting Spacecraft Anomalies, KDD 2018", "arXiv:1802.04431"),
    "event_wise": Paper("Sehili, Zhang: Multivariate Time Series Anomaly Detection, TPCTC 2023", "arXiv:2308.13068"),
    "tolerant": Paper("Sorbo, Ruocco: Navigating the Metric Maze, DMKD 2024", "arXiv:2303.01272"),
    "nab": Paper("Lavin, Ahmad: The Numenta Anomaly Benchmark, ICMLA 2015", "arXiv:1510.03336"),
    "ucr": Paper("Wu, Keogh: Current Benchmarks are Flawed, TKDE 2021", "arXiv:2009.13807"),
    "ts_auprc": Paper("Wagner et al.: TimeSeAD, TMLR 2023", "https://openreview.net/forum?id=iMmsCI0JsS"),
    "latency": Paper("Doshi et al.: Reward Once, Penalize Once, ICASSP 2022", "arXiv:2203.05167"),
    "merlion": Paper("Bhatnagar et al.: Merlion, JMLR 2023", "arXiv:2109.09265"),
    "timeeval": Paper("Wenig, Schmidl, Papenbrock: TimeEval, PVLDB 15(12), 2022", "doi:10.14778/3554821.3554873"),
    "sktime": Paper("as sktime's detection metrics define it", "https://www.sktime.net"),
    "time_series_bench": Paper("Si et al.: TimeSeriesBench, ISSRE 2024", "arXiv:2402.10802"),
    "simad": Paper("Zhong et al.: SimAD, TNNLS 2025", "arXiv:2405.11238"),
    "oipr": Paper("Jing et al.: Operator Interest (OIPR), 2025", "arXiv:2503.01260"),
    "dqe": Paper("Li et al.: DQE, 2026", "arXiv:2603.06131"),
    "tranad": Paper("Tuli, Casale, Jennings: TranAD, PVLDB 15(6), 2022", "arXiv:2201.07284"),
    "cce": Paper("Zhong et al.: Confidence-Consistency Evaluation (CCE), 2025", "arXiv:2509.01098"),
    "balanced": Paper("Bhattacharya et al.: Towards Unbiased Evaluation, 2024", "arXiv:2409.13053"),
    "soft_event": Paper("Salles et al.: SoftED, 2024", "arXiv:2304.00439"),
    "szcore": Paper("Dan et al.: SzCORE, Epilepsia 2024", "arXiv:2402.13005"),
    "esa": Paper("Kotowski et al.: European Space Agency Benchmark, 2024", "arXiv:2406.17826"),
}

_LUCK = "one lucky step counts as a whole event: random scores win on long events"
_LINE = "flatters coarse scores: a constant score gets more than its precision (trapezoid rule)"
_RATIO = "depends on the share of anomalies: compare only on the same labels, or as skill over chance"
_POINTS = "every step counts alike: one long event outweighs many short ones"
_TOUCH = "one touched step is a whole event found, and flagging everything is one big hit"
_NEAR = "chance is high: random alarms are never far from an event"
_SINGLE = "judges a single number per series; says nothing of false alarms"
_ONCE = "every flagged step outside an event costs on its own; an event of a single step has no value"
_CLIFFS = "thresholds are cliffs; with delta > 0 precision may exceed 1"
_TOP = "looks at the highest scores only"
_MIXED = "points of events are added to steps, so it depends on the sampling rate"
_CHANNELS = "judges the order of channels at anomalous steps only: false alarms are ignored"
_BLAMED = "one predicted step blames a channel; predictions outside anomalies are ignored"
_NOT_MONOTONE = (
    "not monotone: a wrong step beside an event can raise it; near zones as long as the gaps reward everything"
)
_BELOW = "below chance more recall is worse, and silence is better than that"

_INITIALS = {name[0]: name for name in PROPERTIES}  # s e d o c t
_UNIT = (0.0, 1.0)
_POSITIVE = (0.0, math.inf)
_ANY = (-math.inf, math.inf)
_BUFFERS = ("early", "delay")
_WINDOW = ("window",)


def _row(
    function: Callable[..., Any],
    paper: str,
    rewards: str,
    faults: str,
    *,
    limits: tuple[float, float] = _UNIT,
    field_limits: Mapping[str, tuple[float, float]] | None = None,
    sweep: Callable[..., sweeps.BestThreshold] | None = None,
    paper_claims: str | None = None,
    **known: Any,
) -> Iterator[Metric]:
    """Make the metrics of one function: one, or precision, recall, F1 and F-beta.

    The name of the function's second parameter says what it takes. What the metric rewards, and what the first table of
    the PATE paper claims if it has such a row, are properties by initial, as `pateval.auditing.probes` measures them;
    where the function returns precision, recall and F1, one word for each, ``-`` for none. A sweep searches the
    threshold of the best value, or of the best F1. ``known`` is what else `Metric` holds and is not at its default.
    When the numbers change ``definition`` goes up, and `DEFINITION_HISTORY` gets a line.
    """
    signature = inspect.signature(function)
    words = rewards.split()
    is_prf = signature.return_annotation == "PRF"
    for field, rewarded in zip(FIELDS, [*words, words[-1]], strict=True) if is_prf else [(None, rewards)]:
        yield Metric(
            id=f"{function.__name__}_{field}" if field else function.__name__,
            function=function,
            field=field,
            takes=list(signature.parameters)[1],
            low=(field_limits or {}).get(field or "", limits)[0],
            high=(field_limits or {}).get(field or "", limits)[1],
            sweep=sweep if field in (None, "f1") else None,
            paper=PAPERS[paper],
            properties=_properties(rewarded),
            paper_properties=None if paper_claims is None else _properties(paper_claims),
            faults=faults,
            **known,
        )


def _properties(initials: str) -> frozenset[str]:
    return frozenset(_INITIALS[initial] for initial in initials.strip("-"))


# The options with which a metric flatters coarse scores: those of a trapezoid rule.
_ALWAYS: dict[str, Any] = {}
_ORIGINAL = {"variant": tuple(name for name, rules in VARIANTS.items() if not rules.precision_steps)}
_TRAPEZOID, _STEPS = {"area": "trapezoid"}, {"area": "average_precision"}

# Function, paper, what it rewards, faults; then what differs from the defaults.
# fmt: off
_ROWS = (
    # On scores.
    _row(pate, "pate", "sedoct", _LINE, pools=True, global_options=_BUFFERS, facts=_TRAPEZOID, paper_claims="sedoct",
         flatters_coarse=_ALWAYS, on_timeline=trapezoid_area_on),
    _row(pate_ap, "pateval", "sedoct", _RATIO, pools=True, global_options=_BUFFERS, facts=_STEPS,
         on_timeline=average_precision_on),
    _row(m.auc_roc, "classic", "ct", f"generous where anomalies are rare; {_POINTS}", pools=True, paper_claims="t"),
    _row(m.average_precision, "classic", "ct", _RATIO, pools=True, paper_claims="t"),
    _row(m.auc_pr, "classic", "ct", _LINE, pools=True, paper_claims="t", flatters_coarse=_ALWAYS),
    _row(m.vus_roc, "vus", "sedct", "larger windows give larger values", global_options=_WINDOW,
         work=m.vus_areas, part="vus_roc", paper_claims="sdt"),
    _row(m.vus_pr, "vus", "sedct", "libraries disagree on its definition: name the variant", global_options=_WINDOW,
         work=m.vus_areas, part="vus_pr", paper_claims="sdt", flatters_coarse=_ORIGINAL),
    _row(m.range_auc_roc, "vus", "sedct", "one window decides", global_options=_WINDOW,
         work=m.vus_areas, part="range_auc_roc"),
    _row(m.range_auc_pr, "vus", "sedct", "one window decides", global_options=_WINDOW,
         work=m.vus_areas, part="range_auc_pr", flatters_coarse=_ORIGINAL),
    _row(m.ts_auprc, "ts_auprc", "sct", _LINE, work=m.ts_curve, part="area",
         flatters_coarse=_ALWAYS),
    _row(m.ts_average_precision, "ts_auprc", "sct", _RATIO, work=m.ts_curve, part="average_precision"),
    _row(m.precision_at_k, "classic", "ct", _TOP, pools=True),
    _row(m.f1_at_k, "classic", "ct", _TOP, pools=True),
    _row(m.precision_at_k_ranges, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    _row(m.f1_at_k_ranges, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    _row(m.ucr_score, "ucr", "sedt", _SINGLE),
    # On predictions.
    _row(pate_f1, "pate", "sedoc", "needs a threshold; the buffers are a choice", pools=True, global_options=_BUFFERS,
         sweep=sweeps.sweep_pate_f1, on_timeline=f1_on),
    _row(m.point, "classic", "- c c", _POINTS, pools=True, sweep=sweeps.sweep_point, paper_claims="-"),
    _row(m.point_adjusted, "point_adjusted", "s s s", _LUCK, sweep=sweeps.sweep_point_adjusted, paper_claims="s",
         papers_threshold=BEST),
    _row(m.pa_auc_roc, "point_adjusted", "s", _LUCK),
    _row(m.point_adjusted_k, "point_adjusted_k", "s s s", "k is a choice; above it more coverage is worth nothing",
         sweep=sweeps.sweep_point_adjusted_k, papers_threshold=BEST),
    _row(m.point_adjusted_k_area, "point_adjusted_k", "sc", _LUCK),
    _row(m.delay_adjusted, "delay_adjusted", "so so so", _LUCK, sweep=sweeps.sweep_delay_adjusted,
         papers_threshold=BEST),
    _row(m.range_based, "range_based", "s sc sc", "its many options change the winner", paper_claims="s"),
    _row(m.tapr, "tapr", "s sc sc", _CLIFFS, paper_claims="sd"),
    _row(m.etapr, "etapr", "s sc sc", _CLIFFS, paper_claims="sd"),
    _row(m.affiliation, "affiliation", "sed sedc sedc", _NEAR, paper_claims="sc"),
    _row(m.composite, "composite", "- s s", _TOUCH, sweep=sweeps.sweep_composite, papers_threshold=BEST),
    _row(m.segment, "segment", "s s s", _TOUCH, sweep=sweeps.sweep_segment),
    _row(m.event_wise, "event_wise", "s s s", _TOUCH),
    _row(m.revised_point_adjusted, "merlion", "s s s", _TOUCH),
    _row(m.time_tolerant, "tolerant", "sed sedc sedc", "the tolerance is a choice"),
    _row(m.temporal_distance, "tolerant", "sedc", "grows with the length of the series", limits=_POSITIVE,
         higher_is_better=False),
    _row(m.vus_predictions, "vus", "sed sedc sedc", "no reference implementation to agree with",
         global_options=_WINDOW),
    _row(m.nab, "nab", "sdo", _ONCE, limits=(-math.inf, 100.0)),
    _row(m.mean_detection_delay, "merlion", "so", "missed events are ignored", limits=_POSITIVE,
         higher_is_better=False),
    _row(m.censored_detection_delay, "merlion", "so", "false alarms are ignored", limits=_POSITIVE,
         higher_is_better=False),
    _row(m.mean_detection_offset, "sktime", "seo", "missed events are ignored", limits=_ANY, higher_is_better=False,
         global_options=_BUFFERS),
    _row(m.onset_detection_rate, "sktime", "sed", "false alarms are ignored", global_options=_BUFFERS),
    _row(m.timing_quality, "esa", "so", "missed events are ignored"),
    _row(m.false_alarm_rate, "sktime", "s", "predicting nothing is best", limits=_POSITIVE, higher_is_better=False,
         definition=2),
    _row(m.latency_sparsity_aware, "latency", "s so so", "the reference is erratic where events are close"),
    # Newer ones, on scores.
    _row(m.event_weighted_best_f1, "time_series_bench", "st", f"{_LUCK}; {_MIXED}",
         work=m.event_weighted_curve, part="best_f1"),
    _row(m.event_weighted_average_precision, "time_series_bench", "st", f"{_LUCK}; {_MIXED}",
         work=m.event_weighted_curve, part="average_precision"),
    _row(m.pa_average_precision, "time_series_bench", "st", _LUCK),
    # Newer ones, on predictions.
    _row(m.event_wise_f_beta, "esa", "s", _TOUCH, work=m.event_wise, part="f_beta"),
    _row(m.alarming_precision, "esa", "-", "false alarms are ignored, and flagging everything scores 1"),
    _row(m.timing_after_rate, "esa", "-", "missed events are ignored, and late alarms count like timely ones"),
    _row(m.event_weighted, "time_series_bench", "s s s", f"{_LUCK}; {_MIXED}"),
    _row(m.soft_event, "soft_event", "sed sedc sedc", _POINTS),
    _row(m.szcore_event, "szcore", "sed sed sed", "the defaults suit seizures; flagging everything scores up to 1"),
    _row(m.szcore_false_alarm_rate, "szcore", "sed", "predicting nothing is best", limits=_POSITIVE,
         higher_is_better=False, definition=2),
    # On several channels.
    _row(m.channel_hit_rate, "tranad", "ct", _CHANNELS, pools=True, channels=True,
         work=m.channel_ranking, part="hit_rate"),
    _row(m.channel_ndcg, "tranad", "ct", _CHANNELS, pools=True, channels=True,
         work=m.channel_ranking, part="ndcg"),
    _row(m.affected_channels, "esa", "s s s", _BLAMED, channels=True),
    _row(m.affected_channels_f_beta, "esa", "s", _BLAMED, channels=True),
    # Emerging.
    _row(m.detection_quality, "dqe", "sedt", f"depends on the values of the scores; {_NOT_MONOTONE}", emerging=True),
    _row(m.confidence_consistency, "cce", "sct", "one extreme score squeezes all others and decides", emerging=True,
         limits=(-1.0, 1.0)),
    _row(m.detection_quality_predictions, "dqe", "sed", _NOT_MONOTONE, emerging=True,
         work=m.detection_quality_parts, part="quality"),
    _row(m.normalised_affiliation, "simad", "sed sedc sedc", f"takes one half for chance; {_BELOW}", emerging=True,
         limits=(-1.0, 1.0), field_limits={"recall": _UNIT}),
    _row(m.unbiased_affiliation, "simad", "sed sedc sedc", f"ill-conditioned where nearly all is anomalous; {_BELOW}",
         emerging=True, limits=(-2.0, 1.0), field_limits={"precision": (-math.inf, 1.0), "recall": _UNIT}),
    _row(m.operator_interest, "oipr", "sedo sdoc sedoc", "its options are a choice; long alerts count by their steps",
         emerging=True),
    _row(m.balanced_point_adjusted, "balanced", "sed sed sed", f"a perfect detector is below 1; {_LUCK}",
         emerging=True),
)
# fmt: on


@cache
def catalogue(*, channels: bool = False, emerging: bool = False) -> dict[str, Metric]:
    """The metrics that ``metrics="all"`` means, by their id, in the order of the table.

    Parameters
    ----------
    channels : bool
        With those on labels of several channels, which "all" means for such labels only.
    emerging : bool
        With the emerging ones: preprints' or one group's so far, which are computed where they are asked for.

    Examples
    --------
    >>> metric = catalogue()["affiliation_f1"]
    >>> metric.takes, metric.higher_is_better, metric.paper.link
    ('predictions', True, 'arXiv:2206.13167')
    """
    return {
        name: metric
        for name, metric in all_metrics().items()
        if metric.field != "f_beta" and (emerging or not metric.emerging) and (channels or not metric.channels)
    }


@cache
def all_metrics() -> dict[str, Metric]:
    """The catalogue with F-beta beside every F1; what has a row of its own stands for the part of another."""
    metrics = [metric for row in _ROWS for metric in row]
    functions = {metric.function.__name__ for metric in metrics}
    return {metric.id: metric for metric in metrics if metric.field is None or metric.id not in functions}


def initials(properties: frozenset[str]) -> str:
    """Properties by their initials, in the order of the PATE paper's first table."""
    return "".join(name[0] if name in properties else "-" for name in PROPERTIES)
