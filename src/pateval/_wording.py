"""Values and texts of the caller's as they stand in a message: bounded, whatever was passed."""

from __future__ import annotations


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
