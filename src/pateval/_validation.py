"""The one door: every public function checks its input here, once, and works on what comes back.

Nothing below this file checks again. Arrays are returned as plain one-dimensional NumPy arrays
(``bool`` for labels and predictions, ``float32`` or ``float64`` for scores) that are never written to.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.intp]
Buffers = int | str | datetime.timedelta | np.timedelta64 | Iterable[Any]
"""Numbers of steps, or durations, and collections of them."""

_SWAPPED = " (the arguments look swapped: the order is labels, then scores or predictions)"


class UndefinedMetricError(ValueError):
    """The metric has no value for this input, for example because the labels hold no anomaly."""


def number_array(values: object, name: str, *, allow_missing: bool = False) -> npt.NDArray[Any]:
    """Return ``values`` as a one-dimensional, non-empty NumPy array of numbers.

    Missing entries raise, or become NaN with ``allow_missing``.
    """
    array = to_numpy(values, name, allow_missing=allow_missing)
    if array.ndim != 1:
        shape = "a single value" if array.ndim == 0 else f"an array of shape {array.shape}"
        raise ValueError(f"{name} must be one-dimensional, one value per time step; got {shape}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one time step; got an empty array")
    if array.dtype.kind == "O":
        array = _numbers_from_objects(array, name, allow_missing=allow_missing)
    if array.dtype.kind not in "biuf":
        kind = {"c": "complex", "U": "text", "S": "text", "T": "text", "M": "date", "m": "time-difference"}
        found = kind.get(array.dtype.kind, str(array.dtype))
        raise TypeError(f"{name} must be numbers (bool, integer or float); got {found} values")
    return array


def binary_array(values: object, name: str, *, other: object = None) -> BoolArray:
    """Return 0/1 ``values`` as booleans; ``other`` is the argument it may have been swapped with."""
    array = number_array(values, name)
    if array.dtype == np.bool_:
        return array
    result = array != 0
    if array.dtype.kind in "iu" and np.bitwise_or.reduce(array) in (0, 1):  # no value has another bit
        return result
    wrong = array != result
    if wrong.any():
        first, count = int(np.argmax(wrong)), int(np.count_nonzero(wrong))
        what = "NaN" if array.dtype.kind == "f" and np.isnan(array[first]) else repr(array[first].item())
        hint = _SWAPPED if other is not None and _looks_like_scores(array) and _is_binary(other) else ""
        raise ValueError(
            f"{name} must be 0 or 1 at every step; found {what} at index {first} "
            f"({count} such {'value' if count == 1 else 'values'} in {array.size}){hint}"
        )
    return result


def finite_array(values: object, name: str) -> FloatArray:
    """Return finite ``values`` as float64 (float32 stays float32: its order is the same and it is half the size)."""
    array = number_array(values, name)
    if array.dtype != np.float32:
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64, copy=False)
    # One sum sees any NaN or infinity; it may also overflow on huge finite values, so it only raises suspicion.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum())
    if suspicious:
        wrong = ~np.isfinite(array)
        if wrong.any():
            first, count = int(np.argmax(wrong)), int(np.count_nonzero(wrong))
            what = "NaN" if np.isnan(array[first]) else "an infinite value"
            raise ValueError(
                f"{name} must be finite at every step; found {what} at index {first} "
                f"({count} such {'value' if count == 1 else 'values'} in {array.size})"
            )
    return array


def binary_pair(labels: object, predictions: object) -> tuple[BoolArray, BoolArray]:
    """Check truth and 0/1 predictions together."""
    checked = binary_array(labels, "labels", other=predictions), binary_array(predictions, "predictions")
    _same_length(*checked, "predictions")
    return checked


def scored_pair(labels: object, scores: object) -> tuple[BoolArray, FloatArray]:
    """Check truth and scores together."""
    checked = binary_array(labels, "labels", other=scores), finite_array(scores, "scores")
    _same_length(*checked, "scores")
    return checked


def scores_with_gaps(values: object) -> FloatArray:
    """Return scores as floats, NaN where one is missing; infinite ones are refused."""
    array = number_array(values, "scores", allow_missing=True)
    array = array.astype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64, copy=False)
    finite_array(np.where(np.isnan(array), 0, array), "scores")
    return array


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
    missing = is_missing(array)
    if missing.any():
        raise ValueError(
            f"series must name a series at every step; found a missing value at index {int(np.argmax(missing))} "
            f"({int(np.count_nonzero(missing))} in {length})"
        )
    starts = np.concatenate([[0], np.flatnonzero(array[1:] != array[:-1]) + 1]).astype(np.intp)
    names = array[starts].tolist()
    if len(set(names)) != len(names):
        seen: set[object] = set()
        for name, start in zip(names, starts, strict=True):
            if name in seen:
                raise ValueError(
                    f"the steps of one series must be contiguous; {name!r} begins again at index {int(start)}"
                )
            seen.add(name)
    return starts


def require_anomaly(labels: BoolArray) -> None:
    """Raise UndefinedMetricError where no step is anomalous."""
    if not labels.any():
        raise UndefinedMetricError("the metric is undefined: the labels hold no anomaly")


def non_negative_integer(value: Any, name: str) -> int:
    """Check one buffer length: a non-negative whole number."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__") or np.ndim(value) != 0:
        raise TypeError(f"{name} must be a non-negative integer; got {in_words(value)}")
    length = operator.index(value)
    if length < 0:
        raise ValueError(f"{name} must be a non-negative integer; got {length}")
    return length


