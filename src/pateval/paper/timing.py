"""Computing times of PATE, AUC-PR, VUS-PR and the authors' package, from a thousand steps to ten million.

The paper's program times perfect binary predictions, scores equal to the labels, with all their thresholds. That set-up
is repeated here, and continuous scores, which are all different, stand beside it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pateval import plots
from pateval.metrics import auc_pr, vus_pr
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.inputs import labels_at_hand
from pateval.pate.score import pate
from pateval.plots.lines import fitted_slope
from pateval.validation.arrays import BoolArray, FloatArray

SIZES = tuple(10**power for power in range(3, 8))
SHARES = (0.02, 0.05, 0.10)
PERFECT, CONTINUOUS = "perfect", "continuous"
KINDS = {PERFECT: "perfect predictions", CONTINUOUS: "continuous scores"}
LIMIT = 60.0
BUFFER = paper.IMPACT_BUFFER
PATE, AUC_PR, VUS_PR = "PATE", "AUC-PR", "VUS-PR"
PATE_FOUR, SKLEARN, AUTHORS = "PATE, four pairs", "AUC-PR, scikit-learn", "authors' package"
LONGEST_IN_PAPER = 100_000  # steps of its figure
_SHOWN_SHARE = 0.05
_START = 20.0  # seconds that another Python may take to begin
_EVENT = 100  # steps of a made event
_REPEATS_WITHIN = 0.5  # seconds: a cell is repeated, at most five times, while it takes less
_SLOPE_FROM = 10_000  # steps: below, the price of the call itself shows
_SLOPE_LIMIT = 0.25
_IN_TABLE = (AUC_PR, VUS_PR, PATE)

# Run by the authors' own environment, with one pair of buffers; all thresholds, or its default sampling of 250.
_CHILD = """
import json, sys, time
import numpy as np
from pate.PATE_metric import PATE
data = np.load(sys.argv[1])
begin = time.perf_counter()
buffer, sampled = int(sys.argv[2]), sys.argv[3] == "sampled"
options = dict(e_buffer=buffer, d_buffer=buffer, num_splits_MaxBuffer=1, include_zero=False, n_jobs=1)
PATE(data["labels"], data["scores"], Big_Data=sampled, **options)
print(json.dumps(time.perf_counter() - begin))
"""

Timed = Callable[[BoolArray, FloatArray], float]


class TimeCell(NamedTuple):
    """Seconds of one metric on one made series; NaN with a note where it was not measured."""

    metric: str
    scores: str
    share: float
    steps: int
    seconds: float
    note: str = ""


class Times(tuple[TimeCell, ...]):
    """All cells of made series."""

    def of(self, metric: str, scores: str, share: float) -> dict[int, float]:
        """Times of one metric by series length; NaN where it was not run, or stopped."""
        seconds = dict.fromkeys(sorted({cell.steps for cell in self}), math.nan)
        timed = [cell for cell in self if cell[:3] == (metric, scores, share) and math.isfinite(cell.seconds)]
        return seconds | {cell.steps: cell.seconds for cell in timed}

    def slope(self, metric: str, scores: str, share: float) -> float:
        """Slope through the logarithms, from 10⁴ steps on; NaN where fewer than two sizes were timed."""
        long = {steps: value for steps, value in self.of(metric, scores, share).items() if steps >= _SLOPE_FROM}
        return fitted_slope(list(long), list(long.values()))


def timing(settings: ExperimentSettings) -> Report:
    """Time every metric on every series, up to the limit."""
    metrics = _metrics(settings)
    times = Times(
        cell
        for kind in KINDS
        for share in SHARES
        for name, function in metrics.items()
        # On continuous scores the authors' package is slow, and the share matters little.
        if name != AUTHORS or kind == PERFECT or share == _SHOWN_SHARE
        for cell in climb(name, function, kind, share, settings)
    )
    rows = _benchmark_rows(metrics, settings)
    names, every_cell = list(metrics), [cell._asdict() for cell in times]
    sides = "perfect predictions (left), continuous scores (right)"
    more = "with more anomalies there are more steps in events and zones to order"
    return Report(
        "timing",
        {
            "rows": rows,
            "buffer": BUFFER,
            "windows": paper.IMPACT_VUS_WINDOW + 1,
            "limit": LIMIT,
            "skipped": sum(bool(cell.note) for cell in times),
        },
        tables=[
            *([PageTable("benchmarks", "At the benchmarks' sizes, seconds", rows, decimals=3)] if rows else []),
            *(_made_table(times, kind, names) for kind in KINDS),
            _slope_table(times, names),
            PageTable("cells", "Every cell, with a note where it was not run", every_cell, in_page=False),
        ],
        figures=[
            Figure("timing", f"Times against length at 5 % anomalous: {sides}.", partial(draw, times, names)),
            Figure("shares", f"PATE with one pair of buffers: {more}.", partial(draw_shares, times)),
        ],
        verdicts=_verdicts(times, rows, with_authors=AUTHORS in metrics),
    )


def made_labels(steps: int, share: float) -> BoolArray:
    """Labels with evenly spaced events of 100 steps, or shorter ones where the series is short."""
    wanted = max(1, round(steps * share))
    length = min(_EVENT, wanted)
    count = max(1, wanted // length)
    labels = np.zeros(steps, dtype=np.bool_)
    for start in (np.arange(count) * steps // count + (steps // count - length) // 2).tolist():
        labels[start : start + length] = True
    return labels


def made_scores(labels: BoolArray, kind: str) -> FloatArray:
    """Scores of a perfect detector, 0 and 1; or of a mediocre one, distinct everywhere."""
    if kind == PERFECT:
        return labels.astype(np.float64)
    return np.random.default_rng(0).random(labels.size) + 0.3 * labels


def _metrics(settings: ExperimentSettings) -> dict[str, Timed]:
    metrics: dict[str, Callable[..., Any]] = {
        PATE: partial(pate, early=BUFFER, delay=BUFFER),
        PATE_FOUR: pate,
        AUC_PR: auc_pr,
        VUS_PR: partial(vus_pr, window=paper.IMPACT_VUS_WINDOW, variant="original"),
    }
    if importlib.util.find_spec("sklearn") is not None:
        from sklearn.metrics import auc, precision_recall_curve

        def area(labels: BoolArray, scores: FloatArray) -> Any:
            precision, recall, _ = precision_recall_curve(labels, scores)
            return auc(recall, precision)

        metrics[SKLEARN] = area
    timed: dict[str, Timed] = {name: partial(_seconds, metric) for name, metric in metrics.items()}
    if python := settings.authors_python:
        if not python.is_file():
            raise ValueError(f"--authors-python: {python} is no file; name the Python of an environment that has PATE")
        timed[AUTHORS] = partial(authors_seconds, python)
    return timed


def _seconds(metric: Callable[..., Any], labels: BoolArray, scores: FloatArray) -> float:
    begin = time.perf_counter()
    metric(labels, scores)
    return time.perf_counter() - begin


def climb(name: str, function: Timed, kind: str, share: float, settings: ExperimentSettings) -> list[TimeCell]:
    """Time one metric at growing sizes; stop where the next cell would take longer than the limit."""
    cells: list[TimeCell] = []
    for steps in [size for size in SIZES if size <= settings.largest]:
        expected = expected_seconds([cell for cell in cells if math.isfinite(cell.seconds)], steps)
        if (cells and not math.isfinite(cells[-1].seconds)) or expected > LIMIT:
            seconds, note = math.nan, f"not run: about {expected:.0f} s expected"
        else:
            settings.tell(f"timing {name}, {kind} scores, {_percent(share)} anomalous, {steps:,} steps")
            labels = made_labels(steps, share)
            seconds = _best(function, labels, made_scores(labels, kind))
            note = "" if math.isfinite(seconds) else f"stopped after {LIMIT:.0f} s"
        cells.append(TimeCell(name, kind, share, steps, seconds, note))
    return cells


def expected_seconds(cells: list[TimeCell], steps: int) -> float:
    """Time expected of a size: by the growth between the last two sizes timed, at least proportional."""
    if not cells:
        return 0.0
    growth = 1.0
    if len(cells) > 1 and cells[-2].seconds > 0:
        growth = max(1.0, math.log10(cells[-1].seconds / cells[-2].seconds))
    return cells[-1].seconds * (steps / cells[-1].steps) ** growth


def _best(function: Timed, labels: BoolArray, scores: FloatArray) -> float:
    """The shortest of a few runs: what else the machine does only makes a run longer."""
    seconds = [function(labels, scores)]
    while len(seconds) < 5 and sum(seconds) < _REPEATS_WITHIN:
        seconds.append(function(labels, scores))
    return min(seconds)


def authors_seconds(python: Path, labels: BoolArray, scores: FloatArray) -> float:
    """Seconds that the authors' package takes in its own environment; infinite where it takes longer than the limit.

    Binary scores have all their thresholds, others its default sample of 250.
    """
    sampled = "all" if np.unique(scores).size <= 2 else "sampled"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "case.npz"
        np.savez(data, labels=labels.astype(int), scores=scores)
        command: list[str | Path] = [python, "-c", _CHILD, data, str(BUFFER), sampled]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT + _START)
        except subprocess.TimeoutExpired:
            return float("inf")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"the authors' package failed in the environment given by --authors-python: {reason}")
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def _benchmark_rows(metrics: dict[str, Timed], settings: ExperimentSettings) -> list[Row]:
    """Seconds on labels of each benchmark's size, its own where they are at hand: printed, perfect and continuous."""
    at_hand, _ = labels_at_hand(tuple(paper.BENCHMARK_TIMES), settings)
    rows: list[Row] = []
    for dataset, printed in paper.BENCHMARK_TIMES.items():
        if printed.steps > settings.largest:
            continue
        settings.tell(f"timing the size of {dataset}")
        own = at_hand.get(dataset)
        labels = own.whole_windows() if own else made_labels(printed.steps, printed.anomalous_percent / 100)
        row: dict[str, Any] = {"data set": dataset, "steps": labels.size, "labels": "its own" if own else "made"}
        for name, value in zip(_IN_TABLE, (printed.auc_pr, printed.vus_pr, printed.pate), strict=True):
            row[f"{name} printed"] = value
            for kind in KINDS:
                row[f"{name} {kind}"] = _best(metrics[name], labels, made_scores(labels, kind))
        for kind in ("printed", *KINDS):
            row[f"PATE / AUC-PR {kind}"] = row[f"PATE {kind}"] / row[f"AUC-PR {kind}"]
        rows.append(row)
    return rows


