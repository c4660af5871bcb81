"""Dense autoencoder on windows, each window scaled by itself: the ECG example of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.deep import DeepDetector
from pateval.detectors.scoring import Fitted, Windows, fitted, in_batches, to_device, window_view
from pateval.detectors.settings import check_settings
from pateval.detectors.training import Recipe, choose_device, cpu_threads, make_optimizer, seeded
from pateval.detectors.windows import (
    FloatMatrix,
    lay_last,
    score_parts,
    series_matrix,
    standard_scaling,
    window_starts,
)

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class AutoencoderSettings:
    """Settings of :class:`Autoencoder`; the defaults are those of the paper's ECG example.

    Attributes
    ----------
    window : int
        Steps of a window.
    hidden, code : int
        Widths of the outer and of the inner hidden layers.
    batch_size, epochs, patience : int
        Windows per optimiser step; most epochs; stop after so many without a better validation error.
    validation_share : float
        Share of the training windows, the last ones of each series, held out to stop the training.
    restore : bool
        Whether the weights of the best validation error come back at the end; the paper keeps the last ones.
    rescale : bool
        Whether the scores of one call are brought to [0, 1], as in the paper; their order is the same.
    seed : int
        Of the weights.
    device : str, optional
        ``"cpu"``, ``"cuda"``, ...; a GPU if there is one by default.
    score_batch : int
        Windows scored at a time.
    """

    window: int = 100
    hidden: int = 32
    code: int = 16
    batch_size: int = 128
    epochs: int = 100
    patience: int = 5
    validation_share: float = 0.15
    restore: bool = False
    rescale: bool = True
    seed: int = 20
    device: str | None = None
    score_batch: int = 8192

    def __post_init__(self) -> None:
        check_settings(self)


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

    Parameters
    ----------
    settings : AutoencoderSettings, optional
        Those of the paper's ECG example by default.
    """

    # The small batch norm and the early stop turn the last digits of a parallel sum into other weights altogether.
    one_thread = True

    def __init__(self, settings: AutoencoderSettings | None = None) -> None:
        super().__init__(settings if settings is not None else AutoencoderSettings())
        self._fitted: Fitted[AutoencoderNetwork] | None = None

    @property
    def tile_steps(self) -> int | None:
        """Windows slide: None."""
        return None

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,  # noqa: ARG002 - that of all deep detectors
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        settings = self.settings
        device = choose_device(settings.device)
        if test is not None:
            raise ValueError("the autoencoder holds out the end of each series: test data have nothing to choose")
        matrix = series_matrix(train, "train")
        starts = window_starts(len(matrix), settings.window + 1, boundaries=boundaries, name="train")
        scaling = standard_scaling(matrix)
        series = to_device(scaling(matrix), device)
        # A window more than the starts of windows one step longer: the example takes every window.
        every = [np.append(mine, mine[-1] + 1) for mine in starts]
        splits = [max(1, int(len(mine) * (1 - settings.validation_share))) for mine in every]
        windows, held_out = (
            Windows(
                series, settings.window, np.concatenate([mine[part] for mine, part in zip(every, chosen, strict=True)])
            )
            for chosen in ([slice(0, split) for split in splits], [slice(split, None) for split in splits])
        )
        with seeded(settings.seed, device):
            model = AutoencoderNetwork(settings.window * scaling.features, settings.hidden, settings.code).to(device)
        optimizer = make_optimizer("adam", model, 1e-3, epsilon=1e-7)

        def step(batch: Tensor) -> Tensor:
            if batch.shape[0] == 1:
                # One window has no variance for the batch norm to divide by.
                return torch.zeros((), device=device)
            rows = scale_windows(batch)
            optimizer.zero_grad()
            loss = functional.mse_loss(model(rows), rows)
            torch.autograd.backward(loss)
            optimizer.step()
            return loss.detach()

        def squared(part: Tensor) -> Tensor:
            rows = scale_windows(part)
            return torch.square(model(rows) - rows).mean(dim=1)

        def reconstruct(part: Tensor) -> tuple[Tensor, Tensor]:
            rows = scale_windows(part)
            return rows.view(part.shape), model(rows).view(part.shape)

        def validate() -> tuple[float, ...]:
            return (float(in_batches(model, squared, held_out, settings.score_batch).double().mean()),)

        self._fitted = Fitted(model, scaling, device)
        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            batch_size=settings.batch_size,
            epochs=settings.epochs,
            validate=validate,
            patience=settings.patience,
            order_seed=None,
            restore=settings.restore,
            reconstruct=reconstruct,
        )

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        ready = fitted(self._fitted)
        model, window = ready.model, self.settings.window
        matrix = series_matrix(values, features=ready.scaling.features)

        def absolute(batch: Tensor) -> Tensor:
            rows = scale_windows(batch)
            return torch.abs(model(rows) - rows).mean(dim=1)

        def errors(part: FloatMatrix) -> FloatMatrix:
            windows = window_view(to_device(part, ready.device), window, 1)
            found = in_batches(model, absolute, windows, self.settings.score_batch).cpu().numpy()
            return lay_last(found.astype(np.float64), window)

        with cpu_threads(1):
            scores = score_parts(ready.scaling(matrix), window, boundaries, errors)
        if self.settings.rescale:
            spread = float(np.ptp(scores))
            scores = (scores - scores.min()) / (spread if spread > 0 else 1.0)
        return scores
