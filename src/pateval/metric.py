"""What a metric is to the rest of the package: a function, how to read its result, and what is known of it.

`Metric` describes one number. The catalogue makes one for every row of its table; `define_metric` makes one of a user's
own function.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pateval._validation import BoolArray, FloatArray, UndefinedMetricError, choice, positive_integer
from pateval.option_text import id_text, plain_value, value_text
from pateval.papers import Paper
from pateval.prf import PRF
from pateval.threshold_sweeps import BestThreshold

KINDS = ("scores", "predictions")
FIELDS = ("precision", "recall", "f1", "f_beta")
GLOBAL_OPTIONS: dict[str, Any] = {"early": (0, 100), "delay": (0, 100), "window": 100}
"""Options that `evaluate` and its kin hand to every metric that takes them, and their defaults."""

# Parameters that describe the data or what to do with its steps, not the metric: they are no part of an id.
DATA_PARAMETERS = frozenset({"series", "times", "time_unit", "max_gap", "ignore", "missing"})
# Keys that a signature uses for itself, so that no option may have such a name.
RESERVED_KEYS = frozenset({"metric", "clock", "ignored", "module", "definition", "pateval", *KINDS, *DATA_PARAMETERS})

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
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
    def takes_series(self) -> bool:
        """Whether the function wants to know which series each step belongs to."""
        return self.pools and "series" in _defaults(self.function)

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
                raise ValueError(f"the metric {self.name} has no option {name!r}; {accepted}")
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
        self, labels: BoolArray, given: BoolArray | FloatArray, options: Mapping[str, Any], *, series: Any = None
    ) -> Any:
        """Do the work, from which `read` takes the value; other metrics may read theirs from the same."""
        work = self.function if self.shared is None else self.shared.compute
        extra = {"series": series} if series is not None and self.takes_series else {}
        return work(labels, given, **self.work_options(options), **extra)

    def work_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
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
            return (
                result.f_beta(options["beta"]) if self.field == "f_beta" else float(getattr(result, self.field or "f1"))
            )
        if self.field is not None:
            raise TypeError(f"the metric {self.id} needs a function that returns a PRF; it returned {result!r}")
        try:
            return float(result)
        except (TypeError, ValueError):
            raise TypeError(f"the metric {self.id} must return a number or a PRF; it returned {result!r}") from None

    def _normal(self, name: str, value: Any) -> Any:
        """One value for all spellings that mean the same."""
        value, default = plain_value(value), self.parameters[name]
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if name in self.global_options and isinstance(default, tuple) and isinstance(value, tuple):
            # Buffers form a set: their order does not count, and one buffer is the same with or without brackets.
            return value[0] if len(value) == 1 else tuple(sorted(value))
        return value

    def _from_global(self, name: str, value: Any) -> Any:
        value = plain_value(value)
        if isinstance(value, tuple):
            return tuple(sorted(value)) if isinstance(self.parameters[name], tuple) else max(value)
        return value

    def _try_options(self) -> None:
        """Let the function refuse bad values here, before any work; a user's function is not called on trial."""
        options = self.work_options(self.options)
        # A large window costs as much on eight steps as on many; if a smaller one is accepted, so is the large one.
        trials = [{name: _lowered(value) for name, value in options.items()}, options] if self.in_package else []
        try:
            if self.field == "f_beta" and "beta" in self.options:
                PRF(1.0, 1.0, 1.0).f_beta(self.options["beta"])
            for place, trial in enumerate(trials):
                try:
                    self.function(_TRIAL_LABELS, _TRIAL_INPUT[self.takes], **trial)
                except UndefinedMetricError:
                    return
                except (ValueError, TypeError):
                    if place == 1:
                        raise
                else:
                    return
        except (ValueError, TypeError) as error:
            raise type(error)(f"the metric {id_text(self.name, self.options)} is refused: {error}") from None


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
    faults: str = "",
) -> Metric:
    """Make a metric of one's own, to be used wherever metrics are named.

    The function is called with labels and, as ``takes`` says, scores or predictions: one-dimensional NumPy arrays of
    equal length that have been checked and cannot be written to, bool for labels and predictions, float64 (or float32,
    where that was given) for scores. It returns a number or a `PRF`; it may return NaN or raise `UndefinedMetricError`
    where it has no value.

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
    >>> pv.evaluate([0, 1, 0, 0], [0.1, 0.9, 0.2, 0.3], metrics=[share, "flagged_share(scale=100)"], threshold=0.25)
    flagged_share             0.5000
    flagged_share(scale=100)  50.0000
    predictions: score >= 0.25 (given)
    """
    if not callable(function):
        raise TypeError(f"define_metric needs a function; got {function!r}")
    if not isinstance(id, str) or not _NAME.fullmatch(id):
        raise ValueError(f"the id of a metric must be a word of letters, digits, '_', '.' and '-'; got {id!r}")
    if not low <= high:
        raise ValueError(f"the range of metric {id} must have low <= high; got {low!r} and {high!r}")
    metric = Metric(
        id=id,
        function=function,
        field=None,
        takes=choice(takes, "takes", KINDS),
        low=float(low),
        high=float(high),
        higher_is_better=bool(higher_is_better),
        pools=bool(pools),
        definition=positive_integer(definition, "definition"),
        global_options=tuple(choice(name, "each of global_options", GLOBAL_OPTIONS) for name in global_options),
        faults=faults,
    )
    _check_options(metric)
    return metric if field is None else metric.with_field(field)


def metric_from_function(function: Callable[..., Any]) -> Metric:
    """Make a metric of a plain function, named as it is, whose second parameter tells what it takes.

    Examples
    --------
    >>> def highest(labels, scores):
    ...     return scores[labels].max()
    >>> metric = metric_from_function(highest)
    >>> metric.id, metric.takes
    ('highest', 'scores')
    """
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


@lru_cache(
    maxsize=1000
)  # evaluate asks several times per metric, and reading a signature takes longer than some metrics
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """All parameters of a function and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


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
            raise TypeError(f"the option {parameter.name!r} of metric {metric.id} must have a default")
    for name in metric.parameters:
        if name in RESERVED_KEYS:
            raise ValueError(f"the option {name!r} of metric {metric.id} has a name that signatures use; rename it")
    for name in metric.global_options:
        if name not in metric.parameters:
            raise ValueError(
                f"the metric {metric.id} names the global option {name!r}, which its function does not take"
            )


def _lowered(value: Any) -> Any:
    """Replace what is larger than any input on trial by a number that still is."""
    if isinstance(value, tuple):
        return tuple(_lowered(item) for item in value)
    return min(value, _TRIAL_LIMIT) if isinstance(value, int) and not isinstance(value, bool) else value


def _same(first: Any, second: Any) -> bool:
    try:
        return value_text(first) == value_text(second)
    except TypeError:  # a default that cannot be written, such as a function
        return first is second
