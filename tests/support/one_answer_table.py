"""The ways to a number through figures, audits and reports, and the table of all ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pateval as pv
from support import one_answer_routes as by
from support.command_line import invoke
from support.one_answer import Shape
from support.one_answer_routes import PRINTED, QUICK, Place, Values, means_of, number

AUDITED = ("pate_ap", "vus_pr", "auc_roc", "point_f1", "point_adjusted_f1(threshold=best)", "mean_detection_delay")


def by_figure_of_buffers(place: Place, detectors: Sequence[str]) -> Values:
    """What ``plot buffers`` draws of one detector: PATE of every pair of buffers, whose mean is the value of tables."""
    found = {}
    for name in detectors:
        values = pv.plots.pate_by_buffers(place.labels, place.scores(name), **place.buffers, **place.figure_steps)
        found[name, "pate"] = float(values.mean())
    return found


def by_figure_of_sizes(place: Place, detectors: Sequence[str]) -> Values:
    """What ``plot buffer-size`` draws: PATE of several detectors with buffers of each size."""
    scores = {name: place.scores(name) for name in detectors}
    values = pv.plots.pate_by_sizes(place.labels, scores, sizes=(0, 6, 20), **place.figure_steps)
    return {(name, "pate(early=6,delay=6)"): float(values[name][1]) for name in detectors}


def by_figure_of_curves(place: Place, detectors: Sequence[str]) -> Values:
    """What ``plot precision-recall`` draws: curves whose area is PATE."""
    scores = {name: place.scores(name) for name in detectors}
    curves = pv.plots.pate_curves(place.labels, scores, **place.buffers, **place.figure_steps)
    return {(name, "pate"): curves[name].area for name in detectors}


def by_plot_command(place: Place, detectors: Sequence[str]) -> Values:
    """The curves that ``pateval plot precision-recall`` hands to its figure."""
    drawn: list[Any] = []
    figure = pv.plots.precision_recall

    def draw(curves: Any, **options: Any) -> Any:
        drawn.append(curves)
        return figure(curves, **options)

    with patch.object(pv.plots, "precision_recall", draw):
        invoke("plot", "precision-recall", *place.read_arguments, "-o", place.folder / "curves.svg")
    ((curves),) = drawn
    return {(name, "pate"): curves[name].area for name in detectors}


def by_audit(place: Place, detectors: Sequence[str]) -> Values:
    """What ``audit`` holds the fakes against: the values of the real detectors on each series."""
    from pateval.auditing import scored_run

    seen: list[Any] = []
    whole = scored_run.summarised

    def summarised(trials: Any, names: Any, measures: Any, **options: Any) -> Any:
        seen.append((trials, names, measures))
        return whole(trials, names, measures, **options)

    columns = {name: value for name, value in place.columns.items() if name != "metrics"}
    with patch.object(scored_run, "summarised", summarised):
        pv.audit_scores(list(map(str, place.files)), metrics=AUDITED, seeds=1, workers=1, **columns)
    ((trials, names, measures),) = seen
    rows = [
        {"detector": name, "series": trial.series, "metric": metric, "value": trial.real[d, m]}
        for trial in trials
        for d, name in enumerate(names)
        for m, metric in enumerate(measures.ids)
    ]
    assert set(names) == set(detectors)
    return means_of(rows)


def by_report(place: Place, detectors: Sequence[str]) -> Values:
    """The means that stand in a report."""
    del detectors
    board = place.blocks["board"]
    return {
        (name, metric): number(value)
        for metric, columns in board["summary"].items()
        for name, value in zip(board["detectors"], columns["mean"], strict=True)
    }


def by_values_in_report(place: Place, detectors: Sequence[str]) -> Values:
    """The values of every series in a report."""
    del detectors
    board = place.blocks["board"]
    blocks = [block for name, block in place.blocks.items() if name.startswith("metric-")]
    rows = [
        {"detector": name, "series": series, "metric": block["metric"], "value": value}
        for block in blocks
        for name, values in zip(board["detectors"], block["values"], strict=True)
        for series, value in zip(board["series"], values, strict=True)
    ]
    return means_of(rows)


@dataclass(frozen=True)
class Route:
    """A way to numbers, which shapes it takes, and how exact they are."""

    name: str
    values: Callable[[Place, Sequence[str]], Values]
    takes: Callable[[Shape], bool] = lambda _shape: True
    in_pairs: bool = False
    tolerance: float = 1e-12
    pools: bool = False
    metrics: tuple[str, ...] = ()
    """Those it can answer for, where that is not all of them."""


def without_runs(shape: Shape) -> bool:
    """Arrays of one run, of detectors that all have the same series."""
    return shape.is_complete and not shape.has_runs


def same_steps_alone(shape: Shape) -> bool:
    """Shapes in which no step is left out because of another detector."""
    return without_runs(shape) and shape.missing != "ignore"


def of_several_series(shape: Shape) -> bool:
    """Shapes of several series."""
    return len(shape.series) > 1


def on_some(*names: str) -> Callable[[Shape], bool]:
    """Shapes of those that take long to try."""
    return lambda shape: shape.name in names


def alone_in_figures(shape: Shape) -> bool:
    """Likewise, where no step is left out because of another detector."""
    return in_figures(shape) and shape.missing != "ignore"


def in_reports(shape: Shape) -> bool:
    """Shapes of which a report is made here; the others are in `test_one_answer_browser`."""
    return shape.name in ("six series", "several series", "dates", "runs", "a file per detector")


def in_figures(shape: Shape) -> bool:
    """Arrays of one run, with buffers in sets."""
    return without_runs(shape) and not shape.by_default


ROUTES: dict[str, Route] = {
    route.name: route
    for route in (
        Route("evaluate", by.evaluate, without_runs),
        Route("evaluate one by one", by.evaluate_alone, same_steps_alone),
        Route("compare", by.compare, without_runs, in_pairs=True),
        Route("leaderboard", by.leaderboard),
        Route(
            "leaderboard of arrays",
            by.leaderboard_of_arrays,
            on_some("six series", "fractions", "ignored", "predictions"),
        ),
        Route("rows of a board", by.scores_of_board),
        Route("pateval score, json", by.score_json),
        Route("pateval score, csv", by.score_csv, on_some("six series", "dates", "runs")),
        Route("pateval score, printed", by.score_table, on_some("six series", "gaps", "runs"), tolerance=PRINTED),
        Route("pateval score, process", by.score_in_a_process, on_some("several series")),
        Route("pateval compare", by.compare_command, in_pairs=True),
        Route("pateval leaderboard", by.leaderboard_command, of_several_series),
        Route("pateval leaderboard, one", by.leaderboard_of_one_series, on_some("one series"), metrics=QUICK),
        Route("pateval leaderboard, written", by.written_board, of_several_series),
        Route("pateval leaderboard, process", by.leaderboard_in_a_process, on_some("several series")),
        Route("scores.parquet", by.saved_scores),
        Route("Leaderboard.load", by.loaded_board),
        Route("board.add", by.board_added, of_several_series),
        Route("pateval board merge", by.boards_merged, on_some("several series", "dates", "a file per detector")),
        Route("evaluate, pooled", by.evaluate_pooled, without_runs, pools=True),
        Route("pateval score, pooled", by.score_pooled, without_runs, pools=True),
        Route("plot buffers", by_figure_of_buffers, alone_in_figures, metrics=("pate",)),
        Route("plot buffer-size", by_figure_of_sizes, in_figures, metrics=("pate(early=6,delay=6)",)),
        Route("plot precision-recall", by_figure_of_curves, in_figures, metrics=("pate",)),
        Route("pateval plot", by_plot_command, on_some("several series", "gaps", "missing=ignore"), metrics=("pate",)),
        Route(
            "audit",
            by_audit,
            on_some("several series", "dates", "missing=ignore", "predictions", "runs"),
            metrics=AUDITED,
        ),
        Route("pateval compare, pooled", by.compare_pooled, without_runs, in_pairs=True, pools=True),
        Route("report", by_report, in_reports),
        Route("report, every series", by_values_in_report, in_reports),
        Route("leaderboard, pooled", by.leaderboard_pooled, without_runs, pools=True),
        Route("pateval leaderboard, pooled", by.leaderboard_command_pooled, without_runs, pools=True),
    )
}

CHANCE_ROUTES: dict[str, Callable[[Place, int], Values]] = {
    "evaluate": by.chance_by_evaluate,
    "pateval score": by.chance_by_score,
    "leaderboard": by.chance_by_leaderboard,
    "pateval leaderboard": by.chance_by_leaderboard_command,
    "board.add": by.chance_by_board_added,
}
