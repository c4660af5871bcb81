"""What follows from labels alone: what detectors that know nothing get, and which printed numbers cannot be.

A printed triple (PA-F1, PA-AUC-ROC, F1) of one detector comes from one set of predictions. With P anomalous and N
normal steps, f false alarms, t anomalous steps flagged and a of them after point adjustment::

    F1 = 2t / (P + t + f)     PA-F1 = 2a / (P + a + f)     PA-AUC-ROC = (a / P + 1 - f / N) / 2

Each printed value stands for an interval of half a unit in its last place. For every f the three intervals bound a and
t; where no f leaves room, no threshold on any score can have given the triple, and where some do, the share of flagged
steps is bounded on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.labels.events import find_events
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, MissingInputError, PageTable, Report, Row, Verdict
from pateval.paper.inputs import PAPER_METRICS, LabelSet, labels_at_hand, measured, score_runs, starts_of
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, PALE, QUIET, legend_above, line_style
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

WANTED = ("SMD", "MSL", "SWaT", "PSM", "SMAP", "NAB", "UCR", "MBA_ECG")
KINDS = ("random", "constant", "one step per event")
_DEFAULT_PERCENT = 1.0  # flagged by random scores where the paper configures nothing
_HALF_UNIT = 0.005
_ROUNDING = 1e-9
_NOTHING = (float("nan"), float("nan"))
_COMPARABLE = 10.0  # times as long, at most

# By metric, the mean over draws.
Means = dict[str, float]


def chance(settings: ExperimentSettings) -> Report:
    """Score the three detectors on the labels of every data set at hand."""
    at_hand, missing = labels_at_hand(WANTED, settings)
    if not at_hand:
        raise MissingInputError(f"chance needs the labels of at least one data set: {missing[0]}")
    values: dict[tuple[str, str], Means] = {}  # by data set and kind of detector
    catalogue: dict[str, dict[str, Means]] = {kind: {} for kind in KINDS}  # then metric and data set
    for name, label_set in at_hand.items():
        for kind in KINDS:
            settings.tell(f"{name}: {kind}")
            values[name, kind] = chance_values(name, kind, label_set.whole_windows(), settings.seeds)
            for metric, value in _all_metrics(label_set, kind, min(settings.seeds, 2)).items():
                catalogue[kind].setdefault(metric, {})[name] = value
    of_the_paper = [name for name in at_hand if name in paper.DATASETS]
    random = {name: values[name, "random"] for name in of_the_paper}
    below = {metric: not_above(metric, random) for metric in paper.IMPACT_VALUES}
    caption = "Printed values of the five detectors, and what knows nothing."
    return Report(
        "chance",
        {
            "below": sum(map(len, below.values())),
            "cells": len(of_the_paper) * len(paper.DETECTORS) * len(paper.IMPACT_VALUES),
            "datasets": of_the_paper,
            "buffer": paper.IMPACT_BUFFER,
            "window": paper.IMPACT_VUS_WINDOW,
            "draws": settings.seeds,
        },
        tables=[
            PageTable("big-table", "The big table with the rows it lacks", list(_big_rows(values)), decimals=3),
            PageTable("sizes", "The labels", list(map(_size_row, at_hand.values()))),
            *(_catalogue_table(kind, by_metric) for kind, by_metric in catalogue.items()),
        ],
        figures=[Figure("chance", caption, partial(draw_chance, values, of_the_paper))] if of_the_paper else [],
        verdicts=[
            Verdict("metric", None, {"metric": metric, "random": random, "below": datasets})
            for metric, datasets in below.items()
            if of_the_paper
        ],
        missing=missing,
    )


def flagged_percent(dataset: str) -> float:
    """Per cent of the steps that random scores flag: as configured for AnomalyTransformer, else one."""
    try:
        return threshold_ratio("anomaly_transformer", dataset)
    except ValueError:
        return _DEFAULT_PERCENT


def knowing_nothing(
    kind: str, labels: BoolArray, starts: IntArray, percent: float, seed: int
) -> tuple[FloatArray, BoolArray]:
    """Scores and predictions of one of the detectors on labels whose series begin at ``starts``.

    Random: uniform scores, of which the highest per cent are flagged. Constant: the same score everywhere, nothing
    flagged. One step per event, at random.
    """
    draw = np.random.default_rng(seed)
    if kind == "random":
        scores = draw.random(labels.size)
        return scores, scores > np.percentile(scores, 100 - percent)
    if kind == "constant":
        return np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_)
    events = find_events(labels, starts)
    flagged = np.zeros(labels.size, dtype=np.bool_)
    flagged[events.starts + draw.integers(events.lengths)] = True
    return flagged.astype(np.float64), flagged


def chance_values(dataset: str, kind: str, labels: BoolArray, seeds: int) -> Means:
    """The big table's metrics of one of the detectors, all steps one series, mean over draws."""
    draws = _draws(dataset, kind, labels, np.zeros(1, dtype=np.intp), seeds)
    return _mean([measured(labels, scores, flagged) for scores, flagged in draws])


