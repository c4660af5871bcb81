"""What an experiment is given and hands back: settings in; text, tables, figures and verdicts out, written as a page.

Experiments make the numbers; words stand in ``pages/NAME.md``, a Jinja template with the blocks title, summary, text
and one for each statement. ``pages/page.md`` lays a page out, ``pages/overview.md`` that over all experiments. Every
page ends with what made it: the command, the commit or version, the date, the time taken and the environment. Paths and
names of machines are never written.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pateval import plots
from pateval.io.atomic import write_text
from pateval.output.harmless import Markup
from pateval.output.text_table import render

REPRODUCES, IN_PART, DIFFERS, CANNOT = "reproduces", "in part", "differs", "cannot be had"
ADDED = "not in the paper"
# Shares of the cells behind a statement that must agree for the first two; the pages state them in words.
MOST, HALF = 0.9, 0.5
PAGE, RECORD = "README.md", "verdicts.json"
_FORMAT = 2  # of the record; results of other formats count as not made
_LARGEST_SVG = 200_000  # bytes: patterns and long curves make more of it than a repository should carry

Row = Mapping[str, Any]


class MissingInputError(ValueError):
    """An experiment cannot run without data or scores that are not there; the message says how to get them."""


@dataclass(frozen=True)
class ExperimentSettings:
    """What a user may choose; every experiment takes what concerns it."""

    root: Path | None = None  # folder of the public data sets, `pateval.datasets.data_root` by default
    # Folder of score files, ``DATASET/DETECTOR.parquet``; those of a checkout by default, where there are any.
    scores: Path | None = None
    ecg: Path | None = None  # file of the paper's ECG segment, which is not published with the others
    authors_python: Path | None = None  # Python of an environment that has the authors' package
    largest: int = 10_000_000  # longest series that is timed
    seeds: int = 5  # how many draws are made of whatever depends on chance
    # Whether detectors are trained where score files are missing (impact); ``scores`` names where they go.
    train: bool = False
    device: str | None = None  # where they are trained: an accelerator, if there is one, by default
    tell: Callable[[str], None] = lambda _: None  # takes one line of progress


# When a number agrees with the printed one: by the name of the rule, given both and a limit.
_RULES: dict[str, Callable[[Any, Any, float], bool]] = {
    "equal": lambda printed, found, _: bool(found == printed),
    "rounds": lambda printed, found, _: round(found, 2) == printed,
    "within": lambda printed, found, limit: abs(found - printed) <= limit,
    "seeds": lambda printed, found, limit: (
        abs(median(found) - printed) <= limit and sum(abs(value - printed) <= limit for value in found) > 1
    ),
    "above": lambda printed, found, _: found > printed,
    "below": lambda printed, found, _: found < printed,
}


class Cell(NamedTuple):
    """A printed value, or the other side of a statement, and ours.

    They agree where they are equal; where ours "rounds" to the two printed decimals; where they lie "within" ``limit``
    of each other; for "seeds", where ours are several, where their median and two of them at least do; or where ours is
    "above", or "below", the other.
    """

    printed: Any
    found: Any
    rule: str = "equal"
    limit: float = 0.0

    @property
    def agrees(self) -> bool:
        """Whether ours agrees with the printed value."""
        return _RULES[self.rule](self.printed, self.found, self.limit)

    def row(self) -> Row:
        """The cell as part of a row of a table."""
        difference = self.found - self.printed
        return {"printed": self.printed, "ours": self.found, "difference": difference, "agrees": self.agrees}


@dataclass(frozen=True)
class Verdict:
    """One statement of the paper and the cells that decide it; its words stand in the page.

    The block ``name`` of the page says what is compared, then has lines that begin with "printed:" and "ours:", then
    why it is so; ``values`` are what it speaks of, beside the cells and how many of them agree. The status follows from
    the ``cells``: there are none where what they need cannot be had, and they are None where the paper has no such
    number. Where ours comes from ``one_seed`` alone it reproduces in part at most.
    """

    name: str
    cells: Sequence[Cell] | None
    values: Mapping[str, Any] = field(default_factory=dict)
    one_seed: bool = False

    @property
    def agreeing(self) -> int:
        """How many cells agree."""
        return sum(cell.agrees for cell in self.cells or ())

    @property
    def status(self) -> str:
        """Whether the statement reproduces, by the rule that the pages state."""
        if self.cells is None:
            return ADDED
        if not self.cells:
            return CANNOT
        share = self.agreeing / len(self.cells)
        if share >= MOST and not self.one_seed:
            return REPRODUCES
        return IN_PART if share >= HALF else DIFFERS

    def to_dict(self, page: str) -> dict[str, str]:
        """What is written: item, both values in words, the status, and why."""
        counts = {"cells": self.cells, "agreeing": self.agreeing}
        said = {"item": "", "printed": "", "ours": "", "status": self.status, "why": ""}
        if self.cells:
            said |= {"printed": f"{len(self.cells)} cells", "ours": f"{self.agreeing} agree"}
        said["item"], *paragraphs = _paragraphs(page, self.name, {**counts, **self.values})
        for paragraph in paragraphs:
            key, mark, text = paragraph.partition(": ")
            is_value = bool(mark) and key in ("printed", "ours")
            said[key if is_value else "why"] = text if is_value else paragraph
        return said


@dataclass(frozen=True)
class PageTable:
    """A table, written as CSV in full precision and as Markdown.

    All rows have the same columns. A long table is written as CSV only, one for reading whose numbers another CSV holds
    in the page only.
    """

    name: str
    caption: str
    rows: Sequence[Row]
    decimals: int = 2
    in_page: bool = True
    in_csv: bool = True

    @classmethod
    def of(cls, name: str, caption: str, nested: Mapping[Any, Any], *columns: str, **options: Any) -> PageTable:
        """A table of nested mappings: a row for each innermost one, the keys that lead to it in the columns named.

        Examples
        --------
        >>> values = {"MSL": {"LSTM": {"PATE": 0.2}, "USAD": {"PATE": 0.1}}}
        >>> PageTable.of("values", "", values, "data set", "detector").rows[1]
        {'data set': 'MSL', 'detector': 'USAD', 'PATE': 0.1}
        """
        return cls(name, caption, list(_rows_of(nested, columns)), **options)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.rows[0]) if self.rows else []

    def markdown(self) -> str:
        """The table as Markdown."""
        return render(self.columns, [list(row.values()) for row in self.rows], "markdown", decimals=self.decimals)

    def csv(self) -> str:
        """The table as CSV; an empty cell where there is no value."""
        return render(self.columns, [list(row.values()) for row in self.rows], "csv") + "\n"


class Figure(NamedTuple):
    """A figure, drawn when it is written: the stem of its files, what to see, and what returns matplotlib axes."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass
