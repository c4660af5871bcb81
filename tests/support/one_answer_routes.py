"""The ways to a number through functions and commands: each returns ``{(detector, metric): value}`` of a shape.

To add a route write a function of a `Place` and the detectors that are judged together, and list it in
`one_answer_table.ROUTES`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import pateval as pv
from support.command_line import invoke
from support.one_answer import POOLED, RUN_OF_ALL, Shape
from support.one_answer_shapes import write_parts, write_shape

Values = dict[tuple[str, str], float]
QUICK = ("pate_ap", "auc_roc", "point_f1", "point_adjusted_f1(threshold=quantile:0.1)")
PRINTED = 6e-5
"""How far a value printed with four digits may be from the value itself."""


class Place:
    """A shape, its files and its board in a folder; each is made when a route first asks for it."""

    def __init__(self, shape: Shape, folder: Path) -> None:
        self.shape, self.folder = shape, folder
        self._chance: dict[int, Values] = {}

    @cached_property
    def files(self) -> list[Path]:
        """The files of the shape."""
        return write_shape(self.shape, self.folder / "files")

    @cached_property
    def steps(self) -> dict[str, Any]:
        """All series end to end, as `evaluate` takes them."""
        parts = list(self.shape.series.values())
        found: dict[str, Any] = {}
        if len(parts) > 1:
            found["series"] = np.repeat(list(self.shape.series), [one.labels.size for one in parts])
        if self.shape.has_times:
            found |= {"times": np.concatenate([one.times for one in parts]), "time_unit": self.shape.time_unit}
        if self.shape.has_ignored:
            found["ignore"] = np.concatenate([one.ignore for one in parts])
        return found

    @cached_property
    def labels(self) -> np.ndarray:
        """Truth of all series end to end."""
        return np.concatenate([one.labels for one in self.shape.series.values()])

    @property
    def asked(self) -> dict[str, Any]:
        """Metrics and lengths, as Python functions take them."""
        named = {} if self.shape.by_default else {"metrics": self.shape.metrics}
        return {**named, **self.shape.options}

    @property
    def buffers(self) -> dict[str, Any]:
        """The sets of buffers."""
        return {name: self.shape.options[name] for name in ("early", "delay")}

    @property
    def figure_steps(self) -> dict[str, Any]:
        """The series and their clock, as figures take them."""
        return {**self.steps, "max_gap": self.shape.options.get("max_gap"), "missing": self.shape.missing}

    def scores(self, detector: str) -> np.ndarray:
        """Scores of a detector on all series end to end."""
        return np.concatenate([one.scores[detector][RUN_OF_ALL] for one in self.shape.series.values()])

    @property
    def arguments(self) -> list[str]:
        """All that is said on the command line: files, columns, metrics and lengths."""
        found = self.read_arguments
        if not self.shape.by_default:
            found += ["--metrics", ",".join(self.shape.metrics)]
        return found

    @property
    def read_arguments(self) -> list[str]:
        """Files, columns and lengths."""
        shape = self.shape
        found = [*map(str, self.files), "--label", "label"]
        wide = shape.layout.startswith("wide")
        found += ["--score", ",".join(map(shape.column.format, shape.detectors)) if wide else "score"]
        if shape.layout != "wide files":
            found += ["--series", "series"]
        if shape.layout == "long":
            found += ["--detector", "detector"]
        if shape.has_runs:
            found += ["--run", "run"]
        if shape.has_times:
            found += ["--time", "time"]
        if shape.time_unit is not None:
            found += ["--time-unit", shape.time_unit]
        if shape.has_ignored:
            found += ["--ignore", "skip"]
        for name, value in shape.options.items():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            found += [f"--{name.replace('_', '-')}", text]
        return found

    @property
    def columns(self) -> dict[str, Any]:
        """The same for `pateval.leaderboard`."""
        shape = self.shape
        found: dict[str, Any] = {"time_unit": shape.time_unit, **self.asked}
        if shape.layout.startswith("wide"):
            found["score"] = [shape.column.format(name) for name in shape.detectors]
        if shape.layout != "wide files":
            found["series"] = "series"
        if shape.layout == "long":
            found["detector"] = "detector"
        found["run"] = "run" if shape.has_runs else None
        found["time"] = "time" if shape.has_times else None
        found["ignore"] = "skip" if shape.has_ignored else None
        return found

    def chance(self, draws: int) -> Values:
        """What chance reaches beside the values of `evaluate`; computed once."""
        if draws not in self._chance:
            self._chance[draws] = chance_by_evaluate(self, draws)
        return self._chance[draws]

    @cached_property
    def board(self) -> Any:
        """A board of the files."""
        return pv.leaderboard(list(map(str, self.files)), chance=0, event_draws=0, workers=1, **self.columns)

    @cached_property
    def board_folder(self) -> Path:
        """Where that board is saved."""
        self.board.save(self.folder / "board")
        return self.folder / "board"

    @cached_property
    def page(self) -> Path:
        """The report that ``pateval report`` makes of that board."""
        invoke("report", self.board_folder, "-o", self.folder / "report.html")
        return self.folder / "report.html"

    @cached_property
    def blocks(self) -> dict[str, Any]:
        """The data in the report, by name."""
        text = self.page.read_text(encoding="utf-8")
        found = re.findall(r'<script type="application/json" id="([a-z]+(?:-\d+)?)">(.*?)</script>', text, re.DOTALL)
        return {name: json.loads(content) for name, content in found}

    @cached_property
    def printed_board(self) -> str:
        """What ``pateval leaderboard`` prints; it also writes the folder "command"."""
        wanted = ["--chance", 0, "--workers", 1, "-o", self.folder / "command", "--format", "csv"]
        return invoke("leaderboard", *self.arguments, *wanted).stdout


def number(value: Any) -> float:
    """A number, or NaN for what stands for none."""
    return math.nan if value in (None, "", "-") else float(value)


# Functions.


def evaluate(place: Place, detectors: Sequence[str]) -> Values:
    """`evaluate` of several detectors at once."""
    shape = place.shape
    scores = {name: place.scores(name) for name in detectors}
    found = pv.evaluate(place.labels, scores, chance=0, **place.steps, **place.asked)
    return {(name, metric): found[name][metric] for name in detectors for metric in shape.metrics}


def evaluate_alone(place: Place, detectors: Sequence[str]) -> Values:
    """`evaluate` of one detector after the other."""
    shape, found = place.shape, {}
    for name in detectors:
        one = pv.evaluate(place.labels, place.scores(name), chance=0, **place.steps, **place.asked)
        found |= {(name, metric): one[metric] for metric in shape.metrics}
    return found


def compare(place: Place, detectors: Sequence[str]) -> Values:
    """`compare` of two detectors."""
    first, second = detectors
    scores = [place.scores(name) for name in detectors]
    found = pv.compare(place.labels, *scores, draws=0, **place.steps, **place.asked)
    return {(first, row.metric): row.first for row in found.rows} | {
        (second, row.metric): row.second for row in found.rows
    }


def leaderboard(place: Place, detectors: Sequence[str]) -> Values:
    """`leaderboard` of files: its summary."""
    del detectors
    return in_summary(place.board)


def leaderboard_of_arrays(place: Place, detectors: Sequence[str]) -> Values:
    """`leaderboard` of arrays in memory, a table per series."""
    shape = place.shape
    tables = {}
    for name, one in shape.series.items():
        tables[name] = {"label": one.labels} | {detector: one.scores[detector][RUN_OF_ALL] for detector in detectors}
        tables[name] |= {} if one.times is None else {"time": one.times}
        tables[name] |= {} if one.ignore is None else {"skip": one.ignore}
    columns = place.columns | {"score": list(detectors)}
    for name in ("series", "detector"):
        columns.pop(name, None)
    return in_summary(pv.leaderboard(tables, chance=0, event_draws=0, workers=1, **columns))


def scores_of_board(place: Place, detectors: Sequence[str]) -> Values:
    """The rows of a board, one per series: their means."""
    del detectors
    return means_of(place.board.scores.to_pylist())


def in_summary(board: Any, column: str = "mean") -> Values:
    """A column of a board's summary."""
    return {(row["detector"], row["metric"]): number(row[column]) for row in board.summary().to_pylist()}


