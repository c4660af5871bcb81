"""Finding metrics: ids in any spelling, with options, lists of them, groups, functions and modules."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

from pateval.catalog.metric import FIELDS, Metric
from pateval.catalog.option_text import read_id, split_outside_brackets
from pateval.catalog.own_metrics import metric_from_function
from pateval.catalog.table import all_metrics, catalogue
from pateval.validation.wording import in_words, named_error

_MOST_METRICS = 10_000
_OTHER_NAMES = {"auprc": "auc_pr"}
DEFAULT_METRICS = (
    "pate_ap",
    "pate",
    "vus_pr",
    "average_precision",
    "auc_roc",
    "pate_f1",
    "point_f1",
    "point_adjusted_f1(threshold=best)",
    "affiliation_f1",
)
"""What is computed where no metrics are named."""

MetricLike = str | Metric | Callable[..., Any]
"""What names a metric: an id, an id with options, ``package.module:function``, a `Metric`, a function."""


def find_metrics(
    metrics: Iterable[MetricLike] | MetricLike | None,
    *,
    global_values: Mapping[str, Any] | None = None,
    channels: bool = False,
) -> list[Metric]:
    """Look metrics up, in the order given, each once, with their canonical ids; for None those computed by default.

    A function of the catalogue that returns a `PRF` stands for its F1. An id may name a part (``_precision``) or a
    setting of a metric given as an object beside it. Of ``global_values``, the lengths and the threshold that will
    reach the metrics, hangs which options stand in an id: one bound at its default is left out unless such a value
    differs from it. With ``channels``, for labels of steps by channels, None and groups are the metrics on these.

    Examples
    --------
    >>> [metric.id for metric in find_metrics(["pate", "point_f1", "pate( delay=20, early=(0, 100) )"])]
    ['pate', 'point_f1', 'pate(delay=20)']
    >>> [metric.id for metric in find_metrics("pate, point_f1(threshold=best)")]
    ['pate', 'point_f1(threshold=best)']
    >>> find_metrics(["point_f2"])
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'point_f2'; did you mean 'point_f1'? ('pateval metrics' lists them)
    """
    if metrics is None:
        metrics = GROUPS["all"](channels) if channels else DEFAULT_METRICS
    if isinstance(metrics, (str, Metric)) or callable(metrics):
        metrics = [metrics]
    if not isinstance(metrics, Iterable) or (isinstance(metrics, Sized) and len(metrics) > _MOST_METRICS):
        raise TypeError(f"metrics must be ids, metrics or functions; got {in_words(metrics)}")
    wanted: list[Any] = []
    for item in metrics:
        for part in filter(None, split_outside_brackets(item)) if isinstance(item, str) else [item]:
            wanted += GROUPS[part](channels) if isinstance(part, str) and part in GROUPS else [part]
    if not wanted:
        raise ValueError("metrics must name at least one metric; got an empty collection")
    wanted = [item if isinstance(item, str) else _from_object(item) for item in wanted]
    given = _by_name(item for item in wanted if isinstance(item, Metric))
    by_id: dict[str, Metric] = {}
    for item in wanted:
        metric = (_from_text(item, given) if isinstance(item, str) else item).named(global_values)
        if by_id.setdefault(metric.id, metric).function is not metric.function:
            raise ValueError(
                f"two metrics have the id {in_words(metric.id)}; give one of them another with define_metric"
            )
    return list(by_id.values())


GROUPS: dict[str, Callable[[bool], list[Metric]]] = {
    "all": lambda channels: [metric for metric in catalogue(channels=channels).values() if metric.channels == channels],
    "scores": lambda channels: [metric for metric in GROUPS["all"](channels) if metric.takes == "scores"],
    "predictions": lambda channels: [metric for metric in GROUPS["all"](channels) if metric.takes == "predictions"],
    "events": lambda channels: [
        metric for metric in GROUPS["predictions"](channels) if "sequential" in metric.properties
    ],
    "emerging": lambda _channels: [metric for metric in catalogue(emerging=True).values() if metric.emerging],
}
"""Metrics that are asked for by one word: all but the emerging ones, those on scores or on predictions, those on
predictions that look at events, and the emerging ones."""


def default_rank_by(metrics: Sequence[str]) -> str:
    """Return the metric to rank by where none is named: one that coarse scores do not fool."""
    if "pate_ap" in metrics:
        return "pate_ap"
    return next((metric for metric in metrics if metric.partition("(")[0] == "pate_ap"), metrics[0])


def canonical_id(text: str, metrics: Iterable[Metric] = (), *, global_values: Mapping[str, Any] | None = None) -> str:
    """Write an id in its one form; ``metrics`` holds a user's own that it may name.

    Examples
    --------
    >>> canonical_id("pate(delay = 20, early=[0, 100])")
    'pate(delay=20)'
    """
    return _from_text(text, _by_name(metrics)).named(global_values).id


def _by_name(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Metrics that are not of the package by their name, without the options and threshold that are bound to them."""
    own = [metric for metric in metrics if not metric.in_package]
    return {metric.name: replace(metric, id=metric.name, options={}, threshold=None) for metric in own}


