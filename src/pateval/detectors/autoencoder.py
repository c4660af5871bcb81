"""Dense autoencoder on windows, each window scaled by itself: the ECG example of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pateval.detectors.base import CheckedSettings
from pateval.detectors.deep import DeepDetector, Windows, in_batches
from pateval.detectors.devices import descend, make_optimizer
from pateval.detectors.training import Recipe
from pateval.detectors.windows import FloatMatrix, Scaling, window_starts

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries


@dataclass(frozen=True, kw_only=True)
class AutoencoderSettings(CheckedSettings):
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
        mine, held_out = [], []
        # At least two windows: one to learn from, and one to stop by.
        for starts in window_starts(len(matrix), window + 1, boundaries=boundaries, name="train"):
            every = np.append(starts, starts[-1] + 1)
            split = max(1, int(len(every) * (1 - self.chosen.validation_share)))
            mine.append(every[:split])
            held_out.append(every[split:])
        train_windows, last_windows = (Windows(series, window, np.concatenate(part)) for part in (mine, held_out))
        return scaling, train_windows, last_windows

    def recipe(self, model: AutoencoderNetwork, windows: Windows, held_out: Any) -> Recipe:
        """Adam on the squared error, windows in their order; the held-out windows stop the training."""
        chosen = self.chosen
        optimizer = make_optimizer("adam", model, 1e-3, epsilon=1e-7)

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
