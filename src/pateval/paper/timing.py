"""Computing times of PATE, AUC-PR, VUS-PR and the authors' package, from a thousand steps to ten million."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.kernels.coarse import CoarseScoresWarning
from pateval.metrics import auc_pr, vus_pr
from pateval.paper import paper_tables as paper
from pateval.paper.document import (
    ADDED,
    DIFFERS,
    OPEN,
    REPRODUCES,
    ExperimentSettings,
    Figure,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.label_sets import labels_at_hand
from pateval.pate.score import pate
from pateval.plots.lines import fitted_slope
from pateval.validation.arrays import BoolArray

SIZES = tuple(10**power for power in range(3, 8))
SHARES = (0.02, 0.05, 0.10)
LIMIT = 60.0
BUFFER = paper.IMPACT_BUFFER
PATE, AUC_PR, VUS_PR = "PATE", "AUC-PR", "VUS-PR"
PATE_FOUR, SKLEARN, AUTHORS = "PATE, four pairs", "AUC-PR, scikit-learn", "authors' package"
_SHOWN_SHARE = 0.05
_START = 20.0  # seconds that another Python may take to begin
_EVENT = 100  # steps of a made event
_REPEATS_WITHIN = 0.5  # seconds: a cell is repeated, at most five times, while it takes less

# Run by the authors' own environment, with one pair of buffers and its default sampling of 250 thresholds.
_CHILD = """
import json, sys, time
import numpy as np
from pate.PATE_metric import PATE
data = np.load(sys.argv[1])
begin = time.perf_counter()
buffer = int(sys.argv[2])
options = dict(e_buffer=buffer, d_buffer=buffer, num_splits_MaxBuffer=1, include_zero=False, n_jobs=1)
PATE(data["labels"], data["scores"], Big_Data=True, **options)
print(json.dumps(time.perf_counter() - begin))
"""

Timed = Callable[[BoolArray, npt.NDArray[np.float64]], float]


@dataclass(frozen=True)
class TimeCell:
    """Seconds of one metric on one made series; NaN with a note where it was not measured."""

    metric: str
    scores: str
    share: float
    steps: int
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class BenchmarkRow:
    """Seconds on labels of a benchmark's size: printed, and ours."""

    dataset: str
    labels: str
    steps: int
    printed: dict[str, float]
    ours: dict[str, float]


@dataclass(frozen=True)
class Timing:
    """All times, in seconds of wall clock, best of a few.

    Attributes
    ----------
    cells : tuple of TimeCell
        Made series.
    benchmarks : tuple of BenchmarkRow
        Sizes of the paper's benchmarks.
    with_authors, with_sklearn : bool
        Whether these could be timed.
    """

    cells: tuple[TimeCell, ...]
    benchmarks: tuple[BenchmarkRow, ...]
    with_authors: bool
    with_sklearn: bool

    def seconds(self, metric: str, scores: str, share: float) -> dict[int, float]:
        """Times of one metric by series length."""
        return {
            cell.steps: cell.seconds
            for cell in self.cells
            if (cell.metric, cell.scores, cell.share) == (metric, scores, share)
        }

    def slope(self, metric: str, scores: str, share: float) -> float:
        """Slope through the logarithms, from 10⁴ steps on, where the price of the call itself has faded."""
        times = {steps: value for steps, value in self.seconds(metric, scores, share).items() if steps >= 10_000}
        return fitted_slope(list(times), list(times.values())) if times else float("nan")


def compute(settings: ExperimentSettings) -> Timing:
    """Time every metric on every series, up to the limit."""
    metrics = _metrics(settings)
    cells: list[TimeCell] = []
    for kind in ("continuous", "binary"):
        for share in SHARES:
            for name, function in metrics.items():
                if name == AUTHORS and share != _SHOWN_SHARE:
                    continue  # it is slow, and the share matters little
                cells += _climb(name, function, kind, share, settings)
    sets, _ = labels_at_hand(("MSL", "PSM", "SMD", "SWaT"), settings)
    at_hand = {label_set.name: label_set for label_set in sets}
    rows = []
    for dataset, times in paper.BENCHMARK_TIMES.items():
        if times.steps > settings.largest:
            continue
        settings.tell(f"timing the size of {dataset}")
        if dataset in at_hand:
            labels, source = at_hand[dataset].whole_windows(), "its own"
        else:
            labels, source = made_labels(times.steps, times.anomalous_percent / 100), "made"
        scores = np.random.default_rng(0).random(labels.size)
        printed = {AUC_PR: times.auc_pr, VUS_PR: times.vus_pr, PATE: times.pate}
        ours = {name: _best(metrics[name], labels, scores) for name in printed}
        rows.append(BenchmarkRow(dataset, source, labels.size, printed, ours))
    return Timing(tuple(cells), tuple(rows), AUTHORS in metrics, SKLEARN in metrics)


