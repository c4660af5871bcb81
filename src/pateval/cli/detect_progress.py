"""What `pateval detect` shows while it works: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from pateval.cli.messages import for_terminal

if TYPE_CHECKING:
    from pateval.runner import DetectionProgress

# Seconds between two lines about the same training where standard error is no terminal.
_SECONDS_BETWEEN_LINES = 10.0


class ProgressDisplay:
    """Shows progress on standard error; a context manager."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._last = time.monotonic()
        self._bars: Any = None
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
            )
            self._bars = Progress(*columns, console=self._console, transient=True)
            self._task = self._bars.add_task("detect", total=None)

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, progress: DetectionProgress) -> None:
        """Show what happened to a run."""
        seed = "" if progress.run is None else f" (seed {progress.run})"
        who = f"{progress.detector} on {progress.series}{seed}"
        left = "" if progress.seconds_left is None else f", about {duration(progress.seconds_left)} left"
        if self._bars is not None:
            note = f": {progress.message}{left}" if progress.state == "training" else ""
            self._bars.update(self._task, completed=progress.done, total=progress.total, description=f"{who}{note}")
        if progress.state == "failed":
            self._line(f"{progress.detector} failed on {progress.series}: {progress.message}")
        elif progress.collapse:
            self._line(f"warning: the training of {who} collapsed: {'; '.join(progress.collapse)}")
        elif self._bars is None:
            if progress.state == "finished":
                self._line(f"{who} finished ({progress.done} of {progress.total})")
            elif progress.state == "training" and time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
                self._line(f"{who}: {progress.message}{left}")

    def _line(self, text: str) -> None:
        self._console.print(for_terminal(text), markup=False)
        self._last = time.monotonic()


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
