"""What `explain` found, on a time axis: the category of each step and its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import runs
from pateval.output.explanation import CATEGORIES
from pateval.plots.canvas import WIDTH, one_axes
from pateval.plots.series_panels import mark_left_out
from pateval.plots.styling import (
    ALARM,
    CATEGORY_COLOURS,
    CATEGORY_HATCHES,
    EVENT,
    EVENT_MARK,
    HATCH_COLOUR,
    MARK_HEIGHT,
    QUIET,
    legend_above,
    styled,
)
from pateval.plots.time_axis import COLUMNS, TimeAxis, draw_spans, envelope, time_axis
from pateval.plots.weights import potential_weights
from pateval.validation.arrays import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.output.explanation import Explanation
    from pateval.time.timelines import Timeline

# Which category a column shows where several share it: what speaks against the detector comes first.
_SHOWN_FIRST = ("outside", "totally missed", "true detection", "partly missed", "early", "delayed")

_WEIGHT_COLOURS = {
    "TP weight": CATEGORY_COLOURS["true detection"],
    "FP weight": ALARM,
    "FN weight": CATEGORY_COLOURS["partly missed"],
}


@styled
def categories(
    explanation: Explanation,
    *,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    limits: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the category of every step as a band, and the weights as lines.

    Lines are solid where a weight is active and dotted where it is potential: what a detection, or a miss, at that
    step would weigh with all other predictions as they are. In the early zone of an event that is not detected a
    detection weighs nothing.

    Parameters
    ----------
    explanation : Explanation
        What `pateval.explain` returned.
    times, time_unit
        Times of all recorded steps for the axis, and their unit where they are numbers; by default steps are counted.
    limits : tuple of int, optional
        Draw only the recorded steps ``limits[0] <= t < limits[1]``.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pateval as pv
    >>> found = pv.explain([0, 0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0, 0], early=2, delay=2)
    >>> ax = pv.plots.categories(found)
    >>> ax.get_ylabel()
    'weight'
    """
    timeline = explanation.explained_steps
    axis = time_axis(timeline.size, times=times, time_unit=time_unit, limits=limits, timeline=timeline)
    ax = one_axes(ax, (WIDTH, 3.0))
    axis.apply(ax)
    shade_known_events(ax, axis, explanation)
    _draw_weights(ax, axis, explanation)
    draw_band(ax, axis, explanation, low=0.02, high=0.11)
    ax.set_ylim(-0.2, 1.05)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0])
    ax.set_ylabel("weight")
    handles = {handle.get_label(): handle for handle in ax.get_legend_handles_labels()[0]}
    bands = [handles[name] for name in CATEGORY_COLOURS if name in handles]
    legend_above(ax, [handle for name, handle in handles.items() if name not in CATEGORY_COLOURS], bands)
    return ax


def shade_known_events(ax: Axes, axis: TimeAxis, explanation: Explanation, *, marked: bool = False) -> None:
    """Shade the events of an explanation and what does not count, and mark events above the curves where asked for."""
    spans = axis.spans(*explanation.explained_steps.recorded_runs(*explanation.event_places()))
    draw_spans(ax, *spans, facecolors=EVENT, alpha=0.55, label="event")
    mark_left_out(ax, axis)
    if marked:
        draw_spans(ax, *spans, low=1 - MARK_HEIGHT, high=1.0, facecolors=EVENT_MARK, zorder=4)


def draw_band(ax: Axes, axis: TimeAxis, explanation: Explanation, *, low: float, high: float) -> None:
    """Draw the categories of the steps as a band between two shares of the axes' height.

    Where a column of the picture holds several categories, the gravest is shown, as in the timeline of an explanation.
    """
    # A step that is left out is quiet here: no category is drawn there.
    shown = axis.cut(explanation.explained_steps.on_all_steps(explanation.points.codes))
    begins = np.arange(shown.size)
    if shown.size > COLUMNS:
        begins = np.unique(np.linspace(0, shown.size, COLUMNS, endpoint=False).astype(np.intp))
    ends = np.append(begins[1:], shown.size)
    taken = np.zeros(begins.size, dtype=np.bool_)
    for name in _SHOWN_FIRST:
        present = np.logical_or.reduceat(shown == CATEGORIES.index(name), begins) & ~taken
        taken |= present
        starts, stops = runs(present)
        if starts.size:
            spans = axis.spans(begins[starts] + axis.first, ends[stops - 1] + axis.first)
            looks: dict[str, Any] = {"facecolors": CATEGORY_COLOURS[name], "edgecolors": "none", "label": name}
            if name in CATEGORY_HATCHES:
                looks |= {"hatch": CATEGORY_HATCHES[name], "edgecolors": HATCH_COLOUR}
            draw_spans(ax, *spans, low=low, high=high, zorder=2.5, **looks)


def _draw_weights(ax: Axes, axis: TimeAxis, explanation: Explanation) -> None:
    """Three curves, each solid where active and dotted where potential."""
    potential = potential_weights(explanation)
    inside = ~np.isnan(potential.false_negative)
    owned = explanation.points.event >= 0
    curves = [
        ("TP weight", potential.true_positive, potential.detected & owned, owned, 2.8),
        ("FP weight", 1 - potential.true_positive, potential.detected & ~inside, owned & ~inside, 1.4),
        ("FN weight", potential.false_negative, potential.missed, inside, 2.0),
    ]
    # Weights of a long series are close together: thinner lines hide less of each other.
    thin = 1.0 if axis.positions.size <= COLUMNS else 0.4
    for name, weights, active, shown, width in curves:
        colour = _WEIGHT_COLOURS[name]
        dotted, solid = (_over_all(explanation.explained_steps, weights, where) for where in (shown, active))
        ax.plot(*_steps(axis, dotted), color=colour, linestyle=(0, (1, 1.4)), linewidth=1.2 * thin, zorder=3)
        ax.plot(*_steps(axis, solid), color=colour, linewidth=width * thin, label=name, zorder=4)
    ax.plot([], [], color=QUIET, linestyle=(0, (1, 1.4)), linewidth=1.2, label="potential")


def _over_all(
    timeline: Timeline, weights: npt.NDArray[np.float64], where: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Weights at their places among all recorded steps, NaN where there are none."""
    return np.where(timeline.on_all_steps(where), timeline.on_all_steps(weights), np.nan)


def _steps(axis: TimeAxis, weights: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """The curve of some weights: each step as wide as it lasts, so that a step alone is a dash and not lost."""
    shown = axis.cut(weights)
    if shown.size > COLUMNS:
        return axis.broken(*_kept_visible(axis, shown))
    positions = np.stack([axis.lefts, axis.rights], axis=-1).ravel()
    holes = 2 * axis.holes
    return np.insert(positions, holes, positions[holes]), np.insert(np.repeat(shown, 2), holes, np.nan)


def _kept_visible(axis: TimeAxis, shown: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Thin a long curve with gaps, and widen runs of a few steps so that they do not vanish."""
    positions, heights = envelope(axis.positions, shown)
    starts, stops = runs(~np.isnan(heights))
    alone: IntArray = starts[stops - starts == 1]
    half = (axis.limits[1] - axis.limits[0]) / COLUMNS / 2
    positions = np.concatenate([positions, positions[alone] + half])
    heights = np.concatenate([heights, heights[alone]])
    order = np.argsort(positions, kind="stable")
    return positions[order], heights[order]
