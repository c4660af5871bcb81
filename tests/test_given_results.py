"""Leaderboards of values that were computed elsewhere: ranks as scipy has them, odd cells named."""

from __future__ import annotations

import csv
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import rankdata

import pateval as pv
from pateval.cli import pateval as command
from pateval.io import TableError
from support.messages import raises_exactly

DESCRIPTORS = [
    "ts_len",
    "anomaly_len",
    "num_anomaly",
    "avg_anomaly_len",
    "anomaly_ratio",
    "point_anomaly",
    "seq_anomaly",
]


@pytest.fixture
def published(real_data):
    """The table of TSB-AD."""
    path = real_data / "results" / "TSB-AD-U_VUS-PR.csv"
    if not path.is_file():
        pytest.skip("the published table is not here")
    return path


def mean_ranks(values):
    """Mean ranks over the rows without a gap, the highest value first."""
    complete = values[~np.isnan(values).any(axis=1)]
    return rankdata(-complete, axis=1).mean(axis=0)


def ranks_of(board, metric):
    table = board.ranks(metric).to_pydict()
    found = dict(zip(table["detector"], table["mean_rank"], strict=True))
    return np.array([found[name] for name in board.detectors])


def test_the_published_table(published):
    board = pv.leaderboard_from_results(published)
    frame = pd.read_csv(published).drop(columns=["file", *DESCRIPTORS])
    assert board.detectors == tuple(frame.columns)
    assert (len(board.detectors), len(board.series), board.metrics) == (32, 350, ("vus_pr",))
    np.testing.assert_allclose(ranks_of(board, "vus_pr"), mean_ranks(frame.to_numpy()), rtol=1e-12)
    assert "could not be checked" in board.warnings[0]


def test_an_altered_copy_names_its_odd_cells(published, tmp_path):
    with published.open(newline="") as file:
        rows = list(csv.reader(file))
    rows[3][5], rows[7][2], rows[9][1], rows[11][4] = "", "n/a?", "inf", "0,5"
    altered = tmp_path / "vus_pr.csv"
    with altered.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    board = pv.leaderboard_from_results(altered)
    names = rows[0]
    note = board.notes[-1]
    assert f"row 3, column {names[5]!r} (missing)" in note
    assert f"row 7, column {names[2]!r} ('n/a?' is no number)" in note
    assert f"row 9, column {names[1]!r} (" in note
    assert "is not finite" in note
    assert f"row 11, column {names[4]!r} ('0,5' is no number)" in note
    values = np.array([[cell(each) for each in row[1:33]] for row in rows[1:]])
    np.testing.assert_allclose(ranks_of(board, "vus_pr"), mean_ranks(values), rtol=1e-12)
    assert "ranks over 346 series" in str(board)


def cell(text):
    try:
        number = float(text)
    except ValueError:
        return np.nan
    return number if np.isfinite(number) else np.nan


def test_long_and_wide_forms_agree():
    generator = np.random.default_rng(0)
    wide = pd.DataFrame(generator.random((12, 3)), columns=["a", "b", "c"])
    wide.insert(0, "series", [f"s{number}" for number in range(12)])
    long = wide.melt("series", var_name="model", value_name="value")
    boards = [pv.leaderboard_from_results(table, metric="auc_roc") for table in (wide, long)]
    for board in boards:
        assert board.detectors == ("a", "b", "c")
        np.testing.assert_allclose(ranks_of(board, "auc_roc"), mean_ranks(wide[["a", "b", "c"]].to_numpy()))
    assert boards[0].significance("auc_roc").to_json() == boards[1].significance("auc_roc").to_json()


def test_many_metrics_and_directions():
    table = {
        "series": ["x", "y"] * 2,
        "metric": ["auc_roc"] * 2 + ["mean_detection_delay"] * 2,
        "a": [0.9, 0.8, 1.0, 2.0],
        "b": [0.5, 0.6, 5.0, 6.0],
    }
    board = pv.leaderboard_from_results(table)
    assert board.metrics == ("auc_roc", "mean_detection_delay")
    for metric in board.metrics:
        assert ranks_of(board, metric).tolist() == [1, 2]


def test_a_value_given_twice_is_refused():
    table = {"series": ["x", "x"], "detector": ["a", "a"], "value": [0.1, 0.2]}
    with raises_exactly(
        TableError, "the table: a second value of detector 'a' on series 'x' stands in row 2, column 'value'"
    ):
        pv.leaderboard_from_results(table)


