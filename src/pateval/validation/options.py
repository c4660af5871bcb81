"""Kinds of options, which a metric declares beside its function; its door and ids of metrics check values by them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from pateval.validation.arrays import (
    choice,
    count,
    flag,
    fraction,
    is_real,
    non_negative_integer,
    positive_integer,
    positive_number,
    window_length,
)
from pateval.validation.wording import in_words

Duration = str | datetime.timedelta | np.timedelta64


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


def integer_from(lowest: int, highest: int | None = None, *, counts_steps: bool = False) -> OptionKind:
    """A whole number, not below one and not above another."""

    def check(value: Any, name: str) -> int:
        checked = positive_integer(value, name)
        if checked < lowest:
            raise ValueError(f"{name} must be an integer of {lowest} or more; got {in_words(checked)}")
        return checked if highest is None else count(checked, name, most=highest)

    return OptionKind(check, counts_steps)


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
