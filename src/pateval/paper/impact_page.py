"""What is written about the big table: text, tables, and the figure of printed and found values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.paper import own_protocol_page
from pateval.paper import paper_tables as paper
from pateval.paper.chance import PAPER_METRICS
from pateval.paper.document import ADDED, DIFFERS, OPEN, REPRODUCES, Figure, Report, ReportTable, Verdict
from pateval.paper.impact import BASELINES, DRAWS, KEPT_MACHINES, SAME_ORDER
from pateval.paper.impact_gaps import SHARES, SUBSET_DATASET
from pateval.paper.impact_values import CLOSE, THRESHOLDED, printed

if TYPE_CHECKING:
    from pateval.paper.impact import Impact, TrainingRow

Counts = dict[str, list[tuple[str, int, int]]]
_EARLIER = "seed 0, earlier training"
_TWO_TRAININGS = (
    "There are two trainings with the same settings: an earlier one of one seed, whose score files are in the "
    "repository (results/scores/authors), and a later one of up to five seeds, whose files are too large for it. "
    "With seed 0 the scores of USAD on SMD and of DCDetector on MSL are the same in both; the others are not, for "
    "a reason that was not found (the later training has other versions of its libraries, and trained the seeds "
    "of most detectors side by side). Seed 0 of one is therefore one more draw beside the seeds of the other, and "
    "the count of close cells says as much about luck as about the protocol: read the range."
)
_PROTOCOL = (
    "Protocol of the paper: early = delay = 100 (one pair), VUS window 200 of the first version, predictions "
    "strictly above the configured percentile of training and test scores together, incomplete last windows "
    "dropped, series laid end to end as one, the test set choosing the weights where the published code lets it. "
    "Every number is of the paper's kind, and inherits its faults; boundaries of series are ignored here on "
    "purpose. Random scores and constants flag the share configured for AnomalyTransformer."
)
_SPREAD = (
    "A single threshold at the configured percentile decides PA-F1, F1 and PA-AUC-ROC; the paper prints no "
    f"spread. Ours: over seeds, and on SMD over machines. There each of {DRAWS} draws keeps {KEPT_MACHINES} of the "
    "19 machines at hand, which spreads values about as far as having 19 of the paper's 28 does: a difference of "
    f"less than two such deviations says nothing about the detector. For cells that are not close, {len(SHARES)} "
    f"other shares from {min(SHARES):g} to {max(SHARES):g} % were flagged, the best threshold was searched with "
    "all labels known, and PATE was computed with the buffer 0 included."
)


def report(found: Impact) -> Report:
    """The page."""
    compared = [name for name in found.datasets if name in paper.DATASETS]
    counts = {name: _counts(found, name) for name in compared}
    return Report(
        "The big table",
        "; ".join(f"{name}: {_listed(rows)} printed cells within {CLOSE:.2f}" for name, rows in counts.items()) + ".",
        [
            _PROTOCOL,
            _SPREAD,
            *([_TWO_TRAININGS] if any(map(found.has_earlier, found.datasets)) else []),
            *([own_protocol_page.TEXT] if found.own.rows else []),
        ],
        tables=_tables(found, counts),
        figures=[
            Figure(
                f"impact-{name.lower()}",
                f"{name}: printed values (hollow) and ours (filled, bars from the lowest to the highest seed); "
                "shaded: not above random scores.",
                lambda name=name: draw(found, name),  # type: ignore[misc]  # mypy infers no type for a default
            )
            for name in compared
        ]
        + own_protocol_page.figures(found.own),
        verdicts=_verdicts(found, counts),
    )


def _counts(found: Impact, dataset: str) -> list[tuple[str, int, int]]:
    rows = [(f"seed {seed}", *found.within(dataset, seed)) for seed in found.seeds(dataset)]
    if found.has_earlier(dataset):
        rows.append((_EARLIER, *found.within(dataset, 0, earlier=True)))
    return rows


def _listed(rows: list[tuple[str, int, int]]) -> str:
    """Counts of seed 0, of every training."""
    first = [row for row in rows if row[0] in ("seed 0", _EARLIER)]
    return " and ".join(f"{within} of {cells} ({label})" for label, within, cells in first)


def _tables(found: Impact, counts: Counts) -> list[ReportTable]:
    tables = [
        ReportTable(
            f"table-{name.lower()}",
            f"{name}, {found.machines[name]} series: ours (seed 0; printed; difference)",
            ["detector", *PAPER_METRICS],
            [
                *(
                    [detector, *_cells(found, name, detector)]
                    for detector in paper.DETECTORS
                    if found.of(name, detector)
                ),
                *([kind, *_cells(found, name, kind)] for kind in BASELINES if found.of(name, kind)),
                *(
                    [run.detector, *(_number(run.values[metric]) for metric in PAPER_METRICS)]
                    for run in found.whole
                    if run.dataset == name
                ),
            ],
            in_csv=False,
        )
        for name in found.datasets
    ]
    if others := [run for run in found.whole if run.dataset not in found.datasets]:
        tables.append(
            ReportTable(
                "chance-only",
                "Chance where there are labels and no features",
                ["data set", "detector", *PAPER_METRICS],
                [[run.dataset, run.detector, *run.values.values()] for run in others],
                decimals=3,
                in_csv=False,
            )
        )
    tables += [
        ReportTable(
            "counts",
            f"Printed cells within {CLOSE:.2f}, by seed",
            ["data set", "run", "within", "cells"],
            [[name, *row] for name, rows in counts.items() for row in rows],
        ),
        ReportTable(
            "gaps",
            f"Cells of seed 0 further than {CLOSE:.2f} away, and what the experiments say",
            ["data set", "run", "detector", "metric", "printed", "ours", "lowest", "highest", "runs", "best", "why"],
            [
                [
                    gap.dataset,
                    _EARLIER if gap.earlier else "seed 0",
                    gap.detector,
                    gap.metric,
                    gap.printed,
                    gap.found,
                    min(gap.seeds),
                    max(gap.seeds),
                    len(gap.seeds),
                    gap.best,
                    gap.why,
                ]
                for gap in found.gaps
            ],
            decimals=3,
        ),
        ReportTable(
            "shares",
            "Metrics of predictions where other shares of the steps are flagged, seed 0",
            ["data set", "run", "detector", "flagged %", *THRESHOLDED],
            _share_rows(found),
            in_page=False,
        ),
        ReportTable(
            "seeds",
            "Mean and standard deviation over seeds",
            ["data set", "detector", "seeds", *PAPER_METRICS],
            [
                [
                    name,
                    detector,
                    len(runs),
                    *(_spread([run.values[metric] for run in runs]) for metric in PAPER_METRICS),
                ]
                for name in found.datasets
                for detector in paper.DETECTORS
                if (runs := found.of(name, detector))
            ],
            in_csv=False,
        ),
    ]
    if found.subsets:
        tables.append(
            ReportTable(
                "machines",
                f"{SUBSET_DATASET}: standard deviation over {DRAWS} subsets of {KEPT_MACHINES} machines, seed 0 "
                "(* where the difference from the printed value is larger than two of them)",
                ["detector", *PAPER_METRICS],
                [
                    [detector, *(_over_machines(found, detector, metric) for metric in PAPER_METRICS)]
                    for detector in paper.DETECTORS
                    if (detector, "PATE") in found.subsets
                ],
            )
        )
    tables += [
        ReportTable(
            "training",
            "Whether the training collapsed: every run, with the rank correlation of scores and squared z-score",
            ["protocol", "data set", "detector", "seed", "verdict", "correlation"],
            [
                [row.protocol, row.dataset, row.detector, row.run, row.verdict, row.correlation]
                for row in found.collapse
            ],
            in_page=False,
        ),
        ReportTable(
            "training-verdicts",
            "Whether the training collapsed, and the rank correlation of the scores with the squared z-score",
            ["protocol", "data set", "detector", "verdict", "seeds", "correlation"],
            _collapse_rows(found),
            in_csv=False,
        ),
        ReportTable(
            "values",
            "All values of all runs",
            ["data set", "detector", "run", "metric", "ours", "printed", "difference"],
            [
                [
                    run.dataset,
                    run.detector,
                    _EARLIER if run.earlier else f"seed {run.run}",
                    metric,
                    value,
                    _printed(run, metric),
                    run.difference(metric),
                ]
                for run in (*found.runs, *found.baselines, *found.whole)
                for metric, value in run.values.items()
            ],
            in_page=False,
        ),
    ]
    return [*tables, *own_protocol_page.tables(found.own)]


def _verdicts(found: Impact, counts: Counts) -> list[Verdict]:
    verdicts = []
    for name, rows in counts.items():
        per_seed = ", ".join(f"{label}: {within} of {cells}" for label, within, cells in rows)
        for earlier in (False, True):
            gaps = [gap for gap in found.gaps if (gap.dataset, gap.earlier) == (name, earlier)]
            first = [row for row in rows if row[0] == (_EARLIER if earlier else "seed 0")]
            if not first:
                continue
            listed = "; ".join(
                f"{gap.detector} {gap.metric} {gap.found:.2f} for {gap.printed:.2f} ({gap.why})" for gap in gaps
            )
            verdicts.append(
                Verdict(
                    f"{name}, {found.machines[name]} series, {first[0][0]}: cells within {CLOSE:.2f}",
                    f"{first[0][2]} cells",
                    f"{first[0][1]} within {CLOSE:.2f}",
                    DIFFERS if gaps else REPRODUCES,
                    f"By run, of the detectors that have it: {per_seed}. The others: {listed or 'none'}.",
                )
            )
    dead = [row for row in found.collapse if row.dead]
    named = dict.fromkeys(map(_named, dead))
    verdicts.append(
        Verdict(
            "training that collapsed",
            "not said",
            f"{len(dead)} of {len(found.collapse)} runs",
            ADDED,
            "A network that puts out next to nothing scores the squared z-score, so that row is the one to beat: "
            + "; ".join(
                f"{name}, seeds {' '.join(str(row.run) for row in dead if _named(row) == name)}" for name in named
            )
            + f". Judged by the training records, and by a rank correlation of {SAME_ORDER} or more with the squared "
            "z-score.",
        )
    )
    verdicts += own_protocol_page.verdicts(found.own)
    verdicts += [Verdict("what is not here", "-", "-", OPEN, sentence) for sentence in found.missing]
    return verdicts


def _named(row: TrainingRow) -> str:
    return f"{row.detector} on {row.dataset} ({row.protocol})"


def _cells(found: Impact, dataset: str, detector: str) -> list[str]:
    first = found.of(dataset, detector)[0]
    cells = []
    for metric, value in first.values.items():
        given, difference = printed(dataset, detector, metric), first.difference(metric)
        if given is None or difference is None or math.isnan(value):
            cells.append(_number(value))
        else:
            cells.append(f"{value:.3f} ({given:.2f}; {difference:+.3f})")
    return cells


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _printed(run: Any, metric: str) -> float | None:
    return printed(run.dataset, run.detector, metric)


def _spread(values: list[float]) -> str:
    if math.isnan(values[0]):
        return "-"
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def _over_machines(found: Impact, detector: str, metric: str) -> str:
    deviation = found.subsets[detector, metric][1]
    difference = found.of(SUBSET_DATASET, detector)[0].difference(metric)
    return f"{deviation:.3f}" + ("*" if difference is not None and abs(difference) > 2 * deviation else "")


def _collapse_rows(found: Impact) -> list[list[str]]:
    """A row per protocol, data set, detector and verdict, with the seeds it holds for; numbers in it are left out."""
    rows: dict[tuple[str, str, str, str], list[Any]] = {}
    for row in found.collapse:
        verdict = _without_numbers(row.verdict)
        if row.dead and not row.verdict.startswith("collapsed"):
            verdict += "; no better than the squared z-score"
        rows.setdefault((row.protocol, row.dataset, row.detector, verdict), []).append(row)
    return [
        [*key, " ".join(str(row.run) for row in members), _range([row.correlation for row in members])]
        for key, members in rows.items()
    ]


def _without_numbers(verdict: str) -> str:
    """A verdict whose reasons are cut to what they have in common over seeds.

    Examples
    --------
    >>> _without_numbers("collapsed: the output is constant; no improvement over the first epoch: the error was 2")
    'collapsed: the output is constant; no improvement over the first epoch'
    """
    kind, _, reasons = verdict.partition(": ")
    if kind != "collapsed":
        return verdict
    short = [
        reason.rpartition(": ")[2] if reason.startswith("the error") else reason.partition(": ")[0].partition(" (")[0]
        for reason in reasons.split("; ")
    ]
    return f"{kind}: {'; '.join(short)}"


def _range(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    return f"{known[0]:.2f}" if len(known) == 1 else f"{min(known):.2f} to {max(known):.2f}"


def _share_rows(found: Impact) -> list[list[Any]]:
    rows: dict[tuple[str, str, str, float], list[Any]] = {}
    for gap in found.gaps:
        for share, values in gap.shares.items():
            key = (gap.dataset, _EARLIER if gap.earlier else "seed 0", gap.detector, share)
            rows[key] = [*key, *(values[metric] for metric in THRESHOLDED)]
    return list(rows.values())


def draw(found: Impact, dataset: str) -> Any:
    """Printed and found values of one data set, metric by metric."""
    from pateval import plots
    from pateval.plots.styling import PALE, QUIET, line_style

    metrics = list(paper.IMPACT_VALUES)
    (ax,) = plots.panels(size=(7.0, 3.2))[0]
    random = found.of(dataset, "random")[0]
    for place, metric in enumerate(metrics):
        low, high = place - 0.42, place + 0.42
        ax.fill_between([low, high], 0, random.values[metric], color=PALE, linewidth=0, zorder=0.5)
        label = "random" if place == 0 else None
        ax.hlines(random.values[metric], low, high, color=QUIET, linewidth=1.8, zorder=1, label=label)
    for place, detector in enumerate(paper.DETECTORS):
        runs = found.of(dataset, detector)
        if not runs:
            continue
        looks = line_style(place)
        values = np.array([[run.values[metric] for metric in metrics] for run in runs])
        x = np.arange(len(metrics)) + 0.165 * (place - 2)
        ax.vlines(x, values.min(axis=0), values.max(axis=0), color=looks.colour, linewidth=1.5, zorder=2)
        shape = {"linestyle": "none", "marker": looks.marker, "markersize": 5.5, "color": looks.colour}
        ax.plot(x - 0.035, values[0], zorder=3, label=detector, **shape)
        hollow = [paper.IMPACT_VALUES[metric][dataset][place] for metric in metrics]
        ax.plot(x + 0.035, hollow, zorder=4, markerfacecolor="none", markeredgewidth=1.1, **shape)
    ax.plot([], [], linestyle="none", marker="o", markerfacecolor="none", color=QUIET, label="hollow: printed")
    ax.set_ylim(0, 1.03)
    ax.set_ylabel(f"value on {dataset}")
    ax.set_xticks(range(len(metrics)), metrics)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("metric (shaded: not above random scores)")
    with plots.style():
        ax.figure.legend(handles=ax.get_legend_handles_labels()[0], loc="outside upper left", ncols=4)
    return ax
