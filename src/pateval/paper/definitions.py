"""What follows from definitions alone: what each metric considers, and categories and weights of steps under PATE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from pateval import plots
from pateval.auditing import PAIRS, pair_values, probe
from pateval.catalog import PROPERTIES, find_metrics
from pateval.evaluation import explain
from pateval.metrics import auc_pr, vus_pr
from pateval.output.explanation import Explanation
from pateval.paper.document import Cell, ExperimentSettings, Figure, PageTable, Report, Row, Verdict
from pateval.paper.paper_tables import PROPERTY_ROWS, flagged
from pateval.pate.score import pate, pate_f1
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, EVENT, EVENT_MARK, INK, PALE, legend_above
from pateval.validation.arrays import BoolArray, FloatArray

Stretches = dict[str, tuple[int, int]]

# The claimed property of TaPR and eTaPR needs their buffer: in steps for the one, a share of the event for the other.
_WITH_BUFFER = ("tapr_f1(delta=20)", "etapr_f1(delta=0.5)")
# The first figure: early and delayed detections, quick and slow ones, much of an event and little of it.
SITUATIONS: Stretches = {"a1": (40, 70), "a2": (130, 180), "a3": (240, 300)}
SITUATION_ALARMS: Stretches = {
    "p11": (25, 50),
    "p12": (75, 95),
    "p21": (132, 150),
    "p22": (160, 178),
    "p31": (240, 275),
    "p32": (282, 296),
}

# The categorisation figure. The sixth alarm is one run through three zones; the paper counts its parts.
CATEGORY_BUFFER, CATEGORY_STEPS = 30, 420
EVENTS: Stretches = {"a1": (30, 60), "a2": (150, 190), "a3": (260, 290), "a4": (370, 400)}
ALARMS: Stretches = {
    "p1": (30, 60),
    "p2": (65, 80),
    "p3": (98, 112),
    "p4": (128, 142),
    "p5": (162, 176),
    "p6-1": (246, 260),
    "p6-2": (260, 290),
    "p6-3": (290, 306),
    "p7": (346, 360),
}
# What the paper calls each of them.
EXPECTED = {
    **dict.fromkeys(("p1", "p5", "p6-2"), "true detection"),
    **dict.fromkeys(("p2", "p6-3"), "delayed"),
    **dict.fromkeys(("p4", "p6-1"), "early"),
    **dict.fromkeys(("p3", "p7"), "outside"),
}

# Event lengths: the longest first, as the paper names them; it prints no lengths.
LENGTH_BUFFER = 50
LENGTHS = {"a1": 100, "a2": 50, "a3": 10}

# Early and late: one event, and where the peaks of each detector stand: centre, height.
MOVED_STEPS, MOVED_EVENT, MOVED_BUFFER, FLAGGED_ABOVE = 400, (180, 220), 40, 0.5
PEAKS = {"model 1": ((165, 0.75), (200, 1.0)), "model 2": ((165, 0.9),), "model 3": ((235, 0.9),)}
SHIFTS = tuple(range(-100, 101, 5))
_PEAK_WIDTH = 6.0


def properties(_: ExperimentSettings) -> Report:
    """Probe the metrics of the paper's first table, and show the probe behind each difference."""
    known = {metric.id: metric for metric in find_metrics("all")}
    named = {
        function if function in known else f"{function}_f1": row
        for row, functions in PROPERTY_ROWS.items()
        for function in functions
    }
    measured = {metric: result.properties for metric, result in probe(list(named)).items()}
    claimed = {metric: known[metric].paper_properties or frozenset() for metric in named}
    buffered = {metric: "delayed" in result.properties for metric, result in probe(_WITH_BUFFER).items()}
    differing = [metric for metric in named if claimed[metric] != measured[metric]]
    why = {metric: _why(claimed[metric], measured[metric]) for metric in differing}
    cells = [Cell(name in claimed[metric], name in measured[metric]) for metric in named for name in PROPERTIES]
    return Report(
        "properties",
        {"metrics": len(named), "differing": len(differing), "properties": PROPERTIES, "buffered": buffered},
        tables=[
            PageTable("properties", "Claimed and measured", list(_table_rows(named, claimed, measured))),
            PageTable("probes", "The probes behind every difference", list(_probes(claimed, measured)), decimals=4),
        ],
        figures=[
            Figure("situations", "Four situations that a metric of time series should tell apart.", draw_situations),
            Figure("properties", "Claimed and measured properties.", partial(draw_properties, claimed, measured)),
        ],
        verdicts=[Verdict("table", cells, {"differing": why})],
    )


