"""``pateval audit``: which metrics can be fooled on the labels of a file, and by more than the detectors in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import progress_bar, tell, tell_all
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from pateval.auditing import ScoreAudit
    from pateval.io import Reading

_MAX_FILES_NAMED = 4  # in the command that is advised
_INDENT = "  "  # of the lines a command goes on in


@options.command(
    "audit",
    "pateval audit scores/*.parquet",
    "pateval audit mine.csv --score lstm,pca --metrics pate_ap,point_adjusted_f1",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@options.option("--labels-only", "Take no notice of scores in the files.", is_flag=True)
@options.measures(options.seed)
@options.option("--for questions", "What to advise on; all questions by default.", metavar="QUESTION,...")
@options.option("--seeds", "Draws of each detector with chance in it.", type=options.AT_LEAST_1, default=20)
@options.workers
@result_options
def command(
    files: tuple[str, ...],
    columns: dict[str, Any],
    labels_only: bool,
    parameters: dict[str, Any],
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
    from pateval.auditing.advice import questions_named
    from pateval.io import NoScoresError, Reading

    questions_named(questions)
    reading = Reading(**columns)
    if not labels_only:
        try:
            found = _audit_scores(files, reading, parameters, seeds, workers)
        except NoScoresError:
            if questions is not None or reading.score or reading.detector:
                raise
        else:
            result.emit(lambda style, width: _scores_text(found, files, questions, style, width))
            return
    _audit_labels(files, reading, parameters, seeds, result)


def _audit_scores(
    files: tuple[str, ...], reading: Reading, parameters: dict[str, Any], seeds: int, workers: int | None
) -> ScoreAudit:
    from pateval.auditing.scored_run import audit_plan, audited_measures
    from pateval.io.plan import make_plan

    measures = audited_measures(**parameters)
    plan = make_plan(files, reading, needs_times=measures.needs_times)
    tell_all(plan.notes)
    try:
        found = audit_plan(plan, measures, draws=seeds, workers=workers, progress=True)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    tell_all(found.notes[len(plan.notes) :])
    return found


def _scores_text(
    found: ScoreAudit, files: tuple[str, ...], questions: str | None, style: str, width: int | None
) -> str:
    import shlex

    from pateval.output.text_table import render

    if style == "json":
        return found.to_json()
    if style in ("csv", "latex"):
        return render(*(found.records() if style == "csv" else found.table(wide=True)), style)
    named = [shlex.quote(file) for file in files] if len(files) <= _MAX_FILES_NAMED else ["FILE..."]
    advised = found.advised_metrics(questions)
    if style == "markdown":
        return found.markdown(questions=questions) + (f"\n\n`{_board_command(named, advised)}`" if advised else "")
    shown = found.text(questions=questions, width=width)
    return shown + (f"\n\n{_board_command(named, advised, width)}" if advised else "")


def _board_command(files: Sequence[str], metrics: Sequence[str], width: int | None = None) -> str:
    """Write the command for a leaderboard by these metrics, which goes on in further lines where one is too short."""
    import shlex

    def option(names: Sequence[str]) -> str:
        return f"--metrics {shlex.quote(','.join(names))}"

    whole = " ".join(["pateval leaderboard", *files, option(metrics)])
    if width is None or len(whole) <= width:
        return whole
    room = width - len(f"{_INDENT} \\")
    lines = ["pateval leaderboard"]
    for file in files:
        if len(f"{lines[-1]} {file}") <= room:
            lines[-1] += f" {file}"
        else:
            lines.append(file)
    groups = [[metrics[0]]]
    for name in metrics[1:]:
        if len(option([*groups[-1], name])) <= room:
            groups[-1].append(name)
        else:
            groups.append([name])
    return f" \\\n{_INDENT}".join([*lines, *map(option, groups)])


def _audit_labels(
    files: tuple[str, ...], reading: Reading, parameters: dict[str, Any], seeds: int, result: Output
) -> None:
    from pateval.auditing import audit
    from pateval.evaluation.measures import Measures
    from pateval.io.plan import read_labels

    needs_times = Measures.of(**parameters).needs_times
    read = read_labels(files, reading, needs_times)
    tell_all(read.notes)
    given = {name: value for name, value in parameters.items() if name not in ("threshold", "missing")}
    with progress_bar("detectors judged") as progress:
        found = audit(**given, **read.steps, seeds=seeds, progress=progress)
    result.emit(found.rendered)
    tell(found.summary())
    if result.style not in ("json", "csv"):
        for row in found.rows:
            tell_all(f"{row.label}: {reason}" for reason in dict.fromkeys(row.reasons.values()))
