"""``pateval plot``: every kind writes a figure, says where, and refuses in one sentence."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import numpy as np
import pytest

from pateval.cli import main
from pateval.cli.plot import KINDS
from support.figures import scored_series


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One wide file, one file per detector with several series, one without anomaly."""
    folder = tmp_path_factory.mktemp("scores")
    one = scored_series()
    hours = np.datetime64("2024-01-01") + np.arange(one.labels.size).astype("timedelta64[h]")
    write(folder / "wide.csv", {"timestamp": hours, "value": one.values, "label": one.labels.astype(int), **one.scores})
    names = list(one.scores)
    parts = [scored_series(seed) for seed in range(3)]
    for name in names:
        write(
            folder / f"{name.replace(' ', '-')}.csv",
            {
                "series": np.repeat(["a", "b", "c"], one.labels.size),
                "label": np.concatenate([part.labels.astype(int) for part in parts]),
                "score": np.concatenate([part.scores[name] for part in parts]),
            },
        )
    write(folder / "quiet.csv", {"label": [0, 0, 0], "score": [0.1, 0.2, 0.3]})
    return folder


def write(path, columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["plot", *map(str, arguments)])
        out, err = capsys.readouterr()
        return stopped.value.code, out.strip(), err.strip()

    return call


MANY = ("nearest-window.csv", "window-PCA.csv", "random.csv")
CASES = {
    "series": (["wide.csv"], ["--value", "value", "--time", "timestamp", "--range", "300..800"]),
    "categories": (["wide.csv"], ["--only", "window PCA", "--early", "20"]),
    "precision-recall": (["wide.csv"], []),
    "buffers": (["wide.csv"], ["--score", "window PCA", "--early", "0,50", "--delay", "0,50"]),
    "buffer-size": (["wide.csv"], ["--early", "0,50"]),
    "lengths": (["wide.csv"], ["--only", "random"]),
    "distribution": (["wide.csv"], ["--only", "random", "--log"]),
    "frontier": (["wide.csv"], ["--only", "random", "--threshold", "false-alarms:1/1000"]),
    "comparison": (["wide.csv"], ["--only", "random,window PCA"]),
    "critical-difference": (MANY, ["--metrics", "auc_roc", "--workers", "1"]),
    "ranks": (MANY, ["--metrics", "auc_roc,pate_ap", "--workers", "1"]),
    "audit": (["wide.csv"], ["--metrics", "pate_ap,point_recall"]),
}


def test_all_kinds_are_tried():
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_writes_a_figure_and_says_where(run, folder, tmp_path, kind):
    files, options = CASES[kind]
    code, out, err = run(kind, *(folder / file for file in files), *options)
    assert code == 0, err
    name = f"{files[0].removesuffix('.csv')}-{kind}.png"
    assert out == name
    content = (tmp_path / name).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert f"pateval plot {kind}".encode() in content


@pytest.mark.parametrize("suffix", ["pdf", "svg", "png"])
def test_format_by_suffix(run, folder, tmp_path, suffix):
    target = tmp_path / f"x.{suffix}"
    code, out, _ = run("distribution", folder / "wide.csv", "--only", "random", "-o", target)
    assert (code, out) == (0, str(target))
    assert target.stat().st_size > 1000


def test_a_file_of_several_series_is_drawn_whole_or_one_series(run, folder):
    assert run("series", folder / "random.csv", "-o", "all.svg")[0] == 0
    code, _, err = run("series", folder / "random.csv", "--only-series", "b", "-o", "one.svg")
    assert code == 0
    assert "random: predictions where score >= " in err
    assert "oracle" in err
    with open("all.svg") as whole, open("one.svg") as single:
        assert "next series" in whole.read()
        assert "next series" not in single.read()


def test_files_of_several_detectors_are_compared(run, folder):
    code, _, err = run("comparison", folder / "random.csv", folder / "window-PCA.csv", "-o", "two.svg")
    assert code == 0, err
    with open("two.svg") as drawn:
        text = drawn.read()
    assert "window-PCA: precision" in text
    assert "random: precision" in text


@pytest.mark.parametrize(
    ("dates", "steps"),
    [
        ("2024-01-02..2024-01-03", (24, 72)),
        ("2024-01-02T12:00..2024-01-03T00:00", (36, 49)),
        ("2024-01-02T12:30+01:00..2024-01-02T12:00", (36, 37)),
        ("1999-01-01..2024-01-01", (0, 24)),
    ],
)
def test_a_range_of_dates_is_the_steps_in_it(run, folder, monkeypatch, dates, steps):
    from pateval import plots

    given, draw = [], plots.series
    monkeypatch.setattr(plots, "series", lambda *data, **options: given.append(options) or draw(*data, **options))
    assert run("series", folder / "wide.csv", "--range", dates)[0] == 0
    assert given[0]["limits"] == steps


def test_a_range_of_dates_needs_one_clock(run, folder, tmp_path):
    write(
        tmp_path / "two.csv",
        {
            "series": ["a", "a", "b", "b"],
            "timestamp": ["2024-01-01", "2024-01-02"] * 2,
            "label": [0, 1, 0, 1],
            "score": [1, 2, 3, 4],
        },
    )
    code, _, err = run("series", tmp_path / "two.csv", "--range", "2024-01-01..2024-01-02")
    assert code == 2
    assert err.splitlines()[-1] == (
        "pateval: --range by dates needs series that do not overlap in time; choose one with --only-series"
    )
    options = ["--only-series", "b", "--range", "2024-01-01..2024-01-02"]
    assert run("series", tmp_path / "two.csv", *options)[0] == 0


