"""The door of a metric: its public function checks labels, scores and options, what is decorated here trusts them.

A metric declares the kind of each option beside its function; its door and ids of metrics check values by them.

A decorated function keeps the computation as its attribute ``unchecked``, which `evaluate` calls on arrays that it has
checked once for all metrics, and the kinds of its options as ``option_kinds``. Where a metric takes ``missing``, the
door has dealt with it: missing scores are left out, or negative infinity, which no threshold reaches.

What all metrics say alike stands here, and what the metrics of a file say alike in the docstring of that file, in
sections such as ``Parameters`` or ``References``: `documented` puts it into the docstrings that say nothing of it
themselves.
"""

from __future__ import annotations

import datetime
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from typing import Any, Concatenate, Literal, ParamSpec, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pateval.validation.arrays import (
    BoolArray,
    FloatArray,
    binary_pair,
    choice,
    count,
    flag,
    fraction,
    is_real,
    non_negative_integer,
    positive_integer,
    positive_number,
    scored_pair,
    window_length,
)
from pateval.validation.wording import in_words

P = ParamSpec("P")
R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., Any])
OnPredictions = Callable[Concatenate[BoolArray, BoolArray, P], R]
OnScores = Callable[Concatenate[BoolArray, FloatArray, P], R]
Public = Callable[Concatenate[ArrayLike, ArrayLike, P], R]
Duration = str | datetime.timedelta | np.timedelta64

# What the docstrings of all metrics say alike.
_PARAMETERS = """
labels : array-like of 0 and 1
    The truth, one value per time step.
predictions : array-like of 0 and 1
    What the detector flagged, one value per time step.
scores : array-like of float
    The detector's scores, one per time step, higher is more anomalous.
series : array-like, optional
    Which series each step belongs to; equal values must be contiguous. Events and buffers never cross a boundary, and
    counts are pooled.
times : array-like, optional
    When each step was recorded: dates, or numbers with ``time_unit``; increasing within a series.
time_unit : str, optional
    What one unit of numeric times is, such as "s" or "min".
max_gap : str or timedelta, optional
    Holes in time longer than this part events and zones, as the beginning of a series does.
ignore : array-like of 0/1, optional
    Steps left out as if they had never been recorded. The others keep their step numbers (or times) as the clock
    on which zones are measured, and events that only ignored steps separate stay two.
missing : {"error", "ignore", "normal"}
    What to do where a score is NaN or null: refuse it, leave the step out, or count it as never predicted.
"""
_NOTHING = "where nothing is predicted."
_RETURNS_PRF = f"PRF\n    Each in [0, 1], higher is better; (0, 0, 0) {_NOTHING}"
_RETURNS_FLOAT = "float\n    In [0, 1], higher is better"
_UNDEFINED = "UndefinedMetricError\n    If the labels hold no anomaly.\n"
_RAISES = "ValueError, TypeError\n    If an input is not of the form described."
_SECTIONS = "Parameters", "Returns", "Raises", "Warns", "Warnings", "See Also", "Notes", "References", "Examples"
_OF_FILES = "Returns", "Raises", "Warnings", "References"  # beside the parameters


@dataclass(frozen=True)
class OptionKind:
    """Which values an option takes."""

    # Value and name to the value that the metric computes with; any other value is refused in one sentence.
    check: Callable[[Any, str], Any]
    counts_steps: bool = False  # so that it may be a duration where times are known
    is_set: bool = False  # takes several lengths, whose order does not count
    is_unit: bool = False  # of time, which needs times
    none_means: str = "none"  # how signatures write None
    on_clock: str | None = None  # the duration that None means where the unit of times is known

    def or_word(self, word: str | None, none_means: str = "none") -> OptionKind:
        """The same kind, with a word such as "auto", or None, in its place."""

        def check(value: Any, name: str) -> Any:
            if value is word or (isinstance(value, str) and value == word):
                return value
            try:
                return self.check(value, name)
            except (TypeError, ValueError) as error:
                raise (error if word is None else type(error)(f"{error} (or {word!r})")) from None

        return replace(self, check=check, none_means=none_means)


STEPS = OptionKind(non_negative_integer, counts_steps=True)
POSITIVE_STEPS = OptionKind(positive_integer, counts_steps=True)
WINDOW = OptionKind(window_length, counts_steps=True)
POSITIVE_INTEGER = OptionKind(positive_integer)
FRACTION = OptionKind(fraction)
TRUTH_VALUE = OptionKind(flag)
ANYTHING = OptionKind(lambda value, _name: value)
_LARGEST_BETA = 1e100  # its square must be a number


def number(least: float = 0.0, *, counts_steps: bool = False) -> OptionKind:
    """A finite number above 0, and not below ``least``."""
    return OptionKind(lambda value, name: positive_number(value, name, least=least), counts_steps)


def word_of(words: Iterable[str]) -> OptionKind:
    """One of these words."""
    return OptionKind(lambda value, name: choice(value, name, words))


def integer_from(lowest: int, highest: int | None = None) -> OptionKind:
    """A whole number, not below one and not above another."""

    def check(value: Any, name: str) -> int:
        checked = positive_integer(value, name)
        if checked < lowest:
            raise ValueError(f"{name} must be an integer of {lowest} or more; got {in_words(checked)}")
        return checked if highest is None else count(checked, name, most=highest)

    return OptionKind(check)


def is_duration(value: object) -> TypeGuard[Duration]:
    """Tell a duration from a number of steps."""
    return isinstance(value, (str, datetime.timedelta, np.timedelta64))


