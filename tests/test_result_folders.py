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


@pytest.fixture
def timeeval(tmp_path):
    """As TimeEval writes it: one table, repetitions one by one."""
    head = ["algorithm", "collection", "dataset", "algo_training_type", "status", "error_message", "train_main_time"]
    rows = [[*head, "ROC_AUC", "PR_AUC", "repetition", "hyper_params", "hyper_params_id"]]
    for algorithm, base in {"kMeans": 0.5, "LOF": 0.7}.items():
        for dataset in ("a", "b"):
            for repetition in (1, 2):
                value = base + 0.1 * repetition
                about = ["UNSUPERVISED", "Status.OK", "", 0.1]
                rows.append([algorithm, "NAB", dataset, *about, value, value / 2, repetition, "{}", "id"])
    rows[-1][7] = ""
    write(tmp_path / "results.csv", rows)
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
    assert board.notes[0] == f"{where}: read as results of TimeEval, metrics ROC_AUC, PR_AUC"
    assert board.notes[1] == (
        f"{where}: up to 2 repetitions, of which the mean counts; one without a value makes it missing"
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
    write(tmp_path / "mine.csv", [["series", "AUC"], ["a", 1]])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path / 'mine.csv'}: there is no column 'file' with the names of the series, as TSB-AD's scripts write it"
    )
    write(tmp_path / "results.csv", [["algorithm", "dataset", "AUC"], ["a", "b", 1]])
    assert message_of(pv.leaderboard_from_results, tmp_path) == (
        f"{tmp_path / 'results.csv'}: there is no column 'collection', which the results of TimeEval have"
    )
