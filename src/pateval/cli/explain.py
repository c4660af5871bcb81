"""``pateval explain``: why a detector gets its number."""

from __future__ import annotations

import click

from pateval.cli import options, output


@click.command("explain", short_help="Why a detector gets its number: step by step, event by event.")
@click.argument("file", metavar="FILE")
@options.columns
@options.threshold
@click.option("--early", type=click.IntRange(min=0), default=100, show_default=True, help="Buffer before an event.")
@click.option("--delay", type=click.IntRange(min=0), default=100, show_default=True, help="Buffer after an event.")
@click.option("--only", metavar="NAME", help="Explain this detector only, where the file holds several.")
@click.option("--steps", is_flag=True, help="A row per time step instead of per event (with --format json, csv ...).")
@output.format_option
def command(
    file: str,
    label: str | None,
    score: str | None,
    series: str | None,
    detector: str | None,
    threshold: float | str,
    early: int,
    delay: int,
    only: str | None,
    steps: bool,
    style: str,
) -> None:
    """Show what every event in FILE adds to weighted precision and recall.

    The score column is compared with --threshold; a column of 0/1 predictions is taken as it is with --threshold 1.
    """
    import numpy as np

    from pateval.evaluation import choose_threshold
    from pateval.io import TableError, find_layout, open_table, scored_series
    from pateval.pate.explain import explain

    source = open_table(file)
    layout = find_layout(source, label=label, score=options.score_columns(score), series=series, detector=detector)
    for note in layout.notes:
        click.echo(note, err=True)
    parts: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    for item in scored_series(source, layout):
        if only in (None, item.detector):
            parts.setdefault(item.detector, []).append((item.series, *item.checked()))
    if not parts:
        raise TableError(f"{file} holds no detector named {only!r}")
    if len(parts) > 1:
        raise TableError(f"{file} holds {len(parts)} detectors ({', '.join(parts)}); choose one with --score or --only")
    ((name, several),) = parts.items()
    labels, scores = (np.concatenate([part[place] for part in several]) for place in (1, 2))
    at, rule = choose_threshold(labels, scores, threshold)
    if at is None:
        raise TableError(f"{file} holds no anomaly: nothing to explain")
    click.echo(f"{name}: predictions where score >= {at:.6g} ({rule})", err=True)
    explanation = explain(
        labels,
        scores >= at,
        early=early,
        delay=delay,
        series=np.repeat(np.arange(len(several)), [part[1].size for part in several]),
    )
    if steps:
        points = explanation.points
        weights = (points.true_positive, points.false_positive, points.false_negative)
        rows = zip(range(len(points)), points.category, points.event, *weights, strict=True)
        columns = ["step", "category", "event", "true_positive", "false_positive", "false_negative"]
        output.show(columns, ([int(a), str(b), int(c), *map(float, d)] for a, b, c, *d in rows), style)
    elif style == "table":
        click.echo(repr(explanation))
    else:
        fields = list(type(explanation.events[0]).__dataclass_fields__)
        output.show(fields, ([getattr(event, field) for field in fields] for event in explanation.events), style)
