"""Results for the user: on standard output, and in a file where one is named."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pateval.cli.messages import say
from pateval.cli.options import option, together, was_given
from pateval.output.harmless import visible_lines
from pateval.output.text_table import FORMATS, TERMINAL_WIDTH

_STYLE_OF_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}

format_option = option("--format style", "How to print the result.", type=click.Choice(FORMATS), default="table")
wide_option = option(
    "--wide", f"All columns of the table, and all of their text, beyond {TERMINAL_WIDTH} characters.", is_flag=True
)
_FILE = option(
    "-o --output out",
    "Write the result here as well: JSON, CSV, Markdown or LaTeX by suffix, or what --format says.",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
)
overwrite = option("--overwrite", "Replace what is there already under the name given with -o.", is_flag=True)


@dataclass(frozen=True)
class Output:
    """Where a result goes and in which format: standard output, and a file where one is named.

    ``wide`` says whether a table for people may be wider than a terminal.
    """

    style: str
    wide: bool = False
    file: Path | None = None
    file_style: str = "table"

    def emit(self, make: Callable[[str, int | None], str]) -> None:
        """Show what a function makes of a format and a width; None is any width."""
        say(make(self.style, None if self.wide else TERMINAL_WIDTH), self.style)
        if self.file is not None:
            from pateval.io.atomic import write_text

            text = make(self.file_style, None)
            write_text((text if self.file_style == "json" else visible_lines(text)) + "\n", self.file)


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format --wide -o --overwrite``; the command gets an `Output` as ``result``."""

    @functools.wraps(command)
    def inner(*arguments: Any, style: str, wide: bool, out: Path | None, overwrite: bool, **others: Any) -> Any:
        file_style = style
        if out is not None:
            _refuse(out, overwrite, click.get_current_context().params)
            if not was_given("style"):
                file_style = _STYLE_OF_SUFFIX.get(out.suffix.lower(), "table")
        return command(*arguments, result=Output(style, wide, out, file_style), **others)

    return together(format_option, wide_option, _FILE, overwrite)(inner)


def _refuse(out: Path, overwrite: bool, parameters: dict[str, Any]) -> None:
    """Refuse a file that cannot or should not be written, before anything is computed."""
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no folder {out.parent}")
    if not out.exists():
        return
    if not overwrite:
        raise click.UsageError(f"-o {out}: the file is there already; --overwrite replaces it")
    for value in parameters.values():
        for given in value if isinstance(value, tuple) else [value]:
            if isinstance(given, (str, Path)) and given is not out and Path(given).exists() and out.samefile(given):
                raise click.UsageError(f"-o {out}: the file is read by this command and cannot be its output, too")
