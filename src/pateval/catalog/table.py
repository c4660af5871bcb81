"""The catalogue: every metric with what it takes, what it gives, where it comes from and how it can be fooled.

A metric's id is its function's name, plus ``_precision``, ``_recall`` or ``_f1`` where the function returns all three,
plus the options that are not at their defaults: ``pate(early=20,delay=20)``. Such functions have ``_f_beta`` too, which
is listed only where it is asked for, as are emerging metrics. To add a metric is to add a row here; CONTRIBUTING.md
walks through it.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import pateval.metrics as m
from pateval.catalog.metric import FIELDS, SharedWork
from pateval.catalog.metric import Metric as Metric
from pateval.catalog.option_text import read_id
from pateval.catalog.own_metrics import metric_from_function
from pateval.catalog.papers import PAPERS
from pateval.pate.score import pate, pate_ap, pate_f1
from pateval.thresholds import sweeps
from pateval.validation.arrays import UndefinedMetricError
from pateval.validation.wording import in_words, named_error

_MOST_METRICS = 10_000
MetricLike = str | Metric | Callable[..., Any]
"""What names a metric: an id, an id with options, ``package.module:function``, a `Metric`, a function."""

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


DEFINITION_HISTORY = (DefinitionChange("2026-11-15", "all", 1, "the numbers of the first release"),)

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


def _mean_roc(areas: m.VusAreas) -> float:
    return float(_defined(areas).mean())


def _last_roc(areas: m.VusAreas) -> float:
    return float(_defined(areas)[-1])


def _mean_pr(areas: m.VusAreas) -> float:
    return float(areas.pr.mean())


def _last_pr(areas: m.VusAreas) -> float:
    return float(areas.pr[-1])


def _defined(areas: m.VusAreas) -> Any:
    if any(math.isnan(area) for area in areas.roc):
        raise UndefinedMetricError("the metric is undefined: every step is anomalous, so no alarm can be false")
    return areas.roc


def _trapezoid_area(curve: m.TsCurve) -> float:
    return curve.area


def _average_precision(curve: m.TsCurve | m.EventWeightedCurve) -> float:
    return curve.average_precision


def _best_f1(curve: m.EventWeightedCurve) -> float:
    return curve.best_f1


def _hit_rate(ranking: m.ChannelRanking) -> float:
    return ranking.hit_rate


def _ndcg(ranking: m.ChannelRanking) -> float:
    return ranking.ndcg


@dataclass(frozen=True)
class Row:
    """What the catalogue knows of one function.

    Attributes
    ----------
    function : callable
        ``(labels, scores or predictions, *, options)``; the name of the second parameter says what it takes.
    paper : str
        Where it comes from, a key of `PAPERS`.
    rewards : str
        Its properties by initial, as `pateval.auditing.probes` measures them; where the function returns precision,
        recall and F1, one word for each, ``-`` for none.
    faults : str
        How it can be fooled.
    range : tuple of float
        Lowest and highest value.
    higher_is_better : bool
        Direction.
    pools : bool
        Steps in any order give the same value, or the function takes series itself: several series are one input.
    global_options : tuple of str
        Which of ``early``, ``delay`` and ``window`` of `evaluate` and of the command line reach it.
    shared : SharedWork, optional
        Work in common with other rows.
    sweep : callable, optional
        The faster search for the threshold of the best value, or of the best F1.
    facts : mapping
        What else decides the number, for its signature.
    paper_claims : str, optional
        What the first table of the PATE paper claims, by initial; None where it has no such row.
    definition : int
        Goes up when the numbers change; `DEFINITION_HISTORY` then gets a line.
    channels : bool
        Takes arrays of steps by channels.
    emerging : bool
        A preprint's or one group's so far: computed and listed where it is asked for.
    field_ranges : mapping, optional
        Ranges of those parts of a `PRF` that have another than ``range``.
    """

    function: Callable[..., Any]
    paper: str
    rewards: str
    faults: str
    range: tuple[float, float] = _UNIT
    higher_is_better: bool = True
    pools: bool = False
    global_options: tuple[str, ...] = ()
    shared: SharedWork | None = None
    sweep: Callable[..., sweeps.BestThreshold] | None = None
    facts: Mapping[str, str] | None = None
    paper_claims: str | None = None
    definition: int = 1
    channels: bool = False
    emerging: bool = False
    field_ranges: Mapping[str, tuple[float, float]] | None = None


_TRAPEZOID, _STEPS = {"area": "trapezoid"}, {"area": "average_precision"}

# Function, paper, what it rewards, faults; then what differs from the defaults of `Row`.
# fmt: off
_ROWS = (
    # On scores.
    Row(pate, "pate", "sedoct", _LINE, pools=True, global_options=_BUFFERS, facts=_TRAPEZOID, paper_claims="sedoct"),
    Row(pate_ap, "pateval", "sedoct", _RATIO, pools=True, global_options=_BUFFERS, facts=_STEPS),
    Row(m.auc_roc, "classic", "ct", f"generous where anomalies are rare; {_POINTS}", pools=True, paper_claims="t"),
    Row(m.average_precision, "classic", "ct", _RATIO, pools=True, paper_claims="t"),
    Row(m.auc_pr, "classic", "ct", _LINE, pools=True, paper_claims="t"),
    Row(m.vus_roc, "vus", "sedct", "larger windows give larger values", global_options=_WINDOW,
        shared=SharedWork(m.vus_areas, _mean_roc), paper_claims="sdt"),
    Row(m.vus_pr, "vus", "sedct", "libraries disagree on its definition: name the variant", global_options=_WINDOW,
        shared=SharedWork(m.vus_areas, _mean_pr), paper_claims="sdt"),
    Row(m.range_auc_roc, "vus", "sedct", "one window decides", global_options=_WINDOW,
        shared=SharedWork(m.vus_areas, _last_roc)),
    Row(m.range_auc_pr, "vus", "sedct", "one window decides", global_options=_WINDOW,
        shared=SharedWork(m.vus_areas, _last_pr)),
    Row(m.ts_auprc, "ts_auprc", "sct", _LINE, shared=SharedWork(m.ts_curve, _trapezoid_area)),
    Row(m.ts_average_precision, "ts_auprc", "sct", _RATIO, shared=SharedWork(m.ts_curve, _average_precision)),
    Row(m.precision_at_k, "classic", "ct", _TOP, pools=True),
    Row(m.f1_at_k, "classic", "ct", _TOP, pools=True),
    Row(m.precision_at_k_ranges, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    Row(m.f1_at_k_ranges, "timeeval", "st", f"{_TOP}; {_TOUCH}"),
    Row(m.ucr_score, "ucr", "sedt", _SINGLE),
    # On predictions.
    Row(pate_f1, "pate", "sedoc", "needs a threshold; the buffers are a choice", pools=True, global_options=_BUFFERS,
        sweep=sweeps.sweep_pate_f1),
    Row(m.point, "classic", "- c c", _POINTS, pools=True, sweep=sweeps.sweep_point, paper_claims="-"),
    Row(m.point_adjusted, "point_adjusted", "s s s", _LUCK, sweep=sweeps.sweep_point_adjusted, paper_claims="s"),
    Row(m.pa_auc_roc, "point_adjusted", "s", _LUCK),
    Row(m.point_adjusted_k, "point_adjusted_k", "s s s", "k is a choice; above it more coverage is worth nothing",
        sweep=sweeps.sweep_point_adjusted_k),
    Row(m.point_adjusted_k_area, "point_adjusted_k", "sc", _LUCK),
    Row(m.delay_adjusted, "delay_adjusted", "so so so", _LUCK, sweep=sweeps.sweep_delay_adjusted),
    Row(m.range_based, "range_based", "s sc sc", "its many options change the winner", paper_claims="s"),
    Row(m.tapr, "tapr", "s sc sc", _CLIFFS, paper_claims="sd"),
    Row(m.etapr, "etapr", "s sc sc", _CLIFFS, paper_claims="sd"),
    Row(m.affiliation, "affiliation", "sed sedc sedc", _NEAR, paper_claims="sc"),
    Row(m.composite, "composite", "- s s", _TOUCH, sweep=sweeps.sweep_composite),
    Row(m.segment, "segment", "s s s", _TOUCH, sweep=sweeps.sweep_segment),
    Row(m.event_wise, "event_wise", "s s s", _TOUCH),
    Row(m.revised_point_adjusted, "merlion", "s s s", _TOUCH),
    Row(m.time_tolerant, "tolerant", "sed sedc sedc", "the tolerance is a choice"),
    Row(m.temporal_distance, "tolerant", "sedc", "grows with the length of the series", range=_POSITIVE,
        higher_is_better=False),
    Row(m.vus_predictions, "vus", "sed sedc sedc", "no reference implementation to agree with",
        global_options=_WINDOW),
    Row(m.nab, "nab", "sdo", _ONCE, range=(-math.inf, 100.0)),
    Row(m.mean_detection_delay, "merlion", "so", "missed events are ignored", range=_POSITIVE, higher_is_better=False),
    Row(m.censored_detection_delay, "merlion", "so", "false alarms are ignored", range=_POSITIVE,
        higher_is_better=False),
    Row(m.mean_detection_offset, "sktime", "seo", "missed events are ignored", range=_ANY, higher_is_better=False,
        global_options=_BUFFERS),
    Row(m.onset_detection_rate, "sktime", "sed", "false alarms are ignored", global_options=_BUFFERS),
    Row(m.timing_quality, "esa", "so", "missed events are ignored"),
    Row(m.false_alarm_rate, "sktime", "s", "predicting nothing is best", range=_POSITIVE, higher_is_better=False),
    Row(m.latency_sparsity_aware, "latency", "s so so", "the reference is erratic where events are close"),
    # Newer ones, on scores.
    Row(m.event_weighted_best_f1, "time_series_bench", "st", f"{_LUCK}; {_MIXED}",
        shared=SharedWork(m.event_weighted_curve, _best_f1)),
    Row(m.event_weighted_average_precision, "time_series_bench", "st", f"{_LUCK}; {_MIXED}",
        shared=SharedWork(m.event_weighted_curve, _average_precision)),
    Row(m.pa_average_precision, "time_series_bench", "st", _LUCK),
    # Newer ones, on predictions.
    Row(m.event_wise_f_beta, "esa", "s", _TOUCH),
    Row(m.alarming_precision, "esa", "-", "false alarms are ignored, and flagging everything scores 1"),
    Row(m.timing_after_rate, "esa", "-", "missed events are ignored, and late alarms count like timely ones"),
    Row(m.event_weighted, "time_series_bench", "s s s", f"{_LUCK}; {_MIXED}"),
    Row(m.soft_event, "soft_event", "sed sedc sedc", _POINTS),
    Row(m.szcore_event, "szcore", "sed sed sed", "the defaults suit seizures; flagging everything scores up to 1"),
    Row(m.szcore_false_alarm_rate, "szcore", "sed", "predicting nothing is best", range=_POSITIVE,
        higher_is_better=False),
    # On several channels.
    Row(m.channel_hit_rate, "tranad", "ct", _CHANNELS, pools=True, channels=True,
        shared=SharedWork(m.channel_ranking, _hit_rate)),
    Row(m.channel_ndcg, "tranad", "ct", _CHANNELS, pools=True, channels=True,
        shared=SharedWork(m.channel_ranking, _ndcg)),
    Row(m.affected_channels, "esa", "s s s", _BLAMED, channels=True),
    Row(m.affected_channels_f_beta, "esa", "s", _BLAMED, channels=True),
    # Emerging.
    Row(m.detection_quality, "dqe", "sedt", f"depends on the values of the scores; {_NOT_MONOTONE}", emerging=True),
    Row(m.confidence_consistency, "cce", "sct", "one extreme score squeezes all others and decides", emerging=True,
        range=(-1.0, 1.0)),
    Row(m.detection_quality_predictions, "dqe", "sed", _NOT_MONOTONE, emerging=True),
    Row(m.normalised_affiliation, "simad", "sed sedc sedc", f"takes one half for chance; {_BELOW}", emerging=True,
        range=(-1.0, 1.0), field_ranges={"recall": _UNIT}),
    Row(m.unbiased_affiliation, "simad", "sed sedc sedc", f"ill-conditioned where nearly all is anomalous; {_BELOW}",
        emerging=True, range=(-2.0, 1.0), field_ranges={"precision": (-math.inf, 1.0), "recall": _UNIT}),
    Row(m.operator_interest, "oipr", "sedo sdoc sedoc", "its options are a choice; long alerts count by their steps",
        emerging=True),
    Row(m.balanced_point_adjusted, "balanced", "sed sed sed", f"a perfect detector is below 1; {_LUCK}", emerging=True),
)
# fmt: on


@cache
def catalogue(*, channels: bool = False, emerging: bool = False) -> dict[str, Metric]:
    """The metrics that are computed by default, by their id, in the order of the table.

    Parameters
    ----------
    channels : bool
        With those on labels of several channels, which are computed by default for such labels only.
    emerging : bool
        With the emerging ones: preprints' or one group's so far, which are computed where they are asked for.

    Examples
    --------
    >>> metric = catalogue()["affiliation_f1"]
    >>> metric.takes, metric.higher_is_better, metric.paper.link
    ('predictions', True, 'arXiv:2206.13167')
    """
    return {metric.id: metric for metric in find_metrics(None, channels=channels, emerging=emerging)}


@cache
def _all_metrics() -> dict[str, Metric]:
    """The catalogue with F-beta beside every F1."""
    metrics: dict[str, Metric] = {}
    functions = {row.function.__name__ for row in _ROWS}
    for row in _ROWS:
        signature = inspect.signature(row.function)
        is_prf = signature.return_annotation == "PRF"
        words = row.rewards.split()
        fields = dict(zip(FIELDS, [*words, words[-1]], strict=True)) if is_prf else {None: row.rewards}
        for field, rewards in fields.items():
            name = f"{row.function.__name__}_{field}" if field else row.function.__name__
            if field and name in functions:
                continue  # it has a row of its own
            low, high = (row.field_ranges or {}).get(field or "", row.range)
            metrics[name] = Metric(
                id=name,
                function=row.function,
                field=field,
                takes=list(signature.parameters)[1],
                low=low,
                high=high,
                higher_is_better=row.higher_is_better,
                pools=row.pools,
                definition=row.definition,
                global_options=row.global_options,
                shared=row.shared,
                sweep=row.sweep if field in (None, "f1") else None,
                facts=row.facts or {},
                paper=PAPERS[row.paper],
                properties=_properties(rewards),
                paper_properties=None if row.paper_claims is None else _properties(row.paper_claims),
                faults=row.faults,
                channels=row.channels,
                emerging=row.emerging,
            )
    return metrics


def _properties(initials: str) -> frozenset[str]:
    return frozenset(_INITIALS[initial] for initial in initials.strip("-"))


def initials(properties: frozenset[str]) -> str:
    """Properties by their initials, in the order of the PATE paper's first table.

    Examples
    --------
    >>> initials(frozenset({"coverage", "sequential"}))
    's---c-'
    """
    return "".join(name[0] if name in properties else "-" for name in PROPERTIES)


def find_metrics(
    metrics: Iterable[MetricLike] | MetricLike | None,
    *,
    global_values: Mapping[str, Any] | None = None,
    with_f_beta: bool = False,
    emerging: bool = False,
    channels: bool = False,
) -> list[Metric]:
    """Look metrics up; for None those that are computed by default.

    Parameters
    ----------
    metrics : str, Metric, function, or iterable of these, optional
        An id in any spelling, with options or without; ``"package.module:function"``, which may also name a `Metric`;
        a `Metric`; a function whose second parameter is named ``scores`` or ``predictions``. A function of the
        catalogue that returns a `PRF` stands for its F1. An id may name a part (``_precision``) or a setting of a
        metric given as an object beside it.
    global_values : mapping, optional
        The ``early``, ``delay`` and ``window`` that will reach the metrics, where they are not at their defaults. An
        option bound at its default is left out of an id unless such a value differs from it.
    with_f_beta : bool
        With None: the F-beta metrics, too.
    emerging : bool
        With None: the emerging metrics, too.
    channels : bool
        With None: the metrics on labels with several channels, too.

    Returns
    -------
    list of Metric
        In the order given, each once, with their canonical ids.

    Examples
    --------
    >>> [metric.id for metric in find_metrics(["pate", "point_f1", "pate( delay=20, early=(0, 100) )"])]
    ['pate', 'point_f1', 'pate(delay=20)']
    >>> find_metrics(["point_f2"])
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'point_f2'; did you mean 'point_f1'? ('pateval metrics' lists them)
    """
    if metrics is None:
        return [
            metric
            for metric in _all_metrics().values()
            if (with_f_beta or metric.field != "f_beta")
            and (emerging or not metric.emerging)
            and (channels or not metric.channels)
        ]
    if isinstance(metrics, (str, Metric)) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Iterable) or (isinstance(metrics, Sized) and len(metrics) > _MOST_METRICS):
        raise TypeError(f"metrics must be ids, metrics or functions; got {in_words(metrics)}")
    wanted = list(metrics)
    if not wanted:
        raise ValueError("metrics must name at least one metric; got an empty collection")
    objects = {place: _from_object(item) for place, item in enumerate(wanted) if not isinstance(item, str)}
    given = _by_name(objects.values())
    found: dict[str, Metric] = {}
    for place, item in enumerate(wanted):
        metric = (_from_text(item, given) if isinstance(item, str) else objects[place]).named(global_values)
        known = found.setdefault(metric.id, metric)
        if known.function is not metric.function:
            raise ValueError(
                f"two metrics have the id {in_words(metric.id)}; give one of them another with define_metric"
            )
    return list(found.values())


def canonical_id(text: str, metrics: Iterable[Metric] = (), *, global_values: Mapping[str, Any] | None = None) -> str:
    """Write an id in its one form; ``metrics`` holds a user's own that it may name.

    Examples
    --------
    >>> canonical_id("pate(delay = 20, early=[0, 100])")
    'pate(delay=20)'
    """
    return _from_text(text, _by_name(metrics)).named(global_values).id


def _by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Metrics that are not of the package by their name, without the options that are bound to them."""
    return {metric.name: replace(metric, id=metric.name, options={}) for metric in metrics if not metric.in_package}


