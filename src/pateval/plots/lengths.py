"""Weights of detections beside an event against the event's length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.pate._zones import ZoneLimits, zone_weight
from pateval.plots.canvas import one_axes
from pateval.plots.styling import legend_above, line_style, styled
from pateval.time.clocks import Clock, Duration, canonical_lengths, is_duration, nanoseconds, readable_unit
from pateval.time.timelines import read_zone_buffers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.output.explanation import Explanation

_SHARES = (0.25, 0.5, 0.75)  # of the delay: the distances drawn by default, besides the first step


@styled
def weights_by_length(
    explanation: Explanation, *, distances: Sequence[int | Duration] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what a delayed detection is worth against the length of the event it follows.

    Lines are the definition with a whole delayed zone: a detection ``j`` steps after an event of length L weighs
    (delay − j) / (delay + (L − 1) / 2); with several delays the mean over them. Points are the events of the
    explanation; one that lies below its line has a zone cut short by the next event or the end of the series.

    Where the delay is a duration, so are distances and lengths: an event lasts from its first step to one median
    interval after its last one, and that interval takes the place of 1.

    Parameters
    ----------
    explanation : Explanation
        What `pateval.explain` returned, with a positive delay.
    distances : sequence of int or of durations, optional
        Steps, or time, after the event, at most the longest delay; by default the first step, a quarter, a half and
        three quarters of it.
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
    >>> times = np.datetime64("2026-03-01T00:00") + 10 * np.arange(18).astype("timedelta64[m]")
    >>> ax = pv.plots.weights_by_length(pv.explain(labels, labels, early=0, delay="40min", times=times))
    >>> ax.get_xlabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('event length (min)', ['10 min after', '20 min after', '30 min after'])
    """
    timeline = explanation.explained_steps
    given = canonical_lengths(explanation.delay, "delay")
    _, delays, clock = read_zone_buffers(timeline, explanation.early, explanation.delay)
    delay, in_time = max(delays), any(map(is_duration, given))
    if not delay:
        raise ValueError("weights against event length need a delayed zone: explain with a positive delay")
    events = timeline.events(explanation.is_inside())
    limits = ZoneLimits(events, clock)
    # One unit of the clock on the axis, and how far apart steps lie: steps are counted where the delay is.
    unit, size, interval = "steps", 1.0, 1.0
    if clock is not None and in_time:
        interval = clock.median_interval(timeline.starts) or 1.0
        unit, size = _unit(clock, min(delay, float(np.median(2 * limits.half_length + interval))))
    after = _distances(distances, delay, interval, clock if in_time else None)
    lengths = 2 * limits.half_length + interval
    ax = one_axes(ax, (5.2, 3.4))
    longest = max(float(lengths.max()), 10 * interval) * 1.3
    grid = np.unique(np.geomspace(interval, longest, 200))
    for place, distance in enumerate(after):
        looks = line_style(place)
        away = np.full(len(events), distance)
        whole = [zone_weight(each, np.full(grid.size, distance), (grid - interval) / 2) for each in delays]
        cut = [zone_weight(limits.delayed_reach(each), away, limits.half_length) for each in delays]
        text = f"{distance / size:,.4g} {'step' if unit == 'steps' and distance == 1 else unit} after"
        ax.plot(grid / size, np.mean(whole, axis=0), label=text, **looks.line())
        ax.plot(lengths / size, np.mean(cut, axis=0), zorder=4, **looks.points())
    ax.set_xscale("log")
    ax.set_xlim(grid[0] / size / 1.08, grid[-1] / size)
    ax.set_ylim(0, 1.02)
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.set_xlabel(f"event length ({unit})")
    ax.set_ylabel(f"TP weight of a detection (delay {', '.join(map(str, given))})")
    legend_above(ax)
    return ax


def _unit(clock: Clock, length: float) -> tuple[str, float]:
    """Name of a unit in which a length of the clock is at least 1, and how many units of the clock it is."""
    one = clock.nanoseconds or 1
    unit, size = readable_unit(length * one)
    return unit, size / one


def _distances(
    given: Sequence[int | Duration] | None, delay: float, interval: float, clock: Clock | None
) -> list[float]:
    """Distances after an event in units of the clock; in steps without one."""
    if given is None:
        parts = [delay * share for share in _SHARES]
        chosen = {interval, *(parts if clock is not None else map(round, parts))}
        return sorted(distance for distance in chosen if 0 < distance <= delay)
    found: list[Any] = list(given)
    if clock is not None:
        found = [clock.length(nanoseconds(distance, "distances")) for distance in found]
    least = 1 if clock is None else 0
    if any(not least <= distance <= delay for distance in found):
        raise ValueError(f"distances must lie between {least} and the delay, {delay:g}; got {list(given)}")
    return found