def test_only_named_columns_are_detectors():
    table = {"series": ["x", "y"], "a": [0.1, 0.2], "b": [0.3, 0.1], "ts_len": [5, 6]}
    assert pv.leaderboard_from_results(table, detectors=["a", "ts_len"]).detectors == ("a", "ts_len")
    with raises_exactly(
        TableError, "the table: there is no detector column 'z'; its columns are 'series', 'a', 'b', 'ts_len'"
    ):
        pv.leaderboard_from_results(table, detectors=["z"])


def test_the_command_line(tmp_path):
    table = tmp_path / "published_auc_roc.csv"
    table.write_text("series,good,bad,ts_len\ns1,0.9,0.1,100\ns2,0.8,,100\ns3,0.7,0.3,100\n")
    done = CliRunner().invoke(command, ["leaderboard", "--from-results", str(table), "-o", str(tmp_path / "board")])
    assert done.exit_code == 0, done.output
    assert "guessed metric 'auc_roc'" in done.stderr
    assert "row 2, column 'bad' (missing)" in done.stderr
    assert "could not be checked" in done.stderr
    assert "ts_len" not in done.stdout
    assert (tmp_path / "board" / "scores.parquet").exists()
    none = CliRunner().invoke(command, ["leaderboard"])
    assert none.exit_code == 2
    assert "name files of scores, or one table of values with --from-results" in none.stderr


@pytest.mark.parametrize("header", ["", "index", "Unnamed: 0"])
def test_the_index_of_a_frame_is_no_detector(tmp_path, header):
    path = tmp_path / "auc_roc.csv"
    path.write_text(f"{header},file,a,b\n0,s,0.5,0.6\n1,t,0.7,0.5\n2,u,0.4,0.3\n")
    board = pv.leaderboard_from_results(path)
    assert (board.detectors, board.series) == (("a", "b"), ("s", "t", "u"))
    assert any("no detectors, but descriptions of the series" in note for note in board.notes)


def test_a_value_that_the_metric_cannot_have_is_refused():
    table = {"file": ["s", "t"], "a": [57.0, 60.0], "b": [55.0, 50.0]}
    with raises_exactly(
        TableError,
        "the table: row 1, column 'a' is 57, and pate is between 0 and 1; divide percentages by 100, or say what the "
        "values are (--metrics, metric=...)",
    ):
        pv.leaderboard_from_results(table, metric="pate")
    board = pv.leaderboard_from_results(table, metric="pate in percent")
    assert board.summary_rows[0]["mean"] == 58.5
    within = pv.leaderboard_from_results(table | {"a": [1 + 1e-12, 0.5], "b": [0.0, -1e-12]}, metric="pate")
    assert within.values.shape == (2, 2, 1)


def scores_of(tmp_path, names=("s1", "s2")):
    """A score file of one detector on some series, of which the anomaly is found on the first only."""
    rows = [
        f"{name},{int(step == 7)},{step / 10 if k == 0 else -step}"
        for k, name in enumerate(names)
        for step in range(10)
    ]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["series,label,mine", *rows]))
    return path


