"""What a metric is to the rest of the package: a function, how to read its result, and what is known of it.

`Metric` describes one number. The catalogue makes one for every row of its table; `define_metric` makes one of a user's
own function.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pateval.catalog.option_text import id_text, plain_value, value_text
from pateval.catalog.papers import Paper
from pateval.output.prf import PRF
from pateval.thresholds.sweeps import BestThreshold
from pateval.time.clocks import Clock, canonical_lengths, in_steps, is_duration, length_order
from pateval.validation.arrays import LONGEST_WINDOW, BoolArray, FloatArray, UndefinedMetricError, choice
from pateval.validation.wording import in_words, shortened

KINDS = ("scores", "predictions")
FIELDS = ("precision", "recall", "f1", "f_beta")
GLOBAL_OPTIONS: dict[str, Any] = {"early": (0, 100), "delay": (0, 100), "window": 100}
"""Options that `evaluate` and its kin hand to every metric that takes them, and their defaults."""

# Parameters that describe the data or what to do with its steps, not the metric: they are no part of an id.
DATA_PARAMETERS = frozenset({"series", "times", "time_unit", "max_gap", "ignore", "missing", "anomalies", "subsystems"})
# Options that count steps, and so may be given as durations where the times of the steps are known.
STEP_OPTIONS = frozenset({"early", "delay", "window", "per", "near", "width", "delta", "discovery", "observation"}) | {
    "tolerance",
    "start_tolerance",
    "end_tolerance",
    "maximum_length",
    "minimum_gap",
}
# Keys that a signature uses for itself, so that no option may have such a name.
RESERVED_KEYS = frozenset({"metric", "clock", "ignored", "module", "definition", "pateval", *KINDS, *DATA_PARAMETERS})

# A small input on which every metric is defined, to try the options of a metric of the package.
_TRIAL_LIMIT = 1000
_TRIAL_LABELS = np.array([0, 0, 1, 1, 1, 0, 0, 0], dtype=np.bool_)
_TRIAL_INPUT = {
    "scores": np.array([0.1, 0.5, 0.9, 0.2, 0.4, 0.0, 0.7, 0.6]),
    "predictions": np.array([0, 1, 1, 0, 0, 0, 1, 0], dtype=np.bool_),
}


class SharedWork(NamedTuple):
    """Work that several metrics have in common.

    Attributes
    ----------
    compute : callable
        Labels, scores or predictions, and those options of the metric that it takes, to a result.
    read : callable
        Picks the metric's value out of the result; may raise `UndefinedMetricError`.
    """

    compute: Callable[..., Any]
    read: Callable[[Any], float]


@dataclass(frozen=True)
class Metric:
    """One number that tells how good a detector is.

    Attributes
    ----------
    id : str
        Name in tables and on the command line, with the options that are not at their defaults.
    function : callable
        What computes it.
    field : str or None
        "precision", "recall", "f1" or "f_beta" where the function returns a `PRF`. With None a number is taken as it
        is and a `PRF` counts by its F1.
    takes : str
        "scores" or "predictions".
    low, high : float
        Range of values, with the options at their defaults.
    higher_is_better : bool
        Direction.
    pools : bool
        Whether several series can be evaluated as one; otherwise their mean is taken.
    definition : int
        Goes up when the numbers change for the same input and options.
    options : mapping
        The options bound to this metric. They win over the global ones, which win over the defaults.
    global_options : tuple of str
        Which of `GLOBAL_OPTIONS` reach it. Of several buffers a function whose default is a single one gets the
        longest.
    shared : SharedWork or None
        Work that it has in common with other metrics.
    sweep : callable or None
        A faster search for the best threshold: labels, scores and options to a `BestThreshold`.
    facts : mapping
        What else decides the number and has no option, for the signature.
    paper : Paper or None
        Where it comes from; None for a user's own.
    properties : frozenset of str
        What it rewards, of `pateval.catalog.PROPERTIES`, as the probes of `pateval audit` measure it.
    paper_properties : frozenset of str or None
        What the first table of the PATE paper claims; None where it has no such row.
    faults : str
        How it can be fooled.
    channels : bool
        Whether it takes arrays of steps by channels.
    emerging : bool
        Whether it is a preprint's or one group's so far: computed where it is asked for, and not by default.
    """

    id: str
    function: Callable[..., Any]
    field: str | None
    takes: str
    low: float = -math.inf
    high: float = math.inf
    higher_is_better: bool = True
    pools: bool = False
    definition: int = 1
    options: Mapping[str, Any] = dataclass_field(default_factory=dict, hash=False)
    global_options: tuple[str, ...] = ()
    shared: SharedWork | None = None
    sweep: Callable[..., BestThreshold] | None = None
    facts: Mapping[str, str] = dataclass_field(default_factory=dict, hash=False)
    paper: Paper | None = None
    properties: frozenset[str] = frozenset()
    paper_properties: frozenset[str] | None = None
    faults: str = ""
    channels: bool = False
    emerging: bool = False

    @property
    def name(self) -> str:
        """The id without options."""
        return self.id.partition("(")[0]

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
        """All options, in the order of the function's signature, and their defaults."""
        defaults = list(_defaults(self.function).items())[2:]
        options = {name: default for name, default in defaults if name not in DATA_PARAMETERS}
        return options | ({"beta": 1.0} if self.field == "f_beta" else {})

    @property
    def summary(self) -> str:
        """First line of the function's documentation."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @property
    def on_clock(self) -> bool:
        """Whether the function measures on a clock itself, so that it takes durations and ignored steps."""
        return {"times", "ignore"} <= _defaults(self.function).keys()

    @property
    def takes_missing(self) -> bool:
        """Whether the function can count steps without a score as never predicted."""
        return "missing" in _defaults(self.function)

    @property
    def in_package(self) -> bool:
        """Whether it is of the catalogue: only what `define_metric` makes has no paper."""
        return self.paper is not None

    @property
    def importable(self) -> bool:
        """Whether another process can find the function by its module and name."""
        module, name = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", "")
        if module is None or module == "__main__" or module not in sys.modules:
            return False
        item: Any = sys.modules[module]
        for part in name.split("."):
            item = getattr(item, part, None)
        return item is self.function and getattr(sys.modules[module], "__spec__", None) is not None

    def cache_token(self) -> str | None:
        """Text that changes whenever the metric may give another number; None where that cannot be known.

        A metric of the package is told by its id and definition. A user's own is told by the source of its module, too;
        a closure, a lambda or a function of the main program has no such source, and its values are not cached.
        """
        if self.in_package:
            return f"{self.id}|definition:{self.definition}"
        if not self.importable:
            return None
        file = getattr(sys.modules[self.function.__module__], "__file__", None)
        if file is None or not Path(file).is_file():
            return None
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
        where = f"{self.function.__module__}:{self.function.__qualname__}"
        return f"{self.id}|{where}|definition:{self.definition}|source:{digest}"

    def with_options(self, **options: Any) -> Metric:
        """Bind options, on top of those bound already.

        Examples
        --------
        >>> from pateval.catalog import catalogue
        >>> catalogue()["pate"].with_options(delay=20, early=range(11)).id
        'pate(early=0..10,delay=20)'
        """
        known = self.parameters
        for name in options:
            if name not in known:
                accepted = f"it takes {', '.join(known)}" if known else "it takes none"
                raise ValueError(f"the metric {self.name} has no option {in_words(name)}; {accepted}")
        bound = {**self.options, **options}
        bound = {name: self._normal(name, bound[name]) for name in known if name in bound}
        changed = replace(self, options=bound)
        changed._try_options()
        return changed.named()

    def with_field(self, field: str) -> Metric:
        """Ask for one part of the `PRF` that the function returns.

        Examples
        --------
        >>> from pateval.catalog import catalogue
        >>> catalogue()["point_f1"].with_field("recall").id
        'point_recall'
        """
        field = choice(field, "field", FIELDS)
        base = self.name.removesuffix(f"_{self.field}") if self.field else self.name
        return replace(self, id=f"{base}_{field}", field=field, sweep=None).named()

    def named(self, global_values: Mapping[str, Any] | None = None) -> Metric:
        """Give the metric its canonical id.

        Options at their defaults are left out of it, except where a global option would put another value there.
        """
        values = {**GLOBAL_OPTIONS, **(global_values or {})}
        shown = {}
        for name, default in self.parameters.items():
            if name not in self.options:
                continue
            reached = self._from_global(name, values[name]) if name in self.global_options else default
            if any(not _same(self.options[name], other) for other in (default, reached)):
                shown[name] = self.options[name]
        name = id_text(self.name, shown)
        return self if name == self.id else replace(self, id=name)

    def effective_options(self, global_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Value of every option: the metric's own, else the global one where it reaches, else the default."""
        values = {**GLOBAL_OPTIONS, **(global_values or {})}
        return {
            name: self.options[name]
            if name in self.options
            else self._from_global(name, values[name])
            if name in self.global_options
            else default
            for name, default in self.parameters.items()
        }

    def value(self, labels: BoolArray, given: BoolArray | FloatArray, **options: Any) -> float:
        """Compute the metric from checked labels, and scores or predictions."""
        return self.read(self.compute(labels, given, options), options)

    def compute(
        self,
        labels: BoolArray,
        given: BoolArray | FloatArray,
        options: Mapping[str, Any],
        *,
        data: Mapping[str, Any] | None = None,
    ) -> Any:
        """Compute the result from which `read` takes the value; metrics that share a computation read the same result.

        ``data`` holds what `DATA_PARAMETERS` name, such as ``series``; the function gets those it takes.
        """
        compute = self.function if self.shared is None else self.shared.compute
        taken = _defaults(compute).keys() - (set() if self.pools else {"series"})
        extra = {name: value for name, value in (data or {}).items() if name in taken and value is not None}
        return compute(labels, given, **self.compute_options(options), **extra)

    def durations(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that are durations instead of numbers of steps."""
        return {name: value for name, value in options.items() if self._counts_steps(name) and _is_time(value)}

    def in_steps(self, options: Mapping[str, Any], interval: float, clock: Clock) -> dict[str, Any]:
        """Options with durations turned into the nearest number of steps."""
        found = dict(options)
        for name, value in self.durations(options).items():
            lengths = tuple(
                in_steps(length, interval, clock, name) for length in (value if isinstance(value, tuple) else (value,))
            )
            found[name] = lengths if isinstance(value, tuple) else lengths[0]
        return found

    def compute_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that the work depends on."""
        if self.shared is not None:
            taken = _defaults(self.shared.compute)
            return {name: value for name, value in options.items() if name in taken}
        return {name: value for name, value in options.items() if name != "beta" or self.field != "f_beta"}

    def read(self, result: Any, options: Mapping[str, Any]) -> float:
        """Take the metric's value out of what `compute` returned."""
        if self.shared is not None:
            return float(self.shared.read(result))
        if isinstance(result, PRF):
            value = (
                result.f_beta(options["beta"]) if self.field == "f_beta" else float(getattr(result, self.field or "f1"))
            )
        elif self.field is not None:
            raise TypeError(f"the metric {self.id} needs a function that returns a PRF; it returned {in_words(result)}")
        else:
            try:
                value = float(result)
            except (TypeError, ValueError):
                raise TypeError(
                    f"the metric {self.id} must return a number or a PRF; it returned {in_words(result)}"
                ) from None
        if math.isinf(value):
            raise UndefinedMetricError(f"the metric {self.id} returned {value}, with which no mean and no rank exists")
        return value

    def _normal(self, name: str, value: Any) -> Any:
        """One value for all spellings that mean the same."""
        value, default = plain_value(value), self.parameters[name]
        if self._counts_steps(name) and _is_time(value):
            with suppress(ValueError, TypeError):  # the function says what is wrong with it
                lengths = canonical_lengths(value, name)
                value = lengths if isinstance(value, tuple) else lengths[0]
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if name in self.global_options and isinstance(default, tuple) and isinstance(value, tuple):
            # Buffers form a set: their order does not count, and one buffer is the same with or without brackets.
            return value[0] if len(value) == 1 else _sorted(value)
        return value

    def _from_global(self, name: str, value: Any) -> Any:
        value = plain_value(value)
        if isinstance(value, tuple):
            return _sorted(value) if isinstance(self.parameters[name], tuple) else max(value, key=length_order)
        return value

    def _counts_steps(self, name: str) -> bool:
        return name in (STEP_OPTIONS if self.in_package else self.global_options)

    def _try_options(self) -> None:
        """Let the function refuse bad values here, before any work; a user's function is not called on trial."""
        options = self.compute_options(self.options)
        # A large window costs as much on eight steps as on many; if a smaller one is accepted, so is the large one.
        trials = [{name: _lowered(value) for name, value in options.items()}, options] if self.in_package else []
        try:
            if self.field == "f_beta" and "beta" in self.options:
                PRF(1.0, 1.0, 1.0).f_beta(self.options["beta"])
            for place, trial in enumerate(trials):
                given = _TRIAL_LABELS, _TRIAL_INPUT[self.takes]
                if self.channels:
                    given = given[0][:, np.newaxis], given[1][:, np.newaxis]
                try:
                    self._trial(*given, trial)
                except UndefinedMetricError:
                    return
                except (ValueError, TypeError):
                    if place == 1:
                        raise
                else:
                    return
        except (ValueError, TypeError) as error:
            refused = shortened(id_text(self.name, self.options), 80)
            raise type(error)(f"the metric {refused} is refused: {error}") from None

    def _trial(self, labels: Any, given: Any, options: Mapping[str, Any]) -> None:
        """Call the function on a clock of seconds, where it takes one."""
        clock = Clock(np.arange(len(labels)), 10**9)
        times = {"times": clock.times, "time_unit": "s"} if "times" in _defaults(self.function) else {}
        self.function(labels, given, **(options if self.on_clock else self.in_steps(options, 1.0, clock)), **times)


@lru_cache(
    maxsize=1000
)  # evaluate asks several times per metric, and reading a signature takes longer than some metrics
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """All parameters of a function and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


def _lowered(value: Any) -> Any:
    """Replace what is larger than any input on trial by a number that still is."""
    if isinstance(value, tuple):
        return tuple(_lowered(item) for item in value)
    is_large = isinstance(value, int) and not isinstance(value, bool) and _TRIAL_LIMIT < value <= LONGEST_WINDOW
    return _TRIAL_LIMIT if is_large else value


def _is_time(value: Any) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    # An option that counts steps may also be a word, such as "auto".
    return any(is_duration(one) and (not isinstance(one, str) or one.strip()[:1].isdigit()) for one in values)


def _sorted(lengths: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(lengths, key=length_order))
    except (ValueError, TypeError):  # neither numbers nor durations: the function says so
        return lengths


def _same(first: Any, second: Any) -> bool:
    try:
        return value_text(first) == value_text(second)
    except TypeError:  # a default that cannot be written, such as a function
        return first is second
