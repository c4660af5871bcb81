"""The big table: five detectors under the paper's protocol, each run, printed value and difference in each cell.

Series are laid end to end as one, incomplete last windows are dropped, and predictions are the steps strictly above the
configured percentile of training and test scores together. `own_protocol` stands beside it on the same page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from pateval import plots
from pateval.io.score_files import ZSCORE_CORRELATION, judge_record, training_verdict
from pateval.paper import own_protocol
from pateval.paper import paper_tables as paper
from pateval.paper.chance import chance_values, flagged_percent, marks_of, shade_chance
from pateval.paper.document import Cell, ExperimentSettings, Figure, MissingInputError, PageTable, Report, Row, Verdict
from pateval.paper.gaps import CLOSE, SHARES, Gap, Values, find_gaps
from pateval.paper.inputs import (
    HELD_OUT,
    PAPER,
    PAPER_METRICS,
    Scored,
    ZScore,
    datasets_in,
    labels_at_hand,
    measured,
    protocol_folder,
    read_runs,
    score_folder,
    squared_zscore,
    train,
)
from pateval.plots.styling import QUIET
from pateval.thresholds import quantile_threshold

DATASETS = ("SMD", "MSL", "SMAP", "SWaT", "PSM")
LIMITS = (0.01, CLOSE, 0.05)
# Machines vary enough for a spread over subsets to mean something, and only of SMD some are missing. With 14 of 19
# machines values spread about as far as with 19 of 28: 1/14 - 1/19 = .019, 1/19 - 1/28 = .017.
SUBSET_DATASET, KEPT_MACHINES, DRAWS, ALL_MACHINES = "SMD", 14, 20, 28


@dataclass(frozen=True)
class OnDataset:
    """Everything about one data set.

    How many series the score files have; by detector the runs that were read and the values of each; values of random
    scores, a constant and the squared z-score on the same steps; by detector and metric the standard deviation over
    subsets of machines, seed 0; and cells further than .03 from the printed value.
    """

    name: str
    series: int
    scored: dict[str, list[Scored]]
    runs: dict[str, list[Values]]
    baselines: dict[str, Values]
    spread: dict[tuple[str, str], float]
    gaps: list[Gap]

    @property
    def cells(self) -> dict[tuple[str, str], tuple[float, list[float]]]:
        """By detector and metric, where the paper prints a value: it, and ours of each run."""
        return {
            (detector, metric): (printed, [values[metric] for values in runs])
            for detector, runs in self.runs.items()
            for metric in paper.IMPACT_VALUES
            if (printed := paper.impact_cell(self.name, detector, metric)) is not None
        }


def impact(settings: ExperimentSettings) -> Report:
    """Evaluate every run in the score files, trained first where the user asks for it."""
    if settings.train:
        train(settings)
    folder = score_folder(settings, "impact")
    if not (present := datasets_in(folder, DATASETS)):
        raise MissingInputError(f"impact needs score files of {', '.join(DATASETS)}; the folder has none of them")
    zscores = {name: squared_zscore(name, settings) for name in DATASETS}
    found = [_on_dataset(name, read_runs(folder, name), zscores[name], settings) for name in present]
    own = own_protocol.compute(settings, zscores)
    trainings = [
        row
        for place in (folder, protocol_folder(settings, HELD_OUT))
        if place is not None
        for name in datasets_in(place, DATASETS)
        for row in _training_rows(place.name, read_runs(place, name), zscores[name])
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
    return Report(
        "impact",
        {
            "compared": [(one.name, _within(one, CLOSE)[0], len(one.cells)) for one in compared],
            "close": CLOSE,
            "draws": DRAWS,
            "kept": KEPT_MACHINES,
            "shares": SHARES,
            "own": bool(own.rows),
            "resamples": own_protocol.RESAMPLES,
            "race": sorted({f"{row['detector']} on {row['data set']}" for row in trainings if row["race"]}),
        },
        tables=[*_tables(found, on_all_labels, trainings), *own_protocol.tables(own)],
        figures=[
            *(
                Figure(
                    f"impact-{one.name.lower()}",
                    f"{one.name}: printed values (hollow) and ours (filled, bars from the lowest to the highest seed); "
                    "shaded: not above random scores.",
                    partial(draw, one),
                )
                for one in compared
            ),
            *own_protocol.figures(own),
        ],
        verdicts=[
            *map(_verdict, compared),
            Verdict("collapse", None, {"trainings": trainings, "correlation": ZSCORE_CORRELATION}),
            *own_protocol.verdicts(own),
        ],
        missing=[*_missing(found, zscores), *absent, *own.missing],
    )


def _on_dataset(
    dataset: str, scored: dict[str, list[Scored]], zscore: ZScore | None, settings: ExperimentSettings
) -> OnDataset:
    runs: dict[str, list[Values]] = {}
    for detector, all_runs in scored.items():
        settings.tell(f"{dataset}: {detector}, {len(all_runs)} runs")
        runs[detector] = [measured(run.labels, run.scores, run.flagged) for run in all_runs]
    first = next(iter(scored.values()))[0]
    series = np.unique(first.series).size
    spread: dict[tuple[str, str], float] = {}
    if dataset == SUBSET_DATASET and series > KEPT_MACHINES:
        settings.tell(f"{dataset}: {DRAWS} subsets of {KEPT_MACHINES} machines")
        for all_runs in scored.values():
            spread |= _over_subsets(all_runs[0])
    settings.tell(f"{dataset}: baselines")
    baselines = {kind: chance_values(dataset, kind, first.labels, settings.seeds) for kind in ("random", "constant")}
    if zscore is not None and np.array_equal(zscore.labels[: first.labels.size], first.labels):
        scores = zscore.test[: first.labels.size]
        fraction = flagged_percent(dataset) / 100
        threshold = quantile_threshold(scores, fraction=fraction, train_scores=zscore.training)
        baselines["squared z-score"] = measured(first.labels, scores, scores > threshold)
    gaps = list(find_gaps(dataset, scored, runs, spread))
    return OnDataset(dataset, series, scored, runs, baselines, spread, gaps)


def _over_subsets(scored: Scored) -> dict[tuple[str, str], float]:
    """Standard deviation over subsets of machines; the threshold is that of all of them."""
    names = np.unique(scored.series)
    place = np.searchsorted(names, scored.series)
    draw = np.random.default_rng(0)
    found = []
    for _ in range(DRAWS):
        chosen = np.zeros(names.size, dtype=np.bool_)
        chosen[draw.permutation(names.size)[:KEPT_MACHINES]] = True
        kept = chosen[place]
        flagged = None if scored.flagged is None else scored.flagged[kept]
        found.append(measured(scored.labels[kept], scored.scores[kept], flagged))
    return {
        (scored.detector, metric): float(np.std([values[metric] for values in found], ddof=1))
        for metric in PAPER_METRICS
    }


def _within(one: OnDataset, limit: float) -> tuple[int, int]:
    """How many printed cells the median over runs comes within a limit of, and how many of those chance also gets."""
    reached = [place for place, (printed, found) in one.cells.items() if abs(median(found) - printed) <= limit]
    plain = [one.baselines[kind] for kind in ("random", "squared z-score") if kind in one.baselines]
    by_chance = [
        (detector, metric)
        for detector, metric in reached
        if any(abs(values[metric] - one.cells[detector, metric][0]) <= limit for values in plain)
    ]
    return len(reached), len(by_chance)


def _count_rows(one: OnDataset) -> Iterator[Row]:
    """Printed cells within each limit: of every seed, of the median over seeds, and of what has not seen the data."""
    seeds = range(max(map(len, one.runs.values())))
    found: dict[str, dict[tuple[str, str], float]] = {
        f"seed {seed}": {place: values[seed] for place, (_, values) in one.cells.items() if seed < len(values)}
        for seed in seeds
    }
    found["median over seeds"] = {place: median(values) for place, (_, values) in one.cells.items()}
    for kind in ("random", "squared z-score"):
        if kind in one.baselines:
            found[kind] = {place: one.baselines[kind][place[1]] for place in one.cells}
    for run, values in found.items():
        away = [abs(value - one.cells[place][0]) for place, value in values.items()]
        counted = {f"within {limit}": sum(distance <= limit for distance in away) for limit in LIMITS}
        yield {"data set": one.name, "run": run, "cells": len(away), **counted}
    too = {f"within {limit}": _within(one, limit)[1] for limit in LIMITS}
    yield {"data set": one.name, "run": "median, and chance too", "cells": len(one.cells), **too}


def _verdict(one: OnDataset) -> Verdict:
    one_seed = max(map(len, one.runs.values())) == 1
    cells = [
        Cell(printed, found[0], "within", CLOSE) if len(found) == 1 else Cell(printed, found, "seeds", CLOSE)
        for printed, found in one.cells.values()
    ]
    values = {"one": one, "close": CLOSE, "reached": _within(one, CLOSE), "one_seed": one_seed}
    return Verdict("dataset", cells, values, one_seed=one_seed)


def _training_rows(protocol: str, scored: dict[str, list[Scored]], zscore: ZScore | None) -> Iterator[Row]:
    """Of every run: what its record says, and how much its scores are those of the squared z-score."""
    for runs in scored.values():
        for run in runs:
            records = {entry["seed"]: entry.get("training") for entry in run.record.get("runs", ())}
            record = records.get(run.run)
            correlation = None
            if zscore is not None and np.array_equal(zscore.labels[: run.labels.size], run.labels):
                correlation = float(spearmanr(run.scores, zscore.test[: run.scores.size]).statistic)
            yield {
                "protocol": protocol,
                "data set": run.dataset,
                "detector": run.detector,
                "seed": run.run,
                "verdict": training_verdict(record) if record else "no record: made by an older version",
                "correlation": correlation,
                "collapsed": bool(record and judge_record(record)) or (correlation or 0.0) >= ZSCORE_CORRELATION,
                "race": run.had_race,
            }


def _missing(found: list[OnDataset], zscores: dict[str, ZScore | None]) -> Iterator[str]:
    for one in found:
        most = max(map(len, one.scored.values()))
        for detector, name in paper.DETECTOR_NAMES.items():
            runs = one.scored.get(detector, [])
            if not runs:
                how = f"'pateval detect {name} --data {one.name} --protocol {PAPER}' makes one"
                yield f"{one.name}: no score file of {detector}; {how}"
            elif len(runs) < most:
                yield f"{one.name}: {len(runs)} of {most} seeds of {detector} are here"
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
    names = [one.name for one in found]
    others = {name: by_kind for name, by_kind in on_all_labels.items() if name not in names}
    counts = [row for one in found if one.cells for row in _count_rows(one)]
    shares = {
        (gap.dataset, gap.detector, share): values
        for one in found
        for gap in one.gaps
        for share, values in gap.shares.items()
    }
    share_rows = [
        {"data set": dataset, "detector": detector, "flagged %": share, **values}
        for (dataset, detector, share), values in shares.items()
    ]
    tables = [
        *(_big_table(one, on_all_labels.get(one.name, {})) for one in found),
        PageTable.of(
            "chance-only",
            "Chance where there are labels and no features",
            others,
            "data set",
            "detector",
            decimals=3,
            in_csv=False,
        ),
        PageTable("counts", "Printed cells within three limits, and how many chance gets", counts),
        PageTable(
            "gaps",
            f"Cells of seed 0 further than {CLOSE:.2f} away, and what the experiments say",
            [gap.row() for one in found for gap in one.gaps],
            decimals=3,
        ),
        PageTable("shares", "Metrics of predictions where other shares are flagged, seed 0", share_rows, in_page=False),
        PageTable("seeds", "Median over seeds, from the lowest to the highest", _seed_rows(found), in_csv=False),
        PageTable(
            "machines",
            f"{SUBSET_DATASET}: deviation over {DRAWS} subsets of {KEPT_MACHINES} machines (* the gap is above two)",
            [row for one in found for row in _machine_rows(one)],
        ),
        PageTable(
            "training", "Every run: its record, its rank correlation with the squared z-score, and the race", trainings
        ),
        PageTable("values", "All values of all runs", list(_value_rows(found, on_all_labels)), in_page=False),
    ]
    return [table for table in tables if table.rows]


def _big_table(one: OnDataset, on_all_labels: dict[str, Values]) -> PageTable:
    """Ours of seed 0, with the printed value and the difference where there is one."""

    def cell(detector: str, metric: str, value: float) -> str:
        printed = paper.impact_cell(one.name, detector, metric)
        if math.isnan(value):
            return "-"
        return f"{value:.3f}" if printed is None else f"{value:.3f} ({printed:.2f}; {value - printed:+.3f})"

    rows = {detector: runs[0] for detector, runs in one.runs.items()} | one.baselines | on_all_labels
    return PageTable(
        f"table-{one.name.lower()}",
        f"{one.name}, {one.series} series: ours (seed 0; printed; difference)",
        [
            {"detector": name, **{metric: cell(name, metric, value) for metric, value in values.items()}}
            for name, values in rows.items()
        ],
        in_csv=False,
    )


def _seed_rows(found: list[OnDataset]) -> list[Row]:
    def spread(values: list[float]) -> str:
        if len(values) == 1 or math.isnan(values[0]):
            return "-" if math.isnan(values[0]) else f"{values[0]:.3f}"
        return f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"

    return [
        {
            "data set": one.name,
            "detector": detector,
            "seeds": len(runs),
            **{metric: spread([values[metric] for values in runs]) for metric in PAPER_METRICS},
        }
        for one in found
        for detector, runs in one.runs.items()
    ]


def _machine_rows(one: OnDataset) -> Iterator[Row]:
    for detector, runs in one.runs.items() if one.spread else ():
        row = {"detector": detector}
        for metric, value in runs[0].items():
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
        ax.plot(x - 0.035, values[0], zorder=3, label=detector, **looks)
        printed = [paper.impact_cell(one.name, detector, metric) for metric in paper.IMPACT_VALUES]
        ax.plot(x + 0.035, printed, zorder=4, markerfacecolor="none", markeredgewidth=1.1, **looks)
    ax.plot([], [], linestyle="none", marker="o", markerfacecolor="none", color=QUIET, label="hollow: printed")
    ax.set_xlabel("metric (shaded: not above random scores)")
    ax.figure.legend(handles=ax.get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return ax
