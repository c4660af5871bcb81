"""Results for the user: on standard output, and in a file where one is named."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pateval.output.text_table import FORMATS, TERMINAL_WIDTH, render

_STYLE_OF_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}

format_option = click.option(
    "--format", "style", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the result."
)
wide_option = click.option(
    "--wide", is_flag=True, help=f"All columns of the table, and all of their text, beyond {TERMINAL_WIDTH} characters."
)


@dataclass(frozen=True)
class Output:
    """Where a result goes and what it looks like there.

    Attributes
    ----------
    style : str
        Format of standard output.
    wide : bool
        Whether a table for people may be wider than a terminal.
    file : Path or None
        A file that gets the result as well.
    file_style : str
        Its format.
    """

    style: str
    wide: bool = False
    file: Path | None = None
    file_style: str = "table"

    def show(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Show one table; `pateval.output.text_table` says what each format does with numbers."""
        body = [list(row) for row in rows]
        self.emit(lambda style, width: render(columns, body, style, width=width))

    def emit(self, make: Callable[[str, int | None], str]) -> None:
        """Show what a function makes of a format and a width; None is any width.

        The result is printed before it is written, so that a disk that is full takes no answer away.
        """
        refused: OSError | None = None
        try:
            click.echo(make(self.style, None if self.wide else TERMINAL_WIDTH))
        except BrokenPipeError:
            raise
        except OSError as error:
            refused = OSError(f"standard output could not be written ({error.strerror})")
        if self.file is not None:
            from pateval.io.atomic import write_text

            write_text(make(self.file_style, None) + "\n", self.file)
        if refused is not None:
            raise refused


def result_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--format --wide -o --overwrite``; the command gets an `Output` as ``result``."""

    @functools.wraps(command)
    def inner(*arguments: Any, style: str, wide: bool, out: Path | None, overwrite: bool, **others: Any) -> Any:
        file_style = style
        if out is not None:
            context = click.get_current_context()
            _refuse(out, overwrite, context.params)
            source = context.get_parameter_source("style")
            if source is not None and source.name != "COMMANDLINE":
                file_style = _STYLE_OF_SUFFIX.get(out.suffix.lower(), "table")
        return command(*arguments, result=Output(style, wide, out, file_style), **others)

    for option in (
        click.option("--overwrite", is_flag=True, help="Replace the file named with -o where it is there already."),
        click.option(
            "-o",
            "--output",
            "out",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Write the result here as well: JSON, CSV, Markdown or LaTeX by suffix, or what --format says.",
        ),
        wide_option,
        format_option,
    ):
        inner = option(inner)
    return inner


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


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], style: str, *, wide: bool = False) -> None:
    """Print rows to standard output; `pateval.output.text_table` says what each format does with numbers."""
    Output(style, wide).show(columns, rows)
