"""What the LSTM and the Transformer reconstructors share: settings, training and score; the networks differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.lr_scheduler import ReduceLROnPlateau

from pateval.detectors.deep import DeepDetector
from pateval.detectors.scoring import Fitted, in_batches, reconstruction_errors, score_tiles, training_windows
from pateval.detectors.settings import check_settings
from pateval.detectors.training import Recipe, choose_device, make_optimizer, seeded
from pateval.detectors.windows import standard_scaling

if TYPE_CHECKING:
    from pateval.detectors.windows import Boundaries, FloatMatrix


@dataclass(frozen=True, kw_only=True)
class ReconstructionSettings:
    """What both reconstructors can be told; the defaults are the paper's.

    Attributes
    ----------
    window : int
        Steps of a tile.
    batch_size, epochs : int
        Windows per optimiser step; most epochs.
    learning_rate, weight_decay, clip : float
        Of AdamW; gradients are cut to the norm ``clip``.
    plateau, patience : int
        Halve the learning rate after more than ``plateau`` epochs without improvement; stop after ``patience`` such.
    validation_share : float
        Share of the training windows, the last ones of each series, held out to choose learning rate, stop and weights.
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

    window: int = 100
    batch_size: int = 128
    epochs: int = 300
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    clip: float = 1.0
    plateau: int = 10
    patience: int = 100
    validation_share: float = 0.1
    select_on_test: bool = False
    seed: int = 0
    order_seed: int = 42
    device: str | None = None
    score_batch: int = 1024
    cuda_graph: bool = False

    def __post_init__(self) -> None:
        check_settings(self)


class Reconstructor(DeepDetector):
    """A detector whose score of a step is the squared error of a network that reproduces windows laid end to end.

    Parameters
    ----------
    settings : ReconstructionSettings
        Those of the detector.
    """

    def __init__(self, settings: ReconstructionSettings) -> None:
        super().__init__(settings)
        self._fitted: Fitted[nn.Module] | None = None

    def network(self, features: int) -> nn.Module:
        """Make the network, not trained yet, for a number of features."""
        raise NotImplementedError

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        settings = self.settings
        device = choose_device(settings.device)
        scaling, windows, held_out = training_windows(
            train,
            test,
            scale=standard_scaling,
            window=settings.window,
            stride=settings.window,
            device=device,
            select_on_test=settings.select_on_test,
            validation_share=settings.validation_share,
            boundaries=boundaries,
            test_boundaries=test_boundaries,
        )
        with seeded(settings.seed, device):
            model = self.network(scaling.features).to(device)
        optimizer = make_optimizer(
            "adamw", model, settings.learning_rate, weight_decay=settings.weight_decay, graph=settings.cuda_graph
        )
        scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=settings.plateau)

        def step(batch: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = functional.mse_loss(model(batch), batch)
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
            optimizer.step()
            return loss.detach()

        def validate() -> tuple[float, ...]:
            errors = in_batches(model, lambda part: reconstruction_errors(model, part), held_out, settings.score_batch)
            return (float(errors.double().mean()),)

        self._fitted = Fitted(model, scaling, device)
        return Recipe(
            model=model,
            windows=windows,
            optimizers=(optimizer,),
            step=step,
            batch_size=settings.batch_size,
            epochs=settings.epochs,
            validate=validate,
            end=lambda _, values: scheduler.step(values[0]),
            patience=settings.patience,
            order_seed=settings.order_seed,
            extra={"scheduler": scheduler},
            reconstruct=lambda part: (part, model(part)),
        )

    def score(self, values: object, *, boundaries: Boundaries | None = None) -> FloatMatrix:
        """Return one score per step, higher where more anomalous, for values of shape (steps,) or (steps, features)."""
        return score_tiles(
            self._fitted,
            reconstruction_errors,
            values,
            window=self.settings.window,
            rows=self.settings.score_batch,
            boundaries=boundaries,
        )