class Report:
    """All that is written of one experiment: its name, what its text speaks of, and the rest in the order of the page.

    A sentence for each thing that is ``missing`` becomes a statement that cannot be had.
    """

    name: str
    values: Mapping[str, Any]
    tables: Sequence[PageTable]
    figures: Sequence[Figure]
    verdicts: Sequence[Verdict]
    missing: Iterable[str] = ()

    def __post_init__(self) -> None:
        """Append what is missing to the statements."""
        sentences = (capitalised(sentence).rstrip(".") for sentence in self.missing)
        self.verdicts = [*self.verdicts, *(Verdict("missing", (), {"sentence": sentence}) for sentence in sentences)]

    @property
    def title(self) -> str:
        """Heading of the page."""
        return _paragraphs(self.name, "title", self.values)[0]

    @property
    def summary(self) -> str:
        """The result in one sentence."""
        return _paragraphs(self.name, "summary", self.values)[0]

    @property
    def text(self) -> list[str]:
        """Paragraphs of the page."""
        return _paragraphs(self.name, "text", self.values)

    @property
    def statements(self) -> list[dict[str, str]]:
        """The verdicts in words."""
        return [verdict.to_dict(self.name) for verdict in self.verdicts]

    def table(self, name: str) -> PageTable:
        """One table by its name."""
        return next(table for table in self.tables if table.name == name)

    def verdict(self, name: str) -> Verdict:
        """The first verdict of a name."""
        return next(verdict for verdict in self.verdicts if verdict.name == name)


