"""``pateval data``: which data sets there are, what they are, and how to get them."""

from __future__ import annotations

import click

from pateval.cli.messages import for_terminal
from pateval.cli.output import Output, result_options


@click.group(name="data", invoke_without_command=True, short_help="List, describe and fetch the public data sets.")
@click.pass_context
def command(context: click.Context) -> None:
    """List, describe and fetch the public data sets.

    They are kept in the folder named by PATEVAL_DATA, or in the user's cache folder.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command.command(name="list", short_help="All known data sets.")
@click.option("--root", type=click.Path(file_okay=False), help="Folder the data sets are kept in.")
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


@command.command(name="info", short_help="Licence, citation, origin and sizes of one data set.")
@click.argument("name")
@result_options
def describe(name: str, result: Output) -> None:
    """Describe one data set: licence, citation, origin, published sizes, where it is fetched from."""
    import json

    from pateval.datasets import info
    from pateval.output.text_table import hanging, render

    (known,) = info(name)
    facts = {
        "name": known.name,
        "title": known.title,
        "licence": known.licence,
        "cite": known.citation,
        "origin": known.origin,
        "series": known.series,
        "features": known.features,
        "train rows": known.train,
        "test rows": known.test,
        "anomalies": known.anomalies,
        "note": known.note,
    }
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


@command.command(name="fetch", short_help="Download a data set, check it, unpack it.")
@click.argument("name")
@click.option("--to", type=click.Path(file_okay=False), help="Folder to keep data sets in; NAME goes below it.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds without data before giving up.")
def fetch_dataset(name: str, to: str | None, timeout: float) -> None:
    """Download a data set, check it, unpack it.

    The licence is shown first. A download that broke off goes on where it stopped; what is here and whole is not
    fetched again.
    """
    from pathlib import Path

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from pateval.datasets import data_root, info
    from pateval.datasets.fetch import fetch

    (known,) = info(name)
    folder = (Path(to) if to else data_root()) / (known.home or known.folders[0])
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, object] = {}

        def progress(url: str, done: int, total: int | None) -> None:
            if url not in tasks:
                tasks[url] = bars.add_task(url.rsplit("/", 1)[-1], total=total)
            bars.update(tasks[url], completed=done, total=total)  # type: ignore[arg-type]  # rich's own id

        fetch(
            known,
            folder,
            timeout=timeout,
            tell=lambda line: console.print(for_terminal(line), markup=False),
            progress=progress,
        )
    click.echo(str(folder))
