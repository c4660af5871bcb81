"""How scores are distributed inside and outside events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pateval.plots.canvas import one_axes
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, QUIET, legend_above, styled
from pateval.time.timelines import read_scores
from pateval.validation.arrays import positive_integer, require_anomaly

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def score_distribution(
    labels: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    threshold: float | None = None,
    ignore: npt.ArrayLike | None = None,
    missing: str = "error",
    bins: int = 50,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the shares of steps by score, inside events and outside, each adding up to 1.

    Where steps without a score count as normal, each adds up to the share of its steps that have one.

    Parameters
    ----------
    labels : array-like of 0/1
        Truth for each time step.
    scores : array-like of float
        Higher is more anomalous.
    threshold : float, optional
        The threshold in use.
    ignore, missing
        Steps to leave out, and what becomes of missing scores, as in `pate`.
    bins : int
        Number of intervals of the scores.
    log : bool
        Draw shares on a logarithmic scale, where a few high scores matter.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from pateval import plots
    >>> ax = plots.score_distribution([0, 0, 1, 1, 0], [0.1, 0.2, 0.9, 0.4, 0.3], threshold=0.35)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('anomaly score', 'share of steps')
    """
    truth, values, _ = read_scores(labels, scores, ignore=ignore, missing=missing)
    require_anomaly(truth)
    present = values > -np.inf  # A missing score that counts as normal is below all others.
    if not present.any():
        raise ValueError("there is nothing to draw: every score is missing")
    bins = positive_integer(bins, "bins")
    ax = one_axes(ax, (5.2, 3.2))
    low, high = float(values[present].min()), float(values[present].max())
    edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low + 0.5])
    outside, inside = (
        np.histogram(values[mask & present], edges)[0] / max(int(mask.sum()), 1) for mask in (~truth, truth)
    )
    ax.stairs(
        outside,
        edges,
        fill=True,
        facecolor="#D9D9D9",
        edgecolor=QUIET,
        linewidth=0.8,
        label=f"outside events ({_counted(~truth, present)})",
    )
    ax.stairs(
        inside,
        edges,
        fill=True,
        facecolor="none",
        hatch="////",
        edgecolor=CATEGORY_COLOURS["true detection"],
        linewidth=1.2,
        label=f"inside events ({_counted(truth, present)})",
        zorder=3,
    )
    if threshold is not None:
        ax.axvline(threshold, color=ALARM, linestyle=(0, (5, 2)), linewidth=1.0, label="threshold", zorder=4)
        low, high = min(low, threshold), max(high, threshold)
    margin = 0.01 * (high - low) or 0.5
    ax.set_xlim(low - margin, high + margin)
    if log:
        ax.set_yscale("log")
        shares = np.concatenate([outside, inside])
        ax.set_ylim(shares[shares > 0].min() / 2, min(2.0, 1.5 * float(shares.max())))
    ax.set_xlabel("anomaly score")
    ax.set_ylabel("share of steps" + (" (log scale)" if log else ""))
    legend_above(ax)
    return ax


def _counted(mask: npt.NDArray[np.bool_], present: npt.NDArray[np.bool_]) -> str:
    absent = int(np.count_nonzero(mask & ~present))
    return f"{int(np.count_nonzero(mask)):,} steps" + (f", {absent:,} without a score" if absent else "")
