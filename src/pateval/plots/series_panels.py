"""A series in time: its values, the scores of detectors, the events, and the zones around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import Events, runs
from pateval.pate._weights import ZoneLimits
from pateval.plots import styling as look
from pateval.plots.styling import Axes, figure
from pateval.plots.time_axis import TimeAxis, draw_spans, envelope, time_axis
from pateval.time.clocks import Clock, Duration, canonical_lengths, is_duration, length_order
from pateval.time.timelines import Recording, read_recording, read_zone_buffers
from pateval.validation.arrays import Buffers, IntArray, number_array

Scores = npt.ArrayLike | Mapping[str, npt.ArrayLike]

# More zones than this are too narrow for a pattern to be seen, and drawing it takes half of the time.
_MAX_ZONES_HATCHED = 60


@figure
def series(
    labels: npt.ArrayLike,
    scores: Scores | None = None,
    *,
    values: npt.ArrayLike | None = None,
    early: Buffers = 0,
    delay: Buffers = 0,
    threshold: look.Thresholds | None = None,
    series: npt.ArrayLike | None = None,
    times: npt.ArrayLike | None = None,
    time_unit: str | None = None,
    max_gap: Duration | None = None,
    ignore: npt.ArrayLike | None = None,
    limits: tuple[int, int] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw a series with its events, the zones around them, and the scores of one or several detectors.

    Long series are thinned to the lowest and highest point per column of the picture, so no spike is lost; events are
    drawn wide enough to be seen, however short.

    Parameters
    ----------
    scores : array-like, or mapping of str to array-like, optional
        Scores of a detector, or of several by name; a panel each. NaN is a gap.
    values : array-like, optional
        The series itself, in the uppermost panel.
    early, delay : int or duration, or sequence of them
        Buffers in steps or on ``times``; where they are positive their zones are shaded: the steps that `pate` weighs.
        Of several the longest is drawn.
    threshold : float, or mapping of str to float, optional
        The threshold in use, for all detectors or by name.
    series : array-like, optional
        Which series each step belongs to; boundaries are drawn as lines.
    times : array-like, optional
        Dates or increasing numbers, one per step, for the horizontal axis and for durations. Several series whose times
        overlap are drawn one after the other, step by step.
    time_unit : str, optional
        Unit of numeric times.
    max_gap : duration, optional
        Holes in time longer than this part events and zones; curves are interrupted there.
    ignore : array-like of 0/1, optional
        Steps that are left out, as `pate` takes them; they are shaded, and scores are not drawn there.
    limits : tuple of int, optional
        Draw only the steps ``limits[0] <= t < limits[1]``.
    ax : Axes, or sequence of Axes, optional
        Where to draw: as many as there are panels.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One per panel, from above: the values if given, then each detector.

    Examples
    --------
    >>> from pateval import plots
    >>> axes = plots.series([0, 0, 1, 1, 0, 0], [0.1, 0.2, 0.9, 0.4, 0.3, 0.1], early=1, delay=1, threshold=0.5)
    >>> axes[0].get_xlabel(), axes[0].get_ylabel()
    ('time step', 'anomaly score')
    >>> times = np.datetime64("2026-03-01T00:00") + np.array([0, 1, 2, 3, 8, 9]).astype("timedelta64[h]")
    >>> clock = {"times": times, "early": "1h", "delay": "6h", "max_gap": "4h"}
    >>> axes = plots.series([0, 0, 1, 1, 0, 0], [0.1, 0.2, 0.9, 0.4, 0.3, 0.1], **clock)
    >>> axes[0].get_legend_handles_labels()[1]
    ['event', 'early zone', 'delayed zone', 'hole']
    """
    lengths = _longest(early, "early"), _longest(delay, "delay")
    on_clock = max_gap is not None or any(map(is_duration, lengths))
    clock: dict[str, Any] = {"times": times, "time_unit": time_unit, "max_gap": max_gap} if on_clock else {}
    recording = read_recording(labels, series=series, ignore=ignore, **clock)
    timeline, starts = recording.timeline, recording.starts
    size = timeline.size
    curves = _curves(scores, values, size)
    axis = time_axis(size, times=times, time_unit=time_unit, limits=limits, timeline=timeline)
    axes = look.several_axes(ax, [1.9 if len(curves) < 3 else 1.3] * len(curves) if len(curves) > 1 else [2.6])
    several = isinstance(scores, Mapping) and len(scores) > 1
    for place, (panel, (name, curve)) in enumerate(zip(axes, curves.items(), strict=True)):
        axis.apply(panel, named=place == len(axes) - 1)
        shade_events(panel, axis, recording, *lengths)
        mark_boundaries(panel, axis, starts)
        if name == VALUES:
            draw_curve(panel, axis, curve, colour=look.INK)
        else:
            draw_scores(panel, axis, curve, threshold=look.threshold_of(threshold, name))
        if name != VALUES and several:
            look.name_panel(panel, name, max(map(len, curves)))
        else:
            panel.set_ylabel("value" if name == VALUES else "anomaly score")
    look.legend_above(axes[0], _named(axes))
    if len(axes) > 1:
        axes[0].figure.align_ylabels(list(axes))
    return axes


