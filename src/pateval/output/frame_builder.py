"""Results as data frames: pandas, polars or pyarrow, whichever the caller has."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BACKENDS = ("pandas", "polars", "pyarrow")


def build_frame(columns: Mapping[str, Any], backend: str | None = None) -> Any:
    """Build a data frame from columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns, of equal length.
    backend : str, optional
        "pandas", "polars" or "pyarrow"; by default the first of them that is installed.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table

    Raises
    ------
    ValueError
        If the backend is none of these.

    Examples
    --------
    >>> build_frame({"metric": ["pate"], "value": [0.5]}, "pyarrow").to_pylist()
    [{'metric': 'pate', 'value': 0.5}]
    """
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=cast(Any, choose_backend(backend))).to_native()


def frame_of_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], backend: str | None = None) -> Any:
    """Build a data frame from the names of its columns and its rows, as `build_frame` does from columns.

    Examples
    --------
    >>> frame_of_rows(["metric", "value"], [["pate", 0.5]], "pyarrow").to_pylist()
    [{'metric': 'pate', 'value': 0.5}]
    """
    return build_frame({name: [row[place] for row in rows] for place, name in enumerate(columns)}, backend)


def choose_backend(backend: str | None) -> str:
    """Return the backend asked for, or the first one that is installed; refuse what is not known."""
    chosen = backend or next(name for name in BACKENDS if importlib.util.find_spec(name))
    if chosen not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}; got {chosen!r}")
    return chosen
