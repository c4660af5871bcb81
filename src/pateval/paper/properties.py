"""The paper's first table: what each metric is said to consider, and what probes measure."""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass
from typing import Any

from pateval.auditing import PAIRS, pair_values, probe
from pateval.catalog import PROPERTIES, find_metrics
from pateval.kernels.coarse import CoarseScoresWarning
from pateval.paper.document import DIFFERS, REPRODUCES, ExperimentSettings, Figure, Report, ReportTable, Verdict
from pateval.paper.paper_tables import PROPERTY_ROWS

# The claimed property of TaPR and eTaPR needs their buffer: in steps for the one, a share of the event for the other.
_WITH_BUFFER = ("tapr_f1(delta=20)", "etapr_f1(delta=0.5)")


@dataclass(frozen=True)
class Evidence:
    """One probe: two detections that differ in one respect, and what a metric gives them."""

    metric: str
    property: str
    claimed: bool
    measured: bool
    better: str
    worse: str
    value_better: float
    value_worse: float


@dataclass(frozen=True)
class PropertyRow:
    """One function of the catalogue: what the paper claims, and what was measured."""

    paper_row: str
    metric: str
    claimed: frozenset[str]
    measured: frozenset[str]

    @property
    def agrees(self) -> bool:
        """Whether all six properties are as claimed."""
        return self.claimed == self.measured


@dataclass(frozen=True)
class Properties:
    """What was measured.

    Attributes
    ----------
    rows : tuple of PropertyRow
        One per metric.
    evidence : tuple of Evidence
        The probes behind every difference.
    delayed_with_buffer : dict of str to bool
        Whether TaPR and eTaPR value delayed detections once they are given a buffer.
    """

    rows: tuple[PropertyRow, ...]
    evidence: tuple[Evidence, ...]
    delayed_with_buffer: dict[str, bool]

    @property
    def differing(self) -> tuple[str, ...]:
        """Metrics of which at least one property is not as claimed."""
        return tuple(row.metric for row in self.rows if not row.agrees)


def compute(settings: ExperimentSettings) -> Properties:
    """Probe the metrics of the paper's first table."""
    del settings
    known = {metric.id: metric for metric in find_metrics(None)}
    named = {
        function if function in known else f"{function}_f1": row
        for row, functions in PROPERTY_ROWS.items()
        for function in functions
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoarseScoresWarning)
        found = probe(list(named))
        rows = tuple(
            PropertyRow(row, metric, known[metric].paper_properties or frozenset(), found[metric].properties)
            for metric, row in named.items()
        )
        evidence = tuple(
            comparison
            for row in rows
            for name in PROPERTIES
            if name in row.claimed ^ row.measured
            for comparison in _evidence(row, name)
        )
        delayed = {metric: "delayed" in result.properties for metric, result in probe(_WITH_BUFFER).items()}
    return Properties(rows, evidence, delayed)


def _evidence(row: PropertyRow, name: str) -> list[Evidence]:
    return [
        Evidence(
            row.metric,
            name,
            name in row.claimed,
            name in row.measured,
            _text(pair.better),
            _text(pair.worse),
            *pair_values(row.metric, pair),
        )
        for pair in PAIRS.get(name, ())
    ]


def _text(stretches: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"{start}..{stop - 1}" for start, stop in sorted(stretches))