@figure
def segments(
    labels: npt.ArrayLike,
    scores: Mapping[str, npt.ArrayLike],
    *,
    limits: Sequence[tuple[int, int]],
    early: Buffers = 0,
    delay: Buffers = 0,
    threshold: look.Thresholds | None = None,
    series: npt.ArrayLike | None = None,
    ax: npt.ArrayLike | None = None,
) -> Any:
    """Draw stretches of a series side by side, the scores of a detector in each row.

    Parameters
    ----------
    scores : mapping of str to array-like
        Scores by detector, one row each.
    limits : sequence of tuple of int
        The stretches ``first <= t < stop``, one column each.
    early, delay, threshold, series
        As in `series`.
    ax : array of Axes, optional
        Where to draw: rows by columns.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        Detectors by stretches.

    Examples
    --------
    >>> from pateval import plots
    >>> axes = plots.segments([0, 1, 0, 0, 1, 0], {"a": [0, 1, 0, 0, 1, 0]}, limits=[(0, 3), (3, 6)])
    >>> axes.shape
    (1, 2)
    """
    lengths = _longest(early, "early"), _longest(delay, "delay")
    recording = read_recording(labels, series=series)
    steps = recording.timeline.size
    curves = _curves(scores, None, steps)
    if not limits:
        raise ValueError("limits must name at least one stretch of steps")
    shape = len(curves), len(limits)
    if ax is None:
        size = (max(look.WIDTH, 2.2 * shape[1]), 1.15 * shape[0] + 0.5)
        axes = look.panels(*shape, size=size, share_x="col", share_y="row")
    else:
        axes = np.asarray(ax, dtype=object).reshape(shape)
    for column, stretch in enumerate(limits):
        axis = time_axis(steps, limits=stretch)
        for row, (name, curve) in enumerate(curves.items()):
            panel: Axes = axes[row, column]
            axis.apply(panel, named=row == len(curves) - 1)
            shade_events(panel, axis, recording, *lengths)
            mark_boundaries(panel, axis, recording.starts)
            draw_scores(panel, axis, curve, threshold=look.threshold_of(threshold, name), autoscale=column == 0)
            if column == 0:
                look.name_panel(panel, name, max(map(len, curves)))
    for row, (name, curve) in enumerate(curves.items()):
        drawn = np.concatenate([curve[first:stop] for first, stop in limits])
        axes[row, 0].set_ylim(*_height(drawn, look.threshold_of(threshold, name)))
    if ax is None:
        axes[0, 0].figure.legend(handles=_named(axes[:, 0]), loc="outside upper left", ncols=5)
    else:
        look.legend_above(axes[0, 0])
    axes[0, 0].figure.align_ylabels(list(axes[:, 0]))
    return axes


VALUES = "\0values"  # the panel of the series itself; no detector has this name


def _curves(scores: Scores | None, values: npt.ArrayLike | None, size: int) -> dict[str, npt.NDArray[np.floating[Any]]]:
    given: dict[str, Any] = {} if values is None else {VALUES: values}
    if isinstance(scores, Mapping):
        given |= scores
    elif scores is not None:
        given["scores"] = scores
    if not given:
        raise ValueError("there is nothing to draw: give scores, or values, or both")
    curves = {}
    for name, curve in given.items():
        shown = "values" if name == VALUES else f"scores of {name!r}"
        array = number_array(curve, shown)
        if array.size != size:
            raise ValueError(f"labels and {shown} must have the same length; got {size} and {array.size}")
        curves[name] = array
    return curves


def _longest(buffers: Buffers, name: str) -> int | str:
    lengths: Sequence[Any] = canonical_lengths(buffers, name)
    return max(lengths, key=length_order)


def zone_ends(events: Events, early: float, delay: float, clock: Clock | None) -> tuple[IntArray, IntArray]:
    """Where the early zone of each event begins and its delayed zone ends, cut by neighbours and ends of series."""
    limits = ZoneLimits(events, clock)
    ahead = limits.steps_within(limits.early_reach(early, delay), forward=False)
    return events.starts - ahead, events.stops + limits.steps_within(limits.delayed_reach(delay), forward=True)


