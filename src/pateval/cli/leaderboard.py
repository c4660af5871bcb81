"""``pateval leaderboard``: many detectors on many series, on one machine or a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pateval.cli import options, output

if TYPE_CHECKING:
    from concurrent.futures import Executor

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("leaderboard", short_help="Many detectors on many series, with ranks and significance.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", "folder", type=_FOLDER, metavar="DIR", help="Write all tables here.")
@options.columns
@options.metrics
@click.option("--rank-by", metavar="METRIC", help="Metric that orders the detectors; pate_ap where it is computed.")
@options.buffers
@click.option("--window", type=click.IntRange(min=0), default=100, show_default=True, help="Largest window of VUS.")
@options.threshold
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes here; one per core by default.")
@click.option("--dask", metavar="ADDRESS", help="Compute on a Dask cluster, for example tcp://host:8786.")
@click.option(
    "--cache", type=_FOLDER, metavar="DIR", help="Finished work is kept here; by default in the output's cache."
)
@click.option("--keep-going", is_flag=True, help="Leave out what cannot be read, evaluate the rest, and exit with 1.")
@click.option(
    "--chance",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Random score vectors per series that tell what chance reaches.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of random scores and resamples.")
@output.format_option
def command(
    files: tuple[str, ...],
    folder: Path | None,
    label: str | None,
    score: str | None,
    series: str | None,
    detector: str | None,
    metrics: tuple[str, ...],
    rank_by: str | None,
    early: tuple[int, ...],
    delay: tuple[int, ...],
    window: int,
    threshold: float | str,
    workers: int | None,
    dask: str | None,
    cache: Path | None,
    keep_going: bool,
    chance: int,
    seed: int,
    style: str,
) -> None:
    """Say who is better on many series, by how much, and whether that is evidence.

    FILE is a CSV, Parquet, JSONL or NPZ file, a glob, a folder, or a partitioned Parquet folder: one file per detector
    (named by the file), one score column per detector, or a detector column.

    The overview goes to standard output; DIR gets scores.parquet, scores.csv, summary.csv, ranks.csv, agreement.csv,
    significance.json, timings.csv and run.json. A run that was interrupted goes on where it was when it is started
    again. The exit status is 1 where something was left out or failed.
    """
    from pateval.io.table_files import as_csv
    from pateval.leaderboards import render
    from pateval.leaderboards.executors import WorkerPool
    from pateval.leaderboards.plan import make_plan
    from pateval.leaderboards.run import choose, choose_rank_by, compute

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        cache = folder / "cache" if cache is None else cache
    settings = choose(
        metrics=options.metric_names(metrics),
        early=early,
        delay=delay,
        window=window,
        threshold=threshold,
        cache=cache,
        chance=chance,
        seed=seed,
    )
    rank_by = choose_rank_by(rank_by, settings)
    with ExitStack() as stack:
        try:
            executor, threads = (None, None) if dask is None else _cluster(dask, stack)
            pool = stack.enter_context(WorkerPool(executor, workers or threads))
            plan = make_plan(
                files,
                label=label,
                score=options.score_columns(score),
                series=series,
                detector=detector,
                strict=True,
                keep_going=keep_going,
            )
            for line in (*plan.notes, *(failure.reason for failure in plan.failures)):
                click.echo(line, err=True)
            board = compute(
                plan,
                settings,
                pool=pool,
                rank_by=rank_by,
                output=folder,
                keep_going=keep_going,
                progress=True,
            )
        except KeyboardInterrupt:
            if cache is not None:
                click.echo(f"stopped; the same command goes on from what is in {cache}", err=True)
            raise
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
    if folder is not None:
        board.save(folder)
    for line in (*board.notes[len(plan.notes) :], *board.failures[len(plan.failures) :], *board.warnings):
        click.echo(line, err=True)
    if style == "csv":
        click.echo(as_csv(board.summary()), nl=False)
    elif style == "json":
        click.echo(board.to_json())
    else:
        click.echo((render.text if style == "table" else render.as_markdown)(board.overview()))
    if board.failures:
        raise click.exceptions.Exit(1)


def _cluster(address: str, stack: ExitStack) -> tuple[Executor, int]:
    """Connect to a Dask scheduler; return its executor and how many tasks its workers run at once."""
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError("--dask needs the extra `dask`: pip install 'pateval[dask]'") from None
    try:
        client = Client(address, set_as_default=False, timeout="10s")  # type: ignore[no-untyped-call]  # not annotated
    except (OSError, ValueError) as error:
        raise click.UsageError(f"no Dask scheduler answers at {address} ({type(error).__name__})") from None
    executor: Executor = stack.enter_context(client).get_executor()
    threads: dict[str, int] = client.nthreads()  # type: ignore[no-untyped-call]  # not annotated
    return executor, max(1, sum(threads.values()))
