"""Tables for papers: what is bold and underlined, chance, marks, limits, names, the caption; LaTeX takes them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import pateval as pv
from support.messages import raises_exactly

RNG = np.random.default_rng(11)
LABELS = np.tile(np.repeat([0, 1, 0], [20, 5, 15]), 6)
ODD = r"50 % & {a}_b^c~#$\x <|> `[--"
METRICS = ["pate_ap", "auc_roc", "mean_detection_delay"]
SKILL = {"good": 0.9, "fair": 0.5, ODD: 0.2, "noise": 0.0}
# What our tables may hold; everything else is a name that was not made harmless.
COMMANDS = re.compile(
    r"\\(begin|end|centering|caption|label|toprule|midrule|bottomrule|textbf|underline|textsuperscript|scriptsize|pm"
    r"|uparrow|downarrow|allowbreak|text(backslash|asciitilde|asciicircum|less|greater|bar|asciigrave)|[\\,%&_#${}])"
)


def has_booktabs():
    """Whether tables can be compiled; some systems have LaTeX without the package of their rules."""
    if shutil.which("pdflatex") is None or shutil.which("kpsewhich") is None:
        return False
    return bool(subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).stdout)


def scores(skill):
    return skill * LABELS + RNG.random(LABELS.size)


@pytest.fixture(scope="module")
def board():
    tables = {f"series {n}": {"label": LABELS} | {name: scores(own) for name, own in SKILL.items()} for n in range(8)}
    return pv.leaderboard(tables, score=list(SKILL), metrics=METRICS, workers=1, threshold=0.9, seed=1)


def parse(text):
    """Read a table as LaTeX would: return its rows of cells; fail where LaTeX would stop, or a name acts."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    assert [word for word in re.findall(r"\\(?:[a-zA-Z]+|.)", body) if not COMMANDS.fullmatch(word)] == []
    bare = re.sub(r"\\.", "", body)
    depth = 0
    for mark in bare:
        depth += (mark == "{") - (mark == "}")
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    environments = re.findall(r"\\(begin|end)\{(\w+)\}", body)
    assert environments == [("begin", "table"), ("begin", "tabular"), ("end", "tabular"), ("end", "table")]
    places = re.search(r"\\begin\{tabular\}\{(\w+)\}", body)[1]
    inside = body[body.index(r"\toprule") : body.index(r"\bottomrule")]
    lines = [line for line in inside.splitlines() if not line.startswith((r"\toprule", r"\midrule"))]
    rows = [re.split(r"(?<!\\) & ", line.removesuffix(r" \\")) for line in lines]
    assert all(line.endswith(r" \\") for line in lines)
    assert {len(row) for row in rows} == {len(places)}
    return rows


def test_the_best_is_bold_and_the_second_underlined_in_the_direction_of_the_column(board):
    header, *rows = parse(board.to_latex())
    means = {(row["detector"], row["metric"]): row["mean"] for row in board.summary_rows}
    for place, metric in enumerate(METRICS, start=2):
        down = metric == "mean_detection_delay"
        assert header[place].endswith(r"$\downarrow$" if down else r"$\uparrow$")
        order = sorted({f"{means[name, metric]:.3f}" for name in SKILL}, key=float, reverse=not down)
        column = [row[place] for row in rows[:-1]]
        assert {re.search(r"textbf\{(.*?)\}", cell)[1] for cell in column if "textbf" in cell} == {order[0]}
        assert {re.search(r"underline\{(.*?)\}", cell)[1] for cell in column if "underline" in cell} == {order[1]}


def test_every_value_has_its_limits_and_chance_a_row(board):
    _, *rows, chance = parse(board.to_latex())
    assert all(re.search(r"\{\\scriptsize (\[.*\]|\$\\pm\$ .*)\}", cell) for row in rows for cell in row[2:])
    levels = {row["metric"]: row["chance"] for row in board.summary_rows if row["detector"] == "good"}
    assert chance[0] == "chance"
    assert chance[2] == f"{levels['pate_ap']:.3f}"
    assert " to " in chance[4]  # at a threshold as many steps are drawn as each detector flags


