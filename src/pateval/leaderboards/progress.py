"""A bar on standard error with rate and remaining time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Report = Callable[[str, int, int], None]


@contextmanager
def reporter(progress: bool | Report | None) -> Iterator[Report]:
    """Turn what the caller asked for into a function ``report(what, done, total)``.

    Parameters
    ----------
    progress : bool or callable, optional
        True draws a bar on standard error; a callable is called itself; None and False are silent.
    """
    if callable(progress):
        yield progress
    elif progress:
        yield from _bar()
    else:
        yield _silent


def _silent(what: str, done: int, total: int) -> None:
    del what, done, total


def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Units per second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.1f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield report
