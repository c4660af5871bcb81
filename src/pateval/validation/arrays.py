"""The one door: every public function checks its input here, once, and works on what comes back.

Nothing below this file checks again. Arrays are returned as plain NumPy arrays (``bool`` for labels and predictions,
``float32`` or ``float64`` for scores) that are never written to: one-dimensional, or steps by channels where asked for.
"""

from __future__ import annotations

import datetime
import math
import operator
import sys
from collections.abc import Iterable, Sized
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from pateval.validation.containers import (
    MISSING_LABELS,
    MISSING_SCORES,
    first_of,
    is_lost,
    missing_mask,
    numbers_from_objects,
    refuse_lost_integers,
    require_same_index,
    to_numpy,
)
from pateval.validation.wording import InputError, InputTypeError, in_words

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.intp]
Buffers = int | str | datetime.timedelta | np.timedelta64 | Iterable[Any]
"""Numbers of steps, or durations, and collections of them."""

LONGEST_WINDOW = 1_000_000
"""Longest window in steps; every width up to it costs time."""

MISSING = ("error", "ignore", "normal")
"""What may become of scores that are NaN or null: refused, left out with their steps, or never predicted."""

MOST_BUFFERS = 1_000_000
_SWAPPED = ": the arguments look swapped; labels come first"
_SCORES = ": scores become predictions at a threshold, as in scores >= 0.5; where there is scores=, pass them as that"
_INFINITE_REMEDY = ": put a finite number above or below all others in its place, or NaN where the score is not known"
_SIGNED_LABELS = ": pass labels == -1 if -1 marks the anomalies, as in scikit-learn, and labels == 1 if 1 does"
_TEXT_LABELS = "; pass labels == 'anomaly', or name the labels that mean an anomaly with positive= where there is one"


class UndefinedMetricError(ValueError):
    """The metric has no value for this input, for example because the labels hold no anomaly."""


def number_array(values: object, name: str, *, allow_missing: bool = False, channels: bool = False) -> npt.NDArray[Any]:
    """Return ``values`` as a non-empty NumPy array of numbers.

    It has one dimension, or with ``channels`` two: steps, then channels. Missing entries raise, or become NaN with
    ``allow_missing``.
    """
    array = to_numpy(values, name, allow_missing=allow_missing)
    if array.ndim != (2 if channels else 1):
        shape = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        wanted = "two-dimensional, time steps by channels" if channels else "one-dimensional, one value per time step"
        raise InputError(name, f"must be {wanted}; got {shape}")
    if array.size == 0:
        raise InputError(name, f"must hold at least one time step{' and channel' * channels}; got an empty array")
    if array.dtype.kind == "O":
        return numbers_from_objects(array, name, allow_missing=allow_missing)
    if array.dtype.kind not in "biuf":
        kind = {"c": "complex", "U": "text", "S": "text", "T": "text", "M": "date", "m": "time-difference"}
        kind_given = kind.get(array.dtype.kind, str(array.dtype))
        hint = _TEXT_LABELS if name == "labels" and kind_given == "text" else ""
        raise InputTypeError(name, f"must be numbers (bool, integer or float); got {kind_given} values{hint}")
    return array


def binary_array(values: object, name: str, *, other: object = None, channels: bool = False) -> BoolArray:
    """Return 0/1 ``values`` as booleans; ``other`` is the argument it may have been swapped with."""
    array = number_array(values, name, channels=channels)
    if array.dtype == np.bool_:
        return array
    result = array != 0
    if array.dtype.kind in "iu" and np.bitwise_or.reduce(array, axis=None) in (0, 1):  # no value has another bit
        return result
    wrong = array != result
    if wrong.any():
        value = array[wrong][0]
        what = (
            "NaN" if array.dtype.kind == "f" and np.isnan(value) else in_words(getattr(value, "item", lambda: value)())
        )
        remedy, kind = "", ""
        if other is not None and _looks_like_scores(array) and _is_binary(other, channels):
            remedy, kind = _SWAPPED, "swapped"
        if name == "labels" and set(np.unique(array).tolist()) == {-1, 1}:
            remedy, kind = _SIGNED_LABELS, "signs"
        elif name == "labels" and what == "NaN" and not remedy:
            remedy, kind = MISSING_LABELS, "missing"
        elif name == "predictions" and _looks_like_scores(array):
            remedy = remedy or _SCORES
        raise InputError(
            name,
            f"must be 0 or 1 at every step; found {what}",
            **first_of(wrong, such=True),
            remedy=remedy,
            kind=kind,
        )
    return result


