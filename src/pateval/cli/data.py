"""``pateval demo``, ``data`` and ``check``: made series, public ones, and whether they are worth it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pateval.cli import options
from pateval.cli.options import AT_LEAST_0, FOLDER, Files, option, root
from pateval.cli.output import Output, console, for_terminal, progress_bar, result_options, say, tell
from pateval.output.progress import download_progress
from pateval.output.text_table import folded, hanging, render

if TYPE_CHECKING:
    from pateval.datasets import Dataset, Published


@options.command("demo")
@option("--seed=N", "Seed of the made series.", type=AT_LEAST_0, default=0)
@option("--report=FILE", "Write the report of the demo, an HTML page, here.", type=click.Path())
@option("--save=DIR", "Write series and scores here, as CSV.", type=click.Path(file_okay=False))
@result_options
def demo(seed: int, report: str | None, save: str | None, result: Output) -> None:
    """Evaluate simple detectors on made series: rhythm, drift, noise, and five kinds of events."""
    from pateval import demo as made

    tell(
        f"making {made.SERIES} series of {made.STEPS:,} steps with {made.EVENTS} events each; buffers {made.BUFFER} "
        f"steps, VUS window {made.PERIOD}"
    )
    evaluated = made.run_demo(seed)

    def text(style: str, width: int | None) -> str:
        fits = width is None or style != "table"
        table = render(*(evaluated.rows() if fits else evaluated.rows(made.FEW_METRICS)), style, width=width)
        sentences = [folded(sentence, width) for sentence in made.what_to_see(evaluated)]
        return "\n".join([table, "", *sentences]) if style == "table" else table

    result.emit(text)
    if save is not None:
        files = made.save_files(save, seed)
        tell(f"wrote {len(files)} files; the same numbers from them: {made.command_for(save)}")
    elif result.style == "table":
        tell("to try the other commands on these series: pateval demo --save demo")
    if report is not None:
        written = made.demo_board(seed).to_report(report, title="pateval demo")
        tell(f"report: {written.sentence()}")


@click.group(name="data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List, describe and fetch the public data sets.

    They are kept in the folder named by PATEVAL_DATA, or in the user's cache folder.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command(name="list")
@root
@result_options
def list_datasets(root: Path | None, result: Output) -> None:
    """List the known data sets, with their published sizes, whether they are here, and what is missing of them."""
    from pateval.datasets import data_root, find_contents, info, missing

    names = {"train": "train rows", "test": "test rows"}
    rows = []
    for known in info():
        contents = find_contents(known, root or data_root())
        absent = "" if contents is None else missing(known, contents)
        here = "no" if contents is None else "in part" if absent else "yes"
        fields = ("name", "series", "features", "train", "test", "anomalies", "licence")
        row = {names.get(field, field): getattr(known, field) for field in fields}
        rows.append(row | {"here": here, "missing": absent})

    def text(style: str, width: int | None) -> str:
        if style != "table" or width is None:
            return render(list(rows[0]), [list(row.values()) for row in rows], style)
        shown = ("name", "series", "features", "test rows", "anomalies", "here")
        absent = [folded(f"{row['name']} is here in part: {row['missing']}", width) for row in rows if row["missing"]]
        table = render(shown, [[row[name] for name in shown] for row in rows], width=width)
        return "\n".join([table, *([""] if absent else []), *absent])

    result.emit(text)


@command.command(name="info")
@click.argument("name")
@result_options
def describe(name: str, result: Output) -> None:
    """Describe one data set: licence, citation, origin, published sizes, where it is fetched from."""
    from pateval.datasets import info

    (known,) = info(name)
    names = {"citation": "cite", "train": "train rows", "test": "test rows"}
    fields = "name title licence citation origin series features train test anomalies note"
    facts = {names.get(field, field): getattr(known, field) for field in fields.split()}
    downloads = [
        {"url": mirror.url, "sha256": download.sha256 or "not known: trusted on first use"}
        for download in known.downloads
        for mirror in download.mirrors
    ]
    lines = [(key, str(value)) for key, value in facts.items() if value]
    lines += [("from", f"{download['url']} (sha256 {download['sha256']})") for download in downloads]

    def text(style: str, width: int | None) -> str:
        if style == "json":
            return json.dumps({**facts, "downloads": downloads}, indent=1)
        if style == "table":
            return "\n".join(hanging(f"{key + ':':<12}", value, width) for key, value in lines)
        return render(("fact", "value"), lines, style)

    result.emit(text)


_TO = option("--to=DIR", "Folder to keep data in; NAME goes below it.", type=FOLDER)
_TIMEOUT = option("--timeout=SECONDS", "Seconds without data before giving up.", type=float, default=30.0)


@command.command(name="fetch")
@click.argument("name")
@_TO
@_TIMEOUT
def fetch_dataset(name: str, to: Path | None, timeout: float) -> None:
    """Download a data set, check it, unpack it.

    The licence is shown first. A download that broke off goes on where it stopped; what is here and whole is not
    fetched again.
    """
    from pateval.datasets import data_root, info

    (known,) = info(name)
    folder = (to or data_root()) / (known.home or known.folders[0])
    _fetch(known, folder, timeout)
    say(str(folder))


def _fetch(known: Dataset | Published, folder: Path, timeout: float) -> None:
    """Download with a bar of progress for each file."""
    from pateval.datasets.fetch import fetch

    where = console()

    def tell_above_the_bars(line: str) -> None:
        where.print(for_terminal(line), markup=False)

    with download_progress(where) as progress:
        fetch(known, folder, timeout=timeout, tell=tell_above_the_bars, progress=progress)


@command.group()
def results() -> None:
    """List and fetch the tables of values that benchmarks have published.

    'pateval leaderboard mine.parquet --from-results NAME' sets your own detectors beside theirs.
    """


@results.command(name="list")
@root
@result_options
def list_results(root: Path | None, result: Output) -> None:
    """List the published tables, and whether they are here."""
    from pateval.datasets import PUBLISHED, data_root

    names = ("name", "metric", "detectors", "series", "here", "origin")
    rows = []
    for known in PUBLISHED:
        here = "yes" if known.path(root or data_root()).is_file() else "no"
        rows.append((known.name, known.metric, known.detectors, known.series, here, known.origin))
    result.emit(lambda style, width: render(names, rows, style, width=width))


@results.command(name="fetch")
@click.argument("name")
@_TO
@_TIMEOUT
def fetch_results(name: str, to: Path | None, timeout: float) -> None:
    """Download a published table and check it; what is here and whole is not fetched again."""
    from pateval.datasets import PUBLISHED, data_root, published

    known = published(name)
    if known is None:
        names = ", ".join(table.name for table in PUBLISHED)
        raise ValueError(f"there are no published results {name!r}; known are {names}")
    path = known.path(to or data_root())
    _fetch(known, path.parent, timeout)
    say(str(path))


@options.command("check")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@root
@result_options
def check(data: Files, root: Path | None, result: Output) -> None:
    """Look for what makes data worthless as a benchmark, each with a code, its figures and what to do.

    DATA is the name of a known data set ('pateval data list'), a folder, or a file with labels and recorded values.
    Found are events that a rule of one line finds, that crowd at the end, that are too dense, too close, or one that is
    most of the anomalies; labels that look shifted; series that occur twice; anomalies in the training stretch.

    --format csv lists the faults, json those and every series with the best rule of one line on it.
    """
    from pateval.checking import check

    with progress_bar("series checked") as progress:
        checked = check(data, root=root, progress=progress)
    result.emit(checked.rendered)
