"""``pateval board``: what is done with leaderboards that are there, and with entries that others send in."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from pateval.cli import options, output
from pateval.cli.options import FOLDER, Given, option
from pateval.cli.output import say, tell, tell_all
from pateval.output.text_table import TERMINAL_WIDTH

_LABELS = option("--labels=FOLDER", "Labels in a folder of their own, a file for each series.", type=FOLDER)


@click.group(name="board", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Put leaderboards together, and keep one that others add to."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command(
    name="merge", cls=options.GroupedCommand, epilog=options.examples("pateval board merge mine theirs -o both")
)
@click.argument("first", type=FOLDER, metavar="A")
@click.argument("second", type=FOLDER, metavar="B")
@option("-o --output=DIR folder", "Write the leaderboard here.", type=FOLDER, required=True)
@output.overwrite
@output.format_option
def merge(first: Path, second: Path, folder: Path, overwrite: bool, style: str) -> None:
    """Put two leaderboards together, as if all their files had been evaluated at once.

    They must have been computed with the same options, on the same labels where series are in both; what both have is
    refused, or with --overwrite taken from B. The files of scores are not needed.
    """
    from pateval.leaderboards import Leaderboard
    from pateval.leaderboards.board_files import other_content
    from pateval.leaderboards.growth import merge

    boards = [Leaderboard.load(path) for path in (first, second)]
    inputs = [Path(path) for board in boards for path in board.run["inputs"]]
    if not overwrite and (held := other_content(folder, inputs)):
        raise click.UsageError(f"-o {folder}: the folder holds {held}")
    board = merge(*boards, overwrite=overwrite, names=(first, second))
    say(board.rendered(style, TERMINAL_WIDTH), style)
    tell_all((*board.failures, *board.warnings))
    board.save(folder, overwrite=overwrite)


@command.command(
    name="check",
    cls=options.GroupedCommand,
    epilog=options.examples("pateval board check entries/acme --against site/board"),
)
@click.argument("entry", type=FOLDER)
@option("--against=BOARD", "Evaluate it as this board was, and say what does not go with it.", type=FOLDER)
@_LABELS
@option(
    "--run-on=DATA data",
    "Run the detector of an entry that says it is causal, and is code of others, on this data set or folder.",
)
def check(entry: Path, against: Path | None, labels: Path | None, data: str | None) -> None:
    """Say in one sentence each what is wrong with an entry; the exit status is 1 where something is.

    ENTRY is a folder with entry.toml and scores. Nothing is written.
    """
    from pateval.entries.entry import look_ahead, problems_of, read_entry
    from pateval.entries.site import objections

    found = list(problems_of(entry))
    if not found and against is not None:
        from pateval.leaderboards import Leaderboard

        found += objections(entry, Leaderboard.load(against), labels)
    if not found and data is not None:
        from pateval.datasets import load

        said = read_entry(entry)
        if said.causal and said.detector:
            found += look_ahead(said, load(data))
    for line in found:
        say(line)
    if found:
        raise click.exceptions.Exit(1)
    tell(f"{entry}: nothing is wrong with it")


@command.command(
    name="build",
    cls=options.GroupedCommand,
    epilog=options.examples("pateval board build entries -o site --metrics pate_ap,vus_pr"),
)
@click.argument("entries", type=FOLDER)
@option("-o --output=SITE site", "Write the site here.", type=FOLDER, required=True)
@_LABELS
@option("--private=DIR", "Keep board and cache here, and not in SITE/board; needed with --labels.", type=FOLDER)
@option("--day=YYYY-MM-DD", "That of the history's new line; today by default.", type=click.DateTime(["%Y-%m-%d"]))
@options.measures(options.chance, options.seed)
@options.one_liners
@options.workers
@options.dask
def build(
    entries: Path,
    site: Path,
    labels: Path | None,
    private: Path | None,
    day: datetime | None,
    parameters: Given,
    one_liners: Any,
    workers: int | None,
    dask: str | None,
) -> None:
    """Evaluate all entries of a folder, and write board, report, history and a page for each entry.

    What is known already comes from the cache, and a build that was killed goes on when it is started again. Where an
    entry, or what was built before, has something wrong with it, nothing is written but the cache.
    """
    from pateval.cli.board import place_of_work
    from pateval.entries import build

    kept: Given = {"one_liners": one_liners, "labels": labels, "private": private, "day": day and day.date()}
    with place_of_work(dask, workers) as place:
        built = build(entries, site, progress=True, **kept, **place, **parameters)
    tell_all((*built.board.failures, *built.board.warnings))
    news = built.news or {"entered": [], "left": [], "changed": []}
    counts = (f"{len(news['entered'])} came", f"{len(news['left'])} left", f"{len(news['changed'])} means changed")
    say(f"{site / 'index.html'}: {len(built.board.detectors)} entries; {', '.join(counts)}")
