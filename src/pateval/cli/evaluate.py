"""``score``, ``compare``, ``explain``, ``buffer``, ``audit``, ``metrics``: what files say, and the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from pateval.cli import options
from pateval.cli.options import Files, Given
from pateval.cli.output import Output, progress_bar, result_options, tell, tell_all
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
    detectors = read.detectors()
    measures.require_detectors(names)
    with progress_bar("metrics resampled") as progress:
        runs = detectors[one], detectors[other]
        compared = compare_runs(*runs, measures, names=(one, other), draws=draws, progress=progress)
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
    recordings = {key: recording for key, recording in read.by_run().items() if only in (None, *key, titles[key])}
    if len(recordings) > 1:
        what = "runs" if any(run for _, run in recordings) else "detectors"
        names = ", ".join(repr(titles[key]) for key in recordings)
        raise TableError(f"{file} holds {len(recordings)} {what} ({names}); choose one with --score or --only")
    ((key, recording),) = recordings.items()
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


@options.command("metrics")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@options.option("--emerging", "List the emerging metrics, too, and what is wrong with each.", is_flag=True)
@options.option("--all everything", "List the emerging metrics and the F-beta of every F1, too.", is_flag=True)
@options.option(
    "--for=QUESTION,... questions",
    "Which metrics answer a question: every-event, early-warning, few-alarms, exact-extent, papers.",
)
@result_options
def metrics(ids: tuple[str, ...], emerging: bool, everything: bool, questions: str | None, result: Output) -> None:
    """List the metrics, or describe those with the given IDs in full.

    An ID may carry options, as in 'pate(early=20,delay=20)', or be package.module:function. Emerging metrics are a
    preprint's or one group's so far: they are computed where they are named.

    Properties are those of the first table of the PATE paper, by initial: sequential, early, delayed, onset, coverage,
    threshold-free; as `pateval audit` measures them.

    With --for, the metrics that answer a question, measured on made-up series; `pateval audit FILE...` measures the
    same on yours.
    """
    from pateval.catalog import find_metrics
    from pateval.catalog.description import described, listing

    if questions is not None:
        if ids or emerging or everything:
            raise click.UsageError("--for goes without IDs, --emerging and --all")
        from pateval.auditing.advice import answers_text, questions_named
        from pateval.auditing.scored_run import reference_audit

        names, reference = questions_named(questions), reference_audit()
        result.emit(lambda style, width: answers_text(reference, names, style, width))
        return

    if ids:
        named = find_metrics(options.metric_names(ids))
        result.emit(lambda style, width: described(named, style, width))
    else:
        shown = {"emerging": emerging or everything, "with_f_beta": everything}
        result.emit(lambda style, width: listing(style, width, **shown))


@options.command(
    "audit",
    "pateval audit scores/*.parquet",
    "pateval audit mine.csv --score lstm,pca --metrics pate_ap,point_adjusted_f1",
)
@options.files
@options.columns
@options.option("--labels-only", "Take no notice of scores in the files.", is_flag=True)
@options.measures(options.seed)
@options.option("--for=QUESTION,... questions", "What to advise on; all questions by default.")
@options.option("--seeds=N", "Draws of each detector with chance in it.", type=options.AT_LEAST_1, default=20)
@options.workers
@result_options
def audit(
    files: Files,
    columns: Given,
    labels_only: bool,
    parameters: Given,
    questions: str | None,
    seeds: int,
    workers: int | None,
    result: Output,
) -> None:
    """Put every metric on trial, with the scores of real detectors where FILE... has them, else with labels alone.

    With scores: can it be gamed, that is, does a detector without skill (random, constant, everything, spikes at random
    and at regular places; one step per event) reach 90 % of the best real one? Does it recover the order of detectors
    made from the labels with less and less coverage, more delay, more false alarms, more noise? Is its winner that of
    most metrics, and does its ranking last from one half of the series to the other? Then advice: to find every-event,
    for early-warning, few-alarms, exact-extent, or to compare with papers, which metrics did well on these data.
    Metrics whose papers report their own best threshold, such as point_adjusted_f1, are judged there.
    --wide shows all metrics and figures; --format json also names the series that fakes win.

    Without scores (or with --labels-only): every metric judges detectors that should not win. Worthless ones: random
    scores, a constant, everything flagged, spikes at random and at regular intervals, the labels inverted. Poor ones:
    one step per event, every event moved ahead or back by its own length, and the real detector with gaps. The real one
    finds nine of ten events, a tenth of their length late, with some false alarms. The table shows chance (the mean of
    random scores), what the real detector gets, what the metric rewards, by initial (sequential, early, delayed, onset,
    coverage, threshold-free), and the best of the fakes that beat the real one, with the number of others. --wide adds
    the standard deviation of chance, what a constant, everything flagged and the perfect detector get, whether too
    early is told from too late, the PATE paper's claim, and all the fakes.
    """
    from pateval import auditing
    from pateval.auditing.advice import audit_text, questions_named
    from pateval.auditing.scored_run import audit_plan, audited_measures
    from pateval.evaluation.measures import Measures
    from pateval.io import NoScoresError

    questions_named(questions)
    if not labels_only:
        try:
            measures = audited_measures(**parameters)
            plan = plan_of(files, columns, measures.needs_times)
            scored = audit_plan(plan, measures, draws=seeds, workers=workers, progress=True)
        except NoScoresError:
            if questions is not None or columns["score"] or columns["detector"]:
                raise
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
        else:
            tell_all(scored.notes[len(plan.notes) :])
            result.emit(lambda style, width: audit_text(scored, files, questions, style, width))
            return
    read = labels_of(files, columns, Measures.of(**parameters).needs_times)
    given = {name: value for name, value in parameters.items() if name not in ("threshold", "missing")}
    with progress_bar("detectors judged") as progress:
        judged = auditing.audit(**given, **read.steps, seeds=seeds, progress=progress)
    result.emit(judged.rendered)
    tell(judged.summary())
    if result.style not in ("json", "csv"):
        for row in judged.rows:
            tell_all(f"{row.label}: {reason}" for reason in dict.fromkeys(row.reasons.values()))
