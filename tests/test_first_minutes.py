"""What someone meets who brings files of their own for the first time: which detector is which, and what is said."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval
from pateval.demo import save_files
from pateval.output.text_table import folded


def run(*arguments, status=0):
    done = CliRunner().invoke(pateval, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == status, done.stderr
    return done


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    return save_files(tmp_path_factory.mktemp("demo"), series=2)


def on_terminal(*arguments, columns):
    """Run the command with standard error in a terminal of so many columns; return what it shows."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "pateval", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    subprocess.run(command, stderr=follower, stdout=subprocess.DEVNULL, env=environment, check=False)
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # all of it is read, and the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def test_messages_break_between_words_in_a_terminal_and_nowhere_else(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n1,2\n")
    piped = subprocess.run([sys.executable, "-m", "pateval", "score", path], capture_output=True, text=True)
    assert piped.stderr.count("\n") == 1
    shown = on_terminal("score", path, columns=50)
    assert shown.split() == piped.stderr.split()
    lines = shown.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 50 for line in lines if " " in line.strip())
    assert lines[0].startswith("pateval:")
    assert all(line.startswith("  ") for line in lines[1:])


def test_each_note_hangs_under_its_first_line_in_a_terminal(demo, monkeypatch):
    monkeypatch.chdir(demo[0].parent)
    names = [path.name for path in demo]  # a path longer than the terminal is wide would not be broken
    options = ["--metrics", "pate_ap,point_f1", "--chance", 0]
    command = [sys.executable, "-m", "pateval", "score", *names, *options]
    piped = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stderr
    shown = on_terminal("score", *names, *options, columns=60)
    assert shown.split() == piped.split()
    assert max(map(len, piped.splitlines())) > 100
    assert max(map(len, shown.splitlines())) <= 60
    # What is not indented begins a note: there are as many as lines in a pipe, with the same beginnings.
    begun = [line for line in shown.splitlines() if not line.startswith("  ")]
    assert [line.split()[:2] for line in begun] == [line.split()[:2] for line in piped.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score"], "Missing argument 'FILE...'; 'pateval score --help' shows how it is called"),
        (["score", "x.csv", "--xyz", "1"], "No such option '--xyz'; 'pateval score --help' shows how it is called"),
    ],
)
def test_wrong_usage_names_the_help(arguments, said):
    done = subprocess.run([sys.executable, "-m", "pateval", *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_same_columns_in_several_files_are_the_same_detectors_on_several_series(demo):
    done = run("score", *demo, "--metrics", "pate_ap", "--early", 24, "--delay", 24, "--chance", 0, "--format", "csv")
    frames = [pd.read_csv(path) for path in demo]
    rows = [line.split(",")[:3] for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == [name.removeprefix("score_") for name in frames[0] if name.startswith("score_")]
    for name, _, value in rows:
        values = [pv.pate_ap(frame["label"], frame[f"score_{name}"], early=24, delay=24) for frame in frames]
        assert float(value) == pytest.approx(np.mean(values), rel=1e-12)
    assert done.stderr.count("guessed label 'label'") == 1


def test_a_detector_on_the_same_series_in_two_files_is_refused(tmp_path):
    frame = pd.DataFrame({"series": "s", "label": [0, 1, 0], "lstm": [0.1, 0.9, 0.2], "pca": [0.3, 0.1, 0.2]})
    paths = [tmp_path / name for name in ("one.csv", "two.csv")]
    for path in paths:
        frame.to_csv(path, index=False)
    for command in ("score", "leaderboard"):
        said = fail(command, *paths, "--metrics", "auc_roc")
        assert f"{paths[1]}: detector 'lstm' on series 's' is also in {paths[0]}" in said


def test_two_detectors_are_compared_over_files_in_the_order_they_are_named(demo):
    one, other = "window_pca", "nearest_window"
    done = run("compare", *demo, "--only", f"{one},{other}", "--metrics", "pate_ap", "--format", "csv")
    assert done.stdout.splitlines()[1].startswith("pate_ap,")
    said = " ".join(run("compare", *demo, "--only", f"{one},{other}", "--metrics", "pate_ap").stdout.split())
    assert f"difference: {one} less {other}" in said
    assert "over the 2 series" in said


def test_the_column_that_is_named_names_the_detector(demo, tmp_path):
    said = run("explain", demo[0], "--score", "score_window_pca", "--early", 24, "--delay", 24).stdout
    assert said.startswith("detector window_pca\n")
    path = tmp_path / "mine.csv"
    pd.DataFrame({"label": [0, 1, 0], "score": [0.1, 0.9, 0.2]}).to_csv(path, index=False)
    assert run("explain", path, "--score", "score").stdout.startswith("detector mine\n")


@pytest.mark.parametrize("name", ["score", "explain", "compare", "leaderboard", "report", "audit", "buffer"])
def test_the_help_ends_with_examples_that_can_be_called(name):
    command = pateval.get_command(None, name)
    heading, *lines = command.epilog.splitlines()[1:]
    assert heading == "Examples:"
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        assert words[:2] == ["pateval", name]
        context = command.make_context(name, words[2:])  # refuses options and values that are not there
        assert context.params
        assert len(line) <= 78
    assert run(name, "--help").stdout.rstrip().endswith(lines[-1])


def fail(*arguments):
    """Return what a command says that ends with 2."""
    done = subprocess.run([sys.executable, "-m", "pateval", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 2
    return done.stderr


def test_a_leaderboard_that_cannot_start_leaves_no_folder(tmp_path):
    assert "no file matches this pattern" in fail("leaderboard", tmp_path / "*.parquet", "-o", tmp_path / "board")
    assert not (tmp_path / "board").exists()


def test_a_leaderboard_is_not_taken_for_scores(demo, tmp_path):
    board = tmp_path / "board"
    run("leaderboard", *demo, "--metrics", "pate_ap", "--chance", 0, "--workers", 1, "-o", board)
    said = fail("leaderboard", board, "--format", "latex")
    assert f"{board}: the folder holds a leaderboard, not score files; 'pateval report {board}' shows it" in said
    (board / "run.json").rename(board / "scores.partial")
    assert "it is not finished, and the command that began it goes on" in fail("report", board)


def test_what_is_missing_is_said_before_what_is_there_already(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("mine")
    assert "nothing.csv: there is no such file or folder" in fail("report", "nothing.csv")


def test_a_star_says_not_above_chance_and_coarse_scores_have_a_word(demo):
    arguments = ["leaderboard", demo[0], "--workers", 1, "--metrics"]
    without = run(*arguments, "pate_ap", "--chance", 0).stdout
    assert "*" not in without
    assert "coarse" not in without
    with_pate = run(*arguments, "pate_ap,pate", "--chance", 0).stdout
    assert "constant (coarse)" in with_pate
    assert "coarse: few distinct scores, which pate flatters: see pate_ap" in with_pate
    with_chance = run(*arguments, "pate_ap").stdout
    (constant,) = (line for line in with_chance.splitlines() if line.startswith("constant") and "(rule)" not in line)
    (perfect,) = (line for line in with_chance.splitlines() if line.startswith("perfect"))
    assert "*" in constant
    assert "*" not in perfect
    assert "* not above chance" in with_chance


def test_scoring_one_file_of_the_demo_fits_a_screen(demo):
    done = run("score", demo[0])
    said = done.stderr.replace(str(demo[0]), "demo/series-1.csv")  # a test's folder has a longer name
    notes = [folded(line, indent="  ") for line in said.splitlines()]
    lines = "\n".join([done.stdout.rstrip("\n"), *notes]).splitlines()
    assert len(lines) <= 24
    assert max(map(len, done.stdout.splitlines())) <= 80
    above, header, _, *rows = done.stdout.partition("\n\n")[0].splitlines()
    assert above.split() == ["average_", "pate_f1"]
    assert header.split() == ["detector", "pate_ap", "pate", "vus_pr", "precision", "auc_roc", "(oracle)"]
    assert len(rows) == 7 + 2
    assert " ".join(done.stdout.partition("\n\n")[2].split()) == (
        "* not above chance: random scores do as well not shown for want of room (--wide): "
        "point_f1 (oracle), point_adjusted_f1 (best), affiliation_f1 (oracle)"
    )
    guessed, *others = done.stderr.splitlines()
    assert guessed == (
        f"{demo[0]}: guessed label 'label', scores 'score_*' of 'perfect', 'window_pca', 'nearest_window' and 4 more, "
        "time 'time'"
    )
    assert "\n".join(others) == (
        "perfect: scores of 0 and 1 only are predictions; no threshold is applied\n"
        "perfect, constant: the scores have at most 2 distinct values: the trapezoid rule of pate "
        "flatters such scores\n"
        "predictions: score >= a threshold for each detector (oracle: best point F1)\n"
        "early 100 and delay 100 are longer than the typical event (50 steps): a buffer then counts for more than "
        "what it surrounds; `pateval buffer` suggests one"
    )
    # Programs and --wide get all nine, and every threshold.
    table = json.loads(run("score", demo[0], "--format", "json").stdout)
    assert len(table) == 7 * 9
    assert len({row["threshold"] for row in table if row["metric"] == "point_f1"} - {None}) == 6
    assert len(run("score", demo[0], "--wide").stdout.partition("\n\n")[0].splitlines()) == 2 + 9


def test_detectors_in_rows_show_all_metrics_that_were_asked_for(demo):
    shown = run("score", demo[0], "--metrics", "scores").stdout
    assert "not shown" not in shown
    wide = run("score", demo[0], "--metrics", "scores", "--wide").stdout.partition("\n\n")[0]
    ids = [line.split()[0] for line in wide.splitlines()[2:]]
    assert all(name in "".join(shown.split()) for name in ids)


def test_dates_with_dots_have_the_day_first_and_that_is_said(tmp_path):
    dates = pd.date_range("2025-01-30 06:00", periods=40, freq="6h")
    labels, scores = np.arange(40) % 9 == 4, np.sin(np.arange(40))
    frame = pd.DataFrame({"Datum": dates, "label": labels.astype(int), "score": scores})
    frame.to_csv(tmp_path / "iso.csv", index=False)
    frame["Datum"] = dates.strftime("%d.%m.%Y %H:%M").str.replace(" 0", " ")
    frame.to_csv(tmp_path / "dots.csv", index=False, sep=";", decimal=",")
    arguments = ["--time", "Datum", "--early", "12h", "--delay", "1d", "--metrics", "pate_ap", "--format", "json"]
    found = [run("score", tmp_path / name, *arguments) for name in ("iso.csv", "dots.csv")]
    assert [json.loads(done.stdout)[0]["value"] for done in found] == [
        pv.pate_ap(labels, scores, times=dates, early="12h", delay="1d")
    ] * 2
    assert "dates in 'Datum' are taken as day.month.year" in found[1].stderr
    assert "day.month.year" not in found[0].stderr
    for text in ("30.02.2025", "01/02/2025", "1.2.25"):
        with pytest.raises(TypeError, match="times must be dates"):
            pv.pate_ap([0, 1], [0, 1], times=[text, "28.02.2025"], early="1d")


def test_a_file_of_values_is_told_how_to_get_scores(tmp_path):
    path = tmp_path / "yahoo.csv"
    path.write_text("timestamp,value,is_anomaly\n1,0.5,0\n2,9.5,1\n")
    assert "scores of values are made by 'pateval detect'" in fail("score", path)


def test_scores_in_the_place_of_predictions_are_told_what_to_do():
    with pytest.raises(ValueError, match="scores become predictions at a threshold"):
        pv.explain([0, 1, 0], [0.1, 0.9, 0.2])


def test_a_series_is_not_named_twice_and_none_is_counted_among_the_faulty(tmp_path):
    labels = np.repeat([0, 1, 0, 1, 0], [300, 9, 120, 14, 80])
    values = np.random.default_rng(0).normal(size=labels.size)
    easy = [tmp_path / "series-1.csv", tmp_path / "series-2.csv"]
    for number, path in enumerate(easy):
        shifted = np.random.default_rng(number + 1).permutation(values) + 20 * labels
        pd.DataFrame({"value": shifted, "label": labels}).to_csv(path, index=False)
    said = run("check", *easy).stdout
    assert "series-1: " in said
    assert "series-1/series-1" not in said
    path = tmp_path / "sound.csv"
    pd.DataFrame({"value": values, "label": labels}).to_csv(path, index=False)
    assert run("check", path).stdout == "no fault found in 1 series with 523 steps\n"
