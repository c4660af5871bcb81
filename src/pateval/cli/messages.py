"""What people see on standard error: notes, errors, and how far the work is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from pateval.output.progress import reporter

if TYPE_CHECKING:
    from rich.console import Console

    from pateval.runner import DetectionProgress

_INDENT = "  "  # of the lines a message goes on in: where the next one begins is seen
# Seconds between two lines about the same training where standard error is no terminal.
_SECONDS_BETWEEN_LINES = 10.0


def tell(text: str) -> None:
    """Write a message to standard error, as `for_terminal` has it."""
    click.echo(for_terminal(text), err=True)


def tell_all(lines: Iterable[str]) -> None:
    """Write messages to standard error."""
    for line in lines:
        tell(line)


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


def console() -> Console:
    """Standard error as rich draws on it."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a bar on standard error that goes away when all is done; call it with what is done and the total."""
    with reporter(console().is_terminal, goes_away=True) as report:
        yield partial(report, what)


@contextmanager
def detection_progress() -> Iterator[Callable[[DetectionProgress], None]]:
    """Show what happens to the runs of `pateval detect`: a bar on a terminal, a line now and then elsewhere."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    where, said_at = console(), time.monotonic()
    is_terminal = where.is_terminal

    def say(text: str) -> None:
        nonlocal said_at
        where.print(for_terminal(text), markup=False)
        said_at = time.monotonic()

    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=where, transient=True, disable=not is_terminal
    ) as bar:
        task = bar.add_task("detect", total=None)

        def show(progress: DetectionProgress) -> None:
            seed = "" if progress.run is None else f" (seed {progress.run})"
            who = f"{progress.detector} on {progress.series}{seed}"
            left = "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left"
            is_training = progress.state == "training"
            note = f": {progress.message}{left}" if is_training else ""
            bar.update(task, completed=progress.done, total=progress.total, description=f"{who}{note}")
            if progress.state == "failed":
                say(f"{progress.detector} failed on {progress.series}: {progress.message}")
            elif progress.collapse:
                say(f"warning: the training of {who} collapsed: {'; '.join(progress.collapse)}")
            elif progress.state == "finished" and not is_terminal:
                say(f"{who} finished ({progress.done} of {progress.total})")
            elif is_training and not is_terminal and time.monotonic() - said_at >= _SECONDS_BETWEEN_LINES:
                say(f"{who}{note}")

        yield show


def duration(seconds: float) -> str:
    """Put a number of seconds into words.

    Examples
    --------
    >>> duration(7.4), duration(150), duration(7300)
    ('7 s', '2.5 min', '2.0 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
