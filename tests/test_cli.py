"""The command line as a person types it, in a process of its own."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import pateval as pv
from pateval.cli import COMMANDS, main

RNG = np.random.default_rng(5)
LABELS = np.repeat([0, 1, 0, 1, 0], [30, 8, 40, 5, 37])
TABLE = {
    "time": np.arange(LABELS.size),
    "label": LABELS,
    "good": LABELS + RNG.random(LABELS.size),
    "bad": RNG.random(LABELS.size),
}


def run(*arguments, status=0):
    done = subprocess.run([sys.executable, "-m", "pateval", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    table = pa.table(TABLE)
    pa.csv.write_csv(table, folder / "wide.csv")
    pa.parquet.write_table(table, folder / "wide.parquet")
    np.savez(folder / "wide.npz", **TABLE)
    rows = [dict(zip(TABLE, row, strict=True)) for row in zip(*(c.tolist() for c in TABLE.values()), strict=True)]
    (folder / "wide.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


class TestScore:
    @pytest.mark.parametrize("suffix", ["csv", "parquet", "npz", "jsonl"])
    def test_every_kind_of_file(self, files, suffix):
        done = run("score", files / f"wide.{suffix}", "--metrics", "pate,point_f1", "--format", "json")
        found = {(row["detector"], row["metric"]): row for row in json.loads(done.stdout)}
        assert set(found) == {(d, m) for d in ("good", "bad") for m in ("pate", "point_f1")}
        expected = pv.evaluate(TABLE["label"], TABLE["good"], metrics=["pate", "point_f1"])
        assert found["good", "pate"]["value"] == pytest.approx(expected["pate"], abs=1e-12)
        assert found["good", "point_f1"]["threshold_rule"].startswith("oracle")
        assert found["good", "point_f1"]["options"] == {"early": [0, 100], "delay": [0, 100], "window": 100}
        assert found["good", "pate"]["chance"] < found["good", "pate"]["value"]
        assert "guessed" in done.stderr

    def test_formats(self, files):
        arguments = (
            "score",
            files / "wide.csv",
            "--metrics",
            "pate,auc_roc,point_f1",
            "--early",
            "5",
            "--delay",
            "0..5",
        )
        text = run(*arguments).stdout
        assert "point_f1 (oracle)" in text
        assert run(*arguments, "--format", "markdown").stdout.startswith("| metric | chance | good | bad |")
        rows = list(csv.DictReader(io.StringIO(run(*arguments, "--format", "csv").stdout)))
        value = next(float(r["value"]) for r in rows if (r["detector"], r["metric"]) == ("good", "pate"))
        assert value == pv.pate(TABLE["label"], TABLE["good"], early=5, delay=range(6))

    def test_scores_are_named_in_one_option_or_in_several(self, files):
        arguments = ("score", files / "wide.csv", "--metrics", "auc_roc", "--format", "csv")
        together = run(*arguments, "--score", "good,bad").stdout
        assert [row["detector"] for row in csv.DictReader(io.StringIO(together))] == ["good", "bad"]
        assert run(*arguments, "--score", "good", "--score", "bad").stdout == together

    def test_undefined_metrics_have_a_reason(self, files):
        done = run("score", files / "wide.csv", "--metrics", "ucr_score,pate", "--format", "json")
        undefined = [row for row in json.loads(done.stdout) if row["metric"] == "ucr_score"]
        assert all(row["value"] is None and "exactly one event" in row["reason"] for row in undefined)

    def test_named_columns_and_threshold(self, files):
        done = run(
            "score", files / "wide.csv", "--label", "label", "--score", "good", "--threshold", "1.0", "--format", "json"
        )
        found = {row["metric"]: row["value"] for row in json.loads(done.stdout)}
        assert set(found) == set(pv.DEFAULT_METRICS)
        assert found["point_f1"] == pytest.approx(pv.point(TABLE["label"], TABLE["good"] >= 1.0).f1)


USER_FILE = """
import pateval as pv

def share(labels, predictions, *, scale=1.0):
    return scale * predictions.mean()

def broken(labels, scores):
    raise ValueError("nothing works")

