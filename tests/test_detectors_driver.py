"""The training driver under results/, on fake data: it runs on a machine where nobody can look."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

torch.set_num_threads(1)
RESULTS = Path(__file__).parents[1] / "results"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"results_{name}", RESULTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A folder of Parquet files in the layout of the real one, prepared."""
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

    for name, features in (("MSL", 4), ("SMAP", 3)):
        write(source / name / f"{name}_train.parquet", 640, features, label=False, channels=["A-1", "B-2"])
        write(source / name / f"{name}_test.parquet", 430, features, label=True, channels=["A-1", "B-2"])
    for machine in ("machine-1-10", "machine-1-2"):
        write(source / "SMD" / f"{machine}_train.parquet", 330, 2, label=False)
        write(source / "SMD" / f"{machine}_test.parquet", 220, 2, label=True)
    target = tmp_path / "npz"
    assert load("prepare").main([str(source), "--to", str(target)]) == 0
    return target


def test_prepared_arrays(prepared: Path) -> None:
    with np.load(prepared / "SMD.npz") as arrays:
        assert arrays["train"].shape == (660, 2)
        assert arrays["train"].dtype == np.float32
        assert arrays["names"].tolist() == ["machine-1-2", "machine-1-10"]
        assert arrays["test_starts"].tolist() == [0, 220]
        second = pq.read_table(prepared.parent / "source" / "SMD" / "machine-1-10_test.parquet")
        np.testing.assert_array_equal(arrays["test"][220:, 1], second["f01"].to_numpy())
        np.testing.assert_array_equal(arrays["labels"][220:], second["label"].to_numpy())
    with np.load(prepared / "MSL.npz") as arrays:
        assert arrays["names"].tolist() == ["A-1", "B-2"]
        assert arrays["train_starts"].tolist() == [0, 320]


@pytest.mark.parametrize("name", ["usad", "lstm"])
def test_one_pair(name: str, prepared: Path, tmp_path: Path) -> None:
    train = load("train")
    arguments = ["--data", str(prepared), "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    arguments += ["--epochs", "1", "--device", "cpu", "--select-on-test", "--datasets", "MSL", "--detectors", name]
    assert train.main([*arguments, "--pair", name, "MSL", "0"]) == 0
    # The parent finds it done, and only collects.
    assert train.main(arguments) == 0
    with np.load(tmp_path / "out" / "MSL_seed0.npz") as scores:
        found = scores[name]
    assert found.shape == (430,)
    assert found.dtype == np.float32
    (log,) = json.loads((tmp_path / "out" / "train_log.json").read_text())
    assert log["settings"]["seed"] == 0
    assert log["settings"].get("select_on_test") == (True if name == "lstm" else None)
    assert log["epochs"] == 1
    assert set(log["thresholds"]) == {"0.1", "0.5", "0.6", "1.0"}
    # Other options are other runs: nothing is taken for done.
    options = train.parse([*arguments, "--limit-rows", "300"])
    assert not train.is_done(options, (name, "MSL", 0))


def test_the_thresholds_are_percentiles_of_training_and_test_scores(prepared: Path, tmp_path: Path) -> None:
    from pateval.detectors import make
    from pateval.detectors.presets import dataset_settings

    train = load("train")
    arguments = ["--data", str(prepared), "--work", str(tmp_path), "--epochs", "1", "--device", "cpu"]
    train.main([*arguments, "--pair", "usad", "SMAP", "0"])
    (path,) = tmp_path.glob("*.json")
    log = json.loads(path.read_text())
    with np.load(prepared / "SMAP.npz") as arrays:
        detector = make("usad", **{**dataset_settings("usad", "SMAP"), "epochs": 1, "device": "cpu"}).fit(
            arrays["train"]
        )
        both = np.concatenate([detector.score(arrays["train"])[:640], detector.score(arrays["test"])[:430]])
    assert log["thresholds"]["1.0"] == pytest.approx(np.percentile(both.astype(np.float32), 99), rel=1e-6)


def test_the_plain_step_does_what_the_lean_one_does(prepared: Path, tmp_path: Path) -> None:
    """The loops differ in speed only: the first step's gradients agree, for USAD the weights after two steps."""
    train, plain = load("train"), load("plain")
    options = train.parse(["--data", str(prepared), "--work", str(tmp_path), "--device", "cpu"])
    for name in train.DETECTORS:
        series, _ = train.read(options, "MSL")
        detectors = [train.build(options, name, "MSL", 0, graph=False) for _ in range(2)]
        lean, other = (detector.plan(series) for detector in detectors)
        settings = detectors[0].settings
        if lean.begin is not None:
            lean.begin(2)
        step = plain.plain_step(name, other.model, settings, torch.device("cpu"))
        batch = plain.plain_batches(series, settings.window, 3)[0]
        # USAD clears its gradients after a step; the others leave them to be seen.
        for _ in range(2 if name == "usad" else 1):
            lean.step(batch)
            step(batch)
        seen = [
            [parameter.detach() if name == "usad" else parameter.grad for parameter in recipe.model.parameters()]
            for recipe in (lean, other)
        ]
        largest = max(float(tensor.abs().max()) for tensor in seen[0])
        for ours, theirs in zip(*seen, strict=True):
            assert float((ours - theirs).abs().max()) < 1e-4 * largest, name


def test_probe(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = load("train")
    arguments = ["--data", str(prepared), "--out", str(tmp_path), "--work", str(tmp_path), "--device", "cpu"]
    try:
        train.main([*arguments, "--probe", "--plain", "--steps", "1", "--datasets", "MSL", "--detectors", "usad"])
    finally:
        sys.path.remove(str(RESULTS))
    (row,) = json.loads((tmp_path / "probe.json").read_text())
    assert row["milliseconds"]["lean"] > 0
    assert row["milliseconds"]["plain"] > 0
    assert row["steps_in_full"] == 250
    assert "MSL_usad_seed0" in capsys.readouterr().out


@pytest.mark.slow
def test_all_pairs_in_processes(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = load("train")
    arguments = ["--data", str(prepared), "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")]
    arguments += ["--epochs", "1", "--device", "cpu", "--jobs", "2", "--datasets", "MSL,SMD"]
    assert train.main(arguments) == 0, capsys.readouterr().out
    for dataset, length in (("MSL", 430), ("SMD", 440)):
        with np.load(tmp_path / "out" / f"{dataset}_seed0.npz") as scores:
            assert {name: scores[name].shape for name in scores} == dict.fromkeys(train.DETECTORS, (length,))
    # A broken pair is reported, and does not stop the others.
    (prepared / "SMAP.npz").unlink()
    assert train.main([*arguments, "--datasets", "SMAP,MSL", "--detectors", "usad", "--seeds", "1"]) == 1
    out = capsys.readouterr().out
    assert "SMAP_usad_seed1 FAILED (1)" in out
    assert "1 of 2 pairs done" in out


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load("train").parse(["--detectors", "lstm,other"])
    assert "unknown: other" in capsys.readouterr().err
