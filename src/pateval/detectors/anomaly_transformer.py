"""AnomalyTransformer: attention against a Gaussian prior of neighbourhood, trained by a minimax rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from pateval.detectors.base import SelectingSettings
from pateval.detectors.deep import DeepDetector, Windows, in_batches
from pateval.detectors.devices import descend, make_optimizer, set_learning_rate
from pateval.detectors.layers import Encoder, association_discrepancy, association_losses, check_heads
from pateval.detectors.training import Recipe


@dataclass(frozen=True, kw_only=True)
class AnomalyTransformerSettings(SelectingSettings):
    """Settings of :class:`AnomalyTransformer` beside :class:`SelectingSettings`. A value of None is the variant's.

    ==================== ==================== ================================
    what                 ``"paper"``          ``"original"``
    ==================== ==================== ================================
    stride of training   100 (end to end)     1 (SMD: 100)
    order of windows     drawn once           drawn for each epoch
    batch                32                   256
    epochs               10                   3 (SMD: 10)
    patience             7                    3
    ==================== ==================== ================================

    Network, losses, learning rates and score are the same.

    Attributes
    ----------
    variant : {"paper", "original"}
        As the PATE paper's table was made, or as the detector was published.
    window : int
        Steps of a window; scores are always laid end to end.
    stride, batch_size, epochs, patience : int, optional
        See the table.
    reshuffle : bool, optional
        Draw a new order of the windows for each epoch.
    width, heads, hidden, blocks : int
        Size of the encoder: token width, attention heads, hidden width of the pointwise network, blocks.
    learning_rate : float
        Of Adam in the first two epochs; halved for each later one.
    weight : float
        k, of the association losses against the reconstruction.
    temperature : float
        Of the softmax over the steps of a window in the score.
    score_batch : int
        Windows scored at a time.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"batch_size": 32, "epochs": 10, "patience": 7, "reshuffle": False},
        "original": {"stride": 1, "batch_size": 256, "epochs": 3, "patience": 3, "reshuffle": True},
    }

    variant: Literal["paper", "original"] = "paper"
    window: int = 100
    stride: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    patience: int | None = None
    reshuffle: bool | None = None
    width: int = 512
    heads: int = 8
    hidden: int = 512
    blocks: int = 3
    learning_rate: float = 1e-4
    weight: float = 3.0
    temperature: float = 50.0
    score_batch: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        check_heads(self.width, self.heads)


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

    The score of a step is its squared error times a softmax, over the steps of its window, of minus the association
    discrepancy.

    Warnings
    --------
    The softmax sums to one in every window, normal or not, so that scores are peaky inside each window and can hardly
    be compared between windows: without point adjustment the detector ranks steps about as well as chance.

    Parameters
    ----------
    settings : AnomalyTransformerSettings, optional
        The paper's by default, except that a held-out end of the training series chooses the weights.
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
            end=lambda number, _: set_learning_rate(optimizer, chosen.learning_rate * 0.5 ** (number - 1)),
            reshuffle=chosen.reshuffle,
            reconstruct=lambda part: (part, model(part)[0]),
        )

    def window_scores(self, model: AnomalyTransformerNetwork, windows: Tensor) -> Tensor:
        """Return the squared error of each step times the softmax of its association discrepancy."""
        reconstruction, associations = model(windows)
        error = torch.square(reconstruction - windows).mean(dim=-1)
        discrepancy = torch.stack([association_discrepancy(*pair).mean(dim=1) for pair in associations]).sum(dim=0)
        return error * torch.softmax(-self.chosen.temperature * discrepancy, dim=-1)
