"""What every result of the package offers: a data frame, plain data, JSON, and a table in notebooks.

A result that is a dataclass inherits from `Result`. One that is a tuple is made of two classes, because a `NamedTuple`
takes no other base: the fields, and the public class of these fields and `Result`.
"""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np

_ROWS_SHOWN = 20  # in a notebook; to_frame has all of them


class Result:
    """Frame, plain data and JSON of a named tuple or a dataclass, from its fields.

    Arrays are columns; single values make one row. Classes with more to say have methods of their own in place of
    these.

    Examples
    --------
    >>> from pateval import PRF
    >>> found = PRF(0.5, 1.0, float("nan"))
    >>> found.to_dict(), found.to_json()
    ({'precision': 0.5, 'recall': 1.0, 'f1': None}, '{"precision": 0.5, "recall": 1.0, "f1": null}')
    >>> found.to_frame("pyarrow").to_pylist()
    [{'precision': 0.5, 'recall': 1.0, 'f1': nan}]
    """

    __slots__ = ()

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame, with a row per entry where the fields are arrays and one row where they are numbers.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        from pateval.output.frame_builder import build_frame

        return build_frame({name: _column(value) for name, value in _fields(self).items()}, backend)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data that JSON can carry, with None for NaN and "inf" for infinity."""
        from pateval.output.text_table import plain

        found: dict[str, Any] = plain(_fields(self))
        return found

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        frame = self.to_frame("pyarrow")
        rows = [list(row.values()) for row in frame.slice(0, _ROWS_SHOWN).to_pylist()]
        sides = [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(frame.num_columns)]
        more = frame.num_rows - len(rows)
        return fragment(
            type(self).__name__,
            tables=[FragmentTable(frame.column_names, rows, sides)],
            lines=[f"and {more:,} more rows: to_frame() has all of them"] if more else [],
        )


def _fields(result: Any) -> dict[str, Any]:
    """Return the fields of a named tuple or a dataclass by name."""
    names = getattr(result, "_fields", None) or result.__dataclass_fields__
    return {name: getattr(result, name) for name in names}


def _column(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    return [str(value) if isinstance(value, PathLike) else value]


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))
