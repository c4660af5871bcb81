"""AnomalyTransformer and DCdetector: two views of which steps of a window go with which, and how far they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.base import NetworkSettings
from pateval.detectors.deep import DeepDetector, Windows, in_batches
from pateval.detectors.devices import descend, halve_each_epoch, make_optimizer
from pateval.detectors.layers import Embedding, Encoder, EncoderSettings
from pateval.detectors.training import Recipe

# Keeps the logarithms of vanishing associations finite; part of the published definition.
EPSILON = 1e-4


def association_discrepancy(first: Tensor, second: Tensor) -> Tensor:
    r"""Return the symmetric divergence of two association maps, one value per query step.

    For rows p and q it is KL(p‖q) + KL(q‖p) with

    .. math:: \mathrm{KL}(p\|q) = \sum_j p_j [\ln(p_j + 10^{-4}) - \ln(q_j + 10^{-4})],

    so that the sum of both is :math:`\sum_j (p_j - q_j)[\ln(p_j + 10^{-4}) - \ln(q_j + 10^{-4})]`. The maps have the
    shape (..., length, length), rows over the last axis.
    """
    return ((first - second) * ((first + EPSILON).log() - (second + EPSILON).log())).sum(dim=-1)


def association_losses(associations: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return series loss (the prior held fixed) and prior loss (the series held fixed), averaged over all maps.

    Both have the same value, the mean association discrepancy of series and prior; only the gradients differ.
    """
    pairs = [
        (association_discrepancy(series, prior.detach()).mean(), association_discrepancy(series.detach(), prior).mean())
        for series, prior in associations
    ]
    series_losses, prior_losses = zip(*pairs, strict=True)
    return torch.stack(series_losses).mean(), torch.stack(prior_losses).mean()


@dataclass(frozen=True, kw_only=True)
class AnomalyTransformerSettings(EncoderSettings):
    """Settings of :class:`AnomalyTransformer` beside :class:`EncoderSettings`. A value of None is the variant's.

    Training windows lie end to end in the variant "paper". Network, losses, learning rates (halved after the second
    epoch and each later one) and score are the same in both.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"batch_size": 32, "epochs": 10, "patience": 7, "reshuffle": False},
        "original": {"stride": 1, "batch_size": 256, "epochs": 3, "patience": 3, "reshuffle": True},
    }

    variant: Literal["paper", "original"] = "paper"
    window: int = 100
    stride: int | None = None  # from one training window to the next; scores are always laid end to end
    reshuffle: bool | None = None  # draw a new order of the windows for each epoch
    width: int = 512
    hidden: int = 512
    weight: float = 3.0  # k, of the association losses against the reconstruction
    temperature: float = 50.0  # of the softmax over the steps of a window in the score
    score_batch: int = 128


def prior_scale(raw: Tensor) -> Tensor:
    """Return the width of the Gaussian prior from the raw output of its linear layer: between about 0 and 2."""
    return torch.pow(3.0, torch.sigmoid(5.0 * raw) + 1e-5) - 1.0


def prior_association(scale: Tensor, squared_distance: Tensor) -> Tensor:
    """Return the row-normalised Gaussian prior P with P_ij ∝ exp(−|i − j|² / (2 σ_i²)).

    The factor 1/(√(2π) σ_i) is the same along a row and cancels, so that a row is a softmax. ``scale`` is σ, of shape
    (..., length); ``squared_distance`` has the shape (length, length).
    """
    return torch.softmax(-squared_distance / (2 * torch.square(scale)).unsqueeze(-1), dim=-1)


class AnomalyTransformerNetwork(Encoder):
    """An encoder whose attention is returned beside the prior it is compared with.

    The published attention modules own a norm they never use; it is left out.
    """

    squared_distance: Tensor

    def __init__(self, features: int, settings: AnomalyTransformerSettings) -> None:
        super().__init__(features, settings, with_scale=True)
        position = torch.arange(settings.window, dtype=torch.float32)
        self.register_buffer("squared_distance", torch.square(position[:, None] - position), persistent=False)

    def forward(self, windows: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return the reconstruction and, for each block, series and prior association of each head."""
        tokens = self.embedding(windows)
        associations = []
        block: Any
        for block in self.blocks:
            # In this order: gradients are summed in that of the graph, on which the last digits of scores depend.
            after, series = block(tokens)
            prior = prior_association(prior_scale(block.scale(tokens)).transpose(1, 2), self.squared_distance)
            associations.append((series, prior))
            tokens = after
        return self.output(self.norm(tokens)), associations


def minimax_loss(windows: Tensor, outputs: tuple[Tensor, list[tuple[Tensor, Tensor]]], weight: float) -> Tensor:
    """Return 2·rec − k·series + k·prior.

    Its gradient is the sum of the gradients of the two published losses, rec − k·series and rec + k·prior, which are
    accumulated before one optimiser step: one backward pass instead of two.
    """
    reconstruction, associations = outputs
    series_loss, prior_loss = association_losses(associations)
    return 2 * functional.mse_loss(reconstruction, windows) - weight * series_loss + weight * prior_loss


