"""The overview of a leaderboard as text, Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pateval.output.html import FragmentTable, fragment
from pateval.output.text_table import TERMINAL_WIDTH, aligned, cut_in_the_middle, folded, how_many_fit, latex, markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pateval.leaderboards.doubt_result import LabelDoubt
    from pateval.leaderboards.significance import Significance

# Shown where a leaderboard has more metrics than fit on a page; the files hold all.
_HEADLINE = (
    "pate",
    "pate_ap",
    "vus_pr",
    "average_precision",
    "auc_roc",
    "affiliation_f1",
    "point_f1",
    "point_adjusted_f1",
)


_LONGEST_NAME = 30  # characters of a detector's name on a terminal


class Overview(NamedTuple):
    """The table for people: a header, one row per detector with the best first, and the lines below it."""

    header: list[str]
    rows: list[list[str]]
    remarks: list[str]

    @property
    def to_the_right(self) -> list[bool]:
        """Which columns hold numbers."""
        return [place not in (0, 2) for place in range(len(self.header))]


def headline(metrics: Sequence[str], rank_by: str) -> list[str]:
    """Choose the metrics of the overview: all where they are few, the best known where they are many.

    The one that ranks comes first, and `pate` stands beside it.
    """
    chosen = list(metrics)
    if len(metrics) > len(_HEADLINE):
        chosen = [metric for metric in _HEADLINE if metric in metrics] or list(metrics[: len(_HEADLINE)])
    first = [metric for metric in (rank_by, "pate") if metric in metrics]
    return list(dict.fromkeys([*first, *chosen]))


def make_overview(
    found: Significance,
    summary: Iterable[Mapping[str, Any]],
    *,
    metrics: Sequence[str],
    uses_oracle: Collection[str] = (),
    coarse: Collection[str] = (),
    doubt: LabelDoubt | None = None,
) -> Overview:
    """Build the overview.

    Parameters
    ----------
    found : Significance
        Order, ranks and groups under the metric that ranks.
    summary : iterable of mappings
        One row per detector and metric.
    metrics : sequence of str
        All metrics there are.
    uses_oracle : collection of str
        Metrics whose threshold has used the labels; they are marked.
    coarse : collection of str
        Detectors that `pate` flatters; they are marked.
    doubt : LabelDoubt, optional
        What moving the edges of events does, where that was asked for.
    """
    main = found.metric
    shown = headline(metrics, main)
    starred = coarse if "pate" in metrics else ()
    letters = group_letters(found)
    rows = {(row["detector"], row["metric"]): row for row in summary}
    body = []
    for detector in (*found.detectors, *found.left_out):
        row = rows[detector, main]
        limits = "" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        body.append(
            [
                f"{detector} *" if detector in starred else detector,
                "" if row["mean_rank"] is None else f"{row['mean_rank']:.2f}",
                letters.get(detector, ""),
                _figure(row["mean"]),
                limits,
                "" if row.get("run_std") is None else _figure(row["run_std"]),
                "" if row.get("doubt_std") is None else _figure(row["doubt_std"]),
                "" if row.get("rank_kept") is None else f"{row['rank_kept']:.0%}",
                "" if row["skill"] is None else _figure(row["skill"]),
                *(_figure(rows[detector, metric]["mean"]) for metric in shown[1:]),
            ]
        )
    named = [f"{metric} (oracle)" if metric in uses_oracle else metric for metric in shown]
    header = [
        "detector",
        f"rank ({main})",
        "alike",
        named[0],
        "95 %",
        "run sd",
        "label sd",
        "rank kept",
        "skill",
        *named[1:],
    ]
    keep = [place for place in range(len(header)) if place not in range(4, 9) or any(row[place] for row in body)]
    remarks = list(_remarks(found))
    runs = [rows[detector, main].get("runs", 1) for detector in found.detectors]
    if any(number > 1 for number in runs):
        number = str(runs[0]) if len(set(runs)) == 1 else f"{min(runs)} to {max(runs)}"
        remarks.append(
            f"{number} runs of each detector; each series counts with its mean over runs; run sd: standard deviation "
            f"over runs of the mean over series"
        )
    if doubt is not None:
        unit = f" {'step' if doubt.amount == 1 else 'steps'}" if isinstance(doubt.amount, int) else ""
        remarks.append(
            f"labels in doubt: every edge of every event moved at random by up to {doubt.amount}{unit}, {doubt.draws} "
            f"times; label sd: standard deviation of the mean over these; rank kept: how often the place is the same"
        )
    if starred:
        remarks.append("* coarse scores, which pate flatters: see pate_ap")
    if any(metric in uses_oracle for metric in shown):
        remarks.append(
            "oracle: predictions by the threshold with the best point F1 of each series, which uses the labels"
        )
    if len(metrics) > len(shown):
        remarks.append(f"{len(metrics) - len(shown)} more metrics in scores.csv (-o DIR) and in to_frame()")
    return Overview([header[place] for place in keep], [[row[place] for place in keep] for row in body], remarks)


def _remarks(found: Significance) -> Iterator[str]:
    dropped = f", {found.series_dropped} left out" if found.series_dropped else ""
    yield f"means over series; ranks over {found.series_used} series where all have a value{dropped}"
    p_value = found.friedman["f_p_value"]
    if not math.isnan(p_value):
        yield (
            f"Friedman (Iman-Davenport) p = {p_value:.2g}; critical difference of ranks (Nemenyi, 5 %) "
            f"{found.nemenyi_difference:.2f}; same letter: not told apart (Wilcoxon-Holm, 5 %)"
        )


def group_letters(found: Significance) -> dict[str, str]:
    """Give each detector the letters of its critical-difference groups; those who share one are not told apart."""
    letters: dict[str, str] = dict.fromkeys(found.detectors, "")
    for number, group in enumerate(found.wilcoxon_groups):
        for name in group:
            letters[name] += _letter(number)
    return letters


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return chr(ord("a") + second) + (str(first) if first else "")


def text(overview: Overview, width: int | None = TERMINAL_WIDTH) -> str:
    """Render the overview as aligned plain text; columns that do not fit the width are left out, and named."""
    if width is None:
        return "\n".join([aligned(overview.header, overview.rows, overview.to_the_right), "", *overview.remarks])
    rows = [[cut_in_the_middle(row[0], _LONGEST_NAME), *row[1:]] for row in overview.rows]
    count = how_many_fit(overview.header, rows, width)
    table = aligned(overview.header[:count], [row[:count] for row in rows], overview.to_the_right[:count], width=width)
    left_out = overview.header[count:]
    hidden = [f"not shown for want of room (--wide): {', '.join(left_out)}"] if left_out else []
    remarks = [*overview.remarks, *hidden]
    return "\n".join([table, "", *(folded(remark, width) for remark in remarks)])


def as_latex(overview: Overview) -> str:
    """Render the overview as a LaTeX table; the remarks, and the package it needs, are comments above it."""
    needs = r"for the rules: \usepackage{booktabs}"
    comments = [f"% {' '.join(remark.split())}" for remark in (*overview.remarks, needs)]
    return "\n".join([*comments, latex(overview.header, overview.rows, overview.to_the_right)])


def as_markdown(overview: Overview) -> str:
    """Render the overview as a Markdown table."""
    table = markdown(overview.header, overview.rows, overview.to_the_right)
    return "\n".join([table, "", *(f"{remark}  " for remark in overview.remarks)]).rstrip()


def as_html(overview: Overview, warnings: Sequence[str]) -> str:
    """Render the overview, and lines of warning, as a piece of HTML, for notebooks."""
    table = FragmentTable(overview.header, overview.rows, overview.to_the_right)
    return fragment(tables=[table], lines=overview.remarks, warnings=warnings)


def page(overview: str, size: str, summary: Sequence[Mapping[str, Any]]) -> str:
    """Render overview and summary of all metrics as one HTML page that needs nothing from outside."""
    columns = list(summary[0])
    body = [
        [
            _figure(row[name]) if isinstance(row[name], float) else str(row[name] if row[name] is not None else "")
            for name in columns
        ]
        for row in summary
    ]
    table = FragmentTable(columns, body, [name not in ("detector", "metric") for name in columns])
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Leaderboard</title></head>',
            f"<body><h1>Leaderboard</h1><p>{size}</p>",
            overview,
            "<h2>All metrics</h2>",
            fragment(tables=[table]),
            "</body></html>",
        ]
    )


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
