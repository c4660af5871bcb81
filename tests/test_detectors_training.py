"""The one training loop: order, validation, early stop, weights to keep, checkpoint and resume, determinism."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pateval.detectors import make
from pateval.detectors.deep import Windows, in_batches
from pateval.detectors.devices import choose_device, make_optimizer, seeded, set_learning_rate
from pateval.detectors.presets import preset_settings
from pateval.detectors.reconstruction import Transformer, TransformerSettings, draw_as_published
from pateval.detectors.training import Epoch, Recipe, TrainingRecord, run_together, visiting_order
from pateval.detectors.windows import Scaling

torch.set_num_threads(1)

DEEP: dict[str, dict[str, Any]] = {
    "lstm": {"window": 10, "hidden": 6, "batch_size": 4, "epochs": 4},
    "transformer": {"window": 10, "width": 8, "heads": 2, "hidden": 8, "blocks": 1, "batch_size": 4, "epochs": 4},
    "usad": {"window": 5, "latent_per_step": 2, "batch_size": 8, "epochs": 4},
    "anomaly_transformer": {
        "window": 10,
        "width": 8,
        "heads": 2,
        "hidden": 8,
        "blocks": 2,
        "batch_size": 4,
        "epochs": 4,
    },
    "dcdetector": {"window": 12, "patch_sizes": (2, 3), "width": 8, "layers": 2, "batch_size": 4, "epochs": 4},
    "autoencoder": {"window": 10, "hidden": 6, "code": 3, "batch_size": 16, "epochs": 4},
}


def series(length: int = 203, features: int = 3) -> np.ndarray:
    steps = np.arange(length)[:, None] / np.arange(3, 3 + features)
    return np.sin(steps) + 0.1 * np.random.default_rng(0).normal(size=(length, features))


def toy(values: list[tuple[float, ...]] | None = None, *, seen: list[Tensor] | None = None, **changes: Any) -> Recipe:
    """A recipe whose only weight counts the steps, and whose validation values are given."""
    model = nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.zero_()
    answers = iter(values or [])

    def step(batch: Tensor) -> Tensor:
        if seen is not None:
            seen.append(batch[:, 0, 0].clone())
        with torch.no_grad():
            model.weight += 1
        return torch.tensor(float(len(batch)))

    defaults: dict[str, Any] = {
        "model": model,
        "windows": torch.arange(10.0).view(10, 1, 1),
        "optimizers": (torch.optim.SGD(model.parameters(), lr=0.5),),
        "step": step,
        "validate": (lambda: next(answers)) if values is not None else None,
    }
    settings = SimpleNamespace(
        batch_size=4,
        epochs=changes.pop("epochs", 5),
        patience=changes.pop("patience", None),
        order_seed=changes.pop("order_seed", 42),
        order=changes.pop("order", "generator"),
    )
    return Recipe(**{**defaults, "settings": settings, **changes})


def run(recipe: Recipe, **changes: Any) -> TrainingRecord:
    (record,) = run_together([dataclasses.replace(recipe, **changes)])
    return record


def test_every_window_is_visited_once_per_epoch_in_one_fixed_order() -> None:
    seen: list[Tensor] = []
    history = run(toy(seen=seen, epochs=2)).history
    assert [len(batch) for batch in seen] == [4, 4, 2] * 2
    first, second = torch.cat(seen[:3]), torch.cat(seen[3:])
    assert first.tolist() == second.tolist() == visiting_order(10, 42).tolist()
    assert sorted(first.tolist()) == list(range(10))
    assert [epoch.steps for epoch in history] == [3, 3]
    # A mean over windows, not over batches.
    assert history[0].loss == pytest.approx((4 * 4 + 4 * 4 + 2 * 2) / 10)


def test_reshuffling_and_no_shuffling() -> None:
    seen: list[Tensor] = []
    run(toy(seen=seen, epochs=2, reshuffle=True))
    assert torch.cat(seen[:3]).tolist() != torch.cat(seen[3:]).tolist()
    seen.clear()
    run(toy(seen=seen, epochs=1, order_seed=None))
    assert torch.cat(seen).tolist() == list(range(10))


def test_the_last_weights_are_kept_without_validation() -> None:
    recipe = toy()
    history = run(recipe).history
    assert recipe.model.weight.item() == 15
    assert all(epoch.kept for epoch in history)


def test_the_best_weights_come_back() -> None:
    recipe = toy([(3.0,), (1.0,), (2.0,), (1.5,), (1.2,)])
    history = run(recipe).history
    assert [epoch.kept for epoch in history] == [True, True, False, False, False]
    assert recipe.model.weight.item() == 6


def test_weights_are_replaced_only_if_neither_value_is_worse() -> None:
    recipe = toy([(3.0, 3.0), (2.0, 4.0), (3.0, 2.0), (2.5, 2.5), (1.0, 1.0)])
    history = run(recipe).history
    assert [epoch.kept for epoch in history] == [True, False, True, False, True]


def test_early_stop() -> None:
    recipe = toy([(1.0,), (2.0,), (2.0,), (0.0,)], patience=2)
    assert len(run(recipe).history) == 3
    assert recipe.model.weight.item() == 3


def test_validation_may_only_stop() -> None:
    recipe = toy([(1.0,), (2.0,), (2.0,), (0.0,)], patience=2, restore=False)
    run(recipe)
    assert recipe.model.weight.item() == 9


def test_begin_end_and_progress_are_called() -> None:
    calls: list[object] = []
    recipe = toy(
        [(2.0,), (1.0,)],
        epochs=2,
        begin=lambda number: calls.append(("begin", number)),
        end=lambda number, values: calls.append(("end", number, values)),
    )
    run(recipe, progress=lambda epoch: calls.append(epoch.number))
    assert calls == [("begin", 1), ("end", 1, (2.0,)), 1, ("begin", 2), ("end", 2, (1.0,)), 2]


def test_divergence_is_an_error() -> None:
    with pytest.raises(FloatingPointError, match="nan in epoch 1"):
        run(toy(step=lambda _: torch.tensor(float("nan"))))


def test_learning_rate_in_place() -> None:
    model = nn.Linear(1, 1)
    plain = make_optimizer("adam", model, 0.1)
    set_learning_rate(plain, 0.05)
    assert plain.param_groups[0]["lr"] == 0.05
    on_device = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    held = on_device.param_groups[0]["lr"]
    set_learning_rate(on_device, 0.05)
    assert on_device.param_groups[0]["lr"] is held
    assert float(held) == pytest.approx(0.05)


def test_device_choice() -> None:
    assert choose_device("cpu").type == "cpu"
    if not torch.cuda.is_available():
        assert choose_device().type == "cpu"
        with pytest.raises(ValueError, match="no CUDA device"):
            choose_device("cuda")


def test_seeding_leaves_the_callers_random_state() -> None:
    torch.manual_seed(7)
    expected = torch.rand(2)
    torch.manual_seed(7)
    with seeded(0, torch.device("cpu")):
        torch.rand(5)
    assert torch.equal(torch.rand(2), expected)


def windows_of(train: np.ndarray, test: Any = None, **changes: Any) -> tuple[Scaling, Windows, Windows]:
    detector = make("anomaly_transformer", **{"window": 10, "stride": 10, **changes})
    scaling, windows, held_out = detector.cut(train, torch.device("cpu"), test=test)
    return scaling, windows, held_out


def test_the_last_training_windows_are_held_out() -> None:
    train = np.arange(205.0)
    scaling, windows, held_out = windows_of(train)
    assert (len(windows), len(held_out)) == (18, 2)
    back = held_out[:].numpy().astype(np.float64)[:, :, 0] * scaling.scale + scaling.shift
    np.testing.assert_allclose(back.reshape(-1), np.arange(180, 200), atol=1e-4)


def test_overlapping_windows_share_no_step_with_the_held_out_ones() -> None:
    train = np.arange(200.0)
    scaling, windows, held_out = windows_of(train, stride=1)
    used = windows[:].numpy() * scaling.scale + scaling.shift
    held = held_out[:].numpy() * scaling.scale + scaling.shift
    assert used.max() < held.min()


def test_with_the_test_set_all_windows_train() -> None:
    train, test = series(205), series(98)
    _, windows, chosen = windows_of(train, test=test, select_on_test=True)
    assert (len(windows), len(chosen)) == (20, 9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"test": series()}, "only with select_on_test=True"),
        ({"select_on_test": True}, "needs fit"),
        ({"window": 150, "stride": 150}, "at least two windows"),
        ({"window": 300, "stride": 300}, "train must hold at least one window of 300 steps; got 203"),
        ({"select_on_test": True, "test": series(9)}, "test must hold at least one window"),
        ({"select_on_test": True, "test": series(50, 2)}, "test must have 3 features"),
    ],
)
def test_bad_training_data_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        windows_of(series(), **changes)


def test_window_views_share_memory() -> None:
    values = torch.arange(20.0).view(10, 2)
    view = Windows(values, 3, np.arange(8))._view
    assert view.shape == (8, 3, 2)
    assert view.untyped_storage().data_ptr() == values.untyped_storage().data_ptr()
    assert view[2].tolist() == values[2:5].tolist()


def test_scoring_restores_the_mode_and_needs_no_gradient() -> None:
    model = nn.Linear(2, 1)
    model.train()
    out = in_batches(model, model, torch.randn(7, 2), 3)
    assert out.shape == (7, 1)
    assert not out.requires_grad
    assert model.training


@pytest.mark.parametrize("name", DEEP)
def test_the_same_seed_gives_the_same_scores_and_another_seed_others(name: str) -> None:
    train, test = series(), series(117)
    scores = [make(name, **DEEP[name], seed=seed, device="cpu").fit(train).score(test) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()


@pytest.mark.parametrize("name", DEEP)
def test_resume_gives_what_an_uninterrupted_training_gives(name: str, tmp_path: Path) -> None:
    train, test = series(), series(117)
    whole = make(name, **DEEP[name], device="cpu").fit(train)

    def stop_at(number: int) -> Callable[[Epoch], None]:
        def progress(epoch: Epoch) -> None:
            if epoch.number == number:
                raise KeyboardInterrupt

        return progress

    path = tmp_path / "state" / "checkpoint"
    with pytest.raises(KeyboardInterrupt):
        make(name, **DEEP[name], device="cpu").fit(train, progress=stop_at(2), checkpoint=path)
    numbers: list[int] = []
    resumed = make(name, **DEEP[name], device="cpu").fit(
        train, progress=lambda epoch: numbers.append(epoch.number), checkpoint=path
    )
    assert numbers == [3, 4]
    assert [epoch.loss for epoch in resumed.history_] == [epoch.loss for epoch in whole.history_]
    assert [epoch.kept for epoch in resumed.history_] == [epoch.kept for epoch in whole.history_]
    np.testing.assert_array_equal(resumed.score(test), whole.score(test))
    # Finished: a further call only reads the file.
    again = make(name, **DEEP[name], device="cpu").fit(train, checkpoint=path)
    np.testing.assert_array_equal(again.score(test), whole.score(test))


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    make("usad", **DEEP["usad"], device="cpu").fit(series(), checkpoint=path)
    with pytest.raises(ValueError, match="other settings or data"):
        make("usad", **DEEP["usad"], seed=1, device="cpu").fit(series(), checkpoint=path)
    with pytest.raises(ValueError, match="other settings or data"):
        make("usad", **DEEP["usad"], device="cpu").fit(series() + np.arange(203)[:, None], checkpoint=path)


@pytest.mark.parametrize("name", ["lstm", "transformer", "anomaly_transformer"])
def test_the_test_set_chooses_only_when_asked_by_name(name: str) -> None:
    train, test = series(), series(117) + 1
    with pytest.raises(ValueError, match="only with select_on_test=True"):
        make(name, **DEEP[name]).fit(train, test=test)
    with pytest.raises(ValueError, match="needs fit"):
        make(name, **DEEP[name], select_on_test=True).fit(train)
    detector = make(name, **DEEP[name], select_on_test=True, device="cpu").fit(train, test=test)
    if name != "anomaly_transformer":
        # The validation value is the test error of the weights of that epoch; the kept one is the smallest.
        best = min(epoch.validation[0] for epoch in detector.history_)
        assert np.mean(detector.score(test[:110])) == pytest.approx(best, rel=1e-5)


def test_the_original_variant_of_anomaly_transformer_trains_on_every_step() -> None:
    detector = make("anomaly_transformer", **{**DEEP["anomaly_transformer"], "epochs": None}, variant="original")
    recipe = detector.plan(series())
    assert (recipe.settings.epochs, recipe.settings.patience, recipe.reshuffle) == (3, 3, True)
    # 194 windows at stride 1, less a tenth held out and those that overlap it.
    assert len(recipe.windows) == 194 - 19 - 9
    with pytest.raises(ValueError, match="variant must be one of 'paper', 'original'"):
        make("anomaly_transformer", variant="other")


def test_the_original_variant_of_dcdetector() -> None:
    detector = make("dcdetector", window=12, patch_sizes=(2, 3), variant="original")
    recipe = detector.plan(series())
    assert (recipe.settings.batch_size, recipe.settings.epochs, recipe.reshuffle) == (256, 3, True)
    assert len(recipe.windows) == 192


# ---- as the authors' program does it ----


def test_the_legacy_order_is_that_of_the_legacy_generator() -> None:
    seen: list[Tensor] = []
    run(toy(seen=seen, epochs=2, order="legacy"))
    expected = np.arange(10)
    np.random.RandomState(42).shuffle(expected)
    assert torch.cat(seen[:3]).tolist() == torch.cat(seen[3:]).tolist() == expected.tolist()
    assert visiting_order(10, 42).tolist() != expected.tolist()


def published_transformer(features: int, settings: TransformerSettings) -> nn.Module:
    """The authors' network in torch's own modules, made in the order in which theirs are."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(settings.width, settings.heads, batch_first=True)
            self.first = nn.Conv1d(settings.width, settings.hidden, 1)
            self.second = nn.Conv1d(settings.hidden, settings.width, 1)
            self.norms = nn.ModuleList(nn.LayerNorm(settings.width) for _ in range(2))

        def forward(self, tokens: Tensor) -> Tensor:
            tokens = self.norms[0](tokens + self.attention(tokens, tokens, tokens)[0])
            inner = nn.functional.gelu(self.first(tokens.transpose(1, 2)))
            return self.norms[1](tokens + self.second(inner).transpose(1, 2))

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Conv1d(features, settings.width, 3, padding=1, padding_mode="circular", bias=False)
            nn.init.kaiming_normal_(self.embedding.weight, mode="fan_in", nonlinearity="leaky_relu")
            self.blocks = nn.Sequential(*(Block() for _ in range(settings.blocks)))
            self.norm = nn.LayerNorm(settings.width)
            self.output = nn.Linear(settings.width, features)

        def forward(self, windows: Tensor) -> Tensor:
            from pateval.detectors.layers import sinusoids

            tokens = self.embedding(windows.transpose(1, 2)).transpose(1, 2)
            return self.output(self.norm(self.blocks(tokens + sinusoids(settings.window, settings.width))))

    return Network()


