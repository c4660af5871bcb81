"""Running numbers beside the data: they are no clock, but where they do not increase the rows may be out of order."""

from __future__ import annotations

import numpy as np

from pateval.io import guesses
from pateval.io.source import Table

_NAMES = ("step", "index", "t")


def unordered_steps(source: object, taken: dict[str, str]) -> list[str]:
    """Say which columns of running numbers do not increase within a series.

    Only tables that are in memory are looked at: to read a column of a large Parquet file for this would cost more than
    to evaluate it.

    Parameters
    ----------
    source : Source
        The table.
    taken : dict
        Columns that have a role, and which.

    Examples
    --------
    >>> table = Table("a", {"step": np.array([0, 1, 1]), "score": np.array([0.1, 0.2, 0.3])}, "a.csv")
    >>> unordered_steps(table, {"score": "score"})[0].partition(";")[0]
    "a.csv: column 'step' does not increase within a series (row 3: 1 after 1)"
    """
    if not isinstance(source, Table):
        return []
    apart = [name for name, role in taken.items() if role in ("series", "detector", "run") and name in source.columns]
    found = []
    for name, column in source.columns.items():
        if name in taken or guesses.plain(name) not in _NAMES or column.dtype.kind not in "iu" or column.ndim != 1:
            continue
        order = np.arange(column.size)
        is_new = np.zeros(max(column.size - 1, 0), dtype=np.bool_)
        if apart:
            codes = [np.unique(source.columns[key].astype(str), return_inverse=True)[1] for key in apart]
            order = np.lexsort(codes)
            for code in codes:
                is_new |= code[order][1:] != code[order][:-1]
        values = column[order]
        wrong = np.flatnonzero((values[1:] <= values[:-1]) & ~is_new)
        if wrong.size:
            place = int(wrong[np.argmin(order[wrong + 1])])
            where = f"row {order[place + 1] + 1}: {values[place + 1]} after {values[place]}"
            found.append(
                f"{source.where}: column {name!r} does not increase within a series ({where}); rows are taken as they "
                f"stand: sort them with --time {name} --sort, or name the column that tells series apart with --series"
            )
    return found
