"""The big table by our own protocol: series kept apart, no look at the test set, several seeds, and intervals.

Windows stay inside their series, a tenth of each training series chooses the weights, and the threshold comes from
training scores alone. Every series is evaluated by itself; seeds are runs, and series are the unit of inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.paper import paper_tables as paper
from pateval.paper.document import ExperimentSettings, Figure, PageTable, Row, Verdict
from pateval.paper.from_labels import flagged_percent
from pateval.paper.inputs import HELD_OUT, PAPER_METRICS, Runs, Scored, ZScore, measured, starts_of
from pateval.plots.styling import PALE, QUIET, line_style
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray, FloatArray

ZSCORE = "squared z-score"
BASELINES = ("random", "constant", ZSCORE)
RESAMPLES = 10_000
METRICS = tuple(PAPER_METRICS)
_RANKED_BY = "PATE-AP"

# One run: labels, scores, and predictions where there are any.
Run = tuple[BoolArray, FloatArray, BoolArray | None]


class OwnRow(NamedTuple):
    """One detector on one data set: values of its runs by series by `METRICS`; NaN where a metric is undefined."""

    series: tuple[str, ...]
    values: FloatArray

    def of(self, metric: str) -> FloatArray:
        """Runs by series, of one metric."""
        return self.values[:, :, METRICS.index(metric)]

    def interval(self, metric: str, against: OwnRow | None = None) -> tuple[float, float, float]:
        """Mean and 95 % bootstrap interval over series, of the values or of the differences from another detector."""
        values = self.of(metric).mean(axis=0)
        if against is not None:
            values = values - against.of(metric).mean(axis=0)
        draws = np.random.default_rng(0).integers(values.size, size=(RESAMPLES, values.size))
        low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
        return float(values.mean()), float(low), float(high)


# By data set, then detector or baseline.
OwnRows = dict[str, dict[str, OwnRow]]


def compute(
    on_datasets: Mapping[str, Runs], settings: ExperimentSettings, zscores: Mapping[str, ZScore | None]
) -> tuple[OwnRows, list[str]]:
    """Evaluate every run of our protocol, and baselines on the same series; and say what is missing."""
    own: OwnRows = {}
    missing: list[str] = []
    if not on_datasets:
        how = "'pateval reproduce impact --train --scores FOLDER' makes them"
        missing.append(f"Our own protocol needs score files below {HELD_OUT}/: {how}")
    for dataset, scored in on_datasets.items():
        rows = own[dataset] = {}
        for detector, runs in scored.items():
            settings.tell(f"{dataset}, own protocol: {detector}, {len(runs)} seeds")
            absent = [run.run for run in runs if run.training is None]
            missing += [f"{dataset}, own protocol: {detector}, seed {seed} has no training scores" for seed in absent]
            rows[detector] = _row(runs[0].series, [(run.labels, run.scores, _flagged(run)) for run in runs])
        settings.tell(f"{dataset}, own protocol: baselines")
        first, zscore = next(iter(scored.values()))[0], zscores[dataset]
        rows |= {name: _row(first.series, runs) for name, runs in _baselines(first, zscore, settings)}
        if zscore is None:
            why = ", own protocol, needs the data: name their folder with --root"
            missing.append(f"The squared z-score on {dataset}{why}")
        elif ZSCORE not in rows:
            missing.append(f"The squared z-score on {dataset}: the data at hand are not those of the score files")
    return own, missing


def _flagged(run: Scored) -> BoolArray | None:
    """Steps above the configured percentile of the training scores alone."""
    threshold = run.threshold_at(threshold_ratio(paper.DETECTOR_NAMES[run.detector], run.dataset), with_test=False)
    return None if threshold is None else run.scores > threshold


def _row(series: npt.NDArray[Any], runs: list[Run]) -> OwnRow:
    starts = starts_of(series)
    parts = [slice(low, high) for low, high in pairwise([*starts, series.size])]
    values = [[list(measured(*run, part).values()) for part in parts] for run in runs]
    return OwnRow(tuple(map(str, series[starts])), np.array(values))


def _baselines(first: Scored, zscore: ZScore | None, settings: ExperimentSettings) -> Iterator[tuple[str, list[Run]]]:
    """Random scores, a constant, and the squared z-score, with thresholds as the detectors have them."""
    labels, share = first.labels, flagged_percent(first.dataset) / 100
    draws = [np.random.default_rng(seed).random(labels.size) for seed in range(settings.seeds)]
    # What training scores would give: a share of uniform scores lies above one less it.
    yield "random", [(labels, scores, scores > 1 - share) for scores in draws]
    yield "constant", [(labels, np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_))]
    if zscore is not None and (scores := zscore.on(labels)) is not None:
        yield ZSCORE, [(labels, scores, scores > quantile_threshold(zscore.training, fraction=share))]


def tables(own: OwnRows) -> list[PageTable]:
    """Means with intervals, differences from the squared z-score, and all values behind them."""
    made = []
    for dataset, rows in own.items():
        series = len(next(iter(rows.values())).series)
        over = f"mean over {series} series and all seeds [95 % interval over series] ± deviation over seeds"
        shown = {
            name: {"seeds": len(row.values)} | {metric: _cell(row, metric) for metric in METRICS}
            for name, row in rows.items()
        }
        caption = f"{dataset}, own protocol: {over}"
        made.append(PageTable.of(f"own-{dataset.lower()}", caption, shown, "detector", in_csv=False))
    differences = [
        {"detector": name, **{dataset: _difference(rows, name) for dataset, rows in own.items()}}
        for name in (*paper.DETECTORS, "random")
        if any(name in rows for rows in own.values())
    ]
    caption = f"Own protocol: {_RANKED_BY} less that of the squared z-score on the same series [95 % interval]"
    return [
        *made,
        PageTable("own-differences", caption, differences, in_csv=False),
        PageTable("own-seeds", "Own protocol: mean over series, for each seed", [*_long(own, "seed")], in_page=False),
        PageTable("own-series", "Own protocol: every series, mean over seeds", [*_long(own, "series")], in_page=False),
    ]


def _cell(row: OwnRow, metric: str) -> str:
    mean, low, high = row.interval(metric)
    if np.isnan(mean):
        return "-"
    seeds = row.of(metric).mean(axis=1)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]" + (f" ± {seeds.std(ddof=1):.3f}" if seeds.size > 1 else "")


def _difference(rows: dict[str, OwnRow], detector: str) -> str:
    if detector not in rows or ZSCORE not in rows:
        return "-"
    mean, low, high = rows[detector].interval(_RANKED_BY, rows[ZSCORE])
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" + ("" if low <= 0 <= high else " *")


def _long(own: OwnRows, unit: str) -> Iterator[Row]:
    """A row per detector and seed, mean over series; or per detector and series, mean over seeds."""
    for dataset, rows in own.items():
        for detector, row in rows.items():
            names, axis = (range(len(row.values)), 1) if unit == "seed" else (row.series, 0)
            for name, values in zip(names, row.values.mean(axis=axis).tolist(), strict=True):
                rounded = {metric: float(f"{value:.6g}") for metric, value in zip(METRICS, values, strict=True)}
                yield {"data set": dataset, "detector": detector, unit: name, **rounded}


def verdicts(own: OwnRows) -> Iterator[Verdict]:
    """Who is told apart from the squared z-score, by data set."""
    for dataset, rows in own.items():
        if ZSCORE not in rows:
            continue
        told: dict[str, list[str]] = {"above": [], "alike": [], "below": []}
        for name in paper.DETECTORS:
            if name in rows:
                _, low, high = rows[name].interval(_RANKED_BY, rows[ZSCORE])
                told["above" if low > 0 else "below" if high < 0 else "alike"].append(name)
        yield Verdict("own", None, {"dataset": dataset, "series": len(rows[ZSCORE].series), **told})


def figures(own: OwnRows) -> list[Figure]:
    """One figure over all data sets."""
    caption = (
        f"Own protocol: {_RANKED_BY}, mean over series with its 95 % interval; small marks are single seeds. Shaded: "
        "not above random scores; the vertical line is the squared z-score."
    )
    return [Figure("own-protocol", caption, partial(draw, own))] if own else []


def draw(own: OwnRows) -> Any:
    """A panel per data set: detectors as rows, PATE-AP along the axis."""
    names = (*paper.DETECTORS, *BASELINES)
    axes = plots.panels(1, len(own), size=(7.2, 2.9), share_y=True)[0]
    for ax, (dataset, rows) in zip(axes, own.items(), strict=True):
        ax.axvspan(0, rows["random"].interval(_RANKED_BY)[0], color=PALE, linewidth=0, zorder=0.5)
        if ZSCORE in rows:
            plain = rows[ZSCORE].interval(_RANKED_BY)[0]
            ax.axvline(plain, color=QUIET, linestyle=(0, (3, 1.5)), linewidth=1.0, zorder=1)
        for place, name in enumerate(names):
            if name not in rows:
                continue
            mean, low, high = rows[name].interval(_RANKED_BY)
            looks = line_style(place)
            colour = QUIET if name in BASELINES else looks.colour
            ax.hlines(place, low, high, color=colour, linewidth=1.6, zorder=2)
            ax.plot(mean, place, marker=looks.marker, markersize=6, color=colour, linestyle="none", zorder=3)
            seeds = rows[name].of(_RANKED_BY).mean(axis=1)
            if seeds.size > 1:
                heights = np.full(seeds.size, place + 0.28)
                ax.plot(seeds, heights, marker="|", markersize=5, color=colour, linestyle="none")
        ax.set_title(dataset)
        ax.set_xlim(left=0)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlabel(_RANKED_BY)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylabel("detector")
    return axes
