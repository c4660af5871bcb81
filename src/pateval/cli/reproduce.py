"""``pateval reproduce``: the tables and figures of the PATE paper, with the printed value beside ours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.options import AT_LEAST_1, FILE, FOLDER, option, was_given
from pateval.cli.output import nearest, say, say_list, tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pateval.paper import ExperimentSettings

DEFAULT_FOLDER = "pateval-results"
_ALL = "all"
_PLACEHOLDERS = {"root": "FOLDER", "scores": "FOLDER", "ecg": "FILE", "authors_python": "PYTHON"}


@options.command("reproduce")
@click.argument("name", required=False, metavar="[NAME|all]")
@option("-o --output=DIR folder", f"Where to write; {DEFAULT_FOLDER} in the current folder by default.", type=FOLDER)
@options.root
@option(
    "--scores=FOLDER",
    "Score files of trained detectors, DATASET/DETECTOR.parquet; those of a checkout by default.",
    type=FOLDER,
)
@option(
    "--ecg=FILE",
    "The paper's ECG segment, MBA_ECG14046_data_0, where you have it (real-world).",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@option(
    "--authors-python=PYTHON",
    "Python of an environment that has the authors' package, to time it too (timing).",
    type=FILE,
)
@option("--largest=STEPS", "Longest series that is timed (timing).", type=click.IntRange(min=1000), default=10_000_000)
@option(
    "--train",
    "First train what --scores FOLDER lacks: five detectors, both protocols, --seeds runs each (impact).",
    is_flag=True,
)
@option("--device=DEVICE", "Where to train: cpu or cuda; an accelerator if there is one.")
@option("--seeds=N", "Draws of what depends on chance; runs of each detector with --train.", type=AT_LEAST_1, default=5)
@option("--overwrite", "Write into DIR whatever it holds.", is_flag=True)
def command(name: str | None, folder: Path | None, overwrite: bool, train: bool, **choices: Any) -> int:
    """Make a table or figure of the PATE paper again; without NAME, list what there is.

    Each experiment writes a folder below DIR: a page (README.md) with the printed value beside ours and every
    difference explained, tables as CSV, figures as PNG, and as SVG where that is small. DIR/README.md says over all of
    them what reproduces, what does in part, what does not, what cannot be had, and why. `all` makes everything, and
    says in a sentence what it skips for want of data.
    """
    from pateval import plots
    from pateval.paper import EXPERIMENTS, ExperimentSettings

    if name is None:
        say_list({experiment: entry.about for experiment, entry in EXPERIMENTS.items()} | {_ALL: "All of them."})
        return 0
    if name != _ALL and name not in EXPERIMENTS:
        close = nearest(name, [*EXPERIMENTS, _ALL])
        hint = f"Did you mean '{close}'?" if close else f"There are {', '.join([*EXPERIMENTS, _ALL])}."
        raise click.UsageError(f"No such experiment '{name}'. {hint}")
    if train and name not in ("impact", _ALL):
        raise click.UsageError(f"--train belongs to impact; {name} trains nothing.")
    with plots.style():  # without matplotlib this says so before the work is done
        pass
    _refuse_other_content(folder or Path(DEFAULT_FOLDER), EXPERIMENTS if name == _ALL else [name], overwrite=overwrite)
    if folder is None:
        folder = Path(DEFAULT_FOLDER)
        tell(f"writing to {folder}; choose another folder with -o")
    settings = ExperimentSettings(train=train, tell=tell, **choices)
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
    say(f"{name}: {made.summary} ({pages[0]})")


def _typed(experiment: str) -> str:
    """The command with the options given; a path is never written, a placeholder stands for it."""
    context = click.get_current_context()
    words = [f"pateval reproduce {experiment}"]
    for parameter in context.command.params:
        name = str(parameter.name)
        if name not in ("name", "folder", "overwrite") and was_given(name):
            value, flag = context.params[name], parameter.opts[0]
            words.append(flag if value is True else f"{flag} {_PLACEHOLDERS.get(name, value)}")
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
