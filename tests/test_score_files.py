"""What score files say about themselves: how they came about, what the training steps scored, several runs."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval
from pateval.datasets import Series, join
from pateval.detectors import make
from pateval.io.score_files import (
    read_metadata,
    read_training_scores,
    training_scores_path,
    training_verdicts,
    write_score_file,
)
from pateval.runner import Candidate, DetectionProgress, candidate, detect
from support.messages import raises_exactly


def series(name: str, steps: int = 40, train: int | None = 60, seed: int = 0) -> Series:
    generator = np.random.default_rng(seed + len(name))
    return Series(
        name,
        generator.normal(size=(steps, 2)),
        np.arange(steps) % 9 == 2,
        None if train is None else generator.normal(size=(train, 2)),
    )


DATA = [series("pump"), series("valve", 33)]
JOINED = join(DATA, "plant")


class Broken:
    """A detector that can be pickled and fails."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, train: Any) -> Broken:  # noqa: ARG002 - the protocol
        if self.seed == 1:
            raise RuntimeError("no luck")
        return self

    def score(self, values: Any) -> Any:
        return np.arange(len(values), dtype=float)


def broken(seed: int = 0) -> Broken:
    return Broken(seed)


class Dies(Broken):
    """A detector whose process dies when it meets a training stretch of seven steps."""

    def fit(self, train: Any) -> Broken:
        if len(train) == 7:
            os._exit(3)
        return self


def dies() -> Dies:
    return Dies()


def test_training_scores_are_those_of_the_training_steps_sorted(tmp_path: Path) -> None:
    detect([candidate("squared_zscore")], DATA, tmp_path)
    for each in DATA:
        expected = np.sort(make("squared_zscore").fit(each.train).score(each.train).astype(np.float32))
        found = read_training_scores(tmp_path / "squared_zscore.parquet", series=each.name)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)
    path = tmp_path / "squared_zscore.parquet"
    with raises_exactly(ValueError, f"{path}: there are 2 fits; name one by series and run"):
        read_training_scores(path)
    with raises_exactly(ValueError, f"{path}: there is no fit for series 'pipe'; name one by series and run"):
        read_training_scores(path, series="pipe")


def test_joined_series_share_their_training_scores(tmp_path: Path) -> None:
    detect([candidate("squared_zscore")], [JOINED], tmp_path)
    path = tmp_path / "squared_zscore.parquet"
    assert len(read_training_scores(path)) == 120
    np.testing.assert_array_equal(read_training_scores(path, series="valve"), read_training_scores(path))


def test_where_there_are_no_training_scores(tmp_path: Path) -> None:
    detect([candidate("squared_zscore"), candidate("perfect")], [series("bare", train=None)], tmp_path)
    path = tmp_path / "squared_zscore.parquet"
    message = f"{path}: there are no training scores of 'bare': the detector was fitted on the test stretch"
    with raises_exactly(ValueError, message):
        read_training_scores(path)
    detect([candidate("perfect")], DATA[:1], tmp_path)
    path = tmp_path / "perfect.parquet"
    message = f"{path}: there are no training scores of 'pump': the detector scores no training steps"
    with raises_exactly(ValueError, message):
        read_training_scores(path, series="pump")
    assert not training_scores_path(tmp_path / "perfect.parquet").exists()


def test_training_scores_of_other_scores_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "squared_zscore.parquet"
    detect([candidate("squared_zscore")], DATA[:1], tmp_path)
    kept = training_scores_path(path).read_bytes()
    detect([candidate("squared_zscore")], [series("pump", seed=5)], tmp_path)
    training_scores_path(path).write_bytes(kept)
    message = (
        f"{training_scores_path(path)}: these training scores belong to other scores than those in "
        "squared_zscore.parquet; detect again with --overwrite"
    )
    with raises_exactly(ValueError, message):
        read_training_scores(path)
    training_scores_path(path).unlink()
    message = f"{path}: the training scores are missing: squared_zscore.training must lie beside it"
    with raises_exactly(ValueError, message):
        read_training_scores(path)


def test_more_series_later_keep_their_training_scores(tmp_path: Path) -> None:
    detect([candidate("squared_zscore")], DATA[:1], tmp_path)
    before = read_training_scores(tmp_path / "squared_zscore.parquet")
    detect([candidate("squared_zscore")], DATA[1:], tmp_path)
    np.testing.assert_array_equal(read_training_scores(tmp_path / "squared_zscore.parquet", series="pump"), before)
    assert len(read_training_scores(tmp_path / "squared_zscore.parquet", series="valve")) == 60


