"""One table, several formats: aligned text, Markdown, CSV, JSON.

Every table the package prints is rendered here, from plain column names and rows; nothing is imported for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

FORMATS = ("table", "json", "csv", "markdown")


def render(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str = "table") -> str:
    """Return rows as text in one of the `FORMATS`.

    In text and Markdown, floats have four decimals (none from a thousand on), and NaN is a dash; columns of numbers
    stand to the right. JSON and CSV carry full precision, with null and an empty cell for NaN.

    Parameters
    ----------
    columns : sequence of str
        The header.
    rows : iterable of sequences
        One cell per column: numbers, strings, booleans or None.
    style : str
        ``table``, ``json``, ``csv`` or ``markdown``.

    Returns
    -------
    str
        Without a newline at the end.

    Examples
    --------
    >>> print(render(["detector", "pate"], [["a", 0.25], ["b", float("nan")]]))
    detector    pate
    ----------------
    a         0.2500
    b              -
    >>> print(render(["detector", "pate"], [["a", 0.25]], "markdown"))
    | detector | pate |
    | --- | ---: |
    | a | 0.2500 |
    >>> print(render(["detector", "pate"], [["b", float("nan")]], "json"))
    [
      {"detector": "b", "pate": null}
    ]
    """
    if style not in _RENDERERS:
        raise ValueError(f"a table is rendered as one of {', '.join(map(repr, FORMATS))}; got {style!r}")
    return _RENDERERS[style](list(columns), [list(row) for row in rows])


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> str:
    """Return cells that are text already as an aligned table.

    Parameters
    ----------
    columns : sequence of str
        The header.
    rows : sequence of sequences of str
        The cells.
    to_the_right : sequence of bool
        Which columns stand to the right, as numbers do.

    Examples
    --------
    >>> print(aligned(["name", "value"], [["a", "0.5"]], [False, True]))
    name  value
    -----------
    a       0.5
    """
    widths = [max(len(row[place]) for row in (columns, *rows)) for place in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, to_the_right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, rows)])


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> str:
    """Return cells that are text already as a Markdown table; see `aligned` for the parameters."""
    lines = [columns, ["---:" if right else "---" for right in to_the_right], *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def cell_text(cell: Any) -> str:
    """Return one cell as people read it.

    Examples
    --------
    >>> cell_text(0.25), cell_text(float("nan")), cell_text(12345.6), cell_text(True), cell_text(None)
    ('0.2500', '-', '12,346', 'yes', '-')
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return str(cell)


def csv_cell(text: str) -> str:
    """Return a text as a cell of a CSV file, in quotes where it needs them.

    Examples
    --------
    >>> print(csv_cell("a"), csv_cell("a,b"))
    a "a,b"
    """
    # Python's writer leaves a carriage return without quotes, which its reader then takes for the end of the row.
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\n\r') else text


def plain(value: Any) -> Any:
    """Return a value that JSON can carry: NaN is None, infinity a string, NumPy's numbers and arrays Python's.

    Examples
    --------
    >>> plain({"mean": float("nan"), "limits": (0.5, float("inf"))})
    {'mean': None, 'limits': [0.5, 'inf']}
    """
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _as_text(columns: list[str], rows: list[list[Any]]) -> str:
    return aligned(columns, [[cell_text(cell) for cell in row] for row in rows], _numeric(columns, rows))


def _as_markdown(columns: list[str], rows: list[list[Any]]) -> str:
    return markdown(columns, [[cell_text(cell) for cell in row] for row in rows], _numeric(columns, rows))


def _as_json(columns: list[str], rows: list[list[Any]]) -> str:
    objects = [dict(zip(columns, map(_finite, row), strict=True)) for row in rows]
    return "[\n" + ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in objects) + "\n]"


def _as_csv(columns: list[str], rows: list[list[Any]]) -> str:
    cells = [columns, *([_finite(cell) for cell in row] for row in rows)]
    return "\n".join(",".join("" if cell is None else csv_cell(str(cell)) for cell in row) for row in cells)


def _finite(cell: Any) -> Any:
    """Return a cell that JSON and CSV can carry; a column of numbers holds numbers, so infinity is missing too."""
    value = cell.item() if hasattr(cell, "item") else cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numeric(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    return [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(columns))]


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


# A new format, LaTeX for example, is one function and one row here.
_RENDERERS: dict[str, Callable[[list[str], list[list[Any]]], str]] = {
    "table": _as_text,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
}
