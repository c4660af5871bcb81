"""USAD: two autoencoders that share an encoder, the second trained against the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.deep import DeepDetector
from pateval.detectors.scoring import Fitted, all_windows, fitted, in_batches, score_tiles, to_device, window_view
from pateval.detectors.settings import check_settings, with_given
from pateval.detectors.training import Recipe, choose_device, make_optimizer, seeded
from pateval.detectors.windows import (
    FloatMatrix,
    lay_last,
    minmax_scaling,
    score_parts,
    series_matrix,
    standard_scaling,
)
from pateval.validation.arrays import choice

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


class _UsadSchedule(NamedTuple):
    window: int
    latent_per_step: int
    batch_size: int
    epochs: int


_VARIANTS = {"paper": _UsadSchedule(5, 33, 512, 250), "original": _UsadSchedule(12, 100, 7919, 100)}


@dataclass(frozen=True, kw_only=True)
class USADSettings:
    """Settings of :class:`USAD`. A value of None is the variant's.

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
    window: int | None = None
    latent_per_step: int | None = None
    batch_size: int | None = None
    epochs: int | None = None
    learning_rate: float = 1e-3
    carry_gradients: bool = True
    seed: int = 0
    order_seed: int = 42
    device: str | None = None
    score_batch: int = 16384
    cuda_graph: bool = False

    def __post_init__(self) -> None:
        check_settings(self)


def _schedule(settings: USADSettings) -> _UsadSchedule:
    default = _VARIANTS[choice(settings.variant, "variant", _VARIANTS)]
    return with_given(default, settings)


class USADNetwork(nn.Module):
    """One encoder n → n/2 → n/4 → z and two decoders z → n/4 → n/2 → n that end in a sigmoid."""

    def __init__(self, inputs: int, latent: int) -> None:
        super().__init__()
        half, quarter = inputs // 2, inputs // 4
        self.encoder = nn.Sequential(
            nn.Linear(inputs, half),
            nn.ReLU(),
            nn.Linear(half, quarter),
            nn.ReLU(),
            nn.Linear(quarter, latent),
            nn.ReLU(),
        )
        self.first, self.second = (
            nn.Sequential(
                nn.Linear(latent, quarter),
                nn.ReLU(),
                nn.Linear(quarter, half),
                nn.ReLU(),
                nn.Linear(half, inputs),
                nn.Sigmoid(),
            )
            for _ in range(2)
        )

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return a = D1(E(x)) and c = D2(E(a)) for flat windows of shape (batch, inputs)."""
        once = self.first(self.encoder(rows))
        return once, self.second(self.encoder(once))


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

    def __init__(self, settings: USADSettings | None = None) -> None:
        super().__init__(settings if settings is not None else USADSettings())
        self._schedule = _schedule(self.settings)
        self._fitted: Fitted[USADNetwork] | None = None

    @property
    def tile_steps(self) -> int | None:
        """Steps of the windows that are laid end to end in scoring; None where windows slide."""
        return self._schedule.window if self.settings.variant == "paper" else None

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,  # noqa: ARG002 - that of all deep detectors
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        settings, schedule = self.settings, self._schedule
        device = choose_device(settings.device)
        paper = settings.variant == "paper"
        scaling, windows = all_windows(
            train,
            scale=standard_scaling if paper else minmax_scaling,
            window=schedule.window,
            stride=schedule.window if paper else 1,
            device=device,
            boundaries=boundaries,
            test=test,
        )
        with seeded(settings.seed, device):
            model = USADNetwork(schedule.window * scaling.features, schedule.window * schedule.latent_per_step).to(
                device
            )
        first = make_optimizer("adam", [model.encoder, model.first], settings.learning_rate, graph=settings.cuda_graph)
        second = make_optimizer(
            "adam", [model.encoder, model.second], settings.learning_rate, graph=settings.cuda_graph
        )
        # On the device, so that a captured step sees it change.
        share = torch.ones((), device=device)

        def begin(number: int) -> None:
            share.fill_(1 / number)

        def step(batch: Tensor) -> Tensor:
            rows = batch.reshape(batch.shape[0], -1)
            losses = []
            for function, optimizer in ((first_loss, first), (second_loss, second)):
                if not settings.carry_gradients:
                    model.zero_grad()
                loss = function(model, rows, share)
                torch.autograd.backward(loss)
                optimizer.step()
                # In place: a captured step must find the carried gradients where it left them.
                optimizer.zero_grad(set_to_none=False)
                losses.append(loss.detach())
            return losses[0] + losses[1]

        self._fitted = Fitted(model, scaling, device)
        return Recipe(
            model=model,
            windows=windows,
            optimizers=(first, second),
            step=step,
            batch_size=schedule.batch_size,
            epochs=schedule.epochs,
            begin=begin,
            order_seed=settings.order_seed,
            carries_gradients=settings.carry_gradients,
            reconstruct=lambda part: (part, model(part.flatten(1))[0].view(part.shape)),
        )

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        window, rows = self._schedule.window, self.settings.score_batch
        if self.settings.variant == "paper":
            return score_tiles(self._fitted, usad_scores, values, window=window, rows=rows, boundaries=boundaries)
        ready = fitted(self._fitted)
        matrix = series_matrix(values, features=ready.scaling.features)

        def scores(part: FloatMatrix) -> FloatMatrix:
            windows = window_view(to_device(part, ready.device), window, 1)
            found = in_batches(ready.model, lambda batch: usad_scores(ready.model, batch).mean(dim=-1), windows, rows)
            return lay_last(found.cpu().numpy(), window)

        return score_parts(ready.scaling(matrix), window, boundaries, scores)
