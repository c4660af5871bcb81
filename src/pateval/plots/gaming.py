"""An audit with scores as a chart: how often fakes get near the best real detector, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pateval.plots.canvas import WIDTH, one_axes
from pateval.plots.styling import ALARM, INK, PALE, QUIET, legend_above, styled, width_in_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GamedMetric(Protocol):
    """What a row of an audit with scores gives to be drawn."""

    @property
    def metric(self) -> Any:
        """Entry of the catalogue, with ``id`` and ``field``."""

    @property
    def is_judged(self) -> bool:
        """Whether fakes were held against real detectors."""

    @property
    def blind_share(self) -> float:
        """Share of series on which a fake that does not know the labels gets near the best real detector."""

    @property
    def minimal_share(self) -> float:
        """Share of series on which one flagged step per event does."""


class GamingResult(Protocol):
    """What an audit with scores gives to be drawn; `pateval.audit_scores` returns one."""

    @property
    def rows(self) -> Sequence[GamedMetric]:
        """One per metric."""


@styled
def gaming_chart(audit: GamingResult, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw on which share of the series fakes reach 90 % of the best real detector, the most robust metrics on top.

    Parameters
    ----------
    audit : ScoreAudit
        What `pateval.audit_scores` returned.
    metrics : sequence of str, optional
        The metrics to draw, in this order; by default all whose values lie in [0, 1], without precisions and recalls,
        ordered by the share of fakes that do not know the labels.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> import pateval as pv
    >>> labels = np.repeat([0, 1, 0, 1, 0], [60, 20, 80, 30, 60])
    >>> scores = labels + np.random.default_rng(0).normal(size=250)
    >>> names = ["segment_f1", "average_precision"]
    >>> ax = pv.plots.gaming_chart(pv.audit_scores({"label": labels, "mine": scores}, metrics=names, seeds=1))
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['average_precision', 'segment_f1']
    """
    rows = {row.metric.id: row for row in audit.rows if row.is_judged}
    unknown = [name for name in metrics or () if name not in rows]
    if unknown:
        raise ValueError(f"metric {unknown[0]!r} is not in this audit, or cannot be gamed; it has {', '.join(rows)}")
    if metrics is None:
        single = [row for row in rows.values() if row.metric.field in (None, "f1")]
        drawn = sorted(single or rows.values(), key=lambda row: (row.blind_share, row.minimal_share))
    else:
        drawn = [rows[name] for name in metrics]
    if not drawn:
        raise ValueError("none of the metrics has its values in [0, 1], so none can be drawn")
    ax = one_axes(ax, (WIDTH, 1.1 + 0.185 * len(drawn)))
    places = range(len(drawn))
    blind = [100 * row.blind_share for row in drawn]
    minimal = [100 * row.minimal_share for row in drawn]
    ax.hlines(places, blind, minimal, color=PALE, linewidth=2.0, zorder=1)
    for values, text, marker, colour, face in (
        (minimal, "one flagged step per event", "D", QUIET, "white"),
        (blind, "fakes that do not know the labels", "o", ALARM, ALARM),
    ):
        ax.plot(
            values,
            places,
            linestyle="none",
            marker=marker,
            markersize=5,
            color=colour,
            markerfacecolor=face,
            label=text,
            zorder=3,
            clip_on=False,
        )
    ax.set_yticks(places, [row.metric.id for row in drawn])
    for label, row in zip(ax.get_yticklabels(), drawn, strict=True):
        label.set_color(ALARM if row.blind_share >= 0.5 else INK)
    ax.set_ylim(len(drawn) - 0.5, -0.5)
    ax.set_xlim(-3, 103)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("series on which a fake reaches 90 % of the best real detector (%)")
    legend_above(ax, width=0.6 * width_in_inches(ax))
    return ax
