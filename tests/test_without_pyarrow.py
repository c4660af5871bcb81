"""A pyarrow that cannot be imported counts as absent: then everything but Parquet and Arrow works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pateval as pv

# What import finds in place of pyarrow, and how the sentence goes on.
STAND_INS = {
    "absent": 'raise ModuleNotFoundError("No module named \'pyarrow\'", name="pyarrow")',
    "refuses": 'raise ImportError("this pyarrow needs NumPy 2 or later")',
    "built for NumPy 1": 'raise AttributeError("_ARRAY_API not found")',
    "half there": "import pyarrow.lib_of_another_python",
}
WANTED = "'pyarrow>=16,<24'" if np.__version__.startswith("1.") else "'pyarrow>=16'"
REMEDY = (
    f"needs pyarrow, which cannot be imported beside NumPy {np.__version__} (this pyarrow needs NumPy 2 or later); "
    f"install one that can: pip install {WANTED}"
)


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of two detectors in each format, from where the commands are run."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    generator = np.random.default_rng(0)
    labels = np.repeat([0, 1, 0, 1, 0], 24)
    times = np.datetime_as_string(np.datetime64("2026-01-01T00:00") + np.arange(labels.size) * np.timedelta64(1, "m"))
    table = pa.table({"time": times, "label": labels, "a": labels + generator.random(120), "b": generator.random(120)})
    rows = [",".join(map(str, row.values())) for row in table.to_pylist()]
    (tmp_path / "t.csv").write_text("\n".join(["time,label,a,b", *rows]))
    pyarrow.feather.write_feather(table, tmp_path / "t.arrow")
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv.zst").write_bytes(pa.compress((tmp_path / "t.csv").read_bytes(), "zstd", asbytes=True))
    (tmp_path / "e.csv").write_text(
        "start,stop\n2026-01-01 00:24,2026-01-01 00:48\n2026-01-01 01:12,2026-01-01 01:36\n"
    )
    return tmp_path


def python(folder: Path, *arguments: str, stand_in: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with something in place of pyarrow where that is said."""
    environment = dict(os.environ)
    if stand_in is not None:
        place = folder / "stand-in"
        place.mkdir(exist_ok=True)
        (place / "pyarrow.py").write_text(STAND_INS[stand_in])
        environment["PYTHONPATH"] = os.pathsep.join([str(place), environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def pateval(folder: Path, command: str, stand_in: str | None = "refuses") -> subprocess.CompletedProcess[str]:
    return python(folder, "-m", "pateval", *command.split(), stand_in=stand_in)


COMMANDS = (
    "score t.csv",
    "score t.csv --metrics all --format json",
    "score t.csv --events e.csv --score a",
    "explain t.csv --only a",
    "compare t.csv",
    "check t.csv",
    "audit t.csv --format json",
    "buffer t.csv",
    "alarms t.csv --incidents e.csv",
    "leaderboard t.csv",
    "leaderboard t.csv --format json",
    "leaderboard t.csv --format latex",
    "leaderboard t.csv --doubt 1",
)
ALL_IN_ONE = """
import json, sys
from click.testing import CliRunner
from pateval.cli import pateval
done = [CliRunner().invoke(pateval, command.split()) for command in sys.argv[1:]]
print(json.dumps([[one.exit_code, one.stdout] for one in done]))
"""


def test_commands_print_the_same(folder):
    expected, found = (python(folder, "-c", ALL_IN_ONE, *COMMANDS, stand_in=each) for each in (None, "refuses"))
    assert found.returncode == 0, found.stderr
    pairs = zip(COMMANDS, json.loads(found.stdout), json.loads(expected.stdout), strict=True)
    for command, (status, text), (_, expected_text) in pairs:
        assert (status, text) == (0, expected_text), command


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_whatever_import_raises(folder, stand_in):
    found = pateval(folder, "leaderboard t.csv --format csv --workers 2", stand_in)
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) > 10


def test_a_board_as_csv_holds_the_same_numbers(folder):
    expected, found = (
        [line.split(",") for line in pateval(folder, "leaderboard t.csv --format csv", stand_in).stdout.splitlines()]
        for stand_in in (None, "refuses")
    )
    assert found[0] == expected[0]
    assert len(found) == len(expected) > 10
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert one[:2] == other[:2]
        assert [float(cell or "nan") for cell in one[2:]] == pytest.approx(
            [float(cell or "nan") for cell in other[2:]], abs=0, nan_ok=True
        )


def test_boards_in_python(folder):
    program = """
import json, pateval as pv
board = pv.leaderboard("t.csv", seed=1)
frame = board.to_frame("pandas")
board.to_csv("scores.csv")
board.to_report("report.html")
print(json.dumps([board.values.tolist(), frame.columns.tolist(), frame["value"].tolist(), board.to_dict()]))
"""
    expected, found = python(folder, "-c", program), None
    texts = (folder / "scores.csv").read_text()
    found = python(folder, "-c", program, stand_in="refuses")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == json.loads(expected.stdout)
    assert (folder / "scores.csv").read_text() == texts


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("score t.parquet", f"t.parquet: Parquet {REMEDY}"),
        ("score t.arrow", f"t.arrow: Arrow {REMEDY}"),
        ("score t.csv.zst", f"t.csv.zst: text compressed by zstd {REMEDY}"),
        ("leaderboard t.csv -o board", f"board: the folder of a leaderboard {REMEDY}"),
        ("detect squared_zscore --data t.csv -o scores", f"scores: score files in Parquet {REMEDY}"),
    ],
)
def test_one_sentence_says_what_to_install(folder, command, sentence):
    before = sorted(path.name for path in folder.iterdir())
    found = pateval(folder, command)
    assert found.returncode != 0
    assert found.stderr.splitlines()[-1] == f"pateval: {sentence}"
    assert [path.name for path in sorted(folder.iterdir()) if path.name != "stand-in"] == before


