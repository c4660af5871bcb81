"""The big table from score files: cells, counts, and what explains a gap."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import pateval as pv
from conftest import CHECKOUT
from pateval.io.score_files import read_metadata, read_training_scores
from pateval.paper import ExperimentSettings, MissingInputError, compute, impact_training, report
from pateval.paper.impact import rank_correlation
from pateval.paper.impact_gaps import Gap
from pateval.paper.impact_values import printed
from pateval.paper.score_folders import read_runs

torch.set_num_threads(1)
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


def test_every_gap_is_explained_by_something_that_was_run(found):
    for gap in found.gaps:
        assert gap.why
        if gap.metric == "PATE":
            assert gap.zero_included is not None
        if gap.metric in ("PA-F1", "Standard-F1", "PA-AUC-ROC"):
            assert gap.configured in (0.5, 0.6, 1)
            # The configured share is among those tried: it gives the value of the table.
            assert gap.shares[gap.configured][gap.metric] == pytest.approx(gap.found)


def test_another_share_in_words():
    shares = {
        0.5: {"PA-F1": 0.70, "Standard-F1": 0.09, "PA-AUC-ROC": 0.80},
        1.0: {"PA-F1": 0.75, "Standard-F1": 0.23, "PA-AUC-ROC": 0.87},
    }
    gap = Gap("SMD", "LSTM", "PA-AUC-ROC", 0.87, 0.80, (0.80,), 0.02, None, 0.5, shares)
    assert gap.why == (
        "flagging 1 % instead of 0.5 % gives 0.87, but then PA-F1 0.75 for 0.80 and Standard-F1 0.23 for 0.14"
    )
    far = Gap("SMD", "LSTM", "PA-AUC-ROC", 0.99, 0.80, (0.80,), 0.02, None, 0.5, shares)
    assert far.why == "none of the shares tried (0.5, 1 %) gives it"


def test_rank_correlation_shares_ties():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 9, 300).astype(float), rng.normal(size=300)
    second += first
    assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A data set of two machines, trained for an epoch or two by the command itself, with both protocols."""
    root, scores = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    for machine in ("machine-1-1", "machine-1-2"):
        for part, length in (("train", 430), ("test", 320)):
            columns = {f"f{k:02d}": rng.normal(size=length).astype(np.float32) for k in range(3)}
            if part == "test":
                columns["label"] = (np.arange(length) % 100 > 90).astype(np.uint8)
            path = root / "SMD" / f"{machine}_{part}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(pa.table(columns), path)
    with pytest.MonkeyPatch.context() as patch:
        usual = impact_training.candidates

        def few(dataset: str, protocol: str, detectors: object, device: str, changes: object) -> object:
            del detectors, changes
            return usual(dataset, protocol, ("lstm", "usad"), device, {"epochs": 2})

        patch.setattr(impact_training, "candidates", few)
        settings = ExperimentSettings(root=root, scores=scores, seeds=2, train=True, device="cpu")
        return settings, compute("impact", settings)


def test_training_by_the_command(small):
    settings, found = small
    assert settings.scores is not None
    made = sorted(str(path.relative_to(settings.scores)) for path in settings.scores.rglob("*.parquet"))
    assert made == [f"{protocol}/SMD/{name}.parquet" for protocol in ("held-out", "paper") for name in ("lstm", "usad")]
    assert read_metadata(settings.scores / "paper" / "SMD" / "lstm.parquet")["settings"]["select_on_test"] is True
    assert read_metadata(settings.scores / "held-out" / "SMD" / "lstm.parquet")["settings"]["select_on_test"] is False
    assert {(row.protocol, row.detector, row.run) for row in found.collapse} == {
        (protocol, detector, run)
        for protocol in ("paper", "held-out")
        for detector in ("LSTM", "USAD")
        for run in (0, 1)
    }


def test_own_protocol(small):
    _, found = small
    own = found.own
    assert [row.detector for row in own.rows] == ["USAD", "LSTM", "random", "constant", "squared z-score"]
    row, plain = own.of("SMD", "LSTM"), own.of("SMD", "squared z-score")
    assert (row.seeds, row.series) == ((0, 1), ("machine-1-1", "machine-1-2"))
    assert row.values.shape == (2, 2, 7)
    each = read_runs(small[0].scores / "held-out", "SMD")["LSTM"][1]
    second = each.series == "machine-1-2"
    assert row.values[1, 1, 0] == pv.pate(each.labels[second], each.scores[second], early=100, delay=100)
    assert row.pooled[1, 0] == pv.pate(each.labels, each.scores, early=100, delay=100, series=each.series)
    # The threshold is that of the training scores alone.
    train = read_training_scores(small[0].scores / "held-out" / "SMD" / "lstm.parquet", run=1)
    flagged = each.scores > np.quantile(train, 0.995)
    assert row.values[1, 1, 3] == pytest.approx(pv.point(each.labels[second], flagged[second]).f1, abs=1e-6)
    mean, low, high = row.interval("PATE")
    assert low <= mean <= high
    assert row.interval("PATE", row) == (0.0, 0.0, 0.0)
    difference = row.interval("PATE-AP", plain)[0]
    assert difference == pytest.approx(row.interval("PATE-AP")[0] - plain.interval("PATE-AP")[0])


def test_the_page_of_both_protocols(small):
    made = report("impact", small[1])
    assert [figure.name for figure in made.figures] == ["impact-smd", "own-protocol"]
    assert len(made.figures[1].draw()) == 1
    for table in made.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    own = next(table for table in made.tables if table.name == "own-seeds")
    assert len(own.rows) == 2 * (2 + 2 + 2 + 1 + 1)
    assert all(verdict.why.endswith(".") for verdict in made.verdicts)


def test_an_earlier_training_beside(small, tmp_path):
    settings, _ = small
    for name in ("paper", "held-out"):
        (tmp_path / name).symlink_to(settings.scores / name)
    (tmp_path / "authors").symlink_to(SCORES)
    found = compute("impact", ExperimentSettings(root=settings.root, scores=tmp_path, seeds=1))
    assert found.within("SMD", 0, earlier=True) == (24, 30)
    assert found.within("SMD", 0)[1] == 12
    counts = next(table for table in report("impact", found).tables if table.name == "counts")
    assert ["SMD", "seed 0, earlier training", 24, 30] in [list(row) for row in counts.rows]


def test_training_needs_a_folder(tmp_path):
    with pytest.raises(MissingInputError, match="--scores FOLDER"):
        compute("impact", ExperimentSettings(root=tmp_path, train=True))
    with pytest.raises(MissingInputError, match="a data set with a training stretch"):
        compute("impact", ExperimentSettings(root=tmp_path, scores=tmp_path, train=True))


def test_every_run_of_the_checkout_has_a_verdict(found):
    """The verdicts that are printed cover every committed run."""
    files = len(list(SCORES.rglob("*.parquet")))
    assert len([row for row in found.collapse if row.protocol == "authors"]) == files
