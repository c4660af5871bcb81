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
    note = "runs: taken as a folder for each detector: 2 detectors ('lstm', 'pca'); --layout series/detector takes the "
    assert f"{note}folders as series" in found.notes


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


def test_labels_by_the_name_of_their_column():
    for (detector, series), scores in SCORES.items():
        write(f"runs/{detector}/{series}.npy", scores)
    for series, labels in LABELS.items():
        write(f"truth/{series}.csv", pd.DataFrame({"label": labels[::-1], "fault": labels}))
    found, values = board_of("runs", labels="truth", label="fault")
    assert values == EXPECTED
    found.save("board")
    console("verify", "board")
    refused(
        "truth/pump.csv: there is no label column 'alarm'; its columns are 'label', 'fault'",
        labels="truth",
        label="alarm",
    )


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
        "further up or down, or call the folders what they are, as in detector=lstm/run=0/pump.csv",
        labels="truth",
    )


def test_what_lies_beside_the_folders():
    """Notes, settings, logs and a board; folders without tables are said to be passed over."""
    for detector, series in SCORES:
        write(f"runs/{detector}/{series}.csv", table(detector, series))
    for name in ("README.md", "config.yaml", ".DS_Store", "lstm/.DS_Store", "lstm/._pump.csv", "pca/notes.txt"):
        Path("runs", name).write_text("x")
    console("leaderboard", "runs", "--metrics", "auc_roc", "-o", "runs/board")
    Path("runs/logs").mkdir()
    assert check("runs")[0].endswith("the other way round; passed over, without tables: 'logs'")
    Path("empty").mkdir()
    with raises_exactly(
        TableError,
        "empty: the folder holds no files of scores, such as .csv, .parquet or .npy; name one with a file for each "
        "series, or a folder for each detector",
    ):
        make_plan("empty", Reading(layout="detector/series"))


def test_tables_in_a_folder_and_in_its_folders():
    for detector, series in SCORES:
        write(f"runs/{detector}/{series}.csv", table(detector, series))
    write("runs/summary.csv", pd.DataFrame({"detector": ["lstm"], "f1": [0.5]}))
    refused(
        "runs: tables lie in it ('summary.csv') and in its folders ('lstm', 'pca'); say --layout detector/series or "
        "series/detector for those in the folders, or name the files"
    )
    assert board_of("runs", layout="detector/series")[1] == EXPECTED


@pytest.mark.parametrize("place", ["{detector}/{series}", "{detector}"])
def test_events_among_the_scores(place):
    """The file that --events names is no file of scores, wherever it lies."""
    series_of = {place.format(detector=detector, series=series): series for detector, series in SCORES}
    for detector, series in SCORES:
        path = place.format(detector=detector, series=series)
        if series_of[path] == series:
            write(f"runs/{path}.csv", table(detector, series).drop(columns="label"))
    rows = [
        {"series": series, "start": start, "stop": stop}
        for series in dict.fromkeys(series_of.values())
        for start, stop in pv.intervals_from_labels(LABELS[series])
    ]
    write("runs/events.csv", pd.DataFrame(rows).drop(columns=[] if "series" in place else "series"))
    found, values = board_of("runs", events="runs/events.csv")
    assert sorted(values.values()) == sorted(
        EXPECTED[name, series] for name, series in SCORES if series in series_of.values()
    )
    found.save("board")
    console("verify", "board")


@pytest.mark.parametrize(
    "place", ["out/today/{detector}/{series}", "{detector}/{series}/scores", "{series}/{detector}/s"]
)
def test_folders_further_down(place):
    for detector, series in SCORES:
        write(f"runs/{place.format(detector=detector, series=series)}.csv", table(detector, series))
    assert BOTH_WAYS in check("runs")[0]


def test_how_far_is_searched(monkeypatch):
    """Not through a whole disk."""
    for detector, series in SCORES:
        write(f"runs/{detector}/{series}.csv", table(detector, series))
        write(f"far/a/b/{detector}/c/{series}.csv", table(detector, series))
    nothing = "the folder holds no data files"
    with pytest.raises(TableError, match=nothing):
        make_plan("far")
    monkeypatch.setattr("pateval.io.folders._MOST_FOLDERS", 1)
    with pytest.raises(TableError, match="its tables lie in the folders within it"):
        make_plan("runs")


@pytest.mark.parametrize("place", ["{series}__{detector}", "{detector}__{series}", "{detector}/{detector}_{series}"])
@pytest.mark.parametrize("has_labels", [True, False])
def test_names_of_files_that_say_both(place, has_labels):
    for detector, series in SCORES:
        path = f"runs/{place.format(detector=detector, series=series)}"
        if has_labels:
            write(f"{path}.csv", table(detector, series))
        else:
            write(f"{path}.npy", SCORES[detector, series])
    labels_folder()
    assert BOTH_WAYS in check("runs", labels=None if has_labels else "truth")[0]


