"""Mean ranks of detectors, and which of them cannot be told apart: on a line, or as a matrix where they are many."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from pateval.plots.heat_maps import draw_cells
from pateval.plots.styling import CATEGORY_COLOURS, INK, PALE, QUIET, WIDTH, Axes, figure, one_axes, width_in_inches
from pateval.validation.arrays import BoolArray, choice

if TYPE_CHECKING:
    from pateval.leaderboards.significance import Significance

_MAX_NAMED = 60  # rows of a matrix whose names can be read
_TESTS = {"nemenyi": "Nemenyi", "wilcoxon": "Wilcoxon with Holm's correction"}
_ALIKE = CATEGORY_COLOURS["true detection"]


@figure
def critical_difference(significance: Significance, *, test: str = "wilcoxon", ax: Axes | None = None) -> Axes:
    """Draw mean ranks, and join the detectors that do not differ significantly.

    Up to 15 detectors stand on a line, best on the left; a bar joins those of a group, which are marked on it. More of
    them are the rows of a matrix, best on top, in which a dark cell is a pair without evidence of a difference.

    Parameters
    ----------
    significance : Significance
        What `Leaderboard.significance` returned. One with a control joins it with those not told apart from it.
    test : {"wilcoxon", "nemenyi"}
        Who is joined: those that Wilcoxon's signed-rank test with Holm's correction does not tell apart, as in the
        tables, or those within Nemenyi's critical difference, which is drawn as a ruler.

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
    choice(test, "test", tuple(_TESTS))
    if significance.control and test == "nemenyi":
        raise ValueError("a control is compared by Wilcoxon's test alone; leave out the test 'nemenyi'")
    names, ranks = list(significance.detectors), list(significance.mean_ranks)
    if len(names) < 2 or significance.series_used < 2 or any(math.isnan(rank) for rank in ranks):
        raise ValueError(
            "a critical-difference diagram needs at least two detectors with values on at least two common series; "
            f"there are {len(names)} and {significance.series_used}"
        )
    against = f" from {significance.control}" if significance.control else ""
    evidence = f"no evidence of a difference{against} ({_TESTS[test]}, level {significance.alpha:g})"
    caption = f"mean rank by {significance.metric} over {significance.series_used} series; "
    if not significance.has_few:
        return _draw_matrix(ax, names, ranks, significance.alike(test), f"{caption}dark: {evidence}")
    groups = significance.nemenyi_groups if test == "nemenyi" else significance.wilcoxon_groups
    joined = [[ranks[names.index(name)] for name in group] for group in groups if len(group) > 1]
    difference = significance.nemenyi_difference if test == "nemenyi" else math.nan
    return _draw_line(ax, names, ranks, joined, difference, f"{caption}joined: {evidence}")


def _draw_line(
    ax: Axes | None, names: list[str], ranks: list[float], joined: list[list[float]], difference: float, caption: str
) -> Axes:
    """Mean ranks on a line with a name at each, a bar for each group, and the critical difference where it is known."""
    half, span = (len(names) + 1) // 2, len(names) - 1
    first_row = 0.9 + 0.45 * len(joined)
    top, depth = (2.6 if math.isfinite(difference) else 1.4), first_row + half + 0.8
    ax = one_axes(ax, (WIDTH, 0.45 + 0.19 * (top + depth)))
    caption = _wrapped(caption, 1.1 * width_in_inches(ax))
    depth += 0.7 * caption.count("\n")
    ax.set_axis_off()
    margin = 0.42 * span
    ax.set(xlim=(1 - margin, len(names) + margin), ylim=(depth, -top))
    _draw_scale(ax, len(names))
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = place < half
        row = first_row + (place if left else len(names) - 1 - place)
        side = 1 - 0.06 * span if left else len(names) + 0.06 * span
        ax.plot([rank, rank, side], [0, row, row], color=QUIET, linewidth=0.8, solid_joinstyle="miter", zorder=1)
        ax.plot([rank], [0], marker="o", markersize=4, color=INK, zorder=4)
        number = _padded(f"{rank:.2f}", 4 + (len(names) > 9))
        text = f"{name}  {number}" if left else f"{number}  {name}"
        outside = side - 0.02 * span if left else side + 0.02 * span
        ax.text(outside, row, text, ha="right" if left else "left", va="center", fontsize=8)
    for level, members in enumerate(joined):
        # A detector between two others may be told apart from them: those of the group have a mark.
        bar: dict[str, Any] = {"color": _ALIKE, "linewidth": 1.6, "marker": "o", "markersize": 4, "zorder": 3}
        ax.plot(members, [0.5 + 0.45 * level] * len(members), label="group", **bar)
    if math.isfinite(difference):
        _draw_ruler(ax, difference, len(names))
    ax.text((1 + len(names)) / 2, depth - 0.2, caption, ha="center", va="bottom", fontsize=7, color=QUIET)
    return ax


def _draw_matrix(ax: Axes | None, names: list[str], ranks: list[float], is_alike: BoolArray, caption: str) -> Axes:
    """Every detector against every other, best first; a dark cell is a pair that is not told apart."""
    from matplotlib.colors import ListedColormap

    size = len(names)
    ax = one_axes(ax, (WIDTH, 0.8 + min(0.165 * size, 1.3 * WIDTH)))
    colours = {"cmap": ListedColormap([PALE, _ALIKE]), "vmin": 0, "vmax": 1}
    draw_cells(ax, is_alike, outlined=size <= _MAX_NAMED, **colours)
    ax.tick_params(labelsize=min(8, max(5, 330 / size)))
    stride = -(-size // _MAX_NAMED)
    rows = range(0, size, stride)
    texts = [f"{names[k]}  {_padded(f'{ranks[k]:.2f}', 6)}  {_padded(str(k + 1), len(str(size)))}" for k in rows]
    ax.set_yticks([place + 0.5 for place in rows], texts)
    columns = [0, *range(5 * stride - 1, size, 5 * stride)]
    ax.set_xticks([place + 0.5 for place in columns], [str(place + 1) for place in columns])
    ax.set_xlabel(_wrapped(caption, 0.65 * width_in_inches(ax)), fontsize=7, color=QUIET)
    return ax


def _wrapped(caption: str, width: float) -> str:
    """A caption in small letters, in lines that are so many inches wide."""
    return textwrap.fill(caption, max(30, int(19 * width)))


def _padded(number: str, width: int) -> str:
    """A number with blanks as wide as figures before it."""
    return number.rjust(width, "\N{FIGURE SPACE}")


def _draw_scale(ax: Axes, count: int) -> None:
    """The line of ranks with a number at each whole one, or at every other where there are many."""
    ax.plot([1, count], [0, 0], color=INK, linewidth=1.0, zorder=2)
    stride = 1 if count <= 12 else 2
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
