"""How time and memory grow with pairs of buffers and with events, and what boards cost: docs/results/speed/growth.md.

    python benchmarks/growth.py [--series 107] [--detectors 40] [--steps 20000]

The board has a tenth of the series of a benchmark of 1,070, on two workers and on a Dask cluster of two processes; ten
times its cost is what the page says of the whole, and it says so.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from leaderboard import measured, write_synthetic
from peers import in_words
from side_by_side import cpu_seconds, labelled_scores, peak_bytes, table

import pateval as pv

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "speed"
WORKERS, WHOLE = 2, 1_070


class Point(NamedTuple):
    """CPU seconds and peak bytes of one call; ``number`` of pairs or events."""

    what: str
    number: int
    seconds: float
    memory: int | None


def with_pairs() -> list[Point]:
    """Sets of buffers from 1 to 10,201 pairs, where zones of events meet and where they do not."""
    points = []
    for gap in (40, 180, 2_000):
        labels = np.resize(np.repeat([0, 1], [gap, 20]), 10**5)
        scores = np.random.default_rng(0).random(10**5) + 0.3 * labels
        for number in (1, 2, 5, 11, 21, 41, 101):
            buffers = np.linspace(0, 100, number).round().astype(int).tolist() if number > 1 else 100
            points.append(
                _measured(
                    f"events every {gap + 20} steps",
                    number**2,
                    lambda x=labels, s=scores, b=buffers: pv.pate(x, s, early=b, delay=b),
                )
            )
    return points


def with_events() -> list[Point]:
    """One to 10,000 events in a million steps, 5 % of which are anomalous."""
    points = []
    for number in (1, 10, 100, 1_000, 10_000):
        labels, scores = labelled_scores(10**6, length=50_000 // number)
        predictions = scores > np.quantile(scores, 0.95)
        calls: dict[str, Callable[[], Any]] = {
            "pate, one pair": lambda x=labels, s=scores: pv.pate(x, s, early=100, delay=100),
            "vus_pr": lambda x=labels, s=scores: pv.vus_pr(x, s),
            "affiliation": lambda x=labels, p=predictions: pv.affiliation(x, p),
            "range_based": lambda x=labels, p=predictions: pv.range_based(x, p),
        }
        points += [_measured(what, number, call) for what, call in calls.items()]
    return points


def _measured(what: str, number: int, call: Callable[[], Any]) -> Point:
    (seconds,) = cpu_seconds(call, rounds=3)
    point = Point(what, number, seconds, peak_bytes(call))
    print(*point, flush=True)
    return point


def boards(options: argparse.Namespace) -> list[list[str]]:
    """Rows of the table of boards: on workers of our own, and on Dask's."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = write_synthetic(Path(folder), options.series, options.detectors, options.steps)
        for where, dask in ((f"{WORKERS} workers", False), (f"Dask, {WORKERS} processes", True)):
            found = measured(
                files, workers=WORKERS, metrics=", ".join(pv.DEFAULT_METRICS), chance=5, folder=folder, dask=dask
            )
            rate = 60 * found["units"] / found["seconds"] / WORKERS
            rows.append(
                [
                    where,
                    f"{found['seconds'] / 60:.1f} min",
                    f"{rate:,.0f}",
                    f"{found['share']:.1%}",
                    f"{found['seconds'] * WHOLE / options.series / 60:.0f} min",
                ]
            )
            print(*rows[-1], flush=True)
    return rows


def draw(parts: dict[str, list[Point]], path: Path) -> None:
    """Time on the left, memory on the right, a line for each kind."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(parts), 2, figsize=(7, 2.8 * len(parts)), squeeze=False)
    for row, (across, points) in zip(axes, parts.items(), strict=True):
        for number, what in enumerate(dict.fromkeys(point.what for point in points)):
            found = [point for point in points if point.what == what]
            style = {"marker": "osD^"[number], "color": ("black", "0.45", "0.25", "0.6")[number], "label": what}
            row[0].plot([point.number for point in found], [point.seconds for point in found], **style)
            known = [point for point in found if point.memory]
            row[1].plot([point.number for point in known], [(point.memory or 0) / 1e6 for point in known], **style)
        for place, title in zip(row, ("CPU time in seconds", "peak memory of the call in MB"), strict=True):
            place.set(xscale="log", yscale="log", xlabel=across)
            place.set_title(title, size=10)
            place.grid(color="0.9")
            place.set_axisbelow(True)
        row[0].margins(y=0.3)  # room for the names
        row[0].legend(frameon=False, fontsize=8, loc="upper left")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def page(parts: dict[str, list[Point]], board_rows: list[list[str]], options: argparse.Namespace, commit: str) -> str:
    """The measurements as Markdown."""
    tables = [
        table(
            ["", across, "CPU time", "peak memory"],
            [
                [
                    point.what,
                    f"{point.number:,}",
                    in_words(point.seconds),
                    "-" if point.memory is None else f"{point.memory / 1e6:.1f} MB",
                ]
                for point in points
            ],
        )
        for across, points in parts.items()
    ]
    header = ["where", "time", "series x detectors per minute and core", "share of the parent", "1,070 series"]
    return f"""\
# How cost grows

Time and memory of one call, as its set of buffers and the number of events grow; and what a board costs. All is ours,
made by `python benchmarks/growth.py` on two cores at commit {commit}; [the speed sheet](README.md) has other packages
beside it. CPU times are the best of three; memory is the peak of a call beyond what the process had.

![CPU time and memory by pairs of buffers and by events](growth.png)

## Pairs of buffers

`pate` on 100,000 steps with events of 20, sets of buffers from 0 to 100. Events every 60 steps have zones that meet.

{tables[0]}

## Events

A million steps, 5 % of them anomalous, in one event or in up to 10,000.

{tables[1]}

## Boards

{options.detectors} detectors on {options.series} made series of {options.steps:,} steps, the default metrics, with
chance. The last column is extrapolated to as many series as TSB-AD has, in proportion: it was not measured.

{table(header, board_rows)}
"""


def main() -> None:
    """Measure, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=WHOLE // 10)
    parser.add_argument("--detectors", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("-o", "--output", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout
    parts = {"pairs": with_pairs(), "events": with_events()}
    with (options.output / "growth.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["across", *Point._fields])
        writer.writerows([across, *point] for across, points in parts.items() for point in points)
    draw(parts, options.output / "growth.png")
    text = page(parts, boards(options), options, commit.strip())
    (options.output / "growth.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