def _percentage(value: Any, name: str) -> int:
    checked = non_negative_integer(value, name)
    if checked > 100:
        raise ValueError(f"{name} must be a percentage from 0 to 100; got {in_words(checked)}")
    return checked


def _fraction_below_1(value: Any, name: str) -> float:
    if fraction(value, name) == 1:
        raise ValueError(f"{name} must be below 1, as it must be exceeded; got 1")
    return float(value)


def _beta(value: Any, name: str) -> float:
    if not is_real(value) or not 0 <= value <= _LARGEST_BETA:
        raise ValueError(f"{name} must be a number from 0 to {_LARGEST_BETA:g}; got {in_words(value)}")
    return float(value)


_STEPS_OF_PERIOD = integer_from(1, 10**15)
# A duration is read where the times of the steps are known.
PERIOD = OptionKind(
    lambda value, name: value if is_duration(value) else _STEPS_OF_PERIOD.check(value, name),
    counts_steps=True,
    on_clock="1d",
)
PERCENTAGE = OptionKind(_percentage)
FRACTION_BELOW_1 = OptionKind(_fraction_below_1)
BETA = OptionKind(_beta)


def on_predictions(
    of: Literal["steps", "channels"] = "steps", /, **kinds: OptionKind
) -> Callable[[OnPredictions[P, R]], Public[P, R]]:
    """Check labels and 0/1 predictions, of steps or of steps by channels, and options by their kinds."""
    return lambda compute: _checked(compute, partial(binary_pair, channels=of == "channels"), kinds)


def on_scores(
    of: Literal["steps", "channels"] = "steps", /, **kinds: OptionKind
) -> Callable[[OnScores[P, R]], Public[P, R]]:
    """Check labels and scores, of steps or of steps by channels, and options by their kinds."""
    return lambda compute: _checked(compute, partial(scored_pair, channels=of == "channels"), kinds)


def takes_options(**kinds: OptionKind) -> Callable[[Function], Function]:
    """Declare the kinds of the options of a function that checks its input itself."""

    def declare(function: Function) -> Function:
        function.option_kinds = kinds  # type: ignore[attr-defined]  # read by the catalogue
        return documented(function)

    return declare


def undefined_where(case: str) -> Callable[[Function], Function]:
    """Declare where a metric is undefined, beside labels without an anomaly."""

    def declare(function: Function) -> Function:
        function.undefined_where = case  # type: ignore[attr-defined]  # read where docstrings are completed
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
        for name in [name for name in signature.parameters if name in kinds and name in options]:
            options[name] = kinds[name].check(options[name], name)
        return compute(labels, values, **options)

    public = [parameter.replace(annotation="ArrayLike") for parameter in (first, second)]
    metric.__signature__ = signature.replace(parameters=[*public, *others])  # type: ignore[attr-defined]
    metric.unchecked = compute  # type: ignore[attr-defined]  # both are read by the catalogue
    metric.option_kinds = kinds  # type: ignore[attr-defined]
    return documented(metric)


def documented(function: Function, common: Mapping[str, str] | None = None) -> Function:
    """Complete a docstring by what its file, and then all metrics, say of parameters, result, errors and sources.

    Other functions than metrics and thresholds name the sections that they have in ``common`` instead.
    """
    signature = inspect.signature(function)
    shared = _sections(getattr(sys.modules.get(function.__module__), "__doc__", None))
    own = _sections(function.__doc__)
    common = _of_metrics(signature, getattr(function, "undefined_where", "")) if common is None else common
    known: dict[str, str] = {}
    for text in (_PARAMETERS, *(said.get("Parameters", "") for said in (common, shared, own))):
        known |= _entries(text)
    # An entry may describe several parameters.
    entries = dict.fromkeys(known[name] for name in signature.parameters if name in known)
    of_file = {name: shared[name] for name in _OF_FILES if name in shared}
    sections = {**common, **of_file, **own, "Parameters": "\n".join(entries)}
    if _RAISES in common.get("Raises", "") and _RAISES not in sections["Raises"]:
        sections["Raises"] = f"{sections['Raises'].strip()}\n{_RAISES}"
    parts = [f"{name}\n{'-' * len(name)}\n{sections[name].strip()}" for name in _SECTIONS if name in sections]
    function.__doc__ = "\n\n".join([own[""], *parts]) if own[""] else None
    return function


def _of_metrics(signature: inspect.Signature, undefined: str) -> dict[str, str]:
    """What a metric, or a threshold, returns and raises unless it says so itself."""
    sections = {"Raises": _UNDEFINED * ("labels" in signature.parameters) + _RAISES}
    if undefined:
        sections["Raises"] = _UNDEFINED.replace(".", f", or {undefined}.") + _RAISES
    if signature.return_annotation == "PRF":
        sections["Returns"] = _RETURNS_PRF
    if signature.return_annotation == "float":
        sections["Returns"] = _RETURNS_FLOAT + (f"; 0 {_NOTHING}" if "predictions" in signature.parameters else ".")
    return sections


@cache
def _sections(docstring: str | None) -> dict[str, str]:
    """Split a docstring into its summary, which has no name, and its sections by name."""
    summary, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return {"": summary.strip()} | dict(zip(rest[::2], rest[1::2], strict=True))


@cache
def _entries(section: str) -> dict[str, str]:
    """Return what a section says of each name; the lines that explain a name are indented."""
    entries = re.findall(r"^\S.*(?:\n+ .*)*", section, flags=re.MULTILINE)
    return {name.lstrip("*"): entry for entry in entries for name in re.split(" :|\n", entry)[0].split(", ")}
