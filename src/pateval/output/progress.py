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
        from rich.console import Console
        from rich.progress import MofNCompleteColumn, ProgressColumn, TimeRemainingColumn
        from rich.text import Text

        class Rate(ProgressColumn):
            """Units per second."""

            def render(self, task: Any) -> Text:
                speed = task.finished_speed or task.speed
                return Text("" if speed is None else f"{speed:,.1f}/s")

        columns = MofNCompleteColumn(), Rate(), TimeRemainingColumn()
        with _bars(*columns, console=Console(stderr=True), transient=goes_away) as report:
            yield report
    else:
        yield lambda _what, _done, _total: None


@contextmanager
def download_progress(where: Console) -> Iterator[Callable[[str, int, int | None], None]]:
    """Give ``progress(url, done, total)``, which draws a bar for each file that is fetched."""
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn()
    with _bars(*columns, console=where, transient=True) as progress:
        yield progress


@contextmanager
def _bars(*columns: Any, **how: Any) -> Iterator[Callable[[str, int, int | None], None]]:
    """Give ``report(what, done, total)``, which draws a bar of its own for everything that is reported on."""
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), *columns, **how) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what.rsplit("/", 1)[-1], total=total)
            bars.update(tasks[what], completed=done, total=total)

        yield report


@contextmanager
def detection_progress(where: Console, shown: Callable[[str], str]) -> Iterator[Callable[[Any], None]]:
    """Show what happens to runs of detectors: a bar on a terminal, a line now and then elsewhere.

    What is called with `pateval.runner.DetectionProgress` writes lines as ``shown`` has them.
    """
    from rich import progress as rich

    columns = rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn()
    times = rich.TimeElapsedColumn(), rich.TimeRemainingColumn()
    said_at, is_terminal = time.monotonic(), where.is_terminal

    def say(text: str) -> None:
        nonlocal said_at
        where.print(shown(text), markup=False)
        said_at = time.monotonic()

    with rich.Progress(*columns, *times, console=where, transient=True, disable=not is_terminal) as bar:
        task = bar.add_task("detect", total=None)

        def show(progress: Any) -> None:
            seed = "" if progress.run is None else f" (seed {progress.run})"
            who = f"{progress.detector} on {progress.series}{seed}"
            left = "" if progress.seconds_left is None else f", about {_in_words(progress.seconds_left)} left"
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


def _in_words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
