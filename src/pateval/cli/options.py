"""Options that several commands share, each declared once, and how a command with its options is put together."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import click

from pateval.time.clocks import canonical_lengths, duration_text, nanoseconds
from pateval.validation.arrays import MOST_BUFFERS
from pateval.validation.wording import in_words

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
Files = tuple[str, ...]
Given = dict[str, Any]
"""Options by their names, as a command hands them on."""

AT_LEAST_0, AT_LEAST_1 = click.IntRange(min=0), click.IntRange(min=1)
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_STEPS_OR_DURATIONS = "write steps, as in 100, 0,100 or 0..100, or durations, as in 10min or 0min,2h"


def option(names: str, text: str, **settings: Any) -> Decorator:
    """Declare an option: its names, the placeholder behind ``=`` and what the function calls it; its help; the rest.

    ``"-o --output=DIR folder"`` has the placeholder DIR, and the command gets it as ``folder``. What `click.option`
    takes may follow; defaults are shown.
    """
    declared, _, rest = names.partition("=")
    metavar, _, called = rest.partition(" ")
    if metavar:
        settings["metavar"] = metavar
    if not settings.get("is_flag"):
        settings.setdefault("show_default", settings.get("default") is not None)
    return click.option(*declared.split(), *called.split(), help=text, **settings)


def together(*options: Decorator) -> Decorator:
    """Join options, in the order in which the help lists them."""
    return lambda command: functools.reduce(lambda made, add: add(made), reversed(options), command)


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
            _find_metrics_of(Path(word.partition("=")[2] if word.startswith("--") else word))
        return super().parse_args(ctx, args)


def command(
    name: str, *lines: str, epilog: str | None = None, of: click.Group | None = None
) -> Callable[[Command], click.Command]:
    """Declare a command, of a group where it is part of one; ``lines`` are examples of how it is called."""
    if lines:
        epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])
    return (of or click).command(name, cls=GroupedCommand, epilog=epilog)


def was_given(name: str) -> bool:
    """Whether a parameter of the running command stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def read_by(read: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Make a callback of an option from a function that reads its text; what that refuses, click says in its form."""

    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except ValueError as error:
            raise click.BadParameter(str(error), context, parameter) from None

    return callback


def _files_or_none(files: Any) -> list[str] | bool | None:
    """Read an option that names files, or says "none"."""
    return False if files == ("none",) else list(files) or None


def _lengths(text: str) -> tuple[Any, ...]:
    """Read numbers of steps, ``100``, ``0,100`` or ``0..100``, or durations, ``10min`` or ``0min,2h``."""
    try:
        first, is_range, last = text.partition("..")
        if not is_range:
            parts = [part.strip() for part in text.split(",")]
            return canonical_lengths([part if part[-1:].isalpha() else int(part) for part in parts], "it")
        number = int(last) + 1 - int(first)
        if number <= MOST_BUFFERS:
            return canonical_lengths(range(int(first), int(last) + 1), "it")
    except (TypeError, ValueError):
        raise ValueError(f"{in_words(text)} is not a buffer; {_STEPS_OR_DURATIONS}") from None
    raise ValueError(f"{in_words(text)} are {number:,} buffers; at most {MOST_BUFFERS:,} are taken")


def _length(text: str) -> int | str:
    """Read one number of steps or one duration."""
    lengths = _lengths(text)
    if len(lengths) != 1:
        raise ValueError(f"{text!r} is not one length; write steps or a duration")
    return lengths[0]


def _duration(text: str) -> str:
    """Read a duration that is longer than nothing, in its one form."""
    try:
        length = duration_text(text)
    except ValueError:
        raise ValueError(f"{text!r} is no duration; write a number with a unit, as in 10min or 2h") from None
    if length == "0s":
        raise ValueError(f"{text!r} parts every step from the next; write a longer one")
    return length


def _steps_or_duration(text: str) -> int | str:
    """Read ``5`` as steps, and leave ``10min`` as it is."""
    if text.isdecimal():
        return int(text)
    try:
        nanoseconds(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a number of steps nor a duration such as 10min") from None
    return text


def _thresholds(values: Sequence[str]) -> Any:
    """Read thresholds: a number or a rule for all detectors, and ``NAME=RULE`` for those that have their own."""
    thresholds: dict[str | None, float | str] = {}
    for value in values:
        name, is_own, rule = value.rpartition("=")
        detector = name if is_own else None
        if detector in thresholds:
            whose = f"of {detector!r}" if detector else "for all detectors"
            raise ValueError(f"the threshold {whose} is given twice")
        try:
            thresholds[detector] = float(rule)
        except ValueError:
            thresholds[detector] = rule
    return thresholds.get(None, "oracle") if set(thresholds) <= {None} else thresholds


def _display_names(values: Sequence[str]) -> dict[str, str]:
    """Read ``NAME=TEXT``; ids have signs of their own, so the text begins behind the last one."""
    for value in values:
        if not value.rpartition("=")[0]:
            raise click.UsageError(f"--display takes NAME=TEXT, as in lstm_v2=LSTM; got {in_words(value)}")
    return {name: text for name, _, text in (value.rpartition("=") for value in values)}


def length_option(names: str, text: str, **settings: Any) -> Decorator:
    """Declare an option of one length, in steps or in time."""
    return option(f"{names}=TIME", text, callback=read_by(_steps_or_duration), **settings)


files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
label = option(
    "--label=COLUMN", "Column of labels; guessed by name if not given. Several, with commas, are labels of channels."
)
detector = option("--detector=COLUMN", "Column that tells detectors apart.")
series = option("--series=COLUMN", "Column that tells series apart.")
time = option("--time=COLUMN", "Column of times; guessed by name if not given, not used with 'none'.")
time_unit = option("--time-unit=UNIT", "What one unit of times that are numbers is: s, ms, min, h ...")
time_zone = option("--time-zone=ZONE", "Where dates without a time zone were recorded: UTC, Europe/Berlin ...")
sort = option("--sort", "Put the rows of each series in order of time.", is_flag=True)
_OF_STEPS = (
    series,
    time,
    time_unit,
    time_zone,
    sort,
    option(
        "--ignore=COLUMN|FILE",
        "What to leave out: a column of 0/1, or a file of intervals with start, stop (and series).",
    ),
    option(
        "--positive=LABEL",
        "Label that means an anomaly, where labels are words or classes. May be repeated.",
        multiple=True,
    ),
    option("--events=FILE", "Anomalies in a file of their own, with start, stop (and series) of each."),
    option("--closed-events", "The stop of an event belongs to it; by default it does not.", is_flag=True),
)
_OF_DETECTORS = (
    option("--score=COLUMN,...", "Column of scores, or several, one per detector. May be repeated.", multiple=True),
    detector,
    option("--run=COLUMN", "Column that tells runs of a detector apart, such as seeds."),
)
_OF_FOLDERS = (
    option(
        "--layout",
        "What sub-folders and files of a folder name; by default it is found out and announced.",
        type=click.Choice(["detector/series", "series/detector"]),
    ),
    option("--labels=FOLDER", "Labels in a folder of their own, a file for each series."),
)


def gathered(into: str, options: Sequence[Decorator], finish: Callable[[Given], Any]) -> Decorator:
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


def _finished_columns(given: Given) -> Given:
    score = {"score": score_columns(",".join(given["score"]) or None)} if "score" in given else {}
    return given | score | {"positive": given["positive"] or None}


columns = gathered("columns", (label, *_OF_DETECTORS, *_OF_STEPS, *_OF_FOLDERS), _finished_columns)
"""Adds what concerns the reading of tables; the command gets ``columns``, keyword arguments of `pateval.io.Reading`."""
label_columns = gathered("columns", (label, *_OF_STEPS), _finished_columns)
"""Those of them that concern labels."""
missing = option(
    "--missing",
    "What to do without a score: refuse it, leave the step out, or count it as never predicted.",
    type=click.Choice(["error", "ignore", "normal"]),
    default="error",
)
buffers_on_clock = together(
    option(
        "--early=STEPS|TIME",
        "Buffer before an event: 100, or a set like 0,100 or 0..100, or in time 10min or 0min,2h.",
        callback=read_by(_lengths),
        default="0,100",
    ),
    option("--delay=STEPS|TIME", "Buffer after an event, likewise.", callback=read_by(_lengths), default="0,100"),
)


def max_gap(text: str) -> Decorator:
    """Declare ``--max-gap``, the length of holes that part events."""
    return option("--max-gap=TIME", text, callback=read_by(_duration))


on_clock = together(buffers_on_clock, max_gap("Longer holes in time part events and zones of PATE, as in 1h."), missing)
_window = option(
    "--window=STEPS|TIME", "Largest window of VUS: 100, or in time 10min.", callback=read_by(_length), default="100"
)
threshold = option(
    "--threshold=X|RULE|NAME=RULE",
    "How scores become predictions, for metrics that name no threshold: a number, oracle (the default: the best point "
    "F1 of each series), best (each metric's own best), quantile:0.01, standard-deviation:3, median-deviation:3, "
    "peaks-over-threshold, train-quantile:0.01 or train-test-quantile:0.01 (strictly above that of the training scores "
    "in a file of `pateval detect`), alarms:2/1000 (at most two in a thousand steps) or alarms:2/1d (in a day), or "
    "false-alarms:2/1d (two false ones; it sees the labels). NAME=RULE is for one detector. May be repeated.",
    callback=read_by(_thresholds),
    multiple=True,
)
_metrics = option(
    "--metrics=ID,...",
    "Metrics to compute (`pateval metrics` lists them): ids, ids with options such as 'pate(early=20,delay=20)' or "
    "'point_f1(threshold=best)', package.module:function, or all, scores, predictions, events, emerging. Nine by "
    "default, all in `audit`, which judges metrics. May be repeated.",
    multiple=True,
)
pooled = option(
    "--pooled",
    "Take all steps of several series for one sample with one threshold, instead of means over the series.",
    is_flag=True,
)
chance = option(
    "--chance=N",
    "Vectors of random scores that tell what chance reaches; values not above it are marked.",
    type=AT_LEAST_0,
    default=5,
)
seed = option("--seed=N", "Seed of all that is drawn.", type=AT_LEAST_0, default=0)
display = option(
    "--display=NAME=TEXT names",
    "With --format latex: show a detector or metric under another name. May be repeated.",
    callback=read_by(_display_names),
    multiple=True,
)
rank_by = option("--rank-by=METRIC", "Metric that orders the detectors; pate_ap where it is computed.")
control = option(
    "--control=NAME", "Compare the others with this detector alone: fewer tests than for every two, so more is found."
)
by_kind = option(
    "--kinds by",
    "Judge each kind of event by itself, too: short, medium and long ones, or those of each class of labels.",
    type=click.Choice(["length", "class"]),
)
one_liners = option(
    "--one-liners=FILE|none",
    "Scores of what needs no training, such as `pateval detect moving_median ...` writes; by default a constant and "
    "four rules on the values of the series, where FILE has a column of them. May be repeated.",
    multiple=True,
    callback=read_by(_files_or_none),
)
dask = option("--dask=ADDRESS", "Compute on a Dask cluster, for example tcp://host:8786.")
workers = option("--workers=N", "Processes here; one per core by default.", type=AT_LEAST_1)
root = option("--root=DIR", "Folder the known data sets are kept in.", type=FOLDER)
doubt = option(
    "--doubt=STEPS",
    "How far edges of events may lie elsewhere: steps, or a duration such as 10min where there are times. Shows the "
    "spread over 100 labellings with moved edges, and how often each detector keeps its place.",
    callback=read_by(_steps_or_duration),
)
only_series = option("--only-series=NAME", "This series only, where there are several.")


def measures(*others: Decorator) -> Decorator:
    """Add ``--metrics``, ``--threshold``, all lengths, and others of ``--pooled --chance --seed``.

    The command gets them as one argument ``parameters``: keyword arguments of `pateval.evaluate` and its kin.
    """
    return gathered(
        "parameters",
        (_metrics, on_clock, _window, threshold, *others),
        lambda given: given | {"metrics": metric_names(given["metrics"])},
    )


def chosen(given: Given, names: str) -> Given:
    """Those options of a command that are named, with spaces between."""
    return {name: given[name] for name in names.split()}


def split(value: str | None) -> list[str] | None:
    """Split a comma-separated option."""
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


def metric_names(values: tuple[str, ...]) -> list[str] | None:
    """Split what ``--metrics`` was given at the commas outside brackets; None where it was not given.

    Modules named in ``package.module:function`` are also looked for in the current directory.
    """
    from pateval.catalog.option_text import split_outside_brackets

    names = [name for value in values for name in split_outside_brackets(value) if name]
    _look_here_for(names)
    return names if values else None


def _find_metrics_of(board: Path) -> None:
    """Look for the metrics of a saved leaderboard as `metric_names` does, where it was computed from this directory.

    A leaderboard that comes from elsewhere runs no file that lies here.
    """
    try:
        run = json.loads((board / "run.json").read_text(encoding="utf-8"))
        if run["reading"]["directory"] == os.getcwd():
            _look_here_for(map(str, run["measures"]["metrics"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # none, or one that its reader refuses
        return


def _look_here_for(names: Iterable[str]) -> None:
    if any(":" in name.partition("(")[0] for name in names) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that no file that lies there takes the place of an installed module


def names_metrics(metrics: list[str] | None) -> bool:
    """Whether single metrics are named, and not none or whole groups of them."""
    from pateval.catalog import GROUPS

    return metrics is not None and not all(name in GROUPS for name in metrics)


def score_columns(value: str | None) -> str | list[str] | None:
    """One score column by name, or several."""
    names = split(value)
    return names[0] if names and len(names) == 1 else names
