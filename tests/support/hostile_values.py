"""Values that nobody means, and the one rule for them: a value, or one sentence of ours."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import pateval

_PACKAGE = str(Path(pateval.__file__).parent)
LONGEST_MESSAGE = 300


class Unprintable:
    """An object whose representation fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no representation")


HOSTILE = {
    "huge integer": 10**400,
    "integer of many digits": 10**5000,
    "2**63": 2**63,
    "10**12": 10**12,
    "minus one": -1,
    "zero": 0,
    "true": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "minus inf": float("-inf"),
    "huge float": 1.7e308,
    "tiny float": 5e-324,
    "half": 0.5,
    "none": None,
    "object": object(),
    "unprintable": Unprintable(),
    "type": int,
    "function": len,
    "text": "1",
    "empty text": "",
    "long text": "x" * 100_000,
    "many lines": "a\nb\n" * 2000,
    "bytes": b"\x00\xff" * 1000,
    "decimal": Decimal("0.1"),
    "fraction": Fraction(1, 3),
    "huge fraction": Fraction(10**400, 3),
    "complex": 1 + 2j,
    "date": datetime.datetime(2020, 1, 1),
    "duration": datetime.timedelta(minutes=10),
    "datetime64": np.datetime64("2020-01-01"),
    "timedelta64": np.timedelta64(5, "s"),
    "empty": [],
    "empty array": np.empty(0),
    "zero dimensions": np.array(3),
    "zero dimensions, nan": np.array(np.nan),
    "three dimensions": np.zeros((2, 2, 2)),
    "nested": [[0, 1], [2]],
    "ragged": [[[0]], [1, [2]]],
    "huge integers": [0, 10**400] * 4,
    "integers beyond 2**53": [2**62 + step for step in range(8)],
    "unsigned": np.arange(8, dtype=np.uint64) + np.uint64(2**63),
    "mixed": [-1, 2**63, 0.5, 10**30, 1, 2, 3, 4],
    "huge floats": np.linspace(-1, 1, 8) * 1.7e308,
    "tiny floats": np.arange(8) * 5e-324,
    "long double": np.full(8, np.longdouble("1e400") if np.finfo(np.longdouble).max > 1e308 else np.inf),
    "infinite": [0, 1, 2, np.inf, 4, -np.inf, 6, 7],
    "with nan": [0, 1, 2, np.nan, 4, 5, 6, 7],
    "with none": [0, 1, 2, None, 4, 5, 6, 7],
    "texts": ["a"] * 8,
    "long texts": ["x" * 10_000] * 8,
    "decimals": [Decimal(step) for step in range(8)],
    "fractions": [Fraction(step, 3) for step in range(8)],
    "objects": [object()] * 8,
    "unprintables": [Unprintable()] * 8,
    "complexes": np.arange(8) * 1j,
    "dates": np.arange(8).astype("datetime64[s]"),
    "structured": np.zeros(8, dtype=[("a", "f8"), ("b", "i4")]),
    "series": pd.Series(np.arange(1000.0)),
    "series of eight": pd.Series(np.arange(8)),
    "long index": pd.Series(np.arange(8), index=["i" * 1000 + str(step) for step in range(8)]),
    "frame": pd.DataFrame({"a" * 1000: np.arange(8)}),
    "categories": pd.Series(["a", "b"] * 4, dtype="category"),
    "polars": pl.Series([1, None, 3, 4, 5, 6, 7, 8]),
    "arrow": pa.array([2**62 + step for step in range(8)]),
    "mapping": {"a": 1},
    "set": {1, 2, 3},
    "generator of nothing": range(0),
    "long range": range(10**12),
}


def outcome(function, options):
    """Call, and hold the rule; returns the result, or the error that was raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pateval.CoarseScoresWarning)
        warnings.filterwarnings("ignore", message="no period found", category=UserWarning)
        try:
            return function(**options)
        except (ValueError, TypeError) as error:
            _require_our_sentence(error)
            return error


def broken_rules(function, cases):
    """Call a function with many sets of arguments; returns what broke the rule, one line each."""
    found = []
    for what, arguments in cases.items():
        try:
            outcome(function, arguments)
        except Exception as error:
            found.append(f"{what}: {type(error).__name__}: {str(error)[:200]}")
    return found


def _require_our_sentence(error: BaseException) -> None:
    message = str(error)
    assert raised_in_package(error), f"not raised by the package: {type(error).__name__}: {message[:200]}"
    assert 0 < len(message) <= LONGEST_MESSAGE, f"{len(message)} characters: {message[:200]}"
    assert "\n" not in message


def raised_in_package(error: BaseException) -> bool:
    """Whether the innermost frame of the error is a `raise` of ours."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_frame.f_code.co_filename.startswith(_PACKAGE)
