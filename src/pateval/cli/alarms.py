"""``pateval alarms``: alarms held against incidents, and thresholds for a budget of false alarms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.options import FILE, Files, Given, length_option, option
from pateval.cli.output import Output, refuse_target, result_options, tell, tell_all

if TYPE_CHECKING:
    from pateval.alarms.frontier import AlarmFrontier
    from pateval.alarms.judgement import AlarmTable

_POLICY = ("early", "delay", "merge", "cooldown")
_COLUMNS = ("label", "series", "detector", "time", "time_unit", "time_zone", "sort")
_TABLES = ("stop", "series", "detector", "kind", "time_unit", "time_zone")


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
def command(
    files: Files,
    incidents: str | None,
    first: str | None,
    last: str | None,
    period: str | None,
    report: Path | None,
    result: Output,
    **settings: Any,
) -> None:
    """Hold alarms against incidents: what was found and missed, how soon, and at how many false alarms.

    FILE is a list of alarms, with a column of times or of start and stop; several files, or a column 'detector', are
    several detectors, and two are tested against each other. With --budget, --threshold or --score it is a table of
    scores, one per step.
    """
    if report is not None:
        refuse_target("--report", report, (files, incidents))
    settings["period"] = _observed(first, last, period)
    sliders: list[tuple[AlarmFrontier, float]] = []
    if all(settings[name] is None for name in ("budget", "threshold", "score")):
        table = _of_lists(files, incidents, settings)
        result.emit(table.rendered)
    else:
        sliders, table = _of_scores(files, incidents, settings)
        asked = settings["budget"] is not None or settings["threshold"] is not None
        result.emit(lambda style, width: _rendered([frontier for frontier, _ in sliders], table, asked, style, width))
    if settings["figure"] is not None:
        _draw(sliders, settings["figure"])
    if report is not None:
        from pateval.alarms.page import write_page

        write_page(table, report, sliders=sliders)
        tell(f"wrote {report}")


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
    given = {name: settings[name] for name in ("period", "ignore", "by", *_TABLES, *_POLICY, "within")}
    table = judge_alarm_files(list(files), incidents, start=settings["time"], **given)
    tell_all(table.notes)
    return table


def _of_scores(
    files: Files, incidents: str | None, settings: Given
) -> tuple[list[tuple[AlarmFrontier, float]], AlarmTable]:
    """The frontier of each detector with the threshold that is given or that its first budget chose; and its alarms."""
    from pateval.alarms.frontier import AlarmFrontier, frontier_of
    from pateval.alarms.judgement import AlarmTable
    from pateval.alarms.matching import Policy
    from pateval.alarms.scored import read_scored_steps
    from pateval.io import Reading

    ignore = settings["ignore"]
    is_file = ignore is not None and Path(ignore).exists()
    columns = {name: settings[name] for name in _COLUMNS}
    reading = Reading(score=options.score_columns(settings["score"]), ignore=None if is_file else ignore, **columns)
    steps, notes = read_scored_steps(
        files,
        incidents,
        reading,
        Policy(**{name: settings[name] for name in _POLICY}),
        ignore=ignore if is_file else None,
        **{name: settings[name] for name in ("period", "stop", "kind", "max_gap", "missing")},
    )
    tell_all(notes)
    budgets, threshold = options.split(settings["budget"]) or [], settings["threshold"]
    # At a threshold that is given nothing is looked for: with a cooldown that could take hours.
    is_judged_only = threshold is not None and not budgets and settings["figure"] is None
    sliders, judgements = [], []
    for scored in steps:
        frontier = AlarmFrontier((), {}, scored) if is_judged_only else frontier_of(scored, budgets)
        # Above all scores nothing is flagged: that is what is left where no threshold keeps a budget.
        levels = frontier.thresholds.values() if budgets else [row.threshold for row in frontier.rows]
        level = next((level for level in (threshold, *levels) if level is not None), math.inf)
        sliders.append((frontier, level))
        judgements.append(frontier.judge(level, within=settings["within"]))
    return sliders, AlarmTable(tuple(judgements), settings["by"])


def _draw(sliders: list[tuple[AlarmFrontier, float]], figure: Path) -> None:
    if len(sliders) != 1:
        raise click.UsageError("--figure draws the frontier of one column of scores; name it with --score")
    from pateval import plots

    plots.save(plots.frontier(sliders[0][0]), figure)
    tell(f"wrote {figure}")


def _rendered(frontiers: list[AlarmFrontier], table: AlarmTable, asked: bool, style: str, width: int | None) -> str:
    """The frontiers, if they were looked for, and the alarms at the thresholds that were asked for."""
    import json

    from pateval.output.harmless import visible
    from pateval.output.text_table import render

    shown = [frontier for frontier in frontiers if frontier.rows or frontier.thresholds or not asked]
    if style == "json":
        content = {"frontiers": [frontier.to_dict() for frontier in frontiers], **table.to_dict()}
        return json.dumps(content, ensure_ascii=False, allow_nan=False)
    if style == "table":
        blocks = [frontier.text(width) for frontier in shown]
        if len(shown) > 1:
            blocks = [f"{visible(one.steps.name)}\n{text}" for one, text in zip(shown, blocks, strict=True)]
        return "\n\n".join([*blocks, *([table.text(width)] if asked else [])])
    if not shown:
        return table.rendered(style)
    columns: list[str] = []
    rows: list[list[Any]] = []
    for frontier in shown:
        columns, cells = frontier.records() if style == "csv" else frontier.table()
        rows += [[frontier.steps.name, *row] for row in cells]
    return render(["detector", *columns], rows, style)


def _observed(first: str | None, last: str | None, period: str | None) -> object:
    """The observed time, as it is given."""
    if period is not None:
        if first is not None or last is not None:
            raise click.UsageError(
                "say when things were observed with --period, or with --from and --to, not with both"
            )
        return period
    if first is None and last is None:
        return None
    if first is None or last is None:
        raise click.UsageError("--from and --to go together")
    return [(_time(first), _time(last))]


def _time(text: str) -> Any:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text
