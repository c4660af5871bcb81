"""The one place that writes results: a folder per experiment with page, tables and figures, and the page over them all.

Every page ends with what made it: the command, the commit or version, the date, the time taken and the environment.
Paths and names of machines are never written.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pateval._version import __version__
from pateval.io.atomic import write_text
from pateval.output.text_table import render
from pateval.paper import EXPERIMENTS
from pateval.paper.document import ADDED, DIFFERS, OPEN, REPRODUCES, Report, ReportTable

PAGE = "README.md"
RECORD = "verdicts.json"
_LARGEST_SVG = 200_000  # bytes: patterns and long curves make more of it than a repository should carry
_PACKAGES = ("numpy", "scipy", "pyarrow", "matplotlib", "scikit-learn", "torch")


@dataclass(frozen=True)
class Provenance:
    """What made a result.

    Attributes
    ----------
    command : str
        As typed, with a placeholder for every path.
    source : str
        Version, and the commit where the package runs from a checkout.
    date : str
        Day in UTC.
    seconds : float
        Time taken, figures included.
    environment : str
        Python, packages, system and number of cores.
    """

    command: str
    source: str
    date: str
    seconds: float
    environment: str

    @classmethod
    def now(cls, command: str, seconds: float) -> Provenance:
        """Describe this moment and this environment."""
        today = datetime.now(UTC).date().isoformat()
        return cls(command, _source(), today, seconds, _environment())

    def lines(self) -> list[str]:
        """The provenance as lines of Markdown."""
        taken = f"{self.seconds:.1f} s" if self.seconds < 100 else f"{self.seconds / 60:.1f} min"
        return [
            "## What made this page",
            "",
            f"- command: `{self.command}`",
            f"- source: {self.source}",
            f"- date: {self.date}",
            f"- time taken: {taken}",
            f"- environment: {self.environment}",
        ]


def write(name: str, report: Report, folder: Path, *, command: str, started: float) -> list[Path]:
    """Write everything of one experiment below a folder, and renew the page over all experiments there.

    Parameters
    ----------
    name : str
        Of the experiment; its folder is called so.
    report : Report
        What to write.
    folder : Path
        Where all results are kept.
    command : str
        What was typed, with a placeholder for every path.
    started : float
        `time.perf_counter` when the experiment began.

    Returns
    -------
    list of Path
        The page first, then the other files.
    """
    from pateval import plots

    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for table in report.tables:
        if table.in_csv:
            made.append(place / f"{table.name}.csv")
            write_text(csv_text(table), made[-1])
    for figure in report.figures:
        axes = figure.draw()
        made.append(plots.save(axes, place / f"{figure.name}.png"))
        drawn = plots.save(axes, place / f"{figure.name}.svg")
        if drawn.stat().st_size > _LARGEST_SVG:
            drawn.unlink()
        else:
            made.append(drawn)
    provenance = Provenance.now(command, time.perf_counter() - started)
    record = {
        "title": report.title,
        "summary": report.summary,
        "date": provenance.date,
        "source": provenance.source,
        "verdicts": [vars(verdict) for verdict in report.verdicts],
    }
    write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", place / RECORD)
    page = place / PAGE
    write_text(page_text(report, provenance, vectors={path.stem for path in made if path.suffix == ".svg"}), page)
    write_text(overview_text(folder), folder / PAGE)
    return [page, *made, place / RECORD]


def page_text(report: Report, provenance: Provenance, *, vectors: Collection[str] = ()) -> str:
    """The page of one experiment; ``vectors`` are the figures that are there as SVG too."""
    parts = [f"# {report.title}", report.summary, *report.text]
    if report.verdicts:
        parts += ["## Printed and found", verdict_list([vars(verdict) for verdict in report.verdicts])]
    for table in report.tables:
        link = f"[{table.name}.csv]({table.name}.csv)"
        if table.in_page:
            parts += [f"## {table.caption}", markdown(table)]
            parts += [f"In full precision: {link}"] if table.in_csv else []
        else:
            parts.append(f"{table.caption}: {link}")
    for figure in report.figures:
        link = f" ([SVG]({figure.name}.svg))" if figure.name in vectors else ""
        parts += [f"![{figure.caption}]({figure.name}.png)", f"*{figure.caption}*{link}"]
    return "\n\n".join([*parts, "\n".join(provenance.lines())]) + "\n"


def overview_text(folder: Path) -> str:
    """The page over all experiments whose results a folder holds.

    Parameters
    ----------
    folder : Path
        With a folder per experiment.

    Returns
    -------
    str
        Markdown: what reproduces, what does not, and why.
    """
    records = {
        name: json.loads((folder / name / RECORD).read_text(encoding="utf-8"))
        for name in EXPERIMENTS
        if (folder / name / RECORD).is_file()
    }
    verdicts = [(name, verdict) for name, record in records.items() for verdict in record["verdicts"]]
    parts = [
        "# What reproduces, what does not, and why",
        (
            "A paper's numbers are worth more when somebody else gets them too. Here every table and figure of the "
            "PATE paper is made again by `pateval reproduce NAME`, and the printed value stands beside ours. Where "
            "they differ we say why, as far as we know; the page of each experiment has the whole story. This page is "
            "put together from the results beside it whenever one of them is made anew."
        ),
    ]
    listed = [
        (f"[{name}]({name}/{PAGE})", EXPERIMENTS[name].place, record["summary"]) for name, record in records.items()
    ]
    columns = ("experiment", "of the paper", "result")
    parts += ["## The experiments in short", markdown(ReportTable("", "", columns, listed))]
    for status, heading in (
        (DIFFERS, "What does not reproduce"),
        (REPRODUCES, "What reproduces"),
        (ADDED, "What the paper leaves out"),
        (OPEN, "What cannot be decided here"),
    ):
        chosen = [(name, verdict) for name, verdict in verdicts if verdict["status"] == status]
        if chosen:
            parts += [f"## {heading}", "\n".join(_in_short(name, verdict) for name, verdict in chosen)]
    absent = [(name, EXPERIMENTS[name].place, "not run yet") for name in EXPERIMENTS if name not in records]
    if absent:
        parts += ["## Not here", markdown(ReportTable("", "", ("experiment", "of the paper", "state"), absent))]
    return "\n\n".join(parts) + "\n"


def markdown(table: ReportTable) -> str:
    """A table as Markdown.

    Examples
    --------
    >>> print(markdown(ReportTable("t", "", ["metric", "value"], [["pate", 0.5], ["vus", None]])))
    | metric | value |
    | --- | ---: |
    | pate | 0.50 |
    | vus | - |
    """
    numeric = [
        bool(table.rows) and all(row[place] is None or _is_number(row[place]) for row in table.rows)
        for place in range(len(table.columns))
    ]
    lines: list[Sequence[str]] = [table.columns, ["---:" if number else "---" for number in numeric]]
    lines += [[_cell(value, table.decimals) for value in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def csv_text(table: ReportTable) -> str:
    """A table as CSV; an empty cell where there is no value."""
    return render(table.columns, table.rows, "csv") + "\n"


def verdict_list(verdicts: Sequence[Mapping[str, str]]) -> str:
    """What was printed and what was found, one below the other: a table of long reasons would not fit a screen.

    Parameters
    ----------
    verdicts : sequence of mapping
        With the fields of a `Verdict`.

    Returns
    -------
    str
        Markdown.

    Examples
    --------
    >>> cell = {"item": "the fifth cell", "printed": "0.63", "found": "0.6163", "status": "differs", "why": "Rounding."}
    >>> print(verdict_list([cell]))
    - **The fifth cell** (differs). Printed: 0.63. Ours: 0.6163.
      Rounding.
    """
    return "\n".join(
        f"- **{_title(verdict)}** ({verdict['status']}). {_both_values(verdict)}"
        + (f"\n  {verdict['why']}" if verdict["why"] else "")
        for verdict in verdicts
    )


def _in_short(name: str, verdict: Mapping[str, str]) -> str:
    """A verdict with the first sentence of its reason, and where the rest of it stands."""
    reason, *rest = re.split(r"(?<=\.)\s+(?=[A-Z])", verdict["why"], maxsplit=1)
    more = f"[{'More on' if rest else 'See'} the page *{name}*]({name}/{PAGE})."
    return f"- **{_title(verdict)}.** {_both_values(verdict)}\n  {' '.join(filter(None, [reason, more]))}"


def _title(verdict: Mapping[str, str]) -> str:
    """What a verdict is about, as the beginning of a sentence."""
    return verdict["item"][:1].upper() + verdict["item"][1:]


def _both_values(verdict: Mapping[str, str]) -> str:
    """The printed value and ours; what is empty or a dash is left out."""
    printed, found = (verdict[key] for key in ("printed", "found"))
    values = [f"{name}: {text}." for name, text in (("Printed", printed), ("Ours", found)) if text not in ("-", "")]
    return " ".join(values)


def _cell(value: Any, decimals: int) -> str:
    if _is_missing(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{decimals}f}" if abs(value) < 1e6 else f"{value:.3g}"
    return str(value).replace("|", "\\|")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _source() -> str:
    """Version, and the commit where this file lies in a checkout of its own repository."""
    checkout = Path(__file__).resolve().parents[3]
    if not ((checkout / ".git").exists() and (checkout / "src" / "pateval").is_dir()):
        return f"pateval {__version__}"

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", checkout, *arguments], capture_output=True, text=True, check=True)  # noqa: S607 - git is looked up on purpose
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return f"pateval {__version__}"
    return f"pateval {__version__}, commit {commit}" + (" with changes not committed" if changed else "")


def _environment() -> str:
    found = []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"Python {platform.python_version()}; {', '.join(found)}; {system}"
