"""The parts of the deep detectors that have a closed check, and their sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from pateval.detectors.associations import (
    AnomalyTransformer,
    AnomalyTransformerNetwork,
    AnomalyTransformerSettings,
    DCdetector,
    DCdetectorNetwork,
    DCdetectorSettings,
    association_discrepancy,
    association_losses,
    minimax_loss,
    normalise_windows,
    prior_association,
    prior_scale,
    upsample_between,
    upsample_inside,
)
from pateval.detectors.autoencoders import (
    USAD,
    AutoencoderNetwork,
    USADNetwork,
    USADSettings,
    first_loss,
    scale_windows,
    second_loss,
)
from pateval.detectors.layers import Embedding, EncoderBlock, sinusoids
from pateval.detectors.presets import dataset_settings, threshold_ratio
from pateval.detectors.reconstruction import LSTMNetwork, TransformerNetwork, TransformerSettings

torch.set_num_threads(1)

FEATURES = {"SMD": 38, "MSL": 55, "SWaT": 51, "PSM": 25}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def size(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


# ---- sizes: DETECTORS.md section 6 ----


@pytest.mark.parametrize(("dataset", "expected"), [("SMD", 93318), ("MSL", 100135), ("SWaT", 98531), ("PSM", 88105)])
def test_lstm_size(dataset: str, expected: int) -> None:
    assert size(LSTMNetwork(FEATURES[dataset], 80)) == expected


@pytest.mark.parametrize(("dataset", "expected"), [("SMD", 43078), ("MSL", 45271), ("SWaT", 44755), ("PSM", 41401)])
def test_transformer_size(dataset: str, expected: int) -> None:
    assert size(TransformerNetwork(FEATURES[dataset], TransformerSettings())) == expected


@pytest.mark.parametrize(("dataset", "expected"), [("SMD", 95331), ("MSL", 175963), ("SWaT", 925671), ("PSM", 45055)])
def test_usad_size(dataset: str, expected: int) -> None:
    chosen = dataset_settings("usad", dataset)
    window = chosen["window"]
    assert size(USADNetwork(window * FEATURES[dataset], window * chosen["latent_per_step"])) == expected


@pytest.mark.parametrize(
    ("dataset", "expected"), [("SMD", 4828222), ("MSL", 4863055), ("SWaT", 4854859), ("PSM", 4801585)]
)
def test_anomaly_transformer_size(dataset: str, expected: int) -> None:
    # The published attention modules own a LayerNorm that nothing uses: 3 blocks x 2 x 512 numbers, left out here.
    unused = 3 * 2 * 512
    assert size(AnomalyTransformerNetwork(FEATURES[dataset], AnomalyTransformerSettings())) == expected - unused


@pytest.mark.parametrize(
    ("dataset", "expected", "acting"),
    [("SMD", 867366, 431616), ("MSL", 897079, 443904), ("SWaT", 909875, 460800), ("PSM", 947737, 525312)],
)
def test_dcdetector_size(dataset: str, expected: int, acting: int) -> None:
    features = FEATURES[dataset]
    model = DCdetectorNetwork(DCdetectorSettings(**dataset_settings("dcdetector", dataset)))
    # Only what influences the output is built. The published rest: value and output maps of three layers, the
    # embedding of the whole window, the final linear layer, one norm per layer and one at the end.
    unused = 3 * 2 * (256 * 256 + 256) + features * 256 * 3 + (256 * features + features) + 4 * 2 * 256
    assert size(model) == acting == expected - unused


# ---- layers ----


@pytest.mark.parametrize("length", [1, 2, 7])
def test_embedding_is_a_circular_convolution_plus_sinusoids(length: int) -> None:
    embedding = Embedding(5, 8, length)
    convolution = nn.Conv1d(5, 8, kernel_size=3, padding=1, padding_mode="circular", bias=False)
    with torch.no_grad():
        convolution.weight.copy_(embedding.weight)
    values = torch.randn(4, length, 5)
    expected = convolution(values.transpose(1, 2)).transpose(1, 2) + sinusoids(length, 8)
    torch.testing.assert_close(embedding(values), expected)


def test_embedding_starts_kaiming_normal() -> None:
    weight = Embedding(50, 400, 3).weight
    assert float(weight.detach().std()) == pytest.approx(math.sqrt(2 / (50 * 3)), rel=0.02)


def test_sinusoids() -> None:
    code = sinusoids(12, 6)
    for position in range(12):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert float(code[position, 2 * pair]) == pytest.approx(math.sin(angle), abs=1e-5)
            assert float(code[position, 2 * pair + 1]) == pytest.approx(math.cos(angle), abs=1e-5)


def test_association_discrepancy_against_the_loop() -> None:
    first, second = (torch.softmax(torch.randn(2, 3, 6, 6, dtype=torch.float64), dim=-1) for _ in range(2))
    found = association_discrepancy(first, second)

    def divergence(p: torch.Tensor, q: torch.Tensor) -> float:
        return sum(
            float(a) * (math.log(float(a) + 1e-4) - math.log(float(b) + 1e-4)) for a, b in zip(p, q, strict=True)
        )

    for batch in range(2):
        for head in range(3):
            for row in range(6):
                p, q = first[batch, head, row], second[batch, head, row]
                assert float(found[batch, head, row]) == pytest.approx(divergence(p, q) + divergence(q, p), abs=1e-12)


def test_lstm_is_two_layers_in_a_row() -> None:
    model = LSTMNetwork(3, 8)
    first, second = nn.LSTM(3, 8, batch_first=True), nn.LSTM(8, 8, batch_first=True)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(first, f"{name}_l0").copy_(getattr(model.recurrent, f"{name}_l0"))
            getattr(second, f"{name}_l0").copy_(getattr(model.recurrent, f"{name}_l1"))
    windows = torch.randn(2, 10, 3)
    torch.testing.assert_close(model(windows), model.output(second(first(windows)[0])[0]))


def test_transformer_block_is_the_standard_post_norm_block() -> None:
    block = EncoderBlock(32, 8, 128)
    standard = nn.TransformerEncoderLayer(32, 8, 128, dropout=0.0, activation="gelu", batch_first=True)
    with torch.no_grad():
        standard.self_attn.in_proj_weight.copy_(torch.cat([block.query.weight, block.key.weight, block.value.weight]))
        standard.self_attn.in_proj_bias.copy_(torch.cat([block.query.bias, block.key.bias, block.value.bias]))
        pairs = [
            (standard.self_attn.out_proj, block.output),
            (standard.linear1, block.feed_forward[0]),
            (standard.linear2, block.feed_forward[2]),
        ]
        for theirs, ours in pairs:
            theirs.weight.copy_(ours.weight)
            theirs.bias.copy_(ours.bias)
    tokens = torch.randn(3, 20, 32)
    torch.testing.assert_close(block(tokens)[0], standard(tokens), atol=1e-5, rtol=1e-5)


# ---- AnomalyTransformer ----


def test_prior_is_the_row_normalised_gaussian() -> None:
    raw = torch.randn(2, 3, 7, dtype=torch.float64)
    scale = prior_scale(raw)
    assert float(prior_scale(torch.tensor(100.0))) == pytest.approx(2, abs=1e-4)
    assert 0 < float(prior_scale(torch.tensor(-100.0, dtype=torch.float64))) < 2e-5
    position = torch.arange(7, dtype=torch.float64)
    distance = torch.square(position[:, None] - position)
    prior = prior_association(scale, distance)
    torch.testing.assert_close(prior.sum(dim=-1), torch.ones(2, 3, 7, dtype=torch.float64))
    for row in range(7):
        sigma = float(scale[1, 2, row])
        density = [math.exp(-((row - j) ** 2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma) for j in range(7)]
        expected = torch.tensor(density, dtype=torch.float64) / sum(density)
        torch.testing.assert_close(prior[1, 2, row], expected)
    # So narrow that the density is zero beside the diagonal: still a distribution.
    torch.testing.assert_close(prior_association(torch.full((7,), 1e-5), distance.float()), torch.eye(7))


def small_anomaly_transformer() -> AnomalyTransformerNetwork:
    return AnomalyTransformerNetwork(3, AnomalyTransformerSettings(window=12, width=16, heads=4, hidden=16, blocks=2))


def test_one_backward_pass_is_the_sum_of_the_two_published_ones() -> None:
    model = small_anomaly_transformer()
    windows = torch.randn(5, 12, 3)
    torch.autograd.backward(minimax_loss(windows, model(windows), 3.0))
    once = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    reconstruction, associations = model(windows)
    error = functional.mse_loss(reconstruction, windows)
    series_loss, prior_loss = association_losses(associations)
    torch.autograd.backward(error - 3.0 * series_loss, retain_graph=True)
    torch.autograd.backward(error + 3.0 * prior_loss)
    twice = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert len(once) == len(twice) == len(list(model.parameters()))
    for ours, theirs in zip(once, twice, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-4)


def test_the_two_association_losses_have_one_value_and_different_gradients() -> None:
    model = small_anomaly_transformer()
    _, associations = model(torch.randn(5, 12, 3))
    series_loss, prior_loss = association_losses(associations)
    assert float(series_loss.detach()) == float(prior_loss.detach())
    torch.autograd.backward(prior_loss, retain_graph=True)
    # The last block's query acts on the series alone, its scale on the prior alone.
    assert model.blocks[-1].query.weight.grad is None
    assert float(model.blocks[-1].scale.weight.grad.norm()) > 0
    model.zero_grad()
    torch.autograd.backward(series_loss)
    assert model.blocks[-1].scale.weight.grad is None
    assert float(model.blocks[-1].query.weight.grad.norm()) > 0


def test_anomaly_transformer_halves_its_learning_rate_from_the_third_epoch() -> None:
    settings = AnomalyTransformerSettings(window=10, width=8, heads=2, hidden=8, blocks=1, epochs=5, device="cpu")
    detector = AnomalyTransformer(settings).fit(np.random.default_rng(0).normal(size=(200, 2)))
    assert [epoch.learning_rate for epoch in detector.history_] == [1e-4, 1e-4, 5e-5, 2.5e-5, 1.25e-5]


def test_anomaly_transformer_score_is_error_times_a_softmax_over_the_window() -> None:
    settings = AnomalyTransformerSettings(
        window=10, width=8, heads=2, hidden=8, blocks=2, epochs=1, temperature=2.0, device="cpu"
    )
    train = np.random.default_rng(0).normal(size=(100, 2))
    detector = AnomalyTransformer(settings).fit(train)
    assert detector._scaling is not None
    windows = torch.from_numpy(detector._scaling(train).astype(np.float32)).view(10, 10, 2)
    with torch.no_grad():
        reconstruction, associations = detector._model(windows)
    expected = []
    for index in range(10):
        discrepancy = sum(association_discrepancy(s[index], p[index]).mean(dim=0) for s, p in associations)
        error = torch.square(windows[index] - reconstruction[index]).mean(dim=-1)
        weights = torch.exp(-2 * discrepancy) / torch.exp(-2 * discrepancy).sum()
        expected.append(error * weights)
    np.testing.assert_allclose(detector.score(train), torch.cat(expected).numpy(), rtol=1e-4)


# ---- DCdetector ----


def test_upsampling_follows_its_definition() -> None:
    outer, inner = torch.randn(2, 5, 5), torch.randn(2, 3, 3)
    between, inside = upsample_between(outer, 3), upsample_inside(inner, 5)
    for i in range(15):
        for j in range(15):
            assert between[1, i, j] == outer[1, i // 3, j // 3]
            assert inside[1, i, j] == inner[1, i % 3, j % 3]


def small_dcdetector(window: int = 12, patch_sizes: tuple[int, ...] = (2, 3)) -> DCdetectorNetwork:
    return DCdetectorNetwork(DCdetectorSettings(window=window, patch_sizes=patch_sizes, width=16, layers=2))


def test_averaging_channels_first_equals_upsampling_first() -> None:
    model = small_dcdetector()
    windows = torch.randn(3, 12, 4)
    for size_, (outer, inner), (series, prior) in zip(
        model.patch_sizes, model.channel_maps(windows), model(windows), strict=True
    ):
        count = 12 // size_
        torch.testing.assert_close(upsample_between(outer, size_).mean(dim=1), series)
        late = upsample_inside(inner, count).mean(dim=1)
        torch.testing.assert_close(late / late.sum(dim=-1, keepdim=True), prior)
        # Rows of the series sum to the patch size: published so, and kept.
        torch.testing.assert_close(series.sum(dim=-1), torch.full(series.shape[:-1], float(size_)))
        torch.testing.assert_close(prior.sum(dim=-1), torch.ones(prior.shape[:-1]))


def test_patch_layouts() -> None:
    """The patch-wise tokens are consecutive patches; the in-patch ones consecutive chunks, not a transpose."""
    model = small_dcdetector(patch_sizes=(3,))
    windows = torch.randn(1, 12, 1)
    row = normalise_windows(windows)[0, :, 0]
    ((outer, inner),) = model.channel_maps(windows)
    outer_tokens = model.between[0](torch.stack([row[3 * k : 3 * k + 3] for k in range(4)])[None])
    inner_tokens = model.inside[0](torch.stack([row[4 * k : 4 * k + 4] for k in range(3)])[None])
    torch.testing.assert_close(outer[0], model.attention(outer_tokens))
    torch.testing.assert_close(inner[0], model.attention(inner_tokens))


def test_layers_are_parallel_and_scaled_by_the_width() -> None:
    model = small_dcdetector()
    tokens = torch.randn(2, 5, 16)
    weight, bias = model.project.weight.view(2, 2, 16, 16), model.project.bias.view(2, 2, 16)
    for layer in range(2):
        query = tokens @ weight[0, layer].T + bias[0, layer]
        key = tokens @ weight[1, layer].T + bias[1, layer]
        expected = torch.softmax(query @ key.transpose(1, 2) / 4, dim=-1)
        torch.testing.assert_close(model.attention(tokens)[:, layer], expected)


def test_windows_are_normalised_by_population_variance() -> None:
    windows = torch.randn(2, 12, 3) * 5 + 1
    expected = (windows - windows.mean(dim=1, keepdim=True)) / torch.sqrt(
        windows.var(dim=1, unbiased=False, keepdim=True) + 1e-5
    )
    torch.testing.assert_close(normalise_windows(windows), expected)
    assert (normalise_windows(torch.ones(1, 12, 1)) == 0).all()


def test_dcdetector_loss_is_zero_but_its_gradient_is_not() -> None:
    model = small_dcdetector()
    series_loss, prior_loss = association_losses(model(torch.randn(6, 12, 4)))
    loss = prior_loss - series_loss
    assert float(loss.detach()) == 0.0
    assert float(series_loss.detach()) > 0
    torch.autograd.backward(loss)
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert float(parameter.grad.norm()) > 0


def test_dcdetector_scores_sum_to_one_in_every_window() -> None:
    values = np.random.default_rng(0).normal(size=(120, 3))
    settings = DCdetectorSettings(window=12, patch_sizes=(2, 3), width=16, epochs=1, device="cpu")
    scores = DCdetector(settings).fit(values).score(values)
    np.testing.assert_allclose(scores.reshape(-1, 12).sum(axis=1), 1, rtol=1e-5)


def test_patch_sizes_must_divide_the_window() -> None:
    with pytest.raises(ValueError, match="patch_sizes must be divisors of the window 12"):
        DCdetectorSettings(window=12, patch_sizes=(5,))


# ---- USAD ----


def test_usad_losses() -> None:
    model = USADNetwork(12, 8)
    rows = torch.rand(6, 12)
    for epoch in (1, 4):
        a = model.first(model.encoder(rows))
        b = model.second(model.encoder(rows))
        c = model.second(model.encoder(a))
        error = {name: float(torch.square(rows - out).mean().detach()) for name, out in (("a", a), ("b", b), ("c", c))}
        share = 1 / epoch
        assert float(first_loss(model, rows, share).detach()) == pytest.approx(
            share * error["a"] + (1 - share) * error["c"]
        )
        assert float(second_loss(model, rows, share).detach()) == pytest.approx(
            share * error["b"] - (1 - share) * error["c"], abs=1e-7
        )


@pytest.mark.parametrize("carry", [True, False])
def test_usad_gradient_carry_over(carry: bool) -> None:
    """Two steps of the detector against the published order of operations, written out by hand."""
    train = np.random.default_rng(0).normal(size=(40, 3))
    settings = USADSettings(window=5, latent_per_step=2, batch_size=4, epochs=1, carry_gradients=carry, device="cpu")
    recipe = USAD(settings).plan(train)
    model = recipe.model
    twin = USADNetwork(15, 10)
    twin.load_state_dict(model.state_dict())
    first = torch.optim.Adam([*twin.encoder.parameters(), *twin.first.parameters()])
    second = torch.optim.Adam([*twin.encoder.parameters(), *twin.second.parameters()])
    recipe.begin(3)
    for batch in (recipe.windows[:4], recipe.windows[4:]):
        recipe.step(batch)
        rows = batch.reshape(len(batch), -1)
        for loss, optimizer in ((first_loss, first), (second_loss, second)):
            if not carry:
                first.zero_grad()
                second.zero_grad()
            torch.autograd.backward(loss(twin, rows, 1 / 3))
            optimizer.step()
            optimizer.zero_grad()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_usad_second_decoder_gets_both_gradients() -> None:
    """The quirk in numbers: what reaches the second decoder is the sum, in which the adversarial terms cancel."""
    model = USADNetwork(15, 10)
    rows = torch.rand(8, 15)
    share = 1 / 10
    separate = []
    for loss in (first_loss, second_loss):
        model.zero_grad()
        torch.autograd.backward(loss(model, rows, share))
        separate.append(model.second[4].weight.grad.clone())
    model.zero_grad()
    torch.autograd.backward(first_loss(model, rows, share))
    torch.autograd.backward(second_loss(model, rows, share))
    carried = model.second[4].weight.grad
    torch.testing.assert_close(carried, separate[0] + separate[1])
    assert float(carried.norm()) < float(separate[1].norm())


def test_usad_score_is_half_of_each_error_per_step() -> None:
    train = np.random.default_rng(0).normal(size=(40, 3))
    detector = USAD(USADSettings(epochs=1, device="cpu")).fit(train)
    assert detector._scaling is not None
    x = torch.from_numpy(detector._scaling(train).astype(np.float32))
    rows = x.view(8, 15)
    with torch.no_grad():
        a, c = detector._model(rows)
    expected = (0.5 * (rows - a) ** 2 + 0.5 * (rows - c) ** 2).view(40, 3).mean(dim=1)
    np.testing.assert_allclose(detector.score(train), expected.numpy(), rtol=1e-5)


def test_usad_original_scores_windows_at_their_last_step() -> None:
    train = np.random.default_rng(0).normal(size=(60, 2))
    settings = USADSettings(variant="original", window=4, latent_per_step=2, epochs=1, device="cpu")
    detector = USAD(settings).fit(train)
    recipe = detector.plan(train)
    windows = recipe.windows[:]
    assert windows.shape == (57, 4, 2)
    assert recipe.settings.batch_size == 7919
    assert float(windows.min()) == 0
    assert float(windows.max()) == pytest.approx(1)
    scores = detector.score(train)
    assert (scores[:4] == scores[0]).all()
    assert len(set(scores[3:])) > 50


# ---- autoencoder, presets ----


def test_autoencoder_scales_each_window_by_itself() -> None:
    windows = torch.tensor([[[1.0], [3.0], [2.0]], [[5.0], [5.0], [5.0]]])
    assert scale_windows(windows).tolist() == [[0, 1, 0.5], [0, 0, 0]]


def test_autoencoder_layers() -> None:
    model = AutoencoderNetwork(100, 32, 16)
    kinds = [type(layer).__name__ for layer in model]
    assert kinds == ["Linear", "ReLU", "BatchNorm1d"] * 2 + ["Linear", "ReLU"] * 2
    assert all((layer.bias == 0).all() for layer in model if isinstance(layer, nn.Linear))
    limit = math.sqrt(6 / 132)
    assert float(model[0].weight.detach().abs().max()) == pytest.approx(limit, rel=0.01)


def test_presets() -> None:
    assert dataset_settings("usad", "SWaT") == {"window": 12, "latent_per_step": 40, "epochs": 70}
    assert dataset_settings("dcdetector", "PSM", variant="original") == {"patch_sizes": (1, 3, 5), "window": 60}
    assert dataset_settings("lstm", "anything") == {}
    assert threshold_ratio("anomaly_transformer", "SMD") == 0.5
    with pytest.raises(ValueError, match="variant must be"):
        dataset_settings("usad", "SMD", variant="other")
    with pytest.raises(ValueError, match="no threshold"):
        threshold_ratio("pca", "SMD")
