"""One detector against the others: who is told apart from it, in tests, table, letters, figure, report and files."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pateval as pv
from oracles.control import against_control
from pateval.leaderboards import significance as pairs
from pateval.leaderboards.render import alike_texts
from pateval.report.verdict import evidence_of, verdict
from support.command_line import console
from support.messages import raises_exactly

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 7), st.integers(2, 5)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, math.nan]),
)


@given(tables, st.data())
def test_the_others_are_compared_with_it_alone(table, data):
    names = [f"d{column}" for column in range(table.shape[1])]
    place = data.draw(st.integers(0, len(names) - 1))
    alpha = data.draw(st.sampled_from([0.05, 0.25, 0.5, 0.75]))  # p-values are whole parts of 2, 4, 8 ... themselves
    expected = against_control(table.tolist(), place)
    found = pairs.compare_detectors("m", names, table, higher_is_better=True, alpha=alpha, control=names[place])
    for other, p_value in expected.items():
        assert found.wilcoxon_holm_p[place][other] == pytest.approx(p_value, abs=1e-12)
        assert found.wilcoxon_holm_p[other][place] == found.wilcoxon_holm_p[place][other]
    two_others = [row for k, row in enumerate(found.wilcoxon_holm_p) if k != place]
    assert sum(math.isnan(p) for row in two_others for p in row) == len(two_others) * (len(two_others) - 1)
    tied = [name for k, name in enumerate(names) if k == place or expected[k] >= alpha]
    assert found.wilcoxon_groups == [tied]
    # Matrix, letters and rows of the frame say the same.
    alike = found.alike()
    assert [name for name, is_alike in zip(names, alike[place], strict=True) if is_alike] == tied
    assert alike.sum() == len(names) + 2 * (len(tied) - 1)
    assert alike_texts(found) == {name: "a" if name in tied else "" for name in names}
    assert len(found.columns()["other"]) == len(names) - 1


@given(tables)
def test_very_many_detectors_have_the_same_group(table):
    names = [f"d{column}" for column in range(table.shape[1])]
    options = {"higher_is_better": True, "control": "d1", "alpha": 0.3}
    few = pairs.compare_detectors("m", names, table, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "MOST_IN_PAIRS", 0)
        many = pairs.compare_detectors("m", names, table, **options)
    assert many.wilcoxon_groups == few.wilcoxon_groups
    assert np.array_equal(many.alike(), few.alike())
    assert many.columns()["other"] == []


def made_board(detectors=4, series=6, metrics=("vus_pr",)):
    """Detectors whose values rise by a step each, and one in front of them whose values rise and fall."""
    chance = np.random.default_rng(1)
    levels = 0.9 / detectors * np.arange(detectors) + 0.01 * chance.random((series, detectors))
    levels[:, -1] = 0.05 * (-1.0) ** np.arange(series) + levels[:, -2]
    columns = {f"d{place}": levels[:, place].tolist() for place in range(detectors)}
    table = pa.table({"series": [f"s{number}" for number in range(series)], **columns})
    return pv.leaderboard_from_results(table, metric=metrics[0])


def test_fewer_comparisons_find_more():
    board = made_board()
    every, mine = board.significance(), board.against("d0").significance()
    # Six wins of six have p = 2/64: times six pairs that is no evidence, times three comparisons neither.
    assert every.wilcoxon_holm_p[every.detectors.index("d0")][every.detectors.index("d1")] == pytest.approx(6 * 2 / 64)
    assert mine.wilcoxon_holm_p[mine.detectors.index("d0")][mine.detectors.index("d1")] == pytest.approx(3 * 2 / 64)
    seven = made_board(series=8)
    found, against = seven.significance(), seven.significance(control="d0")
    assert not found.to_dict().get("control")
    assert against.control == against.to_dict()["control"] == "d0"
    assert against.wilcoxon_groups == [["d0"]]


def test_what_is_shown_follows_it_and_what_is_saved_does_not(tmp_path):
    board = made_board(series=8)
    shown = board.against("d3")
    text = repr(shown)
    assert "same letter: not told apart from d3\n(Wilcoxon-Holm over 3 comparisons, 5 %)" in text
    letters = {line.split()[0]: line.split()[2] for line in text.splitlines()[2:6] if line.split()[2] == "a"}
    assert set(letters) == set(shown.significance().wilcoxon_groups[0]) == {"d2", "d3"}
    assert r"Same letter: not told apart from Mine (Wilcoxon-Holm, 5\,\%)." in shown.to_latex(names={"d3": "Mine"})
    assert json.loads(shown.to_json())["significance"]["control"] == "d3"
    frame = shown.summary().to_pandas().set_index("detector")["control_p"]
    assert frame["d0"] == pytest.approx(3 * 2 / 2**8)
    assert math.isnan(frame["d3"])
    assert board.summary("d3").equals(shown.summary())
    assert "control_p" not in board.summary().column_names
    shown.save(tmp_path / "shown")
    board.save(tmp_path / "board")
    for name in ("summary.csv", "significance.json", "scores.csv"):
        assert (tmp_path / "shown" / name).read_bytes() == (tmp_path / "board" / name).read_bytes()


def test_a_name_that_is_not_there_is_refused_in_a_sentence():
    board = made_board()
    sentence = "control names 'mine'; the detectors are 'd0', 'd1', 'd2', 'd3'"
    for ask in (board.against, lambda name: board.significance(control=name), board.summary):
        with raises_exactly(ValueError, sentence):
            ask("mine")
    data = {"label": [0, 1, 0, 0], "a": [0.1, 0.9, 0.2, 0.1], "b": [0.5, 0.2, 0.1, 0.9]}
    with raises_exactly(ValueError, "control names 'mine'; the detectors are 'a', 'b'"):
        pv.leaderboard(data, metrics="auc_roc", control="mine")


def test_a_control_without_a_value_compares_nobody():
    table = np.array([[0.1, 0.2], [0.3, 0.4], [0.2, 0.1]])
    found = pairs.compare_detectors("m", ["a", "b"], table, higher_is_better=True, left_out=["c"], control="c")
    assert found.wilcoxon_groups == []
    assert alike_texts(found) == {"a": "", "b": ""}
    assert found.test_text == "not told apart from c (Wilcoxon-Holm over 0 comparisons, 5 %)"
    assert evidence_of(found.to_dict()) == ([], "c has no value here, so nobody is compared with it.")


def test_the_report_says_who_is_behind_it_and_ahead():
    board = made_board(series=8).against("d1")
    found = verdict(board, "vus_pr", board.significance())
    assert (found["against"], found["tied"]) == ("d1", [])
    assert found["evidence"] == (
        "d1 is told apart from d0 behind it and from d2 and d3 ahead of it "
        "(Wilcoxon-Holm over 3 comparisons, 5 %; on 8 series)."
    )
    board = board.against("d3")
    assert verdict(board, "vus_pr", board.significance())["evidence"] == (
        "d3 is told apart from d1 and d0 behind it; not from d2 (Wilcoxon-Holm over 3 comparisons, 5 %; on 8 series)."
    )


def test_a_control_may_be_told_apart_from_nobody():
    board = made_board(series=4).against("d1")
    found = verdict(board, "vus_pr", board.significance())
    assert found["evidence"] == (
        "d1 is told apart from no other detector (Wilcoxon-Holm over 3 comparisons, 5 %; on 4 series)."
    )
    assert sorted(found["tied"]) == ["d0", "d2", "d3"]


def test_the_figure_joins_it_with_those_not_told_apart():
    tests = made_board(series=8).significance(control="d3")
    ax = pv.plots.critical_difference(tests)
    (bar,) = (line for line in ax.get_lines() if line.get_label() == "group")
    ranks = dict(zip(tests.detectors, tests.mean_ranks, strict=True))
    assert sorted(bar.get_xdata()) == sorted(ranks[name] for name in tests.wilcoxon_groups[0])
    caption = ax.texts[-1].get_text().replace("\n", " ")
    assert "joined: no evidence of a difference from d3 (Wilcoxon with Holm's correction, level 0.05)" in caption
    with raises_exactly(ValueError, "a control is compared by Wilcoxon's test alone; leave out the test 'nemenyi'"):
        pv.plots.critical_difference(tests, test="nemenyi")
    many = made_board(detectors=18, series=12).significance(control="d9")
    (mesh,) = pv.plots.critical_difference(many).collections
    assert np.array_equal(np.asarray(mesh.get_array()).reshape(18, 18).astype(bool), many.alike())


def test_on_the_command_line(tmp_path):
    board = made_board(series=8)
    board.save(tmp_path / "board")
    table = tmp_path / "values.csv"
    lines = ["series,d0,d1,d2,d3"]
    lines += [",".join([name, *map(str, board.values[:, s, 0])]) for s, name in enumerate(board.series)]
    table.write_text("\n".join(lines))
    said = console("leaderboard", "--from-results", table, "--metrics", "vus_pr", "--control", "d3").out
    assert "not told apart from d3" in said
    refused = console("leaderboard", "--from-results", table, "--metrics", "vus_pr", "--control", "x", status=2)
    assert "control names 'x'; the detectors are 'd0', 'd1', 'd2', 'd3'" in refused.err
    page = tmp_path / "page.html"
    console("report", tmp_path / "board", "-o", page, "--control", "d1")
    assert "d1 is told apart from d0 behind it and from d2 and d3 ahead of it" in page.read_text()
    console("plot", "critical-difference", tmp_path / "board", "--control", "d3", "-o", tmp_path / "d.svg")
    assert "from d3" in (tmp_path / "d.svg").read_text()
