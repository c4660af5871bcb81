"""AnomalyTransformer: attention against a Gaussian prior of neighbourhood, trained by a minimax rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.deep import DeepDetector
from pateval.detectors.layers import Embedding, FeedForward, association_discrepancy, join_heads, split_heads
from pateval.detectors.scoring import Fitted, in_batches, score_tiles, training_windows
from pateval.detectors.settings import check_heads, check_settings, with_given
from pateval.detectors.training import Recipe, choose_device, make_optimizer, seeded, set_learning_rate
from pateval.detectors.windows import FloatMatrix, standard_scaling
from pateval.validation.arrays import choice

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


class _TransformerSchedule(NamedTuple):
    stride: int
    batch_size: int
    epochs: int
    patience: int
    reshuffle: bool


_VARIANTS = {
    "paper": _TransformerSchedule(100, 32, 10, 7, False),
    "original": _TransformerSchedule(1, 256, 3, 3, True),
}


@dataclass(frozen=True, kw_only=True)
class AnomalyTransformerSettings:
    """Settings of :class:`AnomalyTransformer`. A value of None is the variant's.

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
    validation_share : float
        Share of the training windows, the last ones of each series, held out to choose the weights.
    select_on_test : bool
        Let the test series choose instead, as the authors did: the scores have then seen the test data.
    seed, order_seed : int
        Of the weights; of the order of the windows.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ...; a GPU if there is one by default.
    score_batch : int
        Windows scored at a time.
    cuda_graph : bool
        Replay the optimiser step as a CUDA graph; no effect on a CPU.
    """

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
    validation_share: float = 0.1
    select_on_test: bool = False
    seed: int = 0
    order_seed: int = 42
    device: str | None = None
    score_batch: int = 128
    cuda_graph: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        check_heads(self.width, self.heads)


def _schedule(settings: AnomalyTransformerSettings) -> _TransformerSchedule:
    default = _VARIANTS[choice(settings.variant, "variant", _VARIANTS)]
    if default.stride != 1:
        default = default._replace(stride=settings.window)
    return with_given(default, settings)


def prior_scale(raw: Tensor) -> Tensor:
    """Return the width of the Gaussian prior from the raw output of its linear layer: between about 0 and 2."""
    return torch.pow(3.0, torch.sigmoid(5.0 * raw) + 1e-5) - 1.0


def prior_association(scale: Tensor, squared_distance: Tensor) -> Tensor:
    """Return the row-normalised Gaussian prior P with P_ij ∝ exp(−|i − j|² / (2 σ_i²)).

    The factor 1/(√(2π) σ_i) is the same along a row and cancels, so that a row is a softmax.

    Parameters
    ----------
    scale : Tensor
        σ, shape (..., length).
    squared_distance : Tensor
        |i − j|², shape (length, length).

    Returns
    -------
    Tensor
        Shape (..., length, length); each row sums to 1.
    """
    return torch.softmax(-squared_distance / (2 * torch.square(scale)).unsqueeze(-1), dim=-1)


class AnomalyBlock(nn.Module):
    """Encoder block whose attention is returned beside the prior it is compared with."""

    squared_distance: Tensor

    def __init__(self, width: int, heads: int, hidden: int, window: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.scale = nn.Linear(width, heads)
        self.output = nn.Linear(width, width)
        self.feed_forward = FeedForward(width, hidden)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        position = torch.arange(window, dtype=torch.float32)
        self.register_buffer("squared_distance", torch.square(position[:, None] - position), persistent=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the tokens, the series association and the prior association, both (batch, heads, window, window)."""
        query, key, value = (split_heads(linear(tokens), self.heads) for linear in (self.query, self.key, self.value))
        series = torch.softmax(query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5, dim=-1)
        prior = prior_association(prior_scale(self.scale(tokens)).transpose(1, 2), self.squared_distance)
        tokens = self.norms[0](tokens + self.output(join_heads(series @ value)))
        return self.norms[1](tokens + self.feed_forward(tokens)), series, prior


