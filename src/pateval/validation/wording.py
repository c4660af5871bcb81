"""Values and texts of the caller's as they stand in a message: bounded, whatever was passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def in_words(value: object) -> str:
    """Show a value in a message: its representation, cut where it is long; arrays and tables by type and shape.

    Examples
    --------
    >>> import numpy as np
    >>> in_words("a" * 100), in_words(np.zeros(1000)), in_words(0.5)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...", 'ndarray of shape (1000,)', '0.5')
    """
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of many thousand digits, or an object whose representation fails
        return f"a value of type {type(value).__name__}"
    return shortened(text)


def shortened(text: str, most: int = 60) -> str:
    """Cut a text that is too long for a message.

    Examples
    --------
    >>> shortened("a" * 100, 10)
    'aaaaaaa...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(values: Sequence[object], most: int = 3) -> str:
    """Name the first few values and count the rest.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"], most=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(map(in_words, values[:most]))
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def one_line(error: BaseException, most: int = 200) -> str:
    """What an error says, on one line, cut where it is long.

    Examples
    --------
    >>> one_line(ValueError("a long  story"), most=8)
    'a lon...'
    """
    return shortened(" ".join(str(error).split()), most)


def named_error(error: BaseException) -> str:
    """The type of an error and what it says.

    Examples
    --------
    >>> named_error(ValueError("a long story"))
    'ValueError: a long story'
    """
    return f"{type(error).__name__}: {one_line(error)}"