def _from_object(item: Any) -> Metric:
    if callable(item):
        for metric in _all_metrics().values():
            if metric.function is item and metric.field in (None, "f1"):
                return metric
        item = metric_from_function(item)
    if not isinstance(item, Metric):
        raise ValueError(f"unknown metric {in_words(item)}; name one by its id, a Metric or a function")
    listed = _all_metrics().get(item.name)
    if listed is not None and listed.function is not item.function:
        raise ValueError(
            f"the id {in_words(item.name)} belongs to the catalogue; give your metric another with define_metric"
        )
    return item


def _from_text(text: str, given: Mapping[str, Metric]) -> Metric:
    """Find the metric that an id names, in the catalogue, among the given ones, or in a module."""
    name, options = read_id(text)
    known = {**_all_metrics(), **given}
    metric = known.get(name)
    if metric is None:
        metric = _imported(text, name) if ":" in name else _part_of(name, given)
    if metric is None:
        near = _nearest(name.lower(), known)
        if near is None:
            raise ValueError(f"unknown metric {in_words(text)}; 'pateval metrics' lists those there are")
        raise ValueError(f"unknown metric {in_words(text)}; did you mean {near!r}? ('pateval metrics' lists them)")
    return metric.with_options(**options) if options else metric


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The id that a name was meant to be: one that begins with it, or differs in a letter or two; None without any.

    Examples
    --------
    >>> _nearest("paet", ["nab", "pate"]), _nearest("auc", ["nab", "auc_roc"]), _nearest("nope", ["nab", "pate"])
    ('pate', 'auc_roc', None)
    """
    ids = list(known)
    close = difflib.get_close_matches(name, ids, n=1, cutoff=0.75)
    return next(iter(close), None) or next((known for known in ids if known.startswith(f"{name}_")), None)


def _part_of(name: str, given: Mapping[str, Metric]) -> Metric | None:
    """Find ``name_precision`` and its kin of a given metric."""
    for field in FIELDS:
        base = given.get(name.removesuffix(f"_{field}"))
        if base is not None and name.endswith(f"_{field}") and base.field is None:
            return base.with_field(field)
    return None


def _imported(text: str, name: str) -> Metric:
    """Import a metric, a function, or a part of either, named ``package.module:function``."""
    module_name, _, attribute = name.partition(":")
    if not module_name.strip(".") or module_name.startswith(".") or not attribute:
        raise ValueError(f"metric {in_words(text)}: write a metric of your own as package.module:function")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever a user's file may raise when it is run
        raise ValueError(
            f"metric {in_words(text)}: importing {in_words(module_name)} failed: {named_error(error)}"
        ) from error
    for field in (None, *FIELDS):
        ending = f"_{field}" if field else ""
        item: Any = module
        for part in attribute.removesuffix(ending).split("."):
            item = getattr(item, part, None)
        if attribute.endswith(ending) and item is not None:
            metric = _from_object(item)
            return metric if field is None else metric.with_field(field)
    raise ValueError(f"metric {in_words(text)}: the module {in_words(module_name)} has no {in_words(attribute)}")
