"""Leaderboards: made, checked, shown (``leaderboard``, ``verify``, ``report``), put together and kept (``board``)."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options, output
from pateval.cli.options import FOLDER, Files, Given, option
from pateval.cli.output import Output, say, tell, tell_all
from pateval.output.text_table import TERMINAL_WIDTH

if TYPE_CHECKING:
    from pateval.leaderboards import Leaderboard

# Options that need the scores of all detectors, and others that are for the detectors of FILE.
_OF_SCORES = ("pooled", "chance", "event_draws", "doubt", "one_liners")
_OF_FILES = ("early", "delay", "window", "threshold", "max_gap", "missing", "seed")
# Options that a leaderboard has been computed with, and that hold for what is added to it.
_OF_BOARD = ("results", "rank_by", *_OF_SCORES, *_OF_FILES)
_OF_PAGE = ("files", "path", "overwrite", "budget", "title", "control", "by")  # of a report


@options.command(
    "leaderboard",
    "pateval leaderboard scores/*.parquet -o board --report board.html",
    "pateval leaderboard scores/ --metrics pate_ap,vus_pr --format latex > t.tex",
)
@click.argument("files", nargs=-1, metavar="FILE...")
@option(
    "--from-results=TABLE|DIR|NAME results",
    "Rank values that were computed elsewhere: series x detector, wide or long, a folder of results of TimeEval or "
    "TSB-AD, or a published table by name (`pateval data results list`). --metrics names them where no column does, "
    "--score the value column of a long table or the detectors of a wide one. The detectors of FILE, and of further "
    "tables, are set beside those of the first.",
    multiple=True,
)
@option(
    "--add-to=BOARD base",
    "Put FILE beside what the leaderboard in BOARD holds, computed as that was, with no other files at hand; written "
    "there, or to -o.",
    type=FOLDER,
)
@option("-o --output=DIR folder", "Write all tables here.", type=FOLDER)
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@options.rank_by
@options.control
@options.by_kind
@options.one_liners
@options.workers
@options.dask
@option("--cache=DIR", "Finished work is kept here; by default in the output's cache.", type=FOLDER)
@option("--keep-going", "Leave out what cannot be read, evaluate the rest, and exit with 1.", is_flag=True)
@option(
    "--event-draws=N",
    "Resamples of events for the limits of a single series; 0 skips them. By default 200, for up to 1,000 detectors.",
    type=options.AT_LEAST_0,
)
@options.doubt
@option("--report=FILE|DIR/", "Write the report, an HTML page, here (see `pateval report`).")
@output.overwrite
@output.shown_options
@options.display
def leaderboard(
    files: Files,
    results: Files,
    base: Path | None,
    folder: Path | None,
    columns: Given,
    parameters: Given,
    by: str | None,
    report: str | None,
    overwrite: bool,
    result: Output,
    names: dict[str, str],
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
    from pateval.io import expand
    from pateval.leaderboards.board_files import other_content

    if not results and not files:
        raise click.UsageError("name files of scores, or one table of values with --from-results")
    if by is not None and result.style in ("csv", "latex"):
        raise click.UsageError("--kinds is printed as a table, in Markdown or in JSON; choose one with --format")
    if report is not None:
        _refuse_page(report, overwrite, option="--report")
    if results and base is None:
        _refuse_options("needs scores of all detectors, which --from-results does not have", _OF_SCORES)
        if not files:
            _refuse_options("is for detectors of FILE; the values of --from-results are computed already", _OF_FILES)
    tables = [_published(table) for table in results]
    inputs = (*files, *tables)
    if base is not None:
        _refuse_options(f"is that of the leaderboard in {base}, with --add-to", _OF_BOARD)
        folder = folder or base
    if folder is not None:
        if folder != base and not overwrite and (held := other_content(folder, expand(inputs))):
            raise click.UsageError(f"-o {folder}: the folder holds {held}")
        work["cache"] = work["cache"] or folder / "cache"
    try:
        if tables:
            board = _from_results(tables, files, columns, parameters, **work)
        else:
            board = _computed(files, columns, parameters, base=base, output=folder, overwrite=overwrite, **work)
    except KeyboardInterrupt:
        if work["cache"] is not None:
            tell(f"stopped; the same command goes on from what is in {work['cache']}")
        raise
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error

    def text(style: str, width: int | None) -> str:
        if style == "latex":
            return board.to_latex(names=names)
        if by is None:
            return board.rendered(style, width)
        kinds = board.by_kind(by)
        if style == "json":
            return json.dumps(board.to_dict() | {"kinds": kinds.to_dict()}, indent=1, ensure_ascii=False)
        return f"{board.rendered(style, width)}\n\n{kinds.rendered(style, width)}"

    result.emit(text)  # before the files are written: a disk that is full takes no answer away
    if folder is not None:
        board.save(folder, overwrite=overwrite or folder == base)
    if report is not None:
        title = folder.resolve().name if folder is not None else _title_of(inputs)
        tell(f"report: {board.to_report(report, title=title, by=by).sentence()}")
    if board.failures:
        raise click.exceptions.Exit(1)


def _computed(
    files: Files,
    columns: Given,
    parameters: Given,
    *,
    dask: str | None = None,
    workers: int | None,
    base: Path | None = None,
    rank_by: str | None = None,
    cache: Path | None = None,
    event_draws: int | None = None,
    doubt: int | str | None = None,
    **others: Any,
) -> Leaderboard:
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading
    from pateval.leaderboards.growth import grow
    from pateval.leaderboards.run import make_board
    from pateval.leaderboards.tasks import Settings

    reading, metrics = Reading(**columns), parameters["metrics"]
    with place_of_work(dask, workers) as place:
        others |= place | {"progress": True, "tell": tell}
        if base is not None:
            board = grow(base, files, reading, metrics=metrics, cache=cache, **others)
        else:
            how: Given = {"cache": cache, "event_draws": event_draws, "doubt": doubt, "rank_by": rank_by}
            settings = Settings.of(Measures.of(**parameters), is_named=options.names_metrics(metrics), **how)
            board = make_board(files, reading, settings, **others)
    tell_all((*board.failures, *board.warnings))
    return board


def _refuse_options(why: str, names: Collection[str]) -> None:
    """Refuse options that would do nothing, or compute what is added otherwise than what is there."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and options.was_given(str(parameter.name)):
            raise click.UsageError(f"{parameter.opts[0]} {why}")