def _probes(claimed: dict[str, Any], measured: dict[str, Any]) -> Iterator[Row]:
    for metric, name in product(measured, PAIRS):
        is_claimed, is_measured = name in claimed[metric], name in measured[metric]
        for pair in PAIRS[name] if is_claimed != is_measured else ():
            better, worse = pair_values(metric, pair)
            yield {
                "metric": metric,
                "property": name,
                "claimed": is_claimed,
                "measured": is_measured,
                "flagged, should be worth more": _stretches(pair.better),
                "flagged, should be worth less": _stretches(pair.worse),
                "value of the first": better,
                "value of the second": worse,
            }


def _stretches(stretches: tuple[tuple[int, int], ...]) -> str:
    return " and ".join(f"{start}..{stop - 1}" for start, stop in sorted(stretches))


def _table_rows(named: dict[str, str], claimed: dict[str, Any], measured: dict[str, Any]) -> Iterator[Row]:
    for metric, row in named.items():
        said, has = claimed[metric], measured[metric]
        either = dict.fromkeys(said - has, "claimed, not measured") | dict.fromkeys(has - said, "measured, not claimed")
        cells = {name: either.get(name, "✓" if name in said else "") for name in PROPERTIES}
        yield {"row of the paper": row, "metric": metric, **cells, "as claimed": said == has}


def _why(claimed: frozenset[str], measured: frozenset[str]) -> str:
    more = ", ".join(name for name in PROPERTIES if name in measured - claimed)
    less = ", ".join(name for name in PROPERTIES if name in claimed - measured)
    parts = [f"has {more} beyond the claim" if more else "", f"lacks {less}, which is claimed" if less else ""]
    return " and ".join(part for part in parts if part)


def draw_situations() -> Any:
    """Boxes of events and of the alarms that find them early, late, quickly, slowly, in great part or hardly."""
    ax = plots.panels(size=(7.6, 1.7))[0, 0]
    draw_boxes(ax, SITUATIONS, SITUATION_ALARMS)
    ax.set_xlabel("time (steps)")
    return ax


