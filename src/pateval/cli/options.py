"""Options that several commands share, each declared once, and how a command with its options is put together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import click

from pateval.validation.wording import in_words

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]

AT_LEAST_0, AT_LEAST_1 = click.IntRange(min=0), click.IntRange(min=1)
_STEPS_OR_DURATIONS = "write steps, as in 100, 0,100 or 0..100, or durations, as in 10min or 0min,2h"


def option(names: str, text: str, **settings: Any) -> Decorator:
    """Declare an option: its names with spaces between, its help, and what `click.option` takes; defaults are shown."""
    if not settings.get("is_flag"):
        settings.setdefault("show_default", settings.get("default") is not None)
    return click.option(*names.split(), help=text, **settings)


def together(*options: Decorator) -> Decorator:
    """Join options, in the order in which the help lists them."""
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(options), command)


def examples(*lines: str) -> str:
    """Return commands as the end of a command's help, one per line, where a terminal still shows them."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


# Where the help lists an option, in the first place that names it; the group without names has all others.
_GROUPS = {
    "Used most": "incidents label score series time metrics early delay threshold format output",
    "Columns": "detector run ignore positive events closed-events labels layout value kind stop",
    "Time": "time-unit time-zone sort max-gap window from to period merge cooldown within",
    "What to compute": "",
    "Output": "wide display overwrite report title figure help",
}
_FEW = 12  # options; so many are read without headings


class GroupedCommand(click.Command):
    """A command whose help lists many options in groups, those used most first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in groups where they are many."""
        records: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                records[max(parameter.opts, key=len).lstrip("-")] = record
        if len(records) <= _FEW:
            super().format_options(ctx, formatter)
            return
        groups = {heading: names.split() for heading, names in _GROUPS.items()}
        others = [name for name in records if not any(name in names for names in groups.values())]
        for heading, names in groups.items():
            shown = [records[name] for name in names or others if name in records]
            if shown:
                with formatter.section(heading):
                    formatter.write_dl(shown)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; an empty word is a variable of the shell that was not set, never the current folder."""
        for before, word in pairwise(["", *args]):
            if not word and before.startswith("-"):
                raise click.UsageError(f"{before} is empty; give it a value, or leave it out")
            if not word:
                raise click.UsageError("a path is empty; name a file or a folder, '.' for the current one")
        return super().parse_args(ctx, args)


def command(name: str, *lines: str, epilog: str | None = None) -> Callable[[Command], click.Command]:
    """Declare a command; ``lines`` are examples of how it is called, below its help."""
    return click.command(name, cls=GroupedCommand, epilog=epilog or (examples(*lines) if lines else None))


def was_given(name: str) -> bool:
    """Whether a parameter of the running command stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _lengths(context: click.Context, parameter: click.Parameter, value: str) -> tuple[Any, ...]:
    """Read numbers of steps, ``100``, ``0,100`` or ``0..100``, or durations, ``10min`` or ``0min,2h``."""
    from pateval.time.clocks import canonical_lengths
    from pateval.validation.arrays import MOST_BUFFERS

    try:
        first, is_range, last = value.partition("..")
        if is_range:
            lengths = range(int(first), int(last) + 1)
            if len(lengths) > MOST_BUFFERS:
                message = f"{in_words(value)} are {len(lengths):,} buffers; at most {MOST_BUFFERS:,} are taken"
                raise click.BadParameter(message, context, parameter)
            return canonical_lengths(lengths, "it")
        parts = [part.strip() for part in value.split(",")]
        return canonical_lengths([part if part[-1:].isalpha() else int(part) for part in parts], "it")
    except (TypeError, ValueError):
        message = f"{in_words(value)} is not a buffer; {_STEPS_OR_DURATIONS}"
        raise click.BadParameter(message, context, parameter) from None


