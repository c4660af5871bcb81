"""Weights of detections beside an event against the event's length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pateval.plots.canvas import one_axes
from pateval.plots.styling import legend_above, line_style, styled
from pateval.plots.weights import potential_weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.explanations import Explanation


@styled
def weights_by_length(
    explanation: Explanation, *, distances: Sequence[int] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what a delayed detection is worth against the length of the event it follows.

    Lines are the definition with a whole delayed zone: a detection ``j`` steps after an event of length L weighs
    (delay − j) / (delay + (L − 1) / 2). Points are the events of the explanation; one that lies below its line has a
    zone cut short by the next event or the end of the series.

    Parameters
    ----------
    explanation : Explanation
        What `pateval.explain` returned, with a positive delay.
    distances : sequence of int, optional
        Steps after the event, at most the delay; by default the first step, a quarter, a half and three quarters of
        the delay.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    >>> ax = pv.plots.weights_by_length(pv.explain(labels, labels, early=4, delay=4))
    >>> ax.get_xlabel(), len(ax.get_lines())
    ('event length (steps)', 6)
    """
    delay = explanation.delay
    if not isinstance(delay, int) or delay < 1:
        raise ValueError("weights against event length need a delayed zone: explain with a positive number of steps")
    if distances is None:
        distances = sorted({1, *(round(delay * share) for share in (0.25, 0.5, 0.75))} - {0})
    if any(not 1 <= distance <= delay for distance in distances):
        raise ValueError(f"distances must lie between 1 and the delay, {delay}; got {list(distances)}")
    worth = potential_weights(explanation).true_positive
    owner = explanation.points.event
    starts, stops = explanation.event_places()
    lengths = stops - starts
    ax = one_axes(ax, (5.2, 3.4))
    grid = np.unique(np.geomspace(1, max(int(lengths.max()), 10) * 1.3, 200))
    for place, distance in enumerate(distances):
        looks = line_style(place)
        ax.plot(
            grid,
            (delay - distance) / (delay + (grid - 1) / 2),
            color=looks.colour,
            linestyle=looks.dashes,
            label=f"{distance} step{'s' if distance > 1 else ''} after",
        )
        steps = stops + distance - 1
        reached = steps < owner.size
        reached[reached] &= owner[steps[reached]] == np.flatnonzero(reached)
        ax.plot(
            lengths,
            np.where(reached, worth[np.minimum(steps, owner.size - 1)], 0.0),
            linestyle="none",
            marker=looks.marker,
            markersize=4,
            color=looks.colour,
            markeredgecolor="white",
            markeredgewidth=0.5,
            clip_on=False,
            zorder=4,
        )
    ax.set_xscale("log")
    ax.set_xlim(grid[0] / 1.08, grid[-1])
    ax.set_ylim(0, 1.02)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("event length (steps)")
    ax.set_ylabel(f"TP weight of a detection (delay {delay})")
    legend_above(ax)
    return ax
