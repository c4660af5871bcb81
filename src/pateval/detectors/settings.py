"""Settings are checked when they are made, before anything is read or trained: one sentence for each mistake."""

from __future__ import annotations

import ast
import dataclasses
import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, TypeVar

_AnySettings = TypeVar("_AnySettings")

_FROM_ZERO = ("seed", "order_seed")
# Adam divides by the size of the gradient, so that a rate is about the length of a step: above 1 nothing can converge.
_RANGES: dict[str, tuple[str, float, float]] = {
    "learning_rate": ("above 0 and at most 1", 0.0, 1.0),
    "validation_share": ("above 0 and below 1", 0.0, math.nextafter(1.0, 0.0)),
    "share": ("above 0 and below 1", 0.0, math.nextafter(1.0, 0.0)),
    "floor": ("positive", 0.0, math.inf),
    "clip": ("positive", 0.0, math.inf),
    "temperature": ("positive", 0.0, math.inf),
    "weight_decay": ("zero or positive", -math.ulp(0.0), math.inf),
}


def check_settings(settings: Any) -> None:
    """Check every field of a settings dataclass by its annotation and, where it has a usual name, by its range.

    Whole numbers must be positive, seeds may be zero, flags must be True or False, words must be among those listed.
    Other annotations are passed over.

    Parameters
    ----------
    settings : dataclass instance
        With annotations such as ``int``, ``float | None``, ``bool``, ``str | None`` or ``Literal["max", "mean"]``.

    Raises
    ------
    ValueError
        For the first field that does not fit; the message names it, what is accepted, and what was given.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Wish:
    ...     epochs: int | None = None
    >>> check_settings(Wish(epochs=0))
    Traceback (most recent call last):
        ...
    ValueError: epochs must be a whole number of at least 1; got 0
    """
    for field in dataclasses.fields(settings):
        kinds = str(field.type).split(" | ")
        value = getattr(settings, field.name)
        if value is None and "None" in kinds:
            continue
        wanted = _wanted(field.name, kinds[0], value)
        if wanted:
            raise ValueError(f"{field.name} must be {wanted}; got {value!r}")


def _wanted(name: str, kind: str, value: Any) -> str:
    """Say what a value should have been; nothing where it is right."""
    if kind == "bool":
        return "" if isinstance(value, bool) else "True or False"
    if kind == "int":
        least = 0 if name in _FROM_ZERO else 1
        right = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
        return "" if right else f"a whole number of at least {least}"
    if kind == "float":
        words, low, high = _RANGES.get(name, ("a finite number", -math.inf, math.inf))
        number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        return "" if number and low < float(value) <= high else words
    if kind == "str":
        return "" if isinstance(value, str) else "text"
    if kind.startswith("Literal["):
        known = ast.literal_eval(f"({kind.removeprefix('Literal[').removesuffix(']')},)")
        return "" if value in known else f"one of {', '.join(map(repr, known))}"
    return ""


@dataclass(frozen=True, kw_only=True)
class CheckedSettings:
    """Settings that are checked when they are made."""

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(CheckedSettings):
    """What every network of the paper's table can be told.

    Attributes
    ----------
    seed, order_seed : int
        Of the weights; of the order of the windows.
    order : {"generator", "legacy"}
        How windows are shuffled: by NumPy's generator of today, or by its legacy one, as in the authors' program.
    float32_input : bool
        Round series to float32 before and after they are scaled, as the authors' files of telemetry are.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ...; a GPU if there is one by default.
    cuda_graph : bool
        Replay the optimiser step as a CUDA graph; no effect on a CPU.
    """

    # What a field that is None stands for, by variant; other fields are their own defaults.
    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {}

    seed: int = 0
    order_seed: int = 42
    order: Literal["generator", "legacy"] = "generator"
    float32_input: bool = False
    device: str | None = None
    cuda_graph: bool = False


@dataclass(frozen=True, kw_only=True)
class SelectingSettings(NetworkSettings):
    """What a network whose weights are chosen among those of its epochs can be told, too.

    Attributes
    ----------
    validation_share : float
        Share of the training windows, the last ones of each series, held out to choose the weights.
    validation_mean : {"windows", "batches"}
        What the validation loss is a mean of: all windows alike, or batches alike, as in the authors' program, where
        the windows of a short last batch count more.
    select_on_test : bool
        Let the test series choose instead, as the authors did: the scores have then seen the test data.
    """

    validation_share: float = 0.1
    validation_mean: Literal["windows", "batches"] = "windows"
    select_on_test: bool = False


def with_variant(settings: _AnySettings) -> _AnySettings:
    """Return settings with the values of their variant in place of None.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Wish:
    ...     VARIANTS: ClassVar = {"paper": {"epochs": 10}}
    ...     variant: str = "paper"
    ...     epochs: int | None = None
    >>> with_variant(Wish()).epochs, with_variant(Wish(epochs=3)).epochs
    (10, 3)
    """
    variants: dict[str, dict[str, Any]] = getattr(settings, "VARIANTS", {})
    if not variants:
        return settings
    values: dict[str, Any] = variants[settings.variant]  # type: ignore[attr-defined]  # those with variants name one
    return dataclasses.replace(
        settings,  # type: ignore[type-var]  # a dataclass, as all settings are
        **{name: value for name, value in values.items() if getattr(settings, name) is None},
    )


def check_heads(width: int, heads: int) -> None:
    """Raise ValueError where attention heads do not divide the width of a token."""
    if width % heads:
        raise ValueError(f"width must be a multiple of heads; got width={width} and heads={heads}")
