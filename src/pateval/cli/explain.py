"""``pateval explain``: why a detector gets its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
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
    columns: dict[str, Any],
    threshold: Any,
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

    The F1 is the pate_f1 that `pateval score --pooled` prints with the same options: several buffers are averaged over,
    and the threshold is chosen on all steps that are explained; of several series --only-series explains one. The strip
    shows the first events with their surroundings.

    The score column is compared with --threshold; a column of 0/1 predictions is taken as it is with --threshold 1.
    """
    from pateval.evaluation.explanation import explain_recording
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading, TableError
    from pateval.io.plan import make_plan

    measures = Measures.of(
        metrics="pate_f1", early=early, delay=delay, threshold=threshold, max_gap=max_gap, missing=missing, pooled=True
    )
    plan = make_plan([file], Reading(**columns), needs_times=measures.needs_times)
    for note in plan.notes:
        tell(note)
    read = ScoredFiles.read(plan, measures)
    read = read.only(None, None if only_series is None else [only_series])
    titles = {(name, run): f"{name}, run {run}" if run else name for name, run in read.by_run()}
    if only is not None and only not in titles.values():
        read = read.only([only])
    found = {titles[names]: one for names, one in read.by_run().items() if only in (None, *names, titles[names])}
    if len(found) > 1:
        what = "runs" if any(job.run for job, _, _ in read.parts) else "detectors"
        names = ", ".join(map(repr, found))
        raise TableError(f"{file} holds {len(found)} {what} ({names}); choose one with --score or --only")
    ((name, recording),) = found.items()
    if not recording.labels.any():
        raise TableError(f"{file} holds no anomaly: nothing to explain")
    several = recording.starts.size > 1 or columns.get("series") is not None or only_series is not None
    explanation = explain_recording(recording, measures.of_detector(name), names=several)
    result.emit(lambda style, width: _text(name, explanation, style, width, steps=steps))


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
