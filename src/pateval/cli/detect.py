"""``pateval detect``: detectors on a data set, one score file each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pateval.datasets import Series
    from pateval.runner import Candidate


@click.command(name="detect", short_help="Run detectors on a data set and write score files.")
@click.argument("detectors", nargs=-1, metavar="DETECTOR...")
@click.option("--list", "listing", is_flag=True, help="List the detectors and stop.")
@click.option("--data", metavar="NAME_OR_DIR", help="A known data set ('pateval data list'), a folder, or a file.")
@click.option("--root", type=click.Path(file_okay=False), help="Folder the known data sets are kept in.")
@click.option("-o", "--output", type=click.Path(file_okay=False), help="Folder for the score files.")
@click.option("--seed", type=int, help="Seed of every detector that has one; its own default otherwise.")
@click.option("--device", help="cpu, cuda, cuda:1 ...; a GPU if there is one by default.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting; DETECTOR.KEY=VALUE for one only."
)
@click.option("--only", multiple=True, metavar="SERIES", help="Only this series; may be repeated.")
@click.option("--join", "joined", is_flag=True, help="Lay all series end to end and fit once, as the papers do.")
@click.option("--name", help="Call the score file this instead of the detector; for one detector.")
@click.option("--float32", "single", is_flag=True, help="Store scores as float32, half the size.")
@click.option("--overwrite", is_flag=True, help="Replace score files made with other settings.")
def command(
    detectors: tuple[str, ...],
    listing: bool,
    data: str | None,
    root: str | None,
    output: str | None,
    seed: int | None,
    device: str | None,
    settings: tuple[str, ...],
    only: tuple[str, ...],
    joined: bool,
    name: str | None,
    single: bool,
    overwrite: bool,
) -> None:
    """Run detectors on a data set and write one Parquet file of scores each.

    The files hold series, step, label and score, and are what 'pateval leaderboard' reads. A run that was interrupted
    goes on where it stopped; a detector that fails on one series does not stop the others, and the exit status is 1.

    Example: pateval detect random pca knn --data MSL -o scores
    """
    if listing:
        _list()
        return
    if not detectors:
        raise click.UsageError("name at least one detector ('pateval detect --list' shows them)")
    if data is None or output is None:
        raise click.UsageError("--data and -o are needed")
    if name is not None and len(detectors) > 1:
        raise click.UsageError("--name goes with one detector")
    from pateval.datasets import join, load

    candidates = _candidates(detectors, data, settings, seed, device, name)
    series = _chosen(load(data, root=root), only)
    if joined:
        series = [join(series, _title(data))]
    _run(candidates, series, output, single, overwrite)


def _list() -> None:
    from pateval.detectors import REGISTRY

    width = max(map(len, REGISTRY))
    for key, entry in REGISTRY.items():
        needs = f" (needs {entry.needs})" if entry.needs else ""
        click.echo(f"{key:<{width}}  {entry.about}{needs}")


def _candidates(
    detectors: Sequence[str], data: str, settings: Sequence[str], seed: int | None, device: str | None, name: str | None
) -> list[Candidate]:
    from pateval.detectors import REGISTRY
    from pateval.detectors.presets import dataset_settings
    from pateval.runner import candidate

    unknown = [each for each in detectors if each not in REGISTRY]
    if unknown:
        raise ValueError(f"unknown detector {unknown[0]!r}; there are {', '.join(REGISTRY)}")
    parsed = [_setting(each, detectors) for each in settings]
    chosen = []
    for each in dict.fromkeys(detectors):
        mine = {key: value for detector, key, value in parsed if detector in (None, each)}
        variant = mine.get("variant", "paper")
        preset = dataset_settings(each, _title(data), variant=variant) if variant in ("paper", "original") else {}
        added = {key: value for key, value in preset.items() if key not in mine}
        if added:
            shown = ", ".join(f"{key}={value}" for key, value in added.items())
            click.echo(f"{each}: settings of the papers for {_title(data)}: {shown}", err=True)
        chosen.append(candidate(each, name=name, seed=seed, device=device, settings={**added, **mine}))
    return chosen


def _setting(text: str, detectors: Sequence[str]) -> tuple[str | None, str, Any]:
    """Take ``DETECTOR.KEY=VALUE`` apart; values are Python literals, or text."""
    import ast

    left, equals, right = text.partition("=")
    detector, dot, key = left.rpartition(".")
    if not equals or not (key if dot else left).isidentifier():
        raise click.UsageError(f"--set takes KEY=VALUE or DETECTOR.KEY=VALUE; got {text!r}")
    if dot and detector not in detectors:
        raise click.UsageError(f"--set {text}: {detector!r} is not among the detectors to run")
    try:
        value = ast.literal_eval(right)
    except (ValueError, SyntaxError):
        value = {"true": True, "false": False, "none": None}.get(right.lower(), right)
    return detector or None, key if dot else left, value


def _chosen(series: list[Series], only: Sequence[str]) -> list[Series]:
    if not only:
        return series
    known = {each.name: each for each in series}
    missing = next((each for each in only if each not in known), None)
    if missing is not None:
        shown = ", ".join(list(known)[:12]) + (" ..." if len(known) > 12 else "")
        raise ValueError(f"there is no series {missing!r}; there are {shown}")
    return [known[each] for each in dict.fromkeys(only)]


def _title(data: str) -> str:
    """Return the data set's proper name, or the folder's."""
    from pathlib import Path

    from pateval.datasets import info

    try:
        return info(data)[0].name
    except ValueError:
        return Path(data).resolve().name.split(".")[0]


def _run(candidates: Sequence[Candidate], series: Sequence[Series], output: str, single: bool, overwrite: bool) -> None:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from pateval.runner import DetectionProgress, detect

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if any(each.train is None for each in series):
        console.print("no training stretch: detectors are fitted on the test stretch, without its labels", markup=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("detect", total=len(candidates) * len(series))

        def show(progress: DetectionProgress) -> None:
            note = f": {progress.message}" if progress.state == "training" else ""
            bars.update(task, completed=progress.done, description=f"{progress.detector} on {progress.series}{note}")
            if progress.state == "failed":
                console.print(f"{progress.detector} failed on {progress.series}: {progress.message}", markup=False)

        results = detect(candidates, series, output, single=single, overwrite=overwrite, show=show)
    for result in results:
        if result.path is not None:
            click.echo(str(result.path))
    failed = sum(len(result.failures) for result in results)
    if failed:
        pairs = len(candidates) * len(series)
        click.echo(f"{failed} of {pairs} pairs failed; the reasons are in {output}/failures.json", err=True)
        raise SystemExit(1)
