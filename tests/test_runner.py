"""Score files: what is in them, what survives an interruption, what a failure leaves behind."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import pateval.runner
from pateval.datasets import Series, join
from pateval.io import find_layout, open_table, scored_series
from pateval.io.score_files import read_metadata
from pateval.runner import Candidate, DetectionProgress, candidate, detect


@dataclass
class Fake:
    """A detector that counts, and fails when told to."""

    seed: int = 0
    broken: str = ""
    calls: list[str] = field(default_factory=list)
    offset: float = 0.0

    def fit(self, train: Any, **_: Any) -> Fake:
        self.calls.append("fit")
        if self.broken and len(train) == 7:
            raise RuntimeError(self.broken)
        self.offset = float(np.mean(train))
        return self

    def score(self, values: Any) -> Any:
        noise = np.random.default_rng(self.seed).random(len(values))
        return np.abs(values[:, 0] - self.offset) + noise


def fake(name: str = "fake", calls: list[str] | None = None, **settings: Any) -> Candidate:
    log = [] if calls is None else calls
    return Candidate(name, lambda: Fake(calls=log, **settings), settings)


def series(name: str, steps: int = 6, train: int | None = 4) -> Series:
    generator = np.random.default_rng(len(name) + steps)
    return Series(
        name,
        generator.random((steps, 2)),
        np.arange(steps) % 3 == 2,
        None if train is None else generator.random((train, 2)),
    )


DATA = [series("one"), series("two/b.csv", 5), series("three", 8, None)]


def test_one_file_per_detector(tmp_path: Path) -> None:
    events: list[DetectionProgress] = []
    results = detect([fake("a"), fake("b", seed=1)], DATA, tmp_path, show=events.append)
    assert [result.path for result in results] == [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.parquet",
        "a.training",
        "b.parquet",
        "b.training",
    ]
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["series", "step", "label", "score"]
    assert table.column("step").to_pylist() == [*range(6), *range(5), *range(8)]
    assert table.column("label").to_pylist()[:6] == [0, 0, 1, 0, 0, 1]
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 3
    assert [event.state for event in events[:2]] == ["started", "finished"]
    assert (events[-1].done, events[-1].total) == (6, 6)


def test_the_leaderboards_reader_understands_them(tmp_path: Path) -> None:
    detect([fake("a")], DATA, tmp_path)
    source = open_table(tmp_path / "a.parquet")
    found = list(scored_series(source, find_layout(source)))
    assert [(item.detector, item.series) for item in found] == [("a", each.name) for each in DATA]
    for item, each in zip(found, DATA, strict=True):
        labels, scores = item.checked()
        np.testing.assert_array_equal(labels, each.labels)
        np.testing.assert_array_equal(
            scores, Fake().fit(each.test if each.train is None else each.train).score(each.test)
        )


def test_provenance(tmp_path: Path) -> None:
    detect([fake("a", seed=7)], DATA, tmp_path)
    known = read_metadata(tmp_path / "a.parquet")
    assert known["detector"] == "a"
    assert known["settings"] == {"seed": 7}
    assert (known["seed"], known["device"], known["failed"]) == (7, "cpu", {})
    assert {"python", "numpy"} <= set(known["versions"])
    assert [run["series"] for run in known["runs"]] == ["one", "two/b.csv", "three"]
    assert [run["fitted_on"] for run in known["runs"]] == ["train", "train", "test"]
    assert all(run["fit_seconds"] >= 0 for run in known["runs"])


def test_provenance_of_other_files(tmp_path: Path) -> None:
    pq.write_table(pq.read_table(_any_parquet(tmp_path)).replace_schema_metadata(None), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="not written by pateval detect"):
        read_metadata(tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_text("no")
    with pytest.raises(ValueError, match="not a readable Parquet file"):
        read_metadata(tmp_path / "y.parquet")


def _any_parquet(folder: Path) -> Path:
    detect([fake("a")], DATA[:1], folder)
    return folder / "a.parquet"


def test_a_second_run_computes_nothing_and_gives_the_same(tmp_path: Path) -> None:
    calls: list[str] = []
    detect([fake("a", calls)], DATA, tmp_path)
    before = (tmp_path / "a.parquet").read_bytes()
    events: list[DetectionProgress] = []
    detect([fake("a", calls)], DATA, tmp_path, show=events.append)
    assert len(calls) == 3
    assert [event.state for event in events] == ["kept"] * 3
    assert (tmp_path / "a.parquet").read_bytes() == before


def test_same_seed_same_scores_other_seed_other_scores(tmp_path: Path) -> None:
    for folder, seed in (("x", 1), ("y", 1), ("z", 2)):
        detect([fake("a", seed=seed)], DATA, tmp_path / folder)
    x, y, z = (pq.read_table(tmp_path / folder / "a.parquet") for folder in "xyz")
    assert x.equals(y)
    assert not x.equals(z)


def test_an_interrupted_run_goes_on(tmp_path: Path) -> None:
    calls: list[str] = []

    def interrupt(event: DetectionProgress) -> None:
        if event.series == "three" and event.state == "started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        detect([fake("a", calls)], DATA, tmp_path, show=interrupt)
    assert len(calls) == 2
    assert not (tmp_path / "a.parquet").exists()
    assert len(list((tmp_path / ".parts" / "a").glob("*.npz"))) == 2
    detect([fake("a", calls)], DATA, tmp_path)
    assert len(calls) == 3
    assert not (tmp_path / ".parts").exists()
    detect([fake("a")], DATA, tmp_path / "fresh")
    assert pq.read_table(tmp_path / "a.parquet").equals(pq.read_table(tmp_path / "fresh" / "a.parquet"))


def test_more_series_later_and_changed_data(tmp_path: Path) -> None:
    calls: list[str] = []
    detect([fake("a", calls)], DATA[:2], tmp_path)
    detect([fake("a", calls)], DATA[1:], tmp_path)
    assert len(calls) == 3
    assert [run["series"] for run in read_metadata(tmp_path / "a.parquet")["runs"]] == ["two/b.csv", "three", "one"]
    changed = Series("one", DATA[0].test + 1, DATA[0].labels, DATA[0].train)
    detect([fake("a", calls)], [changed], tmp_path)
    assert len(calls) == 4
    found = pq.read_table(tmp_path / "a.parquet").column("series").to_pylist()
    assert sorted(set(found)) == ["one", "three", "two/b.csv"]
    assert found.count("one") == 6


def test_a_failing_pair_does_not_stop_the_others(tmp_path: Path) -> None:
    data = [*DATA, series("bad", 6, 7)]
    events: list[DetectionProgress] = []
    broken, fine = detect([fake("a", broken="no\nluck"), fake("b")], data, tmp_path, show=events.append)
    assert broken.failures == {"bad": "RuntimeError: no luck"}
    assert fine.failures == {}
    assert set(pq.read_table(tmp_path / "a.parquet").column("series").to_pylist()) == {"one", "two/b.csv", "three"}
    assert read_metadata(tmp_path / "a.parquet")["failed"] == broken.failures
    assert json.loads((tmp_path / "failures.json").read_text()) == {"a": broken.failures}
    (trace,) = (tmp_path / ".parts" / "a").glob("bad-*.error.txt")
    assert "RuntimeError" in trace.read_text()
    assert [event.message for event in events if event.state == "failed"] == ["RuntimeError: no luck"]


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    calls: list[str] = []
    data = [DATA[0], series("bad", 6, 7)]
    luck = ["no luck", ""]

    def build() -> Fake:
        return Fake(calls=calls, broken=luck[0])

    detect([Candidate("a", build)], data, tmp_path)
    luck.pop(0)
    (result,) = detect([Candidate("a", build)], data, tmp_path)
    assert result.failures == {}
    assert len(calls) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "a.training"]


def test_when_everything_fails_there_is_no_file(tmp_path: Path) -> None:
    (result,) = detect([fake("a", broken="no")], [series("bad", 6, 7)], tmp_path)
    assert result.path is None
    assert not (tmp_path / "a.parquet").exists()
    assert json.loads((tmp_path / "failures.json").read_text())["a"]["bad"] == "RuntimeError: no"


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.zeros(5), "gave 5 scores for 6 steps"),
        (np.full(6, np.nan), "must be finite"),
        (np.zeros((6, 2)), "must be one-dimensional"),
    ],
)
def test_bad_scores_are_failures(tmp_path: Path, scores: Any, reason: str) -> None:
    class Bad(Fake):
        def score(self, values: Any) -> Any:  # noqa: ARG002 - the protocol
            return scores

    (result,) = detect([Candidate("a", Bad)], [series("s")], tmp_path)
    assert reason in result.failures["s"]


def test_other_settings_are_not_overwritten_unasked(tmp_path: Path) -> None:
    detect([fake("a", seed=1)], DATA, tmp_path)
    with pytest.raises(ValueError, match=r"a\.parquet: holds scores of other settings \(seed 1, now 2\)"):
        detect([fake("a", seed=2)], DATA, tmp_path)
    detect([fake("a", seed=2)], DATA[:1], tmp_path, overwrite=True)
    assert read_metadata(tmp_path / "a.parquet")["seed"] == 2
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.num_rows == 6
    with pytest.raises(ValueError, match="another device, number format"):
        detect([fake("a", seed=2)], DATA[:1], tmp_path, single=True)


def test_float32(tmp_path: Path) -> None:
    detect([fake("a")], DATA, tmp_path, single=True)
    assert str(pq.read_schema(tmp_path / "a.parquet").field("score").type) == "float"


def test_joined_series_keep_their_boundaries(tmp_path: Path) -> None:
    whole = join(DATA[:2], "all")
    detect([fake("a")], [whole], tmp_path)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column("series").to_pylist() == ["one"] * 6 + ["two/b.csv"] * 5
    assert table.column("step").to_pylist() == [*range(6), *range(5)]


def test_detectors_get_what_they_ask_for(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    class Asks:
        def fit(self, train: Any, *, test: Any = None, progress: Any = None, checkpoint: Any = None) -> Asks:  # noqa: ARG002
            seen.update(test=test, checkpoint=checkpoint)
            progress(type("Epoch", (), {"number": 1, "epochs": 3, "loss": 0.25}))
            return self

        def score(self, values: Any, labels: Any = None) -> Any:  # noqa: ARG002 - the protocol
            return np.asarray(labels, dtype=float)

    events: list[DetectionProgress] = []
    detect([Candidate("honest", Asks)], DATA[:1], tmp_path, show=events.append)
    assert seen["test"] is None
    assert isinstance(seen["checkpoint"], Path)
    assert events[1].message == "epoch 1 of 3, loss 0.25"
    detect([Candidate("leaky", Asks, {"select_on_test": True})], DATA[:1], tmp_path)
    assert seen["test"] is DATA[0].test


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no detectors"):
        detect([], DATA, tmp_path)
    with pytest.raises(ValueError, match="there are no series"):
        detect([fake()], [], tmp_path)
    with pytest.raises(ValueError, match="'fake' occurs more than once"):
        detect([fake(), fake()], DATA, tmp_path)
    with pytest.raises(ValueError, match="'one' occurs more than once"):
        detect([fake()], [DATA[0], DATA[0]], tmp_path)
    with pytest.raises(ValueError, match="serve as a file name"):
        detect([fake("../x")], DATA, tmp_path)


def test_candidates_from_the_registry(tmp_path: Path) -> None:
    made = candidate("random", seed=5, device="cpu", name="luck")
    assert (made.name, made.settings["seed"]) == ("luck", 5)
    assert "device" not in made.settings
    detect(
        [made, candidate("perfect"), candidate("constant"), candidate("moving_zscore", settings={"window": 3})],
        DATA,
        tmp_path,
    )
    perfect = pq.read_table(tmp_path / "perfect.parquet")
    np.testing.assert_array_equal(perfect.column("score").to_numpy(), perfect.column("label").to_numpy())
    with pytest.raises(ValueError, match="unknown detector 'nope'"):
        candidate("nope")
    with pytest.raises(ValueError, match="has no setting colour"):
        candidate("random", settings={"colour": "red"})


def test_the_runner_knows_no_metric() -> None:
    files = list(Path(pateval.runner.__file__).parent.glob("*.py"))
    assert len(files) >= 5
    trees = [ast.parse(path.read_text()) for path in files]
    imported = {node.module or "" for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(name.startswith(("pateval.metrics", "pateval.pate", "pateval.evaluation")) for name in imported)
