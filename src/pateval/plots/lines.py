"""Line charts: values against a size, a length or a distance, and what is found against its false alarms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.plots import styling as look
from pateval.plots.styling import Axes, figure
from pateval.time.clocks import Duration, is_duration, nanoseconds, readable_unit

_MAX_MARKERS = 12


@figure
def line_chart(
    x: npt.ArrayLike,
    curves: Mapping[str, npt.ArrayLike],
    *,
    x_label: str,
    y_label: str,
    reference: str | None = None,
    log: Sequence[str] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw several named curves over the same values of x.

    Curves differ in colour, lightness, dashes and markers.

    Parameters
    ----------
    x : array-like
        Increasing.
    curves : mapping of str to array-like
        One value per x; NaN is a gap.
    x_label, y_label : str
        Names of the axes, with their units.
    reference : str, optional
        The curve that the others should lie above, such as a random detector: it is drawn grey, and all that lies below
        it is shaded.
    log : sequence of {"x", "y"}
        Axes with a logarithmic scale.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.line_chart([0, 10], {"a": [0.5, 0.6], "random": [0.1, 0.2]}, x_label="steps", y_label="PATE")
    >>> [line.get_label() for line in ax.get_lines()]
    ['a', 'random']
    """
    positions = np.asarray(x, dtype=np.float64)
    values = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
    if not values:
        raise ValueError("there is nothing to draw: give at least one curve")
    for name, curve in values.items():
        if curve.shape != positions.shape or curve.ndim != 1:
            raise ValueError(f"curve {name!r} must hold one value per x, {positions.size}; got the shape {curve.shape}")
    if reference is not None and reference not in values:
        raise ValueError(f"reference {reference!r} is none of the curves {', '.join(map(repr, values))}")
    if not set(log) <= {"x", "y"}:
        raise ValueError(f"log must name the axes 'x' and 'y' only; got {tuple(log)}")
    ax = look.one_axes(ax, (5.2, 3.4))
    every = max(1, -(-positions.size // _MAX_MARKERS))
    place = 0
    for name, curve in values.items():
        if name == reference:
            ax.plot(positions, curve, color=look.QUIET, linestyle=(0, (1, 1)), linewidth=1.6, label=name, zorder=2)
            continue
        ax.plot(positions, curve, markevery=every, label=name, zorder=3, **look.line_style(place).line(marked=True))
        place += 1
    for axis in log:
        ax.set(**{f"{axis}scale": "log"})
        if axis == "x":
            ax.grid(visible=True, axis="x")
    if reference is not None:
        low = ax.get_ylim()[0]
        looks: dict[str, Any] = {"color": look.PALE, "linewidth": 0, "zorder": 0.5, "label": f"below {reference}"}
        ax.fill_between(positions, low, values[reference], **looks)
        ax.set_ylim(bottom=low)
    if not log:
        ax.margins(x=0.02)
    ax.set(xlabel=x_label, ylabel=y_label)
    look.legend_above(ax)
    return ax


@figure
def buffer_sizes(
    sizes: Sequence[int | Duration],
    values: Mapping[str, npt.ArrayLike],
    *,
    random: str | None = None,
    y_label: str = "PATE",
    ax: Axes | None = None,
) -> Axes:
    """Draw PATE against the buffer size, early and delay alike.

    Parameters
    ----------
    sizes : sequence of int or of durations
        Buffer lengths in steps or in time, increasing.
    values : mapping of str to array-like
        PATE of each detector at each size; `pate_by_sizes` computes them.
    random : str, optional
        Which of them is a random detector; what lies below it is shaded.
    y_label
        As in `line_chart`.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.buffer_sizes([0, 50, 100], {"lstm": [0.3, 0.4, 0.45], "random": [0.1, 0.15, 0.2]}, random="random")
    >>> ax.get_xlabel()
    'buffer size, early = delay (steps)'
    >>> ax = plots.buffer_sizes(["0s", "30min", "2h"], {"lstm": [0.3, 0.4, 0.45]})
    >>> ax.get_xlabel(), ax.get_lines()[0].get_xdata().tolist()
    ('buffer size, early = delay (min)', [0.0, 30.0, 120.0])
    """
    positions: list[Any] = [float(nanoseconds(size, "sizes")) if is_duration(size) else size for size in sizes]
    unit = "steps"
    if any(is_duration(size) for size in sizes):
        unit, length = readable_unit(min((size for size in positions if size), default=0.0))
        positions = [size / length for size in positions]
    label = f"buffer size, early = delay ({unit})"
    return line_chart(positions, values, x_label=label, y_label=y_label, reference=random, ax=ax)


@figure
def shifts(
    steps: Sequence[int], values: Mapping[str, npt.ArrayLike], *, y_label: str = "PATE", ax: Axes | None = None
) -> Axes:
    """Draw values of a detection that is moved in time, from too early to too late.

    Parameters
    ----------
    steps : sequence of int
        By how many steps the detection is moved: negative is early.
    values : mapping of str to array-like
        The value at each shift, by metric or setting.
    y_label
        As in `line_chart`.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.shifts([-10, 0, 10], {"pate": [0.5, 1.0, 0.6]})
    >>> ax.get_xlabel()
    'detection moved by (steps; negative is early)'
    """
    ax = line_chart(steps, values, x_label="detection moved by (steps; negative is early)", y_label=y_label, ax=ax)
    ax.axvline(0, color=look.QUIET, linewidth=0.8, zorder=1)
    return ax


def fitted_slope(sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> float:
    """Slope of a straight line through the logarithms, by least squares: 1 is time that grows with the size.

    Examples
    --------
    >>> round(fitted_slope([10, 100, 1000], [0.01, 1.0, 100.0]), 6)
    2.0
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    usable = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    if np.unique(x[usable]).size < 2:
        return float("nan")
    return float(np.polyfit(np.log(x[usable]), np.log(y[usable]), 1)[0])


@figure
def timings(
    sizes: Sequence[int],
    seconds: Mapping[str, npt.ArrayLike],
    *,
    x_label: str = "series length (steps)",
    y_label: str = "time (s)",
    ax: Axes | None = None,
) -> Axes:
    """Draw times against sizes on logarithmic axes, with the fitted slope of each curve in the legend.

    Parameters
    ----------
    sizes : sequence of int
        Sizes, increasing.
    seconds : mapping of str to array-like
        The time at each size; NaN where it was not measured.
    x_label, y_label
        As in `line_chart`.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.timings([1000, 10000], {"pate": [0.001, 0.01]})
    >>> ax.get_xscale(), ax.get_lines()[0].get_label()
    ('log', 'pate (slope 1.00)')
    """
    named = {}
    for name, curve in seconds.items():
        slope = fitted_slope(sizes, curve)
        named[name if np.isnan(slope) else f"{name} (slope {slope:.2f})"] = curve
    return line_chart(sizes, named, x_label=x_label, y_label=y_label, log=("x", "y"), ax=ax)


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
    ax = look.one_axes(ax, (5.2, 3.6))
    clock = found.clock
    scale = 1000 if clock.nanoseconds is None else 1
    rates = np.array([row.false_rate * scale for row in rows])
    recalls = np.array([row.recall for row in rows])
    times = np.array([row.median_time_to_detect for row in rows])
    ax.step(rates, recalls, where="post", color=look.QUIET, linewidth=1, zorder=1)
    points = ax.scatter(
        rates, recalls, c=times, cmap=look.COLOUR_MAP, s=26, zorder=3, edgecolors="white", clip_on=False
    )
    for row, rate in zip(rows, rates.tolist(), strict=True):
        if row.budgets:
            ax.scatter([rate], [row.recall], s=110, facecolors="none", edgecolors=look.ALARM, linewidths=1.6, zorder=4)
            is_left = rate < rates.max() / 2
            place: dict[str, Any] = {"xytext": (7 if is_left else -7, -13), "ha": "left" if is_left else "right"}
            text = f"{', '.join(row.budgets)}: {row.threshold:.4g}"
            ax.annotate(text, (rate, row.recall), textcoords="offset points", fontsize=8, color=look.ALARM, **place)
    colours = look.figure_of(ax).colorbar(points, ax=ax, label="median time to detect")
    colours.ax.yaxis.set_major_formatter(lambda time, _: clock.lead(time))
    ax.set(ylim=(0, 1.04), xlabel=f"false alarms per {clock.rate_words}", ylabel="incidents found")
    ax.set_xlim(left=0)
    return ax
