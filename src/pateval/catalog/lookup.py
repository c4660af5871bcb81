"""Finding metrics: ids in any spelling, with options, lists of them, groups, functions and modules; and one's own."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np

from pateval.catalog.metric import FIELDS, GLOBAL_OPTIONS, KINDS, RESERVED_KEYS, Metric, attribute_of
from pateval.catalog.option_text import read_id, split_outside_brackets
from pateval.catalog.table import all_metrics, catalogue
from pateval.validation.arrays import choice, flag, positive_integer
from pateval.validation.wording import in_words, named_error

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
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
    """Write an id in its one form; ``metrics`` holds a user's own that it may name."""
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
        item = _from_function(item)
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
    base, field = _parted(name)
    if name in known:
        metric = known[name]
    elif ":" in name:
        metric = _imported(text, name)
    elif field is not None and base in given and given[base].field is None:
        metric = given[base].with_field(field)
    else:
        near = _nearest(name, known)
        if near is None:
            raise ValueError(f"unknown metric {in_words(text)}; 'pateval metrics' lists those there are")
        raise ValueError(f"unknown metric {in_words(text)}; did you mean {near!r}? ('pateval metrics' lists them)")
    return metric.with_options(**options) if options else metric


def _parted(name: str) -> tuple[str, str | None]:
    """A name as that of a part, such as ``mine_recall``; None where it ends in no part."""
    for field in FIELDS:
        if name.endswith(f"_{field}"):
            return name.removesuffix(f"_{field}"), field
    return name, None


def _nearest(name: str, known: Iterable[str]) -> str | None:
    """The id that a name was meant to be: another spelling or a short form of it, or one that differs in a letter."""
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
    for base, field in ((attribute, None), _parted(attribute)):
        item = attribute_of(module, base)
        if item is not None:
            metric = _from_object(item)
            if not metric.in_package:
                metric = replace(metric, imported_as=f"{module_name}:{base}")
            return metric if field is None else metric.with_field(field)
    raise ValueError(f"metric {in_words(text)}: the module {in_words(module_name)} has no {in_words(attribute)}")


def define_metric(
    function: Callable[..., Any],
    *,
    id: str,  # noqa: A002  # the name that users know from tables and `Metric.id`
    takes: str,
    higher_is_better: bool = True,
    low: float = -math.inf,
    high: float = math.inf,
    pools: bool = False,
    definition: int = 1,
    field: str | None = None,
    global_options: Iterable[str] = (),
    steps: Iterable[str] = (),
    faults: str = "",
) -> Metric:
    """Make a metric of one's own, to be used wherever metrics are named.

    The function is called with labels and, as ``takes`` says, scores or predictions: one-dimensional NumPy arrays of
    equal length that have been checked and cannot be written to, bool for labels and predictions, float64 (or float32,
    where that was given) for scores. It returns a number or a `PRF`; it may return NaN or raise `UndefinedMetricError`
    where it has no value. An infinite number is undefined, too: no mean and no rank exists with it.

    Parameters
    ----------
    function : callable
        The function. Its further parameters must have defaults; they are its options.
    id : str
        Name in tables, which no metric of the catalogue may have. Where the function returns a `PRF`, the bare id
        means the F1, and the id with ``_precision``, ``_recall``, ``_f1`` or ``_f_beta`` can be asked for beside it.
    takes : {"scores", "predictions"}
        What it judges. Predictions are made from scores with the threshold of `evaluate`.
    higher_is_better : bool
        Direction.
    low, high : float
        Range of values.
    pools : bool
        Whether the steps of several series may be judged together, in one call; otherwise the mean over the series is
        taken. A function with a parameter ``series`` is then told which series each step belongs to.
    definition : int
        To be raised when the function gives other numbers; results in a cache are told apart by it.
    field : {"precision", "recall", "f1", "f_beta"}, optional
        Which part of a `PRF` to take; the id is then the given one with that ending.
    global_options : iterable of {"early", "delay", "window"}
        Options of the function that ``evaluate(early=..., delay=..., window=...)`` and the command line's
        ``--early --delay --window`` shall reach. Several buffers come as a tuple where the default is a tuple, else
        the longest comes.
    steps : iterable of str
        Other options of the function that count steps. Where times are known they may be durations, as in
        ``"mine(tolerance=10min)"``; the function then gets the nearest number of median intervals.
    faults : str
        How the metric can be fooled.

    Returns
    -------
    Metric
        For ``metrics=`` of `evaluate`, `leaderboard`, `audit`, and ``metric=`` of `best_threshold`.

    Raises
    ------
    ValueError, TypeError
        If an argument is not of the form described.

    Examples
    --------
    >>> import pateval as pv
    >>> def flagged_share(labels, predictions, *, scale=1.0):
    ...     return scale * predictions.mean()
    >>> share = pv.define_metric(flagged_share, id="flagged_share", takes="predictions", higher_is_better=False)
    >>> both = [share, "flagged_share(scale=100)"]
    >>> pv.evaluate([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.3], metrics=both, threshold=0.25, chance=0)
    flagged_share             0.5000
    flagged_share(scale=100)  50.0000
    predictions: score >= 0.25 (given)
    """
    if not callable(function):
        raise TypeError(f"define_metric needs a function; got {in_words(function)}")
    if not isinstance(id, str) or not _NAME.fullmatch(id):
        raise ValueError(f"the id of a metric must be a word of letters, digits, '_', '.' and '-'; got {in_words(id)}")
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"{name} of metric {id} must be a number; got {in_words(value)}")
    if not isinstance(faults, str):
        raise TypeError(f"faults of metric {id} must be text; got {in_words(faults)}")
    for name, names in (("global_options", global_options), ("steps", steps)):
        if not isinstance(names, Iterable):
            raise TypeError(f"{name} of metric {id} must be names of options; got {in_words(names)}")
    if not low <= high:
        raise ValueError(f"the range of metric {id} must have low <= high; got {in_words(low)} and {in_words(high)}")
    metric = Metric(
        id=id,
        function=function,
        field=None,
        takes=choice(takes, "takes", KINDS),
        low=_as_float(low),
        high=_as_float(high),
        higher_is_better=flag(higher_is_better, f"higher_is_better of metric {id}"),
        pools=flag(pools, f"pools of metric {id}"),
        definition=positive_integer(definition, "definition"),
        global_options=tuple(choice(name, "each of global_options", GLOBAL_OPTIONS) for name in global_options),
        steps=tuple(steps),
        faults=faults,
    )
    _check_options(metric)
    return metric if field is None else metric.with_field(field)