def test_the_transformer_starts_from_the_weights_of_the_published_modules() -> None:
    settings = TransformerSettings(**{**DEEP["transformer"], "first_weights": "multihead", "device": "cpu"})
    with seeded(0, torch.device("cpu")):
        expected = published_transformer(3, settings)
    with seeded(0, torch.device("cpu")):
        found = Transformer(settings).network(3)
    batch = torch.randn(4, 10, 3)
    torch.testing.assert_close(found(batch), expected(batch), rtol=1e-5, atol=1e-6)
    # By default the layers are drawn one by one, and the network is another.
    with seeded(0, torch.device("cpu")):
        other = Transformer(TransformerSettings(**DEEP["transformer"])).network(3)
    assert not torch.allclose(other(batch), expected(batch), atol=1e-3)
    draw_as_published(other, settings)
    assert not other.blocks[0].query.bias.any()


def test_a_validation_loss_may_be_the_mean_of_its_batches() -> None:
    values = torch.arange(10.0)[:, None].expand(10, 3)
    by_windows = make("lstm", batch_size=4)
    by_batches = make("lstm", batch_size=4, validation_mean="batches")
    assert by_windows.mean_loss(values) == pytest.approx(4.5)
    assert by_batches.mean_loss(values) == pytest.approx((1.5 + 5.5 + 8.5) / 3)


