"""A training that learned nothing is reported, a sound one is not; settings that cannot work are refused before it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pateval.datasets import join, load
from pateval.detectors import make
from pateval.detectors.presets import dataset_settings
from pateval.detectors.training import measure, rank_correlation
from pateval.io.score_files import (
    ZSCORE_CORRELATION,
    CollapsedTrainingWarning,
    Reconstruction,
    collapse_reasons,
    training_verdict,
)

torch.set_num_threads(1)


def waves(length: int = 1200) -> np.ndarray:
    steps = np.arange(length)[:, None] / np.arange(3, 6)
    return np.sin(steps) + 0.1 * np.random.default_rng(0).normal(size=(length, 3))


RECONSTRUCTING: dict[str, dict[str, Any]] = {
    "lstm": {"window": 10, "hidden": 16, "batch_size": 8, "epochs": 12, "learning_rate": 1e-2},
    "transformer": {"window": 10, "width": 8, "heads": 2, "hidden": 16, "blocks": 1, "batch_size": 8, "epochs": 6},
    # Min-max scaled: the paper's z-scores lie outside of what a sigmoid can put out, and hardly train on so few steps.
    "usad": {"variant": "original", "window": 5, "latent_per_step": 6, "batch_size": 16, "epochs": 12},
    "anomaly_transformer": {"window": 10, "width": 16, "heads": 2, "blocks": 1, "batch_size": 8, "epochs": 4},
    "autoencoder": {"window": 10, "hidden": 8, "code": 4, "batch_size": 32, "epochs": 5},
}


@pytest.mark.parametrize("name", RECONSTRUCTING)
def test_a_sound_training_is_not_reported(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector = make(name, **RECONSTRUCTING[name], device="cpu").fit(waves())
    assert detector.training_.collapse == ()
    record = detector.training_.to_dict()
    assert record["collapse"] == []
    assert record["reconstruction"]["last"]["error"] < record["reconstruction"]["first"]["error"]
    assert record["losses"][-1][0] == record["epochs"] == len(detector.history_)
    assert (record["device"], record["threads"]) == ("cpu", 1)
    assert record["reconstruction"]["kept"]["zscore_correlation"] < ZSCORE_CORRELATION
    assert training_verdict(record) == "sound"


@pytest.mark.parametrize("name", ["usad", "lstm", "transformer"])
def test_a_network_forced_to_die_is_reported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that do not move from zero give a constant output: a network of dead units."""
    detector = make(name, **{**RECONSTRUCTING[name], "learning_rate": 1e-12}, device="cpu")
    plan = type(detector).plan

    def dead_plan(self: Any, *arguments: Any, **options: Any) -> Any:
        recipe = plan(self, *arguments, **options)
        with torch.no_grad():
            for parameter in recipe.model.parameters():
                parameter.zero_()
        return recipe

    monkeypatch.setattr(type(detector), "plan", dead_plan)
    with pytest.warns(CollapsedTrainingWarning, match="the training collapsed: the output is constant"):
        detector.fit(waves())
    assert training_verdict(detector.training_.to_dict()).startswith(
        "collapsed: the output is constant, whatever the input"
    )


def test_a_network_that_dies_of_its_learning_rate_is_reported() -> None:
    detector = make("usad", **{**RECONSTRUCTING["usad"], "learning_rate": 1.0}, device="cpu")
    with pytest.warns(CollapsedTrainingWarning):
        detector.fit(waves())
    assert detector.training_.collapse


def test_usad_dies_on_msl_as_in_the_paper(real_data: Path) -> None:
    whole = join(load("MSL", root=real_data), "MSL")
    detector = make("usad", **{**dataset_settings("usad", "MSL"), "epochs": 4}, device="cpu")
    with pytest.warns(CollapsedTrainingWarning, match="equals the variance of the data"):
        detector.fit(whole.train)
    # A dead network's scores are the mean squared z-scores.
    dead, plain = detector.score(whole.test[:20000]), make("squared_zscore").fit(whole.train).score(whole.test[:20000])
    assert np.corrcoef(np.argsort(np.argsort(dead)), np.argsort(np.argsort(plain)))[0, 1] > 0.99


def test_no_reconstruction_and_short_trainings_are_not_judged() -> None:
    settings = {"window": 12, "patch_sizes": (2, 3), "width": 8, "epochs": 1, "device": "cpu"}
    detector = make("dcdetector", **settings).fit(waves(300))
    assert detector.training_.collapse is None
    assert training_verdict(detector.training_.to_dict()).startswith("not judged")
    short = make("usad", window=5, epochs=2, device="cpu").fit(waves(100))
    assert short.training_.collapse is None


def test_reasons() -> None:
    sound = Reconstruction(error=0.2, variance=1.0, output_variance=0.8, data_variance=1.0)
    worse = Reconstruction(error=0.3, variance=1.0, output_variance=0.8, data_variance=1.0)
    broken = Reconstruction(error=float("nan"), variance=1.0, output_variance=0.8, data_variance=1.0)
    assert collapse_reasons(9, 900, worse, sound, sound) == ()
    assert "no improvement over the first epoch" in "".join(collapse_reasons(9, 900, sound, worse, worse) or ())
    assert collapse_reasons(9, 900, sound, broken, broken) == ("the output is not finite",)
    # Worse than the mean of the data, though better than at first, and not constant.
    poor = Reconstruction(error=1.07, variance=1.0, output_variance=0.016, data_variance=1.0)
    assert collapse_reasons(9, 900, Reconstruction(1.1, 1.0, 0.01, 1.0), poor, poor) == (
        "the error, 1.07, exceeds the variance of the data, 1: predicting the mean does better",
    )
    # One epoch shows no progress.
    assert collapse_reasons(1, 900, sound, sound, sound) == ()


