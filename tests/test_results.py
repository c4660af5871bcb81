"""The retraining under results/, on fake data, in a Python without pyarrow: it runs where nobody can look."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pateval.io.score_files import read_metadata, read_training_scores

torch.set_num_threads(1)
RESULTS = Path(__file__).parents[1] / "results"
# What the machine with the accelerator does not have.
ABSENT = ("pyarrow", "click", "rich", "narwhals", "scipy", "sklearn", "pandas", "polars", "jinja2", "matplotlib")


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    monkeypatch.syspath_prepend(str(RESULTS))
    names = ("impact", "prepare", "train", "collect")
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def packs(tmp_path: Path, scripts: dict[str, ModuleType]) -> Path:
    """A folder of Parquet files in the layout of the real one, packed."""
    rng = np.random.default_rng(0)
    source = tmp_path / "source"

    def write(path: Path, length: int, features: int, *, label: bool, channels: list[str] | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        columns: dict[str, object] = {}
        if channels:
            columns["channel"] = np.repeat(channels, length // len(channels))
        columns |= {f"f{k:02d}": rng.normal(size=length).astype(np.float32) for k in range(features)}
        if label:
            columns["label"] = (rng.random(length) < 0.1).astype(np.uint8)
        pq.write_table(pa.table(columns), path)

    write(source / "MSL" / "MSL_train.parquet", 640, 4, label=False, channels=["A-1", "B-2"])
    write(source / "MSL" / "MSL_test.parquet", 430, 4, label=True, channels=["A-1", "B-2"])
    for machine in ("machine-1-10", "machine-1-2"):
        write(source / "SMD" / f"{machine}_train.parquet", 330, 2, label=False)
        write(source / "SMD" / f"{machine}_test.parquet", 220, 2, label=True)
    assert scripts["prepare"].main([str(source), "--to", str(tmp_path / "packs")]) == 0
    return tmp_path / "packs"


def test_packs_hold_what_was_loaded(packs: Path, scripts: dict[str, ModuleType]) -> None:
    assert sorted(path.name for path in packs.iterdir()) == ["MSL.xz", "SMD.xz", "commit.txt"]
    series, about = scripts["impact"].unpack_series(packs / "SMD.xz")
    assert series.parts == ("machine-1-2", "machine-1-10")
    assert (series.boundaries, series.train_boundaries) == ((0, 220), (0, 330))
    assert series.train.dtype == np.float32
    assert about["missing"].startswith("1 of 28 series are here")
    second = pq.read_table(packs.parent / "source" / "SMD" / "machine-1-10_test.parquet")
    np.testing.assert_array_equal(series.test[220:, 1], second["f01"].to_numpy())
    np.testing.assert_array_equal(series.labels[220:], second["label"].to_numpy())


def test_training_without_pyarrow_then_collecting(packs: Path, tmp_path: Path, scripts: dict[str, ModuleType]) -> None:
    arguments = ["--data", str(packs), "--device", "cpu", "--epochs", "2", "--jobs", "1", "--seeds", "0,1"]
    arguments += ["--detectors", "usad,lstm", "--datasets", "MSL,SMD", "--minutes", "5"]
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in ABSENT)
    code = (
        f"import sys\n{blocked}sys.path.insert(0, {str(RESULTS)!r})\nimport train\nsys.exit(train.main(sys.argv[1:]))"
    )
    folders = ["--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, *folders], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 runs in the files, 0 too many" in done.stdout
    (archive,) = (tmp_path / "out").iterdir()
    assert len(zipfile.ZipFile(archive).namelist()) == 16

    collected = ["--data", str(packs), "--to", str(tmp_path / "scores"), "--device", "cpu", "--epochs", "2"]
    assert scripts["collect"].main([str(tmp_path / "out"), *collected]) == 0
    from pateval.datasets import join, load
    from pateval.detectors import make
    from pateval.detectors.presets import dataset_settings

    whole = join(load("MSL", root=tmp_path / "source"), "MSL")
    # The paper's protocol, seed 0: exactly what the detector gives on the joined data, its test set choosing.
    path = tmp_path / "scores" / "paper" / "MSL" / "lstm.parquet"
    alone = make("lstm", **dataset_settings("lstm", "MSL"), epochs=2, device="cpu", select_on_test=True)
    alone.fit(whole.train, test=whole.test)
    table = pq.read_table(path)
    first = table.filter(pa.compute.equal(table["run"], 0))
    np.testing.assert_array_equal(first["score"].to_numpy(), alone.score(whole.test)[:400].astype(np.float32))
    expected = np.sort(alone.score(whole.train)[:600].astype(np.float32))
    found = read_training_scores(path, run=0)
    np.testing.assert_array_equal(found[-30:], expected[-30:])
    np.testing.assert_allclose(found, expected, rtol=0.2)
    # Ours, seed 1: inside the series, to twelve bits.
    path = tmp_path / "scores" / "held-out" / "MSL" / "usad.parquet"
    alone = make("usad", **{**dataset_settings("usad", "MSL"), "epochs": 2}, device="cpu", seed=1)
    alone.fit(whole.train, boundaries=whole.train_boundaries)
    table = pq.read_table(path)
    second = table.filter(pa.compute.equal(table["run"], 1))["score"].to_numpy()
    np.testing.assert_allclose(second, alone.score(whole.test, boundaries=whole.boundaries), rtol=2**-13)
    known = read_metadata(path)
    assert known["data"]["name"] == "MSL"
    assert known["runs"][1]["mantissa_bits"] == 12
    assert known["runs"][0]["boundaries_kept"] is True
    # One seed alone may be wanted, for a repository that cannot hold them all.
    few = [*collected[:3], str(tmp_path / "few"), *collected[4:], "--seeds", "1"]
    assert scripts["collect"].main([str(tmp_path / "out"), *few]) == 0
    assert [run["seed"] for run in read_metadata(tmp_path / "few" / "paper" / "SMD" / "usad.parquet")["runs"]] == [1]
    # What is collected is neither trained nor sent again.
    assert len(json.loads((packs / "done.json").read_text())) == 16
    fresh = ["--out", str(tmp_path / "out2"), "--work", str(tmp_path / "work2")]
    assert scripts["train"].main([*arguments, *fresh]) == 0
    assert list((tmp_path / "out2").iterdir()) == []
    # A pack of other data does not fit.
    (packs / "MSL.xz").write_bytes((packs / "SMD.xz").read_bytes())
    with pytest.raises(SystemExit, match="belongs to other settings, data or version"):
        scripts["collect"].main([str(tmp_path / "out"), *collected[:-5], str(tmp_path / "again"), *collected[-4:]])


def test_rounding_and_thinning(scripts: dict[str, ModuleType]) -> None:
    train, collect = scripts["train"], scripts["collect"]
    values = np.sort(np.random.default_rng(0).lognormal(sigma=5, size=5000).astype(np.float32))
    rounded = train.round_mantissa(values, 12)
    np.testing.assert_allclose(rounded, values, rtol=2**-13)
    assert (np.diff(rounded) >= 0).all()
    assert train.round_mantissa(np.zeros(3, dtype=np.float32), 12).tolist() == [0, 0, 0]
    for count in (1, 7, 40, 5000):
        thinned = train.thin(values[:count])
        back = collect.thicken(thinned, count)
        assert len(back) == count
        exact = int(0.05 * count)
        np.testing.assert_array_equal(back[count - exact :], values[count - exact : count])
        np.testing.assert_array_equal(back[:: train.THINNING][: len(thinned) - exact], thinned[: len(thinned) - exact])


def test_files_are_bounded(tmp_path: Path, scripts: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    from pateval.runner.tasks import write_part

    rng = np.random.default_rng(0)
    for number in range(5):
        place = tmp_path / "paper" / "MSL" / ".parts" / "usad" / f"MSL-key{number}.npz"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_part(place, rng.random(1000).astype(np.float32), np.empty(0, dtype=np.float32), {"seed": 0})
    monkeypatch.setattr(scripts["train"], "FILE_BYTES", 9000)
    options = {"protocols": ("paper",), "done": {"key4"}}
    assert scripts["train"].write_files(tmp_path, tmp_path / "out", 1, **options) == (2, 2)
    assert scripts["train"].write_files(tmp_path, tmp_path / "out", 2, **options) == (4, 0)
    assert all(path.stat().st_size <= 9000 for path in (tmp_path / "out").iterdir())


def test_unknown_names_are_refused(scripts: dict[str, ModuleType], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scripts["train"].parse(["--detectors", "lstm,other"])
    assert "unknown: other" in capsys.readouterr().err


SCORES = RESULTS / "scores"


def test_the_score_files_stay_small() -> None:
    assert sum(path.stat().st_size for path in SCORES.rglob("*") if path.is_file()) < 25e6


def test_what_the_page_says_about_the_score_files() -> None:
    """Every sentence there that can be held against the files is."""
    page = (RESULTS / "README.md").read_text()
    for detector in ("anomaly_transformer", "dcdetector"):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {detector} |")]
        said = [cell.strip() for cell in line.split("|")[2:-1]]
        shares = []
        for protocol in ("authors", "held-out"):
            for dataset in ("MSL", "SMAP", "SMD"):
                scores = pq.read_table(SCORES / protocol / dataset / f"{detector}.parquet", columns=["score"])["score"]
                shares.append(f"{100 * np.mean(scores.to_numpy() == 0):.0f} %")
        assert said == shares
    for path in SCORES.rglob("*.parquet"):
        known = read_metadata(path)
        runs = known.get("runs", [{"seed": known.get("seed"), "training": {"kept_epoch": known.get("epoch_kept")}}])
        assert [run["seed"] for run in runs] == [0]
        if known["detector"] == "anomaly_transformer":
            assert runs[0]["training"]["kept_epoch"] == 1
        settings = known["settings"]
        if "select_on_test" in settings:
            assert settings["select_on_test"] is (path.parents[1].name == "authors")
        else:
            assert known["detector"] in ("usad", "dcdetector")
    assert {path.parent.name for path in SCORES.rglob("*.parquet")} == {"MSL", "SMAP", "SMD"}


def test_held_out_files_hold_out_a_tenth_of_each_series() -> None:
    for path in (SCORES / "held-out").rglob("*.parquet"):
        (run,) = read_metadata(path)["runs"]
        assert run["boundaries_kept"] is True
        assert run["steps"] == pq.read_metadata(path).num_rows
        assert run["dropped_steps"] == 0
