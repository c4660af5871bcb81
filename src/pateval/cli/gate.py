"""``pateval gate``: whether a change may go in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pateval.cli import options
from pateval.cli.options import length_option, option
from pateval.cli.output import Output, result_options, tell_all

_SCORE_READING = ("score", "label", "time", "series", "time_unit", "time_zone")
_ALARM_OPTIONS = ("merge", "cooldown", "period", "ignore", "series", "time_unit", "time_zone")
_MARGINS = ("margin_missed", "margin_false")


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
    from pateval.alarms.gate import Ledger, board_pairs, decide, digest, file_pairs, list_evidence, metric_evidence
    from pateval.evaluation.measures import Measures
    from pateval.io import Reading

    kept = None if ledger is None else Ledger.open(ledger)
    level = alpha if kept is None else kept.level(alpha)
    for path in (base, new):
        if not Path(path).exists():
            raise click.UsageError(f"{path}: there is no such file or folder")
    if incidents is not None:
        how = {name: settings[name] for name in (*_ALARM_OPTIONS, *_MARGINS)} | {"start": settings["time"]}
        how |= {name: _single(settings[name], name) for name in ("early", "delay")}
        evidence = list_evidence(base, new, incidents, **how)
    else:
        if Path(base).is_dir() and Path(new).is_dir():
            pairs = board_pairs(base, new, settings["metric"], settings["detector"])
        else:
            reading = Reading(**{name: settings[name] for name in _SCORE_READING})
            lengths = {name: settings[name] for name in ("early", "delay", "threshold")}
            measures = Measures.of(metrics=[settings["metric"]], chance=0, **lengths)
            pairs = file_pairs(base, new, reading, measures, tell_all)
        evidence = metric_evidence(pairs, margin=settings["margin"], alpha=level)
    decided = decide(evidence, require, alpha, kept)
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