def finite_array(values: object, name: str = "scores", *, channels: bool = False) -> FloatArray:
    """Return finite ``values`` as float64 (float32 stays float32: its order is the same and it is half the size).

    Integers that floats cannot tell apart are refused.
    """
    array = number_array(values, name, channels=channels)
    refuse_lost_integers(array, name)
    if array.dtype != np.float32:
        with np.errstate(over="ignore"):  # what long double holds and float64 does not is refused as infinite
            array = array.astype(np.float32 if array.dtype == np.float16 else np.float64, copy=False)
    # One sum sees any NaN or infinity; it may also overflow on huge finite values, so it only raises suspicion.
    with np.errstate(over="ignore", invalid="ignore"):
        is_suspicious = not np.isfinite(array.sum())
    if is_suspicious and not np.isfinite(array).all():
        wrong = ~np.isfinite(array)
        what, remedy, kind = "NaN", MISSING_SCORES, "missing"
        if not np.isnan(array[wrong][0]):
            what, remedy, kind = "an infinite value", _INFINITE_REMEDY, ""
        problem, remedy = f"must be finite at every step; found {what}", remedy if name == "scores" else ""
        raise InputError(name, problem, **first_of(wrong, such=True), remedy=remedy, kind=kind)
    return array


def binary_pair(labels: object, predictions: object, *, channels: bool = False) -> tuple[BoolArray, BoolArray]:
    """Check truth and 0/1 predictions together: one value per step, or with ``channels`` steps by channels."""
    require_same_index(labels=labels, predictions=predictions)
    truth = binary_array(labels, "labels", other=predictions, channels=channels)
    predicted = binary_array(predictions, "predictions", channels=channels)
    require_same_shape(truth, predicted, "predictions")
    return truth, predicted


def scored_pair(
    labels: object, scores: object, missing: str = "error", *, channels: bool = False
) -> tuple[BoolArray, FloatArray]:
    """Check truth and scores together: one value per step, or with ``channels`` steps by channels.

    Steps without a score, or without that of a channel, are left out with ``missing="ignore"``; with ``"normal"`` such
    a score is negative infinity, which no threshold reaches.
    """
    require_same_index(labels=labels, scores=scores)
    is_strict = choice(missing, "missing", MISSING) == "error"
    truth = binary_array(labels, "labels", other=scores, channels=channels)
    values = (finite_array if is_strict else scores_with_gaps)(scores, channels=channels)
    require_same_shape(truth, values, "scores")
    if is_strict:
        return truth, values
    absent = np.isnan(values).any(axis=1) if channels else np.isnan(values)
    if absent.all() and (missing == "ignore" or not channels):
        what = "step lacks the score of a channel" if channels else "score is missing"
        raise UndefinedMetricError(f"the metric is undefined: every {what}")
    return (truth[~absent], values[~absent]) if missing == "ignore" else (truth, without_gaps(values))


def without_gaps(scores: FloatArray) -> FloatArray:
    """Put negative infinity, which no threshold reaches, where a score is missing."""
    return np.where(np.isnan(scores), scores.dtype.type(-np.inf), scores)


def scores_with_gaps(values: object, ignored: BoolArray | None = None, *, channels: bool = False) -> FloatArray:
    """Return scores as floats, NaN where one is missing; infinite ones are refused, unless their step is ignored."""
    array = number_array(values, "scores", allow_missing=True, channels=channels)
    is_left_out = missing_mask(array)
    absent = is_left_out
    if ignored is not None and len(ignored) == len(array):
        is_left_out = is_left_out | (ignored[:, None] if channels else ignored)
    # The lowest score that counts holds the place of the others, so that no order changes and indices stay.
    counted = array[~is_left_out]
    lowest = counted.min() if counted.size else 0
    filled = finite_array(np.where(is_left_out, lowest, array), "scores", channels=channels)
    return np.where(absent, filled.dtype.type(np.nan), filled)


