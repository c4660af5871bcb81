"""The appendix figure on event length: what a detection beside an event weighs when the event is longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.evaluation import explain
from pateval.output.explanation import Explanation
from pateval.paper.document import DIFFERS, REPRODUCES, ExperimentSettings, Figure, Report, ReportTable, Verdict
from pateval.paper.paper_tables import flagged

BUFFER = 50
# The longest first, as the paper names them; it prints no lengths.
LENGTHS = {"a1": 100, "a2": 50, "a3": 10}
DISTANCES = (1, 10, 25, 40)


@dataclass(frozen=True)
class LengthWeights:
    """Weights around one event of each length.

    Attributes
    ----------
    after, before : dict of str to ndarray
        TP weight of a detection 1, 2, ... steps after or before the event, by event.
    together : Explanation
        The three events in one series, each with whole zones.
    """

    after: dict[str, npt.NDArray[np.float64]]
    before: dict[str, npt.NDArray[np.float64]]
    together: Explanation


def compute(settings: ExperimentSettings) -> LengthWeights:
    """Flag everything around each event and read the weights off."""
    del settings
    after, before, stretches, place = {}, {}, [], BUFFER
    for name, length in LENGTHS.items():
        steps = length + 2 * BUFFER
        event = (BUFFER, BUFFER + length)
        weights = explain(
            flagged(event, steps=steps), np.ones(steps, dtype=np.bool_), early=BUFFER, delay=BUFFER
        ).points.true_positive
        after[name] = weights[event[1] :]
        before[name] = weights[: event[0]][::-1]
        stretches.append((place, place + length))
        place += length + 2 * BUFFER
    labels = flagged(*stretches, steps=place)
    return LengthWeights(after, before, explain(labels, labels, early=BUFFER, delay=BUFFER))


def report(found: LengthWeights) -> Report:
    """The figure and the weights at a few distances."""
    ordered = all(
        found.after["a3"][step] > found.after["a2"][step] > found.after["a1"][step] for step in range(BUFFER - 1)
    )
    return Report(
        "Event length and the weights beside it",
        "The shorter the event, the more a detection beside it weighs, at every distance but the zone's last step.",
        (
            (
                f"Three events, {', '.join(f'{name} of {length} steps' for name, length in LENGTHS.items())}, each "
                f"with whole zones of {BUFFER} steps. Seen from outside, the mean distance to the steps of an event is "
                "the distance to its centre, so that the weight j steps after an event of length L is (d − j) / (d + "
                "(L − 1) / 2): it falls in a straight line, and it starts lower where the centre is farther away. The "
                "zone before the event is the mirror image, as long as the event itself is detected."
            ),
        ),
        tables=(
            ReportTable(
                "weights",
                "TP weight of a detection after the event",
                ["steps after", *(f"{name} (length {length})" for name, length in LENGTHS.items())],
                [[step, *(float(found.after[name][step - 1]) for name in LENGTHS)] for step in DISTANCES],
                decimals=3,
            ),
        ),
        figures=(
            Figure(
                "timeline",
                "TP weights before, within and after three events: solid inside, dotted where potential.",
                lambda: draw_timeline(found),
            ),
            Figure("distance", "The same zones laid over each other.", lambda: draw_distance(found)),
        ),
        verdicts=(
            Verdict(
                "order of the weights after a1, a2, a3",
                "shortest highest",
                "shortest highest" if ordered else "not in this order",
                REPRODUCES if ordered else DIFFERS,
                "Follows from the definition; the paper prints no lengths, ours are chosen.",
            ),
        ),
    )


def draw_timeline(found: LengthWeights) -> Any:
    """The weights of the three events in one series."""
    from pateval import plots

    ax = plots.categories(found.together)
    for name, event in zip(LENGTHS, found.together.events, strict=True):
        ax.text((event.start + event.stop - 1) / 2, 0.5, name, ha="center", va="center", fontsize=9)
    return ax


def draw_distance(found: LengthWeights) -> Any:
    """Weights against the distance to the event, for three lengths."""
    from pateval import plots

    steps = np.arange(-BUFFER, BUFFER + 1)
    curves = {}
    for name, length in LENGTHS.items():
        values = np.concatenate([found.before[name][::-1], [1.0], found.after[name]])
        curves[f"{name}, {length} steps"] = values
    ax = plots.line_chart(
        steps, curves, x_label="steps from the event (negative is before it; 0 is the event)", y_label="TP weight"
    )
    ax.axvline(0, color="#6E6E6E", linewidth=0.8, zorder=1)
    return ax
