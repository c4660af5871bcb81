"""The proximity-weighted precision-recall curve, with lines of equal F1 and the threshold in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pateval.plots.canvas import one_axes
from pateval.plots.styling import ALARM, QUIET, legend_above, line_style, styled
from pateval.plots.time_axis import envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.pate.curve import PateCurve

_EQUAL_F1 = (0.2, 0.4, 0.6, 0.8)
_EQUAL_F1_COLOUR = "#CFCFCF"


@styled
def precision_recall(
    curve: PateCurve | Mapping[str, PateCurve],
    *,
    threshold: float | Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one or several precision-recall curves as PATE integrates them.

    Each begins at (recall 0, precision 1) and leaves out points whose recall is below an earlier one, so that the area
    under the line is the PATE in the legend. Thin lines join points of equal F1.

    Parameters
    ----------
    curve : PateCurve, or mapping of str to PateCurve
        What `pateval.pate_curve` returned, for one detector or several by name.
    threshold : float, or mapping of str to float, optional
        The threshold in use, for all detectors or by name: its point is marked. A step is predicted where its score is
        at least the threshold.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pateval as pv
    >>> curve = pv.pate_curve([0, 0, 1, 1, 0], [0.1, 0.6, 0.9, 0.4, 0.2], early=1, delay=1)
    >>> ax = pv.plots.precision_recall(curve, threshold=0.4)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('recall (weighted)', 'precision (weighted)')
    """
    curves = dict(curve) if isinstance(curve, Mapping) else {"": curve}
    if not curves:
        raise ValueError("there is nothing to draw: give at least one curve")
    ax = one_axes(ax, (4.4, 3.8 + 0.17 * len(curves)))
    _equal_f1_lines(ax)
    for place, (name, drawn) in enumerate(curves.items()):
        looks = line_style(place)
        recall, precision = envelope(*_cleaned(drawn))
        label = f"{name} (PATE {drawn.area:.3f})" if name else f"PATE {drawn.area:.3f}"
        ax.plot(recall, precision, color=looks.colour, linestyle=looks.dashes, label=label, zorder=3)
        at = threshold.get(name) if isinstance(threshold, Mapping) else threshold
        if at is not None:
            _mark_threshold(ax, drawn, at, colour=looks.colour, marker=looks.marker, named=len(curves) == 1)
    if threshold is not None and len(curves) > 1:
        ax.plot([], [], linestyle="none", marker="o", color=QUIET, label="threshold in use")
    ax.set_xlim(0, 1.0)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("recall (weighted)")
    ax.set_ylabel("precision (weighted)")
    ax.grid(visible=False)
    legend_above(ax)
    return ax


def _cleaned(curve: PateCurve) -> tuple[np.ndarray, np.ndarray]:
    """The points PATE integrates, with the anchor before them."""
    kept = curve.recall >= np.maximum.accumulate(curve.recall)
    return np.concatenate([[0.0], curve.recall[kept]]), np.concatenate([[1.0], curve.precision[kept]])


def _equal_f1_lines(ax: Axes) -> None:
    for value in _EQUAL_F1:
        recall = np.linspace(value / (2 - value), 1, 200)
        ax.plot(recall, value * recall / (2 * recall - value), color=_EQUAL_F1_COLOUR, linewidth=0.8, zorder=1)
        ax.annotate(
            f"F1 {value:.1f}",
            (1.0, value / (2 - value)),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color=QUIET,
            annotation_clip=False,
        )


def _mark_threshold(ax: Axes, curve: PateCurve, threshold: float, *, colour: str, marker: str, named: bool) -> None:
    """Mark where the curve stands at a threshold: the lowest distinct score that still reaches it."""
    reached = int(np.count_nonzero(curve.thresholds >= threshold))
    recall, precision = (curve.recall[reached - 1], curve.precision[reached - 1]) if reached else (0.0, 0.0)
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    ax.plot(
        [recall],
        [precision],
        linestyle="none",
        marker=marker,
        markersize=7,
        markerfacecolor=ALARM if named else colour,
        markeredgecolor="white",
        zorder=5,
        clip_on=False,
        label=f"threshold {threshold:.4g}: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}"
        if named
        else None,
    )
