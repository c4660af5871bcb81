"""The proximity-weighted precision-recall curve, with lines of equal F1 and the threshold in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pateval.plots.canvas import one_axes
from pateval.plots.styling import ALARM, QUIET, LineStyle, legend_above, line_style, styled
from pateval.plots.sweeps import MeanCurve
from pateval.plots.time_axis import envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pateval.pate.curve import PateCurve

_EQUAL_F1 = (0.2, 0.4, 0.6, 0.8)
_EQUAL_F1_COLOUR = "#CFCFCF"


@styled
def precision_recall(
    curve: PateCurve | MeanCurve | Mapping[str, PateCurve | MeanCurve],
    *,
    threshold: float | Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one or several precision-recall curves as PATE integrates them.

    Each begins at (recall 0, precision 1) and leaves out points whose recall is below an earlier one, so that the area
    under the line is the PATE in the legend. The mean of several curves, over series or pairs of buffers, is taken at
    equal recall. Thin lines join points of equal F1.

    Parameters
    ----------
    curve : PateCurve or MeanCurve, or mapping of str to these
        What `pateval.pate_curve` returned, for one detector or several by name, or what `pate_curves` did.
    threshold : float, or mapping of str to float, optional
        The threshold in use, for all detectors or by name: its point is marked, with several series or pairs of buffers
        the mean of their points. A step is predicted where its score is at least the threshold.
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
    given = dict(curve) if isinstance(curve, Mapping) else {"": curve}
    if not given:
        raise ValueError("there is nothing to draw: give at least one curve")
    curves = {name: one if isinstance(one, MeanCurve) else MeanCurve((one,), 1) for name, one in given.items()}
    series = max(one.series for one in curves.values())
    ax = one_axes(ax, (4.4, 3.8 + 0.17 * len(curves)))
    _equal_f1_lines(ax)
    for place, (name, drawn) in enumerate(curves.items()):
        looks = line_style(place)
        label = f"{name} (PATE {drawn.area:.3f})" if name else f"PATE {drawn.area:.3f}"
        points = envelope(*drawn.points())
        ax.plot(*points, label=label, zorder=3, **looks.line())
        at = threshold.get(name) if isinstance(threshold, Mapping) else threshold
        if at is not None:
            _mark_threshold(ax, drawn, at, looks, named=len(curves) == 1)
    if threshold is not None and len(curves) > 1:
        ax.plot([], [], linestyle="none", marker="o", color=QUIET, label="threshold in use")
    ax.set_xlim(0, 1.0)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel("recall (weighted)")
    ax.set_ylabel("precision (weighted)" if series == 1 else f"precision (weighted, mean of {series} series)")
    ax.grid(visible=False)
    legend_above(ax)
    return ax


def _equal_f1_lines(ax: Axes) -> None:
    for value in _EQUAL_F1:
        recall = np.linspace(value / (2 - value), 1, 200)
        ax.plot(recall, value * recall / (2 * recall - value), color=_EQUAL_F1_COLOUR, linewidth=0.8, zorder=1)
        beside: dict[str, Any] = {"xytext": (3, 0), "textcoords": "offset points", "annotation_clip": False}
        ax.annotate(f"F1 {value:.1f}", (1.0, value / (2 - value)), va="center", fontsize=7, color=QUIET, **beside)


def _mark_threshold(ax: Axes, drawn: MeanCurve, threshold: float, looks: LineStyle, *, named: bool) -> None:
    """Mark where the curve stands at a threshold: at the lowest distinct score that still reaches it."""
    points = []
    for curve in drawn.curves:
        reached = int(np.count_nonzero(curve.thresholds >= threshold))
        points.append((curve.recall[reached - 1], curve.precision[reached - 1]) if reached else (0.0, 0.0))
    recall, precision = np.mean(points, axis=0).tolist()
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    text = f"threshold {threshold:.4g}: precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}"
    dots = looks.points(7) | ({"color": ALARM} if named else {})
    ax.plot([recall], [precision], zorder=5, label=text if named else None, **dots)
