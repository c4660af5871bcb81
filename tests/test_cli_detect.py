"""`pateval detect`, run as a user would."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from pateval.cli.detect import command
from pateval.io.score_files import read_metadata

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "plant"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for name in ("pump", "valve"):
        pq.write_table(
            pa.table({"x": generator.random(60), "y": generator.random(60)}), folder / f"{name}_train.parquet"
        )
        label = (np.arange(40) == 20).astype(int)
        pq.write_table(
            pa.table({"x": generator.random(40) + 5 * label, "y": generator.random(40), "label": label}),
            folder / f"{name}_test.parquet",
        )
    return folder


def test_list() -> None:
    result = run("--list")
    assert result.exit_code == 0
    assert "random" in result.stdout
    assert "(needs torch)" in result.stdout


def test_score_files(data: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores"
    result = run(
        "random",
        "moving_zscore",
        "--data",
        str(data),
        "-o",
        str(scores),
        "--seed",
        "3",
        "--set",
        "moving_zscore.window=5",
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == [str(scores / "random.parquet"), str(scores / "moving_zscore.parquet")]
    assert read_metadata(scores / "random.parquet")["seed"] == 3
    assert read_metadata(scores / "moving_zscore.parquet")["settings"]["window"] == 5
    table = pq.read_table(scores / "random.parquet")
    assert table.num_rows == 80
    assert sorted(set(table.column("series").to_pylist())) == ["pump", "valve"]
    before = (scores / "random.parquet").read_bytes()
    assert run("random", "--data", str(data), "-o", str(scores), "--seed", "3").exit_code == 0
    assert (scores / "random.parquet").read_bytes() == before


def test_only_join_name_and_float32(data: Path, tmp_path: Path) -> None:
    scores = tmp_path / "scores"
    run("random", "--data", str(data), "-o", str(scores), "--only", "valve", "--name", "luck", "--float32")
    table = pq.read_table(scores / "luck.parquet")
    assert set(table.column("series").to_pylist()) == {"valve"}
    assert table.column("score").type == pa.float32()
    assert run("constant", "--data", str(data), "-o", str(scores), "--join").exit_code == 0
    assert [each["series"] for each in read_metadata(scores / "constant.parquet")["runs"]] == ["plant"]


def test_no_training_stretch_is_announced(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("v,label\n" + "\n".join(f"{i % 3},{int(i == 7)}" for i in range(20)))
    result = run("random", "--data", str(path), "-o", str(tmp_path / "scores"))
    assert result.exit_code == 0, result.output
    assert "fitted on the test stretch, without its labels" in result.stderr


def test_failures_set_the_exit_status(data: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [0.0], "y": [0.0]}), data / "pump_train.parquet")
    result = run("pca", "random", "--data", str(data), "-o", str(tmp_path / "s"), "--set", "pca.window=30")
    assert result.exit_code == 1
    assert "pca failed on pump:" in result.stderr
    assert "1 of 4 pairs failed" in result.stderr
    assert result.stdout.split() == [str(tmp_path / "s" / "pca.parquet"), str(tmp_path / "s" / "random.parquet")]


def test_the_papers_settings_are_announced(real_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    arguments = ("--data", "PSM", "--root", str(real_data), "-o", str(tmp_path), "--device", "cpu")
    result = run("usad", *arguments, "--set", "epochs=1")
    assert result.exit_code == 0, result.output
    assert "usad: settings of the papers for PSM: window=5, latent_per_step=33" in result.stderr
    known = read_metadata(tmp_path / "usad.parquet")
    assert (known["settings"]["epochs"], known["device"], known["runs"][0]["fitted_on"]) == (1, "cpu", "test")
    assert "torch" in known["versions"]
    first = pq.read_table(tmp_path / "usad.parquet").column("score").to_numpy()
    run("usad", *arguments, "--set", "epochs=1", "--name", "again")
    np.testing.assert_array_equal(first, pq.read_table(tmp_path / "again.parquet").column("score").to_numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name at least one detector ('pateval detect --list' shows them)"),
        (("random",), "--data and -o are needed"),
        (("random", "pca", "--data", "x", "-o", "y", "--name", "z"), "--name goes with one detector"),
        (
            ("random", "--data", "x", "-o", "y", "--set", "seed"),
            "--set takes KEY=VALUE or DETECTOR.KEY=VALUE; got 'seed'",
        ),
        (
            ("random", "--data", "x", "-o", "y", "--set", "pca.window=3"),
            "--set pca.window=3: 'pca' is not among the detectors to run",
        ),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {message}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("nope", "--data", "x"),
            (
                "unknown detector 'nope'; there are perfect, random, constant, squared_zscore, moving_zscore, "
                "moving_variance, moving_median, squared_difference, pca, knn, isolation_forest, mvn, lof, "
                "autoencoder, lstm, transformer, usad, anomaly_transformer, "
                "dcdetector, or package.module:Class of your own"
            ),
        ),
        (
            ("random", "--data", "/nowhere"),
            (
                "'/nowhere' is neither a folder nor a known data set; known are SMD, MSL, SMAP, PSM, SWaT, UCR, "
                "MBA_ECG, NAB, NAB-points, TSB-AD-U, TSB-AD-M, TSB-AD-sample"
            ),
        ),
        (
            ("random", "--data", "SMD", "--root", "/nowhere"),
            "SMD is not in /nowhere: get it with 'pateval data fetch SMD'",
        ),
        (("random", "--data", "x", "--set", "colour=red"), "random has no setting colour; it has legacy, seed"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run(*arguments, "-o", str(tmp_path))
    assert isinstance(result.exception, ValueError)
    assert str(result.exception) == message


def test_unknown_series(data: Path, tmp_path: Path) -> None:
    result = run("random", "--data", str(data), "-o", str(tmp_path / "s"), "--only", "pipe")
    assert str(result.exception) == "there is no series 'pipe'; there are pump, valve"


OWN = '''
import numpy as np

class Distance:
    """Distance from the training mean: higher is anomalous."""

    def __init__(self, power=1.0, random_state=None):
        self.power = power
        self.random_state = random_state

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def decision_function(self, X):
        return np.linalg.norm(X - self.mean_, axis=1) ** self.power


class Blind:
    def fit(self, X):
        return self


def function():
    pass
'''


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file in the current folder, under a name that no other test has imported."""
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [each for each in __import__("sys").path if each])
    return name