def _length(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    """Read one number of steps or one duration."""
    found = _lengths(context, parameter, value)
    if len(found) != 1:
        raise click.BadParameter(f"{value!r} is not one length; write steps or a duration", context, parameter)
    only: int | str = found[0]
    return only


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Read a duration that is longer than nothing, in its one form."""
    from pateval.time.clocks import duration_text

    try:
        length = None if value is None else duration_text(value)
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is no duration; write a number with a unit, as in 10min or 2h", context, parameter
        ) from None
    if length == "0s":
        raise click.BadParameter(f"{value!r} parts every step from the next; write a longer one", context, parameter)
    return length


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


label = option(
    "--label",
    "Column of labels; guessed by name if not given. Several, with commas, are labels of channels.",
    metavar="COLUMN",
)
score = option(
    "--score", "Column of scores, or several, one per detector. May be repeated.", multiple=True, metavar="COLUMN,..."
)
detector = option("--detector", "Column that tells detectors apart.", metavar="COLUMN")
run = option("--run", "Column that tells runs of a detector apart, such as seeds.", metavar="COLUMN")
series = option("--series", "Column that tells series apart.", metavar="COLUMN")
time = option("--time", "Column of times; guessed by name if not given, not used with 'none'.", metavar="COLUMN")
time_unit = option("--time-unit", "What one unit of times that are numbers is: s, ms, min, h ...", metavar="UNIT")
time_zone = option(
    "--time-zone", "Where dates without a time zone were recorded: UTC, Europe/Berlin ...", metavar="ZONE"
)
sort = option("--sort", "Put the rows of each series in order of time.", is_flag=True)
_OF_STEPS = (
    series,
    time,
    time_unit,
    time_zone,
    sort,
    option(
        "--ignore",
        "What to leave out: a column of 0/1, or a file of intervals with start, stop (and series).",
        metavar="COLUMN|FILE",
    ),
    option(
        "--positive",
        "Label that means an anomaly, where labels are words or classes. May be repeated.",
        multiple=True,
        metavar="LABEL",
    ),
    option("--events", "Anomalies in a file of their own, with start, stop (and series) of each.", metavar="FILE"),
    option("--closed-events", "The stop of an event belongs to it; by default it does not.", is_flag=True),
)


def _gathered(into: str, options: Sequence[Decorator], finish: Callable[[dict[str, Any]], dict[str, Any]]) -> Decorator:
    """Add options, and hand their values to the command as one argument."""

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def call(*arguments: Any, **values: Any) -> Any:
            own = {name: values.pop(name) for name in names}
            return command(*arguments, **{into: finish(own)}, **values)

        known = len(getattr(call, "__click_params__", ()))
        made: Any = together(*options)(call)
        names = [parameter.name for parameter in made.__click_params__[known:]]
        return cast(Command, made)

    return add


def _finished_columns(given: dict[str, Any]) -> dict[str, Any]:
    score = {"score": score_columns(",".join(given["score"]) or None)} if "score" in given else {}
    return given | score | {"positive": given["positive"] or None}


_OF_FOLDERS = (
    option(
        "--layout",
        "What sub-folders and files of a folder name; by default it is found out and announced.",
        type=click.Choice(["detector/series", "series/detector"]),
    ),
    option("--labels", "Labels in a folder of their own, a file for each series.", metavar="FOLDER"),
)
columns = _gathered("columns", (label, score, detector, run, *_OF_STEPS, *_OF_FOLDERS), _finished_columns)
"""Adds what concerns the reading of tables; the command gets ``columns``, keyword arguments of `pateval.io.Reading`."""
label_columns = _gathered("columns", (label, *_OF_STEPS), _finished_columns)
"""Those of them that concern labels."""
missing = option(
    "--missing",
    "What to do without a score: refuse it, leave the step out, or count it as never predicted.",
    type=click.Choice(["error", "ignore", "normal"]),
    default="error",
)
buffers_on_clock = together(
    option(
        "--early",
        "Buffer before an event: 100, or a set like 0,100 or 0..100, or in time 10min or 0min,2h.",
        callback=_lengths,
        default="0,100",
        metavar="STEPS|TIME",
    ),
    option("--delay", "Buffer after an event, likewise.", callback=_lengths, default="0,100", metavar="STEPS|TIME"),
)
on_clock = together(
    buffers_on_clock,
    option(
        "--max-gap", "Longer holes in time part events and zones of PATE, as in 1h.", callback=duration, metavar="TIME"
    ),
    missing,
)
window = option(
    "--window", "Largest window of VUS: 100, or in time 10min.", callback=_length, default="100", metavar="STEPS|TIME"
)
threshold = option(
    "--threshold",
    "How scores become predictions, for metrics that name no threshold: a number, oracle (the default: the best point "
    "F1 of each series), best (each metric's own best), quantile:0.01, standard-deviation:3, median-deviation:3, "
    "peaks-over-threshold, train-quantile:0.01 or train-test-quantile:0.01 (strictly above that of the training scores "
    "in a file of `pateval detect`), alarms:2/1000 (at most two in a thousand steps) or alarms:2/1d (in a day), or "
    "false-alarms:2/1d (two false ones; it sees the labels). COLUMN=RULE is for one detector. May be repeated.",
    callback=_threshold,
    multiple=True,
    metavar="X|RULE|COLUMN=RULE",
)
metrics = option(
    "--metrics",
    "Metrics to compute (`pateval metrics` lists them): ids, ids with options such as 'pate(early=20,delay=20)' or "
    "'point_f1(threshold=best)', package.module:function, or all, scores, predictions, events, emerging. Nine by "
    "default, all in `audit`, which judges metrics. May be repeated.",
    multiple=True,
    metavar="ID,...",
)
pooled = option(
    "--pooled",
    "Take all steps of several series for one sample with one threshold, instead of means over the series.",
    is_flag=True,
)
chance = option(
    "--chance",
    "Vectors of random scores that tell what chance reaches; values not above it are marked.",
    type=AT_LEAST_0,
    default=5,
    metavar="N",
)
seed = option("--seed", "Seed of all that is drawn.", type=AT_LEAST_0, default=0, metavar="N")
display = option(
    "--display",
    "With --format latex: show a detector or metric under another name. May be repeated.",
    multiple=True,
    metavar="NAME=TEXT",
)
rank_by = option("--rank-by", "Metric that orders the detectors; pate_ap where it is computed.", metavar="METRIC")
workers = option("--workers", "Processes here; one per core by default.", type=AT_LEAST_1, metavar="N")
root = option("--root", "Folder the known data sets are kept in.", type=click.Path(file_okay=False), metavar="DIR")
doubt = option(
    "--doubt",
    "How far edges of events may lie elsewhere: steps, or a duration such as 10min where there are times. Shows the "
    "spread over 100 labellings with moved edges, and how often each detector keeps its place.",
    callback=steps_or_duration,
    metavar="STEPS",
)
only_series = option("--only-series", "This series only, where there are several.", metavar="NAME")


def measures(*others: Decorator) -> Decorator:
    """Add ``--metrics``, ``--threshold``, all lengths, and others of ``--pooled --chance --seed``.

    The command gets them as one argument ``parameters``: keyword arguments of `pateval.evaluate` and its kin.
    """
    return _gathered(
        "parameters",
        (metrics, on_clock, window, threshold, *others),
        lambda given: given | {"metrics": metric_names(given["metrics"])},
    )


def display_names(values: tuple[str, ...]) -> dict[str, str]:
    """Read ``NAME=TEXT`` of ``--display``; ids have signs of their own, so the text begins behind the last one."""
    wrong = next((value for value in values if not value.rpartition("=")[0]), None)
    if wrong is not None:
        raise click.UsageError(f"--display takes NAME=TEXT, as in lstm_v2=LSTM; got {in_words(wrong)}")
    return {name: text for name, _, text in (value.rpartition("=") for value in values)}


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


def names_metrics(metrics: list[str] | None) -> bool:
    """Whether single metrics are named, and not none or whole groups of them."""
    from pateval.catalog import GROUPS

    return metrics is not None and not all(name in GROUPS for name in metrics)


def score_columns(value: str | None) -> str | list[str] | None:
    """One score column by name, or several."""
    names = split(value)
    return names[0] if names and len(names) == 1 else names
