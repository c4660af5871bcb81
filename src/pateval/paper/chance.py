"""The row that the paper's big table lacks: what detectors without any knowledge get under each metric."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.catalog import find_metrics
from pateval.detectors.presets import threshold_ratio
from pateval.evaluation import evaluate
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.labels.events import find_events
from pateval.paper import paper_tables as paper
from pateval.paper.document import (
    ADDED,
    OPEN,
    ExperimentSettings,
    Figure,
    MissingInputError,
    Report,
    ReportTable,
    Verdict,
)
from pateval.paper.label_sets import LabelSet, labels_at_hand
from pateval.validation.arrays import BoolArray

WANTED = ("SMD", "MSL", "SWaT", "PSM", "SMAP", "NAB", "UCR", "MBA_ECG")
KINDS = ("random", "constant", "one step per event")
PAPER_METRICS = {
    "PATE": f"pate(early={paper.IMPACT_BUFFER},delay={paper.IMPACT_BUFFER})",
    "PATE-AP": f"pate_ap(early={paper.IMPACT_BUFFER},delay={paper.IMPACT_BUFFER})",
    "PA-F1": "point_adjusted_f1",
    "Standard-F1": "point_f1",
    "PA-AUC-ROC": "pa_auc_roc",
    "AUC-ROC": "auc_roc",
    "VUS-ROC": f"vus_roc(window={paper.IMPACT_VUS_WINDOW},variant=original)",
}
_DEFAULT_PERCENT = 1.0  # flagged by random scores where the paper configures nothing


@dataclass(frozen=True)
class ChanceRow:
    """One detector without knowledge on one data set, mean and deviation over draws, by metric."""

    dataset: str
    kind: str
    means: dict[str, float]
    deviations: dict[str, float]


@dataclass(frozen=True)
class Chance:
    """What detectors without knowledge get.

    Attributes
    ----------
    paper_protocol : tuple of ChanceRow
        The big table's metrics, series laid end to end.
    all_metrics : tuple of ChanceRow
        The whole catalogue, boundaries between series kept, default options.
    sizes : dict of str to tuple
        Steps, events and anomaly share of each data set.
    percents : dict of str to float
        Per cent of the steps that random scores flag.
    seeds : int
        Draws of whatever depends on chance.
    missing : tuple of str
        A sentence per data set that is not there.
    """

    paper_protocol: tuple[ChanceRow, ...]
    all_metrics: tuple[ChanceRow, ...]
    sizes: dict[str, tuple[int, int, float]]
    percents: dict[str, float]
    seeds: int
    missing: tuple[str, ...]

    def row(self, dataset: str, kind: str) -> ChanceRow:
        """One row of the big table's metrics."""
        return next(row for row in self.paper_protocol if (row.dataset, row.kind) == (dataset, kind))

    def at_or_below_random(self, metric: str) -> list[tuple[str, str]]:
        """Data sets and detectors whose printed value is not above that of random scores, to two decimals."""
        return [
            (row.dataset, detector)
            for row in self.paper_protocol
            if row.kind == "random" and row.dataset in paper.DATASETS
            for detector, printed in zip(paper.DETECTORS, paper.IMPACT_VALUES[metric][row.dataset], strict=True)
            if printed <= round(row.means[metric], 2)
        ]


def compute(settings: ExperimentSettings) -> Chance:
    """Score the three detectors on the labels of every data set at hand."""
    found, missing = labels_at_hand(WANTED, settings)
    if not found:
        raise MissingInputError(f"chance needs the labels of at least one data set: {missing[0]}")
    catalogue = [metric.id for metric in find_metrics(None)]
    in_paper, in_all, percents = [], [], {}
    for label_set in found:
        percents[label_set.name] = _percent(label_set.name)
        for kind in KINDS:
            settings.tell(f"{label_set.name}: {kind}")
            in_paper.append(_paper_row(label_set, kind, percents[label_set.name], settings.seeds))
            in_all.append(_full_row(label_set, kind, percents[label_set.name], catalogue, settings.seeds))
    sizes = {label_set.name: (label_set.labels.size, label_set.events, label_set.share) for label_set in found}
    return Chance(tuple(in_paper), tuple(in_all), sizes, percents, settings.seeds, tuple(missing))