def test_a_class_in_the_current_folder(own_module: str, data: Path, tmp_path: Path) -> None:
    path = f"{own_module}:Distance"
    result = run(
        *(path, "--higher-is-anomalous", "--data", str(data), "-o", "s", "--set", "window=1", "--set", "power=2.0")
    )
    assert result.exit_code == 0, result.output
    assert "Distance: is shown single steps, z-scored" in result.stderr
    assert result.stdout.split() == ["s/Distance.parquet"]
    table = pq.read_table(tmp_path / "s" / "Distance.parquet")
    pump = table.filter(pa.compute.equal(table["series"], "pump"))
    assert int(pump["score"].to_numpy().argmax()) == 20
    known = read_metadata(tmp_path / "s" / "Distance.parquet")["settings"]
    assert (known["class"], known["power"], known["shown_window"], known["seed"]) == (path, 2.0, 1, 0)
    assert known["higher_is_anomalous"] is True
    # Other code is another detector.
    digest = known["source_digest"]
    assert len(digest) == 16
    arguments = (path, "--data", str(data), "-o", "t", "--set", f"{path}.window=1", "--name", "d")
    lower = run(*arguments, "--lower-is-anomalous")
    assert lower.exit_code == 0, lower.output
    turned = pq.read_table(tmp_path / "t" / "d.parquet")["score"].to_numpy()
    np.testing.assert_allclose(turned, -np.sqrt(table["score"].to_numpy()), rtol=1e-9)


def test_an_estimator_of_scikit_learn(data: Path, tmp_path: Path) -> None:
    from pateval.detectors import make

    name = "sklearn.ensemble:IsolationForest"
    arguments = (name, "--data", str(data), "-o", str(tmp_path / "s"), "--set", "n_estimators=20", "--set", "window=4")
    result = run(*arguments, "--seeds", "0..1")
    assert result.exit_code == 0, result.output
    assert (
        "IsolationForest: is shown windows of 4 steps, z-scored (--set window=N, --set standardize=false); "
        "its low values are anomalous" in result.stderr
    )
    table = pq.read_table(tmp_path / "s" / "IsolationForest.parquet")
    assert sorted(set(table["run"].to_pylist())) == [0, 1]
    train, test = (
        np.column_stack([pq.read_table(data / f"pump_{part}.parquet")[name].to_numpy() for name in "xy"])
        for part in ("train", "test")
    )
    ours = make("isolation_forest", window=4, trees=20, seed=1).fit(train)
    mine = table.filter(pa.compute.and_(pa.compute.equal(table["run"], 1), pa.compute.equal(table["series"], "pump")))
    np.testing.assert_allclose(mine["score"].to_numpy(), ours.score(test))


def test_the_direction_of_an_unknown_class_must_be_said(own_module: str, data: Path) -> None:
    result = run(f"{own_module}:Distance", "--data", str(data), "-o", "s")
    assert str(result.exception) == (
        "say what a high value of Distance means, which is known of scikit-learn's, PyOD's and aeon's detectors only: "
        "--higher-is-anomalous or --lower-is-anomalous"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere_at_all:Class", "there is no module 'nowhere_at_all', neither installed nor in"),
        ("sklearn.ensemble:Nothing", "the module 'sklearn.ensemble' has no class 'Nothing'"),
        ("sklearn.ensemble:", "a detector of your own is named package.module:Class; got 'sklearn.ensemble:'"),
        ("OWN:function", "is no class with fit and decision_function or score_samples"),
    ],
)
def test_classes_that_are_none(path: str, message: str, own_module: str, data: Path) -> None:
    result = run(path.replace("OWN", own_module), "--lower-is-anomalous", "--data", str(data), "-o", "s")
    assert isinstance(result.exception, (ValueError, TypeError))
    assert message in str(result.exception)