def shade_events(
    ax: Axes, axis: TimeAxis, recording: Recording, early: int | Duration = 0, delay: int | Duration = 0
) -> None:
    """Shade events, where there are buffers the zones around them, and what does not count."""
    timeline = recording.timeline
    (early_length,), (delay_length,), clock = read_zone_buffers(timeline, early, delay)
    events = timeline.events(recording.counted(recording.labels))
    early_starts, delayed_stops = zone_ends(events, early_length, delay_length, clock)
    spans = axis.spans(*timeline.recorded_runs(events.starts, events.stops))
    draw_spans(ax, *spans, facecolors=look.EVENT, label="event", zorder=0.5)
    # Scores that fill the panel would hide the shading: events are marked again above all curves.
    draw_spans(ax, *spans, low=1 - look.MARK_HEIGHT, high=1.0, facecolors=look.EVENT_MARK, zorder=4)
    if early_length:
        spans = axis.spans(*timeline.recorded_runs(early_starts, events.starts))
        draw_spans(ax, *spans, facecolors=look.EARLY_ZONE, label="early zone", zorder=0.4)
    if delay_length:
        spans = axis.spans(*timeline.recorded_runs(events.stops, delayed_stops))
        looks: dict[str, Any] = {"facecolors": look.DELAYED_ZONE, "edgecolors": look.DELAYED_HATCH}
        if spans[0].size <= _MAX_ZONES_HATCHED:
            looks["hatch"] = "...."
        draw_spans(ax, *spans, label="delayed zone", zorder=0.4, **looks)
    mark_left_out(ax, axis)


def mark_left_out(ax: Axes, axis: TimeAxis) -> None:
    """Shade the steps that do not count, and the holes that part events."""
    lefts, rights = axis.spans_left_out()
    if lefts.size:
        draw_spans(ax, lefts, rights, facecolors=look.LEFT_OUT, label="left out", zorder=0.3)
    lefts, rights = axis.spans_of_holes()
    if (rights > lefts).any():
        crossed: dict[str, Any] = {"facecolors": "white", "edgecolors": look.LEFT_OUT, "hatch": "xxxx"}
        draw_spans(ax, lefts, rights, label="hole", zorder=0.3, **crossed)
    elif lefts.size:  # where steps are counted a hole has no width
        looks: dict[str, Any] = {"colors": look.INK, "linewidths": 0.9, "linestyles": "solid", "label": "hole"}
        ax.vlines(lefts, 0, 1, transform=ax.get_xaxis_transform(), zorder=0.6, **looks)


def mark_boundaries(ax: Axes, axis: TimeAxis, starts: npt.NDArray[np.intp]) -> None:
    """Draw a thin line where another series begins."""
    inner = starts[(starts > axis.first) & (starts < axis.stop)]
    if inner.size:
        looks: dict[str, Any] = {"colors": look.QUIET, "linewidths": 0.5, "linestyles": (0, (1, 2))}
        places = axis.lefts[inner - axis.first]
        ax.vlines(places, 0, 1, transform=ax.get_xaxis_transform(), label="next series", **looks)


def draw_scores(
    ax: Axes, axis: TimeAxis, scores: npt.NDArray[Any], *, threshold: float | None = None, autoscale: bool = True
) -> None:
    """Draw the scores of a detector where steps count, and mark where it has none."""
    shown = scores
    if axis.left_out is not None:
        shown = np.array(scores, dtype=np.float64)
        axis.cut(shown)[axis.left_out] = np.nan
    draw_curve(ax, axis, shown, colour=look.line_style(0).colour, threshold=threshold, autoscale=autoscale)
    absent = np.isnan(scores) if scores.dtype.kind == "f" else np.zeros(scores.size, dtype=np.bool_)
    lefts, rights = axis.spans(*runs(absent))
    if lefts.size:
        draw_spans(ax, lefts, rights, low=0.0, high=look.MARK_HEIGHT, facecolors=look.QUIET, label="no score", zorder=4)


def draw_curve(
    ax: Axes,
    axis: TimeAxis,
    values: npt.NDArray[Any],
    *,
    colour: str,
    threshold: float | None = None,
    autoscale: bool = True,
) -> None:
    """Draw a curve over time, thinned where it is long, and the threshold in use."""
    shown = axis.cut(values)
    positions, heights = axis.broken(*envelope(axis.positions, shown))
    ax.plot(positions, heights, color=colour, linewidth=0.9, solid_joinstyle="round", zorder=2)
    starts, stops = runs(~np.isnan(heights))
    alone = starts[stops - starts == 1]  # a line of one point is not seen
    if alone.size:
        ax.plot(positions[alone], heights[alone], linestyle="none", marker=".", markersize=2, color=colour, zorder=2)
    if threshold is not None:
        ax.axhline(threshold, color=look.ALARM, linewidth=1.0, linestyle=(0, (5, 2)), zorder=3, label="threshold")
    if autoscale:
        ax.set_ylim(*_height(shown, threshold))
        if np.abs(ax.get_ylim()).max() >= 10_000:
            ax.yaxis.set_major_formatter("{x:,.0f}")


def _height(values: npt.NDArray[Any], threshold: float | None) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if threshold is not None and np.isfinite(threshold):
        low, high = min(low, threshold), max(high, threshold)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin + look.MARK_HEIGHT * (high - low)


def _named(axes: Iterable[Axes]) -> list[Any]:
    """One artist for each name that any of the axes shows."""
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    return list(handles.values())
