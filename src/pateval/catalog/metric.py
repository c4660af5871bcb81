"""What a metric is to the rest of the package: a function, how to read its result, and what is known of it.

`Metric` describes one number. The catalogue makes one for every row of its table; `define_metric` makes one of a user's
own function.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pateval.catalog.option_text import id_text, plain_value, value_text
from pateval.output.results import PRF
from pateval.thresholds.sweeps import BestThreshold
from pateval.time.clocks import Clock, canonical_lengths, in_steps, is_duration, length_order
from pateval.validation.arrays import UndefinedMetricError, choice, finite_number
from pateval.validation.checked import ANYTHING, BETA, OptionKind
from pateval.validation.wording import in_words, shortened

KINDS = ("scores", "predictions")
FIELDS = ("precision", "recall", "f1", "f_beta")
GLOBAL_OPTIONS: dict[str, Any] = {"early": (0, 100), "delay": (0, 100), "window": 100}
"""Options that `evaluate` and its kin hand to every metric that takes them, and their defaults."""
ORACLE, BEST = "oracle", "best"
"""Thresholds that use the labels: of the best point F1, and of the best value of the metric itself."""

# Parameters that describe the data or what to do with its steps, not the metric: they are no part of an id.
DATA_PARAMETERS = frozenset({"series", "times", "time_unit", "max_gap", "ignore", "missing", "anomalies", "subsystems"})
# Keys that a signature uses for itself, so that no option may have such a name.
RESERVED_KEYS = frozenset(
    {"metric", "threshold", "candidates", "clock", "ignored", "over", "module", "definition", "pateval", *KINDS}
    | DATA_PARAMETERS
)


class Paper(NamedTuple):
    """A reference one can look up."""

    text: str
    link: str


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
    threshold : float, str or None
        For a metric on predictions: how scores become predictions, where the metric names it itself.
    papers_threshold : str or None
        How the papers that report it choose the threshold, where that is the metric's own best; `pateval audit` judges
        it there.
    steps : tuple of str
        For a user's function: options that count steps, so that they may be durations where times are known; global
        ones need no mention. The functions of the package declare the kinds of their options themselves.
    work : callable or None
        What computes the result that the value is read from, where other metrics read theirs from it, too; otherwise
        the function does.
    part : str or None
        Which attribute of the result is the value, where it is no field of a `PRF`.
    on_timeline : callable or None
        The computation on checked steps and their timeline, for a metric that measures on a clock itself.
    sweep : callable or None
        A faster search for the best threshold: labels, scores and options to a `BestThreshold`.
    flatters_coarse : mapping or None
        The options with which it flatters scores with few values, each with the values that do: the trapezoid rule
        does. Empty for always, None for never.
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
    imported_as : str
        ``package.module:name`` where it was found by that text, so that others find it again.
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
    threshold: float | str | None = None
    papers_threshold: str | None = None
    steps: tuple[str, ...] = ()
    work: Callable[..., Any] | None = None
    part: str | None = None
    on_timeline: Callable[..., Any] | None = None
    sweep: Callable[..., BestThreshold] | None = None
    flatters_coarse: Mapping[str, tuple[Any, ...]] | None = dataclass_field(default=None, hash=False)
    facts: Mapping[str, str] = dataclass_field(default_factory=dict, hash=False)
    paper: Paper | None = None
    properties: frozenset[str] = frozenset()
    paper_properties: frozenset[str] | None = None
    faults: str = ""
    channels: bool = False
    emerging: bool = False
    imported_as: str = dataclass_field(default="", compare=False)

    @cached_property
    def name(self) -> str:
        """The id without options."""
        return self.id.partition("(")[0]

    @cached_property
    def needs_threshold(self) -> bool:
        """Whether scores must be turned into predictions first."""
        return self.takes == "predictions"

    @property
    def plain_id(self) -> str:
        """The id without the threshold."""
        return replace(self, threshold=None).named().id if self.threshold is not None else self.id

    @property
    def best(self) -> float | None:
        """Value of a perfect detector; None where there is no bound."""
        value = self.high if self.higher_is_better else self.low
        return value if math.isfinite(value) else None

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """All options, in the order of the function's signature, and their defaults."""
        defaults = list(_defaults(self.function).items())[2:]
        options = {name: default for name, default in defaults if name not in DATA_PARAMETERS}
        return options | ({"beta": 1.0} if self.field == "f_beta" else {})

    @property
    def kinds(self) -> Mapping[str, OptionKind]:
        """What values the options take, as the function declares it; of a user's function any."""
        lengths = {
            name: replace(ANYTHING, counts_steps=True, is_set=isinstance(self.parameters.get(name), tuple))
            for name in (*self.steps, *self.global_options)
        }
        declared = [getattr(function, "option_kinds", {}) for function in (self.computation, self.function)]
        return {**lengths, **declared[0], **declared[1], **({"beta": BETA} if self.field == "f_beta" else {})}

    @property
    def summary(self) -> str:
        """First line of the function's documentation."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]

    @cached_property
    def on_clock(self) -> bool:
        """Whether the function measures on a clock itself, so that it takes durations and ignored steps."""
        return self.on_timeline is not None or {"times", "ignore"} <= _defaults(self.function).keys()

    @cached_property
    def takes_missing(self) -> bool:
        """Whether the function can count steps without a score as never predicted."""
        return "missing" in _defaults(self.function)

    @cached_property
    def in_package(self) -> bool:
        """Whether it is of the catalogue: only what `define_metric` makes has no paper."""
        return self.paper is not None

    @property
    def importable(self) -> bool:
        """Whether another process can find the function by its module and name."""
        module, name = getattr(self.function, "__module__", None), getattr(self.function, "__qualname__", "")
        if module is None or module == "__main__" or module not in sys.modules:
            return False
        found = attribute_of(sys.modules[module], name)
        return found is self.function and getattr(sys.modules[module], "__spec__", None) is not None

    def cache_token(self) -> str | None:
        """Text that changes whenever the metric may give another number; None where that cannot be known.

        A metric of the package is told by its id and definition. A user's own is told by the source of its module, too,
        and of what that imports from outside installed packages; a closure, a lambda or a function of the main program
        has no such source, and its values are not cached.
        """
        if self.in_package:
            return f"{self.id}|definition:{self.definition}"
        if not self.importable:
            return None
        digest = source_digest(self.function.__module__)
        if digest is None:
            return None
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
        known, threshold = self.parameters, self.threshold
        if "threshold" in options:
            threshold = self._own_threshold(options.pop("threshold"))
        for name in options:
            if name not in known:
                names = [*known, *(["threshold"] if self.needs_threshold else [])]
                accepted = f"it takes {', '.join(names)}" if names else "it takes none"
                raise ValueError(f"the metric {self.name} has no option {in_words(name)}; {accepted}")
        values = {name: plain_value(value) for name, value in {**self.options, **options}.items()}
        try:
            bound = {name: self._normal(name, values[name]) for name in known if name in values}
        except (ValueError, TypeError) as error:
            refused = shortened(id_text(self.name, values), 80)
            raise type(error)(f"the metric {refused} is refused: {error}") from None
        return replace(self, options=bound, threshold=threshold).named()

    def _own_threshold(self, threshold: Any) -> float | str:
        """Check a threshold that stands among the options of an id; rules are read where they are applied."""
        if not self.needs_threshold:
            advice = "; thresholds=N takes N of its thresholds" if "thresholds" in self.parameters else ""
            raise ValueError(f"the metric {self.name} is computed from scores and has no threshold{advice}")
        if isinstance(threshold, str):
            return threshold
        return finite_number(threshold, f"the threshold of {self.name}", "a number or a rule")

    def with_field(self, field: str) -> Metric:
        """Ask for one part of the `PRF` that the function returns."""
        field = choice(field, "field", FIELDS)
        base = self.name.removesuffix(f"_{self.field}") if self.field else self.name
        return replace(self, id=f"{base}_{field}", field=field, sweep=None).named()

    def named(self, global_values: Mapping[str, Any] | None = None) -> Metric:
        """Give the metric its canonical id.

        Options at their defaults are left out of it, except where a global option would put another value there.
        """
        if not self.options and self.threshold is None:
            return self if self.id == self.name else replace(self, id=self.name)
        unbound = replace(self, options={}).effective_options(global_values)
        shown: dict[str, Any] = {
            name: value
            for name, value in self.options.items()
            if not (_same(value, self.parameters[name]) and _same(value, unbound[name]))
        }
        if self.threshold is not None and {self.threshold, (global_values or {}).get("threshold", ORACLE)} != {ORACLE}:
            shown["threshold"] = self.threshold
        name = id_text(self.name, shown)
        return self if name == self.id else replace(self, id=name)

    def effective_options(self, global_values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Value of every option: the metric's own, else the global one where it reaches, else the default."""
        values = {**GLOBAL_OPTIONS, **(global_values or {})}
        reaching = {name: self._from_global(name, values[name]) for name in self.global_options}
        return {**self.parameters, **reaching, **self.options}

    @property
    def computation(self) -> Callable[..., Any]:
        """What computes the result that `read` takes the value from."""
        return self.work or self.function

    @property
    def data_taken(self) -> frozenset[str]:
        """Which of `DATA_PARAMETERS` the work takes."""
        taken = DATA_PARAMETERS & _defaults(self.computation).keys()
        return taken if self.pools else taken - {"series"}

    def durations(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that are durations instead of numbers of steps."""
        kinds = self.kinds
        return {name: value for name, value in options.items() if name in kinds and _is_duration_of(value, kinds[name])}

    def in_steps(self, options: Mapping[str, Any], interval: float, clock: Clock) -> dict[str, Any]:
        """Options with durations turned into the nearest number of steps."""
        converted, kinds = dict(options), self.kinds
        for name, value in self.durations(options).items():
            if isinstance(value, tuple):
                converted[name] = tuple(in_steps(length, interval, clock, name) for length in value)
            else:
                converted[name] = kinds[name].check(in_steps(value, interval, clock, name), name)
        return converted

    def compute_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the options that the computation takes; the others say how to read its result."""
        taken = _defaults(self.computation)
        return {name: value for name, value in options.items() if name in taken}

    def flatters(self, options: Mapping[str, Any]) -> bool:
        """Whether it flatters scores with few values."""
        flattering = self.flatters_coarse
        return flattering is not None and all(options[name] in values for name, values in flattering.items())

    def read(self, result: Any, options: Mapping[str, Any]) -> float:
        """Take the metric's value out of what was computed; may raise `UndefinedMetricError`."""
        is_prf = isinstance(result, PRF)
        if self.field is not None and not is_prf:
            raise TypeError(f"the metric {self.id} needs a function that returns a PRF; it returned {in_words(result)}")
        part = self.part or self.field or ("f1" if is_prf else None)
        if part == "f_beta":
            return float(result.f_beta(options["beta"]))
        number = result if part is None else getattr(result, part)
        try:
            if isinstance(number, (str, bytes, bytearray)):
                raise TypeError("text is no number, even where Python could read one in it")
            value = float(number)
        except OverflowError:  # an integer beyond all floats
            value = math.inf if number > 0 else -math.inf
        except (TypeError, ValueError):
            raise TypeError(
                f"the metric {self.id} must return a number or a PRF; it returned {in_words(result)}"
            ) from None
        if math.isinf(value):
            raise UndefinedMetricError(f"the metric {self.id} returned {value}, with which no mean and no rank exists")
        return value

    def _normal(self, name: str, value: Any) -> Any:
        """Check a value, and return one for all spellings that mean the same."""
        kind, default = self.kinds.get(name, ANYTHING), self.parameters[name]
        if _is_duration_of(value, kind):
            lengths = canonical_lengths(value, name)
            if "0s" in lengths and not kind.is_set:
                kind.check(0, name)
            value = lengths if isinstance(value, tuple) else lengths[0]
        else:
            value = kind.check(value, name)
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if kind.is_set and isinstance(value, tuple):
            # The order of buffers does not count, and one buffer is the same with or without brackets.
            return value[0] if len(value) == 1 else _sorted(value)
        return value

    def _from_global(self, name: str, value: Any) -> Any:
        value = plain_value(value)
        if isinstance(value, tuple):
            return _sorted(value) if isinstance(self.parameters[name], tuple) else max(value, key=length_order)
        return value


def attribute_of(item: Any, name: str) -> Any:
    """What a dotted name means in a module; None where there is no such thing."""
    for part in name.split("."):
        item = getattr(item, part, None)
    return item


@lru_cache(maxsize=1000)  # reading a signature takes longer than some metrics
def _defaults(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


def _is_duration_of(value: Any, kind: OptionKind) -> bool:
    """Whether an option that counts steps is given as durations; it may also be a word, such as "auto"."""
    if not kind.counts_steps:
        return False
    values = value if isinstance(value, tuple) else (value,)
    return any(is_duration(length) and (kind.is_set or str(length).strip()[:1].isdigit()) for length in values)


def _sorted(lengths: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(lengths, key=length_order))
    except (ValueError, TypeError):  # neither numbers nor durations, which a user's function may take
        return lengths


def _same(first: Any, second: Any) -> bool:
    try:
        return value_text(first) == value_text(second)
    except TypeError:  # a default that cannot be written, such as a function
        return first is second


def source_digest(name: str) -> str | None:
    """Hash the source of a module and of all that it imports from outside installed packages; None where it has none.

    Imports are read from the text, so that those inside functions count. There is no digest either where one of them
    may import others by a name that is computed.
    """
    files: dict[str, bytes] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        file = _own_file(module)
        if file is not None and module not in files:
            files[module] = file.read_bytes()
            names = _imported(files[module], module, is_package=file.name == "__init__.py")
            if names is None:
                return None
            waiting += names
    if name not in files:
        return None
    digest = hashlib.sha256()
    for module, source in sorted(files.items()):
        digest.update(f"{module} {len(source)} ".encode() + source)
    return digest.hexdigest()


def _own_file(module: str) -> Path | None:
    """The source of a module that belongs to nobody's distribution: not Python's, not installed, not ours."""
    if module.partition(".")[0] in sys.stdlib_module_names | {"pateval"}:
        return None
    try:
        spec = getattr(sys.modules.get(module), "__spec__", None) or importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):  # of a parent that is no package, for example
        return None
    origin = None if spec is None else spec.origin
    if origin is None or not origin.endswith(".py") or not Path(origin).is_file():
        return None
    return None if {"site-packages", "dist-packages"} & set(Path(origin).parts) else Path(origin)


def _imported(source: bytes, module: str, *, is_package: bool) -> list[str] | None:
    """The names that the import statements of a source may mean, packages around them included; None for any names."""
    found = []
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("__import__", "exec", "eval"):
            return None
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # One dot is the package that a module is in, each further one the package around it.
            above = module.split(".")
            above = above[: len(above) - node.level + is_package] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    if any(name.partition(".")[0] in ("importlib", "runpy") for name in found):
        return None
    return [".".join(name.split(".")[:stop]) for name in found for stop in range(1, name.count(".") + 2)]
