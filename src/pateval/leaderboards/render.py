"""What a leaderboard says to people: who leads, who beats the rules without training, and the overview of all.

The overview is rendered as text, Markdown, LaTeX and HTML.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pateval.catalog import DEFAULT_METRICS
from pateval.catalog.metric import BEST, ORACLE
from pateval.evaluation.bootstrap import FloatArray
from pateval.evaluation.paired import ALPHA, Power, power_of, signed_ranks
from pateval.evaluation.result import NOT_ABOVE
from pateval.evaluation.values import defined_mean, deviation
from pateval.leaderboards.significance import complete_rows, holm
from pateval.output.harmless import markdown_text
from pateval.output.html import FragmentTable, fragment
from pateval.output.paper_table import PaperCell, PaperColumn, paper_table
from pateval.output.text_table import TERMINAL_WIDTH, aligned, cut_in_the_middle, folded, how_many_fit, markdown
from pateval.validation.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pateval.leaderboards.result import Leaderboard
    from pateval.leaderboards.significance import Significance

COARSE, ONE_LINER, CHANCE = "coarse", "rule", "chance"
BEATS, IN_THE_MEAN, NOT = "yes", "mean", "no"
_NO_ONE_LINERS = "no values of the series, and so no rule without training to beat (--one-liners FILE)"
_LONGEST_NAME = 30  # characters of a detector's name on a terminal


class Overview(NamedTuple):
    """The table for people: a header, one row per detector with the best first, and the lines below it."""

    header: list[str]
    rows: list[list[str]]
    remarks: list[str]

    @property
    def to_the_right(self) -> list[bool]:
        """Which columns hold numbers."""
        return [name not in ("detector", "alike", "beats") for name in self.header]


def headline(metrics: Sequence[str], rank_by: str) -> list[str]:
    """Choose the metrics of the overview, the one that ranks first: all, or the default ones where they are many."""
    chosen = list(metrics)
    if len(metrics) > len(DEFAULT_METRICS):
        chosen = [metric for metric in DEFAULT_METRICS if metric in metrics] or chosen[: len(DEFAULT_METRICS)]
    return list(dict.fromkeys([rank_by, *chosen]))


def make_overview(board: Leaderboard) -> Overview:
    """Build the overview of a leaderboard."""
    main = board.rank_by
    shown = headline(board.metrics, main)
    rows = {(row["detector"], row["metric"]): row for row in board.summary_rows}
    tests = None if board.pooled else board.significance()
    letters = {} if tests is None else alike_texts(tests)
    best = baseline_of(board, main)
    body = []
    for detector in board.best_first(main):
        row = rows[detector, main]
        limits = "" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
        body.append(
            [
                f"{detector} ({COARSE})" if detector in board.coarse and "pate" in shown else detector,
                "" if row["mean_rank"] is None else f"{row['mean_rank']:.2f}",
                letters.get(detector, ""),
                best.beaten_by.get(detector, "") if best is not None else "",
                _marked(board, row),
                limits,
                "" if row.get("run_std") is None else _figure(row["run_std"]),
                "" if row.get("doubt_std") is None else _figure(row["doubt_std"]),
                "" if row.get("rank_kept") is None else f"{row['rank_kept']:.0%}",
                "" if row["skill"] is None else _figure(row["skill"]),
                *(_marked(board, rows[detector, metric]) for metric in shown[1:]),
            ]
        )
    body += _one_liner_rows(board, shown)
    named = [board.label(metric) for metric in shown]
    header = ["detector", f"rank ({main})", "alike", "beats", named[0], "95 %", "run sd", "label sd", "rank kept"]
    header += ["skill", *named[1:]]
    always = (0, 4, *range(10, len(header))) if board.pooled else (0, 1, 2, 4, *range(10, len(header)))
    keep = [place for place in range(len(header)) if place in always or any(row[place] for row in body)]
    remarks = list(_remarks(board, tests, [rows[detector, main] for detector in board.best_first(main)], shown, body))
    return Overview([header[place] for place in keep], [[row[place] for place in keep] for row in body], remarks)


def _one_liner_rows(board: Leaderboard, shown: Sequence[str]) -> list[list[str]]:
    """A row for each of the one-liners, the best under the metric that ranks first: they have means, and no ranks."""
    means = {metric: mean_of_rules(board, metric) for metric in shown}
    main = means[shown[0]]
    order = sorted(main, key=lambda name: -main[name] if board.facts[shown[0]].higher_is_better else main[name])
    return [
        [f"{name} ({ONE_LINER})", "", "", "", _figure(main[name]), "", "", "", "", ""]
        + [_figure(means[metric].get(name)) for metric in shown[1:]]
        for name in order
    ]


def leader(board: Leaderboard, metric: str | None = None) -> str:
    """Say who leads under a metric, by mean rank, or by value where there are no ranks; empty where nothing orders."""
    metric = metric or board.rank_by
    rows = [row for row in board.summary_rows if row["metric"] == metric and row["mean"] is not None]
    if len(rows) < 2:
        return ""
    facts = board.facts[metric]
    best = (max if facts.higher_is_better else min)(rows, key=lambda row: float(row["mean"]))
    name, what = board.label(metric), "highest" if facts.higher_is_better else "lowest"
    if board.pooled:
        return f"first by {name}: {best['detector']}, {_figure(best['mean'])}"
    ranked = [row for row in rows if row["mean_rank"] is not None]
    if not ranked:
        return ""
    first = min(ranked, key=lambda row: float(row["mean_rank"]))
    text = f"first by mean rank under {name}: {first['detector']}, {first['mean_rank']:.2f}"
    if first["detector"] == best["detector"]:
        return f"{text}; it has the {what} mean, too, {_figure(best['mean'])}"
    return f"{text} (mean {_figure(first['mean'])}); the {what} mean is {best['detector']}, {_figure(best['mean'])}"


def _marked(board: Leaderboard, row: Mapping[str, Any]) -> str:
    """A mean, with a star where it is not above chance."""
    return f"{_figure(row['mean'])}{'*' if board.is_above_chance(row) is False else ''}"


def _remarks(
    board: Leaderboard,
    tests: Significance | None,
    rows: Sequence[Mapping[str, Any]],
    shown: Sequence[str],
    body: Sequence[Sequence[str]],
) -> Iterator[str]:
    """What the columns and marks mean."""
    if line := leader(board):
        yield line
    if (best := baseline_of(board, board.rank_by)) is not None:
        is_better = best.is_tested and IN_THE_MEAN in best.beaten_by.values()
        word = f"; {IN_THE_MEAN}: its mean alone is better" if is_better else ""
        yield f"{best.clause()}{word}"
    if tests is None:
        yield f"all steps of {board.pooled} series are one sample; there are no ranks"
    else:
        dropped = f", {tests.series_dropped} left out" if tests.series_dropped else ""
        yield f"means over series; ranks over {tests.series_used} series where all have a value{dropped}"
        p_value = tests.friedman["f_p_value"]
        if not math.isnan(p_value):
            yield (
                f"Friedman (Iman-Davenport) p = {p_value:.2g}; "
                f"{'same letter:' if tests.has_few else 'alike: the places of those'} {tests.test_text}"
            )
        if lead := lead_of(board, tests):
            yield lead.clause()
    runs = [row.get("runs", 1) for row in rows]
    if any(number > 1 for number in runs):
        number = str(runs[0]) if len(set(runs)) == 1 else f"{min(runs)} to {max(runs)}"
        yield (
            f"{number} runs of each detector; each series counts with its mean over runs; run sd: standard deviation "
            f"over runs of the mean over series"
        )
    if board.doubt is not None:
        doubt = board.doubt
        yield (
            f"labels in doubt: every edge of every event moved at random by up to {doubt.amount_text}, {doubt.draws} "
            f"times; label sd: standard deviation of the mean over these; rank kept: how often the place is the same"
        )
    if any(cell.endswith("*") for row in body for cell in row):
        yield NOT_ABOVE
    if board.coarse and "pate" in shown:
        yield f"{COARSE}: few distinct scores, which pate flatters: see pate_ap"
    kinds: set[str] = set()
    if board.measures is not None:
        cut = (metric for metric in board.measures.metrics if metric.id in shown and metric.needs_threshold)
        kinds = {board.measures.rule(metric).kind for metric in cut}
    if ORACLE in kinds:
        yield "oracle: predictions by the threshold with the best point F1 of each series, which uses the labels"
    if BEST in kinds:
        yield "best: predictions by the threshold with the metric's best value on each series, which uses the labels"
    if best is None and not board.run.get("computed_elsewhere"):
        yield _NO_ONE_LINERS
    if len(board.metrics) > len(shown):
        yield f"{len(board.metrics) - len(shown)} more metrics in scores.csv (-o DIR) and in to_frame()"


class Lead(NamedTuple):
    """The first detector against the second, or the control against the best of the others, and what tests can show."""

    first: str
    second: str
    power: Power
    comparisons: int  # that share the level of the test

    def clause(self) -> str:
        """Say it as a part of a sentence."""
        shared = f" (at {100 * ALPHA:g} % for {self.comparisons} comparisons)" if self.comparisons > 1 else ""
        return f"{self.power.clause(self.first, self.second)}{shared}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data that JSON can carry."""
        about = {"first": self.first, "second": self.second, "comparisons": self.comparisons}
        return about | self.power.to_dict()