def means_of(rows: Sequence[dict[str, Any]]) -> Values:
    """Means over series of values by detector, series, run and metric."""
    by_series: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    keys: Values = {}
    for row in rows:
        keys[row["detector"], row["metric"]] = math.nan
        if not math.isnan(number(row["value"])):
            by_series[row["detector"], row["metric"], row["series"]].append(number(row["value"]))
    means: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (detector, metric, _), values in by_series.items():
        means[detector, metric].append(sum(values) / len(values))
    return keys | {key: sum(values) / len(values) for key, values in means.items()}


def leaderboard_pooled(place: Place, detectors: Sequence[str]) -> Values:
    """`leaderboard` with all series as one sample."""
    del detectors
    wanted = {"metrics": tuple(POOLED), "pooled": True, "chance": 0, "event_draws": 0, "workers": 1}
    return in_summary(pv.leaderboard(list(map(str, place.files)), **(place.columns | wanted)))


def evaluate_pooled(place: Place, detectors: Sequence[str]) -> Values:
    """`evaluate` of several detectors, all series as one sample."""
    scores = {name: place.scores(name) for name in detectors}
    options = {"metrics": tuple(POOLED), "chance": 0, "pooled": True}
    found = pv.evaluate(place.labels, scores, **options, **place.steps, **place.shape.options)
    return {(name, metric): found[name][metric] for name in detectors for metric in POOLED}