class _Reconstructs(torch.nn.Module):
    """Gives back a share of the values it is given."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, windows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return windows, self.share * windows


def test_scores_that_are_squared_zscores_are_reported() -> None:
    """A tenth of each value given back varies with the input and is better than at first: only the order tells."""
    windows = torch.from_numpy(np.random.default_rng(0).normal(size=(200, 10, 3)))
    windows -= windows.mean(dim=(0, 1))
    weak = measure(_Reconstructs(0.1), _Reconstructs(0.1), windows)
    assert weak.zscore_correlation == pytest.approx(1.0)
    before = Reconstruction(error=0.99, variance=1.0, output_variance=0.1, data_variance=1.0)
    (reason,) = collapse_reasons(9, 900, before, weak, weak) or ()
    assert reason == "no better than the squared z-score, which orders the steps alike (rank correlation 1.000)"

    def noisy(given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return given, given + 0.1 * torch.from_numpy(np.random.default_rng(1).normal(size=given.shape))

    sound = measure(_Reconstructs(1.0), noisy, windows)
    assert abs(sound.zscore_correlation) < 0.1
    assert collapse_reasons(9, 900, before, sound, sound) == ()


def test_rank_correlation_is_spearmans() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 500))
    second += first
    found = rank_correlation(torch.from_numpy(first), torch.from_numpy(second))
    assert found == pytest.approx(spearmanr(first, second).statistic)
    assert np.isnan(rank_correlation(torch.zeros(5), torch.arange(5.0)))


def test_records_are_judged_by_the_rule_of_today() -> None:
    """A run that an earlier rule called sound: its output hardly varies, and the mean of the data does better."""
    measured = {
        "first": {"error": 0.667728, "variance": 0.603807, "output_variance": 0.00339078, "data_variance": 0.603837},
        "last": {"error": 0.64888, "variance": 0.603807, "output_variance": 0.00976699, "data_variance": 0.603837},
    }
    record = {"epochs": 250, "optimizer_steps": 5750, "collapse": [], "reconstruction": measured}
    measured["kept"] = measured["last"]
    assert training_verdict(record) == (
        "collapsed: the error, 0.6489, exceeds the variance of the data, 0.6038: predicting the mean does better"
    )
    assert training_verdict({**record, "collapse": None}).startswith("not judged")
    assert training_verdict({"collapse": ["all training steps have the same score"]}).startswith("collapsed: all")


@pytest.mark.parametrize("name", ["lstm", "usad"])
def test_the_first_epoch_is_remembered_across_a_resume(name: str, tmp_path: Path) -> None:
    whole = make(name, **RECONSTRUCTING[name], device="cpu").fit(waves())

    def stop(epoch: Any) -> None:
        if epoch.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(name, **RECONSTRUCTING[name], device="cpu").fit(waves(), progress=stop, checkpoint=tmp_path / "c")
    resumed = make(name, **RECONSTRUCTING[name], device="cpu").fit(waves(), checkpoint=tmp_path / "c")
    assert resumed.training_.first == whole.training_.first
    assert resumed.training_.kept == whole.training_.kept


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("lstm", {"epochs": 0}, "epochs must be a whole number of at least 1; got 0"),
        ("usad", {"learning_rate": 1e6}, "learning_rate must be above 0 and at most 1; got 1000000.0"),
        ("lstm", {"select_on_test": "maybe"}, "select_on_test must be True or False; got 'maybe'"),
        ("transformer", {"width": 30}, "width must be a multiple of heads; got width=30 and heads=8"),
        ("anomaly_transformer", {"width": 30}, "width must be a multiple of heads; got width=30 and heads=8"),
        ("anomaly_transformer", {"validation_share": 1.0}, "validation_share must be above 0 and below 1; got 1.0"),
        ("dcdetector", {"batch_size": 2.5}, "batch_size must be a whole number of at least 1; got 2.5"),
        ("autoencoder", {"window": True}, "window must be a whole number of at least 1; got True"),
        ("transformer", {"weight_decay": float("nan")}, "weight_decay must be zero or positive; got nan"),
        ("usad", {"device": 3}, "device must be text; got 3"),
        ("lstm", {"seed": -1}, "seed must be a whole number of at least 0; got -1"),
    ],
)
def test_settings_are_checked_before_anything_is_trained(name: str, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        make(name, **settings)
    assert str(caught.value) == words


def test_the_autoencoder_does_not_depend_on_the_number_of_threads() -> None:
    train = np.tile(waves(1500), (1, 4))
    scores = []
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        try:
            detector = make("autoencoder", window=20, epochs=2, device="cpu").fit(train)
            scores.append(detector.score(train[:400]))
            assert torch.get_num_threads() == threads
            assert detector.training_.threads == 1
        finally:
            torch.set_num_threads(1)
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