def test_metadata(tmp_path: Path) -> None:
    about = {"name": "plant", "missing": "2 of 3 series are here"}
    detect([candidate("usad", settings=SMALL_USAD)], [JOINED], tmp_path, about_data=about)
    known = read_metadata(tmp_path / "usad.parquet")
    assert known["format"] == 2
    assert known["pateval"]["version"] == pateval.__version__
    assert known["pateval"]["commit"] is None or len(known["pateval"]["commit"]) >= 40
    assert known["data"] == about
    assert known["protocol"] == "held-out"
    assert known["seconds"] > 0
    (run,) = known["runs"]
    assert len(run["data_digest"]) == 64
    assert (run["seed"], run["steps"], run["train_steps"], run["training_scores"]) == (0, 73, 120, 120)
    assert (run["incomplete_windows"], run["dropped_steps"], run["boundaries_kept"]) == ("scored", 0, True)
    training = run["training"]
    assert training["epochs"] == 2
    assert training["device"] == "cpu"
    assert training["threads"] >= 1
    assert len(training["losses"]) == 2
    assert training["collapse"] is None
    json.dumps(known)


SMALL_USAD = {"window": 5, "epochs": 2, "device": "cpu"}


def test_the_papers_protocol_crosses_boundaries_and_drops_the_tail(tmp_path: Path) -> None:
    detect([candidate("usad", settings=SMALL_USAD)], [JOINED], tmp_path, protocol="paper")
    (run,) = read_metadata(tmp_path / "usad.parquet")["runs"]
    assert (run["incomplete_windows"], run["dropped_steps"], run["boundaries_kept"]) == ("dropped", 3, False)
    table = pq.read_table(tmp_path / "usad.parquet")
    assert table.num_rows == run["steps"] == 70
    detector = make("usad", **SMALL_USAD).fit(JOINED.train)
    np.testing.assert_array_equal(table["score"].to_numpy(), detector.score(JOINED.test)[:70])
    expected = np.sort(detector.score(JOINED.train)[:120].astype(np.float32))
    np.testing.assert_array_equal(read_training_scores(tmp_path / "usad.parquet"), expected)
    message = (
        f"{tmp_path / 'usad.parquet'}: holds scores of other settings (protocol 'paper', now 'held-out'); choose "
        "another folder or name, or overwrite it"
    )
    with raises_exactly(ValueError, message):
        detect([candidate("usad", settings=SMALL_USAD)], [JOINED], tmp_path)


def test_several_seeds_are_runs_of_one_file(tmp_path: Path) -> None:
    seen: list[DetectionProgress] = []
    made = [candidate("usad", settings=SMALL_USAD), candidate("squared_zscore")]
    detect(made, [JOINED], tmp_path, seeds=[0, 3], show=seen.append)
    table = pq.read_table(tmp_path / "usad.parquet")
    assert table.column_names == ["series", "run", "step", "label", "score"]
    for seed in (0, 3):
        alone = make("usad", **SMALL_USAD, seed=seed).fit(JOINED.train, boundaries=JOINED.train_boundaries)
        mine = table.filter(pa.compute.equal(table["run"], seed))
        np.testing.assert_array_equal(mine["score"].to_numpy(), alone.score(JOINED.test, boundaries=JOINED.boundaries))
        assert len(read_training_scores(tmp_path / "usad.parquet", run=seed)) == 120
    known = read_metadata(tmp_path / "usad.parquet")
    assert [run["seed"] for run in known["runs"]] == [0, 3]
    assert "seed" not in known["settings"]
    # What has no seed runs once.
    assert set(pq.read_table(tmp_path / "squared_zscore.parquet")["run"].to_pylist()) == {0}
    assert {each.run for each in seen if each.detector == "usad"} == {0, 3}
    # A further seed is added; the others are kept.
    seen.clear()
    detect(made[:1], [JOINED], tmp_path, seeds=[0, 3, 1], show=seen.append)
    assert [each.state for each in seen if each.state != "training"] == ["kept", "kept", "started", "finished"]
    assert sorted(run["seed"] for run in read_metadata(tmp_path / "usad.parquet")["runs"]) == [0, 1, 3]
    detect(made[:1], [JOINED], tmp_path, seeds=[1])
    assert sorted(run["seed"] for run in read_metadata(tmp_path / "usad.parquet")["runs"]) == [0, 1, 3]


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    made = [candidate("usad", settings=SMALL_USAD), candidate("random"), candidate("squared_zscore")]
    detect(made, DATA, tmp_path / "one", seeds=[0, 1])
    seen: list[DetectionProgress] = []
    results = detect(made, DATA, tmp_path / "many", seeds=[0, 1], jobs=2, show=seen.append)
    assert [result.path for result in results] == [tmp_path / "many" / f"{each.name}.parquet" for each in made]
    for each in made:
        one, many = (pq.read_table(tmp_path / folder / f"{each.name}.parquet") for folder in ("one", "many"))
        assert one.equals(many)
    assert (seen[-1].done, seen[-1].total) == (10, 10)
    training = [each for each in seen if each.state == "training"]
    assert training
    assert all(each.seconds_left is not None and each.seconds_left >= 0 for each in training)


