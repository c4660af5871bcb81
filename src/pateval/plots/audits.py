"""Both audits as charts: what worthless detectors get under each metric, and how often they get near real ones."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from pateval.plots import styling as look
from pateval.plots.styling import Axes, figure

# Detectors of the battery that are drawn, from worthless to perfect: name, text, marker, colour, filled.
_DRAWN = (
    ("random", "random (± deviation)", "|", look.QUIET, True),
    ("constant", "constant", "^", look.CATEGORY_COLOURS["partly missed"], True),
    ("always_on", "everything flagged", "s", look.ALARM, False),
    ("real", "real", "o", look.CATEGORY_COLOURS["true detection"], True),
    ("perfect", "perfect", "D", look.INK, False),
)
_SLACK = 1e-9


@figure
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
    left_out = ", ".join(row.metric.id for row in chosen if row not in drawn)
    if not drawn:
        raise ValueError(f"none of the metrics has its values in [0, 1], so none can be drawn: {left_out}")
    ax = look.one_axes(ax, (look.WIDTH + 0.6, 1.1 + 0.185 * len(drawn)))
    handles = []
    for name, text, marker, colour, filled in _DRAWN:
        values = [row.values.get(name, math.nan) for row in drawn]
        if name == "random":
            spreads = [row.spreads.get(name, 0.0) for row in drawn]
            looks: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": 8, "color": colour}
            bars = ax.errorbar(values, range(len(drawn)), xerr=spreads, elinewidth=1.0, label=text, zorder=2, **looks)
            handles.append(bars)
        else:
            handles += _draw_points(ax, values, text, marker, colour, colour if filled else "white")
    beside: dict[str, Any] = {"fontsize": 7, "annotation_clip": False, "textcoords": "offset points"}
    for place, row in enumerate(drawn):
        if row.fooled:
            ax.axhspan(place - 0.5, place + 0.5, color="#FBE3D6", linewidth=0, zorder=0.2)
        if row.beaten_by:
            at: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "xytext": (0, 0), "va": "center"}
            colour = look.ALARM if row.fooled else look.QUIET
            ax.annotate(_first_three(row.beaten_by), (1.02, place), color=colour, **at, **beside)
    ax.annotate("real is beaten by", (1.02, 1.0), xycoords="axes fraction", xytext=(0, 3), color=look.QUIET, **beside)
    names = [row.label if row.metric.higher_is_better else f"{row.label} (lower is better)" for row in drawn]
    _name_rows(ax, names, [row.fooled for row in drawn])
    note = textwrap.fill(f"not drawn, values outside [0, 1]: {left_out}", 90) if left_out else ""
    ax.set(xlim=(-0.03, 1.03), xlabel=f"value of the metric\n{note}".rstrip())
    look.legend_above(ax, handles, width=0.5 * look.width_in_inches(ax))
    return ax


@figure
def gaming_chart(audit: Any, *, metrics: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw on which share of the series fakes reach 90 % of the best real detector, the most robust metrics on top.

    Parameters
    ----------
    audit : ScoreAudit
        What `pateval.audit_scores` returned.
    metrics : sequence of str, optional
        The metrics to draw, in this order; by default all whose values lie in [0, 1], without precisions and recalls,
        ordered by the share of fakes that do not know the labels.

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
    ax = look.one_axes(ax, (look.WIDTH, 1.1 + 0.185 * len(drawn)))
    blind, minimal = ([100 * getattr(row, kind).share for row in drawn] for kind in ("blind", "minimal"))
    ax.hlines(range(len(drawn)), blind, minimal, color=look.PALE, linewidth=2.0, zorder=1)
    _draw_points(ax, minimal, "one flagged step per event", "D", look.QUIET, "white")
    _draw_points(ax, blind, "fakes that do not know the labels", "o", look.ALARM, look.ALARM)
    _name_rows(ax, [row.label for row in drawn], [row.blind.share >= 0.5 for row in drawn])
    ax.set(xlim=(-3, 103), xlabel="series on which a fake reaches\n90 % of the best real detector (%)")
    look.legend_above(ax, width=0.6 * look.width_in_inches(ax))
    return ax


def _chosen(rows: Sequence[Any], metrics: Sequence[str] | None, refusal: str) -> list[Any]:
    """The rows of the metrics named, by id with the threshold or without, in their order; all of them by default."""
    known = {row.metric.plain_id: row for row in rows} | {row.metric.id: row for row in rows}
    for name in metrics or ():
        if name not in known:
            raise ValueError(f"metric {name!r} {refusal}; it has {', '.join(row.metric.id for row in rows)}")
    return list(rows) if metrics is None else [known[name] for name in metrics]


def _draw_points(ax: Axes, values: Sequence[float], text: str, marker: str, colour: str, face: str) -> list[Any]:
    looks: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": colour, "linestyle": "none", "markersize": 5}
    return ax.plot(values, range(len(values)), marker=marker, label=text, zorder=3, clip_on=False, **looks)


def _name_rows(ax: Axes, names: Sequence[str], is_alarming: Sequence[bool]) -> None:
    """Write the names of the rows, the first on top, those that alarm in their colour."""
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    for label, alarms in zip(ax.get_yticklabels(), is_alarming, strict=True):
        label.set_color(look.ALARM if alarms else look.INK)
    ax.tick_params(axis="y", length=0)


def _on_unit_scale(row: Any) -> bool:
    values = [row.values[name] for name, *_ in _DRAWN if name in row.values and not math.isnan(row.values[name])]
    return bool(values) and all(-_SLACK <= value <= 1 + _SLACK for value in values)


def _first_three(names: Sequence[str]) -> str:
    more = f" +{len(names) - 3}" if len(names) > 3 else ""
    return ", ".join(name.replace("_", " ") for name in names[:3]) + more