class AnomalyTransformerNetwork(nn.Module):
    """Embedding, blocks, norm, linear. The published attention modules own a norm they never use; it is left out."""

    def __init__(self, features: int, settings: AnomalyTransformerSettings) -> None:
        super().__init__()
        self.embedding = Embedding(features, settings.width, settings.window)
        self.blocks = nn.ModuleList(
            AnomalyBlock(settings.width, settings.heads, settings.hidden, settings.window)
            for _ in range(settings.blocks)
        )
        self.norm = nn.LayerNorm(settings.width)
        self.output = nn.Linear(settings.width, features)

    def forward(self, windows: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return the reconstruction and, for each block, series and prior association."""
        tokens = self.embedding(windows)
        associations = []
        for block in self.blocks:
            tokens, series, prior = block(tokens)
            associations.append((series, prior))
        return self.output(self.norm(tokens)), associations


def association_losses(associations: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Return series loss (the prior held fixed) and prior loss (the series held fixed).

    Both have the same value, the association discrepancy averaged over blocks, heads and steps; only the gradients
    differ.
    """
    pairs = [
        (association_discrepancy(series, prior.detach()).mean(), association_discrepancy(series.detach(), prior).mean())
        for series, prior in associations
    ]
    series_losses, prior_losses = zip(*pairs, strict=True)
    return torch.stack(series_losses).mean(), torch.stack(prior_losses).mean()


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

    def __init__(self, settings: AnomalyTransformerSettings | None = None) -> None:
        super().__init__(settings if settings is not None else AnomalyTransformerSettings())
        self._schedule = _schedule(self.settings)
        self._fitted: Fitted[AnomalyTransformerNetwork] | None = None

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        settings, schedule = self.settings, self._schedule
        device = choose_device(settings.device)
        scaling, windows, held_out = training_windows(
            train,
            test,
            scale=standard_scaling,
            window=settings.window,
            stride=schedule.stride,
            device=device,
            select_on_test=settings.select_on_test,
            validation_share=settings.validation_share,
            boundaries=boundaries,
            test_boundaries=test_boundaries,
        )
        with seeded(settings.seed, device):
            model = AnomalyTransformerNetwork(scaling.features, settings).to(device)
        optimizer = make_optimizer("adam", model, settings.learning_rate, graph=settings.cuda_graph)

        def step(batch: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = minimax_loss(batch, model(batch), settings.weight)
            torch.autograd.backward(loss)
            optimizer.step()
            return loss.detach()

        def parts(batch: Tensor) -> Tensor:
            reconstruction, associations = model(batch)
            error = torch.square(reconstruction - batch).mean(dim=(1, 2))
            discrepancy = torch.stack([association_discrepancy(*pair).mean(dim=(1, 2)) for pair in associations])
            return torch.stack((error, discrepancy.mean(dim=0)), dim=1)

        def validate() -> tuple[float, ...]:
            error, discrepancy = in_batches(model, parts, held_out, settings.score_batch).double().mean(dim=0).tolist()
            return error - settings.weight * discrepancy, error + settings.weight * discrepancy

        self._fitted = Fitted(model, scaling, device)
        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            batch_size=schedule.batch_size,
            epochs=schedule.epochs,
            validate=validate,
            end=lambda number, _: set_learning_rate(optimizer, settings.learning_rate * 0.5 ** (number - 1)),
            patience=schedule.patience,
            order_seed=settings.order_seed,
            reshuffle=schedule.reshuffle,
            reconstruct=lambda part: (part, model(part)[0]),
        )

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        return score_tiles(
            self._fitted,
            self._window_scores,
            values,
            window=self.settings.window,
            rows=self.settings.score_batch,
            boundaries=boundaries,
        )

    def _window_scores(self, model: AnomalyTransformerNetwork, windows: Tensor) -> Tensor:
        reconstruction, associations = model(windows)
        error = torch.square(reconstruction - windows).mean(dim=-1)
        discrepancy = torch.stack([association_discrepancy(*pair).mean(dim=1) for pair in associations]).sum(dim=0)
        return error * torch.softmax(-self.settings.temperature * discrepancy, dim=-1)
