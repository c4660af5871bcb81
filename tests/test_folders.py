"""Folders as people have them: which names are detectors, which series, and where the labels lie."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pateval as pv
from pateval.io import Reading, TableError
from pateval.io.plan import make_plan
from support.command_line import console
from support.messages import raises_exactly

RANDOM = np.random.default_rng(5)
LABELS = {"pump": np.repeat([0, 1, 0], [30, 6, 14]), "valve": np.repeat([0, 1, 0, 1], [20, 5, 25, 10])}
SCORES = {
    (detector, series): RANDOM.random(labels.size) + labels / 2
    for detector in ("lstm", "pca")
    for series, labels in LABELS.items()
}
EXPECTED = {(detector, series): pv.auc_roc(LABELS[series], scores) for (detector, series), scores in SCORES.items()}
BOTH_WAYS = "2 detectors ('lstm', 'pca'), 2 series ('pump', 'valve')"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table(detector, series):
    return pd.DataFrame({"label": LABELS[series], "score": SCORES[detector, series]})


def write(path, content):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, content)
    elif path.suffix == ".parquet":
        content.to_parquet(path, index=False)
    else:
        content.to_csv(path, index=False, header=isinstance(content, pd.DataFrame))


def labels_folder(suffix=".csv", column="label", prefix="truth/"):
    for series, labels in LABELS.items():
        content = labels if suffix == ".npy" else pd.DataFrame({"value": np.arange(labels.size), column: labels})
        write(f"{prefix}{series}{suffix}", content)


def board_of(data, **options):
    found = pv.leaderboard(data, metrics=["auc_roc"], chance=0, **options)
    values = found.to_frame()
    return found, {(row.detector, row.series): row.value for row in values.itertuples()}


def check(data, **options):
    found, values = board_of(data, **options)
    assert values == EXPECTED
    return [note for note in found.notes if "taken as" in note]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_for_each_detector(suffix):
    for detector, series in SCORES:
        write(f"runs/{detector}/{series}{suffix}", table(detector, series))
    note = f"runs: taken as detector/series: {BOTH_WAYS}; --layout series/detector reads it the other way round"
    assert check("runs") == [note]
    assert note in console("leaderboard", "runs", "--metrics", "auc_roc").err.splitlines()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_for_each_series(suffix):
    for detector, series in SCORES:
        write(f"runs/{series}/{detector}{suffix}", table(detector, series))
    note = f"runs: taken as series/detector: {BOTH_WAYS}; --layout detector/series reads it the other way round"
    assert check("runs") == [note]


def test_the_layout_overrules():
    for detector, series in SCORES:
        write(f"runs/{series}/{detector}.csv", table(detector, series))
    found, values = board_of("runs", layout="detector/series")
    assert set(values) == {("pump", "lstm"), ("pump", "pca"), ("valve", "lstm"), ("valve", "pca")}
    assert "runs: taken as detector/series: 2 detectors ('pump', 'valve'), 2 series ('lstm', 'pca')" in found.notes
    rows = json.loads(console("score", "runs", "--layout", "series/detector", "--format", "json").out)
    assert {row["detector"] for row in rows} == {"lstm", "pca"}


def test_one_file_for_each_detector():
    for detector in ("lstm", "pca"):
        write(f"runs/{detector}/scores.csv", table(detector, "pump"))
    found, values = board_of("runs")
    assert values == {(detector, "runs"): EXPECTED[detector, "pump"] for detector in ("lstm", "pca")}
    assert "runs: taken as a folder for each detector: 2 detectors ('lstm', 'pca')" in found.notes


@pytest.mark.parametrize("order", ["{detector}/{series}", "{series}/{detector}"])
@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_arrays_with_labels_elsewhere(order, suffix):
    for (detector, series), scores in SCORES.items():
        write(f"runs/{order.format(detector=detector, series=series)}.npy", scores)
    labels_folder(suffix)
    assert len(check("runs", labels="truth")) == 1


def test_one_detector_of_arrays():
    for series in LABELS:
        write(f"lstm/{series}.npy", SCORES["lstm", series])
    labels_folder()
    _, values = board_of("lstm", labels="truth")
    assert values == {("lstm", series): EXPECTED["lstm", series] for series in LABELS}


def test_a_single_column_without_a_name():
    for (detector, series), scores in SCORES.items():
        write(f"runs/{detector}/{series}.csv", pd.Series(scores))
    labels_folder(column="is_anomaly")
    assert len(check("runs", labels="truth")) == 1


def test_the_tree_of_tsb_ad():
    """A folder ``score/uni/DETECTOR`` of arrays; the data sets have a column ``Label``."""
    for (detector, series), scores in SCORES.items():
        write(f"eval/score/uni/{detector}/{series}.npy", scores.reshape(-1, 1))
    labels_folder(column="Label", prefix="Datasets/TSB-AD-U/")
    assert len(check("eval/score", labels="Datasets")) == 1
    assert len(check("eval/score/uni", labels="Datasets/TSB-AD-U")) == 1


def test_the_tree_of_timeeval():
    """A folder for algorithm, parameters, collection, data set and repetition; other files lie beside the scores."""
    for (detector, series), scores in SCORES.items():
        for repetition in (1, 2):
            place = f"results/{detector}/3d9e/NAB/{series}/{repetition}"
            write(f"{place}/anomaly_scores.csv", pd.Series(scores))
            Path(f"{place}/anomaly_scores.csv").rename(f"{place}/anomaly_scores.ts")
            write(f"{place}/docker-algorithm-scores.csv", pd.Series(scores[::-1]))
            Path(f"{place}/hyper_params.json").write_text("{}")
            Path(f"{place}/execution.log").write_text("done")
    for series, labels in LABELS.items():
        frame = pd.DataFrame({"timestamp": np.arange(labels.size), "value": 0.5, "is_anomaly": labels})
        write(f"data/NAB/{series}.test.csv", frame)
    found, values = board_of("results", labels="data")
    assert values == EXPECTED
    note = f"results: taken as results of TimeEval: {BOTH_WAYS}, 2 runs ('1', '2')"
    assert note in found.notes


def test_detectors_in_parts():
    """Each file is a series where no column says otherwise, and the column says so where there is one."""
    for detector in ("lstm", "pca"):
        frames = [table(detector, series).assign(series=series) for series in LABELS]
        whole = pd.concat(frames)
        for part in range(3):
            write(f"runs/{detector}/part-{part}.parquet", whole.iloc[40 * part : 40 * part + 40])
    found, values = board_of("runs")
    assert values == EXPECTED
    for path in Path("runs").rglob("*.parquet"):
        pd.read_parquet(path).drop(columns="series").to_parquet(path, index=False)
    found, values = board_of("runs")
    assert {series for _, series in values} == {"part-0", "part-1", "part-2"}
    assert any("each of its 3 files is taken as a series of its own" in note for note in found.notes)


def test_a_board_is_verified():
    for (detector, series), scores in SCORES.items():
        write(f"runs/{detector}/{series}.npy", scores)
    labels_folder()
    console("leaderboard", "runs", "--labels", "truth", "--metrics", "auc_roc", "-o", "board")
    console("verify", "board")
    write("truth/pump.csv", pd.DataFrame({"label": LABELS["pump"][::-1]}))
    console("verify", "board", status=1)


def refused(message, **options):
    with raises_exactly(TableError, message):
        make_plan("runs", Reading(**options))


def test_what_cannot_be_told():
    write("runs/a/x.csv", table("lstm", "pump"))
    write("runs/b/y.csv", table("lstm", "valve"))
    refused(
        "runs: its folders ('a', 'b') have no name of a file in common, so it cannot be told which are detectors; say "
        "--layout detector/series or series/detector"
    )


def test_files_at_several_depths():
    write("runs/a/x.npy", SCORES["lstm", "pump"])
    write("runs/b/deep/x.npy", SCORES["lstm", "pump"])
    labels_folder()
    refused(
        "runs: files must lie in one folder each, as in detector/series.csv; b/deep/x.npy does not; name a folder "
        "further up or down",
        labels="truth",
    )


def test_folders_without_tables_are_not_searched():
    """Unless a layout says that it is one."""
    write("runs/lstm/pump.csv", table("lstm", "pump"))
    Path("runs/logs").mkdir()
    with pytest.raises(TableError, match="runs: the folder holds no data files"):
        make_plan("runs")
    assert make_plan("runs", Reading(layout="detector/series")).detectors == ("lstm",)
    Path("empty").mkdir()
    with raises_exactly(
        TableError,
        "empty: the folder holds no files of scores; name one with a file for each series, or a folder for each "
        "detector",
    ):
        make_plan("empty", Reading(layout="detector/series"))


def test_labels_that_do_not_fit():
    write("runs/lstm/pump.npy", SCORES["lstm", "pump"][:-3])
    labels_folder()
    refused(
        "runs/lstm/pump.npy: there are 47 scores, and 50 labels in truth/pump.csv; one score per time step is needed, "
        "and scores of windows become such by pateval.scores_from_windows",
        labels="truth",
    )
    Path("truth/pump.csv").unlink()
    refused(
        "runs: no file and no folder in it is called like one of the labels ('truth/valve', 'valve'); name the labels "
        "of a series like its scores",
        labels="truth",
    )
    write("runs/lstm/valve.npy", SCORES["lstm", "valve"])
    refused("truth: there are no labels of series 'pump', of which runs/lstm/pump.npy has scores", labels="truth")
    refused("nowhere: there is no such folder of labels; name one that holds a file for each series", labels="nowhere")


def test_a_series_is_never_named_twice():
    for detector in ("lstm", "pca"):
        for series in LABELS:
            write(f"runs/{detector}/{series}.csv", table(detector, series).assign(series="other"))
    refused(
        "runs/lstm/pump.csv: its place names the series, and so does its column 'series'; name the files one by one, "
        "or take the column out"
    )


def test_a_layout_of_files():
    write("a.csv", table("lstm", "pump"))
    with raises_exactly(TableError, "a.csv: a layout is that of a folder with sub-folders; leave --layout out"):
        make_plan("a.csv", Reading(layout="detector/series"))
    with raises_exactly(TableError, "a.csv: labels that lie elsewhere go with a folder of scores; name that folder"):
        make_plan("a.csv", Reading(labels="truth"))
