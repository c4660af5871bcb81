"""Settings are checked when they are made, before anything is read or trained: one sentence for each mistake."""

from __future__ import annotations

import dataclasses
import math
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

_Schedule = TypeVar("_Schedule", bound=NamedTuple)

_FROM_ZERO = ("seed", "order_seed")
# Adam divides by the size of the gradient, so that a rate is about the length of a step: above 1 nothing can converge.
_RANGES: dict[str, tuple[str, float, float]] = {
    "learning_rate": ("above 0 and at most 1", 0.0, 1.0),
    "validation_share": ("above 0 and below 1", 0.0, math.nextafter(1.0, 0.0)),
    "clip": ("positive", 0.0, math.inf),
    "temperature": ("positive", 0.0, math.inf),
    "weight_decay": ("zero or positive", -math.ulp(0.0), math.inf),
}


def check_settings(settings: Any) -> None:
    """Check every field of a settings dataclass by its annotation and, where it has a usual name, by its range.

    Whole numbers must be positive, seeds may be zero, flags must be True or False. Other annotations are passed over.

    Parameters
    ----------
    settings : dataclass instance
        With annotations such as ``int``, ``float | None``, ``bool`` or ``str | None``.

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


def with_given(schedule: _Schedule, settings: Any) -> _Schedule:
    """Return a schedule with the values of the settings of the same names, where these are not None.

    Examples
    --------
    >>> class Schedule(NamedTuple):
    ...     epochs: int
    ...     patience: int
    >>> @dataclasses.dataclass
    ... class Wish:
    ...     epochs: int | None = None
    ...     patience: int | None = None
    >>> with_given(Schedule(10, 3), Wish(epochs=20))
    Schedule(epochs=20, patience=3)
    """
    values = {name: getattr(settings, name) for name in schedule._fields}
    return schedule._replace(**{name: value for name, value in values.items() if value is not None})


def check_heads(width: int, heads: int) -> None:
    """Raise ValueError where attention heads do not divide the width of a token."""
    if width % heads:
        raise ValueError(f"width must be a multiple of heads; got width={width} and heads={heads}")


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
    return ""