def lead_of(board: Leaderboard, tests: Significance) -> Lead | None:
    """Return what tests can show of the lead; None where there is none, or one series, which is no sample of series."""
    places = [board.detectors.index(name) for name in tests.detectors]
    values, _ = complete_rows(board.by_series(tests.metric)[:, places])
    number = len(places)
    if number < 2 or len(values) < 2 or (tests.control and tests.control not in tests.detectors):
        return None
    one = tests.detectors.index(tests.control) if tests.control else 0
    other = 0 if one else 1
    # All share the level, as in the first step of Holm's correction.
    comparisons = number - 1 if tests.control else number * (number - 1) // 2
    power = power_of(values[:, one] - values[:, other], alpha=tests.alpha / comparisons)
    return Lead(tests.detectors[one], tests.detectors[other], power, comparisons)


@dataclass(frozen=True)
class Baseline:
    """The best of the one-liners of a board under one metric, and who beats it.

    A detector beats it where its mean is better on the series that both have and Wilcoxon's test, corrected by Holm for
    all detectors, says so; otherwise its mean alone may be better.
    """

    name: str
    mean: float
    beaten_by: dict[str, str]  # detector to one of the words above
    is_tested: bool = True  # whether there are several series

    def clause(self) -> str:
        """Say who beats it as a part of a sentence."""
        winners = [name for name, word in self.beaten_by.items() if word == (BEATS if self.is_tested else IN_THE_MEAN)]
        who = f"{len(winners)} of {len(self.beaten_by)} detectors" if winners else "no detector"
        best = f"{self.name} ({self.mean:.3f}), the best rule without training"
        several = len(winners) > 1
        if not self.is_tested:
            return f"{who} {'have' if several else 'has'} a better value than {best}; one sample is no evidence"
        return f"{who} {'beat' if several else 'beats'} {best} (Wilcoxon-Holm, {100 * ALPHA:g} %)"


