"""Dense autoencoders on flattened windows: one alone, the ECG example of the paper, and USAD's two."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.base import CheckedSettings, NetworkSettings
from pateval.detectors.deep import DeepDetector, Windows, in_batches
from pateval.detectors.devices import descend, make_optimizer
from pateval.detectors.training import Recipe
from pateval.detectors.windows import Boundaries, FloatMatrix, Scaling, minmax_scaling, standard_scaling, window_starts


@dataclass(frozen=True, kw_only=True)
class AutoencoderSettings(CheckedSettings):
    """Settings of :class:`Autoencoder`; the defaults are those of the paper's ECG example.

    Those that it shares with :class:`SelectingSettings` mean the same here.
    """

    window: int = 100
    hidden: int = 32  # width of the outer hidden layers
    code: int = 16  # width of the inner one
    batch_size: int = 128
    epochs: int = 100
    patience: int = 5
    validation_share: float = 0.15
    restore: bool = False  # bring the weights of the best validation error back at the end; the paper keeps the last
    rescale: bool = True  # bring the scores of one call to [0, 1], as in the paper; their order is the same
    seed: int = 20
    device: str | None = None
    score_batch: int = 8192


class AutoencoderNetwork(nn.Sequential):
    """Dense, ReLU, batch norm; dense, ReLU, batch norm; dense, ReLU; dense, ReLU."""

    def __init__(self, inputs: int, hidden: int, code: int) -> None:
        # The constants are Keras' defaults, with which the example was made.
        super().__init__(
            nn.Linear(inputs, hidden),
            nn.ReLU(),
            nn.BatchNorm1d(hidden, eps=1e-3, momentum=0.01),
            nn.Linear(hidden, code),
            nn.ReLU(),
            nn.BatchNorm1d(code, eps=1e-3, momentum=0.01),
            nn.Linear(code, hidden),
            nn.ReLU(),
            nn.Linear(hidden, inputs),
            nn.ReLU(),
        )
        for layer in self:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)


def scale_windows(windows: Tensor) -> Tensor:
    """Bring each feature of each window to [0, 1] by itself, and flatten: (batch, window * features)."""
    low, high = windows.amin(dim=1, keepdim=True), windows.amax(dim=1, keepdim=True)
    spread = torch.where(high > low, high - low, torch.ones_like(high))
    return ((windows - low) / spread).reshape(windows.shape[0], -1)


class Autoencoder(DeepDetector):
    """Mean absolute error of a dense autoencoder on the window that ends at a step.

    Windows slide by one step and are min-max scaled one by one, so that only their shape counts; the first
    ``window - 1`` steps repeat the first window's score (causal padding).
    """

    # The small batch norm and the early stop turn the last digits of a parallel sum into other weights altogether.
    one_thread = True

    Settings = AutoencoderSettings

    @property
    def tile_steps(self) -> int | None:
        """Windows slide: None."""
        return None

    def network(self, features: int) -> AutoencoderNetwork:
        """Make the network, not trained yet, for a number of features."""
        return AutoencoderNetwork(self.chosen.window * features, self.chosen.hidden, self.chosen.code)

    def cut(
        self,
        train: object,
        device: torch.device,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,  # noqa: ARG002 - that of all deep detectors
    ) -> tuple[Scaling, Windows, Windows | None]:
        """Hold out the last windows of each series, which overlap those before, as the example does."""
        if test is not None:
            raise ValueError("the autoencoder holds out the end of each series: test data have nothing to choose")
        matrix, window = self._matrix(train, "train"), self.chosen.window
        scaling = self.scale(matrix)
        series = self._on_device(matrix, scaling, device)
        first, last = [], []
        # At least two windows: one to learn from, and one to stop by.
        for starts in window_starts(len(matrix), window + 1, boundaries=boundaries, name="train"):
            every = np.append(starts, starts[-1] + 1)
            split = max(1, int(len(every) * (1 - self.chosen.validation_share)))
            first.append(every[:split])
            last.append(every[split:])
        return scaling, Windows(series, window, np.concatenate(first)), Windows(series, window, np.concatenate(last))

    def recipe(self, model: AutoencoderNetwork, windows: Windows, held_out: Any) -> Recipe:
        """Adam on the squared error, windows in their order; the held-out windows stop the training."""
        chosen = self.chosen
        optimizer = make_optimizer("adam", model, 1e-3, eps=1e-7)

        def step(batch: Tensor) -> Tensor:
            if batch.shape[0] == 1:
                # One window has no variance for the batch norm to divide by.
                return torch.zeros((), device=windows.device)
            rows = scale_windows(batch)
            return descend(optimizer, functional.mse_loss(model(rows), rows))

        def squared(part: Tensor) -> Tensor:
            rows = scale_windows(part)
            return torch.square(model(rows) - rows).mean(dim=1)

        def reconstruct(part: Tensor) -> tuple[Tensor, Tensor]:
            rows = scale_windows(part)
            return rows.view(part.shape), model(rows).view(part.shape)

        def validate() -> tuple[float, ...]:
            return (float(in_batches(model, squared, held_out, chosen.score_batch).double().mean()),)

        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            settings=chosen,
            validate=validate,
            restore=chosen.restore,
            reconstruct=reconstruct,
        )

    def window_scores(self, model: AutoencoderNetwork, windows: Tensor) -> Tensor:
        """Return the mean absolute error of each window."""
        rows = scale_windows(windows)
        return torch.abs(model(rows) - rows).mean(dim=1)

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        scores = super().score(values, boundaries=boundaries)
        if self.settings.rescale:
            spread = float(np.ptp(scores))
            scores = (scores - scores.min()) / (spread if spread > 0 else 1.0)
        return scores


@dataclass(frozen=True, kw_only=True)
class USADSettings(NetworkSettings):
    """Settings of :class:`USAD` beside :class:`NetworkSettings`. A value of None is the variant's.

    In the variant "paper" series are z-scored, windows lie end to end, and each step has a score. In the "original"
    they are scaled to a range of 0 to 1, windows slide, and each gives its last step a score; a fifth of the normal
    data, which decides nothing, is set aside there: here all of them are trained on.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"window": 5, "latent_per_step": 33, "batch_size": 512, "epochs": 250},
        "original": {"window": 12, "latent_per_step": 100, "batch_size": 7919, "epochs": 100},
    }

    variant: Literal["paper", "original"] = "paper"
    latent_per_step: int | None = None  # the latent code has window * latent_per_step values
    learning_rate: float = 1e-3
    # Keep what published code does, in both variants: each optimiser clears only its own gradients, so that the second
    # decoder's step also applies the gradient of the first loss, and the first decoder's next step that of the second.
    # The adversarial terms then largely cancel. False clears all gradients before each backward pass.
    carry_gradients: bool = True
    score_batch: int = 16384


