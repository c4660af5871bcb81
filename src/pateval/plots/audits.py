"""Both audits as charts: what worthless detectors get under each metric, and how often they get near real ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pateval.plots.canvas import WIDTH, one_axes
from pateval.plots.styling import ALARM, CATEGORY_COLOURS, INK, PALE, QUIET, legend_above, styled, width_in_inches

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


@styled
def audit_chart(audit: Any, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
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
    chosen = _chosen(audit.rows, metrics, "is not in this audit")
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
    names = [row.label if row.metric.higher_is_better else f"{row.label} (lower is better)" for row in drawn]
    _name_rows(ax, names, [row.fooled for row in drawn])
    ax.set_xlim(-0.03, 1.03)
    ax.set_xlabel("value of the metric" + _note(left_out))
    handles, texts = ax.get_legend_handles_labels()
    ordered = [handles[texts.index(text)] for _, text, *_ in _DRAWN]
    legend_above(ax, ordered, width=0.5 * width_in_inches(ax))
    return ax


@styled
def gaming_chart(audit: Any, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
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
    ['average_precision', 'segment_f1 (oracle)']
    """
    drawn = _chosen([row for row in audit.rows if row.is_judged], metrics, "is not in this audit, or cannot be gamed")
    if metrics is None:
        single = [row for row in drawn if row.metric.field in (None, "f1")]
        drawn = sorted(single or drawn, key=lambda row: (row.blind.share, row.minimal.share))
    if not drawn:
        raise ValueError("none of the metrics has its values in [0, 1], so none can be drawn")
    ax = one_axes(ax, (WIDTH, 1.1 + 0.185 * len(drawn)))
    places = range(len(drawn))
    blind = [100 * row.blind.share for row in drawn]
    minimal = [100 * row.minimal.share for row in drawn]
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
    _name_rows(ax, [row.label for row in drawn], [row.blind.share >= 0.5 for row in drawn])
    ax.set_xlim(-3, 103)
    ax.set_xlabel("series on which a fake reaches 90 % of the best real detector (%)")
    legend_above(ax, width=0.6 * width_in_inches(ax))
    return ax


def _chosen(rows: Sequence[Any], metrics: Sequence[str] | None, refusal: str) -> list[Any]:
    """The rows of the metrics named, by id with the threshold or without, in their order; all of them by default."""
    known = {row.metric.plain_id: row for row in rows} | {row.metric.id: row for row in rows}
    for name in metrics or ():
        if name not in known:
            raise ValueError(f"metric {name!r} {refusal}; it has {', '.join(row.metric.id for row in rows)}")
    return list(rows) if metrics is None else [known[name] for name in metrics]


def _name_rows(ax: Axes, names: Sequence[str], is_alarming: Sequence[bool]) -> None:
    """Write the names of the rows, the first on top, those that alarm in their colour."""
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    for label, alarms in zip(ax.get_yticklabels(), is_alarming, strict=True):
        label.set_color(ALARM if alarms else INK)
    ax.tick_params(axis="y", length=0)


def _draw_markers(ax: Axes, rows: Sequence[Any], name: str, text: str, marker: str, colour: str, filled: bool) -> None:
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


def _on_unit_scale(row: Any) -> bool:
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
