"""What a terminal of 80 characters shows: every command, the README, and tables that are wider by nature."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pateval.auditing.advice import board_command
from pateval.catalog import catalogue
from pateval.catalog.option_text import split_outside_brackets
from pateval.cli import COMMANDS, pateval
from pateval.output.harmless import latex_text
from pateval.output.text_table import fitted, render

WIDTH = 80
RNG = np.random.default_rng(3)
LABELS = np.repeat([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0], [90, 8, 40, 15, 137, 9, 80, 12, 70, 20, 119])
NAMES = [
    "good",
    "a_detector_whose_name_is_much_longer_than_anybody_would_like_seed_1",
    "a_detector_whose_name_is_much_longer_than_anybody_would_like_seed_2",
    *(f"detector_{number}" for number in range(9)),
]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("terminal") / "wide.csv"
    scores = {name: 0.3 * LABELS + RNG.random(LABELS.size) for name in NAMES}
    series = np.where(np.arange(LABELS.size) < 300, "one", "two")
    pa.csv.write_csv(pa.table({"label": LABELS, "series": series, **scores}), path)
    return path


def run(*arguments, status=0):
    done = CliRunner().invoke(pateval, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == status, done.stderr
    return done.stdout


COLUMNS = ("--label", "label", "--series", "series", "--score", ",".join(NAMES))
METRICS = "pate,pate_ap,auc_roc,point_f1,vus_pr,point_adjusted_f1,affiliation_f1"
PRINTED = {
    "demo": ["demo"],
    "score": ["score", "FILE", *COLUMNS],
    "leaderboard": ["leaderboard", "FILE", *COLUMNS, "--workers", 1, "--chance", 1, "--metrics", METRICS],
    "explain": ["explain", "FILE", *COLUMNS, "--only", NAMES[1], "--early", 20, "--delay", 20],
    "audit": ["audit", "FILE", "--label", "label", "--series", "series", "--seeds", 1],
    "compare": ["compare", "FILE", *COLUMNS, "--only", f"{NAMES[1]},{NAMES[2]}", "--draws", 3],
    "buffer": ["buffer", "FILE", "--label", "label", "--series", "series"],
    "metrics": ["metrics"],
    "metrics --all": ["metrics", "--all"],
    "metrics ID": ["metrics", "channel_ndcg", "pate", "operator_interest_f1"],
    "data list": ["data", "list"],
    "data info": ["data", "info", "SWaT"],
    "pateval": [],
    "data": ["data"],
    "reproduce": ["reproduce"],
    "detect --list": ["detect", "--list"],
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_commands_print_fits(name, wide):
    lines = run(*(wide if part == "FILE" else part for part in PRINTED[name])).splitlines()
    assert len(lines) > 3
    # Links are broken nowhere.
    assert [line for line in lines if len(line) > WIDTH and "https://" not in line] == []


@pytest.mark.parametrize(
    ("files", "metrics"),
    [
        (["scores.csv"], ["pate", "auc_roc"]),
        (["a file.csv", "scores/of/another/folder/whose/name/is/long/scores.csv"], ["pate"] * 3),
        (["scores.csv"], [*catalogue()][:40]),
        (["x.csv"], ["pate(early=20,delay=20)", "vus_pr(window=10min)", *[*catalogue()][10:20]]),
    ],
)
def test_the_command_that_an_audit_advises_fits_and_can_be_pasted(files, metrics):
    command = board_command([shlex.quote(file) for file in files], metrics, WIDTH)
    assert max(map(len, command.splitlines())) <= WIDTH
    shown = subprocess.run(
        ["bash", "-c", f'pateval() {{ printf "%s\\n" "$@"; }}\n{command}'], capture_output=True, text=True, check=True
    )
    words = shown.stdout.splitlines()
    assert words[: len(files) + 1] == ["leaderboard", *files]
    assert set(words[len(files) + 1 :: 2]) == {"--metrics"}
    given_metrics = [name for word in words[len(files) + 2 :: 2] for name in split_outside_brackets(word)]
    assert given_metrics == metrics
    whole = board_command(files[:1], metrics)
    assert "\n" not in whole


def test_names_of_columns_are_broken_into_few_lines():
    names = ["a_detector_whose_name_is_much_longer_than_anybody_would_like_seed_1", "another_of_them_seed_17"]
    shown = fitted(["metric", *names, *"abcdefgh"], [["pate", *["0.1234"] * 10]], [False] + [True] * 10, WIDTH)
    for table in shown.split("\n\n"):
        assert table.splitlines().index(next(line for line in table.splitlines() if set(line) == {"-"})) <= 4


def test_detectors_that_differ_at_the_end_of_long_names_are_told_apart(wide):
    shown = run(
        "compare", wide, *COLUMNS, "--only", f"{NAMES[1]},{NAMES[2]}", "--draws", 3, "--metrics", "pate,auc_roc"
    )
    remarks = " ".join(shown.partition("difference:")[2].split())
    assert "seed_1 less" in remarks
    assert "seed_2;" in remarks
    header = shown.partition("---")[0]
    assert "seed_1" in header
    assert "seed_2" in header


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits(command):
    assert max(map(len, run(command, "--help").splitlines())) <= WIDTH


def test_wide_shows_everything(wide):
    arguments = ["score", wide, *COLUMNS, "--metrics", "pate,auc_roc"]
    narrow, all_columns = run(*arguments), run(*arguments, "--wide")
    assert len(all_columns.splitlines()) == 4
    assert all(name in all_columns for name in NAMES)
    assert NAMES[1] not in narrow
    assert narrow.splitlines()[0].split() == ["detector", "pate", "auc_roc"]
    assert len(narrow.splitlines()) == 2 + 1 + len(NAMES)
    board = ["leaderboard", wide, *COLUMNS, "--workers", 1, "--chance", 0, "--metrics", "pate,auc_roc,vus_pr,point_f1"]
    assert "not shown for want of room (--wide): vus_pr, point_f1 (oracle)" in " ".join(run(*board).split())
    assert "not shown" not in run(*board, "--wide")
    assert NAMES[1] in run(*board, "--wide")


def test_the_command_alone_prints_where_to_begin():
    done = subprocess.run([sys.executable, "-m", "pateval"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= WIDTH
    assert all(f"  {name} " in run("--help") for name in COMMANDS)


def test_the_readme_fits():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    lines = [line for block in blocks for line in block.splitlines()]
    lines += [line for line in text.splitlines() if line.startswith("|")]
    assert [line for line in lines if len(line) > WIDTH] == []


def test_the_readme_shows_what_the_demo_prints():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    assert f"$ pateval demo\n{run('demo')}```" in text


words = st.text(st.sampled_from("ab_ ()%|1"), max_size=25)


@given(st.data())
def test_no_table_is_too_wide_and_no_column_is_lost(data):
    count = data.draw(st.integers(1, 9))
    columns = data.draw(st.lists(words, min_size=count, max_size=count))
    rows = data.draw(st.lists(st.lists(words, min_size=count, max_size=count), max_size=3))
    right = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    width = data.draw(st.integers(50, 90))
    text = fitted(columns, rows, right, width)
    assert max(map(len, text.splitlines()), default=0) <= width
    found = "".join(text.split())
    for name in columns:
        assert all(character in found for character in "".join(name.split()))


SPECIAL = r"""\ & % $ # _ { } ~ ^ < > | ` [ ] - -- --- ( ) a1 é ± …"""
UNESCAPED = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    "{[}": "[",
    "-{}": "-",
    **{f"\\{mark}": mark for mark in "&%$#_{}"},
}


