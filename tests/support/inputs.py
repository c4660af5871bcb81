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

# The messages are whole; braces stand for what the second argument is called, scores or predictions.
_LABEL_REMEDY = "fill it in, or leave such steps out with ignore= where there is one"
_SCORE_REMEDY = "pass missing='ignore' to leave such steps out, or missing='normal' to count them as never predicted"
_NOT_NUMBERS = "must be numbers (bool, integer or float); got"

BAD_LABELS = [
    ([0, 0, 1], "labels and {} must have the same length; got 3 and 8"),
    ([], "labels must hold at least one time step; got an empty array"),
    ([[0, 1], [1, 0]], "labels must be one-dimensional, one value per time step; got an array of shape (2, 2)"),
    (1, "labels must be one-dimensional, one value per time step; got a single value"),
    ([0, 0, 1, 2, 0, 0, 3, 0], "labels must be 0 or 1 at every step; found 2 at index 3 (2 such values in 8)"),
    (
        [0, 0, 1, np.nan, 0, 0, 1, 0],
        f"labels must be 0 or 1 at every step; found NaN at index 3 (1 such value in 8): {_LABEL_REMEDY}",
    ),
    (
        [0, 0, 1, None, 0, 0, 1, 0],
        f"labels must hold no missing values; found one at index 3 (1 in 8): {_LABEL_REMEDY}",
    ),
    (
        ["a"] * 8,
        (
            f"labels {_NOT_NUMBERS} text values; pass labels == 'anomaly', or name the labels that mean an anomaly "
            "with positive= where there is one"
        ),
    ),
    ([0, 0, 1, 1j, 0, 0, 1, 0], f"labels {_NOT_NUMBERS} complex values"),
    (np.array(["2020-01-01"] * 8, dtype="datetime64[D]"), f"labels {_NOT_NUMBERS} date values"),
    (
        np.ma.masked_array(LABELS, mask=[0, 1, 0, 0, 0, 0, 0, 0]),
        "labels must hold no masked values; found one at index 1 (1 in 8)",
    ),
    (
        pa.array([0, 0, None, 1, 0, 0, 1, 0]),
        f"labels must hold no missing values; found one at index 2 (1 in 8): {_LABEL_REMEDY}",
    ),
    (
        pl.Series([0, 0, None, 1, 0, 0, 1, 0]),
        f"labels must hold no missing values; found one at index 2 (1 in 8): {_LABEL_REMEDY}",
    ),
    (
        pd.Series([0, 0, None, 1, 0, 0, 1, 0], dtype="Int64"),
        f"labels must be 0 or 1 at every step; found NaN at index 2 (1 such value in 8): {_LABEL_REMEDY}",
    ),
]

BAD_SCORES = [
    (SCORES[:3], "labels and scores must have the same length; got 8 and 3"),
    ([], "scores must hold at least one time step; got an empty array"),
    ([SCORES], "scores must be one-dimensional, one value per time step; got an array of shape (1, 8)"),
    (
        [0.1, np.nan, *SCORES[2:]],
        f"scores must be finite at every step; found NaN at index 1 (1 such value in 8): {_SCORE_REMEDY}",
    ),
    (
        [0.1, np.inf, -np.inf, *SCORES[3:]],
        (
            "scores must be finite at every step; found an infinite value at index 1 (2 such values in 8): put a "
            "finite number above or below all others in its place, or NaN where the score is not known"
        ),
    ),
    (
        [0.1, None, *SCORES[2:]],
        f"scores must hold no missing values; found one at index 1 (1 in 8): {_SCORE_REMEDY}",
    ),
    (["0.1"] * 8, f"scores {_NOT_NUMBERS} text values"),
    ([*SCORES[:7], "x"], f"scores {_NOT_NUMBERS} text values"),
    (np.array(SCORES) * 1j, f"scores {_NOT_NUMBERS} complex values"),
    (np.arange(8).astype("timedelta64[s]"), f"scores {_NOT_NUMBERS} time-difference values"),
    (
        np.ma.masked_array(SCORES, mask=[0, 0, 0, 1, 0, 0, 0, 1]),
        "scores must hold no masked values; found one at index 3 (2 in 8)",
    ),
    (
        pa.array([0.1, None, *SCORES[2:]]),
        f"scores must hold no missing values; found one at index 1 (1 in 8): {_SCORE_REMEDY}",
    ),
    (
        pd.DataFrame({"a": SCORES, "b": SCORES}),
        "scores must be one-dimensional, one value per time step; got an array of shape (8, 2)",
    ),
]
