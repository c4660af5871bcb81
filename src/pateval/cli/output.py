"""Results for the user: on standard output, and in a file where one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pateval.cli.messages import say
from pateval.cli.options import FILE, gathered, option, was_given
from pateval.output.harmless import visible_lines
from pateval.output.text_table import FORMATS, TERMINAL_WIDTH

_STYLE_OF_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}

format_option = option("--format style", "How to print the result.", type=click.Choice(FORMATS), default="table")
wide_option = option(
    "--wide", f"All columns of the table, and all of their text, beyond {TERMINAL_WIDTH} characters.", is_flag=True
)
_FILE = option(
    "-o --output=FILE out",
    "Write the result here as well: JSON, CSV, Markdown or LaTeX by suffix, or what --format says.",
    type=FILE,
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


def _output(given: dict[str, Any]) -> Output:
    style, out = given["style"], given["out"]
    if out is None:
        return Output(style, given["wide"])
    if out.exists() and out.parent.is_dir() and not given["overwrite"]:
        raise click.UsageError(f"-o {out}: the file is there already; --overwrite replaces it")
    others = {name: value for name, value in click.get_current_context().params.items() if name != "out"}
    refuse_target("-o", out, others.values())
    own = style if was_given("style") else _STYLE_OF_SUFFIX.get(out.suffix.lower(), "table")
    return Output(style, given["wide"], out, own)


result_options = gathered("result", (format_option, wide_option, _FILE, overwrite), _output)
"""Adds ``--format --wide -o --overwrite``; the command gets an `Output` as ``result``."""


def refuse_target(option: str, target: Path, given: Iterable[Any] = ()) -> None:
    """Refuse a file that cannot be written, or that is one of those given, before anything is computed."""
    if not target.parent.is_dir():
        raise click.UsageError(f"{option} {target}: there is no folder {target.parent}")
    for values in given if target.exists() else ():
        for value in values if isinstance(values, tuple) else [values]:
            if isinstance(value, (str, Path)) and Path(value).exists() and target.samefile(value):
                raise click.UsageError(
                    f"{option} {target}: the file is read by this command and cannot be its output, too"
                )
