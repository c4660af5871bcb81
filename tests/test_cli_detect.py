"""`pateval detect`, run as a user would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from pateval.cli.detect import command
from pateval.runner import read_provenance

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
    assert read_provenance(scores / "random.parquet")["seed"] == 3
    assert read_provenance(scores / "moving_zscore.parquet")["settings"]["window"] == 5
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
    assert [each["series"] for each in read_provenance(scores / "constant.parquet")["runs"]] == ["plant"]


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
    known = read_provenance(tmp_path / "usad.parquet")
    assert (known["settings"]["epochs"], known["device"], known["runs"][0]["fitted_on"]) == (1, "cpu", "test")
    assert "torch" in known["versions"]
    first = pq.read_table(tmp_path / "usad.parquet").column("score").to_numpy()
    run("usad", *arguments, "--set", "epochs=1", "--name", "again")
    np.testing.assert_array_equal(first, pq.read_table(tmp_path / "again.parquet").column("score").to_numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name at least one detector"),
        (("random",), "--data and -o are needed"),
        (("random", "pca", "--data", "x", "-o", "y", "--name", "z"), "--name goes with one detector"),
        (("random", "--data", "x", "-o", "y", "--set", "seed"), "--set takes KEY=VALUE"),
        (("random", "--data", "x", "-o", "y", "--set", "pca.window=3"), "'pca' is not among the detectors"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope", "--data", "x"), "unknown detector 'nope'; there are perfect"),
        (("random", "--data", "/nowhere"), "'/nowhere' is neither a folder nor a known data set"),
        (
            ("random", "--data", "SMD", "--root", "/nowhere"),
            "SMD is not in /nowhere: get it with 'pateval data fetch SMD'",
        ),
        (("random", "--data", "x", "--set", "colour=red"), "random has no setting colour"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run(*arguments, "-o", str(tmp_path))
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)


def test_unknown_series(data: Path, tmp_path: Path) -> None:
    result = run("random", "--data", str(data), "-o", str(tmp_path / "s"), "--only", "pipe")
    assert str(result.exception) == "there is no series 'pipe'; there are pump, valve"