def test_float32_input_is_rounded_before_and_after_scaling() -> None:
    train = 1e4 + series(200)
    rounded = train.astype(np.float32)
    expected = rounded.copy()
    expected -= rounded.mean(axis=0, dtype=np.float64)
    expected /= rounded.astype(np.float64).std(axis=0)
    single = make("usad", **DEEP["usad"], float32_input=True, device="cpu").plan(train)
    np.testing.assert_allclose(single.windows[:].numpy().reshape(-1, 3), expected, rtol=1e-6, atol=1e-7)
    double = make("usad", **DEEP["usad"], device="cpu").plan(train)
    assert not np.allclose(double.windows[:].numpy().reshape(-1, 3), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["lstm", "transformer", "usad", "anomaly_transformer", "dcdetector"])
def test_the_preset_of_the_authors_trains_another_network(name: str) -> None:
    train, test = series(), series(117)
    preset = preset_settings("authors", name)
    assert preset["seed"] == (42 if name == "usad" else 0)
    usual = make(name, **DEEP[name], device="cpu").fit(train).score(test)
    theirs = make(name, **DEEP[name], **preset, device="cpu").fit(train).score(test)
    assert (usual != theirs).any()
    np.testing.assert_array_equal(make(name, **DEEP[name], **preset, device="cpu").fit(train).score(test), theirs)


def test_presets_are_named() -> None:
    assert preset_settings("authors", "pca") == {}
    with pytest.raises(ValueError, match="preset must be one of 'authors'; got 'mine'"):
        preset_settings("mine", "usad")
