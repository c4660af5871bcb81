"""``pateval leaderboard``, ``verify`` and ``report``: a leaderboard is made, checked and shown."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options, output
from pateval.cli.messages import say, tell, tell_all
from pateval.output.text_table import TERMINAL_WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from pateval.leaderboards import Leaderboard

_FOLDER = click.Path(file_okay=False, path_type=Path)


@options.command(
    "leaderboard",
    "pateval leaderboard scores/*.parquet -o board --report board.html",
    "pateval leaderboard scores/ --metrics pate_ap,vus_pr --format latex > t.tex",
)
@click.argument("files", nargs=-1, metavar="FILE...")
@options.option(
    "--from-results results",
    "Rank values that were computed elsewhere, instead of FILE: series x detector, wide or long, or a folder of "
    "results of TimeEval or TSB-AD. --metrics names them where no column does, --score the value column of a long "
    "table or the detectors of a wide one.",
    metavar="TABLE_OR_DIR",
)
@options.option("-o --output folder", "Write all tables here.", type=_FOLDER, metavar="DIR")
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@options.rank_by
@options.workers
@options.option("--dask", "Compute on a Dask cluster, for example tcp://host:8786.", metavar="ADDRESS")
@options.option("--cache", "Finished work is kept here; by default in the output's cache.", type=_FOLDER, metavar="DIR")
@options.option("--keep-going", "Leave out what cannot be read, evaluate the rest, and exit with 1.", is_flag=True)
@options.option(
    "--event-draws",
    "Resamples of events for the limits of a single series; 0 skips them. By default 200, for up to 1,000 detectors.",
    type=options.AT_LEAST_0,
)
@options.doubt
@options.option("--report", "Write the report, an HTML page, here (see `pateval report`).", metavar="FILE|DIR/")
@output.overwrite
@output.format_option
@output.wide_option
@options.display
def leaderboard(
    files: tuple[str, ...],
    results: str | None,
    folder: Path | None,
    columns: dict[str, Any],
    parameters: dict[str, Any],
    rank_by: str | None,
    cache: Path | None,
    report: str | None,
    overwrite: bool,
    style: str,
    wide: bool,
    display: tuple[str, ...],
    **work: Any,
) -> None:
    """Say who is better on many series, by how much, and whether that is evidence.

    FILE is a table by suffix (see `pateval --help`), a glob, a folder, or a partitioned folder: one file per detector
    (named by the file), one score column per detector, or a detector column.

    The overview goes to standard output; DIR gets scores.parquet, scores.csv, summary.csv, ranks.csv, agreement.csv,
    significance.json, chance.parquet, timings.csv and run.json. A run that was interrupted goes on where it was when it
    is started again. A DIR that holds anything else, or a leaderboard of other files, of other options, or with metrics
    or rows that this one would lack, is not written to without --overwrite. The exit status is 1 where something was
    left out or failed.
    """
    names = options.display_names(display)
    if (results is None) == (not files):
        raise click.UsageError("name files of scores, or one table of values with --from-results")
    if report is not None:
        _refuse_page(report, overwrite, option="--report")
    inputs = files if results is None else (results,)
    if folder is not None:
        _refuse_other_content(folder, inputs, overwrite=overwrite)
        cache = folder / "cache" if cache is None else cache
    if results is not None:
        board = _from_results(results, columns, parameters["metrics"], rank_by)
    else:
        try:
            board = _computed(
                files, columns, parameters, cache=cache, output=folder, overwrite=overwrite, rank_by=rank_by, **work
            )
        except KeyboardInterrupt:
            if cache is not None:
                tell(f"stopped; the same command goes on from what is in {cache}")
            raise
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
        tell_all((*board.failures, *board.warnings))
    # Printed before the files are written: a disk that is full takes no answer away.
    width = None if wide else TERMINAL_WIDTH
    say(board.to_latex(names=names) if style == "latex" else board.rendered(style, width), style)
    if folder is not None:
        board.save(folder, overwrite=overwrite)
    if report is not None:
        title = folder.resolve().name if folder is not None else _title_of(inputs)
        tell(f"report: {board.to_report(report, title=title).sentence()}")
    if board.failures:
        raise click.exceptions.Exit(1)


def _computed(
    files: tuple[str, ...],
    columns: dict[str, Any],
    parameters: dict[str, Any],
    *,
    cache: Path | None,
    doubt: int | str | None,
    event_draws: int | None,
    dask: str | None,
    workers: int | None,
    **others: Any,
) -> Leaderboard:
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading
    from pateval.leaderboards.run import choose, make_board

    is_named = options.names_metrics(parameters["metrics"])
    settings = choose(Measures.of(**parameters), is_named=is_named, cache=cache, event_draws=event_draws, doubt=doubt)
    with ExitStack() as stack:
        executor, threads = (None, None) if dask is None else _cluster(dask, stack)
        others |= {"executor": executor, "workers": workers or threads}
        return make_board(files, Reading(**columns), settings, progress=True, tell=tell, **others)


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
    tell_all((*board.notes, *board.warnings))
    return board


def _refuse_other_content(folder: Path, files: Sequence[str], *, overwrite: bool) -> None:
    """Refuse a folder with things that are no leaderboard, or the leaderboard of other files."""
    import json

    from pateval.io import expand
    from pateval.leaderboards.board_files import OUTPUTS, RUN
    from pateval.leaderboards.progress import FOLDER as PARTIAL

    if overwrite or not folder.is_dir():
        return
    there = sorted(path.name for path in folder.iterdir() if not path.name.endswith(".tmp"))
    unfinished = {"cache", PARTIAL}
    begun = {RUN, *unfinished}.intersection(there)
    foreign = [name for name in there if not begun or name not in {*OUTPUTS, *unfinished, "report.html"}]
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise click.UsageError(
            f"-o {folder}: the folder holds other things ({foreign[0]}{more}); name another one, or use --overwrite to "
            "write into it all the same"
        )
    try:
        inputs = json.loads((folder / RUN).read_text(encoding="utf-8"))["inputs"]
        known = {Path(path).resolve() for path in inputs}
    except (OSError, ValueError, KeyError, TypeError):
        return
    if known and known.isdisjoint(Path(path).resolve() for path in expand(files)):
        more = f" and {len(inputs) - 1} more" if len(inputs) > 1 else ""
        raise click.UsageError(
            f"-o {folder}: the folder holds a leaderboard of other files ({inputs[0]}{more}); name another one, or use "
            "--overwrite to replace it"
        )


@options.command("verify")
@click.argument("folder", type=_FOLDER, metavar="DIR")
@options.option("--all", "Compute every value again, and not a sample.", is_flag=True)
@options.option(
    "--sample",
    "Pairs of a detector and a series that are computed again.",
    type=options.AT_LEAST_1,
    default=200,
    metavar="N",
)
@options.seed
@options.workers
@options.option("--format style", "How to print the result.", type=click.Choice(["table", "json"]), default="table")
def verify(folder: Path, style: str, **choice: Any) -> None:
    """Compute a leaderboard again from the files it names, some values or all, and compare.

    DIR is what 'pateval leaderboard ... -o DIR' wrote. Values, chance, signatures and the digests of the inputs are
    compared with what the inputs give; means, ranks, groups, tests and agreement with what the values give. Moved
    labels are computed again with --all only. The cache is not looked at. The exit status is 1 where
    something does not agree.
    """
    from pateval.leaderboards.verification import verify

    found = verify(folder, progress=True, **choice)
    say(found.to_json() if style == "json" else repr(found), style)
    if not found.agrees:
        raise click.exceptions.Exit(1)


@options.command(
    "report",
    "pateval report board -o board.html",
    "pateval report mine.csv --score lstm,pca",
)
@click.argument("files", nargs=-1, required=True, metavar="DIR|FILE...")
@options.option(
    "-o --output path",
    "The page; a name that ends in a slash becomes a folder with a data file per series.",
    default="report.html",
    metavar="FILE|DIR/",
)
@output.overwrite
@options.option(
    "--budget",
    "Size of the page; timelines that do not fit are left out, first where detectors differ least.",
    type=click.FloatRange(min=0, min_open=True),
    default=25.0,
    metavar="MB",
)
@options.option("--title", "What to call it; by default the name of the folder or file.")
@options.columns
@options.measures(options.chance, options.seed)
@options.rank_by
@options.workers
@options.doubt
def report(
    files: tuple[str, ...],
    path: str,
    overwrite: bool,
    budget: float,
    title: str | None,
    columns: dict[str, Any],
    parameters: dict[str, Any],
    **others: Any,
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
    _refuse_page(path, overwrite)
    if is_board:
        _refuse_what_is_computed()
        written = report_of_folder(files[0], path, budget=budget, title=title)
    else:
        board = leaderboard(list(files), **columns, **parameters, **others, progress=True)
        tell_all((*board.notes, *board.failures, *board.warnings))
        written = report_of_board(board, path, budget=budget, title=title or _title_of(files))
    tell_all(f"left out to keep within {budget:g} MB: {name}" for name in written.left_out[:10])
    if len(written.left_out) > 10:
        tell(f"... and {len(written.left_out) - 10} more; -o DIR/ writes all of them")
    tell_all(f"no timeline, since its input is gone or has changed: {name}" for name in written.missing[:10])
    say(written.sentence())


def _title_of(files: tuple[str, ...]) -> str:
    """What to call the leaderboard of some files."""
    return Path(files[0]).stem if len(files) == 1 else "Leaderboard"


def _refuse_what_is_computed() -> None:
    """Refuse options that would change numbers which are computed already."""
    about_the_page = {"files", "path", "overwrite", "budget", "title"}
    for parameter in click.get_current_context().command.params:
        if parameter.name not in about_the_page and options.was_given(str(parameter.name)):
            raise click.UsageError(
                f"{parameter.opts[0]} is for score files; the numbers of a leaderboard's folder are computed already"
            )


def _refuse_page(path: str, overwrite: bool, option: str = "-o") -> None:
    """Refuse a place that cannot or should not be written, before anything is computed."""
    is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
    page = Path(path) / "index.html" if is_folder else Path(path)
    if page.exists() and not overwrite:
        raise click.UsageError(f"{option} {path}: {page} is there already; --overwrite replaces it")
    if not is_folder and not page.parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {page.parent}")