# Commands.


def score_json(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval score --format json``."""
    del detectors
    rows = json.loads(invoke("score", *place.arguments, "--chance", 0, "--format", "json").stdout)
    return {(row["detector"], row["metric"]): number(row["value"]) for row in rows}


def score_csv(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval score --format csv``."""
    del detectors
    rows = csv.DictReader(io.StringIO(invoke("score", *place.arguments, "--chance", 0, "--format", "csv").stdout))
    return {(row["detector"], row["metric"]): number(row["value"]) for row in rows}


def score_in_a_process(place: Place, detectors: Sequence[str]) -> Values:
    """``python -m pateval score`` in a process of its own."""
    del detectors
    command = [sys.executable, "-m", "pateval", "score", *place.arguments, "--chance", "0", "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {(row["detector"], row["metric"]): number(row["value"]) for row in json.loads(done.stdout)}


def score_table(place: Place, detectors: Sequence[str]) -> Values:
    """The digits that ``pateval score`` prints for people."""
    metrics = place.shape.metrics
    rows = table_in(invoke("score", *place.arguments, "--chance", 0, "--format", "markdown").stdout)
    return {(name, metric): number(row[name]) for metric, row in zip(metrics, rows, strict=True) for name in detectors}


def compare_command(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval compare --format json``."""
    only = ["--only", ",".join(detectors), "--draws", 0, "--format", "json"]
    return in_comparison(json.loads(invoke("compare", *place.arguments, *only).stdout))


def score_pooled(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval score --pooled``."""
    del detectors
    wanted = ["--metrics", ",".join(POOLED), "--pooled", "--chance", 0, "--format", "json"]
    rows = json.loads(invoke("score", *place.read_arguments, *wanted).stdout)
    return {(row["detector"], row["metric"]): number(row["value"]) for row in rows}


def compare_pooled(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval compare --pooled``."""
    wanted = ["--metrics", ",".join(POOLED), "--pooled", "--only", ",".join(detectors), "--draws", 0]
    return in_comparison(json.loads(invoke("compare", *place.read_arguments, *wanted, "--format", "json").stdout))


def leaderboard_command_pooled(place: Place, detectors: Sequence[str]) -> Values:
    """``pateval leaderboard --pooled``: one row a detector and metric."""
    del detectors
    folder = place.folder / "pooled"
    wanted = ["--metrics", ",".join(POOLED), "--pooled", "--chance", 0, "--workers", 1, "-o", folder]
    invoke("leaderboard", *place.read_arguments, *wanted)
    return in_parquet(folder)


def in_comparison(found: dict[str, Any]) -> Values:
    """Values of two detectors in the JSON of a comparison."""
    sides = (("a", "value_a"), ("b", "value_b"))
    return {(found[side], row["metric"]): number(row[value]) for side, value in sides for row in found["metrics"]}


def leaderboard_command(place: Place, detectors: Sequence[str]) -> Values:
    """What ``pateval leaderboard --format csv`` prints: a row per detector and metric."""
    del detectors
    rows = csv.DictReader(io.StringIO(place.printed_board))
    return {(row["detector"], row["metric"]): number(row["mean"]) for row in rows}


def leaderboard_of_one_series(place: Place, detectors: Sequence[str]) -> Values:
    """Of one series a board also draws events again and again, so it is asked for little."""
    del detectors
    wanted = ["--metrics", ",".join(QUICK), "--chance", 0, "--workers", 1, "--format", "csv"]
    rows = csv.DictReader(io.StringIO(invoke("leaderboard", *place.read_arguments, *wanted).stdout))
    return {(row["detector"], row["metric"]): number(row["mean"]) for row in rows}


def written_board(place: Place, detectors: Sequence[str]) -> Values:
    """The board that ``pateval leaderboard -o`` has written."""
    del detectors
    assert place.printed_board
    return in_parquet(place.folder / "command")


def leaderboard_in_a_process(place: Place, detectors: Sequence[str]) -> Values:
    """``python -m pateval leaderboard`` in a process of its own."""
    del detectors
    folder = place.folder / "process"
    command = [sys.executable, "-m", "pateval", "leaderboard", *place.arguments, "--chance", "0", "--workers", "1"]
    subprocess.run([*command, "-o", str(folder)], check=True, capture_output=True)
    return in_parquet(folder)


def saved_scores(place: Place, detectors: Sequence[str]) -> Values:
    """The file ``scores.parquet`` of a board."""
    del detectors
    return in_parquet(place.board_folder)


def loaded_board(place: Place, detectors: Sequence[str]) -> Values:
    """A board that was saved and is read again."""
    del detectors
    return in_summary(pv.Leaderboard.load(place.board_folder))


def board_added(place: Place, detectors: Sequence[str], chance: int = 0) -> Values:
    """A board of the first part, to which the others are added one by one, the last first."""
    del detectors
    options = {"workers": 1, **place.columns}
    first, *others = write_parts(place.shape, place.folder / "parts")
    board = pv.leaderboard(first, chance=chance, event_draws=0, **options)
    reading = {name: value for name, value in options.items() if name not in place.asked}
    for part in reversed(others):
        board = board.add(part, **reading)
    return in_summary(board, "chance" if chance else "mean")


def boards_merged(place: Place, detectors: Sequence[str]) -> Values:
    """Boards of every part, which ``pateval board merge`` puts together."""
    del detectors
    folders = []
    for number, part in enumerate(write_parts(place.shape, place.folder / "parts")):
        folders.append(place.folder / f"part {number}")
        pv.leaderboard(part, chance=0, event_draws=0, workers=1, output=folders[-1], **place.columns)
    merged = folders[0]
    for folder in folders[1:]:
        both = place.folder / f"{merged.name} and {folder.name}"
        invoke("board", "merge", merged, folder, "-o", both)
        merged = both
    return in_parquet(merged)


def in_parquet(folder: Path) -> Values:
    """Means of the values in a board's folder."""
    import pyarrow.parquet as pq

    return means_of(pq.read_table(folder / "scores.parquet").to_pylist())


def table_in(text: str) -> list[dict[str, str]]:
    """Rows of the first Markdown table in a text."""
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]


# What chance reaches.


def chance_by_evaluate(place: Place, draws: int) -> Values:
    """Beside the values of `evaluate`."""
    scores = {name: place.scores(name) for name in place.shape.detectors}
    found = pv.evaluate(place.labels, scores, chance=draws, **place.steps, **place.asked)
    return {(name, metric): value for name, one in found.items() for metric, value in one.chance.items()}


def chance_by_score(place: Place, draws: int) -> Values:
    """Beside the values of ``pateval score``."""
    rows = json.loads(invoke("score", *place.arguments, "--chance", draws, "--format", "json").stdout)
    return {(row["detector"], row["metric"]): number(row["chance"]) for row in rows}


def chance_by_leaderboard(place: Place, draws: int) -> Values:
    """In the summary of `leaderboard`."""
    board = pv.leaderboard(list(map(str, place.files)), chance=draws, event_draws=0, workers=1, **place.columns)
    return in_summary(board, "chance")


def chance_by_board_added(place: Place, draws: int) -> Values:
    """In the summary of a board that grew."""
    return board_added(place, (), draws)


def chance_by_leaderboard_command(place: Place, draws: int) -> Values:
    """In the summary of a board that ``pateval leaderboard`` has written."""
    folder = place.folder / "board with chance"
    invoke("leaderboard", *place.arguments, "--chance", draws, "--workers", 1, "-o", folder)
    return in_summary(pv.Leaderboard.load(folder), "chance")