def _percent(dataset: str) -> float:
    """Per cent of the steps flagged: as configured for AnomalyTransformer, else one."""
    try:
        return threshold_ratio("anomaly_transformer", dataset)
    except ValueError:
        return _DEFAULT_PERCENT


def knowing_nothing(
    kind: str, labels: BoolArray, starts: npt.NDArray[np.intp], percent: float, seed: int
) -> tuple[npt.NDArray[np.float64], BoolArray]:
    """Scores and predictions of one of the detectors.

    Parameters
    ----------
    kind : {"random", "constant", "one step per event"}
        Uniform scores, of which the highest are flagged; the same score everywhere, nothing flagged; one step of every
        event, at random.
    labels : ndarray of bool
        Truth.
    starts : ndarray of int
        Where each series begins.
    percent : float
        Of the steps that random scores flag.
    seed : int
        Of the draw.

    Returns
    -------
    tuple of ndarray
        Scores and predictions.
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


def _paper_row(label_set: LabelSet, kind: str, percent: float, seeds: int) -> ChanceRow:
    labels = label_set.whole_windows()
    one_series = np.zeros(1, dtype=np.intp)
    return _row(label_set.name, kind, labels, one_series, None, percent, PAPER_METRICS, seeds)


def _full_row(label_set: LabelSet, kind: str, percent: float, catalogue: list[str], seeds: int) -> ChanceRow:
    starts = np.flatnonzero(np.r_[True, label_set.series[1:] != label_set.series[:-1]])
    named = {metric: metric for metric in catalogue}
    return _row(label_set.name, kind, label_set.labels, starts, label_set.series, percent, named, min(seeds, 2))


def _row(
    dataset: str,
    kind: str,
    labels: BoolArray,
    starts: npt.NDArray[np.intp],
    series: npt.NDArray[Any] | None,
    percent: float,
    metrics: dict[str, str],
    seeds: int,
) -> ChanceRow:
    draws = []
    for seed in range(1 if kind == "constant" else seeds):
        scores, flagged = knowing_nothing(kind, labels, starts, percent, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoarseScoresWarning)
            found = evaluate(labels, scores, flagged, metrics=list(metrics.values()), series=series)
        draws.append(list(found.values()))
    values = np.array(draws, dtype=np.float64)
    return ChanceRow(
        dataset,
        kind,
        dict(zip(metrics, values.mean(axis=0).tolist(), strict=True)),
        dict(zip(metrics, values.std(axis=0).tolist(), strict=True)),
    )


def report(found: Chance) -> Report:
    """The big table with chance rows, the whole catalogue, and a figure."""
    both = [name for name in found.sizes if name in paper.DATASETS]
    verdicts = [_verdict(found, metric) for metric in paper.IMPACT_VALUES if both]
    verdicts += [
        Verdict("what needs other labels", "-", "-", OPEN, sentence[0].upper() + sentence[1:] + ".")
        for sentence in found.missing
    ]
    tables = [
        ReportTable(
            "big-table",
            "The big table with the rows it lacks",
            ["data set", "detector", "source", *PAPER_METRICS],
            _big_rows(found),
            decimals=3,
        ),
        ReportTable(
            "sizes",
            "The labels",
            ["data set", "steps", "events", "anomalous %", "flagged by random %"],
            [
                [name, steps, events, 100 * share, found.percents[name]]
                for name, (steps, events, share) in found.sizes.items()
            ],
        ),
    ]
    datasets = list(found.sizes)
    for kind in KINDS:
        rows = {row.dataset: row for row in found.all_metrics if row.kind == kind}
        metrics = next(iter(rows.values())).means
        tables.append(
            ReportTable(
                f"all-metrics-{kind.replace(' ', '-')}",
                f"Every metric of the catalogue: {kind}",
                ["metric", *datasets],
                [[metric, *(rows[name].means[metric] for name in datasets)] for metric in metrics],
                decimals=3,
            )
        )
    return Report(
        "What chance gets",
        f"{sum(len(found.at_or_below_random(metric)) for metric in paper.IMPACT_VALUES)} of the "
        f"{len(both) * len(paper.DETECTORS) * len(paper.IMPACT_VALUES)} printed values on "
        f"{', '.join(both) or 'no data set'} are not above those of random scores.",
        (
            (
                "Three detectors that know nothing, or next to nothing, of the data: uniform random scores, a "
                "constant, and one flagged step per event. Random scores flag the share of steps that the paper "
                "configures for its detectors. The first table follows the paper's protocol: series laid end to end, "
                f"the last incomplete window of 100 left out, buffers of {paper.IMPACT_BUFFER}, VUS with a window of "
                f"{paper.IMPACT_VUS_WINDOW} in its first version. Values of random scores and of one step per event "
                f"are means of {found.seeds} draws."
            ),
            (
                "Two warnings. A constant score has a high PATE, because the trapezoid rule pays for a line from "
                "(recall 0, precision 1) that nobody walked; PATE-AP has no such line, and shows the constant for "
                "what it is. And one flagged step per event is a perfect detector under point adjustment."
            ),
            (
                "The tables of all metrics keep the boundaries between series and use default options, as `pateval "
                "score` does; two draws each. A dash is a metric that is undefined there, for instance where a series "
                "holds no anomaly."
            ),
        ),
        tables=tables,
        figures=(
            (
                Figure(
                    "chance",
                    "Printed values of the five detectors, and what knows nothing.",
                    lambda: draw(found),
                ),
            )
            if both
            else ()
        ),
        verdicts=verdicts,
    )


def _verdict(found: Chance, metric: str) -> Verdict:
    below = found.at_or_below_random(metric)
    named = ", ".join(f"{detector} on {dataset}" for dataset, detector in below)
    values = ", ".join(
        f"{row.dataset} {row.means[metric]:.2f}"
        for row in found.paper_protocol
        if row.kind == "random" and row.dataset in paper.DATASETS
    )
    return Verdict(
        f"chance under {metric}",
        "no such row",
        f"random: {values}",
        ADDED,
        f"Printed values not above random: {named}." if below else "All printed values lie above random.",
    )


def _big_rows(found: Chance) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for dataset in found.sizes:
        for kind in KINDS:
            row = found.row(dataset, kind)
            rows.append([dataset, kind, "ours", *(row.means[metric] for metric in PAPER_METRICS)])
        if dataset in paper.DATASETS:
            for place, detector in enumerate(paper.DETECTORS):
                printed = [
                    paper.IMPACT_VALUES[metric][dataset][place] if metric in paper.IMPACT_VALUES else None
                    for metric in PAPER_METRICS
                ]
                rows.append([dataset, detector, "printed", *printed])
    return rows


def draw(found: Chance) -> Any:
    """Printed values as markers, chance as lines, a panel per data set of the paper."""
    from pateval import plots
    from pateval.plots.styling import ALARM, PALE, QUIET, line_style

    shown = [name for name in found.sizes if name in paper.DATASETS]
    axes = plots.panels(len(shown), size=(6.6, 0.7 + 1.8 * len(shown)), share_x=True)[:, 0]
    metrics = list(paper.IMPACT_VALUES)
    for ax, dataset in zip(axes, shown, strict=True):
        for kind, colour, dashes in (("random", QUIET, "solid"), ("one step per event", ALARM, (0, (3, 1.5)))):
            values = [found.row(dataset, kind).means[metric] for metric in metrics]
            for place, value in enumerate(values):
                if not math.isnan(value):
                    ax.hlines(
                        value,
                        place - 0.42,
                        place + 0.42,
                        color=colour,
                        linestyle=dashes,
                        linewidth=2.2,
                        zorder=2,
                        label=kind if place == 0 else None,
                    )
        below = [found.row(dataset, "random").means[metric] for metric in metrics]
        for place, value in enumerate(below):
            ax.fill_between([place - 0.42, place + 0.42], 0, value, color=PALE, linewidth=0, zorder=0.5)
        for place, detector in enumerate(paper.DETECTORS):
            looks = line_style(place)
            ax.plot(
                np.arange(len(metrics)) + 0.14 * (place - 2),
                [paper.IMPACT_VALUES[metric][dataset][place] for metric in metrics],
                linestyle="none",
                marker=looks.marker,
                markersize=5,
                color=looks.colour,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=3,
                label=f"{detector} (printed)",
            )
        ax.set_ylim(0, 1.03)
        ax.set_ylabel(dataset)
        ax.tick_params(axis="x", length=0)
    axes[-1].set_xticks(range(len(metrics)), metrics)
    axes[-1].set_xlabel("metric (shaded: not above random scores)")
    with plots.style():
        axes[0].figure.legend(handles=axes[0].get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return axes