cost = pv.define_metric(share, id="cost", takes="predictions", higher_is_better=False)
"""


class TestMetricsOfOnesOwn:
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path, monkeypatch):
        (tmp_path / "own_metrics.py").write_text(USER_FILE)
        (tmp_path / "half_metrics.py").write_text("import no_such_thing")
        pa.csv.write_csv(pa.table(TABLE), tmp_path / "wide.csv")
        monkeypatch.chdir(tmp_path)

    def pateval(self, *arguments):
        # The command as it is installed, whose own folder, not the current one, comes first on the path.
        code = "import sys; sys.path = [p for p in sys.path if p]; from pateval.cli import main; main()"
        return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)

    def test_score(self):
        done = self.pateval(
            *("score", "wide.csv", "--score", "good", "--threshold", "1", "--format", "json", "--early", "3"),
            *("--metrics", "own_metrics:share(scale=2), pate(early=[0,100],delay=5),pate"),
            *("--metrics", "own_metrics:cost", "--metrics", "point_f_beta( beta=2 )"),
        )
        assert done.returncode == 0, done.stderr
        flagged = TABLE["good"] >= 1
        found = {row["metric"]: row for row in json.loads(done.stdout)}
        assert {name: row["value"] for name, row in found.items()} == {
            "share(scale=2)": 2 * flagged.mean(),
            "pate(early=[0,100],delay=5)": pv.pate(LABELS, TABLE["good"], delay=5),
            "pate": pv.pate(LABELS, TABLE["good"], early=3),
            "cost": flagged.mean(),
            "point_f_beta(beta=2)": pv.point(LABELS, flagged).f_beta(2),
        }
        end = f"definition:1|pateval:{pv.__version__}"
        assert found["share(scale=2)"]["signature"] == f"share|scale:2|predictions:1|module:own_metrics|{end}"
        assert found["pate"]["signature"] == f"pate|early:3|delay:0,100|area:trapezoid|thresholds:all|{end}"
        table = self.pateval("score", "wide.csv", "--metrics", "own_metrics:share")
        assert table.stdout.splitlines()[2].startswith("share (oracle)")

    def test_audit(self):
        done = self.pateval(
            *("audit", "wide.csv", "--labels-only", "--seeds", "1", "--format", "json"),
            *("--metrics", "own_metrics:cost,pate(early=5,delay=5)"),
        )
        assert done.returncode == 0, done.stderr
        cost, pate = json.loads(done.stdout)
        assert (cost["metric"], cost["higher_is_better"], cost["always_on"]) == ("cost", False, 1.0)
        assert (pate["metric"], pate["perfect"]) == ("pate(early=5,delay=5)", 1.0)

    def test_a_metric_that_breaks_leaves_the_others_alone(self):
        options = ("--score", "good", "--label", "label", "--time", "none", "--chance", "0")
        alone = self.pateval("score", "wide.csv", *options, "--metrics", "auc_roc")
        done = self.pateval("score", "wide.csv", *options, "--metrics", "own_metrics:broken,auc_roc")
        assert (done.returncode, alone.returncode) == (1, 0)
        assert done.stdout.splitlines()[-1] == alone.stdout.splitlines()[-1]
        assert "broken: the metric broken failed: ValueError: nothing works" in done.stderr.splitlines()

    @pytest.mark.parametrize(
        ("metric", "message"),
        [
            ("own_metrics:nothing", "metric 'own_metrics:nothing': the module 'own_metrics' has no 'nothing'"),
            (
                "half_metrics:f",
                (
                    "metric 'half_metrics:f': importing 'half_metrics' failed: ModuleNotFoundError: "
                    "No module named 'no_such_thing'"
                ),
            ),
            (
                "pate(early=x)",
                (
                    "the metric pate(early=x) is refused: early as text must be a number with a unit, such as "
                    "'10min', '2h'; got 'x'"
                ),
            ),
            ("pate(early=[1)", "'pate(early=[1)' has a ')' that closes nothing"),
            (",", "metrics must name at least one metric; got an empty collection"),
        ],
    )
    def test_mistakes_are_one_line(self, metric, message):
        done = self.pateval(
            "score", "wide.csv", "--score", "good", "--label", "label", "--time", "none", "--metrics", metric
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"pateval: {message}\n")


class TestExplain:
    def test_prints_the_table(self, files):
        done = run("explain", files / "wide.csv", "--score", "good", "--threshold", "1.0", "--early", 5, "--delay", 5)
        expected = pv.explain(TABLE["label"], scores=TABLE["good"], threshold=1.0, early=5, delay=5)
        assert done.stdout == f"detector good\n{expected!r}\n"

    def test_rows(self, files):
        arguments = ("explain", files / "wide.csv", "--score", "good", "--early", 5, "--delay", 5, "--format", "json")
        assert [row["start"] for row in json.loads(run(*arguments).stdout)] == [30, 78]
        assert len(json.loads(run(*arguments, "--steps").stdout)) == LABELS.size

    def test_it_explains_what_score_prints(self, tmp_path):
        both = {name: np.concatenate([column, column[::-1]]) for name, column in TABLE.items() if name != "time"}
        both["series"] = np.repeat(["first", "second"], LABELS.size)
        pa.parquet.write_table(pa.table(both), tmp_path / "two.parquet")
        for buffers in ((), ("--early", "0..3", "--delay", 5)):
            scored = run(
                "score", tmp_path / "two.parquet", *buffers, "--score", "good", "--pooled", "--format", "json"
            ).stdout
            value = next(row["value"] for row in json.loads(scored) if row["metric"] == "pate_f1")
            done = run("explain", tmp_path / "two.parquet", *buffers, "--score", "good")
            assert f"F1 {value:.4f}" in done.stdout
            assert done.stdout.startswith("detector good\nprecision")
        rows = json.loads(run("explain", tmp_path / "two.parquet", "--score", "good", "--format", "json").stdout)
        assert [(row["series"], row["start"]) for row in rows] == [
            ("first", 30),
            ("first", 78),
            ("second", 37),
            ("second", 82),
        ]
        assert {row["detector"] for row in rows} == {"good"}
        one = ("explain", tmp_path / "two.parquet", "--score", "good", "--series", "series", "--only-series", "second")
        steps = json.loads(run(*one, "--steps", "--format", "json").stdout)
        assert [row["step"] for row in steps] == list(range(LABELS.size))
        assert {row["series"] for row in steps} == {"second"}
        done = run(*one[:-1], "third", status=2)
        assert done.stderr.splitlines()[-1] == (
            f"pateval: {tmp_path / 'two.parquet'}: there is no series named 'third'; its series are 'first', 'second'"
        )

    def test_several_detectors_need_a_choice(self, files):
        assert run("explain", files / "wide.csv", status=2).stderr.splitlines()[-1] == (
            f"pateval: {files / 'wide.csv'} holds 2 detectors ('good', 'bad'); choose one with --score or --only"
        )
        run("explain", files / "wide.csv", "--only", "bad")


class TestDemo:
    def test_table_and_sentences(self):
        done = run("demo")
        assert "pate_ap" in done.stdout
        assert "PATE-AP" in done.stdout
        assert run("demo", "--format", "json").stdout == run("demo", "--format", "json").stdout


NO_BUFFER = "is not a buffer; write steps, as in 100, 0,100 or 0..100, or durations, as in 10min or 0min,2h"
BAD = [
    (["scor"], "No such command 'scor'. Did you mean 'score'?"),
    (["score"], "Missing argument 'FILE...'; 'pateval score --help' shows how it is called"),
    (["score", "missing.csv"], "missing.csv: there is no such file or folder"),
    (
        ["score", "FILE", "--label", "nope"],
        "FILE: there is no label column 'nope'; its columns are 'time', 'label', 'good', 'bad'",
    ),
    (
        ["score", "FILE", "--metrics", "pat"],
        "unknown metric 'pat'; did you mean 'pate'? ('pateval metrics' lists them)",
    ),
    (["score", "FILE", "--early", "-3"], f"Invalid value for '--early': '-3' {NO_BUFFER}"),
    (["score", "FILE", "--early", "x"], f"Invalid value for '--early': 'x' {NO_BUFFER}"),
    (
        ["score", "FILE", "--threshold", "magic"],
        (
            "threshold must be a number, or a rule such as 'quantile:0.01', of these: oracle, best, quantile, "
            "standard-deviation, median-deviation, peaks-over-threshold, train-quantile, train-test-quantile, "
            "alarms:2/1d, false-alarms:2/1d; got 'magic'"
        ),
    ),
    (
        ["score", "FILE", "--format", "xml"],
        "Invalid value for '--format': 'xml' is not one of 'table', 'json', 'csv', 'markdown', 'latex'.",
    ),
    (["score", "FILE", "--colour"], "No such option '--colour'; 'pateval score --help' shows how it is called"),
    (
        ["score", "FILE", "--lable", "x"],
        "No such option '--lable' (did you mean '--label'?); 'pateval score --help' shows how it is called",
    ),
    (["score", "FILE", "--xyz"], "No such option '--xyz'; 'pateval score --help' shows how it is called"),
    (
        ["explain", "FILE", "--only", "nobody"],
        "FILE: there is no detector named 'nobody'; its detectors are 'good', 'bad'",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_usage_is_one_line_and_status_2(files, arguments, message):
    done = run(*(files / "wide.csv" if a == "FILE" else a for a in arguments), status=2)
    lines = [line for line in done.stderr.splitlines() if line.startswith("pateval:")]
    assert lines == [f"pateval: {message}".replace("FILE:", f"{files / 'wide.csv'}:")]
    assert done.stdout == ""


def test_help_of_every_command():
    assert all(name in run("--help").stdout for name in COMMANDS)
    assert run("--version").stdout.startswith("pateval ")
    for name in COMMANDS:
        assert "Usage" in run(name, "--help").stdout


def test_closed_pipe_is_no_error(files):
    command = f"{sys.executable} -m pateval score {files / 'wide.csv'} --format csv | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_pyarrow_that_refuses_this_numpy_is_named_with_the_remedy(monkeypatch, capsys):
    """Beside NumPy 1.26 pip brings a pyarrow that cannot be imported."""

    def refuse(**_):
        raise ImportError("pyarrow requires NumPy 2.0 or newer, found 1.26.4")

    monkeypatch.setattr("pateval.cli.pateval.main", refuse)
    with pytest.raises(SystemExit) as stopped:
        main(["score", "scores.csv"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "pateval: files are read with pyarrow, and this one does not run here (pyarrow requires NumPy 2.0 or newer, "
        "found 1.26.4): pip install 'pyarrow<24'\n"
    )
