"""Ten synthetic detections of one event under all metrics of the paper's two scenario tables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.evaluation import evaluate, explain
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.metrics.vus import vus_pr, vus_roc
from pateval.paper import paper_tables as paper
from pateval.paper.document import DIFFERS, REPRODUCES, ExperimentSettings, Figure, Report, ReportTable, Verdict
from pateval.pate.score import pate
from pateval.time.timelines import read_recording

if TYPE_CHECKING:
    from pateval.validation.arrays import BoolArray

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


@dataclass(frozen=True)
class ScenarioCell:
    """One printed number and ours."""

    scenario: str
    metric: str
    printed: float
    found: float

    @property
    def agrees(self) -> bool:
        """Whether ours, rounded to the two decimals of the paper, is the printed number."""
        return round(self.found, 2) == self.printed


@dataclass(frozen=True)
class Scenarios:
    """All cells of both tables, and what explains the rest.

    Attributes
    ----------
    cells : tuple of ScenarioCell
        Ten scenarios under eleven metrics.
    vus_by_variant : dict of str to dict of str to tuple of float
        VUS-ROC and VUS-PR of each scenario, by variant of the metric.
    pate_under : dict of str to dict of str to float
        PATE of each scenario with one pair of buffers, with the package's set and with the text's set.
    """

    cells: tuple[ScenarioCell, ...]
    vus_by_variant: dict[str, dict[str, tuple[float, float]]]
    pate_under: dict[str, dict[str, float]]

    @property
    def agreeing(self) -> int:
        """How many cells agree to both decimals."""
        return sum(cell.agrees for cell in self.cells)

    @property
    def differing(self) -> tuple[ScenarioCell, ...]:
        """The cells that do not."""
        return tuple(cell for cell in self.cells if not cell.agrees)

    def cell(self, scenario: str, metric: str) -> ScenarioCell:
        """One cell by scenario and metric."""
        return next(cell for cell in self.cells if (cell.scenario, cell.metric) == (scenario, metric))

    def vus_agreeing(self, variant: str) -> int:
        """How many of the twenty printed VUS values a variant of the metric gives."""
        printed = zip(paper.SCENARIO_VALUES["vus_roc"], paper.SCENARIO_VALUES["vus_pr"], strict=True)
        pairs = zip(self.vus_by_variant[variant].values(), printed, strict=True)
        return sum(round(ours, 2) == cell for pair in pairs for ours, cell in zip(*pair, strict=True))

    def pate_agreeing(self, buffers: str) -> int:
        """How many of the ten printed PATE values a choice of buffers gives."""
        printed = dict(zip(paper.SCENARIO_FLAGGED, paper.SCENARIO_VALUES["pate"], strict=True))
        return sum(round(value, 2) == printed[name] for name, value in self.pate_under[buffers].items())


def compute(settings: ExperimentSettings) -> Scenarios:
    """Score the ten scenarios."""
    del settings
    cases = paper.scenarios()
    wanted = [metric for metric, _ in METRICS.values()]
    cells = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)  # the detector is binary, as in the paper
        for number, (scenario, (labels, predictions)) in enumerate(cases.items()):
            values = list(evaluate(labels, predictions.astype(float), predictions, metrics=wanted).values())
            for metric, value in zip(METRICS, values, strict=True):
                cells.append(ScenarioCell(scenario, metric, paper.SCENARIO_VALUES[metric][number], float(value)))
        vus = {variant: {name: _vus(case, variant) for name, case in cases.items()} for variant in _VARIANTS}
        sets: dict[str, Any] = {
            "one pair": BUFFER,
            "the ends of the range": (0, BUFFER),
            "every size": range(BUFFER + 1),
        }
        under = {
            title: {name: pate(*case, early=buffers, delay=buffers) for name, case in cases.items()}
            for title, buffers in sets.items()
        }
    return Scenarios(tuple(cells), vus, under)


def _vus(case: tuple[BoolArray, BoolArray], variant: str) -> tuple[float, float]:
    return vus_roc(*case, window=2 * BUFFER, variant=variant), vus_pr(*case, window=2 * BUFFER, variant=variant)


def report(found: Scenarios) -> Report:
    """Both tables, both figures, and the explanation of what differs."""
    total = len(found.cells)
    mirrored = "; ".join(
        f"`{name}` {values['S1'][0]:.4f} and {values['S5'][0]:.4f}, {found.vus_agreeing(name)} of 20 VUS cells"
        for name, values in found.vus_by_variant.items()
    )
    verdicts = [
        Verdict(
            "both scenario tables, 11 metrics on S1 to S10",
            f"{total} cells",
            f"{found.agreeing} agree",
            REPRODUCES,
            "One setting per metric gives whole columns; the settings are named on the page.",
        )
    ]
    verdicts += [
        Verdict(
            f"{cell.scenario}, {METRICS[cell.metric][1]}",
            f"{cell.printed:.2f}",
            f"{cell.found:.4f}",
            DIFFERS,
            f"S1 and S5 mirror each other and are both printed {cell.printed:.2f}. The first version of VUS, whose "
            "slopes are not symmetric in time, gives all other VUS cells and tells the two apart. Versions that "
            f"cannot tell them apart miss other cells. VUS-ROC of S1 and S5, and cells given: {mirrored}.",
        )
        for cell in found.differing
    ]
    counts = ", ".join(f"{title} {found.pate_agreeing(title)} of 10" for title in found.pate_under)
    s4 = ", ".join(f"{values['S4']:.3f} ({title})" for title, values in found.pate_under.items())
    verdicts.append(
        Verdict(
            "the mean over all buffer sizes that the text defines",
            f"S4 {paper.SCENARIO_VALUES['pate'][3]:.2f}",
            f"S4 {s4}",
            DIFFERS,
            f"The tables were made with one pair of buffers, early = delay = {BUFFER}. Printed PATE values given: "
            f"{counts}.",
        )
    )
    return Report(
        "Ten synthetic scenarios",
        f"{found.agreeing} of {total} printed cells agree to both decimals.",
        (
            (
                f"A series of {paper.SCENARIO_STEPS} steps holds one event of 20. A binary detector flags one stretch, "
                "placed in ten ways: before the event, after it, across its edges, or inside. Two decimals are "
                "printed; a cell agrees where our value rounds to the printed one."
            ),
            "ExperimentSettings: " + "; ".join(f"{title} `{metric}`" for metric, title in METRICS.values()) + ".",
        ),
        tables=(
            _table(found, "metrics", "First table: ten metrics", _FIRST_TABLE),
            _table(found, "pate-f1", "Second table: PATE-F1 and the metrics on predictions", _SECOND_TABLE),
            ReportTable(
                "buffers",
                "PATE under three choices of buffers",
                ["scenario", "printed", *found.pate_under],
                [
                    [name, printed, *(values[name] for values in found.pate_under.values())]
                    for name, printed in zip(paper.SCENARIO_FLAGGED, paper.SCENARIO_VALUES["pate"], strict=True)
                ],
                decimals=3,
            ),
            ReportTable(
                "cells",
                "Every cell: printed, ours, difference",
                ["scenario", "metric", "printed", "ours", "difference", "agrees"],
                [
                    [
                        cell.scenario,
                        METRICS[cell.metric][0],
                        cell.printed,
                        cell.found,
                        cell.found - cell.printed,
                        cell.agrees,
                    ]
                    for cell in found.cells
                ],
                in_page=False,
            ),
        ),
        figures=(
            Figure("scores", "Scores of the binary detector in S1 to S10, with the event and its zones.", draw_scores),
            Figure("predictions", "What each flagged step counts as, with PATE-F1.", lambda: draw_predictions(found)),
            Figure(
                "values", "Ours: scenarios that other metrics hold alike, PATE tells apart.", lambda: draw_values(found)
            ),
        ),
        verdicts=verdicts,
    )


def _table(found: Scenarios, name: str, caption: str, metrics: tuple[str, ...]) -> ReportTable:
    """Rows of scenarios; a cell shows the printed value, and ours after an arrow where it differs."""
    rows = []
    for scenario in paper.SCENARIO_FLAGGED:
        cells = [found.cell(scenario, metric) for metric in metrics]
        rows.append(
            [
                scenario,
                *(
                    f"{cell.printed:.2f}" if cell.agrees else f"{cell.printed:.2f} → **{cell.found:.2f}**"
                    for cell in cells
                ),
                max(abs(cell.found - cell.printed) for cell in cells),
            ]
        )
    columns = ["scenario", *(METRICS[metric][1] for metric in metrics), "largest difference"]
    return ReportTable(name, f"{caption} (an arrow: printed → ours)", columns, rows, decimals=4, in_csv=False)


_SHOWN = (0, 100)


def draw_scores() -> Any:
    """Ten rows of scores over the event and its zones."""
    from pateval import plots
    from pateval.plots.series_panels import shade_events
    from pateval.plots.styling import legend_above, line_style
    from pateval.plots.time_axis import time_axis

    ax = plots.panels(size=(6.6, 4.6))[0, 0]
    cases = paper.scenarios()
    axis = time_axis(paper.SCENARIO_STEPS, limits=_SHOWN)
    axis.apply(ax)
    shade_events(ax, axis, read_recording(cases["S1"][0]), early=BUFFER, delay=BUFFER)
    for row, (_, predictions) in enumerate(cases.values()):
        shown = predictions[slice(*_SHOWN)]
        base = len(cases) - 1 - row
        edges = np.arange(_SHOWN[0], _SHOWN[1] + 1) - 0.5
        ax.stairs(base + 0.7 * shown, edges, baseline=base, color=line_style(0).colour, linewidth=1.3, zorder=3)
    _name_rows(ax, list(cases), centre=0.2)
    ax.set_ylabel("anomaly score, 0 or 1, by scenario")
    with plots.style():
        legend_above(ax)
    return ax


def draw_predictions(found: Scenarios) -> Any:
    """Ten rows of flagged steps, coloured by category, with PATE-F1 beside them."""
    from pateval import plots
    from pateval.plots.series_panels import shade_events
    from pateval.plots.styling import CATEGORY_COLOURS, legend_above
    from pateval.plots.time_axis import draw_spans, time_axis

    ax = plots.panels(size=(6.6, 4.6))[0, 0]
    cases = paper.scenarios()
    axis = time_axis(paper.SCENARIO_STEPS, limits=_SHOWN)
    axis.apply(ax)
    shade_events(ax, axis, read_recording(cases["S1"][0]), early=BUFFER, delay=BUFFER)
    named: set[str] = set()
    for row, (name, (labels, predictions)) in enumerate(cases.items()):
        low = (len(cases) - 1 - row + 0.15) / len(cases)
        explained = explain(labels, predictions, early=BUFFER, delay=BUFFER)
        category = explained.points.category
        if not explained.events[0].detected:  # an early alarm without the event counts as a false one
            category = np.where(category == "early", "outside", category)
        for kind in dict.fromkeys(category[predictions].tolist()):
            steps = np.flatnonzero((category == kind) & predictions)
            draw_spans(
                ax,
                *axis.spans(steps[:1], steps[-1:] + 1),
                low=low,
                high=low + 0.6 / len(cases),
                facecolors=CATEGORY_COLOURS[kind],
                edgecolors="white",
                label=None if kind in named else kind,
                zorder=3,
            )
            named.add(kind)
        value = found.cell(name, "pate_f1").found
        ax.annotate(
            f"{value:.2f}",
            (1.01, low + 0.3 / len(cases)),
            xycoords="axes fraction",
            va="center",
            fontsize=8,
            annotation_clip=False,
        )
    ax.annotate("PATE-F1", (1.01, 1.01), xycoords="axes fraction", fontsize=8, annotation_clip=False)
    _name_rows(ax, [name.replace("S", "p") for name in cases], centre=0.45)
    ax.set_ylabel("flagged steps, by prediction")
    with plots.style():
        legend_above(ax)
    return ax


def draw_values(found: Scenarios) -> Any:
    """All values as a heat map."""
    from pateval import plots

    matrix = [[found.cell(scenario, metric).found for metric in METRICS] for scenario in paper.SCENARIO_FLAGGED]
    return plots.heat_map(
        matrix,
        rows=list(paper.SCENARIO_FLAGGED),
        columns=[title for _, title in METRICS.values()],
        row_label="scenario",
        value_label="value of the metric",
        limits=(0.0, 1.0),
    )


def _name_rows(ax: Any, names: list[str], *, centre: float) -> None:
    count = len(names)
    ax.set_ylim(-0.08, count)
    ax.set_yticks([count - 1 - row + centre for row in range(count)], names)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    for upper, lower in pairwise(range(count, -1, -1)):
        del upper
        ax.axhline(lower, color="#E4E4E4", linewidth=0.6, zorder=0.3)
