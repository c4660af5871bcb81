"""The catalogue: every metric with what it takes, what it gives, where it comes from and how it can be fooled.

A metric's id is its function's name, plus ``_precision``, ``_recall`` or ``_f1`` where the function returns all three.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pateval.metrics as m
from pateval.papers import PAPERS, Paper
from pateval.pate.score import pate, pate_ap, pate_f1

PROPERTIES = {
    "sequential": "looks at events in time, not at single steps in any order",
    "early": "values an alarm shortly before an event above one far away",
    "delayed": "values an alarm shortly after an event above one far away",
    "onset": "values finding the beginning of an event above finding its end",
    "coverage": "values finding more of an event",
    "threshold_free": "needs no threshold",
}
# What the first table of the PATE paper claims, where it has a row; ours are what `pateval.auditing.probes` finds.
PAPER_PROPERTIES: dict[str, frozenset[str]] = {
    "point": frozenset(),
    "range_based": frozenset({"sequential"}),
    "tapr": frozenset({"sequential", "delayed"}),
    "etapr": frozenset({"sequential", "delayed"}),
    "affiliation": frozenset({"sequential", "coverage"}),
    "point_adjusted": frozenset({"sequential"}),
    **dict.fromkeys(("auc_roc", "auc_pr", "average_precision"), frozenset({"threshold_free"})),
    **dict.fromkeys(("vus_roc", "vus_pr"), frozenset({"sequential", "delayed", "threshold_free"})),
    "pate": frozenset(PROPERTIES),
}


@dataclass(frozen=True)
class Metric:
    """One entry of the catalogue.

    Attributes
    ----------
    id : str
        Name in tables and on the command line.
    function : callable
        What computes it.
    field : str or None
        "precision", "recall" or "f1" where the function returns all three.
    takes : str
        "scores" or "predictions".
    low, high : float
        Range of values, with the options at their defaults.
    higher_is_better : bool
        Direction.
    pools : bool
        Whether several series can be evaluated as one; otherwise their mean is taken.
    paper : Paper
        Where it comes from.
    properties : frozenset of str
        What it rewards, of `PROPERTIES`, as the probes of `pateval audit` measure it.
    faults : str
        How it can be fooled.
    """

    id: str
    function: Callable[..., Any]
    field: str | None
    takes: str
    low: float
    high: float
    higher_is_better: bool
    pools: bool
    paper: Paper
    properties: frozenset[str]
    faults: str

    @property
    def needs_threshold(self) -> bool:
        """Whether scores must be turned into predictions first."""
        return self.takes == "predictions"

    @property
    def best(self) -> float | None:
        """Value of a perfect detector; None where there is no bound."""
        value = self.high if self.higher_is_better else self.low
        return value if math.isfinite(value) else None

    @property
    def parameters(self) -> dict[str, Any]:
        """Options of the function and their defaults."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name != "series"
        }

    @property
    def summary(self) -> str:
        """First line of the function's documentation."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def paper_properties(self) -> frozenset[str] | None:
        """What the PATE paper's first table claims; None where it has no such row."""
        return PAPER_PROPERTIES.get(self.function.__name__)


_LUCK = "one lucky step counts as a whole event: random scores win on long events"
_LINE = "flatters coarse scores: a constant score gets more than its precision (trapezoid rule)"
_RATIO = "depends on the share of anomalies: compare only on the same labels, or as skill over chance"
_POINTS = "every step counts alike: one long event outweighs many short ones"
_TOUCH = "one touched step is a whole event found, and flagging everything is one big hit"
_NEAR = "chance is high: random alarms are never far from an event"
_SINGLE = "judges a single number per series; says nothing of false alarms"
_ONCE = "every flagged step outside an event costs on its own; an event of a single step has no value"
_TOP = "looks at the highest scores only"

_INITIALS = {name[0]: name for name in PROPERTIES}  # s e d o c t
_ANY = (-math.inf, math.inf)
_UNIT = (0.0, 1.0)
_POSITIVE = (0.0, math.inf)