def has_channels(labels: object) -> bool:
    """Whether labels have two dimensions, time steps by channels."""
    return np.ndim(to_numpy(labels, "labels", allow_missing=True)) == 2


def series_starts(series: object, length: int) -> IntArray:
    """Return where each series begins; equal values belong together and must be contiguous."""
    if series is None:
        return np.zeros(1, dtype=np.intp)
    array = to_numpy(series, "series")
    if array.ndim != 1:
        raise ValueError(
            f"series must be one-dimensional, one value per time step; got an array of shape {array.shape}"
        )
    if array.size != length:
        raise ValueError(f"series and labels must have the same length; got {array.size} and {length}")
    missing = missing_mask(array)
    if missing.any():
        raise ValueError(
            f"series must name a series at every step; found a missing value at index {int(np.argmax(missing))} "
            f"({int(np.count_nonzero(missing))} in {length})"
        )
    starts = np.concatenate([[0], np.flatnonzero(array[1:] != array[:-1]) + 1]).astype(np.intp)
    names = array[starts].tolist()
    if len(set(names)) != len(names):
        last = {name: place for place, name in enumerate(reversed(names), start=1)}
        again = next(place for place, name in enumerate(names) if last[name] != len(names) - place)
        raise ValueError(
            f"the steps of one series must be contiguous; {in_words(names[again])} begins again at index "
            f"{int(starts[again])}: sort the steps by series"
        )
    return starts


def require_anomaly(labels: BoolArray) -> None:
    """Raise UndefinedMetricError where no step is anomalous."""
    if not labels.any():
        raise UndefinedMetricError("the metric is undefined: the labels hold no anomaly")


def require_normal(labels: BoolArray) -> None:
    """Raise UndefinedMetricError where every step is anomalous."""
    if labels.all():
        raise UndefinedMetricError("the metric is undefined: every step is anomalous, so no alarm can be false")


def require_detected(detected: BoolArray) -> BoolArray:
    """Raise UndefinedMetricError where no event is detected."""
    if not detected.any():
        raise UndefinedMetricError("the metric is undefined: no event is detected, so there is no delay to measure")
    return detected


def positive_integer(value: object, name: str) -> int:
    """Check a positive whole number."""
    return non_negative_integer(value, name, 1, "positive")


def non_negative_integer(value: Any, name: str, lowest: int = 0, kind: str = "non-negative") -> int:
    """Check a whole number that is not below the lowest."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or not _is_single(value):
        raise TypeError(f"{name} must be a {kind} integer; got {in_words(value)}")
    number = operator.index(value)
    if number < lowest:
        raise ValueError(f"{name} must be a {kind} integer; got {in_words(number)}")
    return number


def buffer_lengths(value: Any, name: str, *, longest: int | None = None) -> tuple[int, ...]:
    """Check one buffer length or a collection of them; a length given twice counts twice.

    Longer ones than ``longest`` are cut: a buffer reaches no further than its series.
    """
    if hasattr(value, "__index__") and _is_single(value):
        lengths: tuple[int, ...] = (non_negative_integer(value, name),)
    elif isinstance(value, (str, bytes, float)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a non-negative integer or a collection of them; got {in_words(value)}")
    else:
        require_few(value, name)
        lengths = tuple(non_negative_integer(item, f"each value of {name}") for item in value)
    if not lengths:
        raise ValueError(f"{name} must hold at least one buffer length; got an empty collection")
    return lengths if longest is None else tuple(min(length, longest) for length in lengths)


def count(value: object, name: str, *, most: int = 1_000_000) -> int:
    """Check a number of times to do something, which must come to an end."""
    number = non_negative_integer(value, name)
    if number > most:
        raise ValueError(f"{name} must be at most {most:,}; got {in_words(number)}")
    return number


def require_few(values: Iterable[Any], name: str) -> None:
    """Refuse a collection of buffer lengths that would fill the memory: a slip of the pen."""
    if isinstance(values, Sized) and len(values) > MOST_BUFFERS:
        raise ValueError(f"{name} must hold at most {MOST_BUFFERS:,} buffer lengths; got {in_words(values)}")


def flag(value: object, name: str) -> bool:
    """Check a truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {in_words(value)}")
    return bool(value)


