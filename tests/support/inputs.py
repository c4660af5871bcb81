"""Good input in every container, and bad input with the message it meets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

try:
    import torch
except ImportError:  # `make test-core` has none
    torch = None

LABELS = [0, 0, 1, 1, 0, 0, 1, 0]
SCORES = [0.1, 0.5, 0.9, 0.4, 0.3, 0.2, 0.6, 0.7]

CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "float32": lambda v: np.array(v, dtype=np.float64).astype(np.float32).astype(np.float64),
    "strided": lambda v: np.repeat(np.array(v), 2)[::2],
    "read-only": lambda v: np.frombuffer(np.array(v, dtype=np.float64).tobytes()),
    "big-endian": lambda v: np.array(v, dtype=">f8"),
    "pandas": pd.Series,
    "pandas, odd index": lambda v: pd.Series(v, index=range(100, 100 + len(v))),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow chunked": lambda v: pa.chunked_array([v[:3], v[3:]]),
    "masked, none": lambda v: np.ma.masked_array(v, mask=False),
}
if torch is not None:
    CONTAINERS |= {
        "torch": torch.tensor,
        "torch float64": lambda v: torch.tensor(v, dtype=torch.float64),
        "torch with gradient": lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True),
    }

BAD_LABELS = [
    ([0, 0, 1], "same length; got 3 and 8"),
    ([], "labels must hold at least one time step"),
    ([[0, 1], [1, 0]], r"labels must be one-dimensional.*shape \(2, 2\)"),
    (1, "labels must be one-dimensional.*a single value"),
    ([0, 0, 1, 2, 0, 0, 3, 0], r"labels must be 0 or 1 at every step; found 2 at index 3 \(2 such values in 8\)"),
    ([0, 0, 1, np.nan, 0, 0, 1, 0], "found NaN at index 3"),
    ([0, 0, 1, None, 0, 0, 1, 0], "labels must hold no missing values; found one at index 3"),
    (["a"] * 8, "labels must be numbers.*text"),
    ([0, 0, 1, 1j, 0, 0, 1, 0], "complex"),
    (np.array(["2020-01-01"] * 8, dtype="datetime64[D]"), "date"),
    (
        np.ma.masked_array(LABELS, mask=[0, 1, 0, 0, 0, 0, 0, 0]),
        "labels must hold no masked values; found one at index 1",
    ),
    (pa.array([0, 0, None, 1, 0, 0, 1, 0]), "missing values; found one at index 2"),
    (pl.Series([0, 0, None, 1, 0, 0, 1, 0]), "missing values; found one at index 2"),
    (pd.Series([0, 0, None, 1, 0, 0, 1, 0], dtype="Int64"), "found NaN at index 2"),
]

BAD_SCORES = [
    (SCORES[:3], "same length; got 8 and 3"),
    ([], "scores must hold at least one time step"),
    ([SCORES], "scores must be one-dimensional"),
    ([0.1, np.nan, *SCORES[2:]], r"found NaN at index 1 \(1 such value in 8\)"),
    ([0.1, np.inf, -np.inf, *SCORES[3:]], r"an infinite value at index 1 \(2 such values in 8\)"),
    ([0.1, None, *SCORES[2:]], "missing values; found one at index 1"),
    (["0.1"] * 8, "text"),
    ([*SCORES[:7], "x"], "text|'x' of type str"),
    (np.array(SCORES) * 1j, "complex"),
    (np.arange(8).astype("timedelta64[s]"), "time-difference"),
    (np.ma.masked_array(SCORES, mask=[0, 0, 0, 1, 0, 0, 0, 1]), r"masked values; found one at index 3 \(2 in 8\)"),
    (pa.array([0.1, None, *SCORES[2:]]), "missing values; found one at index 1"),
    (pd.DataFrame({"a": SCORES, "b": SCORES}), "one-dimensional"),
]
