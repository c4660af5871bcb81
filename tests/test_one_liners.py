"""What needs no training stands beside the detectors of a board: marked, in no test, and with who beats it."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pateval as pv
from pateval import detectors, rules
from pateval.leaderboards.board_files import ONE_LINERS
from pateval.leaderboards.render import baseline_of, mean_of_rules
from pateval.leaderboards.result import Leaderboard
from support.command_line import invoke
from support.messages import message_of

STEPS, SERIES = 120, 9


def series_of(seed):
    """Noise with one jump that the difference finds, and scores that find it, too, or do not."""
    generator = np.random.default_rng(seed)
    values, labels = generator.normal(size=STEPS), np.zeros(STEPS, dtype=int)
    labels[60 + seed] = 1
    values[60 + seed] += 1
    return {
        "value": values,
        "label": labels,
        "good": labels + 0.1 * values,
        "guess": generator.random(STEPS),
        "third": values,
        "fourth": -values,
    }


@pytest.fixture
def files(tmp_path):
    for seed in range(SERIES):
        columns = series_of(seed)
        rows = np.array(list(columns.values())).T.tolist()
        text = "\n".join(",".join(map(repr, row)) for row in rows)
        (tmp_path / f"s{seed}.csv").write_text(f"{','.join(columns)}\n{text}\n")
    return sorted(tmp_path.glob("*.csv"))


def board_of(files, **options):
    return pv.leaderboard(
        list(map(str, files)),
        **({"score": ["good", "guess"], "metrics": "auc_roc", "chance": 3, "workers": 1} | options),
    )


class TestRules:
    @pytest.mark.parametrize("columns", [1, 3])
    @pytest.mark.parametrize("name", rules.ONE_LINERS[1:])
    def test_they_are_the_detectors_that_have_seen_no_other_series(self, name, columns):
        values = np.random.default_rng(columns).normal(size=(300, columns)) + np.sin(np.arange(300) / 5)[:, None]
        detector = detectors.make(name, **({"window": None} if name == "moving_zscore" else {}))
        assert rules.one_liner(name, values) == pytest.approx(detector.fit(values).score(values), rel=1e-9, abs=1e-9)

    def test_a_missing_value_is_the_one_before_it(self):
        values = np.random.default_rng(0).normal(size=200)
        gaps, filled = values.copy(), values.copy()
        gaps[[0, 50, 51, 199]] = np.nan, np.nan, np.inf, np.nan
        filled[[0, 50, 51, 199]] = 0, values[49], values[49], values[198]
        for name in rules.ONE_LINERS:
            assert rules.one_liner(name, gaps).tolist() == rules.one_liner(name, filled).tolist()


def test_the_best_of_them_and_who_beats_it(files):
    board = board_of(files)
    beside = board.one_liners
    assert beside.detectors == tuple(sorted(rules.ONE_LINERS))
    expected = {
        name: np.mean(
            [pv.auc_roc(one["label"], rules.one_liner(name, one["value"])) for one in map(series_of, range(SERIES))]
        )
        for name in rules.ONE_LINERS
    }
    best = max(expected, key=expected.get)
    assert board.to_dict()["one_liners"]["auc_roc"]["means"] == pytest.approx(
        expected | {"chance": board.summary_rows[0]["chance"]}
    )
    found = baseline_of(board, "auc_roc")
    assert (found.name, found.mean) == (best, pytest.approx(expected[best]))
    # Nine better series of nine have p = 2/2^9, and with Holm for two detectors twice that.
    assert found.beaten_by == {"good": "yes", "guess": "no"}
    alone = board_of(files, one_liners=False)
    assert alone.one_liners is None
    assert board.ranks() == alone.ranks()
    assert board.significance().to_dict() == alone.significance().to_dict()


def test_a_better_mean_alone_is_no_evidence(files):
    board = board_of(files[:3])
    assert baseline_of(board, "auc_roc").beaten_by["good"] == "mean"
    assert "mean: its mean alone is better" in re.sub(r"\s+", " ", str(board))
    pooled = re.sub(r"\s+", " ", str(board_of(files[:3], pooled=True)))
    best = baseline_of(board_of(files[:3], pooled=True), "auc_roc")
    said = (
        f"1 of 2 detectors has a better value than {best.name} ({best.mean:.3f}), the best rule without training; one"
    )
    assert f"{said} sample is no evidence" in pooled
    assert "Wilcoxon" not in pooled


def test_they_are_marked_and_both_first_sentences_say_it(files, tmp_path):
    board = board_of(files)
    header, rows = board.overview().header, {row[0]: row for row in board.overview().rows}
    column = header.index("beats")
    assert [rows[name][column] for name in ("good", "guess")] == ["yes", "no"]
    marked = [name for name in rows if name.endswith(" (rule)")]
    assert {name.removesuffix(" (rule)") for name in marked} == {*rules.ONE_LINERS, "chance"}
    assert all(rows[name][1:4] == ["", "", ""] for name in marked)
    paper = board.to_latex().splitlines()
    mean = mean_of_rules(board, "auc_roc")["moving_median"]
    assert any(re.fullmatch(rf"moving\\_median \(rule\) &.* & {mean:.3f}\b.*", line) for line in paper)
    sentence = f"1 of 2 detectors beats {baseline_of(board, 'auc_roc').name}"
    assert sentence in re.sub(r"\s+", " ", str(board))
    board.to_report(tmp_path / "report.html")
    assert sentence in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_without_values_it_is_said_once():
    columns = series_of(0)
    del columns["value"]
    text = re.sub(r"\s+", " ", str(pv.leaderboard(columns, metrics="auc_roc", chance=0, event_draws=0)))
    assert text.count("no values of the series, and so no rule without training to beat") == 1
    assert "(rule)" not in text


def test_saved_added_to_and_verified(files, tmp_path):
    folder = tmp_path / "board"
    board_of(files, score=["guess", "good"]).save(folder)
    (folder / ONE_LINERS / "scores.csv").unlink()
    assert "scores.csv is not there" in message_of(Leaderboard.load, folder)
    board_of(files, score=["guess", "good"]).save(folder)
    pv.Leaderboard.load(folder).add(list(map(str, files)), score=["third", "fourth"], workers=1).save(folder)
    assert pv.verify(folder, all=True).agrees
    scores = pq.read_table(folder / ONE_LINERS / "scores.parquet")
    values = scores["value"].to_numpy().copy()
    values[3] += 0.01
    pq.write_table(
        scores.set_column(scores.column_names.index("value"), "value", pa.array(values)),
        folder / ONE_LINERS / "scores.parquet",
    )
    sentences = [difference.sentence for difference in pv.verify(folder, all=True).differences]
    assert any(sentence.startswith(f"{ONE_LINERS}: constant on s3: auc_roc is 0.51") for sentence in sentences), (
        sentences
    )


def test_scores_of_them_from_elsewhere(files, tmp_path):
    rule = tmp_path / "rules"
    rule.mkdir()
    columns = [series_of(seed) for seed in range(SERIES)]
    table = {
        "series": np.repeat([f"s{seed}" for seed in range(SERIES)], STEPS),
        "label": np.concatenate([one["label"] for one in columns]),
        "score": np.concatenate([one["value"] for one in columns]),
    }
    pq.write_table(pa.table(table), rule / "plain.parquet")
    out = invoke(
        "leaderboard",
        *files,
        "--score",
        "good,guess",
        "--one-liners",
        rule,
        "--metrics",
        "auc_roc",
        "-o",
        tmp_path / "board",
    )
    assert out.exit_code == 0, out.output
    assert "plain (rule)" in out.stdout
    assert "constant (rule)" not in out.stdout
    assert pv.verify(tmp_path / "board", all=True).agrees
    table["label"] = np.roll(table["label"], 1)
    pq.write_table(pa.table(table), rule / "plain.parquet")
    said = message_of(board_of, files, one_liners=str(rule))
    assert said.startswith("the one-liners do not go with the detectors: 9 of 9 series ('s0', 's1', 's2'")
    assert said.endswith("have other labels, or other steps to ignore")
    out = invoke("leaderboard", *files, "--score", "good,guess", "--one-liners", "none", "--metrics", "auc_roc")
    assert "(rule)" not in out.stdout
    refused = invoke("leaderboard", files[0], "--add-to", tmp_path / "board", "--one-liners", rule, status=2)
    assert "--one-liners is that of the leaderboard in" in refused.output