class AnomalyTransformer(DeepDetector):
    """AnomalyTransformer (Xu et al., ICLR 2022), as in the PATE paper's table or as published.

    By default it is the paper's, except that a held-out end of the training series chooses the weights. The score of a
    step is its squared error times a softmax, over the steps of its window, of minus the association discrepancy.

    Warnings
    --------
    The softmax sums to one in every window, normal or not, so that scores are peaky inside each window and can hardly
    be compared between windows: without point adjustment the detector ranks steps about as well as chance.
    """

    Settings = AnomalyTransformerSettings

    def network(self, features: int) -> AnomalyTransformerNetwork:
        """Make the network, not trained yet, for a number of features."""
        return AnomalyTransformerNetwork(features, self.chosen)

    def recipe(self, model: AnomalyTransformerNetwork, windows: Windows, held_out: Any) -> Recipe:
        """Adam on the minimax loss; weights are kept where neither of the two published losses is worse."""
        chosen = self.chosen
        optimizer = make_optimizer("adam", model, chosen.learning_rate, graph=chosen.cuda_graph)

        def parts(batch: Tensor) -> Tensor:
            reconstruction, associations = model(batch)
            error = torch.square(reconstruction - batch).mean(dim=(1, 2))
            discrepancy = torch.stack([association_discrepancy(*pair).mean(dim=(1, 2)) for pair in associations])
            return torch.stack((error, discrepancy.mean(dim=0)), dim=1)

        def validate() -> tuple[float, ...]:
            values = in_batches(model, parts, held_out, chosen.score_batch)
            error, discrepancy = map(self.mean_loss, values.unbind(dim=1))
            return error - chosen.weight * discrepancy, error + chosen.weight * discrepancy

        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=lambda batch: descend(optimizer, minimax_loss(batch, model(batch), chosen.weight)),
            settings=chosen,
            validate=validate,
            end=halve_each_epoch(optimizer, chosen.learning_rate),
            reshuffle=chosen.reshuffle,
            reconstruct=lambda part: (part, model(part)[0]),
        )

    def window_scores(self, model: AnomalyTransformerNetwork, windows: Tensor) -> Tensor:
        """Return the squared error of each step times the softmax of its association discrepancy."""
        reconstruction, associations = model(windows)
        error = torch.square(reconstruction - windows).mean(dim=-1)
        discrepancy = torch.stack([association_discrepancy(*pair).mean(dim=1) for pair in associations]).sum(dim=0)
        return error * torch.softmax(-self.chosen.temperature * discrepancy, dim=-1)


