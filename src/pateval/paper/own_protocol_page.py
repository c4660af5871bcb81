"""What is written about our own protocol: tables of means with intervals, and the figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.paper import paper_tables as paper
from pateval.paper.document import ADDED, Figure, ReportTable, Verdict
from pateval.paper.own_protocol import BASELINES, METRICS, RESAMPLES

if TYPE_CHECKING:
    from pateval.paper.own_protocol import OwnProtocol, OwnRow

TEXT = (
    "Our own protocol, beside the paper's: windows inside their series, a tenth of each training series held out to "
    "choose the weights, every step scored, the threshold at the configured percentile of training scores alone, five "
    "seeds. Every series is evaluated by itself, and detectors are compared on the same series: intervals are 95 % "
    f"bootstrap intervals over series ({RESAMPLES:,} draws) of the mean over seeds, since series differ far more than "
    "seeds do. A constant score shows what the trapezoid rule pays for nothing; PATE-AP has no such gift, and is the "
    "column to rank by."
)
_BASELINE = "squared z-score"


def tables(own: OwnProtocol) -> list[ReportTable]:
    """Means with intervals, differences from the squared z-score, and all values behind them."""
    if not own.rows:
        return []
    made = [
        ReportTable(
            f"own-{dataset.lower()}",
            f"{dataset}, own protocol: mean over {_series(own, dataset)} series and all seeds "
            "[95 % interval over series] ± deviation over seeds",
            ["detector", "seeds", *METRICS],
            [
                [row.detector, len(row.seeds), *(_cell(row, metric) for metric in METRICS)]
                for row in own.rows
                if row.dataset == dataset
            ],
            in_csv=False,
        )
        for dataset in own.datasets
    ]
    made.append(
        ReportTable(
            "own-differences",
            "Own protocol: PATE-AP less that of the squared z-score on the same series [95 % interval]",
            ["detector", *own.datasets],
            [
                [name, *(_difference(own, dataset, name) for dataset in own.datasets)]
                for name in (*paper.DETECTORS, "random")
                if any(own.of(dataset, name) for dataset in own.datasets)
            ],
            in_csv=False,
        )
    )
    made.append(
        ReportTable(
            "own-seeds",
            "Own protocol: mean over series and, pooled, all series together, for each seed",
            ["data set", "detector", "seed", "kind", *METRICS],
            [
                [row.dataset, row.detector, seed, kind, *map(float, values[place])]
                for row in own.rows
                for kind, values in (("mean over series", row.values.mean(axis=1)), ("pooled", row.pooled))
                for place, seed in enumerate(row.seeds)
            ],
            in_page=False,
        )
    )
    made.append(
        ReportTable(
            "own-series",
            "Own protocol: every series, mean over seeds",
            ["data set", "detector", "series", *METRICS],
            [
                [row.dataset, row.detector, name, *(float(f"{value:.6g}") for value in values)]
                for row in own.rows
                for name, values in zip(row.series, row.values.mean(axis=0), strict=True)
            ],
            in_page=False,
        )
    )
    return made


def figures(own: OwnProtocol) -> list[Figure]:
    """One figure over all data sets."""
    if not own.rows:
        return []
    return [
        Figure(
            "own-protocol",
            "Own protocol: PATE-AP, mean over series with its 95 % interval; small marks are single seeds. Shaded: not "
            "above random scores; the vertical line is the squared z-score.",
            lambda: draw(own),
        )
    ]


def verdicts(own: OwnProtocol) -> list[Verdict]:
    """Who is told apart from the squared z-score, by data set."""
    found = []
    for dataset in own.datasets:
        plain = own.of(dataset, _BASELINE)
        if plain is None:
            continue
        above: list[str] = []
        alike: list[str] = []
        below: list[str] = []
        for name in paper.DETECTORS:
            row = own.of(dataset, name)
            if row is not None:
                _, low, high = row.interval("PATE-AP", plain)
                (above if low > 0 else below if high < 0 else alike).append(name)
        found.append(
            Verdict(
                f"{dataset}, own protocol: better than the squared z-score under PATE-AP",
                "not compared",
                ", ".join(above) or "none",
                ADDED,
                f"Told apart on {_series(own, dataset)} series. Not told apart from it: {', '.join(alike) or 'none'}; "
                f"below it: {', '.join(below) or 'none'}.",
            )
        )
    return found


def _series(own: OwnProtocol, dataset: str) -> int:
    return next(len(row.series) for row in own.rows if row.dataset == dataset)


def _cell(row: OwnRow, metric: str) -> str:
    mean, low, high = row.interval(metric)
    if np.isnan(mean):
        return "-"
    seeds = row.by_seed(metric)
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]" + (f" ± {seeds.std(ddof=1):.3f}" if seeds.size > 1 else "")


def _difference(own: OwnProtocol, dataset: str, detector: str) -> str:
    row, plain = own.of(dataset, detector), own.of(dataset, _BASELINE)
    if row is None or plain is None:
        return "-"
    mean, low, high = row.interval("PATE-AP", plain)
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]" + ("" if low <= 0 <= high else " *")


def draw(own: OwnProtocol) -> Any:
    """A panel per data set: detectors as rows, PATE-AP along the axis."""
    from pateval import plots
    from pateval.plots.styling import PALE, QUIET, line_style

    names = (*paper.DETECTORS, *BASELINES)
    axes = plots.panels(1, len(own.datasets), size=(7.2, 2.9), share_y=True)[0]
    for ax, dataset in zip(axes, own.datasets, strict=True):
        random, plain = own.of(dataset, "random"), own.of(dataset, _BASELINE)
        if random is not None:
            ax.axvspan(0, random.interval("PATE-AP")[0], color=PALE, linewidth=0, zorder=0.5)
        if plain is not None:
            ax.axvline(plain.interval("PATE-AP")[0], color=QUIET, linestyle=(0, (3, 1.5)), linewidth=1.0, zorder=1)
        for place, name in enumerate(names):
            row = own.of(dataset, name)
            if row is None:
                continue
            mean, low, high = row.interval("PATE-AP")
            looks = line_style(place)
            colour = QUIET if name in BASELINES else looks.colour
            ax.hlines(place, low, high, color=colour, linewidth=1.6, zorder=2)
            ax.plot(mean, place, marker=looks.marker, markersize=6, color=colour, linestyle="none", zorder=3)
            if len(row.seeds) > 1:
                seeds = row.by_seed("PATE-AP")
                ax.plot(
                    seeds, np.full(seeds.size, place + 0.28), marker="|", markersize=5, color=colour, linestyle="none"
                )
        ax.set_title(dataset)
        ax.set_xlim(left=0)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlabel("PATE-AP")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylabel("detector")
    return axes
