"""The reader of text tables that needs no pyarrow, held against the other one wherever a test reads such a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from pateval.io import TableError, text_tables

_MOST_BYTES = 1 << 20  # of tables that are read twice, since the second reader takes its time
_with_arrow, _parsed = text_tables._with_arrow, text_tables._parsed


def hold_together() -> None:
    """From now on read each text table both ways, and fail where that is not the same."""
    text_tables._parsed = read_both_ways


def read_both_ways(where: str, data: bytes, delimiter: str, decimal_point: str) -> dict[str, Any]:
    """What is read with pyarrow, or the error of that; without it it must be the same."""
    if len(data) > _MOST_BYTES or not text_tables.has_arrow():
        return _parsed(where, data, delimiter, decimal_point)
    found = _outcome(where, data, delimiter, decimal_point)
    text_tables._with_arrow = text_tables._without_arrow
    try:
        other = _outcome(where, data, delimiter, decimal_point)
    finally:
        text_tables._with_arrow = _with_arrow
    if isinstance(found, TableError):
        # What a damaged file is called is up to the reader.
        same = "perhaps truncated or damaged" in str(found) or str(other) == str(found)
        assert isinstance(other, TableError), (data[:500], other)
        assert same, (data[:500], found, other)
        raise found
    assert isinstance(other, dict), (data[:500], other)
    assert list(found) == list(other)
    for name, column in found.items():
        assert is_same(column, other[name]), (name, data[:500], column, other[name])
    return found


def _outcome(*arguments: Any) -> Any:
    try:
        return _parsed(*arguments)
    except TableError as error:
        return error


def is_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two columns hold the same, of the same kind, with the same time zone."""
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype.metadata != other.dtype.metadata:
        return False
    if one.dtype != object:
        return np.array_equal(one, other, equal_nan=one.dtype.kind in "fM")
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    # Beside missing ones pandas' type of dates is that of Python with nanoseconds, which the other drops.
    return all(
        (type(a) is type(b) or hasattr(a, "nanosecond")) and (a == b or a != a or bool(getattr(a, "nanosecond", 0)))
        for a, b in pairs
    )
