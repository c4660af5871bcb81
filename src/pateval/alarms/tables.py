"""What results about alarms have in common: rows for programs, a table and sentences for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pateval.output.frame_builder import frame_of_rows
from pateval.output.results import Result
from pateval.output.text_table import TERMINAL_WIDTH, aligned, fitted, folded, render

Rows = tuple[list[str], list[list[Any]]]


class TableResult(Result):
    """A result that prints as a table; a subclass says what is in it with `records`, `table` and `remarks`."""

    def records(self) -> Rows:
        """Columns and rows for programs, at full precision."""
        raise NotImplementedError

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows for people."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """What the table means, in sentences."""
        raise NotImplementedError

    def to_frame(self, backend: str | None = None) -> Any:
        """Data frame of `records`.

        Parameters
        ----------
        backend : str, optional
            "pandas", "polars" or "pyarrow"; by default the first of them that is installed.
        """
        return frame_of_rows(*self.records(), backend)

    def text(self, width: int | None = TERMINAL_WIDTH) -> str:
        """Table and sentences, in lines of at most ``width`` characters; None is any width."""
        columns, rows = self.table()
        shown = [shown_table(columns, rows, width), ""] if rows else []
        return "\n".join([*shown, *(folded(line, width) for line in self.remarks())])

    def rendered(self, style: str, width: int | None = TERMINAL_WIDTH) -> str:
        """The result in one of the formats of the command line."""
        if style == "json":
            return self.to_json()
        if style == "table":
            return self.text(width)
        columns, rows = self.records() if style == "csv" else self.table()
        return render(columns, rows, style)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from pateval.output.html import FragmentTable, fragment

        columns, rows = self.table()
        sides = [False] + [True] * (len(columns) - 1)
        return fragment(tables=[FragmentTable(columns, rows, sides)], lines=[line for line in self.remarks() if line])


def shown_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None) -> str:
    """A table of cells that are text already; the first column stands to the left."""
    sides = [False] + [True] * (len(columns) - 1)
    return aligned(columns, rows, sides) if width is None else fitted(columns, rows, sides, width)


def as_records(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows as dictionaries."""
    return [dict(zip(columns, row, strict=True)) for row in rows]
