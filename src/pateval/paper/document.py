"""What an experiment is given and what it hands back: settings in; text, tables, figures and verdicts out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPRODUCES, DIFFERS, ADDED, OPEN = "reproduces", "differs", "added", "open"


class MissingInputError(ValueError):
    """An experiment cannot run without data or scores that are not there; the message says how to get them."""


def _silent(line: str) -> None:
    del line


@dataclass(frozen=True)
class ExperimentSettings:
    """What a user may choose; every experiment takes what concerns it.

    Attributes
    ----------
    root : Path, optional
        Folder of the public data sets, `pateval.datasets.data_root` by default.
    scores : Path, optional
        Folder of score files, ``DATASET/DETECTOR.parquet``; those of a checkout by default, where there are any.
    ecg : Path, optional
        File of the paper's ECG segment, which is not published with the others.
    authors_python : Path, optional
        Python of an environment that has the authors' package.
    largest : int
        Longest series that is timed.
    seeds : int
        How many draws are made of whatever depends on chance.
    train : bool
        Whether detectors are trained where score files are missing (impact); ``scores`` names where they go.
    device : str, optional
        Where they are trained: an accelerator, if there is one, by default.
    tell : callable
        Takes one line of progress.
    """

    root: Path | None = None
    scores: Path | None = None
    ecg: Path | None = None
    authors_python: Path | None = None
    largest: int = 10_000_000
    seeds: int = 5
    train: bool = False
    device: str | None = None
    tell: Callable[[str], None] = _silent


@dataclass(frozen=True)
class ReportTable:
    """A table, written as CSV in full precision and as Markdown.

    Attributes
    ----------
    name : str
        Stem of the CSV file.
    caption : str
        One sentence above the table.
    columns : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Text, numbers, or None where there is no value.
    decimals : int
        Of floats in Markdown.
    in_page, in_csv : bool
        Where it is written: a long table as CSV only, one for reading whose numbers another CSV holds in the page only.
    """

    name: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    decimals: int = 2
    in_page: bool = True
    in_csv: bool = True


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when it is written.

    Attributes
    ----------
    name : str
        Stem of the files.
    caption : str
        What to see.
    draw : callable
        Returns matplotlib axes.
    """

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Verdict:
    """Whether one statement of the paper reproduces, and why.

    Attributes
    ----------
    item : str
        What is compared.
    printed, found : str
        The paper's value and ours.
    status : {"reproduces", "differs", "added", "open"}
        ``added``: the paper has no such number; ``open``: what is here does not decide it.
    why : str
        The explanation, in words.
    """

    item: str
    printed: str
    found: str
    status: str
    why: str


@dataclass(frozen=True)
class Report:
    """All that is written of one experiment.

    Attributes
    ----------
    title : str
        Heading of the page.
    summary : str
        The result in one sentence.
    text : sequence of str
        Paragraphs in Markdown.
    tables, figures, verdicts
        In the order of the page.
    """

    title: str
    summary: str
    text: Sequence[str]
    tables: Sequence[ReportTable] = field(default_factory=tuple)
    figures: Sequence[Figure] = field(default_factory=tuple)
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
