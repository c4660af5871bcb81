"""The speed sheet: the same calls, on the same series, in other packages and here, each package in its own environment.

Ours and theirs take turns, and the ratio of their CPU time to ours is given as the median of the turns with the lowest
and the highest. Once more, each call tells how much memory it takes at its peak. A call that is not done after half a
minute of CPU time is stopped if it is theirs, and not begun, theirs or ours, where the series before lets expect that,
going by length. Writes docs/results/speed: a page, a CSV file and two charts. Needs a package index the first time, and
some gigabytes.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import platform
import statistics
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from peer_calls import (
    AFFILIATION,
    AVERAGE_PRECISION,
    CALLS,
    PATE_EXACT,
    PATE_SAMPLED,
    RANGE_BASED,
    VUS_PR,
    Call,
)
from peer_chart import draw, draw_scaling
from peer_environments import PEERS, PeerProcess, installed_version
from side_by_side import labelled_scores, peak_bytes, table

import pateval as pv
from pateval import compat

OURS = "pateval"
TARGET = Path(__file__).parents[1] / "docs" / "results" / "speed"
LIMIT = 30.0
# Steps and events.
CASES = [(1_000, 10), (10_000, 10), (100_000, 100), (1_000_000, 1_000), (10_000_000, 10_000)]
# Turns stop when theirs have taken this long together: a second turn of half a minute would tell nothing new.
ENOUGH, TURNS = 2.0, 5
NINE = [
    "average_precision",
    "auc_roc",
    "vus_pr",
    "vus_roc",
    "point_f1",
    "point_adjusted_f1",
    "composite_f1",
    "range_based_f1(alpha=0.2,cardinality=reciprocal)",
    "affiliation_f1",
]
EVERYTHING, CATALOGUE = "nine metrics at once", "whole catalogue"
NINE_AT_ONCE = "nine(labels, scores, predictions)"
ORDER = [PATE_EXACT, PATE_SAMPLED, VUS_PR, AFFILIATION, RANGE_BASED, AVERAGE_PRECISION, EVERYTHING, CATALOGUE]
EXTRA = [
    (
        "TSB-AD",
        Call("", "get_metrics(scores, labels, pred=predictions)", NINE_AT_ONCE, sheet=EVERYTHING),
    ),
]


@dataclass(frozen=True)
class Cell:
    """One call on one series: seconds are medians, ratios theirs to ours, bytes what the call takes at its peak."""

    metric: str
    steps: int
    events: int
    package: str
    our_seconds: float
    their_seconds: float | None
    ratio: float | None
    lowest: float | None
    highest: float | None
    turns: int
    our_value: float | None
    their_value: float | None
    remark: str
    our_bytes: int | None = None
    their_bytes: int | None = None
    version: str = ""  # of the package
    commit: str = ""  # of ours


def series_of(steps: int, events: int) -> dict[str, Any]:
    """Labels with that many events in 5% of the steps, smoothed scores, and the highest 5% of them as predictions."""
    labels, rough = labelled_scores(steps, length=steps // (20 * events))
    scores = np.convolve(rough, np.ones(9) / 9, "same")
    return {"labels": labels, "scores": scores, "predictions": (scores > np.quantile(scores, 0.95)).astype(np.int64)}


def nine(labels: Any, scores: Any, predictions: Any) -> dict[str, float]:
    """Compute what TSB-AD's ``get_metrics`` computes."""
    return dict(pv.evaluate(labels, scores, predictions, metrics=NINE))


def our_turn(call: str, space: dict[str, Any]) -> tuple[float, float | None]:
    """CPU time and value of our call, repeated while it is too short to be measured."""
    code, calls = compile(call, "<ours>", "eval"), 0
    begin = time.process_time()
    while (spent := time.process_time() - begin) < 0.02 or not calls:
        value = eval(code, space)  # noqa: S307  # from the table
        calls += 1
    return spent / calls, None if isinstance(value, dict) else float(value)


def measure(process: PeerProcess, call: Call, case: Path, series: dict[str, Any], steps: int, events: int) -> Cell:
    """Ours and theirs, turn by turn."""
    space = {**series, "pv": pv, "compat": compat, "nine": nine}
    our_turn(call.ours, space)
    ours, theirs, answer = [], [], {}
    while len(ours) < TURNS and sum(theirs) < ENOUGH:
        seconds, value = our_turn(call.ours, space)
        ours.append(seconds)
        answer = process.ask(case, call.theirs)
        if "error" in answer:
            break
        theirs.append(answer["seconds"])
    ratios = [their / our for our, their in zip(ours, theirs, strict=False)]
    known = bool(ratios)
    return Cell(
        metric=call.sheet,
        steps=steps,
        events=events,
        package=process.peer.name,
        our_seconds=statistics.median(ours),
        their_seconds=statistics.median(theirs) if known else None,
        ratio=statistics.median(ratios) if known else None,
        lowest=min(ratios) if known else None,
        highest=max(ratios) if known else None,
        turns=len(ratios),
        our_value=value,
        their_value=None if isinstance(answer.get("value"), dict) else answer.get("value"),
        remark=answer.get("error", ""),
        our_bytes=peak_bytes(lambda: eval(call.ours, space)),  # noqa: S307  # from the table
        their_bytes=process.ask(case, call.theirs, memory=True).get("bytes") if known else None,
        version=installed_version(process.peer),
        commit=commit_at_hand(),
    )


