"""One table, several formats: aligned text, Markdown, LaTeX, CSV, JSON.

Every table the package prints is rendered here, from plain column names and rows; nothing is imported for it.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, overload

from pateval.output.harmless import csv_cell, latex_text, markdown_text, visible

FORMATS = ("table", "json", "csv", "markdown", "latex")
# What every terminal has; tables for people fit it unless all of them is asked for.
TERMINAL_WIDTH = 80
_LONGEST_NAME = 40  # characters of the first column where the width is limited; longer ones lose their middle
_SHORT_WORD = 9  # characters; such names of columns, pate_ap for example, are never broken
_MOST_HEADER_LINES = 4  # of the name of a column, where there is room for that


def render(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    style: str = "table",
    *,
    width: int | None = None,
    decimals: int = 4,
) -> str:
    """Return rows as text in one of the `FORMATS`.

    In text, Markdown and LaTeX, floats have four decimals (none from a thousand on), and NaN is a dash; columns of
    numbers stand to the right. JSON and CSV carry full precision, with null and an empty cell for NaN. LaTeX is a
    ``tabular`` with the rules of the package booktabs. Only ``table`` can be too wide: see `fitted`.
    """
    if style not in FORMATS:
        raise ValueError(f"a table is rendered as one of {', '.join(map(repr, FORMATS))}; got {style!r}")
    names, cells = list(columns), [list(row) for row in rows]
    if style not in TEXT_FORMATS:
        return _as_json(names, cells) if style == "json" else _as_csv(names, cells)
    return _drawn(names, cells, numeric_columns(names, cells), style, width, decimals)


def beside_names(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str = "table", *, width: int | None = None
) -> str:
    """Return a table for people whose first column is names, and stands to the left, and whose others are figures."""
    return _drawn(columns, rows, [place > 0 for place in range(len(columns))], style, width)


def _drawn(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    to_the_right: Sequence[bool],
    style: str,
    width: int | None,
    decimals: int = 4,
) -> str:
    texts = [[cell_text(cell, decimals) for cell in row] for row in rows]
    if style == "table" and width is not None:
        return fitted(columns, texts, to_the_right, width)
    return TEXT_FORMATS[style](columns, texts, to_the_right)


def aligned(
    columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool], *, width: int | None = None
) -> str:
    """Return cells that are text already as an aligned table; ``to_the_right`` says which columns stand there.

    Where the table is wider than ``width``, names of columns are broken at spaces and underscores over several lines.

    Examples
    --------
    >>> print(aligned(["name", "point_f1 (oracle)"], [["a", "0.5"]], [False, True], width=20))
          point_f1
    name  (oracle)
    --------------
    a          0.5
    """
    columns, rows = _visible(columns, rows)
    cells = _cell_widths(rows, len(columns))
    headers = [[name] for name in columns]
    # Names are broken into few lines where that is enough, and wherever they can be where it is not.
    for floors in (_least_widths(columns, rows), cells):
        longest = max(map(len, columns), default=0)
        while width is not None and longest > 1 and _total(_widths(headers, cells)) > width:
            longest -= 1
            headers = [_broken(name, max(longest, least)) for name, least in zip(columns, floors, strict=True)]
    widths = _widths(headers, cells)
    height = max(map(len, headers), default=0)
    above = zip(*([""] * (height - len(lines)) + lines for lines in headers), strict=True)

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, to_the_right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([*map(line, above), "-" * _total(widths), *map(line, rows)])


def fitted(columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool], width: int) -> str:
    """Return cells that are text already as an aligned table that is no wider than ``width``.

    Names of columns are broken over several lines, long texts are shortened, and columns that do not fit stand in
    further tables below, each with the first column; see `aligned` for the parameters.

    Examples
    --------
    >>> print(fitted(["metric", "first", "second"], [["pate", "0.25", "0.50"]], [False, True, True], 14))
    metric  first
    -------------
    pate     0.25
    <BLANKLINE>
    metric  second
    --------------
    pate      0.50
    """
    names, rows = _visible(columns, rows)
    longest = min(_LONGEST_NAME, max(width // 2, _longest_word(names[0])))
    first = [cut_in_the_middle(row[0], longest) for row in rows]
    room = width - 2 - max(map(len, (*_words(names[0]), *first)))
    cells = [
        [head, *(cut_in_the_middle(cell, room) for cell in row[1:])] for head, row in zip(first, rows, strict=True)
    ]
    names[1:] = [name if _longest_word(name) <= room else cut_in_the_middle(name, room) for name in names[1:]]
    least_first, *least = _least_widths(names, cells)
    least = [least_first, *(min(column, room) for column in least)]
    blocks = [[0]]  # the columns of each table, by their places
    for place in range(1, len(names)):
        if len(blocks[-1]) > 1 and _total([least[column] for column in (*blocks[-1], place)]) > width:
            blocks.append([0])
        blocks[-1].append(place)
    return "\n\n".join(
        aligned(
            [names[place] for place in block],
            [[row[place] for place in block] for row in cells],
            [to_the_right[place] for place in block],
            width=width,
        )
        for block in blocks
    )


def how_many_fit(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Count the columns, from the left, that one table of that width has room for, with broken names."""
    least = _least_widths(*_visible(columns, rows))
    return next((count for count in range(len(columns), 1, -1) if _total(least[:count]) <= width), 1)