@given(st.lists(st.sampled_from(SPECIAL.split(" ")), max_size=12).map("".join))
def test_latex_says_what_the_text_says(text):
    escaped = latex_text(text)
    found = re.findall("|".join(map(re.escape, UNESCAPED)) + "|.", escaped)
    assert "".join(UNESCAPED.get(part, part) for part in found) == text
    assert all(part in UNESCAPED or part not in "\\&%$#_{}~^<>|`[" for part in found)
    assert "--" not in escaped


SPECIAL_NAME = "a_b%&#{}~^\\"


def test_latex_of_a_name_with_every_special_mark():
    expected = r"a\_b\%\&\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert latex_text(SPECIAL_NAME) == expected
    assert latex_text("$1 <x|y> `z` [0] --") == (
        r"\$1 \textless{}x\textbar{}y\textgreater{} \textasciigrave{}z\textasciigrave{} {[}0] -{}-"
    )
    # The mark that others are escaped with is not escaped twice, and what is escaped already is shown as it stands.
    assert latex_text(r"\_") == r"\textbackslash{}\_"


def test_the_command_line_escapes_names_for_latex(tmp_path):
    path = tmp_path / "scores.csv"
    table = pa.table({"label": LABELS, SPECIAL_NAME: RNG.random(LABELS.size), "plain": RNG.random(LABELS.size)})
    pa.csv.write_csv(table, path)
    shown = run("leaderboard", path, "--metrics", "auc_roc", "--format", "latex")
    row = r"a\_b\%\&\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} & "
    assert [line.startswith(row) for line in shown.splitlines()].count(True) == 1


def test_latex_of_a_table():
    assert render(["event", "F1 [%]"], [["[3, 7)", 0.5], ["a_b & c", float("nan")]], "latex").splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"event & F1 {[}\%] \\",
        r"\midrule",
        r"{[}3, 7) & 0.5000 \\",
        r"a\_b \& c & - \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize("name", ["demo", "score", "audit", "metrics", "data list", "data info", "leaderboard"])
def test_every_format_has_latex_and_markdown(name, wide):
    arguments = [wide if part == "FILE" else part for part in PRINTED[name]]
    if name in ("score", "audit"):
        arguments += ["--metrics", "pate,auc_roc"]
    assert r"\begin{tabular}" in run(*arguments, "--format", "latex")
    assert "| ---" in run(*arguments, "--format", "markdown")
