"""``pateval alarms``: alarms held against incidents, and thresholds for a budget of false alarms."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from pateval.alarms.files import AlarmTable
    from pateval.alarms.frontier import AlarmFrontier

_POLICY = ("early", "delay", "merge", "cooldown")
LENGTH: Any = {"callback": options.steps_or_duration, "metavar": "TIME"}


@options.command(
    "alarms",
    "pateval alarms pages.csv --incidents incidents.csv --early 30min",
    "pateval alarms scores.csv --incidents incidents.csv --budget 1/1d,5/1d",
    "pateval alarms pages.csv --incidents incidents.csv --report page.html",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--incidents", metavar="FILE", help="Incidents: start and stop, or times; optional series and kind.")
@click.option("--from", "first", metavar="DATE", help="Beginning of the observed time.")
@click.option("--to", "last", metavar="DATE", help="End of it, which does not belong to it.")
@click.option("--period", metavar="FILE", help="Observed periods, with start and stop, optionally of each series.")
@click.option(
    "--ignore", metavar="FILE|COLUMN", help="Periods to leave out, or a column of 0/1 that marks rows to leave out."
)
@click.option("--early", default="0", show_default=True, help="How long before its start an alarm counts.", **LENGTH)
@click.option("--delay", default="0", show_default=True, help="How long after its stop an alarm counts.", **LENGTH)
@click.option("--merge", help="Join alarms at most this far apart.", **LENGTH)
@click.option("--cooldown", help="Suppress alarms that start sooner than this after the last one.", **LENGTH)
@click.option("--within", help="Also tell the share found within this time.", **LENGTH)
@click.option("--by", type=click.Choice(["kind", "series"]), help="Tell kinds of incidents, or series, apart.")
@click.option("--budget", metavar="N/TIME,...", help="Scores: the threshold for so many false alarms, as in 1/1d,5/1d.")
@click.option("--threshold", type=float, metavar="X", help="Scores: judge the alarms at this threshold.")
@click.option("--score", metavar="COLUMN,...", help="Column of scores, or several.")
@click.option("--label", metavar="COLUMN", help="Column of labels, in place of --incidents.")
@click.option("--time", metavar="COLUMN", help="Column of times, or of the starts of alarms.")
@click.option("--stop", metavar="COLUMN", help="Column of the stops of alarms and incidents.")
@options.series
@options.detector
@click.option("--kind", metavar="COLUMN", help="Column of the kind of an incident.")
@options.time_unit
@options.time_zone
@options.sort
@options.option(
    "--max-gap", "Scores: a longer hole ends alarms and is not observed.", callback=options.duration, metavar="TIME"
)
@options.missing
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), metavar="PAGE", help="Also write a page.")
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Scores: also draw the frontier."
)
@result_options
def command(
    files: tuple[str, ...],
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
        _refuse_report(report, files, incidents)
    settings["period"] = _observed(first, last, period)
    sliders: list[tuple[AlarmFrontier, float]] = []
    if all(settings[name] is None for name in ("budget", "threshold", "score")):
        table = _of_lists(files, incidents, settings)
        result.emit(table.rendered)
    else:
        sliders, table = _of_scores(files, incidents, settings)
        asked = settings["budget"] is not None or settings["threshold"] is not None
        result.emit(lambda style, width: _rendered([one for one, _ in sliders], table, asked, style, width))
    if settings["figure"] is not None:
        _draw(sliders, settings["figure"])
    if report is not None:
        from pateval.alarms.page import write_page

        write_page(table, report, sliders=sliders)
        tell(f"wrote {report}")


def _of_lists(files: tuple[str, ...], incidents: str | None, settings: dict[str, Any]) -> AlarmTable:
    """Judge lists of alarms."""
    from pateval.alarms.files import judge_alarm_files
    from pateval.alarms.scored import looks_like_scores

    if incidents is None:
        raise click.UsageError("name the incidents with --incidents FILE")
    for path in files:
        if settings["time"] is None and looks_like_scores(path):
            raise click.UsageError(
                f"{path} holds scores, not alarms; say --budget 1/1d to find a threshold, or --threshold X"
            )
    names = ("period", "ignore", "by", "stop", "series", "detector", "kind", "time_unit", "time_zone")
    given = {name: settings[name] for name in (*names, *_POLICY, "within")}
    table = judge_alarm_files(list(files), incidents, start=settings["time"], **given)
    for note in table.notes:
        tell(note)
    return table


def _of_scores(
    files: tuple[str, ...], incidents: str | None, settings: dict[str, Any]
) -> tuple[list[tuple[AlarmFrontier, float]], AlarmTable]:
    """The frontier of each detector with the threshold that is given or that its first budget chose; and its alarms."""
    from pateval.alarms.files import AlarmTable
    from pateval.alarms.frontier import AlarmFrontier, frontier_of
    from pateval.alarms.matching import Policy
    from pateval.alarms.scored import read_scored_steps
    from pateval.io import Reading

    ignore = settings["ignore"]
    is_file = ignore is not None and Path(ignore).exists()
    names = ("label", "series", "detector", "time", "time_unit", "time_zone", "sort")
    columns = {name: settings[name] for name in names}
    reading = Reading(score=options.score_columns(settings["score"]), ignore=None if is_file else ignore, **columns)
    steps, notes = read_scored_steps(
        files,
        incidents,
        reading,
        Policy(**{name: settings[name] for name in _POLICY}),
        ignore=ignore if is_file else None,
        **{name: settings[name] for name in ("period", "stop", "kind", "max_gap", "missing")},
    )
    for note in notes:
        tell(note)
    budgets, threshold = options.split(settings["budget"]) or [], settings["threshold"]
    # At a threshold that is given nothing is looked for: with a cooldown that could take hours.
    is_judged_only = threshold is not None and not budgets and settings["figure"] is None
    chosen, judgements = [], []
    for one in steps:
        frontier = AlarmFrontier((), {}, one) if is_judged_only else frontier_of(one, budgets)
        # Above all scores nothing is flagged: that is what is left where no threshold keeps a budget.
        found = frontier.thresholds.values() if budgets else [row.threshold for row in frontier.rows]
        level = next((level for level in (threshold, *found) if level is not None), math.inf)
        chosen.append((frontier, level))
        judgements.append(frontier.judge(level, within=settings["within"]))
    return chosen, AlarmTable(tuple(judgements), settings["by"])


def _draw(sliders: list[tuple[AlarmFrontier, float]], figure: Path) -> None:
    if len(sliders) != 1:
        raise click.UsageError("--figure draws the frontier of one column of scores; name it with --score")
    from pateval import plots

    plots.save(plots.frontier(sliders[0][0]), figure)
    tell(f"wrote {figure}")


def _rendered(frontiers: list[AlarmFrontier], table: AlarmTable, asked: bool, style: str, width: int | None) -> str:
    """The frontiers, if they were looked for, and the alarms at the thresholds that were asked for."""
    import json

    from pateval.output.text_table import render

    shown = [one for one in frontiers if one.rows or one.thresholds or not asked]
    if style == "json":
        found = {"frontiers": [one.to_dict() for one in frontiers], **table.to_dict()}
        return json.dumps(found, ensure_ascii=False, allow_nan=False)
    if style == "table":
        return "\n\n".join(one.text(width) for one in (*shown, *([table] if asked else [])))
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
    if (first is None) != (last is None):
        raise click.UsageError("--from and --to go together")
    if first is None or last is None:
        return None
    return [tuple(_time(text) for text in (first, last))]


def _time(text: str) -> Any:
    try:
        return float(text) if not text.isdecimal() else int(text)
    except ValueError:
        return text


def _refuse_report(report: Path, files: tuple[str, ...], incidents: str | None) -> None:
    if not report.parent.is_dir():
        raise click.UsageError(f"--report {report}: there is no folder {report.parent}")
    if report.exists() and any(
        given and Path(given).exists() and report.samefile(given) for given in (*files, incidents)
    ):
        raise click.UsageError(f"--report {report}: the file is read by this command and cannot be its output, too")