def made_labels(steps: int, share: float) -> BoolArray:
    """Labels with evenly spaced events of 100 steps, or shorter ones where the series is short.

    Examples
    --------
    >>> float(made_labels(10_000, 0.05).mean())
    0.05
    """
    wanted = max(1, round(steps * share))
    length = min(_EVENT, wanted)
    count = max(1, wanted // length)
    labels = np.zeros(steps, dtype=np.bool_)
    for start in (np.arange(count) * steps // count + (steps // count - length) // 2).tolist():
        labels[start : start + length] = True
    return labels


def made_scores(labels: BoolArray, kind: str) -> npt.NDArray[np.float64]:
    """Scores of a mediocre detector: distinct everywhere, or 0/1."""
    scores = np.random.default_rng(0).random(labels.size) + 0.3 * labels
    return scores if kind == "continuous" else (scores > 0.95).astype(np.float64)


def _metrics(settings: ExperimentSettings) -> dict[str, Timed]:
    metrics: dict[str, Timed] = {
        PATE: lambda labels, scores: _timed(lambda: pate(labels, scores, early=BUFFER, delay=BUFFER)),
        PATE_FOUR: lambda labels, scores: _timed(lambda: pate(labels, scores)),
        AUC_PR: lambda labels, scores: _timed(lambda: auc_pr(labels, scores)),
        VUS_PR: lambda labels, scores: _timed(
            lambda: vus_pr(labels, scores, window=paper.IMPACT_VUS_WINDOW, variant="original")
        ),
    }
    if importlib.util.find_spec("sklearn") is not None:
        from sklearn.metrics import auc, precision_recall_curve

        def area(labels: BoolArray, scores: npt.NDArray[np.float64]) -> Any:
            precision, recall, _ = precision_recall_curve(labels, scores)
            return auc(recall, precision)

        metrics[SKLEARN] = lambda labels, scores: _timed(lambda: area(labels, scores))
    if settings.authors_python is not None:
        python = settings.authors_python
        if not python.is_file():
            raise ValueError(f"--authors-python: {python} is no file; name the Python of an environment that has PATE")
        metrics[AUTHORS] = lambda labels, scores: authors_seconds(python, labels, scores)
    return metrics


def _climb(name: str, function: Timed, kind: str, share: float, settings: ExperimentSettings) -> list[TimeCell]:
    """Time one metric at growing sizes; stop where the next cell would take longer than the limit."""
    cells: list[TimeCell] = []
    for steps in SIZES:
        if steps > settings.largest:
            break
        expected = _expected(cells, steps)
        if expected > LIMIT:
            note = f"not run: about {expected:.0f} s expected"
            cells.append(TimeCell(name, kind, share, steps, float("nan"), note))
            continue
        settings.tell(f"timing {name}, {kind} scores, {100 * share:.0f} % anomalous, {steps:,} steps")
        labels = made_labels(steps, share)
        seconds = _best(function, labels, made_scores(labels, kind))
        note = "" if np.isfinite(seconds) else f"stopped after {LIMIT:.0f} s"
        cells.append(TimeCell(name, kind, share, steps, seconds, note))
    return cells


def _expected(cells: list[TimeCell], steps: int) -> float:
    """Time expected of the next size: by the growth between the last two sizes, at least proportional."""
    if not cells:
        return 0.0
    if not np.isfinite(cells[-1].seconds):
        return float("inf") if cells[-1].note.startswith("stopped") else _from_note(cells, steps)
    growth = 1.0
    if len(cells) > 1 and cells[-2].seconds > 0:
        growth = max(1.0, np.log10(cells[-1].seconds / cells[-2].seconds))
    return float(cells[-1].seconds * (steps / cells[-1].steps) ** growth)


def _from_note(cells: list[TimeCell], steps: int) -> float:
    """Once a size is too long, so are all larger ones; the estimate goes on from the last measured one."""
    measured = [cell for cell in cells if np.isfinite(cell.seconds)]
    return max(_expected(measured, steps), LIMIT + 1)


def _timed(call: Callable[[], Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin


def _best(function: Timed, labels: BoolArray, scores: npt.NDArray[np.float64]) -> float:
    """The shortest of a few runs: what else the machine does only makes a run longer."""
    seconds = [function(labels, scores)]
    while len(seconds) < 5 and sum(seconds) < _REPEATS_WITHIN:
        seconds.append(function(labels, scores))
    return min(seconds)


def authors_seconds(python: Path, labels: BoolArray, scores: npt.NDArray[np.float64]) -> float:
    """Seconds that the authors' package takes in its own environment; infinite where it takes longer than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "case.npz"
        np.savez(data, labels=labels.astype(int), scores=scores)
        try:
            done = subprocess.run(
                [python, "-c", _CHILD, data, str(BUFFER)], capture_output=True, text=True, timeout=LIMIT + _START
            )
        except subprocess.TimeoutExpired:
            return float("inf")
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"the authors' package failed in the environment given by --authors-python: {reason}")
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def report(found: Timing) -> Report:
    """Tables, slopes, and figures on logarithmic axes."""
    ratios = {row.dataset: row.ours[PATE] / row.ours[AUC_PR] for row in found.benchmarks}
    skipped = [cell for cell in found.cells if cell.note]
    return Report(
        "Computing times",
        (
            f"PATE takes {min(ratios.values()):.1f} to {max(ratios.values()):.1f} times as long as AUC-PR at the "
            "benchmarks' sizes."
            if ratios
            else "The benchmarks' sizes are beyond --largest and were not timed."
        ),
        (
            (
                "Wall clock, one process, the shortest of a few runs. The machine is shared and noisy, so that single "
                "times may be off by half; ratios between columns of one row mean more than the times themselves. "
                "Made series have events of 100 steps; continuous scores are distinct everywhere, binary ones are 0 "
                f"or 1. PATE has one pair of buffers of {BUFFER}, or the default four pairs; VUS-PR has "
                f"{paper.IMPACT_VUS_WINDOW + 1} windows. A cell that would take more than {LIMIT:.0f} s is not run; "
                f"{len(skipped)} were not."
            ),
            "Slopes are fitted to the logarithms: 1 is time in proportion to the length.",
        ),
        tables=tuple(_tables(found, ratios)),
        figures=(
            Figure(
                "timing",
                "Times against length at 5 % anomalous: continuous scores on the left, binary on the right.",
                lambda: draw(found),
            ),
            Figure(
                "shares",
                "PATE with one pair of buffers: with more anomalies there are more steps in events and zones to order.",
                lambda: draw_shares(found),
            ),
        ),
        verdicts=tuple(_verdicts(found, ratios)),
    )


def _verdicts(found: Timing, ratios: dict[str, float]) -> Iterator[Verdict]:
    if ratios:
        printed = ", ".join(f"{row.dataset} {row.printed[PATE] / row.printed[AUC_PR]:.1f}" for row in found.benchmarks)
        yield Verdict(
            "time of PATE over time of AUC-PR at the benchmarks' sizes",
            printed,
            ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()),
            DIFFERS,
            "Both of ours come from this package, on one machine, continuous random scores. The paper's PATE "
            "samples thresholds and its AUC-PR is a library's; ours uses every distinct score.",
        )
        ours = ", ".join(f"{row.dataset} {row.printed[VUS_PR] / row.ours[VUS_PR]:.0f}" for row in found.benchmarks)
        yield Verdict(
            "time of VUS-PR",
            ", ".join(f"{row.dataset} {row.printed[VUS_PR]:.0f} s" for row in found.benchmarks),
            ", ".join(f"{row.dataset} {row.ours[VUS_PR]:.2f} s" for row in found.benchmarks),
            ADDED,
            f"Another machine and another algorithm with the same values; {ours} times shorter.",
        )
    slopes = [found.slope(PATE, kind, share) for kind in ("continuous", "binary") for share in SHARES]
    known = [slope for slope in slopes if np.isfinite(slope)]
    if known:
        yield Verdict(
            "PATE's time grows in proportion to the length",
            "linear (figure, up to 10⁵ steps)",
            f"fitted slopes {min(known):.2f} to {max(known):.2f}",
            REPRODUCES,
            "From 10⁴ steps on; the sort of the scores adds a logarithm.",
        )
    if found.with_authors:
        theirs = found.seconds(AUTHORS, "continuous", _SHOWN_SHARE)
        longest = max((steps for steps, value in theirs.items() if np.isfinite(value)), default=0)
        yield Verdict(
            "the authors' package, series up to 10⁵ steps",
            "under one second",
            f"{theirs.get(longest, float('nan')):.1f} s at {longest:,} steps",
            DIFFERS,
            "One pair of buffers, 250 sampled thresholds, noisy continuous scores, in its own environment. The "
            "paper does not say which scores it timed; smoother ones flag fewer stretches and may take less time.",
        )
    else:
        yield Verdict(
            "the authors' package",
            "-",
            "not timed",
            OPEN,
            "It needs an environment of its own; name its Python with --authors-python.",
        )


def _tables(found: Timing, ratios: dict[str, float]) -> Iterator[ReportTable]:
    names = list(dict.fromkeys(cell.metric for cell in found.cells))
    if found.benchmarks:
        yield ReportTable(
            "benchmarks",
            "At the benchmarks' sizes, seconds",
            [
                "data set",
                "steps",
                "labels",
                *(f"{name} {who}" for name in (AUC_PR, VUS_PR, PATE) for who in ("printed", "ours")),
                "PATE / AUC-PR printed",
                "PATE / AUC-PR ours",
            ],
            [
                [
                    row.dataset,
                    row.steps,
                    row.labels,
                    *(value for name in (AUC_PR, VUS_PR, PATE) for value in (row.printed[name], row.ours[name])),
                    row.printed[PATE] / row.printed[AUC_PR],
                    ratios[row.dataset],
                ]
                for row in found.benchmarks
            ],
            decimals=3,
        )
    yield _made_table(found, "continuous", names)
    yield _made_table(found, "binary", names)
    yield ReportTable(
        "slopes",
        "Fitted slopes from 10⁴ steps on",
        ["metric", "scores", *(f"{100 * share:.0f} % anomalous" for share in SHARES)],
        [
            [name, kind, *(found.slope(name, kind, share) for share in SHARES)]
            for name in names
            for kind in ("continuous", "binary")
        ],
    )
    yield ReportTable(
        "cells",
        "Every cell, with a note where it was not run",
        ["metric", "scores", "anomalous share", "steps", "seconds", "note"],
        [[cell.metric, cell.scores, cell.share, cell.steps, cell.seconds, cell.note] for cell in found.cells],
        in_page=False,
    )


def _made_table(found: Timing, kind: str, names: list[str]) -> ReportTable:
    sizes = sorted({cell.steps for cell in found.cells})
    rows: list[list[Any]] = []
    for share in SHARES:
        for steps in sizes:
            values = [found.seconds(name, kind, share).get(steps) for name in names]
            rows.append(
                [f"{100 * share:.0f} %", steps, *(None if v is None or not np.isfinite(v) else v for v in values)]
            )
    columns = ["anomalous", "steps", *names]
    return ReportTable(
        f"made-{kind}", f"Made series, {kind} scores, seconds (a dash: not run)", columns, rows, decimals=5
    )


def draw(found: Timing) -> Any:
    """Two panels on logarithmic axes, a curve per metric with its slope."""
    from pateval import plots

    axes = plots.panels(1, 2, size=(8.6, 4.2), share_y=True)[0]
    names = list(dict.fromkeys(cell.metric for cell in found.cells))
    sizes = sorted({cell.steps for cell in found.cells})
    for ax, kind in zip(axes, ("continuous", "binary"), strict=True):
        curves = {}
        for name in names:
            times = found.seconds(name, kind, _SHOWN_SHARE)
            values = [times.get(steps, float("nan")) for steps in sizes]
            slope = found.slope(name, kind, _SHOWN_SHARE)
            curves[name if np.isnan(slope) else f"{name} (slope {slope:.2f})"] = np.where(
                np.isfinite(values), values, np.nan
            )
        plots.line_chart(
            sizes, curves, x_label=f"series length (steps), {kind} scores", y_label="time (s)", log=("x", "y"), ax=ax
        )
    return axes


def draw_shares(found: Timing) -> Any:
    """PATE by anomaly share."""
    from pateval import plots

    sizes = sorted({cell.steps for cell in found.cells})
    curves = {}
    for kind in ("continuous", "binary"):
        for share in SHARES:
            times = found.seconds(PATE, kind, share)
            curves[f"{100 * share:.0f} %, {kind}"] = [times.get(steps, float("nan")) for steps in sizes]
    return plots.line_chart(sizes, curves, x_label="series length (steps)", y_label="time (s)", log=("x", "y"))
