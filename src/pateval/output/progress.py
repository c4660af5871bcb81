"""Bars on standard error for work that takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pateval.output.harmless import visible

if TYPE_CHECKING:
    from rich.console import Console

Report = Callable[[str, int, int], None]
# Seconds between two lines about the same training where standard error is no terminal.
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def reporter(progress: bool | Report | None, *, goes_away: bool = False) -> Iterator[Report]:
    """Give ``report(what, done, total)``: a bar on standard error for True, the caller's own, or one that is silent."""
    if callable(progress):
        yield progress
    elif progress:
        yield from _bar(goes_away)
    else:
        yield lambda _what, _done, _total: None


def _bar(goes_away: bool) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units per second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=goes_away) as bar:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield report


@contextmanager
def download_progress(where: Console) -> Iterator[Callable[[str, int, int | None], None]]:
    """Give ``progress(url, done, total)``, which draws a bar for each file that is fetched."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    shown = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description}"), *shown, console=where, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def progress(url: str, done: int, total: int | None) -> None:
            if url not in tasks:
                tasks[url] = bars.add_task(url.rsplit("/", 1)[-1], total=total)
            bars.update(tasks[url], completed=done, total=total)

        yield progress


@contextmanager
def detection_progress(where: Console, shown: Callable[[str], str]) -> Iterator[Callable[[Any], None]]:
    """Show what happens to runs of detectors: a bar on a terminal, a line now and then elsewhere.

    What is called with `pateval.runner.DetectionProgress` writes lines as ``shown`` has them.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    said_at, is_terminal = time.monotonic(), where.is_terminal

    def say(text: str) -> None:
        nonlocal said_at
        where.print(shown(text), markup=False)
        said_at = time.monotonic()

    with Progress(
        *columns, TimeElapsedColumn(), TimeRemainingColumn(), console=where, transient=True, disable=not is_terminal
    ) as bar:
        task = bar.add_task("detect", total=None)

        def show(progress: Any) -> None:
            seed = "" if progress.run is None else f" (seed {progress.run})"
            who = f"{progress.detector} on {progress.series}{seed}"
            left = "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left"
            is_training = progress.state == "training"
            note = f": {progress.message}{left}" if is_training else ""
            bar.update(task, completed=progress.done, total=progress.total, description=visible(f"{who}{note}"))
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