def window_length(value: object, name: str) -> int:
    """Check a window in steps."""
    length = non_negative_integer(value, name)
    if length > LONGEST_WINDOW:
        raise ValueError(f"{name} must be at most {LONGEST_WINDOW:,} steps; got {in_words(length)}")
    return length


def is_real(value: object) -> TypeGuard[Any]:
    """Whether a value is a number, and no truth value; it may be too large for a float, but compares with one."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def fraction(value: object, name: str) -> float:
    """Check a number in [0, 1]."""
    if is_real(value) and 0 <= value <= 1:
        return float(value)
    raise (ValueError if is_real(value) else TypeError)(f"{name} must be a number in [0, 1]; got {in_words(value)}")


def finite_number(value: object, name: str, accepted: str = "a finite number") -> float:
    """Check a finite number; an integer that is no float is refused, since scores could not be told from it."""
    if is_real(value):
        if isinstance(value, Integral) and is_lost(value):
            raise ValueError(
                f"{name} must be a number that floats can tell apart; got the integer {in_words(int(value))}: subtract "
                f"a constant from it and from all scores"
            )
        if abs(value) <= sys.float_info.max:
            return float(value)
    raise ValueError(f"{name} must be {accepted}; got {in_words(value)}")


def positive_number(value: object, name: str, *, least: float = 0.0) -> float:
    """Check a finite number above 0, and not below ``least``."""
    accepted = f"a finite number, {least:g} or more" if least else "a finite number above 0"
    if is_real(value) and least <= value <= sys.float_info.max and value > 0:
        return float(value)
    raise (ValueError if is_real(value) else TypeError)(f"{name} must be {accepted}; got {in_words(value)}")


def choice(value: object, name: str, allowed: Iterable[str]) -> str:
    """Check that ``value`` is one of the ``allowed`` words."""
    options = tuple(allowed)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {in_words(value)}")
    return value


def _is_single(value: object) -> bool:
    return not getattr(value, "ndim", 0) and not isinstance(value, (list, tuple))


def require_same_shape(labels: npt.NDArray[Any], values: npt.NDArray[Any], name: str) -> None:
    """Refuse scores or predictions of other steps, or other channels, than the labels."""
    if labels.shape == values.shape:
        return
    if labels.ndim == 1:
        windows = _laid_one_after_another(values.size, labels.size, name)
        raise InputError(
            f"labels and {name}", f"must have the same length; got {labels.size} and {values.size}", remedy=windows
        )
    shapes = " and ".join(f"{steps} x {channels}" for steps, channels in (labels.shape, values.shape))
    raise InputError(f"labels and {name}", f"must have the same steps and channels; got {shapes}")


def _laid_one_after_another(length: int, size: int, name: str) -> str:
    """Say so where a length is that of all windows of a series, which overlap; nothing where it is not.

    Windows of w steps at stride 1 have w * (size - w + 1) steps in all, which hardly any other length is.
    """
    square = (size + 1) ** 2 - 4 * length
    root = math.isqrt(max(square, 0))
    window = (size + 1 - root) // 2
    if length <= size or window < 2 or window * (size - window + 1) != length:
        return ""
    back = f"pv.scores_from_windows({name}.reshape(-1, {window}), size={size}, window={window})"
    return f": those are {size - window + 1} windows of {window} steps, one after another; {back} gives each step one"


def _looks_like_scores(array: npt.NDArray[Any]) -> bool:
    """More than a few classes, or values between whole numbers."""
    if array.dtype.kind == "O":  # integers that no label has
        return True
    values = np.unique(array[~np.isnan(array)] if array.dtype.kind == "f" else array)
    return values.size > 5 or bool(np.any(values != np.round(values)))


def _is_binary(values: object, channels: bool) -> bool:
    try:
        binary_array(values, "values", channels=channels)
    except (TypeError, ValueError):
        return False
    return True
