"""Help one can read: options in groups, worded alike in every command, those used most first; five tasks first."""

from __future__ import annotations

from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from pateval.cli import COMMANDS, pateval

# What has another meaning where it is used: files and lists of alarms, boards, folders, seeds of detectors.
OF_THEIR_OWN = {
    "alarms": {"label", "score", "time", "ignore", "early", "delay", "max-gap", "threshold", "budget", "report", "to"},
    "gate": {"score", "detector", "ignore", "incidents", "period", "merge", "cooldown"},
    "demo": {"seed", "report"},
    "detect": {"seed", "seeds", "output", "overwrite", "only", "device"},
    "leaderboard": {"output", "report"},
    "report": {"output", "budget"},
    "plot": {"output", "overwrite", "only", "value"},
    "reproduce": {"output", "overwrite", "seeds", "device"},
    "explain": {"only"},
    "verify": {"all"},
    "audit": {"for", "seeds"},
    "data fetch": {"to"},
    "board build": {"output"},
    "board merge": {"output"},
}


def commands():
    for name, (place, _) in COMMANDS.items():
        module, _, function = place.partition(":")
        found = getattr(import_module(f"pateval.cli.{module}"), function)
        subcommands = found.commands if isinstance(found, click.Group) else {"": found}
        yield from ((f"{name} {own}".strip(), command) for own, command in subcommands.items())


def test_an_option_has_one_wording():
    texts = {}
    for name, command in commands():
        for parameter in command.params:
            option = max(parameter.opts, key=len).lstrip("-")
            if isinstance(parameter, click.Option) and option not in OF_THEIR_OWN.get(name, ()):
                texts.setdefault(option, {}).setdefault((parameter.help, parameter.metavar), []).append(name)
    assert {option: found for option, found in texts.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", ["score", "leaderboard", "compare", "report", "audit", "plot", "alarms"])
def test_many_options_stand_in_groups(name):
    text = CliRunner().invoke(pateval, [name, "--help"]).stdout
    headings = ["Used most:", "Columns:", "Time:", "What to compute:", "Output:"]
    places = [text.splitlines().index(heading) for heading in headings]
    assert places == sorted(places)
    listed = text.splitlines()[places[0] :]
    options = [line.split()[0].rstrip(",") for line in listed if line.startswith("  -")]
    assert len(options) == len(set(options))
    most = text.splitlines()[places[0] + 1 : places[1]]
    assert sum(line.startswith("  -") for line in most) <= 10
    (command,) = (command for found, command in commands() if found == name)
    declared = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert len(options) == len(declared) + 1  # and --help


def test_the_ten_used_most():
    lines = CliRunner().invoke(pateval, ["score", "--help"]).stdout.splitlines()
    most = lines[lines.index("Used most:") + 1 : lines.index("Columns:")]
    names = [line.split()[0].rstrip(",") for line in most if line.startswith("  -")]
    assert names == [
        "--label",
        "--score",
        "--series",
        "--time",
        "--metrics",
        "--early",
        "--delay",
        "--threshold",
        "--format",
        "-o",
    ]


def test_alone_it_shows_five_tasks():
    shown = CliRunner().invoke(pateval, []).stdout
    assert shown.count("pateval ") >= 5
    assert sum(line.startswith("  ") for line in shown.splitlines()) == 5
    assert len(shown.splitlines()) <= 12
    assert "'pateval --help' lists all commands" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["verify", ""], "a path is empty; name a file or a folder, '.' for the current one"),
        (["gate", "", "b.csv"], "a path is empty; name a file or a folder, '.' for the current one"),
        (["check", ""], "a path is empty; name a file or a folder, '.' for the current one"),
        (["detect", "random", "--data", "", "-o", "x"], "--data is empty; give it a value, or leave it out"),
        (["score", "a.csv", "-o", ""], "-o is empty; give it a value, or leave it out"),
    ],
)
def test_an_empty_word_is_refused(arguments, said):
    found = CliRunner().invoke(pateval, arguments, standalone_mode=False)
    assert isinstance(found.exception, click.UsageError)
    assert found.exception.message == said
