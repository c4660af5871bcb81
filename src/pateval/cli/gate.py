"""``pateval gate``: whether a change may go in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pateval.cli import options
from pateval.cli.alarms import LENGTH
from pateval.cli.messages import tell
from pateval.cli.output import Output, result_options

if TYPE_CHECKING:
    from pateval.alarms.gate import GateEvidence


_SCORE_READING = ("score", "label", "time", "series", "time_unit", "time_zone")
_ALARM_READING = ("merge", "cooldown", "period", "ignore", "series", "time_unit", "time_zone")


@options.command(
    "gate",
    "pateval gate main.parquet branch.parquet --margin 0.01",
    "pateval gate main-board/ branch-board/ --detector mine --ledger ledger.jsonl",
    "pateval gate old.csv new.csv --incidents incidents.csv --require better",
)
@click.argument("base")
@click.argument("new")
@click.option("--metric", default="pate_ap", show_default=True, help="What to compare scores and boards by.")
@click.option(
    "--margin", type=click.FloatRange(min=0), default=0.01, show_default=True, help="How much worse it may be."
)
@click.option(
    "--alpha", type=click.FloatRange(0, 0.5, min_open=True), default=0.05, show_default=True, help="Level of the test."
)
@click.option(
    "--require",
    type=click.Choice(["not-worse", "better"]),
    default="not-worse",
    show_default=True,
    help="What must be shown.",
)
@click.option("--ledger", type=click.Path(dir_okay=False), metavar="FILE", help="Keep every look; alpha is shared out.")
@click.option("--score", metavar="COLUMN", help="Column of scores, where a file has several.")
@options.label
@options.time
@options.time_unit
@options.time_zone
@options.series
@click.option("--detector", metavar="NAME", help="The detector of a board that holds several.")
@options.buffers_on_clock
@options.threshold
@click.option("--incidents", metavar="FILE", help="BASE and NEW are lists of alarms; these are the incidents.")
@click.option("--period", metavar="FILE", help="Alarms: what was observed.")
@click.option(
    "--ignore",
    metavar="FILE|COLUMN",
    help="Alarms: periods to leave out, or a column of 0/1 that marks rows to leave out.",
)
@click.option("--merge", help="Alarms: join those at most this far apart.", **LENGTH)
@click.option("--cooldown", help="Alarms: suppress those sooner than this after the last one.", **LENGTH)
@options.option(
    "--margin-missed",
    "Alarms: share of the incidents that NEW may miss beyond BASE.",
    type=click.FloatRange(0, 1),
    default=0.05,
    metavar="SHARE",
)
@options.option(
    "--margin-false",
    "Alarms: how many more false ones NEW may have, as a share of those of BASE.",
    type=click.FloatRange(min=0),
    default=0.25,
    metavar="SHARE",
)
@result_options
def command(
    base: str,
    new: str,
    alpha: float,
    require: str,
    ledger: str | None,
    incidents: str | None,
    result: Output,
    **settings: Any,
) -> int:
    """Exit 0 if NEW is shown to be no worse than BASE by more than the margin, 1 if not, 2 for bad input.

    BASE and NEW are score files, leaderboard folders, or with --incidents lists of alarms. Too little evidence is no
    pass. With --ledger the k-th look gets 6/(pi k)^2 of alpha, so that trying a hundred variants does not pass by luck.
    """
    from pateval.alarms.gate import Ledger, decide, digest

    kept = None if ledger is None else Ledger.open(ledger)
    level = alpha if kept is None else kept.level(alpha)
    for path in (base, new):
        if not Path(path).exists():
            raise click.UsageError(f"{path}: there is no such file or folder")
    if incidents is not None:
        evidence = _of_alarms(base, new, incidents, settings)
    elif Path(base).is_dir() and Path(new).is_dir():
        evidence = [_of_boards(base, new, level, settings)]
    else:
        evidence = _of_scores(base, new, level, settings)
    decided = decide(evidence, require, alpha, kept)
    if kept is not None:
        kept.write(decided, digest(base), digest(new))
    result.emit(decided.rendered)
    return 0 if decided.passed else 1


def _of_alarms(base: str, new: str, incidents: str, settings: dict[str, Any]) -> list[GateEvidence]:
    from pateval.alarms.files import judge_alarm_files
    from pateval.alarms.gate import alarm_evidence

    lengths = {name: settings[name] for name in _ALARM_READING}
    lengths |= {name: _single(settings[name], name) for name in ("early", "delay")}
    sources = [_named(path, name) for path, name in ((base, "base"), (new, "new"))]
    table = judge_alarm_files(sources, incidents, start=settings["time"], **lengths)
    if len(table) != 2:
        raise click.UsageError(f"{base} and {new} must hold one detector each; they hold {len(table)}")
    one, other = table.judgements
    margins = {name: settings[name] for name in ("margin_missed", "margin_false")}
    return alarm_evidence(one, other, **margins)


def _named(path: str, name: str) -> Any:
    """The table of a file under another name, since both may have the same stem; an empty one stays a path."""
    from dataclasses import replace

    from pateval.io import NoRowsError, read_table

    try:
        return replace(read_table(path), name=name)
    except NoRowsError:
        return path


def _single(lengths: tuple[Any, ...], name: str) -> Any:
    """One length for alarms; the sets that are the default of metrics mean none."""
    context = click.get_current_context()
    source = context.get_parameter_source(name)
    if source is not None and source.name == "DEFAULT":
        return 0
    if len(lengths) != 1:
        raise click.UsageError(f"--{name} must be one length for alarms")
    return lengths[0]


def _of_boards(base: str, new: str, level: float, settings: dict[str, Any]) -> GateEvidence:
    import numpy as np

    from pateval.alarms.gate import paired_evidence
    from pateval.catalog import find_metrics

    (metric,) = find_metrics([settings["metric"]])
    values = [_board_values(folder, metric.id, settings["detector"]) for folder in (base, new)]
    series = [name for name in values[0] if name in values[1]]
    if not series:
        raise click.UsageError(f"{base} and {new} have no series in common under {metric.id}")
    one, other = (np.array([found[name] for name in series]) for found in values)
    sign = 1 if metric.higher_is_better else -1
    return paired_evidence(metric.id, one, other, margin=settings["margin"], alpha=level, sign=sign)


def _board_values(folder: str, metric: str, detector: str | None) -> dict[str, float]:
    """Values of one detector by series, from a saved board; the mean over runs where there are several."""
    from pateval.io import TableError
    from pateval.leaderboards import Leaderboard

    table = Leaderboard.load(folder).scores
    columns = [table.column(name).to_pylist() for name in ("detector", "series", "metric", "value")]
    rows = [row for row in zip(*columns, strict=True) if row[2] == metric and detector in (None, row[0])]
    names = list(dict.fromkeys(row[0] for row in rows))
    if len(names) != 1:
        what = f"holds {len(names)} detectors with {metric}" if names else f"has no values of {metric}"
        raise TableError(f"{folder}: the board {what}; name one with --detector, or another --metric")
    values: dict[str, list[float]] = {}
    for _, series, _, value in rows:
        values.setdefault(series, []).append(float("nan") if value is None else float(value))
    return {series: sum(runs) / len(runs) for series, runs in values.items()}


def _of_scores(base: str, new: str, level: float, settings: dict[str, Any]) -> list[GateEvidence]:
    from dataclasses import replace

    import numpy as np

    from pateval.alarms.gate import score_evidence
    from pateval.evaluation.files import ScoredFiles
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading, TableError
    from pateval.io.plan import make_plan

    reading = Reading(**{name: settings[name] for name in _SCORE_READING})
    lengths = {name: settings[name] for name in ("early", "delay", "threshold")}
    measures = Measures.of(metrics=[settings["metric"]], chance=0, **lengths)
    pair = []
    for path in (base, new):
        plan = make_plan([path], reading, needs_times=measures.needs_times)
        for note in plan.notes:
            tell(note)
        runs = list(ScoredFiles.read(plan, measures).by_run().values())
        if len(runs) != 1:
            raise click.UsageError(f"{path} holds {len(runs)} detectors; name one with --score")
        # A single series without a name is called by its file.
        pair.append(runs[0] if runs[0].starts.size > 1 else replace(runs[0], names=()))
    one, other = pair
    if one.names != other.names or not np.array_equal(one.starts, other.starts):
        raise TableError(f"{base} and {new} hold different series; both must be on the same steps")
    if not np.array_equal(one.labels, other.labels):
        raise TableError(f"{base} and {new} have different labels; both must be on the same steps")
    return score_evidence(pair, measures, margin=settings["margin"], alpha=level)
