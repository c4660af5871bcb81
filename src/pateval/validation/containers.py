"""Lists, arrays, data-frame columns and tensors as NumPy arrays, what is missing in them, and their indexes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.validation.wording import InputError, InputTypeError, counted, in_words

MISSING_LABELS = ": fill it in, or leave such steps out with ignore= where there is one"
MISSING_SCORES = ": pass missing='ignore' to leave such steps out, or missing='normal' to count them as never predicted"
_EXACT_LIMIT = 2**53  # every integer up to this size is a float
_REMEDIES = {"labels": MISSING_LABELS, "scores": MISSING_SCORES}


def to_numpy(values: object, name: str, *, allow_missing: bool = False) -> npt.NDArray[Any]:
    """Turn lists, arrays, data-frame columns and CPU tensors into a NumPy array.

    Missing entries raise, or become NaN (None where the values are no numbers) with ``allow_missing``.
    """
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        if masked.any() and allow_missing:
            data = np.where(masked, 0, np.asarray(values.data))
            refuse_lost_integers(data, name)
            return np.where(masked, np.nan, data)
        if masked.any():
            raise InputError(name, "must hold no masked values; found one", **first_of(masked.ravel()))
        return np.asarray(values.data)
    values = _from_tensor(values, name)
    if not allow_missing:
        _refuse_nulls(values, name)
    try:
        array = np.asarray(_with_nulls(values) if allow_missing else values)
        if isinstance(values, (list, tuple)) and array.dtype.kind == "f" and (np.abs(array) >= _EXACT_LIMIT).any():
            array = np.array(values, dtype=object)  # NumPy turns integers into floats where both stand in one list.
    except Exception as error:  # An object that stands for an array may raise anything.
        raise ValueError(f"{name} must be one-dimensional, one number per time step: {in_words(error)}") from error
    if allow_missing and array.dtype.kind == "O" and array.ndim:
        array = np.where(missing_mask(array), np.nan, array)
    return in_zone(array, zone_of(values))


def zone_of(values: object) -> str:
    """Return the time zone of dates in a column of polars or pyarrow; pandas makes objects of them, which know it."""
    of_polars, of_arrow = getattr(values, "dtype", None), getattr(values, "type", None)
    return getattr(of_polars, "time_zone", None) or getattr(of_arrow, "tz", None) or ""


def in_zone(dates: npt.NDArray[Any], zone: str) -> npt.NDArray[Any]:
    """Remember in the type of dates, which are in universal time, that they were written with a time zone."""
    if not zone or dates.dtype.kind != "M":
        return dates
    return dates.view(np.dtype(dates.dtype.str, metadata={"zone": str(zone)}))


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


def _with_nulls(values: object) -> object:
    """Return the integers of a column that may lack some as objects: NumPy would make floats of them."""
    kind = str(getattr(values, "dtype", getattr(values, "type", "")))
    if hasattr(values, "null_count") and kind.lower() in ("int64", "uint64"):  # polars, pyarrow
        to_list: Any = getattr(values, "to_list", None) or getattr(values, "to_pylist", None)
        return np.array(to_list(), dtype=object)
    if kind in ("Int64", "UInt64"):  # pandas
        return values.astype(object)  # type: ignore[attr-defined]  # a column of that type has it
    return values


def _refuse_nulls(values: object, name: str) -> None:
    """Refuse the missing values of pyarrow and polars columns, which NumPy would turn into NaN or objects."""
    nulls = getattr(values, "null_count", None)
    if nulls is None or hasattr(values, "columns"):  # in a frame they become NaN, which is refused later
        return
    total = int(nulls() if callable(nulls) else nulls)
    if total:
        mask: Any = values.is_null()  # type: ignore[attr-defined]  # both libraries that have null_count have it
        raise _missing_value(name, first_of(np.asarray(mask)))


def _missing_value(name: str, first: dict[str, Any]) -> InputError:
    problem = "must hold no missing values; found one"
    return InputError(name, problem, **first, remedy=_REMEDIES.get(name, ""), kind="missing")


def missing_mask(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mark None, NaN, NaT and pandas' NA."""
    if array.dtype.kind == "O":
        # pandas.NA is recognised by name: comparing with it does not give a truth value.
        return np.array(
            [
                item is None
                or type(item).__name__ in ("NAType", "NaTType")
                or (isinstance(item, float) and item != item)
                for item in array.flat
            ],
            dtype=np.bool_,
        ).reshape(array.shape)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.zeros(array.shape, dtype=np.bool_)


