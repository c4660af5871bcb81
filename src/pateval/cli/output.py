"""What people see: results on standard output or in a file, and on standard error notes, errors and progress."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli.options import FILE, gathered, option, was_given
from pateval.output.harmless import visible_json, visible_lines
from pateval.output.progress import reporter
from pateval.output.text_table import FORMATS, TERMINAL_WIDTH, folded, hanging

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = "  "  # of the lines a message goes on in: where the next one begins is seen
_refused: list[str] = []  # why standard output could not be written, where it could not
_STYLE_OF_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}


def stand_in_for_closed_streams() -> None:
    """Put the null device where the shell has closed a stream, so that no file takes its number and is written to."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, this one
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
            if name == "stdout":
                _refused.append("it is closed")


def say(text: str, style: str = "table") -> None:
    """Write a result to standard output; where that fails, the work goes on, and `not_said` tells at the end."""
    if _refused:
        return
    try:
        click.echo(visible_json(text) if style == "json" else visible_lines(text))
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()  # the reader (head, less) has seen enough
    except OSError as error:
        _refused.append(str(error.strerror))
        abandon_stdout()


def say_list(texts: Mapping[str, str]) -> None:
    """Write names and what there is to say of each to standard output."""
    width = max(map(len, texts))
    for name, text in texts.items():
        say(hanging(f"{name:<{width}}  ", text))


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known name that was probably meant; empty where none is like it."""
    return next(iter(difflib.get_close_matches(name, known, 1, likeness)), "")


def not_said() -> str:
    """Return why a result could not be written to standard output, as a sentence; empty where it was."""
    return f"standard output could not be written ({_refused.pop()})" if _refused else ""


def abandon_stdout() -> None:
    """Keep the interpreter from complaining at exit about what standard output did not take."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write a message to standard error, as `for_terminal` has it; one that cannot be written is lost, not the work."""
    with suppress(OSError):
        click.echo(for_terminal(text), err=True)


def tell_all(lines: Iterable[str]) -> None:
    """Write messages to standard error."""
    for line in lines:
        tell(line)


def for_terminal(text: str) -> str:
    """Break a message between words where standard error is a terminal; a file or pipe gets one line each, as given."""
    text = visible_lines(text)
    if not sys.stderr.isatty():
        return text
    width = _terminal_width()
    return "\n".join(folded(line, width, indent=_INDENT) for line in text.split("\n"))


def _terminal_width() -> int:
    """Columns of the terminal that standard error is; standard output may be a file."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or TERMINAL_WIDTH
    except (OSError, ValueError):
        return TERMINAL_WIDTH


def console() -> Console:
    """Standard error as rich draws on it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a bar on standard error that goes away when all is done; call it with what is done and the total."""
    with reporter(console().is_terminal, goes_away=True) as report:
        yield partial(report, what)


format_option = option("--format style", "How to print the result.", type=click.Choice(FORMATS), default="table")
_wide_option = option(
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


result_options = gathered("result", (format_option, _wide_option, _FILE, overwrite), _output)
"""Adds ``--format --wide -o --overwrite``; the command gets an `Output` as ``result``."""
shown_options = gathered("result", (format_option, _wide_option), lambda given: Output(**given))
"""The first two of them, where -o is a folder."""


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
