"""Values and texts of the caller's as they stand in a message: bounded, whatever was passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np


def in_words(value: object) -> str:
    """Show a value in a message: its representation, cut where it is long; arrays and tables by type and shape.

    NumPy's numbers are shown as such: their representation depends on NumPy's version.

    >>> in_words(np.zeros(1000)), in_words(0.5), in_words(np.float64(0.5))
    ('ndarray of shape (1000,)', '0.5', '0.5')
    """
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    try:
        shown = str if isinstance(value, (np.number, np.bool_)) else repr
        text = " ".join(shown(value).split())
    except Exception:  # an integer of many thousand digits, or an object whose representation fails
        return f"a value of type {type(value).__name__}"
    return shortened(text)


@dataclass(eq=False, repr=False)
class _WordedError(Exception):
    """What is wrong with an argument, in parts, so that whoever knows more can say it in other words."""

    argument: str  # the subject of the sentence: "scores"
    problem: str  # the rest of it: "must be finite at every step; found NaN"
    step: int | None = None  # the first place that is wrong
    channel: int | None = None
    place: str = ""  # what messages call that
    extent: str = ""  # with brackets around it
    remedy: str = ""  # with the colon before it
    kind: str = ""  # "missing", "swapped" or "signs" where that is what is wrong

    def __post_init__(self) -> None:
        super().__init__(self.sentence())

    def sentence(self, argument: str | None = None, place: str | None = None, remedy: str | None = None) -> str:
        """The whole sentence, with other words for some of its parts."""
        at = self.place if place is None else place
        return (
            f"{self.argument if argument is None else argument} {self.problem}{f' {at}' if at else ''}"
            f"{f' {self.extent}' if self.extent else ''}{self.remedy if remedy is None else remedy}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, part.name) for part in fields(self))


class InputError(_WordedError, ValueError):
    """An argument that holds what it must not."""


class InputTypeError(_WordedError, TypeError):
    """An argument of a kind that it must not be."""


def shortened(text: str, most: int = 60) -> str:
    """Cut a text that is too long for a message.

    >>> shortened("a" * 100, 10)
    'aaaaaaa...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(values: Sequence[object], most: int = 3) -> str:
    """Name the first few values and count the rest."""
    shown = ", ".join(map(in_words, values[:most]))
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def counted(number: int, word: str) -> str:
    """A number of things in words."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def one_line(error: BaseException, most: int = 200) -> str:
    """What an error says, on one line, cut where it is long."""
    try:
        text = str(error)
    except Exception:  # an error of a user's function may have no text
        text = "it cannot be shown"
    return shortened(" ".join(text.split()), most)


def named_error(error: BaseException) -> str:
    """The type of an error and what it says."""
    return f"{type(error).__name__}: {one_line(error)}"
