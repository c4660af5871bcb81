"""Folders of results that other benchmarks wrote."""

import csv

import pytest
from click.testing import CliRunner

import pateval as pv
from pateval.cli import pateval
from support.messages import message_of


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def tsb_ad(tmp_path):
    """As the scripts of TSB-AD write it: a file per detector, a row per series."""
    for name, values in {"KNN": (0.9, 0.8, 0.7), "IForest": (0.1, 0.3, 0.2)}.items():
        rows = [[f"{place:03}_NAB_id_{place}.csv", 1.5, value, value / 2] for place, value in enumerate(values)]
        write(tmp_path / f"{name}.csv", [["file", "Time", "AUC-PR", "VUS-PR"], *rows])
    return tmp_path


HEAD = [
    *("algorithm", "collection", "dataset", "algo_training_type", "algo_input_dimensionality"),
    *("dataset_training_type", "dataset_input_dimensionality", "status", "error_message", "repetition"),
    *("hyper_params_id", "hyper_params", "execute_main_time", "execute_preprocess_time", "execute_postprocess_time"),
    *("ROC_AUC", "PR_AUC"),
]


def experiment(algorithm, dataset, repetition, value, settings="{}"):
    """A row of TimeEval's table; without a value the experiment failed."""
    state = ["Status.OK", ""] if value is not None else ["Status.ERROR", "RuntimeError('too long')"]
    kinds = ["UNSUPERVISED", "UNIVARIATE"] * 2
    about = [*kinds, *state, repetition, f"id of {settings}", settings, 0.1, "", ""]
    return [algorithm, "NAB", dataset, *about, *(["", ""] if value is None else [value, value / 2])]


@pytest.fixture
def timeeval(tmp_path):
    """As TimeEval 1.5.0 writes it: one table, repetitions one by one, settings with a number of their own."""
    rows = [
        experiment(algorithm, dataset, repetition, base + 0.1 * repetition, settings)
        for algorithm, base, settings in (("kMeans", 0.5, '{"k": 20}'), ("LOF", 0.7, "{}"))
        for dataset in ("a", "b")
        for repetition in (1, 2)
    ]
    rows[-1] = experiment("LOF", "b", 2, None)
    write(tmp_path / "results.csv", [HEAD, *rows])
    return tmp_path


def test_a_file_per_detector(tsb_ad):
    board = pv.leaderboard_from_results(tsb_ad)
    assert board.detectors == ("IForest", "KNN")
    assert board.metrics == ("AUC-PR", "VUS-PR")
    assert board.ranks("AUC-PR").column("mean_rank").to_pylist() == [1.0, 2.0]
    assert board.notes[0] == f"{tsb_ad}: read as results of TSB-AD, 2 detectors, named after their files"


def test_repetitions_count_with_their_mean(timeeval):
    board = pv.leaderboard_from_results(timeeval)
    assert board.metrics == ("ROC_AUC", "PR_AUC")
    assert board.series == ("NAB/a", "NAB/b")
    values = {(row["detector"], row["series"], row["metric"]): row["value"] for row in board.scores.to_pylist()}
    assert values["kMeans", "NAB/a", "ROC_AUC"] == pytest.approx(0.65)
    assert values["LOF", "NAB/b", "ROC_AUC"] != values["LOF", "NAB/b", "ROC_AUC"]  # NaN
    where = timeeval / "results.csv"
    assert board.notes == (
        f"{where}: read as results of TimeEval, metrics ROC_AUC, PR_AUC",
        (
            f"{where}: 1 of 8 experiments failed and has no value, the first in row 8: LOF on NAB/b "
            "(RuntimeError('too long'))"
        ),
        f"{where}: up to 2 repetitions, of which the mean counts; one without a value makes it missing",
        f"{timeeval}: no value in ROC_AUC of LOF on NAB/b (missing); PR_AUC of LOF on NAB/b (missing)",
        f"{timeeval}: 'ROC_AUC', 'PR_AUC' are not in the catalogue; higher values are taken as better",
    )


def test_an_algorithm_with_several_settings_is_several_detectors(timeeval):
    path = timeeval / "results.csv"
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(
            [experiment("kMeans", "a", 1, 0.4, '{"k": 5, "seed": 1}'), experiment("kMeans", "b", 1, 0.4, "no text")]
        )
    found = pv.leaderboard_from_results(timeeval).detectors
    assert found == ("kMeans (k=20)", "LOF", "kMeans (k=5, seed=1)", "kMeans (id of no text)")


def test_rows_of_zeros_are_failures(tsb_ad):
    with (tsb_ad / "KNN.csv").open("a", newline="") as file:
        csv.writer(file).writerows([["003.csv", 0.1, 0, 0.0], ["004.csv", 0.1, 0, 0.3]])
    board = pv.leaderboard_from_results(tsb_ad)
    values = {(row["detector"], row["series"], row["metric"]): row["value"] for row in board.scores.to_pylist()}
    assert values["KNN", "003.csv", "AUC-PR"] != values["KNN", "003.csv", "AUC-PR"]  # NaN
    assert values["KNN", "004.csv", "AUC-PR"] == 0
    assert board.notes[1] == (
        f"{tsb_ad / 'KNN.csv'}: every metric is 0 in row 4, which TSB-AD's scripts write where a detector failed; it "
        "counts as missing"
    )


def test_from_the_command_line(tsb_ad):
    done = CliRunner().invoke(pateval, ["leaderboard", "--from-results", str(tsb_ad), "--rank-by", "VUS-PR"])
    assert done.exit_code == 0, done.stderr
    assert "KNN" in done.stdout
    assert "could not be checked" in done.stderr


def test_other_folders_are_refused(tmp_path):
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path}: there is no results.csv, as TimeEval writes it, nor a CSV file per detector, as TSB-AD does"
    )
    (tmp_path / "2024_01_01_10_00_00").mkdir()
    write(tmp_path / "2024_01_01_10_00_00" / "results.csv", [HEAD])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path}: there is no results.csv, as TimeEval writes it, nor a CSV file per detector, as TSB-AD does; "
        "give the folder of one run, such as '2024_01_01_10_00_00'"
    )
    merged = tmp_path / "uni_mergedTable_VUS-PR.csv"
    write(merged, [["file", "KNN", "IForest"], ["a", 1, 2]])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{merged}: this is a table with a column per detector, not the results of one: give the file instead of the "
        "folder, with --from-results TABLE"
    )
    merged.unlink()
    write(tmp_path / "mine.csv", [["series", "AUC"], ["a", 1]])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path / 'mine.csv'}: there is no column 'file' with the names of the series, as TSB-AD's scripts write it"
    )
    write(tmp_path / "results.csv", [["algorithm", "dataset", "AUC"], ["a", "b", 1]])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path / 'results.csv'}: there is no column 'collection', which the results of TimeEval have"
    )
