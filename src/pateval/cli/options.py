"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from pateval.validation.wording import in_words

_COLUMN_OPTIONS = (
    "label",
    "score",
    "series",
    "detector",
    "run",
    "time",
    "time_unit",
    "sort",
    "ignore",
    "positive",
    "events",
    "closed_events",
)


_STEPS = "write 100, or a set like 0,100 or 0..100"
_STEPS_OR_DURATIONS = "write steps, as in 100, 0,100 or 0..100, or durations, as in 10min or 0min,2h"


def _buffers(
    context: click.Context, parameter: click.Parameter, value: str | None, remedy: str = _STEPS
) -> tuple[int, ...] | None:
    """Read ``100``, ``0,100`` or ``0..100``."""
    if value is None:
        return None
    try:
        if ".." in value:
            first, last = map(int, value.split(".."))
            lengths = tuple(range(first, last + 1))
        else:
            lengths = tuple(int(part) for part in value.split(","))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 0:
        raise click.BadParameter(f"{in_words(value)} is not a buffer; {remedy}", context, parameter)
    return lengths


def _lengths(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
    """Read numbers of steps as `_buffers` does, or durations: ``10min``, ``0min,30min``."""
    from pateval.time.clocks import canonical_lengths

    if value is None or not any(character.isalpha() for character in value):
        return _buffers(context, parameter, value, _STEPS_OR_DURATIONS)
    try:
        return canonical_lengths([part if not part.strip().isdigit() else int(part) for part in value.split(",")], "it")
    except (TypeError, ValueError):
        message = f"{in_words(value)} is not a buffer; {_STEPS_OR_DURATIONS}"
        raise click.BadParameter(message, context, parameter) from None


def _length(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    """Read one number of steps or one duration."""
    found = _lengths(context, parameter, value)
    if found is not None and len(found) != 1:
        raise click.BadParameter(f"{value!r} is not one length; write steps or a duration", context, parameter)
    return None if found is None else found[0]


def _duration(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from pateval.time.clocks import duration_text

    try:
        return None if value is None else duration_text(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no duration; write a number with a unit, as in 10min or 2h", context, parameter
        ) from None


def steps_or_duration(context: click.Context, parameter: click.Parameter, value: str | None) -> int | str | None:
    """Read ``5`` as steps, and leave ``10min`` as it is."""
    from pateval.time.clocks import nanoseconds

    if value is None or value.isdecimal():
        return value if value is None else int(value)
    try:
        nanoseconds(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is neither a number of steps nor a duration such as 10min", context, parameter
        ) from None
    return value


def _threshold(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Read thresholds: a number or a rule for all detectors, and ``COLUMN=RULE`` for those that have their own."""
    found: dict[str | None, float | str] = {}
    for value in values:
        name, is_own, rule = value.rpartition("=")
        detector = name if is_own else None
        if detector in found:
            whose = f"of {detector!r}" if detector else "for all detectors"
            raise click.BadParameter(f"the threshold {whose} is given twice", context, parameter)
        try:
            found[detector] = float(rule)
        except ValueError:
            found[detector] = rule
    return found.get(None, "oracle") if set(found) <= {None} else found


_LABEL_OPTIONS = (
    click.option(
        "--label",
        metavar="COLUMN",
        help="Column of labels; guessed by name if not given. Several, with commas, are labels of channels.",
    ),
    click.option("--series", metavar="COLUMN", help="Column that tells series apart."),
    click.option(
        "--time", metavar="COLUMN", help="Column of times; guessed by name if not given, not used with 'none'."
    ),
    click.option("--time-unit", metavar="UNIT", help="What one unit of times that are numbers is: s, ms, min, h ..."),
    click.option("--sort", is_flag=True, help="Put the rows of each series in order of time."),
    click.option("--ignore", metavar="COLUMN", help="Column of 0/1 that marks steps to leave out."),
    click.option(
        "--positive",
        multiple=True,
        metavar="LABEL",
        help="Label that means an anomaly, where labels are words or classes. May be repeated.",
    ),
    click.option(
        "--events", metavar="FILE", help="Anomalies in a file of their own, with start, stop (and series) of each."
    ),
    click.option("--closed-events", is_flag=True, help="The stop of an event belongs to it; by default it does not."),
)
_SCORE_OPTIONS = (
    click.option(
        "--score",
        multiple=True,
        metavar="COLUMN,...",
        help="Column of scores, or several, one per detector. May be repeated.",
    ),
    click.option("--detector", metavar="COLUMN", help="Column that tells detectors apart."),
    click.option("--run", metavar="COLUMN", help="Column that tells runs of a detector apart, such as seeds."),
)


def examples(*lines: str) -> str:
    """Return commands as the end of a command's help, one per line, where a terminal still shows them."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


def columns(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--label --score --series --detector``, and what else concerns the reading of tables.

    The command gets them as one argument ``columns``: the keyword arguments of `pateval.io.Reading`.
    """
    label, *others = _LABEL_OPTIONS
    return _gathered(command, (label, *_SCORE_OPTIONS, *others))


def label_columns(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `columns` that concern labels; the command gets them as ``columns``, too."""
    return _gathered(command, _LABEL_OPTIONS)


def _gathered(command: Callable[..., Any], options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    @functools.wraps(command)
    def call(*arguments: Any, **values: Any) -> Any:
        names = {name: values.pop(name) for name in _COLUMN_OPTIONS if name in values}
        names["positive"] = names["positive"] or None
        if "score" in names:
            names["score"] = score_columns(",".join(names["score"]) or None)
        return command(*arguments, columns=names, **values)

    for option in reversed(options):
        call = option(call)
    return call


def buffers_on_clock(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--early --delay`` in steps or time."""
    for option in (
        click.option(
            "--delay",
            callback=_lengths,
            default="0,100",
            show_default=True,
            metavar="STEPS|TIME",
            help="Buffer after an event, likewise.",
        ),
        click.option(
            "--early",
            callback=_lengths,
            default="0,100",
            show_default=True,
            metavar="STEPS|TIME",
            help="Buffer before an event: 100, or a set like 0,100 or 0..100, or in time 10min or 0min,2h.",
        ),
    ):
        command = option(command)
    return command


def on_clock(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--early --delay`` in steps or time, ``--max-gap`` and ``--missing``."""
    for option in (
        click.option(
            "--missing",
            type=click.Choice(["error", "ignore", "normal"]),
            default="error",
            show_default=True,
            help="What to do without a score: refuse it, leave the step out, or count it as never predicted.",
        ),
        click.option(
            "--max-gap",
            callback=_duration,
            metavar="TIME",
            help="Longer holes in time part events and zones of PATE, as in 1h.",
        ),
    ):
        command = option(command)
    return buffers_on_clock(command)


window = click.option(
    "--window",
    callback=_length,
    default="100",
    show_default=True,
    metavar="STEPS|TIME",
    help="Largest window of VUS: 100, or in time 10min.",
)


threshold = click.option(
    "--threshold",
    callback=_threshold,
    multiple=True,
    metavar="X|RULE|COLUMN=RULE",
    help="How scores become predictions, for metrics that name no threshold: a number, oracle (the default: the best "
    "point F1 of each series), best (each metric's own best), quantile:0.01, standard-deviation:3, median-deviation:3, "
    "peaks-over-threshold, train-quantile:0.01 or train-test-quantile:0.01 (strictly above that of the training scores "
    "in a file of `pateval detect`), alarms:2/1000 (at most two in a thousand steps) or alarms:2/1d (in a day). "
    "COLUMN=RULE is for one detector. May be repeated.",
)
metrics = click.option(
    "--metrics",
    multiple=True,
    metavar="ID,...",
    help="Metrics to compute (`pateval metrics` lists them): ids, ids with options such as "
    "'pate(early=20,delay=20)' or 'point_f1(threshold=best)', package.module:function, or all, scores, predictions, "
    "events, emerging. Nine by default, all in `audit`, which judges metrics. May be repeated.",
)
pooled = click.option(
    "--pooled",
    is_flag=True,
    help="Take all steps of several series for one sample with one threshold, instead of means over the series.",
)
chance = click.option(
    "--chance",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Vectors of random scores that tell what chance reaches; values not above it are marked.",
)
seed = click.option(
    "--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of random scores and resamples."
)
rank_by = click.option(
    "--rank-by", metavar="METRIC", help="Metric that orders the detectors; pate_ap where it is computed."
)
workers = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes here; one per core by default."
)


doubt = click.option(
    "--doubt",
    callback=steps_or_duration,
    metavar="STEPS",
    help="How far edges of events may lie elsewhere: steps, or a duration such as 10min where there are times. Shows "
    "the spread over 100 labellings with moved edges, and how often each detector keeps its place.",
)


def names_metrics(metrics: list[str] | None) -> bool:
    """Whether single metrics are named, and not none or whole groups of them."""
    from pateval.catalog import GROUPS

    return metrics is not None and not all(name in GROUPS for name in metrics)


_MEASURES = ("metrics", "early", "delay", "max_gap", "missing", "window", "threshold", "pooled", "chance", "seed")


def measures(*others: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--metrics``, ``--threshold``, all lengths, and others of ``--pooled --chance --seed``.

    The command gets them as one argument ``parameters``: keyword arguments of `pateval.evaluate` and its kin.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def call(*arguments: Any, **values: Any) -> Any:
            parameters = {name: values.pop(name) for name in _MEASURES if name in values}
            parameters["metrics"] = metric_names(parameters["metrics"])
            return command(*arguments, parameters=parameters, **values)

        for option in reversed(others):
            call = option(call)
        return metrics(on_clock(window(threshold(call))))

    return add


def split(value: str | None) -> list[str] | None:
    """Split a comma-separated option."""
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


def metric_names(values: tuple[str, ...]) -> list[str] | None:
    """Split what ``--metrics`` was given at the commas outside brackets; None where it was not given.

    Modules named in ``package.module:function`` are also looked for in the current directory.
    """
    import os
    import sys

    from pateval.catalog.option_text import split_outside_brackets

    names = [name for value in values for name in split_outside_brackets(value) if name]
    if any(":" in name.partition("(")[0] for name in names) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file that lies there takes the place of an installed module
    return names if values else None


def score_columns(value: str | None) -> str | list[str] | None:
    """One score column by name, or several."""
    names = split(value)
    return names[0] if names and len(names) == 1 else names