def folded(text: str, width: int | None = TERMINAL_WIDTH, *, head: str = "", indent: str = "") -> str:
    """Break a text behind a head into lines of at most ``width`` characters, the further ones indented; None is any."""
    if width is None:
        return head + text
    return textwrap.fill(
        text, width, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def hanging(head: str, text: str, width: int | None = TERMINAL_WIDTH) -> str:
    """Put a text behind a head, its further lines below its first one."""
    return folded(text, width, head=head, indent=" " * len(head))


def cut_in_the_middle(text: str, longest: int) -> str:
    """Leave out the middle of a text that is too long: names often differ at their ends.

    Examples
    --------
    >>> cut_in_the_middle("anomaly_transformer_seed_17", 15)
    'anomaly…seed_17'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def _visible(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    return list(map(visible, columns)), [list(map(visible, row)) for row in rows]


def _cell_widths(rows: Sequence[Sequence[str]], columns: int) -> list[int]:
    return [max((len(row[place]) for row in rows), default=0) for place in range(columns)]


def _widths(headers: Sequence[Sequence[str]], cells: Sequence[int]) -> list[int]:
    """Width of each column, from the lines of its name and the width of its cells."""
    return [max(least, *map(len, lines)) for lines, least in zip(headers, cells, strict=True)]


def _least_widths(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Width of each column where its name is broken into as many lines as it may have."""
    return [max(least, _narrowest(name)) for name, least in zip(columns, _cell_widths(rows, len(columns)), strict=True)]


def _narrowest(name: str) -> int:
    """Least width of the name of a column that has not too many lines."""
    room = _longest_word(name)
    while len(_broken(name, room)) > _MOST_HEADER_LINES:
        room += 1
    return room


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _words(name: str) -> list[str]:
    """Take the name of a column apart where it may be broken: at spaces, and in long words at underscores."""
    parts = re.findall(r"[^ ]+| ", name) or [""]
    return [
        word for part in parts for word in (re.findall(r"[^_]*_|[^_]+", part) if len(part) > _SHORT_WORD else [part])
    ]


def _longest_word(name: str) -> int:
    return max(map(len, _words(name)))


def _broken(name: str, room: int) -> list[str]:
    """Break the name of a column into lines of at most ``room`` characters, or one word."""
    lines = [""]
    for word in _words(name):
        if lines[-1] and len((lines[-1] + word).rstrip()) > room:
            lines.append("")
        lines[-1] += word if lines[-1] else word.lstrip()
    return [line.rstrip() for line in lines if line.strip()] or [""]


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> str:
    """Return cells that are text already as a Markdown table; see `aligned` for the parameters."""
    lines = [columns, ["---:" if right else "---" for right in to_the_right], *rows]
    return "\n".join(f"| {' | '.join(map(markdown_text, line))} |" for line in lines)


def latex(columns: Sequence[str], rows: Sequence[Sequence[str]], to_the_right: Sequence[bool]) -> str:
    """Return cells that are text already as a LaTeX ``tabular`` in the manner of booktabs; see `aligned`."""

    def line(row: Sequence[str]) -> str:
        return " & ".join(map(latex_text, row)) + r" \\"

    places = "".join("r" if right else "l" for right in to_the_right)
    head = [rf"\begin{{tabular}}{{{places}}}", r"\toprule", line(columns), r"\midrule"]
    return "\n".join([*head, *map(line, rows), r"\bottomrule", r"\end{tabular}"])


def cell_text(cell: Any, decimals: int = 4) -> str:
    """Return one cell as people read it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.{decimals}f}" if abs(cell) < 1000 else f"{cell:,.0f}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return cell if isinstance(cell, str) else str(cell)


@overload
def plain(value: dict[str, Any]) -> dict[str, Any]: ...
@overload
def plain(value: Any) -> Any: ...
def plain(value: Any) -> Any:
    """Return a value that JSON can carry: NaN is None, infinity and paths text, numbers and arrays Python's."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, PathLike):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _as_json(columns: list[str], rows: list[list[Any]]) -> str:
    objects = [dict(zip(columns, map(_finite, row), strict=True)) for row in rows]
    return "[\n" + ",\n".join(f"  {json.dumps(record, ensure_ascii=False)}" for record in objects) + "\n]"


def _as_csv(columns: list[str], rows: list[list[Any]]) -> str:
    cells = [columns, *([_finite(cell) for cell in row] for row in rows)]
    return "\n".join(",".join(_csv_text(cell) for cell in row) for row in cells)


def _csv_text(cell: Any) -> str:
    if cell is None:
        return ""
    return str(cell) if isinstance(cell, (bool, int, float)) else csv_cell(str(cell))


def _finite(cell: Any) -> Any:
    """Return a cell that JSON and CSV can carry; a column of numbers holds numbers, so infinity is missing too."""
    value = cell.item() if hasattr(cell, "item") else cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


def numeric_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Say of each column whether it holds numbers alone, and so stands to the right."""
    return [bool(rows) and all(_is_number(row[place]) for row in rows) for place in range(len(columns))]


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


# Formats for people, from cells that are text already.
TEXT_FORMATS: dict[str, Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[bool]], str]] = {
    "table": aligned,
    "markdown": markdown,
    "latex": latex,
}