def _from_object(item: Any) -> Metric:
    if isinstance(item, Metric) and all_metrics().get(item.id) is item:
        return item
    if callable(item):
        for metric in all_metrics().values():
            if metric.function is item and metric.field in (None, "f1"):
                return metric
        item = metric_from_function(item)
    if not isinstance(item, Metric):
        raise ValueError(f"unknown metric {in_words(item)}; name one by its id, a Metric or a function")
    listed = all_metrics().get(item.name)
    if listed is not None and listed.function is not item.function:
        raise ValueError(
            f"the id {in_words(item.name)} belongs to the catalogue; give your metric another with define_metric"
        )
    return item


def _from_text(text: str, given: Mapping[str, Metric]) -> Metric:
    """Find the metric that an id names, in the catalogue, among the given ones, or in a module."""
    name, options = read_id(text)
    known = {**all_metrics(), **given}
    metric = known.get(name)
    if metric is None:
        metric = _imported(text, name) if ":" in name else _part_of(name, given)
    if metric is None:
        near = _nearest(name, known)
        if near is None:
            raise ValueError(f"unknown metric {in_words(text)}; 'pateval metrics' lists those there are")
        raise ValueError(f"unknown metric {in_words(text)}; did you mean {near!r}? ('pateval metrics' lists them)")
    return metric.with_options(**options) if options else metric


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The id that a name was meant to be: another spelling or a short form of it, or one that differs in a letter.

    Examples
    --------
    >>> ids = ["nab", "pate", "auc_roc", "vus_pr", "pate_f1", "point_adjusted_f1"]
    >>> [_nearest(name, ids) for name in ("paet", "auc", "vus-pr", "PATE", "pa_f1", "F1-PA", "roc_auc", "nope")]
    ['pate', 'auc_roc', 'vus_pr', 'pate', 'point_adjusted_f1', 'point_adjusted_f1', 'auc_roc', None]
    """
    ids, words = list(known), [word for word in re.split(r"[\W_]+", name.lower()) if word] or [""]
    spelled = "_".join(words)
    turned = words[::-1]  # roc_auc, f1_pa
    # A plain F1 is that of single steps.
    for spelling in (spelled, f"{spelled}_f1", f"point_{spelled}", "_".join(turned), _OTHER_NAMES.get(spelled)):
        if spelling in ids:
            return spelling
    for is_short_form in (_has_initials, _is_cut):
        for order in (words, turned):
            for metric in ids:
                if is_short_form(order, metric.split("_")):
                    return metric
    return next(iter(difflib.get_close_matches(spelled, ids, n=1, cutoff=0.75)), None)


def _has_initials(short: list[str], words: list[str]) -> bool:
    """Whether the first words are given by their initials: pa_f1, ap."""
    first, *others = short
    initials = "".join(word[:1] for word in words)
    return len(first) > 1 and initials.startswith(first) and words[len(first) :] == others


def _is_cut(short: list[str], words: list[str]) -> bool:
    """Whether words are cut short, or left out at the end: aff_f1, auc."""
    return len(short) <= len(words) and all(word.startswith(cut) for cut, word in zip(short, words, strict=False))


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
            if not metric.in_package:
                metric = replace(metric, imported_as=f"{module_name}:{attribute.removesuffix(ending)}")
            return metric if field is None else metric.with_field(field)
    raise ValueError(f"metric {in_words(text)}: the module {in_words(module_name)} has no {in_words(attribute)}")