@dataclass(frozen=True, kw_only=True)
class DCdetectorSettings(NetworkSettings):
    """Settings of :class:`DCdetector` beside :class:`NetworkSettings`. A value of None is the variant's.

    In the variant "paper" training windows lie end to end in an order drawn once; in the "original" a new one is drawn
    for each epoch, and the last, shorter batch of the test series is dropped: here every step is scored.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"batch_size": 128, "epochs": 3},
        "original": {"stride": 1, "batch_size": 256, "epochs": 3},
    }

    variant: Literal["paper", "original"] = "paper"
    window: int = 105
    patch_sizes: tuple[int, ...] = (3, 5)  # divisors of the window
    stride: int | None = None  # from one training window to the next; scores are always laid end to end
    width: int = 256  # of a token
    layers: int = 3  # of attention, which all read the same embeddings
    temperature: float = 50.0  # of the softmax over the steps of a window in the score
    score_values: int = 200_000  # windows x window x features scored at a time: bounds the memory

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = [size for size in self.patch_sizes if size < 1 or self.window % size]
        if wrong or not self.patch_sizes:
            raise ValueError(f"patch_sizes must be divisors of the window {self.window}; got {self.patch_sizes}")


def normalise_windows(windows: Tensor) -> Tensor:
    """Bring each channel of each window to zero mean and unit population variance (plus 1e-5)."""
    centred = windows - windows.mean(dim=1, keepdim=True)
    return centred / torch.sqrt(torch.square(centred).mean(dim=1, keepdim=True) + 1e-5)


def upsample_between(maps: Tensor, size: int) -> Tensor:
    """Patch-wise maps (..., n, n) to (..., n·size, n·size): entry (i, j) is A[i div size, j div size]."""
    count = maps.shape[-1]
    # Expanding sums the gradient in a fixed order; torch's own repetition adds it up atomically on a GPU.
    repeated = maps[..., :, None, :, None].expand(*maps.shape[:-1], size, count, size)
    return repeated.reshape(*maps.shape[:-2], count * size, count * size)


def upsample_inside(maps: Tensor, count: int) -> Tensor:
    """In-patch maps (..., p, p) to (..., p·count, p·count): entry (i, j) is B[i mod p, j mod p]."""
    size = maps.shape[-1]
    repeated = maps[..., None, :, None, :].expand(*maps.shape[:-2], count, size, count, size)
    return repeated.reshape(*maps.shape[:-2], count * size, count * size)


class DCdetectorNetwork(nn.Module):
    """The parts of DCdetector that act: two embeddings per patch size, and one query and key map per layer.

    Values, output projections, norms, an embedding of the whole window and a final linear layer exist in the published
    code, but neither reach its output nor receive a gradient; they are left out.
    """

    def __init__(self, settings: DCdetectorSettings) -> None:
        super().__init__()
        self.window, self.patch_sizes = settings.window, settings.patch_sizes
        self.layers, self.width = settings.layers, settings.width
        counts = [settings.window // size for size in settings.patch_sizes]
        pairs = list(zip(settings.patch_sizes, counts, strict=True))
        self.between = nn.ModuleList(Embedding(size, settings.width, count) for size, count in pairs)
        self.inside = nn.ModuleList(Embedding(count, settings.width, size) for size, count in pairs)
        # The queries and keys of all layers in one product: they read the same tokens.
        self.project = nn.Linear(settings.width, 2 * settings.layers * settings.width)

    def attention(self, tokens: Tensor) -> Tensor:
        """Return the attention maps of all layers, (rows, layers, length, length)."""
        rows, length, _ = tokens.shape
        both = self.project(tokens).view(rows, length, 2, self.layers, self.width).permute(2, 0, 3, 1, 4)
        return torch.softmax(both[0] @ both[1].transpose(-1, -2) / self.width**0.5, dim=-1)

    def channel_maps(self, windows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return, for each patch size, the maps between and inside patches, (batch, channels, layers, n, n) each."""
        batch, _, channels = windows.shape
        # Channels are independent: each becomes a univariate window of its own.
        rows = normalise_windows(windows).transpose(1, 2).reshape(batch * channels, self.window)
        result = []
        for size, between, inside in zip(self.patch_sizes, self.between, self.inside, strict=True):
            # Inside patches the published layout is consecutive chunks, not the transpose of the first layout.
            outer = self.attention(between(rows.view(-1, self.window // size, size)))
            inner = self.attention(inside(rows.view(-1, size, self.window // size)))
            result.append(
                (outer.view(batch, channels, *outer.shape[1:]), inner.view(batch, channels, *inner.shape[1:]))
            )
        return result

    def forward(self, windows: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return, for each patch size, series and prior association, (batch, layers, window, window) each.

        The channels are averaged before the maps are up-sampled, which is the same and spares a factor of the number of
        channels in memory. Rows of the series sum to the patch size, as published; rows of the prior sum to one.
        """
        result = []
        for size, (outer, inner) in zip(self.patch_sizes, self.channel_maps(windows), strict=True):
            count = self.window // size
            series = upsample_between(outer.mean(dim=1), size)
            # A row of the in-patch map sums to one, hence to count after up-sampling.
            prior = upsample_inside(inner.mean(dim=1) / count, count)
            result.append((series, prior))
        return result


class DCdetector(DeepDetector):
    """DCdetector (Yang et al., KDD 2023), as in the PATE paper's table or as published.

    The score of a step is a softmax, over the steps of its window, of minus the discrepancy between the patch-wise and
    the in-patch attention maps. There is no reconstruction.

    Warnings
    --------
    The loss, prior minus series, is zero whatever the weights: only its gradient is not. It can choose no checkpoint,
    so the last weights are kept (the published choice comes down to rounding noise). Scores sum to one in every window,
    normal or not, and their sign is disputed; without point adjustment the detector ranks steps about as chance does.
    """

    Settings = DCdetectorSettings

    def network(self, features: int) -> DCdetectorNetwork:  # noqa: ARG002 - channels are independent
        """Make the network, not trained yet; it is the same for any number of features."""
        return DCdetectorNetwork(self.chosen)

    def recipe(self, model: DCdetectorNetwork, windows: Windows, held_out: Windows | None) -> Recipe:  # noqa: ARG002 - none are
        """Adam on prior loss minus series loss; the last weights are kept."""
        chosen = self.chosen
        optimizer = make_optimizer("adam", model, chosen.learning_rate, graph=chosen.cuda_graph)

        def step(batch: Tensor) -> Tensor:
            series_loss, prior_loss = association_losses(model(batch))
            return descend(optimizer, prior_loss - series_loss)

        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            settings=chosen,
            end=halve_each_epoch(optimizer, chosen.learning_rate),
            reshuffle=chosen.variant == "original",
        )

    def batch_rows(self, features: int) -> int:
        """Windows scored at a time: bounds the memory."""
        return max(1, self.chosen.score_values // (self.chosen.window * features))

    def window_scores(self, model: DCdetectorNetwork, windows: Tensor) -> Tensor:
        """Return the softmax, over the steps of each window, of minus the discrepancy of its maps."""
        discrepancy = sum(association_discrepancy(*pair).sum(dim=1) for pair in model(windows))
        return torch.softmax(-self.chosen.temperature * torch.as_tensor(discrepancy), dim=-1)