@contextmanager
def place_of_work(dask: str | None, workers: int | None) -> Iterator[Given]:
    """Connect to a Dask scheduler where one is named; give executor and workers, as functions take them."""
    if dask is None:
        yield {"executor": None, "workers": workers}
        return
    try:
        from distributed import Client
    except ImportError:
        raise click.UsageError("--dask needs the extra `dask`: pip install 'pateval[dask]'") from None
    try:
        client = Client(dask, set_as_default=False, timeout="10s")  # type: ignore[no-untyped-call]  # not annotated
    except (OSError, ValueError) as error:
        raise click.UsageError(f"no Dask scheduler answers at {dask} ({type(error).__name__})") from None
    with client:
        executor, threads = client.get_executor(), client.nthreads()  # type: ignore[no-untyped-call]  # likewise
        yield {"executor": executor, "workers": workers or max(1, sum(threads.values()))}


def _published(table: str) -> str:
    """Return the file of a published table that is known by name, and say whose numbers they are; a path as it is."""
    from pateval.datasets import data_root, published

    known = published(table)
    if Path(table).exists() or known is None:
        return table
    path = known.path(data_root())
    if not path.is_file():
        how = f"get it with 'pateval data results fetch {known.name}'"
        raise click.UsageError(f"the results {known.name} are not in {path.parent}: {how}")
    tell(f"{known.name}: {known.title}, from {known.origin}; {known.note}")
    return str(path)


