"""Metrics of one's own: any function of labels and scores or predictions, told apart by an id."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pateval.catalog.metric import GLOBAL_OPTIONS, KINDS, RESERVED_KEYS, Metric
from pateval.validation.arrays import choice, flag, positive_integer
from pateval.validation.wording import in_words

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


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


def metric_from_function(function: Callable[..., Any]) -> Metric:
    """Make a metric of a plain function, named as it is, whose second parameter tells what it takes."""
    name = getattr(function, "__name__", repr(function))
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
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
