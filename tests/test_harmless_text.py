"""Names may hold anything: no code reaches the terminal, no formula a spreadsheet, no tag a page; values stay raw."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.output.harmless import markdown_text

HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
CODES = "a\x1b]0;owned\x07b\x1bc\x9b31m\rc\u202ed\ne"
SHOWN = r"a\x1b]0;owned\x07b\x1bc\x9b31m\rc\u202ed\ne"
FORMULA = "=cmd|' /C calc'!A0"
TAG = "<img src=x onerror=alert(1)>"
LINK = "[click](javascript:alert(1))"
RNG = np.random.default_rng(3)
LABELS = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 8)


def run(*arguments, status=0):
    command = [sys.executable, "-m", "pateval", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def shell(*words):
    command = " ".join([sys.executable, "-m pateval", *words])
    return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=False)


def table(*names):
    return {"label": LABELS} | {name: LABELS * 0.5 + RNG.random(LABELS.size) for name in names}


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Two detectors whose names command a terminal, on one series."""
    path = tmp_path_factory.mktemp("codes") / "scores.parquet"
    pq.write_table(pa.table(table(CODES, f"other{CODES}")), path)
    return path


COMMANDS = [
    ("score", "--metrics", "auc_roc,point_f1"),
    ("compare", "--metrics", "auc_roc", "--draws", "10"),
    ("leaderboard", "--metrics", "auc_roc", "--chance", "1"),
    ("explain", "--only", CODES, "--early", "2", "--delay", "2"),
    ("explain", "--only", CODES, "--steps"),
    ("audit", "--metrics", "auc_roc", "--seeds", "1"),
    ("alarms", "--threshold", "0.9"),
]


@pytest.mark.parametrize("style", ["table", "csv", "markdown", "latex", "json"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:1] + command[-1:]))
def test_codes_are_shown_escaped(scores, command, style):
    name, *options = command
    output, errors = run(name, scores, "--score", f"{CODES},other{CODES}", *options, "--format", style)
    assert not HIDDEN.search(output), HIDDEN.findall(output)
    assert not HIDDEN.search(errors), HIDDEN.findall(errors)


def test_a_table_shows_the_codes_in_one_line(scores):
    output, _ = run("score", scores, "--metrics", "auc_roc", "--wide")
    assert SHOWN in output.splitlines()[0]


def test_json_keeps_the_raw_name(scores):
    output, _ = run("score", scores, "--metrics", "auc_roc", "--format", "json")
    assert [row["detector"] for row in json.loads(output)] == [CODES, f"other{CODES}"]


def test_an_error_shows_them_escaped(scores):
    _, errors = run("score", scores, "--score", f"missing{CODES}", status=2)
    assert len(errors.splitlines()) == 1
    assert not HIDDEN.search(errors)


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A saved board whose detectors and series bear names that spreadsheets and pages would act upon."""
    folder = tmp_path_factory.mktemp("boards")
    names = (FORMULA, TAG, LINK, "two\nlines")
    given = {name: table(*names) for name in ("+1+1", "@SUM(A1)", "plain")}
    pv.leaderboard(given, score=list(names), metrics=["auc_roc", "pate_ap"], chance=1, workers=1).save(folder / "board")
    return folder / "board", names


def test_csv_holds_no_formula(board):
    folder, names = board
    for path in sorted(folder.glob("*.csv")):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"))):
            assert not [cell for cell in row if cell[:1] in "=+@" and cell], (path.name, row)
    summary = (folder / "summary.csv").read_text(encoding="utf-8")
    assert f"'{FORMULA}," in summary
    assert r"two\nlines," in summary
    assert set(pq.read_table(folder / "scores.parquet")["detector"].to_pylist()) == set(names)


def test_such_a_board_is_read_as_it_was(board):
    folder, names = board
    loaded = pv.Leaderboard.load(folder)
    assert set(loaded.detectors) == set(names)
    assert {detector for detector, _, _ in loaded.digests} == set(names)
    assert {series for _, series, _ in loaded.digests} == {"+1+1", "@SUM(A1)", "plain"}


def test_markdown_and_latex_hold_no_markup(board):
    loaded = pv.Leaderboard.load(board[0])
    markdown = loaded.rendered("markdown", None)
    assert "<img" not in markdown
    assert "k](javascript" not in markdown
    assert "&lt;img src=x onerror=alert(1)>" in markdown
    assert r"[click\](javascript:alert(1))" in markdown
    assert r"two\nlines" in markdown
    assert "\ntwo lines & " in loaded.rendered("latex", None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (r"[a\](javascript:b)", r"[a\\\](javascript:b)"),
        (r"a\|b", r"a\\\|b"),
        (r"\<img src=x>", r"\\&lt;img src=x>"),
        (r"C:\data", r"C:\data"),
    ],
)
def test_a_backslash_in_a_name_undoes_no_escape(name, shown):
    assert markdown_text(name) == shown


class TestStandardStreams:
    """Closed or full: one sentence at most, and never the result lost for want of a place for notes."""

    def score(self, scores, redirection, *options):
        return shell("score", str(scores), "--metrics auc_roc", *options, redirection)

    @pytest.fixture
    def plain(self, tmp_path):
        path = tmp_path / "plain.parquet"
        pq.write_table(pa.table(table("a")), path)
        return path

    def test_closed_output(self, plain, tmp_path):
        done = self.score(plain, ">&-", f"-o {tmp_path}/values.csv")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == "pateval: standard output could not be written (it is closed)"
        assert "Traceback" not in done.stderr
        assert (tmp_path / "values.csv").read_text().startswith("detector,metric,value")

    def test_full_output(self, plain):
        done = self.score(plain, "> /dev/full")
        assert done.returncode == 2
        said = "pateval: standard output could not be written (No space left on device)"
        assert done.stderr.splitlines()[-1] == said
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
    def test_errors_with_nowhere_to_go(self, plain, redirection):
        done = self.score(plain, redirection, "--format json")
        assert done.returncode == 0
        assert json.loads(done.stdout)[0]["metric"] == "auc_roc"

    @pytest.mark.parametrize("redirection", ["<&-", ">&- 2>&-", "<&- >&- 2>&-", "> /dev/full 2> /dev/full"])
    def test_several(self, plain, redirection):
        assert self.score(plain, redirection).returncode == (0 if redirection == "<&-" else 2)

    def test_a_full_disk_takes_no_board_away(self, plain, tmp_path):
        done = shell(f"leaderboard {plain} --metrics auc_roc --chance 0 -o {tmp_path}/board > /dev/full")
        assert done.returncode == 2
        assert (tmp_path / "board" / "run.json").exists()
