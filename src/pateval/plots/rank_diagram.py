"""The critical-difference diagram: mean ranks of detectors, and which of them cannot be told apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pateval.plots.styling import CATEGORY_COLOURS, INK, QUIET, WIDTH, one_axes, styled
from pateval.validation.arrays import choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.leaderboards.significance import Significance


@styled
def critical_difference(significance: Significance, *, test: str = "nemenyi", ax: Axes | None = None) -> Axes:
    """Draw mean ranks on a line, best on the left, and join the detectors that do not differ significantly.

    Parameters
    ----------
    significance : Significance
        What `Leaderboard.significance` returned.
    test : {"nemenyi", "wilcoxon"}
        Whose groups are joined: those within Nemenyi's critical difference, which is drawn as a ruler, or those that
        Wilcoxon's signed-rank test with Holm's correction does not tell apart.
    ax : Axes, optional
        Where to draw; its own axes are hidden.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> rng = np.random.default_rng(0)
    >>> def one_series():
    ...     labels = np.tile([0, 0, 0, 0, 1, 1, 0, 0], 10)
    ...     return {"label": labels, "good": labels + rng.random(80), "guess": rng.random(80)}
    >>> data = {f"series-{k}": one_series() for k in range(6)}
    >>> board = pv.leaderboard(data, score=["good", "guess"], metrics=["auc_roc"], chance=0)
    >>> ax = pv.plots.critical_difference(board.significance("auc_roc"))
    >>> [text.get_text() for text in ax.texts][2:4]
    ['good  1.00', '2.00  guess']
    """
    choice(test, "test", ("nemenyi", "wilcoxon"))
    names, ranks = list(significance.detectors), list(significance.mean_ranks)
    if len(names) < 2 or significance.series_used < 2 or any(math.isnan(rank) for rank in ranks):
        raise ValueError(
            "a critical-difference diagram needs at least two detectors with values on at least two common series; "
            f"there are {len(names)} and {significance.series_used}"
        )
    groups = significance.nemenyi_groups if test == "nemenyi" else significance.wilcoxon_groups
    joined = [[names.index(name) for name in group] for group in groups if len(group) > 1]
    half = (len(names) + 1) // 2
    span = len(names) - 1
    ruler = test == "nemenyi" and math.isfinite(significance.nemenyi_difference)
    top = 2.6 if ruler else 1.4
    depth = 0.9 + 0.45 * len(joined) + half + 0.8
    ax = one_axes(ax, (WIDTH, 0.45 + 0.19 * (top + depth)))
    ax.set_axis_off()
    margin = 0.42 * span
    ax.set_xlim(1 - margin, len(names) + margin)
    ax.set_ylim(depth, -top)
    _draw_scale(ax, len(names))
    first_row = 0.9 + 0.45 * len(joined)
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = place < half
        row = first_row + (place if left else len(names) - 1 - place)
        side = 1 - 0.06 * span if left else len(names) + 0.06 * span
        ax.plot([rank, rank, side], [0, row, row], color=QUIET, linewidth=0.8, solid_joinstyle="miter", zorder=1)
        ax.plot([rank], [0], marker="o", markersize=4, color=INK, zorder=4)
        number = f"{rank:.2f}".rjust(4 + (len(names) > 9), "\N{FIGURE SPACE}")
        text = f"{name}  {number}" if left else f"{number}  {name}"
        outside = side - 0.02 * span if left else side + 0.02 * span
        ax.text(outside, row, text, ha="right" if left else "left", va="center", fontsize=8)
    for level, members in enumerate(joined):
        height = 0.5 + 0.45 * level
        reach = 0.008 * span
        ends = [ranks[members[0]] - reach, ranks[members[-1]] + reach]
        colour = CATEGORY_COLOURS["true detection"]
        ax.plot(ends, [height] * 2, color=colour, linewidth=3.2, solid_capstyle="round", zorder=3, label="group")
    if ruler:
        _draw_ruler(ax, significance.nemenyi_difference, len(names))
    how = "Nemenyi" if test == "nemenyi" else "Wilcoxon with Holm's correction"
    text = (
        f"mean rank by {significance.metric} over {significance.series_used} series; "
        f"joined: no evidence of a difference ({how}, level {significance.alpha:g})"
    )
    ax.text((1 + len(names)) / 2, depth - 0.2, text, ha="center", va="bottom", fontsize=7, color=QUIET)
    return ax


def _draw_scale(ax: Axes, count: int) -> None:
    """The line of ranks with a number at each whole one, or at some of them where there are many."""
    ax.plot([1, count], [0, 0], color=INK, linewidth=1.0, zorder=2)
    stride = 1 if count <= 12 else 2 if count <= 24 else 5
    for rank in range(1, count + 1):
        ax.plot([rank, rank], [0, -0.16], color=INK, linewidth=0.8, zorder=2)
        if (rank - 1) % stride == 0 or rank == count:
            ax.text(rank, -0.3, str(rank), ha="center", va="bottom", fontsize=8)


def _draw_ruler(ax: Axes, difference: float, count: int) -> None:
    """The critical difference as a length, above the left end of the scale."""
    stop = min(1 + difference, count + 0.3 * (count - 1))
    height = -1.75
    ax.plot([1, stop], [height] * 2, color=INK, linewidth=1.2, label="critical difference")
    for end in (1, stop):
        ax.plot([end, end], [height - 0.18, height + 0.18], color=INK, linewidth=1.2)
    ax.text(1, height - 0.25, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=8)
