"""``pateval report``: a leaderboard as an HTML page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from pateval.cli import options
from pateval.cli.messages import tell


@click.command(
    "report",
    short_help="A leaderboard as one HTML page that opens anywhere.",
    epilog=options.examples(
        "pateval report board -o board.html",
        "pateval report mine.csv --score lstm,pca",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="DIR|FILE...")
@click.option(
    "-o",
    "--output",
    "path",
    default="report.html",
    show_default=True,
    metavar="FILE|DIR/",
    help="The page; a name that ends in a slash becomes a folder with a data file per series.",
)
@click.option("--overwrite", is_flag=True, help="Replace a page that is there already.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    default=25.0,
    show_default=True,
    metavar="MB",
    help="Size of the page; timelines that do not fit are left out, first where detectors differ least.",
)
@click.option("--title", help="What to call it; by default the name of the folder or file.")
@options.columns
@options.measures(options.chance, options.seed)
@options.rank_by
@options.workers
@options.doubt
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    path: str,
    overwrite: bool,
    budget: float,
    title: str | None,
    columns: dict[str, Any],
    parameters: dict[str, Any],
    rank_by: str | None,
    workers: int | None,
    doubt: int | str | None,
) -> None:
    """Write a page in which every number of a leaderboard can be opened up to the events behind it.

    DIR is what 'pateval leaderboard ... -o DIR' wrote; its inputs are read again and checked to be the same. With score
    files instead the leaderboard is computed first; the options from --label on are for these.

    The page needs no network and no server, and can be sent as it is.
    """
    from pateval.io import expand, open_table
    from pateval.io.content import STANDARD_INPUT
    from pateval.leaderboards.run import leaderboard
    from pateval.report import report_of_board, report_of_folder

    is_board = len(files) == 1 and (Path(files[0]) / "run.json").is_file()
    for file in () if is_board else expand(files):
        if not file.is_file() and str(file) != STANDARD_INPUT:
            open_table(file)  # says what is wrong with it, before anything is said about the page
    refuse_page(path, overwrite)
    if is_board:
        _refuse_options(context)
        written = report_of_folder(files[0], path, budget=budget, title=title)
    else:
        board = leaderboard(
            list(files),
            **columns,
            **parameters,
            rank_by=rank_by,
            workers=workers,
            doubt=doubt,
            progress=True,
        )
        for line in (*board.notes, *board.failures, *board.warnings):
            tell(line)
        written = report_of_board(board, path, budget=budget, title=title or title_of(files))
    for name in written.left_out[:10]:
        tell(f"left out to keep within {budget:g} MB: {name}")
    if len(written.left_out) > 10:
        tell(f"... and {len(written.left_out) - 10} more; -o DIR/ writes all of them")
    for name in written.missing[:10]:
        tell(f"no timeline, since its input is gone or has changed: {name}")
    click.echo(written.sentence())


def title_of(files: tuple[str, ...]) -> str:
    """What to call the leaderboard of some files."""
    return Path(files[0]).stem if len(files) == 1 else "Leaderboard"


def _refuse_options(context: click.Context) -> None:
    """Refuse options that would change numbers which are computed already."""
    about_the_page = {"files", "path", "overwrite", "budget", "title"}
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name not in about_the_page and source is not None and source.name == "COMMANDLINE":
            raise click.UsageError(
                f"{parameter.opts[0]} is for score files; the numbers of a leaderboard's folder are computed already"
            )


def refuse_page(path: str, overwrite: bool, option: str = "-o") -> None:
    """Refuse a place that cannot or should not be written, before anything is computed."""
    is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
    page = Path(path) / "index.html" if is_folder else Path(path)
    if page.exists() and not overwrite:
        raise click.UsageError(f"{option} {path}: {page} is there already; --overwrite replaces it")
    if not is_folder and not page.parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {page.parent}")
