"""DCdetector: two attention views of the same window, between patches and inside them, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from pateval.detectors.base import NetworkSettings
from pateval.detectors.deep import DeepDetector, Windows
from pateval.detectors.devices import descend, make_optimizer, set_learning_rate
from pateval.detectors.layers import Embedding, association_discrepancy, association_losses
from pateval.detectors.training import Recipe


@dataclass(frozen=True, kw_only=True)
class DCdetectorSettings(NetworkSettings):
    """Settings of :class:`DCdetector` beside :class:`NetworkSettings`. A value of None is the variant's.

    ==================== ==================== =================================
    what                 ``"paper"``          ``"original"``
    ==================== ==================== =================================
    stride of training   the window           1
    order of windows     drawn once           drawn for each epoch
    window               105                  105 (MSL 90, PSM 60)
    batch                128                  256 (MSL 64, SWaT 128)
    epochs               3                    3 (SMD 2)
    ==================== ==================== =================================

    Patch sizes are the same: SMD 5, 7; MSL 3, 5; SWaT 3, 5, 7; PSM 1, 3, 5. The original also drops the last, shorter
    batch of the test series; here every step is scored.

    Attributes
    ----------
    variant : {"paper", "original"}
        As the PATE paper's table was made, or as the detector was published.
    window : int
        Steps of a window; scores are always laid end to end.
    patch_sizes : tuple of int
        Divisors of the window.
    stride, batch_size, epochs : int, optional
        See the table.
    width, layers : int
        Token width; number of attention layers, which all read the same embeddings.
    learning_rate : float
        Of Adam in the first two epochs; halved for each later one.
    temperature : float
        Of the softmax over the steps of a window in the score.
    score_values : int
        Values (windows x window x features) scored at a time: bounds the memory.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"batch_size": 128, "epochs": 3},
        "original": {"stride": 1, "batch_size": 256, "epochs": 3},
    }

    variant: Literal["paper", "original"] = "paper"
    window: int = 105
    patch_sizes: tuple[int, ...] = (3, 5)
    stride: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    width: int = 256
    layers: int = 3
    learning_rate: float = 1e-4
    temperature: float = 50.0
    score_values: int = 200_000

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

    Parameters
    ----------
    settings : DCdetectorSettings, optional
        The paper's by default.
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
            end=lambda number, _: set_learning_rate(optimizer, chosen.learning_rate * 0.5 ** (number - 1)),
            reshuffle=chosen.variant == "original",
        )

    def batch_rows(self, features: int) -> int:
        """Windows scored at a time: bounds the memory."""
        return max(1, self.chosen.score_values // (self.chosen.window * features))

    def window_scores(self, model: DCdetectorNetwork, windows: Tensor) -> Tensor:
        """Return the softmax, over the steps of each window, of minus the discrepancy of its maps."""
        discrepancy = sum(association_discrepancy(*pair).sum(dim=1) for pair in model(windows))
        return torch.softmax(-self.chosen.temperature * torch.as_tensor(discrepancy), dim=-1)