def test_its_own_figure_is_replaced_and_no_other_file(run, folder, tmp_path):
    arguments = ("distribution", folder / "wide.csv", "--only", "random", "-o", "x.png")
    assert run(*arguments)[0] == 0
    assert run(*arguments)[0] == 0
    (tmp_path / "x.png").write_text("something of mine")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err == "pateval: x.png exists and is no figure of this kind; give --overwrite, or another name"
    assert (tmp_path / "x.png").read_text() == "something of mine"
    assert run(*arguments, "--overwrite")[0] == 0
    code, _, err = run("lengths", folder / "wide.csv", "--only", "random", "-o", "x.png")
    assert code == 2
    assert "no figure of this kind" in err


def test_ranks_are_drawn_from_the_folder_of_a_leaderboard(run, folder, tmp_path):
    files = [str(folder / name) for name in MANY]
    with pytest.raises(SystemExit):
        main(["leaderboard", *files, "--metrics", "auc_roc,pate_ap", "--workers", "1", "-o", "board"])
    for kind in ("ranks", "critical-difference"):
        code, _, err = run(kind, "board", "-o", f"{kind}.svg")
        assert code == 0, err
        assert "window-PCA" in (tmp_path / f"{kind}.svg").read_text()
    code, _, err = run("critical-difference", "board", "--metrics", "vus_pr")
    assert code == 2
    assert "metric 'vus_pr' is not in this leaderboard; it has auc_roc, pate_ap" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["curves", "wide.csv"], "'curves' is not one of 'series', 'categories'"),
        (["series", "wide.csv", "-o", "x.tiff"], "x.tiff: figures are written as .pdf, .png, .svg; got '.tiff'"),
        (["series", "wide.csv", "-o", "x"], "got no suffix"),
        (["series", "wide.csv", "-o", "no/x.png"], "the folder no does not exist"),
        (["categories", "wide.csv"], "'categories' draws one detector, and there are 3 (nearest window, window PCA,"),
        (["comparison", "wide.csv"], "'comparison' draws at most 2 detectors, and there are 3"),
        (["comparison", "wide.csv", "--only", "random"], "'comparison' draws two detectors; there is one"),
        (["series", "wide.csv", "--only", "lstm"], "there is no detector named 'lstm'"),
        (["series", "random.csv", "--only-series", "z"], "there is no series named 'z'; its series are 'a', 'b', 'c'"),
        (["series", "quiet.csv"], "holds no anomaly: nothing to draw"),
        (["series", "wide.csv", "--time", "clock"], "there is no time column 'clock'; its columns are 'timestamp'"),
        (["series", "random.csv", "--time", "series"], "the value in row 1, 'a', is neither a date"),
        (
            ["series", "wide.csv", "--range", "5"],
            "'5' is not a range; write steps, as in 1000..2000, or dates, as in 2026",
        ),
        (["series", "wide.csv", "--range", "9..5"], "'9..5' is not a range"),
        (["series", "wide.csv", "--range", "2024-01-02..5"], "'2024-01-02..5' is not a range"),
        (["series", "wide.csv", "--range", "2024-01-03..2024-01-02"], "'2024-01-03..2024-01-02' is not a range"),
        (
            ["series", "wide.csv", "--range", "2025-01-03..2025-02-01"],
            "no step lies in the --range given; the times of",
        ),
        (["series", "random.csv", "--range", "2025-01-03..2025-02-01"], "has no dates; give --range in steps, as in"),
        (["series", "wide.csv", "--range", "9000..9100"], "--range begins at step 9000, and there are 3000 steps"),
        (["buffer-size", "wide.csv", "--early", "3"], "'buffer-size' needs several sizes"),
        (["buffer-size", "wide.csv", "--early", "0,3", "--delay", "0,4"], "give both the same set, or only one"),
        (["critical-difference", "wide.csv", "--metrics", "pate,auc_roc"], "draws one metric; name one"),
        (["series", "nothing.csv"], "nothing.csv"),
    ],
)
def test_refusals_are_one_sentence(run, folder, arguments, message):
    arguments = [str(folder / part) if part.endswith(".csv") else part for part in arguments]
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("pateval: ")
    assert message in last
    assert not any(name.endswith(".png") for name in os.listdir())


def test_without_the_extra_one_sentence_says_how_to_get_it(folder, tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None\nfrom pateval.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "plot", "series", str(folder / "wide.csv")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "pateval: figures need matplotlib, which is not installed: pip install 'pateval[plot]'\n"


def test_help_lists_every_kind(capsys):
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    shown = " ".join(capsys.readouterr().out.split())  # lines are broken to fit the terminal
    for kind, text in KINDS.items():
        assert kind in shown
        assert text in shown


@pytest.mark.parametrize("kind", ["ranks", "critical-difference"])
def test_figures_of_ranks_take_the_column_of_runs(run, tmp_path, monkeypatch, kind):
    from pateval.leaderboards import Leaderboard

    generator = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1, 0], [10, 5, 15]), 12)
    names = {
        "series": np.tile(np.repeat(["a", "b", "c"], 120), 1),
        "attempt": np.tile(np.repeat([1, 2], 60), 3),
        "label": labels,
    }
    write(tmp_path / "runs.csv", {**names, "one": labels + generator.random(360), "two": generator.random(360)})
    boards = []
    ranked = Leaderboard._ranks
    monkeypatch.setattr(Leaderboard, "_ranks", lambda board, metric: boards.append(board) or ranked(board, metric))
    options = ["--metrics", "auc_roc", "--early", "3", "--delay", "3", "--workers", "1"]
    code, _, err = run(kind, "runs.csv", "--run", "attempt", *options, "-o", "x.svg")
    assert code == 0, err
    assert boards[0].runs is not None
    assert set(boards[0].runs.entries.names) == {"1", "2"}