def _rules(board: Leaderboard, metric: str) -> dict[str, FloatArray]:
    """The values of each one-liner, and of chance, on the series of a board; empty where it has no one-liners."""
    beside = board.one_liners
    if beside is None or metric not in beside.metrics:
        return {}
    values = np.full((len(beside.detectors), len(board.series)), np.nan)
    places = [board.series.index(name) for name in beside.series]
    values[:, places] = beside.values[:, :, beside.metrics.index(metric)]
    rules = dict(zip(beside.detectors, values, strict=True))
    if board.chance is not None:  # where it hangs on the detector, its mean over detectors
        rules[CHANCE] = defined_mean(board.chance.of_metric(board.metrics.index(metric)))
    return {name: values for name, values in rules.items() if not np.isnan(values).all()}


def mean_of_rules(board: Leaderboard, metric: str) -> dict[str, float]:
    """The mean of each one-liner, and of chance, over its series."""
    return {name: float(np.nanmean(values)) for name, values in _rules(board, metric).items()}


def baseline_of(board: Leaderboard, metric: str) -> Baseline | None:
    """The best one-liner under a metric, by its mean, and who beats it; None where there are none."""
    rules, means = _rules(board, metric), mean_of_rules(board, metric)
    if not rules:
        return None
    sign = 1 if board.facts[metric].higher_is_better else -1
    best = max(rules, key=lambda name: sign * means[name])
    gains = dict(zip(board.detectors, sign * (board.by_series(metric).T - rules[best]), strict=True))
    gains = {name: gain[~np.isnan(gain)] for name, gain in gains.items()}
    judged = [name for name in board.best_first(metric) if gains[name].size]
    tests = [signed_ranks(gains[name][None]) for name in judged]
    words: dict[str, str] = {}
    for name, p_value, (_, effect) in zip(judged, holm([p[0] for p, _ in tests]), tests, strict=True):
        is_evident = p_value < ALPHA and effect[0] > 0
        words[name] = NOT if gains[name].mean() <= 0 else BEATS if is_evident else IN_THE_MEAN
    return Baseline(best, means[best], words, is_tested=len(board.series) > 1)