def report(found: Properties) -> Report:
    """The table with claims and measurements, and the probe behind each difference."""
    differing = len(found.differing)
    right = [row.metric for row in found.rows if row.agrees]
    buffered = ", ".join(
        f"`{name}` {'does' if held else 'does not'}" for name, held in found.delayed_with_buffer.items()
    )
    verdicts = [
        Verdict(
            "first table: " + ", ".join(f"`{name}`" for name in right), "ticks", "the same", REPRODUCES, "Measured."
        ),
        Verdict(
            "first table: " + ", ".join(f"`{name}`" for name in found.differing),
            f"{differing} metrics",
            "at least one property differs",
            DIFFERS,
            "; ".join(f"`{row.metric}` {_why(row)}" for row in found.rows if not row.agrees) + ".",
        ),
    ]
    return Report(
        "What each metric considers",
        f"{len(found.rows) - differing} of {len(found.rows)} metrics measure as the first table claims; "
        f"{differing} differ in at least one property.",
        (
            "The table's six properties, by initial: "
            + "; ".join(f"**{name[0]}** {text}" for name, text in PROPERTIES.items())
            + ". The paper ticks them by reading definitions. Here each is measured: two detections that differ in one "
            "respect are put before the metric, on a series of 1,000 steps with one event at 480..519, and the "
            "property holds where the first is worth more. Metrics with precision and recall are judged by their F1; "
            "all options are defaults.",
            (
                "Four differences come up again and again. *Coverage*: any metric that counts steps gives more for "
                "three quarters of an event than for half of it, F1 and AUC included, so the tick separates nothing. "
                "*Early*: VUS and affiliation value an alarm just before an event as they do one just after it; they "
                "do not ask whether the event is found too, which is what the paper means. *Delayed*, TaPR and eTaPR: "
                f"only with a buffer δ above 0, and the default is 0 (measured with a buffer: {buffered}). *Delayed*, "
                "affiliation: nearer is better on both sides."
            ),
        ),
        tables=(
            ReportTable(
                "properties",
                "Claimed and measured",
                ["row of the paper", "metric", *PROPERTIES, "as claimed"],
                [
                    [
                        row.paper_row,
                        row.metric,
                        *(_cell(name in row.claimed, name in row.measured) for name in PROPERTIES),
                        row.agrees,
                    ]
                    for row in found.rows
                ],
            ),
            ReportTable(
                "probes",
                "The probes behind every difference",
                [
                    "metric",
                    "property",
                    "claimed",
                    "measured",
                    "flagged, should be worth more",
                    "flagged, should be worth less",
                    "value of the first",
                    "value of the second",
                ],
                [astuple(comparison) for comparison in found.evidence],
                decimals=4,
            ),
        ),
        figures=(Figure("properties", "Claimed and measured properties.", lambda: draw(found)),),
        verdicts=verdicts,
    )


def _cell(claimed: bool, measured: bool) -> str:
    if claimed == measured:
        return "✓" if claimed else ""
    return "measured, not claimed" if measured else "claimed, not measured"


def _why(row: PropertyRow) -> str:
    more = ", ".join(name for name in PROPERTIES if name in row.measured - row.claimed)
    less = ", ".join(name for name in PROPERTIES if name in row.claimed - row.measured)
    parts = [f"has {more} beyond the claim" if more else "", f"lacks {less}, which is claimed" if less else ""]
    return " and ".join(part for part in parts if part)


def draw(found: Properties) -> Any:
    """A grid of claims and measurements: outline for a claim, dot for a measurement."""
    from pateval import plots
    from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, PALE, legend_above

    ax = plots.panels(size=(6.6, 0.9 + 0.27 * len(found.rows)))[0, 0]
    names = list(PROPERTIES)
    claimed = [(x, y) for y, row in enumerate(found.rows) for x, name in enumerate(names) if name in row.claimed]
    measured = [(x, y) for y, row in enumerate(found.rows) for x, name in enumerate(names) if name in row.measured]
    for places, label, looks in (
        (claimed, "claimed", {"marker": "s", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}),
        (measured, "measured", {"marker": "o", "markersize": 6, "color": CATEGORY_COLOURS["early"]}),
    ):
        ax.plot(*zip(*places, strict=True), linestyle="none", label=label, **looks)
    for y, row in enumerate(found.rows):
        ax.axhline(y + 0.5, color=PALE, linewidth=0.6, zorder=0.5)
        if not row.agrees:
            ax.axhspan(y - 0.5, y + 0.5, color="#FBE3D6", linewidth=0, zorder=0.2)
    ax.set_xticks(range(len(names)), [name.replace("_", "-") for name in names])
    ax.set_yticks(range(len(found.rows)), [row.metric for row in found.rows])
    for label, row in zip(ax.get_yticklabels(), found.rows, strict=True):
        label.set_color(INK if row.agrees else ALARM)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylim(len(found.rows) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xlabel("property (shaded: a metric of which one is not as claimed)")
    with plots.style():
        legend_above(ax)
    return ax
