"""``pateval leaderboard``: many detectors on many series, on one machine or a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options, output
from pateval.cli.messages import tell
from pateval.cli.report import refuse_page, title_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from pateval.leaderboards import Leaderboard

PARTIAL = "scores.partial"  # as pateval.leaderboards.progress has it, which is not imported for --help
OUTPUTS = (
    *("scores.parquet", "scores.csv", "summary.csv", "ranks.csv", "agreement.csv", "timings.csv", "contents.csv"),
    *("significance.json", "chance.parquet", "doubt.csv", "doubt.parquet", "run.json", "cache", PARTIAL, "report.html"),
)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command(
    "leaderboard",
    short_help="Many detectors on many series, with ranks and significance.",
    epilog=options.examples(
        "pateval leaderboard scores/*.parquet -o board --report board.html",
        "pateval leaderboard scores/ --metrics pate_ap,vus_pr --format latex > t.tex",
    ),
)
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option(
    "--from-results",
    "results",
    metavar="TABLE_OR_DIR",
    help="Rank values that were computed elsewhere, instead of FILE: series x detector, wide or long, or a folder of "
    "results of TimeEval or TSB-AD. --metrics names them where no column does, --score the value column of a long "
    "table or the detectors of a wide one.",
)
@click.option("-o", "--output", "folder", type=_FOLDER, metavar="DIR", help="Write all tables here.")
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@options.rank_by
@options.workers
@click.option("--dask", metavar="ADDRESS", help="Compute on a Dask cluster, for example tcp://host:8786.")
@click.option(
    "--cache", type=_FOLDER, metavar="DIR", help="Finished work is kept here; by default in the output's cache."
)
@click.option("--keep-going", is_flag=True, help="Leave out what cannot be read, evaluate the rest, and exit with 1.")
@options.doubt
@click.option("--report", metavar="FILE|DIR/", help="Write the report, an HTML page, here (see `pateval report`).")
@click.option("--overwrite", is_flag=True, help="Write into DIR whatever it holds, and replace a report.")
@output.format_option
@output.wide_option
def command(
    files: tuple[str, ...],
    results: str | None,
    folder: Path | None,
    columns: dict[str, Any],
    parameters: dict[str, Any],
    rank_by: str | None,
    workers: int | None,
    dask: str | None,
    cache: Path | None,
    keep_going: bool,
    doubt: int | str | None,
    report: str | None,
    overwrite: bool,
    style: str,
    wide: bool,
) -> None:
    """Say who is better on many series, by how much, and whether that is evidence.

    FILE is a table by suffix (see `pateval --help`), a glob, a folder, or a partitioned folder: one file per detector
    (named by the file), one score column per detector, or a detector column.

    The overview goes to standard output; DIR gets scores.parquet, scores.csv, summary.csv, ranks.csv, agreement.csv,
    significance.json, chance.parquet, timings.csv and run.json. A run that was interrupted goes on where it was when it
    is started again. A DIR that holds anything else, or a leaderboard of other files, is not written to without
    --overwrite. The exit status is 1 where something was left out or failed.
    """
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading
    from pateval.leaderboards.run import choose, make_board

    if (results is None) == (not files):
        raise click.UsageError("name files of scores, or one table of values with --from-results")
    if report is not None:
        refuse_page(report, overwrite, option="--report")
    inputs = files if results is None else (results,)
    if folder is not None:
        refuse_other_content(folder, inputs, overwrite=overwrite)
        cache = folder / "cache" if cache is None else cache
    if results is not None:
        board = _from_results(results, columns, parameters["metrics"], rank_by)
    else:
        measures = Measures.of(**parameters)
        settings = choose(measures, is_named=options.names_metrics(parameters["metrics"]), cache=cache, doubt=doubt)
        with ExitStack() as stack:
            try:
                executor, threads = (None, None) if dask is None else _cluster(dask, stack)
                board = make_board(
                    files,
                    Reading(**columns),
                    settings,
                    rank_by=rank_by,
                    executor=executor,
                    workers=workers or threads,
                    output=folder,
                    keep_going=keep_going,
                    progress=True,
                    tell=tell,
                )
            except KeyboardInterrupt:
                if cache is not None:
                    tell(f"stopped; the same command goes on from what is in {cache}")
                raise
            except RuntimeError as error:
                raise click.ClickException(str(error)) from error
        for line in (*board.failures, *board.warnings):
            tell(line)
    # Printed before the files are written: a disk that is full takes no answer away.
    _show(board, style, wide)
    if folder is not None:
        board.save(folder)
    if report is not None:
        title = folder.resolve().name if folder is not None else title_of(inputs)
        tell(f"report: {board.to_report(report, title=title).sentence()}")
    if board.failures:
        raise click.exceptions.Exit(1)


def _show(board: Leaderboard, style: str, wide: bool) -> None:
    from pateval.io.atomic import as_csv
    from pateval.leaderboards import render
    from pateval.output.text_table import TERMINAL_WIDTH

    if style == "csv":
        click.echo(as_csv(board.summary()), nl=False)
    elif style == "json":
        click.echo(board.to_json())
    elif style == "table":
        click.echo(render.text(board.overview(), None if wide else TERMINAL_WIDTH))
    else:
        click.echo((render.as_latex if style == "latex" else render.as_markdown)(board.overview()))


def _from_results(table: str, columns: dict[str, Any], metrics: list[str] | None, rank_by: str | None) -> Leaderboard:
    """Read a table of values, and say what was guessed."""
    from pateval.leaderboards.given_results import leaderboard_from_results

    if metrics is not None and len(metrics) > 1:
        raise click.UsageError("--from-results: several metrics need a metric column in the table; name one at most")
    score = columns["score"]
    is_long = columns["detector"] is not None
    board = leaderboard_from_results(
        table,
        metric=metrics[0] if metrics else None,
        series=columns["series"],
        detector=columns["detector"],
        value=score if is_long and isinstance(score, str) else None,
        detectors=None if is_long or score is None else [score] if isinstance(score, str) else score,
        rank_by=rank_by,
    )
    for line in (*board.notes, *board.warnings):
        tell(line)
    return board


def refuse_other_content(folder: Path, files: Sequence[str], *, overwrite: bool) -> None:
    """Refuse a folder with things that are no leaderboard, or the leaderboard of other files."""
    import json

    from pateval.io import expand

    if overwrite or not folder.is_dir():
        return
    there = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".tmp"))
    begun = {"run.json", "cache", PARTIAL}.intersection(there)
    foreign = [name for name in there if not begun or name not in OUTPUTS]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise click.UsageError(
            f"-o {folder}: the folder holds other things ({foreign[0]}{more}); name another one, or use --overwrite to "
            "write into it all the same"
        )
    try:
        inputs = json.loads((folder / "run.json").read_text(encoding="utf-8"))["inputs"]
        known = {Path(path).resolve() for path in inputs}
    except (OSError, ValueError, KeyError, TypeError):
        return
    if known and known.isdisjoint(Path(path).resolve() for path in expand(files)):
        more = f" and {len(inputs) - 1} more" if len(inputs) > 1 else ""
        raise click.UsageError(
            f"-o {folder}: the folder holds a leaderboard of other files ({inputs[0]}{more}); name another one, or use "
            "--overwrite to replace it"
        )


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
