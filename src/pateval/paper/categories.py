"""The categorisation figure: seven alarms around four events, every category once, with all weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pateval.evaluation import explain
from pateval.output.explanation import Explanation
from pateval.paper.document import DIFFERS, REPRODUCES, ExperimentSettings, Figure, Report, ReportTable, Verdict
from pateval.paper.paper_tables import flagged

STEPS = 420
EARLY = DELAY = 30
EVENTS = {"a1": (30, 60), "a2": (150, 190), "a3": (260, 290), "a4": (370, 400)}
# The sixth alarm is one run through three zones; the paper counts its parts.
ALARMS = {
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
    "p1": "true detection",
    "p2": "delayed",
    "p3": "outside",
    "p4": "early",
    "p5": "true detection",
    "p6-1": "early",
    "p6-2": "true detection",
    "p6-3": "delayed",
    "p7": "outside",
}


@dataclass(frozen=True)
class AlarmRow:
    """One alarm: its category in the paper, ours, and the weights of its steps."""

    alarm: str
    expected: str
    found: str
    true_positive: float
    false_positive: float


@dataclass(frozen=True)
class Categories:
    """The explanation behind the figure, and a row per alarm.

    Attributes
    ----------
    explanation : Explanation
        Of all steps.
    rows : tuple of AlarmRow
        One per alarm.
    missed : dict of str to float
        FN weight of each event.
    """

    explanation: Explanation
    rows: tuple[AlarmRow, ...]
    missed: dict[str, float]


def compute(settings: ExperimentSettings) -> Categories:
    """Explain the seven alarms."""
    del settings
    labels = flagged(*EVENTS.values(), steps=STEPS)
    explanation = explain(labels, flagged(*ALARMS.values(), steps=STEPS), early=EARLY, delay=DELAY)
    points = explanation.points
    rows = []
    for alarm, (start, stop) in ALARMS.items():
        (category,) = set(points.category[start:stop].tolist())
        owner = int(points.event[start])
        if category == "early" and not explanation.events[owner].detected:
            category = "outside"  # what the paper calls an early alarm whose event is missed
        rows.append(
            AlarmRow(
                alarm,
                EXPECTED[alarm],
                category,
                float(np.sum(points.true_positive[start:stop])),
                float(np.sum(points.false_positive[start:stop])),
            )
        )
    missed = {name: float(np.sum(points.false_negative[start:stop])) for name, (start, stop) in EVENTS.items()}
    return Categories(explanation, tuple(rows), missed)


def report(found: Categories) -> Report:
    """The figure, and what each alarm weighs."""
    right = sum(row.found == row.expected for row in found.rows)
    return Report(
        "Categories and weights",
        f"{right} of {len(found.rows)} alarms fall into the category that the paper gives them.",
        (
            (
                f"Four events (a1 to a4) and seven alarms (p1 to p7) as in the paper's figure, buffers of {EARLY} "
                "steps. The paper gives no numbers for their places; these were chosen so that every category occurs. "
                "The alarm p6 runs through an early zone, an event and a delayed zone, and counts as three."
            ),
            (
                "Curves are solid where a weight is active and dotted where it is potential: what a detection, or a "
                "miss, at that step would weigh with all other predictions as they are. In front of a4, which is "
                "missed altogether, an alarm is worth nothing: the potential TP weight is 0 there, and p7 counts as "
                "false. (The band at the bottom shows it by the zone it lies in; its weight is that of an alarm "
                "outside.)"
            ),
        ),
        tables=(
            ReportTable(
                "alarms",
                "What each alarm counts as",
                ["alarm", "steps", "paper", "ours", "TP weight", "FP weight"],
                [
                    [
                        row.alarm,
                        "{}..{}".format(*_inclusive(ALARMS[row.alarm])),
                        row.expected,
                        row.found,
                        row.true_positive,
                        row.false_positive,
                    ]
                    for row in found.rows
                ],
            ),
            ReportTable(
                "events",
                "What is missed of each event",
                ["event", "steps", "FN weight"],
                [[name, "{}..{}".format(*_inclusive(EVENTS[name])), weight] for name, weight in found.missed.items()],
            ),
        ),
        figures=(
            Figure(
                "categories",
                "Categories of all steps and their weights; solid: active, dotted: potential.",
                lambda: draw(found),
            ),
        ),
        verdicts=(
            Verdict(
                "categories of the seven alarms",
                f"{len(found.rows)} parts",
                f"{right} alike",
                REPRODUCES if right == len(found.rows) else DIFFERS,
                "The figure is drawn from what `pateval.explain` computes.",
            ),
        ),
    )


def _inclusive(stretch: tuple[int, int]) -> tuple[int, int]:
    return stretch[0], stretch[1] - 1


def draw(found: Categories) -> Any:
    """Boxes of events and alarms above, weights and categories below."""
    from pateval import plots
    from pateval.plots.styling import CATEGORY_COLOURS, EVENT, EVENT_MARK, INK

    axes = plots.panels(2, size=(7.6, 4.4), heights=(1.0, 3.0), share_x=True)[:, 0]
    boxes, weights = axes
    plots.categories(found.explanation, ax=weights)
    groups = (
        (1.0, EVENTS, EVENT, EVENT_MARK),
        (0.0, ALARMS, CATEGORY_COLOURS["delayed"], CATEGORY_COLOURS["true detection"]),
    )
    for height, stretches, face, edge in groups:
        for name, (start, stop) in stretches.items():
            boxes.broken_barh([(start - 0.5, stop - start)], (height + 0.1, 0.8), facecolor=face, edgecolor=edge)
            boxes.text((start + stop - 1) / 2, height + 0.5, name, ha="center", va="center", fontsize=7, color=INK)
    boxes.set_ylim(0, 2)
    boxes.set_yticks([0.5, 1.5], ["alarms", "events"])
    boxes.tick_params(axis="both", length=0, labelbottom=False)
    boxes.grid(visible=False)
    for side in ("left", "bottom"):
        boxes.spines[side].set_visible(False)
    return axes
