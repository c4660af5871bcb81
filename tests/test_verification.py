"""A leaderboard computed again: what was changed by hand, swapped or defined otherwise is found."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import hypergeom

import pateval as pv
from pateval.cli import pateval as command
from pateval.io.table_files import write_csv
from pateval.leaderboards.verification import detectable_share, verify
from support.messages import message_of

METRICS = ["pate_ap", "auc_roc", "point_f1"]


@pytest.fixture
def board(tmp_path):
    """Three detectors on four series, a file each, and the leaderboard of them."""
    generator = np.random.default_rng(0)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    for name in ("good", "fair", "poor"):
        strength = {"good": 1.0, "fair": 0.5, "poor": 0.1}[name]
        columns = {"series": [], "label": [], "score": []}
        for series in "abcd":
            columns["series"] += [series] * labels.size
            columns["label"] += labels.tolist()
            columns["score"] += (strength * labels + generator.random(labels.size)).tolist()
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("good", "fair", "poor")]
    pv.leaderboard(files, metrics=METRICS, chance=1, workers=1, output=tmp_path / "board", cache=tmp_path / "cache")
    return tmp_path / "board"


def change(board, alter):
    """Change the saved scores, and write every table that could give it away anew."""
    table = pq.read_table(board / "scores.parquet")
    rows = table.to_pylist()
    alter(rows)
    changed = pa.Table.from_pylist(rows, schema=table.schema)
    pq.write_table(changed, board / "scores.parquet")
    write_csv([changed], board / "scores.csv")
    with (board / "summary.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        values = [
            row["value"] for row in rows if (row["detector"], row["metric"]) == (line["detector"], line["metric"])
        ]
        line["mean"] = repr(float(np.mean(values)))
    with (board / "summary.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)


def test_an_honest_board_agrees(board):
    found = verify(board, all=True, workers=1)
    assert found.agrees, found
    assert (found.checked, found.pairs, found.values, found.detectable) == (12, 12, 36, 0.0)
    assert "is what its inputs give" in repr(found)
    assert json.loads(found.to_json())["agrees"] is True


def test_a_value_changed_by_hand_is_found_though_all_tables_were_rewritten(board):
    def alter(rows):
        row = next(row for row in rows if (row["detector"], row["series"], row["metric"]) == ("fair", "c", "auc_roc"))
        row["value"] += 1e-6

    change(board, alter)
    found = verify(board, all=True, workers=1)
    assert [each.kind for each in found.differences] == ["value"]
    assert "fair on c: auc_roc is " in found.differences[0].sentence
    assert "is not what its inputs give" in repr(found)


def test_a_swapped_score_file_is_found(board):
    folder = board.parent
    good, poor = (folder / f"{name}.parquet" for name in ("good", "poor"))
    first, second = good.read_bytes(), poor.read_bytes()
    good.write_bytes(second)
    poor.write_bytes(first)
    kinds = {each.kind for each in verify(board, all=True, workers=1).differences}
    assert kinds == {"input", "value"}


def test_a_swapped_score_file_is_found_though_its_digests_were_rewritten(board):
    poor = board.parent / "poor.parquet"
    poor.write_bytes((board.parent / "good.parquet").read_bytes())
    lines = (board / "contents.csv").read_text().splitlines()
    of_good = {line.split(",")[1]: line.split(",")[2] for line in lines if line.startswith("good,")}
    written = [
        ",".join(["poor", line.split(",")[1], of_good[line.split(",")[1]]]) if line.startswith("poor,") else line
        for line in lines
    ]
    (board / "contents.csv").write_text("\n".join(written) + "\n")
    found = verify(board, all=True, workers=1)
    assert {each.kind for each in found.differences} == {"value"}
    assert all(each.sentence.startswith("poor on ") for each in found.differences)


def test_a_result_of_another_definition_is_found(board):
    def alter(rows):
        for row in rows:
            if row["metric"] == "pate_ap":
                row["signature"] = row["signature"].replace("|definition:1|", "|definition:0|")

    change(board, alter)
    found = verify(board, all=True, workers=1)
    assert {each.kind for each in found.differences} == {"definition"}
    assert len(found.differences) == 12


def test_a_detector_left_out_of_the_board_is_found(board):
    table = pq.read_table(board / "scores.parquet")
    rows = [row for row in table.to_pylist() if row["detector"] != "poor"]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), board / "scores.parquet")
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert "poor on a: in the inputs, but not in the leaderboard" in sentences


def test_a_sample_says_what_it_could_have_missed(board):
    found = verify(board, sample=3, workers=1)
    assert (found.checked, found.pairs) == (3, 12)
    assert found.detectable == detectable_share(12, 3) == 7 / 12
    assert "would have met one with a probability of 95 %" in repr(found)


@pytest.mark.parametrize(("pairs", "checked"), [(12, 3), (50, 20), (500, 40)])
def test_the_share_a_sample_would_have_met(pairs, checked):
    wrong = round(detectable_share(pairs, checked) * pairs)
    assert hypergeom.pmf(0, pairs, wrong, checked) <= 0.05 < hypergeom.pmf(0, pairs, wrong - 1, checked)


def test_a_file_that_is_gone_is_named(board):
    (board.parent / "fair.parquet").unlink()
    found = verify(board, all=True, workers=1)
    assert not found.agrees
    assert "fair.parquet: the input is gone" in found.differences[0].sentence


def test_what_is_no_leaderboard_is_refused(tmp_path):
    assert message_of(verify, tmp_path) == (
        f"{tmp_path}: no leaderboard, which has run.json and scores.parquet; make one with 'pateval leaderboard "
        f"FILE... -o {tmp_path}'"
    )


def test_values_from_elsewhere_cannot_be_verified(tmp_path):
    pv.leaderboard_from_results({"series": ["a", "b"], "x": [0.1, 0.2], "y": [0.3, 0.4]}).save(tmp_path / "board")
    assert message_of(verify, tmp_path / "board") == (
        f"{tmp_path / 'board'}: its values were computed elsewhere, so there are no inputs to compute them from"
    )


def test_the_command_line(board):
    done = CliRunner().invoke(command, ["verify", str(board), "--all", "--workers", "1"])
    assert done.exit_code == 0, done.output
    assert "is what its inputs give" in done.stdout

    def alter(rows):
        rows[0]["value"] = 0.123

    change(board, alter)
    done = CliRunner().invoke(command, ["verify", str(board), "--all", "--workers", "1"])
    assert done.exit_code == 1
    assert "is 0.123; the inputs give" in done.stdout