def test_parts_of_score_files_are_made_without_it_and_put_together_with_it(folder):
    program = """
import numpy as np
from pateval.datasets import Series
from pateval.runner import candidate, detect
series = Series("one", np.arange(40.0)[:, None], np.arange(40) > 30)
print(detect([candidate("random")], [series], "scores", assemble={})[0].path)
"""
    without = python(folder, "-c", program.format(False), stand_in="refuses")
    assert (without.returncode, without.stdout) == (0, "None\n"), without.stderr
    assert [path.suffix for path in (folder / "scores").rglob("*") if path.is_file()] == [".npz"]
    assert python(folder, "-c", program.format(True)).stdout == f"{Path('scores') / 'random.parquet'}\n"


def test_what_is_not_installed_is_said_to_be(folder):
    found = pateval(folder, "score t.parquet", "absent")
    assert found.stderr == (
        f"pateval: t.parquet: Parquet needs pyarrow, which is not installed; install it with: pip install {WANTED}\n"
    )


def test_tables_of_a_board_need_it(folder):
    program = """
import pateval as pv
board = pv.leaderboard("t.csv", seed=1)
for read in (lambda: board.scores, board.summary, board.ranks, board.agreement, lambda: board.save("board")):
    try:
        read()
    except ImportError as error:
        print(error)
"""
    found = python(folder, "-c", program, stand_in="refuses")
    assert found.stdout.splitlines() == [f"this {REMEDY}"] * 4 + [f"board: the folder of a leaderboard {REMEDY}"]
    assert not (folder / "board").exists()


def test_metrics_in_python_never_ask_for_it(folder):
    program = "import pateval as pv; print(pv.evaluate([0, 1, 0], [0.1, 0.9, 0.2]).to_json())"
    found = python(folder, "-c", program, stand_in="built for NumPy 1")
    assert json.loads(found.stdout) == json.loads(pv.evaluate([0, 1, 0], [0.1, 0.9, 0.2]).to_json())