def _from_results(
    tables: Sequence[str],
    files: Files,
    columns: Given,
    parameters: Given,
    *,
    rank_by: str | None,
    control: str | None,
    **work: Any,
) -> Leaderboard:
    """Read tables of values, set the others and the detectors of files beside the first, and say what was guessed."""
    from pateval.leaderboards.given_results import leaderboard_from_results

    metrics, beside = parameters["metrics"], []
    if files:
        metrics = metrics or list(leaderboard_from_results(tables[0]).metrics)
        # Chance, events and labels in doubt are beyond what can be set beside given values.
        work |= {"event_draws": 0, "doubt": None, "one_liners": False}
        beside = [_computed(files, columns, {**parameters, "metrics": metrics, "chance": 0}, **work)]
        columns, metrics = dict.fromkeys(columns), None
    if metrics is not None and len(metrics) > 1:
        raise click.UsageError("--from-results: several metrics need a metric column in the table; name one at most")
    score, is_long = columns["score"], columns["detector"] is not None
    metric = metrics[0] if metrics else None
    chosen = options.chosen(columns, "series detector")
    if is_long:
        chosen["value"] = score if isinstance(score, str) else None
    else:
        chosen["detectors"] = [score] if isinstance(score, str) else score
    # A folder beside a table names its metrics itself.
    others = [
        leaderboard_from_results(table, metric=None if Path(table).is_dir() else metric, **chosen)
        for table in tables[1:]
    ]
    board = leaderboard_from_results(tables[0], metric=metric, **chosen, rank_by=rank_by, beside=[*others, *beside])
    told = {line for other in beside for line in other.notes}
    tell_all((*(line for line in board.notes if line not in told), *board.warnings))
    return board if control is None else board.against(control)


@options.command("verify")
@click.argument("folder", type=FOLDER, metavar="DIR")
@option("--all", "Compute every value again, and not a sample.", is_flag=True)
@option("--sample=N", "Pairs of a detector and a series that are computed again.", type=options.AT_LEAST_1, default=200)
@options.seed
@options.workers
@option("--format style", "How to print the result.", type=click.Choice(["table", "json"]), default="table")
def verify(folder: Path, style: str, **choice: Any) -> None:
    """Compute a leaderboard again from the files it names, some values or all, and compare.

    DIR is what 'pateval leaderboard ... -o DIR' wrote. Values, chance, signatures and the digests of the inputs are
    compared with what the inputs give; means, ranks, groups, tests and agreement with what the values give. Moved
    labels are computed again with --all only. The cache is not looked at. The exit status is 1 where
    something does not agree.
    """
    from pateval.leaderboards.verification import verify

    verification = verify(folder, progress=True, **choice)
    say(verification.to_json() if style == "json" else repr(verification), style)
    if not verification.agrees:
        raise click.exceptions.Exit(1)