# Function, range, paper, properties by initial, faults. Where a function returns precision, recall and F1, each has
# its own properties, in this order. They are what `pateval.auditing.probes` measures; a test compares.
_Row = tuple[Callable[..., Any], tuple[float, float], str, str, str]
_ON_SCORES: list[_Row] = [
    (pate, _UNIT, "pate", "sedoct", _LINE),
    (pate_ap, _UNIT, "pateval", "sedoct", _RATIO),
    (m.auc_roc, _UNIT, "classic", "ct", f"generous where anomalies are rare; {_POINTS}"),
    (m.average_precision, _UNIT, "classic", "ct", _RATIO),
    (m.auc_pr, _UNIT, "classic", "ct", _LINE),
    (m.vus_roc, _UNIT, "vus", "sedct", "larger windows give larger values"),
    (m.vus_pr, _UNIT, "vus", "sedct", "libraries disagree on its definition: name the variant"),
    (m.range_auc_roc, _UNIT, "vus", "sedct", "one window decides"),
    (m.range_auc_pr, _UNIT, "vus", "sedct", "one window decides"),
    (m.ts_auprc, _UNIT, "ts_auprc", "sct", _LINE),
    (m.ts_average_precision, _UNIT, "ts_auprc", "sct", _RATIO),
    (m.precision_at_k, _UNIT, "classic", "ct", _TOP),
    (m.f1_at_k, _UNIT, "classic", "ct", _TOP),
    (m.precision_at_k_ranges, _UNIT, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    (m.f1_at_k_ranges, _UNIT, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    (m.ucr_score, _UNIT, "ucr", "sedt", _SINGLE),
]
_ON_PREDICTIONS: list[_Row] = [
    (pate_f1, _UNIT, "pate", "sedoc", "needs a threshold; the buffers are a choice"),
    (m.point, _UNIT, "classic", "- c c", _POINTS),
    (m.point_adjusted, _UNIT, "point_adjusted", "s s s", _LUCK),
    (m.pa_auc_roc, _UNIT, "point_adjusted", "s", _LUCK),
    (m.point_adjusted_k, _UNIT, "point_adjusted_k", "s s s", "k is a choice; above it more coverage is worth nothing"),
    (m.point_adjusted_k_area, _UNIT, "point_adjusted_k", "sc", _LUCK),
    (m.delay_adjusted, _UNIT, "delay_adjusted", "so so so", _LUCK),
    (m.range_based, _UNIT, "range_based", "s sc sc", "its many options change the winner"),
    (m.tapr, _UNIT, "tapr", "s sc sc", "thresholds are cliffs; with delta > 0 precision may exceed 1"),
    (m.etapr, _UNIT, "etapr", "s sc sc", "thresholds are cliffs; with delta > 0 precision may exceed 1"),
    (m.affiliation, _UNIT, "affiliation", "sed sedc sedc", _NEAR),
    (m.composite, _UNIT, "composite", "- s s", _TOUCH),
    (m.segment, _UNIT, "segment", "s s s", _TOUCH),
    (m.event_wise, _UNIT, "event_wise", "s s s", _TOUCH),
    (m.revised_point_adjusted, _UNIT, "merlion", "s s s", _TOUCH),
    (m.time_tolerant, _UNIT, "tolerant", "sed sedc sedc", "the tolerance is a choice"),
    (m.temporal_distance, _POSITIVE, "tolerant", "sedc", "grows with the length of the series"),
    (m.vus_predictions, _UNIT, "vus", "sed sedc sedc", "no reference implementation to agree with"),
    (m.nab, (-math.inf, 100.0), "nab", "sdo", _ONCE),
    (m.mean_detection_delay, _POSITIVE, "merlion", "so", "missed events are ignored"),
    (m.censored_detection_delay, _POSITIVE, "merlion", "so", "false alarms are ignored"),
    (m.mean_detection_offset, _ANY, "sktime", "seo", "missed events are ignored"),
    (m.onset_detection_rate, _UNIT, "sktime", "sed", "false alarms are ignored"),
    (m.timing_quality, _UNIT, "esa", "so", "missed events are ignored"),
    (m.false_alarm_rate, _POSITIVE, "sktime", "s", "predicting nothing is best"),
    (m.latency_sparsity_aware, _UNIT, "latency", "s so so", "the reference is erratic where events are close"),
]
_LOWER_IS_BETTER = {
    m.temporal_distance,
    m.mean_detection_delay,
    m.censored_detection_delay,
    m.mean_detection_offset,
    m.false_alarm_rate,
}
# Steps in any order give the same value (or, for PATE, the function takes series itself): several series are one input.
_POOLS = {pate, pate_ap, pate_f1, m.point, m.auc_roc, m.average_precision, m.auc_pr, m.precision_at_k, m.f1_at_k}


@cache
def catalogue() -> dict[str, Metric]:
    """All metrics by their id, in the order of the table.

    Examples
    --------
    >>> metric = catalogue()["affiliation_f1"]
    >>> metric.takes, metric.higher_is_better, metric.paper.link
    ('predictions', True, 'arXiv:2206.13167')
    """
    tables = {"scores": _ON_SCORES, "predictions": _ON_PREDICTIONS}
    metrics: dict[str, Metric] = {}
    for takes, (function, (low, high), paper, properties, faults) in (
        (takes, row) for takes, table in tables.items() for row in table
    ):
        three = inspect.signature(function).return_annotation == "PRF"
        fields = ("precision", "recall", "f1") if three else (None,)
        for field, initials in zip(fields, properties.split(), strict=True):
            name = f"{function.__name__}_{field}" if field else function.__name__
            metrics[name] = Metric(
                id=name,
                function=function,
                field=field,
                takes=takes,
                low=low,
                high=high,
                higher_is_better=function not in _LOWER_IS_BETTER,
                pools=function in _POOLS,
                paper=PAPERS[paper],
                properties=frozenset(_INITIALS[initial] for initial in initials.strip("-")),
                faults=faults,
            )
    return metrics


def initials(properties: frozenset[str]) -> str:
    """Properties by their initials, in the order of the PATE paper's first table.

    Examples
    --------
    >>> initials(frozenset({"coverage", "sequential"}))
    's---c-'
    """
    return "".join(name[0] if name in properties else "-" for name in PROPERTIES)


def find_metrics(ids: Iterable[str] | str | None) -> list[Metric]:
    """Look metrics up by id; all of them for None.

    Examples
    --------
    >>> [metric.id for metric in find_metrics(["pate", "point_f1"])]
    ['pate', 'point_f1']
    >>> find_metrics(["point_f2"])
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'point_f2'; did you mean 'point_f1'? ('pateval metrics' lists them)
    """
    known = catalogue()
    if ids is None:
        return list(known.values())
    wanted = [ids] if isinstance(ids, str) else list(ids)
    if not wanted:
        raise ValueError("metrics must name at least one metric; got an empty collection")
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ";"
            raise ValueError(f"unknown metric {name!r}{hint} ('pateval metrics' lists them)")
    return [known[name] for name in dict.fromkeys(wanted)]
