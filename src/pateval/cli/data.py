"""``pateval data`` and ``check``: which data sets there are, how to get them, and whether they are worth it."""

from __future__ import annotations

from typing import Any

import click

from pateval.cli import options
from pateval.cli.messages import console, for_terminal, progress_bar, say
from pateval.cli.options import option, root
from pateval.cli.output import Output, result_options


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
def list_datasets(root: str | None, result: Output) -> None:
    """List the known data sets, with their published sizes, whether they are here, and what is missing of them."""
    from pathlib import Path

    from pateval.datasets import data_root, find_contents, info, missing
    from pateval.output.text_table import folded, render

    place = Path(root) if root else data_root()
    rows = []
    for known in info():
        found = find_contents(known, place)
        absent = "" if found is None else missing(known, found)
        here = "no" if found is None else "in part" if absent else "yes"
        fields = (known.name, known.series, known.features, known.train, known.test, known.anomalies, known.licence)
        rows.append((*fields, here, absent))
    names = ("name", "series", "features", "train rows", "test rows", "anomalies", "licence", "here", "missing")
    shown = ("name", "series", "features", "test rows", "anomalies", "here")
    places = [names.index(name) for name in shown]

    def text(style: str, width: int | None) -> str:
        if style != "table" or width is None:
            return render(names, rows, style)
        absent = [folded(f"{row[0]} is here in part: {row[-1]}", width) for row in rows if row[-1]]
        table = render(shown, [[row[place] for place in places] for row in rows], width=width)
        return "\n".join([table, *([""] if absent else []), *absent])

    result.emit(text)


@command.command(name="info")
@click.argument("name")
@result_options
def describe(name: str, result: Output) -> None:
    """Describe one data set: licence, citation, origin, published sizes, where it is fetched from."""
    import json

    from pateval.datasets import info
    from pateval.output.text_table import hanging, render

    (known,) = info(name)
    names = {"citation": "cite", "train": "train rows", "test": "test rows"}
    fields = (
        "name",
        "title",
        "licence",
        "citation",
        "origin",
        "series",
        "features",
        "train",
        "test",
        "anomalies",
        "note",
    )
    facts = {names.get(field, field): getattr(known, field) for field in fields}
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


@command.command(name="fetch")
@click.argument("name")
@option("--to", "Folder to keep data sets in; NAME goes below it.", type=click.Path(file_okay=False), metavar="DIR")
@option("--timeout", "Seconds without data before giving up.", type=float, default=30.0)
def fetch_dataset(name: str, to: str | None, timeout: float) -> None:
    """Download a data set, check it, unpack it.

    The licence is shown first. A download that broke off goes on where it stopped; what is here and whole is not
    fetched again.
    """
    from pathlib import Path

    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from pateval.datasets import data_root, info
    from pateval.datasets.fetch import fetch

    (known,) = info(name)
    folder = (Path(to) if to else data_root()) / (known.home or known.folders[0])
    where = console()
    shown = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("{task.description}"), *shown, console=where, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def progress(url: str, done: int, total: int | None) -> None:
            if url not in tasks:
                tasks[url] = bars.add_task(url.rsplit("/", 1)[-1], total=total)
            bars.update(tasks[url], completed=done, total=total)

        def tell(line: str) -> None:
            where.print(for_terminal(line), markup=False)

        fetch(known, folder, timeout=timeout, tell=tell, progress=progress)
    say(str(folder))


@options.command("check")
@click.argument("data", nargs=-1, required=True, metavar="DATA...")
@root
@result_options
def check(data: tuple[str, ...], root: str | None, result: Output) -> None:
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
