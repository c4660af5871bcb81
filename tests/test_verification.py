"""A leaderboard computed again: what was changed by hand, swapped or defined otherwise is found."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import hypergeom

import pateval as pv
from pateval.cli import pateval as command
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


def forge(folder, alter, **given):
    """Change the leaderboard in memory and save it again, so that every table follows from what was changed."""
    files = [str(folder.parent / f"{name}.parquet") for name in ("good", "fair", "poor")]
    found = pv.leaderboard(files, **({"metrics": METRICS, "chance": 1, "workers": 1} | given))
    alter(found).save(folder)


def other_value(detector, series, metric, amount):
    def alter(found):
        values = found.values.copy()
        values[found.detectors.index(detector), found.series.index(series), found.metrics.index(metric)] += amount
        return replace(found, values=values)

    return alter


def test_an_honest_board_agrees(board):
    found = verify(board, all=True, workers=1)
    assert found.agrees, found
    assert (found.checked, found.pairs, found.values, found.detectable) == (12, 12, 36, 0.0)
    assert "is what its inputs give" in repr(found)
    assert json.loads(found.to_json())["agrees"] is True


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("given", [{"all": True}, {"sample": 3}])
def test_an_honest_board_agrees_with_chance_runs_missing_scores_and_doubt(tmp_path, given, workers):
    rng = np.random.default_rng(1)
    labels = np.tile([0, 0, 0, 0, 0, 0, 1, 1, 0, 0], 8)
    for name in ("good", "poor"):
        scores = np.tile(labels, 6) * (name == "good") + rng.random(6 * labels.size)
        scores[7] = np.nan
        table = {
            "series": np.repeat(["a", "b", "c"], 2 * labels.size),
            "run": np.tile(np.repeat(["1", "2"], labels.size), 3),
            "label": np.tile(labels, 6),
            "score": scores,
        }
        pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("good", "poor")]
    options = {"missing": "ignore", "run": "run", "doubt": 1, "doubt_draws": 4, "chance": 2, "seed": 3}
    pv.leaderboard(files, metrics=METRICS, workers=1, output=tmp_path / "board", **options)
    found = verify(tmp_path / "board", workers=workers, **given)
    assert found.agrees, found


def test_limits_over_the_events_of_one_series_are_computed_again(board):
    path = board.parent / "one.parquet"
    pq.write_table(pq.read_table(board.parent / "good.parquet").slice(0, 80), path)
    pv.leaderboard(str(path), chance=0, event_draws=20, workers=1, output=board.parent / "one")
    assert verify(board.parent / "one", workers=1).agrees
    rewrite_csv(board.parent / "one" / "summary.csv", 0, "low", "0.01")
    (difference,) = verify(board.parent / "one", workers=1).differences
    assert difference.sentence.startswith("summary.csv: low of one under pate is 0.01; the inputs give 1")


def rewrite_csv(path, place, column, value):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[place][column] = value
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("given", [{"all": True}, {"sample": 1}])
@pytest.mark.parametrize(
    ("name", "place", "column", "start"),
    [
        ("ranks.csv", 1, "mean_rank", "ranks.csv: mean_rank in row 2 (pate_ap, fair) is 0.5; the values in"),
        ("ranks.csv", 0, "detector", "ranks.csv: detector in row 1 (pate_ap, good) is 0.5; the values in"),
        ("summary.csv", 0, "median", "summary.csv: median in row 1 (good, pate_ap) is 0.5; the values in"),
        ("summary.csv", 3, "high", "summary.csv: high in row 4 (fair, pate_ap) is 0.5; the values in"),
        ("summary.csv", 0, "chance", "summary.csv: chance in row 1 (good, pate_ap) is 0.5; the values in"),
        ("summary.csv", 8, "skill", "summary.csv: skill in row 9 (poor, point_f1) is 0.5; the values in"),
        ("agreement.csv", 2, "auc_roc", "agreement.csv: auc_roc in row 3 (point_f1) is 0.5; the values in"),
        ("scores.csv", 4, "value", "scores.csv: value in row 5 (good, b, auc_roc) is 0.5; scores.parquet has"),
    ],
)
def test_a_table_changed_by_hand_is_found_with_its_first_cell(board, name, place, column, start, given):
    rewrite_csv(board / name, place, column, "0.5")
    (difference,) = verify(board, workers=1, **given).differences
    assert difference.kind == "table"
    assert difference.sentence.startswith(start)


def test_how_many_cells_differ_and_what_is_gone(board):
    for place in (0, 1):
        rewrite_csv(board / "ranks.csv", place, "mean_rank", "")
    (board / "agreement.csv").unlink()
    text = (board / "summary.csv").read_text().splitlines()
    (board / "summary.csv").write_text("\n".join(text[:-1]) + "\n")
    sentences = [each.sentence for each in verify(board, sample=1, workers=1).differences]
    assert "summary.csv: it has 8 rows; the values in scores.parquet give 9" in sentences
    assert "agreement.csv: it is not there" in sentences
    assert (
        "ranks.csv: mean_rank in row 1 (pate_ap, good) is empty; the values in scores.parquet give 1.0 "
        "(and 1 more cell)" in sentences
    )


def alter_json(path, alter):
    data = json.loads(path.read_text())
    alter(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (
            lambda tests: tests["auc_roc"]["wilcoxon_p"][0].__setitem__(1, 0.001),
            "significance.json: wilcoxon_p of good and fair under auc_roc is 0.001; the values in scores.parquet give",
        ),
        (
            lambda tests: tests["pate_ap"]["friedman"].__setitem__("p_value", 0.0),
            "significance.json: friedman p_value under pate_ap is 0.0; the values in scores.parquet give 0.",
        ),
        (
            lambda tests: tests["pate_ap"].__setitem__("nemenyi_groups", []),
            "significance.json: nemenyi_groups under pate_ap is []; the values in scores.parquet give [[",
        ),
        (lambda tests: tests.pop("point_f1"), "significance.json: the tests of point_f1 are not there"),
    ],
)
def test_a_test_changed_by_hand_is_found(board, alter, sentence):
    alter_json(board / "significance.json", alter)
    (difference,) = verify(board, sample=1, workers=1).differences
    assert difference.sentence.startswith(sentence)


@pytest.mark.parametrize("given", [{"all": True}, {"sample": 12}])
def test_chance_changed_by_hand_is_found_though_every_table_follows_from_it(board, given):
    def alter(found):
        levels = found.chance.levels.copy()
        levels[:, found.metrics.index("auc_roc")] = 0.25
        return replace(found, chance=replace(found.chance, levels=levels))

    forge(board, alter)
    found = verify(board, workers=1, **given)
    assert {each.kind for each in found.differences} == {"chance"}
    assert found.differences[0].sentence.startswith("chance.parquet: auc_roc on a is 0.25; the inputs give 0.")
    (board / "chance.parquet").unlink()
    sentences = [each.sentence for each in verify(board, workers=1, **given).differences]
    assert "chance.parquet: it is not there, so nothing says what chance is on each series" in sentences


def test_pooled_values_and_moved_labels_are_computed_again_with_all(board):
    forge(board, lambda found: found, doubt=1, doubt_draws=5)
    assert verify(board, all=True, workers=1).agrees
    rewrite_csv(board / "summary.csv", 0, "pooled", "0.5")
    draws = pq.read_table(board / "doubt.parquet")
    rows = draws.to_pylist()
    rows[3]["mean"] += 0.25
    pq.write_table(pa.Table.from_pylist(rows, schema=draws.schema), board / "doubt.parquet")
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert sentences[0].startswith("summary.csv: pooled of good under pate_ap is 0.5; the inputs give 1")
    assert sentences[1].startswith("doubt.parquet: mean in row 4 (pate_ap, good, 3) is ")
    # The rows of doubt.csv, and the spread in summary.csv, no longer follow from the draws.
    assert sentences[2].startswith("summary.csv: doubt_std in row 1 (good, pate_ap) is ")
    assert sentences[3].startswith("doubt.csv: draw_mean in row 1 (pate_ap, good) is ")
    assert len(sentences) == 4


def test_the_record_of_the_run_agrees_with_the_metrics(board):
    alter_json(board / "run.json", lambda run: run["directions"].__setitem__("auc_roc", False))
    (difference,) = verify(board, sample=1, workers=1).differences
    assert difference.sentence == "run.json: it says that auc_roc is better where it is lower, which it is not"


def test_a_value_changed_by_hand_is_found_though_all_tables_were_rewritten(board):
    forge(board, other_value("fair", "c", "auc_roc", 1e-6))
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
    assert all(each.sentence.startswith(("poor on ", "summary.csv: pooled of poor")) for each in found.differences)


def test_a_result_of_another_definition_is_found(board):
    def alter(found):
        other = found.signatures["pate_ap"].replace("|definition:1|", "|definition:0|")
        return replace(found, signatures={**found.signatures, "pate_ap": other})

    forge(board, alter)
    found = verify(board, all=True, workers=1)
    assert {each.kind for each in found.differences} == {"definition"}
    assert len(found.differences) == 12


def test_a_detector_left_out_of_the_board_is_found(board):
    table = pq.read_table(board / "scores.parquet")
    rows = [row for row in table.to_pylist() if row["detector"] != "poor"]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), board / "scores.parquet")
    sentences = [each.sentence for each in verify(board, all=True, workers=1).differences]
    assert "poor on a: in the inputs, but not in the leaderboard" in sentences
    assert sentences[-1] == "run.json: its detectors are not those of scores.parquet: 'poor' is in run.json only"


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

    forge(board, other_value("good", "a", "pate_ap", -0.5))
    done = CliRunner().invoke(command, ["verify", str(board), "--all", "--workers", "1"])
    assert done.exit_code == 1
    assert "good on a: pate_ap is 0." in done.stdout