def test_settings_that_a_class_does_not_have(own_module: str, data: Path) -> None:
    result = run(f"{own_module}:Distance", "--higher-is-anomalous", "--data", str(data), "-o", "s", "--set", "colour=1")
    assert str(result.exception) == (
        "Distance has no setting colour; it has power, random_state, window, standardize, max_windows"
    )
    blind = run(f"{own_module}:Blind", "--higher-is-anomalous", "--data", str(data), "-o", "s")
    assert str(blind.exception) == "an estimator needs fit and decision_function or score_samples; Blind has not"


def test_settings_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    result = run("lstm", "--data", str(tmp_path / "nowhere"), "-o", str(tmp_path), "--set", "epochs=0")
    assert str(result.exception) == "epochs must be a whole number of at least 1; got 0"
    result = run("lstm", "--data", str(tmp_path / "nowhere"), "-o", str(tmp_path), "--set", "select_on_test=maybe")
    assert str(result.exception) == "select_on_test must be True or False; got 'maybe'"


def test_what_is_missing_is_noted(real_data: Path, tmp_path: Path) -> None:
    result = run(
        "random", "--data", "SMD", "--root", str(real_data), "-o", str(tmp_path), "--only", "machine-1-2", "--float32"
    )
    assert result.exit_code == 0, result.output
    assert "SMD is not whole: 19 of 28 series are here; missing: machine-1-1, " in result.stderr
    about = read_metadata(tmp_path / "random.parquet")["data"]
    assert about["name"] == "SMD"
    assert about["only"] == ["machine-1-2"]
    assert about["missing"].startswith("19 of 28 series are here")


def test_lines_now_and_then_where_there_is_no_terminal(data: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("pateval.output.progress._SECONDS_BETWEEN_LINES", 0.0)
    result = run("usad", "--data", str(data), "-o", str(tmp_path / "s"), "--set", "epochs=3", "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert "usad on pump: epoch 1 of 3, loss " in result.stderr
    assert "s left" in result.stderr
    assert "usad on valve finished (2 of 2)" in result.stderr


def test_the_papers_protocol(data: Path, tmp_path: Path) -> None:
    result = run(
        *("lstm", "--data", str(data), "-o", str(tmp_path / "s"), "--protocol", "paper", "--device", "cpu"),
        *("--set", "epochs=1", "--set", "window=10", "--set", "hidden=4", "--seeds", "0,1"),
    )
    assert result.exit_code == 0, result.output
    known = read_metadata(tmp_path / "s" / "lstm.parquet")
    assert known["settings"]["select_on_test"] is True
    assert known["protocol"] == "paper"
    assert [each["series"] for each in known["runs"]] == ["plant", "plant"]


def test_verdicts(data: Path, tmp_path: Path) -> None:
    run("random", "--data", str(data), "-o", str(tmp_path / "s"))
    result = run("--verdicts", str(tmp_path / "s"))
    assert result.exit_code == 0, result.output
    assert result.stdout.count("nothing was trained") == 2


def test_the_preset_of_the_authors(data: Path, tmp_path: Path) -> None:
    small = ("--data", str(data), "--device", "cpu", "--set", "epochs=1", "--set", "window=5")
    result = run("lstm", "usad", *small, "--protocol", "paper", "--preset", "authors", "-o", str(tmp_path / "s"))
    assert result.exit_code == 0, result.output
    lstm, usad = (read_metadata(tmp_path / "s" / f"{name}.parquet")["settings"] for name in ("lstm", "usad"))
    assert (lstm["order"], lstm["validation_mean"], lstm["float32_input"], lstm["seed"]) == (
        "legacy",
        "batches",
        True,
        0,
    )
    assert lstm["select_on_test"] is True
    assert (usad["order"], usad["seed"]) == ("legacy", 42)
    alone = run("lstm", *small, "--preset", "authors", "-o", str(tmp_path / "t"))
    assert alone.exit_code == 2
    assert "--preset goes with --protocol paper" in alone.output


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from pateval.cli import main
main(sys.argv[1:])
"""


def test_a_full_disk_is_said_with_the_name_of_the_file(data: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, "detect", "random", "--data", str(data), "-o", str(tmp_path / "scores")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"pateval: {tmp_path / 'scores'}/")
    assert last.endswith(": the file could not be written (File too large); write to another place")
