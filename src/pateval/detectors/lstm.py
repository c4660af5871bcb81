"""LSTM reconstructor: two recurrent layers reproduce each step; the score is the squared error."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from pateval.detectors.reconstruction import ReconstructionSettings, Reconstructor


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


class LSTM(Reconstructor):
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

    def network(self, features: int) -> LSTMNetwork:
        """Make the network, not trained yet, for a number of features."""
        return LSTMNetwork(features, self.settings.hidden)