def test_a_seed_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    made = Candidate("broken", functools.partial(broken), {"seed": 0})
    (result,) = detect([made], DATA[:1], tmp_path, seeds=[0, 1, 2], jobs=2)
    assert result.failures == {"pump": "RuntimeError: no luck"}
    assert [run["seed"] for run in read_metadata(tmp_path / "broken.parquet")["runs"]] == [0, 2]


def test_a_process_that_dies_fails_its_own_task_only(tmp_path: Path) -> None:
    data = [series("doomed", 40, 7), *DATA, series("last", 20)]
    (result,) = detect([Candidate("dies", dies)], data, tmp_path, jobs=2)
    assert result.failures == {"doomed": "its process died, also when no other was running"}
    assert [run["series"] for run in read_metadata(tmp_path / "dies.parquet")["runs"]] == ["pump", "valve", "last"]


def test_nothing_is_begun_in_processes_when_time_is_over(tmp_path: Path) -> None:
    seen: list[DetectionProgress] = []
    (result,) = detect([Candidate("dies", dies)], DATA, tmp_path, jobs=2, minutes=-1, show=seen.append)
    assert result.stopped == 2
    assert [(each.state, each.message) for each in seen] == [("stopped", "out of time before it began")] * 2


def test_out_of_time_goes_on_later(tmp_path: Path) -> None:
    settings = {**SMALL_USAD, "epochs": 5}
    seen: list[DetectionProgress] = []

    def slow(progress: DetectionProgress) -> None:
        seen.append(progress)
        if progress.state == "training":
            time.sleep(0.1)

    made = [candidate("usad", settings=settings), candidate("squared_zscore")]
    results = detect(made, [JOINED], tmp_path, minutes=0.05 / 60, show=slow)
    assert [result.stopped for result in results] == [1, 1]
    assert [result.path for result in results] == [None, None]
    assert [each.state for each in seen if each.detector == "usad"] == ["started", "training", "stopped"]
    detect(made, [JOINED], tmp_path)
    detect(made, [JOINED], tmp_path / "whole")
    assert pq.read_table(tmp_path / "usad.parquet").equals(pq.read_table(tmp_path / "whole" / "usad.parquet"))
    assert not (tmp_path / ".parts").exists()


def test_parts_are_put_together_later(tmp_path: Path) -> None:
    (result,) = detect([candidate("random")], DATA, tmp_path, assemble=False)
    assert result.path is None
    assert len(list((tmp_path / ".parts" / "random").glob("*.npz"))) == 2
    seen: list[DetectionProgress] = []
    (result,) = detect([candidate("random")], DATA, tmp_path, show=seen.append)
    assert [each.state for each in seen] == ["kept", "kept"]
    assert pq.read_table(tmp_path / "random.parquet").num_rows == 73


def test_verdicts_of_every_run(tmp_path: Path) -> None:
    detect([candidate("usad", settings=SMALL_USAD), candidate("random")], DATA[:1], tmp_path / "scores")
    (tmp_path / "old").mkdir()
    old = {"detector": "lstm", "dataset": "MSL", "seed": 0}
    write_score_file(tmp_path / "old" / "lstm.parquet", [lambda: pa.table({"score": [1.0]})], old)
    rows = training_verdicts([tmp_path / "scores", tmp_path / "old" / "lstm.parquet"])
    assert [(row["detector"], row["series"], row["run"]) for row in rows] == [
        ("random", "pump", 0),
        ("usad", "pump", 0),
        ("lstm", "MSL", 0),
    ]
    assert [row["verdict"].partition(":")[0] for row in rows] == ["nothing was trained", "not judged", "no record"]
    assert [row["collapsed"] for row in rows] == [None, None, None]


def test_the_verdict_of_every_committed_run_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(__file__).parents[1] / "results" / "scores"
    rows = training_verdicts([folder])
    assert len(rows) >= 24
    with capsys.disabled():
        collapsed = [row for row in rows if row["verdict"].startswith("collapsed")]
        print(f"\n{len(rows)} committed runs, {len(collapsed)} of them collapsed")
    for row in rows:
        assert row["verdict"]


def test_an_interruption_ends_the_processes_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupt(progress: DetectionProgress) -> None:
        if progress.state == "training":
            raise KeyboardInterrupt

    long = candidate("usad", settings={**SMALL_USAD, "epochs": 100_000})
    with pytest.raises(KeyboardInterrupt):
        detect([candidate("random"), long], [DATA[0]], tmp_path, jobs=2, show=interrupt)
    assert multiprocessing.active_children() == []
    detect([candidate("random")], [DATA[0]], tmp_path)
    assert pq.read_table(tmp_path / "random.parquet").num_rows == 40