def numbers_from_objects(array: npt.NDArray[Any], name: str, *, allow_missing: bool) -> npt.NDArray[Any]:
    """Convert an object array that really holds numbers, as pandas makes of mixed or nullable columns."""
    missing = missing_mask(array)
    if missing.any() and not allow_missing:
        raise _missing_value(name, first_of(missing))
    for index, item in enumerate(array.flat):
        if not isinstance(item, (Real, np.bool_)):
            raise InputTypeError(
                name,
                f"must be numbers (bool, integer or float); got {in_words(item)} of type {type(item).__name__}",
                **place_in(array, index),
            )
    refuse_lost_integers(array, name)
    return array.astype(np.float64)


def refuse_lost_integers(array: npt.NDArray[Any], name: str) -> None:
    """Refuse integers that are no float64: beyond 2**53 some of them share a float, and with it their order."""
    if array.dtype.kind == "O":
        lost = np.array([isinstance(item, Integral) and is_lost(item) for item in array.flat], dtype=np.bool_)
    elif (
        array.dtype.kind not in "iu"
        or array.dtype.itemsize < 8
        or not array.size
        or (int(array.max()) <= _EXACT_LIMIT and int(array.min()) >= -_EXACT_LIMIT)
    ):
        return
    else:
        with np.errstate(invalid="ignore"):  # 2**63 as a float is no int64; it then counts as lost, which is right
            lost = (array.astype(np.float64).astype(array.dtype) != array).ravel()
    if lost.any():
        first = int(np.argmax(lost))
        raise InputError(
            name,
            f"must be numbers that floats can tell apart; found the integer {in_words(int(array.flat[first]))}",
            **place_in(array, first),
            remedy=": subtract a constant from all of them",
        )


def is_lost(value: Any) -> bool:
    """Whether a number is no float64."""
    try:
        return float(value) != value
    except OverflowError:
        return True


def place_in(array: npt.NDArray[Any], index: int) -> dict[str, Any]:
    """Where a value of the flattened array lies: the step, the channel where there are several, and both in words."""
    if array.ndim == 1:
        return {"step": index, "place": f"at index {index}"}
    step, channel = divmod(index, array.shape[1])
    return {"step": step, "channel": channel, "place": f"at step {step}, channel {channel}"}


def first_of(mask: npt.NDArray[np.bool_], *, such: bool = False) -> dict[str, Any]:
    """Where the first marked value lies, as `place_in` says it, and how many of all are marked."""
    number = int(np.count_nonzero(mask))
    amount = counted(number, "such value") if such else number
    return place_in(mask, int(np.argmax(mask))) | {"extent": f"({amount} in {mask.size})"}


def require_same_index(**given: object) -> None:
    """Refuse columns whose indexes differ, rather than line them up by position without a word.

    What has no index, such as an array, goes with every other. Lengths that differ are for others to report.
    """
    first_name, first = "", None
    for name, values in given.items():
        index = index_of(values)
        if index is None:
            continue
        if first is None:
            first_name, first = name, index
        elif len(index) == len(first) and not first.equals(index):
            pairs = enumerate(zip(first, index, strict=True))
            place, (one, other) = next(
                ((at, pair) for at, pair in pairs if pair[0] != pair[1]), (0, (first[0], index[0]))
            )
            with_call, by_call = "reindex", "to_numpy()"
            if first_name.isidentifier() and name.isidentifier():  # "scores of lof" is no name one could write in code
                with_call, by_call = f"{name}.reindex({first_name}.index)", f"{name}.to_numpy()"
            raise ValueError(
                f"{first_name} and {name} have different indexes, at position {place} for example {one} and {other}: "
                f"align them first, with {with_call}, or go by position with {by_call}"
            )


def times_of(times: object, **given: object) -> Any:
    """Return the times, taken from the shared index where ``times`` is "index"."""
    require_same_index(**given, times=times)
    if not isinstance(times, str):
        return times
    if times != "index":
        raise ValueError(
            f"times must be one value per step, or 'index' for the index of pandas columns; got {in_words(times)}"
        )
    index = next((index for values in given.values() if (index := index_of(values)) is not None), None)
    if index is None:
        raise ValueError(
            f"times='index' needs pandas columns, with an index of times; got none among {', '.join(given)}"
        )
    if type(index).__name__ not in ("DatetimeIndex", "TimedeltaIndex", "PeriodIndex"):
        raise ValueError(f"times='index' needs an index of dates; got a {type(index).__name__}")
    return index.to_timestamp() if type(index).__name__ == "PeriodIndex" else index


def index_of(values: object) -> Any:
    """Return the index of a pandas column or frame; None for everything else."""
    index = getattr(values, "index", None)
    return None if callable(index) or not hasattr(index, "equals") else index
