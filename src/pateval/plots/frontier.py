"""What thresholds find and cost: recall against false alarms, coloured by the time to detect."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.plots.styling import ALARM, COLOUR_MAP, QUIET, figure, figure_of, one_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@figure
def frontier(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the frontier of a detector: recall against the rate of false alarms, with the budgets marked.

    Parameters
    ----------
    found : AlarmFrontier
        What `pateval.alarm_frontier` returned. Each threshold is a point, coloured by the median time to detect.

    Examples
    --------
    >>> import pateval as pv
    >>> found = pv.alarm_frontier([0, 0, 1, 1, 0, 0, 1], [1, 5, 2, 8, 1, 6, 4], budgets="1/7")
    >>> ax = pv.plots.frontier(found)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('false alarms per 1,000 steps', 'incidents found')
    """
    rows = [row for row in found.rows if row.incidents and not math.isnan(row.false_rate)]
    if not rows:
        raise ValueError("there is nothing to draw: no threshold finds an incident without flagging every step")
    ax = one_axes(ax, (5.2, 3.6))
    clock = found.clock
    scale = 1000 if clock.nanoseconds is None else 1
    rates = np.array([row.false_rate * scale for row in rows])
    recalls = np.array([row.recall for row in rows])
    times = np.array([row.median_time_to_detect for row in rows])
    ax.step(rates, recalls, where="post", color=QUIET, linewidth=1, zorder=1)
    points = ax.scatter(rates, recalls, c=times, cmap=COLOUR_MAP, s=26, zorder=3, edgecolors="white", clip_on=False)
    for row, rate in zip(rows, rates.tolist(), strict=True):
        if row.budgets:
            ax.scatter([rate], [row.recall], s=110, facecolors="none", edgecolors=ALARM, linewidths=1.6, zorder=4)
            is_left = rate < rates.max() / 2
            place: dict[str, Any] = {"xytext": (7 if is_left else -7, -13), "ha": "left" if is_left else "right"}
            text = f"{', '.join(row.budgets)}: {row.threshold:.4g}"
            ax.annotate(text, (rate, row.recall), textcoords="offset points", fontsize=8, color=ALARM, **place)
    colours = figure_of(ax).colorbar(points, ax=ax, label="median time to detect")
    colours.ax.yaxis.set_major_formatter(lambda time, _: clock.lead(time))
    ax.set(ylim=(0, 1.04), xlabel=f"false alarms per {clock.rate_words}", ylabel="incidents found")
    ax.set_xlim(left=0)
    return ax
