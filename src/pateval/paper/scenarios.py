"""Ten synthetic detections of one event under all metrics of the paper's two scenario tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pateval import plots
from pateval.evaluation import evaluate, explain
from pateval.metrics.vus import vus_pr, vus_roc
from pateval.paper import paper_tables as paper
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Verdict
from pateval.pate.score import pate
from pateval.plots.series_panels import shade_events
from pateval.plots.styling import CATEGORY_COLOURS, legend_above, line_style
from pateval.plots.time_axis import draw_spans, time_axis
from pateval.time.timelines import read_recording

BUFFER = paper.SCENARIO_BUFFER

# How each column was made; the settings were found by trying those of the metrics' own papers and packages.
METRICS = {
    "pate": (f"pate(early={BUFFER},delay={BUFFER})", "PATE"),
    "vus_roc": (f"vus_roc(window={2 * BUFFER},variant=original)", "VUS-ROC"),
    "vus_pr": (f"vus_pr(window={2 * BUFFER},variant=original)", "VUS-PR"),
    "auc_roc": ("auc_roc", "AUC-ROC"),
    "auc_pr": ("auc_pr", "AUC-PR"),
    "point_f1": ("point_f1", "Standard-F1"),
    "point_adjusted_f1": ("point_adjusted_f1", "PA-F1"),
    "range_based_f1": ("range_based_f1(alpha=0.2,precision_alpha=0.2)", "R-based-F1"),
    "etapr_f1": ("etapr_f1(theta_p=0.5,theta_r=0.01,delta=0.0)", "ETS-Aware-F1"),
    "affiliation_f1": ("affiliation_f1", "Affiliation-F1"),
    "pate_f1": (f"pate_f1(early={BUFFER},delay={BUFFER})", "PATE-F1"),
}
_FIRST_TABLE = tuple(name for name in METRICS if name != "pate_f1")
_SECOND_TABLE = ("pate", "pate_f1", "point_f1", "point_adjusted_f1", "range_based_f1", "etapr_f1", "affiliation_f1")
_VARIANTS = ("original", "tsb-ad", "timeeval")
_BUFFERS: dict[str, Any] = {"one pair": BUFFER, "the ends of the range": (0, BUFFER), "every size": range(BUFFER + 1)}
_SHOWN = (0, 100)

Cells = dict[tuple[str, str], Cell]


def scenarios(_: ExperimentSettings) -> Report:
    """Score the ten scenarios, and look into what differs."""
    cases = paper.scenarios()
    cells = _cells()
    whole = Verdict("tables", list(cells.values()))
    printed = dict(zip(cases, paper.SCENARIO_VALUES["pate"], strict=True))
    under = {
        title: {name: Cell(printed[name], pate(*cases[name], early=size, delay=size), "rounds") for name in cases}
        for title, size in _BUFFERS.items()
    }
    buffers = [
        {"scenario": name, "printed": printed[name], **{title: row[name].found for title, row in under.items()}}
        for name in cases
    ]
    given = {title: (row["S4"].found, sum(cell.agrees for cell in row.values())) for title, row in under.items()}
    every_size = list(under["every size"].values())
    every_cell = [
        {"scenario": scenario, "metric": METRICS[metric][0], **cell.row()} for (scenario, metric), cell in cells.items()
    ]
    told_apart = "Ours: scenarios that other metrics hold alike, PATE tells apart."
    return Report(
        "scenarios",
        {"agreeing": whole.agreeing, "total": len(cells), "steps": paper.SCENARIO_STEPS, "metrics": METRICS.values()},
        tables=[
            _table(cells, "metrics", "First table: ten metrics", _FIRST_TABLE),
            _table(cells, "pate-f1", "Second table: PATE-F1 and the metrics on predictions", _SECOND_TABLE),
            PageTable("buffers", "PATE under three choices of buffers", buffers, decimals=3),
            PageTable("cells", "Every cell: printed, ours, difference", every_cell, in_page=False),
        ],
        figures=[
            Figure("scores", "Scores of the binary detector in S1 to S10, with the event and its zones.", draw_scores),
            Figure("predictions", "What each flagged step counts as, with PATE-F1.", partial(draw_predictions, cells)),
            Figure("values", told_apart, partial(draw_values, cells)),
        ],
        verdicts=[
            whole,
            *(_difference(*place, cell) for place, cell in cells.items() if not cell.agrees),
            # Whether the mean over all buffer sizes, which the text defines, gives the printed PATE values.
            Verdict("buffers", every_size, {"buffer": BUFFER, "s4": printed["S4"], "under": given}),
        ],
    )


def _cells() -> Cells:
    """By scenario and metric: the printed value and ours."""
    wanted = [metric for metric, _ in METRICS.values()]
    cells = {}
    for number, (scenario, (labels, predictions)) in enumerate(paper.scenarios().items()):
        values = evaluate(labels, predictions.astype(float), predictions, metrics=wanted).values()
        for metric, value in zip(METRICS, values, strict=True):
            cells[scenario, metric] = Cell(paper.SCENARIO_VALUES[metric][number], float(value), "rounds")
    return cells


def _difference(scenario: str, metric: str, cell: Cell) -> Verdict:
    """A cell that differs; the only one is VUS-ROC of S5, where the versions of VUS part."""
    printed = np.array([paper.SCENARIO_VALUES["vus_roc"], paper.SCENARIO_VALUES["vus_pr"]])
    said = {}
    for variant in _VARIANTS:
        options: dict[str, Any] = {"window": 2 * BUFFER, "variant": variant}
        values = np.array([[vus(*case, **options) for case in paper.scenarios().values()] for vus in (vus_roc, vus_pr)])
        # VUS-ROC of S1 and of S5, and how many of the printed cells this version gives.
        said[variant] = (values[0, 0], values[0, 4], np.count_nonzero(np.round(values, 2) == printed))
    return Verdict("cell", [cell], {"scenario": scenario, "metric": METRICS[metric][1], "cell": cell, "variants": said})


def _table(cells: Cells, name: str, caption: str, metrics: tuple[str, ...]) -> PageTable:
    """Rows of scenarios; a cell shows the printed value, and ours after an arrow where it differs."""
    rows = []
    for scenario in paper.SCENARIO_FLAGGED:
        row = {METRICS[metric][1]: cells[scenario, metric] for metric in metrics}
        shown = {
            title: f"{cell.printed:.2f}" + ("" if cell.agrees else f" → **{cell.found:.2f}**")
            for title, cell in row.items()
        }
        largest = max(abs(cell.found - cell.printed) for cell in row.values())
        rows.append({"scenario": scenario, **shown, "largest difference": largest})
    return PageTable(name, f"{caption} (an arrow: printed → ours)", rows, decimals=4, in_csv=False)


def draw_scores() -> Any:
    """Ten rows of scores over the event and its zones."""
    ax, _ = _rows_over_the_event([*paper.SCENARIO_FLAGGED], centre=0.2)
    edges = np.arange(_SHOWN[0], _SHOWN[1] + 1) - 0.5
    for base, (_, predictions) in enumerate(reversed(paper.scenarios().values())):
        heights = base + 0.7 * predictions[slice(*_SHOWN)]
        ax.stairs(heights, edges, baseline=base, color=line_style(0).colour, linewidth=1.3, zorder=3)
    ax.set_ylabel("anomaly score, 0 or 1, by scenario")
    legend_above(ax)
    return ax


def draw_predictions(cells: Cells) -> Any:
    """Ten rows of flagged steps, coloured by category, with PATE-F1 beside them."""
    cases = paper.scenarios()
    ax, axis = _rows_over_the_event([name.replace("S", "p") for name in cases], centre=0.45)
    aside: dict[str, Any] = {"xycoords": "axes fraction", "fontsize": 8, "annotation_clip": False}
    named: set[str] = set()
    for row, (name, (labels, predictions)) in enumerate(cases.items()):
        low = (len(cases) - 1 - row + 0.15) / len(cases)
        explained = explain(labels, predictions, early=BUFFER, delay=BUFFER)
        category = explained.points.category
        if not explained.events[0].detected:  # an early alarm without the event counts as a false one
            category = np.where(category == "early", "outside", category)
        for kind in dict.fromkeys(category[predictions].tolist()):
            steps = np.flatnonzero((category == kind) & predictions)
            spans, label = axis.spans(steps[:1], steps[-1:] + 1), None if kind in named else kind
            looks: dict[str, Any] = {"facecolors": CATEGORY_COLOURS[kind], "edgecolors": "white", "zorder": 3}
            draw_spans(ax, *spans, low=low, high=low + 0.6 / len(cases), label=label, **looks)
            named.add(kind)
        ax.annotate(f"{cells[name, 'pate_f1'].found:.2f}", (1.01, low + 0.3 / len(cases)), va="center", **aside)
    ax.annotate("PATE-F1", (1.01, 1.01), **aside)
    ax.set_ylabel("flagged steps, by prediction")
    legend_above(ax)
    return ax


def draw_values(cells: Cells) -> Any:
    """All values as a heat map."""
    return plots.heat_map(
        [[cells[scenario, metric].found for metric in METRICS] for scenario in paper.SCENARIO_FLAGGED],
        rows=list(paper.SCENARIO_FLAGGED),
        columns=[title for _, title in METRICS.values()],
        row_label="scenario",
        value_label="value of the metric",
        limits=(0.0, 1.0),
    )


def _rows_over_the_event(names: list[str], *, centre: float) -> tuple[Any, Any]:
    """Axes with the event and its zones shaded, and a named row per scenario; and the time axis."""
    ax = plots.panels(size=(6.6, 4.6))[0, 0]
    axis = time_axis(paper.SCENARIO_STEPS, limits=_SHOWN)
    axis.apply(ax)
    shade_events(ax, axis, read_recording(paper.flagged(paper.SCENARIO_EVENT)), early=BUFFER, delay=BUFFER)
    ax.set_ylim(-0.08, len(names))
    ax.set_yticks([len(names) - 1 - row + centre for row in range(len(names))], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    for height in range(len(names)):
        ax.axhline(height, color="#E4E4E4", linewidth=0.6, zorder=0.3)
    return ax, axis
