"""``pateval verify``: whether a saved leaderboard is what its inputs give."""

from __future__ import annotations

from pathlib import Path

import click

from pateval.cli import options


@click.command("verify", short_help="Is a saved leaderboard what its inputs give?")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option("--all", "everything", is_flag=True, help="Compute every value again, and not a sample.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    metavar="N",
    help="Pairs of a detector and a series that are computed again.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the sample.")
@options.workers
@click.option("--format", "style", type=click.Choice(["table", "json"]), default="table", help="How to print.")
def command(folder: Path, everything: bool, sample: int, seed: int, workers: int | None, style: str) -> None:
    """Compute a leaderboard again from the files it names, some values or all, and compare.

    DIR is what 'pateval leaderboard ... -o DIR' wrote. Values, chance, signatures and the digests of the inputs are
    compared with what the inputs give; means, ranks, groups, tests and agreement with what the values give. Moved
    labels are computed again with --all only. The cache is not looked at. The exit status is 1 where
    something does not agree.
    """
    from pateval.leaderboards.verification import verify

    found = verify(folder, all=everything, sample=sample, seed=seed, workers=workers, progress=True)
    click.echo(found.to_json() if style == "json" else repr(found))
    if not found.agrees:
        raise click.exceptions.Exit(1)