def _verdicts(times: Times, rows: list[Row], *, with_authors: bool) -> list[Verdict]:
    verdicts = []
    for name in (AUTHORS, PATE):
        of_name = [cell for cell in times if cell[:2] == (name, PERFECT)]
        if seconds := [cell.seconds for cell in of_name if cell.steps <= LONGEST_IN_PAPER]:
            cells = [Cell(1.0, value, "below") for value in seconds]
            verdicts.append(Verdict("second", cells, {"theirs": name == AUTHORS, "longest": max(seconds)}))
    slopes = [times.slope(PATE, PERFECT, share) for share in SHARES]
    if all(map(math.isfinite, slopes)):
        cells = [Cell(1.0, slope, "within", _SLOPE_LIMIT) for slope in slopes]
        verdicts.append(Verdict("linear", cells, {"slopes": slopes, "limit": _SLOPE_LIMIT}))
    if rows:
        printed, perfect = "PATE / AUC-PR printed", "PATE / AUC-PR perfect"
        ratios = [Cell(row[printed], row[perfect], "within", row[printed] / 2) for row in rows]
        faster = [Cell(row["VUS-PR perfect"], row["PATE perfect"], "below") for row in rows]
        verdicts += [Verdict(name, cells, {"rows": rows}) for name, cells in (("ratio", ratios), ("faster", faster))]
        verdicts.append(Verdict("vus", None, {"rows": rows}))
    if not with_authors:
        return [*verdicts, Verdict("authors", ())]
    theirs, ours = (times.of(name, CONTINUOUS, _SHOWN_SHARE) for name in (AUTHORS, PATE))
    known = {steps: value for steps, value in theirs.items() if math.isfinite(value)}
    return [*verdicts, Verdict("continuous", None, {"theirs": known, "ours": ours})]


