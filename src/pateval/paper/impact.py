"""The big table: five detectors under the paper's protocol, each run, printed value and difference in each cell.

Series are laid end to end as one, incomplete last windows are dropped, and predictions are the steps strictly above the
configured percentile of training and test scores together. `own_protocol` stands beside it on the same page.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.evaluation.threshold_search import best_threshold
from pateval.io.score_files import ZSCORE_CORRELATION, judge_record, training_verdict
from pateval.paper import own_protocol
from pateval.paper import paper_tables as paper
from pateval.paper.chance import chance_values, flagged_percent, marks_of, shade_chance
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
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
# Detector and metric of a cell.
Place = tuple[str, str]


class Gap(NamedTuple):
    """A cell that is not close to the printed value, the values of all seeds, and what was tried on the first of them.

    The deviation over subsets of machines; for PA-F1 and F1 the best value that any threshold gives, all labels known;
    for metrics of predictions the share of steps configured, in per cent, and their values where other shares are
    flagged; for PATE its mean over the buffers 0 and 100, the default of the authors' package.
    """

    dataset: str
    detector: str
    metric: str
    printed: float
    seeds: list[float]
    machines: float | None = None
    best: float | None = None
    configured: float | None = None
    shares: dict[float, Values] = {}  # noqa: RUF012 - a NamedTuple's default, never changed
    zero_included: float | None = None

    @property
    def found(self) -> float:
        """The median over seeds."""
        return median(self.seeds)

    @property
    def why(self) -> str:
        """What the experiments say."""
        said = []
        if self.machines is not None and abs(self.found - self.printed) <= 2 * self.machines:
            spread = f"two deviations {2 * self.machines:.2f}"
            said.append(f"within the spread over machines, of which 9 are missing ({spread})")
        if close := sum(abs(value - self.printed) <= CLOSE for value in self.seeds):
            said.append(f"{close} of {len(self.seeds)} seeds come within {CLOSE:.2f}")
        if self.zero_included is not None and abs(self.zero_included - self.printed) <= CLOSE:
            said.append(f"with the buffer 0 included, the default of the authors' package, {self.zero_included:.2f}")
        if self.best is not None and self.best < self.printed - 0.005:
            said.append(f"no threshold on these scores gives it: the best is {self.best:.2f}")
        elif self.shares:
            said.append(self.at_another_share())
        tried = "" if self.machines is None else ", and no subset of machines"
        return "; ".join(said) or f"no seed gives it ({len(self.seeds)} tried){tried}"

    def at_another_share(self) -> str:
        """Which share of flagged steps would give the printed value, and what becomes of the other cells then."""
        share = min(self.shares, key=lambda tried: abs(self.shares[tried][self.metric] - self.printed))
        value = self.shares[share][self.metric]
        if abs(value - self.printed) > CLOSE:
            return f"none of the shares tried ({', '.join(f'{tried:g}' for tried in sorted(self.shares))} %) gives it"
        others = [
            f"{metric} {self.shares[share][metric]:.2f} for {given:.2f}"
            for metric in THRESHOLDED
            if metric != self.metric
            and (given := paper.impact_cell(self.dataset, self.detector, metric)) is not None
            and abs(self.shares[share][metric] - given) > CLOSE
        ]
        said = f"flagging {share:g} % instead of {self.configured:g} % gives {value:.2f}"
        return said + (f", but then {' and '.join(others)}" if others else "")

    def row(self) -> Row:
        """The gap as a row of the table."""
        named = dict(zip(("data set", "detector", "metric", "printed"), self[:4], strict=True))
        ours = {"ours": self.found, "lowest": min(self.seeds), "highest": max(self.seeds), "runs": len(self.seeds)}
        return named | ours | {"best": self.best, "why": self.why}


def find_gaps(dataset: str, scored: Runs, cells: Mapping[Place, Cell], spread: Mapping[Place, float]) -> Iterator[Gap]:
    """Look into every cell that is not close to the printed value."""
    for detector, (first, *_) in scored.items():
        far = {metric: cell for (who, metric), cell in cells.items() if who == detector and not cell.agrees}
        shares = _at_shares(first) if set(far) & set(THRESHOLDED) else {}
        for metric, cell in far.items():
            tried: dict[str, Any] = {}
            if metric in ("PA-F1", "Standard-F1"):
                tried["best"] = best_threshold(first.labels, first.scores, metric=paper.IMPACT_METRICS[metric]).value
            if metric in THRESHOLDED:
                tried["configured"] = threshold_ratio(paper.DETECTOR_NAMES[detector], dataset)
                tried["shares"] = shares
            if metric == "PATE":
                tried["zero_included"] = pate(first.labels, first.scores)
            seeds, machines = np.ravel(cell.found).tolist(), spread.get((detector, metric))
            yield Gap(dataset, detector, metric, cell.printed, seeds, machines, **tried)


def _at_shares(first: Scored) -> dict[float, Values]:
    """Metrics of predictions that flag other shares of training and test scores together."""
    metrics = [PAPER_METRICS[metric] for metric in THRESHOLDED]
    found = {}
    for percent in SHARES:
        threshold = first.threshold_at(percent)
        if threshold is not None:
            values = evaluate(first.labels, first.scores, first.scores > threshold, metrics=metrics).values()
            found[percent] = dict(zip(THRESHOLDED, map(float, values), strict=True))
    return found


@dataclass(frozen=True)
class OnDataset:
    """Everything about one data set.

    How many series the score files have; by detector the runs that were read and the values of each; values of random
    scores, a constant and the squared z-score on the same steps; by detector and metric, where the paper prints a
    value, it and ours, and the standard deviation over subsets of machines, seed 0; and what is not close.
    """

    name: str
    series: int
    scored: Runs
    runs: dict[str, list[Values]]
    baselines: dict[str, Values]
    cells: dict[Place, Cell]
    spread: dict[Place, float]
    gaps: list[Gap]

    @cached_property
    def medians(self) -> dict[str, Values]:
        """By detector the median of each metric over its runs."""
        return {
            detector: {metric: median(values[metric] for values in runs) for metric in PAPER_METRICS}
            for detector, runs in self.runs.items()
        }

    @property
    def most_runs(self) -> int:
        """How many runs a detector has, at most."""
        return max(map(len, self.runs.values()))


def impact(settings: ExperimentSettings) -> Report:
    """Evaluate every run in the score files, trained first where the user asks for it."""
    if settings.train:
        train(settings)
    held_out = dict(score_runs(settings, DATASETS, HELD_OUT))
    runs = {PAPER: required_runs("impact", settings, DATASETS), HELD_OUT: held_out}
    zscores = {name: squared_zscore(name, settings) for name in DATASETS}
    found = [_on_dataset(name, scored, zscores[name], settings) for name, scored in runs[PAPER].items()]
    own, own_missing = own_protocol.compute(held_out, settings, zscores)
    trainings = [
        row
        for protocol, on_datasets in runs.items()
        for name, scored in on_datasets.items()
        for row in _training_rows(protocol, scored, zscores[name])
    ]
    whole, absent = labels_at_hand(("SMD", "PSM"), settings)
    on_all_labels = {
        name: {
            f"{kind}, all labels": chance_values(name, kind, labels.whole_windows(), settings.seeds)
            for kind in ("random", "constant")
        }
        for name, labels in whole.items()
    }
    compared = [one for one in found if one.cells]
    tables = [*_tables(found, on_all_labels, trainings), *own_protocol.tables(own)]
    return Report(
        "impact",
        {
            "compared": [(one.name, _within(one, CLOSE)[0], len(one.cells)) for one in compared],
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
        missing=[*_missing(found, zscores), *absent, *own_missing],
    )


def _on_dataset(dataset: str, scored: Runs, zscore: ZScore | None, settings: ExperimentSettings) -> OnDataset:
    runs: dict[str, list[Values]] = {}
    for detector, all_runs in scored.items():
        settings.tell(f"{dataset}: {detector}, {len(all_runs)} runs")
        runs[detector] = [run.measured() for run in all_runs]
    first = next(iter(scored.values()))[0]
    series = np.unique(first.series).size
    spread: dict[Place, float] = {}
    if dataset == SUBSET_DATASET and series > KEPT_MACHINES:
        settings.tell(f"{dataset}: {DRAWS} subsets of {KEPT_MACHINES} machines")
        for all_runs in scored.values():
            spread |= _over_subsets(all_runs[0])
    settings.tell(f"{dataset}: baselines")
    baselines = {kind: chance_values(dataset, kind, first.labels, settings.seeds) for kind in ("random", "constant")}
    if zscore is not None and (scores := zscore.on(first.labels)) is not None:
        fraction = flagged_percent(dataset) / 100
        threshold = quantile_threshold(scores, fraction=fraction, train_scores=zscore.training)
        baselines["squared z-score"] = measured(first.labels, scores, scores > threshold)
    cells = {}
    for (detector, all_values), metric in itertools.product(runs.items(), paper.IMPACT_VALUES):
        if (printed := paper.impact_cell(dataset, detector, metric)) is not None:
            # Close where the only run is, or the median of several and two of them at least.
            (only, *others) = ours = [values[metric] for values in all_values]
            cell = Cell(printed, ours, "seeds", CLOSE) if others else Cell(printed, only, "within", CLOSE)
            cells[detector, metric] = cell
    gaps = list(find_gaps(dataset, scored, cells, spread))
    return OnDataset(dataset, series, scored, runs, baselines, cells, spread, gaps)


def _over_subsets(scored: Scored) -> dict[Place, float]:
    """Standard deviation over subsets of machines; the threshold is that of all of them."""
    names, place = np.unique(scored.series, return_inverse=True)
    draw = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        chosen = np.zeros(names.size, dtype=np.bool_)
        chosen[draw.permutation(names.size)[:KEPT_MACHINES]] = True
        found.append(scored.measured(chosen[place]))
    return {
        (scored.detector, metric): float(np.std([values[metric] for values in found], ddof=1))
        for metric in PAPER_METRICS
    }


def _within(one: OnDataset, limit: float) -> tuple[int, int]:
    """How many printed cells the median over runs comes within a limit of, and how many of those chance also gets."""
    plain = [one.baselines[kind] for kind in PLAIN if kind in one.baselines]
    by_chance = [
        any(abs(values[metric] - cell.printed) <= limit for values in plain)
        for (detector, metric), cell in one.cells.items()
        if abs(one.medians[detector][metric] - cell.printed) <= limit
    ]
    return len(by_chance), sum(by_chance)


def _count_rows(one: OnDataset) -> Iterator[Row]:
    """Printed cells within each limit: of every seed, of the median over seeds, and of what has not seen the data."""
    rows = {
        f"seed {seed}": {detector: runs[seed] for detector, runs in one.runs.items() if seed < len(runs)}
        for seed in range(one.most_runs)
    }
    rows["median over seeds"] = one.medians
    rows |= {kind: dict.fromkeys(one.runs, one.baselines[kind]) for kind in PLAIN if kind in one.baselines}
    for run, by_detector in rows.items():
        away = [
            abs(by_detector[detector][metric] - cell.printed)
            for (detector, metric), cell in one.cells.items()
            if detector in by_detector
        ]
        counted = {f"within {limit}": sum(distance <= limit for distance in away) for limit in LIMITS}
        yield {"data set": one.name, "run": run, "cells": len(away), **counted}
    too = {f"within {limit}": _within(one, limit)[1] for limit in LIMITS}
    yield {"data set": one.name, "run": "median, and chance too", "cells": len(one.cells), **too}


def _figure(one: OnDataset) -> Figure:
    hollow = "printed values (hollow) and ours (filled: the median over seeds, bars: all)"
    caption = f"{one.name}: {hollow}; shaded: not above random scores."
    return Figure(f"impact-{one.name.lower()}", caption, partial(draw, one))


def _verdict(one: OnDataset) -> Verdict:
    one_seed = one.most_runs == 1
    values = {"one": one, "close": CLOSE, "reached": _within(one, CLOSE), "one_seed": one_seed}
    return Verdict("dataset", list(one.cells.values()), values, one_seed=one_seed)


def _training_rows(protocol: str, scored: Runs, zscore: ZScore | None) -> Iterator[Row]:
    """Of every run: what its record says, and how much its scores are those of the squared z-score."""
    for run in itertools.chain(*scored.values()):
        plain = None if zscore is None else zscore.on(run.labels)
        correlation = None if plain is None else float(spearmanr(run.scores, plain).statistic)
        alike = (correlation or 0.0) >= ZSCORE_CORRELATION
        yield {
            "protocol": protocol,
            "data set": run.dataset,
            "detector": run.detector,
            "seed": run.run,
            "verdict": training_verdict(run.record),
            "correlation": correlation,
            "collapsed": bool(run.record and judge_record(run.record)) or alike,
        }


def _collapse_verdict(trainings: list[Row]) -> Verdict:
    collapsed: dict[tuple[Any, ...], list[int]] = {}
    for row in trainings:
        if row["collapsed"]:
            collapsed.setdefault((row["protocol"], row["data set"], row["detector"]), []).append(row["seed"])
    values = {"collapsed": collapsed, "runs": len(trainings), "correlation": ZSCORE_CORRELATION}
    return Verdict("collapse", None, values)


def _missing(found: list[OnDataset], zscores: dict[str, ZScore | None]) -> Iterator[str]:
    for one in found:
        for detector, name in paper.DETECTOR_NAMES.items():
            runs = one.scored.get(detector, [])
            if not runs:
                how = f"'pateval detect {name} --data {one.name} --protocol {PAPER}' makes one"
                yield f"{one.name}: no score file of {detector}; {how}"
            elif len(runs) < one.most_runs:
                yield f"{one.name}: {len(runs)} of {one.most_runs} seeds of {detector} are here"
            if any(run.threshold is None for run in runs):
                yield f"{one.name}: {detector} has no training scores, and so no threshold"
        if "squared z-score" not in one.baselines:
            why = "needs the data: name their folder with --root"
            if zscores[one.name] is not None:
                why = "the data at hand are not those of the score files"
            yield f"The squared z-score on {one.name}: {why}"
    present = {one.name: one.series for one in found}
    if "SWaT" not in present:
        yield "SWaT is given out on request only; where you have it, 'pateval detect' makes its score files"
    if "PSM" not in present:
        yield "PSM: the labels are whole, the features are not; chance rows only"
    if (have := present.get(SUBSET_DATASET, ALL_MACHINES)) < ALL_MACHINES:
        yield f"SMD: {have} of the paper's {ALL_MACHINES} machines have features here"


def _tables(
    found: list[OnDataset], on_all_labels: dict[str, dict[str, Values]], trainings: list[Row]
) -> list[PageTable]:
    others = {name: on_all_labels[name] for name in on_all_labels if name not in [one.name for one in found]}
    others_caption = "Chance where there are labels and no features"
    named = ("data set", "detector")
    counts = [row for one in found if one.cells for row in _count_rows(one)]
    gaps = [gap.row() for one in found for gap in one.gaps]
    gaps_caption = f"Cells that are not within {CLOSE:.2f}, and what experiments with seed 0 say"
    shares = {one.name: {gap.detector: gap.shares for gap in one.gaps if gap.shares} for one in found}
    shares_caption = "Metrics of predictions where other shares are flagged, seed 0"
    seeds = {one.name: {detector: _over_seeds(runs) for detector, runs in one.runs.items()} for one in found}
    machines = [row for one in found for row in _machine_rows(one)]
    subsets = f"{DRAWS} subsets of {KEPT_MACHINES} machines"
    return [
        *(_big_table(one, on_all_labels.get(one.name, {})) for one in found),
        PageTable.of("chance-only", others_caption, others, *named, decimals=3, in_csv=False),
        PageTable("counts", "Printed cells within three limits, and how many chance gets", counts),
        PageTable("gaps", gaps_caption, gaps, decimals=3),
        PageTable.of("shares", shares_caption, shares, *named, "flagged %", in_page=False),
        PageTable.of("seeds", "Median over seeds, from the lowest to the highest", seeds, *named, in_csv=False),
        PageTable("machines", f"{SUBSET_DATASET}: deviation over {subsets} (* the gap is above two)", machines),
        PageTable("training", "Every run: its record, and its rank correlation with the squared z-score", trainings),
        PageTable("values", "All values of all runs", list(_value_rows(found, on_all_labels)), in_page=False),
    ]


def _big_table(one: OnDataset, on_all_labels: dict[str, Values]) -> PageTable:
    """The median over seeds, with the printed value and the difference where there is one."""

    def shown(detector: str, metric: str, value: float) -> str:
        if math.isnan(value):
            return "-"
        printed = paper.impact_cell(one.name, detector, metric)
        return f"{value:.3f}" if printed is None else f"{value:.3f} ({printed:.2f}; {value - printed:+.3f})"

    rows = {
        name: {metric: shown(name, metric, value) for metric, value in values.items()}
        for name, values in (one.medians | one.baselines | on_all_labels).items()
    }
    caption = f"{one.name}, {one.series} series: ours (median over seeds; printed; difference)"
    return PageTable.of(f"table-{one.name.lower()}", caption, rows, "detector", in_csv=False)


def _over_seeds(runs: list[Values]) -> Row:
    """How many runs there are, and the median of each metric with its range."""

    def spread(values: list[float]) -> str:
        if math.isnan(values[0]):
            return "-"
        reach = f" ({min(values):.3f} to {max(values):.3f})" if len(values) > 1 else ""
        return f"{median(values):.3f}{reach}"

    return {"seeds": len(runs)} | {metric: spread([values[metric] for values in runs]) for metric in PAPER_METRICS}


def _machine_rows(one: OnDataset) -> Iterator[Row]:
    for detector, values in one.medians.items() if one.spread else ():
        row = {"detector": detector}
        for metric, value in values.items():
            deviation = one.spread[detector, metric]
            printed = paper.impact_cell(one.name, detector, metric)
            beyond = printed is not None and abs(value - printed) > 2 * deviation
            row[metric] = f"{deviation:.3f}" + ("*" if beyond else "")
        yield row


def _value_rows(found: list[OnDataset], on_all_labels: dict[str, dict[str, Values]]) -> Iterator[Row]:
    runs = [
        (one.name, detector, f"seed {run.run}", values)
        for one in found
        for detector, all_values in one.runs.items()
        for run, values in zip(one.scored[detector], all_values, strict=True)
    ]
    baselines = [*((one.name, one.baselines) for one in found), *on_all_labels.items()]
    runs += [(name, kind, "", values) for name, by_kind in baselines for kind, values in by_kind.items()]
    for dataset, detector, run, values in runs:
        for metric, value in values.items():
            printed = paper.impact_cell(dataset, detector, metric)
            away = None if printed is None else value - printed
            named = {"data set": dataset, "detector": detector, "run": run, "metric": metric}
            yield {**named, "ours": value, "printed": printed, "difference": away}


def draw(one: OnDataset) -> Any:
    """Printed and found values of one data set, metric by metric."""
    (ax,) = plots.panels(size=(7.0, 3.2))[0]
    shade_chance(ax, one.baselines["random"], f"value on {one.name}")
    for detector, runs in one.runs.items():
        values = np.array([[found[metric] for metric in paper.IMPACT_VALUES] for found in runs])
        x, looks = marks_of(detector)
        ax.vlines(x, values.min(axis=0), values.max(axis=0), color=looks["color"], linewidth=1.5, zorder=2)
        ax.plot(x - 0.035, np.median(values, axis=0), zorder=3, label=detector, **looks)
        printed = [paper.impact_cell(one.name, detector, metric) for metric in paper.IMPACT_VALUES]
        ax.plot(x + 0.035, printed, zorder=4, markerfacecolor="none", markeredgewidth=1.1, **looks)
    ax.plot([], [], linestyle="none", marker="o", markerfacecolor="none", color=QUIET, label="hollow: printed")
    ax.set_xlabel("metric (shaded: not above random scores)")
    ax.figure.legend(handles=ax.get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return ax
