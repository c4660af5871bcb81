"""The command line: a file for commands that belong together, imported when one of them is called for.

Only the result goes to standard output; progress and notes go to standard error. Exit status: 0, 1 where part of the
work failed and the rest went on, 2 for bad usage or input (one line on standard error), 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from pateval._version import __version__
from pateval.cli.output import abandon_stdout, nearest, not_said, stand_in_for_closed_streams, tell

# Where each command lies, and what `pateval --help` says of it without importing any of them.
COMMANDS = {
    "demo": ("data:demo", "See it work: simple detectors on made series, offline."),
    "score": ("evaluate:score", "All metrics of the detectors in a file."),
    "leaderboard": ("board:leaderboard", "Many detectors on many series, with ranks and significance."),
    "board": ("board:board", "Put leaderboards together; check and publish entries to one."),
    "verify": ("board:verify", "Is a saved leaderboard what its inputs give?"),
    "report": ("board:report", "A leaderboard as one HTML page that opens anywhere."),
    "explain": ("evaluate:explain", "Why a detector gets its number: step by step, event by event."),
    "compare": ("evaluate:compare", "Two detectors: who is better, and is it more than luck?"),
    "alarms": ("alarms:alarms", "Alarms and incidents: found, missed, false, how early."),
    "gate": ("alarms:gate", "May a change go in? Not worse than before, beyond luck."),
    "buffer": ("evaluate:buffer", "Which buffers fit the events in a file."),
    "audit": ("evaluate:audit", "Which metrics can be trusted on your labels and scores."),
    "check": ("data:check", "Labels and series that make a benchmark worthless."),
    "plot": ("plot:command", "A figure from score files: PDF, PNG or SVG."),
    "metrics": ("evaluate:metrics", "The catalogue of metrics."),
    "detect": ("detect:command", "Run detectors on data; write score files."),
    "data": ("data:command", "List, describe and fetch the public data sets."),
    "reproduce": ("reproduce:command", "The paper's tables and figures, printed value beside ours."),
}


FIRST_STEPS = """\
pateval tells how good a time-series anomaly detector really is.

  See it work      pateval demo --save demo
  Score a file     pateval score demo/series-1.csv
  Rank detectors   pateval leaderboard demo/*.csv -o board
  See why          pateval explain demo/series-1.csv --score score_window_pca
  Judge alarms     pateval alarms pages.csv --incidents incidents.csv

'pateval --help' lists all commands; the help of each ends with examples."""


class _Lazy(click.Group):
    """A group whose commands are imported when they are called for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(import_module(f"pateval.cli.{module}"), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            close = nearest(args[0], COMMANDS)
            hint = f" Did you mean '{close}'?" if close else " 'pateval --help' lists the commands."
            raise click.UsageError(f"No such command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="pateval %(version)s", help="Version.")
@click.pass_context
def pateval(context: click.Context) -> None:
    """Tell how good a time-series anomaly detector really is.

    Files are tables by suffix: csv, tsv, txt (also .gz, .zst), parquet, feather, arrow, json, jsonl, npz, npy.
    Start with `pateval demo`; `pateval COMMAND --help` ends with examples.
    """
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every expected error becomes one line on standard error."""
    stand_in_for_closed_streams()
    try:
        status = pateval.main(args=arguments, prog_name="pateval", standalone_mode=False)
        sys.stdout.flush()
    except click.NoSuchOption as error:
        _fail(error.message.rstrip(".") + _near_option(error) + _where_to_look(error.ctx))
    except click.MissingParameter as error:
        _fail(error.format_message().rstrip(".") + _where_to_look(error.ctx))
    except click.UsageError as error:
        _fail(error.format_message())
    except click.ClickException as error:
        _fail(error.format_message(), error.exit_code if error.exit_code != 1 else 2)
    except (KeyboardInterrupt, click.Abort):
        tell("interrupted")  # commands that keep finished work have said so themselves
        sys.exit(130)
    except BrokenPipeError:
        abandon_stdout()  # the reader (head, less) has seen enough
        sys.exit(0)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        if os.environ.get("PATEVAL_DEBUG"):
            raise
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        _fail((_sentence(error) or type(error).__name__) + notes)
    else:
        if refused := not_said():
            _fail(refused)
        sys.exit(status if isinstance(status, int) else 0)


def _near_option(error: click.NoSuchOption) -> str:
    """The option that was probably meant; click compares the dashes too, and finds likeness where there is none."""
    known = {option.lstrip("-"): option for option in error.possibilities or ()}
    close = nearest(error.option_name.lstrip("-"), known, 0.7)
    return f" (did you mean '{known[close]}'?)" if close else ""


def _where_to_look(context: click.Context | None) -> str:
    return "" if context is None else f"; '{context.command_path} --help' shows how it is called"


def _sentence(error: BaseException) -> str:
    """What an error says; the system's errors put a number first and the file last."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ImportError) and str(error).startswith("pyarrow requires NumPy"):
        return f"files are read with pyarrow, and this one does not run here ({error}): pip install 'pyarrow<24'"
    return str(error)


def _fail(message: str, status: int = 2) -> None:
    tell(f"pateval: {' '.join(message.split())}")
    try:
        sys.stdout.flush()
    except OSError:
        abandon_stdout()
    sys.exit(status)
