"""The door of a metric: its public function checks labels, scores and options, what is decorated here trusts them.

A decorated function keeps the computation as its attribute ``unchecked``, which `evaluate` calls on arrays that it has
checked once for all metrics, and the kinds of its options as ``option_kinds``. Where a metric takes ``missing``, the
door has dealt with it: missing scores are left out, or negative infinity, which no threshold reaches. What a docstring
says of labels, predictions, scores and ``missing`` is the same for all metrics and put in here, where it says nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from numpy.typing import ArrayLike

from pateval.validation.arrays import BoolArray, FloatArray, binary_pair, scored_pair
from pateval.validation.options import OptionKind

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., Any])
OnPredictions = Callable[Concatenate[BoolArray, BoolArray, P], R]
OnScores = Callable[Concatenate[BoolArray, FloatArray, P], R]
Public = Callable[Concatenate[ArrayLike, ArrayLike, P], R]

# What the docstrings of all metrics say alike.
_INPUTS = {
    "labels": "labels : array-like of 0 and 1\n    The truth, one value per time step.",
    "predictions": "predictions : array-like of 0 and 1\n    What the detector flagged, one value per time step.",
    "scores": "scores : array-like of float\n    The detector's scores, one per time step, higher is more anomalous.",
    "missing": 'missing : {"error", "ignore", "normal"}\n'
    "    What to do where a score is NaN or null: refuse it, leave the step out, or count it as never predicted.",
}


def on_predictions(**kinds: OptionKind) -> Callable[[OnPredictions[P, R]], Public[P, R]]:
    """Check labels and 0/1 predictions, and options by their kinds."""
    return lambda compute: _checked(compute, binary_pair, kinds)


def on_scores(**kinds: OptionKind) -> Callable[[OnScores[P, R]], Public[P, R]]:
    """Check labels and scores, and options by their kinds."""
    return lambda compute: _checked(compute, scored_pair, kinds)


def on_channel_predictions(**kinds: OptionKind) -> Callable[[OnPredictions[P, R]], Public[P, R]]:
    """Check labels and 0/1 predictions of steps by channels, and options by their kinds."""
    return lambda compute: _checked(compute, partial(binary_pair, channels=True), kinds)


def on_channel_scores(**kinds: OptionKind) -> Callable[[OnScores[P, R]], Public[P, R]]:
    """Check labels and scores of steps by channels, and options by their kinds."""
    return lambda compute: _checked(compute, partial(scored_pair, channels=True), kinds)


def takes_options(**kinds: OptionKind) -> Callable[[Function], Function]:
    """Declare the kinds of the options of a function that checks its input itself."""

    def declare(function: Function) -> Function:
        function.option_kinds = kinds  # type: ignore[attr-defined]  # read by the catalogue
        return function

    return declare


def adds_up(count: Callable[..., Any], value: Callable[..., Any]) -> Callable[[Function], Function]:
    """Declare that a metric is the ``value`` of what ``count`` finds, and that counts of several series add up."""

    def declare(function: Function) -> Function:
        function.counts = count, value  # type: ignore[attr-defined]  # read where pieces of a series are resampled
        return function

    return declare


def _checked(compute: Callable[..., R], check: Callable[..., Any], kinds: dict[str, OptionKind]) -> Callable[..., R]:
    signature = inspect.signature(compute)
    first, second, *others = signature.parameters.values()

    @wraps(compute)
    def metric(*arguments: Any, **options: Any) -> R:
        names = (first.name, second.name)[len(arguments) :]
        if len(arguments) > 2 or not options.keys() >= set(names):
            return compute(*arguments, **options)  # which says what is missing, or too much
        arrays = (*arguments, *(options.pop(name) for name in names))
        missing = {"missing": options["missing"]} if "missing" in options else {}
        labels, values = check(*arrays, **missing)
        for name in kinds.keys() & options.keys():
            options[name] = kinds[name].check(options[name], name)
        return compute(labels, values, **options)

    metric.__doc__ = _documented(compute.__doc__ or "", [name for name in signature.parameters if name in _INPUTS])
    public = [parameter.replace(annotation="ArrayLike") for parameter in (first, second)]
    metric.__signature__ = signature.replace(parameters=[*public, *others])  # type: ignore[attr-defined]
    metric.unchecked = compute  # type: ignore[attr-defined]  # both are read by the catalogue
    metric.option_kinds = kinds  # type: ignore[attr-defined]
    return metric


def _documented(docstring: str, inputs: list[str]) -> str:
    """Put what every metric takes among the parameters of a docstring, around the metric's own."""
    text = inspect.cleandoc(docstring)
    before, returns, after = text.partition("\nReturns\n-------\n")
    if "\nlabels : " in text or not returns:
        return text
    summary, _, own = before.partition("\nParameters\n----------\n")
    entries = [_INPUTS[name] for name in inputs]
    parameters = "\n".join(part for part in (*entries[:2], own.strip("\n"), *entries[2:]) if part)
    return f"{summary}\nParameters\n----------\n{parameters}\n{returns}{after}"
