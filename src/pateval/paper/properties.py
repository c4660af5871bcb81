"""The paper's first figure and table: four situations, what metrics are said to consider, and what probes measure."""

from __future__ import annotations

from functools import partial
from typing import Any

from pateval import plots
from pateval.auditing import PAIRS, pair_values, probe
from pateval.catalog import PROPERTIES, find_metrics
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.paper_tables import PROPERTY_ROWS
from pateval.paper.weights import draw_boxes
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, PALE, legend_above

# The claimed property of TaPR and eTaPR needs their buffer: in steps for the one, a share of the event for the other.
_WITH_BUFFER = ("tapr_f1(delta=20)", "etapr_f1(delta=0.5)")
# The first figure: early and delayed detections, quick and slow ones, much of an event and little of it.
SITUATIONS = {"a1": (40, 70), "a2": (130, 180), "a3": (240, 300)}
SITUATION_ALARMS = {
    "p11": (25, 50),
    "p12": (75, 95),
    "p21": (132, 150),
    "p22": (160, 178),
    "p31": (240, 275),
    "p32": (282, 296),
}


def properties(settings: ExperimentSettings) -> Report:
    """Probe the metrics of the paper's first table, and show the probe behind each difference."""
    del settings
    known = {metric.id: metric for metric in find_metrics("all")}
    named = {
        function if function in known else f"{function}_f1": row
        for row, functions in PROPERTY_ROWS.items()
        for function in functions
    }
    found = {metric: result.properties for metric, result in probe(list(named)).items()}
    claimed = {metric: known[metric].paper_properties or frozenset() for metric in named}
    probes = [
        row
        for metric in named
        for name in PROPERTIES
        if name in claimed[metric] ^ found[metric]
        for row in _probes(metric, name, name in claimed[metric])
    ]
    buffered = {metric: "delayed" in result.properties for metric, result in probe(_WITH_BUFFER).items()}
    differing = [metric for metric in named if claimed[metric] != found[metric]]
    cells = [Cell(name in claimed[metric], name in found[metric]) for metric in named for name in PROPERTIES]
    return Report(
        "properties",
        {"metrics": len(named), "differing": len(differing), "properties": PROPERTIES, "buffered": buffered},
        tables=[
            PageTable("properties", "Claimed and measured", [_table_row(named, claimed, found, m) for m in named]),
            PageTable("probes", "The probes behind every difference", probes, decimals=4),
        ],
        figures=[
            Figure("situations", "Four situations that a metric of time series should tell apart.", draw_situations),
            Figure("properties", "Claimed and measured properties.", partial(draw, claimed, found)),
        ],
        verdicts=[
            Verdict(
                "table", cells, {"differing": {metric: _why(claimed[metric], found[metric]) for metric in differing}}
            )
        ],
    )


def _probes(metric: str, name: str, claimed: bool) -> list[Row]:
    rows: list[Row] = []
    for pair in PAIRS.get(name, ()):
        better, worse = pair_values(metric, pair)
        rows.append(
            {
                "metric": metric,
                "property": name,
                "claimed": claimed,
                "measured": not claimed,
                "flagged, should be worth more": _stretches(pair.better),
                "flagged, should be worth less": _stretches(pair.worse),
                "value of the first": better,
                "value of the second": worse,
            }
        )
    return rows


def _stretches(stretches: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"{start}..{stop - 1}" for start, stop in sorted(stretches))


def _table_row(named: dict[str, str], claimed: dict[str, Any], found: dict[str, Any], metric: str) -> Row:
    words = {(True, True): "✓", (False, False): "", (False, True): "measured, not claimed"}
    cells = {
        name: words.get((name in claimed[metric], name in found[metric]), "claimed, not measured")
        for name in PROPERTIES
    }
    agrees = claimed[metric] == found[metric]
    return {"row of the paper": named[metric], "metric": metric, **cells, "as claimed": agrees}


def _why(claimed: frozenset[str], found: frozenset[str]) -> str:
    more = ", ".join(name for name in PROPERTIES if name in found - claimed)
    less = ", ".join(name for name in PROPERTIES if name in claimed - found)
    parts = [f"has {more} beyond the claim" if more else "", f"lacks {less}, which is claimed" if less else ""]
    return " and ".join(part for part in parts if part)


def draw_situations() -> Any:
    """Boxes of events and of the alarms that find them early, late, quickly, slowly, in great part or hardly."""
    ax = plots.panels(size=(7.6, 1.7))[0, 0]
    draw_boxes(ax, SITUATIONS, SITUATION_ALARMS)
    ax.set_xlabel("time (steps)")
    return ax


def draw(claimed: dict[str, Any], found: dict[str, Any]) -> Any:
    """A grid of claims and measurements: outline for a claim, dot for a measurement."""
    ax = plots.panels(size=(6.6, 0.9 + 0.27 * len(found)))[0, 0]
    names = list(PROPERTIES)
    for held, label, looks in (
        (claimed, "claimed", {"marker": "s", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}),
        (found, "measured", {"marker": "o", "markersize": 6, "color": CATEGORY_COLOURS["early"]}),
    ):
        places = [(x, y) for y, metric in enumerate(found) for x, name in enumerate(names) if name in held[metric]]
        ax.plot(*zip(*places, strict=True), linestyle="none", label=label, **looks)
    agrees = [claimed[metric] == found[metric] for metric in found]
    for y, same in enumerate(agrees):
        ax.axhline(y + 0.5, color=PALE, linewidth=0.6, zorder=0.5)
        if not same:
            ax.axhspan(y - 0.5, y + 0.5, color="#FBE3D6", linewidth=0, zorder=0.2)
    ax.set_xticks(range(len(names)), [name.replace("_", "-") for name in names])
    ax.set_yticks(range(len(found)), list(found))
    for label, same in zip(ax.get_yticklabels(), agrees, strict=True):
        label.set_color(INK if same else ALARM)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xlabel("property (shaded: a metric of which one is not as claimed)")
    legend_above(ax)
    return ax
