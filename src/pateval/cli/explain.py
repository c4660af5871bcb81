"""``pateval explain``: why a detector gets its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from pateval.io import ColumnNames
    from pateval.output.explanation import Explanation


@click.command(
    "explain",
    short_help="Why a detector gets its number: step by step, event by event.",
    epilog=options.examples(
        "pateval explain mine.csv --score lstm --early 20 --delay 20",
        "pateval explain mine.csv --score lstm --threshold 0.8 --steps --format csv",
    ),
)
@click.argument("file", metavar="FILE")
@options.columns
@options.threshold
@options.on_clock
@click.option("--only", metavar="NAME", help="Explain this detector or run only, where the file holds several.")
@click.option("--only-series", metavar="NAME", help="Explain this series only, where the file holds several.")
@click.option("--steps", is_flag=True, help="A row per time step instead of per event.")
@result_options
def command(
    file: str,
    columns: ColumnNames,
    threshold: float | str,
    early: tuple[Any, ...],
    delay: tuple[Any, ...],
    max_gap: str | None,
    missing: str,
    only: str | None,
    only_series: str | None,
    steps: bool,
    result: Output,
) -> None:
    """Show what every event in FILE adds to weighted precision and recall.

    The F1 is the pate_f1 that `pateval score` prints with the same options: several buffers are averaged over, and the
    threshold is chosen on all steps that are explained. The strip shows the first events with their surroundings.

    The score column is compared with --threshold; a column of 0/1 predictions is taken as it is with --threshold 1.
    """
    from pateval.catalog import find_metrics
    from pateval.cli.detector_data import read_detectors
    from pateval.evaluation import explain
    from pateval.evaluation.circumstances import what_needs_times
    from pateval.io import TableError

    found = read_detectors(
        [file], columns, only=None if only is None else [only], only_series=only_series, missing=missing
    )
    if len(found) > 1:
        what = "runs" if found[0].run else "detectors"
        names = ", ".join(repr(data.name) for data in found)
        raise TableError(f"{file} holds {len(found)} {what} ({names}); choose one with --score or --only")
    (data,) = found
    labels = data.labels
    if not labels.any():
        raise TableError(f"{file} holds no anomaly: nothing to explain")
    wanted = find_metrics(["pate_f1"])
    needs_times = what_needs_times(wanted, {"early": early, "delay": delay}, threshold=threshold, max_gap=max_gap)
    several = len(data.items) > 1 or columns.get("series") is not None or only_series is not None
    explanation = explain(
        labels,
        scores=data.scores,
        threshold=data.rule(threshold),
        early=early[0] if len(early) == 1 else early,
        delay=delay[0] if len(delay) == 1 else delay,
        series=data.series_of_steps if several else None,
        max_gap=max_gap,
        **data.steps(needs_times),
    )
    result.emit(lambda style, width: _text(data.name, explanation, style, width, steps=steps))


def _text(detector: str, explanation: Explanation, style: str, width: int | None, *, steps: bool) -> str:
    """Make the printed explanation for people, a row per event or step for programs."""
    from pateval.output.text_table import folded, render

    if style == "table" and not steps:
        return f"{folded(f'detector {detector}', width)}\n{explanation!r}"
    if steps:
        columns = {"detector": [detector] * len(explanation.points)} | explanation.points.columns()
        plain = [list(column.tolist() if hasattr(column, "tolist") else column) for column in columns.values()]
        return render(list(columns), zip(*plain, strict=True), style, width=width)
    names, rows = explanation.event_rows()
    return render(["detector", *names], [[detector, *row] for row in rows], style, width=width)
