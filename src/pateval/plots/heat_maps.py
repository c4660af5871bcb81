"""Heat maps: PATE over both buffers, and mean ranks of detectors under metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pateval.plots.styling import COLOUR_MAP, INK, Axes, figure, one_axes

if TYPE_CHECKING:
    from pateval.leaderboards.result import Leaderboard

_MAX_CELLS_WITH_NUMBERS = 1500
_MAX_TICKS = 12


@figure
def heat_map(
    values: npt.ArrayLike,
    *,
    rows: Sequence[object],
    columns: Sequence[object],
    row_label: str = "",
    column_label: str = "",
    value_label: str = "",
    value_format: str | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix as coloured cells, with the numbers in them where they fit.

    Parameters
    ----------
    values : array-like
        Rows by columns; NaN is an empty cell.
    rows, columns : sequence
        Names or numbers of rows (from above) and columns.
    row_label, column_label, value_label : str
        Names of the two axes and of the colours.
    value_format : str, optional
        How a number is written into its cell; by default with as many decimals as tell the cells apart.
    limits : tuple of float, optional
        Values of the first and the last colour; by default the lowest and the highest.

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.heat_map([[0.1, 0.9]], rows=["a"], columns=["x", "y"], value_label="PATE")
    >>> [text.get_text() for text in ax.texts]
    ['0.10', '0.90']
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(f"values must be {len(rows)} rows by {len(columns)} columns; got the shape {matrix.shape}")
    numbers = matrix.size <= _MAX_CELLS_WITH_NUMBERS and len(columns) <= 30
    if ax is None:
        longest = max(len(str(name)) for name in rows)
        width = 1.6 + 0.062 * longest + (0.36 * len(columns) if numbers else 3.6)
        height = 1.0 + (0.22 * len(rows) if numbers else 3.4)
        ax = one_axes(None, (max(width, 3.4), max(height, 2.2)))
    low, high = limits if limits is not None else (np.nanmin(matrix), np.nanmax(matrix))
    mesh = draw_cells(ax, np.ma.masked_invalid(matrix), outlined=numbers, cmap=COLOUR_MAP, vmin=low, vmax=high)
    _name_cells(ax, rows, columns, every=numbers)
    ax.set(xlabel=column_label, ylabel=row_label)
    if numbers:
        decimals = 2 if high - low >= 0.1 or high == low else 3 if high - low >= 0.01 else 4
        _write_numbers(ax, matrix, low, high, value_format or f"{{:.{decimals}f}}")
    ax.figure.colorbar(mesh, ax=ax, aspect=30, pad=0.02, label=value_label).outline.set_visible(False)
    return ax


@figure
def buffer_heat_map(
    values: npt.ArrayLike,
    *,
    early: Sequence[int | str],
    delay: Sequence[int | str],
    value_label: str = "PATE",
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw PATE over both buffer lengths.

    Parameters
    ----------
    values : array-like
        One row per early buffer, one column per delay; `pate_by_buffers` computes them.
    early, delay : sequence of int, or of str
        The buffer lengths in steps, or durations such as "10min". The early buffer grows upwards, the delay to the
        right.
    value_label, limits
        As in `heat_map`.

    Examples
    --------
    >>> from pateval import plots
    >>> labels, scores = [0, 0, 1, 1, 0, 0], [0.1, 0.5, 0.9, 0.4, 0.3, 0.1]
    >>> values = plots.pate_by_buffers(labels, scores, early=[0, 1], delay=[0, 1, 2])
    >>> ax = plots.buffer_heat_map(values, early=[0, 1], delay=[0, 1, 2])
    >>> ax.get_xlabel()
    'delay: buffer after an event (steps)'
    """
    unit = "time" if any(isinstance(length, str) for length in (*early, *delay)) else "steps"
    ax = heat_map(
        values,
        rows=list(early),
        columns=list(delay),
        row_label=f"early: buffer before an event ({unit})",
        column_label=f"delay: buffer after an event ({unit})",
        value_label=value_label,
        limits=limits,
        ax=ax,
    )
    ax.invert_yaxis()
    return ax


@figure
def rank_heat_map(board: Leaderboard, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the mean rank of every detector under every metric: rows that differ show how much the metric decides.

    Parameters
    ----------
    board : Leaderboard
        What `pateval.leaderboard` returned.
    metrics : sequence of str, optional
        The metrics to draw, a row each, in this order; all of them by default. Detectors stand from the left, best mean
        over the metrics drawn first.

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> labels = np.tile([0, 0, 0, 0, 1, 1, 0, 0], 20)
    >>> noise = np.random.default_rng(0).random(160)
    >>> data = {"label": labels, "good": labels + noise, "guess": noise}
    >>> board = pv.leaderboard(data, metrics=["auc_roc", "pate_ap"], chance=0, event_draws=0)
    >>> ax = pv.plots.rank_heat_map(board)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['good', 'guess']
    """
    ranks = {(row["metric"], row["detector"]): row["mean_rank"] for row in board.rank_rows()}
    known, detectors = (list(dict.fromkeys(names)) for names in zip(*ranks, strict=True))
    wanted = known if metrics is None else list(metrics)
    unknown = [metric for metric in wanted if metric not in known]
    if unknown:
        raise ValueError(f"metric {unknown[0]!r} is not in this leaderboard; it has {', '.join(known)}")
    # None, where a metric does not rank, becomes NaN.
    matrix = np.array([[ranks[metric, detector] for detector in detectors] for metric in wanted], dtype=np.float64)
    if np.isnan(matrix).all():
        raise ValueError("no metric orders the detectors: there is no series on which all of them have a value")
    known_ranks = np.where(np.isnan(matrix), len(detectors), matrix)
    order = np.argsort(known_ranks.mean(axis=0), kind="stable")
    return heat_map(
        matrix[:, order],
        rows=wanted,
        columns=[detectors[place] for place in order],
        value_label="mean rank (1 is best)",
        value_format="{:.1f}",
        limits=(1, max(len(detectors), 2)),
        ax=ax,
    )


def draw_cells(ax: Axes, values: Any, *, outlined: bool, **colours: Any) -> Any:
    """Draw a matrix as coloured cells, its first row on top, parted by thin lines where asked for."""
    edges: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.6} if outlined else {"rasterized": True}
    mesh = ax.pcolormesh(values, **colours, **edges)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    return mesh


def _name_cells(ax: Axes, rows: Sequence[object], columns: Sequence[object], *, every: bool) -> None:
    """Name all rows and columns, or as many of evenly spaced ones as fit."""
    for axis, names in ((ax.yaxis, rows), (ax.xaxis, columns)):
        stride = 1 if every or len(names) <= _MAX_TICKS else -(-len(names) // _MAX_TICKS)
        places = np.arange(0, len(names), stride)
        axis.set_ticks((places + 0.5).tolist(), [str(names[place]) for place in places.tolist()])
    if max(len(str(name)) for name in columns) > 4:
        for text in ax.get_xticklabels():
            text.set(rotation=40, ha="right", rotation_mode="anchor")


def _write_numbers(ax: Axes, matrix: npt.NDArray[np.float64], low: float, high: float, value_format: str) -> None:
    for row, column in np.argwhere(~np.isnan(matrix)):
        value = matrix[row, column]
        is_dark = high == low or (value - low) / (high - low) < 0.5
        looks: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "color": "white" if is_dark else INK}
        ax.text(column + 0.5, row + 0.5, value_format.format(value), **looks)
