"""``pateval check``: labels and series that make a benchmark worthless."""

from __future__ import annotations

import click

from pateval.cli.output import Output, result_options
from pateval.cli.progress import progress_bar


@click.command("check", short_help="Labels and series that make a benchmark worthless.")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@click.option("--root", type=click.Path(file_okay=False), help="Folder the known data sets are kept in.")
@result_options
def command(data: tuple[str, ...], root: str | None, result: Output) -> None:
    """Look for what makes data worthless as a benchmark, each with a code, its figures and what to do.

    DATA is the name of a known data set ('pateval data list'), a folder, or a file with labels and recorded values.
    Found are events that a rule of one line finds, that crowd at the end, that are too dense, too close, or one that is
    most of the anomalies; labels that look shifted; series that occur twice; anomalies in the training stretch.

    --format csv lists the faults, json those and every series with the best rule of one line on it.
    """
    from pateval.checking import check

    with progress_bar("series checked") as progress:
        found = check(data, root=root, progress=progress)

    result.emit(found.rendered)
