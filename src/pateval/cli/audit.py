"""``pateval audit``: which metrics can be fooled on the labels of a file, and by more than the detectors in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options
from pateval.cli.progress import progress_bar

if TYPE_CHECKING:
    from pateval.io import ColumnNames
    from pateval.leaderboards.plan import Plan
    from pateval.leaderboards.tasks import Settings


_MAX_FILES_NAMED = 4  # in the command that is advised
_INDENT = "  "  # of the lines a command goes on in


@click.command(
    "audit",
    short_help="Which metrics can be trusted on your labels and scores.",
    epilog=options.examples(
        "pateval audit scores/*.parquet",
        "pateval audit mine.csv --score lstm,pca --metrics pate_ap,point_adjusted_f1",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.columns
@click.option("--labels-only", is_flag=True, help="Take no notice of scores in the files.")
@options.metric_options
@click.option("--for", "questions", metavar="QUESTION,...", help="What to advise on; all questions by default.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Draws of each detector with chance in it.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Where the draws begin.")
@options.workers
@result_options
def command(
    files: tuple[str, ...],
    columns: ColumnNames,
    labels_only: bool,
    parameters: options.MetricOptions,
    questions: str | None,
    seeds: int,
    seed: int,
    workers: int | None,
    result: Output,
) -> None:
    """Put every metric on trial, with the scores of real detectors where FILE... has them, else with labels alone.

    With scores: can it be gamed, that is, does a detector without skill (random, constant, everything, spikes at random
    and at regular places; one step per event) reach 90 % of the best real one? Does it recover the order of detectors
    made from the labels with less and less coverage, more delay, more false alarms, more noise? Is its winner that of
    most metrics, and does its ranking last from one half of the series to the other? Then advice: to find every-event,
    for early-warning, few-alarms, exact-extent, or to compare with papers, which metrics did well on these data.
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
    from pateval.auditing.scored_run import refuse_training_rule
    from pateval.leaderboards.run import choose

    questions_named(questions)
    refuse_training_rule(parameters["threshold"])
    settings = choose(**parameters, chance=0, event_draws=0, seed=seed)
    plan = None if labels_only else _plan(files, columns, questions, settings.needs_times)
    if plan is None:
        _audit_labels(files, columns, settings, seeds, result)
    else:
        _audit_scores(files, plan, settings, seeds, workers, questions, result)


def _plan(files: tuple[str, ...], columns: ColumnNames, questions: str | None, needs_times: str) -> Plan | None:
    """The jobs of the score files; None where the files hold labels and no scores, and none were asked for."""
    from pateval.io import NoScoresError
    from pateval.leaderboards.plan import make_plan

    try:
        plan = make_plan(files, **columns, needs_times=needs_times, strict=True)
    except NoScoresError:
        if questions is not None or columns.get("score") or columns.get("detector"):
            raise
        return None
    for line in plan.notes:
        tell(line)
    return plan


def _audit_scores(
    files: tuple[str, ...],
    plan: Plan,
    settings: Settings,
    seeds: int,
    workers: int | None,
    questions: str | None,
    result: Output,
) -> None:
    import shlex

    from pateval.auditing.scored_run import try_metrics
    from pateval.leaderboards.executors import WorkerPool
    from pateval.output.text_table import render

    try:
        with WorkerPool(workers=workers) as pool:
            found = try_metrics(plan, settings, pool=pool, draws=seeds, progress=True)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    for line in found.notes[len(plan.notes) :]:
        tell(line)
    named = [shlex.quote(file) for file in files] if len(files) <= _MAX_FILES_NAMED else ["FILE..."]
    advised = found.advised_metrics(questions)

    def text(style: str, width: int | None) -> str:
        if style == "json":
            return found.to_json()
        if style in ("csv", "latex"):
            return render(*(found.records() if style == "csv" else found.table(wide=True)), style)
        if style == "markdown":
            return found.markdown(questions=questions) + (f"\n\n`{_board_command(named, advised)}`" if advised else "")
        shown = found.text(questions=questions, width=width)
        return shown + (f"\n\n{_board_command(named, advised, width)}" if advised else "")

    result.emit(text)


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


def _audit_labels(files: tuple[str, ...], columns: ColumnNames, settings: Settings, seeds: int, result: Output) -> None:
    from pateval.auditing import audit
    from pateval.cli.detector_data import labelled_steps, read_labels
    from pateval.output.text_table import render

    named: Any = {name: value for name, value in columns.items() if name not in ("score", "detector")}
    items = read_labels(files, named, tell=tell)
    given = {
        name: settings.parameters[name]
        for name in ("early", "delay", "window", "max_gap")
        if name in settings.parameters
    }
    with progress_bar("detectors judged") as progress:
        found = audit(
            metrics=settings.metrics,
            seeds=seeds,
            seed=settings.seed,
            progress=progress,
            **given,
            **labelled_steps(items, settings.needs_times),
        )

    def text(style: str, width: int | None) -> str:
        if style in ("json", "csv"):
            return render(*found.records(), style)
        return render(*found.table(wide=style != "table" or width is None), style, width=width)

    result.emit(text)
    tell(found.summary())
    if result.style not in ("json", "csv"):
        for row in found.rows:
            for reason in dict.fromkeys(row.reasons.values()):
                tell(f"{row.metric.id}: {reason}")