class USADNetwork(nn.Module):
    """One encoder n → n/2 → n/4 → z and two decoders z → n/4 → n/2 → n that end in a sigmoid."""

    def __init__(self, inputs: int, latent: int) -> None:
        super().__init__()
        half, quarter = inputs // 2, inputs // 4
        self.encoder = _dense((inputs, half, quarter, latent), nn.ReLU())
        self.first, self.second = (_dense((latent, quarter, half, inputs), nn.Sigmoid()) for _ in range(2))

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return a = D1(E(x)) and c = D2(E(a)) for flat windows of shape (batch, inputs)."""
        once = self.first(self.encoder(rows))
        return once, self.second(self.encoder(once))


def _dense(widths: tuple[int, ...], last: nn.Module) -> nn.Sequential:
    """Linear layers from width to width, ReLU after each but the last."""
    layers = [[nn.Linear(before, after), nn.ReLU()] for before, after in itertools.pairwise(widths)]
    layers[-1][1] = last
    return nn.Sequential(*itertools.chain.from_iterable(layers))


def first_loss(model: USADNetwork, rows: Tensor, share: Tensor | float) -> Tensor:
    """Return s·mse(x, a) + (1 − s)·mse(x, c) with a = D1(E(x)), c = D2(E(a)) and the share s = 1/epoch."""
    once, twice = model(rows)
    return share * functional.mse_loss(once, rows) + (1 - share) * functional.mse_loss(twice, rows)


def second_loss(model: USADNetwork, rows: Tensor, share: Tensor | float) -> Tensor:
    """Return s·mse(x, b) − (1 − s)·mse(x, c) with b = D2(E(x)), c = D2(E(D1(E(x)))) and the share s = 1/epoch."""
    code = model.encoder(rows)
    other, twice = model.second(code), model.second(model.encoder(model.first(code)))
    return share * functional.mse_loss(other, rows) - (1 - share) * functional.mse_loss(twice, rows)


def usad_scores(model: USADNetwork, windows: Tensor) -> Tensor:
    """Return half the squared error of a plus half that of c for each step, averaged over the features."""
    rows = windows.reshape(windows.shape[0], -1)
    once, twice = model(rows)
    errors = 0.5 * torch.square(rows - once) + 0.5 * torch.square(rows - twice)
    return errors.view(windows.shape).mean(dim=-1)


class USAD(DeepDetector):
    """USAD (Audibert et al., KDD 2020), as in the PATE paper's table or as published: two autoencoders, one encoder.

    The second decoder is trained against the first. The last weights are kept: there is nothing to select.

    Warnings
    --------
    In the paper's variant z-scored values meet a sigmoid: what lies outside [0, 1] cannot be reproduced, and the score
    behaves much like the squared distance of the z-scores from that interval.
    """

    Settings = USADSettings

    @property
    def tile_steps(self) -> int | None:
        """Steps of the windows that are laid end to end in scoring; None where windows slide."""
        return self.chosen.window if self.chosen.variant == "paper" else None

    def scale(self, matrix: FloatMatrix) -> Scaling:
        """Z-scores in the paper, a range of 0 to 1 as published."""
        return standard_scaling(matrix) if self.chosen.variant == "paper" else minmax_scaling(matrix)

    def network(self, features: int) -> USADNetwork:
        """Make the network, not trained yet, for a number of features."""
        chosen = self.chosen
        return USADNetwork(chosen.window * features, chosen.window * chosen.latent_per_step)

    def recipe(self, model: USADNetwork, windows: Windows, held_out: Windows | None) -> Recipe:  # noqa: ARG002 - none are
        """Two Adam optimisers in turn, each on one decoder and the shared encoder; the last weights are kept."""
        chosen = self.chosen
        first, second = (
            make_optimizer("adam", nn.ModuleList(pair), chosen.learning_rate, graph=chosen.cuda_graph)
            for pair in ((model.encoder, model.first), (model.encoder, model.second))
        )
        # On the device, so that a captured step sees it change.
        share = torch.ones((), device=windows.device)

        def step(batch: Tensor) -> Tensor:
            rows = batch.reshape(batch.shape[0], -1)
            losses = []
            for function, optimizer in ((first_loss, first), (second_loss, second)):
                if not chosen.carry_gradients:
                    model.zero_grad()
                loss = function(model, rows, share)
                torch.autograd.backward(loss)
                optimizer.step()
                # In place: a captured step must find the carried gradients where it left them.
                optimizer.zero_grad(set_to_none=False)
                losses.append(loss.detach())
            return losses[0] + losses[1]

        return Recipe(
            model=model,
            windows=windows,
            optimizers=(first, second),
            step=step,
            settings=chosen,
            begin=lambda number: share.fill_(1 / number),
            carries_gradients=chosen.carry_gradients,
            reconstruct=lambda part: (part, model(part.flatten(1))[0].view(part.shape)),
        )

    def window_scores(self, model: USADNetwork, windows: Tensor) -> Tensor:
        """Return the score of each step or, as published, of each window."""
        scores = usad_scores(model, windows)
        return scores if self.tile_steps else scores.mean(dim=-1)
