"""Thresholds from the training scores in score files of `pateval detect`, in every command that takes a threshold."""

from __future__ import annotations

import csv
import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval.cli import main
from pateval.evaluation.files import level_in_file
from pateval.io import TableError
from pateval.io.score_files import read_fit_scores, read_training_scores, training_scores_path
from support.messages import raises_exactly

SHARE = 0.05


def run(*arguments: object, status: int = 0) -> tuple[str, str]:
    """Run a command in this process; return what it wrote to standard output and standard error."""
    with (
        redirect_stdout(io.StringIO()) as output,
        redirect_stderr(io.StringIO()) as errors,
        pytest.raises(SystemExit) as ended,
    ):
        main([str(each) for each in arguments])
    assert ended.value.code == status, errors.getvalue()
    return output.getvalue(), errors.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two machines with training stretches, as users lay them out."""
    folder = tmp_path_factory.mktemp("machines")
    for number, name in enumerate(("pump", "valve")):
        generator = np.random.default_rng(number)
        values = generator.normal(size=(400 + 50 * number, 2)).round(4)
        labels = np.zeros(len(values), dtype=int)
        labels[300:320] = 1
        values[300:320] += 2 + number
        lines = ["a,b,label", *(f"{a},{b},{label}" for (a, b), label in zip(values, labels, strict=True))]
        (folder / f"{name}_train.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines[:201]))
        (folder / f"{name}_test.csv").write_text("\n".join([lines[0], *lines[201:]]))
    return folder


@pytest.fixture(scope="module")
def scores(data: Path) -> Path:
    """A detector fitted to each machine, and to both together."""
    folder = data / "scores"
    run("detect", "squared_zscore", "--data", data, "-o", folder)
    run("detect", "squared_zscore", "--data", data, "-o", folder, "--join", "--name", "joined")
    return folder


def columns(path: Path) -> dict[str, np.ndarray]:
    table = pq.read_table(path)
    return {name: np.asarray(table[name]) for name in table.column_names}


def direct_level(path: Path, series: str, rule: str) -> float:
    """The quantile, from the arrays themselves."""
    found = columns(path)
    training = read_training_scores(path, series=series).astype(float)
    if rule == "train-quantile":
        return float(np.quantile(training, 1 - SHARE))
    together = found["score"] if path.stem == "joined" else found["score"][found["series"] == series]
    return float(np.quantile(np.concatenate([training, together]), 1 - SHARE))


@pytest.mark.parametrize("rule", ["train-quantile", "train-test-quantile"])
@pytest.mark.parametrize("name", ["squared_zscore", "joined"])
def test_leaderboard_score_and_explain_equal_a_direct_computation(scores: Path, name: str, rule: str) -> None:
    path = scores / f"{name}.parquet"
    found = columns(path)
    threshold = f"{rule}:{SHARE}"
    levels = {each: direct_level(path, each, rule) for each in ("pump", "valve")}
    assert (len(set(levels.values())) == 1) == (name == "joined")
    flagged = found["score"] > np.array([levels[each] for each in found["series"]])

    board = pv.leaderboard(path, metrics=["point_f1", "pate_f1"], threshold=threshold, chance=2)
    for row in board.scores.to_pylist():
        own = found["series"] == row["series"]
        direct = pv.evaluate(found["label"][own], predictions=flagged[own], metrics=row["metric"])
        assert row["value"] == direct[row["metric"]]
        assert f"|predictions:{rule}:{SHARE}|" in row["signature"]

    output, _ = run("score", path, "--metrics", "point_f1,pate_f1", "--threshold", threshold, "--format", "csv")
    _, series = np.unique(found["series"], return_inverse=True)
    direct = pv.evaluate(found["label"], predictions=flagged, metrics=["point_f1", "pate_f1"], series=series)
    for row in csv.DictReader(io.StringIO(output)):
        assert float(row["value"]) == pytest.approx(direct[row["metric"]], abs=1e-12)
        assert row["threshold_rule"].startswith(f"{threshold}: strictly above all but the highest share of")
        assert f"|predictions:{rule}:{SHARE}|" in row["signature"]

    output, _ = run("explain", path, "--threshold", threshold)
    said = f"score > {levels['pump']:.6g} " if name == "joined" else "score > a threshold for each series "
    assert said in output
    pooled = pv.evaluate(found["label"], predictions=flagged, metrics="pate_f1", series=series, pooled=True)
    assert f"F1 {pooled['pate_f1']:.4f} " in output


@pytest.mark.parametrize("left_out", ["ignored", "missing"])
def test_ignored_steps_keep_the_thresholds_of_their_series(scores: Path, tmp_path: Path, left_out: str) -> None:
    path = tmp_path / "squared_zscore.parquet"
    table = pq.read_table(scores / path.name)
    training_scores_path(path).write_bytes(training_scores_path(scores / path.name).read_bytes())
    found = columns(scores / path.name)
    # The training scores and the levels are those of the file as `detect` wrote it.
    levels = {each: direct_level(scores / path.name, each, "train-quantile") for each in ("pump", "valve")}
    flagged = found["score"] > np.array([levels[each] for each in found["series"]])
    ignore = np.zeros(len(flagged), dtype=bool)
    ignore[20:50] = ignore[110:115] = True
    if left_out == "ignored":
        table = table.append_column("maintenance", pa.array(ignore))
        options = ("--ignore", "maintenance")
    else:
        given = pa.array(found["score"], mask=ignore)
        table = table.set_column(table.column_names.index("score"), "score", given)
        options = ("--missing", "ignore")
    pq.write_table(table, path)

    _, series = np.unique(found["series"], return_inverse=True)
    chosen = {"metrics": ["point_f1", "pate_f1"], "series": series, "ignore": ignore}
    direct = pv.evaluate(found["label"], predictions=flagged, **chosen)
    threshold = ("--threshold", f"train-quantile:{SHARE}", *options)
    output, _ = run("score", path, "--metrics", "point_f1,pate_f1", "--format", "csv", *threshold)
    for row in csv.DictReader(io.StringIO(output)):
        assert float(row["value"]) == pytest.approx(direct[row["metric"]], abs=1e-12)
    output, _ = run("explain", path, *threshold)
    pooled = pv.evaluate(found["label"], predictions=flagged, **chosen | {"metrics": "pate_f1"}, pooled=True)
    assert f"F1 {pooled['pate_f1']:.4f} " in output


def test_two_workers_find_the_training_scores(scores: Path) -> None:
    options = {"metrics": ["point_f1"], "threshold": "train-test-quantile:0.05", "chance": 0}
    one, two = (pv.leaderboard(scores, workers=workers, **options) for workers in (1, 2))
    assert one.scores.equals(two.scores)
    assert set(one.detectors) == {"squared_zscore", "joined"}


def test_results_of_one_level_are_not_taken_for_another(scores: Path, tmp_path: Path) -> None:
    values = [
        pv.leaderboard(scores, metrics=["point_f1"], threshold=threshold, chance=0, cache=tmp_path).scores["value"]
        for threshold in ("train-quantile:0.05", "train-quantile:0.3", "train-quantile:0.05")
    ]
    assert values[0].equals(values[2])
    assert not values[0].equals(values[1])


def test_chance_predicts_as_many_steps_as_the_detector(scores: Path) -> None:
    path, threshold = scores / "joined.parquet", "train-quantile:0.05"
    board = pv.leaderboard(path, metrics=["point_f1"], threshold=threshold, chance=3)
    found = columns(path)
    flagged = found["score"] > direct_level(path, "pump", "train-quantile")
    _, series = np.unique(found["series"], return_inverse=True)
    direct = pv.evaluate(found["label"], predictions=flagged, metrics="point_f1", series=series, chance=3)
    assert board.summary()["chance"].to_pylist() == pytest.approx([direct.chance["point_f1"]], abs=1e-12)


def test_fit_scores_are_those_of_all_parts(scores: Path) -> None:
    found = columns(scores / "joined.parquet")["score"]
    np.testing.assert_array_equal(read_fit_scores(scores / "joined.parquet", series="valve"), found)
    own = columns(scores / "squared_zscore.parquet")
    np.testing.assert_array_equal(
        read_fit_scores(scores / "squared_zscore.parquet", series="valve"), own["score"][own["series"] == "valve"]
    )


def test_files_without_training_scores(scores: Path, data: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_text("label,score\n0,0.1\n1,0.9\n")
    alone = tmp_path / "alone.parquet"
    alone.write_bytes((scores / "joined.parquet").read_bytes())
    for path, why in [
        (plain, "they are kept beside score files in Parquet"),
        (alone, "the training scores are missing: alone.training must lie beside it"),
    ]:
        for command in (["score"], ["leaderboard"], ["explain"], ["plot", "series"]):
            output, errors = run(*command, path, "--threshold", "train-quantile:0.05", status=2)
            last = errors.strip().splitlines()[-1]
            assert last == (
                f"pateval: {path}: threshold 'train-quantile:0.05' needs the scores of the training steps ({why}); "
                "`pateval detect DETECTOR --data DATA -o DIR` writes files that have them"
            )
            assert output == ""
    with raises_exactly(
        TableError,
        "the table: threshold 'train-quantile:0.05' needs the scores of the training steps (they are kept beside "
        "score files in Parquet); `pateval detect DETECTOR --data DATA -o DIR` writes files that have them",
    ):
        pv.leaderboard({"label": [0, 1], "a": [0.1, 0.9]}, metrics=["point_f1"], threshold="train-quantile:0.05")
    assert not training_scores_path(alone).exists()


@pytest.mark.parametrize("rule", ["train-quantile", "train-test-quantile"])
def test_figures_draw_the_threshold_that_explain_uses(
    scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    from pateval import plots

    drawn, draw = [], plots.categories
    monkeypatch.setattr(
        plots, "categories", lambda *given, **options: drawn.append(given[0]) or draw(*given, **options)
    )
    path, threshold = scores / "squared_zscore.parquet", f"{rule}:{SHARE}"
    options = ["--threshold", threshold, "--early", 5, "--delay", 5, "--only-series", "valve"]
    _, errors = run("plot", "categories", path, *options, "-o", tmp_path / "a.svg")
    level = direct_level(path, "valve", rule)
    assert f"predictions where score > {level:.6g} ({threshold}: strictly above" in errors
    found = columns(path)
    own = found["series"] == "valve"
    expected = pv.explain(found["label"][own], found["score"][own] > level, early=5, delay=5)
    assert drawn[0].points.to_dict() == expected.points.to_dict()
    _, errors = run("plot", "series", path, *options[:-2], "-o", tmp_path / "b.svg")
    assert "squared_zscore: each series has a threshold of its own" in errors
    run("plot", "series", scores / "joined.parquet", *options[:-2], "-o", tmp_path / "c.svg")


def test_files_of_an_older_version(tmp_path: Path) -> None:
    path = tmp_path / "old.parquet"
    table = pa.table({"series": ["a", "a"], "label": [0, 1], "score": [0.1, 0.9]})
    pq.write_table(table.replace_schema_metadata({b"pateval": b'{"detector": "old", "seed": 0}'}), path)
    message = (
        f"{path}: threshold 'train-quantile:0.05' needs the scores of the training steps (written by an older version, "
        "which kept no training scores); `pateval detect DETECTOR --data DATA -o DIR` writes files that have them"
    )
    with raises_exactly(TableError, message):
        pv.leaderboard(path, metrics=["point_f1"], threshold="train-quantile:0.05")


def test_metrics_on_scores_need_no_training_scores() -> None:
    board = pv.leaderboard({"label": [0, 1], "a": [0.1, 0.9]}, metrics=["auc_roc"], threshold="train-quantile:0.05")
    assert board.values.item() == 1.0


def test_a_file_written_anew_is_read_anew(scores: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.parquet"
    found = []
    for name in ("squared_zscore", "joined"):
        path.write_bytes((scores / f"{name}.parquet").read_bytes())
        training_scores_path(path).write_bytes(training_scores_path(scores / f"{name}.parquet").read_bytes())
        found.append(level_in_file("train-quantile:0.05", path, series="pump"))
    assert found[0] != found[1]


def test_every_run_has_its_own_threshold(data: Path, tmp_path: Path) -> None:
    threshold = f"train-test-quantile:{SHARE}"
    run("detect", "isolation_forest", "squared_zscore", "--data", data, "-o", tmp_path, "--join", "--seeds", "0,1")
    board = pv.leaderboard(tmp_path, metrics=["point_f1"], threshold=threshold, chance=0)
    rows = board.scores.to_pylist()
    # A detector without a seed has one run.
    assert {(row["detector"], row["run"]) for row in rows} == {
        ("isolation_forest", "0"),
        ("isolation_forest", "1"),
        ("squared_zscore", "0"),
    }
    levels = set()
    for row in rows:
        path = tmp_path / f"{row['detector']}.parquet"
        found = columns(path)
        seed = int(row["run"])
        of_run = found["run"] == seed
        training = read_training_scores(path, run=seed).astype(float)
        level = float(np.quantile(np.concatenate([training, found["score"][of_run]]), 1 - SHARE))
        levels.add(level)
        own = of_run & (found["series"] == row["series"])
        assert row["value"] == pv.point(found["label"][own], found["score"][own] > level).f1
    assert len(levels) == 3