def _all_metrics(label_set: LabelSet, kind: str, seeds: int) -> Means:
    """The whole catalogue with default options: means over the series where a metric is defined."""
    labels, series = label_set.labels, label_set.series
    draws = _draws(label_set.name, kind, labels, starts_of(series), seeds)
    return _mean([evaluate(labels, scores, flagged, metrics="all", series=series) for scores, flagged in draws])


def _draws(
    dataset: str, kind: str, labels: BoolArray, starts: IntArray, seeds: int
) -> Iterator[tuple[FloatArray, BoolArray]]:
    for seed in range(1 if kind == "constant" else seeds):
        yield knowing_nothing(kind, labels, starts, flagged_percent(dataset), seed)


def _mean(draws: Sequence[Mapping[str, float]]) -> Means:
    return {metric: float(np.mean([values[metric] for values in draws])) for metric in draws[0]}


def not_above(metric: str, random: dict[str, dict[str, float]]) -> list[tuple[str, str]]:
    """Data sets and detectors whose printed value is not above that of random scores, to two decimals."""
    return [
        (dataset, detector)
        for dataset, values in random.items()
        for detector, printed in zip(paper.DETECTORS, paper.IMPACT_VALUES[metric][dataset], strict=True)
        if printed <= round(values[metric], 2)
    ]


def _size_row(label_set: LabelSet) -> Row:
    return {
        "data set": label_set.name,
        "steps": label_set.labels.size,
        "events": label_set.events,
        "anomalous %": 100 * float(label_set.labels.mean()),
        "flagged by random %": flagged_percent(label_set.name),
    }


def _catalogue_table(kind: str, by_metric: dict[str, Means]) -> PageTable:
    caption = f"Every metric of the catalogue: {kind}"
    return PageTable.of(f"all-metrics-{kind.replace(' ', '-')}", caption, by_metric, "metric", decimals=3)


def _big_rows(values: dict[tuple[str, str], Means]) -> Iterator[Row]:
    for (dataset, kind), by_metric in values.items():
        yield {"data set": dataset, "detector": kind, "source": "ours", **by_metric}
        for detector in paper.DETECTORS if kind == KINDS[-1] and dataset in paper.DATASETS else ():
            printed = {metric: paper.impact_cell(dataset, detector, metric) for metric in PAPER_METRICS}
            yield {"data set": dataset, "detector": detector, "source": "printed", **printed}


