"""``pateval metrics`` and ``audit``: the catalogue, and which metrics can be fooled on the labels of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pateval.cli import options
from pateval.cli.evaluate import labels_of, plan_of
from pateval.cli.options import Files, Given, metric_names, option
from pateval.cli.output import Output, progress_bar, result_options, tell, tell_all

if TYPE_CHECKING:
    from pateval.auditing import ScoreAudit


@options.command("metrics")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@option("--emerging", "List the emerging metrics, too, and what is wrong with each.", is_flag=True)
@option("--all everything", "List the emerging metrics and the F-beta of every F1, too.", is_flag=True)
@option(
    "--for=QUESTION,... questions",
    "Which metrics answer a question: every-event, early-warning, few-alarms, exact-extent, papers.",
)
@result_options
def command(ids: tuple[str, ...], emerging: bool, everything: bool, questions: str | None, result: Output) -> None:
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
        found = find_metrics(metric_names(ids))
        result.emit(lambda style, width: described(found, style, width))
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
@option("--labels-only", "Take no notice of scores in the files.", is_flag=True)
@options.measures(options.seed)
@option("--for=QUESTION,... questions", "What to advise on; all questions by default.")
@option("--seeds=N", "Draws of each detector with chance in it.", type=options.AT_LEAST_1, default=20)
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
    from pateval.auditing.advice import audit_text, questions_named
    from pateval.io import NoScoresError

    questions_named(questions)
    if not labels_only:
        try:
            audit = _audit_of_scores(files, columns, parameters, seeds, workers)
        except NoScoresError:
            if questions is not None or columns["score"] or columns["detector"]:
                raise
        else:
            result.emit(lambda style, width: audit_text(audit, files, questions, style, width))
            return
    _audit_labels(files, columns, parameters, seeds, result)


def _audit_of_scores(files: Files, columns: Given, parameters: Given, seeds: int, workers: int | None) -> ScoreAudit:
    from pateval.auditing.scored_run import audit_plan, audited_measures

    measures = audited_measures(**parameters)
    plan = plan_of(files, columns, measures.needs_times)
    try:
        audit = audit_plan(plan, measures, draws=seeds, workers=workers, progress=True)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    tell_all(audit.notes[len(plan.notes) :])
    return audit


def _audit_labels(files: Files, columns: Given, parameters: Given, seeds: int, result: Output) -> None:
    from pateval.auditing import audit
    from pateval.evaluation.measures import Measures

    read = labels_of(files, columns, Measures.of(**parameters).needs_times)
    given = {name: value for name, value in parameters.items() if name not in ("threshold", "missing")}
    with progress_bar("detectors judged") as progress:
        judged = audit(**given, **read.steps, seeds=seeds, progress=progress)
    result.emit(judged.rendered)
    tell(judged.summary())
    if result.style not in ("json", "csv"):
        for row in judged.rows:
            tell_all(f"{row.label}: {reason}" for reason in dict.fromkeys(row.reasons.values()))
