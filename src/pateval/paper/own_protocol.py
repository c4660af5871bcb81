"""The big table by our own protocol: series kept apart, no look at the test set, several seeds, and intervals.

Windows stay inside their series, a tenth of each training series chooses the weights, and the threshold comes from
training scores alone. Every series is evaluated by itself; seeds are runs, and series are the unit of inference.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pateval import plots
from pateval.detectors.presets import threshold_ratio
from pateval.paper import paper_tables as paper
from pateval.paper.chance import flagged_percent
from pateval.paper.document import ExperimentSettings, Figure, PageTable, Row, Verdict
from pateval.paper.inputs import HELD_OUT, PAPER_METRICS, Runs, Scored, ZScore, measured, starts_of
from pateval.plots.styling import PALE, QUIET, line_style
from pateval.thresholds import quantile_threshold
from pateval.validation.arrays import BoolArray, FloatArray

BASELINES = ("random", "constant", "squared z-score")
RESAMPLES = 10_000
METRICS = tuple(PAPER_METRICS)
_RANKED_BY = "PATE-AP"
_BASELINE = "squared z-score"

# One run: labels, scores, and predictions where there are any.
Run = tuple[BoolArray, FloatArray, BoolArray | None]


@dataclass(frozen=True)
class OwnRow:
    """One detector on one data set: values of its runs by series by `METRICS`; NaN where a metric is undefined."""

    dataset: str
    detector: str
    seeds: tuple[int, ...]
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


@dataclass(frozen=True)
class OwnProtocol:
    """Detectors and baselines, and a sentence for each thing that is not here."""

    rows: tuple[OwnRow, ...]
    missing: tuple[str, ...]

    @property
    def datasets(self) -> dict[str, dict[str, OwnRow]]:
        """Rows by data set and detector."""
        by_dataset = itertools.groupby(self.rows, key=lambda row: row.dataset)
        return {name: {row.detector: row for row in rows} for name, rows in by_dataset}


def compute(
    on_datasets: Mapping[str, Runs], settings: ExperimentSettings, zscores: Mapping[str, ZScore | None]
) -> OwnProtocol:
    """Evaluate every run of the score files of our protocol, and the baselines on the same series."""
    if not on_datasets:
        how = "'pateval reproduce impact --train --scores FOLDER' makes them"
        return OwnProtocol((), (f"Our own protocol needs score files below {HELD_OUT}/: {how}",))
    rows: list[OwnRow] = []
    missing: list[str] = []
    for dataset, scored in on_datasets.items():
        for detector, runs in scored.items():
            settings.tell(f"{dataset}, own protocol: {detector}, {len(runs)} seeds")
            absent = [run.run for run in runs if run.training is None]
            missing += [f"{dataset}, own protocol: {detector}, seed {seed} has no training scores" for seed in absent]
            rows.append(_row(runs[0], detector, [(run.labels, run.scores, _flagged(run)) for run in runs]))
        settings.tell(f"{dataset}, own protocol: baselines")
        first = next(iter(scored.values()))[0]
        rows += _baselines(first, zscores[dataset], settings, missing)
    return OwnProtocol(tuple(rows), tuple(missing))


def _flagged(run: Scored) -> BoolArray | None:
    """Steps above the configured percentile of the training scores alone."""
    threshold = run.threshold_at(threshold_ratio(paper.DETECTOR_NAMES[run.detector], run.dataset), with_test=False)
    return None if threshold is None else run.scores > threshold


def _row(first: Scored, detector: str, runs: list[Run]) -> OwnRow:
    starts = starts_of(first.series)
    parts = [slice(low, high) for low, high in zip(starts, [*starts[1:], first.series.size], strict=True)]
    values = [[list(measured(*run, part).values()) for part in parts] for run in runs]
    names = tuple(map(str, first.series[starts]))
    return OwnRow(first.dataset, detector, tuple(range(len(runs))), names, np.array(values))


def _baselines(
    first: Scored, zscore: ZScore | None, settings: ExperimentSettings, missing: list[str]
) -> Iterator[OwnRow]:
    """Random scores, a constant, and the squared z-score, with thresholds as the detectors have them."""
    labels, dataset = first.labels, first.dataset
    share = flagged_percent(dataset) / 100
    draws = [np.random.default_rng(seed).random(labels.size) for seed in range(settings.seeds)]
    # What training scores would give: a share of uniform scores lies above one less it.
    yield _row(first, "random", [(labels, scores, scores > 1 - share) for scores in draws])
    yield _row(first, "constant", [(labels, np.zeros(labels.size), np.zeros(labels.size, dtype=np.bool_))])
    if zscore is None:
        missing.append(f"The squared z-score on {dataset}, own protocol, needs the data: name their folder with --root")
    elif (scores := zscore.on(labels)) is None:
        missing.append(f"The squared z-score on {dataset}: the data at hand are not those of the score files")
    else:
        threshold = quantile_threshold(zscore.training, fraction=share)
        yield _row(first, _BASELINE, [(labels, scores, scores > threshold)])


def tables(own: OwnProtocol) -> list[PageTable]:
    """Means with intervals, differences from the squared z-score, and all values behind them."""
    made = []
    for dataset, rows in own.datasets.items():
        series = len(next(iter(rows.values())).series)
        over = f"mean over {series} series and all seeds [95 % interval over series] ± deviation over seeds"
        shown = {
            name: {"seeds": len(row.seeds)} | {one: _cell(row, one) for one in METRICS} for name, row in rows.items()
        }
        caption = f"{dataset}, own protocol: {over}"
        made.append(PageTable.of(f"own-{dataset.lower()}", caption, shown, "detector", in_csv=False))
    differences = [
        {"detector": name, **{dataset: _difference(rows, name) for dataset, rows in own.datasets.items()}}
        for name in (*paper.DETECTORS, "random")
        if any(name in rows for rows in own.datasets.values())
    ]
    caption = f"Own protocol: {_RANKED_BY} less that of the squared z-score on the same series [95 % interval]"
    made += [
        PageTable("own-differences", caption, differences, in_csv=False),
        PageTable("own-seeds", "Own protocol: mean over series, for each seed", [*_long(own, "seed")], in_page=False),
        PageTable("own-series", "Own protocol: every series, mean over seeds", [*_long(own, "series")], in_page=False),
    ]
    return made


def _cell(row: OwnRow, metric: str) -> str:
    mean, low, high = row.interval(metric)
    if np.isnan(mean):
        return "-"
    seeds = row.of(metric).mean(axis=1)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]" + (f" ± {seeds.std(ddof=1):.3f}" if seeds.size > 1 else "")


def _difference(rows: dict[str, OwnRow], detector: str) -> str:
    if detector not in rows or _BASELINE not in rows:
        return "-"
    mean, low, high = rows[detector].interval(_RANKED_BY, rows[_BASELINE])
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" + ("" if low <= 0 <= high else " *")


def _long(own: OwnProtocol, unit: str) -> Iterator[Row]:
    """A row per detector and seed, mean over series; or per detector and series, mean over seeds."""
    for row in own.rows:
        names, means = (row.seeds, row.values.mean(axis=1)) if unit == "seed" else (row.series, row.values.mean(axis=0))
        for name, values in zip(names, means.tolist(), strict=True):
            rounded = {metric: float(f"{value:.6g}") for metric, value in zip(METRICS, values, strict=True)}
            yield {"data set": row.dataset, "detector": row.detector, unit: name, **rounded}


def verdicts(own: OwnProtocol) -> Iterator[Verdict]:
    """Who is told apart from the squared z-score, by data set."""
    for dataset, rows in own.datasets.items():
        if _BASELINE not in rows:
            continue
        told: dict[str, list[str]] = {"above": [], "alike": [], "below": []}
        for name in paper.DETECTORS:
            if name in rows:
                _, low, high = rows[name].interval(_RANKED_BY, rows[_BASELINE])
                told["above" if low > 0 else "below" if high < 0 else "alike"].append(name)
        yield Verdict("own", None, {"dataset": dataset, "series": len(rows[_BASELINE].series), **told})


def figures(own: OwnProtocol) -> list[Figure]:
    """One figure over all data sets."""
    caption = (
        f"Own protocol: {_RANKED_BY}, mean over series with its 95 % interval; small marks are single seeds. Shaded: "
        "not above random scores; the vertical line is the squared z-score."
    )
    return [Figure("own-protocol", caption, partial(draw, own))] if own.rows else []


def draw(own: OwnProtocol) -> Any:
    """A panel per data set: detectors as rows, PATE-AP along the axis."""
    names = (*paper.DETECTORS, *BASELINES)
    axes = plots.panels(1, len(own.datasets), size=(7.2, 2.9), share_y=True)[0]
    for ax, (dataset, rows) in zip(axes, own.datasets.items(), strict=True):
        ax.axvspan(0, rows["random"].interval(_RANKED_BY)[0], color=PALE, linewidth=0, zorder=0.5)
        if _BASELINE in rows:
            plain = rows[_BASELINE].interval(_RANKED_BY)[0]
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