def test_names_of_files_that_say_nothing():
    """Labels that all files share are those of one series, whatever the files are called."""
    for name in ("lstm__small", "lstm__large", "pca__small", "pca__large"):
        write(f"runs/{name}.csv", table("lstm", "pump"))
    assert make_plan("runs").detectors == ("lstm__large", "lstm__small", "pca__large", "pca__small")
    for detector, series in SCORES:
        write(f"flat/{detector}_{series}.csv", table(detector, series))
    assert make_plan("flat").notes[-1] == (
        "series 'series' has 50 steps, but 60 for 'lstm_valve', 'pca_valve'; files of several series are told apart in "
        "a folder for each detector, or called pump__lstm.csv"
    )


def test_one_detector_in_a_folder_for_each_series():
    for series in LABELS:
        write(f"runs/{series}/lstm.csv", table("lstm", series))
    _, values = board_of("runs")
    assert values == {("lstm", series): EXPECTED["lstm", series] for series in LABELS}


@pytest.mark.parametrize("labels", [None, "truth"])
def test_two_files_are_never_one_series(labels):
    for detector, series in SCORES:
        write(f"runs/{detector}/{series}.csv", table(detector, series) if labels is None else pd.Series([1.0]))
    write("runs/pca/pump.parquet", table("pca", "pump"))
    labels_folder()
    refused(
        "runs/pca/pump.csv and runs/pca/pump.parquet are one series of one detector by their names; rename one of the "
        "two, or take it out",
        labels=labels,
    )


def test_scores_alone():
    """Without --labels, a sentence says what is missing."""
    write("runs/lstm/pump.npy", SCORES["lstm", "pump"])
    write("runs/lstm/labels.npy", LABELS["pump"])
    refused(
        "runs: the folder holds no tables with labels, but files such as lstm/pump.npy; where these are scores, name "
        "the folder of their labels with --labels"
    )
    write("runs/lstm/valve.csv", pd.Series(SCORES["lstm", "valve"]))
    with pytest.raises(TableError, match="of scores alone, name the folder of their labels with --labels"):
        make_plan("runs")
    write("runs/lstm/valve.csv", pd.DataFrame({"score": SCORES["lstm", "valve"]}))
    with pytest.raises(TableError, match="or labels in a folder of their own with --labels FOLDER"):
        make_plan("runs")


def test_other_columns_in_other_files():
    for detector in ("lstm", "pca"):
        write(f"runs/{detector}/pump.csv", table(detector, "pump").rename(columns={"score": detector}))
    refused(
        "runs/pca/pump.csv: there is no column 'lstm'; its columns are 'label', 'pca'; files that are read together "
        "need the same columns, as label and score"
    )


def test_archives_and_pickles():
    for name, why in (("lstm.zip", "archives are not read; unpack it"), ("lstm.pkl", "pickles can run code")):
        Path("runs").mkdir(exist_ok=True)
        Path("runs", name).write_bytes(b"x")
        with pytest.raises(TableError, match=f"runs/{name}: {why}"):
            make_plan("runs")
        Path("runs", name).unlink()


def test_labels_among_the_scores():
    """A folder of labels is no detector: it is asked for, and left out once it is named."""
    for (detector, series), scores in SCORES.items():
        write(f"runs/{detector}/{series}.csv", pd.DataFrame({"score": scores}))
    labels_folder(prefix="runs/labels/")
    refused("runs: labels seem to lie in runs/labels; say so with --labels runs/labels")
    assert len(check("runs", labels="runs/labels")) == 1


def test_scores_among_the_labels():
    for (detector, series), scores in SCORES.items():
        write(f"data/scores/{detector}/{series}.npy", scores)
    labels_folder(prefix="data/")
    assert len(check("data/scores", labels="data")) == 1


def test_labels_of_a_series_twice():
    write("runs/lstm/pump.npy", SCORES["lstm", "pump"])
    labels_folder()
    labels_folder(prefix="truth/old/")
    refused(
        "truth: labels of series 'pump' are both in truth/old/pump.csv and in truth/pump.csv; name the folder of one, "
        "or take one out",
        labels="truth",
    )


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
        "runs: no file and no folder in it is called like one of the labels ('valve'); name the labels "
        "of a series like its scores",
        labels="truth",
    )
    write("runs/lstm/valve.npy", SCORES["lstm", "valve"])
    refused("truth: there are no labels of series 'pump', of which runs/lstm/pump.npy has scores", labels="truth")
    like = "name a folder that holds a file for each series, called like its scores"
    refused(f"nowhere: there is no such folder of labels; {like}", labels="nowhere")
    refused(f"truth/valve.csv: is a file; {like}", labels="truth/valve.csv")


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
