"""``pateval score``: all metrics of the detectors in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pateval.cli import options, output

if TYPE_CHECKING:
    from pateval.evaluation import Evaluation


@click.command("score", short_help="All metrics of the detectors in a file.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.metrics
@options.buffers
@click.option("--window", type=click.IntRange(min=0), default=100, show_default=True, help="Largest window of VUS.")
@options.threshold
@output.format_option
def command(
    files: tuple[str, ...],
    label: str | None,
    score: str | None,
    series: str | None,
    detector: str | None,
    metrics: tuple[str, ...],
    early: tuple[int, ...],
    delay: tuple[int, ...],
    window: int,
    threshold: float | str,
    style: str,
) -> None:
    """Compute all metrics of the detectors in FILE... (CSV, Parquet, JSONL, NPZ).

    A file holds labels and one or many score columns, or a detector column; with several files, each is a detector
    named by the file. Several series in a file are pooled where a metric allows it, else their mean is shown.
    """
    import numpy as np

    from pateval.catalog import find_metrics
    from pateval.evaluation import evaluate
    from pateval.io import expand, find_layout, open_table, scored_series

    parameters = {"early": early, "delay": delay, "window": window}
    wanted = find_metrics(options.metric_names(metrics), global_values=parameters)
    results: dict[str, Evaluation] = {}
    for path in expand(files):
        source = open_table(path)
        layout = find_layout(source, label=label, score=options.score_columns(score), series=series, detector=detector)
        for note in layout.notes:
            click.echo(note, err=True)
        parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for item in scored_series(source, layout):
            parts.setdefault(item.detector, []).append(item.checked())
        for name, several in parts.items():
            unique = name if name not in results else f"{path}:{name}"
            results[unique] = evaluate(
                np.concatenate([labels for labels, _ in several]),
                np.concatenate([scores for _, scores in several]),
                metrics=wanted,
                early=early,
                delay=delay,
                window=window,
                threshold=threshold,
                series=np.repeat(np.arange(len(several)), [labels.size for labels, _ in several]),
            )
    _show(results, [metric.id for metric in wanted], style)


def _show(results: dict[str, Evaluation], wanted: list[str], style: str) -> None:
    """Print a column per detector for people, a row per value for programs."""
    if style in ("json", "csv"):
        rows = [
            [
                name,
                metric.id,
                found[metric.id],
                found.reasons.get(metric.id, ""),
                (found.threshold_rule or "") if metric.needs_threshold else "",
                metric.id in found.means,
                found.signatures[metric.id],
            ]
            for name, found in results.items()
            for metric in found.metrics
        ]
        columns = ["detector", "metric", "value", "reason", "threshold", "mean_over_series", "signature"]
        output.show(columns, rows, style)
        return
    first = next(iter(results.values()))
    table = [[first.label(metric), *(found[metric] for found in results.values())] for metric in wanted]
    output.show(["metric", *results], table, style)
    for name, found in results.items():
        if found.threshold is not None:
            click.echo(f"{name}: predictions where score >= {found.threshold:.6g} ({found.threshold_rule})", err=True)
        for note in found.notes:
            click.echo(f"{name}: {note}", err=True)
    reasons = {f"{metric}: {reason}" for found in results.values() for metric, reason in found.reasons.items()}
    for reason in sorted(reasons):
        click.echo(reason, err=True)
    if first.means:
        click.echo(f"{len(first.means)} metrics are means over the series; the others pool all steps", err=True)
