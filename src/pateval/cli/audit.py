"""``pateval audit``: which metrics can be fooled on the labels of a file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from pateval.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np


@click.command("audit", short_help="Which metrics can be fooled on your labels.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--label", metavar="COLUMN", help="Column of labels; guessed by name if not given.")
@click.option("--series", metavar="COLUMN", help="Column that tells series apart.")
@options.metrics
@options.buffers
@click.option("--window", type=click.IntRange(min=0), default=100, show_default=True, help="Largest window of VUS.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Draws of each detector with chance in it.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Where the draws begin.")
@output.format_option
def command(
    files: tuple[str, ...],
    label: str | None,
    series: str | None,
    metrics: tuple[str, ...],
    early: tuple[int, ...],
    delay: tuple[int, ...],
    window: int,
    seeds: int,
    seed: int,
    style: str,
) -> None:
    """Let every metric judge detectors that should not win, made from the labels in FILE...

    Worthless ones: random scores, a constant, everything flagged, spikes at random and at regular intervals, the labels
    inverted. Poor ones: one step per event, every event moved ahead or back by its own length, and the real detector
    with gaps. The real one finds nine of ten events, a tenth of their length late, with some false alarms.

    The table shows chance (mean and standard deviation of random scores), what a constant, everything flagged, the real
    and the perfect detector get, whether too early is told from too late, what the metric rewards, by initial
    (sequential, early, delayed, onset, coverage, threshold-free; the PATE paper's claim beside it), and the fakes that
    beat the real detector. No scores are needed; those in the file are ignored.
    """
    import numpy as np

    from pateval.auditing import audit

    parts = [part for file in files for part in _labels(file, label, series)]
    labels = np.concatenate(parts)
    which = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    with _progress() as progress:
        found = audit(
            labels,
            early=early,
            delay=delay,
            window=window,
            metrics=options.metric_names(metrics),
            seeds=seeds,
            seed=seed,
            series=which,
            progress=progress,
        )
    for_people = style in ("table", "markdown")
    output.show(*(found.table() if for_people else found.records()), style)
    click.echo(found.summary(), err=True)
    if for_people:
        for row in found.rows:
            for reason in dict.fromkeys(row.reasons.values()):
                click.echo(f"{row.metric.id}: {reason}", err=True)


def _labels(file: str, label: str | None, series: str | None) -> list[np.ndarray]:
    """Labels of each series in a file or folder; a file with a detector column counts once."""
    from dataclasses import replace

    import numpy as np

    from pateval.io import expand, find_layout, read_table, scored_series

    found: list[np.ndarray] = []
    for path in expand(file):
        table = read_table(path)
        unused = "".join(table.columns) + " score"  # no column has this name
        source = replace(table, columns={**table.columns, unused: np.zeros(table.rows)})
        layout = find_layout(source, label=label, score=unused, series=series)
        guessed = [part for part in layout.guessed.split(", ") if not part.startswith("detector")]
        for note in (*table.notes, *([f"{path}: guessed {', '.join(guessed)}"] if layout.guessed else [])):
            click.echo(note, err=True)
        items = list(scored_series(source, layout))
        found += [item.checked()[0] for item in items if item.detector == items[0].detector]
    return found


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Draw a bar on standard error that goes away when all is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("detectors judged", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