def _as_float(bound: float) -> float:
    """A bound that is too large for a float is none."""
    try:
        return float(bound)
    except OverflowError:
        return math.inf if bound > 0 else -math.inf


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters of a function; none where they cannot be read."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _from_function(function: Callable[..., Any]) -> Metric:
    """Make a metric of a plain function, named as it is, whose second parameter tells what it takes."""
    name, parameters = getattr(function, "__name__", repr(function)), parameter_names(function)
    if len(parameters) < 2 or parameters[1] not in KINDS:
        raise ValueError(
            f"a function used as a metric takes labels and then a parameter named 'scores' or 'predictions'; "
            f"{name} takes {', '.join(parameters) or 'nothing known'} (define_metric accepts any names)"
        )
    if not _NAME.fullmatch(name):
        raise ValueError(f"the function {name} has no name for a table; give it one with define_metric(..., id=...)")
    return define_metric(function, id=name, takes=parameters[1])


def _check_options(metric: Metric) -> None:
    try:
        parameters = list(inspect.signature(metric.function).parameters.values())
    except (TypeError, ValueError):
        raise TypeError(
            f"the parameters of the function of metric {metric.id} cannot be read; wrap it in def"
        ) from None
    kinds = inspect.Parameter
    if any(parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for parameter in parameters[2:]):
        raise TypeError(f"the function of metric {metric.id} must name its options; it has *args or **kwargs")
    if len(parameters) < 2 and not any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        raise TypeError(f"the function of metric {metric.id} must take labels and {metric.takes}")
    for parameter in parameters[2:]:
        if parameter.default is kinds.empty:
            raise TypeError(f"the option {in_words(parameter.name)} of metric {metric.id} must have a default")
    for name in metric.parameters:
        if name in RESERVED_KEYS:
            raise ValueError(
                f"the option {in_words(name)} of metric {metric.id} has a name that signatures use; rename it"
            )
    for kind, names in (("global option", metric.global_options), ("option", metric.steps)):
        for name in names:
            if name not in metric.parameters:
                raise ValueError(
                    f"the metric {metric.id} names the {kind} {in_words(name)}, which its function does not take"
                )
