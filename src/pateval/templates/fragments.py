"""A result as a piece of HTML: a headline, pictures, tables, and lines below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pateval.io.text_table import cell_text
from pateval.templates.rendering import asset, render_template


class FragmentTable(NamedTuple):
    """A table: column names, rows of text or numbers, and which columns stand to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    to_the_right: Sequence[bool]


def fragment(
    headline: str = "",
    *,
    pictures: Sequence[str] = (),
    tables: Sequence[FragmentTable] = (),
    lines: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Put a piece of HTML together, for ``_repr_html_``.

    Parameters
    ----------
    headline : str
        One line above all.
    pictures : sequence of str
        Markup of our own, as `category_strip` and `curve_picture` make it.
    tables : sequence of FragmentTable
        What to show; everything in them is escaped.
    lines, warnings : sequence of str
        Remarks below.

    Examples
    --------
    >>> text = fragment("two", tables=[FragmentTable(["name", "value"], [["<b>", 0.5]], [False, True])])
    >>> "&lt;b&gt;" in text, "0.5000" in text
    (True, True)
    """
    from markupsafe import Markup

    shown = [
        {
            "columns": list(zip(table.columns, table.to_the_right, strict=True)),
            "rows": [
                [
                    (cell if isinstance(cell, str) else cell_text(cell), right)
                    for cell, right in zip(row, sides, strict=True)
                ]
                for row, sides in ((row, table.to_the_right) for row in table.rows)
            ],
        }
        for table in tables
    ]
    return render_template(
        asset("fragment.html"),
        style=Markup(asset("look.css")),  # noqa: S704  # ours
        headline=headline,
        pictures=[Markup(picture) for picture in pictures],  # noqa: S704  # ours
        tables=shown,
        lines=lines,
        warnings=warnings,
    )
