"""Two detectors on the same series: step by step, and event by event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pateval.plots.canvas import several_axes
from pateval.plots.category_band import draw_band, shade_known_events
from pateval.plots.series_panels import draw_scores
from pateval.plots.styling import CATEGORY_COLOURS, PALE, legend_above, line_style, name_panel, styled
from pateval.plots.time_axis import time_axis
from pateval.validation.arrays import number_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.output.explanation import EventWeights, Explanation

_MAX_EVENTS_NUMBERED = 25


@styled
def comparison(
    explanations: Mapping[str, Explanation],
    *,
    scores: Mapping[str, npt.ArrayLike] | None = None,
    threshold: Mapping[str, float] | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    limits: tuple[int, int] | None = None,
    ax: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw what two detectors make of the same events.

    Parameters
    ----------
    explanations : mapping of str to Explanation
        What `pateval.explain` returned for each of the two, on the same labels.
    scores : mapping of str to array-like, optional
        Their scores at all recorded steps; each gets a panel.
    threshold : mapping of str to float, optional
        Their thresholds, drawn with the scores.
    times, time_unit, limits
        As in `categories`.
    ax : sequence of Axes, optional
        Where to draw: as many as there are panels.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        From above: the scores of each where given, the categories of both as bands, and the recall of each event.

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 1, 1, 1, 0, 0, 0, 1, 0]
    >>> one = pv.explain(labels, [0, 1, 1, 0, 0, 0, 0, 0, 0, 0], early=1, delay=1)
    >>> other = pv.explain(labels, [0, 0, 0, 0, 1, 1, 0, 0, 1, 0], early=1, delay=1)
    >>> axes = pv.plots.comparison({"one": one, "other": other})
    >>> [ax.get_xlabel() for ax in axes]
    ['time step', 'event']
    """
    if len(explanations) != 2:
        raise ValueError(f"two detectors are compared; got {len(explanations)}: {', '.join(explanations)}")
    first, second = explanations.values()
    timeline = first.explained_steps
    size, other_size = timeline.size, second.explained_steps.size
    if other_size != size:
        raise ValueError(f"the two explanations must be of the same series; they have {size} and {other_size} steps")
    if not np.array_equal(first.points.step, second.points.step):
        raise ValueError("the two explanations must leave out the same steps; pass the same ignore to both")
    if not np.array_equal(first.event_places(), second.event_places()):
        raise ValueError("the two explanations must be of the same labels; their events differ")
    axis = time_axis(size, times=times, time_unit=time_unit, limits=limits, timeline=timeline)
    curves = (
        {} if scores is None else {name: number_array(scores[name], f"scores of {name!r}") for name in explanations}
    )
    for name, curve in curves.items():
        if curve.size != size:
            raise ValueError(f"scores of {name!r} must have one value per step, {size}; got {curve.size}")
    heights = [1.15] * len(curves) + [1.3, 2.1]
    axes = several_axes(ax, heights, share_x=False)
    for panel, (name, curve) in zip(axes, curves.items(), strict=False):
        axis.apply(panel, named=False)
        panel.tick_params(labelbottom=False)
        shade_known_events(panel, axis, first, marked=True)
        at = None if threshold is None else threshold.get(name)
        draw_scores(panel, axis, curve, threshold=at)
        name_panel(panel, name, max(map(len, curves)))
    bands, recalls = axes[-2:]
    axis.apply(bands)
    shade_known_events(bands, axis, first)
    draw_band(bands, axis, first, low=0.56, high=0.92)
    draw_band(bands, axis, second, low=0.08, high=0.44)
    bands.set_ylim(0, 1)
    bands.set_yticks([0.74, 0.26], list(explanations))
    bands.tick_params(axis="y", length=0)
    bands.grid(visible=False)
    named = {handle.get_label(): handle for handle in bands.get_legend_handles_labels()[0]}
    legend_above(bands, [named[name] for name in ("event", *CATEGORY_COLOURS) if name in named])
    if curves:
        legend_above(axes[0])
    _draw_recalls(recalls, explanations)
    axes[0].figure.align_ylabels(list(axes[: len(curves)]))
    return axes


def _recall(event: EventWeights) -> float:
    total = event.true_positive + event.false_negative
    return event.true_positive / total if total else 0.0


def _draw_recalls(ax: Axes, explanations: Mapping[str, Explanation]) -> None:
    """A line from one detector's recall to the other's for each event."""
    series = next(iter(explanations.values())).explained_steps.starts.size
    over = f" ({series} series pooled)" if series > 1 else ""
    rows = [[_recall(event) for event in explanation.events] for explanation in explanations.values()]
    places = np.arange(1, len(rows[0]) + 1)
    ax.vlines(places, np.min(rows, axis=0), np.max(rows, axis=0), color=PALE, linewidth=2.5, zorder=1)
    for place, ((name, explanation), recalls) in enumerate(zip(explanations.items(), rows, strict=True)):
        looks = line_style(place)
        rates = f"precision {explanation.precision:.3f}, recall {explanation.recall:.3f}, F1 {explanation.f1:.3f}"
        # The second is hollow, so that both are seen where they are equal.
        edges = {"markeredgecolor": looks.colour, "markeredgewidth": 1.3, "zorder": 3 + place}
        dots = looks.points(6) | edges if place == 0 else looks.points(5) | edges | {"markerfacecolor": "white"}
        ax.plot(places, recalls, label=f"{name}: {rates}{over}", **dots)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlim(0.4, places.size + 0.6)
    if places.size <= _MAX_EVENTS_NUMBERED:
        ax.set_xticks(places)
    ax.set_xlabel("event")
    ax.set_ylabel("recall of the event\n(weighted)")
    legend_above(ax)
