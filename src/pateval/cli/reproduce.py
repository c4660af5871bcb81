"""``pateval reproduce``: the tables and figures of the PATE paper, with the printed value beside ours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pateval.cli.messages import tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pateval.paper import ExperimentSettings

DEFAULT_FOLDER = "pateval-results"
_ALL = "all"
_PLACEHOLDERS = {"root": "FOLDER", "scores": "FOLDER", "ecg": "FILE", "authors_python": "PYTHON"}


@click.command("reproduce", short_help="The paper's tables and figures, printed value beside ours.")
@click.argument("name", required=False, metavar="[NAME|all]")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help=f"Where to write; {DEFAULT_FOLDER} in the current folder by default.",
)
@click.option("--root", type=click.Path(file_okay=False, path_type=Path), help="Folder the data sets are kept in.")
@click.option(
    "--scores",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Score files of trained detectors, DATASET/DETECTOR.parquet; those of a checkout by default.",
)
@click.option(
    "--ecg",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The paper's ECG segment, MBA_ECG14046_data_0, where you have it (real-world).",
)
@click.option(
    "--authors-python",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PYTHON",
    help="Python of an environment that has the authors' package, to time it too (timing).",
)
@click.option(
    "--largest",
    type=click.IntRange(min=1000),
    default=10_000_000,
    show_default=True,
    metavar="STEPS",
    help="Longest series that is timed (timing).",
)
@click.option(
    "--train",
    is_flag=True,
    help="First train what --scores FOLDER lacks: five detectors, both protocols, --seeds runs each (impact).",
)
@click.option("--device", metavar="DEVICE", help="Where to train: cpu or cuda; an accelerator if there is one.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Draws of what depends on chance; runs of each detector with --train.",
)
@click.option("--overwrite", is_flag=True, help="Write into DIR whatever it holds.")
def command(
    name: str | None,
    folder: Path | None,
    root: Path | None,
    scores: Path | None,
    ecg: Path | None,
    authors_python: Path | None,
    largest: int,
    train: bool,
    device: str | None,
    seeds: int,
    overwrite: bool,
) -> int:
    """Make a table or figure of the PATE paper again; without NAME, list what there is.

    Each experiment writes a folder below DIR: a page (README.md) with the printed value beside ours and every
    difference explained, tables as CSV, figures as PNG, and as SVG where that is small. DIR/README.md says over all of
    them what reproduces, what does in part, what does not, what cannot be had, and why. `all` makes everything, and
    says in a sentence what it skips for want of data.
    """
    from pateval.output.text_table import hanging
    from pateval.paper import EXPERIMENTS, ExperimentSettings

    if name is None:
        width = max(map(len, EXPERIMENTS))
        for experiment, entry in EXPERIMENTS.items():
            click.echo(hanging(f"{experiment.ljust(width)}  ", entry.about))
        click.echo(f"{_ALL.ljust(width)}  All of them.")
        return 0
    if name != _ALL and name not in EXPERIMENTS:
        import difflib

        close = difflib.get_close_matches(name, [*EXPERIMENTS, _ALL], n=1)
        hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join([*EXPERIMENTS, _ALL])}."
        raise click.UsageError(f"No such experiment '{name}'. {hint}")
    if train and name not in ("impact", _ALL):
        raise click.UsageError(f"--train belongs to impact; {name} trains nothing.")
    _require_matplotlib()
    _refuse_other_content(folder or Path(DEFAULT_FOLDER), EXPERIMENTS if name == _ALL else [name], overwrite=overwrite)
    if folder is None:
        folder = Path(DEFAULT_FOLDER)
        tell(f"writing to {folder}; choose another folder with -o")
    settings = ExperimentSettings(
        root=root,
        scores=scores,
        ecg=ecg,
        authors_python=authors_python,
        largest=largest,
        seeds=seeds,
        train=train,
        device=device,
        tell=tell,
    )
    if name != _ALL:
        _make(name, folder, settings)
        return 0
    return _make_all(folder, settings)


def _make_all(folder: Path, settings: ExperimentSettings) -> int:
    """Make every experiment; a failure is told and the rest goes on."""
    from pateval.paper import EXPERIMENTS, MissingInputError

    failed = 0
    for name in EXPERIMENTS:
        try:
            _make(name, folder, settings)
        except MissingInputError as missing:
            tell(f"{name} skipped: {missing}")
        except (ValueError, OSError, ImportError) as error:
            failed = 1
            tell(f"{name} failed: {error}")
    return failed


def _make(name: str, folder: Path, settings: ExperimentSettings) -> None:
    from pateval.paper import compute
    from pateval.paper.document import write

    started = time.perf_counter()
    made = compute(name, settings)
    pages = write(made, folder, command=_typed(name), started=started)
    click.echo(f"{name}: {made.summary} ({pages[0]})")


def _typed(name: str) -> str:
    """The command with the options given; a path is never written, a placeholder stands for it."""
    context = click.get_current_context()
    words = [f"pateval reproduce {name}"]
    for option in ("root", "scores", "ecg", "authors_python", "largest", "seeds", "train", "device"):
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            value = context.params[option]
            flag = "--" + option.replace("_", "-")
            words.append(flag if value is True else f"{flag} {_PLACEHOLDERS.get(option, value)}")
    return " ".join(words)


def _refuse_other_content(folder: Path, names: Iterable[str], *, overwrite: bool) -> None:
    """Refuse to replace a page that no experiment has written, or a folder that holds something else."""
    from pateval.paper.document import PAGE, RECORD

    if overwrite:
        return
    made = any(folder.glob(f"*/{RECORD}"))
    if (folder / PAGE).exists() and not made:
        raise click.UsageError(
            f"-o {folder}: {folder / PAGE} was not made by 'pateval reproduce'; name another folder, or use "
            "--overwrite to replace it"
        )
    for name in names:
        place = folder / name
        if place.exists() and not (place / RECORD).exists() and (not place.is_dir() or any(place.iterdir())):
            raise click.UsageError(
                f"-o {folder}: {place} holds other things; name another folder, or use --overwrite to write into it"
            )


def _require_matplotlib() -> None:
    """Fail before the work is done and not after it."""
    from pateval import plots

    with plots.style():
        pass
