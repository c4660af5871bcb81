"""Scores of several detectors: mappings, data frames and arrays of two dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pateval.validation.containers import to_numpy
from pateval.validation.wording import in_words


def detector_columns(scores: Any, predictions: Any) -> dict[str, tuple[Any, Any]] | None:
    """Scores and predictions of each detector by its name; None where there is a single one, without a name.

    Examples
    --------
    >>> columns = detector_columns({"a": [0.1, 0.2], "b": [0.3, 0.4]}, None)
    >>> columns["b"]
    ([0.3, 0.4], None)
    >>> list(detector_columns(np.zeros((5, 2)), None)), detector_columns([0.1, 0.2], None)
    (['0', '1'], None)
    """
    by_name = {what: named_columns(given, what) for what, given in (("scores", scores), ("predictions", predictions))}
    several = [columns for columns in by_name.values() if columns is not None]
    if not several:
        return None
    names = list(several[0])
    for what, given in (("scores", scores), ("predictions", predictions)):
        columns = by_name[what]
        if given is not None and (columns is None or list(columns) != names):
            raise ValueError(
                "scores and predictions must be of the same detectors in the same order; got "
                f"{in_words(names)} and {'one without a name' if columns is None else in_words(list(columns))}"
            )
    return {
        name: tuple(None if columns is None else columns[name] for columns in by_name.values())  # type: ignore[misc]  # two
        for name in names
    }


def named_columns(given: Any, what: str) -> dict[str, Any] | None:
    """Columns of a mapping, a frame or an array of two dimensions; None for anything else."""
    if isinstance(given, Mapping):
        columns = {str(name): values for name, values in given.items()}
    elif hasattr(given, "column_names"):  # pyarrow
        columns = {str(name): given.column(name) for name in given.column_names}
    elif hasattr(given, "columns") and hasattr(given, "shape"):  # pandas and polars
        columns = {str(name): given[name] for name in given.columns}
    elif given is None or np.ndim(to_numpy(given, what, allow_missing=True)) != 2:
        return None
    else:
        array = to_numpy(given, what, allow_missing=True)
        columns = {str(number): array[:, number] for number in range(array.shape[1])}
    if not columns:
        raise ValueError(f"{what} must hold at least one detector; got none")
    return columns
