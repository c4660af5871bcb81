"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _buffers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
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
        raise click.BadParameter(
            f"{value!r} is not a buffer; write 100, or a set like 0,100 or 0..100", context, parameter
        )
    return lengths


def _threshold(context: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """Read a number, or leave the name of a rule as it is."""
    del context, parameter
    try:
        return float(value) if value is not None else None
    except ValueError:
        return value


def columns(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--label --score --series --detector``."""
    for option in (
        click.option("--detector", metavar="COLUMN", help="Column that tells detectors apart."),
        click.option("--series", metavar="COLUMN", help="Column that tells series apart."),
        click.option("--score", metavar="COLUMN,...", help="Column of scores, or several, one per detector."),
        click.option("--label", metavar="COLUMN", help="Column of labels; guessed by name if not given."),
    ):
        command = option(command)
    return command


def buffers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--early --delay``."""
    for option in (
        click.option(
            "--delay",
            callback=_buffers,
            default="0,100",
            show_default=True,
            metavar="STEPS",
            help="Buffer after an event, likewise.",
        ),
        click.option(
            "--early",
            callback=_buffers,
            default="0,100",
            show_default=True,
            metavar="STEPS",
            help="Buffer before an event: 100, or a set like 0,100 or 0..100.",
        ),
    ):
        command = option(command)
    return command


threshold = click.option(
    "--threshold",
    callback=_threshold,
    default="oracle",
    show_default=True,
    metavar="X|RULE",
    help="How scores become predictions: a number, or oracle, quantile:0.01, standard-deviation:3, "
    "median-deviation:3, peaks-over-threshold.",
)
metrics = click.option(
    "--metrics",
    multiple=True,
    metavar="ID,...",
    help="Metrics to compute, all by default (`pateval metrics` lists them): ids, ids with options such as "
    "'pate(early=20,delay=20)', or package.module:function. May be repeated.",
)


def split(value: str | None) -> list[str] | None:
    """Split a comma-separated option."""
    return None if value is None else [part.strip() for part in value.split(",") if part.strip()]


def metric_names(values: tuple[str, ...]) -> list[str] | None:
    """Split what ``--metrics`` was given at the commas outside brackets; None where it was not given.

    Modules named in ``package.module:function`` are also looked for in the current directory.
    """
    import os
    import sys

    from pateval.option_text import split_outside_brackets

    names = [name for value in values for name in split_outside_brackets(value) if name]
    if any(":" in name for name in names) and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return names if values else None


def score_columns(value: str | None) -> str | list[str] | None:
    """One score column by name, or several."""
    names = split(value)
    return names[0] if names and len(names) == 1 else names