@options.command("report", "pateval report board -o board.html", "pateval report mine.csv --score lstm,pca")
@click.argument("files", nargs=-1, required=True, metavar="DIR|FILE...")
@option(
    "-o --output=FILE|DIR/ path",
    "The page; a name that ends in a slash becomes a folder with a data file per series.",
    default="report.html",
)
@output.overwrite
@option(
    "--budget=MB",
    "Size of the page; timelines that do not fit are left out, first where detectors differ least.",
    type=click.FloatRange(min=0, min_open=True),
    default=25.0,
)
@option("--title", "What to call it; by default the name of the folder or file.")
@options.columns
@options.measures(options.chance, options.seed)
@options.rank_by
@options.control
@options.by_kind
@options.workers
@options.doubt
def report(
    files: Files,
    path: str,
    overwrite: bool,
    budget: float,
    title: str | None,
    columns: Given,
    parameters: Given,
    control: str | None,
    by: str | None,
    **others: Any,
) -> None:
    """Write a page in which every number of a leaderboard can be opened up to the events behind it.

    DIR is what 'pateval leaderboard ... -o DIR' wrote; its inputs are read again and checked to be the same. With score
    files instead the leaderboard is computed first; the options from --label on are for these.

    The page needs no network and no server, and can be sent as it is.
    """
    from pateval.io import expand, open_table
    from pateval.io.content import STANDARD_INPUT
    from pateval.report import report_of_folder

    is_board = len(files) == 1 and (Path(files[0]) / "run.json").is_file()
    for file in () if is_board else expand(files):
        if not file.is_file() and str(file) != STANDARD_INPUT:
            open_table(file)  # says what is wrong with it, before anything is said about the page
    _refuse_page(path, overwrite)
    if is_board:
        about_numbers = click.get_current_context().params.keys() - set(_OF_PAGE)
        _refuse_options("is for score files; the numbers of a leaderboard's folder are computed already", about_numbers)
        written = report_of_folder(files[0], path, budget=budget, title=title, control=control, by=by)
    else:
        board = _computed(files, columns, parameters, control=control, **others)
        written = board.to_report(path, budget=budget, title=title or _title_of(files), by=by)
    tell_all(f"left out to keep within {budget:g} MB: {name}" for name in written.left_out[:10])
    if len(written.left_out) > 10:
        tell(f"... and {len(written.left_out) - 10} more; -o DIR/ writes all of them")
    tell_all(f"no timeline, since its input is gone or has changed: {name}" for name in written.missing[:10])
    say(written.sentence())


def _title_of(files: Files) -> str:
    """What to call the leaderboard of some files."""
    return Path(files[0]).stem if len(files) == 1 else "Leaderboard"


def _refuse_page(path: str, overwrite: bool, option: str = "-o") -> None:
    """Refuse a place that cannot or should not be written, before anything is computed."""
    is_folder = path.endswith(("/", os.sep)) or Path(path).is_dir()
    page = Path(path) / "index.html" if is_folder else Path(path)
    if page.exists() and not overwrite:
        raise click.UsageError(f"{option} {path}: {page} is there already; --overwrite replaces it")
    if not is_folder and not page.parent.is_dir():
        raise click.UsageError(f"{option} {path}: there is no folder {page.parent}")


_LABELS = option("--labels=FOLDER", "Labels in a folder of their own, a file for each series.", type=FOLDER)


@click.group(name="board", invoke_without_command=True)
@click.pass_context
def board(context: click.Context) -> None:
    """Put leaderboards together, and keep one that others add to."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@options.command("merge", "pateval board merge mine theirs -o both", of=board)
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


@options.command("check", "pateval board check entries/acme --against site/board", of=board)
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

    problems = list(problems_of(entry))
    if not problems and against is not None:
        from pateval.leaderboards import Leaderboard

        problems += objections(entry, Leaderboard.load(against), labels)
    if not problems and data is not None:
        from pateval.datasets import load

        said = read_entry(entry)
        if said.causal and said.detector:
            problems += look_ahead(said, load(data))
    for line in problems:
        say(line)
    if problems:
        raise click.exceptions.Exit(1)
    tell(f"{entry}: nothing is wrong with it")


@options.command("build", "pateval board build entries -o site --metrics pate_ap,vus_pr", of=board)
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
    day: datetime | None,
    parameters: Given,
    workers: int | None,
    dask: str | None,
    **others: Any,
) -> None:
    """Evaluate all entries of a folder, and write board, report, history and a page for each entry.

    What is known already comes from the cache, and a build that was killed goes on when it is started again. Where an
    entry, or what was built before, has something wrong with it, nothing is written but the cache.
    """
    from pateval.entries import build

    with place_of_work(dask, workers) as place:
        built = build(entries, site, day=day and day.date(), progress=True, **others, **place, **parameters)
    tell_all((*built.board.failures, *built.board.warnings))
    news = built.news or {"entered": [], "left": [], "changed": []}
    counts = (f"{len(news['entered'])} came", f"{len(news['left'])} left", f"{len(news['changed'])} means changed")
    say(f"{site / 'index.html'}: {len(built.board.detectors)} entries; {', '.join(counts)}")