def buffer_lengths(value: Any, name: str, *, longest: int | None = None) -> tuple[int, ...]:
    """Check one buffer length or a collection of them; a length given twice counts twice.

    Longer ones than ``longest`` are cut: a buffer reaches no further than its series.
    """
    if np.ndim(value) == 0 and hasattr(value, "__index__"):
        lengths: tuple[int, ...] = (non_negative_integer(value, name),)
    elif isinstance(value, (str, bytes, float)) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a non-negative integer or a collection of them; got {in_words(value)}")
    else:
        lengths = tuple(non_negative_integer(item, f"each value of {name}") for item in value)
    if not lengths:
        raise ValueError(f"{name} must hold at least one buffer length; got an empty collection")
    return lengths if longest is None else tuple(min(length, longest) for length in lengths)


def positive_integer(value: object, name: str) -> int:
    """Check a positive whole number."""
    checked = non_negative_integer(value, name)
    if checked < 1:
        raise ValueError(f"{name} must be a positive integer; got {checked}")
    return checked


def fraction(value: object, name: str) -> float:
    """Check a number in [0, 1]."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number in [0, 1]; got {in_words(value)}")
    checked = float(value)
    if not 0 <= checked <= 1:
        raise ValueError(f"{name} must be a number in [0, 1]; got {checked}")
    return checked


def choice(value: object, name: str, allowed: Iterable[str]) -> str:
    """Check that ``value`` is one of the ``allowed`` words."""
    options = tuple(allowed)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}; got {in_words(value)}")
    return value


def in_words(value: object) -> str:
    """Show a value in a message: its representation, cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _same_length(first: npt.NDArray[Any], second: npt.NDArray[Any], name: str) -> None:
    if first.size != second.size:
        raise ValueError(f"labels and {name} must have the same length; got {first.size} and {second.size}")


def _looks_like_scores(array: npt.NDArray[Any]) -> bool:
    """More than a few classes, or values between whole numbers."""
    values = array[~np.isnan(array)] if array.dtype.kind == "f" else array
    return bool(np.any(values != np.round(values))) or np.unique(values).size > 5


def _is_binary(values: object) -> bool:
    try:
        binary_array(values, "values")
    except (TypeError, ValueError):
        return False
    return True


def to_numpy(values: object, name: str, *, allow_missing: bool = False) -> npt.NDArray[Any]:
    """Turn lists, arrays, data-frame columns and CPU tensors into a NumPy array.

    Missing entries raise, or become NaN (None where the values are no numbers) with ``allow_missing``.
    """
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        if masked.any() and allow_missing:
            return np.where(masked, np.nan, np.asarray(values.data))
        if masked.any():
            raise ValueError(
                f"{name} must hold no masked values; found one at index {int(np.argmax(masked))} "
                f"({int(np.count_nonzero(masked))} in {values.size})"
            )
        return np.asarray(values.data)
    values = _from_tensor(values, name)
    if not allow_missing:
        _refuse_nulls(values, name)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be one-dimensional, one number per time step: {error}") from error
    if allow_missing and array.dtype.kind == "O" and array.ndim == 1:
        array = np.where(is_missing(array), np.nan, array)
    return array


def _from_tensor(values: object, name: str) -> object:
    """Take a torch tensor off its graph; torch itself is never imported here."""
    if not type(values).__module__.startswith("torch") or not hasattr(values, "detach"):
        return values
    tensor: Any = values.detach()
    if tensor.device.type != "cpu":
        raise TypeError(f"{name} must be on the CPU; call .cpu() on the tensor first")
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return tensor


def _refuse_nulls(values: object, name: str) -> None:
    """Refuse the missing values of pyarrow and polars columns, which NumPy would turn into NaN or objects."""
    nulls = getattr(values, "null_count", None)
    if nulls is None:
        return
    total = int(nulls() if callable(nulls) else nulls)
    if total:
        mask: Any = values.is_null()  # type: ignore[attr-defined]  # both libraries that have null_count have it
        first = int(np.argmax(np.asarray(mask)))
        raise ValueError(f"{name} must hold no missing values; found one at index {first} ({total} in {len(mask)})")


def is_missing(array: npt.NDArray[Any]) -> BoolArray:
    """Mark None, NaN, NaT and pandas' NA."""
    if array.dtype.kind == "O":
        # pandas.NA is recognised by name: comparing with it does not give a truth value.
        return np.array(
            [
                item is None
                or type(item).__name__ in ("NAType", "NaTType")
                or (isinstance(item, float) and item != item)
                for item in array
            ],
            dtype=np.bool_,
        )
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.zeros(array.shape, dtype=np.bool_)


def _numbers_from_objects(array: npt.NDArray[Any], name: str, *, allow_missing: bool) -> npt.NDArray[Any]:
    """Convert an object array that really holds numbers, as pandas makes of mixed or nullable columns."""
    missing = is_missing(array)
    if missing.any() and not allow_missing:
        raise ValueError(
            f"{name} must hold no missing values; found one at index {int(np.argmax(missing))} "
            f"({int(np.count_nonzero(missing))} in {array.size})"
        )
    for index, item in enumerate(array):
        if not isinstance(item, (Real, np.bool_)):
            raise TypeError(
                f"{name} must be numbers (bool, integer or float); got {in_words(item)} of type "
                f"{type(item).__name__} at index {index}"
            )
    return array.astype(np.float64)
