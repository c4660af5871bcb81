"""What `explain` found, drawn: categories and weights in time, weights by the length of events, two detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import runs
from pateval.output.explanation import CATEGORIES, GRAVEST_FIRST, QUIET, Explanation, in_columns
from pateval.output.results import ratio
from pateval.pate._weights import ZoneLimits, miss_weight, zone_weight
from pateval.plots import styling as look
from pateval.plots.series_panels import draw_scores, mark_left_out
from pateval.plots.styling import Axes, figure, styled
from pateval.plots.time_axis import COLUMNS, TimeAxis, draw_spans, envelope, time_axis
from pateval.time.clocks import Clock, Duration, canonical_lengths, is_duration, nanoseconds, readable_unit
from pateval.time.timelines import read_zone_buffers
from pateval.validation.arrays import IntArray, number_array

Array = npt.NDArray[np.float64]

_DETECTED = ("true detection", "early", "delayed", "outside")
_WEIGHT_COLOURS = {
    "TP weight": look.CATEGORY_COLOURS["true detection"],
    "FP weight": look.ALARM,
    "FN weight": look.CATEGORY_COLOURS["partly missed"],
}
_SHARES = (0.25, 0.5, 0.75)  # of the delay: the distances drawn by default, besides the first step
_MAX_EVENTS_NUMBERED = 25


@dataclass(frozen=True)
class PotentialWeights:
    """What each step could weigh, whether or not it is detected.

    Attributes
    ----------
    detected : ndarray of bool
        The steps that are predicted: here the weights of a detection are active.
    missed : ndarray of bool
        The steps inside events that are not predicted: here the weights of a miss are active.
    true_positive : ndarray
        Weight of a detection at each step, all other predictions as they are: 1 inside events, falling off in the
        delayed zone, rising in the early zone of an event that is detected, 0 elsewhere. The rest up to 1 counts as
        false.
    false_negative : ndarray
        Weight of a miss at each step inside an event, given the first detected run of the event; NaN outside.
    """

    detected: npt.NDArray[np.bool_]
    missed: npt.NDArray[np.bool_]
    true_positive: Array
    false_negative: Array


def potential_weights(explanation: Explanation) -> PotentialWeights:
    """Weights of a detection and of a miss at every step of an explained series.

    Parameters
    ----------
    explanation : Explanation
        What `pateval.explain` returned.

    Returns
    -------
    PotentialWeights

    Examples
    --------
    >>> import pateval as pv
    >>> explanation = pv.explain([0, 0, 0, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0], early=2, delay=2)
    >>> potential_weights(explanation).true_positive.round(2).tolist()
    [0.0, 0.0, 0.33, 1.0, 1.0, 1.0, 0.33, 0.0, 0.0]
    """
    points = explanation.points
    detected = np.isin(points.category, _DETECTED)
    false_negative = np.full(len(points), np.nan)
    for start, stop in zip(*(values.tolist() for values in explanation.event_places()), strict=True):
        false_negative[start:stop] = _miss_weights(detected[start:stop])
    inside_events = ~np.isnan(false_negative)
    return PotentialWeights(detected, inside_events & ~detected, points.worth, false_negative)


def _miss_weights(detected: npt.NDArray[np.bool_]) -> Array:
    """Weight of a miss at each step of one event, from which of its steps are detected."""
    if not detected.any():
        return np.ones(detected.size)
    first = int(np.argmax(detected))
    gaps = np.flatnonzero(~detected[first:])
    run = int(gaps[0]) if gaps.size else detected.size - first
    return miss_weight(np.arange(detected.size), detected.size, run)


@figure
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
    ax = look.one_axes(ax, (look.WIDTH, 3.0))
    axis.apply(ax)
    shade_known_events(ax, axis, explanation)
    _draw_weights(ax, axis, explanation)
    draw_band(ax, axis, explanation, low=0.02, high=0.11)
    ax.set(ylim=(-0.2, 1.05), yticks=[0, 0.25, 0.5, 0.75, 1.0], ylabel="weight")
    handles = {handle.get_label(): handle for handle in ax.get_legend_handles_labels()[0]}
    bands = [handles[name] for name in look.CATEGORY_COLOURS if name in handles]
    look.legend_above(ax, [handle for name, handle in handles.items() if name not in look.CATEGORY_COLOURS], bands)
    return ax


def shade_known_events(ax: Axes, axis: TimeAxis, explanation: Explanation, *, marked: bool = False) -> None:
    """Shade the events of an explanation and what does not count, and mark events above the curves where asked for."""
    spans = axis.spans(*explanation.explained_steps.recorded_runs(*explanation.event_places()))
    draw_spans(ax, *spans, facecolors=look.EVENT, alpha=0.55, label="event")
    mark_left_out(ax, axis)
    if marked:
        draw_spans(ax, *spans, low=1 - look.MARK_HEIGHT, high=1.0, facecolors=look.EVENT_MARK, zorder=4)


def draw_band(ax: Axes, axis: TimeAxis, explanation: Explanation, *, low: float, high: float) -> None:
    """Draw the categories of the steps as a band between two shares of the axes' height.

    Where a column of the picture holds several categories, the gravest is shown, as in the timeline of an explanation.
    """
    # A step that is left out is quiet here: no category is drawn there.
    shown = axis.cut(explanation.explained_steps.on_all_steps(explanation.points.codes))
    begins, gravest = in_columns(shown, COLUMNS)
    ends = np.append(begins[1:], shown.size)
    for code in GRAVEST_FIRST:
        name, (starts, stops) = CATEGORIES[code], runs(gravest == code)
        if starts.size and code != QUIET:
            spans = axis.spans(begins[starts] + axis.first, ends[stops - 1] + axis.first)
            looks: dict[str, Any] = {"facecolors": look.CATEGORY_COLOURS[name], "edgecolors": "none", "label": name}
            if name in look.CATEGORY_HATCHES:
                looks |= {"hatch": look.CATEGORY_HATCHES[name], "edgecolors": look.HATCH_COLOUR}
            draw_spans(ax, *spans, low=low, high=high, zorder=2.5, **looks)


def _draw_weights(ax: Axes, axis: TimeAxis, explanation: Explanation) -> None:
    """Three curves, each solid where active and dotted where potential."""
    potential, on_all_steps = potential_weights(explanation), explanation.explained_steps.on_all_steps
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
        dotted, solid = (np.where(on_all_steps(where), on_all_steps(weights), np.nan) for where in (shown, active))
        ax.plot(*_steps(axis, dotted), color=colour, linestyle=(0, (1, 1.4)), linewidth=1.2 * thin, zorder=3)
        ax.plot(*_steps(axis, solid), color=colour, linewidth=width * thin, label=name, zorder=4)
    ax.plot([], [], color=look.QUIET, linestyle=(0, (1, 1.4)), linewidth=1.2, label="potential")


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


@figure
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
    clock = clock if in_time else None
    interval = 1.0 if clock is None else clock.median_interval(timeline.starts) or 1.0
    lengths = 2 * limits.half_length + interval
    unit, size = "steps", 1.0
    if clock is not None:
        tick = clock.nanoseconds or 1
        unit, nanoseconds_of_unit = readable_unit(min(delay, float(np.median(lengths))) * tick)
        size = nanoseconds_of_unit / tick
    after = _distances(distances, delay, interval, clock)
    ax = look.one_axes(ax, (5.2, 3.4))
    longest = max(float(lengths.max()), 10 * interval) * 1.3
    grid = np.unique(np.geomspace(interval, longest, 200))
    for place, distance in enumerate(after):
        looks = look.line_style(place)
        away = np.full(len(events), distance)
        whole = [zone_weight(each, np.full(grid.size, distance), (grid - interval) / 2) for each in delays]
        cut = [zone_weight(limits.delayed_reach(each), away, limits.half_length) for each in delays]
        text = f"{distance / size:,.4g} {'step' if unit == 'steps' and distance == 1 else unit} after"
        ax.plot(grid / size, np.mean(whole, axis=0), label=text, **looks.line())
        ax.plot(lengths / size, np.mean(cut, axis=0), zorder=4, **looks.points())
    ax.set(xscale="log", xlim=(grid[0] / size / 1.08, grid[-1] / size), xlabel=f"event length ({unit})")
    ax.set(ylim=(0, 1.02), ylabel=f"TP weight of a detection (delay {', '.join(map(str, given))})")
    ax.xaxis.set_major_formatter("{x:,g}")
    look.legend_above(ax)
    return ax


def _distances(
    given: Sequence[int | Duration] | None, delay: float, interval: float, clock: Clock | None
) -> list[float]:
    """Distances after an event in units of the clock; in steps without one."""
    if given is None:
        parts = [delay * share for share in _SHARES]
        chosen = {interval, *(parts if clock is not None else map(round, parts))}
        return sorted(distance for distance in chosen if 0 < distance <= delay)
    lengths: list[Any] = list(given)
    if clock is not None:
        lengths = [clock.length(nanoseconds(distance, "distances")) for distance in lengths]
    least = 1 if clock is None else 0
    if any(not least <= distance <= delay for distance in lengths):
        raise ValueError(f"distances must lie between {least} and the delay, {delay:g}; got {list(given)}")
    return lengths


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
    named = [] if scores is None else list(explanations)
    curves = {name: number_array((scores or {})[name], f"scores of {name!r}") for name in named}
    for name, curve in curves.items():
        if curve.size != size:
            raise ValueError(f"scores of {name!r} must have one value per step, {size}; got {curve.size}")
    heights = [1.15] * len(curves) + [1.3, 2.1]
    axes = look.several_axes(ax, heights, share_x=False)
    for panel, (name, curve) in zip(axes, curves.items(), strict=False):
        axis.apply(panel, named=False)
        panel.tick_params(labelbottom=False)
        shade_known_events(panel, axis, first, marked=True)
        draw_scores(panel, axis, curve, threshold=look.threshold_of(threshold, name))
        look.name_panel(panel, name, max(map(len, curves)))
    bands, recalls = axes[-2:]
    axis.apply(bands)
    shade_known_events(bands, axis, first)
    draw_band(bands, axis, first, low=0.56, high=0.92)
    draw_band(bands, axis, second, low=0.08, high=0.44)
    bands.set_ylim(0, 1)
    bands.set_yticks([0.74, 0.26], list(explanations))
    bands.tick_params(axis="y", length=0)
    bands.grid(visible=False)
    handles = {handle.get_label(): handle for handle in bands.get_legend_handles_labels()[0]}
    look.legend_above(bands, [handles[name] for name in ("event", *look.CATEGORY_COLOURS) if name in handles])
    if curves:
        look.legend_above(axes[0])
    _draw_recalls(recalls, explanations)
    axes[0].figure.align_ylabels(list(axes[: len(curves)]))
    return axes


def _draw_recalls(ax: Axes, explanations: Mapping[str, Explanation]) -> None:
    """A line from one detector's recall to the other's for each event."""
    series = next(iter(explanations.values())).explained_steps.starts.size
    over = f" ({series} series pooled)" if series > 1 else ""
    rows = [
        [ratio(event.true_positive, event.true_positive + event.false_negative) for event in explanation.events]
        for explanation in explanations.values()
    ]
    places = np.arange(1, len(rows[0]) + 1)
    ax.vlines(places, np.min(rows, axis=0), np.max(rows, axis=0), color=look.PALE, linewidth=2.5, zorder=1)
    for place, ((name, explanation), recalls) in enumerate(zip(explanations.items(), rows, strict=True)):
        looks = look.line_style(place)
        rates = f"precision {explanation.precision:.3f}, recall {explanation.recall:.3f}, F1 {explanation.f1:.3f}"
        # The second is hollow, so that both are seen where they are equal.
        edges = {"markeredgecolor": looks.colour, "markeredgewidth": 1.3, "zorder": 3 + place}
        dots = looks.points(6) | edges if place == 0 else looks.points(5) | edges | {"markerfacecolor": "white"}
        ax.plot(places, recalls, label=f"{name}: {rates}{over}", **dots)
    ax.set(xlim=(0.4, places.size + 0.6), ylim=(-0.03, 1.03), xlabel="event", ylabel="recall of the event\n(weighted)")
    if places.size <= _MAX_EVENTS_NUMBERED:
        ax.set_xticks(places)
    look.legend_above(ax)
