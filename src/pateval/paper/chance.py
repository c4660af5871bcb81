"""The row that the paper's big table lacks: what detectors without any knowledge get under each metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.labels.events import find_events
from pateval.paper import paper_tables as paper
from pateval.paper.document import ExperimentSettings, Figure, MissingInputError, PageTable, Report, Row, Verdict
from pateval.paper.inputs import PAPER_METRICS, LabelSet, labels_at_hand, measured, starts_of
from pateval.plots.styling import ALARM, PALE, QUIET, line_style
from pateval.validation.arrays import BoolArray, FloatArray, IntArray

WANTED = ("SMD", "MSL", "SWaT", "PSM", "SMAP", "NAB", "UCR", "MBA_ECG")
KINDS = ("random", "constant", "one step per event")
_DEFAULT_PERCENT = 1.0  # flagged by random scores where the paper configures nothing

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
        figures=[Figure("chance", caption, partial(draw, values, of_the_paper))] if of_the_paper else [],
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


def draw(values: dict[tuple[str, str], Means], shown: list[str]) -> Any:
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
