"""Tables for people and programs: text, JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import click

FORMATS = ("table", "json", "csv", "markdown")
format_option = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the result."
)


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str) -> None:
    """Print rows to standard output.

    In text and Markdown, floats have four decimals and NaN is a dash; JSON and CSV carry full precision, with null and
    an empty cell for NaN.
    """
    click.echo(render(columns, rows, style))


def render(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str) -> str:
    """Rows as text in one of the `FORMATS`.

    Examples
    --------
    >>> print(render(["detector", "pate"], [["a", 0.25], ["b", float("nan")]], "table"))
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
    listed = [list(row) for row in rows]
    if style == "json":
        objects = [dict(zip(columns, map(_plain, row), strict=True)) for row in listed]
        return "[\n" + ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in objects) + "\n]"
    if style == "csv":
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([["" if (plain := _plain(cell)) is None else plain for cell in row] for row in listed])
        return buffer.getvalue().rstrip("\n")
    numeric = [all(_is_number(row[place]) for row in listed) and bool(listed) for place in range(len(columns))]
    cells = [[_text(cell) for cell in row] for row in listed]
    if style == "markdown":
        lines = [columns, ["---:" if number else "---" for number in numeric], *cells]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
    widths = [max(len(row[place]) for row in [list(columns), *cells]) for place in range(len(columns))]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, cells)])


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _plain(cell: Any) -> Any:
    """A value that JSON and CSV can carry."""
    if hasattr(cell, "item"):
        cell = cell.item()
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.4f}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return str(cell)
