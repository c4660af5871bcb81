"""LSTM reconstructor: two recurrent layers reproduce each step; the score is the squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from pateval.detectors.deep import DeepDetector
from pateval.detectors.reconstruction import ReconstructionSettings, plan_reconstruction
from pateval.detectors.scoring import Fitted, reconstruction_errors, score_tiles

if TYPE_CHECKING:
    from pateval.detectors.training import Recipe
    from pateval.detectors.windows import Boundaries, FloatMatrix


@dataclass(frozen=True, kw_only=True)
class LSTMSettings(ReconstructionSettings):
    """Settings of :class:`LSTM`: those of :class:`ReconstructionSettings` and the width of the recurrent layers."""

    hidden: int = 80


class LSTMNetwork(nn.Module):
    """LSTM → LSTM → linear, applied at each step; the output at a step may use the input of that step."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        # Two layers in one module are the same two layers, and cuDNN overlaps them.
        self.recurrent = nn.LSTM(features, hidden, num_layers=2, batch_first=True)
        self.output = nn.Linear(hidden, features)

    def forward(self, windows: Tensor) -> Tensor:
        """Reconstruct (batch, window, features)."""
        hidden, _ = self.recurrent(windows)
        result: Tensor = self.output(hidden)
        return result


class LSTM(DeepDetector):
    """LSTM reconstructor, one of the five benchmark detectors of the PATE paper.

    Trained to reproduce z-scored windows laid end to end; the score of a step is its squared error, averaged over the
    features. There is no bottleneck and no shift in time.

    Parameters
    ----------
    settings : LSTMSettings, optional
        The paper's by default, except that a held-out end of the training series chooses the weights.
    """

    def __init__(self, settings: LSTMSettings | None = None) -> None:
        super().__init__(settings if settings is not None else LSTMSettings())
        self._fitted: Fitted[LSTMNetwork] | None = None

    def plan(
        self,
        train: object,
        *,
        boundaries: Boundaries | None = None,
        test: object = None,
        test_boundaries: Boundaries | None = None,
    ) -> Recipe:
        """Build network, windows and optimiser step without training; the parameters are those of `fit`."""
        self._fitted, recipe = plan_reconstruction(
            self.settings,
            lambda features: LSTMNetwork(features, self.settings.hidden),
            train,
            boundaries,
            test,
            test_boundaries,
        )
        return recipe

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
