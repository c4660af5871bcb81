"""PATE at every buffer size: the values are those of `pate`, and who leads on the score files of the checkout."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pateval as pv
from conftest import CHECKOUT
from pateval.paper import ExperimentSettings, MissingInputError, compute
from pateval.paper.document import IN_PART, REPRODUCES, Verdict
from pateval.paper.from_scores import LEADERS, SIZES, SPIKY
from pateval.paper.inputs import read_runs
from pateval.pate.score import pate_at_sizes

SCORES = CHECKOUT / "results" / "scores" / "paper"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Seed 0 on MSL and SMD, the data sets of the paper that are here."""
    folder = tmp_path_factory.mktemp("scores")
    for name in ("MSL", "SMD"):
        (folder / name).symlink_to(SCORES / name)
    return compute("ablation", ExperimentSettings(scores=folder, seeds=2))


@pytest.mark.filterwarnings("ignore::pateval.CoarseScoresWarning")
@given(st.data())
def test_every_size_is_what_pate_gives(data):
    size = data.draw(st.integers(2, 40))
    labels = data.draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    scores = data.draw(st.lists(st.integers(0, 9).map(float), min_size=size, max_size=size))
    cut = data.draw(st.integers(1, size))
    series = np.repeat([0, 1], [cut, size - cut])
    sizes = data.draw(st.lists(st.integers(0, 50), min_size=1, max_size=4))
    expected = [pv.pate(labels, scores, early=each, delay=each, series=series) for each in sizes]
    np.testing.assert_allclose(pate_at_sizes(labels, scores, sizes, series=series), expected, atol=1e-12)


def test_bad_sizes():
    with pytest.raises(ValueError, match="at least one buffer length"):
        pate_at_sizes([0, 1], [0.1, 0.2], [])
    with pytest.raises(ValueError, match="sizes"):
        pate_at_sizes([0, 1], [0.1, 0.2], [-1])


def test_transformer_and_lstm_lead_at_all_sizes(made):
    assert made.values["averaged"] == ["SMD", "MSL"]
    verdict = made.verdict("leaders")
    assert len(verdict.cells) == verdict.agreeing == len(SIZES) == 201
    assert verdict.status == IN_PART  # one seed alone
    assert Verdict("leaders", verdict.cells).status == REPRODUCES
    ranks = made.table("ranks").rows
    assert {row[detector] for row in ranks for detector in LEADERS} == {1, 2}
    assert {row["USAD"] for row in ranks} == {3}


def test_where_the_spiky_ones_lie_below_random_is_marked(made):
    for detector in SPIKY:
        assert made.values["below"][detector] == "all sizes"
        assert made.table("below-random").rows[0][detector] == "all sizes"
    for row in made.table("mean").rows:
        assert [row[name].endswith("*") for name in (*SPIKY, "Transformer")] == [True, True, False]
    drawn = made.figures[0].draw()
    crosses = [line for line in drawn.get_lines() if line.get_marker() == "x" and len(line.get_xdata())]
    assert len(crosses) == 2


def test_values_and_what_is_missing(made):
    (row,) = [row for row in made.table("values").rows if (row["data set"], row["buffer size"]) == ("MSL", 100)]
    each = read_runs(SCORES, "MSL")["LSTM"][0]
    assert row["LSTM"] == pytest.approx(pv.pate(each.labels, each.scores, early=100, delay=100), abs=1e-12)
    assert [said["why"] for said in made.statements if said["item"] == "what is not here"] == [
        "SWaT: there are no score files.",
        "PSM: there are no score files.",
    ]


def test_a_detector_is_missing(tmp_path):
    (tmp_path / "MSL").mkdir()
    (tmp_path / "MSL" / "lstm.parquet").symlink_to(SCORES / "MSL" / "lstm.parquet")
    with pytest.raises(MissingInputError, match="MSL: there are no score files of AnomalyTrans, DCDetector"):
        compute("ablation", ExperimentSettings(scores=tmp_path))