def write(report: Report, folder: Path, *, command: str, started: float) -> list[Path]:
    """Write one experiment into its folder below ``folder``, and renew the page over all experiments there.

    The ``command`` is what was typed, with a placeholder for every path; ``started`` is `time.perf_counter` when the
    experiment began. Returns the page first, then the other files.
    """
    place = folder / report.name
    place.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for table in report.tables:
        if table.in_csv:
            made.append(place / f"{table.name}.csv")
            write_text(table.csv(), made[-1])
    for figure in report.figures:
        with plots.style():
            axes = figure.draw()
        made += [plots.save(axes, place / f"{figure.name}.{kind}") for kind in ("png", "svg")]
        if made[-1].stat().st_size > _LARGEST_SVG:
            made.pop().unlink()
    made_by = _provenance(command, time.perf_counter() - started)
    record = {"format": _FORMAT, "title": report.title, "summary": report.summary, "verdicts": report.statements}
    write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", place / RECORD)
    vectors = {path.stem for path in made if path.suffix == ".svg"}
    write_text(page_text(report, vectors) + "\n" + _rendered("made_by.md", made_by=made_by), place / PAGE)
    write_text(overview_text(folder), folder / PAGE)
    return [place / PAGE, *made, place / RECORD]


def page_text(report: Report, vectors: set[str]) -> str:
    """The page of one experiment, without what made it; ``vectors`` are the figures that are there as SVG too."""
    return _rendered("page.md", report=report, vectors=vectors)


def overview_text(folder: Path) -> str:
    """The page over all experiments whose results a folder holds: what reproduces, what does not, and why."""
    from pateval.paper import EXPERIMENTS

    listed, absent, statements = [], [], []
    for name, experiment in EXPERIMENTS.items():
        path = folder / name / RECORD
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        if record.get("format") != _FORMAT:
            absent.append({"experiment": name, "of the paper": experiment.place, "state": "not run yet"})
            continue
        linked = Markup(f"[{name}]({name}/{PAGE})")
        listed.append({"experiment": linked, "of the paper": experiment.place, "result": record["summary"]})
        statements += [verdict | {"experiment": name} for verdict in record["verdicts"]]
    missing = PageTable("", "", absent).markdown() if absent else ""
    return _rendered("overview.md", listed=PageTable("", "", listed).markdown(), absent=missing, statements=statements)


def _rows_of(nested: Mapping[Any, Any], columns: Sequence[str]) -> Iterator[Row]:
    if not columns:
        yield nested
        return
    for key, inner in nested.items():
        for row in _rows_of(inner, columns[1:]):
            yield {columns[0]: key, **row}


def capitalised(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def _paragraphs(page: str, block: str, values: Mapping[str, Any]) -> list[str]:
    """A block of a page, or of the words that pages share, as paragraphs of one line each."""
    template = _templates().get_template(f"{page}.md")
    if block not in template.blocks:
        template = _templates().get_template("shared.md")
    text = "".join(template.blocks[block](template.new_context(dict(values))))
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


@cache
def _templates() -> Environment:
    # Markdown, not HTML: nothing is escaped.
    made = Environment(  # noqa: S701
        loader=FileSystemLoader(Path(__file__).parent / "pages"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"capitalised": capitalised, "first_sentence": _first_sentence, "alternatives": _alternatives}
    return made


def _rendered(template: str, **values: Any) -> str:
    text = _templates().get_template(template).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text, maxsplit=1)[0]


def _alternatives(places: Sequence[int]) -> str:
    """Numbers with commas, the last after "or"."""
    words = [f"{place:,}" for place in places]
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _provenance(command: str, seconds: float) -> dict[str, str]:
    """What made a result, without paths and names of machines."""
    from pateval.runner.tasks import library_versions, pateval_version

    known = pateval_version()
    packages = [f"{name} {version}" for name, version in library_versions().items() if name != "python"]
    return {
        "command": f"`{command}`",
        "source": f"pateval {known['version']}" + (f", commit {known['commit']}" if known["commit"] else ""),
        "date": datetime.now(UTC).date().isoformat(),
        "time taken": f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min",
        "environment": f"Python {platform.python_version()}; {', '.join(packages)}; {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores",
    }
