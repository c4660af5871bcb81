"""``pateval plot``: a figure from score files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from pateval import CoarseScoresWarning
from pateval.cli import options
from pateval.cli.options import option
from pateval.cli.output import say, tell_all
from pateval.output.text_table import hanging
from pateval.time.dates import time_numbers
from pateval.validation.wording import in_words

KINDS = {
    "series": "Scores over time with events and zones; --value draws the series above them.",
    "categories": "What each step counts as, and its weights, solid where active.",
    "precision-recall": "Weighted precision-recall curves with lines of equal F1 and the threshold.",
    "buffers": "PATE as a heat map over the early and the delay buffer.",
    "buffer-size": "PATE of the detectors against the buffer size, early = delay.",
    "lengths": "What a delayed detection weighs against the length of its event.",
    "distribution": "Scores inside and outside events.",
    "frontier": "What each threshold finds and costs in false alarms; --threshold false-alarms:1/1d is marked.",
    "comparison": "Two detectors on the same events, step by step and event by event.",
    "critical-difference": "Mean ranks over many series, and who cannot be told apart (FILE as in leaderboard).",
    "ranks": "Mean ranks of detectors under all metrics (FILE as in leaderboard).",
    "audit": "What worthless detectors get on the labels, metric by metric (FILE as in audit).",
}
_DAY = 86400 * 10**9  # nanoseconds


class Limits(NamedTuple):
    """What to draw: steps, or nanoseconds since 1970, from ``first`` up to, not including, ``stop``."""

    first: int
    stop: int
    in_time: bool = False


def _range(text: str) -> Limits:
    """Read ``1000..2000`` or ``2026-03-01..2026-03-02T12:00``, both included; a date alone is the whole day."""
    first, _, last = (part.strip() for part in text.partition(".."))
    limits = Limits(0, 0)
    with suppress(TypeError, ValueError):
        if first.isdigit() and last.isdigit():
            limits = Limits(int(first), int(last) + 1)
        else:
            after = _DAY if len(last) == len("2026-03-01") else 1
            limits = Limits(_moment(first), _moment(last) + after, in_time=True)
    if limits.first >= limits.stop:
        remedy = "write steps, as in 1000..2000, or dates, as in 2026-03-01..2026-03-02T12:00"
        raise ValueError(f"{in_words(text)} is not a range; {remedy}")
    return limits


def _moment(text: str) -> int:
    """Nanoseconds since 1970 of a date."""
    return int(time_numbers(np.array([text]))[0][0])


@options.command(
    "plot", epilog="\b\nKinds:\n" + "\n".join(hanging(f"  {kind:20} ", text, 77) for kind, text in KINDS.items())
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@options.files
@option(
    "-o --output=x.pdf|png|svg target",
    "Where to write; by default FILE-KIND.png in the current folder.",
    type=options.FILE,
)
@option("--overwrite", "Replace a file that is not an earlier figure of the same kind.", is_flag=True)
@options.columns
@options.measures(options.pooled)
@option("--only=NAME,...", "Draw these detectors only, where there are several.")
@options.only_series
@option("--value=COLUMN", "Column of the series' own values.")
@option("--range=FIRST..LAST limits", "Draw only these steps, or dates.", callback=options.read_by(_range))
@option("--log", "Shares on a logarithmic scale (distribution).", is_flag=True)
@option(
    "--test", "Whose groups critical-difference joins.", type=click.Choice(["wilcoxon", "nemenyi"]), default="wilcoxon"
)
@options.control
@options.workers
def command(kind: str, files: options.Files, target: Path | None, overwrite: bool, **asked: Any) -> None:
    """Draw a figure of the detectors in FILE... and write it as PDF, PNG or SVG, by suffix.

    The path of the figure goes to standard output. An earlier figure of the same kind is replaced; any other file that
    has the name is not, unless --overwrite is given. Buffers are those of the tables, 0 and 100, and 0 to 100 or 0 to
    200 where many are drawn; given as durations, they lie on the clock of the series. With several series curves and
    values are means over them, as in the tables; --pooled takes all steps for one sample.

    The axis shows the times of the file, guessed or named with --time; --time none counts steps, and so do several
    series whose times overlap.
    """
    from pateval.cli import plot_figures
    from pateval.plots import save, style

    if target is None:
        target = Path(f"{Path(files[0]).stem or 'figure'}-{kind}.png")
    creator = f"pateval plot {kind}"
    _check_target(target, creator, overwrite)
    with style(), _notes_on_stderr():  # without matplotlib this says so before anything is computed
        draw = getattr(plot_figures, kind.replace("-", "_"))
        drawn = draw(plot_figures.Request(kind, files, **asked))
        save(drawn, target, creator=creator)
    say(str(target))


def _check_target(target: Path, creator: str, overwrite: bool) -> None:
    from pateval.plots.styling import SUFFIXES

    if target.suffix.lower() not in SUFFIXES:
        suffix = f"'{target.suffix}'" if target.suffix else "no suffix"
        raise click.UsageError(f"{target}: figures are written as {', '.join(SUFFIXES)}; got {suffix}")
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"{target}: the folder {target.parent} does not exist")
    if target.exists() and not overwrite and creator.encode() not in target.read_bytes():
        raise click.UsageError(f"{target} exists and is no figure of this kind; give --overwrite, or another name")


@contextmanager
def _notes_on_stderr() -> Iterator[None]:
    """Turn warnings, such as that of coarse scores, into one line each on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CoarseScoresWarning)
        yield
    tell_all(dict.fromkeys(str(warning.message) for warning in caught))
