"""Indexes of pandas columns: they must agree, and may say when each step was recorded."""

from __future__ import annotations

from typing import Any

from pateval.validation.wording import in_words

INDEX = "index"


def require_same_index(**given: object) -> None:
    """Refuse columns whose indexes differ, rather than line them up by position without a word.

    What has no index, such as an array, goes with every other. Lengths that differ are for others to report.

    Examples
    --------
    >>> import pandas as pd
    >>> labels, scores = pd.Series([0, 1], index=[3, 4]), pd.Series([0.1, 0.2], index=[4, 5])
    >>> require_same_index(labels=labels, scores=[0.1, 0.2])
    >>> require_same_index(labels=labels, scores=scores)
    Traceback (most recent call last):
        ...
    ValueError: labels and scores have different indexes, at position 0 for example 3 and 4: align them first, with \
scores.reindex(labels.index), or go by position with scores.to_numpy()
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
    """Return the times, taken from the shared index where ``times`` is "index".

    Examples
    --------
    >>> import pandas as pd
    >>> labels = pd.Series([0, 1], index=pd.to_datetime(["2024-01-01", "2024-01-02"]))
    >>> times_of("index", labels=labels, scores=[0.1, 0.2]) is labels.index
    True
    """
    require_same_index(**given, times=times)
    if not isinstance(times, str):
        return times
    if times != INDEX:
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
