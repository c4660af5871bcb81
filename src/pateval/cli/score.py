"""``pateval score``: all metrics of the detectors in a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from pateval.cli.detector_data import DetectorData
    from pateval.evaluation import Evaluation
    from pateval.io import ColumnNames


@click.command(
    "score",
    short_help="All metrics of the detectors in a file.",
    epilog=options.examples(
        "pateval score mine.csv --metrics pate_ap,vus_pr,point_f1",
        "pateval score mine.csv --label y --score lstm,pca --threshold quantile:0.01",
        "pateval score mine.csv --time date --early 10min --delay 1h -o values.csv",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.metrics
@options.on_clock
@options.window
@options.threshold
@click.option(
    "--chance",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Vectors of random scores that tell what chance reaches; values not above it are marked.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the random scores.")
@result_options
def command(
    files: tuple[str, ...],
    columns: ColumnNames,
    metrics: tuple[str, ...],
    early: tuple[Any, ...],
    delay: tuple[Any, ...],
    max_gap: str | None,
    missing: str,
    window: int | str,
    threshold: float | str,
    chance: int,
    seed: int,
    result: Output,
) -> None:
    """Compute all metrics of the detectors in FILE... (`-` for standard input).

    A file holds labels and one or many score columns, or a detector column. Files with one score column are a detector
    each, named by the file; files with the same several columns are series. Several series are pooled where a metric
    allows it, else their mean is shown. Runs of a detector are shown one by one; a leaderboard takes their mean.

    Beside the values stands what random scores reach on the same labels; a star marks a detector that is not above it.
    """
    from pateval.catalog import find_metrics
    from pateval.cli.detector_data import read_detectors
    from pateval.evaluation import evaluate
    from pateval.evaluation.circumstances import what_needs_times
    from pateval.evaluation.threshold_rules import check_threshold, uses_training_scores

    parameters = {"early": early, "delay": delay, "window": window}
    check_threshold(threshold)
    wanted = find_metrics(options.metric_names(metrics), global_values=parameters)
    needs_times = what_needs_times(wanted, parameters, threshold=threshold, max_gap=max_gap)
    detectors = read_detectors(files, columns, missing=missing, allow_channels=True)
    if not metrics and any(data.has_channels for data in detectors):
        wanted = [metric for metric in find_metrics(None, global_values=parameters, channels=True) if metric.channels]
        needs_times = what_needs_times(wanted, parameters, threshold=threshold, max_gap=max_gap)
    results: dict[str, Evaluation] = {}
    # What chance reaches does not depend on the detector, unless its scores decide which steps count or how many are
    # predicted.
    shared: dict[bytes, Evaluation] = {}
    depends = missing == "ignore" or not isinstance(threshold, str) or uses_training_scores(threshold)
    for data in detectors:
        labels, which = data.labels, data.series_of_steps
        key = labels.tobytes() + repr((data.series, data.sizes)).encode()
        found = evaluate(
            labels,
            data.scores,
            metrics=wanted,
            early=early,
            delay=delay,
            window=window,
            threshold=data.rule(threshold),
            series=which,
            max_gap=max_gap,
            chance=chance,
            seed=seed,
            **data.steps(needs_times),
        )
        first = found if depends else shared.setdefault(key, found)
        results[data.name] = replace(found, random_scores=first.random_scores)
    result.emit(lambda style, width: _text(results, [metric.id for metric in wanted], style, width))
    if result.style not in ("json", "csv"):
        _tell(results)
    shows_area = any(metric.id == "auc_roc" for metric in wanted)
    has_buffers = any("early" in metric.global_options for metric in wanted)
    for line in _of_data(detectors, early if has_buffers else (), delay if has_buffers else (), shows_area=shows_area):
        tell(line)


_SAME_CHANCE = 0.01  # what random scores reach on labels that are nearly the same may differ by less


def _of_data(
    detectors: Sequence[DetectorData], early: Sequence[Any], delay: Sequence[Any], *, shows_area: bool
) -> Iterator[str]:
    """Yield warnings about the data: labels that differ between files, buffers that are too long."""
    from pateval.evaluation.buffers import EventSpacing, long_buffers

    if not shows_area:
        yield from (line for data in detectors for line in _inverted(data))
    known: dict[str, tuple[DetectorData, np.ndarray]] = {}
    spacings: dict[str, EventSpacing] = {}
    odd: dict[tuple[str, str], list[str]] = {}
    for data in detectors:
        for item, (labels, _) in zip(data.items, data.checked, strict=True):
            first, expected = known.setdefault(item.series, (data, labels))
            of_series = f"series {item.series!r}: " if item.has_series_column else ""
            if item.series not in spacings and labels.ndim == 1:
                spacings[item.series] = EventSpacing.of(
                    item.series, labels, nanoseconds=item.nanoseconds, ignore=item.ignore
                )
            if labels.shape != expected.shape:
                odd.setdefault((data.path, first.path), []).append(
                    f"{of_series}{len(expected):,} steps there and {len(labels):,} here"
                )
            elif first.path != data.path and (labels != expected).any():
                differing = int((labels != expected).sum())
                odd.setdefault((data.path, first.path), []).append(f"{of_series}{differing:,} steps")
    for (path, first_path), places in odd.items():
        more = f" and {len(places) - 1} more series" if len(places) > 1 else ""
        yield (
            f"{path}: labels or lengths differ from those in {first_path} ({places[0]}{more}); each file is scored "
            "with its own labels"
        )
    yield from long_buffers(list(spacings.values()), early, delay)


def _inverted(data: DetectorData) -> Iterator[str]:
    """Point out scores that look inverted, where the metrics asked for do not show it."""
    import numpy as np

    from pateval.evaluation.circumstances import inverted_note
    from pateval.metrics import auc_roc

    labels = data.labels
    if labels.ndim == 1 and labels.any() and not labels.all() and "ignore" not in data.steps(""):
        present = ~np.isnan(data.scores.astype(np.float64))
        if labels[present].any() and not labels[present].all():
            area = auc_roc(labels[present], data.scores[present])
            yield from (f"{data.name}: {line}" for line in inverted_note({"auc_roc": area}))


def _text(results: dict[str, Evaluation], wanted: list[str], style: str, width: int | None) -> str:
    """Make a column per detector for people, a row per value for programs."""
    from pateval.evaluation.result import NOT_ABOVE
    from pateval.output.text_table import TEXT_FORMATS, fitted, render

    if style in ("json", "csv"):
        columns: dict[str, list[Any]] = {}
        for name, found in results.items():
            given = {key: list(value) if isinstance(value, tuple) else value for key, value in found.options.items()}
            text = " ".join(f"{key}={value}" for key, value in given.items())
            rows = {"detector": [name] * len(found)} | found.columns()
            rows["options"] = [given if style == "json" else text] * len(found)
            for key, values in rows.items():
                columns.setdefault(key, []).extend(values)
        return render(list(columns), zip(*columns.values(), strict=True), style)
    first = next(iter(results.values()))
    levels = {
        metric: [found.chance[metric] for found in results.values() if metric in found.chance] for metric in wanted
    }
    one_level = bool(first.chance) and all(
        max(reached) - min(reached) < _SAME_CHANCE for reached in levels.values() if reached
    )
    header, cells = ["metric"], [[first.label(metric)] for metric in wanted]
    if one_level:
        header.append("chance")
        for row, metric in zip(cells, wanted, strict=True):
            row.append(_figure(sum(levels[metric]) / len(levels[metric]) if levels[metric] else None))
    marked = any(found.mark(metric) for found in results.values() for metric in wanted)
    for name, found in results.items():
        header += [name] if one_level or not found.chance else [name, f"chance of {name}"]
        for row, metric in zip(cells, wanted, strict=True):
            row.append(_figure(found[metric], found.mark(metric) or " " * marked))
            if found.chance and not one_level:
                row.append(_figure(found.chance.get(metric)))
    sides = [False] + [True] * (len(header) - 1)
    if style == "table" and width is not None:
        table = fitted(header, cells, sides, width)
    else:
        table = TEXT_FORMATS[style](header, [[cell.strip() for cell in row] for row in cells], sides)
    return f"{table}\n\n{NOT_ABOVE}" if marked and style == "table" else table


def _figure(value: float | None, mark: str = "") -> str:
    from pateval.output.text_table import cell_text

    return f"{cell_text(value)}{mark}"


def _tell(results: dict[str, Evaluation]) -> None:
    """Say on standard error where predictions came from, and why values are missing."""
    first = next(iter(results.values()))
    for name, found in results.items():
        if found.threshold_rule is not None:
            tell(f"{name}: predictions where {found.prediction_text}")
        for note in found.notes:
            tell(f"{name}: {note}")
    reasons = {f"{metric}: {reason}" for found in results.values() for metric, reason in found.reasons.items()}
    for reason in sorted(reasons):
        tell(reason)
    if first.means:
        means = "1 metric is a mean" if len(first.means) == 1 else f"{len(first.means)} metrics are means"
        tell(f"{means} over the series; the others pool all steps")