def _made_table(times: Times, kind: str, names: list[str]) -> PageTable:
    seconds = {(name, share): times.of(name, kind, share) for name in names for share in SHARES}
    rows = [
        {"anomalous": _percent(share), "steps": steps, **{name: seconds[name, share][steps] for name in names}}
        for share in SHARES
        for steps in seconds[PATE, share]
    ]
    return PageTable(f"made-{kind}", f"Made series, {KINDS[kind]}, seconds (a dash: not run)", rows, decimals=5)


def _slope_table(times: Times, names: list[str]) -> PageTable:
    slopes = {
        name: {
            kind: {f"{_percent(share)} anomalous": times.slope(name, kind, share) for share in SHARES} for kind in KINDS
        }
        for name in names
    }
    return PageTable.of("slopes", "Fitted slopes from 10⁴ steps on", slopes, "metric", "scores")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def draw(times: Times, names: list[str]) -> Any:
    """Two panels on logarithmic axes, a curve per metric with its slope."""
    axes = plots.panels(1, 2, size=(8.6, 4.2), share_y=True)[0]
    for ax, (kind, in_words) in zip(axes, KINDS.items(), strict=True):
        curves = {}
        for name in names:
            slope = times.slope(name, kind, _SHOWN_SHARE)
            shown = name if math.isnan(slope) else f"{name} (slope {slope:.2f})"
            curves[shown] = times.of(name, kind, _SHOWN_SHARE)
        _draw_times(curves, f"series length (steps), {in_words}", ax)
    return axes


def draw_shares(times: Times) -> Any:
    """PATE by anomaly share."""
    curves = {f"{_percent(share)}, {kind}": times.of(PATE, kind, share) for kind in KINDS for share in SHARES}
    return _draw_times(curves, "series length (steps)")


def _draw_times(curves: dict[str, dict[int, float]], x_label: str, ax: Any = None) -> Any:
    sizes = list(next(iter(curves.values())))
    seconds = {name: list(curve.values()) for name, curve in curves.items()}
    return plots.line_chart(sizes, seconds, x_label=x_label, y_label="time (s)", log=("x", "y"), ax=ax)
