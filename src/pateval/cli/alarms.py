"""``pateval alarms`` and ``gate``: alarms held against incidents, and whether a change may go in."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.options import FILE, Files, Given, chosen, length_option, option
from pateval.cli.output import Output, refuse_target, result_options, tell, tell_all
from pateval.output.harmless import visible
from pateval.output.text_table import render

if TYPE_CHECKING:
    from pateval.alarms.frontier import AlarmFrontier
    from pateval.alarms.judgement import AlarmTable

    Sliders = list[tuple[AlarmFrontier, float]]  # the frontier of each detector, with a threshold


@options.command(
    "alarms",
    "pateval alarms pages.csv --incidents incidents.csv --early 30min",
    "pateval alarms scores.csv --incidents incidents.csv --budget 1/1d,5/1d",
    "pateval alarms pages.csv --incidents incidents.csv --report page.html",
)
@options.files
@option("--incidents=FILE", "Incidents: start and stop, or times; optional series and kind.")
@option("--from=DATE first", "Beginning of the observed time.")
@option("--to=DATE last", "End of it, which does not belong to it.")
@option("--period=FILE", "Observed periods, with start and stop, optionally of each series.")
@option("--ignore=FILE|COLUMN", "Periods to leave out, or a column of 0/1 that marks rows to leave out.")
@length_option("--early", "How long before its start an alarm counts.", default="0")
@length_option("--delay", "How long after its stop an alarm counts.", default="0")
@length_option("--merge", "Join alarms at most this far apart.")
@length_option("--cooldown", "Suppress alarms that start sooner than this after the last one.")
@length_option("--within", "Also tell the share found within this time.")
@option("--by", "Tell kinds of incidents, or series, apart.", type=click.Choice(["kind", "series"]))
@option("--budget=N/TIME,...", "Scores: the threshold for so many false alarms, as in 1/1d,5/1d.")
@option("--threshold=X", "Scores: judge the alarms at this threshold.", type=float)
@option("--score=COLUMN,...", "Column of scores, or several.")
@option("--label=COLUMN", "Column of labels, in place of --incidents.")
@option("--time=COLUMN", "Column of times, or of the starts of alarms.")
@option("--stop=COLUMN", "Column of the stops of alarms and incidents.")
@options.series
@options.detector
@option("--kind=COLUMN", "Column of the kind of an incident.")
@options.time_unit
@options.time_zone
@options.sort
@options.max_gap("Scores: a longer hole ends alarms and is not observed.")
@options.missing
@option("--report=PAGE", "Also write a page.", type=FILE)
@option("--figure=FILE", "Scores: also draw the frontier.", type=FILE)
@result_options
def alarms(
    files: Files, incidents: str | None, report: Path | None, figure: Path | None, result: Output, **settings: Any
) -> None:
    """Hold alarms against incidents: what was found and missed, how soon, and at how many false alarms.

    FILE is a list of alarms, with a column of times or of start and stop; several files, or a column 'detector', are
    several detectors, and two are tested against each other. With --budget, --threshold or --score it is a table of
    scores, one per step.
    """
    if report is not None:
        refuse_target("--report", report, (files, incidents))
    settings["period"] = _observed(**chosen(settings, "first last period"))
    sliders: Sliders = []
    if all(settings[name] is None for name in ("budget", "threshold", "score")):
        table = _of_lists(files, incidents, settings)
        result.emit(table.rendered)
    else:
        sliders, table = _of_scores(files, incidents, settings, needs_frontier=figure is not None)
        asked = settings["budget"] is not None or settings["threshold"] is not None
        result.emit(lambda style, width: _rendered([frontier for frontier, _ in sliders], table, asked, style, width))
    if figure is not None:
        if len(sliders) != 1:
            raise click.UsageError("--figure draws the frontier of one column of scores; name it with --score")
        from pateval import plots

        plots.save(plots.frontier(sliders[0][0]), figure)
        tell(f"wrote {figure}")
    if report is not None:
        from pateval.alarms.page import write_page

        write_page(table, report, sliders=sliders)
        tell(f"wrote {report}")


def _observed(first: str | None, last: str | None, period: str | None) -> object:
    """The observed time, as it is given."""
    if period is not None and (first is not None or last is not None):
        raise click.UsageError("say when things were observed with --period, or with --from and --to, not with both")
    if first is None and last is None:
        return period
    if first is None or last is None:
        raise click.UsageError("--from and --to go together")
    return [(_time(first), _time(last))]


def _time(text: str) -> int | float | str:
    try:
        return float(text) if not text.isdecimal() else int(text)
    except ValueError:
        return text


def _of_lists(files: Files, incidents: str | None, settings: Given) -> AlarmTable:
    """Judge lists of alarms."""
    from pateval.alarms.lists import judge_alarm_files
    from pateval.alarms.scored import looks_like_scores

    for path in files:
        if settings["time"] is None and looks_like_scores(path):
            raise click.UsageError(
                f"{path} holds scores, not alarms; say --budget 1/1d to find a threshold, or --threshold X"
            )
    if incidents is None:
        raise click.UsageError("name the incidents with --incidents FILE")
    reading = chosen(settings, "stop series detector kind time_unit time_zone period ignore")
    judging = chosen(settings, "early delay merge cooldown within by")
    table = judge_alarm_files(list(files), incidents, start=settings["time"], **reading, **judging)
    tell_all(table.notes)
    return table


def _of_scores(
    files: Files, incidents: str | None, settings: Given, *, needs_frontier: bool
) -> tuple[Sliders, AlarmTable]:
    """The frontier of each detector with the threshold that is given or that its first budget chose; and its alarms."""
    from pateval.alarms.frontier import AlarmFrontier, frontier_of
    from pateval.alarms.judgement import AlarmTable
    from pateval.alarms.matching import Policy
    from pateval.alarms.scored import read_scored_steps
    from pateval.io import Reading

    columns = chosen(settings, "label series detector time time_unit time_zone sort ignore")
    periods = chosen(settings, "period stop kind max_gap missing")
    if settings["ignore"] is not None and Path(settings["ignore"]).exists():
        periods["ignore"] = columns.pop("ignore")
    reading = Reading(score=options.score_columns(settings["score"]), **columns)
    policy = Policy(**chosen(settings, "early delay merge cooldown"))
    detectors, notes = read_scored_steps(files, incidents, reading, policy, **periods)
    tell_all(notes)
    budgets, threshold = options.split(settings["budget"]) or [], settings["threshold"]
    # At a threshold that is given nothing is looked for: with a cooldown that could take hours.
    is_judged_only = threshold is not None and not budgets and not needs_frontier
    sliders, judgements = [], []
    for steps in detectors:
        frontier = AlarmFrontier((), {}, steps) if is_judged_only else frontier_of(steps, budgets)
        # Above all scores nothing is flagged: that is what is left where no threshold keeps a budget.
        levels = frontier.thresholds.values() if budgets else [row.threshold for row in frontier.rows]
        level = next((level for level in (threshold, *levels) if level is not None), math.inf)
        sliders.append((frontier, level))
        judgements.append(frontier.judge(level, within=settings["within"]))
    return sliders, AlarmTable(tuple(judgements), settings["by"])


def _rendered(frontiers: list[AlarmFrontier], table: AlarmTable, asked: bool, style: str, width: int | None) -> str:
    """The frontiers, if they were looked for, and the alarms at the thresholds that were asked for."""
    shown = [frontier for frontier in frontiers if frontier.rows or frontier.thresholds or not asked]
    if style == "json":
        content = {"frontiers": [frontier.to_dict() for frontier in frontiers], **table.to_dict()}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    if style == "table":
        blocks = [frontier.text(width) for frontier in shown]
        if len(shown) > 1:
            blocks = [f"{visible(frontier.steps.name)}\n{text}" for frontier, text in zip(shown, blocks, strict=True)]
        return "\n\n".join([*blocks, *([table.text(width)] if asked else [])])
    if not shown:
        return table.rendered(style)
    columns: list[str] = []
    rows: list[list[Any]] = []
    for frontier in shown:
        columns, cells = frontier.records() if style == "csv" else frontier.table()
        rows += [[frontier.steps.name, *row] for row in cells]
    return render(["detector", *columns], rows, style)


@options.command(
    "gate",
    "pateval gate main.parquet branch.parquet --margin 0.01",
    "pateval gate main-board/ branch-board/ --detector mine --ledger ledger.jsonl",
    "pateval gate old.csv new.csv --incidents incidents.csv --require better",
)
@click.argument("base")
@click.argument("new")
@option("--metric=ID", "What to compare scores and boards by.", default="pate_ap")
@option("--margin=X", "How much worse it may be.", type=click.FloatRange(min=0), default=0.01)
@option("--alpha=X", "Level of the test.", type=click.FloatRange(0, 0.5, min_open=True), default=0.05)
@option("--require", "What must be shown.", type=click.Choice(["not-worse", "better"]), default="not-worse")
@option("--ledger=FILE", "Keep every look; alpha is shared out.", type=click.Path(dir_okay=False))
@option("--score=COLUMN", "Column of scores, where a file has several.")
@options.label
@options.time
@options.time_unit
@options.time_zone
@options.series
@option("--detector=NAME", "The detector of a board that holds several.")
@options.buffers_on_clock
@options.threshold
@option("--incidents=FILE", "BASE and NEW are lists of alarms; these are the incidents.")
@option("--period=FILE", "Alarms: what was observed.")
@option("--ignore=FILE|COLUMN", "Alarms: periods to leave out, or a column of 0/1 that marks rows to leave out.")
@length_option("--merge", "Alarms: join those at most this far apart.")
@length_option("--cooldown", "Alarms: suppress those sooner than this after the last one.")
@option(
    "--margin-missed=SHARE",
    "Alarms: share of the incidents that NEW may miss beyond BASE.",
    type=click.FloatRange(0, 1),
    default=0.05,
)
@option(
    "--margin-false=SHARE",
    "Alarms: how many more false ones NEW may have, as a share of those of BASE.",
    type=click.FloatRange(min=0),
    default=0.25,
)
@result_options
def gate(base: str, new: str, ledger: str | None, incidents: str | None, result: Output, **settings: Any) -> int:
    """Exit 0 if NEW is shown to be no worse than BASE by more than the margin, 1 if not, 2 for bad input.

    BASE and NEW are score files, leaderboard folders, or with --incidents lists of alarms. Too little evidence is no
    pass. With --ledger the k-th look gets 6/(pi k)^2 of alpha, so that trying a hundred variants does not pass by luck.
    """
    from pateval.alarms.gate import Ledger, board_pairs, decide, digest, file_pairs, list_evidence, metric_evidence
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading

    kept = None if ledger is None else Ledger.open(ledger)
    alpha = settings["alpha"]
    level = alpha if kept is None else kept.level(alpha)
    for path in (base, new):
        if not Path(path).exists():
            raise click.UsageError(f"{path}: there is no such file or folder")
    if incidents is not None:
        how = chosen(settings, "merge cooldown period ignore series time_unit time_zone margin_missed margin_false")
        how |= {name: _single(settings[name], name) for name in ("early", "delay")}
        evidence = list_evidence(base, new, incidents, start=settings["time"], **how)
    else:
        if Path(base).is_dir() and Path(new).is_dir():
            pairs = board_pairs(base, new, settings["metric"], settings["detector"])
        else:
            reading = Reading(**chosen(settings, "score label time series time_unit time_zone"))
            lengths = chosen(settings, "early delay threshold")
            measures = Measures.of(metrics=[settings["metric"]], chance=0, **lengths)
            pairs = file_pairs(base, new, reading, measures, tell_all)
        evidence = metric_evidence(pairs, margin=settings["margin"], alpha=level)
    decided = decide(evidence, settings["require"], alpha, kept)
    if kept is not None:
        kept.write(decided, digest(base), digest(new))
    result.emit(decided.rendered)
    return 0 if decided.passed else 1


def _single(lengths: tuple[Any, ...], name: str) -> Any:
    """One length for alarms; the sets that are the default of metrics mean none."""
    if not options.was_given(name):
        return 0
    if len(lengths) != 1:
        raise click.UsageError(f"--{name} must be one length for alarms")
    return lengths[0]
