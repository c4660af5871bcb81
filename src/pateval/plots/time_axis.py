"""The time axis: steps or times, spans that stay visible, and long series thinned without losing a spike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval._validation import IntArray
from pateval.plots.styling import width_in_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = npt.NDArray[np.float64]

# A page-wide figure is about 1,300 pixels wide at 200 dots per inch. Two points per column of this many columns draw
# the same picture as all points.
COLUMNS = 2000
# No event is drawn narrower than this share of the axis: two to three pixels of such a figure.
VISIBLE_SHARE = 0.002


@dataclass(frozen=True)
class TimeAxis:
    """Positions of the drawn steps on the horizontal axis.

    Attributes
    ----------
    positions : ndarray of float
        Where each drawn step lies.
    first, stop : int
        The steps ``first <= t < stop`` are drawn.
    half_step : float
        Half the usual distance of two steps; spans reach this far beyond the steps they cover.
    label : str
        Name of the axis, with its unit.
    dates : bool
        Whether positions are dates in matplotlib's count of days.
    """

    positions: Array
    first: int
    stop: int
    half_step: float
    label: str
    dates: bool

    @property
    def limits(self) -> tuple[float, float]:
        """Left and right end of the axis."""
        return float(self.positions[0]) - self.half_step, float(self.positions[-1]) + self.half_step

    def cut(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The drawn part of an array over all steps."""
        return values[self.first : self.stop]

    def spans(self, starts: IntArray, stops: IntArray) -> tuple[Array, Array]:
        """Left and right ends of the half-open runs of steps that are in sight."""
        starts = np.clip(starts - self.first, 0, self.positions.size)
        stops = np.clip(stops - self.first, 0, self.positions.size)
        seen = stops > starts
        starts, stops = starts[seen], stops[seen]
        return self.positions[starts] - self.half_step, self.positions[stops - 1] + self.half_step

    def apply(self, ax: Axes, *, named: bool = True) -> None:
        """Set limits, ticks and the name of the horizontal axis."""
        ax.set_xlim(*self.limits)
        if self.dates:
            from matplotlib import dates

            ax.xaxis_date()
            ticks = min(8, max(3, round(1.4 * width_in_inches(ax))))
            locator = dates.AutoDateLocator(minticks=3, maxticks=ticks)  # type: ignore[no-untyped-call]  # no hints
            ax.xaxis.set_major_locator(locator)
            formatter = dates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]  # no hints
            ax.xaxis.set_major_formatter(formatter)
        else:
            from matplotlib.ticker import MaxNLocator

            bins = min(8, max(2, round(1.4 * width_in_inches(ax))))
            ax.xaxis.set_major_locator(MaxNLocator(nbins=bins, integer=self.label == "time step"))
            if abs(self.limits[1]) >= 10_000:
                ax.xaxis.set_major_formatter("{x:,.0f}")
        if named:
            ax.set_xlabel(self.label)


