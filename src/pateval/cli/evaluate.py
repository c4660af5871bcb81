"""``pateval score``, ``compare``, ``explain`` and ``buffer``: what some files say of their detectors and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from pateval.cli import options
from pateval.cli.options import Files, Given
from pateval.cli.output import Output, progress_bar, result_options, tell_all
from pateval.output.text_table import folded, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.io.plan import Plan
    from pateval.io.series import LabelledSeries


def plan_of(files: Sequence[str], columns: Given, needs_times: str = "") -> Plan:
    """Plan how to read some files, and say on standard error how they were understood."""
    from pateval.io import Reading
    from pateval.io.plan import make_plan

    plan = make_plan(files, Reading(**columns), needs_times=needs_times)
    tell_all(plan.notes)
    return plan


def labels_of(files: Sequence[str], columns: Given, needs_times: str = "") -> LabelledSeries:
    """Read the labels in some files, and say on standard error how they were understood."""
    from pateval.io import Reading
    from pateval.io.plan import read_labels

    read = read_labels(files, Reading(**columns), needs_times)
    tell_all(read.notes)
    return read


def read_scores(files: Sequence[str], columns: Given, measures: Measures) -> ScoredFiles:
    """Read all detectors in some files, as `plan_of` does, and say where times have holes."""
    from pateval.evaluation.files import ScoredFiles
    from pateval.leaderboards.diagnostics import long_holes

    read = ScoredFiles.read(plan_of(files, columns, measures.needs_times), measures)
    tell_all(check.sentence for check in long_holes(read.labels().spacings.values(), measures))
    return read


@options.command(
    "score",
    "pateval score mine.csv --metrics pate_ap,vus_pr,point_f1",
    "pateval score mine.csv --label y --score lstm,pca --threshold quantile:0.01",
    "pateval score mine.csv --time date --early 10min --delay 1h -o values.csv",
)
@options.files
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@options.display
@result_options
def score(files: Files, columns: Given, parameters: Given, names: dict[str, str], result: Output) -> None:
    """Compute metrics of the detectors in FILE... (`-` for standard input).

    A file holds labels and one or many score columns, or a detector column. Files with one score column are a detector
    each, named by the file; files with the same several columns are series. With several series every value is the mean
    over those where it is defined, with thresholds chosen on each; runs of a detector are averaged on each series
    first. --pooled takes all steps for one sample instead.

    Beside the values stands what random scores reach on the same labels; a star marks a detector that is not above it.
    """
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.evaluation.run import evaluate_detectors

    # What cannot be computed is refused before a file is opened; without metrics, whatever the labels will be.
    Measures.of(**parameters | {"metrics": parameters["metrics"] or "point_f1"})
    plan = plan_of(files, columns | {"allow_channels": True})
    measures = Measures.of(**parameters, channels=any(layout.channels for layout in plan.layouts))
    read = ScoredFiles.read(plan, measures)
    table = evaluate_detectors(read.detectors(), measures)
    result.emit(lambda style, width: table.to_latex(names=names) if style == "latex" else table.rendered(style, width))
    if result.style not in ("json", "csv"):
        tell_all(table.remarks())
    tell_all(_warnings(read, measures))
    series = [values for evaluation in table.values() for values in evaluation.by_series]
    if any(value.failed for values in series for value in values.values()):
        raise click.exceptions.Exit(1)


def _warnings(read: ScoredFiles, measures: Measures) -> Iterator[str]:
    """Yield warnings about the data: scores that look inverted, labels that differ, buffers that are too long."""
    from pateval.evaluation.measures import Measures
    from pateval.evaluation.notes import inverted_note
    from pateval.evaluation.values import values_of
    from pateval.leaderboards.diagnostics import data_checks

    if "auc_roc" not in measures.ids:
        area = Measures.of(metrics="auc_roc", missing=measures.missing)
        for name, runs in read.detectors().items():
            values = {metric: value.value for metric, value in values_of(runs[0], area).items()}
            yield from (f"{name}: {line}" for line in inverted_note(values))
    checks = data_checks(read.plan, read.labels(), measures)
    yield from (check.sentence for check in checks)


@options.command(
    "compare",
    "pateval compare mine.csv --score lstm,pca",
    "pateval compare lstm.parquet pca.parquet --metrics pate_ap,vus_pr",
)
@options.files
@options.columns
@options.option("--only=NAME,NAME", "These two detectors, where the files hold more.")
@options.measures(options.pooled, options.seed)
@options.option("--draws=N", "Resamples: 200 of pieces, 2000 of series.", type=options.AT_LEAST_0)
@result_options
def compare(
    files: Files, columns: Given, only: str | None, parameters: Given, draws: int | None, result: Output
) -> None:
    """Compare the detector in file A with the one in file B, or two detectors that all files hold.

    For each metric: both values, their difference, its 95 % limits, and on how much of the data the first detector is
    better. One series is cut midway between its events and the pieces are drawn again and again, for both detectors
    alike; with many series whole series are drawn. Fewer than five events, or series, give no limits. Steps that
    --ignore names in one file, or with --missing ignore have no score in one, are left out for both.
    """
    from pateval.evaluation.comparison import compare_runs
    from pateval.evaluation.measures import Measures
    from pateval.io import TableError

    measures = Measures.of(**parameters, chance=0)
    read = read_scores(files, columns, measures).only(options.split(only))
    names = list(dict.fromkeys(job.detector for job, _, _ in read.parts))
    if len(names) != 2:
        remedy = "choose two with --only NAME,NAME or --score COLUMN,COLUMN"
        if len(names) < 2:
            remedy = "give the file of the second detector too, or both columns with --score COLUMN,COLUMN"
        raise TableError(
            f"two detectors are compared; {' and '.join(files)} hold{'s' if len(files) == 1 else ''} {len(names)} "
            f"({', '.join(map(repr, names))}); {remedy}"
        )
    one, other = names
    read, notes = read.on_same_steps(one, other, needs_times=measures.needs_times)
    tell_all(notes)
    found = read.detectors()
    measures.require_detectors(names)
    with progress_bar("metrics resampled") as progress:
        compared = compare_runs(found[one], found[other], measures, names=(one, other), draws=draws, progress=progress)
    result.emit(compared.rendered)


@options.command(
    "explain",
    "pateval explain mine.csv --score lstm --early 20 --delay 20",
    "pateval explain mine.csv --score lstm --threshold 0.8 --steps --format csv",
)
@click.argument("file", metavar="FILE")
@options.columns
@options.threshold
@options.on_clock
@options.option("--only=NAME", "Explain this detector or run only, where the file holds several.")
@options.only_series
@options.option("--steps", "A row per time step instead of per event.", is_flag=True)
@options.by_kind
@result_options
def explain(
    file: str,
    columns: Given,
    only: str | None,
    only_series: str | None,
    steps: bool,
    by: Any,
    result: Output,
    **parameters: Any,
) -> None:
    """Show what every event in FILE adds to weighted precision and recall.

    The F1 is the pate_f1 that `pateval score --pooled` prints with the same options: several buffers are averaged over,
    and the threshold is chosen on all steps that are explained; of several series --only-series explains one. The strip
    shows the first events with their surroundings.

    The score column is compared with --threshold; a column of 0/1 predictions is taken as it is with --threshold 1.
    """
    from pateval.evaluation.explanation import explain_recording
    from pateval.evaluation.measures import Measures
    from pateval.io import TableError

    measures = Measures.of(metrics="pate_f1", pooled=True, **parameters)
    read = read_scores([file], columns, measures)
    read = read.only(None, None if only_series is None else [only_series])
    titles = {(item.detector, item.run): item.title for _, item, _ in read.parts}
    if only is not None and only not in titles.values():
        read = read.only([only])
    found = {key: one for key, one in read.by_run().items() if only in (None, *key, titles[key])}
    if len(found) > 1:
        what = "runs" if any(run for _, run in found) else "detectors"
        names = ", ".join(repr(titles[key]) for key in found)
        raise TableError(f"{file} holds {len(found)} {what} ({names}); choose one with --score or --only")
    ((key, recording),) = found.items()
    name, kinds = titles[key], by
    if by == "class":
        own = [item for _, item, _ in read.parts if (item.detector, item.run) == key]
        kinds = np.concatenate([item.label_classes() for item in own])
    if not recording.labels.any():
        raise TableError(f"{file} holds no anomaly: nothing to explain")
    several = recording.starts.size > 1 or columns.get("series") is not None or only_series is not None
    explanation = explain_recording(recording, measures.of_detector(name), names=several, by=kinds)

    def text(style: str, width: int | None) -> str:
        """Make the printed explanation for people, a row per event or step for programs."""
        if style == "table" and not steps:
            return f"{folded(f'detector {name}', width)}\n{explanation!r}"
        header, rows = (explanation.points if steps else explanation).records()
        if by is not None and not steps:
            header = list(explanation.kinds[0].columns())
            rows = [list(kind.row_dicts()[0].values()) for kind in explanation.kinds]
        return render(["detector", *header], [[name, *row] for row in rows], style, width=width)

    result.emit(text)


@options.command("buffer", "pateval buffer mine.csv --label is_anomaly")
@options.files
@options.label_columns
@options.option("--value=COLUMN", "Column of the series' own values, in which a period is looked for.")
@options.buffers_on_clock
@result_options
def buffer(
    files: Files, columns: Given, value: str | None, early: tuple[Any, ...], delay: tuple[Any, ...], result: Output
) -> None:
    """Say how the series in FILE... are sampled, how long their events are, and which buffers that suggests.

    The suggestion is the period of the values, where --value names them, but no longer than the typical event (the
    median) and half the gap between events; without --value these two; of several series the median. A warning says
    where --early or --delay exceed the typical event or the gap in more than half of the series. Where there is a
    column of times, intervals and buffers are given as durations, too. Steps that --ignore names part events, and are
    not counted.
    """
    from pateval.evaluation.buffers import BufferAdvice, EventSpacing
    from pateval.io import TableError
    from pateval.io.units import read_jobs

    measured: list[tuple[Any, ...]]  # each series with its labels, and with its own values where a column is named
    if value is None:
        measured = [(item, item.checked_labels(), None) for item in labels_of(files, columns).items]
    else:
        measured = [(item, *item.checked()) for item in read_jobs(plan_of(files, columns | {"score": value}))]
    advice = BufferAdvice(
        tuple(
            EventSpacing.of(item.series, labels, nanoseconds=item.nanoseconds, values=values, ignore=item.ignore)
            for item, labels, values in measured
        )
    )
    in_time = next((length for length in (*early, *delay) if isinstance(length, str)), None)
    if in_time is not None and any(row.interval is None for row in advice.rows):
        raise TableError(
            f"{files[0]}: {in_time} is a duration, which needs a column of times; name it with --time, and the unit of "
            "times that are numbers with --time-unit"
        )
    result.emit(advice.rendered)
    tell_all(advice.warnings(early, delay))
