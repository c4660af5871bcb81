"""Tables to standard output, in the format the user asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from pateval.io.text_table import FORMATS, render

format_option = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the result."
)


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str) -> None:
    """Print rows to standard output; `pateval.io.text_table` says what each format does with numbers."""
    click.echo(render(columns, rows, style))