class TestBesideATable:
    """Detectors of one's own, evaluated here, beside those of a published table."""

    TABLE: ClassVar = {"file": ["s1.csv", "s2.csv", "s3.csv"], "a": [0.9, 0.8, 0.2], "b": [0.1, None, 0.3]}

    def test_values_and_whose_they_are(self, tmp_path):
        mine = pv.leaderboard(scores_of(tmp_path), metrics="auc_roc", chance=0, workers=1)
        board = pv.leaderboard_from_results(self.TABLE, metric="auc_roc", beside=[mine])
        assert board.detectors == ("a", "b", "mine")
        assert board.series == ("s1.csv", "s2.csv")
        np.testing.assert_allclose(board.values[2, :, 0], mine.values[0, :, 0])
        np.testing.assert_allclose(board.values[0, :, 0], [0.9, 0.8])
        reasons = board.scores.to_pydict()["reason"]
        assert [reason for reason in reasons if reason] == ["missing, row 2, column 'b'"]
        (warning,) = board.warnings
        given = "the numbers of 'a', 'b' are published ones, not computed again, and could not be checked"
        assert warning == f"{given}; computed here: 'mine'"
        assert "the table: 2 of its 3 series are those of 'mine'; the others are left out for all" in board.notes

    def test_metrics_are_matched_however_they_are_written(self, tmp_path):
        mine = pv.leaderboard(scores_of(tmp_path), metrics="auc_roc, vus_pr(window=4)", chance=0, workers=1)
        board = pv.leaderboard_from_results(self.TABLE, metric="VUS-PR", beside=[mine])
        assert board.values[2, 0, 0] == mine.values[0, 0, 1]
        with raises_exactly(
            TableError,
            "the table: its values are 'auc_pr', and those to be set beside them 'auc_roc', 'vus_pr(window=4)': name "
            "the table's metric (--metrics)",
        ):
            pv.leaderboard_from_results(self.TABLE, metric="auc_pr", beside=[mine])

    def test_what_does_not_fit_is_refused(self, tmp_path):
        other = pv.leaderboard(scores_of(tmp_path, ("x", "y")), metrics="auc_roc", chance=0, workers=1)
        with raises_exactly(
            TableError, "the table: no series of 'mine', such as 'x', is in it; it has 's1.csv', for example"
        ):
            pv.leaderboard_from_results(self.TABLE, metric="auc_roc", beside=[other])
        with raises_exactly(TableError, "the table: there is a detector 'mine' already; give yours another name"):
            pv.leaderboard_from_results({**self.TABLE, "mine": [1, 1, 1]}, metric="auc_roc", beside=[other])

    def test_two_tables(self, tmp_path):
        for name, column in (("theirs_auc_roc", "a"), ("mine_auc_roc", "m")):
            (tmp_path / f"{name}.csv").write_text(f"file,{column}\ns1.csv,0.5\ns2.csv,0.25\n")
        arguments = [
            part for name in ("theirs", "mine") for part in ("--from-results", str(tmp_path / f"{name}_auc_roc.csv"))
        ]
        done = CliRunner().invoke(command, ["leaderboard", *arguments, "--format", "csv"])
        assert done.exit_code == 0, done.output
        assert [line.split(",")[0] for line in done.stdout.splitlines()[1:3]] == ["a", "m"]
        assert "published ones, not computed again, and could not be checked\n" in done.stderr


def test_a_published_table_by_name(published, tmp_path, monkeypatch):
    """One command sets a detector beside the 32 of TSB-AD, with the sentence on whose numbers are whose."""
    name = "001_NAB_id_1_Facility_tr_1007_1st_2014"
    scores = scores_of(tmp_path, (name, "002_NAB_id_2_WebService_tr_1500_1st_4106"))
    monkeypatch.setenv("PATEVAL_DATA", str(published.parents[1]))
    arguments = ["leaderboard", str(scores), "--from-results", "tsb-ad-u", "-o", str(tmp_path / "board")]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    board = pv.Leaderboard.load(tmp_path / "board")
    assert (len(board.detectors), len(board.series), board.metrics) == (33, 2, ("vus_pr",))
    assert board.run["evaluated_here"] == ["mine"]
    assert done.stderr.count("and 28 more are published ones, not computed again") == 1
    assert "TSB-AD-U: VUS-PR of 32 detectors" in done.stderr
    with pytest.raises(TableError, match="its values were computed elsewhere"):
        pv.verify(tmp_path / "board")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--one-liners", "none"], "--one-liners needs scores of all detectors, which --from-results does not have"),
        (["--chance", "3"], "--chance needs scores of all detectors, which --from-results does not have"),
        (["--early", "5"], "--early is for detectors of FILE; the values of --from-results are computed already"),
    ],
)
def test_options_that_would_do_nothing_are_refused(tmp_path, options, said):
    (tmp_path / "auc_roc.csv").write_text("file,a,b\ns1.csv,0.5,0.25\n")
    arguments = ["leaderboard", "--from-results", str(tmp_path / "auc_roc.csv")]
    done = CliRunner().invoke(command, [*arguments, *options])
    assert (done.exit_code, said in done.stderr) == (2, True)
    # Nor is one of them named as a remedy.
    assert "--one-liners" not in CliRunner().invoke(command, arguments).stdout


def test_a_published_table_that_is_not_here(tmp_path, monkeypatch):
    monkeypatch.setenv("PATEVAL_DATA", str(tmp_path))
    done = CliRunner().invoke(command, ["leaderboard", "--from-results", "TSB-AD-U"])
    assert done.exit_code == 2
    where = tmp_path / "results"
    assert f"the results TSB-AD-U are not in {where}: get it with 'pateval data results fetch TSB-AD-U'" in done.stderr


def test_numbers_too_large_to_be_squared_have_no_value():
    table = {"file": ["s", "t", "u"], "a": [1e308, 0.1, 0.2], "b": [-1e308, 0.3, 1e99]}
    board = pv.leaderboard_from_results(table)
    line = "the table: no value in row 1, column 'a' (1e+308 is too large); row 1, column 'b' (-1e+308 is too large)"
    assert line in board.notes
    assert "rank" in repr(board)
    assert board.significance().series_used == 2
