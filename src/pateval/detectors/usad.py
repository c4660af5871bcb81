"""USAD: two autoencoders that share an encoder, the second trained against the first."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.base import NetworkSettings
from pateval.detectors.deep import DeepDetector, Windows
from pateval.detectors.devices import make_optimizer
from pateval.detectors.training import Recipe
from pateval.detectors.windows import FloatMatrix, Scaling, minmax_scaling, standard_scaling


@dataclass(frozen=True, kw_only=True)
class USADSettings(NetworkSettings):
    """Settings of :class:`USAD` beside :class:`NetworkSettings`. A value of None is the variant's.

    ========================== ====================== ==========================
    what                       ``"paper"``            ``"original"``
    ========================== ====================== ==========================
    scaling                    z-score                min-max
    windows                    end to end             stride 1
    score                      of each step           of each window, laid on
                                                      its last step
    window                     5 (SWaT: 12)           12
    latent values per step     33 (SMD 38, SWaT 40)   100
    batch                      512                    7919
    epochs                     250 (SWaT: 70)         100
    ========================== ====================== ==========================

    The original sets aside a fifth of the normal data, which decides nothing; here all of them are trained on.

    Attributes
    ----------
    variant : {"paper", "original"}
        As the PATE paper's table was made, or as the detector was published.
    window, latent_per_step, batch_size, epochs : int, optional
        See the table; the latent code has ``window * latent_per_step`` values.
    learning_rate : float
        Of both Adam optimisers.
    carry_gradients : bool
        Keep what published code does, in both variants: each optimiser clears only its own gradients, so that the
        second decoder's step also applies the gradient of the first loss, and the first decoder's next step that of
        the second. The adversarial terms then largely cancel. False clears all gradients before each backward pass.
    score_batch : int
        Windows scored at a time.
    """

    VARIANTS: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"window": 5, "latent_per_step": 33, "batch_size": 512, "epochs": 250},
        "original": {"window": 12, "latent_per_step": 100, "batch_size": 7919, "epochs": 100},
    }

    variant: Literal["paper", "original"] = "paper"
    window: int | None = None
    latent_per_step: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    learning_rate: float = 1e-3
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
    """USAD (Audibert et al., KDD 2020), as in the PATE paper's table or as published.

    Warnings
    --------
    In the paper's variant z-scored values meet a sigmoid: what lies outside [0, 1] cannot be reproduced, and the score
    behaves much like the squared distance of the z-scores from that interval.

    Parameters
    ----------
    settings : USADSettings, optional
        The paper's by default. The last weights are kept: there is nothing to select.
    """

    Settings = USADSettings

    @property
    def tile_steps(self) -> int | None:
        """Steps of the windows that are laid end to end in scoring; None where windows slide."""
        return self.chosen.window if self.chosen.variant == "paper" else None

    @property
    def stride(self) -> int:
        """Steps from one training window to the next."""
        return self.tile_steps or 1

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
            make_optimizer("adam", [model.encoder, decoder], chosen.learning_rate, graph=chosen.cuda_graph)
            for decoder in (model.first, model.second)
        )
        # On the device, so that a captured step sees it change.
        share = torch.ones((), device=windows.device)

        def begin(number: int) -> None:
            share.fill_(1 / number)

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
            begin=begin,
            carries_gradients=chosen.carry_gradients,
            reconstruct=lambda part: (part, model(part.flatten(1))[0].view(part.shape)),
        )

    def window_scores(self, model: USADNetwork, windows: Tensor) -> Tensor:
        """Return the score of each step or, as published, of each window."""
        scores = usad_scores(model, windows)
        return scores if self.tile_steps else scores.mean(dim=-1)
