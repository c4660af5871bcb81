"""The README followed to the letter: its Python runs, its commands work, and its numbers are those of their sources."""

from __future__ import annotations

import doctest
import glob
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval
from support.plant import write_plant

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
# They take from ten seconds to a minute, or need scikit-learn.
SLOW = ("audit", "metrics", "detect", "leaderboard scores", "reproduce")


def blocks(language):
    """Yield the fenced blocks of one language."""
    for fence, body in re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if fence == language:
            yield body


def commands():
    """Return the printed commands in order, without remarks; what installs something is left to the wheel test."""
    bodies = [body.replace("\\\n", " ") for body in blocks("") if not body.startswith("$")]
    lines = [line for body in bodies for line in body.splitlines() if line]
    found = [shlex.split(line, comments=True) for line in lines]
    assert {words[0] for words in found} == {"pateval", "pip"}
    return [words[1:] for words in found if words[0] == "pateval"]


def run_all(wanted, folder, monkeypatch):
    monkeypatch.chdir(folder)
    printed_texts = []
    for printed in wanted:
        # As a shell does it.
        words = [name for word in printed for name in (sorted(glob.glob(word)) if "*" in word else [word])]
        done = CliRunner().invoke(pateval, words, catch_exceptions=False)
        assert done.exit_code == 0, (words, done.stderr)
        assert done.stdout, words
        printed_texts.append(done.stdout)
    return printed_texts


def is_slow(words):
    return " ".join(words).startswith(SLOW)


def test_the_commands_work_as_printed(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    wanted = [words for words in commands() if not is_slow(words) and words[0] != "alarms"]
    assert len(wanted) > 9
    run_all(wanted, tmp_path, monkeypatch)
    assert {"board", "demo", "report.html", "why.pdf"} <= {path.name for path in tmp_path.iterdir()}


def test_an_engineer_with_files_of_a_plant_needs_three_commands(tmp_path, monkeypatch):
    """German files, an irregular clock, a hole of two days, maintenance, incidents in a file of their own."""
    write_plant(tmp_path)
    english = {"alarme": "pages", "werte": "scores", "stoerungen": "incidents", "wartung": "maintenance"}
    for name, printed in english.items():
        (tmp_path / f"{name}.csv").rename(tmp_path / f"{printed}.csv")
    wanted = [words for words in commands() if words[0] == "alarms"]
    assert len(wanted) == 3
    judged, chosen, _ = run_all(wanted, tmp_path, monkeypatch)
    assert all(len(line) <= 80 for text in (judged, chosen) for line in text.splitlines())
    assert "9 of 9" in judged
    assert (
        "budget 1/1d: flag scores from 2.9256 on, which finds 9 of 9 incidents at 0.982 false alarms per day"
        in " ".join(chosen.split())
    )
    page = (tmp_path / "page.html").read_text()
    assert '<h1 id="sentence">scores &gt;= 2.9256 found 9 of 9 incidents' in page


@pytest.mark.slow
def test_the_longer_commands_work_as_printed(tmp_path, monkeypatch):
    wanted = [words for words in commands() if is_slow(words)]
    assert len(wanted) >= len(SLOW)
    run_all([["demo", "--save", "demo"], *wanted], tmp_path, monkeypatch)


def test_the_lines_of_python_run_and_give_the_numbers_beside_them():
    (block,) = (body for body in blocks("python") if not body.startswith(">>>"))
    names: dict[str, object] = {}
    exec(block, names)  # noqa: S102  # it is our own
    beside = re.findall(r"^(pv\..*?)\s+# ([\d.]+);", block, re.MULTILINE)
    assert len(beside) == 1
    for call, number in beside:
        assert f"{eval(call, names):.2f}" == number  # noqa: S307  # likewise
    assert len([line for line in block.splitlines() if line.startswith("pv.")]) <= 10


def test_the_explanation_is_what_is_printed():
    (block,) = (body for body in blocks("python") if body.startswith(">>>"))
    runner = doctest.DocTestRunner()
    example = block.replace("\n\n", "\n<BLANKLINE>\n")
    runner.run(doctest.DocTestParser().get_doctest(example, {"pv": pv}, "README", None, None))
    assert runner.summarize(verbose=False) == doctest.TestResults(0, 3)


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_the_speed_is_that_of_the_speed_sheet():
    section = README.split("## Speed")[1].split("\n## ")[0]
    shown = rows(section)[2:]
    assert len(shown) > 4
    sheet = (ROOT / "docs" / "results" / "speed" / "README.md").read_text()
    for metric, package, steps, ours, theirs, times in shown:
        listed = rows(sheet.split(f"## {metric}\n")[1].split("\n## ")[0])
        match = [row for row in listed if row[:2] == [package, steps] and row[3:5] == [ours, theirs]]
        assert len(match) == 1, (metric, package)
        assert match[0][5].split()[0] == times
        assert match[0][-1] == "equal"
    of_average_precision = rows((ROOT / "docs" / "speed.md").read_text())
    (ratio,) = (row[1] for row in of_average_precision if row[0].startswith("`pate`") and "scikit-learn" in row[2])
    assert f"takes {ratio.split()[0]} of the time" in " ".join(section.split())


def test_the_numbers_of_the_first_lines_are_in_the_demo():
    opening, demo = README.split("$ pateval demo\n")
    said = " ".join(opening.split())
    (table,) = demo.split("```")[:1]
    assert "**random scores get 0.82** in the demo" in said
    assert "random gets F1 0.82" in table
    assert "0.58 against 0.57" in said
    lines = [line for line in table.splitlines() if line.startswith(("window PCA  ", "nearest window  "))]
    first, second = (float(line.split()[2]) for line in lines)
    assert (f"{first:.2f}", f"{second:.2f}") == ("0.58", "0.57")