def draw_properties(claimed: dict[str, Any], measured: dict[str, Any]) -> Any:
    """A grid of claims and measurements: outline for a claim, dot for a measurement."""
    ax = plots.panels(size=(6.6, 0.9 + 0.27 * len(measured)))[0, 0]
    names = list(PROPERTIES)
    for held, label, looks in (
        (claimed, "claimed", {"marker": "s", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": INK}),
        (measured, "measured", {"marker": "o", "markersize": 6, "color": CATEGORY_COLOURS["early"]}),
    ):
        places = [(x, y) for y, metric in enumerate(measured) for x, name in enumerate(names) if name in held[metric]]
        ax.plot(*zip(*places, strict=True), linestyle="none", label=label, **looks)
    agrees = [claimed[metric] == measured[metric] for metric in measured]
    for y, same in enumerate(agrees):
        ax.axhline(y + 0.5, color=PALE, linewidth=0.6, zorder=0.5)
        if not same:
            ax.axhspan(y - 0.5, y + 0.5, color="#FBE3D6", linewidth=0, zorder=0.2)
    ax.set_xticks(range(len(names)), [name.replace("_", "-") for name in names])
    ax.set_yticks(range(len(measured)), list(measured))
    for label, same in zip(ax.get_yticklabels(), agrees, strict=True):
        label.set_color(INK if same else ALARM)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.set_ylim(len(measured) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.set_xlabel("property (shaded: a metric of which one is not as claimed)")
    legend_above(ax)
    return ax


def categories(_: ExperimentSettings) -> Report:
    """Explain seven alarms around four events, in which every category occurs."""
    explanation = explain(
        flagged(*EVENTS.values(), steps=CATEGORY_STEPS),
        flagged(*ALARMS.values(), steps=CATEGORY_STEPS),
        early=CATEGORY_BUFFER,
        delay=CATEGORY_BUFFER,
    )
    points = explanation.points
    rows = {}
    for alarm, (start, stop) in ALARMS.items():
        (category,) = set(points.category[start:stop].tolist())
        if category == "early" and not explanation.events[int(points.event[start])].detected:
            category = "outside"  # what the paper calls an early alarm whose event is missed
        rows[alarm] = {
            "steps": f"{start}..{stop - 1}",
            "paper": EXPECTED[alarm],
            "ours": category,
            "TP weight": float(np.sum(points.true_positive[start:stop])),
            "FP weight": float(np.sum(points.false_positive[start:stop])),
        }
    missed = {
        name: {"steps": f"{start}..{stop - 1}", "FN weight": float(np.sum(points.false_negative[start:stop]))}
        for name, (start, stop) in EVENTS.items()
    }
    verdict = Verdict("alarms", [Cell(row["paper"], row["ours"]) for row in rows.values()])
    caption = "Categories of all steps and their weights; solid: active, dotted: potential."
    return Report(
        "categories",
        {"buffer": CATEGORY_BUFFER, "right": verdict.agreeing, "alarms": len(rows)},
        tables=[
            PageTable.of("alarms", "What each alarm counts as", rows, "alarm"),
            PageTable.of("events", "What is missed of each event", missed, "event"),
        ],
        figures=[Figure("categories", caption, partial(draw_categories, explanation))],
        verdicts=[verdict],
    )


def draw_categories(explanation: Explanation) -> Any:
    """Boxes of events and alarms above, weights and categories below."""
    axes = plots.panels(2, size=(7.6, 4.4), heights=(1.0, 3.0), share_x=True)[:, 0]
    plots.categories(explanation, ax=axes[1])
    draw_boxes(axes[0], EVENTS, ALARMS)
    axes[0].tick_params(axis="x", labelbottom=False)
    return axes


def draw_boxes(ax: Any, events: Stretches, alarms: Stretches) -> None:
    """Draw events above and alarms below, each as a box with its name."""
    groups = (
        (1.0, events, EVENT, EVENT_MARK),
        (0.0, alarms, CATEGORY_COLOURS["delayed"], CATEGORY_COLOURS["true detection"]),
    )
    for height, stretches, face, edge in groups:
        for name, (start, stop) in stretches.items():
            ax.broken_barh([(start - 0.5, stop - start)], (height + 0.1, 0.8), facecolor=face, edgecolor=edge)
            ax.text((start + stop - 1) / 2, height + 0.5, name, ha="center", va="center", fontsize=7, color=INK)
    ax.set_ylim(0, 2)
    ax.set_yticks([0.5, 1.5], ["alarms", "events"])
    ax.tick_params(axis="both", length=0)
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def lengths(_: ExperimentSettings) -> Report:
    """Flag everything around an event of each length and read the weights off."""
    after, before, stretches, place = {}, {}, [], LENGTH_BUFFER
    for name, length in LENGTHS.items():
        steps = length + 2 * LENGTH_BUFFER
        event = (LENGTH_BUFFER, LENGTH_BUFFER + length)
        everything = np.ones(steps, dtype=np.bool_)
        explained = explain(flagged(event, steps=steps), everything, early=LENGTH_BUFFER, delay=LENGTH_BUFFER)
        after[name] = explained.points.true_positive[event[1] :]
        before[name] = explained.points.true_positive[: event[0]][::-1]
        stretches.append((place, place + length))
        place += steps
    labels = flagged(*stretches, steps=place)
    together = explain(labels, labels, early=LENGTH_BUFFER, delay=LENGTH_BUFFER)
    ordered = [
        Cell(float(after[longer][step]), float(after[shorter][step]), "above")
        for longer, shorter in pairwise(LENGTHS)
        for step in range(LENGTH_BUFFER - 1)
    ]
    weights = {
        step: {f"{name} (length {length})": float(after[name][step - 1]) for name, length in LENGTHS.items()}
        for step in (1, 10, 25, 40)
    }
    caption = "TP weight of a detection after the event"
    timeline = "TP weights before, within and after three events: solid inside, dotted where potential."
    return Report(
        "lengths",
        {"lengths": LENGTHS, "buffer": LENGTH_BUFFER},
        tables=[PageTable.of("weights", caption, weights, "steps after", decimals=3)],
        figures=[
            Figure("timeline", timeline, partial(draw_timeline, together)),
            Figure("distance", "The same zones laid over each other.", partial(draw_distance, before, after)),
        ],
        verdicts=[Verdict("order", ordered)],
    )


def draw_timeline(together: Explanation) -> Any:
    """The weights of the three events in one series."""
    ax = plots.categories(together)
    for name, event in zip(LENGTHS, together.events, strict=True):
        ax.text((event.start + event.stop - 1) / 2, 0.5, name, ha="center", va="center", fontsize=9)
    return ax


def draw_distance(before: Mapping[str, FloatArray], after: Mapping[str, FloatArray]) -> Any:
    """Weights against the distance to the event, for three lengths."""
    ax = plots.line_chart(
        np.arange(-LENGTH_BUFFER, LENGTH_BUFFER + 1),
        {f"{name}, {LENGTHS[name]} steps": np.r_[before[name][::-1], 1.0, after[name]] for name in LENGTHS},
        x_label="steps from the event (negative is before it; 0 is the event)",
        y_label="TP weight",
    )
    ax.axvline(0, color="#6E6E6E", linewidth=0.8, zorder=1)
    return ax


def early_late(_: ExperimentSettings) -> Report:
    """Score three detectors that meet one event, and a detection that is moved through it."""
    labels = flagged(MOVED_EVENT, steps=MOVED_STEPS)
    time = np.arange(MOVED_STEPS)
    noise = 0.08 * np.random.default_rng(0).random(MOVED_STEPS)
    scores = {
        name: noise + sum(height * np.exp(-(((time - centre) / _PEAK_WIDTH) ** 2)) for centre, height in peaks)
        for name, peaks in PEAKS.items()
    }
    start, stop = MOVED_EVENT
    values = {name: _four_metrics(labels, curve, curve > FLAGGED_ABOVE) for name, curve in scores.items()}
    moved = {}
    for shift in SHIFTS:
        detection = flagged((start + shift, stop + shift), steps=MOVED_STEPS)
        moved[shift] = _four_metrics(labels, detection.astype(float), detection)
    first, second, third = (values[name]["PATE"] for name in PEAKS)
    early, late = moved[start - stop]["PATE"], moved[stop - start]["PATE"]
    curves = {metric: [row[metric] for row in moved.values()] for metric in moved[0]}
    shifted = partial(plots.shifts, SHIFTS, curves, y_label="value of the metric")
    drawn = partial(draw_three, labels, scores, values)
    return Report(
        "early-late",
        {"first": first, "second": second, "third": third, "early": early, "late": late},
        tables=[
            PageTable.of("values", "The three detectors", values, "detector"),
            PageTable.of("moved", "A detection moved in time", moved, "shift", in_page=False),
        ],
        figures=[
            Figure("detectors", "Early with the event, early without it, late.", drawn),
            Figure("shifts", "A detection as long as the event, moved through it.", shifted),
        ],
        verdicts=[Verdict("order", [Cell(second, third, "above")], {"early": second, "late": third})],
    )


def _four_metrics(labels: BoolArray, scores: FloatArray, predictions: BoolArray) -> dict[str, float]:
    return {
        "PATE": pate(labels, scores, early=MOVED_BUFFER, delay=MOVED_BUFFER),
        "PATE-F1": pate_f1(labels, predictions, early=MOVED_BUFFER, delay=MOVED_BUFFER),
        "VUS-PR": vus_pr(labels, scores, window=2 * MOVED_BUFFER),
        "AUC-PR": auc_pr(labels, scores),
    }


def draw_three(labels: BoolArray, scores: Mapping[str, FloatArray], values: dict[str, dict[str, float]]) -> Any:
    """Scores of the three detectors with the event, its zones and the threshold."""
    named = {f"{name}\nPATE {values[name]['PATE']:.2f}": curve for name, curve in scores.items()}
    return plots.series(
        labels, named, early=MOVED_BUFFER, delay=MOVED_BUFFER, threshold=FLAGGED_ABOVE, limits=(100, 300)
    )
