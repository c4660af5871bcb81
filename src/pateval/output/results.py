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

    What is shown as a table, the frame and HTML, follows from `columns`: a class with other rows than its fields has a
    method of its own in place of that one, and no other.

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

    def columns(self) -> dict[str, Any]:
        """Return the columns of the table this is, by name: arrays are columns, and single values make one row."""
        return {
            name: value if isinstance(value, np.ndarray) else [str(value) if isinstance(value, PathLike) else value]
            for name, value in _fields(self).items()
        }

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a data frame of `columns`.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        from pateval.output.frame_builder import build_frame

        return build_frame(self.columns(), backend)

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
        from pateval.output.text_table import numeric_columns

        frame = self.to_frame("pyarrow")
        rows = [list(row.values()) for row in frame.slice(0, _ROWS_SHOWN).to_pylist()]
        sides = numeric_columns(frame.column_names, rows)
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
