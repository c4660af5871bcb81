"""``pateval buffer``: how long events are, how far apart, and which buffers fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pateval.evaluation.buffers import BufferAdvice, EventSpacing
    from pateval.io import ScoredSeries
    from pateval.validation.arrays import BoolArray, FloatArray

_COLUMNS = {
    "series": "series",
    "steps": "steps",
    "interval": "interval",
    "events": "events",
    "shortest": "shortest event",
    "typical": "typical event",
    "longest": "longest event",
    "gap": "gap",
    "period": "period",
    "suggested": "suggested buffer",
    "suggested_time": "as time",
}

_LONGEST_NAME = 28  # characters of a series on a terminal


@click.command(
    "buffer",
    short_help="Which buffers fit the events in a file.",
    epilog=options.examples(
        "pateval buffer mine.csv --label is_anomaly",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.label_columns
@click.option("--value", metavar="COLUMN", help="Column of the series' own values, in which a period is looked for.")
@options.buffers_on_clock
@result_options
def command(
    files: tuple[str, ...],
    columns: dict[str, Any],
    value: str | None,
    early: tuple[Any, ...],
    delay: tuple[Any, ...],
    result: Output,
) -> None:
    """Say how the series in FILE... are sampled, how long their events are, and which buffers that suggests.

    The suggestion is the period of the values, where --value names them, but no longer than the typical event (the
    median) and half the gap between events; without --value these two; of several series the median. A warning says
    where --early or --delay exceed the typical event or the gap in more than half of the series. Where there is a
    column of times, intervals and buffers are given as durations, too. Steps that --ignore names part events, and are
    not counted.
    """
    from pateval.evaluation.buffers import BufferAdvice
    from pateval.io import TableError

    advice = BufferAdvice(tuple(_measured(files, columns, value)))
    in_time = next((length for length in (*early, *delay) if isinstance(length, str)), None)
    if in_time is not None and any(row.interval is None for row in advice.rows):
        raise TableError(
            f"{files[0]}: {in_time} is a duration, which needs a column of times; name it with --time, and the unit of "
            "times that are numbers with --time-unit"
        )
    result.emit(lambda style, width: _text(advice, style, width))
    for line in advice.warnings(early, delay):
        tell(line)


def _measured(files: tuple[str, ...], columns: dict[str, Any], value: str | None) -> Iterator[EventSpacing]:
    """Measure the series in some files, with their own values where a column of them is named."""
    from pateval.evaluation.buffers import EventSpacing
    from pateval.io import Reading
    from pateval.io.batches import read_jobs
    from pateval.io.plan import make_plan, read_labels

    found: list[tuple[ScoredSeries, BoolArray, FloatArray | None]]
    if value is None:
        read = read_labels(files, Reading(**columns))
        notes, found = read.notes, [(item, item.checked_labels(), None) for item in read.items]
    else:
        plan = make_plan(files, Reading(**columns, score=value))
        notes, found = plan.notes, [(item, *item.checked()) for _, item in read_jobs(plan)]
    for line in notes:
        tell(line)
    for item, labels, values in found:
        yield EventSpacing.of(item.series, labels, nanoseconds=item.nanoseconds, values=values, ignore=item.ignore)


def _text(advice: BufferAdvice, style: str, width: int | None) -> str:
    from dataclasses import asdict

    from pateval.output.text_table import cut_in_the_middle, folded, render

    if style == "json":
        return advice.to_json()
    records = [asdict(row) for row in advice.rows]
    if style == "csv":
        return render(list(_COLUMNS), [[record[name] for name in _COLUMNS] for record in records], style)
    shown = [name for name in _COLUMNS if any(record[name] is not None for record in records)]
    if len(records) == 1 and style == "table":
        facts = [(_COLUMNS[name], f"{records[0][name]}") for name in shown]
        table = "\n".join(f"{name:<18}{fact}" for name, fact in facts)
    else:
        if style == "table" and width is not None:
            shown = [name for name in shown if name not in ("steps", "shortest", "longest")]
            records = [{**record, "series": cut_in_the_middle(record["series"], _LONGEST_NAME)} for record in records]
        rows = [[record[name] for name in shown] for record in records]
        table = render([_COLUMNS[name] for name in shown], rows, style, width=width)
    if style != "table":
        return table
    if advice.suggested is None:
        return f"{table}\n\nno events: no buffer to suggest"
    as_time = advice.suggested_time
    sentence = f"--early {advice.suggested} --delay {advice.suggested} fits these events"
    in_time = f", or in time --early {as_time} --delay {as_time}" if as_time else ""
    return f"{table}\n\n{folded(sentence + in_time, width)}"
