"""Notes and errors for people, on standard error."""

from __future__ import annotations

import os
import sys

import click

_INDENT = "  "  # of the lines a message goes on in: where the next one begins is seen


def tell(text: str) -> None:
    """Write a message to standard error, as `for_terminal` has it."""
    click.echo(for_terminal(text), err=True)


def for_terminal(text: str) -> str:
    """Break a message between words where standard error is a terminal; a file or pipe gets one line each, as given."""
    if not sys.stderr.isatty():
        return text
    from pateval.output.text_table import folded

    width = _terminal_width()
    return "\n".join(folded(line, width, indent=_INDENT) for line in text.split("\n"))


def _terminal_width() -> int:
    """Columns of the terminal that standard error is; standard output may be a file."""
    from pateval.output.text_table import TERMINAL_WIDTH

    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or TERMINAL_WIDTH
    except (OSError, ValueError):
        return TERMINAL_WIDTH