def test_marks_for_chance_and_for_those_not_told_apart(board):
    _, *rows, _ = parse(board.to_latex())
    marks = {row[0]: re.search(r"textsuperscript\{(.*?)\}", row[3])[1] for row in rows}
    summary = {row["detector"]: row for row in board.summary_rows if row["metric"] == "auc_roc"}
    groups = board.significance("auc_roc").wilcoxon_groups
    assert ("*" in marks["noise"]) == (board.is_above_chance(summary["noise"]) is False)
    assert "*" not in marks["good"]
    together = any({"good", "fair"} <= set(group) for group in groups)
    assert bool(set(marks["good"]) & set(marks["fair"])) == together


def test_the_caption_holds_the_signatures_and_says_what_marks_mean(board):
    text = board.to_latex(caption="Detectors on 8 series", label="tab:main")
    assert r"\caption[Detectors on 8 series]{Detectors on 8 series. Bold: best of a column; underlined: second." in text
    assert r"\label{tab:main}" in text
    plain = text.replace(r"\allowbreak{}", "").replace(r"\textbar{}", "|").replace(r"\_", "_")
    assert all(board.signatures[metric] in plain for metric in METRICS)
    assert "*: not above chance." in text
    assert r"Same letter: not told apart (Wilcoxon-Holm, 5\,\%)." in text


def test_names_can_be_set(board):
    header, first, *_ = parse(board.to_latex(names={"good": "LSTM & co", "pate_ap": "P"}, metrics=["pate_ap"]))
    assert header == ["detector", r"Rank $\downarrow$", r"P $\uparrow$"]
    assert first[0] == r"LSTM \& co"
    with raises_exactly(
        ValueError,
        "there is no detector and no metric 'bad' to rename; there are 'good', 'fair', "
        "'50 % & {a}_b^c~#$\\\\x <|> `[--' and 3 more",
    ):
        board.to_latex(names={"bad": "x"}, metrics=["pate_ap"])


def test_evaluations_side_by_side():
    table = pv.evaluate(LABELS, {"a": scores(0.9), "b": scores(0.0)}, metrics=["pate_ap", "point_f1"], chance=3)
    header, first, second, chance = parse(table.to_latex())
    assert header[1:] == [r"PATE-AP $\uparrow$", r"Point F1 (oracle) $\uparrow$"]
    assert first[1] == rf"\textbf{{{table['a']['pate_ap']:.3f}}}"
    assert second[0] == "b"
    assert chance[0] == "chance"
    series = np.repeat(["x", "y", "z"], LABELS.size // 3)
    several = pv.evaluate(LABELS, {"a": scores(0.9), "b": scores(0.4)}, metrics=["pate_ap"], series=series)
    values = [one["pate_ap"].value for one in several["a"].by_series]
    _, first, *_ = parse(several.to_latex())
    assert first[1].endswith(rf" {{\scriptsize $\pm$ {np.std(values, ddof=1):.3f}}}")


@pytest.mark.parametrize("command", ["score", "leaderboard"])
def test_on_the_command_line(tmp_path, command):
    path = tmp_path / "scores.csv"
    rows = zip(LABELS, scores(0.9), scores(0.1), strict=True)
    path.write_text("label,my_lstm,other\n" + "\n".join(f"{label},{a},{b}" for label, a, b in rows))
    words = [sys.executable, "-m", "pateval", command, str(path), "--metrics", "auc_roc", "--format", "latex"]
    done = subprocess.run([*words, "--display", "my_lstm=LSTM"], capture_output=True, text=True, check=True)
    assert "LSTM" in [row[0] for row in parse(done.stdout)]
    wrong = subprocess.run([*words, "--display", "LSTM"], capture_output=True, text=True, check=False)
    assert wrong.stderr.splitlines()[-1] == "pateval: --display takes NAME=TEXT, as in lstm_v2=LSTM; got 'LSTM'"


@pytest.mark.skipif(not has_booktabs(), reason="no LaTeX with booktabs here; the parser above stands in")
def test_latex_compiles_it(board, tmp_path):
    page = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n%s\n\\end{document}\n"
    (tmp_path / "page.tex").write_text(page % board.to_latex(label="tab:main"))
    done = subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
