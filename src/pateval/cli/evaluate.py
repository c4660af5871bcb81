"""``pateval score``, ``compare``, ``explain`` and ``buffer``: what some files say of their detectors and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import progress_bar, tell, tell_all
from pateval.cli.output import Output, result_options
from pateval.validation.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pateval.evaluation.buffers import EventSpacing
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.io import ScoredSeries
    from pateval.validation.arrays import BoolArray, FloatArray


def read_scores(files: Sequence[str], columns: dict[str, Any], measures: Measures) -> ScoredFiles:
    """Read all detectors in some files, and say on standard error how the files were understood."""
    from pateval.evaluation.files import ScoredFiles
    from pateval.io import Reading
    from pateval.io.plan import make_plan
    from pateval.leaderboards.diagnostics import long_holes

    plan = make_plan(files, Reading(**columns), needs_times=measures.needs_times)
    tell_all(plan.notes)
    read = ScoredFiles.read(plan, measures)
    if any("early" in metric.global_options for metric in measures.metrics):
        tell_all(check.sentence for check in long_holes(read.spacings(), measures))
    return read


@options.command(
    "score",
    "pateval score mine.csv --metrics pate_ap,vus_pr,point_f1",
    "pateval score mine.csv --label y --score lstm,pca --threshold quantile:0.01",
    "pateval score mine.csv --time date --early 10min --delay 1h -o values.csv",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.measures(options.pooled, options.chance, options.seed)
@options.display
@result_options
def score(
    files: tuple[str, ...],
    columns: dict[str, Any],
    parameters: dict[str, Any],
    display: tuple[str, ...],
    result: Output,
) -> None:
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
    from pateval.io import Reading
    from pateval.io.plan import make_plan

    # What cannot be computed is refused before a file is opened; without metrics, whatever the labels will be.
    Measures.of(**parameters | {"metrics": parameters["metrics"] or "point_f1"})
    plan = make_plan(files, Reading(**columns, allow_channels=True))
    tell_all(plan.notes)
    measures = Measures.of(**parameters, channels=any(layout.channels for layout in plan.layouts))
    read = ScoredFiles.read(plan, measures)
    table = evaluate_detectors(read.detectors(), measures)
    names = options.display_names(display)
    result.emit(lambda style, width: table.to_latex(names=names) if style == "latex" else table.rendered(style, width))
    if result.style not in ("json", "csv"):
        tell_all(table.remarks())
    tell_all(_warnings(read, measures))
    if any(value.failed for found in table.values() for values in found.by_series for value in values.values()):
        raise click.exceptions.Exit(1)


def _warnings(read: ScoredFiles, measures: Measures) -> Iterator[str]:
    """Yield warnings about the data: scores that look inverted, labels that differ, buffers that are too long."""
    from pateval.evaluation.measures import Measures
    from pateval.evaluation.notes import inverted_note
    from pateval.evaluation.values import values_of
    from pateval.leaderboards.diagnostics import label_differences, long_holes, too_long_buffers

    if "auc_roc" not in measures.ids:
        area = Measures.of(metrics="auc_roc", missing=measures.missing)
        for name, runs in read.detectors().items():
            values = {metric: value.value for metric, value in values_of(runs[0], area).items()}
            yield from (f"{name}: {line}" for line in inverted_note(values))
    yield from (check.sentence for check in label_differences(read.plan, read.label_numbers()))
    if any("early" in metric.global_options for metric in measures.metrics):
        spacings = read.spacings()
        checks = *too_long_buffers(spacings, measures), *long_holes(spacings, measures)
        yield from (check.sentence for check in checks)


@options.command(
    "compare",
    "pateval compare mine.csv --score lstm,pca",
    "pateval compare lstm.parquet pca.parquet --metrics pate_ap,vus_pr",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.option("--only", "These two detectors, where the files hold more.", metavar="NAME,NAME")
@options.measures(options.pooled, options.seed)
@options.option("--draws", "Resamples: 200 of pieces, 2000 of series.", type=options.AT_LEAST_0, metavar="N")
@result_options
def compare(
    files: tuple[str, ...],
    columns: dict[str, Any],
    only: str | None,
    parameters: dict[str, Any],
    draws: int | None,
    result: Output,
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
    same = _on_same_steps(read, one, other, measures)
    measures.require_detectors(names)
    found = same.detectors()
    with progress_bar("metrics resampled") as progress:
        compared = compare_runs(found[one], found[other], measures, names=(one, other), draws=draws, progress=progress)
    result.emit(compared.rendered)


def _on_same_steps(read: ScoredFiles, one: str, other: str, measures: Measures) -> ScoredFiles:
    """Both detectors, with the same labels and times on the series that both have.

    Series that only one has are named on standard error; steps that one file ignores are ignored for both.
    """
    from dataclasses import replace

    import numpy as np

    from pateval.io import TableError

    series = {name: list(dict.fromkeys(job.series for job, _, _ in read.only([name]).parts)) for name in (one, other)}
    if not set(series[one]) & set(series[other]):
        if len(series[one]) == len(series[other]) == 1:
            places = f"{one!r} is on series {series[one][0]!r} and {other!r} on {series[other][0]!r}"
            raise TableError(f"{places}: nothing to compare")
        raise TableError(f"{one!r} and {other!r} have no series in common")
    for mine, theirs in ((one, other), (other, one)):
        alone = [name for name in series[mine] if name not in series[theirs]]
        if alone:
            tell(f"not in the differences, since only {mine!r} has it: series {listed(alone, 1)}")
    ignored: dict[str, Any] = {}
    first: dict[str, tuple[Any, Any]] = {}
    for job, item, recording in read.parts:
        known, expected = first.setdefault(job.series, (item, recording))
        steps, name = len(expected.labels), f"series {job.series!r}"
        if len(recording.labels) != steps:
            raise TableError(
                f"{name} has {steps:,} steps in {known.where} and {len(recording.labels):,} in {item.where}; both "
                "detectors must be on the same steps"
            )
        differing = int((recording.labels != expected.labels).sum())
        if differing:
            raise TableError(
                f"{name}: the labels in {known.where} and {item.where} differ on {differing:,} of {steps:,} steps; "
                "both detectors must be on the same labels"
            )
        own_times, known_times = np.asarray(recording.nanoseconds), np.asarray(expected.nanoseconds)
        if measures.needs_times and not np.array_equal(own_times, known_times):
            raise TableError(
                f"the times in {known.where} and {item.where} differ; {measures.needs_times} needs both detectors on "
                "the same clock"
            )
        if recording.ignore is not None:
            ignored[job.series] = recording.ignore | ignored.get(job.series, False)
    parts = [(job, item, replace(recording, ignore=ignored.get(job.series))) for job, item, recording in read.parts]
    return replace(read, parts=parts)


@options.command(
    "explain",
    "pateval explain mine.csv --score lstm --early 20 --delay 20",
    "pateval explain mine.csv --score lstm --threshold 0.8 --steps --format csv",
)
@click.argument("file", metavar="FILE")
@options.columns
@options.threshold
@options.on_clock
@options.option("--only", "Explain this detector or run only, where the file holds several.", metavar="NAME")
@options.only_series
@options.option("--steps", "A row per time step instead of per event.", is_flag=True)
@result_options
def explain(
    file: str,
    columns: dict[str, Any],
    only: str | None,
    only_series: str | None,
    steps: bool,
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
    from pateval.output.text_table import folded, render

    measures = Measures.of(metrics="pate_f1", pooled=True, **parameters)
    read = read_scores([file], columns, measures)
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

    def text(style: str, width: int | None) -> str:
        """Make the printed explanation for people, a row per event or step for programs."""
        if style == "table" and not steps:
            return f"{folded(f'detector {name}', width)}\n{explanation!r}"
        header, rows = (explanation.points if steps else explanation).records()
        return render(["detector", *header], [[name, *row] for row in rows], style, width=width)

    result.emit(text)


@options.command(
    "buffer",
    "pateval buffer mine.csv --label is_anomaly",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.label_columns
@options.option("--value", "Column of the series' own values, in which a period is looked for.", metavar="COLUMN")
@options.buffers_on_clock
@result_options
def buffer(
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

    advice = BufferAdvice(tuple(_spacings(files, columns, value)))
    in_time = next((length for length in (*early, *delay) if isinstance(length, str)), None)
    if in_time is not None and any(row.interval is None for row in advice.rows):
        raise TableError(
            f"{files[0]}: {in_time} is a duration, which needs a column of times; name it with --time, and the unit of "
            "times that are numbers with --time-unit"
        )
    result.emit(advice.rendered)
    tell_all(advice.warnings(early, delay))


def _spacings(files: tuple[str, ...], columns: dict[str, Any], value: str | None) -> list[EventSpacing]:
    """Measure the series in some files, with their own values where a column of them is named."""
    from pateval.evaluation.buffers import EventSpacing
    from pateval.io import Reading
    from pateval.io.batches import read_jobs
    from pateval.io.plan import make_plan, read_labels

    def measured(item: ScoredSeries, labels: BoolArray, values: FloatArray | None) -> EventSpacing:
        return EventSpacing.of(item.series, labels, nanoseconds=item.nanoseconds, values=values, ignore=item.ignore)

    if value is None:
        read = read_labels(files, Reading(**columns))
        tell_all(read.notes)
        return [measured(item, item.checked_labels(), None) for item in read.items]
    plan = make_plan(files, Reading(**columns, score=value))
    tell_all(plan.notes)
    return [measured(item, *item.checked()) for _, item in read_jobs(plan)]