def one_liner_dict(board: Leaderboard) -> dict[str, Any]:
    """Means of the one-liners under each metric, and who beats the best of them, as plain data."""
    baselines = {metric: baseline_of(board, metric) for metric in board.metrics}
    return {
        metric: {"means": mean_of_rules(board, metric), "best": best.name, "beaten_by": best.beaten_by}
        for metric, best in baselines.items()
        if best is not None
    }


def alike_texts(tests: Significance) -> dict[str, str]:
    """Say from whom each is not told apart: by letters of groups, or places by mean rank ("2-5,7") where many."""
    if not tests.has_few:
        return {
            name: _ranges(np.flatnonzero(row) + 1) for name, row in zip(tests.detectors, tests.alike(), strict=True)
        }
    letters: dict[str, str] = dict.fromkeys(tests.detectors, "")
    for number, group in enumerate(tests.wilcoxon_groups):
        for name in group:
            letters[name] += _letter(number)
    return letters


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return chr(ord("a") + second) + (str(first) if first else "")


def _ranges(places: npt.NDArray[np.intp]) -> str:
    """Ascending places, neighbours as a range."""
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    return ",".join(str(run[0]) if run.size == 1 else f"{run[0]}-{run[-1]}" for run in runs if run.size)


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


def as_latex(
    board: Leaderboard, metrics: Sequence[str] | None, names: Mapping[str, str] | None, caption: str | None, label: str
) -> str:
    """Render a leaderboard as a table for a paper; see :meth:`Leaderboard.to_latex`."""
    shown = headline(board.metrics, board.rank_by) if metrics is None else list(metrics)
    detectors = board.best_first(board.rank_by)
    rows = {(row["detector"], row["metric"]): row for row in board.summary_rows}
    columns = []
    if not board.pooled:
        ranks = [PaperCell(rows[detector, board.rank_by]["mean_rank"]) for detector in detectors]
        columns.append(PaperColumn("rank", "rank", False, ranks, decimals=2))
    for metric in shown:
        tests = None if board.pooled else board.significance(metric)
        letters = alike_texts(tests) if tests is not None and tests.has_few else {}
        of_metric = [rows[detector, metric] for detector in detectors]
        cells = [
            PaperCell(row["mean"], _spread(board, row), board.is_above_chance(row), letters.get(row["detector"], ""))
            for row in of_metric
        ]
        chance = [row["chance"] for row in of_metric if row["chance"] is not None]
        better = board.facts[metric].higher_is_better
        signature = board.signatures.get(metric, "")
        rules = {name: mean for name, mean in mean_of_rules(board, metric).items() if name != CHANCE}
        columns.append(PaperColumn(metric, board.label(metric), better, cells, chance, signature, rules=rules))
    what = (
        f"all steps of {board.pooled} series as one sample"
        if board.pooled
        else f"means over {len(board.series)} series"
    )
    about = f"{counted(len(detectors), 'detector')}, {what}" if caption is None else caption
    signatures = {metric: board.signatures.get(metric) for metric in shown}
    others = [
        name
        for name, own in board.own_signatures.items()
        if {metric: own.get(metric) for metric in shown} != signatures
    ]
    return paper_table(
        detectors, columns, names=names, caption=about, label=label, others=others, control=board.control
    )


def _spread(board: Leaderboard, row: Mapping[str, Any]) -> tuple[float, ...]:
    """The limits of a mean where they are known, else the standard deviation over series, else none."""
    if row["low"] is not None and row["high"] is not None:
        return row["low"], row["high"]
    spread = deviation(board.by_series(row["metric"])[:, board.detectors.index(row["detector"])])
    return () if spread is None else (spread,)


def as_markdown(overview: Overview) -> str:
    """Render the overview as a Markdown table."""
    table = markdown(overview.header, overview.rows, overview.to_the_right)
    return "\n".join([table, "", *(f"{markdown_text(remark)}  " for remark in overview.remarks)]).rstrip()


def as_html(overview: Overview, warnings: Sequence[str]) -> str:
    """Render the overview, and lines of warning, as a piece of HTML, for notebooks."""
    table = FragmentTable(overview.header, overview.rows, overview.to_the_right)
    return fragment(tables=[table], lines=overview.remarks, warnings=warnings)


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
