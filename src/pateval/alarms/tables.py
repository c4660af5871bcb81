"""What results about alarms have in common: rows for programs, a table and sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pateval.output.results import Rows as Rows
from pateval.output.results import TableResult as _TableResult
from pateval.output.results import columns_of
from pateval.output.text_table import beside_names


class TableResult(_TableResult):
    """A result that prints as a table; a subclass says what is in it with `records`, `table` and `remarks`."""

    def records(self) -> Rows:
        """Columns and rows for programs, at full precision."""
        raise NotImplementedError

    def columns(self) -> dict[str, Any]:
        """Return the columns of `records`, by name."""
        return columns_of(*self.records())


def shown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """A table of cells that are text already; the first column stands to the left."""
    return beside_names(columns, rows, width=width)


def as_records(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows as dictionaries."""
    return [dict(zip(columns, row, strict=True)) for row in rows]