@functools.cache
def commit_at_hand() -> str:
    """Return the commit that is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def own_cells(cases: list[tuple[Path, dict[str, Any], int, int]]) -> list[Cell]:
    """Ours alone, at lengths that no other package reaches, too; and the whole catalogue, which no other has."""
    calls = {
        call.sheet: call.ours for _, call in reversed([*EXTRA, *((name, c) for name in CALLS for c in CALLS[name])])
    }
    calls[CATALOGUE] = "dict(pv.evaluate(labels, scores, predictions, metrics='all'))"
    cells: list[Cell] = []
    for sheet in ORDER:
        expected = 0.0
        for _, series, steps, events in cases:
            if expected * steps > LIMIT:
                break
            space = {**series, "pv": pv, "compat": compat, "nine": nine}
            our_turn(calls[sheet], space)
            seconds = statistics.median(our_turn(calls[sheet], space)[0] for _ in range(TURNS if steps < 10**6 else 1))
            memory = peak_bytes(lambda call=calls[sheet], space=space: eval(call, space))  # noqa: S307  # from the table
            nobody = (None, None, None, None, 1, None, None, "ours alone")
            cells.append(Cell(sheet, steps, events, "", seconds, *nobody, our_bytes=memory, commit=commit_at_hand()))
            print(f"ours, {sheet}: {steps:,} steps, {in_words(seconds)}", flush=True)
            expected = seconds / steps
    return cells


def made_cases(folder: Path) -> list[tuple[Path, dict[str, Any], int, int]]:
    """Save the series where the peers can read them."""
    cases = []
    for steps, events in CASES:
        series = series_of(steps, events)
        path = folder / f"{steps}-{events}.npz"
        np.savez(path, **series)
        cases.append((path, series, steps, events))
    return cases


def cells_of(peer: str, cases: list[tuple[Path, dict[str, Any], int, int]]) -> list[Cell]:
    """Measure all calls of a peer, from short series to long ones."""
    cells = []
    process = PeerProcess(PEERS[peer], LIMIT)
    for call in [call for call in CALLS[peer] if call.sheet] + [call for name, call in EXTRA if name == peer]:
        process.ask(cases[0][0], call.theirs)  # Some compile on the first call.
        expected = 0.0
        for path, series, steps, events in cases:
            if expected * steps > LIMIT:
                print(f"{peer}, {call.sheet}: {steps:,} steps would take about {expected * steps:.0f} s", flush=True)
                break
            cell = measure(process, call, path, series, steps, events)
            cells.append(cell)
            print(f"{peer}, {call.sheet}: {steps:,} steps, {times(cell)} times as long {cell.remark}", flush=True)
            if cell.their_seconds is None:
                break
            expected = max(cell.their_seconds, cell.our_seconds) / steps
    process.close()
    return cells


def read_cells(path: Path) -> list[Cell]:
    """Cells of an earlier run, so that one package can be measured again."""
    if not path.exists():
        return []
    text = {"metric", "package", "remark", "version", "commit"}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            {name: entry if name in text else json.loads(entry or "null") for name, entry in row.items()}
            for row in csv.DictReader(file)
        ]
    return [Cell(**row) for row in rows]


def write_sheet(cells: list[Cell], folder: Path) -> None:
    """Write the numbers, the chart and the page."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = sorted(cells, key=lambda cell: (ORDER.index(cell.metric), cell.steps, cell.package.lower()))
    with (folder / "speed.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Cell)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in cells)
    draw([asdict(cell) for cell in cells], folder / "speed.png", LIMIT)
    draw_scaling([asdict(cell) for cell in cells], folder / "scaling.png")
    (folder / "README.md").write_text(page(cells), encoding="utf-8")


def verdict(cell: Cell) -> str:
    """Whether the values agree, in words."""
    if cell.remark:
        return cell.remark
    if cell.our_value is None or cell.their_value is None:
        return "see the page of the package"
    difference = abs(cell.our_value - cell.their_value)
    return "equal" if difference < 1e-9 else f"differs by {difference:.1e}"


def in_words(seconds: float | None) -> str:
    """Seconds with three digits, in a unit that fits."""
    if seconds is None:
        return "-"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def megabytes(count: int | None) -> str:
    """Bytes in units of a million."""
    return "-" if count is None else f"{count / 1e6:,.0f}" if count >= 10**7 else f"{count / 1e6:.1f}"


def times(cell: Cell) -> str:
    """The ratio with its spread; a lower bound where theirs was stopped."""
    if cell.ratio is None:
        return f"over {LIMIT / cell.our_seconds:,.0f}" if cell.remark.startswith("not done") else "-"
    spread = f" ({_ratio(cell.lowest)} to {_ratio(cell.highest)})" if cell.turns > 1 else ""
    return _ratio(cell.ratio) + spread


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def page(cells: list[Cell]) -> str:
    """The sheet as Markdown."""
    rows = {name: [cell for cell in cells if cell.metric == name] for name in dict.fromkeys(c.metric for c in cells)}
    parts = []
    for name, found in rows.items():
        if name == CATALOGUE:
            continue
        lines = [
            [
                cell.package,
                f"{cell.steps:,}",
                f"{cell.events:,}",
                in_words(cell.our_seconds),
                in_words(cell.their_seconds),
                times(cell),
                megabytes(cell.our_bytes),
                megabytes(cell.their_bytes),
                verdict(cell),
            ]
            for cell in found
            if cell.package
        ]
        header = ["package", "steps", "events", "ours", "theirs", "theirs over ours", "our MB", "their MB", "values"]
        parts.append(f"## {name[0].upper() + name[1:]}\n\n{table(header, lines)}\n")
    alone = [[f"{c.steps:,}", f"{c.events:,}", in_words(c.our_seconds)] for c in rows.get(CATALOGUE, [])]
    versions = ", ".join(dict.fromkeys(f"{cell.package} {cell.version}" for cell in cells if cell.package))
    commits = " and ".join(dict.fromkeys(cell.commit for cell in cells))
    return f"""\
# Speed beside other packages

How long does the same metric take elsewhere, and is it the same number? `make bench-peers` asks every package that
has the metric, each in an environment of its own, with the same series. Ours and theirs take turns. The table gives the
median of CPU times, and how many times as long theirs took, as the median of the turns with the lowest and the highest
in brackets; without brackets there was one turn, because it took more than {ENOUGH:g} seconds.

![Ratios of CPU times, by metric and length](speed.png)

How both grow with the length, on the same axes, time on the left and memory on the right; ours goes on
where theirs would take too long:

![CPU time and memory by length, ours and theirs, by metric](scaling.png)

What to look out for when you read it:

* The machine had two cores, shared with others. CPU time suffers less from that than time on the clock, but ratios
  still move by some tens of percent from run to run, and by more where a call takes less than a millisecond.
* A call of theirs that was not done after {LIMIT:g} seconds of CPU time was stopped; the ratio is then a lower bound.
  Where the time on the series before, times the ratio of lengths, is more than that, the call was not made.
* Memory is what a call takes at its peak beyond what the process had before: resident memory, as the system counts it,
  in a call of its own. Below some megabytes it says little.
* Every call was made once before it was measured, so that compiling is not counted, ours or theirs. All run in one
  thread.
* Values count as equal below a difference of 0.000000001. Options are set so that both sides mean the same thing; the
  pages [Coming from another package](../../coming-from/index.md) show the calls. VUS has three definitions, and each
  package is compared with its own.
* The series are made: events in 5 % of the steps, noisy scores smoothed over nine steps, the highest 5 % of them as
  predictions.

Commit {commits}, Python {platform.python_version()}, NumPy {np.__version__}; {versions}.
All numbers: [speed.csv](speed.csv).

{chr(10).join(parts)}
## The whole catalogue

All {len(pv.catalogue())} metrics of `pv.evaluate(..., metrics="all")`, in one call. No other package has them, so
there is no ratio.

{table(["steps", "events", "ours"], alone)}
"""


def main() -> None:
    """Measure, and write the page, the numbers and the chart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*CALLS, OURS]
    parser.add_argument("peers", nargs="*", metavar="PEER", help=f"all unless named: {', '.join(names)}")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    cells = read_cells(arguments.output / "speed.csv")
    with tempfile.TemporaryDirectory() as folder:
        cases = made_cases(Path(folder))
        for name in arguments.peers or names:
            found = own_cells(cases) if name == OURS else cells_of(name, cases)
            cells = [cell for cell in cells if (cell.package or OURS) != name] + found
            write_sheet(cells, arguments.output)


if __name__ == "__main__":
    main()
