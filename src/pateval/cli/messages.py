"""Notes and errors for people, on standard error."""

from __future__ import annotations

import shutil
import sys

import click


def tell(text: str) -> None:
    """Write a line to standard error; a terminal gets it broken between words, a file or pipe gets it as it is."""
    if sys.stderr.isatty():
        from pateval.io.text_table import folded

        width = shutil.get_terminal_size().columns
        text = "\n".join(folded(line, width) for line in text.split("\n"))
    click.echo(text, err=True)
