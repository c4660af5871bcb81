"""The audit as a chart: what worthless, real and perfect detectors get under each metric."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pateval.plots.canvas import WIDTH, one_axes
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, QUIET, legend_above, styled, width_in_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Detectors of the battery that are drawn, from worthless to perfect: name, text, marker, colour, filled.
_DRAWN = (
    ("random", "random (± deviation)", "|", QUIET, True),
    ("constant", "constant", "^", CATEGORY_COLOURS["partly missed"], True),
    ("always_on", "everything flagged", "s", ALARM, False),
    ("real", "real", "o", CATEGORY_COLOURS["true detection"], True),
    ("perfect", "perfect", "D", INK, False),
)
_SLACK = 1e-9


class AuditedMetric(Protocol):
    """What a row of an audit gives to be drawn."""

    @property
    def metric(self) -> Any:
        """Entry of the catalogue, with ``id`` and ``higher_is_better``."""

    @property
    def values(self) -> Mapping[str, float]:
        """Value of each detector of the battery."""

    @property
    def spreads(self) -> Mapping[str, float]:
        """Standard deviation of each value over its draws."""

    @property
    def beaten_by(self) -> tuple[str, ...]:
        """The fakes that get more than the real detector."""

    @property
    def fooled(self) -> bool:
        """Whether a worthless detector gets more than the real one."""


class AuditResult(Protocol):
    """What an audit gives to be drawn; `pateval.audit` returns one."""

    @property
    def rows(self) -> Sequence[AuditedMetric]:
        """One per metric."""


@styled
def audit_chart(audit: AuditResult, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw what random, constant and all-flagging detectors get beside a real and a perfect one, metric by metric.

    Metrics under which a worthless detector beats the real one are shaded, with the names of those that beat it on the
    right. A metric with values outside [0, 1], such as a delay in steps, cannot share the axis: it is named below it.

    Parameters
    ----------
    audit : Audit
        What `pateval.audit` returned.
    metrics : sequence of str, optional
        The metrics to draw, in this order; all of them by default.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pateval as pv
    >>> labels = [0] * 20 + [1] * 5 + [0] * 30 + [1] * 8 + [0] * 40
    >>> found = pv.audit(labels, metrics=["auc_roc", "point_adjusted_f1"], seeds=2)
    >>> ax = pv.plots.audit_chart(found)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['auc_roc', 'point_adjusted_f1']
    """
    rows = {row.metric.id: row for row in audit.rows}
    unknown = [name for name in metrics or () if name not in rows]
    if unknown:
        raise ValueError(f"metric {unknown[0]!r} is not in this audit; it has {', '.join(rows)}")
    chosen = [rows[name] for name in (rows if metrics is None else metrics)]
    drawn = [row for row in chosen if _on_unit_scale(row)]
    left_out = [row.metric.id for row in chosen if row not in drawn]
    if not drawn:
        raise ValueError(f"none of the metrics has its values in [0, 1], so none can be drawn: {', '.join(left_out)}")
    ax = one_axes(ax, (WIDTH + 0.6, 1.1 + 0.185 * len(drawn)))
    for place, row in enumerate(drawn):
        if row.fooled:
            ax.axhspan(place - 0.5, place + 0.5, color="#FBE3D6", linewidth=0, zorder=0.2)
    for name, text, marker, colour, filled in _DRAWN:
        _draw_markers(ax, drawn, name, text, marker, colour, filled)
    for place, row in enumerate(drawn):
        if row.beaten_by:
            ax.annotate(
                _first_three(row.beaten_by),
                (1.02, place),
                xycoords=ax.get_yaxis_transform(),
                va="center",
                fontsize=7,
                color=ALARM if row.fooled else QUIET,
                annotation_clip=False,
            )
    ax.annotate(
        "real is beaten by",
        (1.02, 1.0),
        xycoords="axes fraction",
        xytext=(0, 3),
        textcoords="offset points",
        fontsize=7,
        color=QUIET,
    )
    ax.set_ylim(len(drawn) - 0.5, -0.5)
    ax.set_yticks(
        range(len(drawn)),
        [row.metric.id if row.metric.higher_is_better else f"{row.metric.id} (lower is better)" for row in drawn],
    )
    for label, row in zip(ax.get_yticklabels(), drawn, strict=True):
        label.set_color(ALARM if row.fooled else INK)
    ax.set_xlim(-0.03, 1.03)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("value of the metric" + _note(left_out))
    handles, names = ax.get_legend_handles_labels()
    ordered = [handles[names.index(text)] for _, text, *_ in _DRAWN]
    legend_above(ax, ordered, width=0.5 * width_in_inches(ax))
    return ax


def _draw_markers(
    ax: Axes, rows: Sequence[AuditedMetric], name: str, text: str, marker: str, colour: str, filled: bool
) -> None:
    values = [row.values.get(name, math.nan) for row in rows]
    places = range(len(rows))
    if name == "random":
        spreads = [row.spreads.get(name, 0.0) for row in rows]
        ax.errorbar(
            values,
            list(places),
            xerr=spreads,
            linestyle="none",
            marker=marker,
            markersize=8,
            color=colour,
            elinewidth=1.0,
            label=text,
            zorder=2,
        )
        return
    ax.plot(
        values,
        list(places),
        linestyle="none",
        marker=marker,
        markersize=5,
        markerfacecolor=colour if filled else "white",
        markeredgecolor=colour,
        markeredgewidth=1.0,
        label=text,
        zorder=3,
        clip_on=False,
    )


def _on_unit_scale(row: AuditedMetric) -> bool:
    values = [row.values[name] for name, *_ in _DRAWN if name in row.values and not math.isnan(row.values[name])]
    return bool(values) and all(-_SLACK <= value <= 1 + _SLACK for value in values)


def _first_three(names: Sequence[str]) -> str:
    more = f" +{len(names) - 3}" if len(names) > 3 else ""
    return ", ".join(name.replace("_", " ") for name in names[:3]) + more


def _note(left_out: Sequence[str], width: int = 90) -> str:
    if not left_out:
        return ""
    import textwrap

    return "\n" + textwrap.fill(f"not drawn, values outside [0, 1]: {', '.join(left_out)}", width)
