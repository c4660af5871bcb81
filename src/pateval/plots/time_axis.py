"""The time axis: steps or times, spans that stay visible, and long series thinned without losing a spike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pateval.labels.events import runs
from pateval.plots.styling import Axes, width_in_inches
from pateval.time.clocks import Clock, read_clock
from pateval.time.timelines import Timeline
from pateval.validation.arrays import BoolArray, IntArray

Array = npt.NDArray[np.float64]

# A page-wide figure is about 1,300 pixels wide at 200 dots per inch. Two points per column of this many columns draw
# the same picture as all points.
COLUMNS = 2000
# No event is drawn narrower than this share of the axis: two to three pixels of such a figure.
VISIBLE_SHARE = 0.002


@dataclass(frozen=True)
class TimeAxis:
    """Positions of the drawn steps on the horizontal axis."""

    positions: Array  # where each drawn step lies
    lefts: Array  # how far it is shaded: half the usual distance of two steps, never beyond the middle between two
    rights: Array
    first: int  # the steps from here
    stop: int  # to here are drawn
    label: str  # name of the axis, with its unit
    dates: bool  # whether positions are dates in matplotlib's count of days
    holes: IntArray  # drawn steps, counted from the first, before which there is a hole: nothing is drawn across it
    left_out: BoolArray | None = None  # drawn steps that do not count; no span covers them

    @property
    def limits(self) -> tuple[float, float]:
        """Left and right end of the axis."""
        return float(self.lefts[0]), float(self.rights[-1])

    def cut(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The drawn part of an array over all steps."""
        return values[self.first : self.stop]

    def spans(self, starts: IntArray, stops: IntArray) -> tuple[Array, Array]:
        """Left and right ends of the half-open runs of steps that are in sight, cut at holes and left-out steps."""
        size = self.positions.size
        starts, stops = np.clip(starts - self.first, 0, size), np.clip(stops - self.first, 0, size)
        starts, stops = starts[stops > starts], stops[stops > starts]
        cuts = self.holes
        if self.left_out is not None:
            cuts = np.union1d(cuts, np.flatnonzero(self.left_out[1:] != self.left_out[:-1]) + 1)
        cuts = cuts[cuts > starts.min(initial=size)]
        owner = np.searchsorted(starts, cuts, side="left") - 1
        cuts = cuts[cuts < stops[owner]]
        starts, stops = np.union1d(starts, cuts), np.union1d(stops, cuts)
        if self.left_out is not None:
            counts = ~self.left_out[starts]
            starts, stops = starts[counts], stops[counts]
        return self.lefts[starts], self.rights[stops - 1]

    def spans_left_out(self) -> tuple[Array, Array]:
        """Left and right ends of the runs of steps that do not count."""
        starts, stops = runs(np.zeros(0, dtype=np.bool_) if self.left_out is None else self.left_out)
        return self.lefts[starts], self.rights[stops - 1]

    def spans_of_holes(self) -> tuple[Array, Array]:
        """Left and right ends of the holes; those that left-out steps fill are none."""
        holes = self.holes
        if self.left_out is not None:
            holes = holes[~self.left_out[holes - 1]]
        return self.rights[holes - 1], self.lefts[holes]

    def broken(self, positions: Array, heights: Array) -> tuple[Array, Array]:
        """Interrupt a curve at the holes."""
        places = np.unique(np.searchsorted(positions, self.lefts[self.holes]))
        places = places[(places > 0) & (places < positions.size)]
        return np.insert(positions, places, positions[places]), np.insert(heights, places, np.nan)

    def apply(self, ax: Axes, *, named: bool = True) -> None:
        """Set limits, ticks and the name of the horizontal axis."""
        ax.set_xlim(*self.limits)
        if self.dates:
            from matplotlib import dates

            ax.xaxis_date()
            ticks = min(8, max(3, round(1.4 * width_in_inches(ax))))
            locator = dates.AutoDateLocator(minticks=3, maxticks=ticks)  # type: ignore[no-untyped-call]  # no hints
            ax.xaxis.set_major_locator(locator)
            ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # no hints
        else:
            from matplotlib.ticker import MaxNLocator

            bins = min(8, max(2, round(1.4 * width_in_inches(ax))))
            ax.xaxis.set_major_locator(MaxNLocator(nbins=bins, integer=self.label == "time step"))
            if abs(self.limits[1]) >= 10_000:
                ax.xaxis.set_major_formatter("{x:,.0f}")
        if named:
            ax.set_xlabel(self.label)


