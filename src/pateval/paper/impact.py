"""The big table: five detectors under the paper's protocol, each run, printed value and difference in each cell.

Series are laid end to end as one, incomplete last windows are dropped, and predictions are the steps strictly above the
configured percentile of training and test scores together. `own_protocol` stands beside it on the same page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.evaluation.run import best_threshold
from pateval.io.score_files import ZSCORE_CORRELATION, judge_record, training_verdict
from pateval.paper import own_protocol
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.from_labels import chance_values, flagged_percent, marks_of, shade_chance
from pateval.paper.inputs import (
    HELD_OUT,
    PAPER,
    PAPER_METRICS,
    THRESHOLDED,
    Runs,
    Scored,
    ZScore,
    labels_at_hand,
    measured,
    required_runs,
    score_runs,
    squared_zscore,
    train,
)
from pateval.pate.score import pate
from pateval.plots.styling import QUIET
from pateval.thresholds import quantile_threshold

CLOSE = 0.03
# Shares of the steps that are tried instead of the configured one, in per cent.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
DATASETS = ("SMD", "MSL", "SMAP", "SWaT", "PSM")
LIMITS = (0.01, CLOSE, 0.05)
PLAIN = ("random", "squared z-score")  # what has not seen the data, and what needs no network
# Machines vary enough for a spread over subsets to mean something, and only of SMD some are missing. With 14 of 19
# machines values spread about as far as with 19 of 28: 1/14 - 1/19 = .019, 1/19 - 1/28 = .017.
SUBSET_DATASET, KEPT_MACHINES, DRAWS, ALL_MACHINES = "SMD", 14, 20, 28

Values = dict[str, float]


class ImpactCell(NamedTuple):
    """One cell of the table: the printed value, None where there is none, and those of all seeds.

    ``machines`` is the deviation over subsets of machines. The rest was tried with the first seed where the cell is not
    close: for PA-F1 and F1 the best value that any threshold gives, all labels known; for metrics of predictions the
    share of steps configured, in per cent, and their values where other shares are flagged; for PATE its mean over the
    buffers 0 and 100, the default of the authors' package.
    """

    dataset: str
    detector: str
    metric: str
    printed: Any
    seeds: list[float]
    machines: float | None = None
    best: float | None = None
    configured: float | None = None
    shares: dict[float, Values] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    zero_included: float | None = None

    @property
    def median(self) -> float:
        """The median over seeds."""
        return median(self.seeds)

    @property
    def compared(self) -> Cell:
        """Close where the only run is, or the median of several and two of them at least."""
        if len(self.seeds) > 1:
            return Cell(self.printed, self.seeds, "seeds", CLOSE)
        return Cell(self.printed, self.seeds[0], "within", CLOSE)

    @property
    def why(self) -> str:
        """Why it is not close: what the experiments say."""
        reasons = []
        if self.machines is not None and abs(self.median - self.printed) <= 2 * self.machines:
            spread = f"two deviations {2 * self.machines:.2f}"
            reasons.append(f"within the spread over machines, of which 9 are missing ({spread})")
        if close := sum(abs(value - self.printed) <= CLOSE for value in self.seeds):
            reasons.append(f"{close} of {len(self.seeds)} seeds come within {CLOSE:.2f}")
        if self.zero_included is not None and abs(self.zero_included - self.printed) <= CLOSE:
            reasons.append(f"with the buffer 0 included, the default of the authors' package, {self.zero_included:.2f}")
        if self.best is not None and self.best < self.printed - 0.005:
            reasons.append(f"no threshold on these scores gives it: the best is {self.best:.2f}")
        elif self.shares:
            reasons.append(self._at_another_share())
        tried = "" if self.machines is None else ", and no subset of machines"
        return "; ".join(reasons) or f"no seed gives it ({len(self.seeds)} tried){tried}"

    def _at_another_share(self) -> str:
        """Which share of flagged steps would give the printed value, and what becomes of the other cells then."""
        share = min(self.shares, key=lambda tried: abs(self.shares[tried][self.metric] - self.printed))
        value = self.shares[share][self.metric]
        if abs(value - self.printed) > CLOSE:
            return f"none of the shares tried ({', '.join(f'{tried:g}' for tried in sorted(self.shares))} %) gives it"
        lost = [
            f"{metric} {self.shares[share][metric]:.2f} for {printed:.2f}"
            for metric in THRESHOLDED
            if metric != self.metric
            and (printed := paper.impact_cell(self.dataset, self.detector, metric)) is not None
            and abs(self.shares[share][metric] - printed) > CLOSE
        ]
        said = f"flagging {share:g} % instead of {self.configured:g} % gives {value:.2f}"
        return said + (f", but then {' and '.join(lost)}" if lost else "")


@dataclass(frozen=True)
class OnDataset:
    """Everything about one data set: the runs that were read by detector, the cells of each, and values of baselines.

    Baselines are random scores, a constant and the squared z-score on the same steps.
    """

    name: str
    scored: Runs
    cells: dict[str, dict[str, ImpactCell]]  # by detector and metric
    baselines: dict[str, Values]

    @property
    def series(self) -> int:
        """How many series the score files have."""
        return np.unique(next(iter(self.scored.values()))[0].series).size

    @property
    def most_runs(self) -> int:
        """How many runs a detector has, at most."""
        return max(map(len, self.scored.values()))

    @cached_property
    def printed(self) -> list[ImpactCell]:
        """The cells that the paper prints."""
        return [cell for cells in self.cells.values() for cell in cells.values() if cell.printed is not None]

    @cached_property
    def gaps(self) -> list[ImpactCell]:
        """The cells that are not close to the printed value, with what was tried."""
        shares: dict[str, dict[float, Values]] = {}
        gaps = []
        for cell in self.printed:
            if cell.compared.agrees:
                continue
            first = self.scored[cell.detector][0]
            if cell.metric == "PATE":
                cell = cell._replace(zero_included=pate(first.labels, first.scores))
            if cell.metric in ("PA-F1", "Standard-F1"):
                best = best_threshold(first.labels, first.scores, metric=paper.IMPACT_METRICS[cell.metric])
                cell = cell._replace(best=best.value)
            if cell.metric in THRESHOLDED:
                if cell.detector not in shares:
                    shares[cell.detector] = _at_shares(first)
                configured = threshold_ratio(paper.DETECTOR_NAMES[cell.detector], self.name)
                cell = cell._replace(configured=configured, shares=shares[cell.detector])
            gaps.append(cell)
        return gaps

    def within(self, limit: float) -> tuple[int, int]:
        """How many medians come within a limit of what is printed, and how many of these cells chance also gets."""
        plain = [self.baselines[kind] for kind in PLAIN if kind in self.baselines]
        by_chance = [
            any(abs(values[cell.metric] - cell.printed) <= limit for values in plain)
            for cell in self.printed
            if abs(cell.median - cell.printed) <= limit
        ]
        return len(by_chance), sum(by_chance)


def _at_shares(first: Scored) -> dict[float, Values]:
    """Metrics of predictions that flag other shares of training and test scores together."""
    metrics = [PAPER_METRICS[metric] for metric in THRESHOLDED]
    by_share = {}
    for percent in SHARES:
        threshold = first.threshold_at(percent)
        if threshold is not None:
            values = evaluate(first.labels, first.scores, first.scores > threshold, metrics=metrics).values()
            by_share[percent] = dict(zip(THRESHOLDED, map(float, values), strict=True))
    return by_share


def impact(settings: ExperimentSettings) -> Report:
    """Evaluate every run in the score files, trained first where the user asks for it."""
    if settings.train:
        train(settings)
    held_out = dict(score_runs(settings, DATASETS, HELD_OUT))
    runs = {PAPER: required_runs("impact", settings, DATASETS), HELD_OUT: held_out}
    zscores = {name: squared_zscore(name, settings) for name in DATASETS}
    on_datasets = [_on_dataset(name, scored, zscores[name], settings) for name, scored in runs[PAPER].items()]
    own, own_missing = own_protocol.compute(held_out, settings, zscores)
    trainings = [
        _training_row(protocol, run, zscores[dataset])
        for protocol, by_dataset in runs.items()
        for dataset, scored in by_dataset.items()
        for run in itertools.chain(*scored.values())
    ]
    whole, absent = labels_at_hand(("SMD", "PSM"), settings)
    on_all_labels = {
        name: {
            f"{kind}, all labels": chance_values(name, kind, labels.whole_windows(), settings.seeds)
            for kind in ("random", "constant")
        }
        for name, labels in whole.items()
    }
    compared = [on_dataset for on_dataset in on_datasets if on_dataset.printed]
    tables = [*_tables(on_datasets, on_all_labels, trainings), *own_protocol.tables(own)]
    return Report(
        "impact",
        {
            "compared": [(data.name, data.within(CLOSE)[0], len(data.printed)) for data in compared],
            "close": CLOSE,
            "draws": DRAWS,
            "kept": KEPT_MACHINES,
            "shares": SHARES,
            "own": bool(own),
            "resamples": own_protocol.RESAMPLES,
        },
        tables=[table for table in tables if table.rows],
        figures=[*map(_figure, compared), *own_protocol.figures(own)],
        verdicts=[*map(_verdict, compared), _collapse_verdict(trainings), *own_protocol.verdicts(own)],
        missing=[*_missing(on_datasets, zscores), *absent, *own_missing],
    )


def _on_dataset(dataset: str, scored: Runs, zscore: ZScore | None, settings: ExperimentSettings) -> OnDataset:
    values: dict[str, list[Values]] = {}
    for detector, runs in scored.items():
        settings.tell(f"{dataset}: {detector}, {len(runs)} runs")
        values[detector] = [run.measured() for run in runs]
    first = next(iter(scored.values()))[0]
    spread: dict[str, Values] = {}
    if dataset == SUBSET_DATASET and np.unique(first.series).size > KEPT_MACHINES:
        settings.tell(f"{dataset}: {DRAWS} subsets of {KEPT_MACHINES} machines")
        spread = {detector: _over_subsets(runs[0]) for detector, runs in scored.items()}
    settings.tell(f"{dataset}: baselines")
    baselines = {kind: chance_values(dataset, kind, first.labels, settings.seeds) for kind in ("random", "constant")}
    if zscore is not None and (scores := zscore.on(first.labels)) is not None:
        fraction = flagged_percent(dataset) / 100
        threshold = quantile_threshold(scores, fraction=fraction, train_scores=zscore.training)
        baselines["squared z-score"] = measured(first.labels, scores, scores > threshold)
    cells: dict[str, dict[str, ImpactCell]] = {detector: {} for detector in scored}
    for detector, metric in itertools.product(scored, PAPER_METRICS):
        printed, machines = paper.impact_cell(dataset, detector, metric), spread.get(detector, {}).get(metric)
        seeds = [by_metric[metric] for by_metric in values[detector]]
        cells[detector][metric] = ImpactCell(dataset, detector, metric, printed, seeds, machines)
    return OnDataset(dataset, scored, cells, baselines)


def _over_subsets(scored: Scored) -> Values:
    """Standard deviation over subsets of machines; the threshold is that of all of them."""
    names, place = np.unique(scored.series, return_inverse=True)
    draw = np.random.default_rng(0)
    subsets = []
    for _ in range(DRAWS):
        chosen = np.zeros(names.size, dtype=np.bool_)
        chosen[draw.permutation(names.size)[:KEPT_MACHINES]] = True
        subsets.append(scored.measured(chosen[place]))
    return {metric: float(np.std([values[metric] for values in subsets], ddof=1)) for metric in PAPER_METRICS}


def _figure(data: OnDataset) -> Figure:
    hollow = "printed values (hollow) and ours (filled: the median over seeds, bars: all)"
    caption = f"{data.name}: {hollow}; shaded: not above random scores."
    return Figure(f"impact-{data.name.lower()}", caption, partial(draw, data))


def _verdict(data: OnDataset) -> Verdict:
    one_seed = data.most_runs == 1
    values = {"data": data, "close": CLOSE, "reached": data.within(CLOSE), "one_seed": one_seed}
    return Verdict("dataset", [cell.compared for cell in data.printed], values, one_seed=one_seed)


def _training_row(protocol: str, run: Scored, zscore: ZScore | None) -> Row:
    """What the record of a run says, and how much its scores are those of the squared z-score."""
    plain = None if zscore is None else zscore.on(run.labels)
    correlation = None if plain is None else float(spearmanr(run.scores, plain).statistic)
    return {
        "protocol": protocol,
        "data set": run.dataset,
        "detector": run.detector,
        "seed": run.run,
        "verdict": training_verdict(run.record),
        "correlation": correlation,
        "collapsed": bool(run.record and judge_record(run.record)) or (correlation or 0.0) >= ZSCORE_CORRELATION,
    }


def _collapse_verdict(trainings: list[Row]) -> Verdict:
    collapsed: dict[tuple[Any, ...], list[int]] = {}
    for row in trainings:
        if row["collapsed"]:
            collapsed.setdefault((row["protocol"], row["data set"], row["detector"]), []).append(row["seed"])
    values = {"collapsed": collapsed, "runs": len(trainings), "correlation": ZSCORE_CORRELATION}
    return Verdict("collapse", None, values)


def _missing(on_datasets: list[OnDataset], zscores: dict[str, ZScore | None]) -> Iterator[str]:
    for data in on_datasets:
        for detector, name in paper.DETECTOR_NAMES.items():
            runs = data.scored.get(detector, [])
            if not runs:
                how = f"'pateval detect {name} --data {data.name} --protocol {PAPER}' makes one"
                yield f"{data.name}: no score file of {detector}; {how}"
            elif len(runs) < data.most_runs:
                yield f"{data.name}: {len(runs)} of {data.most_runs} seeds of {detector} are here"
            if any(run.threshold is None for run in runs):
                yield f"{data.name}: {detector} has no training scores, and so no threshold"
        if "squared z-score" not in data.baselines:
            why = "needs the data: name their folder with --root"
            if zscores[data.name] is not None:
                why = "the data at hand are not those of the score files"
            yield f"The squared z-score on {data.name}: {why}"
    present = {data.name: data.series for data in on_datasets}
    if "SWaT" not in present:
        yield "SWaT is given out on request only; where you have it, 'pateval detect' makes its score files"
    if "PSM" not in present:
        yield "PSM: the labels are whole, the features are not; chance rows only"
    if (have := present.get(SUBSET_DATASET, ALL_MACHINES)) < ALL_MACHINES:
        yield f"SMD: {have} of the paper's {ALL_MACHINES} machines have features here"


def _tables(
    on_datasets: list[OnDataset], on_all_labels: dict[str, dict[str, Values]], trainings: list[Row]
) -> list[PageTable]:
    present = [data.name for data in on_datasets]
    others = {name: by_kind for name, by_kind in on_all_labels.items() if name not in present}
    others_caption = "Chance where there are labels and no features"
    named = ("data set", "detector")
    counts = [row for data in on_datasets if data.printed for row in _count_rows(data)]
    gaps = [_gap_row(gap) for data in on_datasets for gap in data.gaps]
    gaps_caption = f"Cells that are not within {CLOSE:.2f}, and what experiments with seed 0 say"
    shares = {data.name: {gap.detector: gap.shares for gap in data.gaps if gap.shares} for data in on_datasets}
    shares_caption = "Metrics of predictions where other shares are flagged, seed 0"
    seeds = {
        data.name: {
            detector: {"seeds": len(data.scored[detector])}
            | {metric: _over_seeds(cell) for metric, cell in cells.items()}
            for detector, cells in data.cells.items()
        }
        for data in on_datasets
    }
    machines = [
        {"detector": detector} | {metric: _over_machines(cell) for metric, cell in cells.items()}
        for data in on_datasets
        for detector, cells in data.cells.items()
        if all(cell.machines is not None for cell in cells.values())
    ]
    subsets = f"{DRAWS} subsets of {KEPT_MACHINES} machines"
    return [
        *(_big_table(data, on_all_labels.get(data.name, {})) for data in on_datasets),
        PageTable.of("chance-only", others_caption, others, *named, decimals=3, in_csv=False),
        PageTable("counts", "Printed cells within three limits, and how many chance gets", counts),
        PageTable("gaps", gaps_caption, gaps, decimals=3),
        PageTable.of("shares", shares_caption, shares, *named, "flagged %", in_page=False),
        PageTable.of("seeds", "Median over seeds, from the lowest to the highest", seeds, *named, in_csv=False),
        PageTable("machines", f"{SUBSET_DATASET}: deviation over {subsets} (* the gap is above two)", machines),
        PageTable("training", "Every run: its record, and its rank correlation with the squared z-score", trainings),
        PageTable("values", "All values of all runs", list(_value_rows(on_datasets, on_all_labels)), in_page=False),
    ]


def _big_table(data: OnDataset, on_all_labels: dict[str, Values]) -> PageTable:
    """The median over seeds, with the printed value and the difference where there is one; and baselines."""

    def shown(value: float, printed: float | None = None) -> str:
        if math.isnan(value):
            return "-"
        return f"{value:.3f}" if printed is None else f"{value:.3f} ({printed:.2f}; {value - printed:+.3f})"

    rows = {
        detector: {metric: shown(cell.median, cell.printed) for metric, cell in cells.items()}
        for detector, cells in data.cells.items()
    }
    for kind, values in (data.baselines | on_all_labels).items():
        rows[kind] = {metric: shown(value) for metric, value in values.items()}
    caption = f"{data.name}, {data.series} series: ours (median over seeds; printed; difference)"
    return PageTable.of(f"table-{data.name.lower()}", caption, rows, "detector", in_csv=False)


def _count_rows(data: OnDataset) -> Iterator[Row]:
    """Printed cells within each limit: of every seed, of the median over seeds, and of what has not seen the data."""
    away: dict[str, list[float]] = {f"seed {seed}": [] for seed in range(data.most_runs)}
    for cell in data.printed:
        values = {f"seed {seed}": value for seed, value in enumerate(cell.seeds)}
        values["median over seeds"] = cell.median
        values |= {kind: data.baselines[kind][cell.metric] for kind in PLAIN if kind in data.baselines}
        for run, value in values.items():
            away.setdefault(run, []).append(abs(value - cell.printed))
    for run, distances in away.items():
        counted = {f"within {limit}": sum(distance <= limit for distance in distances) for limit in LIMITS}
        yield {"data set": data.name, "run": run, "cells": len(distances), **counted}
    too = {f"within {limit}": data.within(limit)[1] for limit in LIMITS}
    yield {"data set": data.name, "run": "median, and chance too", "cells": len(data.printed), **too}


def _gap_row(gap: ImpactCell) -> Row:
    named = {"data set": gap.dataset, "detector": gap.detector, "metric": gap.metric, "printed": gap.printed}
    ours = {"ours": gap.median, "lowest": min(gap.seeds), "highest": max(gap.seeds), "runs": len(gap.seeds)}
    return named | ours | {"best": gap.best, "why": gap.why}


def _over_seeds(cell: ImpactCell) -> str:
    """The median over seeds, with the range."""
    if math.isnan(cell.seeds[0]):
        return "-"
    reach = f" ({min(cell.seeds):.3f} to {max(cell.seeds):.3f})" if len(cell.seeds) > 1 else ""
    return f"{cell.median:.3f}{reach}"


def _over_machines(cell: ImpactCell) -> str:
    """The deviation over subsets of machines, with a star where the printed value lies further off than twice that."""
    deviation = cell.machines or 0.0
    is_beyond = cell.printed is not None and abs(cell.median - cell.printed) > 2 * deviation
    return f"{deviation:.3f}" + ("*" if is_beyond else "")


def _value_rows(on_datasets: list[OnDataset], on_all_labels: dict[str, dict[str, Values]]) -> Iterator[Row]:
    runs = [
        (data.name, detector, f"seed {run.run}", {metric: cell.seeds[place] for metric, cell in cells.items()})
        for data in on_datasets
        for detector, cells in data.cells.items()
        for place, run in enumerate(data.scored[detector])
    ]
    baselines = [*((data.name, data.baselines) for data in on_datasets), *on_all_labels.items()]
    runs += [(name, kind, "", values) for name, by_kind in baselines for kind, values in by_kind.items()]
    for dataset, detector, run, values in runs:
        for metric, value in values.items():
            printed = paper.impact_cell(dataset, detector, metric)
            away = None if printed is None else value - printed
            named = {"data set": dataset, "detector": detector, "run": run, "metric": metric}
            yield {**named, "ours": value, "printed": printed, "difference": away}


def draw(data: OnDataset) -> Any:
    """Printed and found values of one data set, metric by metric."""
    (ax,) = plots.panels(size=(7.0, 3.2))[0]
    shade_chance(ax, data.baselines["random"], f"value on {data.name}")
    for detector, by_metric in data.cells.items():
        cells = [by_metric[metric] for metric in paper.IMPACT_VALUES]
        values = np.array([cell.seeds for cell in cells])
        x, looks = marks_of(detector)
        ax.vlines(x, values.min(axis=1), values.max(axis=1), color=looks["color"], linewidth=1.5, zorder=2)
        ax.plot(x - 0.035, np.median(values, axis=1), zorder=3, label=detector, **looks)
        printed = [cell.printed for cell in cells]
        ax.plot(x + 0.035, printed, zorder=4, markerfacecolor="none", markeredgewidth=1.1, **looks)
    ax.plot([], [], linestyle="none", marker="o", markerfacecolor="none", color=QUIET, label="hollow: printed")
    ax.set_xlabel("metric (shaded: not above random scores)")
    ax.figure.legend(handles=ax.get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return ax