def time_axis(
    size: int, *, times: object = None, time_unit: str | None = None, limits: tuple[int, int] | None = None
) -> TimeAxis:
    """Lay out a horizontal axis for a series.

    Parameters
    ----------
    size : int
        Number of steps of the series.
    times : array-like, optional
        Dates, or numbers, one per step, increasing; by default steps are counted from 0.
    time_unit : str, optional
        Unit of numeric times, for the name of the axis.
    limits : tuple of int, optional
        Draw only the steps ``limits[0] <= t < limits[1]``.

    Returns
    -------
    TimeAxis

    Examples
    --------
    >>> axis = time_axis(100, limits=(10, 20))
    >>> axis.limits, axis.label
    ((9.5, 19.5), 'time step')
    """
    first, stop = (0, size) if limits is None else limits
    if not 0 <= first < stop <= size:
        raise ValueError(f"limits must be two steps with 0 <= first < stop <= {size}; got {limits}")
    if times is None:
        return TimeAxis(np.arange(first, stop, dtype=np.float64), first, stop, 0.5, "time step", False)
    given = np.asarray(times)
    if given.shape != (size,):
        raise ValueError(f"times must hold one time per step, {size}; got an array of shape {given.shape}")
    given = given[first:stop]
    dates = given.dtype.kind in "MO"
    if dates:
        from matplotlib.dates import date2num

        try:
            positions = np.asarray(date2num(given), dtype=np.float64)  # type: ignore[no-untyped-call]  # no hints
        except (TypeError, ValueError, AttributeError) as error:
            raise TypeError(f"times must be dates or numbers: {error}") from error
    elif given.dtype.kind in "iuf":
        positions = given.astype(np.float64)
    else:
        raise TypeError(f"times must be dates or numbers; got {given.dtype}")
    intervals = np.diff(positions)
    if not np.isfinite(positions).all() or (intervals <= 0).any():
        wrong = ~np.isfinite(positions)
        wrong[1:] |= ~(intervals > 0)
        raise ValueError(
            f"times must increase from step to step; step {first + int(np.argmax(wrong))} does not "
            "(several series are drawn one at a time, or without times)"
        )
    half = float(np.median(intervals)) / 2 if intervals.size else 0.5
    label = "time" if dates or not time_unit else f"time ({time_unit})"
    return TimeAxis(positions, first, stop, half, label, dates)


def envelope(positions: Array, values: npt.NDArray[Any], columns: int = COLUMNS) -> tuple[Array, Array]:
    """Thin a long curve to its lowest and highest point in each column of the picture.

    Points keep their own position, so that a single spike among a million steps stays where it is and as high as it is.
    Columns of equal width are used whatever the distances of the positions are; a column without a number is a gap.

    Parameters
    ----------
    positions : ndarray
        Increasing.
    values : ndarray
        One per position; NaN is a gap.
    columns : int
        How many columns at most.

    Returns
    -------
    positions, values : ndarray
        At most two points per column, in order; what was given, where that is not more.

    Examples
    --------
    >>> position, height = envelope(np.arange(1000.0), (np.arange(1000) == 321).astype(float), columns=10)
    >>> height.size, position[height.argmax()].item()
    (20, 321.0)
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
    """Shade stretches of the horizontal axis, each at least as wide as the eye needs.

    Parameters
    ----------
    ax : Axes
        With its horizontal limits set.
    lefts, rights : ndarray
        Ends of the stretches, in order.
    low, high : float
        Heights, as shares of the axes' height.
    **looks
        Properties of the collection: colours, hatch, label.

    Returns
    -------
    matplotlib.collections.PolyCollection
    """
    from matplotlib.collections import PolyCollection

    first, last = ax.get_xlim()
    narrow = VISIBLE_SHARE * abs(last - first)
    widen = np.maximum(narrow - (rights - lefts), 0) / 2
    lefts, rights = _merge(lefts - widen, rights + widen, gap=narrow / 8)
    corners = np.stack(
        [
            np.stack([lefts, np.full_like(lefts, low)], axis=-1),
            np.stack([rights, np.full_like(lefts, low)], axis=-1),
            np.stack([rights, np.full_like(lefts, high)], axis=-1),
            np.stack([lefts, np.full_like(lefts, high)], axis=-1),
        ],
        axis=1,
    )
    looks = {"linewidths": 0, "zorder": 0.5} | looks
    spans = PolyCollection(list(corners), transform=ax.get_xaxis_transform(), **looks)
    ax.add_collection(spans, autolim=False)
    return spans


def _merge(lefts: Array, rights: Array, gap: float) -> tuple[Array, Array]:
    """Join stretches that overlap or lie closer than a gap nobody could see."""
    if lefts.size == 0:
        return lefts, rights
    reach = np.maximum.accumulate(rights)
    opens = np.flatnonzero(np.concatenate([[True], lefts[1:] > reach[:-1] + gap]))
    return lefts[opens], np.maximum.reduceat(rights, opens)
