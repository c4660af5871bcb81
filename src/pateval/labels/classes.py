"""Labels as people have them: 0 and 1, words, or classes of which some mean an anomaly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.arrays import BoolArray
from pateval.validation.containers import missing_mask, to_numpy
from pateval.validation.wording import in_words, listed, shortened

Column = npt.NDArray[Any]

YES = ("yes", "true")
NO = ("no", "false")
_LISTED_CLASSES = 6


def positive_values(positive: object, *, of_booleans: bool = False) -> tuple[str, ...]:
    """Return the labels that mean an anomaly as texts, from one or several of them; booleans may be called by name."""
    if positive is None:
        return ()
    if isinstance(positive, str) or not hasattr(positive, "__iter__"):
        positive = [positive]
    try:
        names = [as_text(value) for value in positive]
    except Exception:  # an object without a text, or a number of many thousand digits
        raise ValueError(f"positive must name labels; got {in_words(positive)}") from None
    called = {"true": "1", "false": "0"} if of_booleans else {}
    return tuple(called.get(name.lower(), name) for name in names)


def mark_positive(values: Column, positive: Sequence[str]) -> BoolArray:
    """Mark the labels that are one of those that mean an anomaly."""
    if values.dtype.kind in "biuf":
        classes, inverse = np.unique(values, return_inverse=True)
        return mark_positive(classes.astype(object), positive)[inverse]
    return np.array([as_text(value) in positive for value in values.tolist()], dtype=np.bool_)


def labels_of_classes(labels: object, positive: object) -> Column:
    """Turn labels of any kind into 0 and 1, NaN where one is missing.

    Raises
    ------
    ValueError
        If a label that is said to mean an anomaly does not occur.

    Examples
    --------
    >>> labels_of_classes(["normal", "dos", None, "probe"], ["dos", "probe"])
    array([ 0.,  1., nan,  1.])
    """
    array = to_numpy(labels, "labels", allow_missing=True)
    if array.ndim != 1:
        raise ValueError(
            f"labels must be one-dimensional, one value per time step; got an array of shape {array.shape}"
        )
    chosen, values = positive_values(positive, of_booleans=array.dtype == np.bool_), array.astype(object)
    known = classes(values)
    for name in chosen:
        if name not in known:
            shown = ", ".join(in_words(label) for label in known[:_LISTED_CLASSES])
            raise ValueError(f"positive names {in_words(name)}, which is none of the labels ({shortened(shown, 150)})")
    marked = mark_positive(values, chosen).astype(np.float64)
    marked[without_label(values)] = np.nan
    return marked


def from_words(values: Column) -> BoolArray | None:
    """Read yes and no, true and false, in upper or lower case; None where another word is among them."""
    words = [str(value).strip().lower() for value in values.tolist()]
    if not set(words) <= {*YES, *NO}:
        return None
    return np.array([word in YES for word in words], dtype=np.bool_)


def classes(values: Column) -> list[str]:
    """Return the distinct labels as texts, in order of appearance, without missing ones."""
    return list(dict.fromkeys(as_text(value) for value in values[~without_label(values)].tolist()))


def without_label(values: Column) -> BoolArray:
    """Mark labels that are missing, or blank text."""
    blank = [isinstance(value, str) and not value.strip() for value in values.tolist()]
    return missing_mask(values) | np.array(blank, dtype=np.bool_)


def remedy(labels: Sequence[str]) -> str:
    """Say how to read labels of these classes."""
    if set(labels) == {"1", "-1"}:
        return "if -1 marks the anomalies, as in scikit-learn, say --positive -1, and if 1 does, --positive 1"
    return f"say which of {listed(labels, _LISTED_CLASSES)} mean an anomaly with --positive (positive=...)"


def as_text(value: object) -> str:
    """Return a label as text; whole numbers without a point, so that 1 and 1.0 are the same label."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