def time_axis(
    size: int,
    *,
    times: object = None,
    time_unit: str | None = None,
    limits: tuple[int, int] | None = None,
    timeline: Timeline | None = None,
) -> TimeAxis:
    """Lay out a horizontal axis for a series: its times, or steps counted from 0.

    Times of several series that do not follow each other are no axis, nor are those that floats cannot tell apart:
    steps are counted. The timeline knows where each series begins, which of the steps count, and where holes are.
    """
    first, stop = (0, size) if limits is None else limits
    if not 0 <= first < stop <= size:
        raise ValueError(f"limits must be two steps with 0 <= first < stop <= {size}; got {limits}")
    positions = np.arange(first, stop, dtype=np.float64)
    label, dates = "time step", False
    if times is not None:
        starts = np.zeros(1, dtype=np.intp)
        if timeline is not None:
            starts = timeline.starts if timeline.recorded_starts is None else timeline.recorded_starts
        on_clock, unit = _positions(read_clock(times, size, starts, time_unit), time_unit)
        # Series may overlap in time, and floats cannot tell the nearest times apart: then steps are counted.
        if (np.diff(on_clock[first:stop]) > 0).all():
            positions, dates = on_clock[first:stop], unit is None
            label = f"time ({unit})" if unit else "time"
    # Cells of counted steps are known; a median of a million distances takes longer than the drawing.
    lefts, rights = (positions - 0.5, positions + 0.5) if label == "time step" else _cells(positions)
    holes, left_out = np.empty(0, dtype=np.intp), None
    if timeline is not None:
        inner = np.setdiff1d(timeline.stretches, timeline.starts)
        holes = timeline.original(inner) - first
        holes = holes[(holes > 0) & (holes < positions.size)]
        if timeline.step_numbers is not None:
            left_out = np.ones(size, dtype=np.bool_)
            left_out[timeline.step_numbers] = False
            left_out = left_out[first:stop]
    return TimeAxis(positions, lefts, rights, first, stop, label, dates, holes, left_out)


def _positions(clock: Clock, time_unit: str | None) -> tuple[Array, str | None]:
    """Times as numbers, and their unit: None for dates, which are matplotlib's count of days; empty if not known."""
    if clock.nanoseconds is None or time_unit is not None:
        return clock.as_given().times.astype(np.float64), time_unit or ""
    from matplotlib.dates import date2num

    dates = clock.times.view("datetime64[ns]")
    return np.asarray(date2num(dates), dtype=np.float64), None  # type: ignore[no-untyped-call]  # no hints


def _cells(positions: Array) -> tuple[Array, Array]:
    """How far each step is shaded to both sides."""
    halves = np.diff(positions) / 2
    usual = float(np.median(halves)) if halves.size else 0.5
    halves = np.minimum(halves, usual)
    return positions - np.append(usual, halves), positions + np.append(halves, usual)


def envelope(positions: Array, values: npt.NDArray[Any], columns: int = COLUMNS) -> tuple[Array, Array]:
    """Thin a long curve to its lowest and highest point in each column of the picture.

    Points keep their own position, so that a single spike among a million steps stays where it is and as high as it is.
    Columns of equal width are used whatever the distances of the positions are; a column without a number is a gap.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size <= 2 * columns:
        return positions, values
    low, high = positions[0], positions[-1]
    edges = low + (high - low) * np.arange(columns) / columns
    begins = np.unique(np.searchsorted(positions, edges))
    column_of = np.repeat(np.arange(begins.size), np.diff(begins, append=values.size))
    chosen = []
    for reduce in (np.fmin, np.fmax):
        extremes = reduce.reduceat(values, begins)
        places = np.flatnonzero((values == extremes[column_of]) | np.isnan(extremes)[column_of])
        _, firsts = np.unique(column_of[places], return_index=True)
        chosen.append(places[firsts])
    # A column that is flat or empty gives the same step twice, which draws nothing more.
    shown = np.sort(np.concatenate(chosen))
    return positions[shown], values[shown]


def draw_spans(ax: Axes, lefts: Array, rights: Array, *, low: float = 0.0, high: float = 1.0, **looks: Any) -> Any:
    """Shade stretches of axes whose limits are set, each at least as wide as the eye needs; heights are shares."""
    from matplotlib.collections import PolyCollection

    first, last = ax.get_xlim()
    narrow = VISIBLE_SHARE * abs(last - first)
    widen = np.maximum(narrow - (rights - lefts), 0) / 2
    lefts, rights = lefts - widen, rights + widen
    if lefts.size:  # stretches that overlap, or lie closer than a gap nobody could see, are one
        is_apart = lefts[1:] > np.maximum.accumulate(rights)[:-1] + narrow / 8
        opens = np.flatnonzero(np.concatenate([[True], is_apart]))
        lefts, rights = lefts[opens], np.maximum.reduceat(rights, opens)
    bottoms, tops = np.full_like(lefts, low), np.full_like(lefts, high)
    corners = np.stack([[lefts, rights, rights, lefts], [bottoms, bottoms, tops, tops]]).T
    looks = {"linewidths": 0, "zorder": 0.5} | looks
    spans = PolyCollection(list(corners), transform=ax.get_xaxis_transform(), **looks)
    ax.add_collection(spans, autolim=False)
    return spans