def draw_chance(values: dict[tuple[str, str], Means], shown: list[str]) -> Any:
    """Printed values as markers, chance as lines, a panel per data set of the paper."""
    axes = plots.panels(len(shown), size=(6.6, 0.7 + 1.8 * len(shown)), share_x=True)[:, 0]
    metrics = list(paper.IMPACT_VALUES)
    dashed: dict[str, Any] = {"color": ALARM, "linestyle": (0, (3, 1.5)), "linewidth": 2.2, "zorder": 2}
    for ax, dataset in zip(axes, shown, strict=True):
        shade_chance(ax, values[dataset, "random"], dataset)
        for place, metric in enumerate(metrics):
            value = values[dataset, "one step per event"][metric]
            label = "one step per event" if place == 0 else None
            ax.hlines(value, place - 0.42, place + 0.42, label=label, **dashed)
        for detector in paper.DETECTORS:
            x, looks = marks_of(detector)
            printed = [paper.impact_cell(dataset, detector, metric) for metric in metrics]
            ax.plot(x, printed, zorder=3, label=f"{detector} (printed)", **looks)
    axes[-1].set_xlabel("metric (shaded: not above random scores)")
    axes[0].figure.legend(handles=axes[0].get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return axes


def shade_chance(ax: Any, random: dict[str, float], y_label: str) -> None:
    """Name the big table's metrics along the axis, with a line at what random scores get, and a shade below it."""
    for place, metric in enumerate(paper.IMPACT_VALUES):
        low, high, value = place - 0.42, place + 0.42, random[metric]
        ax.fill_between([low, high], 0, value, color=PALE, linewidth=0, zorder=0.5)
        label = "random" if place == 0 else None
        ax.hlines(value, low, high, color=QUIET, linewidth=2, zorder=1, label=label)
    ax.set_ylim(0, 1.03)
    ax.set_ylabel(y_label)
    ax.set_xticks(range(len(paper.IMPACT_VALUES)), list(paper.IMPACT_VALUES))
    ax.tick_params(axis="x", length=0)


def marks_of(detector: str) -> tuple[FloatArray, dict[str, Any]]:
    """Where the marks of a detector stand, one for each metric, beside those of the others; and their looks."""
    place = paper.DETECTORS.index(detector)
    style = line_style(place)
    looks = {"linestyle": "none", "marker": style.marker, "markersize": 5.5, "color": style.colour}
    return np.arange(len(paper.IMPACT_VALUES)) + 0.165 * (place - 2), looks


Triple = tuple[float, float, float]


class Bounds(NamedTuple):
    """What a printed triple asks of the predictions behind it.

    Whether any predictions give it, or its first two values whatever F1; and the lowest and highest share of flagged
    steps and precision before adjustment, NaN where it is impossible.
    """

    possible: bool
    pair_possible: bool
    flagged: tuple[float, float]
    precision: tuple[float, float]


class PrintedTriple(NamedTuple):
    """One printed triple, what it asks for, and what the paper's rule flags in our scores of that detector."""

    dataset: str
    detector: str
    printed: Triple
    bounds: Bounds
    rule_flags: float | None

    @property
    def contradicted(self) -> bool:
        """Whether no predictions give the triple, or the rule flags a share outside the bounds."""
        low, high = self.bounds.flagged
        return not self.bounds.possible or (self.rule_flags is not None and not low <= self.rule_flags <= high)

    def row(self) -> Row:
        """The triple as a row of the table."""
        shares, bounds = [100 * share for share in self.bounds.flagged], self.bounds
        return {
            "data set": self.dataset,
            "detector": self.detector,
            **dict(zip(("PA-F1", "PA-AUC-ROC", "F1"), self.printed, strict=True)),
            "possible": bounds.possible,
            **dict(zip(("flagged from %", "flagged to %"), shares, strict=True)),
            **dict(zip(("precision from", "precision to"), bounds.precision, strict=True)),
            "rule flags %, ours": None if self.rule_flags is None else 100 * self.rule_flags,
        }


def consistency(settings: ExperimentSettings) -> Report:
    """Check every printed triple, share and time against the labels at hand."""
    at_hand, missing = labels_at_hand(paper.DATASETS, settings)
    if not at_hand:
        raise MissingInputError(f"consistency needs the labels of at least one data set of the paper: {missing[0]}")
    triples = list(printed_triples(at_hand, settings))
    shares = list(map(_share_row, at_hand.values()))
    caption = "Shares of flagged steps that each printed triple allows, and what the rule flags in our scores."
    ratios = {name: times.pate / times.auc_pr for name, times in paper.BENCHMARK_TIMES.items()}
    return Report(
        "consistency",
        {"contradicted": sum(triple.contradicted for triple in triples), "triples": len(triples)},
        tables=[
            PageTable("triples", "What each printed triple asks for", [triple.row() for triple in triples]),
            PageTable("shares", "Anomaly shares", shares),
        ],
        figures=[Figure("flagged", caption, partial(draw_triples, triples))],
        verdicts=[
            Verdict("triples", [Cell(False, triple.contradicted) for triple in triples], {"triples": triples}),
            *(
                Verdict("share", [Cell(row["printed %"], row["counted %"], "within", 1 - _ROUNDING)], {"row": row})
                for row in shares  # rounded, or cut off
            ),
            Verdict("times", [Cell(_COMPARABLE, ratio, "below") for ratio in ratios.values()], {"ratios": ratios}),
        ],
        missing=missing,
    )


def _share_row(label_set: LabelSet) -> Row:
    """The share of anomalous steps and their number as printed, and as counted."""
    printed, labels = paper.BENCHMARK_TIMES[label_set.name], label_set.labels
    shares = {"printed %": printed.anomalous_percent, "counted %": 100 * float(labels.mean())}
    return {"data set": label_set.name, **shares, "printed steps": printed.steps, "steps": labels.size}


def printed_triples(at_hand: dict[str, LabelSet], settings: ExperimentSettings) -> Iterator[PrintedTriple]:
    """Every detector on every data set whose labels are at hand."""
    flagged = {
        (dataset, detector): float(first.flagged.mean())
        for dataset, runs in score_runs(settings, paper.DATASETS)
        for detector, (first, *_) in runs.items()
        if first.flagged is not None
    }
    adjusted, area, plain = (paper.IMPACT_VALUES[metric] for metric in ("PA-F1", "PA-AUC-ROC", "Standard-F1"))
    for dataset, label_set in at_hand.items():
        truth = label_set.whole_windows()
        anomalous = int(np.count_nonzero(truth))
        triples = zip(adjusted[dataset], area[dataset], plain[dataset], strict=True)
        for detector, printed in zip(paper.DETECTORS, triples, strict=True):
            bounds = triple_bounds(printed, anomalous, truth.size - anomalous)
            yield PrintedTriple(dataset, detector, printed, bounds, flagged.get((dataset, detector)))


def triple_bounds(printed: Triple, anomalous: int, normal: int) -> Bounds:
    """What a printed (PA-F1, PA-AUC-ROC, F1) asks of predictions on labels with so many anomalous and normal steps."""
    false_alarms = np.arange(normal + 1, dtype=np.float64)
    (low_f1, high_f1), (low_area, high_area), (low_plain, high_plain) = (
        (max(value - _HALF_UNIT, 0.0), min(value + _HALF_UNIT, 1.0)) for value in printed
    )

    def hits(f1: float) -> Any:
        """Steps found that give an F1 with so many false alarms: F1 = 2h / (P + h + f), solved for h."""
        return f1 * (anomalous + false_alarms) / (2 - f1)

    adjusted_low = np.maximum(hits(low_f1), anomalous * (2 * low_area - 1 + false_alarms / normal))
    adjusted_high = np.minimum(hits(high_f1), anomalous * (2 * high_area - 1 + false_alarms / normal))
    adjusted_high = np.minimum(np.floor(adjusted_high + _ROUNDING), anomalous)
    pair = np.maximum(np.ceil(adjusted_low - _ROUNDING), 0) <= adjusted_high
    hits_low = np.ceil(hits(low_plain) - _ROUNDING)
    hits_high = np.minimum(np.floor(hits(high_plain) + _ROUNDING), adjusted_high)
    possible = pair & (hits_low <= hits_high)
    if not possible.any():
        return Bounds(False, bool(pair.any()), _NOTHING, _NOTHING)
    alarms, low, high = false_alarms[possible], hits_low[possible], hits_high[possible]
    steps = anomalous + normal
    return Bounds(
        True,
        True,
        (float((alarms + low).min() / steps), float((alarms + high).max() / steps)),
        (float((low / np.maximum(alarms + low, 1)).min()), float((high / np.maximum(alarms + high, 1)).max())),
    )


def draw_triples(triples: list[PrintedTriple]) -> Any:
    """Bars of possible shares, with the rule's share as a mark."""
    ax = plots.panels(size=(6.6, 1.0 + 0.24 * len(triples)))[0, 0]
    looks: dict[str, Any] = {"color": CATEGORY_COLOURS["delayed"], "edgecolor": INK, "linewidth": 0.6, "height": 0.55}
    for place, triple in enumerate(triples):
        low, high = (100 * share for share in triple.bounds.flagged)
        if triple.bounds.possible:
            ax.barh(place, high - low, left=low, label="possible" if place == 0 else None, **looks)
        else:
            ax.text(0.08, place, "no predictions give the printed triple", va="center", fontsize=7, color=ALARM)
    known = [(100 * triple.rule_flags, y) for y, triple in enumerate(triples) if triple.rule_flags is not None]
    if known:
        marks = {"linestyle": "none", "marker": "D", "markersize": 5, "color": INK, "markerfacecolor": "white"}
        ax.plot(*zip(*known, strict=True), label="flagged by the rule in our scores", **marks)
    ax.set_yticks(range(len(triples)), [f"{triple.dataset}  {triple.detector}" for triple in triples])
    for label, triple in zip(ax.get_yticklabels(), triples, strict=True):
        label.set_color(ALARM if triple.contradicted else INK)
    ax.set_ylim(len(triples) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("steps flagged (%)")
    legend_above(ax)
    return ax
