"""What thresholds find and cost: recall against false alarms, coloured by the time to detect."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pateval.plots.canvas import figure_of, one_axes
from pateval.plots.styling import ALARM, QUIET, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_COLOURS = "cividis"  # early is dark: it can be told in grey, too


class Frontier(Protocol):
    """What is drawn: `pateval.AlarmFrontier`, which stands above the figures."""

    @property
    def rows(self) -> Sequence[Any]:
        """Thresholds."""

    @property
    def clock(self) -> Any:
        """What a unit of time is."""


@styled
def frontier(found: Frontier, *, ax: Axes | None = None) -> Axes:
    """Draw the frontier of a detector: recall against the rate of false alarms, with the budgets marked.

    Parameters
    ----------
    found : AlarmFrontier
        What `pateval.alarm_frontier` returned. Each threshold is a point, coloured by the median time to detect.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

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
    points = ax.scatter(rates, recalls, c=times, cmap=_COLOURS, s=26, zorder=3, edgecolors="white", clip_on=False)
    for row, rate in zip(rows, rates.tolist(), strict=True):
        if row.budgets:
            ax.scatter([rate], [row.recall], s=110, facecolors="none", edgecolors=ALARM, linewidths=1.6, zorder=4)
            ax.annotate(
                f"{', '.join(row.budgets)}: {row.threshold:.4g}",
                (rate, row.recall),
                xytext=(7 if rate < rates.max() / 2 else -7, -13),
                textcoords="offset points",
                ha="left" if rate < rates.max() / 2 else "right",
                fontsize=8,
                color=ALARM,
            )
    colours = figure_of(ax).colorbar(points, ax=ax)
    colours.set_label("median time to detect")
    colours.ax.yaxis.set_major_formatter(lambda time, _: clock.lead(time))
    ax.set_ylim(0, 1.04)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"false alarms per {clock.rate_words}")
    ax.set_ylabel("incidents found")
    return ax
