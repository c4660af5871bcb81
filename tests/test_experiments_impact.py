"""The big table from score files: cells, counts, and what explains a gap."""

from __future__ import annotations

import pytest

from conftest import CHECKOUT
from pateval.experiments import ExperimentSettings, MissingInputError, compute, report
from pateval.experiments.impact import Gap, printed

SCORES = CHECKOUT / "results" / "scores" / "authors"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    if not SCORES.is_dir():
        pytest.skip("the score files of the checkout are not at hand")
    return compute("impact", ExperimentSettings(root=tmp_path_factory.mktemp("no-data"), scores=SCORES, seeds=2))


def test_counts_of_seed_0(found):
    within, cells = found.within("MSL", 0)
    assert cells == 30
    assert within >= 28
    within, cells = found.within("SMD", 0)
    assert cells == 30
    assert within >= 24


def test_gaps_are_the_cells_that_are_not_close(found):
    for dataset in ("SMD", "MSL"):
        within, cells = found.within(dataset, 0)
        assert len([gap for gap in found.gaps if gap.dataset == dataset]) == cells - within


def test_what_is_missing_is_said(found):
    assert any("SWaT" in sentence for sentence in found.missing)
    assert any("19 of the paper's 28 machines" in sentence for sentence in found.missing)
    assert report("impact", found).summary.endswith(".")


def test_no_scores(tmp_path):
    with pytest.raises(MissingInputError, match="--scores FOLDER"):
        compute("impact", ExperimentSettings(scores=tmp_path))


def test_gap_in_words():
    gap = Gap("MSL", "USAD", "PA-F1", 0.91, 0.80, (0.80, 0.95), None, 0.85)
    assert gap.why == "no threshold on these scores gives it: the best is 0.85"
    assert printed("MSL", "USAD", "PA-F1") == 0.91
